//! A step of a plan, by position.

use serde::{Deserialize, Serialize};

/// A step of a plan, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepId {
    /// Index of the test in the plan.
    pub test: u32,
    /// Index of the step in the test.
    pub step: u32,
}
