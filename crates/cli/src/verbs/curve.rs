//! `assay curve`: the highest rate of a target, then response times at shares of it.
//!
//! Two runs: a search over queue depths, and the curve itself, whose plan has the rates that the search found. Both are
//! ordinary runs of ordinary plans.

use std::io::IsTerminal as _;

use anyhow::{Context as _, bail};
use assay_analysis::RunSummary;
use assay_report::separated;
use assay_runner::Order;
use assay_spec::curve::{CurveTiming, Maximum, depth_plan, load_plan, maximum_of};
use assay_spec::units::Nanos;
use assay_spec::{Plan, PlanFile};

use crate::args::CurveArgs;
use crate::exit::{Exit, Failed};
use crate::output::terminal::{self, note};
use crate::running::Done;
use crate::running::fleet::execute_on;
use crate::running::tell::{Telling, before, tell};
use crate::signals::stop_on_signals;
use crate::words::attached::array_of_run;
use crate::words::fleet::fleet;
use crate::words::plan::{Choice, overrides, resolve};
use crate::words::plan_file::is_plan;
use crate::words::store::open_store;
use crate::words::targets::check_output;

/// The load of a curve of which no plan is given.
const DEFAULT_PLAN: &str = include_str!("curve.toml");
/// The longest step of the search.
const SEARCH_RUN_MAX: Nanos = Nanos::from_secs(2);
/// `--quick` measures each step so long.
const QUICK_RUN: Nanos = Nanos::from_secs(2);
/// The longest warm-up: a queue before a server that is 90 % busy takes a while to reach its mean length.
const WARMUP_MAX: Nanos = Nanos::from_secs(1);

pub(crate) fn curve(args: &CurveArgs) -> anyhow::Result<Exit> {
    let base = plan(args)?;
    let run_time = if args.quick { QUICK_RUN } else { args.run };
    let depths = depth_plan(&base, timing(if args.qd { run_time } else { run_time.min(SEARCH_RUN_MAX) }))?;
    let targets = std::slice::from_ref(&args.target);
    let fleet = fleet(&args.fleet, &args.io)?;
    let here: &[String] = if fleet.is_some() { &[] } else { targets };
    let output = check_output(args.kept.output.as_deref(), targets, &args.store, args.view.form())?;
    let store = open_store(&args.store)?;
    let array = array_of_run(None, (targets, fleet.as_ref()), &store)?;
    let stop = stop_on_signals()?;
    let order = |plan: Plan| -> anyhow::Result<Order> {
        Ok(Order { array: array.clone(), ..args.io.order(plan, here, args.size, &stop)? })
    };
    let go = |order: Order| execute_on(fleet.as_ref(), targets, order, &store);
    let run = |plan: Plan| -> anyhow::Result<Exit> {
        let (label, note) = (args.kept.label.clone(), args.kept.note.clone());
        let done = go(Order { label, note, ..order(plan)? })?;
        let before = before(&store, &done);
        let telling = Telling::of(&args.view, args.kept.note.as_deref(), before.as_ref());
        let printed = tell(telling, &done, output.as_ref());
        done.end(printed)
    };
    if args.qd {
        return run(named(depths, &base, "queue depths", None));
    }
    // A terminal shows the step that runs.
    if !std::io::stderr().is_terminal() {
        note!("searching for the maximum: queue depths 1 to 256");
    }
    let search = named(depths, &base, "search for the maximum", None);
    let mut done = go(Order { note: Some(SEARCH_NOTE.to_owned()), ..order(search)? })?;
    if let Some(error) = done.failures.pop() {
        return Err(error);
    }
    if stop.is_set() {
        note!("the search for the maximum was stopped; what it measured: assay show {}", done.header.run);
        return Ok(Exit::Interrupted);
    }
    let maxima = maxima(&base, &done)?;
    let found = found_words(&base, &maxima, &done.header.run);
    note!("{}", terminal::wrapped(&found_briefly(&maxima, &done.header.run)));
    run(named(load_plan(&base, &maxima, timing(run_time))?, &base, "load curve", Some(found)))
}

/// Steps of this length, with a warm-up in proportion.
fn timing(run: Nanos) -> CurveTiming {
    CurveTiming { warmup: Nanos(run.0 / 4).min(WARMUP_MAX), run }
}

/// Note of the run that searches.
const SEARCH_NOTE: &str = "search of assay curve for the maximum";

/// Returns the plan whose tests the curves are of.
fn plan(args: &CurveArgs) -> anyhow::Result<Plan> {
    if args.plan.is_some() && is_plan(&args.target) {
        let target = args.plan.as_deref().unwrap_or_default();
        bail!("the target comes first: assay curve {} {}", assay_spec::without_secret(target), args.target);
    }
    if args.plan.is_none() && is_plan(&args.target) {
        bail!("on which target? For example: assay curve ./t.dat {}", args.target);
    }
    let choice = Choice {
        set: &args.choice.set,
        only: &args.choice.only,
        size: args.size,
        seed: args.seed,
        ..Choice::default()
    };
    match &args.plan {
        Some(name) => resolve(name, &choice),
        None => Ok(renamed(PlanFile::parse("curve", DEFAULT_PLAN)?.resolve(&overrides(&choice)?)?)),
    }
}

/// Names the test of the default plan by its load, which `--set` may have changed.
fn renamed(mut plan: Plan) -> Plan {
    for test in &mut plan.tests {
        // Several steps are a sweep, whose values have names of their own.
        let [step] = test.steps.as_slice() else { continue };
        if let Some([access]) = step.jobs.first().map(|job| job.mix.as_slice()) {
            let share = |share: f64, all: &str, none: &str, some: &str| match share {
                100.0 => all.to_owned(),
                0.0 => none.to_owned(),
                share => format!("{share} % {some}"),
            };
            test.name = format!(
                "{} {} {}",
                access.size.rounded(),
                share(access.random, "random", "sequential", "random"),
                share(access.read, "read", "write", "read")
            );
        }
    }
    plan
}

/// A plan made of another, with what it is in its name.
fn named(plan: Plan, base: &Plan, what: &str, found: Option<String>) -> Plan {
    let mut notes = base.notes.clone();
    notes.extend(found);
    let name =
        if base.name == "Load curve" { format!("Curve: {what}") } else { format!("{}: {what}", base.name) };
    Plan { name, notes, ..plan }
}

/// Returns the highest rate of each test, and the depth that gives it.
fn maxima(base: &Plan, done: &Done) -> anyhow::Result<Vec<Maximum>> {
    let summary = done.collector.summary();
    let of_test = |(index, test): (usize, &assay_spec::Test)| {
        maximum_of(&rates(&summary, &done.header.plan, index))
            .with_context(|| format!("test \"{}\": no I/O completed in the search", test.name))
            .map_err(|error| Failed::new(Exit::Errors, error).into())
    };
    base.tests.iter().enumerate().map(of_test).collect()
}

/// Returns depth and rate of each step of a test.
fn rates(summary: &RunSummary, plan: &Plan, test: usize) -> Vec<(u32, f64)> {
    let steps = summary.steps.iter().filter(|step| step.id.test as usize == test && step.complete);
    steps
        .filter_map(|step| {
            let job = plan.tests.get(test)?.steps.get(step.id.step as usize)?.jobs.first()?;
            Some((job.outstanding, step.total.iops))
        })
        .collect()
}

/// A line for the screen, which the curve's own title follows.
fn found_briefly(maxima: &[Maximum], run: &str) -> String {
    let found = maxima.iter().map(|maximum| {
        format!(
            "{} IOPS with {} outstanding",
            separated(&format!("{:.0}", maximum.rate.0)),
            maximum.outstanding
        )
    });
    format!("found in run {run}: {}", found.collect::<Vec<_>>().join("; "))
}

fn found_words(base: &Plan, maxima: &[Maximum], run: &str) -> String {
    let found = base.tests.iter().zip(maxima).map(|(test, maximum)| {
        let rate = separated(&format!("{:.0}", maximum.rate.0));
        format!("{}: {rate} IOPS with {} outstanding", test.name, maximum.outstanding)
    });
    format!("found in run {run}: {}; loads are shares of that", found.collect::<Vec<_>>().join("; "))
}
