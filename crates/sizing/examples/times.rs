//! `cargo run --release -p assay-sizing --example times`: how long 60 questions take, each at three rates.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use assay_sizing::{Precision, Prices, answer, parse};

const QUESTIONS: &[&str] = &[
    "1500 IOPS, 66 % read, 8 KiB, mean 10 ms, 2 TB, RAID10, 15k rpm",
    "500 sessions x 20 tps x 4 I/Os, 70% read, 8 KiB, p99 2 ms, 4 TB, SSD, RAID10",
    "250000 IOPS, 60% read, 4 KiB, mean 1 ms, 10 TB, NVMe, RAID5",
    "900 IOPS, 50% read, 4 KiB, p99 25 ms, 1 TB, 15k rpm, RAID10, with a failed disk",
    "2000 IOPS, 70 % read, 8 KiB, p99 20 ms, 10 TB, RAID10, 7200 rpm",
    "How many 10k rpm disks in RAID10 for 5,000 IOPS, 100% read, 4k, p99 15 ms, 3 TB?",
    "400 IOPS, 80% read, 16 KiB, p99 50 ms, 8 TB, RAID6, 7200 rpm",
    "600 IOPS, 70% read, 8k, p99 60 ms, 20 TB, 5400 rpm, raid-10, while one is rebuilding",
    "3000 IOPS, 100 % read, 64 KiB, p99 25 ms, 6 TB, 10k rpm, RAID50",
    "120 VMs with 25 IOPS each, 70/30 read/write, 8k blocks, on mirrored NL-SAS drives, p99 below 30 ms, 15 TB",
    "how many SSDs in RAID5 for 40k IOPS, 50 % write, 4 KiB, mean 1 ms, 3 TB",
    "200 IOPS of 1 MiB, 100 % write, random, p99 300 ms, 40 TB, RAID10, 7200 rpm",
    "5000 mailboxes with 0.2 IOPS each, 60 % read, 16 KiB, 15k rpm, RAID10, p99 25 ms, 2 TB",
    "1000 IOPS over 10 Gb iSCSI, 8 KiB, 100 % read, p99 40 ms, 4 TB, RAID6, 10k rpm",
    "one million IOPS, NVMe, RAID10, 4 KiB, 100 % read, mean 0.5 ms, 10 TB",
    "300 users x 3 tps, 8 KiB, 75 % read, p99 130 ms, 1 TB, RAID5, 10k rpm, after a disk failure",
    "600 IOPS, 64 KiB, 100 % read, mean 25 ms, 10 TB, raidz2, 7200 rpm",
    "150 reads per second and 30 writes per second, 8 KiB, p99 110 ms, 8 TB, 5400 rpm, RAID6 during a rebuild",
    "2000 IOPS, 70% read, 8 KiB, p99 20 ms, 10 TB",
    "500 MB/s, 100 % read, sequential, 1 MiB, 20 TB",
];

/// Time of this process on a CPU, ms; not a number where the kernel does not say.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns / 1e6)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for text in QUESTIONS {
        for factor in [0.5, 1.0, 2.0] {
            let mut question = parse(text)?;
            question.need.iops = question.need.iops.map(|iops| iops * factor);
            let (start, cpu) = (Instant::now(), cpu_ms());
            answer(question, &[], &Prices::new(), Precision::Simulated)?;
            all.push((cpu_ms() - cpu, start.elapsed().as_secs_f64() * 1e3, factor, *text));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (cpu, wall, factor, text) in &all {
        println!("{cpu:8.1} ms of CPU {wall:8.1} ms  x{factor:3} {text}");
    }
    let at = |part: usize| all[(all.len() - 1) * part / 100].0;
    println!("CPU: median {:.1} ms, 90 % {:.1} ms, most {:.1} ms", at(50), at(90), at(100));
    Ok(())
}
