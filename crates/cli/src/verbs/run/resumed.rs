//! `assay run --resume`: what a run that ended early did not measure, with what it did.

use anyhow::bail;
use assay_analysis::{PlannedStep, RunStatus, Standing, StepSummary};
use assay_record::{Event, MemberFacts, MemberKind, RunEvent, RunSetting, StepId, Warning};
use assay_report::minute;
use assay_report::standing::count_and_length;
use assay_runner::Order;
use assay_spec::units::{Bytes, SizeSpec};

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::output::progress::RESUMED;
use crate::output::terminal::note;
use crate::running::execute;
use crate::running::tell::{Telling, before, tell};
use crate::signals::stop_on_signals;
use crate::verbs::baseline;
use crate::words::fail_if::{changes, check as check_conditions, judged};
use crate::words::store::open_store;
use crate::words::stored::{Stored, read};
use crate::words::targets::check_paths;

pub(crate) fn run(args: &RunArgs, name: &str) -> anyhow::Result<Exit> {
    let store = open_store(&args.store)?;
    let stored = read(&store, &store.find(name)?)?;
    check(args, &stored)?;
    let complete = complete(&stored);
    let header = stored.header;
    let (run, planned) = (header.run.clone(), stored.summary.steps_planned);
    let kept = kept(store.load(&run)?, &complete, &run, header.started_unix_ms);
    let targets: Vec<String> = header.targets.iter().map(|target| target.address.clone()).collect();
    let output = check_paths(args, &targets)?;
    check_conditions(&args.fail_if, &header.plan)?;
    baseline::check_gates(&changes(&args.fail_if), &store, &header.plan.name, &targets, None)?;
    let span = header.targets.first().map(|target| SizeSpec::Bytes(Bytes(target.member.span_bytes)));
    let stop = stop_on_signals()?;
    match complete.len() {
        0 => note!("none of the {planned} steps of run {run} is complete: all are measured"),
        kept => {
            let standing = Standing::new(&header.plan);
            let is_left = |step: &&PlannedStep| !complete.contains(&step.id);
            let left: Vec<PlannedStep> = standing.steps().iter().filter(is_left).cloned().collect();
            let rest = count_and_length(&left);
            note!("resuming run {run}: {kept} of {planned} steps are kept; {rest}");
        }
    }
    let order = Order {
        kept,
        label: args.label.clone().or(stored.label),
        note: args.note.clone().or(stored.note),
        array: header.array,
        stated: header.stated,
        setting: RunSetting { null_ceilings: Vec::new(), ..header.setting },
        ..args.io.order(header.plan, &targets, span, &stop)?
    };
    let done = execute(order, &store)?;
    let before = before(&store, &done);
    let telling = Telling::of(&args.view, args.note.as_deref(), before.as_ref());
    // What was kept is judged with the rest, as if the run had not ended in between.
    let printed = tell(telling, &done, output.as_ref()).map(|exit| match exit {
        Exit::Done => judged(&args.fail_if, &done, before.as_ref()),
        exit => exit,
    });
    done.end(printed)
}

/// Steps that need not be measured again.
fn complete(stored: &Stored) -> Vec<StepId> {
    stored.summary.steps.iter().filter(|step| step.complete).map(|step| step.id).collect()
}

/// Refuses what cannot be continued, or would not be the same.
fn check(args: &RunArgs, stored: &Stored) -> anyhow::Result<()> {
    let run = &stored.header.run;
    let is_whole = |steps: &[StepSummary]| {
        let over = steps.iter().filter(|step| step.complete || step.skipped.is_some()).count();
        over >= stored.summary.steps_planned
    };
    match stored.summary.status {
        RunStatus::Running => bail!("run {run} is still in progress"),
        _ if is_whole(&stored.summary.steps) => {
            bail!("every step of run {run} is complete: there is nothing to resume")
        }
        _ => {}
    }
    if stored.header.diagnosis.is_some() || stored.header.imported.is_some() {
        bail!(
            "run {run} cannot be resumed: its steps are compared with others of the same minutes; run it again"
        );
    }
    if !stored.header.setting.hosts.is_empty() {
        bail!(
            "run {run} is of several hosts and cannot be resumed: run its plan again on all of them (--hosts)"
        );
    }
    let members = || stored.header.targets.iter().map(|target| &target.member);
    let is_local = |member: &&MemberFacts| matches!(member.kind, MemberKind::File | MemberKind::Device);
    let was_cached = members().filter(is_local).any(|member| !member.direct);
    let was_sync = members().any(|member| member.sync);
    for (was, is, option) in [(was_cached, args.io.cached, "--cached"), (was_sync, args.io.sync, "--sync")] {
        if was && !is {
            bail!("run {run} had {option}; resume it with that: assay run --resume {run} {option}");
        }
        if is && !was {
            bail!("run {run} did not have {option}: its steps would not be comparable with the others");
        }
    }
    Ok(())
}

/// Events of complete steps, with the words about where they come from before the first.
fn kept(events: Vec<Event>, complete: &[StepId], run: &str, started_unix_ms: u64) -> Vec<Event> {
    let says =
        format!("The first steps were measured by run {run}, which began {}.", minute(started_unix_ms));
    let next = "Storage, host or neighbours may have changed in between.".to_owned();
    let warning = Warning { rule: RESUMED.to_owned(), says, next };
    let mut kept = match complete {
        [] => Vec::new(),
        _ => vec![Event { at_ns: 0, what: RunEvent::Warning(warning) }],
    };
    let mut open: Option<Vec<Event>> = None;
    for event in events {
        if let RunEvent::StepStarted(step) = &event.what {
            open = complete.contains(step).then(Vec::new);
        }
        // What is said between steps was said of the run that ended.
        let Some(step) = &mut open else { continue };
        let is_end = matches!(event.what, RunEvent::StepEnded(_));
        step.push(event);
        if is_end {
            kept.append(step);
            open = None;
        }
    }
    kept
}
