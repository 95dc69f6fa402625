//! Runs over several agents, on a real nats-server.

use std::path::Path;
use std::time::Duration;

use assay_analysis::{Collector, RunSummary};
use assay_engine::{CommonStart, StopSignal};
use assay_fleet::{AgentOptions, BusOptions, FleetDone, FleetError, FleetOrder, HostChoice, attach, run};
use assay_prepare::{BlankChoice, Changes, FillChoice, IoChoice, PrepareOptions, TooSmall};
use assay_record::{Event, Interval, Outcome, RunEvent, RunSetting, StatedMemory, Warning};
use assay_runner::{Follower, Order, Sinks, Steps};
use assay_spec::{Overrides, PlanFile};
use assay_store::Store;
use assay_target::{Caching, Durability};
use assay_testkit::nats::{self, Nats};

use super::{PATIENCE, Running, bus, options, take_name};

pub(crate) const READS: &str = r#"
[[test]]
name = "reads"
access = [{ size = "4KiB", random = 100 }]
run = "1s"
"#;

pub(crate) fn order(nats: &Nats, plan: &str, hosts: &[&str], targets: &[&str]) -> FleetOrder {
    order_on(bus(nats), plan, hosts, targets)
}

pub(crate) fn order_on(bus: BusOptions, plan: &str, hosts: &[&str], targets: &[&str]) -> FleetOrder {
    let plan = PlanFile::parse("p", plan).unwrap().resolve(&Overrides::default()).unwrap();
    let options = PrepareOptions {
        io: IoChoice::Psync,
        caching: Caching::Cached,
        durability: Durability::Device,
        overwrite: Vec::new(),
        blank: BlankChoice::Required,
        changes: Changes::AsNeeded,
        fill: FillChoice::WhereNeeded,
        too_small: TooSmall::UseAll,
        chap_secret: None,
    };
    let order = Order {
        run: None,
        plan,
        targets: Vec::new(),
        steps: Steps::Planned,
        kept: Vec::new(),
        options,
        remove: false,
        keep_awake: false,
        cpus: Vec::new(),
        stop: StopSignal::default(),
        start: CommonStart::default(),
        label: Some("together".into()),
        note: None,
        array: None,
        stated: StatedMemory::default(),
        setting: RunSetting::default(),
        turn: None,
    };
    let hosts = match hosts {
        [] => HostChoice::All,
        names => HostChoice::Named(names.iter().map(|name| (*name).to_owned()).collect()),
    };
    FleetOrder { bus, hosts, targets: targets.iter().map(|t| (*t).to_owned()).collect(), order }
}

/// Hears the events, and does something at the first interval.
pub(crate) struct Hearing<'h> {
    pub(crate) events: Vec<Event>,
    at_first_interval: Option<Box<dyn FnOnce() + 'h>>,
}

impl<'h> Hearing<'h> {
    pub(crate) fn new() -> Self {
        Self { events: Vec::new(), at_first_interval: None }
    }

    pub(crate) fn doing(what: impl FnOnce() + 'h) -> Self {
        Self { at_first_interval: Some(Box::new(what)), ..Self::new() }
    }

    fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.events.iter().filter_map(|event| match &event.what {
            RunEvent::Warning(warning) => Some(warning),
            _ => None,
        })
    }

    pub(crate) fn intervals(&self) -> impl Iterator<Item = &Interval> {
        self.events.iter().filter_map(|event| match &event.what {
            RunEvent::Interval(interval) => Some(&**interval),
            _ => None,
        })
    }
}

impl Follower for Hearing<'_> {
    fn event(&mut self, event: &Event) -> bool {
        self.events.push(event.clone());
        if matches!(event.what, RunEvent::Interval(_))
            && let Some(act) = self.at_first_interval.take()
        {
            act();
        }
        false
    }
}

pub(crate) fn go(
    order: &FleetOrder,
    store: &Store,
    hearing: &mut Hearing<'_>,
) -> Result<FleetDone, FleetError> {
    run(order, Sinks { store: Some(store), follower: hearing })
}

pub(crate) fn store(folder: &Path) -> Store {
    Store::open(folder.join("runs.db")).unwrap()
}

fn events_of(store: &Store, run: &str) -> Vec<Event> {
    let mut events = Vec::new();
    store.each_event(run, |event| events.push(event)).unwrap();
    events
}

pub(crate) fn summary(store: &Store, run: &str) -> RunSummary {
    let mut collector = Collector::new(&store.header(run).unwrap());
    events_of(store, run).iter().for_each(|event| collector.add(event));
    collector.summary()
}

/// The clocks of the agents are planted seconds apart, and the run is one all the same: a row for each host, the sum
/// of their I/Os and of their histograms, bucket for bucket.
#[test]
fn three_hosts_do_one_run_and_its_sum_is_exact() {
    let Some(nats) = nats::start("") else { return };
    let planted = [("a", 0_i64), ("b", 3_000_000_000), ("c", -3_000_000_000)];
    let agents: Vec<Running> = planted.map(|(name, ahead)| Running::start(name, bus(&nats), ahead)).into();
    let folder = tempfile::tempdir().unwrap();
    let (store, mut hearing) = (store(folder.path()), Hearing::new());
    let done = go(&order(&nats, READS, &[], &["null:"]), &store, &mut hearing).unwrap();
    agents.into_iter().for_each(Running::stop);
    assert!(done.failures.is_empty() && done.is_stored, "{:?}", done.failures);
    let names: Vec<&str> = done.header.setting.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let addresses: Vec<&str> = done.header.targets.iter().map(|target| target.address.as_str()).collect();
    assert_eq!(addresses, ["a:null:", "b:null:", "c:null:"]);

    let summary = summary(&store, &done.header.run);
    let step = &summary.steps[0];
    let rows: Vec<&str> = step.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(rows, ["a", "b", "c"]);
    assert!(step.jobs.iter().all(|job| job.total.ops > 0 && (0.9..1.5).contains(&job.seconds)));
    let mut sum = assay_record::Latency::default();
    hearing.intervals().for_each(|interval| sum.merge(&interval.sum().total().service));
    assert_eq!(step.total.service, sum, "the histogram of the run is that of all its I/Os");
    assert_eq!(step.total.ops, step.jobs.iter().map(|job| job.total.ops).sum::<u64>());
    let window_ns = 1_500_000_000;
    assert!(
        hearing.intervals().all(|interval| interval.end_ns < window_ns),
        "a planted clock moved a window"
    );
    let Some(RunEvent::StepEnded(end)) =
        hearing.events.iter().map(|event| &event.what).find(|what| matches!(what, RunEvent::StepEnded(_)))
    else {
        panic!("no end of the step")
    };
    for (host, (name, ahead)) in end.hosts.iter().zip(planted) {
        let wrong = (host.clock.ahead_ns - ahead).unsigned_abs();
        assert!(host.host == name && wrong <= host.clock.error_ns, "{host:?}");
        assert!(host.first_io_ns.is_some_and(|late| late.unsigned_abs() < 1_000_000_000), "{host:?}");
    }
    assert!(matches!(hearing.events.last().unwrap().what, RunEvent::Ended(Outcome::Done)));
}

/// A refusal of one host refuses the run, and no host has created, filled or kept anything.
#[test]
fn one_refusal_refuses_the_run_by_name_before_anything_begins() {
    let Some(nats) = nats::start("") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |host: &str| folder.path().join(host).join("t.dat");
    ["a", "b"].iter().for_each(|host| std::fs::create_dir(folder.path().join(host)).unwrap());
    let config = format!("[[target]]\npattern = \"{}/*/t.dat\"\nwrite = true\n", folder.path().display());
    let reads_only = config.replace("write = true", "");
    let a = Running::allowing("a", bus(&nats), &config, 0);
    let b = Running::allowing("b", bus(&nats), &reads_only, 0);
    let target = folder.path().join("{host}/t.dat").display().to_string();
    let writes = READS.replace("random = 100", "read = 0").replace("[[test]]", "size = \"1MiB\"\n[[test]]");
    let store = store(folder.path());
    let refused = |plan: &str| {
        let error =
            go(&order(&nats, plan, &["a", "b"], &[&target]), &store, &mut Hearing::new()).unwrap_err();
        assert!(!file("a").exists() && !file("b").exists(), "{error}");
        error.to_string()
    };
    let error = refused(&writes);
    assert!(error.contains("b: the plan writes") && !error.contains("a: "), "{error}");
    // Reading is allowed, and only the inspection on the host finds that there is nothing to read.
    let error = refused(READS);
    assert!(error.contains("b: ") && error.contains("did not begin"), "{error}");
    let outside = order(&nats, READS, &["a", "b"], &["/etc/passwd"]);
    let error = go(&outside, &store, &mut Hearing::new()).unwrap_err().to_string();
    assert!(error.contains("a: the configuration of agent a does not name /etc/passwd"), "{error}");
    b.stop();
    // And alone, a does it: on its own file.
    let done = go(&order(&nats, &writes, &["a"], &[&target]), &store, &mut Hearing::new()).unwrap();
    assert!(done.failures.is_empty() && file("a").exists(), "{:?}", done.failures);
    a.stop();
}

#[test]
fn hosts_that_are_not_there_are_named_and_nothing_begins() {
    let Some(nats) = nats::start("") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let refused = |hosts: &[&str]| {
        go(&order(&nats, READS, hosts, &["null:"]), &store, &mut Hearing::new()).unwrap_err().to_string()
    };
    assert!(refused(&[]).contains("no agent is connected to"));
    let a = Running::start("a", bus(&nats), 0);
    assert!(refused(&["a", "z"]).contains("no agent named z is connected to the NATS server; these are: a"));
    a.stop();
}

/// It said nothing any more, and its agent answered: it was waited for without an end.
#[test]
fn a_host_whose_run_panics_refuses_the_run() {
    let Some(nats) = nats::start("") else { return };
    let a = Running::start("a", bus(&nats), 0);
    let panics = AgentOptions {
        run_here: std::sync::Arc::new(|_, _| std::panic::panic_any("planted")),
        ..options("b", bus(&nats), "", 0)
    };
    let b = Running::of(&panics);
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let done = go(&order(&nats, READS, &[], &["null:"]), &store, &mut Hearing::new());
    let error = done.unwrap_err().to_string();
    assert!(error.contains("did not begin: b: its run ended by a fault"), "{error}");
    [a, b].into_iter().for_each(Running::stop);
}

/// A stop reaches every host, and what was measured until then is kept.
#[test]
fn a_stop_ends_the_run_on_every_host() {
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let order = order(&nats, &READS.replace("1s", "1h"), &[], &["null:"]);
    let stop = order.order.stop.clone();
    let mut hearing = Hearing::doing(move || stop.stop());
    let done = go(&order, &store, &mut hearing).unwrap();
    assert!(matches!(hearing.events.last().unwrap().what, RunEvent::Ended(Outcome::Interrupted)));
    assert!(summary(&store, &done.header.run).steps[0].jobs.iter().all(|job| job.total.ops > 0));
    agents.into_iter().for_each(Running::stop);
}

/// It said that a signal had ended it, and that its run was over, in the name of the agent that stays.
#[test]
fn an_agent_whose_name_is_taken_says_nothing_more_of_its_run() {
    let Some(nats) = nats::start("") else { return };
    let a = Running::start("a", bus(&nats), 0);
    let folder = tempfile::tempdir().unwrap();
    let order = order(&nats, &READS.replace("1s", "1h"), &[], &["null:"]);
    let stop = order.order.stop.clone();
    let mut hearing = Hearing::doing(|| {
        take_name(&nats, "a");
        let ended = a.thread.join().unwrap();
        assert!(matches!(&ended, Err(FleetError::NameTaken(name)) if name == "a"), "{ended:?}");
        stop.stop();
    });
    let done = go(&order, &store(folder.path()), &mut hearing).unwrap();
    let warned: Vec<&str> = hearing.warnings().map(|warning| warning.rule.as_str()).collect();
    assert_eq!(warned, ["stop-not-reached", "host-lost"]);
    assert_eq!(done.failures.len(), 1, "{:?}", done.failures);
}

/// Targets take a while to close, and what was measured is complete by then.
#[test]
fn an_agent_that_is_ended_after_its_load_costs_the_run_nothing() {
    let Some(nats) = nats::start("") else { return };
    let (load_ended, ended) = std::sync::mpsc::channel();
    let agent = options("a", bus(&nats), "", 0);
    let run_here = std::sync::Arc::clone(&agent.run_here);
    let closes_slowly = move |order: Order, follower: &mut dyn Follower| {
        let stop = order.stop.clone();
        let done = run_here(order, follower);
        load_ended.send(()).unwrap();
        let began = std::time::Instant::now();
        while !stop.is_set() && began.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        done
    };
    let agent = AgentOptions { run_here: std::sync::Arc::new(closes_slowly), ..agent };
    let a = Running::of(&agent);
    let ending = std::thread::spawn(move || {
        ended.recv_timeout(PATIENCE).unwrap();
        a.stop();
    });
    let folder = tempfile::tempdir().unwrap();
    let mut hearing = Hearing::new();
    let done = go(&order(&nats, READS, &[], &["null:"]), &store(folder.path()), &mut hearing).unwrap();
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    assert_eq!(hearing.warnings().filter(|warning| warning.rule == "agent-ended").count(), 0);
    assert!(matches!(hearing.events.last().unwrap().what, RunEvent::Ended(Outcome::Done)));
    ending.join().unwrap();
}

/// The stream of a run takes nothing more, or everything again, or is not there any more.
enum Stream {
    Full,
    Empty,
    Removed,
}

fn change_stream(nats: &Nats, run: &str, to: &Stream) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let context = async_nats::jetstream::new(async_nats::connect(nats.url()).await.unwrap());
        let name = format!("ASSAY_RUN_{run}");
        let info = context.get_stream(&name).await.unwrap().get_info().await.unwrap();
        let max_bytes = match to {
            Stream::Removed => {
                context.delete_stream(name).await.unwrap();
                return;
            }
            Stream::Full => i64::try_from(info.state.bytes).unwrap() + 1,
            Stream::Empty => 1 << 30,
        };
        let config = async_nats::jetstream::stream::Config { max_bytes, ..info.config };
        context.update_stream(config).await.unwrap();
    });
}

/// The coordinator waited for ever, and after Ctrl-C it was said that the target does not answer.
#[test]
fn a_server_that_keeps_no_message_any_more_is_named_and_a_stop_ends_the_run() {
    const RUN: &str = "261124-3333";
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut order = order(&nats, &READS.replace("1s", "1h"), &[], &["null:"]);
    order.order.run = Some(RUN.into());
    let stop = order.order.stop.clone();
    let mut hearing = Hearing::doing(|| {
        change_stream(&nats, RUN, &Stream::Full);
        stop.stop();
    });
    let done = go(&order, &store, &mut hearing).unwrap();
    let why = done.failures.join("; ");
    assert!(why.contains("does not keep the messages") && why.contains("assay attach 261124-3333"), "{why}");
    let is_named =
        |event: &Event| matches!(&event.what, RunEvent::Warning(of) if of.rule == "messages-not-kept");
    assert!(hearing.events.iter().any(is_named), "{:?}", hearing.events.last());
    let stored = summary(&store, RUN);
    assert!(stored.steps[0].jobs.iter().any(|job| job.total.ops > 0) && !stored.steps[0].complete);
    // Agents leave once what they have to say is kept.
    change_stream(&nats, RUN, &Stream::Empty);
    agents.into_iter().for_each(Running::stop);
}

/// It was taken for a full server: the run waited for it until its own time was over, and said so.
#[test]
fn a_run_whose_messages_were_removed_ends_at_once_and_says_so() {
    const RUN: &str = "261124-9999";
    let Some(nats) = nats::start("") else { return };
    let a = Running::start("a", bus(&nats), 0);
    let folder = tempfile::tempdir().unwrap();
    let mut order = order(&nats, &READS.replace("1s", "1h"), &[], &["null:"]);
    order.order.run = Some(RUN.into());
    let mut removed = None;
    let mut hearing = Hearing::doing(|| {
        change_stream(&nats, RUN, &Stream::Removed);
        removed = Some(std::time::Instant::now());
    });
    let done = go(&order, &store(folder.path()), &mut hearing).unwrap();
    assert!(hearing.warnings().all(|warning| warning.rule != "messages-not-kept"));
    drop(hearing);
    let (why, took) = (done.failures.join("; "), removed.unwrap().elapsed());
    assert!(why.contains("has removed the messages of run 261124-9999") && !done.is_stored, "{why}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Nobody takes what the agent has to say: it ends all the same.
    a.stop.stop();
    a.thread.join().unwrap().unwrap();
}

/// The server dies and comes back while a step runs: the agents keep what they have to say, and the run has the same
/// events as without it.
#[test]
fn a_restart_of_the_server_costs_no_interval_and_counts_none_twice() {
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let order = order(&nats, &READS.replace("1s", "3s"), &[], &["null:"]);
    let nats = std::sync::Mutex::new(nats);
    let mut hearing = Hearing::doing(|| nats.lock().unwrap().restart());
    let done = go(&order, &store, &mut hearing).unwrap();
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    let mut seen = std::collections::BTreeSet::new();
    for interval in hearing.intervals() {
        assert!(seen.insert((interval.job, interval.start_ns)), "twice: {interval:?}");
    }
    for job in 0..2 {
        let mut of: Vec<&Interval> = hearing.intervals().filter(|interval| interval.job == job).collect();
        of.sort_by_key(|interval| interval.start_ns);
        assert!(
            of.windows(2).all(|two| two[0].end_ns == two[1].start_ns),
            "a second of job {job} is missing"
        );
        assert!(of.last().unwrap().end_ns - of[0].start_ns > 2_900_000_000);
    }
    drop(hearing);
    agents.into_iter().for_each(Running::stop);
}

/// The coordinator dies in the middle, and another one follows the run to its end: the store has every event once.
#[test]
fn a_run_is_followed_to_its_end_by_another_coordinator() {
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("1"), folder.path().join("2"));
    [&first, &second].iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let two_steps = format!("{READS}{}", READS.replace("reads", "again"));
    let mut order = order(&nats, &two_steps, &[], &["null:"]);
    order.order.run = Some("261124-2222".into());
    // It dies as a process does: nothing that it would have said is said.
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        go(&order, &store(&first), &mut Hearing::doing(|| std::panic::panic_any("killed")))
    }));
    assert!(died.is_err());
    let (kept, mut hearing) = (store(&second), Hearing::new());
    let sinks = Sinks { store: Some(&kept), follower: &mut hearing };
    let done = attach("261124-2222", &bus(&nats), StopSignal::default(), sinks).unwrap();
    assert!(done.failures.is_empty() && done.is_stored, "{:?}", done.failures);
    assert_eq!(done.label.as_deref(), Some("together"));
    let stored = summary(&kept, "261124-2222");
    let steps: Vec<(&str, usize, bool)> =
        stored.steps.iter().map(|step| (step.test.as_str(), step.jobs.len(), step.complete)).collect();
    assert_eq!(steps, [("reads", 2, true), ("again", 2, true)]);
    let mut seen = std::collections::BTreeSet::new();
    assert!(
        hearing.intervals().all(|i| seen.insert((i.test, i.job, i.start_ns))),
        "an interval counts twice"
    );
    let again = attach(
        "261124-2222",
        &bus(&nats),
        StopSignal::default(),
        Sinks { store: Some(&kept), follower: &mut hearing },
    );
    assert!(matches!(again, Err(FleetError::NotOnBus(_))), "it is stored, so the bus keeps nothing of it");
    agents.into_iter().for_each(Running::stop);
}

/// A run of an hour whose coordinator has died.
fn orphaned(nats: &Nats, run: &str, folder: &Path) {
    let mut order = order(nats, &READS.replace("1s", "1h"), &[], &["null:"]);
    order.order.run = Some(run.into());
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        go(&order, &store(folder), &mut Hearing::doing(|| std::panic::panic_any("killed")))
    }));
    assert!(died.is_err());
}

/// Both followed it. The one that came to the end first removed the stream, and the other waited for the rest of it.
#[test]
fn of_two_who_attach_at_one_moment_one_follows_the_run() {
    const RUN: &str = "261124-5555";
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let folders = [0, 1, 2].map(|_| tempfile::tempdir().unwrap());
    orphaned(&nats, RUN, folders[0].path());
    let (stop, at_once) = (StopSignal::default(), std::sync::Barrier::new(2));
    let follow = |folder: &Path| {
        let kept = store(folder);
        let mut hearing = Hearing::doing(|| stop.stop());
        at_once.wait();
        let sinks = Sinks { store: Some(&kept), follower: &mut hearing };
        let done = attach(RUN, &bus(&nats), stop.clone(), sinks).map(|done| (done.failures, done.is_stored));
        (done, kept.row(RUN).is_ok())
    };
    let both = std::thread::scope(|scope| {
        let [one, two] = [&folders[1], &folders[2]].map(|folder| scope.spawn(|| follow(folder.path())));
        [one.join().unwrap(), two.join().unwrap()]
    });
    let followed: Vec<_> = both.iter().filter(|(done, _)| done.is_ok()).collect();
    assert!(matches!(&followed[..], [(Ok((failures, true)), true)] if failures.is_empty()), "{both:?}");
    let refused: Vec<_> =
        both.iter().filter_map(|(done, is_there)| Some((done.as_ref().err()?, is_there))).collect();
    let [(error, false)] = &refused[..] else { panic!("{both:?}") };
    let says = error.to_string();
    assert!(says.contains(RUN) && says.contains(&format!("process {} on ", std::process::id())), "{says}");
    agents.into_iter().for_each(Running::stop);
}

/// A claim is a message too, and a full stream takes none.
#[test]
fn a_run_whose_stream_is_full_is_followed_with_a_word() {
    const RUN: &str = "261124-8888";
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    orphaned(&nats, RUN, first.path());
    // Their last words are the last ones that the stream takes. One that was in its load has been interrupted.
    for agent in agents {
        agent.stop.stop();
        let _ = agent.thread.join().unwrap();
    }
    change_stream(&nats, RUN, &Stream::Full);
    let (kept, mut hearing) = (store(second.path()), Hearing::new());
    let sinks = Sinks { store: Some(&kept), follower: &mut hearing };
    let done = attach(RUN, &bus(&nats), StopSignal::default(), sinks).unwrap();
    assert!(done.is_stored, "{:?}", done.failures);
    let events = events_of(&kept, RUN);
    let is_word = |event: &&Event| matches!(&event.what, RunEvent::Warning(of) if of.rule == "not-claimed");
    assert_eq!(events.iter().filter(is_word).count(), 1, "{events:?}");
    assert!(matches!(events.last().unwrap().what, RunEvent::Ended(_)), "{:?}", events.last());
    assert!(hearing.intervals().count() > 0);
}

/// It followed the run too, and whoever came to its end first took the rest of the stream from the other.
#[test]
fn a_run_whose_coordinator_lives_is_followed_by_nobody_else() {
    const RUN: &str = "261124-6666";
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut order = order(&nats, READS, &[], &["null:"]);
    order.order.run = Some(RUN.into());
    let other = store(second.path());
    let mut says = String::new();
    let mut hearing = Hearing::doing(|| {
        let (mut none, stop) = (Hearing::new(), StopSignal::default());
        stop.stop();
        let sinks = Sinks { store: Some(&other), follower: &mut none };
        says = attach(RUN, &bus(&nats), stop, sinks).unwrap_err().to_string();
    });
    let done = go(&order, &store(first.path()), &mut hearing).unwrap();
    drop(hearing);
    assert!(done.failures.is_empty() && done.is_stored, "{:?}", done.failures);
    assert!(says.contains("is followed by process"), "{says}");
    assert!(other.row(RUN).is_err(), "nothing of it is in the other store");
    agents.into_iter().for_each(Running::stop);
}

/// A coordinator that was frozen or cut off, and another one follows its run meanwhile: that one has the run.
#[test]
fn a_coordinator_that_comes_back_leaves_the_run_to_the_one_that_follows_it() {
    const RUN: &str = "261124-7777";
    let Some(nats) = nats::start("") else { return };
    let agents = ["a", "b"].map(|name| Running::start(name, bus(&nats), 0));
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut order = order(&nats, &READS.replace("1s", "1h"), &[], &["null:"]);
    order.order.run = Some(RUN.into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut hearing = Hearing::doing(|| {
        runtime.block_on(async {
            let client = async_nats::connect(nats.url()).await.unwrap();
            let note = r#"{"follows":{"by":"process 7 on far"}}"#;
            let context = async_nats::jetstream::new(client);
            context.publish(format!("assay.plan.{RUN}"), note.into()).await.unwrap().await.unwrap();
        });
    });
    let kept = store(first.path());
    let done = go(&order, &kept, &mut hearing).unwrap();
    drop(hearing);
    let why = done.failures.join("; ");
    assert!(why.contains("process 7 on far") && !done.is_stored, "{why}");
    assert_eq!(kept.row(RUN).unwrap().status, None, "it has no end here");
    // The loads go on, and the stream has all of the run.
    let (kept, stop) = (store(second.path()), StopSignal::default());
    let mut hearing = Hearing::doing(|| stop.stop());
    let sinks = Sinks { store: Some(&kept), follower: &mut hearing };
    let done = attach(RUN, &bus(&nats), stop.clone(), sinks).unwrap();
    assert!(done.failures.is_empty() && done.is_stored, "{:?}", done.failures);
    agents.into_iter().for_each(Running::stop);
}
