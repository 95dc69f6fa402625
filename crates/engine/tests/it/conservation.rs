//! No I/O is lost, counted twice or started against the rules, whatever the target does.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_engine::StopSignal;
use assay_record::{Outcome, Phase, RunEvent, StepReason, Warning};
use assay_target::{NullTarget, OpenRequest};

use crate::bench::{Faults, Reported, Seen, WatchedTarget, run_on, watch, watch_with};

fn test(fields: &str) -> String {
    format!("[[test]]\nname = \"t\"\naccess = [{{ size = \"4KiB\", read = 50, random = 50 }}]\n{fields}\n")
}

#[test]
fn every_operation_is_counted_once() {
    for fields in
        ["ops = 100_000\noutstanding = 7", "ops = 30_000\noutstanding = 64\nworkers = 3", "bytes = \"40MiB\""]
    {
        let reported = watch(&test(fields), 2, Faults::default());
        let counted = reported.counted(0).total().into_owned();
        assert_eq!(counted.ops(), reported.seen.submitted.load(Ordering::Relaxed), "{fields}");
        assert_eq!(reported.outcome, Outcome::Done);
    }
}

#[test]
fn stopping_by_operations_or_bytes_is_exact() {
    let ops = watch(&test("ops = 10_001\noutstanding = 32\nworkers = 4"), 1, Faults::default());
    assert_eq!(ops.counted(0).total().ops(), 10_001);
    let bytes = watch(&test("bytes = \"4MiB\"\noutstanding = 32\nworkers = 4"), 1, Faults::default());
    assert_eq!(bytes.counted(0).total().bytes, 4 << 20);
}

/// A job without a rate goes no further than its weight allows it beside one with a rate, and may be behind it.
#[test]
fn jobs_with_a_flow_do_not_outrun_each_other() {
    let text = "semantics = \"fio\"\n[[test]]\nname = \"t\"\nrun = \"300ms\"\n\
                access = [{ size = \"4KiB\", read = 100 }]\n\
                [[test.job]]\nname = \"slow\"\nflow = 1\npace = { rate = \"1000/s\" }\n\
                [[test.job]]\nname = \"fast\"\nflow = 4\noutstanding = 8\nworkers = 2\n";
    let reported = watch(text, 1, Faults::default());
    let [slow, fast] = [0, 1].map(|job| reported.counted(job).total().ops());
    // Two workers of four each: eight times as many, and what is in flight when the window ends.
    assert!(slow > 0 && fast > slow && fast <= 8 * slow + 32, "{slow} and {fast}");
}

/// The second job has so much to do that it would be at it for minutes.
#[test]
fn a_job_whose_end_is_that_of_the_test_takes_the_others_along() {
    let text = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\n\
                [[test.job]]\nname = \"short\"\nops = 1000\nends = \"test\"\n\
                [[test.job]]\nname = \"long\"\nops = 1_000_000_000\nworkers = 2\n";
    let reported = watch(text, 1, Faults::default());
    let [short, long] = [0, 1].map(|job| reported.counted(job).total().ops());
    assert!(short == 1000 && long < 1_000_000_000, "{short} and {long}");
    assert_eq!(reported.outcome, Outcome::Done);
}

#[test]
fn warm_up_is_drained_and_not_counted() {
    let reported = watch(&test("ops = 5_000\noutstanding = 16\nwarmup = \"50ms\""), 1, Faults::default());
    assert_eq!(reported.counted(0).total().ops(), 5_000);
    assert!(reported.seen.submitted.load(Ordering::Relaxed) > 5_000);
    let phases: Vec<Phase> = reported
        .events
        .iter()
        .filter_map(|e| match e.what {
            RunEvent::PhaseStarted { phase, .. } => Some(phase),
            _ => None,
        })
        .collect();
    assert_eq!(phases[..3], [Phase::Prepare, Phase::Warmup, Phase::Measure]);
}

/// I/Os of the warm-up that took longer than a second formed a window: a run stopped before it measured had a row.
#[test]
fn a_stop_during_the_warm_up_of_a_slow_target_leaves_no_window() {
    let check = |semantics: &str| {
        let text = format!("semantics = \"{semantics}\"\n{}", test("warmup = \"10min\"\noutstanding = 4"));
        let (stop, seen, mut events) = (StopSignal::default(), Arc::new(Seen::default()), Vec::new());
        let faults = Faults { slow: Some(Duration::from_millis(1100)), ..Faults::default() };
        let opener = |request: &OpenRequest<'_>| WatchedTarget::open(request, &seen, faults);
        let outcome = run_on(&text, 1, &opener, &stop, &mut |event| {
            if matches!(event.what, RunEvent::PhaseStarted { phase: Phase::Warmup, .. }) {
                while seen.submitted.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                stop.stop();
            }
            events.push(event);
            Ok(())
        });
        let reported = Reported { outcome: outcome.unwrap(), seen: Arc::clone(&seen), events };
        assert!(seen.submitted.load(Ordering::Relaxed) > 0, "{semantics}: the warm-up began");
        assert_eq!(reported.counted(0).total().ops(), 0, "{semantics}");
        let end = reported.ends()[0];
        assert_eq!((&end.reason, end.jobs[0].measured_ns), (&StepReason::Interrupted, 0), "{semantics}");
    };
    std::thread::scope(|scope| {
        let tests = ["assay", "iometer"].map(|semantics| scope.spawn(move || check(semantics)));
        tests.into_iter().for_each(|test| test.join().unwrap());
    });
}

#[test]
fn a_failed_operation_is_a_measurement_until_the_limit() {
    let faults = Faults { fail_every: Some(10), ..Faults::default() };
    let reported = watch(&test("ops = 500\noutstanding = 8\nerror_limit = 50"), 1, faults);
    let counted = reported.counted(0).total().into_owned();
    assert_eq!((counted.ops(), counted.errors), (450, 50));
    assert_eq!(reported.outcome, Outcome::Done);
    let failure = &reported.ends()[0].failures[0];
    assert_eq!((failure.errno, failure.size_bytes), (5, 4096));
    assert!(failure.says.contains("Input/output error"), "{}", failure.says);

    let reported = watch(&test("ops = 100_000\noutstanding = 8\nerror_limit = 50"), 1, faults);
    assert_eq!((reported.outcome, &reported.ends()[0].reason), (Outcome::Failed, &StepReason::ErrorLimit));
    assert!(reported.counted(0).total().errors >= 51);
}

/// What failed in the warm-up or after the window was in no count.
#[test]
fn every_failed_operation_is_counted_in_the_window_or_outside_it() {
    let faults = Faults { fail_every: Some(10), ..Faults::default() };
    for semantics in ["assay", "iometer"] {
        let load = test("warmup = \"50ms\"\nrun = \"100ms\"\noutstanding = 8\nerror_limit = 1_000_000_000");
        let reported = watch(&format!("semantics = \"{semantics}\"\n{load}"), 1, faults);
        let (inside, outside) = (reported.counted(0).total().errors, reported.ends()[0].outside_errors);
        let failed = reported.seen.failed.load(Ordering::Relaxed);
        assert_eq!(inside + outside, failed, "{semantics}");
    }
}

#[test]
fn a_lost_target_ends_the_run_and_keeps_the_results_so_far() {
    let faults = Faults { lost_after: Some(1_000), ..Faults::default() };
    for semantics in ["assay", "iometer"] {
        let text =
            format!("semantics = \"{semantics}\"\n{}", test("outstanding = 4\nworkers = 2\nrun = \"10s\""));
        let reported = watch(&text, 1, faults);
        assert_eq!(reported.outcome, Outcome::Failed);
        let end = reported.ends()[0];
        assert!(matches!(&end.reason, StepReason::TargetLost(why) if why.contains("pulled the plug")));
        assert!(reported.counted(0).total().ops() > 900, "{semantics}");
        assert!(end.jobs[0].measured_ns > 0, "{semantics}: what was done took some time");
    }
}

#[test]
fn outstanding_is_per_worker_or_per_member() {
    let depth = |semantics: &str, members| {
        let reported = watch(
            &format!("semantics = \"{semantics}\"\n{}", test("ops = 1000\noutstanding = 8")),
            members,
            Faults::default(),
        );
        reported.seen.depth_max.load(Ordering::Relaxed)
    };
    assert_eq!(depth("assay", 3), 8);
    assert_eq!(depth("iometer", 3), 24);
}

#[test]
fn reconnecting_drains_first_and_rewinds() {
    let text = "semantics = \"iometer\"\n[[test]]\nname = \"t\"\nreconnect_every = 500\noutstanding = 64\n\
                run = \"300ms\"\n\
                access = [{ size = \"32KiB\", read = 100, random = 0 }]\n";
    let seen = Seen { log: Some(Mutex::default()), ..Seen::default() };
    let reported = watch_with(text, 1, Faults::default(), seen, &StopSignal::default());
    assert_eq!(reported.seen.in_flight_at_reopen.load(Ordering::Relaxed), 0);
    let submitted = reported.seen.submitted.load(Ordering::Relaxed);
    let reopened = reported.seen.reopened.load(Ordering::Relaxed);
    assert!(reopened == submitted / 500 || reopened + 1 == submitted / 500, "{submitted} {reopened}");
    let log = reported.seen.log.as_ref().unwrap().lock().unwrap();
    // 15.6 MiB are accessed repeatedly; after a reopen Iometer starts one request late.
    assert!(log.iter().all(|(offset, ..)| *offset <= 500 * 32768));
    assert_eq!((log[0].0, log[500].0, log[1000].0), (0, 32768, 32768));
}

#[test]
fn a_reply_follows_each_request_in_the_other_direction() {
    let text = "semantics = \"iometer\"\n[[test]]\nname = \"t\"\nops = 4000\noutstanding = 4\n\
                access = [{ size = \"4KiB\", read = 100, random = 100, reply = \"512\" }]\n";
    let reported = watch(text, 1, Faults::default());
    let counted = reported.counted(0);
    assert_eq!((counted.read.ops(), counted.write.ops()), (2_000, 2_000), "replies are I/Os too");
    assert_eq!(counted.write.bytes, 2_000 * 512);
}

/// Limits once counted requests only: a plan with replies did twice the requested I/Os.
#[test]
fn limits_on_operations_and_bytes_count_replies() {
    for (semantics, workers) in [("assay", 1), ("assay", 3), ("iometer", 1), ("iometer", 2)] {
        let counted = |limit: &str| {
            let text = format!(
                "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\n{limit}\nworkers = {workers}\noutstanding = 5\n\
                 access = [{{ size = \"4KiB\", read = 100, random = 100, reply = \"4KiB\" }}]\n"
            );
            watch(&text, 1, Faults::default()).counted(0).total().into_owned()
        };
        assert_eq!(counted("ops = 1200").ops(), 1_200, "{semantics} {workers}");
        assert_eq!(counted("bytes = \"6MiB\"").bytes, 6 << 20, "{semantics} {workers}");
    }
}

#[test]
fn concurrent_jobs_are_counted_separately_on_their_targets() {
    let text = "[[test]]\nname = \"t\"\nrun = \"300ms\"\n\
        [[test.job]]\ntargets = [0]\noutstanding = 4\naccess = [{ size = \"8KiB\", read = 100, random = 100 }]\n\
        [[test.job]]\ntargets = [1, 2]\noutstanding = 2\naccess = [{ size = \"64KiB\", read = 0 }]\n";
    let reported = watch(text, 3, Faults::default());
    let (first, second) = (reported.counted(0), reported.counted(1));
    assert!(first.read.ops() > 0 && first.write.ops() == 0);
    assert!(second.write.ops() > 0 && second.read.ops() == 0);
    assert_eq!(first.read.ops() + second.write.ops(), reported.seen.submitted.load(Ordering::Relaxed));
    assert_eq!(reported.ends()[0].jobs.len(), 2);
}

#[test]
fn an_open_loop_issues_at_its_rate_and_measures_from_the_due_time() {
    let reported = watch(
        &test("run = \"1s\"\noutstanding = 4\npace = { rate = \"5000/s\", arrivals = \"constant\" }"),
        1,
        Faults::default(),
    );
    let due = reported.ends()[0].jobs[0].due.unwrap();
    assert!((4_999..=5_001).contains(&due), "{due}");
    let counted = reported.counted(0).total().into_owned();
    let (service, response) = (&counted.service, counted.response.as_ref().unwrap());
    assert_eq!(service.count(), response.count());
    assert!(response.sum_ns() >= service.sum_ns());
}

/// The first turn of such a load has nothing to issue yet, and only it was looked at: a run over hosts had no start
/// skew.
#[test]
fn the_first_io_of_a_load_with_a_rate_is_known_and_when_it_was_due() {
    for arrivals in ["constant", "poisson"] {
        let pace =
            format!("run = \"500ms\"\nworkers = 2\npace = {{ rate = \"40/s\", arrivals = \"{arrivals}\" }}");
        let reported = watch(&test(&pace), 1, Faults::default());
        let moments = reported.ends()[0].moments.unwrap();
        let (due, issued) = (moments.first_due_ns.unwrap(), moments.first_io_ns.unwrap());
        assert!((moments.load_ns..=issued).contains(&due), "{moments:?}");
    }
}

/// The window began when the workers had woken and met again: of a thousand hosts on two CPUs 50 ms late, and their
/// schedules with it, so that nothing looked late.
#[test]
fn without_a_warm_up_the_window_and_the_schedule_begin_at_the_common_moment() {
    for warmup in ["0s", "100ms"] {
        let pace = format!(
            "run = \"200ms\"\nwarmup = \"{warmup}\"\nworkers = 2\n\
             pace = {{ rate = \"40/s\", arrivals = \"constant\" }}"
        );
        let moments = watch(&test(&pace), 1, Faults::default()).ends()[0].moments.unwrap();
        assert_eq!(moments.first_due_ns, Some(moments.load_ns), "{moments:?}");
        assert_eq!(moments.window_ns == Some(moments.load_ns), warmup == "0s", "{moments:?}");
    }
}

#[test]
fn a_burst_with_a_delay_paces_the_whole_worker() {
    let text = "semantics = \"iometer\"\n[[test]]\nname = \"t\"\nrun = \"500ms\"\noutstanding = 16\n\
                access = [{ size = \"4KiB\", delay = \"10ms\", burst = 5 }]\n";
    let reported = watch(text, 1, Faults::default());
    // At most 50 bursts of 5, however late this machine's timers are.
    let ops = reported.counted(0).total().ops();
    assert!(ops <= 255 && ops > 0 && ops.is_multiple_of(5), "{ops}");
}

/// Runs a plan and stops it in the middle of a long step.
fn stopped(text: &str) -> Reported {
    let stop = StopSignal::default();
    let stopper = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            stop.stop();
        })
    };
    let reported = watch_with(text, 1, Faults::default(), Seen::default(), &stop);
    stopper.join().unwrap();
    assert_eq!(
        (reported.outcome, &reported.ends()[0].reason),
        (Outcome::Interrupted, &StepReason::Interrupted)
    );
    assert!(reported.ends()[0].jobs[0].measured_ns < 60_000_000_000);
    reported
}

#[test]
fn a_stop_keeps_the_results_so_far() {
    let reported = stopped(&test("run = \"1h\"\noutstanding = 8"));
    assert_eq!(reported.counted(0).total().ops(), reported.seen.submitted.load(Ordering::Relaxed));
}

/// I/Os completed after the stop were counted although the window had been closed before: too many I/Os for its length.
#[test]
fn under_iometers_rules_completions_after_a_stop_do_not_count() {
    let reported = stopped(&format!("semantics = \"iometer\"\n{}", test("run = \"1h\"\noutstanding = 8")));
    assert_eq!(reported.counted(0).total().ops() + 8, reported.seen.submitted.load(Ordering::Relaxed));
}

/// A drain waited for ever, and a single Ctrl-C had no effect.
#[test]
fn unresponsive_storage_is_reported_at_once_and_does_not_delay_a_stop() {
    let stop = StopSignal::default();
    let stopper = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(3_300));
            stop.stop();
            std::time::Instant::now()
        })
    };
    let faults = Faults { hangs_after: Some(1_000), ..Faults::default() };
    let reported = watch_with(&test("run = \"1h\"\noutstanding = 8"), 1, faults, Seen::default(), &stop);
    let took = stopper.join().unwrap().elapsed();
    assert!((5..20).contains(&took.as_secs()), "{took:?} after the stop");
    assert_eq!(
        (reported.outcome, &reported.ends()[0].reason),
        (Outcome::Interrupted, &StepReason::Interrupted)
    );
    let warnings: Vec<(u64, &Warning)> = (reported.events.iter())
        .filter_map(|event| match &event.what {
            RunEvent::Warning(warning) => Some((event.at_ns, warning)),
            _ => None,
        })
        .collect();
    let says: Vec<&str> = warnings.iter().map(|(_, warning)| warning.says.as_str()).collect();
    let [(stalled_ns, stalled), (_, abandoned)] = warnings[..] else { panic!("{says:?}") };
    assert!(
        stalled.rule == "stalled-io" && stalled.says.contains("null:1GiB: the oldest of 8 I/Os"),
        "{says:?}"
    );
    assert!(stalled_ns < 3_300_000_000, "before the stop: {stalled_ns}");
    assert!(abandoned.rule == "abandoned-io" && abandoned.says.contains("8 I/Os had no answer"), "{says:?}");
}

#[test]
fn a_connection_with_replies_is_reopened_with_nothing_in_flight() {
    for semantics in ["assay", "iometer"] {
        let text = format!(
            "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\nops = 8000\noutstanding = 7\n\
             reconnect_every = 50\naccess = [{{ size = \"4KiB\", read = 100, random = 100, reply = \"512\" }}]\n"
        );
        let reported = watch(&text, 1, Faults::default());
        assert_eq!(reported.counted(0).read.ops(), 4_000);
        assert_eq!(reported.counted(0).write.ops(), 4_000);
        assert_eq!(reported.seen.in_flight_at_reopen.load(Ordering::Relaxed), 0);
        assert_eq!(reported.seen.reopened.load(Ordering::Relaxed), 4_000 / 50);
    }
}

/// Iometer starts no I/O on a closing target, replies included: the replies to a connection's last requests are sent
/// over the next one. Under Assay semantics transactions stay complete.
#[test]
fn iometer_sends_the_last_reply_of_a_connection_after_it_was_reopened() {
    let reopened_after = |semantics: &str| {
        let text = format!(
            "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\nops = 24\nreconnect_every = 3\n\
             access = [{{ size = \"4KiB\", read = 100, random = 0, reply = \"512\" }}]\n"
        );
        let reported = watch(&text, 1, Faults::default());
        reported.seen.reopened_after.lock().unwrap().clone()
    };
    assert_eq!(reopened_after("iometer"), [5, 11, 17, 23]);
    assert_eq!(reopened_after("assay"), [6, 12, 18, 24]);
}

#[test]
fn results_that_cannot_be_stored_end_the_run() {
    let opener = |r: &OpenRequest<'_>| NullTarget::new(r.spans(), r.depth);
    let mut reported = 0;
    let result = run_on(&test("run = \"1h\""), 1, &opener, &StopSignal::default(), &mut |_| {
        reported += 1;
        if reported > 5 { Err("disk full".into()) } else { Ok(()) }
    });
    assert_eq!(result.unwrap_err().to_string(), "cannot store the results: disk full");
}

#[test]
fn the_same_seed_gives_the_same_io() {
    let log = || {
        let seen = Seen { log: Some(Mutex::default()), ..Seen::default() };
        let reported = watch_with(
            &test("ops = 5000\noutstanding = 8"),
            2,
            Faults::default(),
            seen,
            &StopSignal::default(),
        );
        reported.seen.log.as_ref().unwrap().lock().unwrap().clone()
    };
    assert_eq!(log(), log());
}
