//! Counts of operations of one kind, and of time slices.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::latency::Latency;

/// Completed operations of one kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpStats {
    /// Number of bytes transferred by successful operations.
    pub bytes: u64,
    /// Number of failed operations; they are in no distribution and in no byte count.
    pub errors: u64,
    /// Time from issue to completion of successful operations; its count is the number of operations.
    pub service: Latency,
    /// Time from intended start to completion; only in an open loop, where the two differ.
    pub response: Option<Latency>,
}

impl OpStats {
    /// Returns empty statistics for a job whose intended starts differ from the actual ones.
    pub fn with_response() -> Self {
        Self { response: Some(Latency::default()), ..Self::default() }
    }

    /// Returns true if nothing was counted, neither done nor failed.
    fn is_empty(&self) -> bool {
        let waited_for_none = self.response.as_ref().is_none_or(Latency::is_empty);
        self.bytes == 0 && self.errors == 0 && self.service.is_empty() && waited_for_none
    }

    /// Returns the number of successful operations.
    pub fn ops(&self) -> u64 {
        self.service.count()
    }

    /// Counts a successful operation. Never allocates.
    #[inline]
    pub fn completed(&mut self, bytes: u32, service_ns: u64, response_ns: u64) {
        self.bytes += u64::from(bytes);
        self.service.record(service_ns);
        if let Some(response) = &mut self.response {
            response.record(response_ns);
        }
    }

    /// Counts `count` successful operations with equal latency that transferred `bytes` in total: the same as counting
    /// each, at the cost of one. Never allocates.
    #[inline]
    pub fn completed_alike(&mut self, count: u64, bytes: u64, service_ns: u64, response_ns: u64) {
        self.bytes += bytes;
        self.service.record_many(service_ns, count);
        if let Some(response) = &mut self.response {
            response.record_many(response_ns, count);
        }
    }

    /// Returns the latency that a user experiences: response time if known, else service time.
    pub fn waited(&self) -> &Latency {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.service.merge(&other.service);
        if let Some(response) = &other.response {
            self.response.get_or_insert_default().merge(response);
        }
    }

    /// Clears the counts but keeps their memory.
    pub fn clear(&mut self) {
        self.bytes = 0;
        self.errors = 0;
        self.service.clear();
        if let Some(response) = &mut self.response {
            response.clear();
        }
    }
}

/// Operations of one access line of a mix.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AccessStats {
    /// Reads.
    pub read: OpStats,
    /// Writes.
    pub write: OpStats,
}

impl AccessStats {
    /// Returns reads and writes together; not copied where there are only reads or only writes, as in most loads.
    pub fn total(&self) -> Cow<'_, OpStats> {
        match (self.read.is_empty(), self.write.is_empty()) {
            (_, true) => Cow::Borrowed(&self.read),
            (true, _) => Cow::Borrowed(&self.write),
            _ => {
                let mut total = self.read.clone();
                total.merge(&self.write);
                Cow::Owned(total)
            }
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
    }
}

/// A time slice of a worker group; merging is associative and commutative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Index of the test in the plan.
    pub test: u32,
    /// Index of the step in the test.
    pub step: u32,
    /// Index of the job in the step.
    pub job: u32,
    /// Start, ns since the common start of the measured window.
    pub start_ns: u64,
    /// End, ns since the common start of the measured window.
    pub end_ns: u64,
    /// Completed operations for each access line of the job's mix.
    pub by_access: Vec<AccessStats>,
    /// Number of drains followed by a reopen.
    pub reconnects: u64,
    /// Time that the tester itself took per turn of its loop: reaping, counting, preparing a batch of I/Os.
    pub turns: TurnStats,
}

impl Interval {
    /// Returns the sum of all access lines; not copied where there is one.
    pub fn sum(&self) -> Cow<'_, AccessStats> {
        let Some((first, others)) = self.by_access.split_first() else { return Cow::default() };
        let mut sum = Cow::Borrowed(first);
        others.iter().for_each(|access| sum.to_mut().merge(access));
        sum
    }

    /// Adds an interval of the same job, widening the slice to cover both.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!((self.test, self.step, self.job), (other.test, other.step, other.job));
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        for (index, access) in other.by_access.iter().enumerate() {
            match self.by_access.get_mut(index) {
                Some(own) => own.merge(access),
                None => self.by_access.push(access.clone()),
            }
        }
        self.reconnects += other.reconnects;
        self.turns.merge(other.turns);
    }
}

/// Cost of the tester's own loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnStats {
    /// Number of turns of the loop that handled at least one completion.
    pub turns: u64,
    /// Total length, ns: from the clock read after reaping to the one before issuing.
    pub sum_ns: u64,
    /// Largest length, ns.
    pub max_ns: u64,
}

impl TurnStats {
    /// Counts one turn.
    #[inline]
    pub fn count(&mut self, ns: u64) {
        self.turns += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Returns the mean length, ns; 0 without turns.
    pub fn mean_ns(self) -> f64 {
        if self.turns == 0 { 0.0 } else { self.sum_ns as f64 / self.turns as f64 }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        self.turns += other.turns;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(start_ns: u64, times: &[u64]) -> Interval {
        let mut access = AccessStats::default();
        for time in times {
            let kind = if time % 2 == 0 { &mut access.read } else { &mut access.write };
            kind.completed(4096, *time, *time);
        }
        let turns = TurnStats { turns: 1, sum_ns: start_ns, max_ns: start_ns };
        Interval {
            test: 0,
            step: 0,
            job: 0,
            start_ns,
            end_ns: start_ns + 10,
            by_access: vec![access],
            reconnects: 1,
            turns,
        }
    }

    proptest! {
        #[test]
        fn intervals_merge_in_any_order_and_grouping(
            a in proptest::collection::vec(1_u64..1_000_000, 0..50),
            b in proptest::collection::vec(1_u64..1_000_000, 0..50),
            c in proptest::collection::vec(1_u64..1_000_000, 0..50),
        ) {
            let [a, b, c] = [interval(0, &a), interval(10, &b), interval(20, &c)];
            let mut left = a.clone();
            left.merge(&b);
            left.merge(&c);
            let mut bc = c.clone();
            bc.merge(&b);
            bc.merge(&a);
            prop_assert_eq!(left, bc);
        }
    }

    #[test]
    fn a_failed_operation_is_counted_but_never_timed() {
        let mut stats = OpStats::default();
        stats.errors += 1;
        stats.completed(512, 10, 10);
        assert_eq!((stats.ops(), stats.errors, stats.bytes), (1, 1, 512));
    }
}
