//! Where a number is expected.

use serde::Serialize;

/// From the middle to an end of a 90 % interval, in standard deviations.
const ENDS: f64 = 1.645;

/// Where a number lies with 90 % probability if a hypothesis is true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Range {
    pub(crate) fn contains(self, value: f64) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    /// Middle and standard deviation of the logarithm.
    pub(crate) fn log(self) -> (f64, f64) {
        let (lo, hi) = (self.lo.ln(), self.hi.ln());
        (f64::midpoint(lo, hi), ((hi - lo) / (2.0 * ENDS)).max(0.005))
    }
}

/// Where a rate lies that a limit holds, over the limit: the kernel hands tokens out in slices.
pub(crate) const AT_LIMIT: Option<Range> = Some(Range { lo: 0.94, hi: 1.04 });

/// Shorthand for a table of ranges.
pub(crate) fn range(lo: f64, hi: f64) -> Option<Range> {
    Some(Range { lo, hi })
}
