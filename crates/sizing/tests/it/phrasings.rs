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
    let rounded = |value: f64| format!("{}", (value * 10.0).round() / 10.0);
    say("i", q.need.iops.map(rounded));
    say("r", (!q.left_open.reads).then(|| rounded(q.need.read_pct)));
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

/// As five people type them: of a home lab, a consultant, an administrator of databases and mail, an editor of video,
/// a buyer. Written, with what each means, before the grammar knew any of them.
const AS_TYPED: &[(&str, &str)] = &[
    ("i need 10k iops 4k random 70/30", "i10000 r70 n100 s4KiB"),
    ("10k IOPS with under 5 milliseconds latency, 8k blocks, 60% read", "i10000 r60 s8KiB m5"),
    ("1.5 million random 4k reads per second", "i1500000 r100 n100 s4KiB"),
    ("800 MB/s sequential write", "i762.9 r0 n0"),
    ("at least 800 MB/s sequential write with SATA SSDs", "i762.9 r0 n0 cssd"),
    ("50 TB usable with 5000 iops 8k reads 70%", "i5000 r70 s8KiB d50TB"),
    ("storage for 200 virtual desktops", "!200 desktops: say what each does"),
    ("200 VDI desktops at 10 iops each, 4k, 20% reads", "i2000 r20 s4KiB"),
    ("1,000 mailboxes exchange 2016", "!1000 mailboxes: say what each does"),
    ("Exchange server with 4000 mailboxes, 150 messages per day", "!say how many I/Os each mailbox makes"),
    ("2 GB/s sequential read on 10GbE", "i1907.3 r100 n0 w10GbE"),
    ("20000 iops with NVMe", "i20000 cnvme"),
    ("not more than 24 disks, 5000 random read iops", "i5000 r100 n100 k<24"),
    ("survive two failed disks and 40 TB usable", "d40TB l6"),
    ("RAID 10 only, 3000 iops random write", "i3000 r0 n100 l10"),
    ("backup 20 TB in 8 hours", "i662.3 r0 n0 d20TB"),
    ("stream 4 cameras at 100 Mbit/s each", "!as in \"100 Mbit/s sequential write\""),
    ("stream 4 cameras 4K ProRes 422 HQ editing", "!`4k` with video: leave out the picture"),
    ("database with 20k transactions", "!20000 transactions: say how many per second"),
    ("database with 2000 transactions per second, 10 ios per transaction, 8k", "i20000 s8KiB"),
    ("iscsi storage for 8 hosts, 40000 iops 8k 70/30", "!8 hosts and 40000 IOPS: say \"40000 IOPS each\""),
    ("How many disks do I need for 5000 IOPS at 70% read?", "i5000 r70"),
    ("how many 15k SAS drives for 12000 IOPS raid 5 70% read 30% write", "i12000 r70 c15k l5"),
    ("SQL Server OLTP 15000 IOPS 8K 80/20 latency below 10 ms", "i15000 r80 s8KiB m10"),
    ("NAS for video editing 4 users 4K 400 MB/s each", "!`4k` with video: leave out the picture"),
    ("NAS with 100 TB usable and 1 GB/s read", "!`nas`: say which, as in 10 GbE"),
    ("5000 writes per second of 4k", "i5000 r0 s4KiB"),
    ("i want 5000 writes per second and 10000 reads per second, 4 KB", "i15000 r66.7 s4KiB"),
    ("log writes 20000 per second 512 bytes synchronous", "!sizing takes a write as done"),
    ("We have budget for 12 disks, raid6, what iops?", "k12 l6"),
    ("7.2k disks 4000 iops 64k random read", "i4000 r100 n100 s64KiB c7200rpm"),
    ("100k iops 4k random read p99 under 2ms", "i100000 r100 n100 s4KiB p2"),
    ("100.000 iops 4k lesen zufällig", "!a point before three digits can group them"),
    ("3 ms latency at 25.000 IOPS", "!a point before three digits can group them"),
    ("25,000 IOPS at 3 ms", "!3 ms: say of which latency"),
    ("read 1 TB in 10 minutes", "i1589.5 r100 d1TB"),
    ("restore 5 TB in 2 h over 10 Gbit", "!say which way the bytes go"),
    ("10 x 1 TB VMs, 500 IOPS each", "i5000 d10TB"),
    ("150 virtual machines each 50 IOPS 70/30 8k and 100 GB", "i7500 r70 s8KiB d15TB"),
    ("VMware cluster 6 hosts 60 VMs 25 iops per VM", "i1500"),
    ("300 VMs", "!300 VMs: say what each does"),
    ("all flash array, 500k IOPS, 8 KiB, 70% read, < 1 ms, 100 TiB usable", "!1 ms: say of which latency"),
    ("hybrid 10 TB hot data 20000 iops", "!`hybrid` is not understood"),
    ("fibre channel 16Gb, 60000 IOPS 8 kB, 2/3 reads", "i60000 r66.7 s8KiB w16GFC tfc"),
    ("60000 IOPS, two thirds reads", "i60000 r66.7"),
    ("sequentail read 3GB/s", "!did you mean `sequential`?"),
    ("random reads, 32k blocks, 600 MB/sec", "i18310.5 r100 n100 s32KiB"),
    ("5 Gbit/s write throughput", "i596 r0"),
    ("1.2M IOPS 4K 100% read NVMe over 100GbE", "i1200000 r100 s4KiB cnvme w100GbE"),
    ("ZFS raidz2 8 disks wide, 1500 MB/s read", "!a question counts all disks of an array"),
    (
        "Please offer storage: capacity 200 TB net, throughput 4 GB/s, dual parity, nearline SAS",
        "!only streams need no size",
    ),
    ("minimum 30000 IOPS, maximum 2 ms response time, 16K, 90% reads", "i30000 r90 s16KiB m2"),
    ("1000 users file server home directories", "!1000 users: say what each does"),
    ("4 editors 3 streams each of 250 Mb/s", "!as in \"250 Mbit/s sequential write\""),
    ("copy 500 GB in under 15 minutes", "!say which way the bytes go"),
    ("oracle database 8k 50k iops 75% reads 25% writes response < 1.5 ms", "i50000 r75 s8KiB m1.5"),
    ("ingest 2TB per day", "i22.1 r0 n0"),
    ("at least twenty thousand IOPS", "i20000"),
    ("raid 5 or raid 6 with 8 TB drives, 60 TB usable, 500 MB/s write", "i476.8 r0 d60TB z8TB l5+6"),
    ("cheapest for 2000 iops 70/30 8K random 20 TB no ssd", "!the cheapest comes first"),
];

/// The same, written before the grammar was mended and read after it: 13 were right, 14 refused, and three taken for
/// something else (`750k random 4K`, `7.2k nl-sas`, `latency max 1 ms`).
const HELD_OUT: &[(&str, &str)] = &[
    (
        "we must have 15k iops, read write ratio 65:35, 8KB block, average latency not above 3ms",
        "i15000 r65 s8KiB m3",
    ),
    ("1.200.000 4k random reads/sec", "!a point before three digits can group them"),
    ("750k random 4K write IOPS from NVMe drives", "i750000 r0 n100 s4KiB cnvme"),
    ("sequential read throughput of at least 6 GB/s, NVMe", "i5722 r100 n0 cnvme"),
    ("2000MB/s sequential writes, 128k", "i15258.8 r0 n0 s128KiB"),
    ("array with 16 SAS 10k drives in raid6: how many IOPS 8k 60% read", "r60 s8KiB k16 c10k l6"),
    ("iscsi san for vmware, 120 vms, 40 iops each, 30% writes, 12 TB", "i4800 r70 d12TB tiscsi"),
    ("SQL database server needs 6000 reads and 2500 writes per second", "i8500 r70.6"),
    ("SQL Server data files 64k sequential scan at 3 GB/s", "i45776.4 r100 n0 s64KiB"),
    ("500 mailboxes with 0.1 IOPS each 32k", "i50 s32KiB"),
    ("Exchange 2019 for 2500 users", "!2500 users: say what each does"),
    ("home nas 4 bays, 4x 8TB, 110 MB/s over gigabit", "!the unit `bays` is not known"),
    ("plex server for 5 streams 80 Mbit/s each read", "i47.7 r100"),
    ("write 3 TB per hour", "i794.7 r0"),
    ("nightly backup of 12 TB within 6 hours onto raid 6 with 12 TB drives", "i529.8 r0 n0 d12TB z12TB l6"),
    ("full backup window 8 h, 50 TB", "!say how much in how long"),
    ("10 hosts each 5000 iops, 4k, 100% random, 70% read", "i50000 r70 n100 s4KiB"),
    ("latency max 1 ms, 100000 IOPS", "i100000 m1"),
    ("average response time of 0.5ms for 80k IOPS 8K 70/30", "i80000 r70 s8KiB m0.5"),
    (
        "p99 latency less than 4 milliseconds at 60 thousand random reads a second of 4 kilobytes",
        "i60000 r100 n100 s4KiB p4",
    ),
    ("at most 12 disks, must tolerate 2 disk failures, 50 TB net capacity, 1500 iops", "i1500 d50TB k<12 l6"),
    ("we need 300 TB usable on 7.2k nl-sas with RAID 6 and 10000 IOPS", "i10000 d300TB c7200rpm l6"),
    ("how many SSD for 300.000 IOPS", "!a point before three digits can group them"),
    ("10 gbit iscsi, 90000 iops 4k read", "i90000 r100 s4KiB w10GbE tiscsi"),
    ("dual 25GbE, 200000 IOPS 4K", "!2 links: a question has one"),
    ("four video editors, 8K footage, 1.2 GB/s each", "!`8k` with video: leave out the picture"),
    ("ceph cluster 3 nodes 50000 iops", "!`ceph` is not understood"),
    ("boot storm of 500 VDI desktops, 50 IOPS each 90% read 16k", "i25000 r90 s16KiB"),
    ("OLTP 5,000 tpm", "!say how many transactions per second"),
    ("reads: 80 %, writes: 20 %, 16 kB, 12000 IO per sec", "i12000 r80 s16KiB"),
];

/// Fifteen more, written after those were mended: ten were right, and none was taken for something else.
const LATER: &[(&str, &str)] = &[
    ("what storage for 2500 iops at 8k with 10% writes on four SAS SSDs", "i2500 r90 s8KiB k4 cssd"),
    ("Hyper-V 45 VMs x 80 IOPS, 60/40, 16k, 9 TB", "i3600 r60 s16KiB d9TB"),
    ("two million random 8k reads/s", "i2000000 r100 n100 s8KiB"),
    ("write 500 MB/s in 1 MB blocks", "i476.8 r0 s1MiB"),
    ("300k 4k iops", "i300000 s4KiB"),
    ("25k writes/sec 4 KiB random mean 2 ms", "i25000 r0 n100 s4KiB m2"),
    ("12 cameras with 8 Mbit/s each recording, 30 days", "!the unit `days` is not known"),
    ("database 3 TB, 12000 transactions per second, 5 ios each, 70% read", "i60000 r70 d3TB"),
    ("at least 2 GByte/s streaming read for 6 workstations", "!6 workstations and 2 GB/s: say"),
    ("raid5 ssd only 20 TB 50k iops 80/20", "i50000 r80 d20TB cssd l5"),
    ("5 TB restore within one hour", "!say which way the bytes go"),
    ("latency under 500 us at 300000 iops 4k 100% read", "i300000 r100 s4KiB m0.5"),
    ("10000 iops 50% random 50% read 32k sas 10k", "i10000 r50 n50 s32KiB c10k"),
    ("need 4 Gbps sequential read, 10 GbE", "i476.8 r100 n0 w10GbE"),
    ("120 TB raid6 max 36 drives of 8 TB, 900 MB/s write", "i858.3 r0 d120TB k<36 z8TB l6"),
    ("64k 8k iops", "!say which number is the rate"),
];

/// Taken for something else before: loads many times too small or too large, and a percentile for a mix.
const MISREAD: &[(&str, &str)] = &[
    ("10 hosts 20 VMs each, 50 IOPS per VM", "i10000"),
    ("10 hosts 20 VMs per host, 50 IOPS per VM", "i10000"),
    ("4 nodes 25 VMs each 30 IOPS", "i3000"),
    ("4 nodes with 25 VMs each, 30 IOPS per VM", "i3000"),
    ("4 nodes 25 VMs, 30 IOPS per VM", "i750"),
    ("20 VMs per host, 50 IOPS per VM", "!`20 vms per host`: say how many there are in all"),
    ("99 % of reads under 5 ms latency, 4000 iops", "i4000 p5"),
    ("4000 IOPS, 99 % of writes within 5 ms", "i4000 p5"),
    (
        "4000 IOPS, 95 % of reads under 5 ms latency",
        "!5 ms of a share of the I/Os: limits are on the mean or on p99",
    ),
    ("4000 IOPS, 99 % of reads should be < 5 ms latency", "!5 ms of a share of the I/Os"),
    ("4000 IOPS, 70 % of reads, latency under 5 ms", "i4000 r70 m5"),
    ("RAID5, must survive two disk failures, 2000 IOPS", "!RAID5: two failed devices can take its data"),
    ("RAID10, tolerate 2 disk failures, 2000 IOPS", "!RAID10: two failed devices can take its data"),
    ("2000 IOPS, survive two disk failures, RAID5 or RAID6", "i2000 l6"),
    ("raidz3, survive two disk failures, 2000 IOPS", "i2000 lraidz3"),
    ("survive two disk failures, RAID6, 2000 IOPS", "i2000 l6"),
    ("2000 IOPS, two disk failures", "!2 failed devices: a question asks for one"),
    ("2000 IOPS with two disk losses", "!"),
    ("2000 IOPS, two disks may fail", "i2000 l6"),
    ("10 TB, must survive 2 disks, 2000 IOPS", "i2000 d10TB l6"),
    ("10 TB, survives the loss of two drives, 2000 IOPS", "i2000 d10TB l6"),
    ("10 TB, survives the failure of one drive, 2000 IOPS", "i2000 d10TB efailed"),
    ("2000 IOPS, must survive one disk", "i2000 efailed"),
    ("2000 IOPS, must survive a disk failure, 12 disks", "i2000 k12 efailed"),
    ("2000 IOPS, must survive a rebuild", "i2000 erebuilding"),
    ("2000 IOPS, must survive 3 disks", "!3 failed devices: a question asks for one or two"),
    ("2000 IOPS, must survive", "!`survive`: say what, as in \"survive two failed disks\""),
    ("2000 IOPS, must survive 2 nodes", "!`survive`: say what"),
    ("100 VMs, 50 IOPS each, 500 GB per host", "!100 VMs, and an amount of each host"),
    ("100 VMs, 5000 IOPS per host", "!100 VMs, and an amount of each host"),
    ("100 VMs, 2000 IOPS for VMs", "!`vms` without a number: say how many"),
    ("10 editors, 100 MB/s per camera, read", "!10 editors, and an amount of each camera"),
    ("100 users, 20 tps per host", "!100 users, and an amount of each host"),
    ("100 users, 20 transactions per second per user", "i2000"),
    ("100 VMs, 50 IOPS each, 500 GB per VM", "i5000 d50TB"),
    ("12 streams, 80 Mbit/s per stream, read", "i114.4 r100"),
    ("file server with 200 MB/s sequential read", "i190.7 r100 n0"),
    ("one stream of 400 MB/s read", "i381.5 r100 n0"),
    ("a stream of 400 MB/s read", "i381.5 r100 n0"),
    ("a VM with 400 MB/s read", "i381.5 r100"),
    ("4 streams of 100 MB/s read", "i381.5 r100"),
    ("12 concurrent streams at 80 Mbit/s read", "i114.4 r100"),
];

/// Written before this table was read: none of fifty was misread, and eleven were refused that say enough.
const FRESH: &[(&str, &str)] = &[
    ("what raid for 40 virtual machines, 25 iops each, 70% reads, 15k disks", "i1000 r70 c15k"),
    ("which RAID for 2000 IOPS?", "i2000"),
    ("raid 7, 2000 iops", "!raid7"),
    ("what raid 10 TB 2000 iops", "i2000 d10TB"),
    ("raid 10 2000 iops 8k", "i2000 s8KiB l10"),
    ("Exchange, 2000 mailboxes, 0.15 iops per mailbox", "i300"),
    ("mysql 5,000 writes/s durable", "!sizing takes a write as done when the array says so"),
    ("I need 50k iops, 4k random reads, 10TB usable", "i50000 r100 n100 s4KiB d10TB"),
    ("how many 4tb nl-sas drives for 3000 iops 70/30 8k", "i3000 r70 s8KiB z4TB c7200rpm"),
    (
        "Is 8x 1.92TB SATA SSD in raid 10 enough for 60000 iops at 8k 70% read?",
        "i60000 r70 s8KiB k8 z1920GB cssd l10",
    ),
    (
        "what happens to 10000 iops 8k when a disk of raid5 8x 1.2TB 10k fails",
        "i10000 s8KiB k8 z1200GB c10k l5 efailed",
    ),
    ("backup target, 1.5 GB/s streaming write, 100TB", "i1430.5 r0 n0 d100TB"),
    ("20 cameras at 8 Mbit/s, keep 30 days", "i19.1 r0 n0 d51840GB"),
    ("oracle oltp 20000 iops 8 KB 60:40 read/write, latency under 1 ms", "i20000 r60 s8KiB m1"),
    ("postgres 3000 tps", "i3000"),
    ("2000 iops, tolerate two disk failures, 20TB net", "i2000 d20TB l6"),
    ("5000 IOPS per TB, 3TB, 16 KiB, 75% reads", "!say the rate in all"),
    ("100000 iops 8k at queue depth 32", "!a rate that arrives by itself"),
    ("80/20 r/w 32k 4000iops 8TB raid5 15k", "i4000 r80 s32KiB d8TB c15k l5"),
    ("10k iops 8k 70r", "i10000 r70 s8KiB"),
    ("write heavy 4000 iops 16k 2TB", "!write the share"),
    ("mysql database 200GB, 2500 reads/s and 900 writes/s of 16k", "i3400 r73.5 s16KiB d200GB"),
    ("how fast is a raid 10 of 6 4TB 7200rpm disks", "k6 z4TB c7200rpm l10"),
    ("3 node cluster, 24 nvme, 500k iops 4k 70/30", "i500000 r70 s4KiB k24 cnvme"),
    ("40 VMs each 100 GB and 60 IOPS", "i2400 d4TB"),
    ("40 VMs with 60 IOPS and 100 GB each", "i2400 d4TB"),
    ("budget of 12 drives, max iops 4k read", "r100 s4KiB k12"),
    ("2 x 960GB NVMe mirror, 40k iops write 4k", "i40000 r0 s4KiB k2 z960GB cnvme l10"),
    ("raid 5 10k 4k random read 3000 iops", "i3000 r100 n100 s4KiB c10k l5"),
    ("survives two failures, 3000 iops", "i3000 l6"),
    ("3000 iops, survive 2 of 12 disks", "i3000 k12 l6"),
    ("12 mailboxes with 5 GB and 3 iops each", "i36 d60GB"),
    // Of a review: the first two were taken for all nodes together.
    ("3 node cluster each 2000 iops", "i6000"),
    ("4 node cluster, each 3000 iops 8k", "i12000 s8KiB"),
    ("8 read intensive ssd 20000 iops 90% read", "i20000 r90 k8 cssd"),
];

/// Taken for something else before: the speed of disks for the size of I/Os.
const SPEEDS: &[(&str, &str)] = &[
    ("3000 IOPS, 24 x 600 GB 15k", "i3000 k24 z600GB c15k"),
    ("24 drives of 1.2 TB 10k, 3000 IOPS, raid 10", "i3000 k24 z1200GB c10k l10"),
    ("3000 IOPS, RAID10, 10k, 4 TB", "i3000 d4TB c10k l10"),
    ("24x 900GB 10K, RAID6, 70% read", "r70 k24 z900GB c10k l6"),
    ("24 disks 10k rpm, 3000 IOPS", "i3000 k24 c10k"),
    ("3000 IOPS, 15k, 8k", "i3000 s8KiB c15k"),
    ("10k IOPS, 10k, 8k", "i10000 s8KiB c10k"),
    ("10k sustained IOPS, 8k", "i10000 s8KiB"),
    ("3000 IOPS, 10k blocks", "i3000 s10KiB"),
    ("3000 IOPS, block size 10k", "i3000 s10KiB"),
    ("3000 IOPS, 8k HDD", "i3000 s8KiB c5400rpm+7200rpm+10k+15k"),
    ("3000 IOPS 8k without SSDs", "i3000 s8KiB c5400rpm+7200rpm+10k+15k"),
    ("3000 IOPS, 12k disks", "!disks turn at 5400, 7200, 10000 or 15000 rpm"),
];

/// Taken for an amount of data before: the size of counted devices.
const CAPACITIES: &[(&str, &str)] = &[
    ("RAID6 of 22 disks, 4TB 7200rpm, 8k", "s8KiB k22 z4TB c7200rpm l6"),
    ("22 disks RAID6 4TB SSD, 8k", "s8KiB k22 z4TB cssd l6"),
    ("12 disks 4 TB 7200 rpm RAID10", "k12 z4TB c7200rpm l10"),
    ("12 x 7200 rpm 4 TB", "k12 z4TB c7200rpm"),
    ("12 x 7200 rpm 4 TB, 10 TB of data", "d10TB k12 z4TB c7200rpm"),
    ("2000 IOPS, 12 disks, 7200 rpm, 10 TB", "i2000 d10TB k12 c7200rpm"),
    ("2000 IOPS, 10 TB 7200 rpm", "i2000 d10TB c7200rpm"),
];

/// Taken for all of them together before: what each of something has.
const OF_EACH: &[(&str, &str)] = &[
    ("3000 mailboxes of 10 GB, 0.1 IOPS per mailbox", "i300 d30TB"),
    ("100 VMs of 20 GB with 50 IOPS each", "i5000 d2TB"),
    ("100 VMs of 20 GB each, 50 IOPS per VM", "i5000 d2TB"),
];

/// Taken for a share of all I/Os before: one of the reads.
const OF_A_PART: &[(&str, &str)] = &[
    ("2000 IOPS, 65% read of which 40% random", "!give the share of all I/Os"),
    ("2000 IOPS, 65% reads, of which 40% are random", "!give the share of all I/Os"),
    ("2000 IOPS, 65% reads, 40% of which random", "!give the share of all I/Os"),
    ("2000 IOPS, 30% writes, 20% of them sequential", "!give the share of all I/Os"),
    ("2000 IOPS, 10 TB of which 500 GB active", "i2000 d10TB a500GB"),
];

/// Taken for a thousand times as much before: what is less than one.
const COMMAS: &[(&str, &str)] = &[
    ("2000 IOPS, p99 0,500 ms", "i2000 p0.5"),
    ("2000 IOPS, 0,750 TB", "i2000 d750GB"),
    ("100 VMs, 0,25 IOPS each", "i25"),
    ("2000 IOPS, p99 1,5 ms", "i2000 p1.5"),
    ("2000 IOPS, 2,5 TB", "i2000 d2500GB"),
    ("2000 IOPS, 2,75TB", "i2000 d2750GB"),
    ("2000 IOPS, p99 1,500 ms", "!1,500: a comma before three digits can group them"),
    ("2000 IOPS, p99 1,500ms", "!write 1500, or 1.5000 for the fraction"),
    ("1,500 IOPS, p99 20 ms", "i1500 p20"),
    ("10,000 IOPS", "i10000"),
    ("1,000,000 IOPS", "i1000000"),
    ("2000 IOPS, 1,500 GB", "i2000 d1500GB"),
    ("2000 IOPS, raid 5,8 TB", "i2000 d8TB l5"),
    ("2000 IOPS, RAID10,8k,4 TB", "i2000 s8KiB d4TB l10"),
    ("RAID10,500 IOPS", "i500 l10"),
    ("2000 IOPS,70/30,8k", "i2000 r70 s8KiB"),
    ("4x2,000 GB disks", "k4 z2TB"),
];

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
    ("2 GB/s of sequential reads", "i1907.3 r100 n0"),
    ("2000", "!a number needs a unit here"),
    ("2000 bananas", "!the unit `bananas` is not known"),
    ("fast storage", "!`fast` is not understood"),
    ("how many disks for 2000 IOPS at 8k", "i2000 s8KiB"),
    ("what do I need for 2000 IOPS?", "i2000"),
    ("2000 IOPS pronto", "!`pronto` is not understood"),
    ("I want 20k IOPS of 16k with 60% reads and a p99 of 5 ms on 20 TB", "i20000 r60 s16KiB p5 d20TB"),
    ("2000 IOPS, 3000 IOPS", "!a question has one load"),
];

/// As an integrator, an administrator of VMware, one of databases, somebody at home and an editor of video type them;
/// written before anybody looked at the grammar. Two were misread: `40 GB a VM` was
/// the data of all VMs together, and `60/40 random` were 60 % random positions.
const FROM_FIVE_TRADES: &[(&str, &str)] = &[
    ("200 TB usable with 2 GB/s sequential read", "i1907.3 r100 n0 d200TB"),
    ("need 50000 IOPS 8k 70/30 under 1 ms, RAID6", "!1 ms: say of which latency"),
    ("100 TiB net, survives 2 disk failures, 25GbE", "d100TiB l6 w25GbE"),
    ("quote: 30k IOPS at 4 KB blocks, 100% random, p99 below 2ms, NVMe only", "i30000 n100 s4KiB p2 cnvme"),
    ("12 bay chassis with 18TB drives, RAID-Z2, how much IOPS", "!12 bay`: say how many disks"),
    ("how many 10k SAS disks for 5000 IOPS RAID 10", "i5000 c10k l10"),
    ("15 TB all flash, 20,000 IOPS, no more than 8 drives", "i20000 d15TB k<8 cssd"),
    ("iSCSI over 2x 10GbE, 40k IOPS 4k random read", "!2 links: a question has one"),
    ("hybrid: 20 TB with 10000 iops at 16k, 80% read", "!`hybrid` is not understood"),
    ("40 TB after RAID6, 3000 IOPS", "i3000 d40TB l6"),
    ("40 TB after RAID, 3000 random write IOPS of 4K", "i3000 r0 n100 s4KiB d40TB"),
    ("40 TB before RAID, 3000 IOPS", "!say what must be usable"),
    ("50 VMs, each 200 IOPS, 8 KB, 65 % read", "i10000 r65 s8KiB"),
    ("vSphere cluster with 300 VMs at 50 IOPS each", "i15000"),
    ("VDI for 500 users, 25 iops per desktop, 80% write", "!say what each of the users has"),
    ("VDI for 500 desktops, 25 iops per desktop, 80% write", "i12500 r20"),
    ("boot storm of 400 desktops, 100 iops each", "i40000"),
    ("32 KB blocks 60/40 random 12000 iops for ESXi datastore", "i12000 r60 n100 s32KiB"),
    ("20 virtual machines averaging 150 IOPS and 100 GB each", "i3000 d2TB"),
    ("datastore 10 TB 4000 IOPS", "i4000 d10TB"),
    ("200 VMs, 30 iops a VM, 40 GB a VM, RAID5", "i6000 d8TB l5"),
    ("OLTP 25k tps at 10 IOs per transaction, 8k pages", "i250000 s8KiB"),
    ("Postgres 8kB random reads 20000/s, p99 < 1ms", "i20000 r100 n100 s8KiB p1"),
    ("4k random writes 20k/s, RAID 10, max 24 disks", "i20000 r0 n100 s4KiB k<24 l10"),
    ("10000 IOPS 64K sequential read plus 5000 IOPS 8K random 70% read", "!`plus` is not understood"),
    ("redo log 4 KB sync writes 5000 per second", "!sizing takes a write as done"),
    ("mysql with 3000 fsyncs per second", "!durable writes"),
    ("Oracle RAC 100k IOPS 8K 90:10 sub-millisecond", "i100000 r90 s8KiB m1"),
    ("16k pages, 90 percent reads, 15 000 IOPS", "i15000 r90 s16KiB"),
    ("2 TB database, 8 KiB, 5k reads/s and 2k writes/s", "i7000 r71.4 s8KiB d2TB"),
    ("database of 500 GB, working set 100 GB, 10k IOPS", "i10000 d500GB a100GB"),
    ("1 500 000 IOPS 4k reads", "!the unit `500000` is not known"),
    ("I want 20TB for movies that can lose one disk, 100 IOPS", "i100 d20TB efailed"),
    ("12TB, 1GbE, one disk may fail, 300 IOPS", "i300 d12TB w1GbE efailed"),
    ("home server 10 TB, 110 MB/s sequential read over gigabit", "i104.9 r100 n0 d10TB w1GbE"),
    ("two disks mirrored, how fast", "k2 l10"),
    ("cheap 6 TB mirror", "!leave the word out"),
    ("edit 8K RAW, 1.5 GB/s, 40TB", "!`8k` with video"),
    ("4 streams of 100 MB/s each sequential read, 40TB", "i381.5 r100 n0 d40TB"),
    ("60 TB, 3 GB/s read, 1 GB/s write", "!a question has one load"),
    ("5 GB/s write for 10 minutes", "!sizing is for a load that lasts"),
    ("100k read iops and 20k write iops 8k", "!a question has one load"),
    ("10 000 IOPS with 0.5 ms average latency 50% reads 16 KiB", "i10000 r50 s16KiB m0.5"),
];

/// Forty more, as a school, a studio, a bank, a hosting company and a hospital type them: written, with what each
/// means, before any was tried. 22 were read as they were meant, 17 refused, most of them for a noun that says what the
/// load is of, and one is taken for an amount of data, as a comma says: `24 disks, 4 TB`.
const OF_FIVE_BUYERS: &[(&str, &str)] = &[
    ("Which disks do we need for 900 IOPS at 16 KB, two thirds of them reads?", "i900 r66.7 s16KiB"),
    ("We run 35 virtual machines, every VM does 40 IOPS", "!`run` is not understood"),
    ("school server: 25 TB, 400 IOPS, 1 GbE NFS", "!`school` is not understood"),
    ("6 drives 8 TB each in RAID-Z2, how many IOPS 16k random read", "r100 n100 s16KiB k6 z8TB lraidz2"),
    ("can 8 x 2TB SATA disks in RAID6 carry 500 IOPS, 80:20", "i500 r80 k8 z2TB c5400rpm+7200rpm+10k+15k l6"),
    ("peak 4500 IOPS, average 8 KB, 75/25", "i4500 r75 s8KiB"),
    ("4500 IOPS peak, p99 <= 10ms", "i4500 p10"),
    ("120 MB/s sustained sequential writes to 12 x 16TB 7.2k RAID6", "i114.4 r0 n0 k12 z16TB c7200rpm l6"),
    ("3 GiB/s sequential reads with 1 MiB I/Os", "i3072 r100 n0 s1MiB"),
    ("six editors at 250 MB/s each, sequential read", "i1430.5 r100 n0"),
    ("write 8 TB in a night of 10 hours", "i211.9 r0 d8TB"),
    (
        "core banking, 85000 IOPS 8k 70/30, p99 of 1 ms, all NVMe, RAID10",
        "!`core`, `banking` are not understood",
    ),
    ("85k IOPS, 99th percentile under 800 us", "i85000 p0.8"),
    ("99.9 % of I/Os below 5 ms, 20000 IOPS", "!other percentiles are not predicted"),
    ("batch: 40,000 reads/s and 10,000 writes/s of 16 KiB", "!`batch` is not understood"),
    ("20,000 IOPS with reads at 90 percent, 4 KiB blocks", "i20000 r90 s4KiB"),
    ("half a million IOPS of 4 KiB reads", "i500000 r100 s4KiB"),
    ("0.5 million IOPS 4k", "i500000 s4KiB"),
    ("1500 customers, 3 IOPS per customer", "!`1500 customers`"),
    ("400 VPS with 15 IOPS and 20 GB each", "!`400 vps`"),
    ("400 VMs at 15 IOPS and 20 GB each, SSD RAID5", "i6000 d8TB cssd l5"),
    ("web hosting 10TB 6000 iops mostly reads", "!`web`, `hosting` are not understood"),
    ("Ceph OSD nodes with 12 disks", "!`ceph`, `osd` are not understood"),
    ("we want no more than 10 SSDs, 60 TB", "d60TB k<10 cssd"),
    ("fewer than 20 drives, 15k, 4000 IOPS", "i4000 k<19 c15k"),
    ("PACS archive 150 TB, 300 MB/s write sequential, dual parity", "!`pacs` is not understood"),
    ("radiology: 12 workstations each reading 80 MB/s", "!`radiology`, `reading` are not understood"),
    ("2000 IOPS, 16 KiB, p99 25 ms while one drive is being rebuilt", "i2000 s16KiB p25 erebuilding"),
    ("2000 IOPS after a drive dies, RAID10 10k", "i2000 c10k l10 efailed"),
    ("RAID60 of 24 disks, 4 TB, 7200 rpm: max IOPS 8k write", "r0 s8KiB d4TB k24 c7200rpm l60"),
    ("raid 50, 3000 iops", "i3000 l50"),
    ("8 Gb FC, 12000 IOPS 8k", "i12000 s8KiB w8GFC tfc"),
    ("64GFC and NVMe, 2 million IOPS 4 KB 100% read", "i2000000 r100 s4KiB cnvme w64GFC"),
    ("400GbE NVMe-oF 5 million IOPS", "!`nvme-of`"),
    ("iSCSI 25 GbE 30k random 8 KiB writes per second", "i30000 r0 n100 s8KiB w25GbE tiscsi"),
    (
        "what would RAID6 instead of RAID10 cost me at 3000 IOPS",
        "!`instead`, `cost`, `me` are not understood",
    ),
    ("SQL tempdb 64K 20000 iops 50/50", "!`tempdb` is not understood"),
    ("exchange 1500 mailboxes 0.12 IOPS per mailbox, 4 GB each", "i180 d6TB"),
    ("random 4K QD32 200000 IOPS", "!`qd32` is not understood"),
    ("latency of 3 ms on average at 9000 IOPS, 30% writes", "i9000 r70 m3"),
];

#[test]
fn five_buyers_are_understood_or_told_what_to_write() {
    check(OF_FIVE_BUYERS);
}

#[test]
fn five_trades_are_understood_or_told_what_to_write() {
    check(FROM_FIVE_TRADES);
}

#[test]
fn two_hundred_phrasings_mean_what_they_say() {
    assert!(PHRASINGS.len() >= 200, "{}", PHRASINGS.len());
    check(PHRASINGS);
}

#[test]
fn what_people_type_is_understood_or_says_what_to_write() {
    check(AS_TYPED);
    check(HELD_OUT);
    check(LATER);
    check(MISREAD);
    check(FRESH);
}

#[test]
fn a_speed_is_no_size_of_an_io() {
    check(SPEEDS);
}

#[test]
fn a_capacity_beside_a_speed_is_that_of_each_counted_device() {
    check(CAPACITIES);
}

#[test]
fn what_many_are_of_each_of_them_has() {
    check(OF_EACH);
}

#[test]
fn a_share_of_the_reads_is_none_of_all_ios() {
    check(OF_A_PART);
}

#[test]
fn a_comma_groups_digits_or_begins_a_fraction() {
    check(COMMAS);
}

fn check(phrasings: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in phrasings {
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
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), phrasings.len(), wrong.join("\n"));
}
/// Forty more, each with what it means, written before the table of the grammar knew their words; 19 were read so then.
const TYPED_UNSEEN: &[(&str, &str)] = &[
    ("60 VMs at 40 IOPS per VM, 8k, 65/35", "i2400 r65 s8KiB"),
    ("4 TB database, 12k IOPS, 8k random, 80% reads, under 2 ms average", "i12000 r80 n100 s8KiB m2 d4TB"),
    ("which is better for 3000 IOPS 70% read 8k, RAID5 or RAID10", "i3000 r70 s8KiB l5+10"),
    ("can 6 SATA SSDs in RAID10 do 100k random 4k read IOPS", "i100000 r100 n100 s4KiB k6 cssd l10"),
    (
        "is RAID6 with 12 x 8TB 7200rpm drives enough for 900 IOPS at 80% read",
        "i900 r80 k12 z8TB c7200rpm l6",
    ),
    ("what do I get out of 4 NVMe drives in RAID5, 16k, 60% read", "r60 s16KiB k4 cnvme l5"),
    ("10 users editing video, 200 MB/s each, sequential read, 80 TB", "i1907.3 r100 n0 d80TB"),
    ("two SSDs mirrored, 4k random write", "r0 n100 s4KiB k2 cssd l10"),
    ("SAP HANA log volume: 250 MB/s write sequential, 16k blocks", "i15258.8 r0 n0 s16KiB"),
    ("replace 24 15k drives in RAID10 with SSDs", "!say"),
    ("I have an 8 bay NAS with 8 TB disks in RAID6, how many IOPS", "!say how many disks there are"),
    ("Elasticsearch cluster 3 TB, 15000 IOPS, 90% read", "i15000 r90 d3TB"),
    ("1200 IOPS average, 3000 IOPS peak, 8k", "!a question has one load"),
    ("30 TB archive, 150 MB/s sequential read, raidz2", "i143.1 r100 n0 d30TB lraidz2"),
    ("store 30 days of 50 cameras at 4 Mbit/s each", "i23.8 r0 n0 d64800GB"),
    ("minimum number of 10k SAS disks for 2500 IOPS, 75% reads, 8 KB, 20 ms p99", "i2500 r75 s8KiB p20 c10k"),
    (
        "500 IOPS random read at 5 ms average from a pair of mirrored 15k disks",
        "i500 r100 n100 m5 k2 c15k l10",
    ),
    ("Windows file server for 150 users, 5 TB, RAID6, 7.2k", "!150 users: say what each does"),
    ("Hyper-V cluster with 80 guests, 30 IOPS and 60 GB each, RAID10 SSD", "i2400 d4800GB cssd l10"),
    ("64 KB random reads, 6000 per second, p99 10ms", "i6000 r100 n100 s64KiB p10"),
    ("RAID60 of 24 x 12 TB, one disk rebuilding, 64k reads", "r100 s64KiB k24 z12TB l60 erebuilding"),
    ("5k IOPS 8k 70r/30w 10TB usable iSCSI 25GbE", "i5000 r70 s8KiB d10TB w25GbE tiscsi"),
    ("Splunk indexer: 1200 IOPS, 64k, 60% write, 40 TB", "i1200 r40 s64KiB d40TB"),
    ("four 2 TB SSDs RAID5 4k mixed 70/30 how many IOPS below 1 ms mean", "r70 s4KiB m1 k4 z2TB cssd l5"),
    ("100 MB/s random 8k writes", "i12207 r0 n100 s8KiB"),
    ("move 100 TB in 24 hours, read", "i1103.8 r100 d100TB"),
    ("nightly full backup 8 TB between 22:00 and 06:00", "!"),
    ("PostgreSQL 2000 tps, 6 IOs each, 8k, 75 % reads, p99 5 ms, NVMe", "i12000 r75 s8KiB p5 cnvme"),
    (
        "10GbE iSCSI, all flash, 50000 IOPS 8k 70% read, p99 under 3 ms",
        "i50000 r70 s8KiB p3 cssd w10GbE tiscsi",
    ),
    ("3-way mirror of 12 disks, 8k reads", "!"),
    ("what if a disk dies in a 6 disk RAID5 of 10k drives, 70% read 8k", "r70 s8KiB k6 c10k l5 efailed"),
    ("compare SSD and 15k for 8000 IOPS, 8k, 67% read, 6 TB", "i8000 r67 s8KiB d6TB cssd+15k"),
    ("at 70% utilization, 4000 IOPS", "!"),
    ("Kubernetes etcd: 500 fsync writes per second", "!sizing takes a write as done"),
    ("ingest 2 GB/s for NVMe", "i1907.3 r0 n0 cnvme"),
    ("20000 IOPS 4k write intensive workload on SSD", "!write the share"),
    ("1 PB, 10 GB/s sequential read, 7200 rpm, RAID6", "i9536.7 r100 n0 d1000TB c7200rpm l6"),
    ("how long does a rebuild take for 8 x 16 TB RAID6", "k8 z16TB l6 erebuilding"),
    ("less than 10 disks for 1500 random reads per second of 4k", "i1500 r100 n100 s4KiB k<9"),
    ("sequential write 400 MB/s, 2 hot spares, RAID6", "!hot spares take no load"),
];

/// As an administrator asked who had never seen the program: each was refused, or read as something else.
const OF_A_NEWCOMER: &[(&str, &str)] = &[
    ("backup window 20 TB in 8 hours", "i662.3 r0 n0 d20TB"),
    ("backup of 12 TB in a window of 6 hours", "i529.8 r0 n0 d12TB"),
    ("backup 12 TB in a 6 hour window", "i529.8 r0 n0 d12TB"),
    ("12000 IOPS peak, 8k", "i12000 s8KiB"),
    ("100 VMs with 15 IOPS each steady", "i1500"),
    ("400 desktops, 20 IOPS each, boot storm", "i8000"),
    ("what remains of 8 x 10k disks RAID5 when one disk failed", "k8 c10k l5 efailed"),
    ("RAID 6 vs RAID 10 for 3000 IOPS", "i3000 l6+10"),
    ("growth 20% per year, 5000 IOPS", "!say the rate and the data of the day"),
    ("how many vdevs for 800 IOPS, raidz2", "i800 lraidz2"),
    ("5000 IOPS with 4 GB battery-backed write-back cache", "!describe a cache in an array file"),
    ("12 x 4 TB with SSD cache, 8k", "!describe a cache in an array file"),
    ("20 cameras with 8 Mbit/s each write, 30 days retention", "i19.1 r0 n0 d51840GB"),
    ("20 cameras at 8 Mbit/s each", "!sequential write"),
    ("30 days retention", "!say the rate too"),
    ("1000 IOPS, -5% read", "!-5: rates, sizes, shares and times are not negative"),
    ("1000 IOPS 0 TB", "!leave it out for any amount"),
    ("RAID5 of 6 x 4TB 7200", "k6 z4TB c7200rpm l5"),
    ("3 ESXi hosts, 5000 IOPS", "!3 hosts and 5000 IOPS: say"),
    ("2 TB, 1000 IOPS, 7200rpm, 4kb, mirror", "i1000 s4KiB d2TB c7200rpm l10"),
    ("2000 IOPS with foo, bar and sequentail", "!`foo`, `bar`, `sequentail` are not understood"),
    ("2000 IOPS with foo and an SSD cache", "!`foo` is not understood"),
];

#[test]
fn forty_unseen_ones_are_read_right() {
    check(TYPED_UNSEEN);
}

#[test]
fn everyday_words_of_a_newcomer_are_understood_or_say_what_to_write() {
    check(OF_A_NEWCOMER);
}
