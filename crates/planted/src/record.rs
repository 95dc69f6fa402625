//! What a run of a set-up records: the events of each experiment, as the engine and the sampler of the host report
//! them.

use assay_analysis::{Collector, DiskUse, RunSummary, TcpSummary};
use assay_diagnose::Choice;
use assay_record::{
    AccessStats, Event, Interval, JobEnd, Latency, OpStats, PathEnd, Phase, PlaceSample, PlacedIo,
    PlacementReason, RunEvent, RunHeader, StepCpu, StepEnd, StepReason, TurnStats, WorkerPlacement,
};
use assay_spec::Step;

use crate::case::PlantedCase;
use crate::header::{DEVICE, idle_ping_us, portal};
use crate::random::Random;
use crate::world::Seen;

const SECOND_NS: u64 = 1_000_000_000;
/// Relative error of what is read beside the rate.
const ERROR_READ: f64 = 0.03;
/// Round trip of the fastest path as TCP sees it, µs.
const ROUND_TRIP_US: f64 = 100.0;
/// I/Os with their places that the engine keeps.
const PLACES_MAX: usize = 1024;
/// Pings under load.
const PINGS: u64 = 5;
/// Share of the time in which what wakes up beside the workers makes them wait.
const WAKES: (f64, f64) = (0.001, 0.05);
/// CPU use of workers that sleep while a server does the work.
const ASLEEP: f64 = 0.15;
/// CPUs that such a server uses.
const SERVER: f64 = 0.6;

/// The record of a diagnosis as it grows.
pub(crate) struct Recorder<'c> {
    case: &'c PlantedCase,
    header: &'c RunHeader,
    collector: Collector,
    now_ns: u64,
    /// What the summary does not compute from events, for each step in the order in which they were made.
    beside: Vec<Beside>,
}

struct Beside {
    tcp: Vec<TcpSummary>,
    disk_bytes: Option<(f64, f64)>,
}

impl<'c> Recorder<'c> {
    pub(crate) fn new(case: &'c PlantedCase, header: &'c RunHeader) -> Self {
        Self { case, header, collector: Collector::new(header), now_ns: 0, beside: Vec::new() }
    }

    /// What is recorded so far.
    pub(crate) fn summary(&self) -> RunSummary {
        let mut summary = self.collector.summary();
        let order = summary.order.clone();
        for (id, beside) in order.iter().zip(&self.beside) {
            let Some(step) = summary.steps.iter_mut().find(|step| step.id == *id) else { continue };
            step.tcp = beside.tcp.clone();
            if let Some((device, own)) = beside.disk_bytes {
                let bytes = device as u64;
                step.host.disks = vec![DiskUse { device: DEVICE.to_owned(), bytes, queue_mean: None }];
                step.host.tester_bytes = Some(own);
            }
        }
        summary
    }

    /// Number of experiments that were made.
    pub(crate) fn made(&self) -> usize {
        self.beside.len()
    }

    /// Records an experiment in which this was seen.
    pub(crate) fn record(&mut self, choice: &Choice, seen: &Seen, random: &mut Random) {
        let plan = &self.header.plan.tests[choice.step.test as usize].steps[choice.step.step as usize];
        let seconds = (plan.stop.time.0 / SECOND_NS).max(1);
        let level = seen.iops * (self.case.noise * random.normal()).exp();
        self.report(RunEvent::StepStarted(choice.step));
        self.report(RunEvent::PhaseStarted { step: choice.step, phase: Phase::Measure });
        let mut sums = [(0_u64, 0_u64); 2];
        for second in 0..seconds {
            // The rate goes from the first third to the last as it was seen to.
            let along = if seconds > 1 { second as f64 / (seconds - 1) as f64 - 0.5 } else { 0.0 };
            let rate = level * seen.trend.powf(along) * (self.case.noise * random.normal()).exp();
            let stats = self.second(plan, rate, seen, random);
            for (sum, of) in sums.iter_mut().zip([&stats.read, &stats.write]) {
                *sum = (sum.0 + of.ops(), sum.1 + of.bytes);
            }
            let (start_ns, end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
            self.report(RunEvent::Interval(Box::new(Interval {
                test: choice.step.test,
                step: choice.step.step,
                job: 0,
                start_ns,
                end_ns,
                by_access: vec![stats],
                reconnects: 0,
                turns: TurnStats::default(),
            })));
        }
        let [(reads, read_bytes), (writes, write_bytes)] = sums;
        let mut end = StepEnd::new(
            choice.step,
            StepReason::Done,
            vec![JobEnd { measured_ns: seconds * SECOND_NS, due: None, full_ns: None }],
            self.cpu(plan, seen, seconds, random),
        );
        end.workers = workers(plan);
        // As the engine keeps them: evenly over the window, and no more than there were.
        let thinned = seen.places.len().div_ceil(PLACES_MAX).max(1).next_power_of_two();
        let there_were = usize::try_from(reads + writes).unwrap_or(usize::MAX);
        let kept = seen.places.iter().take(there_were).step_by(thinned);
        let ios: Vec<PlacedIo> = kept.map(|(place, ns)| PlacedIo(0, *place, *ns)).collect();
        // But on a stripe a short piece of the window was simulated.
        let every = (reads + writes) / ios.len().max(1) as u64;
        let every = u32::try_from(every.max(1)).unwrap_or(u32::MAX);
        end.places = vec![PlaceSample { job: 0, every, ios }];
        end.paths = self.paths(seen, (reads, writes), random);
        self.report(RunEvent::StepEnded(Box::new(end)));
        self.now_ns += seconds * SECOND_NS;
        let ops = (reads + writes) as f64;
        let bytes = (read_bytes + write_bytes) as f64;
        self.beside.push(Beside {
            tcp: self.tcp(seen, ops, plan),
            disk_bytes: (!self.case.setting.is_remote())
                .then(|| (bytes * self.case.device_bytes(choice.experiment, random), bytes)),
        });
    }

    fn report(&mut self, what: RunEvent) {
        self.collector.add(&Event { at_ns: self.now_ns, what });
    }

    /// The I/Os of a second: as many as the rate says, with the times that were simulated.
    fn second(&self, plan: &Step, rate: f64, seen: &Seen, random: &mut Random) -> AccessStats {
        let line = &plan.jobs[0].mix[0];
        let reads = line.read / 100.0;
        let ops = (rate.round() as u64).max(1);
        let (mut read, mut write) = (Latency::default(), Latency::default());
        let times = &seen.times_us;
        let draws = (times.len() as u64).min(ops).min(400);
        for draw in 0..draws {
            let ns = times[random.below(times.len())] * 1e3;
            let count = ops / draws + u64::from(draw < ops % draws);
            let of_reads =
                (count as f64 * reads + random.within(0.001, 1.0)).floor().min(count as f64) as u64;
            read.record_many(ns as u64, of_reads);
            write.record_many(ns as u64, count - of_reads);
        }
        let stats = |service: Latency| OpStats {
            bytes: service.count() * line.size.0,
            service,
            ..OpStats::default()
        };
        AccessStats { read: stats(read), write: stats(write) }
    }

    fn cpu(&self, plan: &Step, seen: &Seen, seconds: u64, random: &mut Random) -> StepCpu {
        let workers: u32 = plan.jobs.iter().map(|job| job.workers).sum();
        let (busy, waits) =
            if self.case.is_served_here { (ASLEEP, 0.0) } else { (seen.tester_busy, seen.tester_waits) };
        let busy = (busy * (ERROR_READ * random.normal()).exp()).min(1.02);
        let (all, own) = (f64::from(self.header.host.cpus_online), f64::from(self.header.host.cpus));
        let ns = |cpus: f64| (cpus * seconds as f64 * 1e9) as u64;
        // On the CPUs of the tester others have what is left, and their turns.
        let served = if self.case.is_served_here { SERVER } else { 0.0 };
        let turns = self.case.world.others * own.min(f64::from(workers));
        let left = (own - busy * f64::from(workers)).max(0.0);
        let others = (self.case.others_busy * own + served).min(left).max(turns);
        StepCpu {
            host_busy: (self.case.others_busy + (busy + seen.crypt_cpus) / all).min(1.0),
            tester_ns: ns(busy * f64::from(workers)),
            workers_waited: Some((waits + random.within(WAKES.0, WAKES.1)).min(1.0)),
            others_ns: Some(ns(others)),
            stopped_ns: Some(ns(seen.stopped)),
            ..StepCpu::default()
        }
    }

    fn paths(&self, seen: &Seen, (reads, writes): (u64, u64), random: &mut Random) -> Vec<PathEnd> {
        let count = self.case.world.paths;
        // The busiest has more than its share, the others the rest.
        let first = if count > 1 { (seen.path_share / count as f64).min(1.0) } else { 1.0 };
        let ping_us = idle_ping_us(self.case) + seen.ping_wait_us * (ERROR_READ * random.normal()).exp();
        let mut ping = Latency::default();
        ping.record_many((ping_us * 1e3) as u64, PINGS);
        let one = |path: usize| {
            let share = if path == 0 { first } else { (1.0 - first) / (count - 1) as f64 };
            PathEnd {
                job: 0,
                member: "planted".to_owned(),
                path: u8::try_from(path).unwrap_or(u8::MAX),
                portal: portal(path),
                is_up: true,
                reads: (reads as f64 * share) as u64,
                writes: (writes as f64 * share) as u64,
                read_bytes: 0,
                write_bytes: 0,
                retries: 0,
                errors: 0,
                failures: 0,
                refused: 0,
                moved: 0,
                unable_ns: 0,
                latency: Latency::default(),
                ping: ping.clone(),
                tcp: None,
            }
        };
        (0..count).map(one).collect()
    }

    /// What the kernel counts of the connections: what this host sends again, and what comes out of order because the
    /// target did.
    fn tcp(&self, seen: &Seen, ops: f64, plan: &Step) -> Vec<TcpSummary> {
        let resent = seen.resent * ops / 1000.0;
        let reads = plan.jobs[0].mix[0].read / 100.0;
        let paths = self.case.world.paths;
        let one = |path: usize| {
            let is_slowest = path + 1 == paths && paths > 1;
            let rtt_us = ROUND_TRIP_US * if is_slowest { seen.path_delays.max(1.0) } else { 1.0 };
            let part = |share: f64| (resent * share / paths as f64).round();
            TcpSummary {
                remote: portal(path),
                connections_max: 1,
                rtt_us_median: Some(rtt_us as u32),
                retransmits: part(1.0 - reads) as u64,
                out_of_order: Some(part(reads) as u64),
                ..TcpSummary::default()
            }
        };
        (0..paths).map(one).collect()
    }
}

fn workers(plan: &Step) -> Vec<WorkerPlacement> {
    let count: u32 = plan.jobs.iter().map(|job| job.workers).sum();
    (0..count)
        .map(|worker| WorkerPlacement {
            job: 0,
            worker,
            cpu: None,
            reason: PlacementReason::Asked,
            device: None,
        })
        .collect()
}
