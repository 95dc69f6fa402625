//! What a run measured, per step and job: counts, rates over the measured window, whole distributions.

use std::collections::BTreeMap;

use assay_record::{
    Failure, Gap, HostEnd, Latency, LinkSample, MemberEnd, Mismatch, OpStats, Outcome, PathEnd, PathMoment,
    PlaceSample, StepCpu, StepId, StepReason, TcpSample, TurnStats, Warning, WorkerPlacement, WriteEnd,
    covered_ns,
};
use assay_spec::{Pacing, units::MIB};
use serde::{Deserialize, Serialize};

use crate::goal::SteadyState;
use crate::series::Point;
use crate::timeline::{HeatMap, Timeline};

/// A window that was cut off before this is no result: a few I/Os in a millisecond give any rate. One that ended by
/// itself is, with the finding `short-window`. In s.
pub(crate) const WINDOW_MIN_S: f64 = 1.0;

/// A whole run, or what there is of it so far.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// Which run.
    pub run: String,
    /// How it stands.
    pub status: RunStatus,
    /// In the order of the plan; steps that were not reached are absent.
    pub steps: Vec<StepSummary>,
    /// The same in the order in which they began: that of the plan, except in a diagnosis.
    pub order: Vec<StepId>,
    /// Steps of the plan, reached or not.
    pub steps_planned: usize,
    /// What whoever ran it was warned of, in order.
    pub warnings: Vec<Warning>,
    /// From the start of the run to its last event, s.
    pub length_s: f64,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every step was done.
    Done,
    /// A step ended by errors.
    Failed,
    /// It was stopped by a signal.
    Interrupted,
    /// Whoever runs it is still at it. Its events cannot tell: whoever reads them from a store knows.
    Running,
    /// It has no end: it was killed, or it is running.
    Partial,
}

impl From<Option<Outcome>> for RunStatus {
    /// From the run's last event, where it is there.
    fn from(outcome: Option<Outcome>) -> Self {
        match outcome {
            Some(Outcome::Done) => Self::Done,
            Some(Outcome::Failed) => Self::Failed,
            Some(Outcome::Interrupted) => Self::Interrupted,
            None => Self::Partial,
        }
    }
}

impl RunStatus {
    /// As it stands in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Running => "running",
            Self::Partial => "partial",
        }
    }
}

/// One load point of one test.
#[derive(Debug, Clone)]
pub struct StepSummary {
    /// Which one.
    pub id: StepId,
    /// Name of its test.
    pub test: String,
    /// The swept values: `size=4KiB`; empty where nothing is swept.
    pub step: String,
    /// How its I/Os are started.
    pub load: Load,
    /// The measured window, s: from the first job's start to the last one's end.
    pub seconds: f64,
    /// The same with the rounds before a steady state, where the step is measured until then.
    pub whole_seconds: f64,
    /// In the order of the plan.
    pub jobs: Vec<JobSummary>,
    /// Reads and writes of all jobs; rates are sums of the jobs' rates.
    pub total: OpSummary,
    /// Reads of all jobs.
    pub read: OpSummary,
    /// Writes of all jobs.
    pub write: OpSummary,
    /// I/Os in flight on average: IOPS times mean service time, summed over the jobs; in the mean over the window.
    pub outstanding_effective: f64,
    /// I/Os in flight that the plan asks for, all jobs together; in the mean over the window.
    pub outstanding_asked: u64,
    /// CPU over the measured window.
    pub cpu: Cpu,
    /// I/Os and flushes that failed, outside the measured window too.
    pub errors: u64,
    /// Those of them that failed in the warm-up, or after the window had closed; 0 for records of earlier versions.
    pub outside_errors: u64,
    /// The first of them.
    pub failures: Vec<Failure>,
    /// The first wrong blocks.
    pub mismatches: Vec<Mismatch>,
    /// How many wrong blocks there were in all.
    pub mismatch_count: u64,
    /// Number of writes of which the target may execute another copy at any time.
    pub moved_writes: u64,
    /// Number of blocks read that held an older write of which two copies were sent.
    pub late_blocks: u64,
    /// I/Os of each target of a job with several, over the whole window; empty for records of earlier versions.
    pub members: Vec<MemberEnd>,
    /// What went over each path, for targets that have paths.
    pub paths: Vec<PathEnd>,
    /// What happened to the paths in the measured window; empty for records of earlier versions.
    pub path_moments: Vec<PathMoment>,
    /// Statistics of the TCP connections to each portal, where there are any.
    pub tcp: Vec<TcpSummary>,
    /// Counters of the network interfaces under the targets, with all their traffic, where there are any. Samples
    /// that touch the
    /// measured window count.
    pub links: Vec<LinkSample>,
    /// Durability of writes, for targets that may hold them in memory.
    pub writes: Vec<WriteEnd>,
    /// On which CPU each worker ran; empty where the record does not say.
    pub workers: Vec<WorkerPlacement>,
    /// Times in which the tester did not run, and changes of the wall clock.
    pub gaps: Vec<Gap>,
    /// Some of the I/Os of each worker with their places; empty for records of earlier versions.
    pub places: Vec<PlaceSample>,
    /// The hosts that ran it, where those are several.
    pub hosts: Vec<HostEnd>,
    /// Second by second.
    pub series: Vec<Point>,
    /// Latencies second by second; empty where there is no result.
    pub heat: HeatMap,
    /// Phases and host samples around the window.
    pub timeline: Timeline,
    /// The rounds of a step that is measured until it is steady; the last five are what everything else here is of.
    pub steady: Option<SteadyState>,
    /// Host samples of the step.
    pub host: HostView,
    /// The tester's own loop.
    pub turns: TurnStats,
    /// Why the step was left out, where it was.
    pub skipped: Option<String>,
    /// Why there is no result although the step began: its window did not begin, or was cut off within its first
    /// second. Rates are then zero, and so are counts unless errors ended it.
    pub unmeasured: Option<String>,
    /// Why it ended; `None` while it runs, or where the run was killed in it.
    pub reason: Option<StepReason>,
    /// Whether it ran to its end.
    pub complete: bool,
}

/// One job of a step.
#[derive(Debug, Clone)]
pub struct JobSummary {
    /// As the plan calls it.
    pub name: String,
    /// How its I/Os are started.
    pub load: Load,
    /// Its measured window, s.
    pub seconds: f64,
    /// Reads and writes.
    pub total: OpSummary,
    /// Reads.
    pub read: OpSummary,
    /// Writes.
    pub write: OpSummary,
    /// I/Os in flight on average: IOPS times mean service time.
    pub outstanding_effective: f64,
    /// I/Os in flight that the plan asks for: per worker, and per member under Iometer semantics, times their number.
    pub outstanding_asked: u64,
    /// I/Os that were due in the window, where the load has a rate.
    pub due: Option<u64>,
    /// Share of the window in which I/Os of an open loop were due and waited because as many as the plan allows were
    /// in flight, in [0, 1]; `None` for other loads, and for records of earlier versions.
    pub full: Option<f64>,
    /// Drains followed by a reopen.
    pub reconnects: u64,
    /// Flushes between writes, where the job makes them; in no other number.
    pub flush: Option<OpSummary>,
    /// The end of each second, s since the window began, and its successful I/Os per second; empty but where several
    /// hosts ran the step.
    pub rates: Vec<(f64, f64)>,
}

/// The TCP connections to one portal during the measured window, from samples of about a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TcpSummary {
    /// Address and port of the other side.
    pub remote: String,
    /// Most connections at once.
    pub connections_max: u32,
    /// Shortest smoothed round trip of a sample, µs; `None` where no sample saw a connection.
    pub rtt_us_min: Option<u32>,
    /// Half of the samples were shorter, µs.
    pub rtt_us_median: Option<u32>,
    /// Longest, µs.
    pub rtt_us_max: Option<u32>,
    /// Retransmits of this host; those of the other side cannot be seen from here.
    pub retransmits: u64,
    /// Segments received out of order: one before them was lost, or overtaken. `None` where the kernel does not count
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// Smallest segment size for sending, bytes.
    pub send_mss_bytes_min: Option<u32>,
    /// Smallest congestion window, segments.
    pub congestion_window_segments_min: Option<u32>,
    /// Sample by sample.
    pub series: Vec<TcpPoint>,
}

/// One sample of the connections to a portal.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TcpPoint {
    /// End of the sample, s since the measured window began.
    pub t_s: f64,
    /// Connections at its end.
    pub connections: u32,
    /// Smoothed round trip, µs.
    pub rtt_us: u32,
    /// Segments sent again in it.
    pub retransmits: u32,
    /// Congestion window, segments.
    pub congestion_window_segments: u32,
}

impl StepSummary {
    /// How long the tester did not run in what was measured, of several hosts how long at least one did not, s; 0 where
    /// all always ran.
    pub fn gap_s(&self) -> f64 {
        let measured = self.gaps.iter().filter(|gap| gap.kind.is_standstill() && gap.place.is_measured());
        covered_ns(measured) as f64 / 1e9
    }
}

impl TcpSummary {
    /// Takes in the next sample. The median is that of the samples before, until [`TcpSummary::settle`] is called:
    /// a run of hours has thousands of samples.
    pub fn add(&mut self, t_s: f64, sample: &TcpSample) {
        self.connections_max = self.connections_max.max(sample.connections);
        self.retransmits += u64::from(sample.retransmits);
        if let Some(count) = sample.out_of_order {
            self.out_of_order = Some(self.out_of_order.unwrap_or(0) + u64::from(count));
        }
        if sample.connections > 0 {
            let least = |known: Option<u32>, new| Some(known.map_or(new, |known| known.min(new)));
            self.send_mss_bytes_min = least(self.send_mss_bytes_min, sample.send_mss_bytes);
            self.congestion_window_segments_min =
                least(self.congestion_window_segments_min, sample.congestion_window_segments);
            self.rtt_us_min = least(self.rtt_us_min, sample.rtt_us);
            self.rtt_us_max = self.rtt_us_max.max(Some(sample.rtt_us));
        }
        self.series.push(TcpPoint {
            t_s,
            connections: sample.connections,
            rtt_us: sample.rtt_us,
            retransmits: sample.retransmits,
            congestion_window_segments: sample.congestion_window_segments,
        });
    }

    /// Brings the median up to date with the samples.
    pub fn settle(&mut self) {
        let mut rtts: Vec<u32> =
            self.series.iter().filter(|point| point.connections > 0).map(|point| point.rtt_us).collect();
        rtts.sort_unstable();
        self.rtt_us_median = rtts.get(rtts.len() / 2).copied();
    }
}

/// How I/Os are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Each follows a completion at once.
    Closed,
    /// Each follows a completion, but not faster than a rate.
    Throttled,
    /// At times of their own.
    Open,
    /// Jobs of a step differ.
    Mixed,
}

impl From<Pacing> for Load {
    fn from(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Closed => Self::Closed,
            Pacing::Throttled { .. } => Self::Throttled,
            Pacing::Open { .. } => Self::Open,
        }
    }
}

/// Operations of one kind over a measured window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpSummary {
    /// Successful operations.
    pub ops: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Successful operations per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// 10^6 bytes per second.
    pub mb_per_s: f64,
    /// Completion minus issue.
    pub service: Latency,
    /// Completion minus intended start, where the load is open.
    pub response: Option<Latency>,
}

impl OpSummary {
    /// `stats` over a window of `seconds`; rates are 0 where there is no window.
    pub fn over(stats: &OpStats, seconds: f64) -> Self {
        let per_s = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            ops: stats.ops(),
            bytes: stats.bytes,
            errors: stats.errors,
            iops: per_s(stats.ops()),
            mib_per_s: per_s(stats.bytes) / MIB as f64,
            mb_per_s: per_s(stats.bytes) / 1e6,
            service: stats.service.clone(),
            response: stats.response.clone(),
        }
    }

    /// The same without I/Os and rates: of a window that is too short to be a result. Errors stay.
    pub(crate) fn errors_only(&self) -> Self {
        Self { errors: self.errors, ..Self::default() }
    }

    /// The same without rates: of a window that errors ended too soon. What succeeded is counted.
    pub(crate) fn without_rates(&self) -> Self {
        Self { iops: 0.0, mib_per_s: 0.0, mb_per_s: 0.0, ..self.clone() }
    }

    /// Several jobs in one: counts, rates and distributions added.
    pub fn sum(parts: &[&Self]) -> Self {
        Self::sum_over(&parts.iter().map(|part| (*part, 1.0)).collect::<Vec<_>>())
    }

    /// Several jobs in one, each of which ran for a part of its time.
    pub(crate) fn sum_over(parts: &[(&Self, f64)]) -> Self {
        let mut sum = Self::default();
        for (part, time) in parts {
            sum.ops += part.ops;
            sum.bytes += part.bytes;
            sum.errors += part.errors;
            sum.iops += part.iops * time;
            sum.mib_per_s += part.mib_per_s * time;
            sum.mb_per_s += part.mb_per_s * time;
            sum.service.merge(&part.service);
        }
        if parts.iter().any(|(part, _)| part.response.is_some()) {
            // Beside an open loop, the operations of a closed one are waited for from their issue.
            let mut response = Latency::default();
            parts.iter().for_each(|(part, _)| response.merge(part.waited()));
            sum.response = Some(response);
        }
        sum
    }

    /// The distribution a user waits by: response where it is known, else service.
    pub fn waited(&self) -> &Latency {
        self.response.as_ref().unwrap_or(&self.service)
    }
}

/// CPU use over a measured window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cpu {
    /// Returns the CPU use by the end of the step, or by the samples of the host. `None` where neither is there yet.
    pub used: Option<StepCpu>,
    /// CPU time of the tester per successful I/O, µs.
    pub tester_us_per_io: Option<f64>,
}

/// The host during the measured window, from its samples of about a second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostView {
    /// How much of the window the samples cover, s.
    pub seconds: f64,
    /// How late the tester's timers fired, mean, ns.
    pub timer_late_mean_ns: f64,
    /// The latest, ns.
    pub timer_late_max_ns: u64,
    /// Bytes that the kernel moved between memory and swap.
    pub swap_bytes: u64,
    /// What the block devices under the targets did in the covered part of the window, for all programs.
    pub disks: Vec<DiskUse>,
    /// What each network interface under the targets carried in the same part, both directions, for all programs,
    /// bytes.
    pub link_bytes: BTreeMap<String, u64>,
    /// Bytes that the tester moved in the same part; `None` where the samples have gaps.
    pub tester_bytes: Option<f64>,
}

/// What one block device did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskUse {
    /// Kernel name.
    pub device: String,
    /// Read and written, bytes.
    pub bytes: u64,
    /// Mean number of requests that its queue and the device had in flight, for all programs; `None` where the record
    /// does not say.
    pub queue_mean: Option<f64>,
}
