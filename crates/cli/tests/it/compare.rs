//! Results side by side, from stored runs, documents and articles.

use crate::story::{DONE, Story};

const LOAD: [&str; 8] =
    ["--size", "16MiB", "--set", "run=4s", "--set", "warmup=0s", "--only", "Random-8k-70%Read"];

fn run(story: &Story, label: &str, more: &[&str]) {
    story.assay(&[&["run", "vmware", "t.dat", "--label", label], &LOAD[..], more].concat()).ends(DONE);
}

#[test]
fn stored_runs_documents_and_articles_are_compared_with_each_other() {
    let story = Story::new();
    run(&story, "free", &["--array", "hdd-7200"]);
    run(&story, "free", &["--array", "hdd-7200"]);
    run(&story, "single", &["--set", "outstanding=1"]);
    story.assay(&["compare", "free,last~1", "single"]).refused(&["free,last~1", "twice"]);

    let brief = story.assay(&["compare", "free", "single"]).ends(DONE);
    brief.says(&["Repeated: A 2 runs, CV", "you changed I/Os in flight from 64 to 1"]);
    let table = story.assay(&["compare", "free", "single", "-o", "compare.html", "--explain"]).ends(DONE);
    for words in ["repeated: A 2 runs, CV", "changed: I/Os in flight 64 / 1", "expected IOPS: A "] {
        assert!(table.out.contains(words), "{words}: {}", table.out);
    }
    assert!(table.out.lines().all(|line| line.chars().count() <= 100), "{}", table.out);
    let page = String::from_utf8(story.read("compare.html")).unwrap();
    assert!(!page.contains("charts wide"), "one test needs no wide chart");
    assert!(
        page.contains("<svg")
            && page.contains("single against free: you changed I/Os in flight from 64 to 1")
    );

    let document = story.assay(&["show", "last", "--json"]).ends(DONE).out;
    story.write("office.json", document);
    let held = story.assay(&["compare", "last~1", "office.json", "--json"]).ends(DONE).json();
    assert_eq!(held["schema"], "assay.compare/1");
    let against = &held["tests"][0]["sides"][1]["against_first"];
    assert_eq!(against["changed"][0]["what"], "I/Os in flight", "{against}");
    // The two runs that share a label show how far repetitions on this target lie apart.
    assert_eq!(against["spread_from"], "stored");
    assert!(against["iops"]["lo"].as_f64() < against["iops"]["value"].as_f64());

    let article = story.assay(&["compare", "last~1", "published:ix4-200d"]).ends(DONE);
    let article = article.says(&["slower?", "by the hardware's data sheets"]);
    assert!(article.out.contains("Only B has Test 001a Max Throughput-100%Read and"), "{}", article.out);
}

/// A document says as much of the rates as the run itself, so neither is ahead of the other.
#[test]
fn a_run_beside_its_own_document_is_the_same_to_the_last_digit() {
    let story = Story::new();
    run(&story, "one", &["--array", "hdd-7200"]);
    story.write("one.json", story.assay(&["show", "one", "--json"]).ends(DONE).out);
    let held = story.assay(&["compare", "last", "one.json", "--json"]).ends(DONE).json();
    let [a, b] = [0, 1].map(|side| held["tests"][0]["sides"][side].clone());
    assert_eq!((&a["iops"], &a["mean_ms"], &a["p99_ms"]), (&b["iops"], &b["mean_ms"], &b["p99_ms"]));
    let against = &b["against_first"];
    assert_eq!((&against["iops"]["value"], &against["change"]), (&1.0.into(), &"unknown".into()));
    assert_eq!(held["differences"], serde_json::json!([]));
    assert_eq!(held["findings"], serde_json::json!([]));
}

/// "Is it good?", against what an array should give with the same plan.
#[test]
fn a_run_is_compared_with_what_an_array_should_give() {
    let story = Story::new();
    let run = ["run", "vmware", "null:", "--only", "Random", "--set", "ops=1000", "--set", "warmup=0s"];
    story.assay(&run).ends(DONE);
    let beside = story.assay(&["compare", "array:nas-4bay", "last", "--json"]).ends(DONE).json();
    assert_eq!(beside["sides"][0]["name"], "array:nas-4bay", "{beside}");
    assert_eq!(beside["tests"].as_array().unwrap().len(), 1, "{beside}");
    story.assay(&["compare", "last", "array:nas-4bax"]).refused(&["no array of that name", "nas-4bay"]);
    story
        .assay(&["compare", "array:nas-4bay", "published:ix4-200d"])
        .refused(&["which plan? Name a stored run beside it"]);
}

#[test]
fn unlike_results_are_answered_with_what_would_make_them_alike() {
    let story = Story::new();
    let run = |more: &[&str]| {
        let args = [&["run"], more, &["--set", "ops=100", "--set", "warmup=0s", "--size", "16MiB"]].concat();
        story.assay(&args).ends(DONE);
    };
    run(&["vmware", "t.dat", "--label", "forum", "--only", "Random"]);
    run(&["super-atto", "u.dat", "--label", "atto", "--only", "Sequential read"]);
    run(&["vmware", "u.dat", "--label", "cached", "--only", "Random", "--cached"]);
    run(&["vmware", "null:", "--label", "tester", "--only", "Random"]);
    let says = |a: &str, b: &str| {
        let out = story.assay(&["compare", a, b]).ends(DONE).out;
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let plans = says("forum", "atto");
    assert!(plans.contains("one ran VMware forum storage test, the other Super ATTO clone."), "{plans}");
    let command = "assay run vmware u.dat --size 16MiB --set ops=100 --set warmup=0s.";
    assert!(plans.contains(&format!("Run one plan on both targets: {command}")), "{plans}");
    assert!(!plans.contains("against A") && !plans.contains("xN is"), "no table without a row: {plans}");
    let cached = says("forum", "cached");
    assert!(cached.contains("you changed bypassing the page cache from yes to no: "), "{cached}");
    let args = [
        "run", "vmware", "u.dat", "--label", "small", "--only", "Random", "--set", "ops=100", "--size",
        "8MiB",
    ];
    story.assay(&args).ends(DONE);
    let small = says("forum", "small");
    assert!(small.contains("Not comparable, because these differ: span 16MiB / 8MiB."), "{small}");
    assert!(
        small.contains("measure one as the other was measured: assay run vmware u.dat --size 16MiB"),
        "{small}"
    );
    let tester = says("forum", "tester");
    assert!(
        tester.contains("null: measures Assay itself; compare it with other runs on null: only."),
        "{tester}"
    );
    let alike = says("forum", "forum");
    assert!(!alike.contains("To compare them") && !alike.contains("Run "), "{alike}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=100", "--label", "n"]).ends(DONE);
    story.assay(&["compare", "n"]).refused(&["2 values"]);
    story.assay(&["compare", "n", "nonesuch"]).refused(&["no run is called `nonesuch`"]);
    story.assay(&["compare", "n", "published:nonesuch"]).refused(&["no published table", "nonesuch"]);
    story.assay(&["compare", "n", "none.json"]).refused(&["cannot read none.json"]);
    story.write("text.json", "{\"a\": 1}");
    story.assay(&["compare", "n", "text.json"]).refused(&["text.json", "not a JSON document of a run"]);
    story.write("keep.html", "mine");
    story
        .assay(&["compare", "n", "n", "-o", "keep.html"])
        .refused(&["keep.html exists", "Assay did not write it"]);
    assert_eq!(story.read("keep.html"), b"mine");
}
