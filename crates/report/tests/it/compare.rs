//! Results side by side as text, as JSON and as a page.

use assay_analysis::compare::{Comparison, ResultSet, Side, compare};
use assay_report::text::{Detail, TextOptions};
use assay_report::{compare as said, html, json, reading};

use crate::html::check;
use crate::{OPEN, TWO_JOBS, reported, run, synthetic};

fn side(name: &str, header: &assay_record::RunHeader, target: synthetic::Target) -> Side {
    let reported = reported(header.clone(), &synthetic::events(header, target));
    let reading = ResultSet::of_run(&reported.header, &reported.summary, &reported.findings, None);
    Side { name: name.into(), readings: vec![reading] }
}

/// The same plan on a box and on one half as fast, from another machine.
fn two(plan: &assay_spec::Plan) -> Comparison {
    let nfs = synthetic::header(plan.clone());
    let mut iscsi = synthetic::header(plan.clone());
    iscsi.targets[0].address = "iscsi://box/iqn.2004-01.example:disk/0".into();
    iscsi.host.name = "bench2".into();
    let slow = synthetic::Target { servers: 2, ..synthetic::Target::default() };
    compare(&[side("nfs", &nfs, synthetic::Target::default()), side("iscsi <b>", &iscsi, slow)])
}

#[test]
fn the_table_fits_a_terminal_and_says_what_is_real() {
    let comparison = two(&synthetic::suite("vmware", 8));
    let text = said::table(&comparison, TextOptions { width: 80, ..TextOptions::default() });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_page_has_charts_and_stays_text() {
    let size = "name = \"sizes\"\n[[test]]\nname = \"read\"\nrun = \"5s\"\naccess = [{ size = \"4KiB\", read = 100 }]\n\
        sweep = { size = [\"4KiB\", \"64KiB\", \"1MiB\"] }\n";
    for plan in [
        synthetic::suite("vmware", 5),
        synthetic::plan(TWO_JOBS),
        synthetic::plan(OPEN),
        synthetic::plan(size),
    ] {
        let page = html::comparison(&two(&plan));
        check(&page);
        assert!(page.contains("<svg") && page.contains("iscsi &lt;b&gt;"), "{page}");
    }
}

#[test]
fn a_document_read_back_has_every_row_with_its_load() {
    for plan in [synthetic::suite("vmware", 5), synthetic::plan(TWO_JOBS), synthetic::plan(OPEN)] {
        let reported = run(plan);
        let meta = assay_report::Meta { label: Some("l"), ..assay_report::Meta::default() };
        let text = json::document(&reported.header, &reported.summary, &reported.findings, meta).to_string();
        let (read, label) = reading::read(&text).unwrap();
        let whole = ResultSet::of_run(&reported.header, &reported.summary, &reported.findings, None);
        assert_eq!(label.as_deref(), Some("l"));
        assert_eq!(read.rows.len(), whole.rows.len());
        for (a, b) in read.rows.iter().zip(&whole.rows) {
            assert_eq!((&a.test, &a.facets, a.is_paced), (&b.test, &b.facets, b.is_paced));
            assert!((a.iops / b.iops - 1.0).abs() < 1e-5 && a.seconds.len() == b.seconds.len());
        }
        assert_eq!(read.findings, whole.findings);
    }
    assert!(reading::read("[]").unwrap_err().contains("not a JSON document of a run"));
    let newer = json::document(
        &run(synthetic::plan(OPEN)).header,
        &run(synthetic::plan(OPEN)).summary,
        &[],
        Default::default(),
    )
    .to_string()
    .replace("assay.run/1", "assay.run/2");
    assert!(reading::read(&newer).unwrap_err().contains("assay.run/2"));
}

/// A run against its own document said `array hdd-7200 / none given`.
#[test]
fn a_run_and_its_own_document_differ_in_nothing() {
    for array in [None, Some("ssd-sata")] {
        let mut header = synthetic::header(synthetic::suite("vmware", 5));
        let file =
            |name| assay_model::array::shipped::FILES.iter().find(|(n, _)| *n == name).unwrap().1.to_owned();
        header.array = array.map(file);
        let reported = reported(header.clone(), &synthetic::events(&header, synthetic::Target::default()));
        let judgement = assay_analysis::judge(&reported.header, &reported.summary).unwrap();
        let mut all = reported.findings.clone();
        all.extend(judgement.iter().flat_map(|j| j.findings.clone()));
        let meta = assay_report::Meta { judgement: judgement.as_ref(), ..assay_report::Meta::default() };
        let text = json::document(&reported.header, &reported.summary, &all, meta).to_string();
        let (document, _) = reading::read(&text).unwrap();
        let whole = ResultSet::of_run(&reported.header, &reported.summary, &all, judgement.as_ref());
        let sides = [("run", whole), ("document", document)];
        let comparison = compare(&sides.map(|(name, r)| Side { name: name.into(), readings: vec![r] }));
        assert_eq!(comparison.differences, [], "{array:?}");
        assert_eq!(comparison.findings, [], "{array:?}");
        assert_eq!(comparison.says, ["document against run: the same run on both sides."]);
        for test in &comparison.tests {
            let against = test.cells[1].as_ref().unwrap().against.as_ref().unwrap();
            assert!(
                (against.iops.value - 1.0).abs() < 1e-5 && against.load_differs.is_empty(),
                "{against:?}"
            );
        }
    }
}

/// `--explain` changed nothing.
#[test]
fn explaining_adds_the_meaning_of_the_words_and_the_rest_of_the_findings() {
    let comparison = two(&synthetic::suite("vmware", 8));
    let text = |detail| said::table(&comparison, TextOptions { detail, ..TextOptions::default() });
    let (brief, full) = (text(Detail::Brief), text(Detail::Full));
    let means = "spread unknown: the spread between runs on this target is unknown";
    assert!(full.contains(means) && !brief.contains(means), "{full}");
    assert!(!full.contains("* in the noise:"), "only words that the table has");
    assert!(full.len() > brief.len());
}
