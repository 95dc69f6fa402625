//! Odds, sentences and experiments.

use assay_analysis::LoadPlaces;
use assay_record::Experiment;
use assay_surface::{SlowMember, Stripe};

use crate::hypotheses::ALL;
use crate::observed::{Measurement, Observed, error_of_place};
use crate::*;

mod measured;

pub(crate) fn setting() -> Setting {
    Setting {
        load: "load".to_owned(),
        reach: Reach::Remote,
        size_bytes: 4096.0,
        outstanding: 32.0,
        workers: 1.0,
        reads: 1.0,
        random: 1.0,
        is_sync: false,
        is_reducible: false,
        is_misaligned: false,
        paths: 1,
        links: 1,
        is_paced: false,
        span_bytes: 1e11,
        has_cpu_quota: false,
        is_file: false,
        is_served: true,
        is_on_device: false,
        is_virtual_disk: false,
        is_in_memory: false,
        has_helpers: false,
        helpers_may_wait: false,
        shown: Vec::new(),
    }
}

/// A limit on operations of a local disk was said to be a target with few threads.
#[test]
fn a_device_of_this_host_has_no_threads_that_serve_it() {
    let applies = |setting: &Setting| {
        let threads = HYPOTHESES.iter().find(|hypothesis| hypothesis.cause == Cause::ServerThreads);
        (threads.unwrap().applies)(setting)
    };
    let remote = setting();
    let mounted = Setting { reach: Reach::Local, ..setting() };
    let local = Setting { is_served: false, ..mounted.clone() };
    assert_eq!([&remote, &mounted, &local].map(applies), [true, true, false]);
}

/// Writes without sync that were ten times as fast spoke no more against a limit on operations than a range that is a
/// little too narrow does.
#[test]
fn what_cannot_change_and_does_speaks_more_than_a_range_that_is_missed() {
    let density = |range| {
        let quantity = Quantity::Rate(Experiment::WithoutSync);
        crate::belief::density(quantity, range, 10_f64.ln(), 0.03)
    };
    let unchanged = Quantity::Rate(Experiment::WithoutSync).unchanged();
    assert!(unchanged.is_some());
    assert!(density(unchanged) < density(Some(Range { lo: 0.5, hi: 0.9 })) * 0.5);
}

/// Every experiment of which a cause said nothing was foreseen to change nothing, and made it more probable where
/// nothing changed.
#[test]
fn what_a_cause_does_not_list_is_foreseen_neither_way() {
    let of = |cause: Cause, experiment: Experiment| {
        let hypothesis = HYPOTHESES.iter().find(|hypothesis| hypothesis.cause == cause).unwrap();
        hypothesis.expected(0, Quantity::Rate(experiment), &setting())
    };
    // A disk reads the rest of a block before it writes a part of it; tokens do not know of blocks.
    assert_eq!(of(Cause::RotatingRandom, Experiment::Misaligned), None);
    assert_eq!(
        of(Cause::IopsCap, Experiment::Misaligned),
        Quantity::Rate(Experiment::Misaligned).unchanged()
    );
    let quantity = Quantity::Rate(Experiment::Misaligned);
    let density =
        |range: Option<Range>, ratio: f64| crate::belief::density(quantity, range, ratio.ln(), 0.03);
    let (silent, unchanged) = (None, quantity.unchanged());
    assert!(
        density(silent, 1.0) < density(unchanged, 1.0)
            && density(silent, 1.0) > density(unchanged, 1.0) * 0.3
    );
    assert!(density(silent, 0.5) > density(unchanged, 0.5) * 5.0);
}

/// A full cache that drained at 4 MB/s was a limit on bytes with a burst, because no form of it had reads that pass.
#[test]
fn a_full_cache_that_drains_at_a_rate_is_no_limit() {
    use Experiment as E;
    let setting = Setting { reads: 0.0, size_bytes: 65_536.0, outstanding: 8.0, ..setting() };
    let made = [
        (E::Base, 61.0),
        (E::LargerIo, 7.6),
        (E::SmallerIo, 490.0),
        (E::OneOutstanding, 61.0),
        (E::MoreOutstanding, 61.0),
        (E::Sequential, 61.0),
        (E::ReadsOnly, 5000.0),
        (E::AfterIdle, 300.0),
        (E::Base, 61.0),
    ];
    let made = made.map(|(experiment, iops)| measured(experiment, iops)).to_vec();
    let seen = Observed { made, places: None };
    let odds = says::diagnosis(&ALL, &setting, &seen).odds;
    assert_eq!(odds[0].cause, Cause::WriteCacheFull, "{odds:?}");
}

/// A link of 100 Mbit/s that a token bucket shapes lets some I/Os pass at once after a pause, and was a limit on bytes,
/// though the load moved what the link carries.
#[test]
fn a_shaped_link_that_carries_all_it_can_is_the_link() {
    use Experiment as E;
    let setting = Setting { size_bytes: 65_536.0, outstanding: 16.0, random: 0.0, ..setting() };
    let at = |experiment, iops: f64, mean_us: f64| Measurement {
        mean_us: Some(mean_us),
        ..measured(experiment, iops)
    };
    let mut base = at(E::Base, 182.5, 85_200.0);
    base.facts = vec![
        (Quantity::LatencyOfLoad, 85_200.0),
        (Quantity::MedianToMean, 1.03),
        (Quantity::LowToMean, 1.006),
        (Quantity::LinkShare, 1.0),
        (Quantity::PingWait, 0.52),
    ];
    let mut half = at(E::HalfRate, 91.0, 350.0);
    half.facts = vec![(Quantity::PacedToOne, 0.065), (Quantity::PacedLatency, 0.0041)];
    let made = vec![
        base,
        at(E::SmallerIo, 1450.0, 10_700.0),
        at(E::Random, 182.9, 85_100.0),
        at(E::LargerIo, 22.8, 680_000.0),
        at(E::OneOutstanding, 182.0, 5_400.0),
        half,
        at(E::HotSpan, 182.4, 85_300.0),
        at(E::AfterIdle, 182.4, 85_300.0),
    ];
    let odds = says::diagnosis(&ALL, &setting, &Observed { made, places: None }).odds;
    assert!(odds[0].cause == Cause::Link && odds[0].probability > 0.8, "{odds:?}");
}

/// Some hundred I/Os of which none is slow by its place had ruled a slow member out.
#[test]
fn a_slow_place_is_shown_by_fewer_ios_than_none() {
    let error = |ios, is_found| error_of_place(Quantity::SlowMember, ios, is_found);
    assert!(error(400, true) < 0.1 && error(768, false) < 0.1);
    assert!(error(400, false) > 0.5 && error(767, false) > 0.5);
}

/// A real stripe of four members behind delays of 2 ms, one of 10 ms: its offsets showed the member, and it was ruled
/// out, because what serves any number at once was foreseen so vaguely that a queue depth that is too low explained
/// more.
#[test]
fn a_slow_member_that_has_no_queue_is_the_cause_where_the_offsets_show_it() {
    use Experiment as E;
    let local = Setting { paths: 0, reach: Reach::Local, is_served: false, ..setting() };
    let setting = Setting { outstanding: 16.0, ..local };
    let at = |experiment, iops: f64, mean_us: f64| Measurement {
        ios: iops * 1.25,
        mean_us: Some(mean_us),
        ..measured(experiment, iops)
    };
    let mut base = at(E::Base, 1379.0, 11_522.0);
    base.facts = vec![
        (Quantity::LatencyOfLoad, 11_522.0),
        (Quantity::MedianToMean, 1.0),
        (Quantity::LowToMean, 0.63),
        (Quantity::DeviceBytes, 0.99),
        (Quantity::BusMatch, 0.15),
    ];
    let mut one = at(E::OneOutstanding, 87.1, 11_470.0);
    one.facts = vec![(Quantity::LatencyOne, 11_470.0)];
    let made = vec![
        base,
        at(E::LargerIo, 1443.5, 11_000.0),
        one,
        at(E::Sequential, 1373.8, 11_590.0),
        at(E::HalfRate, 508.1, 8200.0),
        at(E::Base, 1343.2, 11_880.0),
        at(E::MoreOutstanding, 4891.7, 13_010.0),
        at(E::HotSpan, 1320.1, 12_050.0),
        at(E::AfterIdle, 1440.9, 11_050.0),
        at(E::MoreWorkers, 1470.8, 10_790.0),
        at(E::Base, 1325.8, 12_000.0),
        at(E::TenthSpan, 1362.6, 11_670.0),
        at(E::Base, 1303.1, 12_190.0),
    ];
    let slow = vec![SlowMember { member: 3, times: 1.96 }];
    let stripe = Some(Stripe { chunk_bytes: 65_536, members: 4, slow, chance: 1e-12 });
    let places = Some(LoadPlaces { ios: 1688, stripe, region: None, times_alone: None });
    let odds = says::diagnosis(&ALL, &setting, &Observed { made, places }).odds;
    assert!(odds[0].cause == Cause::SlowMember && odds[0].probability > 0.8, "{odds:?}");
}

/// Of 1,000 I/Os 12 were sent again while a cache warmed, and packet loss was ruled out beside its own evidence.
#[test]
fn lost_segments_are_said_and_packet_loss_is_not_ruled_out_however_the_load_changes() {
    use Experiment as E;
    let of = |resent: f64, out_of_order: f64| {
        let mut base = measured(E::Base, 609.0);
        base.facts = vec![
            (Quantity::Resent, resent),
            (Quantity::OutOfOrder, out_of_order),
            (Quantity::MedianToMean, 0.3),
            (Quantity::LinkShare, 0.03),
        ];
        let more = [(E::HotSpan, 4800.0), (E::MoreOutstanding, 900.0), (E::OneOutstanding, 41.0)];
        let more = more.into_iter().chain([(E::Sequential, 6000.0), (E::Base, 967.0), (E::LargerIo, 640.0)]);
        let made = std::iter::once(base).chain(more.map(|(experiment, iops)| measured(experiment, iops)));
        let of = says::diagnosis(&ALL, &setting(), &Observed { made: made.collect(), places: None });
        let fault = of.odds.iter().find(|odds| odds.cause == Cause::NetworkFault).unwrap();
        let is_said = of.odds[0].cause == Cause::NetworkFault || of.evidence.contains("for 1,000 I/Os: ");
        (fault.probability > 0.01, is_said)
    };
    assert_eq!(of(12.3, 42.0), (true, true));
    assert_eq!(of(0.001, 42.0), (true, true));
    assert_eq!(of(0.001, 0.001), (false, false));
}

/// The commonest fault of an array was not said where more I/Os in flight help, too: the queue depth was the cause.
#[test]
fn a_slow_member_is_said_whatever_limits() {
    let setting = Setting { outstanding: 1.0, paths: 0, reach: Reach::Local, is_served: false, ..setting() };
    let slow = vec![SlowMember { member: 3, times: 5.02 }];
    let stripe = Some(Stripe { chunk_bytes: 65_536, members: 8, slow, chance: 1e-12 });
    let places = Some(LoadPlaces { ios: 1024, stripe, region: None, times_alone: None });
    let deeper = measured(Experiment::MoreOutstanding, 2600.0);
    let seen = Observed { made: vec![measured(Experiment::Base, 700.0), deeper], places };
    let of = says::diagnosis(&ALL, &setting, &seen);
    assert_eq!(of.odds[0].cause, Cause::FewOutstanding, "{:?}", of.odds);
    let says =
        "Beside that: member 3 of a stripe of 8 with chunks of 64 KiB takes 5.0 times as long as the others";
    assert!(of.evidence.contains(says), "{}", of.evidence);
}

fn measured(experiment: Experiment, iops: f64) -> Measurement {
    Measurement {
        experiment,
        iops,
        error: 0.03,
        ios: 10_000.0,
        stolen: 0.0,
        stolen_error: 0.0,
        others_error: 0.0,
        mean_us: None,
        facts: Vec::new(),
    }
}

#[test]
fn every_cause_has_one_hypothesis_with_its_physics_and_source() {
    for hypothesis in ALL {
        let of = ALL.iter().filter(|other| other.cause == hypothesis.cause).count();
        assert_eq!(of, 1, "{}", hypothesis.cause.name());
        assert!(
            hypothesis.physics.len() > 80 && !hypothesis.source.is_empty() && !hypothesis.helps.is_empty()
        );
    }
}

/// Offsets that show a slow region lifted the bound on the certainty of unmapped blocks and of a cache, too.
#[test]
fn slow_places_show_only_the_causes_that_they_are() {
    let shows =
        |cause| [Quantity::SlowRegion, Quantity::SlowMember].map(|quantity| quantity.shows(cause, 10.0));
    assert_eq!(shows(Cause::WeakRegion), [true, false]);
    assert_eq!(shows(Cause::SlowMember), [false, true]);
    assert_eq!(shows(Cause::UnmappedBlocks), [false, false]);
    assert_eq!(shows(Cause::ReadCache), [false, false]);
    assert!(!Quantity::SlowRegion.shows(Cause::WeakRegion, 1.0));
    assert!(Quantity::OfIopsLimit.shows(Cause::IopsCap, 1.0));
}

/// One worker without a CPU expected 0.6 to 0.3 of the latency with one outstanding.
#[test]
fn every_range_of_every_form_begins_below_its_end() {
    let numbers = [Quantity::PacedLatency, Quantity::PacedToOne, Quantity::MedianToMean, Quantity::LowToMean];
    let numbers =
        numbers.into_iter().chain([Quantity::LatencyOne, Quantity::OthersBusy, Quantity::TesterBusy]);
    let numbers: Vec<Quantity> = numbers.chain(Experiment::ALL.map(Quantity::Rate)).collect();
    let mut wrong = Vec::new();
    for (outstanding, reads) in [1.0, 2.0, 32.0].into_iter().flat_map(|n| [(n, 0.0), (n, 0.5), (n, 1.0)]) {
        for reach in [Reach::Remote, Reach::Local] {
            let setting = Setting { outstanding, reads, reach, is_file: reach == Reach::Local, ..setting() };
            for hypothesis in ALL.iter().filter(|of| (of.applies)(&setting)) {
                for (form, quantity) in
                    (0..hypothesis.forms.len()).flat_map(|f| numbers.iter().map(move |q| (f, *q)))
                {
                    let range = hypothesis.expected(form, quantity, &setting);
                    let is_wrong = range.is_some_and(|range| range.lo >= range.hi);
                    wrong.extend(is_wrong.then_some((hypothesis.cause, form, quantity, outstanding, range)));
                }
            }
        }
    }
    assert_eq!(wrong, [], "cause, form, quantity, outstanding, range");
}

/// Writes alone met a form that expects reads to pass.
#[test]
fn a_lock_on_flash_expects_nothing_of_reads_where_none_are() {
    let lock = ALL.iter().find(|of| of.cause == Cause::FileLock).unwrap();
    let of = |reads: f64, form: usize| {
        let setting = Setting { reads, reach: Reach::Local, is_file: true, ..setting() };
        [Quantity::LowToMean, Quantity::MedianToMean].map(|quantity| lock.expected(form, quantity, &setting))
    };
    let (of_a_part, on_flash) = (2, lock.forms.len() - 1);
    assert_ne!(of(0.5, on_flash), of(0.5, of_a_part));
    assert_eq!(of(0.0, on_flash), of(0.0, of_a_part));
}

#[test]
fn odds_add_up_to_one_and_follow_what_was_measured() {
    let setting = setting();
    let mut seen = Observed::default();
    for (experiment, iops) in [
        (Experiment::Base, 800.0),
        (Experiment::LargerIo, 801.0),
        (Experiment::MoreOutstanding, 799.0),
        (Experiment::Sequential, 800.0),
        (Experiment::HotSpan, 800.0),
    ] {
        seen.made.push(measured(experiment, iops));
        let mut belief = Belief::among(&ALL, &setting);
        seen.observations().iter().for_each(|observation| belief.add(observation));
        let sum: f64 = belief.odds().iter().map(|odds| odds.probability).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
    let of = says::diagnosis(&ALL, &setting, &seen);
    assert_eq!(of.odds[0].cause, Cause::IopsCap, "{:?}", of.odds);
    assert!(of.series.len() == 5 && of.says.contains(" is a limit on operations per second"), "{}", of.says);
    // Five experiments do not tell a limit from a cause that is not in the list.
    assert!(of.odds[0].probability < 0.8 && of.odds.iter().any(|odds| odds.cause == Cause::NoneOfThese));
}

/// What measurements scatter by their own errors is in the error of every ratio already; it was counted as a change of
/// the load, too.
#[test]
fn a_load_that_scatters_as_its_measurements_do_does_not_change_by_itself() {
    let base = |iops: f64| Measurement { error: 0.05, ..measured(Experiment::Base, iops) };
    let seen = |rates: [f64; 3]| Observed { made: rates.map(base).to_vec(), places: None };
    assert!(seen([1000.0, 1050.0, 950.0]).drift() < 0.01, "{}", seen([1000.0, 1050.0, 950.0]).drift());
    let moved = seen([1000.0, 1500.0, 700.0]).drift();
    assert!((0.3..0.4).contains(&moved), "{moved}");
}

/// The odds were among the listed causes only, whatever contradicted all of them.
#[test]
fn numbers_that_no_cause_explains_have_an_open_answer_that_names_one_of_them() {
    let mut seen = Observed::default();
    let facts = vec![
        (Quantity::MedianToMean, 0.9),
        (Quantity::TesterBusy, 1.05),
        (Quantity::LinkShare, 1.05),
        (Quantity::OthersBusy, 0.9),
        (Quantity::Trend, 3.0),
    ];
    seen.made.push(Measurement { facts, ..measured(Experiment::Base, 800.0) });
    for (experiment, iops) in
        [(Experiment::LargerIo, 4000.0), (Experiment::MoreOutstanding, 200.0), (Experiment::HotSpan, 90.0)]
    {
        seen.made.push(measured(experiment, iops));
    }
    let limits: Vec<_> =
        ALL.into_iter().filter(|of| matches!(of.cause, Cause::IopsCap | Cause::BytesCap)).collect();
    let of = says::diagnosis(&limits, &setting(), &seen);
    assert_eq!(of.odds[0].cause, Cause::NoneOfThese, "{:?}", of.odds);
    assert!(
        of.says.starts_with("Unknown: with a probability of ")
            && of.says.contains(", none of the causes that Assay knows limits load (800 IOPS)."),
        "{}",
        of.says
    );
    let words = [" would give ", "; usual is ", " meanwhile."];
    assert!(words.iter().any(|words| of.evidence.contains(words)), "{}", of.evidence);
}

/// "The first suspect is none of the causes that Assay knows" was said of a load.
#[test]
fn what_is_not_in_the_list_is_no_suspect() {
    let mut seen = Observed::default();
    seen.made.push(measured(Experiment::Base, 800.0));
    let mut odds = says::diagnosis(&ALL, &setting(), &seen).odds;
    odds.sort_by_key(|odds| odds.cause != Cause::NoneOfThese);
    (odds[0].probability, odds[1].probability) = (0.4, 0.3);
    let says = says::sentence(&setting(), &seen, &odds);
    assert!(says.contains("it is none of the causes that Assay knows. First suspect: "), "{says}");
}

#[test]
fn advice_on_a_suspicion_is_conditional_and_says_how_to_decide() {
    let mut seen = Observed::default();
    seen.made.push(measured(Experiment::Base, 800.0));
    let mut of = says::diagnosis(&ALL, &setting(), &seen);
    of.helps = "Raise the limit.".to_owned();
    let advised_on = |cause: Cause, probability: f64, budget_s: f64| {
        let mut of = of.clone();
        (of.odds[0].cause, of.odds[0].probability) = (cause, probability);
        says::advise_on_doubt(&mut of, budget_s);
        of.helps
    };
    let advised = |probability: f64, budget_s: f64| advised_on(Cause::IopsCap, probability, budget_s);
    assert_eq!(advised(0.5, 30.0), "Raise the limit.");
    assert_eq!(advised(0.49, 600.0), "If it is the first suspect: raise the limit.");
    // The advice is that for the best cause of the list.
    let of_open = advised_on(Cause::NoneOfThese, 0.42, 600.0);
    assert_eq!(of_open, "If it is the first suspect: raise the limit.");
    assert_eq!(
        advised(0.49, 30.0),
        "If it is the first suspect: raise the limit. To decide, diagnose again with more time: --budget 10min."
    );
}

#[test]
fn a_load_that_changes_by_itself_is_said_and_widens_every_ratio() {
    let setting = setting();
    let base = |rates: [f64; 3]| {
        let made = [
            measured(Experiment::Base, rates[0]),
            measured(Experiment::MoreOutstanding, 1000.0),
            measured(Experiment::Base, rates[1]),
            measured(Experiment::Base, rates[2]),
        ];
        Observed { made: made.to_vec(), places: None }
    };
    let (still, moved) = (base([1000.0, 1010.0, 990.0]), base([1000.0, 600.0, 1500.0]));
    let error = |seen: &Observed| {
        let all = seen.observations();
        all.iter().find(|o| o.experiment == Experiment::MoreOutstanding).unwrap().error
    };
    assert!(error(&moved) > error(&still) * 3.0);
    assert!(says::diagnosis(&ALL, &setting, &still).changed.is_empty());
    assert!(says::diagnosis(&ALL, &setting, &moved).changed.contains("1,000, then 600, then 1,500 IOPS"));
}

/// Steps of the experiments with a load, written as the lines of a test of a plan, on 100 GiB.
fn experiments(lines: &str) -> Vec<(Experiment, assay_spec::Step)> {
    experiments_if(lines, WritesAllowed::AsTheLoad, OtherWays::default())
}

fn experiments_if(
    lines: &str,
    writes: WritesAllowed,
    ways: OtherWays,
) -> Vec<(Experiment, assay_spec::Step)> {
    let text = format!("name = \"load\"\n[[test]]\nname = \"load\"\n{lines}\n");
    let file = assay_spec::PlanFile::parse("load", &text).unwrap();
    let plan = file.resolve(&assay_spec::Overrides::default()).unwrap();
    let order = Order { plan: &plan, budget_s: 30.0, span_bytes: Some(100 << 30), ways, writes };
    let tests = crate::plan(&order).into_iter();
    tests.filter_map(|mut test| Some((test.experiment, test.test.steps.pop()?))).collect()
}

fn job(of: &[(Experiment, assay_spec::Step)], experiment: Experiment) -> Option<assay_spec::Job> {
    let (_, step) = of.iter().find(|(e, _)| *e == experiment)?;
    step.jobs.first().cloned()
}

#[test]
fn sizes_change_for_all_ios_by_the_whole_factor_or_not_at_all() {
    let large = experiments(r#"access = [{ size = "2MiB" }]"#);
    assert!(job(&large, Experiment::LargerIo).is_none(), "16 MiB is too large, and 4 times is no 8 times");
    assert_eq!(job(&large, Experiment::SmallerIo).unwrap().mix[0].size.0, 256 << 10);
    let mixed = experiments(r#"access = [{ size = "4KiB", weight = 1 }, { size = "64KiB", weight = 1 }]"#);
    assert!(job(&mixed, Experiment::SmallerIo).is_none(), "4 KiB cannot be smaller");
    let sizes: Vec<u64> = job(&mixed, Experiment::LargerIo).unwrap().mix.iter().map(|l| l.size.0).collect();
    assert_eq!(sizes, [32 << 10, 512 << 10]);
}

#[test]
fn a_smaller_span_is_a_part_of_the_loads_own_window() {
    let all = experiments(r#"access = [{ size = "4KiB" }]"#);
    assert_eq!(job(&all, Experiment::TenthSpan).unwrap().span.unwrap().0, 10 << 30);
    let windowed = experiments("window = \"1GiB\"\naccess = [{ size = \"4KiB\" }]");
    assert_eq!(job(&windowed, Experiment::TenthSpan).unwrap().span.unwrap().0, 102 << 20);
    let small = experiments("window = \"8MiB\"\naccess = [{ size = \"4KiB\" }]");
    assert!(job(&small, Experiment::HotSpan).is_none() && job(&small, Experiment::TenthSpan).is_none());
}

#[test]
fn sync_and_flushes_of_the_plan_can_be_left_out() {
    let sync = experiments("sync = true\naccess = [{ size = \"4KiB\", read = 0 }]");
    assert!(!job(&sync, Experiment::WithoutSync).unwrap().sync);
    let plain = experiments(r#"access = [{ size = "4KiB", read = 0 }]"#);
    assert!(job(&plain, Experiment::WithoutSync).is_none());
}

#[test]
fn an_odd_number_of_outstanding_ios_is_not_split_between_workers() {
    assert!(
        job(&experiments("outstanding = 3\naccess = [{ size = \"4KiB\" }]"), Experiment::MoreWorkers)
            .is_none()
    );
    let even = experiments("outstanding = 4\naccess = [{ size = \"4KiB\" }]");
    let even = job(&even, Experiment::MoreWorkers).unwrap();
    assert_eq!((even.workers, even.outstanding), (2, 2));
}

#[test]
fn a_load_of_reads_or_of_writes_alone_is_mixed_with_the_other_where_it_may_write() {
    let of = |read: u32, writes| {
        let lines = format!("access = [{{ size = \"4KiB\", read = {read} }}]");
        job(&experiments_if(&lines, writes, OtherWays::default()), Experiment::Mixed)
    };
    let read = |job: Option<assay_spec::Job>| job.map(|job| job.mix[0].read);
    assert_eq!(read(of(0, WritesAllowed::AsTheLoad)), Some(50.0));
    assert_eq!(read(of(100, WritesAllowed::AsTheLoad)), None, "nobody allowed it to write");
    assert_eq!(read(of(100, WritesAllowed::Yes)), Some(50.0));
    assert_eq!(read(of(65, WritesAllowed::Yes)), None, "it is a mix already");
}

#[test]
fn writes_that_wait_for_nothing_are_made_durable() {
    let writes = r#"access = [{ size = "4KiB", read = 0 }]"#;
    assert!(job(&experiments(writes), Experiment::WithSync).unwrap().sync);
    assert!(job(&experiments(&format!("sync = true\n{writes}")), Experiment::WithSync).is_none());
    assert!(job(&experiments(r#"access = [{ size = "4KiB", read = 100 }]"#), Experiment::WithSync).is_none());
    let durable = OtherWays { without_sync: Some(1), ..OtherWays::default() };
    let of_target = experiments_if(writes, WritesAllowed::AsTheLoad, durable);
    assert!(job(&of_target, Experiment::WithSync).is_none(), "the target makes every write durable already");
}

#[test]
fn the_whole_target_is_read_beyond_the_window_of_a_load_and_never_written() {
    let whole = |lines: &str| job(&experiments(lines), Experiment::WholeSpan);
    let windowed = whole("window = \"1GiB\"\naccess = [{ size = \"4KiB\" }]").unwrap();
    assert_eq!((windowed.span, windowed.window.is_whole()), (None, true));
    let shifted = "window = { offset = \"90GiB\", size = \"5GiB\" }\naccess = [{ size = \"4KiB\" }]";
    assert!(whole(shifted).unwrap().window.is_whole());
    assert!(whole("window = \"60GiB\"\naccess = [{ size = \"4KiB\" }]").is_none(), "most of 100 GiB");
    assert!(whole(r#"access = [{ size = "4KiB" }]"#).is_none(), "it is the whole already");
    assert!(whole("window = \"1GiB\"\naccess = [{ size = \"4KiB\", read = 50 }]").is_none());
}

#[test]
fn an_io_of_a_mix_takes_the_mean_of_both_times() {
    let writes = Setting { reads: 0.0, ..setting() };
    let full = ALL.iter().find(|hypothesis| hypothesis.cause == Cause::WriteCacheFull).unwrap();
    let of = |experiment| full.expected(0, Quantity::Rate(experiment), &writes).unwrap();
    let (reads, mixed) = (of(Experiment::ReadsOnly), of(Experiment::Mixed));
    // Reads that are six times as fast leave half of the time for half of the I/Os.
    assert!((mixed.hi - 2.0 / (1.0 + 1.0 / reads.hi)).abs() < 1e-9 && mixed.hi < 2.0, "{mixed:?}");
}

/// Other programs came after the first repetition: the load fell to half, "thermal throttling", and CPU contention was
/// ruled out, as the first repetition had waited for nobody.
#[test]
fn others_that_come_later_count_in_the_repetition_in_which_they_take_most() {
    use Experiment as E;
    let waits = |iops: f64, waits: f64| Measurement {
        facts: vec![(Quantity::WaitForOthers, waits)],
        others_error: waits * 0.5,
        ..measured(E::Base, iops)
    };
    let made = vec![
        waits(97_955.0, 0.011),
        measured(E::Sequential, 60_000.0),
        waits(61_943.0, 0.45),
        measured(E::HotSpan, 58_000.0),
        waits(55_991.0, 0.5),
        measured(E::LargerIo, 40_000.0),
        waits(51_801.0, 0.48),
    ];
    let setting =
        Setting { reach: Reach::Local, is_served: false, is_virtual_disk: true, paths: 0, ..setting() };
    let of = says::diagnosis(&ALL, &setting, &Observed { made, places: None });
    assert_eq!(of.odds[0].cause, Cause::HostCpu, "{:?}", &of.odds[..4]);
    // What a hypervisor's disk is made of is not seen: it is no drive that gets hot.
    assert!(of.odds.iter().all(|odds| odds.cause != Cause::Thermal));
    // The rate is one that was measured, and what changes by itself rules nothing out.
    assert!([97_955.0, 61_943.0, 55_991.0, 51_801.0].contains(&of.iops), "{}", of.iops);
    assert!(of.ruled_out.is_empty(), "{:?}", of.ruled_out);
}

/// A NAS whose memory held the end of a file had "a slow region", 87 %, with the advice to replace what it lies on. Its
/// first MiB, read again, were as fast as memory.
#[test]
fn a_place_that_is_fast_once_it_is_read_again_is_no_weak_region() {
    use Experiment as E;
    let is_cached = |again: f64, from_bytes: u64| {
        let made = vec![measured(E::Base, 1134.0), measured(E::HotSpan, 1134.0 * again)];
        Observed { made, places: None }.is_cached_once_read(from_bytes)
    };
    assert!(is_cached(20.0, 0) && !is_cached(0.9, 0));
    // The first MiB lie elsewhere.
    assert!(!is_cached(20.0, 1 << 30));
    assert!(!Observed { made: vec![measured(E::Base, 1134.0)], places: None }.is_cached_once_read(0));
}
