//! What is measured of an experiment: a number, its error, and where it lies if nobody expects anything of it.

use assay_record::Experiment;
use serde::Serialize;

use crate::range::Range;

/// A number that hypotheses have expectations of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// IOPS of the experiment over those of the load itself; of the load itself, of a repetition over the first.
    Rate(Experiment),
    /// Mean latency at about half the rate over that of the load itself.
    PacedLatency,
    /// Mean latency with one I/O outstanding, µs.
    LatencyOne,
    /// Mean latency of the load itself, µs; others are compared with it.
    MeanLatency,
    /// Median over mean latency of the load itself.
    MedianToMean,
    /// Latency that a fifth of the load's I/Os stay below, over the mean.
    LowToMean,
    /// CPU time of the tester over that which its workers can use.
    TesterBusy,
    /// Share of this host's CPU time that other programs and the hypervisor take.
    OthersBusy,
    /// Throughput of the load over the ceiling of its links.
    LinkShare,
    /// I/Os of the busiest path over the mean of all.
    PathShare,
    /// Round trip of the slowest path over that of the fastest.
    PathDelays,
    /// Time that a ping under load takes longer than an idle one, over the mean latency of the load.
    PingWait,
    /// Segments sent again for each 1,000 I/Os.
    Resent,
    /// Segments received out of order for each 1,000 I/Os: what the target sends again.
    OutOfOrder,
    /// Frames that do not arrive: 1 where there are some, else 0.01.
    LostFrames,
    /// Rate in the last third of the load's window over that of the first.
    Trend,
    /// Bytes that the devices of this host moved over those of the tester.
    DeviceBytes,
    /// Throughput over that of the nearest interface or bus standard.
    BusMatch,
    /// Share of the span that was never written.
    Unwritten,
    /// Share of the writes that begin or end within a block of 4 KiB, or the larger one of the device.
    PartialBlocks,
}

/// The smallest value of a share: the logarithm of none is not a number.
pub(crate) const LEAST: f64 = 0.001;
/// The value of [`Quantity::LostFrames`] where there are none.
pub(crate) const NO_LOST_FRAMES: f64 = 0.01;

impl Quantity {
    /// Where the number lies, with 90 % probability, for a hypothesis that expects nothing in particular.
    #[must_use]
    pub fn usual(self) -> Range {
        let (lo, hi) = match self {
            Self::Rate(experiment) => usual_rate(experiment),
            Self::PacedLatency => (0.04, 1.1),
            Self::LatencyOne => (12.0, 15_000.0),
            Self::MeanLatency => (1.0, 1e7),
            Self::MedianToMean => (0.35, 1.08),
            Self::LowToMean => (0.02, 1.05),
            Self::TesterBusy => (0.005, 0.7),
            Self::OthersBusy => (0.002, 0.3),
            Self::LinkShare => (0.003, 0.85),
            Self::PathShare => (0.98, 1.1),
            Self::PathDelays => (1.0, 3.0),
            Self::PingWait => (LEAST, 1.2),
            Self::Resent => (LEAST, 0.5),
            // Links of a bond and queues of an interface let a few overtake others.
            Self::OutOfOrder => (LEAST, 3.0),
            Self::LostFrames => (0.008, 0.012),
            Self::Trend => (0.88, 1.12),
            Self::DeviceBytes => (0.95, 1.06),
            Self::BusMatch => (0.5, 1.7),
            Self::Unwritten => (LEAST, 0.005),
            // Many such writes are merged or absorbed before they reach the medium.
            Self::PartialBlocks => (LEAST, 0.4),
        };
        Range { lo, hi }
    }

    /// Where the number lies for a hypothesis that says nothing else: an experiment that does not touch what limits
    /// leaves the rate as it is. `None` where that does not follow.
    #[must_use]
    pub fn unchanged(self) -> Option<Range> {
        use Experiment as E;
        let experiment = match self {
            Self::Rate(experiment) => experiment,
            Self::MedianToMean => return Some(Range { lo: 0.82, hi: 1.08 }),
            _ => return None,
        };
        match experiment {
            E::OnePath => Some(Range { lo: 0.92, hi: 1.05 }),
            E::HotSpan
            | E::TenthSpan
            | E::WholeSpan
            | E::Sequential
            | E::Random
            | E::Misaligned
            | E::Aligned
            | E::MoreWorkers
            | E::MoreConnections
            | E::MoreOutstanding
            | E::EvenPaths
            | E::WithoutSync
            | E::RepeatingData
            | E::UniqueData
            | E::AfterIdle => Some(Range { lo: 0.95, hi: 1.06 }),
            _ => None,
        }
    }

    /// Probability that the number lies outside the range of the true hypothesis. What the kernel counts is hardly ever
    /// wrong; what a model expects of a ratio is, more often.
    pub(crate) fn outside(self) -> f64 {
        match self {
            Self::OthersBusy
            | Self::DeviceBytes
            | Self::LinkShare
            | Self::LostFrames
            | Self::OutOfOrder
            | Self::PathDelays
            | Self::Unwritten
            | Self::Rate(Experiment::Base) => 0.003,
            _ => 0.04,
        }
    }

    /// Whether the number is counted, not estimated.
    pub(crate) fn is_counted(self) -> bool {
        matches!(
            self,
            Self::LostFrames | Self::Unwritten | Self::PartialBlocks | Self::Resent | Self::OutOfOrder
        )
    }

    /// Returns the number as it is stated: what stands for none is 0.
    pub(crate) fn stated(self, value: f64) -> f64 {
        let is_none = match self {
            Self::LostFrames => value <= NO_LOST_FRAMES * 2.0,
            Self::Unwritten | Self::PartialBlocks | Self::Resent | Self::OutOfOrder | Self::PingWait => {
                value <= LEAST
            }
            _ => false,
        };
        if is_none { 0.0 } else { value }
    }

    /// The same of the ends of a range.
    pub(crate) fn stated_range(self, range: Range) -> Range {
        Range { lo: self.stated(range.lo), hi: self.stated(range.hi) }
    }

    /// In words, as the table of a diagnosis has it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Rate(_) => "IOPS, ratio",
            Self::PacedLatency => "latency, ratio",
            Self::LatencyOne => "latency, µs",
            Self::MeanLatency => "latency of the load, µs",
            Self::MedianToMean => "median / mean latency",
            Self::LowToMean => "p20 / mean latency",
            Self::TesterBusy => "CPU of the workers",
            Self::OthersBusy => "CPU of others",
            Self::LinkShare => "of the link ceiling",
            Self::PathShare => "busiest path / mean",
            Self::PathDelays => "slowest / fastest path",
            Self::PingWait => "ping's wait / latency",
            Self::Resent => "resent per 1,000 I/Os",
            Self::OutOfOrder => "out of order per 1,000",
            Self::LostFrames => "frames lost",
            Self::Trend => "last / first third",
            Self::DeviceBytes => "device / tester bytes",
            Self::BusMatch => "of a bus standard",
            Self::Unwritten => "never written",
            Self::PartialBlocks => "partial-block writes",
        }
    }
}

fn usual_rate(experiment: Experiment) -> (f64, f64) {
    match experiment {
        // Virtual machines and shared disks differ that much from minute to minute.
        Experiment::Base => (0.83, 1.2),
        Experiment::MoreOutstanding => (0.8, 3.0),
        Experiment::OneOutstanding => (0.02, 1.0),
        Experiment::LargerIo => (0.12, 1.05),
        Experiment::SmallerIo => (0.95, 8.0),
        Experiment::HotSpan => (0.85, 20.0),
        Experiment::TenthSpan | Experiment::MoreWorkers | Experiment::MoreConnections => (0.8, 2.0),
        Experiment::WholeSpan => (0.2, 1.15),
        Experiment::ReadsOnly => (0.6, 12.0),
        Experiment::WritesOnly => (0.1, 1.6),
        // Links and some limits carry as much the other way at the same time.
        Experiment::Mixed => (0.2, 2.05),
        Experiment::Sequential => (0.8, 20.0),
        Experiment::Random => (0.02, 1.1),
        Experiment::Misaligned => (0.3, 1.1),
        Experiment::Aligned | Experiment::EvenPaths => (0.85, 2.5),
        Experiment::OnePath => (0.2, 1.1),
        Experiment::WithoutSync => (0.9, 20.0),
        // A flush comes on top of each write; storage with a protected cache acknowledges it at once.
        Experiment::WithSync => (0.02, 1.05),
        Experiment::RepeatingData => (0.9, 2.0),
        Experiment::UniqueData => (0.4, 1.1),
        Experiment::AfterIdle => (0.85, 1.6),
        Experiment::HalfRate => (0.3, 0.75),
    }
}

/// A number that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Observation {
    /// In which experiment.
    pub experiment: Experiment,
    /// Which number.
    pub quantity: Quantity,
    /// Its value, above 0.
    pub value: f64,
    /// Standard error of its logarithm, as far as the measurement itself shows it.
    pub error: f64,
    /// What a disturbed host may add to it.
    pub host_error: f64,
}

impl Observation {
    /// Returns the whole error if disturbances of the host count by this scale.
    #[must_use]
    pub fn whole_error(&self, scale: f64) -> f64 {
        self.error.hypot(self.host_error * scale)
    }
}
