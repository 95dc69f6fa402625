//! The shape of a rate over time: whether a window holds one level, or several.
//!
//! A mean is a result only where the rate has one level. Levels are found in two steps. An optimal partition (PELT:
//! Killick, Fearnhead and Eckley, 2012) proposes change points, with a noise level from the differences of neighbours,
//! which no step raises. As neighbours in a real series resemble each other, it proposes too many: each change point
//! then has to pass a test against the noise that is left around the levels, corrected by its autocorrelation; the
//! weakest goes first, until all pass.

use crate::basics::{correlation_time, deviation, mean};

/// A level lasts at least this many values.
const LEVEL_MIN: usize = 3;
/// A series shorter than this is not judged.
const SERIES_MIN: usize = 10;
/// Longer series are averaged down to at most this many values, as the partition takes quadratic time at worst.
const VALUES_MAX: usize = 1200;
/// Cost of a change point in the partition, in units of the logarithm of the number of values.
const PENALTY: f64 = 3.0;
/// A change has to be this many standard errors of the difference of its levels. The largest of many positions is
/// looked for, so the usual two would be passed by noise.
const ERRORS_MIN: f64 = 6.0;
/// A change at a moment at which something else says that the load on the target changed: its position was not looked
/// for, so that it needs little more than the usual two.
const ERRORS_MIN_AT_HINT: f64 = 3.0;
/// A change and what explains it lie at most this many values apart.
pub const HINT_REACH: usize = 2;
/// A change smaller than this share of the higher level does not matter.
const CHANGE_MIN: f64 = 0.1;
/// As many changes in alternating directions are a saw-tooth.
const TEETH_MIN: usize = 4;
/// Fewer values do not show two modes.
const MODES_MIN: usize = 20;
/// Each mode has more than this share of the values, percent.
const MODE_PERCENT_MIN: usize = 15;
/// Two modes explain at least this share of the variance; of one that is normal, any split explains 0.64, of an even
/// one 0.75.
const MODES_EXPLAIN: f64 = 0.9;
/// A ramp ends within this share of the series.
const RAMP_SHARE: f64 = 0.4;

/// A moment at which the rate went from one level to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value at the new level.
    pub at: usize,
    /// Mean of the level before.
    pub before: f64,
    /// Mean of the level after.
    pub after: f64,
}

/// What a series looks like.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// One level.
    Steady,
    /// It approaches its level during the first part; the change is from the first value to that level.
    Ramp(Change),
    /// It goes one way all the time; from the start to the end of the line fitted to it.
    Drift {
        /// The line at the first value.
        from: f64,
        /// The line at the last value.
        to: f64,
    },
    /// Two levels in turn.
    SawTooth {
        /// Mean distance of two changes in the same direction, values.
        period: f64,
        /// Mean of the higher levels.
        high: f64,
        /// Mean of the lower levels.
        low: f64,
    },
    /// One change or a few, in order; not empty.
    Steps(Vec<Change>),
}

/// Returns the shape of a series of equally spaced values; `None` where it is too short to tell.
pub fn shape(values: &[f64]) -> Option<Shape> {
    shape_with(values, &[])
}

/// Returns the changes between levels, in order; none where the series is too short to tell.
pub fn levels(values: &[f64]) -> Vec<Change> {
    let is_judged = (SERIES_MIN..=VALUES_MAX).contains(&values.len()) && mean(values) > 0.0;
    if is_judged { changes(values, &[]) } else { Vec::new() }
}

/// The shape of a series, with the indices at which something else than the values says that the target changed.
pub fn shape_with(values: &[f64], hints: &[usize]) -> Option<Shape> {
    if values.len() < SERIES_MIN || mean(values) <= 0.0 {
        return None;
    }
    let per = values.len().div_ceil(VALUES_MAX);
    let coarse: Vec<f64> = values.chunks(per).map(mean).collect();
    let hints: Vec<usize> = hints.iter().map(|at| at / per).collect();
    let changes = changes(&coarse, &hints);
    let scaled = |change: &Change| Change { at: change.at * per, ..*change };
    if let Some(change) = ramp(&coarse) {
        return Some(Shape::Ramp(scaled(&change)));
    }
    Some(match changes.as_slice() {
        all if alternates(all) && all.len() >= TEETH_MIN => saw_tooth(all, per as f64),
        all => drift(&coarse, all).unwrap_or_else(|| match all {
            [] => Shape::Steady,
            all => Shape::Steps(all.iter().map(scaled).collect()),
        }),
    })
}

/// Two kinds of values in no order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// Mean of the lower ones.
    pub low: f64,
    /// Mean of the higher ones.
    pub high: f64,
    /// Share of the higher ones. In [0, 1].
    pub high_share: f64,
}

/// Returns the modes of values that have one level; `None` where they are of one kind, or too few to tell. The split
/// is the one that explains most of the variance (Otsu, 1979).
pub fn modes(values: &[f64]) -> Option<Modes> {
    if values.len() < MODES_MIN {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let all = deviation(&sorted).powi(2) * (n - 1.0);
    let least = sorted.len() * MODE_PERCENT_MIN / 100 + 1;
    // Sums of the lower values, so that a day of seconds is not summed once for each of them.
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(sorted.iter().scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        }))
        .collect();
    let of = |at: usize| {
        let (low, high) = (sums[at] / at as f64, (sums[sorted.len()] - sums[at]) / (n - at as f64));
        let weight = at as f64 * (n - at as f64) / n;
        (weight * (high - low).powi(2) / all, Modes { low, high, high_share: (n - at as f64) / n })
    };
    let splits = (least..=sorted.len() - least).map(of);
    let (explained, modes) = splits.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_apart = modes.high - modes.low >= CHANGE_MIN * modes.high;
    (explained >= MODES_EXPLAIN && is_apart).then_some(modes)
}

/// Every change between levels, in order.
fn changes(values: &[f64], hints: &[usize]) -> Vec<Change> {
    let mut bounds = partition(values);
    for hint in hints {
        // Where the partition has a change near the hint, it knows the place better.
        let is_far = bounds.iter().all(|bound| bound.abs_diff(*hint) > HINT_REACH.max(LEVEL_MIN - 1));
        if is_far {
            bounds.push(*hint);
            bounds.sort_unstable();
        }
    }
    let errors_min = |bound: usize| {
        let is_hinted = hints.iter().any(|hint| hint.abs_diff(bound) <= HINT_REACH);
        if is_hinted { ERRORS_MIN_AT_HINT } else { ERRORS_MIN }
    };
    let noise = noise(values);
    loop {
        let levels = levels_of(values, &bounds);
        let weakest = (1..bounds.len() - 1)
            .map(|i| (i, strength((values, noise), &bounds, i, &levels, errors_min(bounds[i]))))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((i, strength)) if strength < 1.0 => {
                bounds.remove(i);
            }
            _ => {
                let inner = bounds[1..bounds.len() - 1].iter().zip(levels.windows(2));
                return inner.map(|(at, pair)| Change { at: *at, before: pair[0], after: pair[1] }).collect();
            }
        }
    }
}

fn levels_of(values: &[f64], bounds: &[usize]) -> Vec<f64> {
    bounds.windows(2).map(|pair| mean(&values[pair[0]..pair[1]])).collect()
}

/// How many times over the change at bound `i` passes the test; below 1 it does not. `noise` is that of all values.
fn strength(
    (values, noise): (&[f64], f64),
    bounds: &[usize],
    i: usize,
    levels: &[f64],
    errors_min: f64,
) -> f64 {
    let (from, at, to) = (bounds[i - 1], bounds[i], bounds[i + 1]);
    let (before, after) = (levels[i - 1], levels[i]);
    let left = values[from..at].iter().map(|v| v - before);
    let rest: Vec<f64> = left.chain(values[at..to].iter().map(|v| v - after)).collect();
    // Few values around a level scatter less than the series as a whole: the larger of both is the noise.
    let noise = deviation(&rest).max(noise);
    let n = [at - from, to - at].map(|n| n as f64 / correlation_time(&rest));
    let error = noise * (1.0 / n[0].max(1.0) + 1.0 / n[1].max(1.0)).sqrt();
    let size = (after - before).abs();
    let by_error = if error > 0.0 { size / error / errors_min } else { f64::INFINITY };
    by_error.min(size / before.max(after) / CHANGE_MIN)
}

/// Standard deviation of the noise, from the differences of neighbours: half of them are smaller than 0.954 of it.
fn noise(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    steps[steps.len() / 2] / 0.954
}

/// Returns the bounds of the levels, from 0 to the number of values, that cost least: the squares of the distances to
/// the levels, and a penalty for each level.
fn partition(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    // A series without noise still has levels that differ by more than rounding.
    let unit = noise(values).max(mean(values) * 1e-3).powi(2);
    let penalty = PENALTY * (n as f64).ln() * unit;
    let mut sums = vec![(0.0, 0.0)];
    for value in values {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + value, squares + value * value));
    }
    let cost = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    // For each end: the least cost up to it, and where its last level begins.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (-penalty, 0);
    let mut starts = vec![0];
    for end in LEVEL_MIN..=n {
        let costs: Vec<f64> = starts.iter().map(|s| best[*s].0 + cost(*s, end)).collect();
        let least = starts.iter().zip(&costs).min_by(|a, b| a.1.total_cmp(b.1));
        let Some((start, total)) = least.map(|(s, c)| (*s, *c + penalty)) else { continue };
        best[end] = (total, start);
        // A start that costs more than the best by now never leads to the least cost.
        let keeps: Vec<bool> = costs.iter().map(|cost| *cost <= total).collect();
        let mut keeps = keeps.into_iter();
        starts.retain(|_| keeps.next().unwrap_or(true));
        if end + 1 >= 2 * LEVEL_MIN {
            starts.push(end + 1 - LEVEL_MIN);
        }
    }
    let mut bounds = vec![n];
    while let Some(start) = bounds.last().map(|end| best[*end].1).filter(|_| bounds.last() != Some(&0)) {
        bounds.push(start);
    }
    bounds.reverse();
    bounds
}

fn alternates(changes: &[Change]) -> bool {
    changes.windows(2).all(|pair| is_rise(&pair[0]) != is_rise(&pair[1]))
}

fn is_rise(change: &Change) -> bool {
    change.after > change.before
}

fn saw_tooth(changes: &[Change], per: f64) -> Shape {
    let same: Vec<f64> = changes.windows(3).map(|three| (three[2].at - three[0].at) as f64).collect();
    let (mut high, mut low): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for change in changes {
        high.push(change.before.max(change.after));
        low.push(change.before.min(change.after));
    }
    Shape::SawTooth { period: mean(&same) * per, high: mean(&high), low: mean(&low) }
}

/// A drift: a line whose slope passes the test that a change has to pass, and that fits better than the levels do.
/// Levels follow a line too, in stairs; what is left around them still goes one way, so most of them fail their test.
fn drift(values: &[f64], changes: &[Change]) -> Option<Shape> {
    let n = values.len() as f64;
    let (x_mean, y_mean) = ((n - 1.0) / 2.0, mean(values));
    let (mut xy, mut xx) = (0.0, 0.0);
    for (x, y) in (0_u32..).map(f64::from).zip(values) {
        xy += (x - x_mean) * (y - y_mean);
        xx += (x - x_mean).powi(2);
    }
    let slope = xy / xx;
    let line = |i: usize| y_mean + slope * (i as f64 - x_mean);
    let level = |i: usize| match changes.iter().rev().find(|change| change.at <= i) {
        Some(change) => change.after,
        None => changes.first().map_or(y_mean, |change| change.before),
    };
    let rest = |fit: &dyn Fn(usize) -> f64| -> Vec<f64> {
        values.iter().enumerate().map(|(i, y)| y - fit(i)).collect()
    };
    let (of_line, of_levels) = (rest(&line), rest(&level));
    let squares = |rest: &[f64]| rest.iter().map(|r| r * r).sum::<f64>();
    // A line has two parameters, levels have two for each change and one more.
    let freedom = |parameters: usize| (values.len().saturating_sub(parameters)).max(1) as f64;
    if squares(&of_line) / freedom(2) >= squares(&of_levels) / freedom(2 * changes.len() + 1) {
        return None;
    }
    let (from, to) = (line(0), line(values.len() - 1));
    let error = deviation(&of_line).max(noise(values)) * (correlation_time(&of_line) / xx).sqrt();
    let is_sure = slope.abs() >= ERRORS_MIN * error;
    (is_sure && (to - from).abs() >= CHANGE_MIN * from.max(to)).then_some(Shape::Drift { from, to })
}

/// A ramp: the first values approach the level of the second half, and those before that level is reached are not at a
/// level of their own.
fn ramp(values: &[f64]) -> Option<Change> {
    let settled = &values[values.len() / 2..];
    let level = mean(settled);
    let noise = deviation(settled).max(noise(values));
    let tolerance = (3.0 * noise).max(CHANGE_MIN / 2.0 * level);
    let is_off = |three: &[f64]| (mean(three) - level).abs() > tolerance / (three.len() as f64).sqrt();
    let last_off = values.windows(LEVEL_MIN).rposition(is_off)?;
    let at = last_off + LEVEL_MIN - 1;
    if at < LEVEL_MIN || at as f64 > values.len() as f64 * RAMP_SHARE {
        return None;
    }
    let third = (at / 3).max(1);
    let (before, late) = (mean(&values[..third]), mean(&values[at - third..at]));
    let gap = (level - before).abs();
    let is_sure = gap >= ERRORS_MIN * noise && gap >= CHANGE_MIN * level.max(before);
    let is_way = (level - late).abs() <= gap / 2.0 && !is_step(&values[..at], level);
    (is_sure && is_way).then_some(Change { at, before, after: level })
}

/// Whether values are at one level and then, from one value to the next, at another, rather than on the way there: a
/// write cache that fills early leaves its level at once, with one second of both.
fn is_step(values: &[f64], after: f64) -> bool {
    let squares = |values: &[f64], level: f64| values.iter().map(|v| (v - level).powi(2)).sum::<f64>();
    let split = |at: usize| {
        let (before, rest) = values.split_at(at);
        squares(before, mean(before)) + rest.get(1..).map_or(0.0, |rest| squares(rest, after))
    };
    let of_step = (LEVEL_MIN..values.len()).map(split).fold(f64::INFINITY, f64::min);
    let centre = (values.len() as f64 - 1.0) / 2.0;
    let x = |i: usize| i as f64 - centre;
    let xy: f64 = values.iter().enumerate().map(|(i, v)| x(i) * v).sum();
    let xx: f64 = (0..values.len()).map(|i| x(i).powi(2)).sum();
    let slope = xy / xx.max(f64::MIN_POSITIVE);
    let level = mean(values);
    let of_line: f64 = values.iter().enumerate().map(|(i, v)| (v - level - slope * x(i)).powi(2)).sum();
    of_step < of_line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise that repeats, uniform in -1..1, with `memory` of the value before it.
    fn noise_of(seed: u64, n: usize, memory: f64) -> Vec<f64> {
        let (mut state, mut last) = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, 0.0);
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        (0..n)
            .map(|_| {
                last = memory * last + next();
                last
            })
            .collect()
    }

    fn series(seed: u64, n: usize, memory: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        noise_of(seed, n, memory).iter().enumerate().map(|(i, x)| level(i) * (1.0 + 0.05 * x)).collect()
    }

    #[test]
    fn a_steady_series_has_no_change_however_long_and_however_slowly_its_noise_moves() {
        let mut wrong = Vec::new();
        for seed in 1..=250 {
            for (n, memory) in [(10, 0.0), (30, 0.0), (60, 0.5), (200, 0.8)] {
                let found = shape(&series(seed, n, memory, |_| 1000.0)).unwrap();
                if found != Shape::Steady {
                    wrong.push((seed, n, memory, found));
                }
            }
        }
        assert!(wrong.len() <= 5, "{} of 1000: {wrong:?}", wrong.len());
        for seed in 1..=4 {
            assert_eq!(shape(&series(seed, 2000, 0.5, |_| 1000.0)), Some(Shape::Steady), "{seed}");
        }
    }

    #[test]
    fn a_step_is_found_where_it_is_with_both_levels() {
        for seed in 1..=100 {
            let values = series(seed, 60, 0.3, |i| if i < 37 { 1000.0 } else { 700.0 });
            let Some(Shape::Steps(steps)) = shape(&values) else { panic!("{seed}: {:?}", shape(&values)) };
            assert_eq!(steps.len(), 1, "{seed}: {steps:?}");
            assert!(steps[0].at.abs_diff(37) <= 1, "{seed}: {steps:?}");
            assert!((steps[0].before - 1000.0).abs() < 40.0 && (steps[0].after - 700.0).abs() < 40.0);
        }
    }

    /// A reader that competes for a disk whose rate wanders: too small a step for its noise, but for the hint.
    #[test]
    fn a_step_that_something_else_shows_too_needs_less_evidence_and_a_hint_alone_makes_none() {
        let step = |i: usize| if i < 30 { 1000.0 } else { 800.0 };
        let values = |seed: u64, step: &dyn Fn(usize) -> f64| -> Vec<f64> {
            noise_of(seed, 60, 0.5).iter().enumerate().map(|(i, x)| step(i) * (1.0 + 0.12 * x)).collect()
        };
        let count = |step: &dyn Fn(usize) -> f64, hints: &[usize]| {
            let found = |seed: u64| match shape_with(&values(seed, step), hints) {
                Some(Shape::Steps(steps)) => steps.iter().any(|change| change.at.abs_diff(30) <= 2),
                _ => false,
            };
            (1..=200).filter(|seed| found(*seed)).count()
        };
        let (alone, hinted) = (count(&step, &[]), count(&step, &[30]));
        let nothing = count(&|_| 1000.0, &[30]);
        println!("of 200: {alone} without a hint, {hinted} with one, {nothing} where nothing changed");
        assert!(hinted >= 170 && hinted > alone + 30 && nothing <= 6, "{alone} {hinted} {nothing}");
    }

    #[test]
    fn a_dip_has_two_steps() {
        let values = series(3, 120, 0.2, |i| if (50..62).contains(&i) { 400.0 } else { 1000.0 });
        let Some(Shape::Steps(steps)) = shape(&values) else { panic!("{:?}", shape(&values)) };
        assert_eq!(steps.iter().map(|s| s.at).collect::<Vec<_>>(), [50, 62]);
    }

    #[test]
    fn a_line_is_a_drift_and_an_early_rise_a_ramp() {
        let drift = shape(&series(5, 120, 0.0, |i| 1000.0 - 4.0 * i as f64)).unwrap();
        let Shape::Drift { from, to } = drift else { panic!("{drift:?}") };
        assert!((from - 1000.0).abs() < 40.0 && (to - 524.0).abs() < 40.0, "{from} {to}");
        let rise = |i: usize| 1000.0 * (1.0 - (-(i as f64) / 8.0).exp()).max(0.1);
        for seed in 1..=50 {
            let ramp = shape(&series(seed, 120, 0.0, rise)).unwrap();
            let Shape::Ramp(change) = ramp else { panic!("{seed}: {ramp:?}") };
            assert!(
                (10..40).contains(&change.at) && change.after > 2.0 * change.before,
                "{seed}: {change:?}"
            );
        }
        let early_step = series(5, 120, 0.0, |i| if i < 20 { 600.0 } else { 1000.0 });
        assert!(
            matches!(shape(&early_step), Some(Shape::Steps(steps)) if steps.len() == 1 && steps[0].at == 20)
        );
    }

    /// A write cache of 1 GiB that was full after 9.4 s of 40 was called a way to the level.
    #[test]
    fn an_early_fall_within_a_second_is_a_step_and_not_a_ramp() {
        let recorded =
            [1744.0, 1703.0, 1691.0, 1596.0, 1659.0, 1392.0, 1665.0, 1589.0, 1755.0, 669.0, 201.0, 207.0];
        let rest = series(3, 28, 0.0, |_| 200.0);
        let values: Vec<f64> = recorded.into_iter().chain(rest).collect();
        let Some(Shape::Steps(steps)) = shape(&values) else { panic!("{:?}", shape(&values)) };
        assert!(steps.len() == 1 && (9..=10).contains(&steps[0].at), "{steps:?}");
    }

    #[test]
    fn values_of_two_kinds_have_two_modes_and_noise_has_one() {
        // Every third and every fifth second: never three in a row.
        let mixed = series(7, 120, 0.0, |i| if i % 3 == 0 || i % 5 == 0 { 600.0 } else { 1000.0 });
        let found = modes(&mixed).unwrap();
        assert!((found.low - 600.0).abs() < 20.0 && (found.high - 1000.0).abs() < 20.0, "{found:?}");
        assert!((found.high_share - 0.53).abs() < 0.02, "{found:?}");
        assert!((1..=300).all(|seed| modes(&series(seed, 30, 0.0, |_| 1000.0)).is_none()));
    }

    #[test]
    fn levels_in_turn_are_a_saw_tooth() {
        let values = series(7, 120, 0.2, |i| if i % 20 < 8 { 300.0 } else { 1000.0 });
        let Some(Shape::SawTooth { period, high, low }) = shape(&values) else {
            panic!("{:?}", shape(&values))
        };
        assert!((period - 20.0).abs() < 0.5 && (high - 1000.0).abs() < 30.0 && (low - 300.0).abs() < 15.0);
    }

    #[test]
    fn small_changes_and_short_series_are_not_judged() {
        assert_eq!(
            shape(&series(1, 300, 0.0, |i| if i < 150 { 1000.0 } else { 950.0 })).unwrap(),
            Shape::Steady
        );
        assert_eq!(shape(&[1.0; 9]), None);
        assert_eq!(shape(&[0.0; 60]), None);
        assert_eq!(shape(&[5.0; 60]), Some(Shape::Steady));
    }

    #[test]
    fn eight_hours_of_seconds_are_judged_at_once_and_their_step_is_found_to_a_minute() {
        let values = series(9, 28_800, 0.5, |i| if i < 20_000 { 1000.0 } else { 600.0 });
        let Some(Shape::Steps(steps)) = shape(&values) else { panic!("{:?}", shape(&values)) };
        assert!(steps.len() == 1 && steps[0].at.abs_diff(20_000) <= 60, "{steps:?}");
    }
}
