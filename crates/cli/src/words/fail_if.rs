//! `--fail-if`: a change against the baseline, or an absolute limit; and the limits of a plan.

use anyhow::bail;
use assay_analysis::compare::{Comparison, Gate, broken};
use assay_analysis::{Answer, RunSummary, StepSummary, judge_thresholds};
use assay_record::RunHeader;
use assay_report::held::{Held, Origin};
use assay_spec::threshold::{Quantity, Threshold, meant};
use assay_spec::{Plan, named_steps, suggest};

use crate::args::FailIf;
use crate::exit::Exit;
use crate::output::terminal::{note, wrapped};
use crate::running::Done;

/// First words of a line about a condition that is met, or about one that may be.
const FAILED: &str = "FAILED";
const UNDECIDED: &str = "UNDECIDED";

/// Returns the changes among some conditions.
pub(crate) fn changes(conditions: &[FailIf]) -> Vec<Gate> {
    let change = |condition: &FailIf| match condition {
        FailIf::Change(gate) => Some(gate.clone()),
        FailIf::Limit(_) => None,
    };
    conditions.iter().filter_map(change).collect()
}

/// Refuses conditions about tests that a plan does not have, before anything runs: silence would not be a pass, and
/// nobody learns that after a night. Says which conditions fail the better results.
pub(crate) fn check(conditions: &[FailIf], plan: &Plan) -> anyhow::Result<()> {
    for condition in conditions {
        let test = match condition {
            FailIf::Change(gate) => gate.test.as_deref(),
            FailIf::Limit(limit) => limit.test.as_deref(),
        };
        if let Some(test) = test.filter(|test| meant(Some(test), named_steps(&plan.tests)).is_empty()) {
            let names: Vec<&str> = plan.tests.iter().map(|test| test.name.as_str()).collect();
            bail!("--fail-if: this run has no test called `{test}`{}", suggest(test, &names));
        }
        if let FailIf::Limit(limit) = condition
            && limit.fails_the_better()
        {
            note!("note: --fail-if '{limit}' fails the runs that are better than that, not the worse ones");
        }
    }
    Ok(())
}

/// Reports every limit that a run does not keep, and every change against its baseline that is not ruled out, and
/// returns the exit code.
pub(crate) fn judged(conditions: &[FailIf], done: &Done, before: Option<&Held>) -> Exit {
    let limited = judged_by_limits(conditions, &done.header.plan, &done.collector.summary());
    let baseline = before.filter(|held| held.origin == Origin::Baseline);
    limited.or_worse(judged_by_baseline(&changes(conditions), baseline, &done.header))
}

/// Reports every change against the baseline that is not ruled out, and returns the exit code. Where there is nothing
/// to compare with after the run, what was asked is not known to be kept.
pub(crate) fn judged_by_baseline(gates: &[Gate], baseline: Option<&Held>, of: &RunHeader) -> Exit {
    if let Some(held) = baseline {
        return judged_by_gates(gates, &held.comparison);
    }
    // Which hosts take part is known only after the run has begun.
    let why = match of.setting.hosts.as_slice() {
        [] => "the baseline is not there any more, or this run is part of it".to_owned(),
        [host] => format!("{} has no baseline, but for one of this run itself", host.name),
        hosts => format!("none of the {} hosts has a baseline, but for one of this run itself", hosts.len()),
    };
    for gate in gates {
        note!("{}", wrapped(&format!("{UNDECIDED} {gate}: nothing was compared: {why}")));
    }
    if gates.is_empty() { Exit::Done } else { Exit::Undecided }
}

/// Reports every limit of the command line and of the plan that a run does not keep, and returns the exit code.
pub(crate) fn judged_by_limits(conditions: &[FailIf], plan: &Plan, summary: &RunSummary) -> Exit {
    let typed = conditions.iter().filter_map(|condition| match condition {
        FailIf::Limit(limit) => Some(limit),
        FailIf::Change(_) => None,
    });
    let limits: Vec<Threshold> = typed.chain(&plan.limits).cloned().collect();
    let mut exit = Exit::Done;
    let results = without_preparation(plan, summary);
    let judged = limits.iter().flat_map(|limit| {
        // What prepares the target is no result, but for the I/Os that fail in it.
        let is_of_results = limit.test.is_none() && limit.quantity != Quantity::Errors;
        let of = if is_of_results { &results } else { summary };
        judge_thresholds(&plan.tests, of, std::slice::from_ref(limit))
    });
    for judged in judged {
        let word = match judged.answer {
            Answer::Within => continue,
            Answer::Undecided => UNDECIDED,
            Answer::Exceeded => FAILED,
        };
        note!("{}", wrapped(&format!("{word} {}: {} {}", judged.limit, judged.test, judged.says)));
        exit = exit.or_worse(of_answer(judged.answer));
    }
    exit
}

/// A run without the steps that wrote the target before its tests.
fn without_preparation(plan: &Plan, summary: &RunSummary) -> RunSummary {
    let is_result = |step: &&StepSummary| plan.is_result(step.id.test);
    RunSummary { steps: summary.steps.iter().filter(is_result).cloned().collect(), ..summary.clone() }
}

/// Reports every change that a comparison does not rule out, and returns the exit code.
pub(crate) fn judged_by_gates(gates: &[Gate], comparison: &Comparison) -> Exit {
    let mut exit = Exit::Done;
    for gate in gates {
        for (answer, says) in broken(comparison, gate) {
            let word = if answer == Answer::Undecided { UNDECIDED } else { FAILED };
            note!("{}", wrapped(&format!("{word} {gate}: {says}")));
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
