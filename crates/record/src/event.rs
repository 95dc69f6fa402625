//! What happened, in order. The progress line, the store and the report read the same stream of events; showing a
//! stored run replays it.

use assay_spec::Plan;
use serde::{Deserialize, Serialize};

use crate::connection::TcpPathFacts;
use crate::diagnosis::DiagnosisFacts;
use crate::host::{HostFacts, HostSample, TargetFacts};
use crate::latency::Latency;
use crate::setting::RunSetting;
use crate::stats::Interval;
use crate::step_id::StepId;

/// An event with its time. Its JSON begins with the [version](crate::EVENT_VERSION) of its form.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Time since the start of the run, ns.
    pub at_ns: u64,
    /// What happened.
    pub what: RunEvent,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event", content = "body")]
pub enum RunEvent {
    /// The first event of every run.
    Started(Box<RunHeader>),
    /// A step begins.
    StepStarted(StepId),
    /// A step is left out, with the reason.
    StepSkipped {
        /// Which one.
        step: StepId,
        /// Why.
        why: String,
    },
    /// A phase of a step begins.
    PhaseStarted {
        /// Of which step.
        step: StepId,
        /// Which phase.
        phase: Phase,
    },
    /// A time slice of a job ended.
    Interval(Box<Interval>),
    /// The host during about one second.
    Host(Box<HostSample>),
    /// Something a reader of the results must know.
    Warning(Warning),
    /// A step ended.
    StepEnded(Box<StepEnd>),
    /// The last event of a run that was not killed.
    Ended(Outcome),
}

/// Everything needed to repeat the run, and to judge its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Its id.
    pub run: String,
    /// Version of Assay that ran it.
    pub version: String,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// What to do, resolved.
    pub plan: Plan,
    /// The targets as they were at the start.
    pub targets: Vec<TargetFacts>,
    /// The machine that ran it.
    pub host: HostFacts,
    /// The description of the array that the targets are on, as the text of an array file; `None` where nobody gave
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Memory between the tester and the disks, as stated on the command line.
    #[serde(default, skip_serializing_if = "StatedMemory::is_unknown")]
    pub stated: StatedMemory,
    /// Where the results come from, if another tool measured them; `None` for a run of Assay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What surrounds the run: its repetitions, its journal, the price of its targets, the tester's own limits.
    #[serde(default, skip_serializing_if = "RunSetting::is_empty")]
    pub setting: RunSetting,
    /// What the tests of the plan are, if they are the experiments of a diagnosis; `None` for every other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<DiagnosisFacts>,
}

/// Memory that may answer in place of the disks, as somebody stated it. A run cannot see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatedMemory {
    /// Of the storage: server RAM, controller cache, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Of the host that the tester is a guest of, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bytes: Option<u64>,
}

impl StatedMemory {
    /// Whether nobody stated anything.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// Where results come from that another tool measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool, with its version where the file names it: `fio-3.33`.
    pub tool: String,
    /// Name of the file.
    pub file: String,
    /// What the file does not say.
    pub missing: Vec<String>,
    /// True if its intervals are a series of the tool, not one sum over the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_series: bool,
}

/// The phases of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Filling files, opening targets, allocating buffers.
    Prepare,
    /// Load that is not counted.
    Warmup,
    /// Load that is counted.
    Measure,
    /// No new I/O; those in flight end.
    Drain,
}

/// Something a reader of the results must know, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name: `unwritten`, `psync-fallback`, …
    pub rule: String,
    /// The observation, a full sentence.
    pub says: String,
    /// What to do about it, a full sentence; may be empty.
    pub next: String,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEnd {
    /// Which step.
    pub step: StepId,
    /// Why it ended.
    pub reason: StepReason,
    /// In the order of the plan's jobs.
    pub jobs: Vec<JobEnd>,
    /// CPU over the measured window.
    pub cpu: StepCpu,
    /// The first failed I/Os (at most [`StepEnd::KEPT`]); how many there were is in the intervals.
    pub failures: Vec<Failure>,
    /// The first wrong blocks (at most [`StepEnd::KEPT`]).
    pub mismatches: Vec<Mismatch>,
    /// How many wrong blocks were read in all.
    pub mismatch_count: u64,
    /// What went over each path, for targets that have paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathEnd>,
    /// Durability of writes, for targets that may hold them in memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<crate::WriteEnd>,
    /// Flushes between writes, for jobs that make them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flushes: Vec<FlushEnd>,
    /// On which CPU each worker ran, in the order of the jobs; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerPlacement>,
    /// Times since the step before in which the tester did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<crate::Gap>,
}

/// The flushes of a job in the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlushEnd {
    /// Index of the job in the step.
    pub job: u32,
    /// From issue to completion; no bytes. They are in no rate and no latency of reads and writes.
    pub stats: crate::OpStats,
}

/// On which CPU a worker ran, and why there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPlacement {
    /// Index of the job in the step.
    pub job: u32,
    /// Number of the worker in its job, from 0.
    pub worker: u32,
    /// The only CPU it could run on; `None` where the scheduler chose.
    pub cpu: Option<u32>,
    /// Why there.
    pub reason: PlacementReason,
    /// The disk whose interrupts decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Why a worker ran where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementReason {
    /// The command line names the CPUs.
    Asked,
    /// The device interrupts this CPU when an I/O that was issued on it completes.
    Interrupt,
    /// A CPU of its own: the target has no interrupts, or other workers have the CPUs that it interrupts.
    OwnCpu,
    /// The scheduler places it: the interrupts are not known, or there are more workers than CPUs.
    Scheduler,
    /// The scheduler places it, because the kernel refused to bind the worker to its CPU.
    Refused,
}

/// What went over one path in the measured window, all workers of a job together. Counted are I/Os that began and
/// ended in the window or its drain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathEnd {
    /// Index of the job in the step.
    pub job: u32,
    /// Address of the member.
    pub member: String,
    /// Number of the path, from 0.
    pub path: u8,
    /// Portal as given.
    pub portal: String,
    /// Whether it served I/O at the end, for every worker.
    pub is_up: bool,
    /// Reads that ended well.
    pub reads: u64,
    /// Writes that ended well.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Commands that were sent again.
    pub retries: u64,
    /// Commands that failed.
    pub errors: u64,
    /// Times the path went down.
    pub failures: u64,
    /// From handing a command to the socket to its status.
    pub latency: Latency,
    /// Round trips of pings (NOP), all since the target was opened for this step.
    pub ping: Latency,
    /// The TCP connection at the end, of the first worker.
    pub tcp: Option<TcpPathFacts>,
}

impl PathEnd {
    /// Returns the I/Os that went over the path.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.reads + self.writes
    }

    /// Returns the bytes that went over the path.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes
    }

    /// Adds what another worker of the same job sent over the same path.
    pub fn merge(&mut self, other: &Self) {
        self.is_up &= other.is_up;
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.retries += other.retries;
        self.errors += other.errors;
        self.failures += other.failures;
        self.latency.merge(&other.latency);
        self.ping.merge(&other.ping);
        self.tcp = self.tcp.or(other.tcp);
    }
}

impl StepEnd {
    /// How many failures, and how many mismatches, are kept in full.
    pub const KEPT: usize = 16;

    /// The end of a step without failures, paths, writes, placements and gaps.
    #[must_use]
    pub fn new(step: StepId, reason: StepReason, jobs: Vec<JobEnd>, cpu: StepCpu) -> Self {
        Self {
            step,
            reason,
            jobs,
            cpu,
            failures: Vec::new(),
            mismatches: Vec::new(),
            mismatch_count: 0,
            paths: Vec::new(),
            flushes: Vec::new(),
            writes: Vec::new(),
            workers: Vec::new(),
            gaps: Vec::new(),
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
    /// A target went away; the sentence says how.
    TargetLost(String),
}

/// What a job did in a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JobEnd {
    /// The measured window: from the common start to the last counted completion (Assay semantics) or to the end of
    /// recording (Iometer semantics), ns. Rates are over this.
    pub measured_ns: u64,
    /// I/Os that were due in the window, where the load has a rate.
    pub due: Option<u64>,
}

/// CPU use over a measured window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StepCpu {
    /// Share of CPU time in use on the host, mean over its CPUs. In [0, 1].
    pub host_busy: f64,
    /// The same of the busiest CPU. In [0, 1].
    pub host_busy_max: f64,
    /// Share of CPU time the hypervisor gave to others. In [0, 1].
    pub steal: f64,
    /// CPU time of the tester, ns.
    pub tester_ns: u64,
    /// Share of it that the kernel used on the tester's behalf, in [0, 1]; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_system: Option<f64>,
}

/// One I/O that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Index of the job in the step.
    pub job: u32,
    /// Path of the member.
    pub member: String,
    /// Whether it was a write.
    pub is_write: bool,
    /// Where, bytes from the start of the member.
    pub offset_bytes: u64,
    /// How much was asked for, bytes.
    pub size_bytes: u32,
    /// The operating system's error number; 0 for a short transfer.
    pub errno: i32,
    /// What happened, in words.
    pub says: String,
}

/// The identity a written block carries in its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Where the block belongs, bytes from the start of the member.
    pub offset_bytes: u64,
    /// Which run wrote it.
    pub run: u64,
    /// Which write of that run, counted from 1; 0 is the preparation.
    pub sequence: u64,
    /// CRC-32C of the block with this field zero.
    pub checksum: u32,
}

/// A block that does not hold what it must.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Index of the job in the step.
    pub job: u32,
    /// Path of the member.
    pub member: String,
    /// Where, bytes from the start of the member.
    pub offset_bytes: u64,
    /// What the block must carry; a checksum of 0 means that any valid one would do.
    pub expected: Stamp,
    /// What it carries; `None` where it carries no stamp at all.
    pub found: Option<Stamp>,
    /// What is wrong with it, in words.
    pub says: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step was done.
    Done,
    /// It was stopped.
    Interrupted,
    /// A step ended by errors.
    Failed,
}
