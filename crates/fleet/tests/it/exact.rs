//! What several hosts say together is what one process says that does the same I/Os: the same histogram, bucket for
//! bucket. Two real runs never have the same latencies, so here those are a function of the I/O: of its job, and of its
//! number in it.

use std::sync::Arc;

use assay_analysis::{Collector, RunSummary};
use assay_fleet::AgentOptions;
use assay_prepare::PrepareProgress;
use assay_record::{AccessStats, Event, Latency, OpStats, RunEvent, RunHeader};
use assay_runner::{Follower, Order, Sinks, Stage};
use assay_testkit::nats;

use super::runs::{Hearing, go, order, store, summary};
use super::{Running, bus, options};

const HOSTS: [&str; 4] = ["a", "b", "c", "d"];
/// Of each host, spread over three seconds.
const OPS: u64 = 2500;

/// A rate for each job; over hosts it is shared by all of them.
fn plan(rate: u64, jobs: &[&str]) -> String {
    let jobs: String = jobs.iter().map(|name| format!("[[test.job]]\nname = \"{name}\"\n")).collect();
    format!(
        "[[test]]\nname = \"t\"\naccess = [{{ size = \"4KiB\", read = 70 }}]\nops = {OPS}\nrun = \"120s\"\n\
         outstanding = 64\npace = {{ rate = \"{rate}/s\", arrivals = \"constant\" }}\n{jobs}"
    )
}

/// Service and response time of an I/O of a job: five decades, a tail that differs between the jobs.
fn latency(job: u32, number: u64) -> (u64, u64) {
    let scattered =
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(job).wrapping_mul(0xbf58_476d)) >> 40;
    let decade = [1, 10, 100, 1000, 20_000][usize::try_from(scattered % 5).unwrap()];
    let service_ns = 900 + decade * (1 + scattered / 5 % 1000 + u64::from(job) * 37);
    (service_ns, service_ns + scattered % 77_777)
}

/// Puts the latency of each I/O in the place of the one that it had, by the recorder of the engine.
struct Planted<'f> {
    inner: &'f mut dyn Follower,
    /// Adds it to the index of a job: each host knows its own alone.
    host: u32,
    /// Number of the next I/O of each job.
    next: Vec<u64>,
}

impl Planted<'_> {
    fn planted(&mut self, event: &Event) -> Event {
        let mut event = event.clone();
        if let RunEvent::Interval(interval) = &mut event.what {
            let next = &mut self.next[interval.job as usize];
            let job = self.host + interval.job;
            for AccessStats { read, write } in &mut interval.by_access {
                // Which I/O is a write is drawn from the seed of the host; of each two of them one is.
                let ops = read.ops() + write.ops();
                let bytes = u32::try_from((read.bytes + write.bytes) / ops.max(1)).unwrap();
                (*read, *write) = (OpStats::with_response(), OpStats::with_response());
                for number in *next..*next + ops {
                    let (service_ns, response_ns) = latency(job, number);
                    let side = if number % 2 == 0 { &mut *read } else { &mut *write };
                    side.completed(bytes, service_ns, response_ns);
                }
                *next += ops;
            }
        }
        event
    }
}

impl Follower for Planted<'_> {
    fn stage(&mut self, stage: Stage) {
        self.inner.stage(stage);
    }
    fn may_open(&mut self) -> bool {
        self.inner.may_open()
    }
    fn filling(&mut self, progress: &PrepareProgress) {
        self.inner.filling(progress);
    }
    fn begins(&mut self, header: &RunHeader) {
        self.inner.begins(header);
    }
    fn event(&mut self, event: &Event) -> bool {
        let planted = self.planted(event);
        self.inner.event(&planted)
    }
}

/// The same plan in this process, without a bus.
fn alone(order: Order) -> RunSummary {
    let mut hearing = Hearing::new();
    let mut follower = Planted { inner: &mut hearing, host: 0, next: vec![0; HOSTS.len()] };
    let sinks = Sinks { store: None, follower: &mut follower };
    let header = assay_runner::run(order, &assay_target::open, sinks).unwrap().header;
    let mut collector = Collector::new(&header);
    hearing.events.iter().for_each(|event| collector.add(event));
    collector.summary()
}

#[test]
fn four_hosts_have_the_histogram_of_one_process_that_did_the_same_ios() {
    let Some(nats) = nats::start("") else { return };
    let agents = (0..).zip(HOSTS).map(|(host, name)| {
        let run_here = move |order: Order, follower: &mut dyn Follower| {
            let mut follower = Planted { inner: follower, host, next: vec![0] };
            let sinks = Sinks { store: None, follower: &mut follower };
            assay_runner::run(order, &assay_target::open, sinks)
                .map_err(|error| (error.consequence(), error.to_string()))
        };
        Running::of(&AgentOptions { run_here: Arc::new(run_here), ..options(name, bus(&nats), "", 0) })
    });
    let agents: Vec<Running> = agents.collect();
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let of_hosts = order(&nats, &plan(4000, &[]), &HOSTS, &["null:"]);
    let done = go(&of_hosts, &store, &mut Hearing::new()).unwrap();
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    agents.into_iter().for_each(Running::stop);

    let mut of_one = order(&nats, &plan(1000, &HOSTS), &[], &[]).order;
    of_one.targets = vec!["null:".parse().unwrap()];
    of_one.run = Some("261130-1111".into());
    let (together, alone) = (summary(&store, &done.header.run), alone(of_one));
    let (together, alone) = (&together.steps[0], &alone.steps[0]);
    assert_eq!((together.total.ops, alone.total.ops), (4 * OPS, 4 * OPS));
    // Each I/O counted by hand, without an engine or a bus.
    let mut counted = (Latency::default(), Latency::default());
    for (job, number) in (0..4).flat_map(|job| (0..OPS).map(move |number| (job, number))) {
        let (service_ns, response_ns) = latency(job, number);
        counted.0.record(service_ns);
        counted.1.record(response_ns);
    }
    for (whose, step) in [("four hosts", together), ("one process", alone)] {
        assert_eq!(step.total.service, counted.0, "{whose}");
        assert_eq!(step.total.response.as_ref(), Some(&counted.1), "{whose}");
    }
    for q in [0.5, 0.99, 0.999] {
        assert_eq!(together.total.service.quantile_ns(q), alone.total.service.quantile_ns(q), "{q}");
    }
    let distinct = counted.0.buckets().count();
    assert!(distinct > 300, "latencies of one kind would be merged by anything: {distinct}");
    for (own, other) in together.jobs.iter().zip(&alone.jobs) {
        assert_eq!((&own.name, &own.total.service), (&other.name, &other.total.service));
    }
}
