//! `--fail-if`: a change against the baseline, or an absolute limit; and the limits of a plan.

use assay_analysis::compare::{Comparison, Gate, broken};
use assay_analysis::{Answer, RunSummary, judge_thresholds};
use assay_spec::threshold::Threshold;

use crate::args::FailIf;
use crate::exit::Exit;
use crate::output::terminal::note;

/// First words of a line about a condition that is met, or about one that may be.
const FAILED: &str = "FAILED";
const UNDECIDED: &str = "UNDECIDED";

/// Returns the changes among some conditions.
pub(crate) fn changes(conditions: &[FailIf]) -> Vec<Gate> {
    let change = |condition: &FailIf| match condition {
        FailIf::Change(gate) => Some(*gate),
        FailIf::Limit(_) => None,
    };
    conditions.iter().filter_map(change).collect()
}

/// Reports every limit of the command line and of the plan that a run does not keep, and returns the exit code.
pub(crate) fn judged_by_limits(conditions: &[FailIf], of_plan: &[Threshold], summary: &RunSummary) -> Exit {
    let typed = conditions.iter().filter_map(|condition| match condition {
        FailIf::Limit(limit) => Some(limit),
        FailIf::Change(_) => None,
    });
    let limits: Vec<Threshold> = typed.chain(of_plan).cloned().collect();
    let mut exit = Exit::Done;
    for judged in judge_thresholds(summary, &limits) {
        let word = match judged.answer {
            Answer::Within => continue,
            Answer::Undecided => UNDECIDED,
            Answer::Exceeded => FAILED,
        };
        note!("{word} {}: {} {}", judged.limit, judged.test, judged.says);
        exit = exit.or_worse(of_answer(judged.answer));
    }
    exit
}

/// Reports every change that a comparison does not rule out, and returns the exit code.
pub(crate) fn judged_by_gates(gates: &[Gate], comparison: &Comparison) -> Exit {
    let mut exit = Exit::Done;
    for gate in gates {
        for (answer, says) in broken(comparison, *gate) {
            let word = if answer == Answer::Undecided { UNDECIDED } else { FAILED };
            note!("{word} {gate}: {says}");
            exit = exit.or_worse(of_answer(answer));
        }
    }
    exit
}

/// Returns the exit code of an answer.
pub(crate) fn of_answer(answer: Answer) -> Exit {
    match answer {
        Answer::Within => Exit::Done,
        Answer::Undecided => Exit::Undecided,
        Answer::Exceeded => Exit::Worse,
    }
}
