//! `assay diagnose`: experiments on a load, chosen one after another, until one explanation is probable enough.

mod hosts;

use std::collections::BTreeSet;

use anyhow::bail;
use assay_diagnose::{WritesAllowed, is_to_keep_awake};
use assay_host::{AwakeGuard, host_facts};
use assay_prepare::Changes;
use assay_report::text::{Detail, TextOptions, wrap};
use assay_report::{Meta, diagnosis};
use assay_runner::Steps;
use assay_spec::suites::SUITES;
use assay_spec::{Address, Overrides, Pacing, Plan, PlanFile, Test, suggest};

use crate::args::{DiagnoseArgs, Form};
use crate::exit::{Exit, Failed};
use crate::output::render::{Page, Rendered as _};
use crate::output::terminal::{error_options, note, say, text_options};
use crate::output::{Kept, Output};
use crate::running::tell::exit_of;
use crate::running::{Budget, Done, experiment};
use crate::signals::{leave_session, stop_on_signals};
use crate::words::fleet::fleet;
use crate::words::plan::{Choice, resolve};
use crate::words::plan_file::plan_file;
use crate::words::store::open_store;
use crate::words::targets::refuse_store;
use assay_results::judged;

/// The load where nobody names one.
const LOAD: &str = include_str!("diagnose/load.toml");
/// I/Os in flight of an open loop that is no longer one, at least.
const OUTSTANDING: u32 = 32;
/// Shortest and longest budget, s.
const BUDGET_S: (f64, f64) = (10.0, 3600.0);

pub(crate) fn diagnose(args: &DiagnoseArgs) -> anyhow::Result<Exit> {
    let budget_s = args.budget.as_secs_f64();
    if !(BUDGET_S.0..=BUDGET_S.1).contains(&budget_s) {
        bail!("--budget {}: give from 10s to 1h; 2min is the default", args.budget);
    }
    leave_session(args.own_session)?;
    let mut load = load(args)?;
    if let Some(fleet) = fleet(&args.fleet, &args.io)? {
        return hosts::diagnose(args, load, fleet);
    }
    let addresses = [args.target.parse::<Address>()?];
    refuse_store(&addresses, &args.store)?;
    let (writes, changes) = allowed(args, &load)?;
    let output = args.output.as_deref();
    let output = output.map(|path| Output::check_named(path, Kept::of(&args.store, &addresses), None));
    let output = output.transpose()?;
    let store = open_store(&args.store)?;
    let name = load.tests.first().map_or_else(String::new, |test| test.name.clone());
    if writes == WritesAllowed::Yes {
        load.tests.extend(writing(&load));
    }
    let (stop, targets) = (stop_on_signals()?, std::slice::from_ref(&args.target));
    let mut order = args.io.order(load, targets, args.size, &stop)?;
    (order.steps, order.options.changes, order.label) = (Steps::Diagnosis, changes, args.label.clone());
    order.keep_awake |= is_to_keep_awake(&order.plan, &host_facts()) && AwakeGuard::start().is_ok();
    let budget = Budget { seconds: budget_s, load: name, writes, kept_awake: order.keep_awake };
    let done = experiment(order, &store, budget)?;
    let printed = tell(args, &done, output.as_ref());
    done.end(printed)
}

/// Returns the load as a plan of one test with one step.
fn load(args: &DiagnoseArgs) -> anyhow::Result<Plan> {
    let mut plan = match (&args.plan, &args.test) {
        (Some(plan), test) => resolve(plan, &choice(args, test.as_slice()))?,
        (None, Some(test)) => of_any_suite(args, test)?,
        (None, None) => built_in(args)?,
    };
    let steps = || plan.tests.iter().flat_map(|test| test.steps.iter().map(move |step| (test, step)));
    if steps().count() != 1 {
        let names: Vec<String> =
            steps().map(|(test, step)| format!("{} {}", test.name, step.label()).trim().to_owned()).collect();
        bail!(
            "a diagnosis is of one load, and this plan has {}; name one with --test: {}",
            names.len(),
            names.join(", ")
        );
    }
    plan.quick = false;
    without_rate(&mut plan);
    Ok(plan)
}

fn choice<'a>(args: &'a DiagnoseArgs, only: &'a [String]) -> Choice<'a> {
    Choice { set: &args.set, only, size: args.size, ..Choice::default() }
}

/// Returns the load of the first suite that has a test of this name, or one whose name alone contains it.
fn of_any_suite(args: &DiagnoseArgs, test: &str) -> anyhow::Result<Plan> {
    let mut names: Vec<(&str, String)> = Vec::new();
    for suite in &SUITES {
        let tests = plan_file(suite.name)?.resolve(&Overrides::default())?.tests;
        names.extend(tests.into_iter().map(|test| (suite.name, test.name)));
    }
    let of = |(suite, name): &(&str, String)| resolve(suite, &choice(args, std::slice::from_ref(name)));
    if let Some(found) = names.iter().find(|(_, name)| name == test) {
        return of(found);
    }
    let part = test.to_lowercase();
    let mut containing: Vec<&(&str, String)> =
        names.iter().filter(|(_, name)| name.to_lowercase().contains(&part)).collect();
    let mut seen = BTreeSet::new();
    containing.retain(|(_, name)| seen.insert(name));
    match containing.as_slice() {
        [one] => of(one),
        [] => {
            let mut seen = BTreeSet::new();
            let names: Vec<&str> =
                names.iter().map(|(_, name)| name.as_str()).filter(|name| seen.insert(*name)).collect();
            bail!("no suite has a test \"{test}\"{}; assay suites lists them", suggest(test, &names));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(_, name)| name.as_str()).collect();
            bail!("several tests of the suites contain \"{test}\"; name one of: {}", names.join(", "));
        }
    }
}

fn built_in(args: &DiagnoseArgs) -> anyhow::Result<Plan> {
    let mut overrides = Overrides::default();
    for assignment in &args.set {
        overrides.set(assignment)?;
    }
    overrides.size = args.size;
    Ok(PlanFile::parse("diagnose", LOAD)?.resolve(&overrides)?)
}

/// Refuses what would write with `--read-only`.
fn allowed(args: &DiagnoseArgs, load: &Plan) -> anyhow::Result<(WritesAllowed, Changes)> {
    if args.read_only && load.writes() {
        bail!("--read-only: the load writes; choose another test, or --set read=100");
    }
    let changes = if args.read_only { Changes::Refused } else { Changes::AsNeeded };
    let writes = if args.io.overwrite.is_empty() { WritesAllowed::AsTheLoad } else { WritesAllowed::Yes };
    Ok((writes, changes))
}

/// The load as writes, where it does not write itself: the target is prepared for what experiments may do.
fn writing(load: &Plan) -> Option<Test> {
    let mut test = load.tests.first().filter(|_| !load.writes())?.clone();
    "writes".clone_into(&mut test.name);
    let jobs = test.steps.iter_mut().flat_map(|step| &mut step.jobs);
    jobs.flat_map(|job| &mut job.mix).for_each(|line| line.read = 0.0);
    Some(test)
}

/// Runs a load as fast as it can: at a rate of its own it has no bottleneck while the target keeps up.
fn without_rate(plan: &mut Plan) {
    let steps = plan.tests.iter_mut().flat_map(|test| &mut test.steps);
    let jobs = steps.flat_map(|step| &mut step.jobs).filter(|job| job.pacing != Pacing::Closed);
    let mut changed = 0;
    for job in jobs {
        if matches!(job.pacing, Pacing::Open { .. }) {
            job.outstanding = job.outstanding.max(OUTSTANDING);
        }
        job.pacing = Pacing::Closed;
        changed += 1;
    }
    if changed > 0 {
        note!(
            "the load keeps a rate of its own, and has no bottleneck while the target keeps up; the diagnosis runs \
             it without that rate"
        );
    }
}

/// Prints the diagnosis, and writes the report.
fn tell(args: &DiagnoseArgs, done: &Done, output: Option<&Output>) -> anyhow::Result<Exit> {
    let (header, summary) = (&done.header, done.collector.summary());
    let (findings, judgement) = judged(header, &summary)?;
    let meta = Meta { label: args.label.as_deref(), judgement: judgement.as_ref(), ..Meta::default() };
    let page = Page { header, summary: &summary, findings: &findings, meta };
    let written = output.map_or(Ok(()), |output| page.write(output, "report"));
    let none = "no diagnosis: the load itself was not measured";
    match args.form.form() {
        Form::Json => {
            let Some(document) = diagnosis::document(header, &summary) else {
                return Err(Failed::new(unmeasured(&summary), anyhow::anyhow!(none)).into());
            };
            say(&format!("{document:#}\n"))?;
        }
        Form::Text => {
            let detail = if args.explain { Detail::Full } else { Detail::Brief };
            let options = TextOptions { detail, ..text_options() };
            let Some(text) = diagnosis::text(header, &summary, options) else {
                let text = assay_report::text::findings(&findings, options);
                note!("{text}");
                return Err(Failed::new(unmeasured(&summary), anyhow::anyhow!(none)).into());
            };
            say(&text)?;
            let says = format!(
                "stored as run {}: assay show {0} --explain prints the numbers behind it, assay report {0} draws the \
                 odds",
                header.run
            );
            note!("{}", wrap(&says, error_options().width, "  "));
        }
        form => say(&page.printed(form, text_options()))?,
    }
    written.map(|()| exit_of(&summary)).map_err(|error| Failed::new(Exit::Errors, error).into())
}

/// The exit code of a diagnosis whose load was not measured.
fn unmeasured(summary: &assay_analysis::RunSummary) -> Exit {
    match exit_of(summary) {
        Exit::Done => Exit::Errors,
        other => other,
    }
}
