//! What the experiments of a diagnosis measured, and what it says: ratios to the load itself with their errors.

use std::f64::consts::SQRT_2;
use std::ops::Range;

use assay_analysis::LoadPlaces;
use assay_record::Experiment;

use crate::experiments::HOT;
use crate::quantity::{LEAST, Observation, Quantity};

/// The error of a rate is at least this, as a share: targets vary.
pub(crate) const ERROR_LEAST: f64 = 0.02;
/// No error is stated as more than this.
pub(crate) const ERROR_MOST: f64 = 0.5;
/// Error of what depends on this host's CPUs for each share of their time that the hypervisor takes. With 9 % of it
/// taken, a load with one I/O outstanding was measured 14 % slower than without, one with 32 in memory 40 %; with 35 %,
/// 30 to 65 %.
const ERROR_OF_STOLEN: f64 = 2.5;
/// A host whose CPUs are busy for this share or more waits for them; with less, the load depends on them as much less.
const BUSY_ENOUGH: f64 = 0.15;
/// No error by stolen time is stated as more than this: the number says nothing then.
const STOLEN_MOST: f64 = 2.0;
/// From this error by stolen time on an experiment is worth a second try.
const DISTURBED: f64 = 0.1;
/// Error of what the offsets of too few I/Os say, as a logarithm.
const TOO_FEW: f64 = 0.7;
/// A place that some hundred I/Os show is slow; only so many that show none say that there is none.
const ENOUGH_FOR_NONE: usize = 768;
/// The load itself is still warming up where its first measurement is slower by this than all later ones, which differ
/// by no more than this among themselves. As a logarithm.
const COLD: f64 = 0.1;
/// The load fell to another level where it is slower by this, as a logarithm, and the levels before and after hold.
const FELL: f64 = 0.25;

/// A span that is read again and again is held by a cache where it is faster by this factor.
const CACHED_LEAST: f64 = 1.5;

/// What an experiment measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) experiment: Experiment,
    pub(crate) iops: f64,
    /// Standard error of its logarithm, by its own seconds and number of I/Os.
    pub(crate) error: f64,
    /// Number of I/Os that it rests on.
    pub(crate) ios: f64,
    /// Share of this host's CPU time that the hypervisor took meanwhile. In \[0, 1\].
    pub(crate) stolen: f64,
    /// Standard error of the logarithm of rates and times for that.
    pub(crate) stolen_error: f64,
    /// Standard error of the logarithm of the rate for what others use of this host's CPUs.
    pub(crate) others_error: f64,
    /// Mean latency, µs.
    pub(crate) mean_us: Option<f64>,
    /// Numbers beside the rate.
    pub(crate) facts: Vec<(Quantity, f64)>,
}

impl Measurement {
    /// Returns the standard error of the logarithm of a number beside the rate.
    fn error_of(&self, quantity: Quantity) -> f64 {
        quantity.error(self.ios, self.error).min(ERROR_MOST)
    }

    /// Returns what this host adds to the error of a number beside the rate.
    fn host_error_of(&self, quantity: Quantity) -> f64 {
        if quantity.feels_host() { self.stolen_error } else { 0.0 }
    }

    /// What this host adds to the error of the rate.
    fn host_error(&self) -> f64 {
        self.stolen_error.hypot(self.others_error)
    }

    /// How much it counts in a mean.
    fn weight(&self) -> f64 {
        self.error.max(ERROR_LEAST).hypot(self.host_error()).powi(-2)
    }

    /// Whether the hypervisor took so much CPU time that the number says little.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.stolen_error >= DISTURBED
    }
}

/// Whether an experiment makes no load slower: what is slow in it, the target is.
fn is_harmless(experiment: Experiment) -> bool {
    use Experiment as E;
    matches!(experiment, E::HotSpan | E::TenthSpan | E::MoreOutstanding | E::MoreWorkers | E::AfterIdle)
}

/// Standard error of the logarithm of a rate or a latency, by the CPU time that the hypervisor took and the share of
/// time in which this host's CPUs were busy. A slow disk or a full link notices nothing.
pub(crate) fn error_of_stolen(stolen: f64, busy: f64) -> f64 {
    let running = busy / (1.0 - stolen).max(0.01);
    (stolen * ERROR_OF_STOLEN * (running / BUSY_ENOUGH).min(1.0)).min(STOLEN_MOST)
}

/// The same for the share of the window in which the tester did not run: the rate is too low by that.
pub(crate) fn error_of_gap(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 0.9)).ln()
}

/// The measurements of a diagnosis, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Observed {
    pub(crate) made: Vec<Measurement>,
    /// What the offsets of all I/Os of the load say, where they are enough.
    pub(crate) places: Option<LoadPlaces>,
}

impl Observed {
    /// Measurements of the load itself.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &Measurement> {
        self.made.iter().filter(|m| m.experiment == Experiment::Base)
    }

    /// Rates of the load itself while the hypervisor left this host alone.
    pub(crate) fn calm_bases(&self) -> Vec<f64> {
        self.bases().filter(|m| !m.is_disturbed()).map(|m| m.iops).collect()
    }

    /// Mean of the logarithms of those rates, each weighted by its error, and the sum of the weights.
    fn base_mean(&self) -> (f64, f64) {
        let weights: f64 = self.bases().map(Measurement::weight).sum();
        let sum: f64 = self.bases().map(|m| m.weight() * m.iops.ln()).sum();
        (sum / weights.max(f64::MIN_POSITIVE), weights)
    }

    /// Rate of the load itself, IOPS: of those that were measured the one that is nearest to their geometric mean, in
    /// which those that were disturbed count for little.
    pub(crate) fn base_iops(&self) -> f64 {
        let mean = self.base_mean().0;
        let off = |iops: &f64| (iops.ln() - mean).abs();
        self.bases().map(|m| m.iops).min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(1.0)
    }

    /// The measurement of the load itself with which others are compared: the first that the hypervisor left alone, or
    /// else the one that it disturbed least.
    fn reference(&self) -> Option<&Measurement> {
        self.bases().find(|m| !m.is_disturbed()).or_else(|| self.best(Experiment::Base))
    }

    /// Rate of the load itself at the time of a measurement, between those before and after it, IOPS, with the standard
    /// errors of its logarithm: its own, and what this host adds. The nearer one and the more certain one count for
    /// more.
    fn base_at(&self, index: usize) -> (f64, (f64, f64)) {
        let is_base = |at: &usize| self.made[*at].experiment == Experiment::Base;
        let level = self.level_of(index);
        let before = (level.start..=index).rev().find(is_base);
        let after = (index..level.end).find(is_base);
        let one = |at: usize| (self.made[at].iops, (self.made[at].error, self.made[at].host_error()));
        match (before, after) {
            (Some(a), Some(b)) if b > a => {
                let share = (index - a) as f64 / (b - a) as f64;
                let of_a = self.made[a].weight() * (1.0 - share);
                let of_b = self.made[b].weight() * share;
                let all = of_a + of_b;
                let log = (of_a * self.made[a].iops.ln() + of_b * self.made[b].iops.ln()) / all;
                let mean = |of: &dyn Fn(&Measurement) -> f64| {
                    (of_a * of(&self.made[a]) + of_b * of(&self.made[b])) / all
                };
                (log.exp(), (mean(&|m| m.error), mean(&Measurement::host_error)))
            }
            (Some(at), _) | (None, Some(at)) => one(at),
            (None, None) => (1.0, (0.0, 0.0)),
        }
    }

    /// Standard deviation of the logarithms of the rates of the load itself, beyond the errors of their measurements:
    /// how much the target changes by itself.
    pub(crate) fn drift(&self) -> f64 {
        let count = self.bases().count();
        if count < 2 {
            return 0.0;
        }
        let (mean, weights) = self.base_mean();
        let spread: f64 = self.bases().map(|m| m.weight() * (m.iops.ln() - mean).powi(2)).sum();
        let all = (count as f64 / (count - 1) as f64 * spread / weights).sqrt();
        // Every ratio has the error of its own measurements beside this one: it must not count twice.
        let of_measurement = |m: &Measurement| m.weight() * (m.error.powi(2) + m.host_error().powi(2));
        let measured = self.bases().map(of_measurement).sum::<f64>() / weights;
        (all.powi(2) - measured).max(0.0).sqrt()
    }

    /// Leaves out the first measurement of the load itself where it was slower than all later ones, at least two that
    /// agree: caches, threads and CPUs were not yet awake.
    pub(crate) fn leave_out_cold_start(&mut self) {
        let logs: Vec<f64> = self.bases().map(|m| m.iops.ln()).collect();
        let [first, later @ ..] = logs.as_slice() else { return };
        let (lo, hi) = later.iter().fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
        let is_calm = self.bases().all(|m| !m.is_disturbed());
        if later.len() < 2 || lo - first < COLD || hi - lo > COLD || !is_calm {
            return;
        }
        if let Some(at) = self.made.iter().position(|m| m.experiment == Experiment::Base) {
            self.made.remove(at);
        }
    }

    /// The first `count` measurements alone.
    pub(crate) fn until(&self, count: usize) -> Self {
        // The offsets are those of all measurements.
        let places = self.places.clone().filter(|_| count >= self.made.len());
        Self { made: self.made[..count.min(self.made.len())].to_vec(), places }
    }

    /// The least disturbed measurement of an experiment, the first of several such.
    pub(crate) fn best(&self, experiment: Experiment) -> Option<&Measurement> {
        let made = self.made.iter().enumerate().filter(|(_, m)| m.experiment == experiment);
        let best = made.min_by(|(i, a), (j, b)| {
            self.is_early_pause(*i)
                .cmp(&self.is_early_pause(*j))
                .then(a.stolen_error.total_cmp(&b.stolen_error))
        });
        best.map(|(_, m)| m)
    }

    /// Whether a measurement is behind a pause before the load fell: nothing was used up then that a pause restores.
    pub(crate) fn is_early_pause(&self, index: usize) -> bool {
        self.made[index].experiment == Experiment::AfterIdle
            && self.fell_at().is_some_and(|(_, level)| index < level)
    }

    /// Whether the last experiment was much slower than the load, and is one that makes no load slower: the target may
    /// have changed.
    pub(crate) fn may_have_fallen(&self) -> bool {
        let last = self.made.last().filter(|m| is_harmless(m.experiment) && !m.is_disturbed());
        let base = self.bases().last().filter(|m| !m.is_disturbed());
        last.zip(base).is_some_and(|(last, base)| (base.iops / last.iops).ln() > FELL)
    }

    /// Where the load fell once from a level that held to one that holds since: its last measurement before, and its
    /// first after. One between the two has a part of each: the load fell within its window, which is both then.
    pub(crate) fn fell_at(&self) -> Option<(usize, usize)> {
        let is_base = |at: &usize| self.made[*at].experiment == Experiment::Base;
        let bases: Vec<usize> = (0..self.made.len()).filter(is_base).collect();
        let log = |at: usize| self.made[at].iops.ln();
        let holds = |of: &[usize]| {
            let (lo, hi) =
                of.iter().fold((f64::MAX, f64::MIN), |(lo, hi), at| (lo.min(log(*at)), hi.max(log(*at))));
            hi - lo < COLD && of.iter().all(|at| !self.made[*at].is_disturbed())
        };
        let fall = |first: usize, skipped: usize| {
            let (before, after) = (bases.get(..first)?, bases.get(first + skipped..)?);
            let (from, to) = (log(*before.last()?), log(*after.first()?));
            let is_between = |at: &usize| (to..=from).contains(&log(*at));
            let fell = from - to > FELL && bases[first..first + skipped].iter().all(is_between);
            let ends =
                if skipped == 0 { (before[first - 1], after[0]) } else { (bases[first], bases[first]) };
            (fell && holds(before) && holds(after)).then_some(ends)
        };
        let falls = |skipped: usize| (1..bases.len()).find_map(|first| fall(first, skipped));
        falls(0).or_else(|| falls(1))
    }

    /// Whether the load is on a known level at a measurement, and not between two of them: how far these are apart says
    /// nothing of it. What flickers has no level: two measurements on the lower one are needed.
    fn is_on_a_level(&self, index: usize) -> bool {
        let bases_after =
            |last: usize| self.made[last + 1..].iter().filter(|m| m.experiment == Experiment::Base).count();
        self.fell_at()
            .is_some_and(|(before, after)| bases_after(before) >= 2 && (index < before || index > after))
    }

    /// The measurements among which those of the load itself are on the same level as this one: all of them, unless the
    /// load fell within a window of its own.
    fn level_of(&self, index: usize) -> Range<usize> {
        match self.fell_at() {
            Some((fell, end)) if fell == end && index < fell => 0..fell,
            Some((fell, end)) if fell == end && index > fell => fell + 1..self.made.len(),
            _ => 0..self.made.len(),
        }
    }

    /// Whether the hypervisor disturbed every measurement of an experiment.
    pub(crate) fn is_disturbed(&self, experiment: Experiment) -> bool {
        self.best(experiment).is_some_and(Measurement::is_disturbed)
    }

    /// Everything that hypotheses have expectations of.
    pub(crate) fn observations(&self) -> Vec<Observation> {
        let Some(first) = self.reference() else {
            return Vec::new();
        };
        let drift = self.drift();
        let mut all = Vec::new();
        for (index, m) in self.made.iter().enumerate() {
            if m.experiment != Experiment::Base {
                let is_best = self.best(m.experiment).is_some_and(|best| std::ptr::eq(best, m));
                if !is_best || self.is_early_pause(index) {
                    continue;
                }
                let (base, (base_error, base_host)) = self.base_at(index);
                all.push(Observation {
                    experiment: m.experiment,
                    quantity: Quantity::Rate(m.experiment),
                    value: (m.iops / base).max(1e-6),
                    error: m.error.hypot(base_error).hypot(if self.is_on_a_level(index) {
                        0.0
                    } else {
                        drift * 0.5
                    }),
                    base_error,
                    host_error: m.host_error().hypot(base_host),
                });
            }
            if m.experiment == Experiment::HalfRate {
                all.extend(paced_latency(m, first));
            }
            let facts = m.facts.iter().filter(|_| m.experiment != Experiment::Base || std::ptr::eq(m, first));
            all.extend(facts.map(|(quantity, value)| Observation {
                experiment: m.experiment,
                quantity: *quantity,
                value: self.worst(*quantity, *value).max(LEAST),
                error: m.error_of(*quantity),
                base_error: 0.0,
                host_error: m.host_error_of(*quantity),
            }));
        }
        all.extend(self.paced_to_one());
        all.extend(self.of_places());
        all.extend(self.came_back());
        // Of all repetitions the one that is furthest from the first by its error: a change is a change once.
        let repeats = self.bases().filter(|m| !std::ptr::eq(*m, first));
        let furthest = repeats.max_by(|a, b| {
            let error = |m: &Measurement| m.error.hypot(m.host_error());
            let far = |m: &Measurement| (m.iops / first.iops).ln().abs() / error(m).hypot(error(first));
            far(a).total_cmp(&far(b))
        });
        all.extend(furthest.map(|m| Observation {
            experiment: Experiment::Base,
            quantity: Quantity::Rate(Experiment::Base),
            value: (m.iops / first.iops).max(1e-6),
            error: m.error.hypot(first.error),
            base_error: 0.0,
            host_error: m.host_error().hypot(first.host_error()),
        }));
        all
    }
}

impl Observed {
    /// What others took from the load, in the repetition in which they took most: they may have come later than the
    /// first, and rates of the load that fall meanwhile are explained by that.
    fn worst(&self, quantity: Quantity, value: f64) -> f64 {
        if !matches!(quantity, Quantity::WaitForOthers | Quantity::StoppedByQuota) {
            return value;
        }
        let all = self.bases().flat_map(|m| &m.facts).filter(|(of, _)| *of == quantity);
        all.map(|(_, value)| *value).fold(value, f64::max)
    }

    /// Latency of the load at half its rate over that of one I/O at a time.
    fn paced_to_one(&self) -> Option<Observation> {
        let (paced, one) = (self.best(Experiment::HalfRate)?, self.best(Experiment::OneOutstanding)?);
        let quantity = Quantity::PacedToOne;
        Some(Observation {
            experiment: paced.experiment,
            quantity,
            value: (paced.mean_us? / one.mean_us?.max(1e-3)).max(LEAST),
            error: paced.error_of(quantity).hypot(one.error_of(quantity)),
            base_error: 0.0,
            host_error: paced.host_error_of(quantity).hypot(one.host_error_of(quantity)),
        })
    }

    /// The most by which the load rose again after it had fallen, where nothing between the two lets a target rest;
    /// `None` where it did not. What makes no load slower shows a fall, too: a pause only begins a measurement, which
    /// is fastest then if the pause helps.
    fn came_back(&self) -> Option<Observation> {
        use Experiment as E;
        let is_rest =
            |m: &Measurement| matches!(m.experiment, E::AfterIdle | E::HalfRate | E::OneOutstanding);
        let fastest = |made: &[Measurement]| {
            let bases = made.iter().filter(|m| m.experiment == E::Base && !m.is_disturbed());
            bases.map(|m| m.iops).fold(0.0, f64::max)
        };
        let rise = |at: usize, low: &Measurement| {
            let later = &self.made[at + 1..];
            let until_rest = later.iter().position(is_rest).unwrap_or(later.len());
            let to = fastest(&self.made[..at]).min(fastest(&later[..until_rest]));
            to / low.iops
        };
        let is_low = |m: &Measurement| m.experiment == E::Base || is_harmless(m.experiment);
        let lows = self.made.iter().enumerate().filter(|(_, m)| is_low(m) && !m.is_disturbed());
        let (value, low) = lows.map(|(at, low)| (rise(at, low), low)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        // Both ends were measured.
        let (error, host_error) = (low.error * SQRT_2, low.host_error() * SQRT_2);
        let (experiment, quantity) = (E::Base, Quantity::CameBack);
        let is_risen = value.ln() > FELL + 2.0 * error;
        is_risen.then_some(Observation { experiment, quantity, value, error, base_error: 0.0, host_error })
    }

    /// Whether the same few MiB at the begin of the target, read again and again, are several times as fast although
    /// they lie in a slow region: a cache holds them then, and what it does not hold is no weak place.
    pub(crate) fn is_cached_once_read(&self, from_bytes: u64) -> bool {
        let again = self.made.iter().position(|m| m.experiment == Experiment::HotSpan);
        let times = again.map_or(1.0, |index| self.made[index].iops / self.base_at(index).0);
        from_bytes < HOT && times > CACHED_LEAST
    }

    /// What the offsets say: 1 where they say that no place is slower. Too few say the same, and little: a cause that
    /// rests on offsets must not be what is left where everything else changes too much.
    fn of_places(&self) -> Vec<Observation> {
        let places = self.places.as_ref();
        let member = places.and_then(|places| places.stripe.as_ref()?.slow.first());
        let region = places
            .and_then(|places| places.region)
            .filter(|region| !self.is_cached_once_read(region.from_bytes));
        let one = |quantity: Quantity, times: Option<f64>| Observation {
            experiment: Experiment::Base,
            quantity,
            value: times.unwrap_or(1.0),
            error: error_of_place(quantity, places.map_or(0, |places| places.ios), times.is_some()),
            base_error: 0.0,
            host_error: 0.0,
        };
        vec![
            one(Quantity::SlowMember, member.map(|slow| slow.times)),
            one(Quantity::SlowRegion, region.map(|region| region.times)),
        ]
    }
}

/// Error of a place that so many I/Os show to be slow, or of none that they show.
pub(crate) fn error_of_place(quantity: Quantity, ios: usize, is_found: bool) -> f64 {
    if is_found || ios >= ENOUGH_FOR_NONE { quantity.error(ios as f64, 0.0) } else { TOO_FEW }
}

/// What the load at half its rate shows: its latency over that of the load itself.
fn paced_latency(paced: &Measurement, base: &Measurement) -> Option<Observation> {
    let quantity = Quantity::PacedLatency;
    Some(Observation {
        experiment: paced.experiment,
        quantity,
        value: (paced.mean_us? / base.mean_us?.max(1e-3)).max(LEAST),
        error: paced.error_of(quantity).hypot(base.error_of(quantity)),
        base_error: 0.0,
        host_error: paced.host_error_of(quantity).hypot(base.host_error_of(quantity)),
    })
}
