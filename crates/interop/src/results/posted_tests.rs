//! Texts of further tools, and as logs show them.

use super::text_tests::rows;
use super::*;

#[test]
fn sysbench_of_old_and_of_new_versions_is_read() {
    let new = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\nNumber of threads: 4\nBlock size 16KiB\n\
        Doing random r/w test\nFile operations:\n    reads/s:                      4515.36\n    \
        writes/s:                     3010.24\n    fsyncs/s:                     302.01\nThroughput:\n    \
        read, MiB/s:                  70.55\n    written, MiB/s:               47.04\nGeneral statistics:\n    \
        total time:                          2.0000s\nLatency (ms):\n         min:                  0.00\n         \
        avg:                  0.13\n         max:                 46.23\n         95th percentile:      0.01\n";
    assert_eq!(rows(new), ["sysbench random r/w|7525.5|123.3|0.130"]);
    let result = import("s.txt", new).unwrap().unwrap();
    let job = &result.rows[0].jobs[0];
    assert_eq!((job.workers, job.stats.read.ops(), job.stats.write.ops()), (4, 9031, 6020));
    let old = "sysbench 0.4.12:  multi-threaded system evaluation benchmark\nNumber of threads: 1\nBlock size 16Kb\n\
        Doing random read test\nOperations performed:  10000 Read, 0 Write, 0 Other = 10000 Total\n\
        Read 156.25Mb  Written 0b  Total transferred 156.25Mb  (78.125Mb/sec)\n 5000.00 Requests/sec executed\n\
        Test execution summary:\n    total time:                          2.0000s\n    per-request statistics:\n\
        \x20        min:                                  0.01ms\n\
        \x20        avg:                                  0.20ms\n\
        \x20        max:                                 22.19ms\n";
    assert_eq!(rows(old), ["sysbench random read|5000.0|81.9|0.200"]);
    // Runs after one another, the second one without the line of its version too.
    let bare = old.split_once('\n').unwrap().1;
    assert!(bare.starts_with("Number of threads:") || bare.contains("Number of threads:"), "{bare}");
    assert_eq!(rows(&format!("{old}{bare}")).len(), 2);
    assert_eq!(rows(&format!("{old}{new}")).len(), 2);
}

/// 1.1 prints rates alone: it was "no result of a tool that is known".
#[test]
fn sysbench_of_the_newest_version_has_the_rates_it_prints() {
    let first = "$ sysbench fileio --threads=4 --time=30 --file-test-mode=rndrw run\n\
        sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)\n\nNumber of threads: 4\nBlock size 10KiB\n\
        Doing random r/w test\n";
    let rates = "Throughput:\n         read:  IOPS=600.00 5.86 MiB/s (6.14 MB/s)\n         \
        write: IOPS=400.00 3.91 MiB/s (4.10 MB/s)\n         fsync: IOPS=96.96\n\nLatency (ms):\n         \
        min:                                  0.06\n         avg:                                  0.44\n         \
        max:                                 37.16\n         95th percentile:                      1.12\n         \
        sum:                               4000.00\n";
    assert_eq!(rows(&format!("{first}{rates}")), ["sysbench random r/w|1000.0|10.2|0.440"]);
    let of = |text: &str| {
        let result = import("s.txt", text).unwrap().unwrap();
        assert!(result.from.missing.iter().any(|what| what == "duration"), "{:?}", result.from.missing);
        let jobs = result.rows.iter().map(|row| &row.jobs[0]);
        jobs.map(|job| (job.stats.read.ops(), job.stats.write.ops(), job.measured_ns)).collect::<Vec<_>>()
    };
    // The time before it is of the command; without one, the times of the operations say it.
    let cut = first.split_once('\n').unwrap().1;
    assert_eq!(of(&format!("{cut}{rates}")), [(600, 400, 1_000_000_000)]);
    // As people post it: the rates alone, after one another.
    assert_eq!(of(&format!("* one\n{rates}\n* two\n> {rates}")), [(2400, 1600, 4_000_000_000); 2]);
    assert_eq!(of(&format!("{first}{rates}{first}{rates}")).len(), 2);
}

#[test]
fn hdparm_reads_are_rows() {
    let text = "/dev/sda:\n Timing cached reads:   20000 MB in  2.00 seconds = 10000.00 MB/sec\n \
        Timing buffered disk reads: 1200 MB in  3.00 seconds = 400.00 MB/sec\n";
    assert_eq!(
        rows(text),
        ["hdparm cached reads|5000.0|10485.8|-", "hdparm buffered disk reads|200.0|419.4|-"]
    );
    // A run with it could never be read again.
    let endless = " Timing cached reads:   inf MB in  2.00 seconds = inf MB/sec\n";
    assert!(import("t.txt", endless).is_err_and(|error| error.to_string().contains("hdparm")));
}

/// Each direction once: the trims were left out beside writes.
#[test]
fn trims_beside_writes_are_rows_in_what_fio_prints_too() {
    let text = "tr: (g=0): rw=trimwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=null, \
        iodepth=1\n\
        fio-3.33\ntr: (groupid=0, jobs=1): err= 0: pid=1: Sun Nov 29 03:57:00 2026\n\
        \x20 write: IOPS=256, BW=1024KiB/s (1049kB/s)(1024KiB/1000msec); 0 zone resets\n    \
        clat (nsec): min=50, max=91, avg=53.93, stdev= 5.58\n\
        \x20 trim: IOPS=256, BW=1024KiB/s (1049kB/s)(1024KiB/1000msec)\n    \
        clat (nsec): min=40, max=5501, avg=72.12, stdev=340.65\n\
        \x20 cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=9\n    \
        issued rwts: total=0,256,256,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let result = import("t.txt", text).unwrap().unwrap();
    let jobs = &result.rows[0].jobs;
    let of = |job: &RowJob| (job.name.clone(), job.stats.write.ops(), job.mix[0].change);
    assert_eq!(
        jobs.iter().map(of).collect::<Vec<_>>(),
        [
            ("tr".to_owned(), 256, assay_spec::Change::Write),
            ("tr: trims".to_owned(), 256, assay_spec::Change::Trim)
        ]
    );
    assert!(result.notes.iter().any(|note| note.contains("two jobs side by side")), "{:?}", result.notes);
    // Behind what logs put before each line.
    for log in ["20:22:23 DEBUG| [stdout] ", "fio-job-1  | ", "2024-03-05T11:22:33.123456789Z "] {
        let later = log.replace("23", "24");
        let line = |(at, line): (usize, &str)| format!("{}{line}\n", if at % 2 == 0 { log } else { &later });
        let logged: String = text.lines().enumerate().map(line).collect();
        let again = import("t.txt", &logged).unwrap().unwrap();
        assert_eq!(again.rows[0].test, "tr", "{log}");
        assert_eq!(
            again.rows[0].jobs.iter().map(of).collect::<Vec<_>>(),
            jobs.iter().map(of).collect::<Vec<_>>()
        );
    }
}

/// Jobs of other programs in the same log were lost, or had the figures of the first one.
#[test]
fn a_log_of_several_programs_is_refused_and_one_with_times_is_read() {
    let of = |log: &dyn Fn(usize) -> String, first: usize, name: &str| {
        let lines = [
            format!("{name}: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=null, iodepth=1"),
            "fio-3.33".to_owned(),
            format!("{name}: (groupid=0, jobs=1): err= 0: pid=1: Sun Nov 29 03:57:00 2026"),
            "  read: IOPS=256, BW=1024KiB/s (1049kB/s)(1024KiB/1000msec)".to_owned(),
            "    clat (nsec): min=50, max=91, avg=53.93, stdev= 5.58".to_owned(),
            "  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=9".to_owned(),
            "     issued rwts: total=256,0,0,0 short=0,0,0,0 dropped=0,0,0,0".to_owned(),
        ];
        let logged = lines.iter().enumerate().map(|(at, line)| format!("{}{line}\n", log(first + at)));
        logged.collect::<String>()
    };
    let padded = |at: usize| format!("[{:>5}.{}] host fio[7]: ", 97 + at, at % 10);
    let found = import("t.txt", &of(&padded, 0, "a")).unwrap().unwrap();
    assert_eq!((found.rows[0].jobs[0].name.as_str(), found.rows[0].jobs[0].stats.read.ops()), ("a", 256));
    for names in [
        ["node-a | ", "node-b | "],
        ["node-1 | ", "node-2 | "],
        ["fio-1  | ", "fio-10 | "],
        ["n1 fio: ", "n2 fio: "],
    ] {
        let [one, two] = names.map(|name| of(&|_| name.to_owned(), 0, "a"));
        let error = import("t.txt", &format!("{one}{two}")).unwrap_err().to_string();
        assert!(error.contains("not of the same program"), "{names:?}: {error}");
        assert!(import("t.txt", &two).is_ok(), "{names:?}");
    }
}

/// Out of the archive of a mailing list: `=3D` was read as a 3, and a job had 3 I/Os of 3 ms.
#[test]
fn what_fio_prints_is_read_out_of_an_encoded_mail() {
    let plain = "x: (groupid=0, jobs=64): err= 0: pid=1: Mon Aug  9 18:53:36 2021\n\
        \x20 read: IOPS=45.6k, BW=44.5GiB/s (47.8GB/s)(114TiB/2626961msec)\n    \
        clat (usec): min=249, max=1904.8k, avg=179674.12, stdev=138190.51\n     \
        issued rwts: total=119750623,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let read = |text: &str| {
        let result = import("m.txt", text).unwrap().unwrap();
        let job = &result.rows[0].jobs[0];
        (job.stats.read.ops(), job.stats.read.service.mean_ns().map(|ns| ns.round()), job.workers)
    };
    let mail: String = plain
        .lines()
        .map(|line| {
            let line = line.replace('=', "=3D");
            let (head, tail) = line.split_at(line.len() / 2);
            format!("> {head}=\n{tail}\n>=20\n")
        })
        .collect();
    assert_eq!(read(&mail), (119_750_623, Some(179_674_120.0), 64));
    assert_eq!(read(&mail.replace('\n', "\r\n")), read(plain));
    // Short lines have no soft ends; in a text with an equals sign of its own nothing is decoded.
    let short = plain.replace('=', "=3D");
    assert_eq!(read(&short), read(plain));
    assert_eq!(crate::text::of_mail("a=3D b=7g\n"), "a=3D b=7g\n");
}

#[test]
fn sums_of_fio_alone_are_refused_by_their_name() {
    let text = "Run status group 0 (all jobs):\n   READ: bw=144MiB/s (150MB/s), 144MiB/s-144MiB/s \
        (150MB/s-150MB/s), io=2048MiB (2147MB), run=14271-14271msec\n";
    let error = import("r.txt", text).unwrap_err().to_string();
    assert!(error.contains("Run status group"), "{error}");
}

/// The time has two decimals: 64 MB in 0.02 s were 3,200 MB/s.
#[test]
fn rates_of_hdparm_are_those_that_it_prints() {
    let text = " Timing O_DIRECT disk reads:  64 MB in  0.02 seconds = 2770.44 MB/sec\n";
    assert_eq!(rows(text), ["hdparm O_DIRECT disk reads|1385.2|2905.0|-"]);
    let slow = " Timing buffered disk reads:   2 MB in  3.10 seconds = 660.64 kB/sec\n";
    assert_eq!(rows(slow), ["hdparm buffered disk reads|0.3|0.7|-"]);
}

#[test]
fn processes_of_iozone_are_rows() {
    let text = "\tIozone: Performance Test of File I/O\n\tOutput is in kBytes/sec\n\
        \tThroughput test with 2 processes\n\tEach process writes a 4096 kByte file in 64 kByte records\n\n\
        \tChildren see throughput for  2 initial writers \t= 3324403.00 kB/sec\n\
        \tParent sees throughput for  2 initial writers \t=  135039.78 kB/sec\n\
        \tChildren see throughput for 2 random readers \t= 8797014.94 kB/sec\n\
        \tChildren see throughput for 2 mixed workload \t= 12312078.50 kB/sec\n";
    assert_eq!(
        rows(text),
        ["write, 64k, 2 processes|51943.8|3404.2|-", "random read, 64k, 2 processes|137453.4|9008.1|-"]
    );
    let result = import("t.txt", text).unwrap().unwrap();
    assert_eq!(result.rows[0].jobs[0].workers, 2);
    assert!(
        result.notes.iter().any(|note| note.starts_with("mixed workload is left out")),
        "{:?}",
        result.notes
    );
    let ops = text.replace("kB/sec", "ops/sec").replace("3324403.00", " 5000.00");
    assert_eq!(rows(&ops)[0], "write, 64k, 2 processes|5000.0|327.7|-");
}

/// Rows of files of 512 KiB and of 1 MiB had one name.
#[test]
fn rows_of_several_files_of_iozone_name_the_file() {
    let text = "    kB  reclen    write  rewrite    read    reread\n\
        \x20              512       4  1023680  3415178  5886650  4061007\n\
        \x20             1024       4  1466957  3348104  5363307  4512441\n";
    let names: Vec<String> =
        rows(text).iter().map(|row| row.split('|').next().unwrap_or_default().to_owned()).collect();
    assert!(names.contains(&"write, 4k of 512k".to_owned()), "{names:?}");
    assert!(names.contains(&"write, 4k of 1024k".to_owned()), "{names:?}");
}

/// People paste the rows alone; they were of no tool that is known.
#[test]
fn rows_of_crystaldiskmark_without_its_head_are_read() {
    let part = "  SEQ    1MiB (Q=  8, T= 1):  3546.712 MB/s [   3382.4 IOPS] <  2363.62 us>\n  \
        RND    4KiB (Q= 32, T=16):  1700.000 MB/s [ 415039.1 IOPS] <  1200.00 us>\n";
    let both = format!("> [Read]\n{part}\n> [Write]\n{part}");
    let found = rows(&both);
    assert_eq!(found[0], "SEQ1M Q8T1 read|3382.4|3546.7|2.364");
    assert_eq!((found.len(), found[3].split('|').next()), (4, Some("RND4K Q32T16 write")));
    let result = import("t.txt", &both).unwrap().unwrap();
    assert!(
        result.notes.iter().any(|note| note.contains("KDiskMark prints the same rows")),
        "{:?}",
        result.notes
    );
    // Nothing says which of these were read: they were reads before.
    for text in [part.to_owned(), format!("CrystalDiskMark 8.0.4 x64 (C)\n{part}")] {
        let error = import("t.txt", &text).unwrap_err().to_string();
        assert!(error.contains("which of CrystalDiskMark's rows were read"), "{error}");
    }
    let old = "   Sequential Read (Q= 32,T= 1) :   560.123 MB/s\n  Sequential Write (Q= 32,T= 1) :   510.000 MB/s\n";
    assert_eq!(rows(old).len(), 2);
    assert!(import("t.txt", "Sequential Read: 510 MB/s\nSequential Write: 400 MB/s\n").unwrap().is_none());
}

/// 200 I/Os in 1.001 s are a rate of 199, without its decimals, and 199 I/Os have other percentiles.
#[test]
fn the_count_of_a_terse_line_is_that_of_its_bytes() {
    let count = |kib: u32, rate: u32, ms: u32| {
        let line = format!(
            "3;fio-3.33;r;0;0;{kib};799;{rate};{ms};0;0;0.0;0.0;50;143983;1866.7;11527.9;50.0%=124\n"
        );
        import("t.txt", &line).unwrap().unwrap().rows[0].jobs[0].stats.read.ops()
    };
    assert_eq!(count(800, 199, 1001), 200);
    assert_eq!(count(4096, 5333, 12), 64);
    assert_eq!(count(10_240, 0, 60_000), 1, "a rate below one tells no size");
    // Of several sizes the fewest that give this rate.
    assert_eq!(count(1000, 199, 1001), 200);
}

/// As iostat 12.6.1 prints it.
#[test]
fn every_form_of_iostat_is_read() {
    let human = "     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device\n  \
        260.40      2.0M     0.00   0.0%    0.15     8.0k vda\n\n     \
        w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device\n  \
        170.30    438.6k     0.00   0.0%    0.25     8.9k vda\n\n     \
        d/s     dkB/s   drqm/s  %drqm d_await dareq-sz Device\n    \
        1.98     15.8k     0.00   0.0%    0.50     8.0k vda\n\n";
    let cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          40.6%   45.0%   12.9%    0.0%    \
        1.5%    20.0%\n\n";
    let text = format!("$ iostat -xh vda 10 2\n{cpu}{human}{cpu}{human}");
    assert_eq!(rows(&text), ["vda|430.7|2.5|0.190"]);
    let result = import("t.txt", &text).unwrap().unwrap();
    assert_eq!(result.rows[0].jobs[0].stats.read.bytes, 20 << 20);
    assert!((result.rows[0].cpu_busy.unwrap() - 0.8).abs() < 1e-9);

    let disk = "{\"disk_device\": \"vda\", \"r/s\": 300.00, \"w/s\": 100.00, \"rkB/s\": 1200.00, \"wkB/s\": 400.00, \
        \"r_await\": 0.50, \"w_await\": 1.50}";
    let statistics = |time: u32| {
        format!(
            "{{\"timestamp\": \"11/29/26 14:44:{time}\", \"avg-cpu\": {{\"idle\": 75.0}}, \"disk\": [{disk}]}}"
        )
    };
    let json = format!(
        "{{\"sysstat\": {{\"hosts\": [{{\"statistics\": [{}, {}]}}]}}}}",
        statistics(14),
        statistics(16)
    );
    assert_eq!(rows(&json), ["vda|400.0|1.6|0.750"]);
    assert_eq!(import("t.json", &json).unwrap().unwrap().rows[0].jobs[0].measured_ns, 2_000_000_000);

    let short = "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\nvda   400.00   3000.00     \
        0.39    0.25     8.05    0.08   0.55\n\n";
    assert_eq!(rows(&short.repeat(2)), ["vda: reads and writes|400.0|3.1|0.250"]);
    let plain = "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n\
        vda   400.00   2000.00     1000.00   0.00   5   5   0\n\n";
    assert_eq!(rows(&plain.repeat(2)), ["vda: reads and writes|400.0|3.1|-"]);
    let notes = import("t.txt", &plain.repeat(2)).unwrap().unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("they stand as reads here")), "{notes:?}");
    // Of both in one file the sums are the same I/Os once more.
    let extended = "Device            r/s     rkB/s r_await     w/s     wkB/s w_await\n\
        vda   300.00   1200.00   0.50   100.00   400.00   1.50\n\n";
    for both in [plain.repeat(2) + &extended.repeat(2), extended.repeat(2) + &plain.repeat(2)] {
        assert_eq!(rows(&both), ["vda|400.0|1.6|0.750"]);
    }
    // A forum takes blank lines out.
    assert_eq!(rows(&text.replace("\n\n", "\n")), ["vda|430.7|2.5|0.190"]);
}

/// As fio 3.33 writes it with `--status-interval=1` (HCIBench's virtual machines do): the last two looks are within a
/// second, and the first is at half of one. Each was a row.
#[test]
fn looks_of_a_short_run_are_one_row() {
    let look = |stamp: u64, elapsed: u32, ios: u32, ms: u32| {
        format!(
            "{{\n\"fio version\": \"fio-3.33\", \"timestamp\": {}, \"timestamp_ms\": {stamp}, \"jobs\": \
             [{{\"jobname\": \"job0\", \"groupid\": 0, \"elapsed\": {elapsed}, \
             \"read\": {{\"total_ios\": {ios}, \"io_bytes\": {}, \"runtime\": {ms}}}}}]\n}}\n",
            stamp / 1000,
            ios * 4096
        )
    };
    let text = [
        look(1_795_963_976_294, 2, 724, 503),
        look(1_795_963_977_299, 3, 1622, 1507),
        look(1_795_963_978_318, 4, 2649, 2515),
        look(1_795_963_978_836, 4, 3065, 3000),
    ];
    let counts = |text: &str| -> Vec<u64> {
        let result = import("v.json", text).unwrap().unwrap();
        result.rows.iter().map(|row| row.jobs[0].stats.read.ops()).collect()
    };
    assert_eq!(counts(&text.concat()), [3065]);
    // Two runs after one another, the second a second longer.
    let runs = [look(1_795_963_976_000, 3, 1000, 1500), look(1_795_963_978_600, 4, 1700, 2500)];
    assert_eq!(counts(&runs.concat()), [1000, 1700]);
    // A job that ends between two looks ran less than they are apart.
    let ends = [look(1_795_963_976_000, 60, 1000, 59_600), look(1_795_963_977_000, 61, 1100, 60_000)];
    assert_eq!(counts(&ends.concat()), [1100]);
}

/// As fio 3.18 printed it: 14.0GiB of 14.99 GiB.
const FIO_318: &str = "seqw: (g=0): rw=write, bs=(R) 64.0KiB-64.0KiB, (W) 64.0KiB-64.0KiB, (T) 64.0KiB-64.0KiB, \
                       ioengine=libaio, iodepth=1\n\
                       fio-3.18\n\
                       Starting 1 thread\n\
                       \n\
                       seqw: (groupid=0, jobs=1): err= 0: pid=104483: Fri Feb 21 13:36:38 2020\n  \
                       write: IOPS=818, BW=51.2MiB/s (53.6MB/s)(14.0GiB/300001msec)\n    \
                       clat (usec): min=736, max=96193, avg=1186.11, stdev=1231.26\n    \
                       clat percentiles (usec):\n     \
                       | 99.00th=[ 3556], 99.50th=[ 4555], 99.90th=[ 5473], 99.95th=[33817],\n     \
                       | 99.99th=[55837]\n     \
                       issued rwts: total=0,245550,0,0 short=0,0,0,0 dropped=0,0,0,0\n";

fn writes_of(text: &str) -> assay_record::OpStats {
    import("posted.txt", text).unwrap().unwrap().rows[0].jobs[0].stats.write.clone()
}

#[test]
fn bytes_of_fio_are_those_of_its_count_and_its_rate() {
    let found = writes_of(FIO_318);
    assert_eq!((found.ops(), found.bytes), (245_550, 245_550 * 65_536));
}

/// 99.9 % of 11,020,992 I/Os are 11,009,971.008: the percentile was the one behind it, 33.8 ms for 5.5 ms.
#[test]
fn a_percentile_of_very_many_ios_is_the_one_that_fio_prints() {
    let many = writes_of(&FIO_318.replace("245550", "11020992"));
    let p99_9 = many.service.quantile_ns(0.999).unwrap();
    assert!((p99_9 / 5_473_000.0 - 1.0).abs() < 0.01, "{p99_9}");
}

/// KDiskMark divides fio's KiB/s by 1,000: 43,410.7 reads of 4 KiB are 177.8 MB/s, not 173.6, as it prints.
#[test]
fn a_mb_of_kdiskmark_is_1000_kib() {
    let row = "Random   4 KiB (Q= 32, T= 1):   173.640 MB/s [  43410.7 IOPS] <   735.80 us>\n";
    let head = "KDiskMark (3.1.2): https://github.com/JonMagon/KDiskMark\n";
    for text in [format!("{head}[Read]\n{row}"), format!("[Read]\n{row}[Write]\n{row}")] {
        assert_eq!(rows(&text)[0], "RND4K Q32T1 read|43410.7|177.8|0.736");
        let notes = import("k.txt", &text).unwrap().unwrap().notes;
        assert!(notes.iter().any(|note| note.contains("1,000 KiB a MB")), "{notes:?}");
    }
}

/// The 1,000 reads in 1 s were 100 in a second without a word, because the writes took 10 s.
#[test]
fn directions_of_fio_that_took_different_times_are_said() {
    let side =
        |ms: u32| format!("{{\"io_bytes\": 4096000, \"total_ios\": 1000, \"runtime\": {ms}, \"iops\": 1.0}}");
    let json = |read: u32, write: u32| {
        let (read, write) = (side(read), side(write));
        let job = format!("{{\"jobname\": \"a\", \"read\": {read}, \"write\": {write}}}");
        format!("{{\"fio version\": \"fio-3.33\", \"jobs\": [{job}]}}")
    };
    let line = |way: &str, ms: u32| format!("  {way}: IOPS=1000, BW=1MiB/s (1MB/s)(4000KiB/{ms}msec)\n");
    let text = |read: u32, write: u32| {
        let (read, write) = (line("read", read), line("write", write));
        format!(
            "a: (groupid=0, jobs=1): err= 0: pid=1: x\n{read}{write}    issued rwts: total=1000,1000,0,0\n"
        )
    };
    let says = |text: &str| {
        let notes = import("f.txt", text).unwrap().unwrap().notes;
        notes.iter().any(|note| note.contains("over the longer one"))
    };
    assert!(says(&json(1000, 10_000)) && says(&text(1000, 10_000)));
    assert!(!says(&json(9_999, 10_000)) && !says(&text(10_000, 9_999)) && !says(&json(5, 5)));
}

/// elbencho prints whole MiB/s: 1,101 MiB in 30.196 s are 36.5 MiB/s, and were 36. Objects are I/Os as files are.
#[test]
fn what_elbencho_moved_is_its_sum_and_objects_are_counted() {
    let text = "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n\
        =========== ================    ==========   =========\n\
        WRITE       Elapsed time     :     30.140s     30.196s\n            \
        IOPS             :         291         291\n            \
        Throughput MiB/s :          36          36\n            \
        Total MiB        :        1101        1101\n";
    let of = |text: &str| rows(text)[0].rsplit_once('|').unwrap().0.to_owned();
    assert_eq!(of(text), "write|291.0|38.2");
    assert_eq!(of(&text.replace("IOPS     ", "Objects/s")), "write|291.0|38.2");
}
