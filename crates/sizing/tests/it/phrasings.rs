//! Two hundred ways in which people ask, and what each means. The first hundred were written before the grammar was a
//! table.
//!
//! What a question says: `i` IOPS, `r` % read, `n` % random, `s` size of an I/O, `p` and `m` limits on p99 and mean,
//! ms, `d` data, `a` active data, `k` devices (`k<`, `k>`: limits), `z` size of a device, `c` classes, `l` levels,
//! `w` link, `t` protocol, `e` endures, `x` a change. `!` begins a refusal that holds these words.

use assay_sizing::{Endure, LatencyLimit, Question, parse};
use assay_spec::units::Bytes;

fn said(q: &Question) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut say = |key: &str, value: Option<String>| parts.extend(value.map(|value| format!("{key}{value}")));
    let bytes = |b: Bytes| b.to_string();
    say("i", q.need.iops.map(|iops| format!("{iops}")));
    say("r", (!q.left_open.reads).then(|| format!("{}", q.need.read_pct)));
    say("n", (!q.left_open.positions).then(|| format!("{}", q.need.random_pct)));
    say("s", (!q.left_open.size).then(|| bytes(q.need.size)));
    match q.need.limit {
        LatencyLimit::None => {}
        LatencyLimit::MeanMs(ms) => say("m", Some(format!("{ms}"))),
        LatencyLimit::P99Ms(ms) => say("p", Some(format!("{ms}"))),
    }
    say("d", q.need.data.map(bytes));
    say("a", q.need.active.map(bytes));
    say("k", q.disks.map(|n| n.to_string()));
    say("k<", q.disks_most.map(|n| n.to_string()));
    say("k>", q.disks_least.map(|n| n.to_string()));
    say("z", q.disk_size.map(bytes));
    let classes: Vec<&str> = q.classes.iter().map(|class| class.word).collect();
    say("c", (!classes.is_empty()).then(|| classes.join("+")));
    let levels: Vec<&str> = q.levels.iter().map(|level| level.word()).collect();
    say("l", (!levels.is_empty()).then(|| levels.join("+")));
    say("w", q.link.map(|link| link.name().into_owned()));
    say("t", q.protocol.map(|protocol| protocol.word().to_owned()));
    say("e", (q.endure != Endure::Healthy).then(|| format!("{:?}", q.endure).to_lowercase()));
    say("x", q.changes.first().cloned());
    parts.join(" ")
}

const PHRASINGS: &[(&str, &str)] = &[
    // Rates.
    ("2000 IOPS", "i2000"),
    ("2,000 iops", "i2000"),
    ("2k iops", "i2000"),
    ("2 kIOPS", "i2000"),
    ("2.5k IOPS", "i2500"),
    ("1 million IOPS", "i1000000"),
    ("1M IOPS", "i1000000"),
    ("two million iops", "i2000000"),
    ("1 billion IOPS", "i1000000000"),
    ("20 thousand IOPS", "i20000"),
    ("20 thousand I/Os per second", "i20000"),
    ("5000 I/Os per second", "i5000"),
    ("5000 IO/s", "i5000"),
    ("5000 io per second", "i5000"),
    ("5000 operations per second", "i5000"),
    ("5000 ops/s", "i5000"),
    ("5000 requests per second", "i5000"),
    ("5000 random iops", "i5000 n100"),
    ("5000 random read iops", "i5000 r100 n100"),
    ("5000 read iops", "i5000 r100"),
    ("5000 write iops", "i5000 r0"),
    ("500 reads/s and 500 writes/s", "i1000 r50"),
    ("500 reads per second and 1500 writes per second", "i2000 r25"),
    ("about 3000 IOPS", "i3000"),
    ("around 3000 IOPS", "i3000"),
    ("roughly 3000 IOPS", "i3000"),
    ("approximately 3000 IOPS", "i3000"),
    ("~3000 IOPS", "i3000"),
    ("at least 3000 IOPS", "i3000"),
    ("3000+ IOPS", "i3000"),
    ("up to 3000 IOPS", "i3000"),
    ("a rate of 3000 IOPS", "i3000"),
    ("3000 IOPS sustained", "i3000"),
    ("3000 IOPS in total", "i3000"),
    ("3000 4K IOPS", "i3000 s4KiB"),
    ("3000 8k random IOPS", "i3000 n100 s8KiB"),
    ("0 IOPS", "!a rate lies between 1 and 1,000,000,000"),
    ("5 billion IOPS", "!a rate lies between 1 and 1,000,000,000"),
    // Sizes.
    ("2000 IOPS of 8 KiB", "i2000 s8KiB"),
    ("2000 IOPS at 64k", "i2000 s64KiB"),
    ("2000 IOPS with 16 KB blocks", "i2000 s16KiB"),
    ("2000 IOPS, block size 8k", "i2000 s8KiB"),
    ("2000 IOPS, blocksize 8k", "i2000 s8KiB"),
    ("2000 IOPS, bs=8k", "i2000 s8KiB"),
    ("2000 IOPS, I/O size 32 KiB", "i2000 s32KiB"),
    ("200 IOPS of 1 MiB", "i200 s1MiB"),
    ("2000 IOPS of 64 MiB", "!sizes of I/Os end at 16MiB"),
    ("2000 IOPS at 1 GiB", "!sizes of I/Os end at 16MiB"),
    ("2000 I/Os of 64 MiB per second", "!sizes of I/Os end at 16MiB"),
    ("100 IOPS, 64 MiB blocks", "!sizes of I/Os end at 16MiB"),
    ("2000 IOPS with 4096 byte blocks", "i2000 s4KiB"),
    ("2000 IOPS, 8 kib i/o", "i2000 s8KiB"),
    // Mixes.
    ("2000 IOPS, 70% read", "i2000 r70"),
    ("2000 IOPS, 70 percent reads", "i2000 r70"),
    ("2000 IOPS, 70/30 read/write", "i2000 r70"),
    ("2000 IOPS, 70/30", "i2000 r70"),
    ("2000 IOPS, 70:30 read:write", "i2000 r70"),
    ("2000 IOPS, 70r/30w", "i2000 r70"),
    ("2000 IOPS, 30% writes", "i2000 r70"),
    ("2000 IOPS, 70% read 30% write", "i2000 r70"),
    ("2000 IOPS, all reads", "i2000 r100"),
    ("2000 IOPS, read-only", "i2000 r100"),
    ("2000 IOPS, write only", "i2000 r0"),
    ("2000 IOPS, 60% random", "i2000 n60"),
    ("2000 IOPS, fully random", "i2000 n100"),
    ("2000 IOPS, 100% random, 65% read", "i2000 r65 n100"),
    ("2000 IOPS, sequential", "i2000 n0"),
    ("2000 IOPS, sequential reads", "i2000 r100 n0"),
    ("2000 IOPS, half reads half writes", "i2000 r50"),
    ("2000 IOPS, half reads", "i2000 r50"),
    ("2000 IOPS, two thirds reads", "i2000 r66.7"),
    ("2000 IOPS, mostly reads", "!write the share, as in 90 % read"),
    ("2000 IOPS, 80% read, 80% write", "!add up to 100"),
    ("2000 IOPS, 170% read", "!a share lies between 0 and 100"),
    // Latency.
    ("2000 IOPS, p99 20 ms", "i2000 p20"),
    ("2000 IOPS, p99 < 20ms", "i2000 p20"),
    ("2000 IOPS, p99 under 20 milliseconds", "i2000 p20"),
    ("2000 IOPS, p99 of at most 20 ms", "i2000 p20"),
    ("2000 IOPS with a p99 below 20 ms", "i2000 p20"),
    ("2000 IOPS, 20 ms p99", "i2000 p20"),
    ("2000 IOPS, 99th percentile 20 ms", "i2000 p20"),
    ("2000 IOPS, 99% below 20 ms", "i2000 p20"),
    ("2000 IOPS, 99 % of I/Os within 20 ms", "i2000 p20"),
    ("2000 IOPS, mean latency 5 ms", "i2000 m5"),
    ("2000 IOPS, average response time below 5 ms", "i2000 m5"),
    ("2000 IOPS, latency under 5 ms", "i2000 m5"),
    ("2000 IOPS, 5 ms average", "i2000 m5"),
    ("2000 IOPS, sub-millisecond latency", "i2000 m1"),
    ("2000 IOPS at sub-ms latency", "i2000 m1"),
    ("2000 IOPS, p99 500 us", "i2000 p0.5"),
    ("2000 IOPS, p99 500 microseconds", "i2000 p0.5"),
    ("2000 IOPS, p99 0.02 s", "i2000 p20"),
    ("2000 IOPS, p95 20 ms", "!other percentiles are not predicted"),
    ("2000 IOPS, max latency 20 ms", "!limits are on the mean or on p99"),
    ("2000 IOPS, 20 ms", "!say of which latency"),
    ("2000 IOPS, p99 -1 ms", "!"),
    // Amounts.
    ("2000 IOPS, 10 TB", "i2000 d10TB"),
    ("2000 IOPS on 10 TB of data", "i2000 d10TB"),
    ("2000 IOPS, 10TB usable", "i2000 d10TB"),
    ("2000 IOPS, 10 TiB capacity", "i2000 d10TiB"),
    // The second hundred.
    ("2000 IOPS over a 10 TB dataset", "i2000 d10TB"),
    ("2000 IOPS, 10 terabytes", "i2000 d10TB"),
    ("2000 IOPS, 500 gigabytes", "i2000 d500GB"),
    ("2000 IOPS, 1 petabyte", "i2000 d1000TB"),
    ("2000 IOPS, 10 TB of which 500 GB active", "i2000 d10TB a500GB"),
    ("2000 IOPS, 10 TB, 500 GB working set", "i2000 d10TB a500GB"),
    ("2000 IOPS, 10 TB, 500 GB hot", "i2000 d10TB a500GB"),
    ("2000 IOPS, 1 TB, 2 TB active", "!the active data cannot exceed all data"),
    // Devices.
    ("2000 IOPS with 24 disks", "i2000 k24"),
    ("2000 IOPS on 24 drives", "i2000 k24"),
    ("2000 IOPS on two dozen disks", "i2000 k24"),
    ("2000 IOPS on a dozen disks", "i2000 k12"),
    ("2000 IOPS on twenty disks", "i2000 k20"),
    ("2000 IOPS, at most 600 disks", "i2000 k<600"),
    ("2000 IOPS, no more than 24 spindles", "i2000 k<24 c5400rpm+7200rpm+10k+15k"),
    ("2000 IOPS, maximum of 24 disks", "i2000 k<24"),
    ("2000 IOPS, 24 disks at most", "i2000 k<24"),
    ("2000 IOPS, between 8 and 24 disks", "i2000 k<24 k>8"),
    ("2000 IOPS, 8 to 24 disks", "i2000 k<24 k>8"),
    ("2000 IOPS, 8-24 disks", "i2000 k<24 k>8"),
    ("2000 IOPS, 12 x 4 TB disks", "i2000 k12 z4TB"),
    ("2000 IOPS, 12x4TB disks", "i2000 k12 z4TB"),
    ("2000 IOPS, 12 4TB 7200 rpm disks", "i2000 k12 z4TB c7200rpm"),
    ("2000 IOPS, 12 disks of 4 TB each", "i2000 k12 z4TB"),
    ("2000 IOPS, 24 15k SAS drives", "i2000 k24 c15k"),
    ("2000 IOPS, 15k rpm", "i2000 c15k"),
    ("2000 IOPS, 15,000 rpm disks", "i2000 c15k"),
    ("2000 IOPS, 10K disks", "i2000 c10k"),
    ("2000 IOPS, 7.2k disks", "i2000 c7200rpm"),
    ("2000 IOPS, 7.2k rpm", "i2000 c7200rpm"),
    ("2000 IOPS, nearline SAS", "i2000 c7200rpm"),
    ("2000 IOPS on SSD", "i2000 cssd"),
    ("2000 IOPS, all-flash", "i2000 cssd"),
    ("2000 IOPS, all flash array", "i2000 cssd"),
    ("2000 IOPS, solid state drives", "i2000 cssd"),
    ("2000 IOPS, NVMe", "i2000 cnvme"),
    ("2000 IOPS, NVMe SSDs", "i2000 cnvme"),
    ("2000 IOPS, 8 NVMe drives", "i2000 k8 cnvme"),
    ("2000 IOPS, SSD or HDD", "i2000 cssd+5400rpm+7200rpm+10k+15k"),
    ("2000 IOPS, 6000 rpm", "!disks turn at 5400, 7200, 10000 or 15000 rpm"),
    ("2000 IOPS, hybrid", "!`hybrid` is not understood"),
    ("2000 IOPS, 12 disks and a hot spare", "!hot spares take no load"),
    // Levels.
    ("2000 IOPS, RAID10", "i2000 l10"),
    ("2000 IOPS, RAID 1+0", "i2000 l10"),
    ("2000 IOPS in RAID 6", "i2000 l6"),
    ("2000 IOPS, RAID-6", "i2000 l6"),
    ("2000 IOPS, RAID level 5", "i2000 l5"),
    ("2000 IOPS, RAID5 or RAID6", "i2000 l5+6"),
    ("2000 IOPS, raidz2", "i2000 lraidz2"),
    ("2000 IOPS, mirrored", "i2000 l10"),
    ("2000 IOPS, RAID-DP", "i2000 l6"),
    ("2000 IOPS, SHR", "i2000 l5"),
    ("2000 IOPS, double parity", "i2000 l6"),
    ("2000 IOPS, dual parity", "i2000 l6"),
    ("2000 IOPS, single parity", "i2000 l5"),
    ("2000 IOPS, striped mirrors", "i2000 l10"),
    ("2000 IOPS, RAID 7", "!`raid7`"),
    // Networks.
    ("2000 IOPS over iSCSI", "i2000 tiscsi"),
    ("2000 IOPS over 10 GbE iSCSI", "i2000 w10GbE tiscsi"),
    ("2000 IOPS over 10 gigabit ethernet", "i2000 w10GbE"),
    ("2000 IOPS over 10 Gbit/s", "i2000 w10GbE"),
    ("2000 IOPS, NFS over 25GbE", "i2000 w25GbE tnfs"),
    ("2000 IOPS over 16 Gb Fibre Channel", "i2000 w16GFC tfc"),
    ("2000 IOPS over 16GFC", "i2000 w16GFC"),
    ("2000 IOPS over 32G FC", "i2000 w32GFC tfc"),
    ("2000 IOPS over SMB", "i2000 tsmb"),
    ("2000 IOPS over NVMe/TCP", "i2000 tnvme-tcp"),
    ("2000 IOPS, what does 10 GbE bring", "i2000 xlink.rate=10GbE"),
    ("2000 IOPS over the network", "!say which, as in 10 GbE"),
    ("2000 IOPS over 7 GbE", "!is not a known link speed"),
    // Endurance.
    ("2000 IOPS with a failed disk", "i2000 efailed"),
    ("2000 IOPS even when a disk fails", "i2000 efailed"),
    ("2000 IOPS with one disk down", "i2000 efailed"),
    ("2000 IOPS while rebuilding", "i2000 erebuilding"),
    ("2000 IOPS during a rebuild", "i2000 erebuilding"),
    ("2000 IOPS with two failed disks", "!2 failed devices: a question asks for one"),
    // Sessions.
    ("500 users x 20 tps", "i10000"),
    ("500 users x 20 tps x 4 I/Os", "i40000"),
    ("500 users at 4 IOPS each", "i2000"),
    ("100 VMs with 50 IOPS each", "i5000"),
    ("100 VMs, 50 IOPS per VM", "i5000"),
    ("1000 virtual desktops at 10 IOPS each", "i10000"),
    ("1000 virtual desktops, 10 IOPS per desktop", "i10000"),
    ("1000 VDI desktops, 10 IOPS each", "i10000"),
    ("200 virtual machines x 30 IOPS", "i6000"),
    ("50 virtual servers with 100 IOPS each", "i5000"),
    ("5000 mailboxes at 0.5 IOPS each", "i2500"),
    ("100 containers with 20 IOPS each", "i2000"),
    ("1000 virtual desktops", "!1000 desktops: say what each does"),
    ("100 VMs", "!100 VMs: say what each does"),
    ("100 VMs and 2000 IOPS", "!say \"2000 IOPS each\""),
    // Throughput and nonsense.
    ("500 MB/s", "!sizing is by I/Os per second"),
    ("2 GB/s of sequential reads", "!sizing is by I/Os per second"),
    ("2000", "!a number needs a unit here"),
    ("2000 bananas", "!the unit `bananas` is not known"),
    ("fast storage", "!`fast` is not understood"),
    ("how many disks for 2000 IOPS at 8k", "i2000 s8KiB"),
    ("what do I need for 2000 IOPS?", "i2000"),
    ("2000 IOPS please", "!`please` is not understood"),
    ("I want 20k IOPS of 16k with 60% reads and a p99 of 5 ms on 20 TB", "i20000 r60 s16KiB p5 d20TB"),
    ("2000 IOPS, 3000 IOPS", "!a question has one load"),
];

#[test]
fn two_hundred_phrasings_mean_what_they_say() {
    assert!(PHRASINGS.len() >= 200, "{}", PHRASINGS.len());
    let mut wrong = Vec::new();
    for (text, expected) in PHRASINGS {
        let found = match parse(text) {
            Ok(question) => said(&question),
            Err(error) => format!("!{error}"),
        };
        let is_right = match expected.strip_prefix('!') {
            Some(words) => found.starts_with('!') && found.contains(words),
            None => found == *expected,
        };
        if !is_right {
            wrong.push(format!("{text}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), PHRASINGS.len(), wrong.join("\n"));
}
