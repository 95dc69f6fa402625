//! Pages over a store with 10,000 runs (`ASSAY_BENCH_RUNS`), asked for as a browser does: the first time and medians
//! beside their goals, and the CPU time of the process in both. With `ASSAY_BENCH_HOLD` it serves the store until its
//! input ends, for a browser. Decides nothing.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails where it must")]
#![expect(dead_code, reason = "what tests use and this does not")]

#[path = "../tests/it/client.rs"]
mod client;
#[path = "../../store/benches/support/many.rs"]
mod many;
#[path = "../tests/it/served.rs"]
mod served;

use std::time::Instant;

use assay_store::{Baseline, BaselineOf, RunFilter, RunSlice};
use assay_web::{Limits, RequestRate};
use served::{RUN, Reach, Served};

const ROUNDS: usize = 9;
/// Bytes of the first page with everything that it loads.
const FIRST_LOAD: usize = 200 << 10;

fn main() {
    // One visitor that asks as fast as it can.
    let requests = RequestRate { per_s: 1e9, at_once: 1e9 };
    let served = Served::with(Reach::Loopback, Limits { requests, ..Limits::default() });
    // With extracts of today, so that nothing is made in the background while pages are timed.
    let extract = |header: &_, events: &_| {
        let collector = assay_results::collector_of(header, events);
        assay_results::completed(header, &collector).unwrap().extract
    };
    many::fill(&served.store(), 0.0, extract);
    complete(&served);
    println!("{} runs; the first time, and medians of {ROUNDS}; CPU time likewise", many::runs());
    say(&served, "now", "/", 20);
    say(&served, "list", "/runs", 20);
    say(&served, "list, last page", "/runs?page=999999", 50);
    say(&served, "list by p99", "/runs?sort=p99", 50);
    say(&served, "list by limit", "/runs?sort=limit", 50);
    say(&served, "list against the baseline", "/runs?sort=baseline", 50);
    say(&served, "search: a common word", "/runs?q=vmware", 100);
    say(&served, "search: a rare word", "/runs?q=week+42", 100);
    say(&served, "filter: critical", "/runs?severity=critical", 100);
    say(&served, "a run", &format!("/runs/{RUN}"), 300);
    say(&served, "what to compare", "/compare", 50);
    say(&served, "what to compare, searched", "/compare?find=week+42", 100);
    say(&served, "compare two", &compared(&served, 2), 200);
    say(&served, "compare eight", &compared(&served, 8), 200);
    say(&served, "targets", "/targets", 100);
    say(&served, "one target", "/targets?target=/srv/lun3", 300);
    say(&served, "predict", "/predict/part?array=raid6-12bay&disks=20&plan=vmware", 100);
    say(&served, "diagnoses", "/diagnose", 100);
    say(&served, "new run", "/new", 50);
    say(&served, "methods", "/methods", 100);
    say(&served, "runs as JSON", "/api/v1/runs", 50);
    say(&served, "trends as JSON", "/api/v1/trends?target=/srv/lun3", 300);
    say(&served, "metrics", "/metrics", 300);
    say_after_writes(&served);
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
    hold(&served);
}

/// Prints the times of pages as beside a run that goes on: somebody writes before each view.
fn say_after_writes(served: &Served) {
    let writer = served.store();
    let write = |round: usize| writer.set_null_ceiling("bench", round as f64).unwrap();
    for (name, path, goal_ms) in [
        ("targets", "/targets", 100),
        ("list by p99", "/runs?sort=p99", 50),
        ("list by limit", "/runs?sort=limit", 50),
        ("list against the baseline", "/runs?sort=baseline", 50),
        ("metrics", "/metrics", 100),
    ] {
        say_after(served, &format!("{name}, after a write"), path, goal_ms, &write);
    }
    let on_target = Some("/srv/lun3".to_owned());
    let of_one = RunFilter { on_target, ..RunFilter::default() };
    let newest = writer.rows(&of_one, RunSlice { skip: 0, limit: 1 }).unwrap().remove(0).run;
    let change = |round: usize| writer.set_label(&newest, Some(&format!("round {round}"))).unwrap();
    for (name, path, goal_ms) in [
        ("targets", "/targets", 100),
        ("one target", "/targets?target=/srv/lun3", 200),
        ("trends as JSON", "/api/v1/trends?target=/srv/lun3", 200),
        ("metrics", "/metrics", 200),
    ] {
        say_after(served, &format!("{name}, after a run changed"), path, goal_ms, &change);
    }
}

/// Completes the runs that every store of a test has, and makes a run the baseline of a target.
fn complete(served: &Served) {
    let store = served.store();
    assay_results::incomplete(&store)
        .unwrap()
        .iter()
        .for_each(|run| assay_results::complete(&store, run).unwrap());
    let filter = RunFilter { on_target: Some("/srv/lun3".into()), ..RunFilter::default() };
    let newest = store.rows(&filter, RunSlice { skip: 0, limit: 1 }).unwrap();
    if let Some(row) = newest.first() {
        let (address, plan) = ("/srv/lun3".to_owned(), row.name.clone());
        store
            .set_baseline(&Baseline { address, plan, of: BaselineOf::Run(row.run.clone()), set_unix_ms: 1 })
            .unwrap();
    }
}

/// Serves until the input ends.
fn hold(served: &Served) {
    if std::env::var_os("ASSAY_BENCH_HOLD").is_some() {
        println!("http://{} {}", served.address(), compared(served, 4));
        let _ = std::io::stdin().read_line(&mut String::new());
    }
}

/// The address of a comparison of so many runs, the newest.
fn compared(served: &Served, count: usize) -> String {
    let page = served.get("/runs", &[]).body;
    let runs = page.split("name=\"r\" value=\"").skip(1).take(count);
    let named: Vec<String> = runs.map(|rest| format!("r={}", rest.split('"').next().unwrap())).collect();
    format!("/compare?{}", named.join("&"))
}

/// Prints the median time of a request beside its goal, ms.
fn say(served: &Served, name: &str, path: &str, goal_ms: u64) {
    say_after(served, name, path, goal_ms, &|_| ());
}

/// Returns the CPU time of this process so far, ms: what a page costs, whatever else runs on the machine.
fn cpu_ms() -> f64 {
    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    std::fs::read_dir("/proc/self/task").unwrap().filter_map(of_thread).sum::<f64>() / 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The same, with something done before each request.
fn say_after(served: &Served, name: &str, path: &str, goal_ms: u64, before: &dyn Fn(usize)) {
    let mut bytes = 0;
    // Answers of the last second are kept by their addresses.
    let sign = if path.contains('?') { '&' } else { '?' };
    let (times, cpu): (Vec<f64>, Vec<f64>) = (0..ROUNDS)
        .map(|round| {
            before(round);
            let (began, used) = (Instant::now(), cpu_ms());
            let answer = served.get(&format!("{path}{sign}round={round}"), &[]);
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            bytes = answer.body.len();
            (began.elapsed().as_secs_f64() * 1e3, cpu_ms() - used)
        })
        .unzip();
    let (first_ms, first_cpu_ms) = (times[0], cpu[0]);
    let (median_ms, cpu_ms) = (median(times), median(cpu));
    let verdict = if median_ms <= goal_ms as f64 { "" } else { "   MISSED" };
    println!(
        "{name:<42} {first_ms:>8.1} {median_ms:>8.1} ms, CPU {first_cpu_ms:>6.1} {cpu_ms:>6.1} ms   \
         goal {goal_ms} ms   {} KiB{verdict}",
        bytes >> 10
    );
}
