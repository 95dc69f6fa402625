//! The verbs of the model, as a user meets them: the program itself, its output and its exit codes.

mod size;

use std::path::Path;

use assay_testkit::story::{BAD_INPUT, DONE, Story};
use serde_json::Value;

/// A story whose commands must succeed, or be refused.
struct Bench {
    story: Story,
}

impl Bench {
    fn new() -> Self {
        Self { story: Story::new() }
    }

    fn path(&self, name: &str) -> String {
        self.story.path(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        self.story.write(name, text)
    }

    /// Returns standard output of a command that must succeed.
    fn ok(&self, args: &[&str]) -> String {
        self.story.assay(args).ends(DONE).out
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// Returns the message of a command that must be refused.
    fn refused(&self, args: &[&str]) -> String {
        self.story.assay(args).ends(BAD_INPUT).err
    }
}

#[test]
fn a_prediction_has_numbers_intervals_resources_and_the_limit() {
    let bench = Bench::new();
    let brief = bench.ok(&["predict", "ix4-200d"]);
    assert!(brief.contains("Limited by") && brief.lines().count() <= 23, "one screen: {brief}");
    assert!(brief.contains("order of magnitude"), "p99 of serialised writes is no promise: {brief}");
    let text = bench.ok(&["predict", "ix4-200d", "--explain"]);
    assert!(
        text.contains("Max Throughput-100%Read") && text.contains("limited by the target's software"),
        "{text}"
    );
    assert!(text.contains("order of magnitude"), "p99 of serialised writes is no promise: {text}");
    let json = bench.json(&["predict", "ix4-200d", "vmware", "--json"]);
    let tests = json["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 4);
    for test in tests {
        let (iops, p99) = (&test["expected"]["iops"], &test["expected"]["p99_ms"]);
        let of = |value: &Value, key: &str| value[key].as_f64().unwrap();
        assert!(of(iops, "lo") <= of(iops, "value") && of(iops, "value") <= of(iops, "hi"));
        assert!(of(p99, "value") > 0.0);
        assert!(test["expected"]["resources"].as_array().unwrap().len() >= 2);
        assert!(!test["expected"]["second"].as_str().unwrap().is_empty());
    }
}

#[test]
fn unknown_software_is_a_bound_in_words() {
    let text = Bench::new().ok(&["predict", "nas-4bay", "--only", "Random", "--explain"]);
    // The sentence may break anywhere.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("because the software cost") && words.contains("at most"), "{text}");
    // "At most 2,020" alone was taken for what to expect, where the same hardware without software does 414.
    let rate = |from: &str| -> f64 {
        let (_, after) = words.split_once(from).unwrap_or_else(|| panic!("{from}: {text}"));
        after.split_whitespace().next().unwrap().replace(',', "").parse().unwrap()
    };
    let (bound, simulated) = (rate("p99 a bound at most "), rate("simulated without software: "));
    assert!(simulated < bound / 2.0 && simulated > 100.0, "{text}");
    assert!(words.contains("no bound, and no expectation"), "{text}");
    // A prediction with known software needs neither.
    let known = Bench::new().ok(&["predict", "ix4-200d", "--only", "Random"]);
    assert!(!known.contains("without software") && !known.contains("no software"), "{known}");
}

#[test]
fn what_ifs_say_what_a_change_brings() {
    let bench = Bench::new();
    let args = ["predict", "ix4-200d", "--only", "Random", "--json", "--what-if", "raid=10", "disks=8"];
    let json = bench.json(&args);
    let what_ifs = json["tests"][0]["what_if"].as_array().unwrap();
    assert_eq!(what_ifs.len(), 2);
    for what_if in what_ifs {
        // The article's array: one serial queue of random writes, so neither level nor disks help.
        assert!((what_if["gain"].as_f64().unwrap() - 1.0).abs() < 0.01, "{what_if}");
        assert!(what_if["says"].as_str().unwrap().contains("changes nothing"));
    }
    let freed =
        bench.json(&["predict", "hdd-7200", "--only", "Random", "--json", "--what-if", "raid=0 disks=4"]);
    assert!(freed["tests"][0]["what_if"][0]["gain"].as_f64().unwrap() > 2.0, "four disks beat one");
}

#[test]
fn round_robin_turned_from_1000_to_1_is_the_articles_gain() {
    let args = [
        "predict",
        "openfiler-2.3-8disk",
        "--only",
        "100%Read",
        "--json",
        "--with",
        "paths.rr_ios=1000 paths.rr_bytes=none",
        "--what-if",
        "paths.rr_ios=1",
    ];
    let gain = Bench::new().json(&args)["tests"][0]["what_if"][0]["gain"].as_f64().unwrap();
    assert!(gain > 2.0, "{gain}");
}

#[test]
fn a_sweep_shows_where_it_stops_paying() {
    let bench = Bench::new();
    let sweep = |array: &str, field: &str| {
        let args = ["predict", array, "--only", "Max Throughput-100%Read", "--sweep", field];
        let json = bench.json(&[&args[..], &["--json"]].concat());
        (json["tests"][0]["sweeps"][0].clone(), bench.ok(&args))
    };
    let (json, text) = sweep("openfiler-2.3-4disk", "disks=2..48");
    assert_eq!(json["points"].as_array().unwrap().len(), 24, "odd numbers cannot be mirrored");
    assert!(json["says"].as_str().unwrap().contains("helps up to"), "the software fills: {json}");
    assert!(text.contains("<- flattens here"), "{text}");
    let (json, text) = sweep("nas-4bay", "disks=3..24");
    assert!(json["says"].as_str().unwrap().contains("has no effect"), "it was full before: {json}");
    assert!(!text.contains("<- flattens here"), "{text}");
}

#[test]
fn mistakes_are_answered_with_what_would_be_right() {
    let bench = Bench::new();
    let broken = bench.write("broken.toml", "name = \"x\"\n[device]\nkind = \"hdd\"\nrpm = \"fast\"\n");
    for (args, words) in [
        (vec!["predict", "ix4-200"], "ix4-200d"),
        (vec!["predict", "ix4-200d", "--what-if", "rad=10"], "did you mean `raid`"),
        (vec!["predict", "ix4-200d", "--sweep", "disks=4"], "disks=4..48"),
        (vec!["predict", broken.as_str()], "broken.toml:4"),
        (vec!["show", "published:ix4"], "ix4-200d"),
        (vec!["run", "vmware", "sim:"], "sim: needs an array"),
        (vec!["run", "vmware", "sim:nothing"], "no array of that name ships"),
        (vec!["calibrate", "null:", "--array", "nvme", "-o", broken.as_str()], "Assay did not write it"),
    ] {
        let message = bench.refused(&args);
        assert!(message.contains(words), "{args:?}: {message}");
    }
}

#[test]
fn arrays_and_published_tables_are_listed_and_shown() {
    let bench = Bench::new();
    assert!(bench.json(&["arrays", "--json"]).as_array().unwrap().len() >= 18);
    let copy = bench.write("copy.toml", &bench.ok(&["arrays", "show", "nas-4bay"]));
    assert!(bench.ok(&["predict", &copy, "--only", "Random"]).contains("nas-4bay"));
    assert!(bench.ok(&["published"]).contains("openfiler-2.3"));
    let json = bench.json(&["show", "published:ix4-200d", "--json"]);
    assert_eq!(json["rows"].as_array().unwrap().len(), 42);
    assert_eq!(json["rows"][0]["iops"].as_f64(), Some(1_761.883_723));
    assert!(json["verdict"]["limit"].as_str().unwrap().contains("software"));
    let text = bench.ok(&["show", "published:ix4-200d", "--explain"]);
    for rule in ["[inconsistent-queue]", "[serialised-io]", "[serialised-writes]", "VERDICT"] {
        assert!(text.contains(rule), "{rule}: {text}");
    }
    // The answer was 110 lines below the rows.
    let brief = bench.ok(&["show", "published:ix4-200d"]);
    let end = brief.rsplit("\n\n").next().unwrap();
    assert!(end.starts_with("LIMIT  ") && end.contains("serialised-io"), "{brief}");
}

#[test]
fn drives_are_looked_up_by_their_model_and_what_is_simulated_is_not_detected() {
    let bench = Bench::new();
    assert!(bench.ok(&["arrays", "drive"]).lines().count() >= 120);
    let known = bench.write("known.toml", &bench.ok(&["arrays", "drive", "ST1000DM010-2EP102"]));
    assert!(!bench.ok(&["predict", &known, "--only", "Random"]).contains("catalogue"), "it is listed");
    let unknown = bench.write(
        "unknown.toml",
        "title = \"t\"\ndisks = { model = \"ACME Spinner\", class = \"hdd-7200\", count = 8 }\n\
         [raid]\nlevel = \"raid6\"\n",
    );
    let said = bench.ok(&["predict", &unknown, "--only", "Random"]);
    assert!(said.contains("The catalogue does not have ACME Spinner"), "{said}");
    assert!(bench.refused(&["arrays", "drive", "ACME Spinner"]).contains("assay arrays drive"));
    assert!(bench.refused(&["arrays", "drive", "ST4000VN008"]).contains("class = \"hdd-5400\""));
    // Four disks in RAID5 of class values stood for a LUN of which nothing is seen, and were predicted like any other.
    let unseen = "title = \"t\"\nsource = \"s\"\n[device]\nkind = \"hdd\"\nmodel = \"not seen\"\n\
                  from = \"assumed: not seen\"\nrpm = 7200\nseek_track_ms = 1\nseek_avg_ms = 8\nseek_full_ms = 18\n\
                  outer_mb_s = 180\ninner_mb_s = 90\ncapacity = \"4TB\"\n\
                  [raid]\nfrom = \"assumed: not seen\"\nlevel = \"single\"\ndisks = 1\n";
    let unseen = bench.write("unseen.toml", unseen);
    for verb in [&["predict", &unseen][..], &["size", "2000 IOPS", "--array", &unseen]] {
        let said = bench.refused(verb);
        assert!(said.contains("nobody has seen its drives"), "{verb:?}: {said}");
    }
    assert!(bench.refused(&["arrays", "detect", "sim:nas-4bay"]).contains("assay arrays show nas-4bay"));
}

#[test]
fn the_validation_document_is_the_one_in_the_repository() {
    let bench = Bench::new();
    bench.ok(&["validate", "-o", &bench.path("v.md")]);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model-validation.md");
    let (made, kept) =
        (std::fs::read_to_string(bench.path("v.md")).unwrap(), std::fs::read_to_string(kept).unwrap());
    assert!(made == kept, "docs/model-validation.md is not what assay validate writes; write it anew");
}

#[test]
fn the_validation_is_short_unless_it_is_to_be_explained() {
    let bench = Bench::new();
    let brief = bench.ok(&["validate"]);
    assert!(brief.lines().count() <= 22, "{brief}");
    assert!(brief.contains("NVMe drives") && brief.contains("--explain"), "{brief}");
    assert!(bench.ok(&["validate", "--explain"]).contains("## Every system left out once"));
}

const READS: &str = "[[test]]\nname = \"reads\"\nrun = \"4s\"\noutstanding = 16\n\
    access = [{ size = \"8KiB\", read = 100, random = 100 }]\n";

/// `sim:` answered every write at once that a volatile cache holds. A cache with a battery takes durable writes like
/// others, and a disk alone needs milliseconds for each: factors that no busy machine turns round.
#[test]
fn durable_writes_of_a_simulated_array_wait_as_the_array_makes_them() {
    let bench = Bench::new();
    let writes = |more: &str| {
        format!(
            "[[test]]\nname = \"t\"\naccess = [{{ size = \"8KiB\", read = 0, random = 100 }}]\nops = 60\n{more}\n"
        )
    };
    let plain = bench.write("plain.toml", &writes(""));
    let durable = bench.write("durable.toml", &writes("sync = true"));
    let flushed = bench.write("flushed.toml", &writes("flush = { every = 4 }"));
    let hdd = include_str!("../../../../arrays/hdd-7200.toml");
    let cached =
        |more: &str| format!("{hdd}\n[controller]\nfrom = \"assumed\"\nwrite_back = \"256MiB\"\n{more}\n");
    let volatile = format!("sim:{}", bench.write("volatile.toml", &cached("")));
    let battery = format!("sim:{}", bench.write("battery.toml", &cached("battery = true")));
    let mean_us = |plan: &str, target: &str| {
        let run = bench.json(&["run", plan, target, "--size", "1GiB", "--json"]);
        let ended = &run["tests"][0];
        assert_eq!(ended["total"]["ops"], run["simulated_truth"][0]["ops"], "the array counts no flushes");
        ended["total"]["service_us"]["mean"].as_f64().unwrap()
    };
    assert!(mean_us(&plain, &volatile) * 5.0 < mean_us(&durable, &volatile), "the cache loses its data");
    assert!(mean_us(&durable, &battery) < 2000.0, "the battery keeps them");
    let run = bench.json(&["run", &flushed, &volatile, "--size", "1GiB", "--json"]);
    let flush = &run["tests"][0]["jobs"][0]["flush"];
    assert!(flush["ops"].as_u64().unwrap() >= 14, "{flush:#}");
    assert!(flush["service_us"]["mean"].as_f64().unwrap() >= 8300.0, "a revolution of 7200 rpm: {flush:#}");
}

#[test]
fn expectations_stand_beside_what_was_measured_and_stay_with_the_run() {
    let bench = Bench::new();
    let plan = bench.write("reads.toml", &READS.replace("4s", "1s"));
    let text = bench.ok(&["run", &plan, "sim:hdd-7200"]);
    assert!(text.contains("GOOD? ") && text.contains("LIMIT ") && text.contains(" expected"), "{text}");
    let text = bench.ok(&["show", "last", "--explain"]);
    assert!(text.contains("Expected of hdd-7200") && text.contains("VERDICT"), "{text}");
    let shown = bench.json(&["show", "last", "--json"]);
    let test = &shown["tests"][0];
    assert!(test["expected"]["iops"]["lo"].as_f64().unwrap() > 0.0);
    assert!(!test["verdict"]["experiment"].as_str().unwrap().is_empty());
    assert_eq!(shown["verdict"]["judged"], 1);
    bench.ok(&["report", "last", "-o", &bench.path("r.html")]);
    let html = std::fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(html.contains("Expected of hdd-7200") && html.contains("<dt>Limit</dt>"));
}

#[test]
fn an_array_attached_to_a_target_is_used_by_every_run_on_it() {
    let bench = Bench::new();
    let plan = bench.write("reads.toml", &READS.replace("4s", "200ms"));
    let file = bench.path("t.dat");
    let run = ["run", &plan, "t.dat", "--size", "16MiB", "--cached", "--json"];
    assert!(bench.json(&run)["tests"][0]["expected"].is_null(), "nobody said what to expect");
    bench.ok(&["target", "set", &file, "--array", "ssd-sata"]);
    assert_eq!(bench.json(&["target", "list", "--json"]).as_array().unwrap().len(), 1);
    let reported = bench.json(&run);
    assert!(
        reported["tests"][0]["expected"]["iops"]["value"].as_f64().unwrap() > 0.0,
        "also under a relative name"
    );
    let other =
        bench.json(&["run", &plan, "t.dat", "--size", "16MiB", "--cached", "--json", "--array", "hdd-7200"]);
    assert_eq!(other["tests"][0]["verdict"]["standing"], "above", "memory is faster than a disk");
    assert!(
        other["findings"].as_array().unwrap().iter().any(|f| f["rule"] == "read-cache"),
        "{}",
        other["findings"]
    );
    bench.ok(&["target", "set", &file, "--array", "none"]);
    assert!(bench.json(&run)["tests"][0]["expected"].is_null());
}

#[test]
fn a_plan_where_an_array_belongs_and_the_other_way_round_are_answered_with_what_to_type() {
    let bench = Bench::new();
    let plan = bench
        .write("mine.toml", "[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 1 }]\nbogus = 1\n");
    let array = bench.write("nas.toml", &bench.ok(&["arrays", "show", "ix4-200d"]));
    let says = bench.refused(&["predict", &plan]);
    assert!(says.contains("mine.toml is a plan") && says.contains("assay predict ARRAY"), "{says}");
    // Which of two is the array is no question.
    let orders = [["predict", "vmware", "ix4-200d"], ["predict", "ix4-200d", "vmware"]];
    let [plan_first, array_first] = orders.map(|order| bench.ok(&order));
    assert_eq!(plan_first, array_first);
    let says = bench.refused(&["run", &array, "t.dat"]);
    assert!(says.contains("nas.toml is an array file") && says.contains("assay run SUITE sim:"), "{says}");
    let says = bench.refused(&["predict", "ix4-200d", "nas-4bay"]);
    assert!(says.contains("nas-4bay is an array") && says.contains("assay predict nas-4bay"), "{says}");
}

#[test]
fn a_sweep_that_runs_downwards_is_reported() {
    let bench = Bench::new();
    let says = bench.refused(&["predict", "ix4-200d", "--sweep", "disks=12..4"]);
    assert!(says.contains("from 12 to 4") && says.contains("like disks=4..12"), "{says}");
    let says = bench.refused(&["predict", "ix4-200d", "--sweep", "disks=4..4"]);
    assert!(says.contains("--with disks=4"), "{says}");
}

#[test]
fn a_sweep_that_is_left_out_is_said_where_it_would_stand() {
    let bench = Bench::new();
    let plan = bench.write(
        "two.toml",
        "[[test]]\nname = \"both\"\n[[test.job]]\nname = \"a\"\naccess = [{ size = \"8KiB\", random = 100 }]\n\
         [[test.job]]\nname = \"b\"\naccess = [{ size = \"64KiB\" }]\n",
    );
    let args = ["predict", "nas-4bay", &plan, "--sweep", "disks=4..6"];
    let text = bench.ok(&args);
    assert!(text.contains("left out: --sweep disks=4..6: 2 jobs run side by side"), "{text}");
    let reported = bench.json(&[&args[..], &["--json"]].concat());
    let left_out = reported["tests"][0]["left_out"][0].as_str().unwrap();
    assert!(left_out.contains("--what-if FIELD=VALUE"), "{reported:#}");
}
