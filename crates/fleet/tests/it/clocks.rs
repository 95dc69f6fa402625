//! Wall clocks that are set while hosts run together: no moment of the run moves.

use std::sync::Arc;
use std::time::Duration;

use assay_fleet::{AgentOptions, WallClock, hosts};
use assay_record::{Event, Interval, RunEvent, StepEnd};
use assay_runner::{Follower, Order, Sinks};
use assay_testkit::nats;

use super::runs::{Hearing, go, order, store, summary};
use super::{Running, bus, options};

const SECOND_NS: u64 = 1_000_000_000;
/// As far as NTP sets a clock at once, and farther than a step is long.
const SET_NS: i64 = 3_000_000_000;
/// Of each host and step.
const OPS: u64 = 300;

/// Two steps of a second and a half; a constant rate for both hosts.
fn plan() -> String {
    let test = |name: &str| {
        format!(
            "[[test]]\nname = \"{name}\"\naccess = [{{ size = \"4KiB\", random = 100 }}]\nops = {OPS}\n\
             run = \"60s\"\noutstanding = 64\npace = {{ rate = \"400/s\", arrivals = \"constant\" }}\n"
        )
    };
    test("first") + &test("second")
}

/// Opens its targets when the other host has long been ready, and does something before.
struct Late<'f> {
    inner: &'f mut dyn Follower,
    before: Option<Box<dyn FnOnce() + Send>>,
}

impl Follower for Late<'_> {
    fn may_open(&mut self) -> bool {
        let may_open = self.inner.may_open();
        std::thread::sleep(Duration::from_millis(500));
        if let Some(act) = self.before.take() {
            act();
        }
        may_open
    }
    fn event(&mut self, event: &Event) -> bool {
        self.inner.event(event)
    }
}

fn set_on(
    name: &str,
    wall: &WallClock,
    nats: &nats::Nats,
    before: impl Fn() + Send + Sync + 'static,
) -> Running {
    let before = Arc::new(before);
    let run_here = move |order: Order, follower: &mut dyn Follower| {
        let before = Arc::clone(&before);
        let mut follower = Late { inner: follower, before: Some(Box::new(move || before())) };
        assay_runner::run(order, &assay_target::open, Sinks { store: None, follower: &mut follower })
            .map_err(|error| (error.consequence(), error.to_string()))
    };
    let options = options(name, bus(nats), "", 0);
    Running::of(&AgentOptions { wall: wall.clone(), run_here: Arc::new(run_here), ..options })
}

fn ends(events: &[Event]) -> impl Iterator<Item = &StepEnd> {
    events.iter().filter_map(|event| match &event.what {
        RunEvent::StepEnded(end) => Some(&**end),
        _ => None,
    })
}

/// The clock of a host that waits at its gate is set, that of the other one while it fills; both again in the measured
/// window, to the other side. All that the first one did lay three seconds off.
#[test]
fn clocks_that_are_set_at_a_gate_and_in_a_window_move_nothing_and_count_nothing_twice() {
    let Some(nats) = nats::start("") else { return };
    for sign in [1, -1] {
        let walls = [WallClock::default(), WallClock::default()];
        let both = walls.clone();
        let a = Running::of(&AgentOptions { wall: walls[0].clone(), ..options("a", bus(&nats), "", 0) });
        let b = set_on("b", &walls[1], &nats, move || {
            both[0].set_ahead(sign * SET_NS);
            both[1].set_ahead(-sign * SET_NS);
        });
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let mut hearing = Hearing::doing(|| {
            walls[0].set_ahead(-2 * sign * SET_NS);
            walls[1].set_ahead(2 * sign * SET_NS);
        });
        let done = go(&order(&nats, &plan(), &["a", "b"], &["null:"]), &store, &mut hearing).unwrap();
        let listed = hosts(&bus(&nats)).unwrap();
        [a, b].into_iter().for_each(Running::stop);
        assert!(done.failures.is_empty(), "{:?}", done.failures);

        let summary = summary(&store, &done.header.run);
        for step in &summary.steps {
            let ops: Vec<u64> = step.jobs.iter().map(|job| job.total.ops).collect();
            assert_eq!(ops, [OPS, OPS], "{}", step.test);
        }
        let of_host = |test, job| {
            let of = move |interval: &&Interval| (interval.test, interval.job) == (test, job);
            let mut all: Vec<(u64, u64)> =
                hearing.intervals().filter(of).map(|of| (of.start_ns, of.end_ns)).collect();
            all.sort_unstable();
            all
        };
        for (test, job) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let seconds = of_host(test, job);
            assert!(seconds.windows(2).all(|two| two[0].1 == two[1].0), "{sign} {test} {job}: {seconds:?}");
            let (first, last) = (seconds[0].0, seconds[seconds.len() - 1].1);
            assert!(first < SECOND_NS && last < 3 * SECOND_NS, "{sign} {test} {job}: {seconds:?}");
        }
        for host in ends(&hearing.events).flat_map(|end| &end.hosts) {
            let late_ns = host.first_io_ns.unwrap();
            assert!(late_ns.unsigned_abs() < SECOND_NS, "{sign}: {host:?}");
        }
        let moments: Vec<u64> = hearing.events.iter().map(|event| event.at_ns).collect();
        assert!(moments.iter().all(|at| *at < 60 * SECOND_NS), "{sign}: {moments:?}");
        // What is listed is the wall clock as it is.
        let far: Vec<i64> = listed.hosts.iter().map(|host| host.offset.unwrap().ahead_ns).collect();
        let expected = [-2 * sign * SET_NS, 2 * sign * SET_NS];
        let close = |(far, expected): (&i64, i64)| far.abs_diff(expected) < SECOND_NS / 2;
        assert!(far.iter().zip(expected).all(close), "{far:?}");
    }
}
