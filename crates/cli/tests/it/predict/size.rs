//! Sizing, and calibration on rows, from the command that a user types.

use assay_testkit::story::{DONE, ProgramOutput};

use super::Bench;

#[test]
fn a_question_is_answered_with_a_sentence_a_table_and_what_a_failure_leaves() {
    let bench = Bench::new();
    let text =
        bench.ok(&["size", "30000 IOPS, 70% read, 8 KiB, mean 1 ms, 2 TB, SSD, RAID10", "--closed-form"]);
    assert!(text.contains("x SATA SSDs in RAID10 sustain this: mean latency"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["Headroom:", "With a failed device:", "While it is rebuilt", "if nothing else runs", "Breaks first"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn words_and_options_give_one_answer_in_every_form() {
    let bench = Bench::new();
    let words = ["size", "20000 IOPS, 8 KiB, mean 2 ms, 1 TB, SSD, RAID5", "--closed-form", "--json"];
    let options = [
        "size", "--iops", "20000", "--block", "8KiB", "--mean", "2ms", "--data", "1TB", "--device", "ssd",
        "--raid", "5", "--closed-form", "--json",
    ];
    let (words, options) = (bench.json(&words), bench.json(&options));
    assert_eq!(words, options);
    assert_eq!((&words["schema"], &words["carried"]), (&"assay.size/1".into(), &true.into()));
    assert!(words["candidates"][0]["expected"]["head_room"].as_f64().is_some_and(|room| room > 0.0));
    let csv =
        bench.ok(&["size", "20000 IOPS, mean 2 ms, 1 TB, SSD, RAID5", "--closed-form", "--format", "csv"]);
    assert!(csv.starts_with("Candidate,Sustains,"), "{csv}");
}

#[test]
fn an_answer_is_written_as_an_array_that_can_be_predicted() {
    let bench = Bench::new();
    let file = bench.path("answer.toml");
    bench.ok(&["size", "20000 IOPS, mean 2 ms, 1 TB, SSD, RAID5", "--closed-form", "--write-array", &file]);
    assert!(bench.ok(&["predict", &file, "--only", "Random"]).contains("SSDs"));
    // Its title was `One SATA SSD`, that of its class.
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("title = \"3 x SATA SSDs in RAID5\""), "{text}");
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
        (&["size", "100 IOPS", "--price", "tape=3"], "--price tape: there is no such device or array here"),
        (&["size", "100 IOPS", "--price", "ssd"], "write it like disk=220"),
        (&["size", "100 IOPS", "--array", "no-such-array"], "no-such-array"),
        (&["size", "100 IOPS, RAID5, 2 disks, SSD"], "so it needs 3 or more"),
    ] {
        let message = bench.refused(args);
        assert!(message.contains(expected), "{args:?}: {message}");
    }
}

/// What the page said of nothing over nothing, of a rate too near to the highest, and of what a failure leaves.
#[test]
fn sentences_hold_where_there_is_nothing_to_compare() {
    let bench = Bench::new();
    let flat = |args: &[&str]| bench.ok(args).split_whitespace().collect::<Vec<_>>().join(" ");
    let raid10 = ["--array", "ts140-raid10", "--closed-form"];
    let none =
        flat(&[&["size", "100% read, 4 KiB, mean 3 ms", "--what-if", "disks=12"][..], &raid10].concat());
    assert!(none.contains("disks=12 sustains no load within a mean of 3 ms either"), "{none}");
    let many = flat(&["size", "2000 IOPS, 70 % read, 8 KiB, 10 TB, RAID10, 7200 rpm", "--closed-form"]);
    assert!(many.contains("disks would be") && many.contains("% busy (at most 80 % are allowed)"), "{many}");
    let six = flat(&["size", "20000 IOPS, RAID6, 7200 rpm", "--closed-form"]);
    assert!(
        six.contains("24 is the largest group of RAID6 that is proposed; ask for RAID10 or RAID60."),
        "{six}"
    );
    let lost = flat(&["size", "10 IOPS, RAID0, 7200 rpm, with a failed disk", "--closed-form"]);
    assert!(lost.contains("in RAID0: a failed device loses the data."), "{lost}");
    let prices = flat(&[
        "size",
        "3000 IOPS, mean 12 ms, 4 TB, RAID10, 7200 rpm, SSD",
        "--closed-form",
        "--price",
        "7200rpm=220",
    ]);
    assert!(prices.contains("Without a price, and therefore listed after those that have one:"), "{prices}");
}

#[test]
fn rows_beyond_a_factor_of_four_are_no_fit() {
    let bench = Bench::new();
    let access = "access = [{ size = \"8KiB\", read = 100, random = 100 }]";
    let plan = bench.write(
        "p.toml",
        &format!("[[test]]\nname = \"reads\"\nrun = \"200ms\"\noutstanding = 4\n{access}\n"),
    );
    let calibrated = |count: usize| {
        bench.ok(&["run", &plan, "sim:nvme"]);
        let file = bench.path(&format!("fitted-{count}.toml"));
        bench.story.assay(&["calibrate", "--from", "last", "--array", "hdd-7200", "-o", &file])
    };
    // Rows of a window in which the machine did not let Assay run are left out.
    let was_whole =
        |output: &ProgramOutput| !(output.out.contains("did not run") || output.err.contains("did not run"));
    let text = (0..5).map(calibrated).find(was_whole).expect("a machine that is not busy").ends(DONE).out;
    assert!(text.contains("more than a factor of 4 off the data sheet"), "{text}");
    assert!(!text.contains("the data sheet fits"), "{text}");
    let unknown = ["calibrate", "--from", "last", "--array", "nas-4bay", "-o", &bench.path("nas.toml")];
    let refused = bench.refused(&unknown);
    assert!(refused.contains("the cost of the software of nas-4bay is unknown"), "{refused}");
}

#[test]
fn two_rows_of_an_article_calibrate_an_array_and_the_others_are_predicted() {
    let bench = Bench::new();
    let file = bench.path("fitted.toml");
    let from = ["calibrate", "--from", "published:ts140", "--array", "ts140-raid10", "-o", &file];
    let text = bench.ok(&[&from[..], &["--only", "sequential read"]].concat());
    assert!(text.contains("device.outer_mb_s") && text.contains("others, predicted:"), "{text}");
    assert!(bench.ok(&["predict", &file, "--only", "100%Read"]).contains("Limited by"));
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

/// The factor was that of the simulated rates, next to bounds with another ratio; then both were printed.
#[test]
fn the_factor_of_bounds_is_that_of_the_printed_numbers() {
    let bench = Bench::new();
    let text = bench.ok(&["predict", "nas-4bay", "--only", "Random", "--what-if", "disks=8", "--explain"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rate = |before: &str| -> f64 {
        let rest = text.split_once(before).map_or("", |(_, rest)| rest);
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        number.replace(',', "").parse().unwrap_or_else(|_| panic!("{before}: {text}"))
    };
    let factor = rate("what if disks=8: at most ") / rate("a bound at most ");
    assert!(text.contains(&format!("IOPS, x{factor:.2}, p99")), "{factor}: {text}");
    let brief = bench.ok(&["predict", "nas-4bay", "--only", "Random", "--what-if", "disks=8"]);
    assert!(brief.contains(&format!(" x{factor:.2} ")), "{factor}: {brief}");
}
