//! Runs on a simulated array in the array's own time: no clock, no waiting, the same numbers each time.

use std::collections::HashMap;

use assay_model::array::parse;
use assay_model::des::{Simulation, VirtualOp};
use assay_model::raid::Kind;
use assay_record::{
    AccessStats, Event, Interval, JobEnd, OpStats, Outcome, Phase, RunEvent, RunHeader, StepCpu, StepEnd,
    StepId, StepReason, TurnStats,
};
use assay_spec::{Job, Step};

/// One server, 0.5 ms for each I/O, whatever it is.
pub const FIXED: &str = r#"
name = "fixed"
title = "One server, 0.5 ms for each I/O"
source = "made up"
[device]
kind = "ssd"
model = "fixed"
from = "assumed: by definition"
capacity = "64GB"
qd1_read_iops = 2000
qd1_write_iops = 2000
dies = 1
read_iops_max = 2000
write_iops_max = 2000
read_mb_s = 3000
write_mb_s = 3000
[raid]
from = "assumed: by definition"
level = "single"
disks = 1
[link]
rate = "PCIe4x4"
"#;

/// A load curve up to 120 % of what that server carries.
pub const CURVE: &str = r#"
[[test]]
name = "read, maximum"
access = [{ size = "4KiB", random = 100 }]
outstanding = 2
run = "20s"
[[test]]
name = "read, open loop"
access = [{ size = "4KiB", random = 100 }]
outstanding = 2
run = "40s"
pace = { rate = "2000/s", arrivals = "poisson" }
sweep = { load = ["10%", "30%", "50%", "70%", "80%", "90%", "120%"] }
"#;

const SECOND_NS: u64 = 1_000_000_000;
const SPAN_BYTES: u64 = 4 << 30;

/// A run of the header's plan on the array of that description.
pub fn virtual_events(header: &RunHeader, array: &str) -> Vec<Event> {
    let array = parse("array", array).unwrap();
    let (mut events, mut now_ns) = (Vec::new(), 0);
    for (t, test) in header.plan.tests.iter().enumerate() {
        for (s, step) in test.steps.iter().enumerate() {
            let id = StepId { test: t as u32, step: s as u32 };
            let span = step.jobs[0].span.map_or(SPAN_BYTES, |span| span.0);
            let (seconds, end) = simulate(&mut Simulation::new(&array, span, 64, 1), step, span);
            let mut report = |what| events.push(Event { at_ns: now_ns, what });
            report(RunEvent::StepStarted(id));
            report(RunEvent::PhaseStarted { step: id, phase: Phase::Measure });
            for (index, stats) in seconds.into_iter().enumerate() {
                let start_ns = index as u64 * SECOND_NS;
                report(RunEvent::Interval(Box::new(interval(id, stats, start_ns, end.measured_ns))));
            }
            report(RunEvent::StepEnded(Box::new(step_end(id, end))));
            now_ns += end.measured_ns + SECOND_NS;
        }
    }
    events.push(Event { at_ns: now_ns, what: RunEvent::Ended(Outcome::Done) });
    events
}

fn interval(id: StepId, stats: AccessStats, start_ns: u64, measured_ns: u64) -> Interval {
    Interval {
        test: id.test,
        step: id.step,
        job: 0,
        start_ns,
        end_ns: (start_ns + SECOND_NS).min(measured_ns.max(start_ns + 1)),
        by_access: vec![stats],
        reconnects: 0,
        turns: TurnStats::default(),
    }
}

fn step_end(step: StepId, end: JobEnd) -> StepEnd {
    StepEnd {
        flushes: Vec::new(),
        step,
        reason: StepReason::Done,
        jobs: vec![end],
        cpu: StepCpu::default(),
        failures: vec![],
        outside_errors: 0,
        mismatches: vec![],
        mismatch_count: 0,
        moved_writes: 0,
        late_blocks: 0,
        members: Vec::new(),
        paths: vec![],
        path_moments: vec![],
        writes: vec![],
        workers: vec![],
        gaps: vec![],
        places: vec![],
        moments: None,
        hosts: vec![],
    }
}

/// xorshift64: the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * ((self.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64).ln()
    }
}

/// Issues what is due as far as the queue depth lets it, as the engine does; completions by second.
fn simulate(array: &mut Simulation, step: &Step, span: u64) -> (Vec<AccessStats>, JobEnd) {
    let (job, length_ns) = (&step.jobs[0], step.stop.time.0);
    let mut random = Random(88_172_645_463_325_252);
    let gap_ns = job.pacing.rate().map(|rate| 1e9 / rate.0);
    let count_max = step.stop.bytes.map_or(u64::MAX, |bytes| bytes.0 / job.mix[0].size.0);
    let mut seconds: Vec<AccessStats> = Vec::new();
    let mut dues = HashMap::new();
    let (mut due_ns, mut now_ns, mut count, mut last_ns) = (0.0, 0, 0, 0);
    loop {
        let at_ns = now_ns.max(if gap_ns.is_some() { due_ns as u64 } else { 0 });
        let has_room = dues.len() < job.outstanding as usize && at_ns < length_ns && count < count_max;
        let horizon = array.next_event_ns().unwrap_or(u64::MAX);
        if has_room && at_ns <= horizon {
            now_ns = at_ns;
            let from_ns = if gap_ns.is_some() { due_ns as u64 } else { now_ns };
            dues.insert(array.submit(now_ns, next_op(job, span, count, &mut random)).unwrap(), from_ns);
            due_ns += gap_ns.map_or(0.0, |gap| random.exponential(gap));
            count += 1;
        } else if dues.is_empty() {
            break;
        } else if let Some(done) = array.next_completion_before(horizon) {
            (now_ns, last_ns) = (now_ns.max(done.at_ns), done.at_ns);
            let due = dues.remove(&done.id).unwrap();
            let second = (done.at_ns / SECOND_NS) as usize;
            while seconds.len() <= second {
                let stats = || if gap_ns.is_some() { OpStats::with_response() } else { OpStats::default() };
                seconds.push(AccessStats { read: stats(), write: stats() });
            }
            let stats = &mut seconds[second];
            let stats = if job.mix[0].read > 0.0 { &mut stats.read } else { &mut stats.write };
            stats.completed(job.mix[0].size.0 as u32, done.at_ns - done.issued_ns, done.at_ns - due);
        }
    }
    let owed = gap_ns.map(|gap| ((length_ns as f64 - due_ns).max(0.0) / gap) as u64);
    (seconds, JobEnd { measured_ns: last_ns, due: owed.map(|owed| count + owed), full_ns: None })
}

fn next_op(job: &Job, span: u64, count: u64, random: &mut Random) -> VirtualOp {
    let size_bytes = job.mix[0].size.0;
    let places = span / size_bytes;
    // The first two places count as the start of a stream.
    let place = if job.mix[0].random > 0.0 { 2 + random.below(places - 2) } else { count % places };
    VirtualOp {
        member: 0,
        kind: if job.mix[0].read > 0.0 { Kind::Read } else { Kind::Write },
        offset_bytes: place * size_bytes,
        size_bytes,
        flush_every: if job.sync { Some(1) } else { job.flush.map(|flush| flush.every) },
    }
}
