//! A measured side against a predicted one: the interval of the prediction decides, as a prediction is not repeated.

use assay_model::quantity::Bounds;
use assay_statistics::{Estimate, geometric_mean};

use super::{Change, Grade, Judged, Rows, Source, change};

/// Returns the rate of `own` over that of `first` where one of them is predicted and the other is not.
pub(super) fn against(first: &Rows<'_>, own: &Rows<'_>) -> Option<Judged> {
    let is_predicted = |rows: &Rows<'_>| rows[0].0.source == Source::Prediction;
    let (predicted, measured) = match (is_predicted(first), is_predicted(own)) {
        (true, false) => (first, own),
        (false, true) => (own, first),
        _ => return None,
    };
    let row = predicted[0].1;
    let rates: Vec<f64> = measured.iter().map(|(_, row)| row.iops).collect();
    let (expected, rate) = (row.expected?, geometric_mean(&rates));
    if expected.lo <= 0.0 || rate <= 0.0 {
        return None;
    }
    // How many times the measured rate is the predicted one, and the other way round.
    let times = Bounds::spanning(rate / expected.value, [rate / expected.lo, rate / expected.hi]);
    let Bounds { lo, value, hi } = if is_predicted(first) {
        times
    } else {
        Bounds::spanning(1.0 / times.value, [1.0 / times.lo, 1.0 / times.hi])
    };
    let ratio =
        Estimate { lo: Some(lo), hi: Some(hi), n_effective: rates.len() as f64, ..Estimate::bare(value) };
    Some(match row.is_bound {
        true if rate <= expected.hi => Judged { ratio: Estimate::bare(value), change: Change::WithinBound },
        // Only its upper end is known.
        true => {
            let ratio = Estimate::bare(value);
            let change = if is_predicted(first) { Change::Faster } else { Change::Slower };
            Judged { ratio, change }
        }
        false => Judged { ratio, change: word(change(ratio, Grade::Few)) },
    })
}

/// The word of a prediction that holds a rate.
fn word(change: Change) -> Change {
    if matches!(change, Change::Same | Change::Unclear) { Change::AsPredicted } else { change }
}
