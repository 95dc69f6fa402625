//! A host that is frozen (SIGSTOP) in each phase of a run: it is waited for with a word, and not for ever; and a
//! coordinator that is.
//!
//! Who is frozen is a process of its own: this test, which is started again and stops itself where it is to.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_engine::StopSignal;
use assay_fleet::{Agent, AgentOptions, AgentStop, Allowed, BusOptions, FleetDone, FleetError, attach};
use assay_record::{Event, Phase, RunEvent, RunHeader};
use assay_runner::{Follower, Sinks};
use assay_testkit::nats;

use super::runs::{Hearing, READS, go, order_on, store};
use super::{PATIENCE, Running, bus};

/// Address of the server and the phase, set in the process that is the agent.
const AGENT: &str = "ASSAY_TEST_FROZEN_AGENT";
const THIS: &str = "frozen::a_host_that_is_frozen_in_a_phase_ends_no_run_in_silence";
const FROZEN: &str = "b";

/// Stops this process at one moment.
struct Freezing<'f> {
    inner: &'f mut dyn Follower,
    at: String,
}

impl Freezing<'_> {
    fn reached(&self, phase: &str) {
        if self.at == phase {
            freeze();
            // It was not stopped before the program had come back.
            loop {
                std::thread::park();
            }
        }
    }
}

impl Follower for Freezing<'_> {
    fn may_open(&mut self) -> bool {
        self.reached("inspecting");
        let may_open = self.inner.may_open();
        self.reached("opening");
        may_open
    }

    fn begins(&mut self, header: &RunHeader) {
        self.inner.begins(header);
    }

    fn event(&mut self, event: &Event) -> bool {
        let is_enough = self.inner.event(event);
        match &event.what {
            RunEvent::Started(_) => self.reached("started"),
            RunEvent::PhaseStarted { phase: Phase::Warmup | Phase::Measure, .. } => self.reached("begun"),
            RunEvent::Interval(_) => self.reached("measuring"),
            RunEvent::StepEnded(_) => self.reached("closing"),
            _ => {}
        }
        is_enough
    }
}

fn serve(asked: &str) {
    let (url, at) = asked.split_once(' ').unwrap();
    let at = at.to_owned();
    let options = AgentOptions {
        name: FROZEN.into(),
        bus: BusOptions { url: url.into(), ..BusOptions::default() },
        allowed: Allowed::parse("agent.toml", "").unwrap(),
        run_here: Arc::new(move |order, follower| {
            let mut follower = Freezing { inner: follower, at: at.clone() };
            assay_runner::run(order, &assay_target::open, Sinks { store: None, follower: &mut follower })
                .map_err(|error| (error.consequence(), error.to_string()))
        }),
        wall: super::ahead(0),
    };
    let agent = Agent::start(&options).unwrap();
    std::io::Write::write_all(&mut std::io::stdout(), b"ready\n").unwrap();
    agent.serve(&AgentStop::default()).unwrap();
}

/// Stops this process.
fn freeze() {
    Command::new("kill").args(["-STOP", &std::process::id().to_string()]).status().unwrap();
}

struct Process(Child);

impl Process {
    fn start(url: &str, at: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", THIS, "--nocapture"])
            .env(AGENT, format!("{url} {at}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut lines = std::io::BufRead::lines(said);
        assert!(lines.any(|line| line.unwrap() == "ready"), "the agent does not start");
        // What it prints later is read by nobody, and it prints nothing.
        std::mem::forget(lines);
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Hears what is waited for.
#[derive(Default)]
struct Lines(Vec<String>);

impl Follower for Lines {
    fn waits(&mut self, says: &str) {
        self.0.push(says.to_owned());
    }
}

/// Plays a run of a and b, of which b is frozen in a phase. Returns its end, and what was said meanwhile.
fn played(at: &str) -> Option<(Result<FleetDone, FleetError>, Vec<String>)> {
    let nats = nats::start("")?;
    let a = Running::start("a", bus(&nats), 0);
    let _b = Process::start(&nats.url(), at);
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Lines::default();
    let order = order_on(bus(&nats), READS, &["a", FROZEN], &["null:"]);
    let kept = store(folder.path());
    let done = assay_fleet::run(&order, Sinks { store: Some(&kept), follower: &mut lines });
    a.stop();
    Some((done, lines.0))
}

#[test]
fn a_host_that_is_frozen_in_a_phase_ends_no_run_in_silence() {
    if let Ok(asked) = std::env::var(AGENT) {
        return serve(&asked);
    }
    // What it did last may have been sent or not.
    let phases = [
        ("inspecting", ["inspect their targets", "inspect their targets"]),
        ("opening", ["open and fill their targets", "open and fill their targets"]),
        ("started", ["open and fill their targets", "be ready for the next step"]),
        ("begun", ["begin the step", "end the step"]),
        ("measuring", ["begin the step", "end the step"]),
        ("closing", ["end the step", "close their targets"]),
    ];
    std::thread::scope(|scope| {
        let all = phases.map(|(at, says)| (at, says, scope.spawn(move || played(at))));
        for (at, says, thread) in all {
            let Some((done, lines)) = thread.join().unwrap() else { return };
            let expected = says.map(|says| format!("waiting for 1 of 2 hosts to {says}: {FROZEN}"));
            assert!(expected.iter().any(|line| lines.contains(line)), "{at}: {lines:?}");
            // Nothing begins without a host that was to inspect; from then on the others go on.
            if at == "inspecting" {
                let error = done.unwrap_err().to_string();
                assert!(error.contains("did not begin: b: it has not answered for 15 s"), "{at}: {error}");
                continue;
            }
            let done = done.unwrap();
            let why = done.failures.join("; ");
            assert!(why.contains("Host b was lost") && why.contains("not answered for 15 s"), "{at}: {why}");
            assert!(done.is_stored, "{at}");
        }
    });
}

/// Address of the server and the folder of the store, set in the process that is the coordinator.
const COORDINATOR: &str = "ASSAY_TEST_FROZEN_COORDINATOR";
const COORDINATORS: &str =
    "frozen::a_coordinator_that_was_frozen_until_its_run_was_stored_elsewhere_says_so_at_once";
const RUN: &str = "261124-4444";

/// Conducts a run, and stops itself at its first interval.
fn coordinate(asked: &str) {
    let (url, folder) = asked.split_once(' ').unwrap();
    let bus = BusOptions { url: url.into(), ..BusOptions::default() };
    let mut order = order_on(bus, &READS.replace("1s", "3s"), &["a"], &["null:"]);
    order.order.run = Some(RUN.into());
    let done = go(&order, &store(Path::new(folder)), &mut Hearing::doing(freeze)).unwrap();
    let said = format!("failures: {:?}, stored: {}", done.failures, done.is_stored);
    std::io::Write::write_all(&mut std::io::stdout(), said.as_bytes()).unwrap();
}

/// It waited for 81 s, and said that the server keeps no messages.
#[test]
fn a_coordinator_that_was_frozen_until_its_run_was_stored_elsewhere_says_so_at_once() {
    if let Ok(asked) = std::env::var(COORDINATOR) {
        return coordinate(&asked);
    }
    let Some(nats) = nats::start("") else { return };
    let a = Running::start("a", bus(&nats), 0);
    let folders = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", COORDINATORS, "--nocapture"])
        .env(COORDINATOR, format!("{} {}", nats.url(), folders[0].path().display()))
        .stdout(Stdio::piped())
        .spawn();
    let mut frozen = Process(child.unwrap());
    let (id, began) = (frozen.0.id().to_string(), Instant::now());
    while !std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap().contains(") T ") {
        assert!(began.elapsed() < PATIENCE, "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sinks = Sinks { store: Some(&store(folders[1].path())), follower: &mut Lines::default() };
    let done = attach(RUN, &bus(&nats), StopSignal::default(), sinks).unwrap();
    assert!(done.is_stored && done.failures.is_empty(), "{:?}", done.failures);

    let woken = Instant::now();
    Command::new("kill").args(["-CONT", &id]).status().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut frozen.0.stdout.take().unwrap(), &mut said).unwrap();
    assert!(woken.elapsed() < Duration::from_secs(10), "{:?}", woken.elapsed());
    let expected = format!("is followed by process {} on ", std::process::id());
    let command = format!("assay show {RUN}");
    assert!(said.contains(&expected) && said.contains(&command) && said.contains("stored: false"), "{said}");
    assert!(!said.contains("keep"), "{said}");
    a.stop();
}
