//! Whether diagnoses are right on planted set-ups, and honest about it.

use assay_diagnose::{Cause, HYPOTHESES, Quantity, Setting};
use assay_record::{Experiment, HostNote, IoLimit, MemberFacts, NoteKind};

use crate::case::{CAUSES, Cell, cells};
use crate::header::header;
use crate::matrix::{Said, said};
use crate::random::Random;
use crate::validation::{diagnosed, diagnosed_on};
use crate::world::{Lock, Medium, Serves, WriteCache, measure};
use crate::*;

#[test]
fn every_hypothesis_can_be_planted() {
    let missing: Vec<_> =
        HYPOTHESES.iter().filter(|of| !CAUSES.contains(&of.cause)).map(|of| of.name).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_range_is_a_range() {
    for seed in 1..40 {
        let setting = Setting::of(&header(&planted_case(seed))).unwrap();
        for hypothesis in HYPOTHESES.iter().filter(|hypothesis| (hypothesis.applies)(&setting)) {
            for experiment in Experiment::ALL {
                for form in 0..hypothesis.forms.len() {
                    let range = hypothesis.expected(form, Quantity::Rate(experiment), &setting);
                    let is_one = range.is_none_or(|r| r.lo > 0.0 && r.lo < r.hi && r.hi.is_finite());
                    assert!(is_one, "{} {experiment:?} {range:?} {setting:?}", hypothesis.name);
                }
            }
        }
    }
}

#[test]
fn planted_causes_are_found() {
    // A sample of the validation, small because tests are built without optimisation.
    let of = validate(1_000_000, 40);
    assert!(of.first >= 0.75 && of.first_or_second >= 0.85, "{of:?}");
}

/// Set-ups that were mistaken: a worker that hardly gets a CPU, a full cache before disks, more disks than the queue
/// reaches, locks of writes on flash, a flush that a limit was preferred to.
#[test]
fn set_ups_that_were_mistaken_are_found() {
    for seed in [13, 77, 195, 205, 276, 713] {
        let case = planted_case(seed);
        let odds = diagnosed(&case, &HYPOTHESES).0.odds;
        assert_eq!(odds[0].cause, case.cause, "{seed}: {odds:?}");
    }
}

/// Programs that used every CPU and gave way at once were the bottleneck of two real loads, with 97 and 83 %.
#[test]
fn others_that_give_way_are_no_bottleneck_however_much_they_use() {
    let of_host = |case: &PlantedCase| {
        let odds = diagnosed(case, &HYPOTHESES).0.odds;
        odds.iter().find(|odds| odds.cause == Cause::HostCpu).map_or(0.0, |odds| odds.probability)
    };
    for cause in [Cause::FewOutstanding, Cause::TargetSerial, Cause::Neighbour, Cause::IopsCap] {
        for case in (1..).map(planted_case).filter(|case| case.cause == cause).take(2) {
            let mut disturbed = case.clone();
            disturbed.others_busy = 1.0;
            let others = of_host(&disturbed);
            assert!(others < 0.05, "{others} {case:?}");
        }
    }
    for case in (1..).map(planted_case).filter(|case| case.cause == Cause::HostCpu).take(2) {
        assert!(of_host(&case) > 0.8, "{case:?}");
    }
}

/// The workers wait nearly always: for each other, or because their control group stops them. With others on half of
/// the CPUs that was "CPU contention", and the advice was to stop other programs.
#[test]
fn a_tester_that_waits_for_itself_or_its_quota_does_not_wait_for_others() {
    let of_tester = || (1..).map(planted_case).filter(|case| case.cause == Cause::TesterCpu);
    let on_a_busy_host = |mut case: PlantedCase| {
        case.others_busy = 0.5;
        let odds = diagnosed(&case, &HYPOTHESES).0.odds;
        let of_host = odds.iter().find(|odds| odds.cause == Cause::HostCpu).unwrap().probability;
        (odds[0].cause, of_host)
    };
    for case in of_tester().filter(|case| case.world.quota.is_some()).take(3) {
        let (first, of_host) = on_a_busy_host(case.clone());
        assert!(first == Cause::TesterCpu && of_host < 0.05, "{first:?} {of_host} {case:?}");
    }
    for mut case in of_tester().filter(|case| case.world.quota.is_none()).take(3) {
        (case.world.cpus, case.load.workers) = (2, 16);
        let (_, of_host) = on_a_busy_host(case.clone());
        assert!(of_host < 0.05, "{of_host} {case:?}");
    }
}

/// Others on the one CPU that the tester is bound to are a few percent of a host with many.
#[test]
fn others_on_the_cpus_that_the_tester_is_bound_to_are_found() {
    let is_bound = |case: &PlantedCase| case.cause == Cause::HostCpu && case.world.cpus == 1;
    for case in (1..).map(planted_case).filter(is_bound).take(3) {
        let mut on_a_calm_host = case.clone();
        on_a_calm_host.others_busy = 0.06;
        let odds = diagnosed(&on_a_calm_host, &HYPOTHESES).0.odds;
        assert!(odds[0].cause == Cause::HostCpu && odds[0].probability > 0.8, "{odds:?} {case:?}");
    }
}

/// The setting of a set-up whose target has other facts.
fn setting_with(case: &PlantedCase, change: &dyn Fn(&mut MemberFacts)) -> Setting {
    let mut header = header(case);
    header.targets.iter_mut().for_each(|target| change(&mut target.member));
    Setting::of(&header).unwrap()
}

/// Where threads beside the workers carry the I/O out, they are busy in the window and are no others, and what they
/// wait for is not seen.
#[test]
fn what_carries_the_io_out_beside_the_workers_is_known_by_what_the_target_is() {
    let local = (1..).map(planted_case).find(|case| case.setting.is_local() && !case.load.is_sync).unwrap();
    let remote = (1..).map(planted_case).find(|case| case.setting.paths == 1).unwrap();
    let has_helpers =
        |case: &PlantedCase, change: &dyn Fn(&mut MemberFacts)| setting_with(case, change).has_helpers;
    let over = |name: &'static str| {
        move |m: &mut MemberFacts| m.device.as_mut().unwrap().stack.push(name.to_owned())
    };
    let cable = |kind: &'static str| {
        move |m: &mut MemberFacts| {
            let path = &mut m.lun.as_mut().unwrap().paths[0];
            path.net.as_mut().unwrap().interface.as_mut().unwrap().kind = kind.to_owned();
        }
    };
    assert!(
        !has_helpers(&local, &|_| {})
            && !has_helpers(&local, &over("nvme0n1"))
            && !has_helpers(&local, &over("loopy"))
    );
    assert!(has_helpers(&local, &over("loop0")) && has_helpers(&local, &over("md127")));
    assert!(has_helpers(&local, &|m| m.direct = false) && has_helpers(&local, &|m| m.sync = true));
    assert!(!has_helpers(&remote, &cable("")) && !has_helpers(&remote, &cable("vlan")));
    assert!(has_helpers(&remote, &cable("veth")));
}

/// A worker that sleeps while a server on this host waits for a CPU excluded what was planted.
#[test]
fn what_works_for_the_load_on_this_host_may_wait_although_no_worker_does() {
    let is_remote = |case: &PlantedCase| case.cause == Cause::HostCpu && !case.setting.is_local();
    for case in (1..).map(planted_case).filter(is_remote).take(2) {
        let of_host = |is_here: bool, others_busy: f64| {
            let mut case = case.clone();
            (case.is_served_here, case.others_busy) = (true, others_busy);
            let mut header = header(&case);
            for path in &mut header.targets[0].member.lun.as_mut().unwrap().paths {
                path.local = Some("192.0.2.1:40000".to_owned());
                path.remote = Some(if is_here { "192.0.2.1:3260" } else { "192.0.2.9:3260" }.to_owned());
            }
            let odds = diagnosed_on(&case, &header, &HYPOTHESES).0.odds;
            odds.iter().find(|odds| odds.cause == Cause::HostCpu).map_or(0.0, |odds| odds.probability)
        };
        let (here, there, quiet) = (of_host(true, 1.0), of_host(false, 1.0), of_host(true, 0.02));
        assert!(here > 0.2 && there < 0.05 && quiet < 0.05, "{here} {there} {quiet} {case:?}");
    }
}

/// The member, the chunk, how many there are, and how much slower it is by itself.
#[test]
fn the_slow_member_of_a_stripe_is_named() {
    for serves in [Serves::OneAtATime, Serves::All] {
        for cell in [1, 4, 32]
            .into_iter()
            .flat_map(|outstanding| cells(outstanding, serves).into_iter().skip(13).take(2))
        {
            let Said::Named { cause, times } = said(&cell) else { panic!("{cell:?} {:?}", said(&cell)) };
            assert!((0.8..1.25).contains(&(times / cell.slower)), "{times} {cell:?}");
            assert!(cause == Cause::SlowMember || cell.outstanding < 32, "{cause:?} {cell:?}");
        }
    }
}

/// Two slow ones are two, and none is none.
#[test]
fn every_slow_member_is_named_and_no_other() {
    let cell = Cell { slow: 0b10_0100, ..cells(32, Serves::OneAtATime)[15] };
    assert_eq!((cell.members, cell.slower), (8, 2.0));
    assert!(matches!(said(&cell), Said::Named { .. }), "{:?}", said(&cell));
    for serves in [Serves::OneAtATime, Serves::All] {
        let even = Cell { slow: 0, serves, ..cell };
        assert!(matches!(said(&even), Said::NotNamed { .. }), "{:?}", said(&even));
    }
}

#[test]
fn a_set_up_is_the_same_for_the_same_seed() {
    let of = || diagnosed(&planted_case(7), &HYPOTHESES);
    assert_eq!(of(), of());
}

/// Rate of an experiment over that of the load, in each of the first set-ups with a cause that have the experiment.
fn simulated(cause: Cause, experiment: Experiment) -> Vec<(PlantedCase, f64)> {
    let rate = |case: &PlantedCase, of: Experiment| {
        let header = header(case);
        let test = header.diagnosis.as_ref()?.experiments.iter().position(|known| *known == of)?;
        let job = &header.plan.tests[test].steps[0].jobs[0];
        Some(case.measure(of, job, 1, &mut Random::new(case.seed)).iops)
    };
    let cases = (1..).map(planted_case).filter(|case| case.cause == cause);
    let ratios = cases.filter_map(|case| {
        let ratio = rate(&case, experiment)? / rate(&case, Experiment::Base)?;
        Some((case, ratio))
    });
    ratios.take(6).collect()
}

#[test]
fn a_full_link_carries_more_in_both_directions_and_a_limit_on_bytes_does_not() {
    for (case, ratio) in simulated(Cause::Link, Experiment::Mixed) {
        assert!(ratio > 1.2, "{ratio} {case:?}");
    }
    for (case, ratio) in simulated(Cause::BytesCap, Experiment::Mixed) {
        assert!((0.85..1.15).contains(&ratio), "{ratio} {case:?}");
    }
}

#[test]
fn a_cache_that_a_power_loss_empties_does_not_absorb_durable_writes() {
    let of = simulated(Cause::WriteCacheAbsorbing, Experiment::WithSync);
    let is_protected =
        |case: &PlantedCase| case.world.write_cache == WriteCache::Absorbing { is_protected: true };
    let slower = |(case, ratio): &(PlantedCase, f64)| (is_protected(case), *ratio < 0.6);
    let seen: Vec<(bool, bool)> = of.iter().map(slower).collect();
    assert!(seen.contains(&(false, true)) && !seen.contains(&(false, false)), "{of:?}");
}

/// Writes that waited for a lock had their places at the media already, and reads waited behind them.
#[test]
fn reads_pass_writes_that_wait_for_a_lock() {
    let is_of_writes = |case: &PlantedCase| {
        let is_flash = matches!(case.world.medium, Medium::Flash { .. });
        case.world.lock == Lock::Writes && case.load.reads > 0.6 && is_flash
    };
    for case in (1..).map(planted_case).filter(is_of_writes).take(3) {
        let mut times = measure(&case.world, &case.load, case.seed).times_us;
        times.sort_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!(times[times.len() / 2] < mean * 0.8, "{} of {mean} {case:?}", times[times.len() / 2]);
    }
}

#[test]
fn what_fits_in_the_memory_of_the_target_does_not_once_the_whole_of_it_is_read() {
    for (case, ratio) in simulated(Cause::ReadCache, Experiment::WholeSpan) {
        assert!(ratio < 0.9, "{ratio} {case:?}");
    }
}

#[test]
fn diagnoses_are_tables_of_the_common_form() {
    let of = validate(1_000_000, 3);
    let text = section("A sample", &of);
    assert!(
        text.starts_with(
            "## A sample\n\n3 set-ups, seeds 1000000 to 1000002. The planted cause came first in"
        )
    );
    for head in [
        "| stated probability | mean of it | right | by chance | set-ups |\n|---|---|---|---|---|\n",
        "| planted | set-ups | first | first or second | said instead |\n|---|---|---|---|---|\n",
    ] {
        assert!(text.contains(head), "{text}");
    }
}

/// Odds of the first cause, and the sentence, where this host shows a limit that many times as high as the planted one.
fn with_shown_limit(case: &PlantedCase, times: f64) -> (Cause, f64, String, String) {
    let mut header = header(case);
    let (per_s, is_bytes) = match case.world.iops_cap {
        Some(cap) => (cap, false),
        None => (case.world.bytes_cap.unwrap() * 1e6, true),
    };
    let note = HostNote {
        kind: NoteKind::IoLimit,
        path: "/sys/fs/cgroup/io.max".to_owned(),
        value: "8:0 riops=1".to_owned(),
        says: "a limit".to_owned(),
        mend: "Lift the limit.".to_owned(),
        limit: Some(IoLimit { is_read: case.load.reads == 1.0, is_bytes, per_s: per_s * times }),
    };
    header.targets[0].member.device.as_mut().unwrap().notes = vec![note];
    let diagnosis = diagnosed_on(case, &header, &HYPOTHESES).0;
    (diagnosis.odds[0].cause, diagnosis.odds[0].probability, diagnosis.says, diagnosis.helps)
}

#[test]
fn a_limit_that_the_host_shows_is_quoted_and_no_longer_guessed_by_its_shape() {
    for cause in [Cause::IopsCap, Cause::BytesCap] {
        let is_one_way = |case: &PlantedCase| case.load.reads == 1.0 || case.load.reads == 0.0;
        let local = |case: &PlantedCase| case.cause == cause && case.setting.is_local() && is_one_way(case);
        for case in (1..).map(planted_case).filter(local).take(2) {
            let (first, probability, says, helps) = with_shown_limit(&case, 1.0);
            assert!(first == cause && probability > 0.95, "{first:?} {probability} {case:?}");
            assert!(says.contains("stands in a file of this host: \"8:0 riops=1\" in /sys/fs/cgroup/io.max"));
            assert_eq!(helps, "Lift the limit.");
            let (_, far, says, _) = with_shown_limit(&case, 3.0);
            assert!(far < 0.8 && !says.contains("stands in a file"), "{far} {says}");
        }
    }
}

/// The limit on the writes of a mix stood in a warning alone where another cause came first, with its advice.
#[test]
fn a_limit_that_the_load_reaches_is_quoted_whatever_comes_first() {
    let is_other = |case: &PlantedCase| {
        case.cause == Cause::FlashParallelism && case.setting.is_local() && case.load.reads == 1.0
    };
    let case = (1..).map(planted_case).find(is_other).unwrap();
    let iops = diagnosed(&case, &HYPOTHESES).0.iops;
    let mut header = header(&case);
    let note = |times: f64| HostNote {
        kind: NoteKind::IoLimit,
        path: "/sys/fs/cgroup/io.max".to_owned(),
        value: "8:0 riops=1".to_owned(),
        says: "a limit".to_owned(),
        mend: "Lift the limit.".to_owned(),
        limit: Some(IoLimit { is_read: true, is_bytes: false, per_s: iops * times }),
    };
    let mut said = |times: f64| {
        header.targets[0].member.device.as_mut().unwrap().notes = vec![note(times)];
        let of = diagnosed_on(&case, &header, &HYPOTHESES).0;
        (of.odds[0].cause, of.says, of.helps)
    };
    let (first, says, helps) = said(1.2);
    assert_ne!(first, Cause::IopsCap);
    let reached =
        "reaches a limit that stands in a file of this host: \"8:0 riops=1\" in /sys/fs/cgroup/io.max";
    assert!(says.contains(reached) && helps.starts_with("Lift the limit. "), "{says} {helps}");
    assert!(!said(3.0).1.contains("stands in a file"));
}
