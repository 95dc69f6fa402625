//! Runs that belong together: repetitions of a plan, and sides that take turns (A B A B).

mod maxima;
mod once;
mod resumed;

use anyhow::bail;
use assay_analysis::compare::{ResultSet, Side, compare_with};
use assay_analysis::repeats::pooled;
use assay_engine::StopSignal;
use assay_record::RunSetting;
use assay_report::repeats::{RepeatedSide, Repeats};
use assay_runner::{Order, Turn};
use assay_spec::{Plan, without_secret};
use assay_store::Store;

use crate::args::{Form, RunArgs};
use crate::exit::{Exit, Failed};
use crate::output::Output;
use crate::output::render::Rendered as _;
use crate::output::terminal::{note, say};
use crate::running::Done;
use crate::running::fleet::execute_on;
use crate::running::tell::exit_of;
use crate::signals::{leave_session, stop_on_signals};
use crate::verbs::baseline;
use crate::verbs::serve::OwnServer;
use crate::words::attached::{array_of_run, memory_of_run, price_of_run};
use crate::words::fail_if::{changes, check, judged_by_baseline, judged_by_limits};
use crate::words::fleet::{Fleet, fleet};
use crate::words::foreign::ForeignOrder;
use crate::words::order::journal_of;
use crate::words::other_tools::line_of_tool;
use crate::words::plan::{plan, understood};
use crate::words::plan_file::is_plan;
use crate::words::store::open_store;
use crate::words::targets::check_paths;
use crate::words::targets::looks_like_target;
use assay_results::judged;

/// One of those that take turns.
struct Taker {
    plan: Plan,
    targets: Vec<String>,
}

/// `assay run`: once, or several times in turn.
pub(crate) fn start(args: &RunArgs) -> anyhow::Result<Exit> {
    if let Some(run) = &args.resume {
        return resumed::run(args, run);
    }
    check_order(args)?;
    leave_session(args.own_session)?;
    let own_server = args.serve.then(|| OwnServer::start(&args.store)).transpose()?;
    own_server.iter().for_each(OwnServer::announce);
    if is_group(args) { run(args) } else { self::once::run(args) }
}

/// The plan comes first: a target in its place, or no target at all, is answered with the command that was meant.
fn check_order(args: &RunArgs) -> anyhow::Result<()> {
    if args.plan.is_empty() {
        bail!(
            "which plan, on which target? For example: assay run vmware ./t.dat --quick; assay suites lists plans"
        );
    }
    let is_tool = matches!(args.plan.as_str(), "fio" | "diskspd" | "sqlio");
    let is_file = |word: &str| is_plan(word) || (is_tool && word.ends_with(".sh"));
    let plan_first = args.targets.iter().find(|word| is_file(word)).filter(|_| !is_plan(&args.plan));
    match (plan_first, args.targets.first()) {
        (Some(plan), _) if is_tool => {
            let targets: Vec<&str> =
                args.targets.iter().filter(|word| *word != plan).map(String::as_str).collect();
            let targets = if targets.is_empty() { "TARGET".to_owned() } else { targets.join(" ") };
            bail!("{plan} is the plan: assay run {plan} {targets}")
        }
        (Some(plan), _) => {
            bail!("the plan comes before its targets: assay run {plan} {}", without_secret(&args.plan))
        }
        (None, None) if !is_plan(&args.plan) && looks_like_target(&args.plan) => {
            if let Some(says) = line_of_tool(&args.plan) {
                bail!(says);
            }
            let target = without_secret(&args.plan);
            bail!(
                "which plan? assay run vmware {target} --quick runs the forum's tests; assay suites lists more"
            )
        }
        (None, None) if !args.map.is_empty() => Ok(()),
        (None, None) if !is_plan(&args.plan) => {
            let says = crate::words::plan_file::plan_file(&args.plan).err().map(|error| format!("{error:#}"));
            let says = says.unwrap_or_else(|| crate::words::foreign::no_target(&args.plan));
            bail!("{says} (if {} is the target: assay run vmware {0})", without_secret(&args.plan))
        }
        (None, None) => bail!("{}", crate::words::foreign::no_target(&args.plan)),
        (None, Some(_)) => Ok(()),
    }
}

/// Returns true if a command line asks for more than one run.
fn is_group(args: &RunArgs) -> bool {
    args.repeat > 1 || args.each || !args.also.is_empty()
}

/// Runs every side the given number of times, in turn, and shows them together.
fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let takers = takers(args)?;
    let store = open_store(&args.store)?;
    let all: Vec<String> = takers.iter().flat_map(|taker| taker.targets.clone()).collect();
    let output = check_paths(args, &all)?;
    let fleet = fleet(&args.fleet, &args.io)?;
    for Taker { plan, targets, .. } in &takers {
        check(&args.fail_if, plan)?;
        baseline::check_gates(&changes(&args.fail_if), &store, &plan.name, targets, fleet.as_ref())?;
    }
    let stop = stop_on_signals()?;
    let mut sides: Vec<Side> = Vec::new();
    let mut group: Option<String> = None;
    let (mut exit, mut limited) = (Exit::Done, Exit::Done);
    'turns: for number in 1..=args.repeat {
        for (index, taker) in takers.iter().enumerate() {
            note!("repetition {number} of {}{}", args.repeat, of_side(index, takers.len()));
            let turn = Turn {
                group: group.clone(),
                side: u32::try_from(index).unwrap_or(u32::MAX),
                sides: takers.len(),
                number,
                of: args.repeat,
            };
            let order = order(args, taker, fleet.as_ref(), &store, (turn, &stop))?;
            let done = execute_on(fleet.as_ref(), &taker.targets, order, &store)?;
            group.get_or_insert_with(|| done.header.run.clone());
            exit = exit.or_worse(add(&mut sides, index, &done)?);
            limited = limited.or_worse(judged_by_limits(
                &args.fail_if,
                &done.header.plan,
                &done.collector.summary(),
            ));
            if exit == Exit::Interrupted || stop.is_set() {
                exit = Exit::Interrupted;
                break 'turns;
            }
        }
    }
    let history = assay_results::repetitions(&store, &sides)?;
    print(args, &repeats_of(&sides, &history), output.as_ref())?;
    let held = against_baselines(args, &store, &sides)?;
    Ok(if exit == Exit::Done { limited.or_worse(held) } else { exit })
}

/// Prints every side against the baseline of its plan and target, and returns the exit code that --fail-if asks for.
fn against_baselines(args: &RunArgs, store: &Store, sides: &[Side]) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    for side in sides {
        let Some(first) = side.readings.first() else { continue };
        let header = store.header(&first.id)?;
        let held = assay_results::held(store, &header, side.readings.clone())?;
        if let Some(held) = held.as_ref().filter(|_| args.view.form() == Form::Text) {
            say(&assay_report::held::text(held, args.view.options()))?;
        }
        exit = exit.or_worse(judged_by_baseline(&changes(&args.fail_if), held.as_ref(), &header));
    }
    Ok(exit)
}

fn of_side(index: usize, count: usize) -> String {
    if count > 1 { format!(", side {} of {count}", index + 1) } else { String::new() }
}

/// Every plan on every target that is measured by itself.
fn takers(args: &RunArgs) -> anyhow::Result<Vec<Taker>> {
    let ForeignOrder { imported, targets } = crate::words::foreign::order(args, understood)?;
    let mut plans = vec![plan(args, &args.plan, imported.as_ref())?];
    for also in &args.also {
        plans.push(plan(args, also, None)?);
    }
    let sets: Vec<Vec<String>> = match args.each {
        true => targets.iter().map(|target| vec![target.clone()]).collect(),
        false => vec![targets],
    };
    let takers: Vec<Taker> = plans
        .iter()
        .flat_map(|plan| sets.iter().map(|targets| Taker { plan: plan.clone(), targets: targets.clone() }))
        .collect();
    if args.step.is_some() && takers.len() > 1 {
        bail!("a step of a journal has one plan and one target; leave out --each and --also");
    }
    Ok(takers)
}

fn order(
    args: &RunArgs,
    taker: &Taker,
    fleet: Option<&Fleet>,
    store: &Store,
    (turn, stop): (Turn, &StopSignal),
) -> anyhow::Result<Order> {
    let setting = RunSetting {
        price: price_of_run(args.price.as_ref(), (&taker.targets, fleet), store)?,
        journal: journal_of(args, &taker.targets, store)?,
        ..RunSetting::default()
    };
    let here: &[String] = if fleet.is_some() { &[] } else { &taker.targets };
    Ok(Order {
        label: args.label.clone(),
        note: args.note.clone(),
        array: array_of_run(args.array.as_deref(), (&taker.targets, fleet), store)?,
        stated: memory_of_run(&args.stated, (&taker.targets, fleet), store)?,
        setting,
        turn: Some(turn),
        ..args.io.order(taker.plan.clone(), here, args.size, stop)?
    })
}

/// Adds a run to its side, reports its failures, and returns its exit code.
fn add(sides: &mut Vec<Side>, index: usize, done: &Done) -> anyhow::Result<Exit> {
    let summary = done.collector.summary();
    let (findings, judgement) = judged(&done.header, &summary)?;
    if sides.len() <= index {
        sides.push(Side { name: done.label.clone().unwrap_or_default(), readings: Vec::new() });
    }
    sides[index].readings.push(ResultSet::of_run(&done.header, &summary, &findings, judgement.as_ref()));
    let exit = exit_of(&summary);
    for error in &done.failures {
        note!("error: {}", crate::message(error));
    }
    Ok(if done.failures.is_empty() { exit } else { exit.or_worse(Exit::Errors) })
}

/// Pools each side, and compares several.
pub(crate) fn repeats_of(sides: &[Side], history: &[Side]) -> Repeats {
    let comparison = (sides.len() > 1).then(|| compare_with(sides, history));
    let side = |side: &Side| RepeatedSide {
        name: side.name.clone(),
        about: side.readings.first().map(|reading| reading.about.clone()).unwrap_or_default(),
        runs: side.readings.iter().map(|reading| reading.id.clone()).collect(),
        tests: pooled(side),
    };
    Repeats { sides: sides.iter().map(side).collect(), comparison }
}

fn print(args: &RunArgs, repeats: &Repeats, output: Option<&Output>) -> anyhow::Result<()> {
    let written = output.map_or(Ok(()), |output| repeats.write(output, "report"));
    let text = repeats.printed(args.view.form(), args.view.options());
    match output.is_some_and(Output::is_stdout) {
        true => note!("{}", text.trim_end()),
        false => say(&text)?,
    }
    if args.view.form() == Form::Text {
        for side in &repeats.sides {
            note!("stored as {}: assay show '{0}', assay compare '{0}' OTHER", side.name);
        }
    }
    written.map_err(|error| Failed::new(Exit::Errors, error).into())
}
