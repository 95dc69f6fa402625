//! Pages over a store with 10,000 runs, asked for as a browser does: medians beside their goals. Decides nothing.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails where it must")]
#![expect(dead_code, reason = "what tests use and this does not")]

#[path = "../tests/it/client.rs"]
mod client;
#[path = "../../store/benches/support/many.rs"]
mod many;
#[path = "../tests/it/served.rs"]
mod served;

use std::time::{Duration, Instant};

use assay_web::{Limits, RequestRate};
use served::{RUN, Reach, Served};

const RUNS: u64 = 10_000;
const ROUNDS: usize = 9;
/// Bytes of the first page with everything that it loads.
const FIRST_LOAD: usize = 200 << 10;

fn main() {
    // One visitor that asks as fast as it can.
    let requests = RequestRate { per_s: 1e9, at_once: 1e9 };
    let served = Served::with(Reach::Loopback, Limits { requests, ..Limits::default() });
    many::fill(&served.store(), RUNS, 0.0);
    println!("{RUNS} runs; medians of {ROUNDS}");
    say(&served, "list", "/runs", 50);
    say(&served, "search: a common word", "/runs?q=vmware", 100);
    say(&served, "search: a rare word", "/runs?q=week+42", 100);
    say(&served, "filter: critical", "/runs?severity=critical", 100);
    say(&served, "a run", &format!("/runs/{RUN}"), 300);
    say(&served, "targets", "/targets", 300);
    say(&served, "one target", "/targets?target=/srv/lun3", 300);
    say(&served, "predict", "/predict/part?array=raid6-12bay&disks=20&plan=vmware", 100);
    say(&served, "metrics", "/metrics", 300);
    for path in ["/", "/runs"] {
        let page = served.get(path, &[]).body;
        let assets = page.split(['"', '\'']).filter(|part| part.starts_with("/assets/"));
        let bytes = page.len() + assets.map(|asset| served.get(asset, &[]).body.len()).sum::<usize>();
        let verdict = if bytes <= FIRST_LOAD { "" } else { "   MISSED" };
        println!(
            "{:<42} {:>8.1} KiB  goal {} KiB{verdict}",
            format!("first load of {path}"),
            bytes as f64 / 1024.0,
            FIRST_LOAD >> 10
        );
    }
}

/// Prints the median time of a request beside its goal, ms.
fn say(served: &Served, name: &str, path: &str, goal_ms: u64) {
    let mut bytes = 0;
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            let answer = served.get(path, &[]);
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            bytes = answer.body.len();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median_ms = times[times.len() / 2].as_secs_f64() * 1e3;
    let verdict = if median_ms <= goal_ms as f64 { "" } else { "   MISSED" };
    println!("{name:<42} {median_ms:>8.2} ms   goal {goal_ms} ms   {} KiB{verdict}", bytes >> 10);
}
