//! A target that follows the trait's contract, observes its use, and fails on request; and a helper that runs plans on
//! it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_engine::{EnoughSignal, RunError, RunRequest, RunTargets, Sink, StopSignal, run_with};
use assay_record::{
    AccessStats, Event, HostFacts, MemberFacts, Outcome, RunEvent, RunHeader, StepEnd, TargetFacts,
};
use assay_spec::{Overrides, Plan, PlanFile};
use assay_target::{
    Completion, Geometry, IoEngine, IoFailure, Member, NullTarget, Op, OpKind, OpenRequest, Target,
    TargetLost, Wait,
};

/// Observations of a target, over all workers.
#[derive(Debug, Default)]
pub struct Seen {
    pub submitted: AtomicU64,
    pub failed: AtomicU64,
    pub reopened: AtomicU64,
    /// Number of operations submitted before each reopening.
    pub reopened_after: Mutex<Vec<u64>>,
    /// Largest number of operations in flight on one worker.
    pub depth_max: AtomicU64,
    /// Number of operations in flight on a member when it was reopened; must stay 0.
    pub in_flight_at_reopen: AtomicU64,
    /// (offset, size, is a write) of each operation, if requested.
    pub log: Option<Mutex<Vec<(u64, u32, bool)>>>,
    /// Number of reads and writes submitted to each of the first members.
    pub by_member: [AtomicU64; 8],
    /// Number of operations that the target did not accept.
    pub refused: AtomicU64,
}

/// Faults of a target.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// One of this many operations fails.
    pub fail_every: Option<u64>,
    /// Number of operations after which the target is lost.
    pub lost_after: Option<u64>,
    /// Number of operations after which none is answered any more.
    pub hangs_after: Option<u64>,
    /// Minimum service time.
    pub slow: Option<Duration>,
    /// Number of operations in flight on a member from which it refuses more: a full queue.
    pub queue: Option<u64>,
    /// Operations complete in the order of their submission.
    pub in_order: bool,
}

/// A target that completes I/Os in last-in, first-out order, unless they are to complete in order.
pub struct WatchedTarget {
    inner: NullTarget,
    seen: Arc<Seen>,
    faults: Faults,
    in_flight: Vec<u64>,
    held: Vec<Completion>,
}

impl WatchedTarget {
    pub fn open(request: &OpenRequest<'_>, seen: &Arc<Seen>, faults: Faults) -> Self {
        let members = request.spans();
        let in_flight = vec![0; members.len()];
        let inner = NullTarget::new(members, request.depth);
        Self {
            inner,
            seen: Arc::clone(seen),
            faults,
            in_flight,
            held: Vec::with_capacity(request.depth as usize),
        }
    }
}

impl Target for WatchedTarget {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, op: Op) -> Result<(), Op> {
        if self.faults.queue.is_some_and(|queue| self.in_flight[op.member as usize] >= queue) {
            self.seen.refused.fetch_add(1, Ordering::Relaxed);
            return Err(op);
        }
        if let Some(count) = self.seen.by_member.get(op.member as usize)
            && !matches!(op.kind, OpKind::Flush(_))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let number = self.seen.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(log) = &self.seen.log {
            log.lock().unwrap().push((op.offset_bytes, op.size_bytes, op.kind == OpKind::Write));
        }
        self.in_flight[op.member as usize] += 1;
        self.seen.depth_max.fetch_max(self.in_flight.iter().sum(), Ordering::Relaxed);
        let is_failing = self.faults.fail_every.is_some_and(|every| number.is_multiple_of(every));
        let outcome = if is_failing { Err(IoFailure { errno: 5 }) } else { Ok(op.size_bytes) };
        self.seen.failed.fetch_add(u64::from(is_failing), Ordering::Relaxed);
        // The upper half of the tag contains the member, for `poll` to count down.
        self.held.push(Completion::new(op.tag | op.member << 24, outcome, op.buf));
        Ok(())
    }

    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        if self.faults.lost_after.is_some_and(|after| self.seen.submitted.load(Ordering::Relaxed) >= after) {
            return Err(TargetLost::Ring("pulled the plug".into()));
        }
        let is_hanging =
            self.faults.hangs_after.is_some_and(|after| self.seen.submitted.load(Ordering::Relaxed) >= after);
        if self.held.is_empty() || is_hanging {
            return self.inner.poll(wait, done);
        }
        if let Some(slow) = self.faults.slow {
            std::thread::sleep(slow);
        }
        for _ in 0..3 {
            if self.held.is_empty() {
                break;
            }
            let next = if self.faults.in_order { 0 } else { self.held.len() - 1 };
            let mut completion = self.held.remove(next);
            self.in_flight[(completion.tag >> 24) as usize] -= 1;
            completion.tag &= 0xFF_FFFF;
            done.push(completion);
        }
        Ok(())
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        self.seen.reopened.fetch_add(1, Ordering::Relaxed);
        self.seen.reopened_after.lock().unwrap().push(self.seen.submitted.load(Ordering::Relaxed));
        self.seen.in_flight_at_reopen.fetch_add(self.in_flight[member as usize], Ordering::Relaxed);
        Ok(())
    }
}

pub fn plan(text: &str) -> Plan {
    PlanFile::parse("test", text).unwrap().resolve(&Overrides::default()).unwrap()
}

/// Runs a plan on `members` null members, opened by `opener`.
pub fn run_on<T: Target>(
    text: &str,
    members: usize,
    opener: &(impl Fn(&OpenRequest<'_>) -> T + Sync),
    stop: &StopSignal,
    sink: &mut Sink<'_>,
) -> Result<Outcome, RunError> {
    let plan = plan(text);
    let address = "null:1GiB".to_owned();
    let targets = RunTargets {
        members: vec![Member::Null { capacity_bytes: 1 << 30 }; members],
        facts: vec![TargetFacts { address, member: MemberFacts::default() }; members],
        io: IoEngine::Psync,
        memory_bytes: 4 << 30,
    };
    let header = RunHeader {
        run: "test".into(),
        version: "0".into(),
        started_unix_ms: 0,
        plan,
        targets: targets.facts.clone(),
        host: HostFacts::default(),
        array: None,
        stated: Default::default(),
        imported: None,
        setting: assay_record::RunSetting::default(),
        diagnosis: None,
    };
    let request = RunRequest {
        header,
        targets: &targets,
        warnings: vec![],
        stop: stop.clone(),
        enough: EnoughSignal::default(),
        cpus: vec![],
        start: assay_engine::CommonStart::default(),
    };
    run_with(request, &|r: &OpenRequest<'_>| Ok(opener(r)), sink)
}

/// Result of a run on watched targets.
pub struct Reported {
    pub outcome: Outcome,
    pub seen: Arc<Seen>,
    pub events: Vec<Event>,
}

impl Reported {
    /// Returns the sum of all intervals of a job.
    pub fn counted(&self, job: u32) -> AccessStats {
        let mut sum = AccessStats::default();
        for event in &self.events {
            if let RunEvent::Interval(interval) = &event.what
                && interval.job == job
            {
                sum.merge(&interval.sum());
            }
        }
        sum
    }

    pub fn ends(&self) -> Vec<&StepEnd> {
        self.events
            .iter()
            .filter_map(|e| match &e.what {
                RunEvent::StepEnded(end) => Some(&**end),
                _ => None,
            })
            .collect()
    }
}

/// Runs a plan on watched targets.
pub fn watch(text: &str, members: usize, faults: Faults) -> Reported {
    watch_with(text, members, faults, Seen::default(), &StopSignal::default())
}

pub fn watch_with(text: &str, members: usize, faults: Faults, seen: Seen, stop: &StopSignal) -> Reported {
    let (seen, mut events) = (Arc::new(seen), Vec::new());
    let opener = |request: &OpenRequest<'_>| WatchedTarget::open(request, &seen, faults);
    let outcome = run_on(text, members, &opener, stop, &mut |event| {
        events.push(event);
        Ok(())
    });
    Reported { outcome: outcome.unwrap(), seen: Arc::clone(&seen), events }
}
