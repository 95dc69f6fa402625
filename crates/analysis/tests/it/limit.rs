//! The verdict on runs of which no array is known: each explanation on a run that has it and no other.

use assay_analysis::{Certainty, LimitKind, RunLimits, RunSummary, limits};
use assay_record::{MemberFacts, MemberKind, RunHeader};
use assay_spec::Engine;

use crate::run;

/// A clean run: random reads, 16 in flight, direct I/O, a quiet host.
fn clean(more: &str) -> (RunHeader, RunSummary) {
    run(&format!(
        "[[test]]\nname = \"t\"\naccess = [{{ size = \"8KiB\", random = 100 }}]\nrun = \"4s\"\n{more}\n"
    ))
}

fn changed(more: &str, change: impl Fn(&mut RunHeader, &mut RunSummary)) -> RunLimits {
    let (mut header, mut summary) = clean(more);
    change(&mut header, &mut summary);
    limits(&header, &summary).unwrap()
}

fn kind(more: &str, change: impl Fn(&mut RunHeader, &mut RunSummary)) -> LimitKind {
    changed(more, change).steps[0].kind
}

fn member(header: &mut RunHeader) -> &mut MemberFacts {
    &mut header.targets[0].member
}

#[test]
fn what_is_left_over_is_the_device_and_it_is_said_to_be_probable() {
    let of = changed("outstanding = 16", |_, _| {});
    assert_eq!((of.steps[0].kind, of.steps[0].certainty), (LimitKind::Device, Certainty::ByElimination));
    assert!(
        of.says.starts_with("The device sdb1 (Example SSD 240) probably limits this test ("),
        "{}",
        of.says
    );
    assert!(of.says.contains("of 16 I/Os waited in it while the tester used"), "{}", of.says);
}

#[test]
fn each_explanation_needs_its_own_number() {
    let queue = "outstanding = 16";
    assert_eq!(kind("outstanding = 1", |_, _| {}), LimitKind::Latency);
    assert_eq!(kind(queue, |h, _| member(h).engine = Engine::Inline), LimitKind::Memory);
    assert_eq!(kind(queue, |h, _| member(h).direct = false), LimitKind::PageCache);
    let spindle = |iops: f64| {
        kind(queue, |h, s| {
            member(h).device.as_mut().unwrap().rotational = true;
            s.steps[0].total.iops = iops;
        })
    };
    assert_eq!([spindle(180.0), spindle(9000.0)], [LimitKind::RandomAccess, LimitKind::Device]);
    let busy = |tester_ns: u64| {
        kind(queue, |_, s| {
            let used = s.steps[0].cpu.used.as_mut().unwrap();
            (used.host_busy, used.host_busy_max, used.tester_ns) = (0.99, 1.0, tester_ns);
        })
    };
    assert_eq!(busy(100_000_000), LimitKind::Host, "others took it");
    assert_eq!(busy(4_000_000_000), LimitKind::Tester, "one worker, 4 s of CPU in 4 s");
}

#[test]
fn a_rate_that_is_kept_is_the_limit_and_one_that_is_missed_is_not() {
    let paced = "outstanding = 64\npace = { rate = \"500/s\", arrivals = \"constant\" }";
    let of = changed(paced, |_, s| {
        let job = &mut s.steps[0].jobs[0];
        job.due = Some(job.total.ops);
        s.steps[0].total.ops = job.total.ops;
    });
    assert_eq!(of.steps[0].kind, LimitKind::Rate, "{of:?}");
    assert!(of.says.contains("are offered, and the target keeps up"), "{}", of.says);
    let missed = kind(paced, |_, s| {
        let job = &mut s.steps[0].jobs[0];
        job.due = Some(job.total.ops * 2);
    });
    assert_eq!(missed, LimitKind::Device);
}

/// Two sizes at one queue depth, with the same bytes or the same operations per second, or neither.
#[test]
fn a_rate_that_does_not_depend_on_the_size_is_named_with_its_unit() {
    let sweep = |rates: [(f64, f64); 2]| {
        let (header, mut summary) = run("[[test]]\nname = \"t\"\nrun = \"4s\"\noutstanding = 16\n\
            access = [{ size = \"8KiB\", random = 100 }]\nsweep = { size = [\"8KiB\", \"64KiB\"] }\n");
        for (step, (iops, mb_per_s)) in summary.steps.iter_mut().zip(rates) {
            (step.total.iops, step.total.mb_per_s) = (iops, mb_per_s);
        }
        limits(&header, &summary).unwrap()
    };
    let bytes = sweep([(42_700.0, 350.0), (5340.0, 350.0)]);
    assert!(bytes.steps.iter().all(|s| s.kind == LimitKind::Throughput), "{bytes:?}");
    assert!(
        bytes.says.contains("A throughput of about 350 MB/s limits all 2 tests (I/Os of "),
        "{}",
        bytes.says
    );
    let operations = sweep([(3000.0, 24.6), (2990.0, 196.0)]);
    assert!(operations.steps.iter().all(|s| s.kind == LimitKind::Operations), "{operations:?}");
    let neither = sweep([(42_700.0, 350.0), (9000.0, 590.0)]);
    assert!(neither.steps.iter().all(|s| s.kind == LimitKind::Device), "{neither:?}");
}

#[test]
fn targets_that_store_nothing_and_windows_without_a_result_have_no_verdict() {
    let of = |change: fn(&mut RunHeader, &mut RunSummary)| {
        let (mut header, mut summary) = clean("outstanding = 16");
        change(&mut header, &mut summary);
        limits(&header, &summary)
    };
    assert_eq!(of(|h, _| member(h).kind = MemberKind::Null), None);
    assert_eq!(of(|h, _| member(h).kind = MemberKind::Simulated), None);
    assert_eq!(of(|_, s| s.steps[0].unmeasured = Some("interrupted before measuring".into())), None);
}
