//! Four agents, each a process of its own, and every I/O that they did with its latency: put into one histogram by this
//! one process, they are what the record of the run has, bucket for bucket.

use std::io::{BufRead as _, BufReader};

use assay_record::{Latency, PlaceSample, RunEvent};
use assay_store::Store;
use assay_testkit::nats;

use crate::story::{DONE, Running, Story};

const HOSTS: [&str; 4] = ["a", "b", "c", "d"];
/// Of each host: the end of a step keeps so many I/Os with their places and latencies, and thins none of them.
const OPS: usize = 1000;

/// An agent that may write to the files of the story.
fn agent(story: &Story, url: &str, name: &str, config: &str) -> Running {
    let mut agent = story.start(&["agent", "--nats", url, "--name", name, "--config", config]);
    let mut said = String::new();
    BufReader::new(agent.child().stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with(&format!("agent {name} is on")), "{said}");
    agent
}

/// What the store has of a run: the logged I/Os, and the histogram of its intervals.
fn stored(story: &Story, run: &str) -> (Vec<PlaceSample>, Latency) {
    let store = Store::open(story.path("store.sqlite")).unwrap();
    let (mut logged, mut counted) = (Vec::new(), Latency::default());
    store
        .each_event(run, |event| match event.what {
            RunEvent::Interval(interval) => counted.merge(&interval.sum().total().service),
            RunEvent::StepEnded(end) => logged.extend(end.places),
            _ => {}
        })
        .unwrap();
    (logged, counted)
}

/// Offsets of the I/Os of each job, sorted.
fn offsets(logged: &[PlaceSample]) -> Vec<Vec<u64>> {
    let mut of_jobs = vec![Vec::new(); HOSTS.len()];
    logged.iter().for_each(|of| of_jobs[of.job as usize].extend(of.ios.iter().map(|io| io.1)));
    of_jobs.iter_mut().for_each(|of| of.sort_unstable());
    of_jobs
}

#[test]
fn every_io_of_four_agents_by_one_process_is_the_record_of_their_run() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let folder = story.path("").display().to_string();
    let config =
        story.write("agent.toml", format!("[[target]]\npattern = \"{folder}*.dat\"\nwrite = true\n"));
    let _agents = HOSTS.map(|name| agent(&story, &url, name, &config));
    let test = format!(
        "[[test]]\nname = \"reads\"\naccess = [{{ size = \"4KiB\", random = 0 }}]\noutstanding = 4\nops = {OPS}\n\
         run = \"60s\"\n"
    );
    story.write("hosts.toml", &test);
    let target = format!("{folder}{{host}}.dat");
    let over = ["--hosts", "a,b,c,d", "--nats", &url, "--size", "16MiB", "--json"];
    let run = story.assay(&[&["run", "hosts.toml", &target][..], &over].concat()).ends(DONE).json();

    let (logged, counted) = stored(&story, run["run"].as_str().unwrap());
    assert!(logged.iter().all(|of| of.every == 1), "none is left out");
    let mut by_hand = Latency::default();
    logged.iter().flat_map(|of| &of.ios).for_each(|io| by_hand.record(io.2));
    assert_eq!(by_hand.count(), u64::try_from(HOSTS.len() * OPS).unwrap());
    assert_eq!(by_hand, counted, "the histogram of the run is that of its I/Os");
    let shown = &run["tests"][0]["total"]["service_us"];
    for (name, q) in [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)] {
        let (shown, ours) = (shown[name].as_f64().unwrap(), by_hand.quantile_ns(q).unwrap() / 1e3);
        assert!((shown - ours).abs() < 0.001, "{name}: {shown} and {ours}");
    }

    // One process does these very I/Os: the record of the one has what that of the four has.
    let jobs =
        |(number, name): (usize, &&str)| format!("[[test.job]]\nname = \"{name}\"\ntargets = [{number}]\n");
    let jobs: String = HOSTS.iter().enumerate().map(jobs).collect();
    story.write("one.toml", test + &jobs);
    let files = HOSTS.map(|host| format!("{folder}{host}.dat"));
    let mut words = vec!["run", "one.toml"];
    words.extend(files.iter().map(String::as_str));
    words.extend(["--size", "16MiB", "--json"]);
    let one = story.assay(&words).ends(DONE).json();
    let (of_one, counted) = stored(&story, one["run"].as_str().unwrap());
    let mut by_hand = Latency::default();
    of_one.iter().flat_map(|of| &of.ios).for_each(|io| by_hand.record(io.2));
    assert_eq!(by_hand, counted);
    assert_eq!(offsets(&logged), offsets(&of_one), "the same I/Os on the same files");
}
