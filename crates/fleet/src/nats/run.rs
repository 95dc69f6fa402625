//! A run over several hosts: who takes part, what each does, and the way to the first I/O.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use assay_record::{ClockOffset, RunSetting};
use assay_runner::{Follower, Sinks, Stage, label_of};
use assay_spec::Placement;
use assay_spec::random::split_mix;
use assay_store::Store;
use futures_util::future::join_all;
use tokio::runtime::Runtime;

use crate::error::FleetError;
use crate::listed::{HostList, HostState, ListedHost};
use crate::nats::bus::{Bus, check_name};
use crate::nats::clock::CoordinatorClock;
use crate::nats::conduct::{Conductor, call_off};
use crate::nats::follow::Claim;
use crate::nats::hosts::listed;
use crate::nats::probe::{ASK_LIMIT, limit_of};
use crate::nats::reading::Reading;
use crate::nats::shared::written_by_several;
use crate::nats::task::TaskOptions;
use crate::nats::waiting::{Wait, saying, says};
use crate::nats::wire::{Answer, Ask, Noted, Placed, Task, parsed, version};
use crate::order::{BusOptions, FleetDone, FleetOrder, HostChoice};

/// The list of hosts comes within this, or the server is not well.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// Runs a plan over several hosts. Nothing begins anywhere before every host has passed inspection.
///
/// # Errors
/// When nothing was measured. A run that began to measure is always a [`FleetDone`].
pub fn run(order: &FleetOrder, mut sinks: Sinks<'_>) -> Result<FleetDone, FleetError> {
    sinks.follower.stage(Stage::Inspecting);
    let runtime = runtime()?;
    let bus = runtime.block_on(Bus::connect(&order.bus, "assay run"))?;
    let clock = CoordinatorClock::begin();
    let clocks_unix_ns = Some(clock.unix_ns());
    let list = saying(listed_in_time(&bus), sinks.follower, || {
        "waiting for the NATS server, which sends the list of hosts".to_owned()
    });
    let list = runtime.block_on(list)?;
    let hosts = chosen(&list, order)?;
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let clocks = clocks(&hosts);
    let placed = Placed { hosts: names, clocks, clocks_unix_ns, ..placed(order, clock, sinks.store)? };
    let placement = placed.plan.placed(&placed.hosts, placed.targets)?;
    let may_overwrite = !order.order.options.overwrite.is_empty();
    if let Some(why) = written_by_several(&placement, &order.targets, may_overwrite) {
        return Err(FleetError::Refused(why));
    }
    let stop = order.order.stop.clone();
    // Before the stream is there, which anybody may attach to.
    let claim = runtime.block_on(Claim::first(&bus, &placed.run))?;
    runtime.block_on(ask_to_inspect(&bus, order, &placed, &placement, sinks.follower))?;
    let reading = Reading::new(bus.clone(), &placed.run, placed.hosts.len());
    Conductor::new(runtime, (bus, clock, claim), placed, reading, stop)?.conduct(&mut sinks)
}

/// Follows a run whose coordinator has ended, from its first event on. What the store has of it is replaced.
///
/// # Errors
/// When the bus keeps nothing of the run, or another process follows it.
pub fn attach(
    run: &str,
    bus: &BusOptions,
    stop: assay_engine::StopSignal,
    mut sinks: Sinks<'_>,
) -> Result<FleetDone, FleetError> {
    check_name(run).map_err(|_| FleetError::NotOnBus(run.to_owned()))?;
    let runtime = runtime()?;
    let bus = runtime.block_on(Bus::connect(bus, "assay attach"))?;
    let not_there = || FleetError::NotOnBus(run.to_owned());
    let first = runtime.block_on(Reading::new(bus.clone(), run, 1).next(ASK_LIMIT));
    let Some(Noted::Placed(placed)) = first.first().and_then(|message| parsed(&message.payload)) else {
        return Err(not_there());
    };
    // Neither its agents nor its notes would be understood.
    if placed.version != version() {
        let (run, theirs, ours) = (run.to_owned(), placed.version, version());
        return Err(FleetError::BegunByOther { run, theirs, ours });
    }
    let known = sinks.store.filter(|store| store.row(run).is_ok());
    let may_follow = || match known.map(|store| store.is_going_on(run)).transpose()? {
        Some(true) => Err(FleetError::Followed { run: run.to_owned(), by: "another process".to_owned() }),
        _ => Ok(()),
    };
    let claim = runtime.block_on(Claim::next(&bus, run, may_follow))?;
    known.map(|store| store.remove(run)).transpose()?;
    let reading = Reading::new(bus.clone(), run, placed.hosts.len());
    Conductor::new(runtime, (bus, CoordinatorClock::begin(), claim), *placed, reading, stop)?
        .conduct(&mut sinks)
}

/// Returns the agents on the bus. Each request has a limit of its own, and there are as many as hosts.
async fn listed_in_time(bus: &Bus) -> Result<HostList, FleetError> {
    let late = |_| FleetError::JetStream {
        why: format!("it has not sent the list within {} s", LIST_LIMIT.as_secs()),
    };
    tokio::time::timeout(LIST_LIMIT, listed(bus)).await.map_err(late)?
}

fn runtime() -> Result<Runtime, FleetError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(FleetError::Runtime)
}

/// Returns the hosts that take part; all of them are ready.
fn chosen<'l>(list: &'l HostList, order: &FleetOrder) -> Result<Vec<&'l ListedHost>, FleetError> {
    let hosts: Vec<&ListedHost> = match &order.hosts {
        HostChoice::All => list.hosts.iter().collect(),
        HostChoice::Named(names) => {
            let find = |name: &String| {
                let host = list.hosts.iter().find(|host| host.name == *name);
                host.ok_or_else(|| FleetError::NotReady(absent(name, list)))
            };
            names.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    if hosts.is_empty() {
        return Err(FleetError::NoHosts(order.bus.url.clone()));
    }
    let unready = hosts.iter().filter_map(|host| unready(host, &list.version));
    let unready: Vec<String> = unready.collect();
    if unready.is_empty() { Ok(hosts) } else { Err(FleetError::NotReady(unready.join("; "))) }
}

fn absent(name: &str, list: &HostList) -> String {
    let names: Vec<&str> = list.hosts.iter().map(|host| host.name.as_str()).collect();
    match names.is_empty() {
        true => format!("no agent is connected to the NATS server; start one on {name}: assay agent"),
        false => {
            format!("no agent named {name} is connected to the NATS server; these are: {}", names.join(", "))
        }
    }
}

fn unready(host: &ListedHost, version: &str) -> Option<String> {
    match host.state {
        HostState::Ready => None,
        HostState::Silent => Some(format!(
            "host {} does not answer; to run without it, name the other hosts (--hosts)",
            host.name
        )),
        HostState::OtherVersion => Some(host.other_version(version)),
    }
}

fn clocks(hosts: &[&ListedHost]) -> BTreeMap<String, ClockOffset> {
    hosts.iter().filter_map(|host| Some((host.name.clone(), host.offset?.into()))).collect()
}

/// What the record has besides the plan of each host.
fn placed(order: &FleetOrder, clock: CoordinatorClock, store: Option<&Store>) -> Result<Placed, FleetError> {
    let of = &order.order;
    let now_ns = u64::try_from(clock.unix_ns()).map_err(|_| FleetError::Clock)?;
    let started_unix_ms = now_ns / 1_000_000;
    // Agents remember the last run that they were asked for, also one that was refused and is in no store.
    let mut at = (now_ns % 1_000_000_000) << 32 | u64::from(std::process::id());
    let random = split_mix(&mut at);
    let run = match (&of.run, store) {
        (Some(run), _) => run.clone(),
        (None, Some(store)) => store.new_run_id(started_unix_ms, random)?,
        (None, None) => return Err(FleetError::NoId),
    };
    let repetition = of.turn.as_ref().map(|turn| turn.repetition(&run));
    Ok(Placed {
        version: version(),
        label: label_of(of.label.clone(), of.turn.as_ref(), &run),
        run,
        started_unix_ms,
        plan: of.plan.clone(),
        hosts: Vec::new(),
        targets: u32::try_from(order.targets.len()).unwrap_or(u32::MAX),
        clocks: BTreeMap::new(),
        clocks_unix_ns: None,
        note: of.note.clone(),
        array: of.array.clone(),
        stated: of.stated,
        setting: RunSetting { repetition, ..of.setting.clone() },
    })
}

/// Begins the stream of the run, and asks every host to inspect its targets. One refusal refuses the run.
async fn ask_to_inspect(
    bus: &Bus,
    order: &FleetOrder,
    placed: &Placed,
    placement: &Placement,
    follower: &mut dyn Follower,
) -> Result<(), FleetError> {
    let run = &placed.run;
    let stream = async {
        bus.create_stream(run).await?;
        bus.note(run, "placed", &Noted::Placed(Box::new(placed.clone()))).await
    };
    saying(stream, follower, || "waiting for the NATS server, which makes the stream of the run".to_owned())
        .await?;
    let options = TaskOptions::of(&order.order.options, order.order.remove, order.order.keep_awake);
    let limit = limit_of(placement.hosts.len());
    let names = placement.hosts.iter().map(|host| host.host.as_str());
    let silent: RefCell<BTreeSet<&str>> = RefCell::new(names.collect());
    let silent = &silent;
    let asks = placement.hosts.iter().map(|host| {
        let targets = order.targets.iter().map(|target| target.replace("{host}", &host.host)).collect();
        let (plan, options) = (host.plan.clone(), options.clone());
        let task = Task { run: run.clone(), plan, targets, options };
        async move {
            let answer = bus.ask(&host.host, &Ask::Inspect(Box::new(task)), limit).await;
            silent.borrow_mut().remove(host.host.as_str());
            match answer {
                Some(Answer::Accepted) => None,
                Some(Answer::Refused(why)) => Some(format!("{}: {why}", host.host)),
                _ => Some(format!("{} does not answer", host.host)),
            }
        }
    });
    let waits = || {
        let hosts: Vec<&str> = silent.borrow().iter().copied().collect();
        says(Wait::Accept, &hosts, placement.hosts.len())
    };
    let refusals = saying(join_all(asks), follower, waits).await;
    let refusals: Vec<String> = refusals.into_iter().flatten().collect();
    if refusals.is_empty() {
        return Ok(());
    }
    call_off(bus, placed).await;
    Err(FleetError::Refused(refusals.join("; ")))
}
