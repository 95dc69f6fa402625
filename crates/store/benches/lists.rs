//! Lists of a store with 10,000 runs: opening, listing, searching, and the rows of one target. Prints medians beside
//! their goals, and decides nothing: `make bench` shows them on a quiet machine.
//!
//! `ASSAY_BENCH_EVENTS_MIB` is how much of events each run has (default 0.1, so 1 GiB in all; 1 makes a store of
//! 10 GiB): no list may depend on it. `ASSAY_BENCH_RUNS` is another number of runs. `ASSAY_BENCH_STORE` is a store in a
//! server, `postgres://…`, in place of a file: an empty one, or one that was filled with as many by this bench before.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails where it must")]

#[path = "support/many.rs"]
mod many;

use std::time::{Duration, Instant};

use assay_record::Severity;
use assay_store::{PackedExtract, RunFilter, RunSlice, Store, StoreAddress};
use many::{fill, runs};

const ROUNDS: u32 = 15;
/// Rows of a page of the list.
const PAGE: RunSlice = RunSlice { skip: 0, limit: 100 };

fn main() {
    let events_mib: f64 =
        std::env::var("ASSAY_BENCH_EVENTS_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(0.1);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let address = match std::env::var("ASSAY_BENCH_STORE") {
        Ok(address) => StoreAddress::parse(address).unwrap(),
        Err(_) => folder.path().join("runs.sqlite").into(),
    };
    let began = Instant::now();
    let nothing = |_: &_, _: &_| PackedExtract::of(1, &0).unwrap();
    let (store, runs) = (Store::open(&address).unwrap(), runs());
    if store.count().unwrap() == 0 {
        fill(&store, events_mib, nothing);
    }
    assert_eq!(store.count().unwrap() as u64, runs, "the store has other runs");
    println!(
        "{runs} runs in {address}, added in {:.1} s; medians of {ROUNDS}",
        began.elapsed().as_secs_f64()
    );
    say("open", 50, || drop(Store::open(&address).unwrap()));
    let text = |text: &str| RunFilter { text: text.to_owned(), ..RunFilter::default() };
    let list = |filter: RunFilter, slice| store.list(&filter, slice).unwrap();
    say("list: first page", 50, || drop(list(RunFilter::default(), PAGE)));
    say("list: a page near the end", 50, || {
        drop(list(RunFilter::default(), RunSlice { skip: usize::try_from(runs).unwrap() * 9 / 10, ..PAGE }))
    });
    say("list: every run as assay runs reads it", 50, || drop(store.runs().unwrap()));
    say("search: a common word", 100, || drop(list(text("vmware"), PAGE)));
    say("search: a rare word", 100, || drop(list(text("week 42"), PAGE)));
    say("search: two letters", 100, || drop(list(text("k7"), PAGE)));
    say("search: nothing found", 100, || drop(list(text("no such run"), PAGE)));
    let critical = RunFilter { severity: Some(Severity::Critical), ..RunFilter::default() };
    say("filter: critical findings", 100, || drop(list(critical.clone(), PAGE)));
    let part = RunFilter { target: Some("lun3".into()), ..RunFilter::default() };
    say("filter: a part of a target", 100, || drop(list(part.clone(), PAGE)));
    say("filter: a part of a target, counted", 100, || assert!(store.matching(&part).unwrap() > 0));
    let one = RunFilter { on_target: Some("/srv/lun3".into()), ..RunFilter::default() };
    let newest = RunSlice { skip: 0, limit: 1_000 };
    say("trend: what a page draws of one target", 300, || drop(list(one.clone(), newest)));
    say("trend: every run of one target", 300, || {
        assert!(list(one.clone(), RunSlice::ALL).matching > 100);
    });
    say("poll: nothing new", 5, || drop(store.running().unwrap()));
}

/// Prints the median time of a call beside its goal, ms.
fn say(name: &str, goal_ms: u64, mut call: impl FnMut()) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            call();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median_ms = times[times.len() / 2].as_secs_f64() * 1e3;
    let verdict = if median_ms <= goal_ms as f64 { "" } else { "   MISSED" };
    println!("{name:<42} {median_ms:>8.2} ms   goal {goal_ms} ms{verdict}");
}
