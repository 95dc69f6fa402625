//! How fast a host's clock runs away from this host's, from its offsets over time.

use assay_record::ClockDrift;

use crate::listed::Offset;

/// Measurements that are kept; beyond them every second one goes, and the first stays.
const KEPT_MAX: usize = 64;
/// Two measurements closer to each other say nothing of the drift, ns.
const APART_MIN_NS: i64 = 1_000_000_000;

/// The offsets of a host's clock, with the time of this host's clock at which each was measured, ns since 1970.
#[derive(Debug, Clone, Default)]
pub(crate) struct Track(Vec<(i64, Offset)>);

impl Track {
    pub(crate) fn add(&mut self, at_unix_ns: i64, offset: Offset) {
        if self.0.len() >= KEPT_MAX {
            let mut number = 0;
            self.0.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.0.push((at_unix_ns, offset));
    }

    /// Returns the drift that all measurements allow, as the middle of what they allow; `None` before there are two,
    /// and where no steady drift explains them.
    ///
    /// ```text
    ///  offset        ┬ o₂+e₂          slowest:  (o₂ − e₂ − o₁ − e₁) / (t₂ − t₁)
    ///     ┬ o₁+e₁    ┴ o₂−e₂          fastest:  (o₂ + e₂ − o₁ + e₁) / (t₂ − t₁)
    ///     ┴ o₁−e₁                     the true drift is between them for every two measurements
    ///   ──t₁─────────t₂──> time
    /// ```
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and half of a range is not negative"
    )]
    pub(crate) fn drift(&self) -> Option<ClockDrift> {
        let (mut slowest, mut fastest) = (f64::NEG_INFINITY, f64::INFINITY);
        for (index, (at, offset)) in self.0.iter().enumerate() {
            for (later_at, later) in &self.0[index + 1..] {
                let apart_ns = later_at - at;
                if apart_ns < APART_MIN_NS {
                    continue;
                }
                let moved = (later.ahead_ns - offset.ahead_ns) as f64;
                let error = later.error_ns as f64 + offset.error_ns as f64;
                slowest = slowest.max((moved - error) / apart_ns as f64);
                fastest = fastest.min((moved + error) / apart_ns as f64);
            }
        }
        let is_known = slowest.is_finite() && slowest <= fastest;
        is_known.then(|| ClockDrift {
            ppb: (slowest.midpoint(fastest) * 1e9).round() as i64,
            error_ppb: ((fastest - slowest) / 2.0 * 1e9).ceil() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Offsets of a clock that is 3 s ahead and gains `ppm`, each measured with an error of its own.
    fn track(ppm: i64, seconds: &[i64], error_ns: i64) -> Track {
        let mut track = Track::default();
        for (number, second) in seconds.iter().enumerate() {
            // As wrong as the bound allows, once to each side.
            let wrong_ns = if number % 2 == 0 { error_ns } else { -error_ns };
            let ahead_ns = 3 * SECOND + second * ppm * 1000 + wrong_ns;
            track.add(second * SECOND, Offset { ahead_ns, error_ns: error_ns.unsigned_abs() });
        }
        track
    }

    #[test]
    fn a_planted_drift_is_within_the_bound_that_is_stated() {
        for ppm in [-500, -1, 0, 20, 500] {
            for seconds in [vec![0, 2], vec![0, 1, 2, 3, 10], (0..500).collect::<Vec<_>>()] {
                let drift = track(ppm, &seconds, 100_000).drift().unwrap();
                let wrong = (drift.ppb - ppm * 1000).unsigned_abs();
                assert!(wrong <= drift.error_ppb, "{ppm} ppm over {seconds:?}: {drift:?}");
            }
        }
        let long = track(500, &(0..500).collect::<Vec<_>>(), 100_000);
        assert!(long.drift().unwrap().error_ppb < 1_000, "{:?}", long.drift());
        assert!(long.0.len() <= KEPT_MAX && long.0[0].0 == 0);
    }

    #[test]
    fn too_little_is_no_drift_and_a_clock_that_was_set_has_none() {
        assert_eq!(Track::default().drift(), None);
        assert_eq!(track(100, &[5], 0).drift(), None);
        let mut set = track(0, &[0, 10, 20], 1_000);
        set.add(30 * SECOND, Offset { ahead_ns: 0, error_ns: 1_000 });
        assert_eq!(set.drift(), None);
    }
}
