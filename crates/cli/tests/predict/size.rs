//! Sizing, and calibration on rows, from the command that a user types.

use crate::Bench;

#[test]
fn a_question_is_answered_with_a_sentence_a_table_and_what_a_failure_leaves() {
    let bench = Bench::new();
    let text =
        bench.ok(&["size", "30000 IOPS, 70% read, 8 KiB, mean 1 ms, 2 TB, SSD, RAID10", "--closed-form"]);
    assert!(text.contains("x SATA SSDs in RAID10 carry this: mean latency"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Head room:",
        "With a failed device:",
        "While it is rebuilt",
        "rebuild of a device takes at least",
        "Breaks first",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn words_and_options_give_one_answer_in_every_form() {
    let bench = Bench::new();
    let words = ["size", "20000 IOPS, 8 KiB, mean 2 ms, 1 TB, SSD, RAID5", "--closed-form", "--json"];
    let options = [
        "size",
        "--iops",
        "20000",
        "--block",
        "8KiB",
        "--mean",
        "2ms",
        "--data",
        "1TB",
        "--device",
        "ssd",
        "--raid",
        "5",
        "--closed-form",
        "--json",
    ];
    let (words, options) = (bench.json(&words), bench.json(&options));
    assert_eq!(words, options);
    assert_eq!((&words["schema"], &words["carried"]), (&"assay.size/1".into(), &true.into()));
    assert!(words["candidates"][0]["expected"]["head_room"].as_f64().is_some_and(|room| room > 0.0));
    let csv =
        bench.ok(&["size", "20000 IOPS, mean 2 ms, 1 TB, SSD, RAID5", "--closed-form", "--format", "csv"]);
    assert!(csv.starts_with("Candidate,Carries,"), "{csv}");
}

#[test]
fn an_answer_is_written_as_an_array_that_can_be_predicted() {
    let bench = Bench::new();
    let file = bench.path("answer.toml");
    bench.ok(&["size", "20000 IOPS, mean 2 ms, 1 TB, SSD, RAID5", "--closed-form", "--write-array", &file]);
    assert!(bench.ok(&["predict", &file, "--only", "Random"]).contains("SSDs"));
    let again = bench.refused(&["size", "100 IOPS, SSD", "--closed-form", "--write-array", &file]);
    assert!(again.contains("exists; choose another file"), "{again}");
}

#[test]
fn questions_that_mean_nothing_are_refused() {
    let bench = Bench::new();
    for (args, expected) in [
        (&["size"][..], "no question is given"),
        (&["size", "2000 iosp"], "the unit `iosp` is not known here; did you mean `iops`?"),
        (&["size", "RAID10"], "how many I/Os per second are needed"),
        (&["size", "100 IOPS, p99 5 ms", "--closed-form"], "the question has a limit on p99"),
        (&["size", "100 IOPS", "--price", "tape=3"], "--price tape: there is no such device or array here"),
        (&["size", "100 IOPS", "--price", "ssd"], "write it like disk=220"),
        (&["size", "100 IOPS", "--array", "no-such-array"], "no-such-array"),
        (&["size", "100 IOPS, RAID5, 2 disks, SSD"], "so it needs 3 or more"),
    ] {
        let message = bench.refused(args);
        assert!(message.contains(expected), "{args:?}: {message}");
    }
}

#[test]
fn two_rows_of_an_article_calibrate_an_array_and_the_others_are_predicted() {
    let bench = Bench::new();
    let file = bench.path("fitted.toml");
    let from = ["calibrate", "--from", "published:ts140", "--array", "ts140-raid10", "-o", &file];
    let text = bench.ok(&[&from[..], &["--only", "sequential read"]].concat());
    assert!(text.contains("device.outer_mb_s") && text.contains("others, predicted:"), "{text}");
    assert!(bench.ok(&["predict", &file, "--only", "100%Read"]).contains("limited by"));
    let other = ["calibrate", "--from", "published:ts140", "--array", "nvme", "-o", &bench.path("x.toml")];
    assert!(bench.refused(&other).contains("its rows are of"));
}

#[test]
fn the_coefficients_of_iocost_are_printed_as_the_kernel_takes_them() {
    let bench = Bench::new();
    let text = bench.ok(&["calibrate", "null:", "--iocost", "--run", "100ms"]);
    let line = text.lines().next().unwrap_or_default();
    assert!(line.starts_with("MAJ:MIN ctrl=user model=linear rbps="), "{text}");
    for name in ["rseqiops=", "rrandiops=", "wbps=", "wseqiops=", "wrandiops="] {
        assert!(line.contains(name), "{line}");
    }
}
