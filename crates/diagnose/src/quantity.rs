//! What is measured of an experiment: a number, its error, and where it lies if nobody expects anything of it.

use assay_record::Experiment;
use serde::Serialize;

use crate::cause::Cause;
use crate::range::Range;

/// A number that hypotheses have expectations of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// IOPS of the experiment over those of the load itself; of the load itself, of a repetition over the first.
    Rate(Experiment),
    /// Mean latency at about half the rate over that of the load itself.
    PacedLatency,
    /// Mean latency at about half the rate over that of one I/O at a time: a limit lets a load below it pass at once.
    PacedToOne,
    /// Round trip of an idle ping over the mean latency of the load.
    RoundTripShare,
    /// CPU time that neither the tester nor others before the load use, in CPUs.
    HelpersBusy,
    /// Median latency of the slowest member of a stripe over that of the others, by the offsets of the load; 1 where
    /// no stripe shows.
    SlowMember,
    /// Latency of the slowest part of the addresses over that of the rest; 1 where none is slower.
    SlowRegion,
    /// 1 where this host or the target itself shows the state that is this cause.
    Shown(Cause),
    /// Mean latency with one I/O outstanding, µs.
    LatencyOne,
    /// Mean latency of the load itself, µs: no I/O takes less than the medium needs for it.
    LatencyOfLoad,
    /// Median over mean latency of the load itself.
    MedianToMean,
    /// Latency that a fifth of the load's I/Os stay below, over the mean.
    LowToMean,
    /// CPU time of the tester over that which its workers can use.
    TesterBusy,
    /// Share of this host's CPU time that other programs and the hypervisor take, where nobody knows whether the tester
    /// waits for it.
    OthersBusy,
    /// Share of the time in which the tester waits for a CPU that other programs or the hypervisor have.
    WaitForOthers,
    /// Share of the time in which a control group stops the tester for its limit on CPU time.
    StoppedByQuota,
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
    /// Rate of the load after it had fallen, over the rate that it had fallen to, where nothing that rests the target
    /// lies between.
    CameBack,
    /// Bytes that the devices of this host moved over those of the tester.
    DeviceBytes,
    /// Throughput over that of the nearest interface or bus standard.
    BusMatch,
    /// Share of the span that was never written.
    Unwritten,
    /// 1 where nobody knows whether the blocks were ever written.
    UnknownContent,
    /// Share of the blocks, read at some places before the run, that held only zeros.
    OnlyZeros,
    /// Share of the writes that begin or end within a block of 4 KiB, or the larger one of the device.
    PartialBlocks,
    /// Rate of the load over a limit on operations that this host shows, where it is near.
    OfIopsLimit,
    /// Throughput of the load over a limit on bytes that this host shows, where it is near.
    OfBytesLimit,
}

/// An end of what is usual, in standard deviations: its range holds 90 %.
const TWO_SIDES_OF_USUAL: f64 = 1.645;
/// How fast a number beyond what is usual becomes surprising, as a logarithm.
const ALARM: f64 = 0.15;
/// Error of a number that is read and not estimated.
const ERROR_READ: f64 = 0.05;
/// The smallest value of a share: the logarithm of none is not a number.
pub(crate) const LEAST: f64 = 0.001;
/// More segments than this, for each 1,000 I/Os, are sent again only where some are lost.
const LOST_LEAST: f64 = 1.5;
/// More than this, for each 1,000 I/Os, overtake others only where some are lost.
const OVERTAKEN_MOST: f64 = 5.0;
/// The value of [`Quantity::LostFrames`] where there are none.
pub(crate) const NO_LOST_FRAMES: f64 = 0.01;

/// What is known of a quantity, whatever the cause is: everything but where hypotheses expect it.
struct Entry {
    /// As the table of a diagnosis has it.
    words: &'static str,
    /// Where it lies, with 90 % probability, for a hypothesis that expects nothing in particular.
    usual: (f64, f64),
    /// Probability that it lies outside the range of the true hypothesis.
    outside: f64,
    /// Density of what nobody expects.
    floor: f64,
    /// Whether it is counted, not estimated.
    is_counted: bool,
    /// Up to this, it is stated as 0.
    none: f64,
    /// Standard error of its logarithm, times the root of the number of I/Os that it rests on.
    by_ios: f64,
    /// Whether it is as exact as the rate itself.
    is_rate: bool,
    /// Whether a host that is disturbed by its hypervisor changes it.
    feels_host: bool,
}

/// Read from counters or samples.
const READ: Entry = Entry {
    words: "",
    usual: (0.0, 0.0),
    outside: 0.04,
    floor: 1e-4,
    is_counted: false,
    none: 0.0,
    by_ios: 0.0,
    is_rate: false,
    feels_host: false,
};
/// Computed from times that were measured.
const TIMED: Entry = Entry { feels_host: true, ..READ };
/// Counted: `none` is none.
const COUNTED: Entry = Entry { is_counted: true, none: LEAST, ..READ };
/// What the kernel counts is hardly ever wrong; what a model expects of a ratio is, more often.
const SURE: f64 = 0.003;
/// So rarely offsets show a slow place where there is none.
const BY_CHANCE: f64 = 1e-6;
/// A share that is computed from all I/Os of a window.
const BY_IOS: f64 = 1.0;

fn rate_entry(experiment: Experiment) -> Entry {
    let outside = if experiment == Experiment::Base { SURE } else { READ.outside };
    Entry { words: "IOPS, ratio", usual: usual_rate(experiment), outside, ..TIMED }
}

impl Quantity {
    fn entry(self) -> Entry {
        match self {
            Self::Rate(experiment) => rate_entry(experiment),
            Self::PacedLatency => {
                Entry { words: "latency, ratio", usual: (0.04, 1.1), by_ios: BY_IOS, ..TIMED }
            }
            Self::PacedToOne => {
                Entry { words: "latency / alone", usual: (0.05, 4.0), by_ios: BY_IOS, ..TIMED }
            }
            Self::LatencyOne => {
                Entry { words: "latency, µs", usual: (12.0, 15_000.0), by_ios: 0.7, ..TIMED }
            }
            Self::MedianToMean => {
                Entry { words: "median / mean latency", usual: (0.35, 1.08), by_ios: BY_IOS, ..TIMED }
            }
            Self::LowToMean => {
                Entry { words: "p20 / mean latency", usual: (0.02, 1.05), by_ios: BY_IOS, ..TIMED }
            }
            Self::TesterBusy => Entry { words: "CPU of the workers", usual: (0.005, 0.7), ..READ },
            Self::OthersBusy => Entry { words: "CPU of others", usual: (0.002, 0.3), outside: SURE, ..READ },
            Self::LinkShare => Entry {
                words: "of the link ceiling",
                usual: (0.003, 0.85),
                outside: SURE,
                by_ios: 0.5,
                ..TIMED
            },
            Self::PathShare => Entry { words: "busiest path / mean", usual: (0.98, 1.1), ..READ },
            Self::PathDelays => {
                Entry { words: "slowest / fastest path", usual: (1.0, 3.0), outside: SURE, ..TIMED }
            }
            Self::PingWait => {
                Entry { words: "ping's wait / latency", usual: (LEAST, 1.2), none: LEAST, ..TIMED }
            }
            Self::Resent => Entry { words: "resent per 1,000 I/Os", usual: (LEAST, 0.5), ..COUNTED },
            // Links of a bond and queues of an interface let a few overtake others.
            Self::OutOfOrder => {
                Entry { words: "out of order per 1,000", usual: (LEAST, 3.0), outside: SURE, ..COUNTED }
            }
            Self::LostFrames => Entry {
                words: "frames lost",
                usual: (0.008, 0.012),
                outside: SURE,
                none: NO_LOST_FRAMES * 2.0,
                ..COUNTED
            },
            // Two thirds of the I/Os are compared.
            Self::Trend => Entry { words: "last / first third", usual: (0.88, 1.12), by_ios: 2.45, ..TIMED },
            Self::DeviceBytes => {
                Entry { words: "device / tester bytes", usual: (0.95, 1.06), outside: SURE, ..READ }
            }
            Self::BusMatch => Entry { words: "of a bus standard", usual: (0.5, 1.7), is_rate: true, ..TIMED },
            Self::Unwritten => {
                Entry { words: "never written", usual: (LEAST, 0.005), outside: SURE, ..COUNTED }
            }
            // Devices that nobody filled mostly hold somebody's data; new disks read zeros from their media.
            Self::UnknownContent => Entry { words: "content unknown", usual: (0.01, 1.1), ..COUNTED },
            Self::OnlyZeros => Entry { words: "blocks of zeros", usual: (LEAST, 1.1), ..COUNTED },
            // Many such writes are merged or absorbed before they reach the medium.
            Self::PartialBlocks => Entry { words: "partial-block writes", usual: (LEAST, 0.4), ..COUNTED },
            _ => self.entry_of_shown(),
        }
    }

    /// The same of what this host, pings or the offsets of the load show.
    fn entry_of_shown(self) -> Entry {
        match self {
            Self::RoundTripShare => {
                Entry { words: "round trip / latency", usual: (LEAST, 0.6), by_ios: BY_IOS, ..TIMED }
            }
            Self::LatencyOfLoad => {
                Entry { words: "latency of the load, µs", usual: (12.0, 500_000.0), by_ios: 0.7, ..TIMED }
            }
            // What wakes up beside the tester makes it wait for some microseconds.
            Self::WaitForOthers => {
                Entry { words: "waits for a CPU", usual: (LEAST, 0.1), outside: SURE, ..READ }
            }
            Self::StoppedByQuota => {
                Entry { words: "stopped by a CPU quota", usual: (LEAST, 0.1), outside: SURE, ..COUNTED }
            }
            Self::HelpersBusy => Entry { words: "CPUs of the kernel", usual: (0.003, 0.7), ..READ },
            // What has no stripe, as a cluster that spreads its objects by their names, has a slow member all the same.
            Self::SlowMember => {
                let words = "slow member / others";
                Entry { words, usual: (0.97, 1.05), outside: 0.06, floor: BY_CHANCE, ..READ }
            }
            Self::SlowRegion => {
                let words = "slow region / rest";
                Entry { words, usual: (0.97, 1.05), outside: SURE, floor: BY_CHANCE, ..READ }
            }
            // Where it does not come back it is not stated: most causes say nothing of it.
            Self::CameBack => Entry { words: "came back, ratio", usual: (0.9, 6.0), outside: SURE, ..TIMED },
            Self::OfIopsLimit => {
                Entry { words: "of the limit on operations", usual: (0.003, 0.85), outside: SURE, ..TIMED }
            }
            Self::OfBytesLimit => {
                Entry { words: "of the limit on bytes", usual: (0.003, 0.85), outside: SURE, ..TIMED }
            }
            // Many a state that is shown limits nothing.
            _ => Entry { words: "shown by the host", usual: (0.01, 3.0), ..COUNTED },
        }
    }

    /// Where the number lies, with 90 % probability, for a hypothesis that expects nothing in particular.
    pub fn usual(self) -> Range {
        let (lo, hi) = self.entry().usual;
        Range { lo, hi }
    }

    /// Where the number lies for a hypothesis that says nothing else: an experiment that does not touch what limits
    /// leaves the rate as it is. `None` where that does not follow.
    pub fn unchanged(self) -> Option<Range> {
        use Experiment as E;
        let experiment = match self {
            Self::Rate(experiment) => experiment,
            Self::MedianToMean => return Some(Range { lo: 0.82, hi: 1.08 }),
            // Times of one service, as scattered as a seek with its queue is, hardly more.
            Self::LowToMean => return Some(Range { lo: 0.15, hi: 1.07 }),
            // At 0.35 to 0.7 of the rate of one server that is an I/O's own time and 0.3 to 1.2 of it to wait; with
            // several servers less (Pollaczek 1930, Khinchin 1932).
            Self::PacedToOne => return Some(Range { lo: 0.8, hi: 2.6 }),
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

    /// Whether a range says that an experiment leaves the rate as it is.
    pub(crate) fn is_rate_unchanged(self, range: Range) -> bool {
        matches!(self, Self::Rate(_)) && self.unchanged() == Some(range)
    }

    /// Probability that the number lies outside the range of the true hypothesis.
    pub(crate) fn outside(self) -> f64 {
        self.entry().outside
    }

    /// Density of the logarithm of a number that nobody expects.
    pub(crate) fn floor(self) -> f64 {
        self.entry().floor
    }

    /// Returns how far a number lies above what is usual, in standard deviations, for a hypothesis that does not expect
    /// it: a resource that is nearly full, or a counter that should not move, needs an explanation. A low number needs
    /// none.
    pub(crate) fn alarm(self, log: f64, error: f64) -> f64 {
        let beyond = log - self.usual().hi.ln();
        if beyond <= 0.0 { 0.0 } else { TWO_SIDES_OF_USUAL + beyond / ALARM.hypot(error) }
    }

    /// Whether a cause that expects this value is shown by it: by a file of this host, or by the offsets of the load.
    /// Others may expect slow places, too, and are not shown by them: a cache makes what it holds faster than the rest.
    pub(crate) fn shows(self, cause: Cause, value: f64) -> bool {
        let is_high = value > self.usual().hi;
        match self {
            Self::OfIopsLimit | Self::OfBytesLimit => is_high,
            Self::StoppedByQuota => is_high && cause == Cause::TesterCpu,
            Self::SlowMember => is_high && cause == Cause::SlowMember,
            Self::SlowRegion => is_high && cause == Cause::WeakRegion,
            Self::Shown(_) => true,
            Self::Resent => value > LOST_LEAST && cause == Cause::NetworkFault,
            Self::OutOfOrder => value > OVERTAKEN_MOST && cause == Cause::NetworkFault,
            _ => false,
        }
    }

    /// Whether the number is counted, not estimated.
    pub(crate) fn is_counted(self) -> bool {
        self.entry().is_counted
    }

    /// Returns the standard error of its logarithm beside what disturbs the host: read beside a rate of that error,
    /// from so many I/Os. What is computed from a few is uncertain, however exactly each was timed: 25 I/Os in a third
    /// of the window are 20 % off by chance.
    pub(crate) fn error(self, ios: f64, of_rate: f64) -> f64 {
        let entry = self.entry();
        let read = if entry.is_rate { of_rate } else { ERROR_READ };
        read.hypot(entry.by_ios / ios.max(1.0).sqrt())
    }

    /// Whether a host that is disturbed by its hypervisor changes it.
    pub(crate) fn feels_host(self) -> bool {
        self.entry().feels_host
    }

    /// Returns the number as it is stated: what stands for none is 0.
    pub(crate) fn stated(self, value: f64) -> f64 {
        if value <= self.entry().none { 0.0 } else { value }
    }

    /// The same of the ends of a range.
    pub(crate) fn stated_range(self, range: Range) -> Range {
        Range { lo: self.stated(range.lo), hi: self.stated(range.hi) }
    }

    /// In words, as the table of a diagnosis has it.
    pub fn words(self) -> &'static str {
        self.entry().words
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
    /// The part of it that it shares with other ratios to the load itself.
    pub base_error: f64,
    /// What a disturbed host may add to it.
    pub host_error: f64,
}

impl Observation {
    /// Returns what is its own of [`Self::whole_error`].
    pub(crate) fn own_error(&self, scale: f64) -> f64 {
        let own = (self.error.powi(2) - self.base_error.powi(2)).max(0.0).sqrt();
        own.hypot(self.host_error * scale)
    }

    /// Returns the whole error if disturbances of the host count by this scale.
    pub(crate) fn whole_error(&self, scale: f64) -> f64 {
        self.error.hypot(self.host_error * scale)
    }
}
