//! How far the model itself is off, beyond the ranges of its inputs.
//!
//! Corners of ranges say what the inputs leave open. What the model leaves out (thermal throttling, firmware, file
//! systems, hosts) shows in the ratios of measured to predicted rates. For each class of limit, [`factors`] gives the
//! two factors that a stated interval is widened by. They were set so that 80 to 90 % of the rows of the first set of
//! unseen systems, of the open half of the second, and of the shipped rows that hardware limits lie inside;
//! `docs/model-validation.md` shows how many do.

use assay_spec::units::Nanos;

use crate::closed::Outcome;
use crate::demand::{ResourceKind, cloud_volume};
use crate::num::whole;
use crate::quantity::Bounds;
use crate::resolved::{Class, Media, ResolvedArray};
use crate::workload::{LoadModel, Workload};

/// Factors on the lower and the upper end of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factors {
    /// At most 1.
    pub low: f64,
    /// At least 1.
    pub high: f64,
}

const DISK_RANDOM: Factors = Factors { low: 0.75, high: 1.15 };
const DISK_SEQUENTIAL: Factors = Factors { low: 0.80, high: 1.10 };
const FLASH_RANDOM: Factors = Factors { low: 0.70, high: 1.25 };
const FLASH_SEQUENTIAL: Factors = Factors { low: 0.80, high: 1.25 };
/// Efficiencies of links are exact; what a host gets out of one is not.
const LINK: Factors = Factors { low: 0.82, high: 1.02 };
/// A provider enforces the limit of a volume: ten rows of EBS volumes reached 1.00 to 1.10 of theirs of IOPS, and AWS
/// promises 90 % of what was provisioned for 99 % of the time (EBS user guide).
const VOLUME: Factors = Factors { low: 0.90, high: 1.10 };
const SOFTWARE: Factors = Factors { low: 0.80, high: 1.25 };

/// The factors for a load that `limit` limits.
pub(crate) fn factors(resolved: &ResolvedArray, classes: &[Class], limit: ResourceKind) -> Factors {
    let random: f64 = classes.iter().filter(|c| c.io_cost.random).map(|c| c.share).sum();
    match limit {
        ResourceKind::LinkRead | ResourceKind::LinkWrite => LINK,
        ResourceKind::TargetCpu | ResourceKind::SerialWrites | ResourceKind::Workers => SOFTWARE,
        ResourceKind::Tier | ResourceKind::Log => FLASH_RANDOM,
        ResourceKind::Controller | ResourceKind::Members if cloud_volume(resolved).is_some() => VOLUME,
        ResourceKind::Members
        | ResourceKind::Latency
        | ResourceKind::Controller
        | ResourceKind::Host
        | ResourceKind::LoadModel => match (&resolved.media, random >= 0.5) {
            (Media::Disk(..), true) => DISK_RANDOM,
            (Media::Disk(..), false) => DISK_SEQUENTIAL,
            (Media::Flash(_), true) => FLASH_RANDOM,
            (Media::Flash(_), false) => FLASH_SEQUENTIAL,
        },
    }
}

/// An array that does everything this many times as fast as the model says: 0.8 = in 1.25 times the time.
///
/// It is the same array under a clock that runs at another speed. With v the speed, a rate of it is v times a rate of
/// the modelled array, and a time a v-th of one:
/// ```text
///   latency(rate, v) = latency(rate / v, 1) / v
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed(pub f64);

impl Speed {
    /// A paced load as the modelled array must meet it.
    pub(crate) fn of_load(self, workload: &Workload) -> Workload {
        let pace = match workload.pace {
            LoadModel::Closed => LoadModel::Closed,
            LoadModel::Rate { per_s, arrivals } => LoadModel::Rate { per_s: per_s / self.0, arrivals },
        };
        let duration = Nanos(whole(workload.duration.0 as f64 * self.0));
        Workload { pace, duration, ..workload.clone() }
    }

    /// What the modelled array came to, on this one.
    pub(crate) fn seen(self, outcome: Outcome) -> Outcome {
        Outcome {
            iops: outcome.iops * self.0,
            mean_ms: self.seen_ms(outcome.mean_ms),
            in_flight: outcome.in_flight,
            absorbing: outcome.absorbing.map(|(iops, fill_s)| (iops * self.0, fill_s / self.0)),
        }
    }

    /// A time of the modelled array, on this one.
    pub(crate) fn seen_ms(self, time_ms: f64) -> f64 {
        time_ms / self.0
    }
}

impl Factors {
    /// The interval of a rate.
    pub(crate) fn of_rate(self, rate: Bounds) -> Bounds {
        Bounds { lo: rate.lo * self.low, hi: rate.hi * self.high, ..rate }
    }

    /// The interval of a time.
    pub(crate) fn of_time(self, time: Bounds) -> Bounds {
        Bounds { lo: time.lo / self.high, hi: time.hi / self.low, ..time }
    }
}
