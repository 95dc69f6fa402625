//! A worker's counts, split into intervals that are sent to the coordinator and returned empty.

use assay_record::{AccessStats, Interval, Latency, OpStats, StepId, TurnStats};
use assay_target::OpKind;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::flights::Flight;

/// Length of an interval, ns.
pub(crate) const INTERVAL_NS: u64 = 1_000_000_000;
/// Number of intervals in transit between a worker and the coordinator, which collects them many times a second.
const SPARE_INTERVALS: usize = 4;

/// Counters of a worker.
pub(crate) struct Tally {
    full: Producer<Box<Interval>>,
    empty: Consumer<Box<Interval>>,

    current: Box<Interval>,
    streak: Streak,
    /// Common start of the measured window, ns on the run's clock; `u64::MAX` before it.
    zero_ns: u64,
    next_cut_ns: u64,
}

/// Consecutive operations with equal latency. Operations issued and reaped together have equal latency to the
/// nanosecond, and are counted at the cost of one.
#[derive(Debug, Clone, Copy)]
struct Streak {
    count: u64,
    bytes: u64,
    service_ns: u64,
    response_ns: u64,
    access: u32,
    side: Side,
}

impl Streak {
    const NONE: Self =
        Self { count: 0, bytes: 0, service_ns: 0, response_ns: 0, access: 0, side: Side::Read };
}

/// Which statistics of an access line count an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Read,
    /// Writes and trims. Flushes are counted separately, by the worker.
    Write,
}

impl Side {
    #[inline]
    fn of(kind: OpKind) -> Self {
        if kind == OpKind::Read { Self::Read } else { Self::Write }
    }
}

/// The coordinator's end of a [`Tally`].
pub(crate) struct TallyDrain {
    full: Consumer<Box<Interval>>,
    empty: Producer<Box<Interval>>,
}

impl Tally {
    /// Returns the counters for a job with `accesses` lines in its mix; `has_response`: due times differ from issue
    /// times.
    pub(crate) fn new(step: StepId, job: u32, accesses: usize, has_response: bool) -> (Self, TallyDrain) {
        let (full_in, full_out) = RingBuffer::new(SPARE_INTERVALS);
        let (mut empty_in, empty_out) = RingBuffer::new(SPARE_INTERVALS);
        let blank = || Box::new(blank(step, job, accesses, has_response));
        while empty_in.push(blank()).is_ok() {}
        let tally = Self {
            full: full_in,
            empty: empty_out,
            current: blank(),
            streak: Streak::NONE,
            zero_ns: u64::MAX,
            next_cut_ns: u64::MAX,
        };
        (tally, TallyDrain { full: full_out, empty: empty_in })
    }

    /// Returns the memory of a worker's counters, bytes: intervals in transit, the current one, and a sum of them.
    pub(crate) fn footprint_bytes(accesses: usize, has_response: bool) -> u64 {
        let distributions = if has_response { 4 } else { 2 };
        (SPARE_INTERVALS as u64 + 2) * accesses as u64 * distributions * Latency::BYTES
    }

    /// Starts counting at `first_ns`: times are measured from `zero_ns`, and intervals end with its seconds.
    pub(crate) fn begin(&mut self, zero_ns: u64, first_ns: u64) {
        let waited_ns = first_ns.saturating_sub(zero_ns);
        self.zero_ns = zero_ns;
        self.current.start_ns = waited_ns;
        self.next_cut_ns = zero_ns + (waited_ns / INTERVAL_NS + 1) * INTERVAL_NS;
    }

    pub(crate) fn next_cut_ns(&self) -> u64 {
        self.next_cut_ns
    }

    /// Counts an I/O that was started at `began_ns` and has completed.
    #[inline(always)]
    pub(crate) fn completed(&mut self, flight: &Flight, began_ns: u64, now_ns: u64) {
        let service_ns = now_ns.saturating_sub(began_ns);
        let response_ns = now_ns.saturating_sub(flight.due_ns());
        let (access, side) = (flight.access, Side::of(flight.kind));
        let streak = &mut self.streak;
        if streak.service_ns == service_ns
            && streak.response_ns == response_ns
            && streak.access == access
            && streak.side == side
        {
            streak.count += 1;
            streak.bytes += u64::from(flight.size_bytes);
            return;
        }
        self.end_streak();
        let (count, bytes) = (1, u64::from(flight.size_bytes));
        self.streak = Streak { count, bytes, service_ns, response_ns, access, side };
    }

    /// Counts the operations of the streak, before the interval is read or another streak begins.
    #[inline]
    fn end_streak(&mut self) {
        let Streak { count, bytes, service_ns, response_ns, access, side } = self.streak;
        if count > 0 {
            self.stats(access, side).completed_alike(count, bytes, service_ns, response_ns);
        }
        self.streak = Streak::NONE;
    }

    pub(crate) fn failed(&mut self, flight: &Flight) {
        self.stats(flight.access, Side::of(flight.kind)).errors += 1;
    }

    pub(crate) fn reconnected(&mut self) {
        self.current.reconnects += 1;
    }

    #[inline]
    pub(crate) fn turned(&mut self, ns: u64) {
        self.current.turns.count(ns);
    }

    #[inline]
    fn stats(&mut self, access: u32, side: Side) -> &mut OpStats {
        let access = &mut self.current.by_access[access as usize];
        match side {
            Side::Read => &mut access.read,
            Side::Write => &mut access.write,
        }
    }

    /// Ends the interval and sends it; if the coordinator is behind, the interval is extended instead.
    pub(crate) fn cut(&mut self, now_ns: u64) {
        while self.next_cut_ns <= now_ns {
            self.next_cut_ns += INTERVAL_NS;
        }
        self.end_streak();
        if self.full.is_full() {
            return;
        }
        let Ok(mut next) = self.empty.pop() else { return };
        let end_ns = now_ns - self.zero_ns;
        next.start_ns = end_ns;
        let mut ended = std::mem::replace(&mut self.current, next);
        ended.end_ns = end_ns;
        self.full.push(ended).expect("checked to have room, and only this thread pushes");
    }

    /// Returns the current interval at the end of the worker; `None` if counting never began.
    pub(crate) fn finish(mut self, now_ns: u64) -> Option<Box<Interval>> {
        if self.zero_ns == u64::MAX {
            return None;
        }
        self.end_streak();
        self.current.end_ns = now_ns.saturating_sub(self.zero_ns).max(self.current.start_ns);
        Some(self.current)
    }
}

impl TallyDrain {
    /// Adds the received intervals to `sum`, and returns them empty.
    pub(crate) fn drain(&mut self, sum: &mut Option<Box<Interval>>) {
        while let Ok(mut interval) = self.full.pop() {
            add(sum, &interval);
            clear(&mut interval);
            // The queue is full only after the worker has ended; then nobody needs the interval.
            let _ = self.empty.push(interval);
        }
    }
}

/// Adds an interval to a sum, which may be empty.
pub(crate) fn add(sum: &mut Option<Box<Interval>>, interval: &Interval) {
    match sum {
        Some(sum) => sum.merge(interval),
        None => *sum = Some(Box::new(interval.clone())),
    }
}

fn clear(interval: &mut Interval) {
    for access in &mut interval.by_access {
        access.read.clear();
        access.write.clear();
    }
    interval.reconnects = 0;
    interval.turns = TurnStats::default();
}

fn blank(step: StepId, job: u32, accesses: usize, has_response: bool) -> Interval {
    let stats = || if has_response { OpStats::with_response() } else { OpStats::default() };
    let by_access = (0..accesses).map(|_| AccessStats { read: stats(), write: stats() }).collect();
    let (test, step) = (step.test, step.step);
    Interval {
        test,
        step,
        job,
        start_ns: 0,
        end_ns: 0,
        by_access,
        reconnects: 0,
        turns: TurnStats::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flights::{Counting, Role};
    use crate::planner::Draw;

    #[test]
    fn nothing_is_lost_when_the_coordinator_is_behind() {
        let (mut tally, mut drain) = Tally::new(StepId { test: 0, step: 0 }, 0, 1, false);
        tally.begin(1_000, 1_000);
        let draw = Draw { access: 0, kind: OpKind::Read, size_bytes: 512, offset_bytes: 0 };
        let flight = Flight::new(&draw, 0, 0, Counting::On, Role::Request);
        let mut sum = None;
        for second in 1..=20 {
            tally.completed(&flight, 1_000, 5_000);
            tally.cut(1_000 + second * INTERVAL_NS);
            if second == 15 {
                drain.drain(&mut sum);
            }
        }
        let last = tally.finish(1_000 + 20 * INTERVAL_NS).unwrap();
        drain.drain(&mut sum);
        add(&mut sum, &last);
        let sum = sum.unwrap();
        assert_eq!(sum.sum().read.ops(), 20);
        assert_eq!((sum.start_ns, sum.end_ns), (0, 20 * INTERVAL_NS));
    }

    #[test]
    fn operations_with_equal_latency_count_like_any_others() {
        let (mut tally, _drain) = Tally::new(StepId { test: 0, step: 0 }, 0, 2, true);
        tally.begin(0, 0);
        let mut expected = [OpStats::with_response(), OpStats::with_response(), OpStats::with_response()];
        let kinds = [(0, OpKind::Read), (0, OpKind::Write), (1, OpKind::Read)];
        for number in 0..1_000_u64 {
            // Streaks of several lengths, broken by each property in which operations differ.
            let which = usize::try_from(number / 7 % 3).unwrap();
            let (issued_ns, intended_ns) = (number / 5, 1 + number / 11);
            let draw = Draw {
                access: kinds[which].0,
                kind: kinds[which].1,
                size_bytes: 512 << which,
                offset_bytes: 0,
            };
            let mut flight = Flight::new(&draw, 0, intended_ns, Counting::On, Role::Request);
            flight.issued_ns = issued_ns;
            tally.completed(&flight, issued_ns, 100_000);
            expected[which].completed(512 << which, 100_000 - issued_ns, 100_000 - intended_ns);
        }
        let counted = tally.finish(200_000).unwrap();
        let [first, second] = counted.by_access.as_slice() else { panic!("two lines") };
        assert_eq!([&first.read, &first.write, &second.read], [&expected[0], &expected[1], &expected[2]]);
    }
}
