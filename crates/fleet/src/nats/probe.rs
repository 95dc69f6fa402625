//! How far the clock of an agent is ahead, asked over the bus.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use crate::listed::Offset;
use crate::nats::bus::Bus;
use crate::nats::clock::CoordinatorClock;
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
/// An answer by which it is known to no more than this does not promise a good one, ns.
const FAR_NS: u64 = 2 * GOOD_NS;
/// After so many such answers in a row no good one is waited for: it is the link that is slow, not a busy moment.
const FAR_IN_A_ROW: u32 = 16;

/// By how many requests the offset of a host is measured; the quickest of them counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probes {
    pub(crate) least: u32,
    /// And this many where it is known to no more than [`GOOD_NS`]: on a busy machine few requests are quick.
    pub(crate) most: u32,
    /// Those beyond the least take no longer than this.
    pub(crate) extra: Duration,
    /// And all of them no longer than this, however few were made: every host gets its turn on a slow link.
    pub(crate) of_each: Duration,
}

/// Returns by how many requests the offset of each of so many hosts is measured.
pub(crate) fn probes(hosts: usize) -> Probes {
    const OF_ALL: usize = 3200;
    /// In all turns together; a user waits for it before each step.
    const EXTRA: Duration = Duration::from_millis(200);
    let each = u32::try_from(OF_ALL / hosts.max(1)).unwrap_or(u32::MAX);
    let turns = u32::try_from(hosts.div_ceil(AT_A_TIME)).unwrap_or(u32::MAX).max(1);
    // The other half of the limit is for hosts that are silent.
    let of_each = round_limit(hosts) / 2 / turns;
    Probes { least: each.clamp(4, 32), most: each.clamp(4, 128), extra: EXTRA / turns, of_each }
}

/// An answer to a request for the clock.
pub(crate) struct Probed {
    pub(crate) offset: Offset,
    /// By how much its wall clock is ahead of that clock, ns.
    pub(crate) set_ns: i64,
    pub(crate) lease_left_ms: u64,
    /// From the request to the answer.
    way: Duration,
}

/// Asks for the clock once; `None` if there is no answer in time.
pub(crate) async fn probe(bus: &Bus, clock: CoordinatorClock, name: &str) -> Option<Probed> {
    let (sent, sent_ns) = (Instant::now(), clock.unix_ns());
    let Answer::Time { unix_ns, set_ns, lease_left_ms } = bus.ask(name, &Ask::Time, ASK_LIMIT).await? else {
        return None;
    };
    let way = sent.elapsed();
    Some(Probed { offset: Offset::of(sent_ns, way, unix_ns), set_ns, lease_left_ms, way })
}

/// What several answers of a host say.
pub(crate) struct Measured {
    /// The last of them, with the best offset.
    pub(crate) best: Probed,
    answers: u32,
    /// Sum of their ways.
    ways: Duration,
}

/// Asks so many times, the first answer among them, and not after `until`.
async fn measured<F: Future<Output = Option<Probed>>>(
    first: Probed,
    probes: Probes,
    mut until: Instant,
    ask: impl Fn() -> F,
) -> Measured {
    let is_far = |probed: &Probed| probed.offset.error_ns > FAR_NS;
    let mut far = u32::from(is_far(&first));
    let mut of = Measured { answers: 1, ways: first.way, best: first };
    while of.answers < probes.most {
        if of.answers >= probes.least && (of.best.offset.error_ns <= GOOD_NS || far >= FAR_IN_A_ROW) {
            break;
        }
        if of.answers == probes.least {
            until = until.min(Instant::now() + probes.extra);
        }
        // One that falls silent meanwhile is listed with what it has answered.
        let Ok(Some(probed)) = timeout_at(until, ask()).await else { break };
        far = if is_far(&probed) { far + 1 } else { 0 };
        of.answers += 1;
        of.ways += probed.way;
        // The wall clock is that of the same answer: another run may have begun meanwhile.
        let is_better = probed.offset.error_ns < of.best.offset.error_ns;
        let (offset, set_ns) =
            if is_better { (probed.offset, probed.set_ns) } else { (of.best.offset, of.best.set_ns) };
        of.best = Probed { offset, set_ns, ..probed };
    }
    of
}

/// The same of an agent that has answered once, all in the time of one host.
pub(crate) async fn best(
    (bus, clock): (&Bus, CoordinatorClock),
    name: &str,
    first: Probed,
    probes: Probes,
) -> Probed {
    measured(first, probes, Instant::now() + probes.of_each, || probe(bus, clock, name)).await.best
}

/// The clocks of hosts as they are now.
#[derive(Default)]
pub(crate) struct Round {
    /// The offset of each that answered, with the time of this host's clock at which it was measured, ns since 1970.
    pub(crate) offsets: BTreeMap<String, (i64, Offset)>,
    answers: u32,
    ways: Duration,
}

impl Round {
    /// Returns how much time a request took while others were under way.
    pub(crate) fn of_a_request(&self) -> Duration {
        let at_a_time = u32::try_from(self.offsets.len().clamp(1, AT_A_TIME)).unwrap_or(1);
        self.ways / self.answers.max(1) / at_a_time
    }
}

/// Measures the clocks of hosts, each by so many requests. One that does not answer is left out, and so are those whose
/// turn does not come within [`round_limit`]: many silent ones would hold up the others.
pub(crate) async fn offsets(bus: &Bus, clock: CoordinatorClock, hosts: Vec<String>, each: Probes) -> Round {
    round(clock, hosts, each, |host| {
        let bus = bus.clone();
        async move { probe(&bus, clock, &host).await }
    })
    .await
}

async fn round<F: Future<Output = Option<Probed>>>(
    clock: CoordinatorClock,
    hosts: Vec<String>,
    each: Probes,
    ask: impl Fn(String) -> F,
) -> Round {
    let (end, ask) = (Instant::now() + round_limit(hosts.len()), &ask);
    let of_hosts = stream::iter(hosts).map(|host| async move {
        let until = end.min(Instant::now() + each.of_each);
        // Who is silent at first may be so for longer than its part.
        let first = timeout_at(end, ask(host.clone())).await.ok()??;
        let measured = measured(first, each, until, || ask(host.clone())).await;
        Some((host, clock.unix_ns(), measured))
    });
    let of_hosts = of_hosts.buffer_unordered(AT_A_TIME).filter_map(std::future::ready);
    let add = |mut all: Round, (host, at_unix_ns, of): (String, i64, Measured)| {
        all.offsets.insert(host, (at_unix_ns, of.best.offset));
        all.answers += of.answers;
        all.ways += of.ways;
        std::future::ready(all)
    };
    of_hosts.fold(Round::default(), add).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nats::conduct::{lead, of_a_step};

    /// A round over hosts that answer after `way`, each of whose answers has the error that `error_ns` says by its
    /// number, with the time that it took.
    fn slow(hosts: usize, way: Duration, error_ns: fn(u32) -> u64) -> (Round, Duration) {
        let asked = std::sync::Mutex::new(BTreeMap::<String, u32>::new());
        let ask = |host: String| {
            let number = *asked.lock().unwrap().entry(host).and_modify(|number| *number += 1).or_insert(1);
            async move {
                let sent = Instant::now();
                // The shortest sleep is a millisecond and more.
                if way > Duration::ZERO {
                    tokio::time::sleep(way).await;
                }
                let offset = Offset { ahead_ns: 0, error_ns: error_ns(number) };
                Some(Probed { offset, set_ns: 0, lease_left_ms: 0, way: sent.elapsed() })
            }
        };
        let clock = CoordinatorClock::begin();
        let names = (0..hosts).map(|host| host.to_string()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let began = Instant::now();
        let round = runtime.block_on(round(clock, names, of_a_step(hosts), ask));
        (round, began.elapsed())
    }

    /// 128 requests of 35 ms did not end within the limit of the round, and what they had measured was dropped: no host
    /// had an offset after four seconds. Of many hosts the later ones never had their turn.
    #[test]
    fn clocks_are_known_over_a_slow_link_and_nobody_waits_for_quick_answers() {
        const LONGEST: Duration = Duration::from_secs(3);
        for (hosts, way_ms) in [(2, 35), (32, 20), (100, 30)] {
            let (round, took) = slow(hosts, Duration::from_millis(way_ms), |_| 10_000_000);
            assert!(
                round.offsets.len() == hosts && took < LONGEST,
                "{hosts}: {} {took:?}",
                round.offsets.len()
            );
        }
    }

    /// A link of 0.5 ms was asked 128 times for an answer that it cannot give; a busy host gives one now and then.
    #[test]
    fn a_slow_link_is_told_from_a_busy_host() {
        let answers = |error_ns| slow(1, Duration::ZERO, error_ns).0.answers;
        assert_eq!(answers(|_| 50_000), 8);
        assert_eq!(answers(|_| 250_000), FAR_IN_A_ROW);
        let busy = |number| if number == 40 { 50_000 } else { 250_000 - u64::from(number % 8) * 10_000 };
        assert_eq!(answers(busy), 40);
    }

    /// The time of 128 requests was divided by 8, and steps began as much later.
    #[test]
    fn the_lead_of_a_step_is_by_the_requests_that_were_made() {
        let (round, took) = slow(2, Duration::from_millis(1), |_| 150_000);
        let each = round.answers / 2;
        assert!(each > of_a_step(2).least, "{each}");
        let (lead, way) = (lead(2, &round), took / each);
        let expected = Duration::from_millis(300) + way * 3;
        assert!(lead.abs_diff(expected) <= way, "{lead:?}, and not {expected:?}");
    }
}
