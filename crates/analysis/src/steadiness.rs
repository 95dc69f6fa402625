//! The window of a step in five equal parts: how far they lie apart, and whether they rise or fall.

use crate::summary::StepSummary;

/// Parts, as SNIA's performance test specification has rounds.
const PARTS: usize = 5;
/// Fewer whole seconds than this for each part are no part.
const SECONDS_PER_PART_MIN: usize = 2;
/// Largest range of a steady load, as a share of the mean (SNIA SSS PTS 2.0.2).
const RANGE_MAX: f64 = 0.20;
/// Largest rise of the fitted line from the first part to the last, as a share of the mean.
const SLOPE_MAX: f64 = 0.10;

/// The rate of a window in five parts.
#[derive(Debug, Clone, PartialEq)]
pub struct FiveParts {
    /// Mean IOPS of each part.
    pub means: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Highest minus lowest, as a share of the mean.
    pub range: f64,
    /// Rise of the line through them from the first to the last, as a share of the mean.
    pub slope: f64,
}

impl FiveParts {
    /// Whether range and slope are within SNIA's limits.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_MAX && self.slope.abs() <= SLOPE_MAX
    }
}

/// Returns the window of a step in five parts; `None` where it is shorter than 10 s or paced.
#[must_use]
pub fn five_parts(step: &StepSummary) -> Option<FiveParts> {
    if step.load != crate::summary::Load::Closed {
        return None;
    }
    let whole = step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
    let rates: Vec<f64> = whole.map(|point| point.iops).collect();
    let length = rates.len() / PARTS;
    if length < SECONDS_PER_PART_MIN {
        return None;
    }
    // Seconds that do not divide by five are left out at the start, where the load may still settle.
    let counted = &rates[rates.len() - length * PARTS..];
    let means: Vec<f64> = counted.chunks(length).map(assay_statistics::mean).collect();
    let mean = assay_statistics::mean(&means);
    let centre = (PARTS - 1) as f64 / 2.0;
    let from_centre = |index: usize| index as f64 - centre;
    let along: f64 = means.iter().enumerate().map(|(i, v)| from_centre(i) * (v - mean)).sum();
    let squares: f64 = (0..PARTS).map(|i| from_centre(i).powi(2)).sum();
    let highest = means.iter().copied().fold(f64::MIN, f64::max);
    let lowest = means.iter().copied().fold(f64::MAX, f64::min);
    (mean > 0.0).then(|| FiveParts {
        range: (highest - lowest) / mean,
        slope: along / squares * (PARTS - 1) as f64 / mean,
        mean,
        means,
    })
}
