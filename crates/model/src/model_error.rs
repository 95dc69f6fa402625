//! How far the model itself is off, beyond the ranges of its inputs.
//!
//! Corners of ranges say what the inputs leave open. What the model leaves out (thermal throttling, firmware, file
//! systems, hosts) shows in the ratios of measured to predicted rates. For each class of limit, [`factors`] gives
//! the two factors that a stated interval is widened by. They were set so that 80 % of the rows of the open half of
//! the unseen systems and of the shipped rows that hardware limits lie inside; `docs/model-validation.md` shows how
//! many do.

use crate::demand::ResourceKind;
use crate::quantity::Bounds;
use crate::resolved::{Class, Media, ResolvedArray};

/// Factors on the lower and the upper end of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factors {
    /// At most 1.
    pub low: f64,
    /// At least 1.
    pub high: f64,
}

const DISK_RANDOM: Factors = Factors { low: 0.70, high: 1.15 };
const DISK_SEQUENTIAL: Factors = Factors { low: 0.80, high: 1.10 };
const FLASH_RANDOM: Factors = Factors { low: 0.62, high: 1.25 };
const FLASH_SEQUENTIAL: Factors = Factors { low: 0.80, high: 1.25 };
/// Efficiencies of links are exact; what a host gets out of one is not.
const LINK: Factors = Factors { low: 0.82, high: 1.02 };
const SOFTWARE: Factors = Factors { low: 0.80, high: 1.25 };
const NONE: Factors = Factors { low: 1.0, high: 1.0 };

/// The factors for a load that `limit` limits.
pub(crate) fn factors(resolved: &ResolvedArray, classes: &[Class], limit: ResourceKind) -> Factors {
    let random: f64 = classes.iter().filter(|c| c.io_cost.random).map(|c| c.share).sum();
    match limit {
        ResourceKind::LoadModel => NONE,
        ResourceKind::LinkRead | ResourceKind::LinkWrite => LINK,
        ResourceKind::TargetCpu | ResourceKind::SerialWrites | ResourceKind::Workers => SOFTWARE,
        ResourceKind::Tier | ResourceKind::Log => FLASH_RANDOM,
        ResourceKind::Members | ResourceKind::Latency | ResourceKind::Controller | ResourceKind::Host => {
            match (&resolved.media, random >= 0.5) {
                (Media::Disk(..), true) => DISK_RANDOM,
                (Media::Disk(..), false) => DISK_SEQUENTIAL,
                (Media::Flash(_), true) => FLASH_RANDOM,
                (Media::Flash(_), false) => FLASH_SEQUENTIAL,
            }
        }
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
