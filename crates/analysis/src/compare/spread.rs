//! How far repetitions lie apart: of the sides themselves, or of stored repetitions on the same target.

use serde::Serialize;

use super::{ResultSet, Row, Rows, Side};
use crate::estimate::{Spread, deviation};

/// Where a spread between runs comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpreadSource {
    /// From repetitions of a side; a side without any is taken to be as noisy as the other.
    Repetitions,
    /// From stored repetitions on the same targets.
    Stored,
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
    pooled(groups().map(same)).or_else(|| {
        let tests = groups().flat_map(|group| {
            let rows = group.readings[0].rows.iter();
            rows.map(|first| {
                let rows = group.readings.iter().filter_map(|r| r.matching(first, &group.readings[0]));
                rows.filter_map(of).collect::<Vec<f64>>()
            })
        });
        pooled(tests)
    })
}

/// The standard deviation of the logarithms within the groups, all groups together.
fn pooled(groups: impl Iterator<Item = Vec<f64>>) -> Option<Spread> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for values in groups.filter(|values| values.len() > 1 && values.iter().all(|v| *v > 0.0)) {
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let own = (logs.len() - 1) as f64;
        squares += deviation(&logs).powi(2) * own;
        freedom += own;
    }
    (freedom > 0.0).then(|| Spread { error: (squares / freedom).sqrt(), n: freedom + 1.0, is_borrowed: true })
}
