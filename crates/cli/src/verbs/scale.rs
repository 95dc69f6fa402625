//! `assay scale`: one worker, several on one target, several targets; and which was the limit.

use anyhow::bail;
use assay_analysis::scale::scale as judge;
use assay_analysis::{RunStatus, RunSummary};
use assay_record::{RunHeader, RunSetting};
use assay_report::scale::ScaleCheck;
use assay_report::text::{Detail, TextOptions};
use assay_runner::Order;
use assay_spec::{Overrides, Plan};

use crate::args::ScaleArgs;
use crate::exit::Exit;
use crate::output::render::Rendered as _;
use crate::output::terminal::{note, say, text_options};
use crate::running::execute;
use crate::running::tell::exit_of;
use crate::signals::stop_on_signals;
use crate::words::attached::{array_of_run, price_of_run};
use crate::words::plan_file::plan_file;
use crate::words::store::open_store;

/// Bounds of the number of workers where nobody gives one.
const WORKERS_MIN: u32 = 2;
const WORKERS_MAX: u32 = 8;

/// A load: how many workers on how many of the targets.
struct Load {
    workers: u32,
    targets: usize,
}

pub(crate) fn scale(args: &ScaleArgs) -> anyhow::Result<Exit> {
    if args.set.iter().any(|set| set.trim_start().starts_with("workers")) {
        bail!("a scale check sets the number of workers itself; give the larger one with --workers");
    }
    let store = open_store(&args.store)?;
    let stop = stop_on_signals()?;
    let mut runs: Vec<(RunHeader, RunSummary)> = Vec::new();
    let mut exit = Exit::Done;
    for load in loads(args) {
        let (workers, targets) = (load.workers, args.targets.len());
        let worker = if workers == 1 { "worker" } else { "workers" };
        let target = if targets == 1 { "target" } else { "targets" };
        note!("{workers} {worker} on {} of {targets} {target}", load.targets);
        let targets = &args.targets[..load.targets];
        let order = Order {
            note: Some("scale check".to_owned()),
            array: array_of_run(None, targets, &store)?,
            setting: RunSetting { price: price_of_run(None, targets, &store)?, ..RunSetting::default() },
            ..args.io.order(plan(args, load.workers)?, targets, args.size, &stop)?
        };
        let done = execute(order, &store)?;
        done.failures.iter().for_each(|error| note!("error: {}", crate::message(error)));
        let summary = done.collector.summary();
        if !done.failures.is_empty() || summary.status != RunStatus::Done {
            exit = if exit_of(&summary) == Exit::Done { Exit::Errors } else { exit_of(&summary) };
        }
        runs.push((done.header, summary));
        if exit != Exit::Done {
            break;
        }
    }
    let borrowed: Vec<(&RunHeader, &RunSummary)> =
        runs.iter().map(|(header, summary)| (header, summary)).collect();
    let check = ScaleCheck {
        about: format!("{} on {}", args.plan, args.targets.join(", ")),
        runs: runs.iter().map(|(header, _)| header.run.clone()).collect(),
        tests: judge(&borrowed),
    };
    let options = TextOptions { detail: Detail::Brief, ..text_options() };
    say(&check.printed(args.form.form(), options))?;
    Ok(exit)
}

/// One worker, several on the first target, and the same on all targets.
fn loads(args: &ScaleArgs) -> Vec<Load> {
    let cpus = u32::try_from(assay_host::allowed_cpus().len()).unwrap_or(WORKERS_MAX);
    let workers = args.workers.unwrap_or(cpus.clamp(WORKERS_MIN, WORKERS_MAX));
    let mut loads = vec![Load { workers: 1, targets: 1 }, Load { workers, targets: 1 }];
    if args.targets.len() > 1 {
        loads.push(Load { workers, targets: args.targets.len() });
    }
    loads
}

fn plan(args: &ScaleArgs, workers: u32) -> anyhow::Result<Plan> {
    let mut overrides = Overrides::default();
    for assignment in &args.set {
        overrides.set(assignment)?;
    }
    overrides.set(&format!("workers={workers}"))?;
    (overrides.size, overrides.quick, overrides.only) = (args.size, args.quick, args.only.clone());
    Ok(plan_file(&args.plan)?.resolve(&overrides)?)
}
