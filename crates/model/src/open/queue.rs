//! A disk in an open loop: visits come at random times, and one of those that wait is chosen at random for a time that
//! depends on how many there are, as in the simulation.
//!
//! The number k that wait as a service begins is a Markov chain, with a the number that come during a service:
//! ```text
//!   k' = max(1, k - 1 + a),      pi(k+1) P(a = 0 | k+1) = sum over i <= k of pi(i) P(a >= k + 2 - i | i)
//! ```
//! (what crosses k upwards crosses it downwards, and down it goes by one). Of a visit that waits among k as a service
//! begins, T(k) is the time until it is done: it is chosen with 1/k, or else waits for the service and what follows:
//! ```text
//!   T(k) = S(k) + (1 - 1/k) T(k - 1 + a)
//! ```
//! from which the first two moments follow by repetition. Times of services are taken to have a gamma distribution, so
//! that what comes during one has a negative binomial distribution.

use super::times::Time;

/// Mean and variance over the square of the mean of a service with `k` to choose from.
pub(super) type Service<'a> = &'a dyn Fn(usize) -> (f64, f64);

/// Longest queue that is followed.
const QUEUE_MAX: usize = 200;
/// What comes during one service at most.
const COME_MAX: usize = 48;
/// Queues that are rarer than this are not met.
const RARE: f64 = 1e-6;
/// Repetitions at most, and when the times have settled.
const ROUNDS: usize = 200;
const SETTLED: f64 = 5e-4;

/// What a visit meets at a disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    /// Time from its arrival to its end where the disk is busy as it comes, with the probability of that.
    pub busy: Time,
    /// Mean number that a service chooses from.
    pub chosen_from: f64,
}

impl Met {
    /// Of a disk that nothing comes to.
    pub(super) const NONE: Self =
        Self { busy: Time { any: 0.0, mean: 0.0, variance: 0.0 }, chosen_from: 1.0 };
}

/// How many come during a service of `k`.
struct Come {
    mean: f64,
    squared: f64,
    /// Probability of each number, and of at least so many.
    exactly: Vec<f64>,
    at_least: Vec<f64>,
    /// E\[S | a\] for each number.
    service: Vec<f64>,
}

impl Come {
    fn during((mean, varies): (f64, f64), rate: f64) -> Self {
        let varies = varies.max(0.005);
        let (shape, per_ns) = (1.0 / varies, 1.0 / varies / mean);
        let exactly = numbers(shape, per_ns, rate);
        let mut at_least = vec![1.0; exactly.len()];
        for a in 1..exactly.len() {
            at_least[a] = (at_least[a - 1] - exactly[a - 1]).max(0.0);
        }
        let service = (0..exactly.len()).map(|a| (shape + a as f64) / (per_ns + rate)).collect();
        Self { mean, squared: mean * mean * (1.0 + varies), exactly, at_least, service }
    }
}

/// Probabilities of the numbers that come at a rate during a time of a gamma distribution.
fn numbers(shape: f64, per_ns: f64, rate: f64) -> Vec<f64> {
    let comes = rate / (per_ns + rate);
    let mut all = vec![(1.0 - comes).powf(shape)];
    let mut left = 1.0 - all[0];
    while left > RARE && all.len() < COME_MAX {
        let a = all.len() as f64;
        let next = all[all.len() - 1] * (shape + a - 1.0) / a * comes;
        left -= next;
        all.push(next);
    }
    all
}

/// A disk that visits come to at a rate, per ns. `None` where it cannot keep up.
pub(super) fn meets(rate: f64, service: Service<'_>) -> Option<Met> {
    let (come, begins) = begins(rate, service)?;
    let last = begins.len();
    let (first, second) = until_done(&come, rate, last);
    let busy: f64 = begins.iter().zip(&come).map(|(pi, c)| pi * c.mean * rate).sum();
    let (mut mean, mut square) = (0.0, 0.0);
    for (k, (pi, c)) in (1..).zip(begins.iter().zip(&come)) {
        let weight = pi * c.mean * rate;
        let varies = (c.squared / (c.mean * c.mean) - 1.0).max(0.005);
        let (shape, per_ns) = (1.0 / varies, 1.0 / varies / c.mean);
        // A service that is met is longer than others, and half of it is left.
        let (rest, rest_square) =
            (c.squared / c.mean / 2.0, c.mean * c.mean * (1.0 + varies) * (1.0 + 2.0 * varies) / 3.0);
        let with = rate / 2.0 * (shape + 1.0) / (per_ns * per_ns);
        let (mut then, mut then_square, mut slope) = (0.0, 0.0, 0.0);
        for (a, p) in numbers(shape + 1.0, per_ns, rate).iter().enumerate() {
            let at = (k + a).min(last);
            then += p * first[at - 1];
            then_square += p * second[at - 1];
            slope += p * (first[at.min(last - 1)] - first[at - 1]);
        }
        mean += weight * (rest + then);
        square += weight * (rest_square + 2.0 * (rest * then + with * slope) + then_square);
    }
    let chosen_from = begins.iter().zip(1..).map(|(pi, k)| pi * f64::from(k)).sum();
    Some(Met { busy: Time::of_moments(busy.min(1.0), mean, square), chosen_from })
}

/// Probabilities of the numbers that wait as services begin, from 1 on.
fn begins(rate: f64, service: Service<'_>) -> Option<(Vec<Come>, Vec<f64>)> {
    let mut come = vec![Come::during(service(1), rate)];
    let mut begins = vec![1.0];
    let mut sum = 1.0;
    loop {
        let k = begins.len();
        let up = |i: usize| come[i].at_least.get(k + 1 - i).copied().unwrap_or(0.0);
        let across: f64 = (k.saturating_sub(COME_MAX)..k).map(|i| begins[i] * up(i)).sum();
        let next = Come::during(service(k + 1), rate);
        let pi = across / next.exactly[0].max(f64::MIN_POSITIVE);
        if pi < sum * RARE {
            break;
        }
        if k >= QUEUE_MAX {
            return None;
        }
        sum += pi;
        begins.push(pi);
        come.push(next);
    }
    begins.iter_mut().for_each(|pi| *pi /= sum);
    Some((come, begins))
}

/// Mean and mean square of T(k) for k from 1 on.
fn until_done(come: &[Come], rate: f64, last: usize) -> (Vec<f64>, Vec<f64>) {
    // From the same where all services are alike and there are many: linear, and quadratic.
    let begin = |k: usize| {
        let c = &come[k - 1];
        let (busy, more) = ((rate * c.mean).min(0.99), k as f64 - 1.0);
        let each = c.mean / (2.0 - busy);
        let squares = 2.0 * c.mean * each / (3.0 - 2.0 * busy);
        (c.mean + each * more, c.squared + squares * more * (k as f64 + 1.0))
    };
    let (mut first, mut second): (Vec<f64>, Vec<f64>) = (1..=last).map(begin).unzip();
    let mut at = |k: usize| {
        let c = &come[k - 1];
        let others = 1.0 - 1.0 / k as f64;
        let (mut then, mut with, mut square) = (0.0, 0.0, 0.0);
        if k > 1 {
            for (a, p) in c.exactly.iter().enumerate() {
                let at = (k - 2 + a).min(last - 1);
                then += p * first[at];
                with += p * c.service[a] * first[at];
                square += p * second[at];
            }
        }
        let (mean, mean_square) = (c.mean + others * then, c.squared + others * (2.0 * with + square));
        let changed = (mean / first[k - 1] - 1.0).abs().max((mean_square / second[k - 1] - 1.0).abs());
        (first[k - 1], second[k - 1]) = (mean, mean_square);
        changed
    };
    // There and back: what is known at one end reaches the other in one round.
    for _ in 0..ROUNDS {
        let changed = (1..=last).chain((1..last).rev()).map(&mut at).fold(0.0, f64::max);
        if changed < SETTLED {
            break;
        }
    }
    (first, second)
}
