//! What a hypothesis is: a cause with its physics, and the ranges it expects.

use serde::Serialize;

use super::{Cause, Quantity, Setting};
use assay_record::Experiment;

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
    /// Middle and standard deviation of the logarithm.
    pub(crate) fn log(self) -> (f64, f64) {
        let (lo, hi) = (self.lo.ln(), self.hi.ln());
        (f64::midpoint(lo, hi), ((hi - lo) / (2.0 * ENDS)).max(0.005))
    }
}

/// Shorthand for a table of ranges.
pub(crate) fn range(lo: f64, hi: f64) -> Option<Range> {
    Some(Range { lo, hi })
}

/// What a form of a hypothesis expects of a quantity; `None`: nothing in particular.
pub(crate) type Expects = fn(Quantity, &Setting) -> Option<Range>;

impl Hypothesis {
    /// Where a quantity lies if one form of the hypothesis is true.
    pub(crate) fn expected(&self, form: usize, quantity: Quantity, setting: &Setting) -> Option<Range> {
        self.forms.get(form)?(quantity, setting).or_else(|| quantity.unchanged())
    }
}

/// A cause, its physics, and what it expects. One file of `hypotheses/` each.
pub struct Hypothesis {
    /// The cause.
    pub cause: Cause,
    /// As a sentence begins with it.
    pub name: &'static str,
    /// Why it limits, and what follows from that.
    pub physics: &'static str,
    /// Where the ranges come from.
    pub source: &'static str,
    /// Whether it can be the cause at all.
    pub applies: fn(&Setting) -> bool,
    /// The forms it takes. The probability of what was measured is the mean over them.
    pub forms: &'static [Expects],
    /// The change that would help.
    pub helps: &'static str,
    /// The experiment that shows by how much, where one does.
    pub gain: Option<Experiment>,
    /// What to look at on the target.
    pub look: &'static str,
}
