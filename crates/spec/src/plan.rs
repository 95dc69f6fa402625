//! What a run does, resolved: every default filled in, every value checked, sweeps unrolled into steps.
//!
//! ```text
//! Plan ── tests ──> Test ── steps ──> Step ── jobs ──> Job ── mix ──> Access
//! ```
//! The engine reads this and nothing else; it is also stored with every run, so that a run can be repeated.

use serde::{Deserialize, Serialize};

use crate::goal::Goal;
use crate::place::{Distribution, Extent, Strides, Window, Zoned};
use crate::threshold::Threshold;
use crate::units::{Bytes, Nanos, PerSecond, SizeSpec};

/// What to do: tests run one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan is called in tables.
    pub name: String,
    /// One or two sentences for whoever meets the plan first; may be empty.
    pub about: String,
    /// Where the plan's numbers come from; may be empty.
    pub source: String,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
    /// Whose rules offsets, reconnects and counting follow.
    pub semantics: Semantics,
    /// Starts every random sequence of the run: the same seed gives the same I/O.
    pub seed: u64,
    /// How much of each target is used.
    pub span: Span,
    /// Whether `--quick` shortened the steps.
    pub quick: bool,
    /// What the command line changed by `--set`, as typed.
    #[serde(default)]
    pub changes: Vec<String>,
    /// Absolute limits of the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Threshold>,
    /// In the order in which they run; never empty.
    pub tests: Vec<Test>,
}

/// Whose rules a plan follows (docs/method.md, "Three semantics").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Semantics {
    /// What a measurement should be: own slices, redrawn random offsets, fresh data.
    Assay,
    /// What Iometer does, exactly, so that results compare with fifteen years of published tables.
    Iometer,
    /// What fio does: a stream for each direction, workers that all use the whole window, a map of visited blocks.
    Fio,
}

/// How much of a target is used, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// All of a device or of an existing file; a new file gets [`Span::NEW_FILE`].
    Whole,
    /// So much.
    Size(SizeSpec),
}

impl Span {
    /// The size of a file created for a plan that asks for none.
    pub const NEW_FILE: Bytes = Bytes(1 << 30);
}

/// One row of the result table, or one per step when it sweeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The row's name.
    pub name: String,
    /// What a reader of this row must know; may be empty.
    pub notes: String,
    /// Why the test is in the plan.
    #[serde(default, skip_serializing_if = "Role::is_measured")]
    pub role: Role,
    /// The load points; one where nothing is swept.
    pub steps: Vec<Step>,
}

/// Why a test is in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// For its result.
    #[default]
    Measured,
    /// To bring the targets into the state in which the others are measured.
    Precondition,
}

impl Role {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_measured(&self) -> bool {
        *self == Self::Measured
    }
}

/// One load point of a test: warm-up, measured window, drain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The swept values this step stands for, in the order of the sweep; empty where nothing is swept.
    pub swept: Vec<Swept>,
    /// Run side by side, with a common start and a common measured window; never empty.
    pub jobs: Vec<Job>,
    /// Load before counting starts.
    pub warmup: Nanos,
    /// When the measured window ends.
    pub stop: Stop,
    /// The run ends when more I/Os than this have failed in the step.
    pub error_limit: u64,
    /// Whether every read is checked against the stamp its block must carry.
    pub verify: bool,
}

impl Step {
    /// `size=4KiB outstanding=8`, or nothing where nothing is swept.
    pub fn label(&self) -> String {
        let parts: Vec<String> = self.swept.iter().map(|s| format!("{}={}", s.key, s.value)).collect();
        parts.join(" ")
    }
}

/// One swept value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// What is swept: size, window, outstanding, workers, read, rate, load or targets.
    pub key: String,
    /// The value, as text with its unit.
    pub value: String,
}

/// When the measured window ends: at the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stop {
    /// After this long.
    pub time: Nanos,
    /// When each job has moved so much; `None`: however much.
    pub bytes: Option<Bytes>,
    /// When each job has completed this many I/Os; `None`: however many.
    pub ops: Option<u64>,
    /// When each job has moved so many times the span of its targets; `None`: however much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<u32>,
    /// When the figures are good enough; `None`: however good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
}

impl Stop {
    /// How long a window lasts that ends by a number of bytes or I/Os, and whose plan states no time, at most.
    pub(crate) const TIME_BOUND: Nanos = Nanos::from_secs(24 * 3600);

    /// Whether only a number of bytes or I/Os ends the window: nothing tells beforehand how long it lasts.
    pub fn is_by_count(&self) -> bool {
        let has_count = self.bytes.is_some() || self.ops.is_some() || self.spans.is_some();
        has_count && self.time >= Self::TIME_BOUND
    }

    /// Returns what ends the window, in words: `2min`, `20000 I/Os`, `64GiB or 2min`.
    pub fn words(&self) -> String {
        let spans = |times| match times {
            1 => "the whole span once".to_owned(),
            times => format!("the whole span {times} times"),
        };
        let time = (!self.is_by_count()).then(|| self.time.to_string());
        let ends = [
            self.bytes.map(|bytes| bytes.to_string()),
            self.ops.map(|ops| format!("{ops} I/Os")),
            self.spans.map(spans),
            time,
        ];
        ends.into_iter().flatten().collect::<Vec<_>>().join(" or ")
    }
}

/// A group of identical workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What the job is called where a test has several.
    pub name: String,
    /// Which of the run's targets the job uses; empty means all of them.
    pub targets: Vec<u32>,
    /// The window of the job where it begins at the start of its targets and is given in bytes; `None`: all that the
    /// run uses, or the part that `window` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// What an I/O looks like; never empty.
    pub mix: Vec<Access>,
    /// Threads, each issuing its own I/O. In [1, 256].
    pub workers: u32,
    /// I/Os in flight: per worker, or per worker and member under Iometer semantics. In [1, 4096].
    pub outstanding: u32,
    /// When I/Os are issued.
    pub pacing: Pacing,
    /// Drain, reopen and rewind a member every this many I/Os (Iometer's test connection rate).
    pub reconnect_every: Option<u32>,
    /// What writes write.
    pub data: Data,
    /// Whether each write waits until it is durable, also without `--sync`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// The window of the job where it begins elsewhere or is a share.
    #[serde(default, skip_serializing_if = "Window::is_whole")]
    pub window: Window,
    /// Flushes between writes; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Flushes>,
    /// How long after the common start the job begins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_delay: Nanos,
    /// How much further on the window of each worker begins than that of the one before (fio semantics).
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub increment: Extent,
    /// Stripes of the window that are used in turn; `None`: all of it (fio semantics).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strides: Option<Strides>,
    /// Zones that random writes fill from their beginnings; `None`: a write goes where it is drawn (fio semantics).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<Zoned>,
    /// Each worker uses so many of the job's targets, the next worker the next ones; 0: all of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub targets_each: u32,
    /// The weight of each worker among those of the step that have one: their I/Os keep that proportion, and who is
    /// ahead waits; 0: it waits for nobody (fio semantics).
    #[serde(default, skip_serializing_if = "is_none")]
    pub flow: u32,
    /// What ends with the first worker that reaches its end; `None`: each worker ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Ends>,
    /// When this job ends by itself, counted from its own start; `None`: with its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Hosts that run the job, by name; empty means all of the run. In the record of a run of several hosts each job
    /// is of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// By what part of the time between two workers' I/Os those of this job are due later, in [0, 1): hosts that share
    /// a rate and begin together take turns.
    #[serde(default, skip_serializing_if = "is_no_shift")]
    pub shift: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_no_shift(shift: &f64) -> bool {
    *shift == 0.0
}

fn is_nothing(extent: &Extent) -> bool {
    *extent == Extent::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos(0)
}

/// Whom a worker takes along when it reaches its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// The other workers of its job.
    Job,
    /// All workers of the step.
    Test,
}

/// Flushes between writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flushes {
    /// A worker flushes a member after so many writes to it. At least 1.
    pub every: u32,
    /// What becomes durable.
    pub kind: Flush,
}

/// What a flush makes durable. Devices and LUNs make no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// The data and what is needed to read them: fdatasync(2).
    #[default]
    Data,
    /// All metadata of the file too: fsync(2).
    All,
}

impl Default for Job {
    /// One worker with one I/O outstanding on all targets, and no access line yet.
    fn default() -> Self {
        Self {
            name: String::new(),
            targets: Vec::new(),
            mix: Vec::new(),
            workers: 1,
            outstanding: 1,
            pacing: Pacing::Closed,
            reconnect_every: None,
            data: Data::Unique,
            span: None,
            sync: false,
            window: Window::WHOLE,
            flush: None,
            start_delay: Nanos(0),
            increment: Extent::default(),
            strides: None,
            zoned: None,
            targets_each: 0,
            flow: 0,
            ends: None,
            stop: None,
            hosts: Vec::new(),
            shift: 0.0,
        }
    }
}

impl Job {
    /// Returns what sets the job apart from most, each with a comma in front: `, in 1GiB from 50%, a flush after every
    /// 8 writes`.
    pub fn particulars(&self) -> String {
        let mut text = String::new();
        match self.span {
            Some(span) => text.push_str(&format!(", in the first {span}")),
            None if self.window.is_whole() => {}
            None => text.push_str(&format!(", in {}", self.window)),
        }
        if let Some(strides) = self.strides {
            text.push_str(&format!(", in stripes of {strides}"));
        }
        if let Some(zoned) = self.zoned {
            text.push_str(&format!(", in {zoned}"));
        }
        match self.flush {
            None => {}
            Some(Flushes { every: 1, .. }) => text.push_str(", a flush after every write"),
            Some(Flushes { every, .. }) => text.push_str(&format!(", a flush after every {every} writes")),
        }
        if self.start_delay > Nanos(0) {
            text.push_str(&format!(", begins after {}", self.start_delay));
        }
        if self.flow > 0 {
            text.push_str(&format!(", in proportion {}", self.flow));
        }
        match self.ends {
            None => {}
            Some(Ends::Job) => text.push_str(", ends with its first worker"),
            Some(Ends::Test) => text.push_str(", its end is that of all"),
        }
        if let Some(stop) = &self.stop {
            text.push_str(&format!(", ends after {}", stop.words()));
        }
        text
    }

    /// Whether any I/O of this job changes what the target holds.
    pub fn writes(&self) -> bool {
        self.mix.iter().any(Access::writes)
    }

    /// The largest I/O of the mix, replies included, bytes.
    pub fn size_max(&self) -> Bytes {
        self.mix.iter().map(|a| a.size.max(a.reply)).max().unwrap_or_default()
    }

    /// The largest I/O of the mix that moves data, replies included, bytes.
    pub fn transfer_max(&self) -> Bytes {
        self.mix.iter().filter(|a| a.transfers()).map(|a| a.size.max(a.reply)).max().unwrap_or_default()
    }
}

/// One weighted line of a mix (Iometer: access specification line).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Share of the bursts: this weight over the sum of weights.
    pub weight: u32,
    /// Bytes of one I/O. In [1, 512 MiB]; of a trim, which moves no data, in [1, 4095 MiB].
    pub size: Bytes,
    /// Share of reads, percent. In [0, 100].
    pub read: f64,
    /// Share of random positions, percent; the rest continue where the last I/O ended. In [0, 100].
    pub random: f64,
    /// Offsets are multiples of this, bytes; 0 under Iometer semantics means the block size of the target.
    pub align: Bytes,
    /// Pause of the whole worker before each burst.
    pub delay: Nanos,
    /// Consecutive I/Os drawn with this line once it is chosen. At least 1.
    pub burst: u32,
    /// After each I/O one of this many bytes the other way; 0: none.
    pub reply: Bytes,
    /// How random positions are spread.
    #[serde(default, skip_serializing_if = "Distribution::is_uniform")]
    pub distribution: Distribution,
    /// Consecutive I/Os that follow one another from each random position, itself included. At least 1.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub sequence: u32,
    /// What the I/Os do that are not reads.
    #[serde(default, skip_serializing_if = "Change::is_write")]
    pub change: Change,
    /// Whether random I/Os visit every block once before any twice, and end where a visited one begins (fio semantics).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// What a sequential I/O leaves out behind the one before (fio semantics).
    #[serde(default, skip_serializing_if = "no_bytes")]
    pub gap: Bytes,
    /// How far before the end of the one before a sequential I/O begins: such a job goes backwards (fio semantics).
    #[serde(default, skip_serializing_if = "no_bytes")]
    pub back: Bytes,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn no_bytes(bytes: &Bytes) -> bool {
    *bytes == Bytes(0)
}

/// How an I/O changes what the target holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It writes data.
    #[default]
    Write,
    /// It trims: the blocks hold nothing afterwards. Counted with the writes.
    Trim,
    /// It trims, and once that is done it writes the same blocks: two I/Os, counted with the writes (fio semantics).
    TrimWrite,
}

impl Change {
    /// Returns true if data are written.
    #[inline]
    pub fn is_write(&self) -> bool {
        *self == Self::Write
    }
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_once(sequence: &u32) -> bool {
    *sequence == 1
}

impl Default for Access {
    /// Sequential reads of 4 KiB.
    fn default() -> Self {
        Self {
            weight: 100,
            size: Bytes(4096),
            read: 100.0,
            random: 0.0,
            align: Bytes(4096),
            delay: Nanos(0),
            burst: 1,
            reply: Bytes(0),
            distribution: Distribution::Uniform,
            sequence: 1,
            change: Change::Write,
            once: false,
            gap: Bytes(0),
            back: Bytes(0),
        }
    }
}

impl Access {
    /// Returns what sets the line's positions and changes apart from those of most lines, each with a comma in front:
    /// `, zipf 1.2, sequences of 8`.
    pub fn particulars(&self) -> String {
        let mut text = String::new();
        if !self.distribution.is_uniform() {
            text.push_str(&format!(", {}", self.distribution));
        }
        if self.sequence > 1 {
            text.push_str(&format!(", sequences of {}", self.sequence));
        }
        if self.once {
            text.push_str(", every block once");
        }
        if self.gap > Bytes(0) {
            text.push_str(&format!(", gaps of {}", self.gap));
        }
        if self.back > Bytes(0) {
            text.push_str(&format!(", {} back each time", self.back));
        }
        match self.change {
            _ if !self.trims() => {}
            Change::TrimWrite => text.push_str(", each block trimmed first"),
            Change::Trim | Change::Write => text.push_str(", trims"),
        }
        text
    }

    /// Returns true if this line ever trims.
    pub fn trims(&self) -> bool {
        self.change != Change::Write && self.read < 100.0
    }

    /// Returns true if this line ever moves data: a trim moves none.
    pub fn transfers(&self) -> bool {
        self.read > 0.0 || self.reply.0 > 0 || self.change != Change::Trim
    }

    /// Returns true if this line ever writes data.
    pub fn writes_data(&self) -> bool {
        self.reply.0 > 0 || (self.read < 100.0 && self.change != Change::Trim)
    }

    /// Whether this line ever writes.
    pub fn writes(&self) -> bool {
        self.read < 100.0 || self.reply.0 > 0
    }

    /// Whether this line ever reads.
    pub fn reads(&self) -> bool {
        self.read > 0.0 || self.reply.0 > 0
    }
}

/// When I/Os are issued.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Pacing {
    /// The next I/O follows a completion at once: always `outstanding` in flight.
    Closed,
    /// Closed loop, but not faster than this rate of the whole job. A late I/O is not made up for.
    Throttled {
        /// I/Os per second of the whole job.
        rate: PerSecond,
    },
    /// Open loop: I/Os are due at times of their own, whether earlier ones have ended or not.
    Open {
        /// I/Os per second of the whole job.
        rate: PerSecond,
        /// How the due times are spread.
        arrivals: Arrivals,
    },
}

impl Pacing {
    /// Whether I/Os are due at times of their own.
    #[inline]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// The rate aimed at, I/Os per second; `None` for a closed loop.
    #[inline]
    pub fn rate(self) -> Option<PerSecond> {
        match self {
            Self::Closed => None,
            Self::Throttled { rate } | Self::Open { rate, .. } => Some(rate),
        }
    }
}

/// How the due times of an open loop are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// With exponential gaps, as independent users produce them.
    Poisson,
}

/// What writes write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Data {
    /// Random and never the same twice: nothing to compress, nothing to deduplicate.
    Unique,
    /// Reducible by about these ratios (1 = not at all), in units of 4 KiB.
    Reducible {
        /// Bytes before over bytes after compression. At least 1.
        compress: f64,
        /// Blocks before over blocks after deduplication. At least 1.
        dedupe: f64,
    },
    /// Iometer 1.1.0's default: one random byte repeated through each I/O.
    IometerRepeating,
    /// Iometer's pseudo random: one random buffer, written again and again.
    IometerPseudoRandom,
    /// Iometer's full random: a random window into 16 MiB of random bytes.
    IometerFullRandom,
}

impl Plan {
    /// Returns whether the test at this index is in the plan for its result, and not to prepare the targets; true for
    /// one that the plan does not have.
    pub fn is_result(&self, test: u32) -> bool {
        self.tests.get(test as usize).is_none_or(|test| test.role == Role::Measured)
    }

    /// Whether any test trims.
    pub fn trims(&self) -> bool {
        self.jobs().flat_map(|job| &job.mix).any(Access::trims)
    }

    /// Whether any test changes what the targets hold.
    pub fn writes(&self) -> bool {
        self.jobs().any(Job::writes)
    }

    /// Whether blocks must carry stamps: some test checks them.
    pub fn verifies(&self) -> bool {
        self.tests.iter().flat_map(|t| &t.steps).any(|s| s.verify)
    }

    /// Every job of every step.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.tests.iter().flat_map(|t| &t.steps).flat_map(|s| &s.jobs)
    }

    /// How many steps there are in all tests.
    pub fn step_count(&self) -> usize {
        self.tests.iter().map(|t| t.steps.len()).sum()
    }

    /// Warm-up of all steps, and measured time of those that are bounded by time.
    pub fn time(&self) -> Nanos {
        let measured = |stop: &Stop| if stop.is_by_count() { 0 } else { stop.time.0 };
        Nanos(self.tests.iter().flat_map(|t| &t.steps).map(|s| s.warmup.0 + measured(&s.stop)).sum())
    }
}

/// Returns the names of the tests and of the steps of a plan, as limits mean them.
pub fn named_steps(tests: &[Test]) -> impl Iterator<Item = (&str, String)> {
    tests.iter().flat_map(|test| {
        let name = |label: String| format!("{} {label}", test.name).trim_end().to_owned();
        test.steps.iter().map(move |step| (test.name.as_str(), name(step.label())))
    })
}
