//! How far the clock of an agent is ahead, asked over the bus.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};

use crate::listed::Offset;
use crate::nats::bus::Bus;
use crate::nats::clock::unix_ns;
use crate::nats::wire::{Answer, Ask};

/// An agent that does not answer within this is silent.
pub(crate) const ASK_LIMIT: Duration = Duration::from_secs(2);
/// So many hosts are asked for their clocks at a time: more would wait for one another, and their errors grow.
pub(crate) const AT_A_TIME: usize = 8;

/// Returns how long so many hosts may take to answer if all of them are asked at once.
pub(crate) fn limit_of(hosts: usize) -> Duration {
    const OF_EACH: Duration = Duration::from_millis(10);
    ASK_LIMIT + OF_EACH * u32::try_from(hosts).unwrap_or(u32::MAX)
}

/// Returns how long a round over so many clocks may take: some silent hosts are waited for, not a hundred.
fn round_limit(hosts: usize) -> Duration {
    const OF_EACH: Duration = Duration::from_millis(4);
    ASK_LIMIT * 2 + OF_EACH * u32::try_from(hosts).unwrap_or(u32::MAX)
}

/// A clock that is known to this much is known well enough, ns.
const GOOD_NS: u64 = 100_000;

/// By how many requests the offset of a host is measured; the quickest of them counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probes {
    pub(crate) least: u32,
    /// And this many where it is known to no more than [`GOOD_NS`]: on a busy machine few requests are quick.
    pub(crate) most: u32,
}

/// Returns by how many requests the offset of each of so many hosts is measured.
pub(crate) fn probes(hosts: usize) -> Probes {
    const OF_ALL: usize = 3200;
    let each = u32::try_from(OF_ALL / hosts.max(1)).unwrap_or(u32::MAX);
    Probes { least: each.clamp(4, 32), most: each.clamp(4, 128) }
}

/// An answer to a request for the clock.
pub(crate) struct Probed {
    pub(crate) offset: Offset,
    pub(crate) lease_left_ms: u64,
}

/// Asks for the clock once; `None` if there is no answer in time.
pub(crate) async fn probe(bus: &Bus, name: &str) -> Option<Probed> {
    let (sent, sent_ns) = (Instant::now(), unix_ns());
    let Answer::Time { unix_ns, lease_left_ms } = bus.ask(name, &Ask::Time, ASK_LIMIT).await? else {
        return None;
    };
    Some(Probed { offset: Offset::of(sent_ns, sent.elapsed(), unix_ns), lease_left_ms })
}

/// Asks so many times, the first answer among them, and returns the last answer with the best offset.
pub(crate) async fn best(bus: &Bus, name: &str, first: Probed, probes: Probes) -> Probed {
    let mut best = first;
    for asked in 1..probes.most {
        if asked >= probes.least && best.offset.error_ns <= GOOD_NS {
            break;
        }
        // One that falls silent meanwhile is listed with what it has answered.
        let Some(probed) = probe(bus, name).await else { break };
        best = Probed { offset: best.offset.better(probed.offset), ..probed };
    }
    best
}

/// Measures the clocks of hosts, each by so many requests, with the time of this host's clock at which each was
/// measured, ns since 1970. One that does not answer is left out, and so are those whose turn does not come within
/// [`round_limit`]: many silent ones would hold up the others.
pub(crate) async fn offsets(bus: &Bus, hosts: Vec<String>, each: Probes) -> BTreeMap<String, (i64, Offset)> {
    let limit = std::pin::pin!(tokio::time::sleep(round_limit(hosts.len())));
    let measured = stream::iter(hosts).map(|host| {
        let bus = bus.clone();
        async move {
            let first = probe(&bus, &host).await?;
            let offset = best(&bus, &host, first, each).await.offset;
            Some((host, (unix_ns(), offset)))
        }
    });
    let measured = measured.buffer_unordered(AT_A_TIME).filter_map(std::future::ready);
    measured.take_until(limit).collect().await
}
