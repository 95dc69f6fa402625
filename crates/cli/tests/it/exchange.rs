//! Results in other hands: every format, files by their ending, and a run as one file for a colleague.

use assay_testkit::synthetic;

use crate::story::{DONE, Story};

fn a_run(story: &Story, label: &str) {
    let args = ["run", "vmware", "null:", "--set", "run=1s", "--only", "Random", "--label", label];
    story.assay(&args).ends(DONE);
}

#[test]
fn results_come_as_csv_markdown_bbcode_and_json() {
    let story = Story::new();
    a_run(&story, "one");
    a_run(&story, "two");
    for verb in [
        &["show", "one"][..],
        &["runs"],
        &["compare", "one", "two"],
        &["predict", "nas-4bay", "--only", "Random"],
    ] {
        for (format, word) in [("csv", ","), ("md", "|--"), ("bbcode", "[table]"), ("json", "{")] {
            let reported = story.assay(&[verb, &["--format", format]].concat()).ends(DONE);
            assert!(reported.out.contains(word), "{verb:?} as {format}: {}", reported.out);
        }
    }
    let csv = story.assay(&["show", "one", "--format", "csv"]).ends(DONE).out;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows[0][0], rows[1][0], rows[0].len()), ("Test", "Random-8k-70%Read", rows[1].len()));
    assert!(rows[1][2].parse::<f64>().unwrap() > 0.0, "plain numbers: {csv}");
}

#[test]
fn a_file_is_written_as_its_ending_says_and_only_over_one_of_its_kind() {
    let story = Story::new();
    a_run(&story, "one");
    for (name, word) in [
        ("r.html", "<svg"),
        ("r.csv", "Test,MiB/s"),
        ("r.md", "| Test | MiB/s"),
        ("r.bbcode", "[th]MiB/s"),
        ("r.json", "assay.run/1"),
    ] {
        for _ in 0..2 {
            story.assay(&["report", "one", "-o", name]).ends(DONE);
        }
        assert!(String::from_utf8(story.read(name)).unwrap().contains(word), "{name}");
    }
    story.write("mine.csv", "name,phone\n");
    story.assay(&["report", "one", "-o", "mine.csv"]).refused(&["mine.csv exists", "Assay did not write it"]);
    story.assay(&["report", "one", "-o", "r.docx"]).refused(&["r.docx"]);
}

/// A run that was removed from the store lives on in such a file only.
#[test]
fn a_file_that_holds_another_run_or_somebodys_notes_is_not_replaced() {
    let story = Story::new();
    a_run(&story, "one");
    a_run(&story, "two");
    story.assay(&["report", "one", "-o", "r.json"]).ends(DONE);
    story.assay(&["export", "one", "-o", "r.assay"]).ends(DONE);
    story.write("notes.md", "# Notes\n\nBefore the change:\n\n| Test | MiB/s | IOPS |\n");
    let before = ["r.json", "r.assay", "notes.md"].map(|name| story.read(name));
    for args in [
        &["report", "two", "-o", "r.json"][..],
        &["compare", "one", "two", "-o", "r.json"],
        &["run", "vmware", "null:", "--set", "run=1s", "--only", "Random", "-o", "r.json"],
        &["export", "two", "-o", "r.assay"],
    ] {
        story.assay(args).refused(&["holds run"]);
    }
    story.assay(&["report", "two", "-o", "notes.md"]).refused(&["notes.md exists", "Assay did not write it"]);
    assert_eq!(["r.json", "r.assay", "notes.md"].map(|name| story.read(name)), before);
}

#[test]
fn an_export_that_somebody_changed_is_refused() {
    let story = Story::new();
    a_run(&story, "one");
    story.assay(&["export", "one", "-o", "r.assay"]).ends(DONE);
    let text = String::from_utf8(story.read("r.assay")).unwrap();
    let count = text.lines().count() - 1;
    let run = text.split("\"run\":\"").nth(1).unwrap().split('"').next().unwrap();
    for (from, to, word) in [
        (format!("\"events\":{count}"), "\"events\":18446744073709551615".to_owned(), "cut off"),
        (run.to_owned(), "../../x".to_owned(), "id is none of Assay's"),
    ] {
        story.write("changed.assay", text.replace(&from, &to));
        story.assay(&["import", "changed.assay"]).refused(&[word]);
    }
}

#[test]
fn a_colleague_can_show_report_and_compare_an_exported_run() {
    let (story, colleague) = (Story::new(), Story::new());
    a_run(&story, "mine");
    story.assay(&["export", "mine", "-o", "run.assay"]).ends(DONE).says(&["assay import run.assay"]);
    colleague.write("run.assay", story.read("run.assay"));
    // As it is, without a store.
    let shown = story.assay(&["show", "mine", "--json"]).ends(DONE).json();
    assert_eq!(colleague.assay(&["show", "run.assay", "--json"]).ends(DONE).json(), shown);
    colleague.assay(&["report", "run.assay", "-o", "r.html"]).ends(DONE);
    // In the store it is the run, with its label and every event.
    colleague.assay(&["import", "run.assay"]).ends(DONE).says(&["imported run"]);
    assert_eq!(colleague.assay(&["show", "mine", "--json"]).ends(DONE).json(), shown);
    colleague.assay(&["export", "mine", "-o", "again.assay"]).ends(DONE);
    assert_eq!(colleague.read("again.assay"), story.read("run.assay"));
    colleague.assay(&["import", "run.assay"]).ends(DONE).says(&["is already stored, with the same events:"]);
    // A label that is given is that of the stored run.
    let again = colleague.assay(&["import", "run.assay", "--label", "renamed"]);
    again.ends(DONE).says(&["is already stored", "its label is now renamed"]);
    colleague.assay(&["show", "mine"]).refused(&["mine"]);
    assert_eq!(colleague.assay(&["show", "renamed", "--json"]).ends(DONE).json()["label"], "renamed");
    colleague.assay(&["import", "run.assay", "--label", "mine"]).ends(DONE);
    a_run(&colleague, "theirs");
    colleague.assay(&["compare", "run.assay", "theirs"]).ends(DONE).says(&["mine", "theirs"]);
    // A file that was cut off on its way is refused.
    let cut = story.read("run.assay");
    colleague.write("cut.assay", &cut[..cut.len() / 2]);
    assert_eq!(colleague.assay(&["import", "cut.assay"]).code, Some(2));
}

#[test]
fn runs_are_filtered_by_target_plan_label_status_and_time() {
    let story = Story::new();
    a_run(&story, "one");
    story
        .assay(&["run", "super-atto", "t.dat", "--size", "1MiB", "--set", "ops=10", "--only", "size=4KiB"])
        .ends(DONE);
    let count = |filter: &[&str]| {
        let list = story.assay(&[&["runs", "--json"], filter].concat()).ends(DONE).json();
        list.as_array().unwrap().len()
    };
    for (filter, expected) in [
        (&["--target", "T.DAT"][..], 1),
        (&["--target", "null"], 1),
        (&["--plan", "vmware"], 1),
        (&["--label", "one"], 1),
        (&["--status", "done"], 2),
        (&["--status", "failed"], 0),
        (&["--since", "1h"], 2),
        (&["--since", "2126-01-01"], 0),
        (&["-n", "1"], 1),
        (&["--status", "done", "--label", "one"], 1),
    ] {
        assert_eq!(count(filter), expected, "{filter:?}");
    }
    story.assay(&["runs", "--status", "failed"]).ends(DONE).says(&["none of the 2 stored runs matches"]);
}

/// A list of 100,000 runs took 56 s and 198 MB. It is read and printed in parts, which together are the list.
#[test]
fn a_long_list_is_printed_in_parts_that_make_a_whole() {
    const RUNS: u64 = 300;
    let story = Story::new();
    let store = assay_store::Store::open(story.path("store.sqlite")).unwrap();
    let mut header = synthetic::header(synthetic::suite("vmware", 12));
    for number in 0..RUNS {
        header.run = format!("2511{:02}-{number:04}", number % 28 + 1);
        header.started_unix_ms += 1000;
        drop(store.begin_run(&header, None, None).unwrap());
    }
    let listed = story.assay(&["runs", "--json"]).ends(DONE).json();
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()).collect();
    let expected: Vec<String> =
        (0..RUNS).rev().map(|number| format!("2511{:02}-{number:04}", number % 28 + 1)).collect();
    assert_eq!(ids, expected, "the newest first, each once");
    let csv = story.assay(&["runs", "--format", "csv"]).ends(DONE);
    let lines: Vec<&str> = csv.out.lines().collect();
    assert_eq!((lines.len(), lines[0].starts_with("Run,")), (1 + ids.len(), true));
    assert!(lines[1..].iter().zip(&ids).all(|(line, id)| line.starts_with(id)));
    assert_eq!(
        story.assay(&["runs", "-n", "257", "--json"]).ends(DONE).json().as_array().unwrap().len(),
        257
    );
    assert_eq!(story.assay(&["show", "last~299", "--json"]).ends(DONE).json()["run"], ids[299]);
}

/// A table that was posted had neither its settings nor what disturbed it, and a comparison not why it is none.
#[test]
fn a_posted_table_has_its_caveats() {
    let story = Story::new();
    let run = |more: &[&str]| {
        let args = [
            "run", "vmware", "null:", "--quick", "--set", "run=100ms", "--set", "warmup=0s", "--only",
            "Random",
        ];
        story.assay(&[&args[..], more].concat()).ends(DONE);
    };
    run(&["--set", "outstanding=2", "--label", "two"]);
    run(&["--label", "own"]);
    for format in ["md", "bbcode"] {
        let posted = story.assay(&["show", "two", "--format", format]).ends(DONE).out;
        let plain = posted.replace('\\', "");
        for words in ["Measured by Assay", "(Linux ", "changed: ", "outstanding=2", "quick: "] {
            assert!(plain.contains(words), "{words}: {posted}");
        }
        let compared = story.assay(&["compare", "two", "own", "--format", format]).ends(DONE).out;
        assert!(compared.contains("you changed I/Os in flight from 2 to "), "{compared}");
    }
    story.assay(&["run", "crystaldiskmark", "null:", "--set", "ops=10", "--label", "cdm"]).ends(DONE);
    let block = story.assay(&["show", "cdm", "--format", "bbcode"]).ends(DONE).out;
    assert!(block.contains("[code]") && block.contains("SEQ") && !block.contains("[table]"), "{block}");
}

/// Of 10,000 imported runs 208 were found by a search minutes later.
#[test]
fn what_is_imported_is_found_at_once_and_stored_to_the_letter() {
    let story = Story::new();
    a_run(&story, "one");
    story.assay(&["export", "one", "-o", "base.assay"]).ends(DONE);
    let base = String::from_utf8(story.read("base.assay")).unwrap();
    let run = base.split("\"run\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let files: Vec<String> = (2..9)
        .map(|number| {
            let copy = base.replace(&run, &format!("261121-aa{number}a")).replace("},\"", "}, \"");
            story.write(&format!("{number}.assay"), copy)
        })
        .collect();
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let into = |store: &str| story.path(store).to_str().unwrap().to_owned();
    story.assay(&[&["import", "--store", &into("b.sqlite")], &words[..]].concat()).ends(DONE);
    let found =
        story.assay(&["runs", "--find", "Random-8k", "--json", "--store", &into("b.sqlite")]).ends(DONE);
    assert_eq!(found.json().as_array().map(Vec::len), Some(7));
    let store = assay_store::Store::open(story.path("b.sqlite")).unwrap();
    assert_eq!(assay_results::incomplete(&store).unwrap(), [""; 0]);
    let mut stored = Vec::new();
    store
        .each_raw("261121-aa4a", |name, body| {
            if name.starts_with("event.") {
                stored.push(body.to_vec())
            }
        })
        .unwrap();
    let written = std::fs::read_to_string(&files[2]).unwrap();
    let lines: Vec<Vec<u8>> = written.lines().skip(2).map(|line| line.as_bytes().to_vec()).collect();
    assert!(stored[1..] == lines, "events are not what the file has");

    // The first file that is wrong is named, and nothing is stored.
    std::fs::write(&files[3], "{\"schema\":\"assay.export/1\",\"run\":\"x\"}\n{").unwrap();
    std::fs::write(&files[5], "{\"schema\":\"assay.export/1\"").unwrap();
    let refused = story.assay(&[&["import", "--store", &into("c.sqlite")], &words[..]].concat());
    refused.refused(&["5.assay:"]);
    assert!(!story.path("c.sqlite").exists());
}
