//! What a hypothesis is: a cause with its physics, and the ranges it expects.

use assay_record::Experiment;

use crate::cause::Cause;
use crate::quantity::Quantity;
use crate::range::Range;
use crate::setting::Setting;

/// What a form of a hypothesis expects of a quantity; `None`: nothing in particular.
pub type Expects = fn(Quantity, &Setting) -> Option<Range>;

impl Hypothesis {
    /// Where a quantity lies if one form of the hypothesis is true.
    pub fn expected(&self, form: usize, quantity: Quantity, setting: &Setting) -> Option<Range> {
        let form = self.forms.get(form)?;
        let of_mix =
            || (quantity == Quantity::Rate(Experiment::Mixed)).then(|| of_mix(*form, setting)).flatten();
        let unchanged = || quantity.unchanged().filter(|_| self.foresees_unchanged(quantity));
        form(quantity, setting).or_else(of_mix).or_else(unchanged)
    }

    /// Whether it says that a quantity stays as it is, where its table has nothing else. Queues are alike whatever they
    /// wait for; an experiment must be listed.
    fn foresees_unchanged(&self, quantity: Quantity) -> bool {
        match quantity {
            Quantity::Rate(experiment) => self.unchanged.iter().any(|of| of.contains(&experiment)),
            _ => true,
        }
    }
}

/// Where the rate of half reads and half writes lies, by what is expected of the half that the load does not have: one
/// resource that serves both takes the mean of both times for an I/O. Resources that serve them beside each other say
/// so themselves.
fn of_mix(form: Expects, setting: &Setting) -> Option<Range> {
    let other = if setting.writes() { Experiment::ReadsOnly } else { Experiment::WritesOnly };
    let Range { lo, hi } = form(Quantity::Rate(other), setting)?;
    let mixed = |ratio: f64| 2.0 / (1.0 + 1.0 / ratio);
    Some(Range { lo: mixed(lo), hi: mixed(hi) })
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
    /// Experiments that touch nothing of what limits, so that the rate stays as it is where a form says nothing else.
    pub unchanged: &'static [&'static [Experiment]],
    /// The change that would help.
    pub helps: &'static str,
    /// The experiment that shows by how much, where one does.
    pub gain: Option<Experiment>,
    /// What to look at on the target.
    pub look: &'static str,
}
