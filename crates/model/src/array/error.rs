//! Why an array file is refused: everything at once.

use std::error::Error;
use std::fmt;

use assay_spec::PlanError;

/// Number of errors that are reported at most; more of them have one cause.
const TOLD_MAX: usize = 12;

/// Everything that is wrong with an array file, in its order. There is at least one error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayError {
    /// Place, reason and remedy of each.
    pub errors: Vec<PlanError>,
}

impl From<PlanError> for ArrayError {
    fn from(error: PlanError) -> Self {
        Self { errors: vec![error] }
    }
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().take(TOLD_MAX).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        match self.errors.len().saturating_sub(TOLD_MAX) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl Error for ArrayError {}
