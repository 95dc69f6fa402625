//! Lists of runs.

use assay_report::{RunListing, runs_json, runs_table};

#[test]
fn runs_are_listed_with_what_tells_them_apart() {
    let targets = ["/srv/t.dat".to_owned(), "/dev/sdb".to_owned()];
    let run = |run, label, note| RunListing {
        run,
        name: "VMware forum storage test",
        status: "done",
        label,
        note,
        lost: None,
        started_unix_ms: 1_795_231_800_000,
        targets: &targets,
    };
    let runs = [run("261121-k7f2", Some("after"), Some("new firmware\n2.1")), run("261121-aaaa", None, None)];
    insta::assert_snapshot!(runs_table(&runs, 130), @r"
    Run          Started               Status  Plan                       Targets               Label  Note
    261121-k7f2  2026-11-21 03:30 UTC  done    VMware forum storage test  /srv/t.dat, /dev/sdb  after  new firmware 2.1
    261121-aaaa  2026-11-21 03:30 UTC  done    VMware forum storage test  /srv/t.dat, /dev/sdb
    ");
    let narrow = runs_table(&runs, 60);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("261121-k7f2") && narrow.contains("after"), "{narrow}");
    let csv = assay_report::runs_rendered(&runs, assay_report::table::Format::Csv);
    assert!(csv.contains("\"/srv/t.dat, /dev/sdb\",after,new firmware 2.1"), "{csv}");
    let json = runs_json(&runs);
    assert_eq!((json[0]["run"].as_str(), json[1]["label"].is_null()), (Some("261121-k7f2"), true));
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    assert!(runs_table(&[], 80).starts_with("No run is stored yet"));
    assert_eq!(runs_json(&[]), serde_json::json!([]));
}
