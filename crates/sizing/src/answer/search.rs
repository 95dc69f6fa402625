//! Searching rising series of devices for the fewest that carry a need.

use assay_model::array::Array;
use assay_model::facts::usable_bytes;
use assay_model::open::Open;
use assay_model::resolved::Tables;

use super::super::assess::{Ends, sustained};
use super::Need;

/// Rounds of a guess of the number of devices.
const GUESSES: u32 = 3;

/// The first index up to `last` from which on a condition holds, or `last`.
pub(super) fn first_index(last: usize, mut holds: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Where in a rising series the first that carries the need may be: what some devices sustain, so many times as many do
/// about in proportion.
pub(super) fn guessed(
    counts: &[u32],
    mut at: usize,
    (need, factor, ends): (&Need, Open, Ends),
    sized: &mut dyn FnMut(usize) -> Option<Array>,
    tables: &mut Tables,
) -> usize {
    let Some(iops) = need.iops else { return at };
    let last = counts.len() - 1;
    // Those that hold the data are known at once.
    let mut space = |index: usize| sized(index).map_or(0.0, |array| usable_bytes(&array));
    at = at.max(first_index(last, |index| space(index) >= need.bytes()));
    for _ in 0..GUESSES {
        let Some(array) = sized(at) else { break };
        let most = sustained(&array, need, factor, ends, tables);
        if most <= 0.0 {
            return last;
        }
        let wanted = f64::from(counts[at]) * iops / most;
        let next = counts.partition_point(|count| f64::from(*count) < wanted).min(last);
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// The first index of a rising series that `carries`, from `from` to `last`: doubling steps away from a guess, then
/// bisection.
pub(super) fn first_that(
    last: usize,
    from: usize,
    guess: usize,
    carries: &mut dyn FnMut(usize) -> bool,
) -> Option<usize> {
    let (mut at, mut step) = (guess.min(last), 1);
    // What is left: the first is in low..=at, and `at` carries.
    let mut low = from;
    if carries(at) {
        while at > low {
            let before = at.saturating_sub(step).max(low);
            if !carries(before) {
                low = before + 1;
                break;
            }
            (at, step) = (before, step * 2);
        }
    } else {
        loop {
            if at == last {
                return None;
            }
            low = at + 1;
            at = (at + step).min(last);
            step *= 2;
            if carries(at) {
                break;
            }
        }
    }
    while low < at {
        let middle = low + (at - low) / 2;
        if carries(middle) { at = middle } else { low = middle + 1 }
    }
    Some(at)
}
