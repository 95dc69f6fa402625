//! Agents and the list of hosts, on a real nats-server.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

mod clocks;
mod exact;
mod forged;
mod frozen;
mod runs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_fleet::{
    Agent, AgentOptions, AgentStop, Allowed, BusOptions, FleetError, HostList, HostState, WallClock, hosts,
};
use assay_runner::Sinks;
use assay_testkit::nats::{self, Nats};

/// Nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

fn bus(nats: &Nats) -> BusOptions {
    BusOptions { url: nats.url(), ..BusOptions::default() }
}

fn options(name: &str, bus: BusOptions, config: &str, clock_ahead_ns: i64) -> AgentOptions {
    AgentOptions {
        name: name.into(),
        bus,
        allowed: Allowed::parse("agent.toml", config).unwrap(),
        run_here: Arc::new(|order, follower| {
            let sinks = Sinks { store: None, follower };
            assay_runner::run(order, &assay_target::open, sinks)
                .map_err(|error| (error.consequence(), error.to_string()))
        }),
        wall: ahead(clock_ahead_ns),
    }
}

/// A wall clock that is so much ahead.
fn ahead(ahead_ns: i64) -> WallClock {
    let wall = WallClock::default();
    wall.set_ahead(ahead_ns);
    wall
}

/// An agent in a thread of its own.
struct Running {
    stop: AgentStop,
    thread: JoinHandle<Result<(), FleetError>>,
}

impl Running {
    fn start(name: &str, bus: BusOptions, clock_ahead_ns: i64) -> Self {
        Self::allowing(name, bus, "", clock_ahead_ns)
    }

    fn allowing(name: &str, bus: BusOptions, config: &str, clock_ahead_ns: i64) -> Self {
        Self::of(&options(name, bus, config, clock_ahead_ns))
    }

    fn of(options: &AgentOptions) -> Self {
        let agent = Agent::start(options).unwrap();
        let stop = AgentStop::default();
        let stopped = stop.clone();
        Self { stop, thread: std::thread::spawn(move || agent.serve(&stopped)) }
    }

    fn stop(self) {
        self.stop.stop();
        self.thread.join().unwrap().unwrap();
    }
}

fn names(list: &HostList) -> Vec<&str> {
    list.hosts.iter().map(|host| host.name.as_str()).collect()
}

#[test]
fn hosts_are_listed_with_their_clocks_until_they_leave() {
    let Some(nats) = nats::start("") else { return };
    assert!(hosts(&bus(&nats)).unwrap().hosts.is_empty(), "nobody is there yet");
    let planted = [("a", 0_i64), ("b", 3_000_000_000), ("c", -3_000_000_000)];
    let mut agents = planted.map(|(name, ahead_ns)| Running::start(name, bus(&nats), ahead_ns)).into_iter();

    let list = hosts(&bus(&nats)).unwrap();
    assert_eq!(names(&list), ["a", "b", "c"]);
    for (host, (name, ahead_ns)) in list.hosts.iter().zip(planted) {
        let offset = host.offset.unwrap();
        let wrong_ns = (offset.ahead_ns - ahead_ns).unsigned_abs();
        assert!(wrong_ns <= offset.error_ns, "{name}: {offset:?}");
        assert_eq!((host.state, &host.version), (HostState::Ready, &list.version));
        assert!(host.lease_left_ms.is_some_and(|left| left <= 15_000), "{host:?}");
        assert_eq!(
            host.facts.as_ref().map(|facts| facts.cpus_online),
            Some(assay_host::host_facts().cpus_online)
        );
    }
    assert!(list.differences.is_empty(), "one machine does not differ from itself: {:?}", list.differences);

    agents.next().unwrap().stop();
    assert_eq!(names(&hosts(&bus(&nats)).unwrap()), ["b", "c"], "who leaves is gone at once");
    agents.for_each(Running::stop);
}

/// Of 32 requests on a busy machine the quickest can still be slow: what an offset is wrong by depends on the machine,
/// and is printed; that its bound holds does not.
#[test]
fn planted_offsets_are_measured_within_their_bounds() {
    let Some(nats) = nats::start("") else { return };
    let planted = [("a", 0_i64), ("b", 3_000_000_000), ("c", -3_000_000_000), ("d", 1_234_567)];
    let agents = planted.map(|(name, ahead_ns)| Running::start(name, bus(&nats), ahead_ns));
    let mut wrong_ns = Vec::new();
    for _ in 0..5 {
        let list = hosts(&bus(&nats)).unwrap();
        for (host, (_, ahead_ns)) in list.hosts.iter().zip(planted) {
            let offset = host.offset.unwrap();
            let wrong = (offset.ahead_ns - ahead_ns).unsigned_abs();
            assert!(wrong <= offset.error_ns, "{offset:?}");
            wrong_ns.push(wrong);
        }
    }
    wrong_ns.sort_unstable();
    println!("median {} ns, most {} ns", wrong_ns[wrong_ns.len() / 2], wrong_ns[wrong_ns.len() - 1]);
    agents.into_iter().for_each(Running::stop);
}

#[test]
fn two_agents_cannot_have_one_name() {
    let Some(nats) = nats::start("") else { return };
    let first = Running::start("a", bus(&nats), 0);
    let again = |name: &str| Agent::start(&options(name, bus(&nats), "", 0));
    assert!(matches!(again("a"), Err(FleetError::NameTaken(name)) if name == "a"));
    first.stop();
    assert!(again("a").is_ok(), "a name is free once its agent has left");
    for name in ["", "a b", "a.b", "*", ">"] {
        assert!(matches!(again(name), Err(FleetError::BadName(_))), "{name}");
    }
}

/// Each was asked whether the name is taken before the other one listened, and both did what was asked of one.
#[test]
fn of_two_agents_that_begin_at_one_moment_the_later_one_goes() {
    let Some(nats) = nats::start("") else { return };
    let [first, second] = [0, 1].map(|_| Agent::start(&options("a", bus(&nats), "", 0)).unwrap());
    let stop = AgentStop::default();
    let on_stop = stop.clone();
    let serving = std::thread::spawn(move || first.serve(&on_stop));
    let later = second.serve(&AgentStop::default());
    assert!(matches!(&later, Err(FleetError::NameTaken(name)) if name == "a"), "{later:?}");
    let list = hosts(&bus(&nats)).unwrap();
    assert_eq!((names(&list), list.hosts[0].state), (vec!["a"], HostState::Ready));
    stop.stop();
    serving.join().unwrap().unwrap();
}

/// Says to the agents of a name that another one has had it for longer.
fn take_name(nats: &Nats, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(nats.url()).await.unwrap();
        let says = r#"{"agent":{"since_unix_ns":0}}"#;
        client.publish(format!("assay.ask.{name}"), says.into()).await.unwrap();
        client.flush().await.unwrap();
    });
}

/// One that lost its name ended all of its process, and their runs in the middle.
#[test]
fn one_agent_of_several_that_loses_its_name_ends_no_other() {
    let Some(nats) = nats::start("") else { return };
    let agents = Agent::swarm(&options("", bus(&nats), "", 0), &["a".into(), "b".into()]).unwrap();
    let stop = AgentStop::default();
    let on_stop = stop.clone();
    let serving = std::thread::spawn(move || agents.serve(&on_stop));
    let states = || hosts(&bus(&nats)).unwrap().hosts.iter().map(|host| host.state).collect::<Vec<_>>();
    assert_eq!(states(), [HostState::Ready; 2]);
    take_name(&nats, "a");
    let began = Instant::now();
    while states()[0] == HostState::Ready {
        assert!(began.elapsed() < PATIENCE, "the agent has not gone");
    }
    assert_eq!(states(), [HostState::Silent, HostState::Ready]);
    stop.stop();
    let ended = serving.join().unwrap();
    assert!(matches!(&ended, Err(FleetError::NameTaken(name)) if name == "a"), "{ended:?}");
}

/// While a thousand agents renewed their entries, the list had 502 of them twice and 84 not at all, and a run waited
/// without an end for hosts that it had twice.
#[test]
fn a_list_has_every_agent_once_although_all_renew_their_entries() {
    const AGENTS: usize = 500;
    let Some(nats) = nats::start("") else { return };
    assert!(hosts(&bus(&nats)).unwrap().hosts.is_empty());
    let url = nats.url();
    let is_done = Arc::new(AtomicBool::new(false));
    let (ended, (announced, all)) = (Arc::clone(&is_done), std::sync::mpsc::channel());
    let renewing = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let context = async_nats::jetstream::new(async_nats::connect(url).await.unwrap());
            while !ended.load(Ordering::Acquire) {
                let mut acks = Vec::new();
                for number in 0..AGENTS {
                    let text = format!(r#"{{"name":"a{number}","version":"0","host":{{}}}}"#);
                    let subject = format!("$KV.assay_hosts.a{number}");
                    acks.push(context.publish(subject, text.into()).await.unwrap());
                }
                for ack in acks {
                    ack.await.unwrap();
                }
                let _ = announced.send(());
            }
        });
    });
    all.recv().unwrap();
    let mut expected: Vec<String> = (0..AGENTS).map(|number| format!("a{number}")).collect();
    expected.sort();
    for _ in 0..5 {
        assert_eq!(names(&hosts(&bus(&nats)).unwrap()), expected);
    }
    is_done.store(true, Ordering::Release);
    renewing.join().unwrap();
}

/// What another program, another version or an agent that was killed leaves in the bucket.
#[test]
fn who_does_not_answer_and_who_is_another_version_is_listed_as_that() {
    let Some(nats) = nats::start("") else { return };
    let version = hosts(&bus(&nats)).unwrap().version;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(nats.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let bucket = context.get_key_value("assay_hosts").await.unwrap();
        let put = async |key: &str, text: String| bucket.put(key, text.into()).await.unwrap();
        put("killed", format!(r#"{{"name":"killed","version":"{version}","host":{{}}}}"#)).await;
        put("old", r#"{"name":"old","version":"0.0.1+bus0","host":{"name":"x"},"more":1}"#.into()).await;
        put("older", r#"{"name":"older","version":"0.1.0"}"#.into()).await;
        put("newer", r#"{"name":"newer","version":"99.0.0+bus9","host":["other"],"more":{"x":1}}"#.into())
            .await;
        put("bare", r#"{"name":"bare"}"#.into()).await;
        put("noise", "\u{1b}[31m".into()).await;
        put("liar", format!(r#"{{"name":"killed","version":"{version}","host":{{}}}}"#)).await;
        let info = bucket.stream.get_info().await.unwrap();
        assert_eq!(info.config.max_age, assay_fleet::LEASE, "the server ends the lease");
    });
    let list = hosts(&bus(&nats)).unwrap();
    let states: Vec<(&str, HostState)> =
        list.hosts.iter().map(|host| (host.name.as_str(), host.state)).collect();
    let others = ["bare", "killed", "newer", "old", "older"].map(|name| match name {
        "killed" => (name, HostState::Silent),
        _ => (name, HostState::OtherVersion),
    });
    assert_eq!(states, others);
    assert!(list.hosts.iter().all(|host| host.offset.is_none() && host.lease_left_ms.is_none()));
}

/// Streams of runs had reserved all that the server allows, and it refused to create the list that it had: no host was
/// listed. Of a server without room it was said that it has no JetStream.
#[test]
fn a_server_without_room_still_lists_its_hosts_and_is_named_where_it_cannot() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let limited = |limit: &str| {
        let store = folder.path().join(limit);
        nats::start(&format!("jetstream {{ store_dir: {store:?}, max_file_store: {limit} }}"))
    };
    let Some(nats) = limited("20MB") else { return };
    let agent = Running::start("a", bus(&nats), 0);
    assert_eq!(names(&hosts(&bus(&nats)).unwrap()), ["a"]);
    agent.stop();
    let Some(nats) = limited("10MB") else { return };
    let says = Agent::start(&options("a", bus(&nats), "", 0)).unwrap_err().to_string();
    assert!(says.contains("no room for the list of hosts") && says.contains("max_file_store"), "{says}");
    assert!(!says.contains("-js"), "{says}");
}

#[test]
fn agents_are_back_after_a_restart_of_the_server() {
    let Some(mut nats) = nats::start("") else { return };
    let agent = Running::start("a", bus(&nats), 0);
    nats.restart();
    let began = Instant::now();
    while names(&hosts(&bus(&nats)).unwrap()) != ["a"] {
        assert!(began.elapsed() < PATIENCE, "the agent did not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
    agent.stop();
}

#[test]
fn a_bus_that_is_not_there_is_named_and_a_secret_in_its_address_is_not_repeated() {
    let Some(nats) = nats::start("") else { return };
    let gone = bus(&nats);
    drop(nats);
    let error = hosts(&gone).unwrap_err().to_string();
    assert!(error.contains(&gone.url) && error.contains("nats-server -js"), "{error}");
    let secret = BusOptions { url: "nats://me:hush@127.0.0.1:4222".into(), ..BusOptions::default() };
    let error = hosts(&secret).unwrap_err();
    assert!(matches!(error, FleetError::SecretInUrl) && !error.to_string().contains("hush"), "{error}");
}

/// The server decides who takes part.
#[test]
fn a_server_with_keys_lets_in_only_who_has_one() {
    let (ours, theirs) = (nkeys::KeyPair::new_user(), nkeys::KeyPair::new_user());
    let config = format!("authorization {{ users = [ {{ nkey: {} }} ] }}", ours.public_key());
    let Some(nats) = nats::start(&config) else { return };
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, key: &nkeys::KeyPair| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{}\n", key.seed().unwrap())).unwrap();
        BusOptions { nkey: Some(path), ..bus(&nats) }
    };
    let (good, bad) = (with("good", &ours), with("bad", &theirs));
    for refused in [bus(&nats), bad] {
        let error = hosts(&refused).unwrap_err();
        assert!(
            matches!(error, FleetError::Connect { .. }) && error.to_string().contains("--nkey"),
            "{error}"
        );
    }
    let agent = Running::start("a", good.clone(), 0);
    assert_eq!(names(&hosts(&good).unwrap()), ["a"]);
    agent.stop();
    let missing = BusOptions { nkey: Some(folder.path().join("none")), ..bus(&nats) };
    assert!(matches!(hosts(&missing), Err(FleetError::File { .. })));
}
