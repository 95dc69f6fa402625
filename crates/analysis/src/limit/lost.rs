//! The test in which a run lost a target: what was measured until then shows no limit of it.

use assay_record::StepReason;

use crate::rules::{StepCase, failed_to_the_end, step_name};

/// Whether a step lost a target, while it was measured or before.
pub(super) fn is_lost(case: StepCase<'_>) -> bool {
    matches!(case.step.reason, Some(StepReason::TargetLost(_))) || failed_to_the_end(case)
}

/// Returns the sentence about the first step that lost a target; `None` where none did.
pub(super) fn lost(cases: &[StepCase<'_>]) -> Option<String> {
    let case = cases.iter().find(|case| is_lost(**case))?;
    let target = if case.run.header.targets.len() > 1 { "A target" } else { "The target" };
    let name = step_name(case.step);
    Some(match case.step.errors {
        0 => format!("{target} was lost in {name}."),
        failed => {
            let ios = if failed == 1 { "I/O" } else { "I/Os" };
            format!("{target} was lost in {name} ({failed} {ios} failed): that test shows no limit.")
        }
    })
}
