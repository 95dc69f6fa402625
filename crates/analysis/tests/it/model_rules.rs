//! Each rule of the model: it fires, it does not, and what it does on the boundary.

use std::sync::Arc;

use assay_analysis::{
    Agreement, Case, Finding, Judgement, Measured, Medium, Modelled, Severity, judge, judge_published,
};
use assay_model::array::{set, shipped};
use assay_model::predict::{Engines, predict_inside};
use assay_model::published;
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_spec::units::Bytes;

use crate::summarize;
use crate::synthetic::{self, Target};

/// A load on a shipped array, changed by `change`, that was measured at `iops`.
fn case(array: &str, change: &str, workload: Workload, iops: f64) -> Case {
    let mut array = shipped::named(array).unwrap().unwrap();
    set(&mut array, change).unwrap();
    let name = workload.name.clone();
    let load = Modelled::new(&Arc::new(array), workload, Engines::Closed, &mut Tables::default());
    Case {
        step: None,
        measured: Measured { name, iops, ..Measured::default() },
        load: Some(load),
        beside: None,
    }
}

fn load(case: &mut Case) -> &mut Modelled {
    case.load.as_mut().unwrap()
}

fn found(rule: &str, cases: &[&Case]) -> Option<Finding> {
    let cases = cases.iter().map(|c| (*c).clone()).collect();
    Judgement::of("test".into(), cases).findings.into_iter().find(|f| f.rule == rule)
}

fn random(name: &str, read_pct: f64, outstanding: u32) -> Workload {
    Workload::simple(name, 8192, read_pct, 100.0, outstanding)
}

/// Checks a rule at measured values: `(value, fires)`.
fn check(rule: &str, base: &Case, change: impl Fn(&mut Case, f64), expected: &[(f64, bool)]) {
    for (value, fires) in expected {
        let mut case = base.clone();
        change(&mut case, *value);
        assert_eq!(found(rule, &[&case]).is_some(), *fires, "{rule} at {value}");
    }
}

#[test]
fn a_rate_that_is_not_iops_times_size_is_reported() {
    let base = case("hdd-7200", "", random("r", 100.0, 4), 1000.0);
    let stated = |c: &mut Case, factor: f64| c.measured.stated_mb_s = Some(8.192 / factor);
    check("unit-mismatch", &base, stated, &[(1.0, false), (1.005, false), (1.0051, true), (0.9949, true)]);
    assert!(found("unit-mismatch", &[&base]).is_none(), "without a stated rate there is nothing to compare");
}

#[test]
fn littles_law_tells_drains_and_contradictions() {
    let base = case("hdd-7200", "", random("r", 100.0, 64), 1000.0);
    let share = |c: &mut Case, share: f64| c.measured.mean_ms = Some(64.0 * share);
    check(
        "inconsistent-queue",
        &base,
        share,
        &[(0.971, false), (0.969, true), (1.0, false), (1.029, false), (1.031, true)],
    );
    let mut drained = base;
    share(&mut drained, 59.2 / 64.0);
    let says = found("inconsistent-queue", &[&drained]).unwrap().says;
    assert!(says.contains("only 59.2 of 64 I/Os were in flight"), "{says}");
}

#[test]
fn bytes_time_and_rate_must_agree_and_fit_the_links() {
    let base = case("x4500", "", Workload::simple("dd", 65_536, 0.0, 0.0, 1), 600e6 / 65_536.0);
    let seconds = |c: &mut Case, factor: f64| {
        load(c).facts.path_mb_s = f64::INFINITY;
        c.measured.stated_transfer = Some((600e6 * 100.0, 100.0 * factor));
    };
    check("impossible-transfer", &base, seconds, &[(1.0, false), (1.04, false), (1.06, true), (0.94, true)]);
    let ceiling = |c: &mut Case, factor: f64| load(c).facts.path_mb_s = 600.0 / factor / load(c).facts.paths;
    check("beyond-hardware", &base, ceiling, &[(1.0, false), (1.019, false), (1.021, true)]);
}

#[test]
fn sequential_writes_beyond_the_disks_at_their_place_are_reported() {
    let at = |start: u64| {
        let load = Workload { start: Bytes(start), ..Workload::simple("w", 1 << 20, 0.0, 0.0, 4) };
        case("hdd-7200", "", load, 0.0)
    };
    let (outer, inner) = (at(0), at(5_900_000_000_000));
    let most = |c: &Case| c.load.as_ref().unwrap().facts.stream_mb_s[1];
    assert!(most(&outer) > 240.0 && most(&inner) < 130.0, "{} {}", most(&outer), most(&inner));
    let beyond = most(&inner);
    let rate = |c: &mut Case, factor: f64| c.measured.iops = beyond * factor * 1e6 / f64::from(1 << 20);
    check("beyond-hardware", &inner, rate, &[(1.0, false), (1.249, false), (1.251, true)]);
    check("beyond-hardware", &outer, rate, &[(1.251, false)]);
    let mut reads = at(0);
    reads.load.as_mut().unwrap().workload.mix[0].read_pct = 100.0;
    check("beyond-hardware", &reads, rate, &[(4.0, false)]);
    let mut found_inner = inner;
    rate(&mut found_inner, 2.0);
    let says = found("beyond-hardware", &[&found_inner]).unwrap().says;
    assert!(says.contains("98 % of their capacity"), "{says}");
}

#[test]
fn the_place_of_a_target_enters_the_expectation() {
    use assay_analysis::array_region;
    use assay_record::{MemberKind, Placement};
    let array = shipped::named("hdd-7200").unwrap().unwrap();
    let plan =
        "name = \"p\"\n[[test]]\nname = \"read\"\nrun = \"5s\"\naccess = [{ size = \"1MiB\", read = 100 }]\n";
    let expected = |placement: Option<Placement>| {
        let mut header = synthetic::header(synthetic::plan(plan));
        header.array = Some(shipped::FILES.iter().find(|(n, _)| *n == "hdd-7200").unwrap().1.into());
        header.targets[0].member.placement = placement;
        let summary = summarize(&header, &synthetic::events(&header, Target::default()));
        let judgement = judge(&header, &summary).unwrap().unwrap();
        let load = judgement.cases[0].load.clone().unwrap();
        (load.prediction.mib_s, load.is_placed)
    };
    let at = |first: u64, end: u64, pieces| {
        Some(Placement { first_bytes: first, end_bytes: end, pieces, device_bytes: 6_000_000_000_000 })
    };
    let gib = 1_u64 << 30;
    let (outer, placed) = expected(at(0, 4 * gib, 1));
    let (inner, _) = expected(at(5_900_000_000_000, 5_900_000_000_000 + 4 * gib, 1));
    assert!(placed && inner.value < outer.value * 0.6, "{outer:?} {inner:?}");
    let (unknown, placed) = expected(None);
    assert!(!placed && unknown.lo <= inner.lo * 1.02 && unknown.hi >= outer.hi * 0.98, "{unknown:?}");
    let part = Placement { device_bytes: 100 * gib, ..at(0, 4 * gib, 1).unwrap() };
    assert!(!expected(Some(part)).1, "a LUN of 100 GiB may lie anywhere on 6 TB");
    let (pieces, _) = expected(at(0, 4 * gib, 2000));
    assert!(pieces.value < outer.value * 0.8 && pieces.value > outer.value * 0.3, "{pieces:?}");

    let mut member = synthetic::target("/srv/t.dat").member;
    member.placement = at(gib, 3 * gib, 2);
    let mut other = member.clone();
    other.placement = at(10 * gib, 12 * gib, 3);
    let place = array_region(&[&member, &other], &array);
    assert_eq!((place.extent.start.0, place.extent.reach.0, place.extent.pieces), (gib, 11 * gib, 5));
    other.device.as_mut().unwrap().stack = vec!["sdc1".into(), "sdc".into()];
    assert!(!array_region(&[&member, &other], &array).is_known, "two disks have no common start");
    member.kind = MemberKind::Simulated;
    member.placement = None;
    assert!(array_region(&[&member], &array).is_known);
}

const TWO_JOBS: &str = "name = \"side by side\"\n[[test]]\nname = \"both\"\nrun = \"5s\"\n\
    [[test.job]]\nname = \"database\"\naccess = [{ size = \"8KiB\", read = 100, random = 100 }]\noutstanding = 8\n\
    [[test.job]]\nname = \"backup\"\naccess = [{ size = \"64KiB\", read = 100 }]\noutstanding = 2\n";

#[test]
fn jobs_side_by_side_are_judged_each_beside_the_other() {
    let mut header = synthetic::header(synthetic::plan(TWO_JOBS));
    header.array = Some(shipped::FILES.iter().find(|(n, _)| *n == "hdd-7200").unwrap().1.into());
    let reported = |servers, service_ns| {
        let target = Target { servers, service_ns, ..Target::default() };
        let summary = summarize(&header, &synthetic::events(&header, target));
        judge(&header, &summary).unwrap().unwrap()
    };
    let quick = reported(4, 150_000.0);
    let names: Vec<&str> = quick.cases.iter().map(|c| c.measured.name.as_str()).collect();
    assert_eq!(names, ["both / database", "both / backup"]);
    let verdict = quick.verdicts[0].clone().unwrap();
    assert_eq!(verdict.agreement, Agreement::Above, "no disk does {verdict:?}");
    assert!(
        verdict.says.contains("together with one other job")
            && verdict.says.contains("the jobs share the disk")
    );
    assert!(verdict.experiment.starts_with("run it alone, where"), "{}", verdict.experiment);
    let slow = reported(1, 60_000_000.0);
    assert_eq!(slow.verdicts[0].as_ref().unwrap().agreement, Agreement::Below);
    assert_eq!(slow.verdict.unwrap().judged, 2);
    assert!(quick.findings.is_empty(), "rules are about one load: {:?}", quick.findings);
    let expected = quick.cases[0].beside.as_ref().unwrap().expected();
    assert!(expected.simulated.iops.value < expected.alone_iops * 1.3);
}

#[test]
fn a_run_that_does_not_know_its_own_rate_widens_the_verdict_and_silences_fine_comparisons() {
    let mut below = case("hdd-7200", "", random("r", 100.0, 8), 0.0);
    let lo = load(&mut below).prediction.iops.lo;
    let standing = |case: &Case| Judgement::of("a".into(), vec![case.clone()]).verdicts[0].clone().unwrap();
    below.measured.iops = lo * 0.7;
    assert_eq!(standing(&below).agreement, Agreement::Below);
    below.measured.error = Some(0.29);
    assert_eq!(standing(&below).agreement, Agreement::Below);
    below.measured.error = Some(0.31);
    let reported = standing(&below);
    assert_eq!(reported.agreement, Agreement::AsExpected);
    assert!(reported.says.contains("(unsteady: known within 31 %)"), "{}", reported.says);

    let pair = |error| {
        [("raid=0 disks=2", 300.0), ("raid=0 disks=4", 302.0)].map(|(change, iops)| {
            let mut case = case("hdd-7200", change, random("r", 100.0, 8), iops);
            case.measured.error = error;
            case
        })
    };
    let fires = |error| {
        let pair = pair(error);
        found("not-the-bottleneck", &[&pair[0], &pair[1]]).is_some()
    };
    assert!(fires(None) && fires(Some(0.10)) && !fires(Some(0.11)));
}

#[test]
fn reads_above_the_medium_are_a_cache() {
    let mut base = case("hdd-7200", "", random("r", 100.0, 8), 100.0);
    let bound = load(&mut base).facts.uncached_bound_iops;
    let iops = |c: &mut Case, factor: f64| c.measured.iops = bound * factor;
    check("read-cache", &base, iops, &[(1.0, false), (1.249, false), (1.251, true)]);
    check("read-cache", &base, |c, ms| c.measured.read_p50_ms = Some(ms), &[(0.5, false), (0.499, true)]);
    let fifth = |c: &mut Case, share: f64| c.measured.read_p20_ms = Some(share * 60_000.0 / 7200.0);
    check("read-cache", &base, fifth, &[(0.301, false), (0.299, true)]);
    let mut writes = case("hdd-7200", "", random("w", 0.0, 8), bound * 2.0);
    writes.measured.read_p50_ms = Some(0.1);
    assert!(found("read-cache", &[&writes]).is_none(), "writes are another rule's");
}

#[test]
fn a_write_cache_that_still_absorbs_is_reported_with_the_time_it_takes() {
    let base = case("hdd-7200", "controller.write_back=1GiB", random("w", 0.0, 32), 0.0);
    let facts = base.load.as_ref().unwrap().facts.clone();
    let drain = facts.drain_iops.unwrap();
    let settled = 3.0 * facts.absorbs_s(drain * 4.0, 8192.0).unwrap();
    let after = |c: &mut Case, share: f64| {
        (c.measured.iops, c.measured.seconds) = (drain * 4.0, Some(settled * share))
    };
    check("write-cache", &base, after, &[(0.5, true), (0.999, true), (1.001, false)]);
    let rate =
        |c: &mut Case, factor: f64| (c.measured.iops, c.measured.seconds) = (drain * factor, Some(1.0));
    check("write-cache", &base, rate, &[(1.0, false), (1.249, false), (1.251, true)]);
    let without = case("hdd-7200", "", random("w", 0.0, 32), drain * 4.0);
    assert!(found("write-cache", &[&without]).is_none(), "no cache is described, so none is judged");
}

#[test]
fn durable_writes_faster_than_half_a_revolution_are_not_durable() {
    let mut base = case("hdd-7200", "", random("w", 0.0, 1), 200.0);
    base.measured.synced = true;
    let half = 60_000.0 / 7200.0 / 2.0;
    let mean = |c: &mut Case, share: f64| c.measured.write_mean_ms = Some(half * share);
    check("volatile-cache", &base, mean, &[(1.001, false), (0.999, true)]);
    let unsynced = |c: &mut Case, share: f64| {
        (c.measured.synced, c.measured.write_mean_ms) = (false, Some(half * share))
    };
    check("volatile-cache", &base, unsynced, &[(0.1, false)]);
    let mut protected =
        case("hdd-7200", "controller.write_back=1GiB controller.battery=yes", random("w", 0.0, 1), 200.0);
    (protected.measured.synced, protected.measured.write_mean_ms) = (true, Some(0.1));
    assert!(found("volatile-cache", &[&protected]).is_none(), "a battery makes it durable");
    // Where only the array file says that disks rotate, it may be the file that is wrong.
    for (medium, severity) in [
        (Medium::Unknown, Severity::Warning),
        (Medium::SolidState, Severity::Warning),
        (Medium::Rotating, Severity::Critical),
    ] {
        (base.measured.medium, base.measured.write_mean_ms) = (medium, Some(0.1));
        assert_eq!(found("volatile-cache", &[&base]).unwrap().severity, severity, "{medium:?}");
    }
}

#[test]
fn links_are_named_with_their_number() {
    let one_way = |outstanding| Workload::simple("s", 32_768, 100.0, 0.0, outstanding);
    let base = case("nas-4bay", "", one_way(64), 0.0);
    let ceiling = base.load.as_ref().unwrap().facts.path_mb_s;
    let share = |c: &mut Case, share: f64| c.measured.iops = share * ceiling * 1e6 / 32_768.0;
    check(
        "link-limit",
        &base,
        share,
        &[(0.919, false), (0.921, true), (1.0, true), (1.019, true), (1.021, false)],
    );
    let mut full = base;
    share(&mut full, 0.99);
    let says = found("link-limit", &[&full]).unwrap().says;
    assert!(says.contains("one 1GbE path limits it: 99 % of"), "{says}");
    let spread = case("openfiler-2.3-8disk", "paths.rr_ios=1000", one_way(64), 0.0);
    let ceiling = spread.load.as_ref().unwrap().facts.path_mb_s;
    let of_one = |c: &mut Case, share: f64| c.measured.iops = share * ceiling * 1e6 / 32_768.0;
    check(
        "link-limit",
        &spread,
        of_one,
        &[(0.94, true), (0.919, false), (1.15, true), (1.301, false), (1.9, true), (4.0, true)],
    );
    let mut slow = spread;
    of_one(&mut slow, 1.15);
    assert!(found("link-limit", &[&slow]).unwrap().says.contains("round robin does not spread the load"));
}

#[test]
fn members_that_do_not_work_side_by_side_are_reported() {
    let base = case("nas-4bay", "", random("mix", 70.0, 64), 100.0);
    let facts = base.load.as_ref().unwrap().facts.clone();
    let per_io = facts.effective_members(1.0) / facts.members;
    let working = |c: &mut Case, share: f64| c.measured.iops = share / per_io;
    check("serialised-io", &base, working, &[(0.2, true), (0.349, true), (0.351, false), (1.0, false)]);
    let shallow = case("nas-4bay", "", random("mix", 70.0, 7), 10.0);
    assert!(found("serialised-io", &[&shallow]).is_none(), "too few I/Os to keep all disks busy");
    let enough = case("nas-4bay", "", random("mix", 70.0, 8), 10.0);
    assert!(found("serialised-io", &[&enough]).is_some());
}

#[test]
fn a_short_span_is_reported() {
    let base = case("hdd-7200", "", random("r", 100.0, 8), 100.0);
    check(
        "short-stroke",
        &base,
        |c, share| load(c).facts.span_fraction = share,
        &[(0.0499, true), (0.05, false)],
    );
    let sequential = case("hdd-7200", "", Workload::simple("s", 65_536, 100.0, 0.0, 8), 100.0);
    assert!(found("short-stroke", &[&sequential]).is_none());
}

#[test]
fn equal_random_writes_in_two_mixes_are_one_queue() {
    let a = case("ix4-200d", "", random("a", 70.0, 64), 100.0);
    for (writes, fires) in [(30.0, true), (33.2, true), (33.4, false), (27.3, true), (27.2, false)] {
        let b = case("ix4-200d", "", random("b", 50.0, 64), writes / 0.5);
        let fired = found("serialised-writes", &[&a, &b]);
        assert_eq!(fired.is_some(), fires && (30.0_f64 / writes - 1.0).abs() <= 0.10, "{writes}: {fired:?}");
    }
    assert!(found("serialised-writes", &[&a, &a]).is_none(), "one mix shows nothing");
    let shallow = case("ix4-200d", "", random("b", 50.0, 1), 60.0);
    assert!(found("serialised-writes", &[&a, &shallow]).is_none(), "other depths are other loads");
}

#[test]
fn the_write_penalty_is_explained_or_exceeded() {
    let reads = case("nas-4bay", "", random("r", 100.0, 32), 1000.0);
    let says = |ratio: f64| {
        let writes = case("nas-4bay", "", random("w", 0.0, 32), 1000.0 * ratio / 4.0);
        found("raid-penalty", &[&reads, &writes]).map(|f| f.says)
    };
    for ratio in [0.751, 1.0, 1.249] {
        assert!(
            says(ratio)
                .is_some_and(|s| s.contains("write penalty of RAID5 (4 I/Os per write) explains the rate")),
            "{ratio}"
        );
    }
    assert!(says(0.749).is_some_and(|s| s.contains("misaligned")));
    assert!(says(1.251).is_none());
}

#[test]
fn a_line_over_the_sizes_names_the_software() {
    let sweep = |b_over_wire: f64, sizes: usize| -> Vec<Case> {
        (0..sizes)
            .map(|i| {
                let size = 2048_u64 << i;
                let mut c =
                    case("nas-4bay", "", Workload::simple(&format!("{size}"), size, 100.0, 0.0, 1), 1.0);
                // One wire time for all sizes, so that the boundary is sharp.
                load(&mut c).facts.wire_us_per_kib = 8.7;
                c.measured.iops = 1e6 / (57.0 + b_over_wire * 8.7 * size as f64 / 1024.0);
                c
            })
            .collect()
    };
    let fires = |cases: &[Case]| found("software-cost", &cases.iter().collect::<Vec<_>>());
    assert!(fires(&sweep(1.29, 8)).is_none());
    let says = fires(&sweep(1.7, 8)).unwrap().says;
    assert!(says.contains("an I/O takes 57 us + 14.8 us/KiB, of which the link accounts for 8.7"), "{says}");
    assert!(fires(&sweep(1.31, 8)).is_some());
    assert!(fires(&sweep(1.7, 3)).is_none(), "three sizes are no sweep");
    let mut bent = sweep(1.7, 8);
    bent[3].measured.iops *= 2.0;
    assert!(fires(&bent).is_none(), "it is no line");
}

#[test]
fn a_doubled_resource_that_changes_nothing_is_not_the_limit() {
    let at = |disks: u32, random_pct: f64, iops: f64| {
        let w = Workload::simple("x", 8192, 100.0, random_pct, 32);
        case("nas-4bay", &format!("disks={disks}"), w, iops)
    };
    let fires =
        |b: Case, random_pct| found("not-the-bottleneck", &[&at(4, random_pct, 1000.0), &b]).is_some();
    assert!(fires(at(8, 0.0, 1049.0), 0.0));
    assert!(!fires(at(8, 0.0, 1051.0), 0.0));
    assert!(fires(at(8, 100.0, 1099.0), 100.0));
    assert!(!fires(at(8, 100.0, 1101.0), 100.0));
    assert!(!fires(at(7, 0.0, 1000.0), 0.0), "7 of 4 is not double");
    assert!(!fires(at(8, 100.0, 1000.0), 0.0), "another load");
}

#[test]
fn verdicts_name_limit_second_suspect_and_experiment() {
    let w = random("r", 100.0, 32);
    let mut as_expected = case("hdd-7200", "", w.clone(), 0.0);
    as_expected.measured.iops = as_expected.load.as_ref().unwrap().prediction.iops.value;
    let mut fast = as_expected.clone();
    fast.measured.iops *= 100.0;
    let mut slow = as_expected.clone();
    slow.measured.iops /= 3.0;
    let unknown = case("nas-4bay", "", w, 50.0);
    let judged = Judgement::of(String::new(), vec![as_expected, fast, slow, unknown]);
    let v: Vec<_> = judged.verdicts.iter().map(|v| v.clone().unwrap()).collect();
    assert_eq!(
        v.iter().map(|v| v.agreement).collect::<Vec<_>>(),
        [Agreement::AsExpected, Agreement::Above, Agreement::Below, Agreement::Below]
    );
    assert!(v[0].says.starts_with("limited by the disk"), "{}", v[0].says);
    assert_eq!(v[1].limit, "a cache");
    assert!(v[1].says.starts_with("faster than expected"), "{}", v[1].says);
    assert_eq!(v[2].limit, "something that the array file does not describe");
    assert!(v[3].says.contains("software cost unknown") && v[3].limit.contains("software"), "{}", v[3].says);
    assert!(v.iter().all(|v| !v.experiment.is_empty()));
    assert_eq!(judged.verdict.unwrap().judged, 4);
}

#[test]
fn a_run_without_an_array_is_not_judged_and_one_with_it_is() {
    let mut header = synthetic::header(synthetic::suite("vmware", 4));
    let summary = summarize(&header, &synthetic::events(&header, Target::default()));
    assert_eq!(judge(&header, &summary).unwrap(), None);
    let (_, text) = shipped::FILES.iter().find(|(name, _)| *name == "ssd-sata").unwrap();
    header.array = Some((*text).to_owned());
    let judged = judge(&header, &summary).unwrap().unwrap();
    assert_eq!((judged.cases.len(), judged.array.as_str()), (4, "ssd-sata"));
    assert!(judged.verdicts.iter().all(Option::is_some));
    // A range of a field that says which array it is was accepted once.
    let ranged = text.replacen("disks = 1", "disks = { value = 1, range = [1, 9] }", 1);
    assert_ne!(&ranged, text);
    assert!(assay_model::array::parse("a.toml", &ranged).unwrap_err().to_string().contains("takes no range"));
    header.array = Some(ranged);
    assert_eq!(judge(&header, &summary).unwrap(), Some(judged));
    header.array = Some("name = 1".into());
    assert!(judge(&header, &summary).unwrap_err().to_string().contains("the run's array"));
}

#[test]
fn published_tables_show_the_findings_of_the_study() {
    let rules_of = |name: &str| {
        let tables = published::all().unwrap();
        let judged = judge_published(tables.iter().find(|t| t.name == name).unwrap());
        judged.findings.iter().map(|f| f.rule.clone()).collect::<Vec<_>>()
    };
    let ix4 = rules_of("ix4-200d");
    for rule in ["inconsistent-queue", "serialised-io", "serialised-writes", "software-cost", "short-stroke"]
    {
        assert!(ix4.iter().any(|r| r == rule), "{rule} in {ix4:?}");
    }
    assert!(!ix4.iter().any(|r| r == "unit-mismatch"), "its MB is 2^20, exactly");
    let openfiler = rules_of("openfiler-2.3");
    for rule in ["link-limit", "serialised-io", "not-the-bottleneck"] {
        assert!(openfiler.iter().any(|r| r == rule), "{rule} in {openfiler:?}");
    }
    assert!(rules_of("x4500").iter().any(|r| r == "impossible-transfer"));
}

#[test]
fn what_the_model_has_said_of_a_load_is_what_it_says_again() {
    let (_, text) = shipped::FILES.iter().find(|(name, _)| *name == "raid6-12bay").unwrap();
    let judged = |seed| {
        let mut header = synthetic::header(synthetic::suite("vmware", 4));
        header.array = Some(format!("# of this test alone\n{text}"));
        let target = Target { service_ns: 100_000.0 + f64::from(seed), ..Target::default() };
        let summary = summarize(&header, &synthetic::events(&header, target));
        judge(&header, &summary).unwrap().unwrap()
    };
    let (first, second) = (judged(0), judged(1));
    assert_ne!(first.cases[0].measured, second.cases[0].measured);
    for (first, second) in first.cases.iter().zip(&second.cases) {
        let (first, second) = (first.load.as_ref().unwrap(), second.load.as_ref().unwrap());
        let mut anew =
            Modelled::new(&first.array, first.workload.clone(), Engines::FULL, &mut Tables::default());
        if !first.is_placed {
            let inner = predict_inside(&first.array, &first.workload, Engines::FULL, &mut Tables::default());
            (anew.prediction, anew.is_placed) = (anew.prediction.or(inner), false);
        }
        assert_eq!(*first, anew);
        assert_eq!(*second, anew);
    }
}
