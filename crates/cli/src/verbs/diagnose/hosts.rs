//! A diagnosis over hosts: the load on all of them, on half of them and on each alone tells the hosts from the target.

use anyhow::bail;
use assay_fleet::HostChoice;
use assay_prepare::Changes;
use assay_report::text::{Detail, TextOptions};
use assay_spec::units::Nanos;
use assay_spec::{Job, Plan, Step, Test};

use crate::args::DiagnoseArgs;
use crate::exit::Exit;
use crate::output::terminal::text_options;
use crate::output::{Kept, Output};
use crate::running::fleet::execute_on;
use crate::running::tell::{Telling, before, tell};
use crate::signals::stop_on_signals;
use crate::words::fleet::Fleet;
use crate::words::store::open_store;

/// From so many hosts on half of them are an experiment of its own.
const HALVED_MIN: usize = 4;
/// Shortest measured window of an experiment.
const WINDOW_MIN: Nanos = Nanos::from_secs(2);

pub(super) fn diagnose(args: &DiagnoseArgs, load: Plan, mut fleet: Fleet) -> anyhow::Result<Exit> {
    if fleet.hosts == HostChoice::All {
        let list = assay_fleet::hosts(&fleet.bus)?;
        fleet.hosts = HostChoice::Named(list.hosts.into_iter().map(|host| host.name).collect());
    }
    let HostChoice::Named(names) = &fleet.hosts else { bail!("no host is named") };
    if names.len() < 2 {
        bail!(
            "--hosts: a diagnosis over hosts needs two of them; leave --hosts out for a diagnosis of this one"
        );
    }
    let plan = experiments(load, names, args.budget);
    let output = args.output.as_deref();
    let output =
        output.map(|path| Output::check_named(path, Kept::of(&args.store, &[]), None)).transpose()?;
    let store = open_store(&args.store)?;
    let stop = stop_on_signals()?;
    let mut order = args.io.order(plan, &[], args.size, &stop)?;
    order.label.clone_from(&args.label);
    if args.read_only {
        order.options.changes = Changes::Refused;
    }
    let done = execute_on(Some(&fleet), std::slice::from_ref(&args.target), order, &store)?;
    let detail = if args.explain { Detail::Full } else { Detail::Brief };
    let options = TextOptions { detail, ..text_options() };
    let before = before(&store, &done);
    let telling = Telling { note: None, form: args.form.form(), options, before: before.as_ref() };
    let printed = tell(telling, &done, output.as_ref());
    done.end(printed)
}

/// The load on these hosts, each experiment for its part of the budget.
fn experiments(load: Plan, names: &[String], budget: Nanos) -> Plan {
    let mut sets: Vec<(String, &[String])> = vec![("all hosts".to_owned(), names)];
    if names.len() >= HALVED_MIN {
        sets.push(("half of the hosts".to_owned(), &names[..names.len() / 2]));
    }
    sets.extend(names.iter().map(|name| (format!("{name} alone"), std::slice::from_ref(name))));
    let each = Nanos(budget.0 / sets.len() as u64);
    let test = |(name, hosts): (String, &[String])| {
        let steps = load.tests.iter().flat_map(|test| &test.steps).take(1).map(|step| on(step, hosts, each));
        Test { name, notes: String::new(), role: assay_spec::Role::Measured, steps: steps.collect() }
    };
    let tests = sets.into_iter().map(test).collect();
    let name = load.tests.first().map_or_else(String::new, |test| test.name.clone());
    Plan { name: format!("Diagnosis of {name} over hosts"), tests, ..load }
}

fn on(step: &Step, hosts: &[String], each: Nanos) -> Step {
    let mut step = step.clone();
    step.jobs = step.jobs.into_iter().map(|job| Job { hosts: hosts.to_vec(), ..job }).collect();
    step.stop.time = step.stop.time.min(Nanos(each.0.saturating_sub(step.warmup.0))).max(WINDOW_MIN);
    step
}
