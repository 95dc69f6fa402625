//! Results of other tools, beside runs of Assay's own.

use crate::story::{BAD_INPUT, DONE, Story};

const FIO: &str = r#"{ "fio version" : "fio-3.33", "timestamp_ms" : 1700000000123,
      "jobs" : [ { "jobname" : "Random-8k-70%Read",
  "groupid" : 0, "job options" : { "rw" : "randrw", "iodepth" : "16", "filename" : "/srv/t.dat" },
  "read" : { "io_bytes" : 819200, "total_ios" : 100, "runtime" : 1000, "clat_ns" : { "min" : 90, "max" : 5000000,
  "mean" : 61234.5, "N" : 100, "bins" : { "90" : 10, "10176" : 60, "50432" : 29, "4947968" : 1 } } },
  "write" : { "total_ios" : 0 } } ] }"#;
const TABLE: &str = "system,test,MiB/s,IOPS,avg ms,max ms\nix4,Random-8k-70%Read,2.1,269,230,900\n";

#[test]
fn results_of_other_tools_are_shown_and_compared_like_runs() {
    let story = Story::new();
    story.write("fio.json", FIO);
    story.write("ix4.csv", TABLE);
    story.assay(&["import", "fio.json", "--label", "fio"]).ends(DONE);
    let imported = story.assay(&["import", "ix4.csv", "--label", "article"]).ends(DONE);
    assert!(imported.err.contains("(a table, ix4.csv)"), "{}", imported.err);
    story
        .assay(&["run", "vmware", "null:", "--set", "run=1s", "--only", "Random", "--label", "own"])
        .ends(DONE);
    let shown = story.assay(&["show", "article"]).ends(DONE);
    assert!(shown.out.contains("Measured by a table, and imported from ix4.csv"), "{}", shown.out);
    assert!(!shown.out.contains("LIMIT"), "nothing is known of its target: {}", shown.out);
    let fio = story.assay(&["show", "fio", "--json"]).ends(DONE);
    assert_eq!(crate::story::number(&fio.json(), "/tests/0/total/iops"), 100.0);
    let table = story.assay(&["show", "article", "--json"]).ends(DONE);
    assert!(
        table.json().pointer("/tests/0/total/service_us/p99").is_some_and(serde_json::Value::is_null),
        "{}",
        table.out
    );
    let compared = story.assay(&["compare", "article", "fio", "own"]).ends(DONE);
    assert!(compared.out.contains("Random-8k-70%Read"), "{}", compared.out);
    // What a file does not say is no difference.
    assert!(
        !compared.out.contains("write data") && !compared.out.contains("reconnect every"),
        "{}",
        compared.out
    );
    story.assay(&["report", "article", "-o", "r.html"]).ends(DONE);
    let runs = story.assay(&["runs"]).ends(DONE);
    assert!(runs.out.contains("article") && runs.out.contains("fio"), "{}", runs.out);
}

#[test]
fn a_run_is_exported_for_the_tools_that_people_have() {
    let story = Story::new();
    story
        .assay(&["run", "vmware", "null:", "--set", "run=1s", "--only", "Random", "--label", "own"])
        .ends(DONE);
    for (format, word) in [
        ("iometer-csv", "'Target Type,Target Name,Access Specification Name"),
        ("fio-json", "\"clat_ns\""),
        ("openmetrics", "# EOF"),
        ("hdr", "#[Histogram log format version 1.3]"),
        ("icf", "'ACCESS SPECIFICATIONS ==="),
        ("csv", "Test,MiB/s,IOPS"),
        ("markdown", "| Test | MiB/s |"),
        ("bbcode", "[table]"),
    ] {
        let exported = story.assay(&["export", "own", "--format", format]).ends(DONE);
        assert!(exported.out.contains(word), "{format}: {}", exported.out);
    }
    story.assay(&["export", "own", "--format", "fio-json", "-o", "own.json"]).ends(DONE);
    story.assay(&["import", "own.json", "--label", "again"]).ends(DONE);
    let [before, after] = ["own", "again"].map(|run| story.assay(&["show", run, "--json"]).ends(DONE).json());
    for path in ["/tests/0/total/ops", "/tests/0/total/bytes"] {
        assert_eq!(before.pointer(path), after.pointer(path), "{path}");
    }
}

#[test]
fn a_file_that_is_no_result_is_refused() {
    let story = Story::new();
    story.write("a.txt", "nothing\n");
    let refused = story.assay(&["import", "a.txt"]).ends(BAD_INPUT);
    assert!(
        refused.err.contains("a.txt is neither a file of assay export nor results of a tool"),
        "{}",
        refused.err
    );
    story.write("t.csv", "test,IOPS\na,many\n");
    let refused = story.assay(&["import", "t.csv"]).ends(BAD_INPUT);
    assert!(refused.err.contains("t.csv:2: `many` is not a number"), "{}", refused.err);
    assert!(story.files().iter().all(|name| !name.contains("sqlite")), "nothing is stored");
}

#[test]
fn a_folder_gives_all_results_in_it_and_names_the_rest() {
    let story = Story::new();
    std::fs::create_dir_all(story.path("all/deep")).unwrap();
    let dd = "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB) copied, 0.5 s, 2.1 MB/s\n";
    story.write("all/a.txt", dd);
    story.write("all/deep/b.txt", dd);
    story.write("all/notes.txt", "nothing\n");
    let run = story.assay(&["import", "all", "--label", "f"]).ends(DONE);
    assert_eq!(run.err.matches("imported run ").count(), 2, "{}", run.err);
    assert!(run.err.contains("not imported: all/notes.txt is neither"), "{}", run.err);
    // What both files have to say is said once.
    let notes: Vec<&str> = run.err.lines().filter(|line| line.starts_with("note: ")).collect();
    let once: std::collections::BTreeSet<&&str> = notes.iter().collect();
    assert!(!notes.is_empty() && once.len() == notes.len(), "{}", run.err);
    std::fs::create_dir_all(story.path("none")).unwrap();
    story.write("none/notes.txt", "nothing\n");
    story.assay(&["import", "none"]).refused(&["nothing to import"]);
}

/// Results that somebody's script writes each night are one series.
#[test]
fn results_with_a_date_in_their_names_are_a_series_and_those_of_another_host_or_load_are_not() {
    let story = Story::new();
    let night = |stamp: &str| FIO.replace("1700000000123", stamp);
    story.write("web1-2023-11-14.json", night("1700000000123"));
    story.write(
        "web1-2023-11-15.json",
        night("1700086400123").replace("\"clat_ns\" : { \"min\" : 90", "\"clat_ns\" : { \"min\" : 91"),
    );
    story.write(
        "web1-2023-11-16.json",
        night("1700172800123").replace("\"iodepth\" : \"16\"", "\"iodepth\" : \"4\""),
    );
    story
        .assay(&["import", "web1-2023-11-14.json", "web1-2023-11-15.json", "web1-2023-11-16.json"])
        .ends(DONE);
    let changed = |run: &str| {
        let shown = story.assay(&["show", run]).ends(DONE).out;
        shown.lines().find(|line| line.starts_with("CHANGED")).map(str::to_owned)
    };
    assert_eq!(changed("last"), None, "the last has another depth");
    let second = changed("last~1").expect("the night before is of the same load");
    assert!(second.contains("231114-"), "{second}");
    story.write("web2-2023-11-20.json", night("1700500000123"));
    story.assay(&["import", "web2-2023-11-20.json"]).ends(DONE);
    assert_eq!(changed("last"), None, "another host");
}

#[test]
fn texts_of_tools_are_imported_and_shown_over_time() {
    let story = Story::new();
    story.write(
        "dd.txt",
        "$ dd if=/dev/zero of=x bs=64k\n1024+0 records in\n1024+0 records out\n67108864 bytes (67 MB) copied, 0.5 s, \
         134 MB/s\n",
    );
    let titles = "Device r/s rkB/s r_await w/s wkB/s w_await";
    let sample = |reads: u32| format!("{titles}\nsda {reads}.0 {}.0 2.0 0.0 0.0 0.0\n\n", reads * 4);
    story.write("iostat.txt", format!("$ iostat -x 15 3\n{}{}{}", sample(1), sample(100), sample(300)));
    story.assay(&["import", "dd.txt", "iostat.txt"]).ends(DONE);
    let series = story.assay(&["show", "last", "--series", "15s", "--format", "csv"]).ends(DONE).out;
    let iops: Vec<&str> = series.lines().skip(1).filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(
        iops.iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>(),
        [100.0, 300.0],
        "{series}"
    );
    let shown = story.assay(&["show", "last~1"]).ends(DONE).out;
    assert!(shown.contains("dd write") && shown.contains("128"), "{shown}");
    story.assay(&["show", "last", "--series", "100ms"]).ends(BAD_INPUT);
}

/// Files are read by several threads, of which each may be first.
#[test]
fn results_without_a_date_are_in_the_order_of_their_files() {
    let story = Story::new();
    let names: Vec<String> = (10..40).map(|number| format!("{number}.txt")).collect();
    for name in &names {
        let bytes = u64::from(name.as_bytes()[1]) << 20;
        let noise = "noise\n".repeat(usize::from(name.as_bytes()[1] % 3) * 2000);
        let records = "1+0 records in\n1+0 records out\n";
        story.write(name, format!("{noise}{records}{bytes} bytes (1 MB) copied, 0.5 s, 2.1 MB/s\n"));
    }
    let arguments = std::iter::once("import").chain(names.iter().map(String::as_str));
    let imported = story.assay(&arguments.collect::<Vec<_>>()).ends(DONE).err;
    let ids = imported.lines().filter_map(|line| line.strip_prefix("imported run ")?.split(' ').next());
    let ids: Vec<&str> = ids.collect();
    assert_eq!(ids.len(), names.len(), "{imported}");
    let listed = story.assay(&["runs", "--format", "csv", "--limit", "40"]).ends(DONE).out;
    let listed: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert!(listed.iter().rev().eq(&ids), "{ids:?}: {listed:?}");
}

#[test]
fn a_table_becomes_a_file_of_published_measurements() {
    let story = Story::new();
    story.write("ix4.csv", TABLE);
    let toml = story.assay(&["import", "ix4.csv", "--published"]).ends(DONE).out;
    for line in ["name = \"ix4\"", "[[row]]", "mib_s = 2.1", "iops = 269.0", "max_ms = 900.0"] {
        assert!(toml.contains(line), "{line}: {toml}");
    }
    assert!(!toml.contains("size_bytes"), "what the table does not say stays out: {toml}");
}

#[test]
fn a_run_is_exported_as_parquet() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "run=1s", "--only", "Random"]).ends(DONE);
    story.assay(&["export", "last", "--format", "parquet", "-o", "run.parquet"]).ends(DONE);
    let bytes = story.read("run.parquet");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let refused = story.assay(&["export", "last", "--format", "parquet"]).ends(BAD_INPUT);
    assert!(refused.err.contains("name the file to write"), "{}", refused.err);
}

/// Each was a panic, and the first left half of a run.
#[test]
fn counts_that_no_measurement_reaches_are_cut_with_a_warning() {
    let all = u64::MAX;
    let side = |ops: u64, clat: &str| {
        format!(
            "{{ \"io_bytes\" : {all}, \"total_ios\" : {ops}, \"runtime\" : {all}, \"clat_ns\" : {{ {clat} }} }}"
        )
    };
    let bins = side(
        1 << 63,
        "\"min\" : 1, \"max\" : 1000, \"mean\" : 500.0, \"bins\" : { \"500\" : 9223372036854775808 }",
    );
    let mean = side(all, "\"mean\" : 500.0");
    let story = Story::new();
    for (read, write) in [(&bins, &bins), (&mean, &mean), (&bins, &mean)] {
        let job = format!(
            "{{ \"jobname\" : \"a\", \"total_err\" : {all}, \"read\" : {read}, \"write\" : {write} }}"
        );
        story.write("big.json", format!("{{ \"fio version\" : \"fio-3.33\", \"jobs\" : [ {job}, {job} ] }}"));
        let imported = story.assay(&["import", "big.json", "--label", "big"]).ends(DONE);
        assert!(imported.err.contains("were cut to 2^48 I/Os"), "{}", imported.err);
        let shown = story.assay(&["show", "last", "--json"]).ends(DONE).json();
        assert_eq!(shown.pointer("/status").and_then(|status| status.as_str()), Some("done"));
        story.assay(&["show", "last"]).ends(DONE);
        let runs = story.assay(&["runs"]).ends(DONE);
        assert!(!runs.out.contains("partial"), "{}", runs.out);
    }
}
