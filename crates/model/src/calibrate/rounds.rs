//! Calibration from several rounds of the same micro-tests, interleaved in time: what changes between rounds is not the
//! target's nature, and no number is known better than that.

use serde::Serialize;

use super::{CalibrateError, Calibration, Fitted, MicroTests, Point, calibrate};
use crate::array::Array;
use crate::resolved::Tables;
use crate::validate::median;

/// Above this median difference between rounds nothing lasting is said of a target: its own rate moves more than the
/// 10 % within which a calibrated file should predict.
pub(crate) const STEADY_WITHIN: f64 = 0.15;

/// How far the same step came out differently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Steadiness {
    /// Rounds.
    pub rounds: usize,
    /// Median over the steps of (highest - lowest) / median of the rounds.
    pub spread: f64,
    /// The largest of them.
    pub spread_max: f64,
    /// Median over the steps of the last round over the first.
    pub trend: f64,
}

impl Steadiness {
    /// Of one list of rates for each step, in the order of the rounds; `None` for a single round.
    #[must_use]
    pub fn of(steps: &[Vec<f64>]) -> Option<Self> {
        let rounds = steps.iter().map(Vec::len).min().filter(|n| *n > 1)?;
        let spreads: Vec<f64> = steps
            .iter()
            .map(|rates| {
                let (lo, hi) =
                    rates.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), r| (l.min(*r), h.max(*r)));
                (hi - lo) / median(rates.clone())
            })
            .collect();
        let trends = steps.iter().map(|rates| rates[rates.len() - 1] / rates[0]).collect();
        Some(Self {
            rounds,
            spread_max: spreads.iter().copied().fold(0.0, f64::max),
            spread: median(spreads),
            trend: median(trends),
        })
    }

    /// Whether a prediction can be compared with such a target.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.spread <= STEADY_WITHIN
    }

    /// `the same step differed by 4 % between 3 rounds (median; at most 11 %), the last over the first x1.01`.
    #[must_use]
    pub fn says(&self) -> String {
        format!(
            "the same step differed by {:.0} % between {} rounds (median; at most {:.0} %), the last over the first \
             x{:.2}",
            self.spread * 100.0,
            self.rounds,
            self.spread_max * 100.0,
            self.trend
        )
    }
}

/// Fits the array to the medians of the rounds; every number's range holds what each round alone gives.
///
/// # Errors
/// See [`CalibrateError`].
pub fn calibrate_rounds(
    base: &Array,
    rounds: &[MicroTests],
    tables: &mut Tables,
) -> Result<(Calibration, Option<Steadiness>), CalibrateError> {
    let merged = medians(rounds);
    let mut calibration = calibrate(base, &merged, tables)?;
    let steadiness = Steadiness::of(&steps(rounds));
    if rounds.len() > 1 {
        for round in rounds {
            widen(&mut calibration, &calibrate(base, round, tables)?.fitted);
        }
    }
    match steadiness {
        None => {
            calibration.remarks.push("one round only: how steady the target is remains unknown".to_owned())
        }
        Some(s) => {
            calibration.remarks.push(s.says());
            if !s.is_steady() {
                calibration.not_for.insert(
                    0,
                    format!(
                        "any claim of accuracy: the target's own rate varied by more than {:.0} % during the tests",
                        STEADY_WITHIN * 100.0
                    ),
                );
            }
        }
    }
    Ok((calibration, steadiness))
}

/// Every point of the tests, in one order.
fn points(tests: &MicroTests) -> impl Iterator<Item = &Point> {
    let single = tests.random_write_alone.iter().chain(&tests.random_write_deep);
    let sweeps = tests.block_sweep.iter().chain(&tests.block_sweep_deep).chain(&tests.random_read);
    sweeps.chain(single).chain(&tests.two_clients)
}

/// Rates of each load of the first round, in the order of the rounds; a round that lacks a load is left out there.
fn steps(rounds: &[MicroTests]) -> Vec<Vec<f64>> {
    let Some(first) = rounds.first() else { return Vec::new() };
    points(first).map(|point| rates_of(point, rounds)).collect()
}

fn rates_of(point: &Point, rounds: &[MicroTests]) -> Vec<f64> {
    let same = |round: &MicroTests| points(round).find(|p| p.workload == point.workload).map(|p| p.iops);
    rounds.iter().filter_map(same).collect()
}

fn medians(rounds: &[MicroTests]) -> MicroTests {
    let mut merged = rounds.first().cloned().unwrap_or_default();
    let settle = |point: &mut Point| {
        let rates = rates_of(point, rounds);
        point.iops = median(rates);
    };
    merged.block_sweep.iter_mut().for_each(settle);
    merged.block_sweep_deep.iter_mut().for_each(settle);
    merged.random_read.iter_mut().for_each(settle);
    merged.random_write_alone.iter_mut().for_each(settle);
    merged.random_write_deep.iter_mut().for_each(settle);
    merged.two_clients.iter_mut().for_each(settle);
    merged.cached_read = merged.cached_read.map(|mut point| {
        let rates = rounds.iter().filter_map(|r| r.cached_read.as_ref()).map(|p| p.iops);
        // A link is shown by the best that came over it.
        point.iops = rates.fold(0.0, f64::max);
        point
    });
    merged
}

/// Ranges that hold what another fit found.
fn widen(calibration: &mut Calibration, others: &[Fitted]) {
    let fitted: Vec<Fitted> = calibration.fitted.clone();
    for mut own in fitted {
        let Some(other) = others.iter().find(|o| o.field == own.field) else { continue };
        own.quantity.lo = own.quantity.lo.min(other.quantity.value);
        own.quantity.hi = own.quantity.hi.max(other.quantity.value);
        super::place(&mut calibration.array, own.field, &own.quantity);
        if let Some(known) = calibration.fitted.iter_mut().find(|f| f.field == own.field) {
            *known = own;
        }
    }
}
