//! Times as far as two moments tell, and what remains of the sum and of the longest of several.

use crate::bracket::Bracket;

/// A time that is zero with some probability, and is known by its mean and its variance where it is not.
///
/// Its shape is then an exponential one behind a shortest time, or two exponentials where it varies more than one
/// of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Time {
    /// Probability that it is not zero.
    pub any: f64,
    /// Mean where it is not, ns.
    pub mean: f64,
    /// Variance where it is not, ns^2.
    pub variance: f64,
}

impl Time {
    /// From the mean and the mean square of all, zeros included.
    pub(super) fn of_moments(any: f64, mean: f64, square: f64) -> Self {
        if any <= 0.0 || mean <= 0.0 {
            return Self::default();
        }
        let (mean, square) = (mean / any, square / any);
        Self { any, mean, variance: (square - mean * mean).max(0.0) }
    }

    /// Mean of all, ns.
    pub(super) fn mean_of_all(&self) -> f64 {
        self.any * self.mean
    }

    /// The sum of this and another time that does not depend on it.
    pub(super) fn and(&self, other: &Self) -> Self {
        let square = |t: &Self| t.any * (t.variance + t.mean * t.mean);
        let (a, b) = (self.mean_of_all(), other.mean_of_all());
        let any = 1.0 - (1.0 - self.any) * (1.0 - other.any);
        Self::of_moments(any, a + b, square(self) + square(other) + 2.0 * a * b)
    }

    /// The same, this many times as likely.
    pub(super) fn rarer(&self, factor: f64) -> Self {
        Self { any: self.any * factor, ..*self }
    }

    /// Probability that one which is not zero is longer than `t`.
    pub(super) fn beyond(&self, t: f64) -> f64 {
        if t <= 0.0 {
            return 1.0;
        }
        let deviation = self.variance.sqrt();
        if deviation <= self.mean {
            let shortest = self.mean - deviation;
            return match t > shortest {
                true => (-(t - shortest) / deviation.max(f64::MIN_POSITIVE)).exp(),
                false => 1.0,
            };
        }
        // Two exponentials with the same weight of their means.
        let squared = self.variance / (self.mean * self.mean);
        let first = f64::midpoint(1.0, ((squared - 1.0) / (squared + 1.0)).sqrt());
        let of = |share: f64| share * (-2.0 * share * t / self.mean).exp();
        of(first) + of(1.0 - first)
    }

    /// A few values that stand for it, the zero included, with their probabilities.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        if self.any < RARE {
            return vec![(0.0, 1.0)];
        }
        let longest = self.mean + 8.0 * self.variance.sqrt();
        let mut points = vec![(0.0, 1.0 - self.any)];
        points.extend(split(longest, |t| self.beyond(t)).into_iter().map(|(t, p)| (t, p * self.any)));
        points
    }
}

/// What is rarer counts as never.
const RARE: f64 = 1e-4;
/// Parts of a distribution by the probability that a time is longer than where they end: more of them in the tail,
/// which percentiles are read from.
const ENDS: [f64; 13] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.005, 0.0];

/// Values that stand for a distribution up to `longest`, each in the middle of its part, with their probabilities.
pub(super) fn split(longest: f64, beyond: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut above = 1.0;
    let mut from = 0.0;
    let part = |end: &f64| {
        let middle = where_beyond(f64::midpoint(above, *end), from, longest, &beyond);
        let probability = above - end;
        (above, from) = (*end, middle);
        (middle, probability)
    };
    ENDS.iter().map(part).collect()
}

/// Steps of the search for a quantile at most.
const STEPS: usize = 60;
/// How near it is found.
const NEAR: f64 = 2e-3;

/// The time that is exceeded with probability `p`, between two times of which the first is exceeded more often: steps
/// along the line through the logarithms of both.
pub(super) fn where_beyond(p: f64, low: f64, high: f64, beyond: &impl Fn(f64) -> f64) -> f64 {
    let over = |t: f64| (beyond(t).max(1e-12) / p).ln();
    let mut bracket = Bracket::new((low, over(low)), (high, over(high)));
    if bracket.low.1 <= 0.0 {
        return low;
    }
    for _ in 0..STEPS {
        let (from, to) = (bracket.low.0, bracket.high.0);
        if bracket.high.1 > 0.0 || to - from <= NEAR * to {
            break;
        }
        let middle = from + (to - from) * bracket.step(0.02);
        let found = over(middle);
        if found.abs() < NEAR / 4.0 {
            return middle;
        }
        bracket.narrow(middle, found);
    }
    bracket.high.0
}

/// Wait at one server, first come first served: `(rate per ns, service ns)` of each kind (Pollaczek and Khinchine).
/// `None` where it cannot keep up.
pub(super) fn wait_at_one(kinds: &[(f64, f64)]) -> Option<Time> {
    let moment = |power: i32| kinds.iter().map(|(rate, service)| rate * service.powi(power)).sum::<f64>();
    let (busy, squares, cubes) = (moment(1), moment(2), moment(3));
    let idle = 1.0 - busy;
    if idle <= 0.0 {
        return None;
    }
    let mean = squares / (2.0 * idle);
    Some(Time::of_moments(busy, mean, 2.0 * mean * mean + cubes / (3.0 * idle)))
}

/// The same at several servers with one queue (Sakasegawa): who waits does so for about the time in which one of them
/// becomes free.
pub(super) fn wait_at_several(kinds: &[(f64, f64)], servers: f64) -> Option<Time> {
    if servers <= 1.0 {
        return wait_at_one(kinds);
    }
    let moment = |power: i32| kinds.iter().map(|(rate, service)| rate * service.powi(power)).sum::<f64>();
    let (rate, work, squares) = (moment(0), moment(1), moment(2));
    let busy = work / servers;
    if busy >= 1.0 {
        return None;
    }
    if work <= 0.0 {
        return Some(Time::default());
    }
    let any = busy.powf((2.0 * (servers + 1.0)).sqrt() - 1.0);
    // E[s^2] / 2 E[s]^2: half of it where the service is constant.
    let shape = squares * rate / (2.0 * work * work);
    let mean = shape * work / rate / (servers * (1.0 - busy));
    Some(Time { any, mean, variance: mean * mean })
}
