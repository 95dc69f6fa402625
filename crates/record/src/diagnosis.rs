//! A diagnosis as data: a run whose tests are experiments, each of which changes one thing of a load.

use serde::{Deserialize, Serialize};

/// What makes a run a diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosisFacts {
    /// Name of the load that is diagnosed.
    pub load: String,
    /// Time allowed for the experiments, s.
    pub budget_s: f64,
    /// Share of this host's CPU time that others used in the second before the first experiment. In \[0, 1\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_busy: Option<f64>,
    /// The experiment that each test of the plan is, in the order of the plan. Those that were not chosen have no step.
    pub experiments: Vec<Experiment>,
}

/// An experiment: the load with one thing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// The load itself.
    Base,
    /// Four times as many I/Os outstanding.
    MoreOutstanding,
    /// One I/O outstanding.
    OneOutstanding,
    /// I/Os eight times as large.
    LargerIo,
    /// I/Os an eighth as large.
    SmallerIo,
    /// The same few MiB again and again.
    HotSpan,
    /// A tenth of the span.
    TenthSpan,
    /// Reads only.
    ReadsOnly,
    /// Writes only.
    WritesOnly,
    /// Sequential instead of random offsets.
    Sequential,
    /// Random instead of sequential offsets.
    Random,
    /// Offsets off their alignment by sectors.
    Misaligned,
    /// Offsets and sizes in multiples of 4 KiB, of a load that has others.
    Aligned,
    /// Twice the workers, with the same number of I/Os outstanding in all.
    MoreWorkers,
    /// One path of several.
    OnePath,
    /// More sessions or connections over the same links.
    MoreConnections,
    /// Every I/O on the next path.
    EvenPaths,
    /// Writes that are not durable one by one, of a load whose writes are.
    WithoutSync,
    /// Data that repeat, of a load whose data do not.
    RepeatingData,
    /// Unique data, of a load whose data repeat.
    UniqueData,
    /// The load after a pause without any.
    AfterIdle,
    /// About half of the rate that the load reached.
    HalfRate,
}

impl Experiment {
    /// Every experiment.
    pub const ALL: [Self; 22] = [
        Self::Base,
        Self::MoreOutstanding,
        Self::OneOutstanding,
        Self::LargerIo,
        Self::SmallerIo,
        Self::HotSpan,
        Self::TenthSpan,
        Self::ReadsOnly,
        Self::WritesOnly,
        Self::Sequential,
        Self::Random,
        Self::Misaligned,
        Self::Aligned,
        Self::MoreWorkers,
        Self::OnePath,
        Self::MoreConnections,
        Self::EvenPaths,
        Self::WithoutSync,
        Self::RepeatingData,
        Self::UniqueData,
        Self::AfterIdle,
        Self::HalfRate,
    ];

    /// What it changes, in a few words; also the name of its test.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "the load itself",
            Self::MoreOutstanding => "4x outstanding",
            Self::OneOutstanding => "1 outstanding",
            Self::LargerIo => "8x I/O size",
            Self::SmallerIo => "1/8 I/O size",
            Self::HotSpan => "span of 4 MiB",
            Self::TenthSpan => "a tenth of the span",
            Self::ReadsOnly => "reads only",
            Self::WritesOnly => "writes only",
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Misaligned => "misaligned",
            Self::Aligned => "aligned to 4 KiB",
            Self::MoreWorkers => "2x workers",
            Self::OnePath => "one path",
            Self::MoreConnections => "4x connections",
            Self::EvenPaths => "every I/O on the next path",
            Self::WithoutSync => "without sync",
            Self::RepeatingData => "repeating data",
            Self::UniqueData => "unique data",
            Self::AfterIdle => "after a pause",
            Self::HalfRate => "about half the rate",
        }
    }
}
