//! How far repetitions lie apart: of the sides themselves, or of stored repetitions on the same target.

use assay_statistics::Spread;
use serde::Serialize;

use super::{ResultSet, Row, Rows, Side};

/// Where a spread between runs comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpreadSource {
    /// From repetitions of a side; a side without any is taken to be as noisy as the other.
    Repetitions,
    /// From stored repetitions on the same targets.
    Stored,
    /// From a prediction: its own interval.
    Prediction,
    /// Nothing is known of it.
    Unknown,
}

/// Returns the spread of each side in one number of a row; `None` where nothing is known of one of them.
pub(super) fn of_sides(
    first: &Rows<'_>,
    own: &Rows<'_>,
    history: &[Side],
    of: fn(&Row) -> Option<f64>,
) -> (Option<(Spread, Spread)>, SpreadSource) {
    let values = |rows: &Rows<'_>| rows.iter().filter_map(|(_, row)| of(row)).collect::<Vec<f64>>();
    let repeats = |rows: &Rows<'_>| Spread::of_repeats(&values(rows));
    let stored = |rows: &Rows<'_>| stored(history, rows[0], of);
    // A spread that is taken over adds no freedom: the interval must be as wide as one estimate of it allows.
    let alone =
        |spread: Spread| Spread { error: spread.error * spread.n.sqrt(), is_borrowed: true, ..spread };
    match (repeats(first), repeats(own)) {
        (Some(a), Some(b)) => (Some((a, b)), SpreadSource::Repetitions),
        (Some(a), None) => (Some((a, stored(own).unwrap_or(alone(a)))), SpreadSource::Repetitions),
        (None, Some(b)) => (Some((stored(first).unwrap_or(alone(b)), b)), SpreadSource::Repetitions),
        (None, None) => match stored(first).zip(stored(own)) {
            Some(both) => (Some(both), SpreadSource::Stored),
            None => (None, SpreadSource::Unknown),
        },
    }
}

/// The spread of a single run on the target of a row, from stored repetitions: of the same load where it was repeated,
/// else of all loads on that target together.
fn stored(history: &[Side], (set, row): (&ResultSet, &Row), of: fn(&Row) -> Option<f64>) -> Option<Spread> {
    let groups = || history.iter().filter(|group| group.readings[0].is_on_targets_of(set));
    let same = |group: &Side| -> Vec<f64> {
        let rows = group.readings.iter().filter_map(|r| r.matching(row, set));
        rows.filter(|other| other.load_differences(row).is_empty()).filter_map(of).collect()
    };
    Spread::pooled(groups().map(same)).or_else(|| {
        let tests = groups().flat_map(|group| {
            let rows = group.readings[0].rows.iter();
            rows.map(|first| {
                let rows = group.readings.iter().filter_map(|r| r.matching(first, &group.readings[0]));
                rows.filter_map(of).collect::<Vec<f64>>()
            })
        });
        Spread::pooled(tests)
    })
}
