//! Results in, events out, and back.

use assay_record::{Event, Latency, RunEvent, RunHeader};

use super::{ImportedResult, fio_json, hdr, iometer_csv, measured, openmetrics, table};

fn events(result: ImportedResult) -> (RunHeader, Vec<Event>) {
    result.into_events("261122-test".to_owned(), "0.1.0", 1_700_000_000_000)
}

/// `name|IOPS|read ops|mean ms` of each step.
fn rows(result: ImportedResult) -> Vec<String> {
    let (header, events) = events(result);
    let steps = measured(&header, &events);
    let row = |step: &super::Measured<'_>| {
        let (mut iops, mut reads, mut all) = (0.0, 0, Latency::default());
        for job in &step.jobs {
            let total = job.stats.total();
            iops += total.ops() as f64 / (job.measured_ns as f64 / 1e9);
            reads += job.stats.read.ops();
            all.merge(&total.service);
        }
        format!("{}|{iops:.1}|{reads}|{:.3}", step.name(), all.mean_ns().unwrap_or(-1.0) / 1e6)
    };
    steps.iter().map(row).collect()
}

/// The first block of a file of 1.1.0, with the numbers of facts about Quarch's file; `depth` and `iops` differ.
fn block(depth: &str, iops: f64, version: &str) -> String {
    let mut cells = vec![String::new(); 59];
    for (at, value) in [
        (0, "ALL"),
        (1, "All"),
        (2, "512B Random Read"),
        (3, "1"),
        (4, "4"),
        (5, "4"),
        (17, "0.132133"),
        (18, "0.132133"),
        (19, "0.000000"),
        (22, "9.5"),
        (23, "9.5"),
        (24, "0.0"),
        (27, "0"),
        (28, "0"),
        (29, "0"),
        (30, "231736832"),
        (31, "0"),
        (32, "452611"),
        (33, "0"),
        (35, "-1"),
        (45, "18446744073709551615"),
        (46, "0"),
        (48, "12.5"),
    ] {
        cells[at] = value.to_owned();
    }
    (cells[6], cells[7], cells[47]) = (format!("{iops:.6}"), format!("{iops:.6}"), depth.to_owned());
    let titles = iometer_titles();
    format!(
        "'Test Type,Test Description\n0,512B Random Read\n'Version\n{version}\n'Time Stamp\n2023-03-25 03:05:43:661\n\
         'Access specifications\n'Access specification name,default assignment\n512B Random Read,0\n'size,% of size,% \
         reads,% random,delay,burst,align,reply\n512,100,100,100,0,1,0,0,\n'End access specifications\n'Results\n\
         '{titles}\n{}\nPROCESSOR,CPU 0,,,,,,75.7,63.0\nDISK,8: \"Pliant LS300S P10\",,,,,30171.17\n'Time \
              Stamp\n2023-03-25 \
         03:05:58:700\n",
        cells.join(",")
    )
}

/// As Iometer 1.1.0 writes them, taken from an export.
fn iometer_titles() -> String {
    let (header, events) = events(table::import("t.csv", "test,IOPS\na,1\n").unwrap());
    let text = iometer_csv::export(&header, &events);
    text.lines()
        .find_map(|line| line.strip_prefix("'Target Type").map(|rest| format!("Target Type{rest}")))
        .unwrap()
}

#[test]
fn iometer_results_of_both_layouts_are_rows() {
    let new = block("1", 30_171.173_034, "1.1.0");
    let result = iometer_csv::import("results.csv", &new).unwrap();
    assert_eq!(
        (result.from.tool.as_str(), result.targets[0].as_str()),
        ("Iometer 1.1.0", "8: \"Pliant LS300S P10\"")
    );
    assert_eq!(result.started_unix_ms, Some(1_679_713_543_661));
    assert_eq!(rows(result), ["512B Random Read|30171.2|452611|0.132"]);
    // Before 1.1.0: six columns of throughput were three, and there were no bins.
    let titles = iometer_titles();
    let old_titles: Vec<&str> = titles.split(',').take(59).filter(|t| !t.contains("MiBps")).collect();
    assert_eq!(old_titles.len(), 56);
    let old = new.lines().map(|line| match line {
        line if line.starts_with("'Target Type") => format!("'{}\n", old_titles.join(",")),
        line if line.starts_with("ALL") => {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{}\n", [&cells[..9], &cells[12..]].concat().join(","))
        }
        line => format!("{line}\r\n"),
    });
    let old: String = old.collect();
    assert_eq!(
        rows(iometer_csv::import("old.csv", &old).unwrap()),
        ["512B Random Read|30171.2|452611|0.132"]
    );
}

#[test]
fn several_blocks_of_one_specification_are_steps() {
    let by_depth = block("1", 1000.0, "1.1.0") + &block("2", 2000.0, "1.1.0");
    let result = rows(iometer_csv::import("r.csv", &by_depth).unwrap());
    assert_eq!(result[1], "512B Random Read outstanding=2|2000.0|452611|0.132");
    // -1 stands for several depths.
    let unknown = block("-1", 1000.0, "1.1.0") + &block("-1", 2000.0, "1.1.0");
    assert_eq!(
        rows(iometer_csv::import("r.csv", &unknown).unwrap())[1],
        "512B Random Read row=2|2000.0|452611|0.132"
    );
}

#[test]
fn a_table_of_an_article_has_no_percentiles() {
    let text = "system,test,MiB/s,IOPS,avg ms,max ms\nix4,Max \
         Throughput-100%Read,55.06,1762,33.6,400\nix4,Random write,2.1,269,,\n";
    let result = table::import("ix4.csv", text).unwrap();
    assert_eq!(result.targets, ["ix4"]);
    assert_eq!(
        rows(result.clone()),
        ["Max Throughput-100%Read|1762.0|1762000|33.600", "Random write|269.0|0|-0.000"]
    );
    let (header, events) = events(result);
    assert!(events.iter().any(|event| matches!(&event.what, RunEvent::Warning(w) if w.rule == "imported")));
    let steps = measured(&header, &events);
    assert_eq!(steps[0].jobs[0].stats.read.service.quantile_ns(0.99), None);
    assert_eq!(steps[0].jobs[0].stats.read.service.max_ns(), Some(400_000_000));
    assert_eq!(steps[1].jobs[0].stats.write.service.mean_ns(), None);
    let semicolons = table::import("x.csv", "Test;MB/s\na;100\n").unwrap();
    assert_eq!(measured(&self::events(semicolons).0, &[]).len(), 0);
    // Of several systems each row has the name of its own, and none says what the load was.
    let two = table::import("x.csv", "system,test,IOPS\nA,reads,10\nB,reads,20\n").unwrap();
    assert_eq!(two.rows.iter().map(|row| row.test.as_str()).collect::<Vec<_>>(), ["A: reads", "B: reads"]);
    assert!(!two.from.says_load());
}

/// As a spreadsheet of another language saves it.
#[test]
fn a_table_has_quoted_cells_decimal_commas_and_columns_that_are_left_out() {
    let text = "System; Test ;MB/s;IOPS;p99 ms\n\"Old; \"\"NAS\"\"\";\"100% Read\";\"112,5\";3600;20\nB;x;8,25;n/a;\n";
    let result = table::import("x.csv", text).unwrap();
    assert_eq!(result.targets, ["Old; \"NAS\"", "B"]);
    assert!(result.notes[1].contains("Left out: `p99 ms`"), "{:?}", result.notes);
    let mb: Vec<f64> = result.rows.iter().map(|row| row.jobs[0].stats.read.bytes as f64 / 1e9).collect();
    assert_eq!(mb, [112.5, 8.25]);
    let refused = table::import("x.csv", "test;IOPS\na;1,234\n").unwrap_err().to_string();
    assert_eq!(refused, "x.csv:2: `1,234` may be a fraction or 1234; write it without the comma");
}

/// json+ as fio 3.33 writes it, shortened.
const FIO: &str = r#"fio: a warning in front
{ "fio version" : "fio-3.33", "timestamp" : 1700000000, "timestamp_ms" : 1700000000123,
  "global options" : { "filename" : "/srv/t.dat" },
  "jobs" : [ { "jobname" : "oltp", "groupid" : 0, "job options" : { "rw" : "randrw", "iodepth" : "16",
      "numjobs" : "2" },
    "read" : { "io_bytes" : 819200, "total_ios" : 100, "runtime" : 1000, "clat_ns" : { "min" : 90,
      "max" : 5000000, "mean" : 61234.5, "stddev" : 1.0, "N" : 100,
      "percentile" : { "50.000000" : 10176, "99.000000" : 4947968 },
      "bins" : { "90" : 10, "10176" : 60, "50432" : 29, "4947968" : 1 } } },
    "write" : { "io_bytes" : 0, "total_ios" : 0, "runtime" : 0 } } ] }"#;

#[test]
fn fio_results_keep_their_histograms_exactly() {
    let result = fio_json::import("r.json", FIO).unwrap();
    assert_eq!((result.from.tool.as_str(), result.started_unix_ms), ("fio-3.33", Some(1_700_000_000_123)));
    assert_eq!(rows(result.clone()), ["oltp|100.0|100|0.061"]);
    let (header, events) = events(result);
    let exported = fio_json::export(&header, &events);
    let document: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let times = &document["jobs"][0]["read"]["clat_ns"];
    let bins: Vec<String> =
        times["bins"].as_object().unwrap().iter().map(|(k, v)| format!("{k}:{v}")).collect();
    assert_eq!(bins.len(), 4, "{bins:?}");
    for bin in ["90:10", "10176:60", "50432:29", "4947968:1"] {
        assert!(bins.contains(&bin.to_owned()), "{bins:?}");
    }
    assert_eq!(
        (times["percentile"]["50.000000"].as_u64(), times["percentile"]["99.000000"].as_u64()),
        (Some(10_176), Some(50_432))
    );
    assert_eq!((times["max"].as_u64(), times["N"].as_u64()), (Some(5_000_000), Some(100)));
    // Once more, nothing changes.
    let (again, events) = self::events(fio_json::import("r.json", &exported).unwrap());
    assert_eq!(fio_json::export(&again, &events), exported);
}

/// Every bucket that fio has up to an hour keeps its name and its count.
#[test]
fn every_bucket_of_fio_is_kept() {
    let names: std::collections::BTreeSet<u64> = (0..400)
        .map(|n: u32| 1.07_f64.powi(n.try_into().unwrap()))
        .map(|ns| super::fio_bins::bin(super::whole(ns)))
        .filter(|ns| *ns > 0)
        .collect();
    let counts = names.iter().map(|ns| (*ns, 1 + ns % 7));
    let latency = Latency::from_buckets(counts.clone(), 1.0, 1, 1 << 40);
    let back = super::fio_bins::bins(&latency);
    assert_eq!(back.into_iter().collect::<Vec<_>>(), counts.collect::<Vec<_>>());
}

#[test]
fn fio_results_without_a_histogram_keep_their_percentiles() {
    let text =
        FIO.replace(r#""bins" : { "90" : 10, "10176" : 60, "50432" : 29, "4947968" : 1 }"#, r#""none" : 0"#);
    let (header, events) = events(fio_json::import("r.json", &text).unwrap());
    let steps = measured(&header, &events);
    let service = &steps[0].jobs[0].stats.read.service;
    let near = |q, expected: f64| (service.quantile_ns(q).unwrap() / expected - 1.0).abs() < 0.01;
    assert!(near(0.5, 10_176.0) && near(0.99, 4_947_968.0) && service.count() == 100);
    let plain =
        text.replace(r#""percentile" : { "50.000000" : 10176, "99.000000" : 4947968 }"#, r#""none" : 0"#);
    let (header, events) = self::events(fio_json::import("r.json", &plain).unwrap());
    assert_eq!(measured(&header, &events)[0].jobs[0].stats.read.service.quantile_ns(0.5), None);
}

/// The trims of `rw=trimwrite` were lost: a job of fio has reads, writes and trims, one of Assay reads and writes.
#[test]
fn a_job_of_fio_that_writes_and_trims_is_two_jobs() {
    let write = r#""write" : { "io_bytes" : 0, "total_ios" : 0, "runtime" : 0 }"#;
    let side = |ops: u64, ns: u64| {
        format!(
            r#"{{ "io_bytes" : {}, "total_ios" : {ops}, "runtime" : 1000,
            "clat_ns" : {{ "min" : 80, "max" : 5000000, "mean" : {ns}, "N" : {ops},
              "bins" : {{ "{ns}" : {ops} }} }} }}"#,
            ops * 4096
        )
    };
    let text =
        FIO.replace(write, &format!(r#""write" : {}, "trim" : {}"#, side(40, 10_176), side(41, 50_432)));
    let result = fio_json::import("r.json", &text).unwrap();
    assert!(result.notes.iter().any(|note| note.contains("rw=trimwrite")), "{:?}", result.notes);
    let (header, events) = events(result);
    let ops = |header: &RunHeader, events: &[Event]| {
        let steps = measured(header, events);
        let of_job = |job: &super::MeasuredJob<'_>| {
            let trims = job.job.mix.iter().any(assay_spec::Access::trims);
            (trims, job.stats.read.ops(), job.stats.write.ops())
        };
        steps[0].jobs.iter().map(of_job).collect::<Vec<_>>()
    };
    let expected = vec![(false, 100, 40), (true, 0, 41)];
    assert_eq!(ops(&header, &events), expected);
    let exported = fio_json::export(&header, &events);
    let document: serde_json::Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(document["jobs"][1]["trim"]["total_ios"], 41);
    assert_eq!(document["jobs"][1]["job options"]["rw"], "randtrim");
    let (header, events) = self::events(fio_json::import("r.json", &exported).unwrap());
    assert_eq!(ops(&header, &events), expected, "nothing is lost on the way back");
}

#[test]
fn exports_have_the_form_that_their_readers_want() {
    let (header, events) = events(fio_json::import("r.json", FIO).unwrap());
    let csv = iometer_csv::export(&header, &events);
    let all: Vec<&str> = csv.lines().find(|line| line.starts_with("ALL,")).unwrap().split(',').collect();
    assert_eq!((all.len(), all[6], all[32]), (80, "100.000000", "100"));
    // 10 of 90 ns and 60 of 10 us, 29 of 50.4 us, one of 4.9 ms.
    assert_eq!((all[59], all[60], all[65]), ("70", "29", "1"));
    assert_eq!(rows(iometer_csv::import("x.csv", &csv).unwrap()), ["oltp|100.0|100|0.061"]);
    let metrics = openmetrics::export(&header, &events);
    let line = "assay_io_rate_per_second\
                {run=\"261122-test\",plan=\"r\",test=\"oltp\",step=\"\",job=\"oltp\",op=\"read\",\
                depth=\"32\",quick=\"no\",set=\"\"} 100\n";
    assert!(metrics.contains(line) && metrics.ends_with("# EOF\n"), "{metrics}");
    let log = hdr::export(&header, &events);
    assert!(log.contains("\nTag=oltp_read,0.000,1.000,5.000,HIST"), "{log}");
}

/// A job of 41 ms beside one of 2.55 s: the rates of both were summed to 9,456 IOPS, which no second had.
#[test]
fn the_rate_of_iometer_is_over_the_time_of_all_jobs() {
    let job = |name: &str, ops: u64, ms: u64| {
        format!(
            "{{\"jobname\": \"{name}\", \"groupid\": 0, \"job options\": {{\"rw\": \"read\"}}, \"read\": \
             {{\"io_bytes\": {}, \"total_ios\": {ops}, \"runtime\": {ms}}}}}",
            ops * 4096
        )
    };
    let iops = |jobs: [String; 2], delay_ns: u64| {
        let json = format!("{{\"fio version\": \"fio-3.33\", \"jobs\": [{}]}}", jobs.join(", "));
        let (header, mut events) = events(fio_json::import("f.json", &json).unwrap());
        for event in &mut events {
            if let RunEvent::Interval(interval) = &mut event.what
                && interval.job == 0
            {
                (interval.start_ns, interval.end_ns) = (delay_ns, interval.end_ns + delay_ns);
            }
        }
        let csv = iometer_csv::export(&header, &events);
        let all = csv.lines().find(|line| line.starts_with("ALL,")).unwrap();
        all.split(',').nth(6).unwrap().parse::<f64>().unwrap().round()
    };
    let jobs = || [job("a", 256, 41), job("b", 8192, 2550)];
    assert_eq!((iops(jobs(), 0), iops(jobs(), 2_959_000_000)), (3313.0, 2816.0));
    // Jobs that end with the last I/O of their own count over their own time.
    assert_eq!(iops([job("a", 960, 960), job("b", 1000, 1000)], 0), 2000.0);
}

#[test]
fn malformed_results_are_refused_with_the_line_and_the_reason() {
    let csv = block("1", 1000.0, "1.1.0");
    for (text, expected) in [
        ("", "t.csv: is not an Iometer results file"),
        (csv.split("ALL,").next().unwrap(), "t.csv: has no row of type ALL"),
        ("ALL,All,x,1\n", "t.csv:1: a result row precedes the header row"),
        (&csv.replace("1000.000000,1000", "many,1000"), "t.csv:15: a row of type ALL has no number of IOps"),
        ("'TimeStamp,Target Type,Target Name\n", "t.csv: has no row of type ALL"),
    ] {
        let error = iometer_csv::import("t.csv", text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    for (text, expected) in [
        ("", "t.json: contains no fio results"),
        ("{\"jobs\": [", "t.json:1: is not a complete JSON document"),
        ("{\"jobs\": []}", "t.json: contains no fio results"),
        (&"[".repeat(100_000), "t.json"),
        (
            &FIO.replace("\"90\" : 10", "\"many\" : 10"),
            "t.json: job \"oltp\", read: bins has an entry that is not a number",
        ),
        (
            &FIO.replace("\"runtime\" : 1000", "\"runtime\" : 0"),
            "t.json: job \"oltp\" did I/O, but its runtime is 0",
        ),
        (
            // A name must not look like a line of Assay's own.
            &FIO.replace("oltp", "o\\n\\rVERDICT: x").replace("\"runtime\" : 1000", "\"runtime\" : 0"),
            "t.json: job \"o  VERDICT: x\" did I/O, but its runtime is 0",
        ),
    ] {
        let error = fio_json::import("t.json", text).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    for (text, expected) in [
        ("", "t.csv: is empty"),
        ("a,b\n1,2\n", "t.csv:1: needs the titles"),
        ("test,IOPS\n", "t.csv:1: has no row below"),
        ("test,IOPS\na,many\n", "t.csv:2: `many` is not a number"),
        ("test,IOPS\na,-5\n", "t.csv:2: `-5` is not a number, or out of range"),
        ("test,IOPS\na,1e99\n", "t.csv:2: `1e99` is not a number, or out of range"),
        ("test,IOPS\n,5\n", "t.csv:2: the row names no test"),
        ("test,IOPS\na,\n", "t.csv:2: the row has neither"),
    ] {
        let error = table::import("t.csv", text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn instantaneous_results_are_a_series_of_updates() {
    let text = block("1", 1000.0, "1.1.0");
    let row = |stamp: &str, seconds: f64| -> String {
        let line = text.lines().find(|line| line.starts_with("ALL")).unwrap();
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        (cells[32], cells[30]) = (format!("{}", 1000.0 * seconds), format!("{}", 512_000.0 * seconds));
        format!("{stamp},{}\n", cells.join(","))
    };
    let head: String = text
        .lines()
        .take_while(|line| !line.starts_with("ALL"))
        .map(|line| format!("{}\n", line.replace("'Target Type,", "'TimeStamp,Target Type,")))
        .collect();
    let stamps = ["2023-03-25 03:05:44:000", "2023-03-25 03:05:46:000", "2023-03-25 03:05:48:000"];
    let of_updates: String = stamps.iter().map(|stamp| row(stamp, 2.0)).collect();
    let of_test: String = stamps.iter().zip([2.0, 4.0, 6.0]).map(|(stamp, s)| row(stamp, s)).collect();
    for rows in [of_updates, of_test] {
        let result = iometer_csv::import("inst.csv", &format!("{head}{rows}")).unwrap();
        let job = &result.rows[0].jobs[0];
        let slices: Vec<(u64, u64)> =
            job.series.iter().map(|(ns, stats)| (ns / 1_000_000, stats.read.ops())).collect();
        assert_eq!(slices, [(2000, 2000); 3]);
        assert!(result.from.has_series && result.rows.len() == 1 && job.stats.read.ops() == 6000);
    }
}

/// Names of foreign results got into spreadsheets as formulas.
#[test]
fn no_name_in_a_csv_of_iometer_is_a_formula_and_all_come_back() {
    for (name, cell) in [
        ("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"),
        ("+1+cmd", "'+1+cmd"),
        ("-x", "'-x"),
        ("@SUM(1)", "'@SUM(1)"),
        ("4KiB = x - 'y'", "4KiB = x - 'y'"),
        ("-5", "-5"),
        ("'quoted'", "'quoted'"),
    ] {
        let json = format!(
            "{{\"fio version\": \"fio-3.33\", \"jobs\": [{{\"jobname\": \"{name}\", \"job options\": \
             {{\"rw\": \"read\"}}, \"read\": {{\"io_bytes\": 4096, \"total_ios\": 1, \"runtime\": 1000}}}}]}}"
        );
        let mut result = fio_json::import("f.json", &json).unwrap();
        result.name = name.to_owned();
        let (header, events) = events(result);
        let csv = iometer_csv::export(&header, &events);
        let count = |text: &str| csv.lines().filter(|line| line.contains(text)).count();
        assert_eq!(count(&format!("0,{cell}")), 1, "{csv}");
        assert_eq!(count(&format!("ALL,All,{cell},")), 1, "{csv}");
        assert_eq!(csv.lines().filter(|line| line.starts_with(&format!("{cell},0"))).count(), 1, "{csv}");
        let back = iometer_csv::import("x.csv", &csv).unwrap();
        assert_eq!((back.name.as_str(), back.rows[0].test.as_str()), (name, name));
        assert_eq!(back.rows[0].jobs[0].mix[0].size.0, 4096, "the specification is found by its name");
    }
    let json = "{\"fio version\": \"3\", \"jobs\": [{\"jobname\": \"\\t=x\", \"read\": {\"total_ios\": 1, \
                \"runtime\": 1}}]}";
    let (header, events) = events(fio_json::import("f.json", json).unwrap());
    assert!(iometer_csv::export(&header, &events).contains("ALL,All,'\t=x,"));
}

/// The job on the second file was shown as one on the first.
#[test]
fn jobs_of_fio_on_several_files_name_all_of_them() {
    let job = |name: &str, file: &str| {
        format!(
            "{{\"jobname\": \"{name}\", \"job options\": {{{file}}}, \
             \"read\": {{\"io_bytes\": 4096, \"total_ios\": 1, \"runtime\": 1000}}}}"
        )
    };
    let [a, b] = ["\"filename\": \"f1\"", "\"filename\": \"f2\""];
    for (jobs, expected) in [
        ([job("a", a), job("b", b), job("c", a)], vec!["f1", "f2"]),
        ([job("a", ""), job("b", b), job("c", "")], vec!["all", "f2"]),
        ([job("a", ""), job("b", ""), job("c", "")], vec!["all"]),
    ] {
        let json = format!(
            "{{\"fio version\": \"fio-3.33\", \"global options\": {{\"filename\": \"all\"}}, \"jobs\": [{}]}}",
            jobs.join(",")
        );
        assert_eq!(fio_json::import("f.json", &json).unwrap().targets, expected);
    }
}

/// It became a run without data, and its tree took 1.7 GB.
#[test]
fn a_document_of_fio_without_a_measurement_is_refused() {
    let more = "{},".repeat(100_000);
    for text in [
        format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":\"a\",\"x\":[{more}{{}}]}}]}}"),
        "{\"fio version\":\"3\",\"jobs\":[{\"jobname\":\"a\",\"read\":{\"total_ios\":0,\"runtime\":9}}]}"
            .to_owned(),
    ] {
        let says = fio_json::import("f.json", &text).unwrap_err().to_string();
        assert!(
            says.starts_with("f.json: contains no measurement: no job has a `total_ios` above 0"),
            "{says}"
        );
    }
    let many = format!("{{\"fio version\":\"3\",\"jobs\":[{more}{{}}]}}");
    assert!(fio_json::import("f.json", &many).unwrap_err().message.contains("jobs"), "the list has a limit");
    let odd = "{\"jobs\":[{\"jobname\":\"a\",\"read\":{\"total_ios\":[1]}}]}";
    assert!(fio_json::import("f.json", odd).unwrap_err().message.contains("is not a count"));
}

/// fio 2.2.10 wrote `io_bytes` in KiB, no `total_ios`, and times in microseconds.
#[test]
fn results_of_fio_2_have_their_own_units() {
    let text = r#"{"fio version": "fio-2.2.10", "jobs": [{"jobname": "x", "groupid": 0, "read": {"io_bytes": 1048576,
        "bw": 104857, "iops": 26214.40, "runtime": 10000, "clat": {"min": 5, "max": 900, "mean": 37.5, "stddev": 1.0}},
        "write": {"io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0}}]}"#;
    let rows = fio_json::import("old.json", text).unwrap().rows;
    let read = &rows[0].jobs[0].stats.read;
    assert_eq!((read.bytes, read.ops(), read.bytes / read.ops()), (1 << 30, 262_144, 4096));
    assert_eq!(read.service.mean_ns().map(f64::round), Some(37_500.0));
}
