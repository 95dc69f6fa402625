//! Results of DiskSpd.

use super::text_tests::rows;
use super::*;

const DISKSPD: &str = include_str!("../../tests/samples/diskspd.txt");

#[test]
fn diskspd_text_keeps_both_directions_and_its_percentiles() {
    assert_eq!(rows(DISKSPD), ["8KiB random 70 % read, 2 x 16|1000.0|8.2|1.900"]);
    let result = import("x.txt", DISKSPD).unwrap().unwrap();
    let stats = &result.rows[0].jobs[0].stats;
    assert_eq!((stats.read.ops(), stats.write.ops(), stats.write.bytes), (7000, 3000, 24_576_000));
    let ms = |q: f64| stats.write.service.quantile_ns(q).unwrap() / 1e6;
    assert!((ms(0.5) - 3.5).abs() < 0.02 && (ms(0.99) - 20.0).abs() < 0.1, "{} {}", ms(0.5), ms(0.99));
    assert_eq!((stats.write.service.max_ns(), result.rows[0].cpu_busy), (Some(50_000_000), Some(0.25)));
}

/// Each has input parameters of its own, and older versions other words for them.
#[test]
fn outputs_of_diskspd_one_after_the_other_have_loads_of_their_own() {
    let second = DISKSPD
        .replace("block size: 8KiB", "block size: 65536")
        .replace("mix test (read/write ratio: 70/30)", "write test")
        .replace("operations per thread: 16", "operations: 4");
    let result = import("d.txt", &format!("{DISKSPD}\n{second}")).unwrap().unwrap();
    let names: Vec<&str> = result.rows.iter().map(|row| row.test.as_str()).collect();
    assert_eq!(names, ["8KiB random 70 % read, 2 x 16", "64KiB random write, 2 x 4"]);
}

/// What people post of DiskSpd often begins with its results.
#[test]
fn results_of_diskspd_without_its_parameters_have_the_size_that_was_moved() {
    let cut = &DISKSPD[DISKSPD.find("actual test time:").unwrap()..];
    let result = import("d.txt", cut).unwrap().unwrap();
    let (row, job) = (&result.rows[0], &result.rows[0].jobs[0]);
    assert_eq!((row.test.as_str(), job.workers, job.measured_ns), ("timespan 1", 2, 10_000_000_000));
    assert_eq!((job.mix[0].size.0, job.mix[0].read), (8192, 70.0));
    assert!(result.from.missing.iter().any(|what| what.contains("outstanding")), "{:?}", result.from.missing);
    let total = &cut[..cut.find("Read IO").unwrap()];
    let error = import("d.txt", total).unwrap_err().to_string();
    assert!(error.contains("has no totals of reads and of writes"), "{error}");
    // Of one direction, as its parameters say, the sum of both is that.
    let until = DISKSPD.find("Read IO").unwrap();
    let writes = DISKSPD[..until].replace("mix test (read/write ratio: 70/30)", "write test");
    let result = import("d.txt", &writes).unwrap().unwrap();
    assert_eq!(result.rows[0].jobs[0].stats.write.ops(), 10_000);
    assert!(import("d.txt", &DISKSPD[..until]).is_err(), "a mix has two directions");
}

#[test]
fn diskspd_xml_has_a_row_for_each_time_span() {
    let text = include_str!("../../tests/samples/diskspd-results.xml");
    assert_eq!(rows(text), ["4KiB random 50 % read, 2 x 8|25.0|0.1|1.600"]);
    let result = import("x.xml", text).unwrap().unwrap();
    assert_eq!((result.from.tool.as_str(), result.targets[0].as_str()), ("DiskSpd 2.2", "x.dat"));
    let read = &result.rows[0].jobs[0].stats.read;
    assert_eq!((read.ops(), read.service.max_ns()), (200, Some(9_000_000)));
    let error = import("x.xml", "<Results><TimeSpan></TimeSpan></Results>").unwrap_err().to_string();
    assert_eq!(error, "x.xml:1: the time span has no TestTimeSeconds");
}

#[test]
fn two_files_of_diskspd_have_the_threads_of_both() {
    let path = |name: &str, threads: u32| {
        format!(
            "path: '{name}'\nperforming read test\nblock size: 8KiB\nnumber of outstanding I/O operations per thread: \
             4\nthreads per file: {threads}\n"
        )
    };
    let text = format!(
        "Input parameters:\n{}{}Results for timespan 1:\nactual test time: 10.00s\nRead IO\ntotal: 81920000 | 10000 | \
         7.81 | 1000.00\n",
        path("a", 2),
        path("b", 3)
    );
    let result = import("x.txt", &text).unwrap().unwrap();
    assert_eq!((result.rows[0].jobs[0].workers, result.rows[0].jobs[0].outstanding), (5, 4));
}

/// Of 3,092 I/Os the 99th percentile is the 3,062nd, and was that behind it: 40 ms for 20 ms. Tables of single targets
/// stand before that of all.
#[test]
fn percentiles_of_diskspd_are_those_it_prints_of_all_targets() {
    let table = &DISKSPD[DISKSPD.find("  %-ile |").unwrap()..];
    let of_one = table.replace("3.500", "0.700").replace("20.000", "300.000");
    let text = DISKSPD
        .replace("|         3000 |", "|         3092 |")
        .replace(table, &format!("{of_one}\ntotal:\n{table}"));
    let result = import("x.txt", &text).unwrap().unwrap();
    let writes = &result.rows[0].jobs[0].stats.write;
    let ms = |q: f64| writes.service.quantile_ns(q).unwrap() / 1e6;
    assert_eq!(writes.ops(), 3092);
    for (q, printed) in [(0.5, 3.5), (0.99, 20.0), (0.999, 40.0)] {
        assert!((ms(q) / printed - 1.0).abs() < 0.01, "{q}: {}", ms(q));
    }
}
