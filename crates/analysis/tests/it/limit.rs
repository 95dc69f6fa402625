//! The verdict on runs of which no array is known: each explanation on a run that has it and no other.

use assay_analysis::{Certainty, DiskUse, LimitKind, RunLimits, RunSummary, limits};
use assay_record::{HostNote, IoLimit, MemberEnd, MemberFacts, MemberKind, NoteKind, RunHeader, StepReason};
use assay_spec::units::Nanos;
use assay_spec::{Engine, Role};

use crate::rules::{around, disturbed, writes_over_time};
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
    // Where the kernel counted fewer in the device's queue, the sentence claims no more than that.
    let of = changed("outstanding = 16", |_, s| {
        let disk = DiskUse { device: "sdb1".to_owned(), queue_mean: Some(4.2), ..DiskUse::default() };
        s.steps[0].host.disks = vec![disk];
    });
    assert!(of.says.contains("of 16 I/Os waited for it, at most 4.2 in its queue, while"), "{}", of.says);
}

/// A run whose target went away in its first test was "probably limited by the target behind the network": 11.6 of 64
/// I/Os waited for it, and they failed.
#[test]
fn a_test_that_lost_its_target_shows_no_limit() {
    let lost = |h: &mut RunHeader, s: &mut RunSummary| {
        h.plan.tests[0].steps[0].stop.time = Nanos(4_000_000_000);
        let step = &mut s.steps[0];
        for point in step.series.iter_mut().skip(1) {
            point.iops = 0.0;
        }
        (step.errors, step.outside_errors) = (64, 64);
    };
    let of = changed("outstanding = 16", lost);
    assert!(
        of.says.starts_with("The target was lost in t (64 I/Os failed): that test shows no limit."),
        "{}",
        of.says
    );
    assert!(of.steps.is_empty() && !of.says.contains("limits"), "{of:?}");
    let reason = |_: &mut RunHeader, s: &mut RunSummary| {
        s.steps[0].reason = Some(StepReason::TargetLost("gone".into()));
    };
    let of = changed("outstanding = 16", reason);
    assert!(of.says.starts_with("The target was lost in t."), "{}", of.says);
    // I/Os that failed while others succeeded are no loss.
    let some = changed("outstanding = 16", |_, s| s.steps[0].errors = 3);
    assert!(some.says.starts_with("The device sdb1"), "{}", some.says);
}

#[test]
fn a_log_that_is_flushed_after_each_write_waits_for_its_flushes() {
    let with = |flushes: u64| {
        let (header, mut s) =
            run("[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 0 }]\nrun = \"4s\"\n\
                                   outstanding = 1\nflush = { every = 1 }\n");
        s.steps[0].cpu.used.as_mut().unwrap().host_busy = 1.0;
        let mut flush = s.steps[0].write.clone();
        flush.ops /= flushes;
        s.steps[0].jobs[0].flush = Some(flush);
        limits(&header, &s).unwrap()
    };
    let of = with(1);
    assert_eq!(
        (of.steps[0].kind, of.steps[0].limit.as_str()),
        (LimitKind::Flush, "the flush between writes")
    );
    assert!(of.says.contains("waited for flushes for"), "{}", of.says);
    assert_ne!(with(20).steps[0].kind, LimitKind::Flush, "a flush now and then is no limit");
}

#[test]
fn each_explanation_needs_its_own_number() {
    let queue = "outstanding = 16";
    assert_eq!(kind("outstanding = 1", |_, _| {}), LimitKind::Latency);
    assert_eq!(kind(queue, |h, _| member(h).engine = Engine::Inline), LimitKind::Memory);
    let cached = |is_idle: bool| {
        kind(queue, |h, s| {
            member(h).direct = false;
            if is_idle {
                s.steps[0].host.disks.clear();
            }
        })
    };
    assert_eq!([cached(true), cached(false)], [LimitKind::PageCache, LimitKind::Device], "the disk moved it");
    let spindle = |iops: f64, model: &str| {
        kind(queue, |h, s| {
            let device = member(h).device.as_mut().unwrap();
            device.rotational = true;
            model.clone_into(&mut device.model);
            s.steps[0].total.iops = iops;
        })
    };
    assert_eq!([spindle(180.0, "WDC"), spindle(9000.0, "WDC")], [LimitKind::RandomAccess, LimitKind::Device]);
    assert_eq!(spindle(180.0, "QEMU HARDDISK"), LimitKind::Device, "virtual disks say that they rotate");
    let bus = |full_duplex: bool, read: f64, write: f64| {
        kind(queue, |h, s| {
            let facts = assay_record::BusFacts { says: "a bus".to_owned(), mb_per_s: 280, full_duplex };
            member(h).device.as_mut().unwrap().bus = Some(facts);
            (s.steps[0].read.mb_per_s, s.steps[0].write.mb_per_s) = (read, write);
        })
    };
    assert_eq!([bus(false, 270.0, 0.0), bus(false, 200.0, 0.0)], [LimitKind::Interface, LimitKind::Device]);
    assert_eq!(
        [bus(false, 135.0, 135.0), bus(true, 135.0, 135.0)],
        [LimitKind::Interface, LimitKind::Device]
    );
    assert_eq!(bus(false, 400.0, 0.0), LimitKind::Device, "more than it carries: a cache answers");
    let busy = |tester_ns: u64| {
        kind(queue, |_, s| {
            let used = s.steps[0].cpu.used.as_mut().unwrap();
            (used.host_busy, used.host_busy_max, used.tester_ns) = (0.99, 1.0, tester_ns);
        })
    };
    assert_eq!(busy(100_000_000), LimitKind::Host, "others took it");
    assert_eq!(busy(4_000_000_000), LimitKind::Tester, "one worker, 4 s of CPU in 4 s");
}

/// CPUs that others have explain short waits, no full link and no long ones.
#[test]
fn busy_cpus_are_no_more_than_the_second_suspect_of_a_full_link_and_of_long_latencies() {
    let busy = |summary: &mut RunSummary| {
        let step = &mut summary.steps[0];
        let used = step.cpu.used.as_mut().unwrap();
        (used.host_busy, used.host_busy_max, used.tester_ns) = (0.98, 1.0, 100_000_000);
    };
    let short = changed("outstanding = 16", |_, s| busy(s));
    assert!(short.says.starts_with("CPU time that other programs take limits this test ("), "{}", short.says);
    let long = changed("outstanding = 16", |_, s| {
        busy(s);
        s.steps[0].total.service =
            assay_record::Latency::from_summary(s.steps[0].total.ops, 300e6, None, None);
    });
    assert_eq!(long.steps[0].kind, LimitKind::Device, "{long:?}");
    assert!(long.says.contains("probably limits this test ("), "{}", long.says);
    let ends = "; second suspect: CPU time that other programs take). Disturbed by busy CPUs.";
    assert!(long.says.ends_with(ends), "{}", long.says);
    // What one of several steps leaves open is said of all, whichever step has the numbers.
    let more = "outstanding = 16\n[[test]]\nname = \"u\"\naccess = [{ size = \"8KiB\", random = 100 }]\nrun = \"4s\"\n\
                outstanding = 16";
    let second = changed(more, |_, s| {
        let step = &mut s.steps[1];
        let used = step.cpu.used.as_mut().unwrap();
        (used.host_busy, used.host_busy_max, used.tester_ns) = (0.98, 1.0, 100_000_000);
        step.total.service = assay_record::Latency::from_summary(step.total.ops, 300e6, None, None);
    });
    assert!(second.says.contains(" probably limits both tests ("), "{}", second.says);
    assert!(
        second
            .says
            .ends_with("; second suspect of u: CPU time that other programs take). Disturbed by busy CPUs."),
        "{}",
        second.says
    );
    let full = changed("outstanding = 16", |h, s| {
        busy(s);
        let paths = vec![crate::network::path(1, 1500)];
        member(h).lun = Some(Box::new(assay_record::LunFacts { paths, ..Default::default() }));
        s.steps[0].read.mb_per_s = 112.0;
    });
    assert_eq!(full.steps[0].kind, LimitKind::Link, "{full:?}");
    assert!(full.says.starts_with("The link probably limits this test (112.0 of 117."), "{}", full.says);
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
        bytes.says.contains("A throughput of about 350 MB/s limits both tests (I/Os of "),
        "{}",
        bytes.says
    );
    let operations = sweep([(3000.0, 24.6), (2990.0, 196.0)]);
    assert!(operations.steps.iter().all(|s| s.kind == LimitKind::Operations), "{operations:?}");
    let neither = sweep([(42_700.0, 350.0), (9000.0, 590.0)]);
    assert!(neither.steps.iter().all(|s| s.kind == LimitKind::Device), "{neither:?}");
}

#[test]
fn one_rate_is_said_of_the_tests_that_have_it_and_of_no_others() {
    let test = |name: &str, depth: u32| {
        format!(
            "[[test]]\nname = \"{name}\"\nrun = \"4s\"\noutstanding = {depth}\n\
             access = [{{ size = \"8KiB\", random = 100 }}]\nsweep = {{ size = [\"8KiB\", \"64KiB\"] }}\n"
        )
    };
    let (header, mut summary) = run(&(test("deep", 16) + &test("shallow", 4)));
    for (step, iops) in summary.steps.iter_mut().zip([9473.0, 9354.0, 1731.0, 1806.0]) {
        (step.total.iops, step.total.mb_per_s) = (iops, iops * step.total.mb_per_s / step.total.iops);
    }
    let of = limits(&header, &summary).unwrap();
    assert!(of.steps.iter().all(|step| step.kind == LimitKind::Operations), "{of:?}");
    for rate in ["a rate of about 9,473 operations", "a rate of about 1,731 operations"] {
        assert!(of.says.to_lowercase().contains(rate), "{}", of.says);
    }
    assert!(!of.says.contains("4 tests"), "{}", of.says);
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

/// The windows of the finding `level-change`: the verdict draws on the same changes.
#[test]
fn a_fall_of_the_rate_is_evidence_of_what_physics_ties_to_it() {
    let of = |run: (RunHeader, RunSummary)| {
        let limits = limits(&run.0, &run.1).unwrap();
        (limits.steps[0].kind, limits.steps[0].certainty, limits.says)
    };
    let (kind, certainty, says) = of(writes_over_time(around(12_000.0, 31).chain(around(4100.0, 29))));
    assert_eq!((kind, certainty), (LimitKind::WriteCache, Certainty::ByElimination));
    assert_eq!(
        says,
        "A full write cache or fast write area probably limits this test (the rate fell from 12,000 to 4,110 IOPS \
         at second 31, after 15.5 GiB)."
    );
    let (kind, _, says) = of(writes_over_time(around(12_000.0, 31).chain([3000.0; 29])));
    assert_eq!(kind, LimitKind::Credit);
    assert!(says.contains("from 12,000 to 3,000 IOPS at second 31 and varies by 0.0 % since"), "{says}");
    let (kind, certainty, says) = of(disturbed(60.0, 0.25));
    assert_eq!((kind, certainty), (LimitKind::Neighbour, Certainty::Shown), "{says}");
    assert!(says.starts_with("Other load on the same disks limits this test (the rate fell from "), "{says}");
    assert!(says.contains("at second 30, when other programs went from 0 to 60 MiB/s"), "{says}");
}

#[test]
fn a_rate_with_one_level_or_one_that_rises_shows_none_of_them() {
    let kind = |run: (RunHeader, RunSummary)| limits(&run.0, &run.1).unwrap().steps[0].kind;
    assert_eq!(kind(writes_over_time(around(12_000.0, 60))), LimitKind::Device);
    assert_eq!(kind(writes_over_time(around(4100.0, 31).chain(around(12_000.0, 29)))), LimitKind::Device);
    assert_eq!(kind(disturbed(60.0, 0.0)), LimitKind::Device, "others began, and the rate stayed");
    let (header, mut reads) = writes_over_time(around(12_000.0, 31).chain(around(4100.0, 29)));
    let step = &mut reads.steps[0];
    std::mem::swap(&mut step.read, &mut step.write);
    assert_eq!(kind((header, reads)), LimitKind::Device, "no cache fills with reads");
}

/// A full link excludes the rest; what the level shows beside it is the second suspect only if a number shows it.
#[test]
fn a_change_of_level_does_not_precede_a_full_interface() {
    let (mut header, mut summary) = disturbed(60.0, 0.25);
    let facts = assay_record::BusFacts { says: "a bus".to_owned(), mb_per_s: 280, full_duplex: false };
    member(&mut header).device.as_mut().unwrap().bus = Some(facts);
    (summary.steps[0].read.mb_per_s, summary.steps[0].write.mb_per_s) = (270.0, 0.0);
    let of = limits(&header, &summary).unwrap();
    assert_eq!(of.steps[0].kind, LimitKind::Interface);
    assert_eq!(of.steps[0].second, "other load on the same disks");
}

/// A path that was down for half of a run was in no verdict, and a disturbed test was as sure as any.
#[test]
fn paths_that_were_down_and_disturbances_belong_to_the_sentence() {
    let path = |number: u8, is_up: bool, failures: u64, reads: u64| assay_record::PathEnd {
        path: number,
        portal: format!("10.0.{number}.1"),
        is_up,
        failures,
        reads,
        ..assay_record::PathEnd::default()
    };
    let says = |paths: Vec<assay_record::PathEnd>| {
        changed("outstanding = 16", |_, s| s.steps[0].paths.clone_from(&paths)).says
    };
    let pulled = says(vec![path(0, true, 0, 900), path(1, false, 1, 100)]);
    assert!(
        pulled.ends_with(
            "The path to 10.0.1.1 went down in t (it completed 10 % of the I/Os of t, and was down at the end): the \
             rates are those of the paths that were left."
        ),
        "{pulled}"
    );
    let healthy = says(vec![path(0, true, 0, 500), path(1, true, 0, 500)]);
    assert!(!healthy.contains("path"), "{healthy}");
    let alone = says(vec![path(0, true, 1, 500)]);
    assert!(!alone.contains("paths that were left"), "there is no other: {alone}");
    // A limit that a number shows is probable at most where the host was busy; what was busy is certain.
    let busy = |summary: &mut RunSummary| {
        let used = summary.steps[0].cpu.used.as_mut().unwrap();
        (used.steal, used.host_busy) = (0.2, 0.6);
    };
    let flushed = changed("outstanding = 1", |_, s| busy(s));
    assert!(flushed.says.contains(" probably limits this test ("), "{}", flushed.says);
    assert!(flushed.says.ends_with("Disturbed by CPU time that the hypervisor took."), "{}", flushed.says);
    assert_eq!(flushed.verdict().says, flushed.says);
    // No CPU was left, whoever had it.
    let taken = changed("outstanding = 16", |_, s| {
        let used = s.steps[0].cpu.used.as_mut().unwrap();
        (used.steal, used.host_busy) = (0.27, 0.73);
    });
    assert_eq!(taken.steps[0].kind, LimitKind::Host, "{}", taken.says);
    assert!(taken.says.contains("73 % busy, and the hypervisor gave 27 % to other guests"), "{}", taken.says);
}

/// Two LUNs with one path each have no other path, and a portal that nothing measured took no I/O from anybody.
#[test]
fn a_path_is_missed_by_the_tests_of_its_own_target() {
    let path = |member: &str, portal: &str, failures: u64, reads: u64| assay_record::PathEnd {
        member: member.to_owned(),
        portal: portal.to_owned(),
        is_up: true,
        failures,
        reads,
        ..assay_record::PathEnd::default()
    };
    let says = |paths: &[assay_record::PathEnd]| {
        changed("outstanding = 16", |_, s| s.steps[0].paths = paths.to_vec()).says
    };
    let alone = says(&[path("a", "10.0.0.1", 0, 500), path("b", "10.0.1.1", 1, 400)]);
    assert!(!alone.contains("paths that were left"), "{alone}");
    let both = ["a", "b"].map(|lun| [path(lun, "10.0.0.1", 0, 300), path(lun, "10.0.1.1", 1, 100)]).concat();
    let both = says(&both);
    assert!(both.contains("it completed 25 % of the I/Os of t"), "both LUNs' I/Os of that portal: {both}");
    let down = |measured: &[assay_record::PathEnd]| {
        let with = |h: &mut RunHeader, s: &mut RunSummary| {
            let mut paths = vec![crate::network::path(1, 1500), crate::network::path(2, 1500)];
            (paths[0].is_up, paths[1].is_up) = (false, true);
            (paths[0].portal, paths[1].portal) = ("10.0.0.1".to_owned(), "10.0.1.1".to_owned());
            member(h).lun = Some(Box::new(assay_record::LunFacts { paths, ..Default::default() }));
            s.steps[0].paths = measured.to_vec();
            s.steps[0].paths.iter_mut().for_each(|path| path.member.clone_from(&h.targets[0].address));
        };
        changed("outstanding = 16", with).says
    };
    assert!(down(&[path("", "10.0.1.1", 0, 300)]).contains("The path to 10.0.0.1 was down from the start"));
    assert!(!down(&[]).contains("down from the start"), "no test measured that target");
    let still = assay_record::PathEnd { is_up: false, ..path("", "10.0.0.1", 0, 0) };
    let both = down(&[still, path("", "10.0.1.1", 0, 300)]);
    assert!(both.contains("down from the start") && !both.contains("went down"), "it is said once: {both}");
    let came = down(&[path("", "10.0.0.1", 0, 150), path("", "10.0.1.1", 0, 150)]);
    assert!(!came.contains("down from the start"), "it carried half of the I/Os: {came}");
}

/// A limit on a device, as `assay check` reads it from a control group.
fn limit_on_reads(per_s: f64, is_bytes: bool) -> HostNote {
    HostNote {
        kind: NoteKind::IoLimit,
        path: "/sys/fs/cgroup/a/io.max".to_owned(),
        value: format!("8:16 riops={per_s}"),
        says: "a control group of this process limits reads of sdb1".to_owned(),
        mend: "Lift the limit".to_owned(),
        limit: Some(IoLimit { is_read: true, is_bytes, per_s }),
    }
}

fn set_reads(summary: &mut RunSummary, iops: f64) {
    let step = &mut summary.steps[0];
    step.read.iops = iops;
    step.jobs[0].read.iops = iops;
    step.total.iops = iops;
}

/// Neither the device nor busy CPUs make a rate equal to a number in a file.
#[test]
fn a_rate_at_a_limit_of_the_control_group_is_no_fault_of_the_device() {
    let at = |iops: f64, limit: HostNote| {
        changed("outstanding = 16", move |h, s| {
            member(h).device.as_mut().unwrap().notes = vec![limit_on_reads(90_000.0, false), limit.clone()];
            set_reads(s, iops);
            let used = s.steps[0].cpu.used.as_mut().unwrap();
            (used.host_busy, used.host_busy_max, used.tester_ns) = (0.98, 1.0, 100_000_000);
        })
    };
    let of = at(402.0, limit_on_reads(400.0, false));
    assert_eq!((of.steps[0].kind, of.steps[0].second.as_str()), (LimitKind::ControlGroup, ""), "{of:?}");
    let says = "The control group's limit on reads of sdb1 limits this test (402 of 400 per second, \
                \"8:16 riops=400\" in /sys/fs/cgroup/a/io.max).";
    assert!(of.says.starts_with(says), "{}", of.says);
    let of_hosts = changed("outstanding = 16", |h, s| {
        member(h).device.as_mut().unwrap().notes = vec![limit_on_reads(400.0, false)];
        set_reads(s, 402.0);
        s.steps[0].hosts = vec![crate::fleet::host_end("a"), crate::fleet::host_end("b")];
    });
    assert_ne!(of_hosts.steps[0].kind, LimitKind::ControlGroup, "200 of 400 on each of two hosts");
    let kind = |iops: f64, limit: HostNote| at(iops, limit).steps[0].kind;
    assert_ne!(kind(300.0, limit_on_reads(400.0, false)), LimitKind::ControlGroup, "below it");
    let writes = IoLimit { is_read: false, is_bytes: false, per_s: 400.0 };
    let on_writes = HostNote { limit: Some(writes), ..limit_on_reads(400.0, false) };
    assert_ne!(kind(402.0, on_writes), LimitKind::ControlGroup, "it limits writes");
    assert_ne!(kind(402.0, limit_on_reads(400.0, true)), LimitKind::ControlGroup, "it limits bytes");
}

/// Two devices with a limit of 400 reads per second, of which each did so many I/Os, and had so many in flight.
fn of_two(ops: [u64; 2], in_flight: [u64; 2], is_limited: [bool; 2]) -> RunLimits {
    changed("outstanding = 16", move |h, s| {
        let mut other = h.targets[0].clone();
        other.address = "/dev/sdc1".to_owned();
        other.member.device.as_mut().unwrap().name = "sdc1".to_owned();
        h.targets.push(other);
        for (target, is_limited) in h.targets.iter_mut().zip(is_limited) {
            let notes = is_limited.then(|| limit_on_reads(400.0, false));
            target.member.device.as_mut().unwrap().notes = notes.into_iter().collect();
        }
        let addresses: Vec<String> = h.targets.iter().map(|target| target.address.clone()).collect();
        let ends = addresses.iter().zip(ops).zip(in_flight);
        let end = |((address, ops), service_ns): ((&String, u64), u64)| MemberEnd {
            ops,
            service_ns,
            ..MemberEnd::new(0, address)
        };
        s.steps[0].members = ends.map(end).collect();
        set_reads(s, (ops[0] + ops[1]) as f64);
    })
}

/// Targets that take turns get as many I/Os as the slowest: what limits is where the I/Os wait.
#[test]
fn of_two_devices_the_one_that_the_ios_wait_for_limits() {
    let kind = |ops, in_flight, is_limited| of_two(ops, in_flight, is_limited).steps[0].kind;
    assert_eq!(kind([400, 399], [8, 8], [true, true]), LimitKind::ControlGroup);
    assert_eq!(kind([400, 200], [8, 8], [true, true]), LimitKind::Device, "one of them is below its limit");
    let turns = of_two([400, 400], [990, 10], [true, false]);
    assert!(turns.says.starts_with("The control group's limit on reads of sdb1 limits"), "{}", turns.says);
    assert_eq!(kind([400, 400], [10, 990], [true, false]), LimitKind::Device, "they wait for the other");
    let slow = of_two([400, 400], [10, 990], [false, false]);
    assert!(slow.says.starts_with("The device sdc1 (Example SSD 240) probably limits"), "{}", slow.says);
    let both = of_two([400, 400], [500, 500], [false, false]);
    assert!(both.says.starts_with("The devices sdb1 and sdc1 probably limit"), "{}", both.says);
}

/// The schema of a run's document lists every kind.
#[test]
fn the_schema_has_every_kind_of_limit() {
    use LimitKind as L;
    let all = [
        L::Rate,
        L::ControlGroup,
        L::Memory,
        L::Tester,
        L::Host,
        L::PageCache,
        L::Latency,
        L::Link,
        L::Interface,
        L::Flush,
        L::Pauses,
        L::Neighbour,
        L::Credit,
        L::WriteCache,
        L::RandomAccess,
        L::Throughput,
        L::Operations,
        L::Device,
        L::Target,
    ];
    // A new kind does not compile here, so that it is added above.
    for kind in all {
        match kind {
            L::Rate | L::ControlGroup | L::Memory | L::Tester | L::Host | L::PageCache | L::Latency => {}
            L::Link | L::Interface | L::Flush | L::Pauses | L::Neighbour | L::Credit | L::WriteCache => {}
            L::RandomAccess | L::Throughput | L::Operations | L::Device | L::Target => {}
        }
    }
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/assay.run-1.schema.json")).unwrap();
    let listed = schema.pointer("/properties/limits/properties/steps/items/properties/kind/enum");
    assert_eq!(listed, Some(&serde_json::to_value(all).unwrap()));
}

/// "Limits 4 of 5 tests" counted the fill of `--precondition`, and gave it a limit of its own.
#[test]
fn what_prepares_the_targets_is_no_test() {
    let (mut header, mut summary) = clean("outstanding = 16");
    let (mut test, mut step) = (header.plan.tests[0].clone(), summary.steps[0].clone());
    (test.name, test.role) = ("Precondition: fill 1x".to_owned(), Role::Precondition);
    (step.test, step.id.test) = (test.name.clone(), 1);
    header.plan.tests.push(test);
    summary.steps.insert(0, step);
    let of = limits(&header, &summary).unwrap();
    assert!(of.says.contains(" limits t ("), "{}", of.says);
    assert_eq!(of.steps.len(), 1);
}
