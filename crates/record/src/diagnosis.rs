//! A diagnosis as data: a run whose tests are experiments, each of which changes one property of a load.

use serde::{Deserialize, Serialize};

/// Facts about a run that is a diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosisFacts {
    /// Name of the diagnosed load.
    pub load: String,
    /// Time allowed for the experiments, s.
    pub budget_s: f64,
    /// Share of this host's CPU time used by other processes in the second before the first experiment. In \[0, 1\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
    /// The same with what gives way to every other thread (SCHED_IDLE): what the CPUs did, whoever wanted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_before: Option<f64>,
    /// Whether the tester kept idle CPUs awake: they take part in what the hypervisor gives out, and are stolen from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept_awake: bool,
    /// Experiment of each test of the plan, in the order of the plan. Tests that were not chosen have no step.
    pub experiments: Vec<Experiment>,
}

/// An experiment: the load with one property changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// The load itself.
    Base,
    /// Four times the queue depth.
    MoreOutstanding,
    /// Queue depth 1.
    OneOutstanding,
    /// I/Os eight times as large.
    LargerIo,
    /// I/Os an eighth as large.
    SmallerIo,
    /// The same few MiB repeatedly.
    HotSpan,
    /// A tenth of the span.
    TenthSpan,
    /// The whole target, for a load that uses a part of it.
    WholeSpan,
    /// Reads only.
    ReadsOnly,
    /// Writes only.
    WritesOnly,
    /// As many reads as writes, for a load that only reads or only writes.
    Mixed,
    /// Sequential instead of random offsets.
    Sequential,
    /// Random instead of sequential offsets.
    Random,
    /// Offsets shifted from their alignment by sectors.
    Misaligned,
    /// Offsets and sizes in multiples of 4 KiB, for a load that has others.
    Aligned,
    /// Twice the workers, with the same total queue depth.
    MoreWorkers,
    /// One path of several.
    OnePath,
    /// More sessions or connections over the same links.
    MoreConnections,
    /// Each I/O on a different path.
    EvenPaths,
    /// Writes that are not durable individually, for a load whose writes are.
    WithoutSync,
    /// Writes that are durable individually, for a load whose writes are not.
    WithSync,
    /// Repeating data, for a load with unique data.
    RepeatingData,
    /// Unique data, for a load with repeating data.
    UniqueData,
    /// The load after an idle pause.
    AfterIdle,
    /// About half of the rate that the load reached.
    HalfRate,
}

impl Experiment {
    /// Every experiment.
    pub const ALL: [Self; 25] = [
        Self::Base,
        Self::MoreOutstanding,
        Self::OneOutstanding,
        Self::LargerIo,
        Self::SmallerIo,
        Self::HotSpan,
        Self::TenthSpan,
        Self::WholeSpan,
        Self::ReadsOnly,
        Self::WritesOnly,
        Self::Mixed,
        Self::Sequential,
        Self::Random,
        Self::Misaligned,
        Self::Aligned,
        Self::MoreWorkers,
        Self::OnePath,
        Self::MoreConnections,
        Self::EvenPaths,
        Self::WithoutSync,
        Self::WithSync,
        Self::RepeatingData,
        Self::UniqueData,
        Self::AfterIdle,
        Self::HalfRate,
    ];

    /// Returns the changed property in a few words, which is also the name of its test.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "the load itself",
            Self::MoreOutstanding => "4x outstanding",
            Self::OneOutstanding => "1 outstanding",
            Self::LargerIo => "8x I/O size",
            Self::SmallerIo => "1/8 I/O size",
            Self::HotSpan => "span of 4 MiB",
            Self::TenthSpan => "a tenth of the span",
            Self::WholeSpan => "the whole target",
            Self::ReadsOnly => "reads only",
            Self::WritesOnly => "writes only",
            Self::Mixed => "half reads, half writes",
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Misaligned => "misaligned",
            Self::Aligned => "aligned to 4 KiB",
            Self::MoreWorkers => "2x workers",
            Self::OnePath => "one path",
            Self::MoreConnections => "4x connections",
            Self::EvenPaths => "every I/O on the next path",
            Self::WithoutSync => "without sync",
            Self::WithSync => "with sync",
            Self::RepeatingData => "repeating data",
            Self::UniqueData => "unique data",
            Self::AfterIdle => "after a pause",
            Self::HalfRate => "about half the rate",
        }
    }
}
