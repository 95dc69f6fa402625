//! Each rule: it fires, it does not, and what it does on the boundary.

use assay_analysis::{DiskUse, Finding, OpSummary, Point, RunSummary, Severity, TimelineSample, findings};
use assay_record::{
    Agreed, Content, Failure, FlushEnd, Latency, LunFacts, MemberEnd, MemberFacts, MemberKind, Mismatch,
    NfsFacts, OpStats, PathEnd, PathFacts, PathMoment, PlaceSample, PlacedIo, RunEvent, RunHeader, Stamp,
    StepCpu, StepEnd, StepReason, TargetFacts, Warning, WriteEnd,
};
use assay_spec::units::PerSecond;
use assay_spec::{Pacing, Semantics};

use crate::synthetic::{self, Target};
use crate::{found, run, summarize};

/// A clean run: 16 in flight, direct I/O, a quiet host.
fn clean() -> (RunHeader, RunSummary) {
    run("[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 65, random = 60 }]\n\
        outstanding = 16\nrun = \"4s\"\n")
}

/// Whether `rule` fires after `change` was made to a clean run.
fn fires(rule: &str, change: impl Fn(&mut RunHeader, &mut RunSummary)) -> bool {
    let (mut header, mut summary) = clean();
    change(&mut header, &mut summary);
    found(rule, &header, &summary).is_some()
}

fn vmware() -> (RunHeader, RunSummary) {
    let header = synthetic::header(synthetic::suite("vmware", 4));
    let summary = summarize(&header, &synthetic::events(&header, Target::default()));
    (header, summary)
}

fn used(summary: &mut RunSummary) -> &mut StepCpu {
    summary.steps[0].cpu.used.as_mut().unwrap()
}

#[test]
fn a_clean_run_has_nothing_to_find() {
    let (header, summary) = clean();
    assert_eq!(findings(&header, &summary), []);
}

#[test]
fn drains_are_named_with_their_numbers() {
    let (header, summary) = vmware();
    let finding = found("drained-queue", &header, &summary).unwrap();
    assert!(
        finding.says.contains("of 64 I/Os were in flight") && finding.says.contains("every 500 I/Os"),
        "{finding:?}"
    );
    let (_, others) = finding.says.split_once(" Also in ").unwrap();
    let tests = header.plan.tests.iter().filter(|test| others.contains(&test.name)).count();
    assert_eq!(tests, 3, "the three other tests are named: {}", finding.says);
    assert_eq!((finding.severity, finding.steps.len()), (Severity::Info, 4));
    assert!((55.0..62.1).contains(&finding.evidence[0].value), "{:?}", finding.evidence);
}

/// All I/Os of four targets went to two of them, and the result did not say so.
#[test]
fn targets_that_get_far_less_than_their_share_are_named() {
    let shares = |semantics: Semantics, ops: &[u64]| {
        let (mut header, mut summary) = clean();
        header.plan.semantics = semantics;
        let member = |(index, ops): (usize, &u64)| {
            let service_ns = ops * 1_000_000 * (index as u64 + 1);
            MemberEnd { ops: *ops, service_ns, ..MemberEnd::new(0, &format!("/dev/loop{index}")) }
        };
        summary.steps[0].members = ops.iter().enumerate().map(member).collect();
        found("uneven-targets", &header, &summary)
    };
    for even in [&[1000, 1000][..], &[1000, 800, 1200], &[3, 2], &[1, 0], &[]] {
        assert_eq!(shares(Semantics::Assay, even), None, "{even:?}");
    }
    let none = shares(Semantics::Assay, &[0, 942, 0, 943]).unwrap();
    assert!(none.says.contains("/dev/loop0 got none of the 1885 I/Os of 4 targets"), "{}", none.says);
    let slow = shares(Semantics::Iometer, &[900, 100]).unwrap();
    assert_eq!(slow.severity, Severity::Warning);
    for words in
        ["/dev/loop1 got 10.0 % of the I/Os and /dev/loop0 90.0 %", "50.0 % each", "2.00 ms and 1.00 ms"]
    {
        assert!(slow.says.contains(words), "{words}: {}", slow.says);
    }
    assert!(slow.next.contains("its own queue"), "{}", slow.next);
}

/// A test that moved its 16 MiB in 91 ms stood in the table like one of a minute.
#[test]
fn a_window_of_less_than_a_second_is_named() {
    let lasted = |seconds: f64| fires("short-window", |_, summary| summary.steps[0].seconds = seconds);
    assert_eq!([0.091, 0.999, 1.0, 4.0].map(lasted), [true, true, false, false]);
    let (header, mut summary) = clean();
    summary.steps[0].seconds = 0.091;
    let says = found("short-window", &header, &summary).unwrap().says;
    assert!(says.contains("lasted 91.0 ms and had"), "{says}");
    assert!(!fires("short-window", |header, summary| {
        summary.steps[0].seconds = 0.091;
        header.targets[0].member.kind = MemberKind::Null;
    }));
}

/// `assay check` named a segment of 8 KiB, and the run over it did not.
#[test]
fn slow_session_settings_are_findings_of_the_run() {
    let good = Agreed {
        immediate_data: true,
        max_send_segment_bytes: 256 << 10,
        command_window: 128,
        ..Agreed::default()
    };
    let with = |agreed: Agreed| {
        move |header: &mut RunHeader, _: &mut RunSummary| {
            let path = PathFacts { is_up: true, agreed: Some(agreed.clone()), ..PathFacts::default() };
            header.targets[0].member.kind = MemberKind::Lun;
            header.targets[0].member.lun =
                Some(Box::new(LunFacts { paths: vec![path], ..LunFacts::default() }));
        }
    };
    for (rule, bad) in [
        ("small-segments", Agreed { max_send_segment_bytes: 8 << 10, ..good.clone() }),
        ("initial-r2t", Agreed { initial_r2t: true, ..good.clone() }),
        ("digests", Agreed { data_digest: true, ..good.clone() }),
        ("small-window", Agreed { command_window: 31, ..good.clone() }),
    ] {
        assert!(fires(rule, with(bad)), "{rule}");
        assert!(!fires(rule, with(good.clone())), "{rule}");
    }
    let calls = |bytes: u32| {
        move |header: &mut RunHeader, _: &mut RunSummary| {
            let nfs = NfsFacts { read_bytes_max: 1 << 20, write_bytes_max: bytes, ..NfsFacts::default() };
            header.targets[0].member.nfs = Some(Box::new(nfs));
        }
    };
    assert!(fires("small-calls", calls(32 << 10)) && !fires("small-calls", calls(64 << 10)));
}

#[test]
fn a_queue_counts_as_full_from_97_percent() {
    assert!(fires("drained-queue", |_, s| s.steps[0].outstanding_effective = 16.0 * 0.9699));
    assert!(!fires("drained-queue", |_, s| s.steps[0].outstanding_effective = 16.0 * 0.97));
    // Without a closed loop nobody promised a full queue.
    assert!(!fires("drained-queue", |_, s| {
        s.steps[0].outstanding_effective = 3.0;
        s.steps[0].load = assay_analysis::Load::Open;
    }));
}

#[test]
fn rewinding_sequential_tests_reread_the_first_15_6_mib() {
    let (header, summary) = vmware();
    let finding = found("rereads-start", &header, &summary).unwrap();
    assert!(finding.says.contains("only the first 15.6 of 4096.0 MiB"), "{}", finding.says);
    let tests: Vec<u32> = finding.steps.iter().map(|s| s.test).collect();
    assert_eq!(tests, [0, 2], "the two Max Throughput tests, and no random one");
}

#[test]
fn rewinding_a_span_no_larger_than_what_is_touched_is_no_finding() {
    let touched = 500 * 32_768;
    for (span, fires) in [(touched, false), (touched + 1, true)] {
        let (mut header, summary) = vmware();
        header.targets[0].member.span_bytes = span;
        assert_eq!(found("rereads-start", &header, &summary).is_some(), fires, "{span}");
    }
    let modern = synthetic::header(synthetic::suite("vmware-modern", 2));
    let summary = summarize(&modern, &synthetic::events(&modern, Target::default()));
    assert!(found("rereads-start", &modern, &summary).is_none());
}

#[test]
fn steal_counts_above_two_percent() {
    assert!(fires("steal", |_, s| used(s).steal = 0.0201));
    assert!(!fires("steal", |_, s| used(s).steal = 0.02));
    assert!(!fires("steal", |_, s| s.steps[0].cpu.used = None));
}

#[test]
fn a_busy_host_counts_where_others_use_it() {
    let busy = |host: f64, tester: f64| {
        fires("busy-host", |h, s| {
            let seconds = s.steps[0].seconds;
            h.host.cpus_online = 2;
            used(s).host_busy = host;
            used(s).tester_ns = (tester * seconds * 2.0 * 1e9) as u64;
        })
    };
    assert!(busy(0.99, 0.02) && busy(0.86, 0.55));
    assert!(!busy(0.85, 0.0) && !busy(0.99, 0.70));
    assert!(!fires("busy-host", |_, s| s.steps[0].cpu.used = None));
}

/// Reads that waited for a CPU were taken for those that missed a cache.
#[test]
fn two_times_of_reads_are_no_cache_where_the_cpus_are_busy() {
    let of = |host_busy: f64| {
        let (mut header, mut summary) =
            run("[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 100, random = 100 }]\n\
             outstanding = 16\nrun = \"4s\"\n");
        header.host.cpus_online = 2;
        used(&mut summary).host_busy = host_busy;
        used(&mut summary).tester_ns = 0;
        let mut service = Latency::default();
        service.record_many(262_000, 9500);
        service.record_many(3_100_000, 500);
        let step = &mut summary.steps[0];
        (step.read.ops, step.read.service, step.total.service) = (10_000, service.clone(), service);
        found("cache-hits", &header, &summary).is_some()
    };
    assert!(of(0.1));
    assert!(!of(0.99));
}

/// A load that waits at a limit for 200 ms was "not usable: disturbed by busy CPUs", which add 3 ms at most.
#[test]
fn a_busy_host_matters_where_a_late_cpu_shows_in_the_latency() {
    let at = |rule: &str, latency_ms: u64, late_mean_ms: f64, late_max_ms: u64| {
        fires(rule, |h, s| {
            h.host.cpus_online = 2;
            used(s).host_busy = 0.99;
            used(s).tester_ns = 0;
            let step = &mut s.steps[0];
            step.total.service = Latency::default();
            step.total.service.record_many(latency_ms * 1_000_000, 1000);
            step.host.seconds = 4.0;
            step.host.timer_late_mean_ns = late_mean_ms * 1e6;
            step.host.timer_late_max_ns = late_max_ms * 1_000_000;
        })
    };
    for rule in ["busy-host", "late-timers"] {
        assert!(!at(rule, 200, 3.0, 60), "{rule}");
        assert!(at(rule, 200, 5.0, 60), "{rule}: 2.5 % of the latency");
        assert!(at(rule, 200, 3.0, 300), "{rule}: the tail");
        assert!(at(rule, 1, 3.0, 60), "{rule}");
    }
}

#[test]
fn a_changed_plan_and_a_target_in_memory_are_reported() {
    assert!(fires("changed", |h, _| h.plan.changes = vec!["run=1s".into()]));
    assert!(!fires("changed", |h, _| h.plan.changes.clear()));
    assert!(fires("in-memory", |h, _| h.targets[0].member.engine = assay_spec::Engine::Inline));
    assert!(!fires("in-memory", |h, _| h.targets[0].member.engine = assay_spec::Engine::IoUring));
}

#[test]
fn a_partition_that_begins_within_a_block_is_reported() {
    let shifted = |bytes: u32| {
        fires("misaligned-partition", |h, _| {
            let device = assay_record::DeviceFacts { shifted_bytes: bytes, ..Default::default() };
            h.targets[0].member.device = Some(device);
        })
    };
    assert!(shifted(3584) && !shifted(0));
}

#[test]
fn what_the_kernel_shows_of_a_device_is_quoted_with_what_mends_it() {
    let note = |kind| assay_record::HostNote {
        kind,
        path: "/sys/x".to_owned(),
        value: "8:0 800".to_owned(),
        says: "it is so".to_owned(),
        mend: "Do that.".to_owned(),
        limit: None,
    };
    use assay_record::NoteKind as K;
    for (rule, kind) in [
        ("io-limit", K::IoLimit),
        ("raid-degraded", K::RaidDegraded),
        ("raid-busy", K::RaidBusy),
        ("one-command", K::OneCommand),
        ("narrow-link", K::NarrowLink),
        ("slowed-sata", K::SlowedSata),
        ("encrypted", K::Encrypted),
        ("thin-pool", K::Thin),
        ("io-share", K::IoShare),
        ("small-queue", K::SmallQueue),
        ("scheduler", K::Scheduler),
        ("hot-drive", K::HotDrive),
        ("background-work", K::BackgroundWork),
    ] {
        let (mut header, summary) = clean();
        assert!(found(rule, &header, &summary).is_none(), "{rule}");
        let device = header.targets[0].member.device.as_mut().unwrap();
        device.notes = vec![note(kind), note(kind)];
        let says = found(rule, &header, &summary).unwrap().says;
        assert_eq!(says, "It is so (/sys/x: \"8:0 800\"). Do that.", "{rule}");
    }
    for (rule, kind) in
        [("cpu-quota", K::CpuQuota), ("memory-pressure", K::MemoryPressure), ("slow-cpu", K::SlowCpu)]
    {
        assert!(fires(rule, |h, _| h.host.notes = vec![note(kind)]), "{rule}");
    }
    for (rule, kind) in [("fuse", K::Fuse), ("mount-options", K::MountOptions)] {
        let set = |h: &mut RunHeader| {
            h.targets[0].member.filesystem.as_mut().unwrap().notes = vec![note(kind)];
        };
        assert!(fires(rule, |h, _| set(h)), "{rule}");
    }
    // What costs time after a pause, and what is about the page cache.
    let with = |rule: &str, kind, outstanding: u32, direct: bool, read: f64| {
        fires(rule, |h, _| {
            h.host.notes = vec![note(kind)];
            h.targets[0].member.direct = direct;
            let jobs =
                h.plan.tests.iter_mut().flat_map(|test| &mut test.steps).flat_map(|step| &mut step.jobs);
            for job in jobs {
                (job.workers, job.outstanding) = (1, outstanding);
                job.mix.iter_mut().for_each(|line| line.read = read);
            }
        })
    };
    for (rule, kind) in [("cpu-sleeps", K::CpuSleeps), ("drive-sleeps", K::DriveSleeps)] {
        assert!(with(rule, kind, 1, true, 100.0) && !with(rule, kind, 32, true, 100.0), "{rule}");
    }
    let throttle = |direct, read| with("write-throttle", K::WriteThrottle, 8, direct, read);
    assert!(throttle(false, 0.0) && !throttle(true, 0.0) && !throttle(false, 100.0));
    let cache = |read| with("write-cache-off", K::WriteCacheOff, 8, true, read);
    assert!(cache(50.0) && !cache(100.0));
}

#[test]
fn a_file_in_many_small_pieces_is_fragmented() {
    let of = |pieces, span_bytes| {
        fires("fragmented", |h, _| {
            let member = &mut h.targets[0].member;
            (member.extents, member.span_bytes) = (Some(pieces), span_bytes);
        })
    };
    assert!(of(64, 63 << 20) && !of(64, 64 << 20) && !of(63, 1 << 20));
}

#[test]
fn swapping_counts_above_a_mebibyte_per_second() {
    let at = |bytes: u64| {
        move |_: &mut RunHeader, s: &mut RunSummary| {
            (s.steps[0].host.seconds, s.steps[0].host.swap_bytes) = (4.0, bytes);
        }
    };
    assert!(fires("swapping", at((4 << 20) + 1)));
    assert!(!fires("swapping", at(4 << 20)));
}

#[test]
fn late_timers_count_above_a_millisecond_mean_or_twenty_worst() {
    assert!(fires("late-timers", |_, s| s.steps[0].host.timer_late_mean_ns = 1_000_001.0));
    assert!(!fires("late-timers", |_, s| s.steps[0].host.timer_late_mean_ns = 1_000_000.0));
    assert!(fires("late-timers", |_, s| s.steps[0].host.timer_late_max_ns = 20_000_001));
    assert!(!fires("late-timers", |_, s| s.steps[0].host.timer_late_max_ns = 20_000_000));
    let says = |busy: f64| {
        let (header, mut summary) = clean();
        let step = &mut summary.steps[0];
        step.host.timer_late_mean_ns = 3e6;
        step.cpu.used.as_mut().unwrap().host_busy = busy;
        let found = found("late-timers", &header, &summary).unwrap();
        (found.says.contains("idle virtual CPUs"), found.next.contains("--keep-awake"))
    };
    assert_eq!((says(0.2), says(1.0)), ((true, true), (false, false)), "no CPU that is busy sleeps");
    let because = |change: fn(&mut StepCpu)| {
        let (header, mut summary) = clean();
        summary.steps[0].host.timer_late_mean_ns = 3e6;
        change(used(&mut summary));
        let found = found("late-timers", &header, &summary).unwrap();
        (found.says, found.next)
    };
    // Most of it is the tester's own, so that nobody else is to blame.
    let (says, next) = because(|used| {
        (used.host_busy, used.tester_ns) = (0.83, 0);
    });
    assert!(says.contains("the CPUs were 83 % busy") && next.contains("fewer workers"), "{says} {next}");
    let (says, next) = because(|used| used.steal = 0.3);
    assert!(says.contains("the hypervisor gave the CPUs") && next.contains("less shared"), "{says} {next}");
}

#[test]
fn turns_count_above_a_twentieth_of_the_median() {
    let set = |share: f64| {
        fires("tester-bound", |_, s| {
            let step = &mut s.steps[0];
            let median = step.total.service.quantile_ns(0.5).unwrap();
            step.turns.turns = 1000;
            step.turns.sum_ns = (median * share * 1000.0) as u64;
        })
    };
    assert!(set(0.0501));
    assert!(!set(0.0499));
}

#[test]
fn a_tester_that_never_waits_on_a_full_cpu_is_the_limit() {
    let set = |busiest: f64, cpus: f64| {
        fires("tester-bound", |_, s| {
            let ns = s.steps[0].seconds * 1e9 * cpus;
            let cpu = used(s);
            (cpu.host_busy_max, cpu.tester_ns) = (busiest, ns.ceil() as u64);
        })
    };
    assert!(set(0.96, 0.9));
    assert!(!set(0.95, 0.9));
    assert!(!set(0.96, 0.89));
    // One read of 2 ms "used 12.51 CPUs per worker": what the step took was divided by what the read took.
    assert!(!fires("tester-bound", |_, s| {
        let step = &mut s.steps[0];
        (step.whole_seconds, step.host.seconds) = (0.002, 0.002);
        let cpu = used(s);
        (cpu.host_busy_max, cpu.tester_ns) = (1.0, 25_000_000);
    }));
    // Against the null target the tester is what is measured.
    assert!(!fires("tester-bound", |h, s| {
        h.targets[0].member.kind = MemberKind::Null;
        s.steps[0].turns.sum_ns = u64::MAX / 2;
    }));
}

#[test]
fn foreign_io_counts_above_a_tenth_and_a_mebibyte_per_second() {
    let set = |own: f64, foreign: f64, direct: bool| {
        fires("foreign-io", |h, s| {
            h.targets[0].member.direct = direct;
            let host = &mut s.steps[0].host;
            host.tester_bytes = Some(own);
            // 16 x 8 KiB in flight may be counted earlier by the kernel than by the tester.
            let bytes = (own + 16.0 * 8192.0 + foreign * host.seconds) as u64;
            host.disks = vec![DiskUse { device: "sdb1".into(), bytes, queue_mean: None }];
        })
    };
    let mib = f64::from(1 << 20);
    assert!(set(10.0 * mib, 1.01 * mib, true));
    assert!(!set(10.0 * mib, 0.99 * mib, true), "less than a mebibyte per second");
    assert!(!set(400.0 * mib, 7.9 * mib, true), "less than a tenth of 400 MiB");
    assert!(set(400.0 * mib, 10.1 * mib * 4.0, true));
    assert!(!set(10.0 * mib, 50.0 * mib, false), "what the page cache moves is the tester's own, later");
    assert!(!fires("foreign-io", |_, s| s.steps[0].host.tester_bytes = None));
    assert!(!fires("foreign-io", |_, s| s.steps[0].host.disks.clear()));
}

#[test]
fn a_run_beside_nobody_agrees_with_the_device_it_used() {
    let (_, summary) = clean();
    let host = &summary.steps[0].host;
    let (own, device) = (host.tester_bytes.unwrap(), host.disks[0].bytes as f64);
    assert!((own / device - 1.0).abs() < 0.01, "{own} {device}");
}

#[test]
fn holes_are_a_finding_where_the_file_system_can_tell() {
    let set = |bytes| fires("unwritten", |h, _| h.targets[0].member.unwritten_bytes = bytes);
    assert!(set(Some(1)));
    assert!(!set(Some(0)));
    assert!(!set(None));
}

#[test]
fn the_page_cache_is_named_and_so_is_a_span_that_fits_in_it() {
    let cached = |h: &mut RunHeader, _: &mut RunSummary| h.targets[0].member.direct = false;
    assert!(fires("cached", cached));
    assert!(!fires("cached", |_, _| {}));
    assert!(fires("small-span", cached));
    let absent = |h: &mut RunHeader, _: &mut RunSummary| {
        let place = TargetFacts { address: "b:".into(), member: MemberFacts::default() };
        h.targets.push(place);
    };
    assert!(
        !fires("cached", absent) && !fires("small-span", absent),
        "a host that did not begin caches nothing"
    );
    assert!(!fires("small-span", |h, _| h.targets[0].member.span_bytes = 1), "direct I/O has no cache here");
    for (span, expected) in [((16_u64 << 30) - 1, true), (16 << 30, false)] {
        let set = fires("small-span", |h, _| {
            h.targets[0].member.direct = false;
            h.targets[0].member.span_bytes = span;
        });
        assert_eq!(set, expected, "{span} bytes beside 8 GiB of memory");
    }
}

#[test]
fn durable_writes_are_said_where_there_are_writes() {
    let sync = |h: &mut RunHeader, _: &mut RunSummary| h.targets[0].member.sync = true;
    assert!(fires("sync", sync));
    assert!(!fires("sync", |_, _| {}));
    assert!(!fires("sync", |h, s| {
        sync(h, s);
        h.plan.tests[0].steps[0].jobs[0].mix[0].read = 100.0;
    }));
}

#[test]
fn quick_runs_say_so() {
    assert!(fires("quick", |h, _| h.plan.quick = true));
    assert!(!fires("quick", |_, _| {}));
}

/// A depth of 1 held the rate at 46 % of what was asked for, and the target was blamed.
#[test]
fn a_depth_that_was_full_is_named_before_the_target() {
    let open = |outstanding: u32, done: u64, full: f64| {
        let (mut header, mut summary) = clean();
        header.plan.tests[0].steps[0].jobs[0].outstanding = outstanding;
        let job = &mut summary.steps[0].jobs[0];
        (job.due, job.full) = (Some(10_000), Some(full));
        job.total = OpSummary { ops: done, iops: 185.0, ..OpSummary::default() };
        (found("missed-rate", &header, &summary), found("full-depth", &header, &summary))
    };
    let (Some(missed), None) = open(1, 4_610, 0.54) else { panic!("one finding") };
    assert!(
        missed
            .says
            .contains("completed (185 per second): the limit of 1 in flight was full for 54 % of the time"),
        "{}",
        missed.says
    );
    assert!(!missed.says.contains("sustain") && missed.next.contains("Raise `outstanding`"), "{missed:?}");
    let (Some(missed), None) = open(256, 4_610, 0.54) else { panic!("one finding") };
    assert!(missed.says.contains("does not sustain this rate at that depth"), "{}", missed.says);
    let (Some(missed), None) = open(1, 4_610, 0.0) else { panic!("one finding") };
    assert!(missed.says.ends_with("the target does not sustain this rate."), "{}", missed.says);
    // What failed was issued in time.
    let (header, mut summary) = clean();
    let job = &mut summary.steps[0].jobs[0];
    job.due = Some(10_000);
    job.total = OpSummary { ops: 6_000, errors: 4_000, iops: 240.0, ..OpSummary::default() };
    assert!(found("missed-rate", &header, &summary).is_none());
    let (mut header, mut summary) = clean();
    header.host.cpus_online = 2;
    used(&mut summary).host_busy = 0.99;
    (summary.steps[0].jobs[0].due, summary.steps[0].jobs[0].full) = (Some(10_000), Some(0.0));
    summary.steps[0].jobs[0].total = OpSummary { ops: 4_610, iops: 185.0, ..OpSummary::default() };
    let missed = found("missed-rate", &header, &summary).unwrap();
    assert!(
        missed.says.contains("(busy-host), so whether the target sustains this rate is not known"),
        "{missed:?}"
    );
    let (None, Some(full)) = open(1, 10_000, 0.02) else { panic!("reached, and waited") };
    assert!(full.says.contains("full for 2 % of the time: response times include"), "{}", full.says);
    assert_eq!(open(1, 10_000, 0.009), (None, None));
}

/// A closed loop of one I/O in flight with an upper limit on its rate has no share of time in which its depth was full,
/// and the target was blamed for the rate that the depth set.
#[test]
fn the_depth_of_a_throttled_loop_is_named_before_the_target() {
    let throttled = |in_flight: f64, outstanding: u32| {
        let (mut header, mut summary) = clean();
        let job = &mut header.plan.tests[0].steps[0].jobs[0];
        job.outstanding = outstanding;
        job.pacing = Pacing::Throttled { rate: PerSecond(400.0) };
        let job = &mut summary.steps[0].jobs[0];
        (job.due, job.full) = (Some(1_604), None);
        (job.outstanding_effective, job.outstanding_asked) = (in_flight, outstanding.into());
        job.total = OpSummary { ops: 705, iops: 176.0, ..OpSummary::default() };
        found("missed-rate", &header, &summary).unwrap()
    };
    let missed = throttled(0.99, 1);
    let words =
        "on average 0.99 of the 1 I/Os that the plan allows were in flight, and that depth, not the target";
    assert!(missed.says.contains(words), "{}", missed.says);
    assert!(missed.next.contains("`arrivals`"), "{}", missed.next);
    let rested = throttled(0.9, 4);
    assert!(
        rested.says.ends_with("that depth alone did not set this rate; what did is not known."),
        "{}",
        rested.says
    );
    assert!(!rested.says.contains("target") && rested.next.contains("fell behind"), "{}", rested.next);
    assert!(throttled(256.0, 256).says.ends_with("the target does not sustain this rate."));
}

/// Of a window of milliseconds, whose CPU times nobody knows, and of the null target the target was blamed.
#[test]
fn a_target_is_not_blamed_for_a_rate_where_nothing_excludes_this_host() {
    let missed = |set: &dyn Fn(&mut RunHeader, &mut RunSummary)| {
        let (mut header, mut summary) = clean();
        header.plan.tests[0].steps[0].jobs[0].outstanding = 256;
        let job = &mut summary.steps[0].jobs[0];
        (job.due, job.full) = (Some(10_000), Some(0.5));
        job.total = OpSummary { ops: 4_610, iops: 185.0, ..OpSummary::default() };
        set(&mut header, &mut summary);
        found("missed-rate", &header, &summary).unwrap().says
    };
    assert!(missed(&|_, _| {}).contains("the target does not sustain this rate at that depth"));
    let short = |_: &mut RunHeader, s: &mut RunSummary| {
        (s.steps[0].whole_seconds, s.steps[0].host.seconds) = (0.09, 0.09);
    };
    for unknown in [missed(&short), missed(&|_, s| s.steps[0].cpu.used = None)] {
        assert!(unknown.contains("nothing shows whether this host kept up"), "{unknown}");
    }
    let null = missed(&|h, _| h.targets.iter_mut().for_each(|t| t.member.kind = MemberKind::Null));
    assert!(null.ends_with("the target costs nothing, so this host does not sustain this rate."), "{null}");
}

/// All paths were down for a quarter of the window, and the depth, this host or the target was blamed for the rest.
#[test]
fn a_rate_that_was_missed_as_no_path_was_up_is_no_fault_of_the_target() {
    let moment = |at_ms: u64, says: &str| PathMoment {
        since_window_ns: at_ms * 1_000_000,
        member: "iscsi://nas/iqn.2026-01.test:a/1".into(),
        says: says.into(),
    };
    let missed = |hosts: &[&str], done: u64, moments: &[PathMoment]| {
        let (mut header, mut summary) = clean();
        header.plan.tests[0].steps[0].jobs[0].hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        used(&mut summary).host_busy = 0.99;
        let step = &mut summary.steps[0];
        step.path_moments = moments.to_vec();
        (step.jobs[0].due, step.jobs[0].full) = (Some(10_000), Some(0.3));
        step.jobs[0].total = OpSummary { ops: done, iops: 300.0, ..OpSummary::default() };
        found("missed-rate", &header, &summary).unwrap()
    };
    let up = "path 0 (10.0.1.1) is up";
    let second = [moment(1000, "all paths are down; I/O waits"), moment(2000, up), moment(2500, up)];
    let of = missed(&[], 7_000, &second);
    let words =
        "no path to iscsi://nas/iqn.2026-01.test:a/1 was up for 1.0 of 4.0 s, so whether the target sustains";
    assert!(of.says.contains(words) && of.next.contains("paths"), "{of:?}");
    // It did not come back, over NFS.
    let rest = missed(&[], 7_000, &[moment(3000, "all connections are down; I/O waits")]).says;
    assert!(rest.contains("was up for 1.0 of 4.0 s"), "{rest}");
    // A moment without a path, another host's paths, and one path of two, do not explain it.
    let mut brief = second.clone();
    brief[1].since_window_ns = 1_050_000_000;
    let one = [moment(1000, "path 0 went down: timeout"), moment(2000, up)];
    let far = second.clone().map(|of| PathMoment { member: format!("b:{}", of.member), ..of });
    for of in [missed(&[], 7_000, &brief), missed(&[], 7_000, &one), missed(&["a"], 7_000, &far)] {
        assert!(of.says.contains("limit"), "{of:?}");
    }
    assert!(missed(&["b"], 7_000, &far).says.contains("no path to b:iscsi:"));
}

#[test]
fn a_rate_is_missed_below_99_percent() {
    let set = |done: u64| {
        fires("missed-rate", |_, s| {
            s.steps[0].jobs[0].due = Some(10_000);
            s.steps[0].jobs[0].total = OpSummary { ops: done, ..OpSummary::default() };
        })
    };
    assert!(set(9_899));
    assert!(!set(9_900));
    assert!(!fires("missed-rate", |_, s| s.steps[0].jobs[0].due = Some(0)));
    // 60 of 61 at 30 a second over 2 s: the last one was due as the window ended.
    let of_few = |workers: u32, done: u64| {
        fires("missed-rate", |h, s| {
            h.plan.tests[0].steps[0].jobs[0].workers = workers;
            s.steps[0].jobs[0].due = Some(61);
            s.steps[0].jobs[0].total = OpSummary { ops: done, ..OpSummary::default() };
        })
    };
    assert!(!of_few(1, 60) && of_few(1, 59) && !of_few(2, 59) && of_few(2, 58));
    // A job that had to wait for others says nothing about the target.
    for rule in ["missed-rate", "full-depth"] {
        let with = |flow: u32| {
            fires(rule, |h, s| {
                h.plan.tests[0].steps[0].jobs[0].flow = flow;
                (s.steps[0].jobs[0].due, s.steps[0].jobs[0].full) = (Some(10_000), Some(0.5));
                let ops = if rule == "full-depth" { 10_000 } else { 2_500 };
                s.steps[0].jobs[0].total = OpSummary { ops, ..OpSummary::default() };
            })
        };
        assert!(with(0) && !with(1), "{rule}");
    }
}

#[test]
fn seconds_without_io_are_a_stall_where_an_io_took_as_long() {
    let stall = |rates: &[f64], slowest_ns: u64, is_over: bool| {
        let (header, mut summary) = clean();
        {
            let step = &mut summary.steps[0];
            let plain = step.series[0].clone();
            step.series = rates.iter().map(|iops| Point { iops: *iops, ..plain.clone() }).collect();
            if is_over {
                step.series.last_mut().unwrap().t_s = 1e6;
            }
            step.total.iops = rates.iter().sum::<f64>() / rates.len() as f64;
            step.total.service.record(slowest_ns);
        }
        found("stalled", &header, &summary)
    };
    let set = |rates: &[f64], slowest_ns: u64| stall(rates, slowest_ns, false);
    assert!(
        stall(&[900.0, 880.0, 2.0], 1_400_000_000, true).is_none(),
        "the last I/O came when all was over"
    );
    let reported = set(&[900.0, 880.0, 3.0, 0.0, 0.0, 910.0, 0.0, 870.0], 3_400_000_000).unwrap();
    assert!(reported.says.contains("from second 2 to second 5 of the measured window"), "{}", reported.says);
    assert!(reported.says.contains("took 3.4 s"), "{}", reported.says);
    assert_eq!(reported.evidence[0].value, 3.0);
    assert!(set(&[900.0, 880.0, 0.0, 910.0], 40_000_000).is_none(), "it was meant to rest");
    // A queue that is drained at the end of a window leaves out the I/Os that wait there.
    let at_end = set(&[900.0, 880.0, 0.0, 0.0], 40_000_000).unwrap();
    assert!(at_end.says.contains("from second 2 to second 4 of the measured window"), "{}", at_end.says);
    assert!(at_end.says.ends_with("the latencies lack the I/Os that waited."), "{}", at_end.says);
    // A disk that was suspended until after the end: the table showed a longest latency of 5.3 s beside that sentence.
    let seen = set(&[900.0, 880.0, 0.0, 0.0], 5_300_000_000).unwrap();
    assert!(seen.says.ends_with("took 5.3 s. Rates and means include the stall."), "{}", seen.says);
    assert!(set(&[900.0, 880.0, 90.0, 910.0], 3_400_000_000).is_none(), "slow is not still");
    assert!(set(&[1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 1_300_000_000).is_none(), "large I/Os, one a second");
}

/// A window of one rate a second, of writes only.
pub(crate) fn writes_over_time(rates: impl IntoIterator<Item = f64>) -> (RunHeader, RunSummary) {
    let (header, mut summary) = clean();
    let step = &mut summary.steps[0];
    let plain = Point { mib_per_s: 512.0, ..step.series[0].clone() };
    let rates = rates.into_iter().zip(1_u32..);
    step.series = rates.map(|(iops, s)| Point { t_s: f64::from(s), iops, ..plain.clone() }).collect();
    (step.read, step.write) = (OpSummary::default(), step.total.clone());
    (header, summary)
}

fn over_time(rule: &str, rates: impl IntoIterator<Item = f64>) -> Option<Finding> {
    let (header, summary) = writes_over_time(rates);
    found(rule, &header, &summary)
}

/// Rates that scatter by 3 % around `level`.
pub(crate) fn around(level: f64, seconds: usize) -> impl Iterator<Item = f64> {
    (0..seconds).map(move |i| level * (1.0 + 0.03 * f64::from([-1, 1, 0, 1, 0, -1, 1][i % 7])))
}

#[test]
fn a_rate_that_leaves_its_level_is_a_finding_with_the_second_and_both_levels() {
    let steady = || around(12_000.0, 60);
    for rule in ["level-change", "drift", "ramp-up", "saw-tooth"] {
        assert!(over_time(rule, steady()).is_none(), "{rule}");
    }
    let full = over_time("level-change", around(12_000.0, 31).chain(around(4100.0, 29))).unwrap();
    assert!(full.says.contains("from 12,000 to 4,110 at second 31"), "{}", full.says);
    assert!(
        full.says.contains("15.5 GiB had been transferred: typical causes are a full write cache"),
        "{}",
        full.says
    );
    let capped = over_time("level-change", around(12_000.0, 31).chain([3000.0; 29])).unwrap();
    assert!(capped.says.contains("a limit probably holds it"), "{}", capped.says);
    let faster = over_time("level-change", around(4100.0, 31).chain(around(12_000.0, 29))).unwrap();
    assert!(faster.says.contains("warmed up"), "{}", faster.says);
    let falling = over_time("drift", around(12_000.0, 60).zip(0_u32..).map(|(r, i)| r - 80.0 * f64::from(i)));
    assert!(falling.unwrap().says.contains("drifted from 12,"));
    let rising = (0..8).map(|i| 1500.0 * f64::from(i) + 100.0).chain(around(12_000.0, 52));
    let ramp = over_time("ramp-up", rising).unwrap();
    assert!(ramp.says.contains(" during the first 8 s of the window"), "{}", ramp.says);
    assert!((ramp.evidence[1].value - 12_000.0).abs() < 200.0, "{:?}", ramp.evidence);
    let teeth = (0..6).flat_map(|_| around(12_000.0, 9).chain(around(2000.0, 4)));
    assert!(over_time("saw-tooth", teeth).unwrap().says.contains("every 13 s on average"));
}

/// A window whose second half another program disturbs: the disk carries `others` more, and the rate falls by 15 %.
pub(crate) fn disturbed(others: f64, fall: f64) -> (RunHeader, RunSummary) {
    let (mut header, mut summary) = clean();
    header.targets[0].member.direct = true;
    let step = &mut summary.steps[0];
    let plain = step.series[0].clone();
    let is_late = |s: u32| s > 30;
    let rates = around(12_000.0, 60).zip(1_u32..).map(|(rate, s)| {
        // Noise of its own, too large for so small a step to stand out by itself.
        let noise = 1.0 + 0.1 * f64::from([3, -2, 0, -3, 2, 0, 1, -1][(s as usize / 2) % 8]);
        (s, rate * noise * if is_late(s) { 1.0 - fall } else { 1.0 })
    });
    let rates: Vec<(u32, f64)> = rates.collect();
    let mib = |iops: f64| iops / 128.0;
    let point = |(s, iops): &(u32, f64)| Point {
        t_s: f64::from(*s),
        iops: *iops,
        mib_per_s: mib(*iops),
        ..plain.clone()
    };
    step.series = rates.iter().map(point).collect();
    let sample = |(s, iops): &(u32, f64)| TimelineSample {
        t_s: f64::from(*s),
        disks: [("sdb1".into(), mib(*iops) + if is_late(*s) { others } else { 0.0 })].into(),
        ..TimelineSample::default()
    };
    step.timeline.samples = rates.iter().map(sample).collect();
    (header, summary)
}

#[test]
fn a_small_fall_at_the_second_in_which_another_program_began_is_found_and_explained() {
    let (header, summary) = disturbed(0.0, 0.25);
    assert!(found("level-change", &header, &summary).is_none(), "the noise hides it");
    let (header, summary) = disturbed(60.0, 0.25);
    let finding = found("level-change", &header, &summary).unwrap();
    assert!(finding.says.contains(" at second 30. "), "{}", finding.says);
    assert!(finding.says.contains("At second 30 the I/O of other programs"), "{}", finding.says);
    let (header, summary) = disturbed(60.0, 0.0);
    assert!(found("level-change", &header, &summary).is_none(), "nothing changed for the load");
}

#[test]
fn foreign_io_is_named_with_the_second_in_which_it_began() {
    let (header, mut summary) = disturbed(60.0, 0.0);
    let host = &mut summary.steps[0].host;
    let own = 94.0 * f64::from(1 << 20) * 60.0;
    (host.seconds, host.tester_bytes) = (60.0, Some(own));
    host.disks = vec![DiskUse { device: "sdb1".into(), bytes: (own * 1.3) as u64, queue_mean: None }];
    let finding = found("foreign-io", &header, &summary).unwrap();
    assert!(finding.says.ends_with("used it during the test, from second 30 on."), "{}", finding.says);
}

#[test]
fn an_overloaded_open_loop_misses_its_rate() {
    let (header, summary) = run("[[test]]\nname = \"o\"\naccess = [{ size = \"8KiB\", random = 100 }]\n\
        outstanding = 4\nrun = \"3s\"\npace = { rate = \"90000/s\", arrivals = \"constant\" }\n");
    let finding = found("missed-rate", &header, &summary).unwrap();
    assert!(
        finding.says.contains("of the 270002 I/Os") || finding.says.contains("of the 27000"),
        "{}",
        finding.says
    );
}

#[test]
fn failed_ios_are_critical_with_the_first_in_words() {
    let finding = {
        let (header, mut summary) = clean();
        summary.steps[0].errors = 3;
        summary.steps[0].failures = vec![Failure {
            job: 0,
            member: "/srv/t.dat".into(),
            is_write: true,
            offset_bytes: 8192,
            size_bytes: 4096,
            errno: 5,
            says: "input/output error".into(),
        }];
        found("errors", &header, &summary).unwrap()
    };
    assert_eq!(finding.severity, Severity::Critical);
    assert!(
        finding.says.contains("a write of 4096 bytes at offset 8192 of /srv/t.dat: input/output error."),
        "{}",
        finding.says
    );
    assert!(!fires("errors", |_, _| {}));
    let (header, mut summary) = clean();
    (summary.steps[0].errors, summary.steps[0].outside_errors) = (64, 64);
    let says = found("errors", &header, &summary).unwrap().says;
    assert!(says.contains("64 I/Os failed, all of them outside the measured window;"), "{says}");
    // Without an I/O nothing shows that the target was lost: this host may be out of files.
    let (header, mut summary) = clean();
    summary.steps[0].reason = Some(StepReason::TargetLost("cannot open t.dat: Too many open files".into()));
    summary.steps[0].total = OpSummary::default();
    let finding = found("errors", &header, &summary).unwrap();
    assert!(finding.says.contains("The step ended without an I/O: cannot open t.dat"), "{}", finding.says);
    assert!(finding.next.contains("a limit of this host"), "{}", finding.next);
    assert!(
        fires("errors", |_, s| s.steps[0].reason = Some(StepReason::TargetLost("it was unplugged".into())))
    );
}

#[test]
fn a_wrong_block_is_critical_and_comes_first() {
    let (mut header, mut summary) = clean();
    header.plan.quick = true;
    let expected = Stamp { offset_bytes: 512, run: 1, sequence: 4, checksum: 9 };
    summary.steps[0].mismatch_count = 1;
    summary.steps[0].mismatches = vec![Mismatch {
        job: 0,
        member: "m".into(),
        offset_bytes: 512,
        expected,
        found: None,
        says: "no stamp".into(),
    }];
    let all = findings(&header, &summary);
    assert_eq!((all[0].rule.as_str(), all[0].severity), ("mismatch", Severity::Critical));
    assert!(!fires("mismatch", |_, _| {}));
}

/// Another program that wrote to the file of a run had the storage blamed: "Do not store data on this system".
#[test]
fn blocks_without_a_stamp_may_be_another_program_s_and_the_finding_says_so() {
    let (header, mut summary) = clean();
    let stamp = |run| Stamp { offset_bytes: 512, run, sequence: 4, checksum: 9 };
    let wrong = |expected, found| Mismatch {
        job: 0,
        member: "m".into(),
        offset_bytes: 512,
        expected,
        found,
        says: "zeros".into(),
    };
    let nobodys = Stamp { offset_bytes: 512, run: 0, sequence: 0, checksum: 0 };
    summary.steps[0].mismatch_count = 2;
    summary.steps[0].mismatches = vec![wrong(nobodys, None), wrong(stamp(1), None)];
    let finding = found("mismatch", &header, &summary).unwrap();
    assert!(finding.next.starts_with("Find out whether anything else wrote"), "{}", finding.next);
    assert!(finding.says.contains("Expected: offset 512, of any run. Found: no stamp."), "{}", finding.says);
    // Of a run on another host, later than this one's write; a fill of another run was before it.
    summary.steps[0].mismatches.push(wrong(stamp(1), Some(stamp(2))));
    let finding = found("mismatch", &header, &summary).unwrap();
    assert!(finding.next.starts_with("Find out whether anything else wrote"), "{}", finding.next);
    for storages in [Stamp { sequence: 0, ..stamp(2) }, Stamp { offset_bytes: 1024, ..stamp(2) }] {
        summary.steps[0].mismatches[2].found = Some(storages);
        let finding = found("mismatch", &header, &summary).unwrap();
        assert!(finding.next.starts_with("Do not store data on this system"), "{}", finding.next);
    }
    // The right stamp before damaged data: a write that begins within a block leaves it, and blocks without one behind.
    let damaged = wrong(stamp(1), Some(Stamp { checksum: 7, ..stamp(1) }));
    summary.steps[0].mismatches[2] = damaged.clone();
    let finding = found("mismatch", &header, &summary).unwrap();
    assert!(finding.next.starts_with("Find out whether anything else wrote"), "{}", finding.next);
    // Without such blocks on that target nothing shows that somebody else wrote.
    summary.steps[0].mismatches[2].member = "n".into();
    let finding = found("mismatch", &header, &summary).unwrap();
    assert!(finding.next.starts_with("Do not store data on this system"), "{}", finding.next);
    summary.steps[0].mismatches = vec![damaged];
    let finding = found("mismatch", &header, &summary).unwrap();
    assert!(finding.next.starts_with("Do not store data on this system"), "{}", finding.next);
}

#[test]
fn a_run_without_its_end_is_partial() {
    use assay_analysis::RunStatus::{Done, Failed, Interrupted, Partial, Running};
    for (status, expected) in [
        (Done, None),
        (Failed, None),
        (Interrupted, Some(Severity::Warning)),
        (Partial, Some(Severity::Warning)),
        (Running, Some(Severity::Info)),
    ] {
        let (header, mut summary) = clean();
        summary.status = status;
        let severity = found("partial", &header, &summary).map(|finding| finding.severity);
        assert_eq!(severity, expected, "{status:?}");
    }
}

#[test]
fn steps_left_out_are_named() {
    let (header, mut summary) = clean();
    summary.steps[0].skipped = Some("512B is below the smallest direct I/O, 4KiB".into());
    let finding = found("skipped-step", &header, &summary).unwrap();
    assert_eq!(finding.says, "Left out: t: 512B is below the smallest direct I/O, 4KiB.");
    assert!(!fires("skipped-step", |_, _| {}));
}

#[test]
fn warnings_become_findings_once_unless_a_rule_says_it_better() {
    let (mut header, mut summary) = clean();
    let warning =
        |rule: &str| Warning { rule: rule.into(), says: "It fell back.".into(), next: "Allow it.".into() };
    let again = Warning { says: "It fell again.".into(), ..warning("psync-fallback") };
    summary.warnings =
        vec![warning("psync-fallback"), warning("psync-fallback"), again, warning("unwritten")];
    header.targets[0].member.unwritten_bytes = Some(4096);
    let all = findings(&header, &summary);
    let rules: Vec<&str> = all.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(rules, ["unwritten", "psync-fallback", "psync-fallback"]);
    assert!(all[0].says.starts_with("0.0 of"), "the rule's own words: {}", all[0].says);
    assert_eq!((all[1].says.as_str(), all[1].next.as_str()), ("It fell back.", "Allow it."));
    assert_eq!(all[2].says, "It fell again.", "what happens twice is reported twice");
}

#[test]
fn a_foreign_file_without_known_holes_is_not_judged() {
    let set = fires("unwritten", |h, _| {
        h.targets[0].member.content = Content::Foreign;
        h.targets[0].member.unwritten_bytes = None;
    });
    assert!(!set);
}

fn unstable(commit_s: f64) -> WriteEnd {
    let commit_ns = std::time::Duration::from_secs_f64(commit_s).as_nanos().try_into().unwrap();
    WriteEnd {
        unstable: 75,
        file_sync: 25,
        commits: 1,
        commit_ns,
        committed_bytes: 1 << 20,
        ..WriteEnd::default()
    }
}

#[test]
fn writes_in_the_memory_of_a_server_are_said_with_what_the_commit_took() {
    let (header, mut summary) = clean();
    let seconds = summary.steps[0].seconds;
    for (commit_s, severity) in [(seconds * 0.0999, Severity::Info), (seconds * 0.1001, Severity::Warning)] {
        summary.steps[0].writes = vec![unstable(commit_s)];
        let finding = found("unstable-writes", &header, &summary).unwrap();
        assert_eq!(finding.severity, severity, "{commit_s}");
        assert!(finding.says.contains("75 % of the writes UNSTABLE"), "{}", finding.says);
    }
    // A COMMIT as long as the test halves the rate.
    summary.steps[0].writes = vec![unstable(seconds)];
    let rate = summary.steps[0].write.mib_per_s;
    let says = found("unstable-writes", &header, &summary).unwrap().says;
    assert!(says.contains(&format!("reach {:.1} instead of {rate:.1} MiB/s", rate / 2.0)), "{says}");
    summary.steps[0].writes[0].committed_before_bytes = 3 << 20;
    let says = found("unstable-writes", &header, &summary).unwrap().says;
    assert!(says.contains("reach at least") && says.contains("3.0 MiB of the warm-up"), "{says}");
    assert!(!fires("unstable-writes", |_, s| s.steps[0].writes = vec![]));
    assert!(!fires("unstable-writes", |_, s| {
        s.steps[0].writes = vec![WriteEnd { file_sync: 9, ..WriteEnd::default() }];
    }));
}

#[test]
fn writes_that_a_server_may_have_forgotten_are_critical() {
    let lost = |uncertain| WriteEnd { restarts: 1, uncertain, uncertain_bytes: 4096, ..unstable(0.1) };
    assert!(!fires("uncertain-writes", |_, s| s.steps[0].writes = vec![lost(0)]));
    let (mut header, mut summary) = clean();
    summary.steps[0].writes = vec![lost(1), lost(2)];
    let finding = found("uncertain-writes", &header, &summary).unwrap();
    assert!(finding.says.contains("3 UNSTABLE writes (0.0 MiB)"), "{}", finding.says);
    assert_eq!(finding.severity, Severity::Critical);
    summary.steps[0].writes = vec![WriteEnd { failure: Some("no space".into()), ..unstable(0.1) }];
    let finding = found("uncertain-writes", &header, &summary).unwrap();
    assert!(finding.says.contains("may not be durable: no space"), "{}", finding.says);
    assert!(finding.next.contains("verify = true"), "{}", finding.next);
    header.plan.tests[0].steps[0].verify = true;
    let next = found("uncertain-writes", &header, &summary).unwrap().next;
    assert!(!next.contains("verify = true"), "the plan has it: {next}");
}

/// A target that was lost failed every I/O in flight after the window had closed: no error was counted, and the run
/// ended with 0. Flushes that failed were counted nowhere, and nothing was said where a target could not be opened.
#[test]
fn failures_outside_the_window_and_of_flushes_are_errors() {
    let (header, _) = clean();
    let errors = |change: &dyn Fn(&mut StepEnd)| {
        let mut events = synthetic::events(&header, Target::default());
        for event in &mut events {
            if let RunEvent::StepEnded(end) = &mut event.what {
                change(end);
            }
        }
        let summary = summarize(&header, &events);
        (summary.steps[0].errors, found("errors", &header, &summary).map(|finding| finding.says))
    };
    assert_eq!(errors(&|_| {}), (0, None));
    assert_eq!(errors(&|end| end.outside_errors = 64).0, 64);
    let flush = |end: &mut StepEnd| {
        let stats = OpStats { errors: 2, ..OpStats::default() };
        end.flushes = vec![FlushEnd { job: 0, stats }];
    };
    let (count, says) = errors(&flush);
    assert!(count == 2 && says.is_some(), "{count} {says:?}");
}

#[test]
fn writes_of_which_two_copies_were_sent_are_counted_and_named_beside_wrong_blocks() {
    let moved = |moved| WriteEnd { moved, ..unstable(0.1) };
    assert!(!fires("moved-writes", |_, s| s.steps[0].writes = vec![moved(0)]));
    let (mut header, mut summary) = clean();
    summary.steps[0].writes = vec![moved(1), moved(2)];
    let finding = found("moved-writes", &header, &summary).unwrap();
    assert!(finding.says.contains("3 writes were sent again"), "{}", finding.says);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.says.contains("NFSv3 cannot recall"), "{}", finding.says);
    summary.steps[0].writes.clear();
    (summary.steps[0].moved_writes, header.targets[0].member.kind) = (5, MemberKind::Lun);
    let finding = found("moved-writes", &header, &summary).unwrap();
    assert!(finding.says.contains("5 writes were sent again"), "{}", finding.says);
    assert!(finding.says.contains("LUN reset"), "{}", finding.says);
    summary.steps[0].late_blocks = 8;
    let finding = found("moved-writes", &header, &summary).unwrap();
    assert!(finding.says.contains("8 blocks of 512 bytes"), "{}", finding.says);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(found("mismatch", &header, &summary).is_none(), "the storage is not blamed");
    summary.steps[0].moved_writes = 0;
    let finding = found("moved-writes", &header, &summary).unwrap();
    assert!(finding.says.contains("Writes of the fill or of an earlier step"), "{}", finding.says);
    summary.steps[0].mismatch_count = 1;
    let finding = found("mismatch", &header, &summary).unwrap();
    assert!(finding.says.contains("Not among them: 8"), "{}", finding.says);
}

#[test]
fn what_a_path_that_takes_nothing_cost_is_a_finding() {
    let path = |path: u8, unable_s: f64, refused| PathEnd {
        path,
        portal: format!("10.0.{path}.1"),
        refused,
        moved: refused / 2,
        unable_ns: (unable_s * 1e9) as u64,
        reads: 1000,
        ..PathEnd::default()
    };
    let (header, mut summary) = clean();
    let seconds = summary.steps[0].seconds;
    let mut with = |paths| {
        summary.steps[0].paths = paths;
        found("refusing-path", &header, &summary)
    };
    assert!(with(vec![path(0, 0.0, 0), path(1, seconds * 0.0099, 9)]).is_none());
    let finding = with(vec![path(0, 0.0, 0), path(1, seconds * 0.0101, 8)]).unwrap();
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.says.contains("path 1 (10.0.1.1) was up and refused 8 commands"), "{}", finding.says);
    assert!(finding.says.contains("4 I/Os moved to other paths"), "{}", finding.says);
    assert!(finding.says.contains("completed 1000 of 2000"), "{}", finding.says);
    let finding = with(vec![path(0, seconds * 0.3, 0)]).unwrap();
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.says.contains("kept its command window closed"), "{}", finding.says);
    assert!(finding.says.contains("no other path could take them"), "{}", finding.says);
}

#[test]
fn a_server_that_makes_all_durable_unasked_is_said() {
    let nfs = |sync: &str| Some(Box::new(NfsFacts { sync: sync.into(), ..NfsFacts::default() }));
    let fires_with = |sync, writes: WriteEnd| {
        fires("stable-anyway", |h, s| {
            h.targets[0].member.nfs = nfs(sync);
            s.steps[0].writes = vec![writes.clone()];
        })
    };
    let durable = WriteEnd { file_sync: 9, ..WriteEnd::default() };
    assert!(fires_with("unstable", durable.clone()));
    assert!(!fires_with("file", durable.clone()));
    assert!(!fires_with("unstable", WriteEnd { unstable: 1, ..durable }));
    assert!(!fires_with("unstable", WriteEnd::default()));
}

/// 20,488 random IOPS of 256 MiB in a server's memory had no word about it.
#[test]
fn the_memory_of_a_server_is_suspected_until_somebody_says_how_much_it_has() {
    let served = |kind: &str, span: u64, change: &dyn Fn(&mut RunHeader)| {
        let (mut header, summary) = clean();
        let member = &mut header.targets[0].member;
        member.span_bytes = span;
        member.filesystem.get_or_insert_default().kind = kind.to_owned();
        change(&mut header);
        found("server-memory", &header, &summary).map(|finding| finding.severity)
    };
    let nothing = |_: &mut RunHeader| {};
    for kind in ["nfs4", "cifs"] {
        assert_eq!(served(kind, 256 << 20, &nothing), Some(Severity::Warning), "{kind}");
    }
    assert_eq!(served("nfs", 100 << 30, &nothing), Some(Severity::Info), "a large server has as much");
    assert_eq!(served("nfs", 200 << 30, &nothing), None);
    assert_eq!(served("ext4", 256 << 20, &nothing), None, "a disk of this host");
    assert_eq!(served("nfs", 256 << 20, &|h| h.stated.storage_bytes = Some(8 << 30)), None, "asked once");
    let lun = |h: &mut RunHeader| h.targets[0].member.kind = MemberKind::Lun;
    assert_eq!(served("", 1 << 30, &lun), Some(Severity::Warning));
}

#[test]
fn one_portal_is_not_what_portals_all_asked_for() {
    let alone = |address: &str, paths: usize| {
        fires("single-path", |header, _| {
            header.targets[0].address = address.to_owned();
            let lun = LunFacts { paths: vec![PathFacts::default(); paths], ..LunFacts::default() };
            header.targets[0].member.lun = Some(Box::new(lun));
        })
    };
    assert!(alone("iscsi://nas/iqn.x/1?portals=all", 1));
    assert!(!alone("iscsi://nas/iqn.x/1?portals=all", 2) && !alone("iscsi://nas/iqn.x/1", 1));
}

/// A sample of I/Os at random blocks of 4 KiB in 64 GiB, whose times depend on the place.
fn placed(ios: u64, time_us: impl Fn(u64) -> f64) -> PlaceSample {
    let mut random = 7;
    let mut draw = || assay_spec::random::split_mix(&mut random);
    let one = |_| {
        let place = draw() % (64 << 18) * 4096;
        let noise = 0.7 + 0.6 * (draw() % 1000) as f64 / 1000.0;
        PlacedIo(0, place, (time_us(place) * noise * 1e3) as u64)
    };
    PlaceSample { job: 0, every: 16, ios: (0..ios).map(one).collect() }
}

#[test]
fn a_slow_member_and_a_slow_region_are_found_by_the_offsets_of_a_runs_own_ios() {
    let of = |random: u32, sample: PlaceSample| {
        let (header, mut summary) = run(&format!(
            "[[test]]\nname = \"t\"\naccess = [{{ size = \"4KiB\", read = 100, random = {random} }}]\n\
             outstanding = 16\nrun = \"4s\"\n"
        ));
        summary.steps[0].places = vec![sample];
        let says = |rule: &str| found(rule, &header, &summary).map(|finding| finding.says);
        (says("slow-member"), says("slow-region"))
    };
    let stripe = |place: u64| if place / 65_536 % 8 == 2 { 1500.0 } else { 300.0 };
    let (member, region) = of(100, placed(1024, stripe));
    assert!(member.unwrap().contains("one in 8 chunks of 64 KiB takes"), "in a file");
    assert_eq!(region, None);
    let part = |place: u64| if (20 << 30..24 << 30).contains(&place) { 2000.0 } else { 300.0 };
    let (member, region) = of(100, placed(1024, part));
    // Which cells have enough of a thousand I/Os to be compared is chance.
    assert!(member.is_none() && region.unwrap().contains(" GiB takes 6."));
    assert_eq!(of(100, placed(1024, |_| 300.0)), (None, None), "noise");
    assert_eq!(of(100, placed(250, stripe)), (None, None), "too few");
    let in_a_row = PlaceSample { every: 1, ..placed(1024, stripe) };
    assert_eq!(of(100, in_a_row), (None, None), "one member may have had the queue all the while");
    assert_eq!(of(60, placed(1024, stripe)), (None, None), "what comes next says something of the place");
}
