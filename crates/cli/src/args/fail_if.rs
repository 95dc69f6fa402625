//! `--fail-if`: a change against the baseline, or an absolute limit.

use std::str::FromStr;

use assay_analysis::compare::Gate;
use assay_spec::threshold::{Threshold, ThresholdError};

/// A condition of `--fail-if`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FailIf {
    /// `p99 +10%`: worse than the baseline by more than this.
    Change(Gate),
    /// `p99 > 20ms`: beyond a value.
    Limit(Threshold),
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.contains(['<', '>']) {
            true => text.parse().map(Self::Limit).map_err(|error: ThresholdError| error.to_string()),
            false => text.parse().map(Self::Change).map_err(|says: String| {
                format!("{says}; a limit on a value is like \"p99 > 20ms\" or \"errors > 0\"")
            }),
        }
    }
}
