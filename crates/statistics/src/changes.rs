//! Changes of the level of a series of repetitions.
//!
//! Changes are searched for in the logarithms of the values, by halving: at the place that leaves the least scatter,
//! then in each part. Each that is found must be larger than chance explains, by the scatter of the runs between its
//! neighbours. The interval of a single run says how well its own seconds agree and nothing of what differs between
//! runs, so that it is drawn and never used for this. docs/method.md has the rule in full.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::basics::{deviation, mean, median};
use crate::student::student;

/// Fewest runs on each side of a change: of fewer, two that a neighbour disturbed look like a change.
const SIDE_MIN: usize = 5;
/// In fewer values than this no change is found.
pub const CHANGES_MIN: usize = 2 * SIDE_MIN;
/// A smaller change of the level is not marked, whatever its certainty.
const CHANGE_MIN: f64 = 0.03;
/// Probability that a series without a change gets a mark.
const FALSE_MARK: f64 = 0.001;
/// Values farther from the median of their part than this many robust standard deviations count as outliers.
const OUTLIER: f64 = 2.0;
/// A cut is tried where it takes away this many variances of the loss; the test of each comes after.
const GAIN_MIN: f64 = 8.0;
/// So many places of a part are tried before those near the best of them are.
const PLACES_MAX: usize = 400;
/// The median of absolute deviations of a normal distribution, over its standard deviation.
const MAD_OF_NORMAL: f64 = 0.6745;

/// A change of the level of a series of logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Index of the first value after it.
    pub index: usize,
    /// Logarithm of the level after over that before.
    pub shift: f64,
    /// Half of the 95 % interval of the shift.
    pub half_width: f64,
}

/// Returns where the level of values changes, in order. They are above zero.
pub fn changes(values: &[f64]) -> Vec<Change> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let scatter = scatter(&logs);
    // Where most runs are equal to the last digit, nothing tells an outlier.
    let limit = if scatter > 0.0 { OUTLIER * scatter } else { f64::INFINITY };
    let mut cuts = vec![0, logs.len()];
    cut(&logs, (0, logs.len()), (limit, GAIN_MIN * scatter.powi(2)), &mut cuts);
    cuts.sort_unstable();
    // What looked like a change on the way to a larger one may be none between its neighbours.
    loop {
        let weakest = (1..cuts.len() - 1)
            .map(|place| (place, step(&logs, &cuts, place, limit).strength(logs.len())))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((place, strength)) if strength < 1.0 => drop(cuts.remove(place)),
            _ => break,
        }
    }
    (1..cuts.len() - 1).map(|place| step(&logs, &cuts, place, limit).change(cuts[place])).collect()
}

/// Cuts a part of a series where that leaves much less scatter, and goes on with both halves.
fn cut(logs: &[f64], (from, to): (usize, usize), (limit, gain_min): (f64, f64), cuts: &mut Vec<usize>) {
    let part = &logs[from..to];
    let places = SIDE_MIN..(part.len() + 1).saturating_sub(SIDE_MIN);
    if places.is_empty() {
        return;
    }
    // Hundreds of places are tried, and to find each median anew takes ten times as long as all the rest.
    let (before, mut after) = (running_medians(part.iter()), running_medians(part.iter().rev()));
    after.reverse();
    let left = |at: usize| loss(&part[..at], before[at - 1], limit) + loss(&part[at..], after[at], limit);
    let best = |places: &mut dyn Iterator<Item = usize>| {
        places.map(|at| (at, left(at))).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    // Of a long series some places first, then those around the best of them: all would take time with its square.
    let apart = (part.len() / PLACES_MAX).max(1);
    let Some((coarse, _)) = best(&mut places.clone().step_by(apart)) else { return };
    let around = coarse.saturating_sub(apart).max(places.start)..(coarse + apart + 1).min(places.end);
    let Some((at, left)) = best(&mut around.into_iter()) else { return };
    if loss(part, median(part), limit) - left <= gain_min {
        return;
    }
    cuts.push(from + at);
    cut(logs, (from, from + at), (limit, gain_min), cuts);
    cut(logs, (from + at, to), (limit, gain_min), cuts);
}

/// Returns the medians of the first value, of the first two, and so on.
fn running_medians<'v>(values: impl Iterator<Item = &'v f64>) -> Vec<f64> {
    // The lower half has the largest of its values on top, the upper half the smallest, and one value more if one half
    // has.
    let (mut lower, mut upper) = (BinaryHeap::new(), BinaryHeap::new());
    let next = |value: &f64| {
        lower.push(Ordered(*value));
        upper.extend(lower.pop().map(Reverse));
        if upper.len() > lower.len() + 1 {
            lower.extend(upper.pop().map(|Reverse(least)| least));
        }
        match (lower.peek(), upper.peek()) {
            (Some(Ordered(below)), Some(Reverse(Ordered(above)))) if lower.len() == upper.len() => {
                f64::midpoint(*below, *above)
            }
            (_, above) => above.map_or(0.0, |Reverse(Ordered(above))| *above),
        }
    };
    values.map(next).collect()
}

/// A number with the order of [`f64::total_cmp`].
struct Ordered(f64);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

/// Returns the squares of the deviations from the median, which is their level, linear beyond the limit (Huber's loss):
/// a run that a neighbour disturbed counts, but not for more than a few.
fn loss(values: &[f64], level: f64, limit: f64) -> f64 {
    let of = |value: &f64| {
        let far = (value - level).abs();
        if far <= limit { far * far } else { limit * (2.0 * far - limit) }
    };
    values.iter().map(of).sum()
}

/// Returns the robust standard deviation of values around a level that changes seldom, from the differences of
/// neighbours.
fn scatter(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&steps) / (MAD_OF_NORMAL * std::f64::consts::SQRT_2)
}

/// The values on both sides of a cut, up to the neighbouring cuts, outliers moved to the limit.
struct Step {
    before: Vec<f64>,
    after: Vec<f64>,
}

fn step(logs: &[f64], cuts: &[usize], place: usize, limit: f64) -> Step {
    let tamed = |values: &[f64]| {
        let level = median(values);
        values.iter().map(|value| value.clamp(level - limit, level + limit)).collect()
    };
    Step {
        before: tamed(&logs[cuts[place - 1]..cuts[place]]),
        after: tamed(&logs[cuts[place]..cuts[place + 1]]),
    }
}

impl Step {
    fn shift(&self) -> f64 {
        mean(&self.after) - mean(&self.before)
    }

    fn freedom(&self) -> f64 {
        (self.before.len() + self.after.len()) as f64 - 2.0
    }

    /// Standard error of the shift, by the scatter within both parts, wider where neighbours depend on each other.
    fn error(&self) -> f64 {
        let sides = [&self.before, &self.after];
        let squares: f64 = sides.iter().map(|side| deviation(side).powi(2) * (side.len() as f64 - 1.0)).sum();
        let n = |side: &Vec<f64>| 1.0 / side.len() as f64;
        let apart = (1.0 + self.dependence()) / (1.0 - self.dependence());
        (squares / self.freedom() * (n(&self.before) + n(&self.after)) * apart).sqrt()
    }

    /// Correlation of neighbours within the parts, in [0, 0.9]: runs of one night are alike for reasons of that night.
    fn dependence(&self) -> f64 {
        let residuals = |side: &Vec<f64>| {
            let level = mean(side);
            side.iter().map(|value| value - level).collect::<Vec<_>>()
        };
        let sides = [residuals(&self.before), residuals(&self.after)];
        let together = |side: &Vec<f64>| side.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        let squares: f64 = sides.iter().flatten().map(|value| value * value).sum();
        if squares <= 0.0 {
            return 0.0;
        }
        (sides.iter().map(together).sum::<f64>() / squares).clamp(0.0, 0.9)
    }

    /// Returns the shift over the largest that chance explains, although the best of so many places was taken; a shift
    /// that is too small to matter is none. From 1 on it is a change.
    fn strength(&self, places: usize) -> f64 {
        let (shift, error) = (self.shift().abs(), self.error());
        if shift < (1.0 + CHANGE_MIN).ln() {
            return 0.0;
        }
        let explained = bound(FALSE_MARK / places as f64, self.freedom()) * error;
        if explained > 0.0 { shift / explained } else { f64::MAX }
    }

    fn change(&self, index: usize) -> Change {
        Change { index, shift: self.shift(), half_width: student(0.05, self.freedom()) * self.error() }
    }
}

/// Returns a bound that Student's t exceeds, on either side, with less than this probability: that of the normal
/// distribution, z = sqrt(2 ln(1/p)), corrected for the degrees of freedom (Abramowitz and Stegun, 26.7.5). It is wider
/// than the quantile on purpose: outliers were moved to the limit, so that the scatter looks smaller than it is.
fn bound(probability: f64, freedom: f64) -> f64 {
    let z = (2.0 * (1.0 / probability).ln()).sqrt();
    z + (z.powi(3) + z) / (4.0 * freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2))
}

#[cfg(test)]
mod tests;
