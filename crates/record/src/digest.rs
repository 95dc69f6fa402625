//! What a list says of a run, kept beside its events so that a list of thousands of runs reads none of them.
//!
//! A digest is made from a run by `analysis`, at the ends of steps and of the run. It can always be made again from
//! the events, so that its form may change: [`RunDigest::VERSION`] says which one a stored digest has.

use serde::{Deserialize, Serialize};

/// A run in short.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunDigest {
    /// From the start of the run to its last event, s.
    pub length_s: f64,
    /// Steps that the plan asks for.
    pub planned_steps: u32,
    /// The steps that were measured, in their order.
    pub tests: Vec<TestDigest>,
    /// What the run shows, the most severe first; each rule once.
    pub findings: Vec<FindingDigest>,
    /// The sentence that names the bottleneck, where there is one; of a diagnosis its outcome.
    pub verdict: Option<String>,
    /// What the command line made otherwise than the plan has it: `--quick, outstanding=1`. Empty where the load is the
    /// plan's, and in digests from before it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub changed: String,
    /// What all its results depend on, by name: the target, the span, the way to the storage. Runs that differ in one
    /// of them are no points of one trend. Empty in digests from before it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub under: Vec<(String, String)>,
    /// Versions that it was measured with, by name: of the kernel, of Assay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<(String, String)>,
    /// The step of a journal that it is: `nas: jumbo frames`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// [`RunHeader::series`](crate::RunHeader::series). `None` too in digests from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Whether the run is a diagnosis.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_diagnosis: bool,
    /// Share of the highest IOPS over the run, in equal parts of the measured time, in [0, 1]; at most
    /// [`RunDigest::SPARK_MAX`].
    pub spark: Vec<f32>,
}

impl RunDigest {
    /// The form that this version writes. A digest of another form is made again from the run's events. Form 5 is 4,
    /// but in a store it has what lists are sorted by beside it.
    pub const VERSION: u32 = 5;
    /// Most hosts whose rates are kept: lists read thousands of digests.
    pub const HOSTS_MAX: usize = 64;
    /// Number of points of a spark line.
    pub const SPARK_MAX: usize = 48;
}

/// The headline figures of one step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TestDigest {
    /// Name of the test.
    pub test: String,
    /// The swept values: `size=4KiB`; empty where nothing is swept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// The load that was run, by name: accesses, I/Os in flight, pace. Empty in digests from before it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<(String, String)>,
    /// Whether the plan sets its rate, so that its latency decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_paced: bool,
    /// Measured window, s.
    pub measured_s: f64,
    /// Successful operations per second.
    pub iops: FigureDigest,
    /// 2^20 bytes per second.
    pub mib_per_s: FigureDigest,
    /// Highest IOPS of a second; `None` where there are no whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_max: Option<f64>,
    /// Highest MiB/s of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib_per_s_max: Option<f64>,
    /// Mean latency, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<FigureDigest>,
    /// Median latency, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<FigureDigest>,
    /// 99th percentile of the latency, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<FigureDigest>,
    /// Measured over expected, nominal, where an array is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_ratio: Option<f64>,
    /// I/Os that failed.
    pub errors: u64,
    /// Whether it ran to its end.
    pub complete: bool,
    /// The rate of each host that was not lost, of a run over a few; empty of more than [`RunDigest::HOSTS_MAX`], and
    /// in digests from before it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostDigest>,
}

/// The rate of one of several hosts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostDigest {
    /// Its name, with which the names of its targets begin.
    pub name: String,
    /// Successful operations per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
}

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FigureDigest {
    /// The best guess.
    pub value: f64,
    /// Lower end of the interval; `None` where nothing is known of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
}

/// A finding in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingDigest {
    /// Stable name of the rule.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
}

/// How much a finding matters, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know when reading the numbers.
    Info,
    /// The numbers may not mean what they seem to.
    Warning,
    /// The numbers, or the storage, must not be relied on.
    Critical,
}

impl Severity {
    /// Returns the word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}
