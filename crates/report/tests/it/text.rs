//! The forum table as people see it.

use assay_analysis::RunStatus;
use assay_report::Meta;
use assay_report::escape::{terminal, visible};
use assay_report::text::{Color, Detail, TextOptions, table};

use crate::{OPEN, Reported, TWO_JOBS, reported, run, synthetic};

fn text(reported: &Reported, options: TextOptions) -> String {
    table(&reported.header, &reported.summary, &reported.findings, options)
}

#[test]
fn the_forum_table() {
    insta::assert_snapshot!(text(&run(synthetic::suite("vmware", 3)), TextOptions::default()));
}

#[test]
fn columns_of_csv_have_the_same_names_in_every_run() {
    let titles = |reported: &Reported| {
        let (header, summary) = (&reported.header, &reported.summary);
        let csv = assay_report::text::rendered(header, summary, &[], None, assay_report::table::Format::Csv);
        csv.lines().next().unwrap().to_owned()
    };
    // People see one in milliseconds, the other in microseconds.
    let (slow, fast) = (run(synthetic::suite("vmware", 3)), run(synthetic::suite("super-atto", 1)));
    assert_eq!(titles(&slow), titles(&fast));
    assert!(titles(&fast).contains("Avg ms"), "{}", titles(&fast));
}

#[test]
fn a_sweep_has_a_row_per_step() {
    let mut reported = run(synthetic::suite("super-atto", 1));
    reported.summary.steps[0].skipped = Some("0.5KiB is below the smallest direct I/O of 4KiB".into());
    insta::assert_snapshot!(text(&reported, TextOptions::default()));
}

#[test]
fn jobs_side_by_side_stand_under_their_total() {
    insta::assert_snapshot!(text(
        &run(synthetic::plan(TWO_JOBS)),
        TextOptions { width: 100, ..TextOptions::default() }
    ));
}

#[test]
fn open_loads_say_which_latency_they_show() {
    let shown = text(&run(synthetic::plan(OPEN)), TextOptions::default());
    assert!(shown.contains("count from when an I/O was due"), "{shown}");
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for columns in [60, 80, 100, 120] {
        let shown = text(
            &run(synthetic::suite("vmware", 1)),
            TextOptions { width: columns, ..TextOptions::default() },
        );
        let widest = shown.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(columns), "{widest:?} of {columns}:\n{shown}");
    }
}

#[test]
fn the_block_of_crystaldiskmark_fits_60_and_80_columns_with_its_median() {
    let reported = run(synthetic::suite("crystaldiskmark", 1));
    for (columns, form) in
        [(110, "  SEQ    1MiB (Q=  8, T= 1): "), (80, "  SEQ1M Q8T1  : "), (60, "  SEQ1M Q8T1    ")]
    {
        let options = TextOptions { width: columns, detail: Detail::Brief, ..TextOptions::default() };
        let shown = text(&reported, options);
        let widest = shown.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(columns), "{widest:?} of {columns}:\n{shown}");
        assert!(shown.contains(form) && shown.contains("median\n"), "{shown}");
    }
}

#[test]
fn colours_come_only_when_asked_for() {
    let reported = run(synthetic::suite("vmware", 1));
    let plain = text(&reported, TextOptions::default());
    let painted = text(&reported, TextOptions { color: Color::Ansi, ..TextOptions::default() });
    assert!(plain == visible(&plain) && !painted.contains('\u{1b}'), "{painted}");
    let painted = terminal(&painted);
    assert!(painted.contains("\u{1b}[33mWarning\u{1b}[0m"), "{painted}");
}

#[test]
fn a_run_that_was_killed_is_readable_and_says_so() {
    let header = synthetic::header(synthetic::suite("vmware", 3));
    let events = synthetic::events(&header, synthetic::Target::default());
    let cut = reported(header, &events[..events.len() / 2]);
    assert_eq!(cut.summary.status, RunStatus::Partial);
    let shown = text(&cut, TextOptions::default());
    assert!(shown.contains("(PARTIAL)") && shown.contains("[partial] The run has no end"), "{shown}");
    let nothing = reported(cut.header, &events[..1]);
    assert!(text(&nothing, TextOptions::default()).contains("0 of 4 steps are complete"));
}

#[test]
fn below_the_table_stand_warnings_in_a_sentence_and_the_names_of_the_rest() {
    let reported = run(synthetic::suite("vmware", 1));
    let brief = text(&reported, TextOptions { detail: Detail::Brief, width: 80, ..TextOptions::default() });
    insta::assert_snapshot!(brief);
    let full = text(&reported, TextOptions { width: 80, ..TextOptions::default() });
    assert!(brief.lines().count() < full.lines().count() && !brief.contains("2^20"), "{brief}");
    // With the line of the shell behind it, a terminal of 24 lines has all of it.
    assert!(brief.lines().count() <= 23, "{brief}");
}

/// "Is it good?" was answered for those alone who could describe their array.
#[test]
fn a_run_has_its_place_among_published_results_of_the_same_load() {
    let mut reported = run(synthetic::suite("vmware", 1));
    let brief = |reported: &Reported| {
        let options = TextOptions { detail: Detail::Brief, width: 200, ..TextOptions::default() };
        text(reported, options)
    };
    assert!(!brief(&reported).contains("GOOD?"), "no SSD of this host is in those tables");
    reported.header.host.hypervisor = Some("kvm".to_owned());
    let shown = brief(&reported);
    assert!(shown.contains("GOOD?  ") && shown.contains(" published results of this load ("), "{shown}");
    assert!(shown.contains("ix4-200d") || shown.contains("Openfiler"), "{shown}");
    assert!(!shown.contains("fit into the cache"), "{shown}");
    // A file of 8 MiB was "faster than 10 of 10 published results".
    let span = std::mem::replace(&mut reported.header.targets[0].member.span_bytes, 8 << 20);
    let shown = brief(&reported);
    assert!(shown.contains("But the 8 MiB that were measured fit into the cache of a disk."), "{shown}");
    reported.header.targets[0].member.span_bytes = span;
    reported.header.targets[0].member.kind = assay_record::MemberKind::Null;
    assert!(!brief(&reported).contains("GOOD?"), "the target stores nothing");
    // Of several hosts or jobs nothing is published: that every test was disturbed went unsaid.
    for step in &mut reported.summary.steps {
        step.cpu.used.as_mut().unwrap().steal = 0.2;
    }
    reported.findings = assay_analysis::findings(&reported.header, &reported.summary);
    let shown = brief(&reported);
    assert!(shown.contains("GOOD?    Not usable: every test was disturbed"), "{shown}");
}

/// Under a bound of the hardware the answer was "as expected", and how far below it a rate lies was nowhere said.
#[test]
fn a_bound_says_what_it_allows_in_the_same_words_everywhere() {
    let mut reported = run(synthetic::suite("vmware", 1));
    let (_, file) = assay_model::array::shipped::FILES.iter().find(|(name, _)| *name == "nas-4bay").unwrap();
    reported.header.array = Some((*file).to_owned());
    for (factor, tone, says) in [
        (0.01, "plain", "All 4 tests are within what the hardware of nas-4bay allows; nearest: "),
        (50.0, "doubt", "All 4 tests are faster than the hardware of nas-4bay allows; furthest: "),
    ] {
        let mut summary = reported.summary.clone();
        summary.steps.iter_mut().for_each(|step| step.total.iops *= factor);
        let judged = assay_analysis::judge(&reported.header, &summary).unwrap().unwrap();
        let meta = Meta { judgement: Some(&judged), ..Meta::default() };
        let shown = |detail| {
            let options = TextOptions { width: 100, detail, ..TextOptions::default() };
            in_line(&assay_report::text::table_with(&reported.header, &summary, &[], meta, options))
        };
        let brief = shown(Detail::Brief);
        let (_, answer) = brief.split_once("GOOD? ").unwrap();
        let (good, rest) = answer.split_once(" LIMIT ").unwrap();
        assert!(good.starts_with(says) && good.contains(" of at most "), "{good}");
        assert!(rest.split_once(';').unwrap().0.contains(" the hardware"), "{rest}");
        let html = assay_report::html::report(&reported.header, &summary, &[], meta);
        assert!(html.contains(&format!("<div class=\"tone-{tone}\"><dt>Good?</dt>")), "{tone}: {good}");
        for text in [shown(Detail::Full), in_line(&html)] {
            assert!(text.contains(good), "{good}");
        }
        let (strip, _) = html.split_once("</section>").unwrap();
        for wrong in ["as expected", "than expected", "Nothing to compare"] {
            assert!(!brief.contains(wrong) && !strip.contains(wrong), "{wrong}: {brief}");
        }
    }
}

/// A text without its line breaks.
fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_hears_which() {
    let reported = run(synthetic::suite("vmware", 1));
    let narrow = text(&reported, TextOptions { detail: Detail::Brief, width: 60, ..TextOptions::default() });
    assert!(narrow.contains("RealLife-60%Rand-65%Read"), "{narrow}");
    assert!(narrow.contains("A wider terminal also shows"), "{narrow}");
}
