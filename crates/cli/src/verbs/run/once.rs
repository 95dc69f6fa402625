//! `assay run`: what was typed, the run, and what it is compared with.

use assay_analysis::{Certainty, RunSummary, StepLimit, disturbed_steps, limits};
use assay_engine::StopSignal;
use assay_interop::{ImportedPlan, without_secrets};
use assay_record::{RunHeader, RunSetting};
use assay_runner::Order;
use assay_spec::{Overrides, Plan, PlanFile, without_secret};

use super::maxima::{Found, SEARCH_NOTE};
use crate::args::{Form, Io, RunArgs};
use crate::exit::{Exit, Failed};
use crate::output::terminal::note;
use crate::running::Done;
use crate::running::fleet::execute_on;
use crate::running::tell::{Telling, before, tell};
use crate::signals::stop_on_signals;
use crate::verbs::baseline;
use crate::words::attached::{array_of_run, memory_of_run, price_of_run};
use crate::words::fail_if::{changes, check, judged};
use crate::words::fleet::fleet;
use crate::words::foreign::ForeignOrder;
use crate::words::order::journal_of;
use crate::words::plan::{choice, file, overrides, understood};
use crate::words::store::open_store;
use crate::words::targets::check_paths;
use crate::words::typed::quoted;

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let ForeignOrder { imported, targets } = crate::words::foreign::order(args, understood)?;
    let written = Written::of(args, imported.as_ref())?;
    let search = written.file.search(&written.overrides)?;
    // A plan that cannot be resolved is refused before anything else happens.
    let mut plan = match &search {
        Some(search) => search.clone(),
        None => written.file.resolve(&written.overrides)?,
    };
    let fleet = fleet(&args.fleet, &args.io)?;
    let here: &[String] = if fleet.is_some() { &[] } else { &targets };
    let store = open_store(&args.store)?;
    let output = check_paths(args, &targets)?;
    let array = array_of_run(args.array.as_deref(), (&targets, fleet.as_ref()), &store)?;
    let setting = RunSetting {
        price: price_of_run(args.price.as_ref(), (&targets, fleet.as_ref()), &store)?,
        journal: journal_of(args, &targets, &store)?,
        ..RunSetting::default()
    };
    let stop = stop_on_signals()?;
    check(&args.fail_if, &plan)?;
    baseline::check_gates(&changes(&args.fail_if), &store, &plan.name, &targets, fleet.as_ref())?;
    let go = |order: Order| execute_on(fleet.as_ref(), &targets, order, &store);
    let order = |plan: Plan| -> anyhow::Result<Order> {
        let stated = memory_of_run(&args.stated, (&targets, fleet.as_ref()), &store)?;
        let array = array.clone();
        Ok(Order { array, stated, ..args.io.order(plan, here, args.size, &stop)? })
    };
    if search.is_some() {
        note!("searching for the highest rate: a closed loop first, then the load points as shares of it");
        let note = Some(SEARCH_NOTE.to_owned());
        let Some(found) = search_maxima(go(Order { note, ..order(plan)? }), &stop)? else {
            return Ok(Exit::Interrupted);
        };
        let mut overrides = written.overrides;
        overrides.maxima = found.maxima;
        plan = written.file.resolve(&overrides)?;
        plan.notes.push(found.says);
    }
    let (label, note) = (args.label.clone(), args.note.clone());
    let done = go(Order { label, note, setting, ..order(plan)? })?;
    let before = before(&store, &done);
    let telling = Telling::of(&args.view, args.note.as_deref(), before.as_ref());
    let printed = tell(telling, &done, output.as_ref()).map(|exit| match exit {
        Exit::Done => judged(&args.fail_if, &done, before.as_ref()),
        exit => exit,
    });
    if telling.form != Form::Json {
        offer_diagnosis(args, &done);
    }
    done.end(printed)
}

/// Returns what the search for the highest rates found; `None` if somebody stopped it.
fn search_maxima(done: anyhow::Result<Done>, stop: &StopSignal) -> anyhow::Result<Option<Found>> {
    let mut done = done?;
    if let Some(error) = done.failures.pop() {
        return Err(error);
    }
    if stop.is_set() {
        return Ok(None);
    }
    let found = super::maxima::found(&done.header, &done.collector.summary())
        .map_err(|error| Failed::new(Exit::Errors, error))?;
    note!("{}", found.says);
    Ok(Some(found))
}

/// A plan as it is written, and what the command line changes in it.
struct Written {
    file: PlanFile,
    overrides: Overrides,
}

impl Written {
    fn of(args: &RunArgs, imported: Option<&ImportedPlan>) -> anyhow::Result<Self> {
        let choice = choice(args, imported);
        Ok(Self { file: file(&args.plan, &choice)?, overrides: overrides(&choice)? })
    }
}

/// Says which experiments would tell what limits the run, where its own numbers do not.
fn offer_diagnosis(args: &RunArgs, done: &Done) {
    if let Some(command) = diagnosis_offered(args, &done.header, &done.collector.summary()) {
        note!("the bottleneck is uncertain; to find it by experiments:\n  {command}");
    }
}

/// Returns the command of the diagnosis of a step whose limit is not shown by a number of the run, or has a second
/// suspect.
fn diagnosis_offered(args: &RunArgs, header: &RunHeader, summary: &RunSummary) -> Option<String> {
    let [target] = args.targets.as_slice() else { return None };
    let limits = limits(header, summary)?;
    let (findings, _) = assay_results::judged(header, summary).ok()?;
    // Experiments beside other load would find that load.
    let disturbed = disturbed_steps(&findings);
    let is_open = |l: &&StepLimit| {
        (l.certainty == Certainty::ByElimination || !l.second.is_empty()) && !disturbed.contains(&l.step)
    };
    let step = limits.steps.iter().find(is_open)?.step;
    let test = header.plan.tests.get(step.test as usize)?;
    // A step of a sweep is named by both.
    let name = format!("{} {}", test.name, test.steps.get(step.step as usize)?.label());
    let target = without_secret(target).to_string();
    let command = format!(
        "assay diagnose {} {} --test \"{}\"",
        quoted(&target),
        quoted(&without_secrets(&args.plan)),
        name.trim_end()
    );
    Some(format!("{command}{}", same_load(args)))
}

/// The options of a run that make its load what it is, as the command line of another verb has them.
fn same_load(args: &RunArgs) -> String {
    let mut words = String::new();
    let mut add = |option: &str, value: &str| words.push_str(&format!(" {option} {}", quoted(value)));
    args.choice.set.iter().for_each(|set| add("--set", set));
    args.size.iter().for_each(|size| add("--size", &size.to_string()));
    args.io.overwrite.iter().for_each(|identity| add("--overwrite", identity));
    match args.io.io {
        Io::Auto => {}
        Io::Uring => add("--io", "uring"),
        Io::Psync => add("--io", "psync"),
    }
    let flags =
        [(args.io.not_blank, " --not-blank"), (args.io.cached, " --cached"), (args.io.sync, " --sync")];
    flags.into_iter().filter(|(is_given, _)| *is_given).for_each(|(_, flag)| words.push_str(flag));
    words
}
