//! The events of a run in order. The progress line, the store and the report read the same stream; showing a stored run
//! replays it.

use assay_spec::Plan;
use serde::{Deserialize, Serialize};

use crate::connection::TcpPathFacts;
use crate::diagnosis::DiagnosisFacts;
use crate::host::{HostFacts, HostSample, TargetFacts};
use crate::latency::Latency;
use crate::setting::RunSetting;
use crate::stats::Interval;
use crate::step_cpu::StepCpu;
use crate::step_id::StepId;

/// An event with its time. Its JSON begins with the [version](crate::EVENT_VERSION) of its form.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Time since the start of the run, ns.
    pub at_ns: u64,
    /// The event.
    pub what: RunEvent,
}

/// An event of a run. Its JSON is read in `version.rs`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event", content = "body")]
pub enum RunEvent {
    /// The first event of every run.
    Started(Box<RunHeader>),
    /// A step begins.
    StepStarted(StepId),
    /// A step is left out, with the reason.
    StepSkipped {
        /// The step.
        step: StepId,
        /// Reason.
        why: String,
    },
    /// A phase of a step begins.
    PhaseStarted {
        /// The step.
        step: StepId,
        /// The phase.
        phase: Phase,
    },
    /// A time slice of a job ended.
    Interval(Box<Interval>),
    /// Sample of the host over about one second.
    Host(Box<HostSample>),
    /// A warning for the reader of the results.
    Warning(Warning),
    /// A step ended.
    StepEnded(Box<StepEnd>),
    /// The last event of a run that was not killed.
    Ended(Outcome),
}

/// Everything needed to repeat the run and to judge its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Id of the run.
    pub run: String,
    /// Version of Assay that ran it.
    pub version: String,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// The resolved plan.
    pub plan: Plan,
    /// The targets as they were at the start.
    pub targets: Vec<TargetFacts>,
    /// Facts about the machine that ran it.
    pub host: HostFacts,
    /// Description of the targets' array, as the text of an array file; `None` if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Memory between the tester and the disks, as stated on the command line.
    #[serde(default, skip_serializing_if = "StatedMemory::is_unknown")]
    pub stated: StatedMemory,
    /// Source of the results, if another tool measured them; `None` for a run of Assay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Context of the run: its repetitions, its journal, the price of its targets, the tester's own limits.
    #[serde(default, skip_serializing_if = "RunSetting::is_empty")]
    pub setting: RunSetting,
    /// Facts about the diagnosis if the tests of the plan are its experiments; `None` for every other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<DiagnosisFacts>,
}

/// Memory that may serve I/O in place of the disks, as stated by the user. A run cannot detect it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatedMemory {
    /// Memory of the storage: server RAM, controller cache, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Memory of the host that runs the tester's virtual machine, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bytes: Option<u64>,
}

impl StatedMemory {
    /// Returns true if nothing was stated.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// Source of results that another tool measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool, with its version if the file contains it: `fio-3.33`.
    pub tool: String,
    /// Name of the file.
    pub file: String,
    /// Facts missing in the file.
    pub missing: Vec<String>,
    /// True if its intervals are a time series of the tool, not one sum over the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_series: bool,
}

impl RunHeader {
    /// Returns what imported results belong to in the history of their target: they are named by their file, and files
    /// of a series differ in a date or a number of at least four digits: `nightly-* of fio` of `nightly-2026-11-28`.
    /// `None` where it is the plan.
    pub fn series(&self) -> Option<String> {
        let (tool, _) = self.imported.as_ref()?.tool_and_version();
        let pattern = without_stamps(&self.plan.name);
        (pattern != self.plan.name).then(|| format!("{pattern} of {tool}"))
    }
}

/// Returns a name with a star in place of each date, time or running number. Numbers of fewer digits tell hosts or
/// disks apart.
fn without_stamps(name: &str) -> String {
    const STAMP_DIGITS: usize = 4;
    let mut text = String::new();
    let mut rest = name;
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    while let Some(first) = rest.chars().next() {
        let count = digits(rest);
        if count < STAMP_DIGITS {
            let end = count.max(first.len_utf8());
            text.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        text.push('*');
        rest = &rest[count..];
        // The month, the day and the time behind a year.
        while let Some(more) = rest.strip_prefix(['-', '_', ':', '.', 'T']).filter(|more| digits(more) > 0) {
            rest = &more[digits(more)..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_stamps;

    #[test]
    fn dates_and_running_numbers_are_no_part_of_a_series_and_other_numbers_are() {
        for (name, pattern) in [
            ("nightly-2026-11-28", "nightly-*"),
            ("web01-2026-11-28T02:00:01", "web01-*"),
            ("web02 20261128_0200", "web02 *"),
            ("r00123", "r*"),
            ("4k-qd32", "4k-qd32"),
            ("Zürich 2026", "Zürich *"),
            ("monday", "monday"),
        ] {
            assert_eq!(without_stamps(name), pattern);
        }
    }
}

impl Imported {
    /// Among what is missing: that the file does not say how many workers and I/Os in flight there were, nor of which
    /// kind; the plan is a guess then.
    pub const LOAD: &str = "the load";

    /// Whether the file says what the load was.
    pub fn says_load(&self) -> bool {
        !self.missing.iter().any(|what| what == Self::LOAD)
    }

    /// Returns the name of the tool and its version, which may be empty: `fio` and `3.33`.
    pub fn tool_and_version(&self) -> (&str, &str) {
        let at = self.tool.find(|c: char| c.is_ascii_digit()).unwrap_or(self.tool.len());
        let (tool, version) = self.tool.split_at(at);
        (tool.trim_end_matches([' ', '-', '_']), version)
    }
}

/// The phases of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Filling files, opening targets, allocating buffers.
    Prepare,
    /// Load that does not count.
    Warmup,
    /// Load that counts.
    Measure,
    /// No new I/O; I/Os in flight complete.
    Drain,
}

/// A warning for the reader of the results, with a next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name: `unwritten`, `psync-fallback`, …
    pub rule: String,
    /// The observation, a full sentence.
    pub says: String,
    /// Next step, a full sentence; may be empty.
    pub next: String,
}

/// End of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEnd {
    /// The step.
    pub step: StepId,
    /// Reason of the end.
    pub reason: StepReason,
    /// Ends of the jobs, in the order of the plan.
    pub jobs: Vec<JobEnd>,
    /// CPU use over the measured window.
    pub cpu: StepCpu,
    /// The first failed I/Os (at most [`StepEnd::KEPT`]); the intervals and `outside_errors` have their number.
    pub failures: Vec<Failure>,
    /// The first wrong blocks (at most [`StepEnd::KEPT`]).
    pub mismatches: Vec<Mismatch>,
    /// Number of failed I/Os and flushes that no interval has: they failed in the warm-up, or after the measured window
    /// had closed. Zero in records of earlier versions.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub outside_errors: u64,
    /// Total number of wrong blocks read.
    pub mismatch_count: u64,
    /// Number of writes of which the target may execute another copy at any time, also after newer ones: their
    /// connection was lost before the answer. Those of the warm-up count; zero in records of earlier versions.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub moved_writes: u64,
    /// Number of blocks read that held an older write of which two copies were sent, because its connection was lost.
    /// They are not among the wrong blocks.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub late_blocks: u64,
    /// I/Os of each target of a job with several, in the order of the plan; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberEnd>,
    /// Traffic of each path, for targets with paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathEnd>,
    /// What happened to the paths in the measured window, the first moments; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_moments: Vec<PathMoment>,
    /// Durability of writes, for targets that may hold them in memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<crate::WriteEnd>,
    /// Flushes between writes, for jobs that issue them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flushes: Vec<FlushEnd>,
    /// CPU of each worker, in the order of the jobs; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerPlacement>,
    /// Gaps since the previous step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<crate::Gap>,
    /// Some of the I/Os of each worker with their places; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<crate::PlaceSample>,
    /// Moments of the step; `None` in records of earlier versions, and where several hosts ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<crate::StepMoments>,
    /// The hosts that ran it, where those are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<crate::HostEnd>,
}

/// I/Os of one target of a job in the measured window, all workers together; flushes are not included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEnd {
    /// Index of the job in the step.
    pub job: u32,
    /// Address of the target.
    pub member: String,
    /// Number of successful I/Os.
    pub ops: u64,
    /// Number of bytes transferred by them.
    pub bytes: u64,
    /// Number of failed I/Os.
    pub errors: u64,
    /// Sum of the service times of the successful I/Os, ns.
    pub service_ns: u64,
}

impl MemberEnd {
    /// Returns the empty counts of a target of job `job`.
    pub fn new(job: u32, member: &str) -> Self {
        Self { job, member: member.to_owned(), ops: 0, bytes: 0, errors: 0, service_ns: 0 }
    }

    /// Returns the mean service time, ns; `None` without a successful I/O.
    pub fn mean_service_ns(&self) -> Option<f64> {
        (self.ops > 0).then(|| self.service_ns as f64 / self.ops as f64)
    }

    /// Adds the counts of another worker of the same job on the same target.
    pub fn merge(&mut self, other: &Self) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.service_ns += other.service_ns;
    }
}

/// The flushes of a job in the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlushEnd {
    /// Index of the job in the step.
    pub job: u32,
    /// Latency from issue to completion, without bytes. Flushes are not included in any rate or latency of reads and
    /// writes.
    pub stats: crate::OpStats,
}

/// CPU of a worker, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPlacement {
    /// Index of the job in the step.
    pub job: u32,
    /// Number of the worker in its job, from 0.
    pub worker: u32,
    /// The only CPU that it could run on; `None` if the scheduler chose.
    pub cpu: Option<u32>,
    /// Reason.
    pub reason: PlacementReason,
    /// Disk whose interrupts determined the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Reason for the placement of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementReason {
    /// The command line specifies the CPUs.
    Asked,
    /// The device interrupts this CPU when an I/O that was issued on it completes.
    Interrupt,
    /// A separate CPU: the target has no interrupts, or other workers use the CPUs that it interrupts.
    OwnCpu,
    /// The scheduler places it: the interrupts are not known, or there are more workers than CPUs.
    Scheduler,
    /// The scheduler places it, because the kernel refused to bind the worker to its CPU.
    Refused,
}

/// Something that happened to a path in the measured window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMoment {
    /// When, ns since the window began.
    pub since_window_ns: u64,
    /// Address of the member.
    pub member: String,
    /// What, a clause: `path 1 (10.0.1.1) is up`.
    pub says: String,
}

/// Traffic of one path in the measured window, all workers of a job together. Counts I/Os that started and completed in
/// the window or its drain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PathEnd {
    /// Index of the job in the step.
    pub job: u32,
    /// Address of the member.
    pub member: String,
    /// Number of the path, from 0.
    pub path: u8,
    /// Portal as given.
    pub portal: String,
    /// True if it was up at the end, for every worker.
    pub is_up: bool,
    /// Number of successful reads.
    pub reads: u64,
    /// Number of successful writes.
    pub writes: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Number of bytes written.
    pub write_bytes: u64,
    /// Number of commands that were sent again.
    pub retries: u64,
    /// Number of commands that failed.
    pub errors: u64,
    /// Number of times that the path went down.
    pub failures: u64,
    /// Number of commands that the storage refused on this path because it was busy or not ready.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub refused: u64,
    /// Number of commands that went to another path because this one refused them or had no room for them.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub moved: u64,
    /// Time for which the path was up and took next to nothing, ns: its last answer was a refusal, or its command
    /// window was closed. Of the worker for which that was longest.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub unable_ns: u64,
    /// Time from writing a command to the socket to its status.
    pub latency: Latency,
    /// Round-trip times of pings (NOP), all since the target was opened for this step.
    pub ping: Latency,
    /// Facts about the first worker's TCP connection at the end.
    pub tcp: Option<TcpPathFacts>,
}

impl PathEnd {
    /// Returns the number of I/Os over the path.
    pub fn ops(&self) -> u64 {
        self.reads + self.writes
    }

    /// Returns the number of bytes over the path.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes
    }

    /// Adds the traffic of another worker of the same job over the same path.
    pub fn merge(&mut self, other: &Self) {
        self.is_up &= other.is_up;
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.retries += other.retries;
        self.errors += other.errors;
        self.failures += other.failures;
        self.refused += other.refused;
        self.moved += other.moved;
        self.unable_ns = self.unable_ns.max(other.unable_ns);
        self.latency.merge(&other.latency);
        self.ping.merge(&other.ping);
        self.tcp = self.tcp.or(other.tcp);
    }
}

impl StepEnd {
    /// How many failures, and how many mismatches, are kept in full.
    pub const KEPT: usize = 16;

    /// Returns the end of a step without failures, paths, writes, placements and gaps.
    pub fn new(step: StepId, reason: StepReason, jobs: Vec<JobEnd>, cpu: StepCpu) -> Self {
        Self {
            step,
            reason,
            jobs,
            cpu,
            failures: Vec::new(),
            outside_errors: 0,
            mismatches: Vec::new(),
            mismatch_count: 0,
            moved_writes: 0,
            late_blocks: 0,
            members: Vec::new(),
            paths: Vec::new(),
            path_moments: Vec::new(),
            flushes: Vec::new(),
            writes: Vec::new(),
            workers: Vec::new(),
            gaps: Vec::new(),
            places: Vec::new(),
            moments: None,
            hosts: Vec::new(),
        }
    }
}

/// Why a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepReason {
    /// It reached its end.
    Done,
    /// It was stopped; what was measured until then counts.
    Interrupted,
    /// More I/Os failed than the plan's error limit allows.
    ErrorLimit,
    /// A target was lost; the sentence gives the reason.
    TargetLost(String),
}

/// Result of a job in a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JobEnd {
    /// The measured window: from the common start to the last counted completion (Assay semantics) or to the end of
    /// recording (Iometer semantics), ns. Rates refer to it.
    pub measured_ns: u64,
    /// Number of I/Os that were due in the window, if the load has a rate.
    pub due: Option<u64>,
    /// Time in which I/Os of an open loop were due and waited because as many as the plan allows were in flight: the
    /// mean over the workers, ns. `None` for other loads, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_ns: Option<u64>,
}

/// One I/O that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Index of the job in the step.
    pub job: u32,
    /// Path of the member.
    pub member: String,
    /// True for a write.
    pub is_write: bool,
    /// Offset from the start of the member, bytes.
    pub offset_bytes: u64,
    /// Requested length, bytes.
    pub size_bytes: u32,
    /// The operating system's error number; 0 for a short transfer.
    pub errno: i32,
    /// Description of the failure.
    pub says: String,
}

/// The identity in the first bytes of a written block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Offset of the block from the start of the member, bytes.
    pub offset_bytes: u64,
    /// Number of the run that wrote it.
    pub run: u64,
    /// Number of the write in that run, from 1; [`Self::FILL`] is the preparation.
    pub sequence: u64,
    /// CRC-32C of the block with this field zero.
    pub checksum: u32,
}

impl Stamp {
    /// Number of the writes of a preparation.
    pub const FILL: u64 = 0;
}

/// A block with wrong content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Index of the job in the step.
    pub job: u32,
    /// Path of the member.
    pub member: String,
    /// Offset from the start of the member, bytes.
    pub offset_bytes: u64,
    /// Expected stamp; a checksum of 0 means that any valid one is accepted.
    pub expected: Stamp,
    /// Stamp found; `None` if the block carries none.
    pub found: Option<Stamp>,
    /// Description of the error.
    pub says: String,
}

/// End of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step was executed.
    Done,
    /// It was stopped.
    Interrupted,
    /// A step ended by errors.
    Failed,
}
