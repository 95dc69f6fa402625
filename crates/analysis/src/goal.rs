//! The steady state of a step that is measured in rounds, by the limits of SNIA.

use assay_spec::Goal;
use serde::Serialize;

use assay_statistics::window::Parts;

/// One round of a step that is measured until it is steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Round {
    /// I/Os per second.
    pub iops: f64,
    /// Mean time that was waited for an I/O, µs.
    pub mean_us: f64,
}

/// The rounds of a step, and whether the last five are steady.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyState {
    /// Length of a round, s.
    pub round_s: f64,
    /// What is tracked: `iops`, or `mean_us` where the plan sets the rate.
    pub tracks: &'static str,
    /// Every complete round, in order.
    pub rounds: Vec<Round>,
    /// Index of the first of the rounds that are the result; the last round is the last of them.
    pub first: usize,
    /// Largest minus smallest of these rounds, over their mean.
    pub range: f64,
    /// How far the line fitted to these rounds goes from the first to the last, over their mean.
    pub slope: f64,
    /// Whether both are within the limits.
    pub is_reached: bool,
}

impl SteadyState {
    /// The largest range, as a share.
    pub const RANGE_MAX: f64 = Parts::RANGE_MAX;
    /// The largest slope over the five rounds, as a share.
    pub const SLOPE_MAX: f64 = Parts::SLOPE_MAX;

    /// Judges the last five rounds; `None` before there are so many.
    pub fn of(rounds: Vec<Round>, round_s: f64, tracks: Tracks) -> Option<Self> {
        let first = rounds.len().checked_sub(Goal::ROUNDS)?;
        let tracked: Vec<f64> = rounds[first..].iter().map(|round| tracks.of(round)).collect();
        let parts = Parts::of(&tracked)?;
        let (range, slope, is_reached) = (parts.range, parts.slope.abs(), parts.is_steady());
        Some(Self { round_s, tracks: tracks.name(), rounds, first, range, slope, is_reached })
    }
}

/// What a steady state is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracks {
    /// The rate, of a closed loop.
    Iops,
    /// The latency, where the plan sets the rate.
    Latency,
}

impl Tracks {
    fn of(self, round: &Round) -> f64 {
        match self {
            Self::Iops => round.iops,
            Self::Latency => round.mean_us,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Latency => "mean_us",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(iops: &[f64]) -> Vec<Round> {
        iops.iter().map(|iops| Round { iops: *iops, mean_us: 1e6 / iops }).collect()
    }

    #[test]
    fn a_steady_state_has_a_small_range_and_a_small_slope() {
        let check = |iops: &[f64], range: f64, slope: f64, is_reached: bool| {
            let state = SteadyState::of(rounds(iops), 60.0, Tracks::Iops).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(near(state.range, range) && near(state.slope, slope), "{state:?}");
            assert_eq!(state.is_reached, is_reached, "{state:?}");
        };
        // By hand: mean 100; slope 2 a round over 4 steps.
        check(&[96.0, 98.0, 100.0, 102.0, 104.0], 0.08, 0.08, true);
        check(&[90.0, 95.0, 100.0, 105.0, 110.0], 0.2, 0.2, false);
        check(&[110.0, 90.0, 100.0, 90.0, 110.0], 0.2, 0.0, true);
        check(&[111.0, 89.0, 100.0, 89.0, 111.0], 0.22, 0.0, false);
        check(&[500.0, 96.0, 98.0, 100.0, 102.0, 104.0], 0.08, 0.08, true);
        assert!(SteadyState::of(rounds(&[1.0; 4]), 60.0, Tracks::Iops).is_none());
    }
}
