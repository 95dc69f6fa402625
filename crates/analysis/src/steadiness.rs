//! The window of a step in five equal parts: how far they lie apart, and whether they rise or fall.

use assay_statistics::mean;
use assay_statistics::window::Parts;

use crate::summary::StepSummary;

/// Fewer whole seconds than this for each part are no part.
const SECONDS_PER_PART_MIN: usize = 2;
/// The rate of a window in five parts.
#[derive(Debug, Clone, PartialEq)]
pub struct FiveParts {
    /// Mean IOPS of each part.
    pub means: Vec<f64>,
    /// What they show together.
    pub parts: Parts,
}

/// Returns the window of a step in five parts; `None` where it is shorter than 10 s or paced.
pub fn five_parts(step: &StepSummary) -> Option<FiveParts> {
    if step.load != crate::summary::Load::Closed {
        return None;
    }
    let whole = step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
    let rates: Vec<f64> = whole.map(|point| point.iops).collect();
    let length = rates.len() / Parts::COUNT;
    if length < SECONDS_PER_PART_MIN {
        return None;
    }
    // Seconds that do not divide by five are left out at the start, where the load may still settle.
    let counted = &rates[rates.len() - length * Parts::COUNT..];
    let means: Vec<f64> = counted.chunks(length).map(mean).collect();
    Parts::of(&means).map(|parts| FiveParts { means, parts })
}
