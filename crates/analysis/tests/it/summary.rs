//! Rates, windows, status: against what the simulated target must give.

use assay_analysis::{Load, RunStatus};
use assay_record::{Event, RunEvent};

use crate::synthetic::{self, Target};
use crate::{run, summarize};

const CLOSED: &str = "[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 65, random = 60 }]\n\
    outstanding = 16\nrun = \"4s\"\n";

#[test]
fn a_full_queue_obeys_littles_law_and_units_agree() {
    let (_, summary) = run(CLOSED);
    let step = &summary.steps[0];
    assert_eq!((summary.status, step.complete, step.load), (RunStatus::Done, true, Load::Closed));
    assert!((step.outstanding_effective - 16.0).abs() < 0.1, "{}", step.outstanding_effective);
    let mean_s = step.total.service.mean_ns().unwrap() / 1e9;
    assert!((step.total.iops * mean_s - step.outstanding_effective).abs() < 1e-6);
    assert!((step.total.mib_per_s - step.total.iops / 128.0).abs() < 1e-6);
    assert!((step.total.mb_per_s - step.total.iops * 8192.0 / 1e6).abs() < 1e-6);
    assert_eq!(step.read.ops + step.write.ops, step.total.ops);
    assert!((step.read.iops + step.write.iops - step.total.iops).abs() < 1e-6);
}

#[test]
fn rates_of_jobs_side_by_side_add_up_over_their_own_windows() {
    let (_, summary) = run("[[test]]\nname = \"two\"\nrun = \"3s\"\n\
        [[test.job]]\naccess = [{ size = \"8KiB\", random = 100 }]\noutstanding = 8\n\
        [[test.job]]\naccess = [{ size = \"256KiB\", read = 0 }]\noutstanding = 2\n");
    let step = &summary.steps[0];
    let [a, b] = &step.jobs[..] else { panic!("two jobs") };
    assert!((step.total.iops - a.total.iops - b.total.iops).abs() < 1e-9);
    assert!((step.outstanding_effective - a.outstanding_effective - b.outstanding_effective).abs() < 1e-9);
    assert_eq!(step.seconds, a.seconds.max(b.seconds));
    assert_eq!(step.total.service.count(), a.total.ops + b.total.ops);
    assert_eq!(step.write.ops, b.total.ops);
}

/// 200 IOPS were reported of a test that had 100 in each of its seconds.
#[test]
fn jobs_one_after_the_other_have_the_rate_of_the_whole_time() {
    let header = synthetic::header(synthetic::plan(
        "[[test]]\nname = \"two\"\nrun = \"3s\"\n\
        [[test.job]]\nname = \"a\"\naccess = [{ size = \"8KiB\", random = 100 }]\noutstanding = 8\n\
        [[test.job]]\nname = \"b\"\naccess = [{ size = \"8KiB\", random = 100 }]\noutstanding = 8\n",
    ));
    let mut reported = synthetic::events(&header, Target::default());
    let side_by_side = summarize(&header, &reported).steps[0].clone();
    for event in &mut reported {
        if let RunEvent::Interval(interval) = &mut event.what
            && interval.job == 1
        {
            interval.start_ns += 3_000_000_000;
            interval.end_ns += 3_000_000_000;
        }
    }
    let step = &summarize(&header, &reported).steps[0];
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.01, "{value} {expected}");
    near(step.seconds, 6.0);
    near(step.total.iops, step.jobs[0].total.iops);
    near(step.total.iops * step.seconds, step.total.ops as f64);
    near(step.total.iops, side_by_side.total.iops / 2.0);
    near(step.outstanding_effective, 8.0);
    assert_eq!((step.outstanding_asked, side_by_side.outstanding_asked), (8, 16));
}

#[test]
fn a_killed_run_counts_what_its_intervals_cover() {
    let header = synthetic::header(synthetic::plan(CLOSED));
    let reported = synthetic::events(&header, Target::default());
    let is_third_interval =
        |e: &Event| matches!(&e.what, RunEvent::Interval(i) if i.start_ns == 2_000_000_000);
    let cut = reported.iter().position(is_third_interval).unwrap();
    let summary = summarize(&header, &reported[..=cut]);
    let step = &summary.steps[0];
    assert_eq!((summary.status, step.complete, step.seconds), (RunStatus::Partial, false, 3.0));
    let whole = summarize(&header, &reported);
    let ratio = step.total.iops / whole.steps[0].total.iops;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    // Its samples stand in for the CPU figures that the step's end would have brought.
    assert!((step.cpu.used.unwrap().host_busy - 0.12).abs() < 1e-9);
}

#[test]
fn nothing_yet_is_a_summary_too() {
    let header = synthetic::header(synthetic::plan(CLOSED));
    let reported = synthetic::events(&header, Target::default());
    for seen in 0..5 {
        let summary = summarize(&header, &reported[..seen]);
        assert_eq!(summary.status, RunStatus::Partial);
        assert!(summary.steps.iter().all(|s| s.total.iops == 0.0 && s.outstanding_effective == 0.0));
        assert!(assay_analysis::findings(&header, &summary).iter().all(|f| !f.says.is_empty()));
    }
}

#[test]
fn an_open_loop_keeps_response_apart_and_counts_what_was_due() {
    let (_, summary) = run("[[test]]\nname = \"o\"\naccess = [{ size = \"8KiB\", random = 100 }]\n\
        outstanding = 256\nrun = \"3s\"\npace = { rate = \"1000/s\", arrivals = \"constant\" }\n");
    let step = &summary.steps[0];
    assert_eq!((step.load, step.jobs[0].due), (Load::Open, Some(3000)));
    assert_eq!(step.total.response.as_ref().unwrap().count(), step.total.ops);
    assert!((step.total.iops - 1000.0).abs() < 10.0, "{}", step.total.iops);
}

#[test]
fn the_series_covers_the_window_and_sums_to_the_total() {
    let (_, summary) = run(CLOSED);
    let step = &summary.steps[0];
    assert_eq!(step.series.len(), 4);
    let ops: f64 = step.series.iter().map(|p| p.iops).sum();
    assert!((ops / step.total.ops as f64 - 1.0).abs() < 0.01, "{ops}");
    assert!(step.series.iter().all(|p| p.p50_us < p.p99_us));
}
