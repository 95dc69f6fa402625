//! Events as the engine would report them, from a simulated target: a queue in front of a few servers whose service
//! times are drawn from a seeded generator. The same plan gives the same events, byte for byte.
#![expect(
    clippy::missing_panics_doc,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a panic here is a failed test, and the numbers are small and positive"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use assay_record::{
    AccessStats, Content, DeviceFacts, DiskSample, Event, FilesystemFacts, HostFacts, HostSample, Interval,
    JobEnd, MemberFacts, MemberKind, OpStats, Outcome, Phase, RunEvent, RunHeader, StepCpu, StepEnd, StepId,
    StepReason, TargetFacts, TurnStats,
};
use assay_spec::{Job, Overrides, Pacing, Plan, PlanFile, Semantics, Step};

const SECOND_NS: u64 = 1_000_000_000;

/// A simulated target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Number of I/Os served at once.
    pub servers: usize,
    /// Mean time per I/O apart from its bytes, ns; drawn from an exponential distribution.
    pub service_ns: f64,
    /// Bytes per second of one server.
    pub bytes_per_s: f64,
}

impl Default for Target {
    /// Returns approximately a SATA SSD.
    fn default() -> Self {
        Self { servers: 4, service_ns: 150_000.0, bytes_per_s: 130e6 }
    }
}

/// Returns a plan from its text.
pub fn plan(text: &str) -> Plan {
    PlanFile::parse("synthetic", text).unwrap().resolve(&Overrides::default()).unwrap()
}

/// Returns a suite that ships, its steps shortened to `seconds`.
pub fn suite(name: &str, seconds: u32) -> Plan {
    let mut over = Overrides::default();
    over.set(&format!("run={seconds}s")).unwrap();
    PlanFile::parse(name, assay_spec::suites::suite(name).unwrap().text).unwrap().resolve(&over).unwrap()
}

/// Returns the header of a run on one file of 4 GiB on a SATA SSD.
pub fn header(plan: Plan) -> RunHeader {
    RunHeader {
        run: "261121-k7f2".into(),
        version: "0.1.0".into(),
        started_unix_ms: 1_795_231_800_000,
        plan,
        targets: vec![target("/srv/t.dat")],
        host: HostFacts {
            name: "bench1".into(),
            os: "Debian GNU/Linux 12 (bookworm)".into(),
            kernel: "6.18.1".into(),
            cpu_model: "Example CPU @ 3.00GHz".into(),
            cpus: 4,
            cpus_online: 4,
            memory_bytes: 8 << 30,
            clocksource: "tsc".into(),
            ..HostFacts::default()
        },
        array: None,
        stated: Default::default(),
        imported: None,
        setting: assay_record::RunSetting::default(),
        diagnosis: None,
    }
}

/// Returns a file on a SATA SSD.
pub fn target(path: &str) -> TargetFacts {
    TargetFacts {
        address: path.into(),
        member: MemberFacts {
            path: path.into(),
            kind: MemberKind::File,
            capacity_bytes: 4 << 30,
            span_bytes: 4 << 30,
            block_bytes: 512,
            engine: assay_spec::Engine::IoUring,
            direct: true,
            sync: false,
            content: Content::Prepared,
            unwritten_bytes: Some(0),
            zeros: None,
            extents: Some(3),
            placement: None,
            filesystem: Some(FilesystemFacts {
                kind: "ext4".into(),
                source: "/dev/sdb1".into(),
                mount_point: "/srv".into(),
                options: "rw,relatime".into(),
                size_bytes: 200 << 30,
                free_bytes: 150 << 30,
                notes: vec![],
            }),
            device: Some(DeviceFacts {
                name: "sdb1".into(),
                model: "Example SSD 240".into(),
                serial: Some("S1".into()),
                scheduler: "mq-deadline".into(),
                write_cache: "write back".into(),
                size_bytes: 240_000_000_000,
                stack: vec!["sdb1".into(), "sdb".into()],
                ..DeviceFacts::default()
            }),
            lun: None,
            nfs: None,
        },
    }
}

/// Returns all events of a run of the header's plan.
pub fn events(header: &RunHeader, target: Target) -> Vec<Event> {
    let mut events = vec![Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) }];
    let mut now_ns = SECOND_NS / 10;
    for (t, test) in header.plan.tests.iter().enumerate() {
        for (s, step) in test.steps.iter().enumerate() {
            let id = StepId { test: u32::try_from(t).unwrap(), step: u32::try_from(s).unwrap() };
            now_ns = report_step(&mut events, header, id, step, target, now_ns);
        }
    }
    events.push(Event { at_ns: now_ns, what: RunEvent::Ended(Outcome::Done) });
    events
}

fn report_step(
    events: &mut Vec<Event>,
    header: &RunHeader,
    id: StepId,
    step: &Step,
    target: Target,
    start_ns: u64,
) -> u64 {
    let mut report = |at_ns, what| events.push(Event { at_ns, what });
    report(start_ns, RunEvent::StepStarted(id));
    let measure_ns = start_ns + step.warmup.0;
    report(start_ns, RunEvent::PhaseStarted { step: id, phase: Phase::Warmup });
    report(measure_ns, RunEvent::PhaseStarted { step: id, phase: Phase::Measure });
    let jobs: Vec<Simulated> = step
        .jobs
        .iter()
        .enumerate()
        .map(|(index, job)| simulate(header, job, step.stop.time.0, target, index as u64 + header.plan.seed))
        .collect();
    let longest = jobs.iter().map(|j| j.end.measured_ns).max().unwrap();
    for second in 0..longest.div_ceil(SECOND_NS) {
        let mut bytes = 0;
        for (index, job) in jobs.iter().enumerate() {
            let Some(slice) = job.slice(id, index, second) else { continue };
            bytes += slice.by_access[0].total().bytes;
            report(measure_ns + slice.end_ns, RunEvent::Interval(Box::new(slice)));
        }
        let at_ns = measure_ns + (second + 1) * SECOND_NS;
        report(at_ns, RunEvent::Host(Box::new(sample(at_ns, bytes))));
    }
    let drain_ns = measure_ns + step.stop.time.0;
    report(drain_ns.max(measure_ns + longest), RunEvent::PhaseStarted { step: id, phase: Phase::Drain });
    let cpu = StepCpu { host_busy: 0.12, host_busy_max: 0.31, tester_ns: longest / 50, ..StepCpu::default() };
    let end = StepEnd::new(id, StepReason::Done, jobs.iter().map(|j| j.end).collect(), cpu);
    let end_ns = measure_ns + longest + SECOND_NS / 100;
    report(end_ns, RunEvent::StepEnded(Box::new(end)));
    end_ns
}

fn sample(at_ns: u64, bytes: u64) -> HostSample {
    HostSample {
        host: None,
        at_ns,
        length_ns: SECOND_NS,
        cpu_busy: 0.12,
        cpu_busy_max: 0.31,
        cpu_steal: 0.0,
        tester_cpu_ns: SECOND_NS / 50,
        timer_late_mean_ns: 60_000,
        timer_late_max_ns: 400_000,
        swap_bytes: None,
        disks: vec![DiskSample { device: "sdb1".into(), read_bytes: bytes, ..DiskSample::default() }],
        tcp: vec![],
        links: vec![],
    }
}

struct Simulated {
    seconds: Vec<AccessStats>,
    reconnects: Vec<u64>,
    end: JobEnd,
}

impl Simulated {
    fn slice(&self, id: StepId, job: usize, second: u64) -> Option<Interval> {
        let index = usize::try_from(second).unwrap();
        let access = self.seconds.get(index)?.clone();
        let turns = access.total().ops().max(1);
        Some(Interval {
            test: id.test,
            step: id.step,
            job: u32::try_from(job).unwrap(),
            start_ns: second * SECOND_NS,
            end_ns: ((second + 1) * SECOND_NS).min(self.end.measured_ns),
            by_access: vec![access],
            reconnects: self.reconnects[index],
            turns: TurnStats { turns, sum_ns: turns * 700, max_ns: 9_000 },
        })
    }
}

/// Simulates a queue in front of `target.servers` that is kept full, or fed at the job's rate.
fn simulate(header: &RunHeader, job: &Job, length_ns: u64, target: Target, seed: u64) -> Simulated {
    let iometer = header.plan.semantics == Semantics::Iometer;
    let is_open = matches!(job.pacing, Pacing::Open { .. });
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut free = BinaryHeap::from(vec![Reverse(0_u64); target.servers]);
    let mut flights: BinaryHeap<Reverse<(u64, u64, bool)>> = BinaryHeap::new();
    let gap_ns = job.pacing.rate().map(|r| (1e9 / r.0) as u64);
    let depth = u64::from(job.workers * job.outstanding);
    let cycle = u64::from(job.reconnect_every.unwrap_or(u32::MAX));
    let count = usize::try_from(length_ns.div_ceil(SECOND_NS)).unwrap() + 1;
    let empty = AccessStats { read: stats(is_open), write: stats(is_open) };
    let (mut seconds, mut reconnects) = (vec![empty; count], vec![0; count]);
    let (mut now_ns, mut issued, mut due, mut last_ns) = (0, 0, 0_u64, 0);
    let access = &job.mix[0];
    loop {
        // Issue while there is room, the connection has I/Os left, and the next one is due.
        while now_ns < length_ns && (flights.len() as u64) < depth && issued < cycle {
            let at_ns = gap_ns.map_or(now_ns, |gap| due * gap);
            if at_ns >= length_ns || (at_ns > now_ns && !flights.is_empty()) {
                break;
            }
            let start_ns = at_ns.max(now_ns);
            let is_read = random.unit() * 100.0 < access.read;
            let Reverse(idle_ns) = free.pop().unwrap();
            let length = -target.service_ns * random.unit().max(1e-9).ln()
                + access.size.0 as f64 / target.bytes_per_s * 1e9
                + 20_000.0;
            let end_ns = idle_ns.max(start_ns) + length as u64;
            free.push(Reverse(end_ns));
            flights.push(Reverse((end_ns, if is_open { at_ns } else { start_ns }, is_read)));
            (issued, due) = (issued + 1, due + 1);
        }
        let Some(Reverse((end_ns, from_ns, is_read))) = flights.pop() else {
            if now_ns >= length_ns || issued < cycle {
                break;
            }
            reconnects[usize::try_from(now_ns / SECOND_NS).unwrap()] += 1;
            (issued, now_ns) = (0, now_ns + 100_000);
            continue;
        };
        now_ns = end_ns;
        if iometer && end_ns > length_ns {
            continue;
        }
        last_ns = end_ns;
        let second = usize::try_from(end_ns / SECOND_NS).unwrap().min(count - 1);
        let kind = if is_read { &mut seconds[second].read } else { &mut seconds[second].write };
        kind.completed(u32::try_from(access.size.0).unwrap(), end_ns - from_ns, end_ns - from_ns);
    }
    let measured_ns = if iometer { length_ns } else { last_ns };
    let due = gap_ns.map(|gap| length_ns / gap);
    Simulated { seconds, reconnects, end: JobEnd { measured_ns, due, full_ns: None } }
}

fn stats(is_open: bool) -> OpStats {
    if is_open { OpStats::with_response() } else { OpStats::default() }
}

/// xorshift64*: sufficient for a queue, and the same everywhere.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
