//! Texts of tools in, rows out.

use assay_record::Latency;

use super::*;

/// `test|IOPS|MB/s|mean ms` of each row.
pub(super) fn rows(text: &str) -> Vec<String> {
    let result = import("x.txt", text).unwrap_or_else(|error| panic!("{error}")).expect("it is known");
    let row = |row: &ResultRow| {
        let job = &row.jobs[0];
        let (total, seconds) = (job.stats.total(), job.measured_ns as f64 / 1e9);
        let mean = total.service.mean_ns().map_or("-".to_owned(), |ns| format!("{:.3}", ns / 1e6));
        let swept =
            row.swept.first().map_or(String::new(), |swept| format!(" {}={}", swept.key, swept.value));
        format!(
            "{}{swept}|{:.1}|{:.1}|{mean}",
            row.test,
            total.ops() as f64 / seconds,
            total.bytes as f64 / seconds / 1e6
        )
    };
    result.rows.iter().map(row).collect()
}

const SQLIO: &str = "sqlio v1.5.SG\n32 threads writing for 30 secs to file e:\\testfile.dat\n\
    \tusing 8KB sequential IOs\n\
    \tenabling multiple I/Os per thread with 8 outstanding\n\tbuffering set to use hardware disk cache\n\
    CUMULATIVE DATA:\nthroughput metrics:\nIOs/sec:  1024.00\nMBs/sec:     8.00\nlatency metrics:\n\
    Min_Latency(ms): 0\nAvg_Latency(ms): 2\nMax_Latency(ms): 1039\nhistogram:\nms: 0  1\n%: 78  3\n";

#[test]
fn sqlio_blocks_are_rows() {
    let again = SQLIO.replace("writing", "reading").replace("sequential", "random");
    assert_eq!(
        rows(&format!("{SQLIO}{again}")),
        ["8KiB sequential write, 32 x 8|1024.0|8.4|2.000", "8KiB random read, 32 x 8|1024.0|8.4|2.000"]
    );
    let error = import("x.txt", &SQLIO.replace("for 30 secs", "for 0 secs")).unwrap_err().to_string();
    assert_eq!(error, "x.txt:2: the block has no IOs/sec, or no duration");
}

#[test]
fn crystaldiskmark_rows_have_the_names_of_the_suite() {
    let new = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n* MB/s = 1,000,000 bytes/s\n\n[Read]\n  \
        SEQ    1MiB (Q=  8, T= 1):  3458.123 MB/s [   3297.9 IOPS] <  2423.22 us>\n  \
        RND    4KiB (Q= 32, T=16):   800.000 MB/s [ 195312.5 IOPS] <   163.11 us>\n\n[Write]\n  \
        SEQ    1MiB (Q=  8, T= 1):  3000.000 MB/s [   2861.0 IOPS] <  2790.00 us>\n\n[Mix] Read 70%/Write 30%\n  \
        SEQ    1MiB (Q=  8, T= 1):  1000.000 MB/s [    953.7 IOPS] <  8000.00 us>\n\n\
        Profile: Default\n   Test: 1 GiB (x5) [C: 50% (237/475GiB)]\n   Date: 2021/10/02 12:00:00\n";
    assert_eq!(
        rows(new),
        [
            "SEQ1M Q8T1 read|3297.9|3458.1|2.423",
            "RND4K Q32T16 read|195312.5|800.0|0.163",
            "SEQ1M Q8T1 write|2861.0|3000.0|2.790",
            "SEQ1M Q8T1 mix|953.7|1000.0|8.000"
        ]
    );
    let result = import("x.txt", new).unwrap().unwrap();
    assert_eq!((result.from.tool.as_str(), result.targets[0].as_str()), ("CrystalDiskMark 8.0.4", "C:"));
    let old = "CrystalDiskMark 3.0.1 x64 (C) 2007-2010 hiyohiyo\n* MB/s = 1,000,000 byte/s\n\n           \
        Sequential Read :   211.250 MB/s\n         Random Write 512KB :   100.000 MB/s\n    \
        Random Read 4KB (QD=32) :   120.000 MB/s [ 29296.9 IOPS]\n  Test : 1000 MB [C: 1.0%] (x5)\n";
    assert_eq!(
        rows(old),
        [
            "SEQ1M Q1T1 read|201.4|211.2|-0.000",
            "RND512K Q1T1 write|190.6|100.0|-0.000",
            "RND4K Q32T1 read|29296.9|120.0|-0.000"
        ]
        .map(|row| row.replace("-0.000", &mean_of_nothing()))
    );
}

/// A window of 5 s holds 2670.5 I/Os at 534.1 per second.
#[test]
fn crystaldiskmark_rates_are_those_of_the_text_to_the_last_digit() {
    let text = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n* MB/s = 1,000,000 bytes/s\n\n[Read]\n  \
        SEQ    1MiB (Q=  1, T= 1):   560.044 MB/s [    534.1 IOPS] <  1871.23 us>\n  \
        RND    4KiB (Q= 32, T= 1):   391.203 MB/s [  95508.5 IOPS] <   334.00 us>\n  \
        RND    4KiB (Q=  1, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\n";
    assert_eq!(
        rows(text)[..2],
        ["SEQ1M Q1T1 read|534.1|560.0|1.871", "RND4K Q32T1 read|95508.5|391.2|0.334"]
    );
}

/// How a mean that no file says is shown by [`rows`].
fn mean_of_nothing() -> String {
    let unknown = Latency::from_summary(10, 0.0, None, None);
    unknown.mean_ns().map_or("-".to_owned(), |ns| format!("{:.3}", ns / 1e6))
}

#[test]
fn dd_runs_are_rows_with_the_direction_of_their_command() {
    let text = "$ dd if=/dev/zero of=x bs=64k count=1024\n1024+0 records in\n1024+0 records out\n\
        67108864 bytes (67 MB, 64 MiB) copied, 0.5 s, 134 MB/s\n$ dd if=x of=/dev/null bs=64k\n\
        1024+0 records in\n1024+0 records out\n67108864 bytes transferred in 0.250000 secs (268435456 bytes/sec)\n";
    let none = mean_of_nothing();
    assert_eq!(rows(text), [format!("dd write|2048.0|134.2|{none}"), format!("dd read|4096.0|268.4|{none}")]);
}

/// A line with two commands gave its last one to the first result, and a redirection was a write.
#[test]
fn each_command_of_dd_on_a_line_has_a_result_of_its_own() {
    let result =
        "100+0 records in\n100+0 records out\n104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s\n";
    let directions = |line: &str, results: usize| -> Vec<String> {
        let found = rows(&format!("$ {line}\n{}", result.repeat(results)));
        found.iter().map(|row| row.split(['|', ' ']).nth(1).unwrap_or_default().to_owned()).collect()
    };
    let (write, read) = ("dd if=/dev/zero of=/tmp/x bs=1M count=100", "dd if=/tmp/x of=/dev/null bs=1M");
    for between in ["; ", " && ", " || ", ";"] {
        assert_eq!(directions(&format!("{write}{between}{read}"), 2), ["write", "read"], "{between}");
        assert_eq!(directions(&format!("{read}{between}{write}"), 2), ["read", "write"], "{between}");
    }
    for (line, expected) in [
        ("dd if=/dev/sda bs=1M count=100 iflag=direct > /dev/null", "read"),
        ("dd if=/dev/sda bs=1M count=100 iflag=direct >/dev/null", "read"),
        ("dd if=/dev/sda bs=1M count=100 | cat > /dev/null", "read"),
        ("sync; echo 3 > /proc/sys/vm/drop_caches; dd if=x of=/dev/null bs=1M", "read"),
        ("dd if=/dev/zero bs=1M count=100 of=/dev/nullx", "write"),
        ("dd if=/dev/zero of=x bs=1M count=100 > /dev/null", "write"),
        ("dd if=/dev/zero of=x bs=1M count=100 2> /dev/null", "write"),
        ("time dd if=/dev/zero of=\"x\" bs=1M count=100", "write"),
    ] {
        assert_eq!(directions(line, 1), [expected], "{line}");
    }
    assert_eq!(directions("dd if=/dev/sda bs=1M | dd of=/dev/null", 2), ["read", "read"]);
    assert_eq!(directions("dd if=/dev/zero bs=1M count=100 | dd of=x", 2), ["write", "write"]);
    let notes = |line: &str| import("x.txt", &format!("{line}\n{result}")).unwrap().unwrap().notes.len();
    assert_eq!((notes(write), notes(read), notes("dd if=/dev/sda bs=1M count=100")), (1, 1, 2));
}

const IOSTAT: &str = include_str!("../../tests/samples/iostat.txt");

#[test]
fn iostat_has_a_row_for_each_device_and_a_series() {
    // The first sample of a device is left out, whichever it is.
    assert_eq!(rows(IOSTAT), ["sda|200.0|0.8|3.500", "sdb|30.0|2.0|4.000"]);
    let result = import("x.txt", IOSTAT).unwrap().unwrap();
    let job = &result.rows[0].jobs[0];
    assert_eq!((job.series.len(), job.series[0].0, job.measured_ns), (2, 15_000_000_000, 30_000_000_000));
    assert!((result.rows[0].cpu_busy.unwrap() - 0.2).abs() < 1e-9);
    let (header, events) = result.into_events("r".to_owned(), "0", 0);
    let intervals = events.iter().filter(|e| matches!(e.what, RunEvent::Interval(_))).count();
    assert!(header.imported.unwrap().has_series && intervals == 3, "{intervals}");
    let one = "Device r/s w/s\nsda 1.0 2.0\n";
    assert!(import("x.txt", one).unwrap_err().to_string().contains("has one sample only"));
    let broken = IOSTAT.replace("300.0", "many");
    assert!(import("x.txt", &broken).unwrap_err().to_string().contains("`many` under r/s is not a number"));
}

#[test]
fn texts_of_no_tool_are_of_none() {
    for text in ["", "hello", "Device: none\n", "IOs/sec only", "a,b\n1,2\n"] {
        assert!(import("x.txt", text).unwrap().is_none(), "{text}");
    }
    for text in [SQLIO, IOSTAT, include_str!("../../tests/samples/diskspd.txt")] {
        for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
            // Cut anywhere: an answer or a message, never a panic.
            let _ = import("x.txt", &text[..end]);
        }
    }
}

/// The sizes that the source of CrystalDiskMark 4 to 6 has for rows whose labels name none.
#[test]
fn the_queued_sequential_row_of_old_crystaldiskmark_has_128_kib() {
    let text = "CrystalDiskMark 6.0.0 x64 (C) 2007-2017 hiyohiyo\n\n\
        \x20  Sequential Read (Q= 32,T= 1) :  3400.000 MB/s\n   \
        Sequential Read (T= 1) :  2000.000 MB/s\n";
    let rows = crystaldiskmark::import("c.txt", text).unwrap().rows;
    let sizes: Vec<u64> = rows.iter().map(|row| row.jobs[0].mix[0].size.0).collect();
    assert_eq!(sizes, [128 << 10, 1 << 20]);
}

/// Both printed by fio 3.42; the JSON of the same kind of run has the same figures.
#[test]
fn what_fio_prints_for_people_has_its_counts_and_percentiles() {
    let text = "> mix: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync,\x20\
        iodepth=1\n\
        > fio-3.42\n\
        > mix: (groupid=0, jobs=2): err= 0: pid=5515: Mon Nov 23 17:58:21 2026\n\
        >   read: IOPS=20.9k, BW=81.6MiB/s (85.6MB/s)(3928KiB/47msec)\n\
        >     clat (nsec): min=621, max=6146.7k, avg=88218.59, stdev=397806.92\n\
        >     clat percentiles (nsec):\n\
        >      |  1.00th=[    764],  5.00th=[   1004], 50.00th=[  41728],\n\
        >      | 99.00th=[2539520], 99.99th=[6127616]\n\
        >   write: IOPS=22.7k, BW=88.6MiB/s (92.9MB/s)(4264KiB/47msec)\n\
        >     clat (usec): min=1, max=66, avg=3.93, stdev=4.65\n\
        >      issued rwts: total=982,1066,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let result = fio_text::import("post.txt", text).unwrap();
    assert_eq!(result.from.tool, "fio-3.42");
    let job = &result.rows[0].jobs[0];
    let (read, write) = (&job.stats.read, &job.stats.write);
    assert_eq!((read.ops(), read.bytes, write.ops(), write.bytes), (982, 982 * 4096, 1066, 1066 * 4096));
    assert_eq!((job.workers, job.measured_ns, job.mix[0].random), (2, 47_000_000, 100.0));
    assert!((read.service.quantile_ns(0.5).unwrap() / 41_728.0 - 1.0).abs() < 0.02);
    assert_eq!(write.service.mean_ns().map(f64::round), Some(3930.0));
}

/// A post with five outputs became one run of 727,440 IOPS: each output begins with group 0.
#[test]
fn outputs_of_fio_one_after_the_other_are_not_side_by_side() {
    let define = |size: &str, depth: u32| {
        format!(
            "x: (g=0): rw=randread, bs=(R) {size}-{size}, (W) {size}-{size}, (T) {size}-{size}, \
             ioengine=psync, iodepth={depth}\n"
        )
    };
    let job = |ios: u32| {
        format!(
            "x: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 23 17:58:21 2026\n  \
             read: IOPS=1000, BW=4MiB/s (4MB/s)(4MiB/1000msec)\n     issued rwts: total={ios},0,0,0 short=0\n"
        )
    };
    let counts = |text: &str| -> Vec<Vec<(u64, u64, u32)>> {
        let rows = fio_text::import("post.txt", text).unwrap().rows;
        let of = |job: &RowJob| (job.stats.read.ops(), job.mix[0].size.0, job.outstanding);
        rows.iter().map(|row| row.jobs.iter().map(of).collect()).collect()
    };
    let (a, b) = (vec![(1000, 4096, 1)], vec![(2000, 8192, 8)]);
    let sums = "Run status group 0 (all jobs):\n   READ: bw=4MiB/s\n";
    let first = format!("{}fio-3.42\n{}", define("4096B", 1), job(1000));
    let second = format!("{}fio-3.42\n{}", define("8192B", 8), job(2000));
    assert_eq!(counts(&format!("{first}{sums}{second}{sums}")), [a.clone(), b.clone()]);
    // Also where a post leaves out the sums.
    assert_eq!(counts(&format!("{first}{second}")), [a.clone(), b.clone()]);
    // Two jobs of one name, side by side: each has its own definition.
    let both = format!("{}{}fio-3.42\n{}{}", define("4096B", 1), define("8192B", 8), job(1000), job(2000));
    assert_eq!(counts(&both), [[a, b].concat()]);
}

/// What people post of Bonnie++ is often the table without the line of numbers.
#[test]
fn the_table_of_bonnie_is_read_without_its_line_of_numbers() {
    let text = "\
> Version  1.98       ------Sequential Output------ --Sequential Input- --Random-
>                     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
> Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
> server1         16G  637k  99  180m  35   78m  17 +++++ +++  201m  19 298,1  12
> Latency             14183us     411ms    1203ms   32313us   69213us     211ms
";
    let found = rows(text);
    let begins = |words: &str| found.iter().any(|row| row.starts_with(words));
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(begins("Sequential output by block|23040.0|188.7|"), "{found:?}");
    assert!(begins("Sequential input by block|25728.0|210.8|"), "{found:?}");
    assert!(begins("Random seeks|298.0|"), "{found:?}");
}

/// As posted of versions 1.03 and 1.97 with `-f`, which leaves the columns of single characters empty.
#[test]
fn the_table_of_a_fast_run_of_bonnie_has_four_rates() {
    let text = "\
Version 1.03c       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
whisper          8G           102400  24 51200  15           204800  25 325.0   1
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
whisper,8G,,,102400,24,51200,15,,,204800,25,325.0,1,1024,20728,59,385904,85,352,0,11134,32,502866,97,222,0
";
    let found = rows(text);
    let begins = |words: &str| found.iter().any(|row| row.starts_with(words));
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(begins("Sequential output by block|12800.0|104.9|"), "{found:?}");
    assert!(begins("Rewrite|12800.0|104.9|"), "{found:?}");
    assert!(begins("Sequential input by block|25600.0|209.7|"), "{found:?}");
    assert!(begins("Random seeks|325.0|"), "{found:?}");
}

#[test]
fn what_elbencho_prints_is_read() {
    let text = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
WRITE       Elapsed time      :     2.012s      1m2.0s
            IOPS              :        509         400
            Throughput MiB/s  :        509         400
            Total MiB         :       1024       24800
            IO lat us         : [ min=312 avg=1950 max=20112 ]
---
READ        Elapsed time      :     1.012s      2.000s
            IOPS              :       1011         800
            Throughput MiB/s  :        505         400
---
";
    let none = mean_of_nothing();
    assert_eq!(rows(text), ["write|400.0|419.4|1.950".to_owned(), format!("read|800.0|419.4|{none}")]);
}

#[test]
fn decimal_commas_of_ioping_and_vdbench_are_points() {
    let ioping = "--- /dev/sda (block device 931,5 GiB) ioping statistics ---\n\
        2 requests completed in 20,4 ms, 8 KiB read, 97 iops, 391,6 KiB/s\n\
        min/avg/max/mdev = 8,31 ms / 10,2 ms / 12,1 ms / 1,90 ms\n";
    assert_eq!(rows(ioping), ["ioping read|98.0|0.4|10.200"]);
    let vdbench = "10:11:12,001 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5\n\
        10:11:17,050     avg_2-5   5132,25    40,10    8192  69,98    1,550    1,380    1,946    12,11    14,20    \
        0,920    8,0   9,4   3,0\n";
    assert!(rows(vdbench)[0].starts_with("rd1|5132.2|42.0|1.5"), "{:?}", rows(vdbench));
}

#[test]
fn results_of_a_second_tool_in_one_text_are_not_lost_without_a_word() {
    let dd =
        "1000+0 records in\n1000+0 records out\n4096000 bytes (4.1 MB, 3.9 MiB) copied, 0.5 s, 8.2 MB/s\n";
    let alone = import("d.txt", dd).unwrap().unwrap().notes;
    let ioping = "--- /dev/sda ioping statistics ---\n2 requests completed in 20.4 ms, 8 KiB read, 97 iops\n";
    let both = import("d.txt", &format!("{ioping}{dd}")).unwrap().unwrap().notes;
    let says = |notes: &[String]| notes.iter().any(|note| note.contains("The text also has results of"));
    assert!(!says(&alone) && says(&both), "{both:?}");
}

/// Seconds with a decimal comma were cut to whole ones: 256 instead of 237 MiB/s.
#[test]
fn numbers_with_a_decimal_comma_are_read_whole() {
    let german = "$ dd if=/dev/zero of=x bs=1M count=1024 oflag=direct\n1024+0 Datensätze ein\n1024+0 Datensätze aus\n\
                  1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 4,31532 s, 249 MB/s\n";
    let mixed = "1024+0 records in\n1024+0 records out\n\
                 1073741824 bytes (1,1 GB, 1,0 GiB) copied, 4,31532 s, 249 MB/s\n";
    for text in [german, mixed] {
        assert!(dd::is_results(text));
        let job = dd::import("a.txt", text).unwrap().rows.remove(0).jobs.remove(0);
        assert_eq!((job.measured_ns, job.stats.write.ops()), (4_315_320_000, 1024), "{text}");
    }
    assert!(!dd::is_results("512 bytes (x), 1 s\n1+1 things\n"));
    let disk = "CrystalDiskMark 8.0.4 x64\n[Read]\n  \
                SEQ    1MiB (Q=  8, T= 1):  7063,494 MB/s [   6736,3 IOPS] <  1187,02 us>\n";
    assert_eq!(rows(disk), ["SEQ1M Q8T1 read|6736.3|7063.5|1.187"]);
}

/// As ioping 1.3 prints them; its warm-up is not in the sums.
#[test]
fn the_json_of_ioping_is_read() {
    let text = "[{ \"target\": {\"path\": \"/x\"}, \"io\": {\"request\": 1, \"operation\": \"write\"} },{\n\
        \"target\": {\"path\": \"/x\"}, \"stat\": {\"count\": 4, \"size\": 16384, \"time\": 730255, \"iops\": 5477.5, \
        \"min\": 87881, \"avg\": 182564, \"max\": 299324, \"mdev\": 81970}, \"load\": {\"count\": 5} }]";
    assert!(ioping::is_results(text));
    let result = ioping::import("a.json", text).unwrap();
    let job = &result.rows[0].jobs[0];
    assert_eq!((job.stats.write.ops(), job.stats.write.bytes, job.measured_ns), (4, 16384, 730_255));
    assert_eq!((job.stats.write.service.max_ns(), result.targets[0].as_str()), (Some(299_324), "/x"));
}

/// Looks of `--status-interval` count from the same start, so the last one is the result.
#[test]
fn of_several_looks_at_a_job_the_last_one_counts() {
    let look = |ios: u32, ms: u32| {
        format!(
            "x: (groupid=0, jobs=1): err= 0: pid=7: Mon Nov 23 17:58:21 2026\n  \
             mixed: IOPS=1000, BW=4MiB/s (4MB/s)(4MiB/{ms}msec)\n     \
             issued rwts: total={ios},0,0,0 short=0\n\nRun status group 0 (all jobs):\n"
        )
    };
    let define = "x: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=null, \
                  iodepth=1\n";
    let result = |define: &str| {
        let text = format!("{define}fio-3.42\n{}{}{}", look(1000, 1000), look(2000, 2000), look(2500, 2500));
        fio_text::import("post.txt", &text).unwrap()
    };
    let one = result(define);
    assert_eq!((one.rows.len(), one.rows[0].jobs[0].stats.read.ops()), (1, 2500));
    assert_eq!(one.rows[0].jobs[0].measured_ns, 2_500_000_000);
    assert!(one.notes.iter().any(|note| note.contains("--status-interval")), "{:?}", one.notes);
    assert!(one.notes.iter().any(|note| note.contains("reads and writes together")), "{:?}", one.notes);
    // Processes of several hosts may have equal numbers.
    assert_eq!(result(&format!("<host> {define}")).rows.len(), 3);
}

/// `unified_rw_reporting=both`: the sum behind both replaced the reads.
#[test]
fn a_sum_behind_reads_and_writes_is_not_taken_for_the_reads() {
    let side = |way: &str, iops: u32, min: u32| {
        format!(
            "  {way}: IOPS={iops}, BW=4MiB/s (4MB/s)({}KiB/1000msec)\n    clat (usec): min={min}, max=90, avg=20\n    \
             clat percentiles (usec):\n     | 50.00th=[   {min}], 99.00th=[   80],\n",
            iops * 4
        )
    };
    let text = format!(
        "fio-3.42\nx: (groupid=0, jobs=1): err= 0: pid=7: Mon Nov 23 17:58:21 2026\n{}{}{}     \
         issued rwts: total=700,300,0,0 short=0\n",
        side("read", 700, 11),
        side("write", 300, 12),
        side("mixed", 1000, 10)
    );
    let result = fio_text::import("post.txt", &text).unwrap();
    let stats = &result.rows[0].jobs[0].stats;
    assert_eq!(
        (stats.read.ops(), stats.read.bytes, stats.read.service.min_ns()),
        (700, 700 * 4096, Some(11_000))
    );
    assert_eq!((stats.write.ops(), stats.write.service.min_ns()), (300, Some(12_000)));
    assert!(!result.notes.iter().any(|note| note.contains("together")), "{:?}", result.notes);
}

#[test]
fn of_several_documents_of_fio_none_is_lost() {
    let started = |ios: u64, second: u64, (elapsed, start): (u64, &str)| {
        format!(
            "{{\n\"fio version\": \"fio-3.42\", \"timestamp\": {second}, \"jobs\": [{{\"jobname\": \"a\", \
             \"groupid\": 0, {start}\"elapsed\": {elapsed}, \"read\": {{\"total_ios\": {ios}, \"io_bytes\": {}, \
             \"runtime\": 1000}}}}]\n}}\n",
            ios * 4096
        )
    };
    let document = |ios: u64, second: u64, elapsed: u64| started(ios, second, (elapsed, ""));
    let counts = |text: &str| -> Vec<u64> {
        let rows = fio_json::import("a.json", text).unwrap().rows;
        rows.iter().map(|row| row.jobs[0].stats.read.ops()).collect()
    };
    // Looks at one run, and two runs.
    assert_eq!(counts(&[document(10, 100, 3), document(20, 101, 4), document(21, 102, 5)].concat()), [21]);
    let looks = |start: [&str; 2]| {
        let of = |at: usize| started(10 + at as u64, 100, (1, start[at]));
        counts(&(of(0) + &of(1)))
    };
    assert_eq!(looks(["\"job_start\": 7, "; 2]), [11]);
    assert_eq!(looks(["\"job_start\": 7, ", "\"job_start\": 8, "]), [10, 11]);
    // A loop of short runs, and one of a longer run that begins when another has ended.
    assert_eq!(counts(&[100, 101, 102].map(|second| document(10, second, 1)).concat()), [10; 3]);
    assert_eq!(counts(&[document(10, 100, 3), document(20, 109, 9)].concat()), [10, 20]);
    assert_eq!(counts(&[document(10, 100, 5), document(20, 107, 5)].concat()), [10, 20]);
    // What fio prints for people may stand between, and the last may be cut short.
    let between = "a: (g=0)\n".to_owned();
    assert_eq!(counts(&[document(10, 100, 5), between, document(20, 107, 5)].concat()), [10, 20]);
    assert_eq!(counts(&format!("{}{{\n\"fio version\": ", document(10, 100, 5))), [10]);
    let cut = |text: String| text[..text.len() / 2].to_owned() + "\n";
    let text = [document(10, 100, 5), cut(document(15, 103, 5)), document(20, 107, 5)].concat();
    assert_eq!(counts(&text), [10, 20]);
    assert_eq!(counts(&[cut(document(15, 103, 5)), document(20, 107, 5)].concat()), [20]);
    let notes = fio_json::import("a.json", &text).unwrap().notes;
    assert!(notes.iter().any(|note| note.ends_with("cut short, and left out: 1.")), "{notes:?}");
}

#[test]
fn hosts_of_fio_are_side_by_side_and_their_sum_is_no_host() {
    let job = |name: &str, host: &str, ios: u64, group: u64| {
        format!(
            "{{\"jobname\": \"{name}\", \"groupid\": {group}, \"hostname\": \"{host}\", \
             \"mixed\": {{\"total_ios\": {ios}, \"io_bytes\": 4096, \"runtime\": 1000}}}}"
        )
    };
    let jobs = [
        job("a", "h1", 1, 0),
        job("b", "h1", 2, 1),
        job("a", "h2", 3, 0),
        job("b", "h2", 4, 1),
        job("All clients", "h2", 10, 0),
    ];
    let text = format!("{{\"fio version\": \"fio-3.42\", \"client_stats\": [{}]}}", jobs.join(","));
    let result = fio_json::import("a.json", &text).unwrap();
    let rows: Vec<(String, u64)> = result
        .rows
        .iter()
        .map(|row| (row.test.clone(), row.jobs.iter().map(|job| job.stats.read.ops()).sum()))
        .collect();
    assert_eq!(rows, [("a of h1 + a of h2".to_owned(), 4), ("b of h1 + b of h2".to_owned(), 6)]);
}

/// fio's 95th percentile of 512 I/Os is the value that 487 of them do not exceed, and not that of 486.
#[test]
fn imported_percentiles_are_those_of_the_text() {
    let text = "x: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 23 17:58:21 2026\n  \
        write: IOPS=36.6k, BW=143MiB/s (150MB/s)(2048KiB/14msec); 0 zone resets\n    \
        clat (usec): min=20, max=102, avg=26.01, stdev= 4.46\n    clat percentiles (usec):\n     \
        |  1.00th=[   21], 50.00th=[   28], 90.00th=[   28], 95.00th=[   29],\n     \
        | 99.00th=[   35], 99.50th=[   38], 99.90th=[  103]\n     issued rwts: total=0,512,0,0 short=0\n";
    let result = fio_text::import("post.txt", text).unwrap();
    let service = &result.rows[0].jobs[0].stats.write.service;
    for (share, us) in [(0.5, 28.0), (0.95, 29.0), (0.99, 35.0), (0.995, 38.0)] {
        let read = service.quantile_ns(share).unwrap() / 1e3;
        assert!((read / us - 1.0).abs() < 0.01, "{share}: {read} instead of {us}");
    }
}

#[test]
fn old_and_terse_lines_of_fio_are_read_too() {
    let old = "x: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=64\n\
        x: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 23 17:58:21 2015\n  \
        read : io=3071.7MB, bw=48237KB/s, iops=12059, runt= 65207msec\n    \
        clat (usec): min=56, max=6100, avg=123.45, stdev=1.0\n     \
        issued    : total=r=786355/w=0/d=0, short=r=0/w=0/d=0\n";
    let job = fio_text::import("old.txt", old).unwrap().rows.remove(0).jobs.remove(0);
    assert_eq!((job.outstanding, job.stats.read.ops(), job.stats.read.bytes), (64, 786_355, 786_355 * 4096));
    let terse = format!(
        "3;fio-3.42;w;1;0;{}4096;341333;5333;12;0;0;0.0;0.0;9;7369;138.822578;918.2;1.000000%=9;99.990000%=7372;\n",
        "0;".repeat(41)
    );
    let job = fio_text::import("terse.txt", &terse).unwrap().rows.remove(0).jobs.remove(0);
    assert_eq!((job.stats.write.ops(), job.stats.write.bytes, job.measured_ns), (64, 4 << 20, 12_000_000));
    // The fifth version has six fields more for each direction.
    let fifth = terse.replacen('3', "5", 1).replacen("1;0;", &format!("1;0;{}", "0;".repeat(6)), 1);
    let job = fio_text::import("terse.txt", &fifth).unwrap().rows.remove(0).jobs.remove(0);
    assert_eq!((job.stats.write.ops(), job.stats.write.bytes, job.measured_ns), (64, 4 << 20, 12_000_000));
    assert_eq!(job.stats.write.service.mean_ns().map(f64::round), Some(138_823.0));
}

#[test]
fn a_posted_yabs_table_is_four_mixed_rows() {
    let text = "fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda1):\n---------------------------------\n\
        Block Size | 4k            (IOPS) | 64k           (IOPS)\n\
        \x20 ------   | ---            ----  | ----           ---- \n\
        Read       | 170.81 MB/s  (42.7k) | 1.05 GB/s    (16.4k)\n\
        Write      | 171.26 MB/s  (42.8k) | 1.06 GB/s    (16.5k)\n\
        Total      | 342.07 MB/s  (85.5k) | 2.11 GB/s    (33.0k)\n           |                      |\n\
        Block Size | 512k          (IOPS) | 1m            (IOPS)\n\
        \x20 ------   | ---            ----  | ----           ---- \n\
        Read       | 1.15 GB/s     (2.2k) | 1.16 GB/s     (1.1k)\n\
        Write      | 1.21 GB/s     (2.3k) | 1.24 GB/s     (1.2k)\n";
    let rows = yabs::import("post.txt", text).unwrap().rows;
    let iops: Vec<(String, u64)> =
        rows.iter().map(|row| (row.test.clone(), row.jobs[0].stats.read.ops() / 30)).collect();
    let expected = [("mixed 4k", 42_702), ("mixed 64k", 16_406), ("mixed 512k", 2_246), ("mixed 1m", 1_132)];
    assert_eq!(iops, expected.map(|(name, iops)| (name.to_owned(), iops)));
}

/// Tests that were not done leave blanks, so a number is of the test in whose column it ends.
#[test]
fn rows_of_iozone_are_those_of_their_columns() {
    let head = "                                                              random    random     bkwd\n\
        \x20             kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      \
        read   fwrite frewrite    fread  freread\n";
    let some = "          102400    1024   388250   392446                     290025   392099          \n";
    assert_eq!(
        rows(&format!("{head}{some}")),
        [
            "write, 1024k|379.2|397.6|-",
            "rewrite, 1024k|383.2|401.9|-",
            "random read, 1024k|283.2|297.0|-",
            "random write, 1024k|382.9|401.5|-"
        ]
    );
    let full = "           16384       4    55907    68813    43361    42502    34044    64746    33578     \
        61774     30137   235263   233180  3905668  3824589\n";
    let all = rows(&format!("{head}{full}"));
    assert_eq!((all.len(), all[12].split('|').next()), (13, Some("refread, 4k")));
    assert_eq!(all[4..6], ["random read, 4k|8511.0|34.9|-", "random write, 4k|16186.5|66.3|-"]);
    // Indented less in a post, with the columns that it has.
    let post = "> kB  reclen    write  rewrite    read    reread\n\
        >    1024000    1024   258830   270261   341979   344249\n";
    assert_eq!(rows(post)[3], "reread, 1024k|336.2|352.5|-");
    let ops = format!("Output is in operations per second.\n{head}           16384       4     1000\n");
    assert_eq!(rows(&ops), ["write, 4k|1000.0|4.1|-"]);
}

/// Averages of more than 999 intervals stand right behind the time, and versions before 5.04.07 have one maximum.
#[test]
fn averages_of_long_and_old_runs_of_vdbench_are_read() {
    let text = "11:29:41.000 Starting RD=oltp; I/O rate: Uncontrolled MAX; elapsed=7082\n\
        13:27:41.143avg_2-7082    2632.89    30.96   12328  46.21    8.281    9.783    6.990 1080011.535  \
        478.859  21.8   4.9   2.2\n";
    let result = vdbench_out::import("logfile.html", text).unwrap();
    let stats = &result.rows[0].jobs[0].stats;
    assert_eq!(stats.read.ops(), 8_615_159);
    // The flat file of 5.04.02 has no timestamp; it became a summary with the wrong columns, 40,959,508 IOPS.
    let flat = "RD=x\n         tod        Run   Interval    reqrate       rate     MB/sec   bytes/io      read%       \
        resp   resp_max   resp_std\n\
        10:57:09.037 random_write_max_4k   avg_2-10 999988.0000   327.4444     1.2791       4096     \
        0.0000    23.9089  1514.9750   134.5254\n";
    assert_eq!(rows(flat), ["random_write_max_4k|327.4|1.3|23.909"]);
    // The standard deviation, 478.859, was the maximum of the writes.
    let most = |side: &assay_record::OpStats| side.service.max_ns();
    assert_eq!((most(&stats.read), most(&stats.write)), (Some(1_080_011_535_000), Some(1_080_011_535_000)));
}

#[test]
fn kdiskmark_prints_the_lines_of_crystaldiskmark() {
    let text = "                     KDiskMark (3.1.2): https://github.com/JonMagon/KDiskMark\n\
        * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n\n[Read]\n\
        Sequential   1 MiB (Q=  8, T= 1):   538.480 MB/s [    525.9 IOPS] < 15190.94 us>\n\
        Random       4 KiB (Q= 32, T= 1):   173.640 MB/s [  43410.7 IOPS] <   735.80 us>\n\n[Write]\n\
        Sequential   1 MiB (Q=  8, T= 1):   410.000 MB/s [    400.4 IOPS] < 19000.00 us>\n";
    assert!(crystaldiskmark::is_results(text));
    let result = crystaldiskmark::import("k.txt", text).unwrap();
    let names: Vec<&str> = result.rows.iter().map(|row| row.test.as_str()).collect();
    assert_eq!(names, ["SEQ1M Q8T1 read", "RND4K Q32T1 read", "SEQ1M Q8T1 write"]);
    assert!(result.from.tool.contains("KDiskMark 3.1.2"), "{}", result.from.tool);
}

#[test]
fn ioping_counts_are_those_of_its_last_lines() {
    let text = "--- f (ext4 /dev/vda 252.0 GiB) ioping statistics ---\n\
        20.0 k requests completed in 940.2 ms, 78.1 MiB read, 21.3 k iops, 83.1 MiB/s\n\
        generated 20.0 k requests in 1.00 s, 78.1 MiB, 20.0 k iops, 78.1 MiB/s\n\
        min/avg/max/mdev = 560 ns / 47.0 us / 8.66 ms / 206.4 us\n";
    assert_eq!(rows(text), ["ioping read|21272.1|87.1|0.047"]);
    let writes = text.replace("MiB read", "MiB written");
    assert_eq!(rows(&writes), ["ioping write|21272.1|87.1|0.047"]);
}

/// Before version 1.0 the time is that of the whole run, pauses included.
#[test]
fn the_rate_of_an_old_ioping_is_the_one_that_it_prints() {
    let text = "--- /dev/vda (device 10.0 GiB) ioping statistics ---\n\
        2.2 k requests completed in 3.0 s, 738 iops, 2.9 MiB/s\n\
        min/avg/max/mdev = 216 us / 1.4 ms / 33.6 ms / 3.3 ms\n\
        --- . (ext4 /dev/sda3) ioping statistics ---\n\
        5 requests completed in 4794.0 ms, 364 iops, 1.4 MiB/s\nmin/avg/max/mdev = 0.2/2.8/12.7/5.0 ms\n";
    let found = rows(text);
    assert!(found[0].ends_with("|738.0|3.0|1.400") && found[1].ends_with("|364.0|1.5|2.800"), "{found:?}");
}

/// `status=progress` prints the amount so far, and the result behind the records.
#[test]
fn the_progress_of_dd_is_no_result() {
    let text = "$ dd if=/dev/zero of=x oflag=direct bs=4M count=2560 status=progress\n\
        9739173888 bytes (9.7 GB, 9.1 GiB) copied, 5 s, 1.9 GB/s\n2560+0 records in\n2560+0 records out\n\
        10737418240 bytes (11 GB, 10 GiB) copied, 5.5149 s, 1.9 GB/s\n";
    assert_eq!(rows(text), [format!("dd write|464.2|1947.0|{}", mean_of_nothing())]);
}

#[test]
fn a_line_of_bonnie_has_a_row_for_each_test_with_a_rate() {
    let text =
        "1.98,2.00a,vm,1,1795546992,64M,,8192,5,782,60,20480,9,+++++,+++,1260,59,+++++,+++,320.5,9,,,,,,,,\n";
    assert_eq!(
        rows(text),
        [
            "Sequential output per char|800768.0|0.8|-",
            "Sequential output by block|2560.0|21.0|-",
            "Sequential input per char|1290240.0|1.3|-",
            "Random seeks|321.0|2.6|-"
        ]
    );
    let result = import("x.csv", text).unwrap().unwrap();
    assert!(result.notes.iter().any(|note| note.starts_with("2 tests ended too fast")), "{:?}", result.notes);
}

#[test]
fn elbencho_phases_with_data_are_rows() {
    let text = "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random \
        aligned,IO depth,operation,time ms [first],time ms [last],IOPS [first],IOPS [last],MiB/s [last],CPU% [last],IO \
        lat us [min],IO lat us [avg],IO lat us [max],version,command\n\
        2026-01-02T03:04:05.000+0000,,file,1,1,4,1,1,1G,4K,1,1,1,16,READ,1900,2000,50000,48000,187,40,80,1300,9000,\
        3.0,x\n\
        2026-01-02T03:04:05.000+0000,,dir,1,1,4,1,1,1G,4K,1,1,1,16,MKDIRS,1,2,,,,0,,,,3.0,x\n";
    assert_eq!(rows(text), ["read random 4K|48000.0|196.6|1.300"]);
    let result = import("x.csv", text).unwrap().unwrap();
    assert_eq!((result.from.tool.as_str(), result.rows[0].jobs[0].workers), ("elbencho 3.0", 4));
    assert!(result.notes.iter().any(|note| note.starts_with("1 phases move no data")), "{:?}", result.notes);
}

#[test]
fn averages_of_vdbench_are_rows_in_both_of_its_forms() {
    let summary = "Starting RD=run1; I/O rate: Uncontrolled MAX; elapsed=30 interval=2; For loops: None\n\n\
        12:00:02.005 1 40000.0 156.25 4096 70.1 0.75 0.60 1.10 5.0 6.0 0.2 32 5.0 2.0\n\
        12:00:30.005 avg_2-15 41000.0 160.16 4096 70.00 0.780 0.610 1.180 9.51 8.20 0.3 32 5.0 2.0\n";
    assert_eq!(rows(summary), ["run1|41000.0|167.9|0.781"]);
    let flat = "* comment\ntod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp \
        resp_max\n12:00:30.005 01/02/2026-12:00:30-UTC run1 avg_2-15 999988 41000.0 160.16 4096 70.00 0.780 0.610 \
        1.180 9.51\n";
    assert_eq!(rows(flat), ["run1|41000.0|167.9|0.781"]);
}

#[test]
fn sums_of_hcibench_need_a_share_of_reads() {
    let text = "Datastore:\tvsan\nRun Def:\tRD=run1; I/O rate: Uncontrolled MAX\nVMs\t\t= 8\nIOPS\t\t= 86042.49 \
        IO/S\nTHROUGHPUT\t= 336.10 MB/s\nLATENCY\t\t= 2.98 ms\nR_LATENCY\t= 2.10 ms\nW_LATENCY\t= 5.00 \
        ms\n95%tile_LAT\t= 7.00 ms\n";
    let named = import("vdb-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1-res.txt", text).unwrap().unwrap();
    let job = &named.rows[0].jobs[0];
    assert_eq!((job.stats.read.ops(), job.stats.write.ops()), (60230, 25813));
    let error = import("res.txt", text).unwrap_err().to_string();
    assert_eq!(error, "res.txt: has no result of HCIBench with a duration");
}

#[test]
fn logs_of_fio_are_a_row_with_a_series() {
    let log = |kind: &str, text: &str| (format!("run_{kind}.1.log"), text.to_owned());
    let logs = [
        log("bw", "500, 65280, 0, 0, 0\n500, 65792, 1, 0, 0\n1000, 65840, 0, 0, 0\n1000, 65232, 1, 0, 0\n"),
        log("iops", "500, 16320, 0, 0, 0\n500, 16448, 1, 0, 0\n1000, 16460, 0, 0, 0\n1000, 16308, 1, 0, 0\n"),
        log("lat", "558, 25000, 0, 0, 0\n566, 12000, 1, 0, 0\n1052, 15000, 0, 0, 0\n1051, 10000, 1, 0, 0\n"),
    ];
    let result = fio_log::import(&logs).unwrap();
    let job = &result.rows[0].jobs[0];
    assert_eq!((job.series.len(), job.measured_ns, job.stats.read.ops()), (2, 1_000_000_000, 8160 + 8230));
    assert_eq!(job.stats.write.bytes, (65_792 + 65_232) * 512);
    assert_eq!(job.stats.total().service.mean_ns().map(f64::round), Some(15_493.0));
    let error = fio_log::import(&logs[..1]).unwrap_err().to_string();
    assert!(error.contains("needs both the log of rates (_bw) and that of I/Os"), "{error}");
    assert_eq!(fio_log::log_name("x_clat.2.log"), None);
}

#[test]
fn results_of_two_disks_in_one_post_are_not_of_the_last_one() {
    let copy = |disk: &str, rate: &str, seconds: u32| {
        format!(
            "> CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n> [Read]\n>   RND    4KiB (Q=  1, T= 1): \
             \x20  {rate} MB/s [  20000.0 IOPS] <    49.60 us>\n>    Test: 1 GiB (x5) [{disk}: 25% (233/931GiB)]\n> \
             \x20  Time: Measure {seconds} sec / Interval 5 sec\n"
        )
    };
    let text = format!("{}{}", copy("D", "81.920", 30), copy("E", "81.920", 5));
    assert_eq!(
        rows(&text),
        ["RND4K Q1T1 read target=D:|20000.0|81.9|0.050", "RND4K Q1T1 read target=E:|20000.0|81.9|0.050"]
    );
    let result = import("x.txt", &text).unwrap().unwrap();
    assert_eq!(result.targets, ["D:", "E:"]);
    let seconds: Vec<u64> = result.rows.iter().map(|row| row.jobs[0].measured_ns / 1_000_000_000).collect();
    assert_eq!(seconds, [30, 5], "the text says it below its rows");

    let run = |disk: &str| {
        format!(
            "--- {disk} (block device 1 TiB) ioping statistics ---\n2 requests completed in 2 ms, 8 KiB read, 1.00 k \
             iops, 3.91 MiB/s\nmin/avg/max/mdev = 1 ms / 1 ms / 1 ms / 0 us\n"
        )
    };
    let text = format!("{}{}{}", run("/dev/sda"), run("/dev/sdb"), run("/dev/sda"));
    assert_eq!(import("x.txt", &text).unwrap().unwrap().targets, ["/dev/sda", "/dev/sdb"]);
    let names: Vec<String> = import("x.txt", &text)
        .unwrap()
        .unwrap()
        .rows
        .iter()
        .map(|row| format!("{:?}", row.swept.len()))
        .collect();
    assert_eq!(names, ["1", "1", "2"], "the third is the second of its disk");
    assert!(rows(&text)[1].starts_with("ioping read target=/dev/sdb|1000.0|"), "{:?}", rows(&text));
}

#[test]
fn kdiskmark_names_no_disk() {
    let text = "KDiskMark (3.1.2): https://github.com/JonMagon/KDiskMark\n[Read]\n\
        Random       4 KiB (Q= 32, T= 1):   173.640 MB/s [  43410.7 IOPS] <   735.80 us>\n\
        Test: 1 GiB (x5) [Measure: 7 sec / Interval: 5 sec]\n";
    let result = import("k.txt", text).unwrap().unwrap();
    assert_eq!(
        (result.targets, result.rows[0].jobs[0].measured_ns / 1_000_000_000),
        (vec!["k".to_owned()], 7)
    );
}

#[test]
fn a_quoted_text_is_the_text() {
    let text = "[Read]\nCrystalDiskMark 8\n  RND    4KiB (Q=  1, T= 1):    81.920 MB/s [  20000.0 IOPS]\n";
    let quoted = text.replace('\n', "\r\n> ");
    assert_eq!(rows(&format!("> {quoted}")), rows(text));
    let json = "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"read\": {\"io_bytes\": 4096000, \
        \"total_ios\": 1000, \"runtime\": 1000, \"iops\": 1000.0}}]}";
    let quoted = json.replace(", ", ",\n> ");
    assert_eq!(rows(&format!("> {quoted}")), rows(json));
}

#[test]
fn dd_in_chinese_and_russian_is_read() {
    let chinese = "记录了1024+0 的读入\n记录了1024+0 的写出\n\
        1073741824字节(1.1 GB，1.0 GiB)已复制，2.5 s，429 MB/s\n";
    let russian = "1024+0 записей получено\n1024+0 записей отправлено\n\
        1073741824 байт (1,1 GB) скопировано, 2,5 c, 429 MB/c\n";
    assert_eq!(rows(chinese), ["dd write|409.6|429.5|-"]);
    assert_eq!(rows(russian), rows(chinese));
    let words_first =
        russian.replace("1073741824 байт (1,1 GB) скопировано", "скопировано 1073741824 байт (1,1 GB)");
    assert_eq!(rows(&words_first), rows(chinese));
    let japanese = "1024+0 レコード入力\n1024+0 レコード出力\n\
        1073741824 バイト (1.1 GB、 1.0 GiB) コピーされました、 2.5 s、 429 MB/s\n";
    assert_eq!(rows(japanese), rows(chinese));
}

#[test]
fn disks_of_two_hosts_of_iometer_are_told_apart() {
    let text = "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read I/Os\n\
        ALL,All,A4k,2,2,2,300,3000\nMANAGER,HOSTA,A4k,,1,1,200,2000\nDISK,sda,A4k,,,,200,2000\n\
        MANAGER,HOSTB,A4k,,1,1,100,1000\nDISK,sda,A4k,,,,100,1000\n";
    assert_eq!(import("x.csv", text).unwrap().unwrap().targets, ["HOSTA sda", "HOSTB sda"]);
    let one = text.replace("HOSTB", "HOSTA");
    assert_eq!(import("x.csv", &one).unwrap().unwrap().targets, ["sda"]);
}

/// As fio 3.33 prints them with --kb_base=1000: MB are decimal there, and MiB those of version 2 without the `i`.
#[test]
fn units_of_fio_3_without_an_i_are_decimal() {
    let text = |amount: &str, bs: &str| {
        format!(
            "x: (g=0): rw=write, bs={bs}, ioengine=psync, iodepth=1\nfio-3.33\n\
             x: (groupid=0, jobs=1): err= 0: pid=7: Sun Nov 29 22:09:09 2026\n  \
             write: IOPS=8000, BW=320MB/s (305MiB/s)({amount}/100msec); 0 zone resets\n     \
             issued rwts: total=0,800,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    let (one, two) =
        ("(R) 4000B-4000B, (W) 4000B-4000B, (T) 4000B-4000B", "(R) 4000B-64.0kB, (W) 4000B-64.0kB");
    let bytes = |text: &str| import("f.txt", text).unwrap().unwrap().rows[0].jobs[0].stats.write.bytes;
    assert_eq!(bytes(&text("32.0MB", two)), 32_000_000);
    assert_eq!(bytes(&text("32.0MiB", two)), 32 << 20);
    assert_eq!(bytes(&text("3200kB", one)), 3_200_000);
    let sized = "(R) 40.0kB-40.0kB, (W) 40.0kB-40.0kB, (T) 40.0kB-40.0kB";
    assert_eq!(bytes(&text("32.1MB", sized)), 32_000_000);
}
