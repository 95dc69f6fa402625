//! `assay scale`: one worker, several on one target, several targets or several hosts; and which was the limit.

use anyhow::bail;
use assay_analysis::scale::scale as judge;
use assay_analysis::{RunStatus, RunSummary};
use assay_fleet::{HostChoice, HostList, HostState};
use assay_record::{RunHeader, RunSetting};
use assay_report::scale::ScaleCheck;
use assay_report::text::{Detail, TextOptions};
use assay_runner::Order;
use assay_spec::{Overrides, Plan};

use crate::args::ScaleArgs;
use crate::exit::Exit;
use crate::output::render::Rendered as _;
use crate::output::terminal::{note, say, text_options};
use crate::running::fleet::execute_on;
use crate::running::tell::exit_of;
use crate::signals::stop_on_signals;
use crate::words::attached::{array_of_run, price_of_run};
use crate::words::fleet::{Fleet, fleet};
use crate::words::plan_file::plan_file;
use crate::words::store::open_store;

/// Bounds of the number of workers where nobody gives one.
const WORKERS_MIN: u32 = 2;
const WORKERS_MAX: u32 = 8;

/// A load: how many workers on how many of the targets; and of how many hosts, if not of this one.
struct Load {
    workers: u32,
    targets: usize,
    hosts: Option<usize>,
}

pub(crate) fn scale(args: &ScaleArgs) -> anyhow::Result<Exit> {
    if args.set.iter().any(|set| set.trim_start().starts_with("workers")) {
        bail!("a scale check sets the number of workers itself; give the larger one with --workers");
    }
    let fleet = fleet(&args.fleet, &args.io)?;
    let names = fleet.as_ref().map(names).transpose()?;
    let store = open_store(&args.store)?;
    let stop = stop_on_signals()?;
    let mut runs: Vec<(RunHeader, RunSummary)> = Vec::new();
    let mut exit = Exit::Done;
    for load in loads(args, names.as_ref().map(Vec::len)) {
        note!("{}", words(&load, args.targets.len()));
        let targets = &args.targets[..load.targets];
        let of_load = fleet.as_ref().map(|fleet| Fleet {
            bus: fleet.bus.clone(),
            hosts: HostChoice::Named(names.iter().flatten().take(load.hosts.unwrap_or(0)).cloned().collect()),
        });
        let here = if of_load.is_some() { &[] } else { targets };
        let order = Order {
            note: Some("scale check".to_owned()),
            array: array_of_run(None, (targets, of_load.as_ref()), &store)?,
            setting: RunSetting {
                price: price_of_run(None, (targets, of_load.as_ref()), &store)?,
                ..RunSetting::default()
            },
            ..args.io.order(plan(args, load.workers)?, here, args.size, &stop)?
        };
        let done = execute_on(of_load.as_ref(), targets, order, &store)?;
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

/// One worker, several on the first target, and the same on all targets. With hosts: one worker of one host, several of
/// it, and the same of 2, 4 and so on up to all hosts, each on all targets.
fn loads(args: &ScaleArgs, hosts: Option<usize>) -> Vec<Load> {
    let cpus = u32::try_from(assay_host::allowed_cpus().len()).unwrap_or(WORKERS_MIN);
    let workers = args.workers.unwrap_or(cpus.clamp(WORKERS_MIN, WORKERS_MAX));
    let all = args.targets.len();
    if let Some(hosts) = hosts {
        let load = |workers, hosts| Load { workers, targets: all, hosts: Some(hosts) };
        let more = std::iter::successors(Some(2), |count| Some(count * 2)).take_while(|count| *count < hosts);
        let more = more.chain((hosts > 1).then_some(hosts));
        return [load(1, 1), load(workers, 1)]
            .into_iter()
            .chain(more.map(|hosts| load(workers, hosts)))
            .collect();
    }
    let load = |workers, targets| Load { workers, targets, hosts: None };
    let mut loads = vec![load(1, 1), load(workers, 1)];
    if all > 1 {
        loads.push(load(workers, all));
    }
    loads
}

fn words(load: &Load, targets: usize) -> String {
    let workers = load.workers;
    let worker = if workers == 1 { "worker" } else { "workers" };
    match load.hosts {
        Some(1) => format!("{workers} {worker} of one host"),
        Some(hosts) => format!("{hosts} hosts of {workers} {worker}"),
        None => {
            let target = if targets == 1 { "target" } else { "targets" };
            format!("{workers} {worker} on {} of {targets} {target}", load.targets)
        }
    }
}

/// Returns the hosts of a scale check in the order in which they are added.
fn names(fleet: &Fleet) -> anyhow::Result<Vec<String>> {
    let url = &fleet.bus.url;
    let (names, left_out) = match &fleet.hosts {
        HostChoice::Named(names) => (names.clone(), Vec::new()),
        HostChoice::All => usable(&assay_fleet::hosts(&fleet.bus)?),
    };
    match (names.is_empty(), left_out.is_empty()) {
        (true, true) => bail!("no agent is on {url}: assay agent --nats {url} starts one"),
        (true, false) => bail!("no agent on {url} can take part: {}", left_out.join("; ")),
        (false, _) => left_out.iter().for_each(|why| note!("left out: {why}")),
    }
    Ok(names)
}

/// Returns the hosts that can take part, and of the others each with the reason.
fn usable(list: &HostList) -> (Vec<String>, Vec<String>) {
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    for host in &list.hosts {
        let name = &host.name;
        match host.state {
            HostState::Ready => names.push(name.clone()),
            HostState::Silent => left_out.push(format!("{name} does not answer")),
            HostState::OtherVersion => {
                left_out.push(format!("{name} has Assay {}, and this host {}", host.version, list.version));
            }
        }
    }
    (names, left_out)
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

#[cfg(test)]
mod tests {
    use assay_fleet::ListedHost;

    use super::*;

    #[test]
    fn hosts_that_cannot_take_part_are_named_with_the_reason() {
        let host = |name: &str, state| ListedHost {
            name: name.into(),
            version: "0".into(),
            state,
            lease_left_ms: None,
            offset: None,
            facts: None,
            targets: vec![],
        };
        let hosts = vec![
            host("a", HostState::Ready),
            host("b", HostState::Silent),
            host("c", HostState::OtherVersion),
            host("d", HostState::Ready),
        ];
        let list = HostList { hosts, differences: vec![], version: "1".into() };
        let (names, left_out) = usable(&list);
        assert_eq!(names, ["a", "d"]);
        assert_eq!(left_out, ["b does not answer", "c has Assay 0, and this host 1"]);
    }
}
