//! Which agents are on the bus.

use std::time::{Duration, Instant};

use assay_record::HostFacts;
use futures_util::TryStreamExt as _;
use futures_util::future::join_all;
use serde::Serialize;

use crate::bus::{Bus, BusOptions, chain};
use crate::clock::{Offset, unix_ns};
use crate::differences::differences;
use crate::error::FleetError;
use crate::wire::{Announcement, Answer, Ask, parsed, version};

/// An agent that does not answer within this is silent.
pub(crate) const ASK_LIMIT: Duration = Duration::from_secs(2);
/// Requests by which an offset is measured; the quickest of them counts.
const PROBES: u32 = 32;

/// The agents on the bus.
#[derive(Debug, Clone)]
pub struct HostList {
    /// Those whose lease has not ended, by name.
    pub hosts: Vec<ListedHost>,
    /// What the hosts that answer differ in, a sentence each.
    pub differences: Vec<String>,
    /// The version that agents need in order to work with this program.
    pub version: String,
}

/// Whether this program can work with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It answers.
    Ready,
    /// It does not answer, and its lease has not ended yet.
    Silent,
    /// It is another version.
    OtherVersion,
}

/// An agent on the bus.
#[derive(Debug, Clone)]
pub struct ListedHost {
    /// Its name.
    pub name: String,
    /// Its version, with that of the bus.
    pub version: String,
    /// Whether it can be worked with.
    pub state: HostState,
    /// Rest of its lease, ms; `None` if it does not answer.
    pub lease_left_ms: Option<u64>,
    /// How far its clock is ahead of this host's; `None` if it does not answer.
    pub offset: Option<Offset>,
    /// What it runs on; `None` if another version says it in another way.
    pub facts: Option<HostFacts>,
}

/// Lists the agents whose lease has not ended.
///
/// # Errors
/// If the bus cannot be reached or read.
pub fn hosts(options: &BusOptions) -> Result<HostList, FleetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(FleetError::Runtime)?.block_on(async {
        let bus = Bus::connect(options, "assay hosts").await?;
        let announced = announced(&bus).await?;
        // All at once, so that many silent hosts take no longer than one.
        let answer = join_all(announced.iter().map(|agent| probe(&bus, &agent.name))).await;
        let mut hosts = Vec::new();
        for (agent, first) in announced.into_iter().zip(answer) {
            let probed = match first {
                Some(first) => Some(best(&bus, &agent.name, first).await),
                None => None,
            };
            hosts.push(ListedHost::of(agent, probed));
        }
        let known = hosts.iter().filter_map(|host| Some((host.name.as_str(), host.facts.as_ref()?)));
        let differences = differences(&known.collect::<Vec<_>>());
        Ok(HostList { hosts, differences, version: version() })
    })
}

impl ListedHost {
    fn of(agent: Announcement, probed: Option<Probed>) -> Self {
        let state = match (&probed, agent.version == version()) {
            (_, false) => HostState::OtherVersion,
            (Some(_), true) => HostState::Ready,
            (None, true) => HostState::Silent,
        };
        Self {
            state,
            lease_left_ms: probed.as_ref().map(|probed| probed.lease_left_ms),
            offset: probed.map(|probed| probed.offset),
            facts: agent.facts(),
            name: agent.name,
            version: agent.version,
        }
    }
}

/// Returns the announcements whose lease has not ended, by name.
async fn announced(bus: &Bus) -> Result<Vec<Announcement>, FleetError> {
    let failed = |error: &dyn std::error::Error| FleetError::JetStream { why: chain(error) };
    let bucket = bus.bucket().await?;
    let keys = bucket.keys().await.map_err(|error| failed(&error))?;
    let mut keys: Vec<String> = keys.try_collect().await.map_err(|error| failed(&error))?;
    keys.sort();
    let mut announced = Vec::new();
    for key in keys {
        let value = bucket.get(&key).await.map_err(|error| failed(&error))?;
        // An agent that has left meanwhile is not there, nor is one that says it is another.
        let agent = value.and_then(|value| parsed::<Announcement>(&value));
        announced.extend(agent.filter(|agent| agent.name == key));
    }
    Ok(announced)
}

/// An answer to a request for the clock.
struct Probed {
    offset: Offset,
    lease_left_ms: u64,
}

/// Asks for the clock once; `None` if there is no answer in time.
async fn probe(bus: &Bus, name: &str) -> Option<Probed> {
    let (sent, sent_ns) = (Instant::now(), unix_ns());
    let Answer::Time { unix_ns, lease_left_ms } = bus.ask(name, &Ask::Time, ASK_LIMIT).await? else {
        return None;
    };
    Some(Probed { offset: Offset::of(sent_ns, sent.elapsed(), unix_ns), lease_left_ms })
}

/// Asks many times, and returns the last answer with the best offset.
async fn best(bus: &Bus, name: &str, first: Probed) -> Probed {
    let mut best = first;
    for _ in 1..PROBES {
        // One that falls silent meanwhile is listed with what it has answered.
        let Some(probed) = probe(bus, name).await else { break };
        best = Probed { offset: best.offset.better(probed.offset), ..probed };
    }
    best
}
