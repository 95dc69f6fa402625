//! Lists of runs.

use assay_report::{RunListing, runs_json, runs_table};

#[test]
fn runs_are_listed_with_what_tells_them_apart() {
    let targets = ["/srv/t.dat".to_owned(), "/dev/sdb".to_owned()];
    let run = |run, label, note| RunListing {
        unreadable: None,
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

/// At 80 columns the addresses of two LUNs were both `iscs…sk/1`, and so were those of two servers.
#[test]
fn plans_and_targets_can_be_told_apart_at_every_width() {
    let targets = ["nas-a", "nas-b"]
        .map(|host| vec![format!("iscsi://{host}.example.com/iqn.2004-01.com.example:storage.disk/1")]);
    let run = |run, targets| RunListing {
        unreadable: None,
        run,
        name: "VMware forum storage test",
        status: "done",
        label: None,
        note: Some("new firmware"),
        lost: None,
        started_unix_ms: 1_795_231_800_000,
        targets,
    };
    let runs = [run("261121-k7f2", &targets[0][..]), run("261121-aaaa", &targets[1][..])];
    for width in [60, 80, 110] {
        let text = runs_table(&runs, width);
        assert!(text.contains("nas-a") && text.contains("nas-b"), "{width}: {text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("new firmware"), "{width}: {text}");
        let widest = text.lines().filter(|line| !line.contains("iscsi://")).map(|l| l.chars().count()).max();
        assert!(widest <= Some(width), "{width}: {text}");
    }
    insta::assert_snapshot!(runs_table(&runs, 80), @r"
    Run          Started               Status  Label
    261121-k7f2  2026-11-21 03:30 UTC  done
       VMware forum storage test on
         iscsi://nas-a.example.com/iqn.2004-01.com.example:storage.disk/1; new
         firmware
    261121-aaaa  2026-11-21 03:30 UTC  done
       VMware forum storage test on
         iscsi://nas-b.example.com/iqn.2004-01.com.example:storage.disk/1; new
         firmware
    ");
    // Names that differ within what is kept need no line of their own.
    let short = ["/srv/a.dat".to_owned()];
    let text = runs_table(&[run("261121-k7f2", &short), run("261121-aaaa", &targets[0])], 80);
    assert_eq!(text.lines().count(), 3, "{text}");
}
