//! Several hosts in one run: the rules that set them apart, and the window that they have in common.

use assay_analysis::{Collector, HostSpread, LimitKind, RunSummary, Severity, limits};
use assay_record::{
    AccessStats, ClockOffset, Event, FleetHost, Gap, GapKind, GapPlace, HostEnd, HostFacts, Interval, JobEnd,
    LunFacts, MemberKind, PathFacts, RunEvent, RunHeader, StepCpu, StepEnd, StepId, StepReason, TargetFacts,
    TurnStats,
};

use assay_spec::units::PerSecond;
use assay_spec::{Arrivals, Pacing};

use crate::network::path;
use crate::{found, run};

const PLAN: &str = "[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\" }]\noutstanding = 16\nrun = \"4s\"\n";

fn names(count: usize) -> Vec<String> {
    (0..count).map(|index| char::from(b'a' + u8::try_from(index).unwrap()).to_string()).collect()
}

fn header(count: usize) -> RunHeader {
    let (mut header, _) = run(PLAN);
    let names = names(count);
    header.plan = header.plan.placed(&names, 1).unwrap().plan;
    let host = |name: &String| FleetHost { name: name.clone(), facts: HostFacts::default() };
    header.setting.hosts = names.iter().map(host).collect();
    header
}

pub(crate) fn host_end(name: &str) -> HostEnd {
    HostEnd {
        host: name.to_owned(),
        clock: ClockOffset { ahead_ns: 0, error_ns: 100_000 },
        drift: None,
        gate_ns: None,
        first_io_ns: Some(50_000),
        first_wait_ns: 0,
        cpu: StepCpu { host_busy_max: 0.3, ..StepCpu::default() },
        lost: None,
    }
}

/// A run of hosts with these rates, all of them quiet and together.
fn fleet(rates: &[f64]) -> (RunHeader, RunSummary) {
    let (_, mut summary) = run(PLAN);
    let header = header(rates.len());
    let step = &mut summary.steps[0];
    let job = |(name, iops): (&String, &f64)| {
        let mut job = step.jobs[0].clone();
        (job.name, job.total.iops) = (name.clone(), *iops);
        job
    };
    step.jobs = names(rates.len()).iter().zip(rates).map(job).collect();
    step.hosts = names(rates.len()).iter().map(|name| host_end(name)).collect();
    (header, summary)
}

#[test]
fn a_host_far_behind_the_others_with_the_same_load_is_named() {
    for even in [&[100.0, 100.0][..], &[100.0, 81.0], &[100.0, 500.0, 100.0], &[100.0, 90.0, 85.0]] {
        let (header, summary) = fleet(even);
        assert_eq!(found("slow-host", &header, &summary), None, "{even:?}");
    }
    let (header, mut summary) = fleet(&[1000.0, 1010.0, 400.0]);
    let finding = found("slow-host", &header, &summary).unwrap();
    assert!(
        finding.says.contains("c did 400 I/Os per second")
            && finding.says.contains("half of the other 2 hosts 1000 or more"),
        "{finding:?}"
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert!(!finding.says.contains("itself may be the limit"));
    summary.steps[0].hosts[2].cpu.host_busy_max = 0.97;
    assert!(found("slow-host", &header, &summary).unwrap().says.contains("c itself may be the limit"));
    summary.steps[0].hosts[2].lost = Some("silent".into());
    assert_eq!(found("slow-host", &header, &summary), None, "a lost host is not a slow one");

    let (mut header, summary) = fleet(&[1000.0, 400.0]);
    header.plan.tests[0].steps[0].jobs[1].outstanding = 1;
    assert_eq!(found("slow-host", &header, &summary), None, "it has another load");
}

#[test]
fn one_host_without_cpu_is_named_only_where_the_others_have_some() {
    let busy = |all: [f64; 2]| {
        let (header, mut summary) = fleet(&[100.0, 100.0]);
        summary.steps[0].hosts.iter_mut().zip(all).for_each(|(host, busy)| host.cpu.host_busy_max = busy);
        found("host-without-cpu", &header, &summary)
    };
    assert!(busy([0.3, 0.99]).unwrap().says.contains("the busiest CPU of b"));
    let slow = |all: [f64; 2]| {
        let (header, mut summary) = fleet(&[100.0, 10.0]);
        summary.steps[0].hosts.iter_mut().zip(all).for_each(|(host, busy)| host.cpu.host_busy_max = busy);
        found("slow-host", &header, &summary).unwrap().says.contains("itself may be the limit")
    };
    assert_eq!((slow([0.3, 0.99]), slow([0.99, 0.99])), (true, false), "two on one machine are equally busy");
    assert_eq!((busy([0.3, 0.94]), busy([0.99, 0.99]), busy([0.85, 0.99])), (None, None, None));
}

#[test]
fn a_start_that_was_not_common_is_reported_and_so_are_clocks_that_do_not_tell() {
    let start = |late_ns: i64, error_ns: u64| {
        let (header, mut summary) = fleet(&[100.0, 100.0]);
        summary.steps[0].hosts[1].first_io_ns = Some(late_ns);
        summary.steps[0].hosts.iter_mut().for_each(|host| host.clock.error_ns = error_ns);
        found("no-common-start", &header, &summary).map(|finding| finding.says)
    };
    assert_eq!(start(30_000_000, 1000), None, "less than a hundredth of four seconds");
    assert!(start(2_000_000_000, 1000).unwrap().contains("2.00 s apart"));
    assert!(start(60_000, 30_000_000).unwrap().contains("is not known"));
}

/// A backup on b, from the fifth to the tenth second, takes half of what the target gives.
#[test]
fn a_host_whose_rate_falls_while_another_load_is_at_work_is_a_victim() {
    let says = |beside: f64, backup: std::ops::Range<u32>| {
        let (mut header, mut summary) = fleet(&[100.0, 100.0]);
        let plan = header.plan.tests[0].steps[0].jobs.iter_mut();
        plan.filter(|job| job.hosts == ["b"]).for_each(|job| job.workers = 4);
        let seconds = (1..=14_u32).map(f64::from);
        let rate = |second: f64| if (5.0..=10.0).contains(&second) { beside } else { 1000.0 + second };
        summary.steps[0].jobs[0].rates = seconds.map(|second| (second, rate(second))).collect();
        summary.steps[0].jobs[1].rates = backup.map(|second| (f64::from(second), 500.0)).collect();
        found("victim-host", &header, &summary).map(|finding| finding.says)
    };
    let victim = says(400.0, 5..11).unwrap();
    assert!(
        victim
            .contains("a did 1008 I/Os per second before and after b was at work, and 400 meanwhile (40 %)"),
        "{victim}"
    );
    assert_eq!(says(900.0, 5..11), None, "a tenth is no fall");
    assert_eq!(says(400.0, 1..15), None, "nobody knows what it does without b");
    assert_eq!(says(400.0, 2..8), None, "it is as slow when b has ended");
    assert_eq!(says(400.0, 5..15), None, "it may have fallen by itself");
    assert!(says(0.0, 5..11).unwrap().contains("and 0 meanwhile"), "it got nothing at all");
}

#[test]
fn hosts_that_were_at_work_in_the_same_seconds_are_named_together() {
    let (mut header, mut summary) = fleet(&[100.0, 100.0, 100.0]);
    header.plan.tests[0].steps[0].jobs.iter_mut().skip(1).for_each(|job| job.workers = 4);
    let seconds = || (1..=20_u32).map(f64::from);
    let rate = |second: f64| if (7.0..=14.0).contains(&second) { 300.0 } else { 1000.0 };
    summary.steps[0].jobs[0].rates = seconds().map(|second| (second, rate(second))).collect();
    let late: Vec<(f64, f64)> = (7..=14_u32).map(|second| (f64::from(second), 5.0)).collect();
    summary.steps[0].jobs[1].rates.clone_from(&late);
    summary.steps[0].jobs[2].rates.clone_from(&late);
    let says = found("victim-host", &header, &summary).unwrap().says;
    assert!(says.contains("before and after b, c were at work, and 300 meanwhile"), "{says}");
    // Few seconds are no evidence where many hosts could have been the one.
    summary.steps[0].jobs[0].rates.truncate(12);
    assert_eq!(found("victim-host", &header, &summary), None);
}

/// The mean of three hosts hid the busy one, and what was said of them was said of "this host".
#[test]
fn a_host_whose_cpus_others_have_is_named() {
    let says = |rule: &str, of: &[(f64, f64)]| {
        let (mut header, mut summary) = fleet(&[100.0, 100.0, 100.0]);
        let seconds = summary.steps[0].whole_seconds;
        header.setting.hosts.iter_mut().for_each(|host| host.facts.cpus_online = 2);
        for (host, (busy, steal)) in summary.steps[0].hosts.iter_mut().zip(of) {
            let tester_ns = (0.1 * 2.0 * seconds * 1e9) as u64;
            host.cpu = StepCpu { host_busy: *busy, steal: *steal, tester_ns, ..StepCpu::default() };
        }
        found(rule, &header, &summary).map(|finding| finding.says)
    };
    let one = says("busy-host", &[(0.2, 0.0), (0.97, 0.0), (0.2, 0.0)]).unwrap();
    assert!(one.contains("The CPUs of b were 97 % busy, of which the tester used 10 %: its I/Os"), "{one}");
    let two = says("busy-host", &[(0.9, 0.0), (0.97, 0.0), (0.2, 0.0)]).unwrap();
    assert!(two.contains("The CPUs of b were 97 % busy") && two.contains("and those of a were"), "{two}");
    assert_eq!(says("busy-host", &[(0.8, 0.0), (0.8, 0.0), (0.2, 0.0)]), None);
    let stolen = says("steal", &[(0.2, 0.0), (0.2, 0.0), (0.2, 0.05)]).unwrap();
    assert!(stolen.contains("gave 5.0 % of the CPU time of c to other guests"), "{stolen}");
}

/// Three hosts of two CPUs that were so busy with a tester of a tenth of a CPU each, where the hypervisor took so much.
fn busy_fleet(of: [(f64, f64); 3]) -> (RunHeader, RunSummary) {
    let (mut header, mut summary) = fleet(&[100.0, 100.0, 100.0]);
    header.setting.hosts.iter_mut().for_each(|host| host.facts.cpus_online = 2);
    for (host, (host_busy, steal)) in summary.steps[0].hosts.iter_mut().zip(of) {
        host.cpu = StepCpu { host_busy, steal, tester_ns: 400_000_000, ..StepCpu::default() };
    }
    (header, summary)
}

/// One busy host of three made "CPU time that other programs take limits this test" of a sum to which it gave a third.
#[test]
fn cpus_that_others_have_limit_several_hosts_only_where_each_has_none() {
    let of = |busy: [(f64, f64); 3], change: fn(&mut RunHeader, &mut RunSummary)| {
        let (mut header, mut summary) = busy_fleet(busy);
        change(&mut header, &mut summary);
        let limit = limits(&header, &summary).unwrap();
        let kinds: Vec<LimitKind> = limit.steps.iter().map(|step| step.kind).collect();
        (kinds.contains(&LimitKind::Host), limit.says)
    };
    let [idle, busy, stolen] = [(0.2, 0.0), (0.97, 0.0), (0.5, 0.45)];
    assert!(!of([idle, busy, idle], |_, _| {}).0);
    let (is_host, says) = of([busy, (0.99, 0.0), busy], |_, _| {});
    let all = "CPU time that other programs take limits this test (the CPUs of all 3 hosts had other work, those of b \
               were 99 % busy";
    assert!(is_host && says.contains(all), "{says}");
    // Programs have the CPUs of two of them, and other guests those of the third.
    let (is_host, says) = of([busy, stolen, busy], |_, _| {});
    assert!(is_host && says.contains("CPU time that others take"), "{says}");
    let unknown = of([busy, busy, busy], |header, _| header.setting.hosts[0].facts.cpus_online = 0);
    assert!(!unknown.0, "nothing shows that a was held up");
    assert!(of([busy, idle, busy], |_, summary| summary.steps[0].hosts[1].lost = Some("silent".into())).0);
}

/// The CPU time of a host was divided by the window of the one that took longest: the tester of a host that had done
/// its I/Os after a fifth of it "used 19 %", and the rest was other programs'.
#[test]
fn the_cpu_time_of_a_host_that_is_done_early_is_over_its_own_window() {
    let (header, mut summary) = busy_fleet([(0.95, 0.0), (0.2, 0.0), (0.2, 0.0)]);
    summary.steps[0].hosts[0].cpu.tester_ns = 1_520_000_000;
    assert!(found("busy-host", &header, &summary).is_some(), "1.52 s of 8 s of CPU");
    summary.steps[0].jobs[0].seconds = 0.8;
    assert_eq!(found("busy-host", &header, &summary), None, "1.52 s of 1.6 s");
}

/// "Count its work as part of the target" was said of a host that serves nothing, as another one served itself.
#[test]
fn a_host_that_serves_its_target_is_no_reason_to_look_for_a_server_on_another() {
    let next = |served: &str| {
        let (mut header, summary) = busy_fleet([(0.2, 0.0), (0.97, 0.0), (0.2, 0.0)]);
        let mut target = header.targets[0].clone();
        target.address = format!("{served}:iscsi://127.0.0.1/iqn.x:1/0");
        target.member.kind = MemberKind::Lun;
        let mut path = path(1, 1500);
        path.net.as_mut().unwrap().route.as_mut().unwrap().device = "lo".into();
        target.member.lun = Some(Box::new(LunFacts { paths: vec![path], ..LunFacts::default() }));
        header.targets = vec![target];
        found("busy-host", &header, &summary).unwrap().next
    };
    assert!(next("b").contains("server of the target runs on this host"), "{}", next("b"));
    assert!(next("a").contains("Stop the other programs of that host"), "{}", next("a"));
}

/// A host that missed its rate on an idle machine was excused by what the hypervisor took from another one.
#[test]
fn a_missed_rate_is_not_excused_by_the_cpus_of_another_host() {
    let says = |busy: [(f64, f64); 3]| {
        let (mut header, mut summary) = busy_fleet(busy);
        for job in &mut header.plan.tests[0].steps[0].jobs {
            (job.pacing, job.outstanding) =
                (Pacing::Open { rate: PerSecond(1000.0), arrivals: Arrivals::Constant }, 256);
        }
        for (job, ops) in summary.steps[0].jobs.iter_mut().zip([4000, 800, 4000]) {
            (job.due, job.total.ops) = (Some(4000), ops);
        }
        found("missed-rate", &header, &summary).unwrap().says
    };
    let [idle, busy, stolen] = [(0.2, 0.0), (0.97, 0.0), (0.2, 0.05)];
    for others in [says([busy, idle, idle]), says([idle, idle, stolen])] {
        assert!(others.ends_with("the target does not sustain this rate."), "{others}");
    }
    let own = says([idle, busy, stolen]);
    assert!(own.contains("b disturbed the test (busy-host), so whether"), "{own}");
    let own = says([busy, stolen, idle]);
    assert!(own.contains("b disturbed the test (steal), so whether"), "{own}");
}

/// Of two hosts at one rate it was not said which one missed it.
#[test]
fn the_host_that_missed_its_rate_is_named() {
    let (mut header, mut summary) = fleet(&[1000.0, 200.0]);
    for job in &mut header.plan.tests[0].steps[0].jobs {
        (job.pacing, job.outstanding) =
            (Pacing::Open { rate: PerSecond(1000.0), arrivals: Arrivals::Constant }, 256);
    }
    for (job, ops) in summary.steps[0].jobs.iter_mut().zip([4000, 800]) {
        (job.due, job.total.ops) = (Some(4000), ops);
    }
    let says = found("missed-rate", &header, &summary).unwrap().says;
    assert!(says.contains("20.0 % of the 4000 I/Os of b that were due"), "{says}");
}

/// The second of two hosts that share a slow rate begins half a gap later, as it is meant to.
#[test]
fn a_host_that_waits_for_its_turn_does_not_begin_late() {
    let (header, mut summary) = fleet(&[0.5, 0.5]);
    let host = &mut summary.steps[0].hosts[1];
    (host.first_io_ns, host.first_wait_ns) = (Some(1_000_070_000), 1_000_000_000);
    assert_eq!(HostSpread::of(&header, &summary.steps[0]).unwrap().start_skew_ns(), Some((20_000, 200_000)));
    assert_eq!(found("no-common-start", &header, &summary), None);
}

/// A thousand hosts on two CPUs "did not run for 1544 s" of a window of ten.
#[test]
fn gaps_of_several_hosts_at_one_moment_are_time_that_is_lost_once() {
    let (header, mut summary) = fleet(&[100.0, 100.0, 100.0]);
    let gap = |(start_ms, length_ms): (u64, u64)| Gap {
        kind: GapKind::Starved,
        length_ns: length_ms * 1_000_000,
        start_ns: start_ms * 1_000_000,
        end_ns: (start_ms + length_ms) * 1_000_000,
        place: GapPlace::Window,
        since_window_ns: Some(0),
        host: None,
    };
    summary.steps[0].gaps = [(1000, 500), (3000, 400), (1200, 600), (1100, 100)].map(gap).to_vec();
    assert!((summary.steps[0].gap_s() - 1.2).abs() < 1e-9, "{}", summary.steps[0].gap_s());
    let says = found("gap-in-window", &header, &summary).unwrap().says;
    assert!(
        says.starts_with("t: On its 3 hosts Assay did not run 4 times, 1.2 s on one or more of them"),
        "{says}"
    );
    assert!(says.contains("at most 0.6 s at once") && says.contains("of the host that had it"), "{says}");
}

/// Of three hosts it was said that "the wall clock" was set, not whose, and not when.
#[test]
fn a_clock_that_was_set_is_named_by_its_host_with_when_and_by_how_much() {
    let (header, mut summary) = fleet(&[100.0, 100.0, 100.0]);
    let set = |(host, kind, place, since_ms): (u32, GapKind, GapPlace, i64)| Gap {
        kind,
        length_ns: 3_000_000_000 - u64::from(host) * 1_000_000_000,
        start_ns: 0,
        end_ns: 0,
        place,
        since_window_ns: Some(since_ms * 1_000_000),
        host: Some(host),
    };
    let both =
        [(1, GapKind::ClockBack, GapPlace::Window, 2100), (0, GapKind::ClockForward, GapPlace::Warmup, -500)];
    summary.steps[0].gaps = both.map(set).to_vec();
    let says = found("clock-set", &header, &summary).unwrap().says;
    assert!(
        says.starts_with(
            "t: The wall clock of host a was set forward by 3.0 s in the warm-up, of host b was set back by 2.0 s at \
             second 2.1 of the measured window."
        ),
        "{says}"
    );
    summary.steps[0].gaps.truncate(1);
    summary.steps[0].gaps[0].host = None;
    let says = found("clock-set", &header, &summary).unwrap().says;
    assert!(says.starts_with("t: The wall clock was set back by 2.0 s at second 2.1"), "{says}");
}

#[test]
fn unlike_hosts_are_named_by_what_differs() {
    let (mut header, summary) = fleet(&[100.0, 100.0, 100.0]);
    assert_eq!(found("unlike-hosts", &header, &summary), None);
    header.setting.hosts[1].facts.kernel = "6.1.0".into();
    let says = found("unlike-hosts", &header, &summary).unwrap().says;
    assert!(says.contains("6.1.0 (b)") && says.contains("(a, c)") && !says.contains("CPU"), "{says}");
    let like = header.targets[0].clone();
    let target = |(host, mib): (&str, u64)| {
        let mut target = like.clone();
        (target.address, target.member.span_bytes) = (format!("{host}:/t.dat"), mib << 20);
        target
    };
    header.targets = [("a", 64), ("b", 32), ("c", 64)].map(target).to_vec();
    let says = found("unlike-hosts", &header, &summary).unwrap().says;
    assert!(says.contains("32MiB (b), 64MiB (a, c)"), "{says}");
}

#[test]
fn hosts_with_other_paths_links_or_packets_are_not_alike() {
    let (mut header, summary) = fleet(&[100.0, 100.0, 100.0]);
    let mut target = header.targets[0].clone();
    let mut on = |host: &str, paths: Vec<PathFacts>| {
        target.member.lun = Some(Box::new(LunFacts { paths, ..LunFacts::default() }));
        target.address = format!("{host}:iscsi://nas/t/1");
        target.clone()
    };
    let mut slow = path(0, 1500);
    slow.net.as_mut().unwrap().interface.as_mut().unwrap().speed_mbit_s = Some(100);
    header.targets = vec![
        on("a", vec![path(0, 9000), path(1, 9000)]),
        on("b", vec![slow.clone(), slow]),
        on("c", vec![path(0, 9000)]),
    ];
    let says = found("unlike-hosts", &header, &summary).unwrap().says;
    for part in
        ["paths 1 (c), 2 (a, b)", "link 100 Mbit/s (b), 1000 Mbit/s (a, c)", "MTU 1500 (b), 9000 (a, c)"]
    {
        assert!(says.contains(part), "{part}: {says}");
    }
}

/// Three hosts on one LUN of 256 MiB "covered 768 MiB" of the server, and of 64 hosts no memory held a span of 16 GiB.
#[test]
fn hosts_that_share_a_lun_cover_it_once() {
    let (mut header, summary) = fleet(&[100.0, 100.0, 100.0]);
    let mut lun = header.targets[0].clone();
    (lun.member.kind, lun.member.span_bytes) = (MemberKind::Lun, 5 << 30);
    let mut on = |addresses: [&str; 3]| {
        let address = |(host, address): (&str, &str)| TargetFacts {
            address: format!("{host}:{address}"),
            ..lun.clone()
        };
        header.targets = ["a", "b", "c"].into_iter().zip(addresses).map(address).collect();
        header.stated.storage_bytes = None;
        let unknown = found("server-memory", &header, &summary).unwrap();
        header.stated.storage_bytes = Some(4 << 30);
        (unknown.severity, unknown.says, found("storage-memory", &header, &summary).is_some())
    };
    let (severity, says, is_held) = on(["iscsi://nas/t/1"; 3]);
    assert!(severity == Severity::Warning && says.contains("covers 5 GiB ") && is_held, "{says}");
    let (severity, says, is_held) = on(["iscsi://nas/a/1", "iscsi://nas/b/1", "iscsi://nas/c/1"]);
    assert!(severity == Severity::Warning && says.contains("covers 15 GiB ") && !is_held, "{says}");
}

#[test]
fn a_run_of_one_host_has_no_spread_and_none_of_these_findings() {
    let (header, summary) = run(PLAN);
    assert_eq!(HostSpread::of(&header, &summary.steps[0]), None);
    let (header, summary) = fleet(&[90.0, 110.0, 100.0]);
    let spread = HostSpread::of(&header, &summary.steps[0]).unwrap();
    assert_eq!((spread.slowest().name.as_str(), spread.fastest().name.as_str()), ("a", "b"));
    // t of two degrees of freedom is 4.303, the deviation 10, the root of three 1.732.
    assert!((spread.half_width_iops.unwrap() - 24.84).abs() < 0.01, "{spread:?}");
    assert_eq!(spread.start_skew_ns(), Some((0, 200_000)));
}

/// A host that was lost in the step before stood there as the slowest, with a rate of 0: the mean was "133 ± 287".
#[test]
fn a_lost_host_is_in_no_mean_and_is_not_the_slowest() {
    let (header, mut summary) = fleet(&[190.0, 0.0, 210.0, 200.0]);
    (summary.steps[0].hosts[1].lost, summary.steps[0].hosts[1].first_io_ns) = (Some("silent".into()), None);
    summary.steps[0].hosts[2].first_io_ns = Some(70_000);
    let spread = HostSpread::of(&header, &summary.steps[0]).unwrap();
    assert_eq!((spread.slowest().name.as_str(), spread.fastest().name.as_str()), ("a", "c"));
    assert_eq!((spread.mean_iops, spread.hosts.len()), (200.0, 4));
    assert!((spread.half_width_iops.unwrap() - 24.84).abs() < 0.01, "{spread:?}");
    assert_eq!(spread.start_skew_ns(), Some((20_000, 200_000)));
    // Of one alone there is no spread, and where all are lost nobody is left out.
    let (header, mut summary) = fleet(&[200.0, 50.0]);
    summary.steps[0].hosts[1].lost = Some("silent".into());
    let spread = HostSpread::of(&header, &summary.steps[0]).unwrap();
    assert_eq!((spread.mean_iops, spread.start_skew_ns()), (200.0, None));
    summary.steps[0].hosts[0].lost = Some("silent".into());
    assert_eq!(HostSpread::of(&header, &summary.steps[0]).unwrap().mean_iops, 125.0);
}

/// Two hosts of 100 I/Os a second; b begins a second late and ends a second later. Over the three seconds that both
/// have, the two do 200 a second; over a window of each they would too, and over all five seconds 160.
#[test]
fn rates_are_over_the_window_that_all_hosts_have() {
    const SECOND: u64 = 1_000_000_000;
    let header = header(2);
    let step = StepId { test: 0, step: 0 };
    let mut collector = Collector::new(&header);
    let mut add = |what| collector.add(&Event { at_ns: SECOND, what });
    add(RunEvent::StepStarted(step));
    for (job, from, ops) in [(0, 0, [100, 100, 100, 100]), (1, 1, [100, 100, 100, 900])] {
        for (second, ops) in (from..).zip(ops) {
            let mut access = AccessStats::default();
            (0..ops).for_each(|_| access.read.completed(8192, 1000, 1000));
            add(RunEvent::Interval(Box::new(Interval {
                test: 0,
                step: 0,
                job,
                start_ns: second * SECOND,
                end_ns: (second + 1) * SECOND,
                by_access: vec![access],
                reconnects: 0,
                turns: TurnStats::default(),
            })));
        }
    }
    let jobs = vec![JobEnd { measured_ns: 4 * SECOND, due: None, full_ns: None }; 2];
    add(RunEvent::StepEnded(Box::new(StepEnd::new(step, StepReason::Done, jobs, StepCpu::default()))));
    let summary = collector.summary();
    let step = &summary.steps[0];
    assert!((step.total.iops - 200.0).abs() < 1e-6, "{}", step.total.iops);
    assert_eq!(step.total.ops, 1600, "every I/O is in the counts and the distribution");
    assert_eq!(step.total.service.count(), 1600);
}
