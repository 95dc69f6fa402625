//! Mistakes that people make in array files, and what each is answered. The guide has the same table.

use assay_model::array::parse;

/// A file that is fine; each mistake changes one thing of it.
const GOOD: &str = r#"name = "t"
title = "T"
source = "a test"

[device]
kind = "hdd"
from = "sheet"
rpm = 7200
seek_track_ms = 1.0
seek_avg_ms = 8.5
seek_full_ms = 18
outer_mb_s = 150
inner_mb_s = 70
capacity = "1TB"

[raid]
from = "sheet"
level = 5
disks = 4
chunk = "64KiB"

[controller]
from = "sheet"
write_back = "256MiB"

[protocol]
kind = "iscsi"

[link]
rate = "1GbE"

[paths]
from = "sheet"
count = 2
"#;

/// What is replaced, by what, and the answer without the file's name.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "disks = 4",
        "disks = { value = 4, range = [4, 8] }",
        "19: raid.disks: takes no range: another value is another array",
    ),
    ("rpm = 7200", "rpmm = 7200", "8: device.rpmm: there is no such field; did you mean `rpm`?"),
    ("rpm = 7200", "rpm = \"fast\"", "8: device.rpm: must be a number, not a text"),
    ("rpm = 7200", "rpm = 72000", "8: device.rpm: 72000 is out of range: 1000 to 30000"),
    ("rpm = 7200\n", "", "5: device.rpm: missing; every array needs it"),
    ("kind = \"hdd\"", "kind = \"disk\"", "6: device.kind: `disk` is not known; use one of: hdd, ssd"),
    ("kind = \"hdd\"\n", "", "5: device.kind: missing; write `kind = \"hdd\"` or `kind = \"ssd\"`"),
    ("seek_full_ms = 18", "seek_full_ms = -18", "11: device.seek_full_ms: -18 is negative"),
    (
        "seek_full_ms = 18",
        "seek_full_ms = 8",
        "10: device.seek_avg_ms: impossible: an average seek of 8.5 ms is longer",
    ),
    ("outer_mb_s = 150", "outer_mb_s = 175000", "12: device.outer_mb_s: 175000 is out of range: 1 to 1000"),
    (
        "inner_mb_s = 70",
        "inner_mb_s = 170",
        "13: device.inner_mb_s: impossible: the inner zone (170 MB/s) is faster",
    ),
    (
        "seek_avg_ms = 8.5",
        "seek_avg_ms = { value = 8.5, range = [9.5, 8] }",
        "10: device.seek_avg_ms: range [9.5, 8] starts above its end; swap the two",
    ),
    (
        "seek_avg_ms = 8.5",
        "seek_avg_ms = { value = 8.5, range = [9, 10] }",
        "10: device.seek_avg_ms: value 8.5 is outside its own range [9, 10]",
    ),
    ("\"1TB\"", "\"1 elephant\"", "14: device.capacity: "),
    (
        "[raid]\nfrom = \"sheet\"",
        "[raid]",
        "18: raid.disks: does not say where it comes from; add `from = \"sheet\"`",
    ),
    (
        "[raid]\nfrom = \"sheet\"",
        "[raid]\nfrom = \"my uncle\"",
        "17: raid.from: `from` must start with one of sheet, measured, calibrated, assumed",
    ),
    ("[raid]", "[ raids ]", "16: raids: there is no such field; did you mean `raid`?"),
    (
        "level = 5",
        "level = \"raid5e\"",
        "18: raid.level: `raid5e` is not known; use one of: single, 0, 1, 10, 5, 6",
    ),
    ("level = 5", "level = 7", "18: raid.level: `7` is not known; use one of: single, 0, 1, 10, 5, 6"),
    (
        "level = 5",
        "level = \"single\"",
        "18: raid.level: impossible: `single` has 1 disk, not 4; use level 0",
    ),
    ("disks = 4", "disks = 2", "19: raid.disks: impossible: level 5 with 2 disk(s) per group"),
    ("disks = 4", "disks = 4.5", "19: raid.disks: 4.5 must be a whole number"),
    (
        "level = 5\ndisks = 4",
        "level = 10\ndisks = 5",
        "19: raid.disks: impossible: RAID10 pairs its disks, and 5 is odd",
    ),
    (
        "disks = 4",
        "disks = 4\ngroups = 3",
        "20: raid.groups: impossible: 4 disks do not divide into 3 equal groups",
    ),
    (
        "disks = 4",
        "disks = 4\nfailed = 2",
        "20: raid.failed: impossible: RAID5 survives 1 failed member(s) of a group, not 2",
    ),
    (
        "disks = 4",
        "disks = 4\nwidth = 3",
        "20: raid.width: impossible: only dRAID has a stripe width of its own",
    ),
    (
        "\"64KiB\"",
        "\"1000\"",
        "20: raid.chunk: impossible: a chunk of 1000 bytes is not a whole number of sectors",
    ),
    (
        "\"256MiB\"",
        "\"5TiB\"",
        "24: controller.write_back: impossible: a cache larger than the 4000 GB of disks behind it",
    ),
    (
        "kind = \"iscsi\"",
        "kind = \"fc\"",
        "30: link.rate: impossible: Fibre Channel needs a link like 4GFC, not `1GbE`",
    ),
    (
        "kind = \"iscsi\"",
        "kind = \"nvmeof\"",
        "27: protocol.kind: say over what: `nvme-tcp`, `nvme-rdma` or `fc`",
    ),
    ("\"1GbE\"", "\"3GbE\"", "30: link.rate: `3GbE` is not known; did you mean `1GbE`?"),
    ("count = 2", "count = 1\npolicy = \"rr\"", "35: paths.policy: impossible: round robin over one path"),
    ("disks = 4", "disks = 4\nspares = 1", "20: raid.spares: spares take no load: leave them out of `disks`"),
    (
        "capacity = \"1TB\"",
        "capacity = \"1TB\"\nsmr = true",
        "15: device.smr: a shingled disk is written `shingled = true` in `[device]`",
    ),
    (
        "\"1GbE\"",
        "\"1.0..0.9 Gbit/s\"",
        "30: link.rate: `1.0..0.9 Gbit/s` is not a rate; write it like \"0.9..1.0 Gbit/s\"",
    ),
    ("\"1GbE\"", "\"1GbE\"\ntimestamps = \"off\"", "31: link.timestamps: must be true or false, not a text"),
    (
        "\"256MiB\"",
        "\"256MiB\"\nexpander = \"10GbE\"",
        "25: controller.expander: impossible: `10GbE` is a network; a port of drives is SATA, SAS, PCIe or USB",
    ),
    (
        "count = 2",
        "count = 2\n\n[tier]\nfrom = \"sheet\"\ncapacity = \"1TB\"",
        "38: tier.capacity: impossible: a tier needs `iops_max` and `mb_s` too: what its devices do",
    ),
    (
        "count = 2",
        "count = 2\n\n[log]\nfrom = \"sheet\"\niops_max = 30000",
        "38: log.iops_max: impossible: `iops_max` and `mb_s` must be given together",
    ),
    (
        "count = 2",
        "count = 2\n\n[target]\nsoftware = \"btrfs\"",
        "37: target.software: `btrfs` is not known; use one of: unknown, none, lvm, md, zfs",
    ),
    (
        "count = 2",
        "count = 2\n\n[slog]\niops_max = 30000",
        "36: slog: a separate log device is the table `[log]`, with `iops_max`, `mb_s` and `latency_us`",
    ),
    ("count = 2", "count = 0", "34: paths.count: 0 is out of range"),
    (
        "level = 5",
        "level = \"RAID 5+0\"",
        "16: raid.groups: impossible: RAID50 stripes over 2 legs or more; set `groups` to their number",
    ),
    ("\"64KiB\"", "\"64KiB\"\nstripe_size = \"64KiB\"", "21: raid.stripe_size: the stripe unit is `chunk`"),
    ("level = 5", "level = 5\ntype = 5", "19: raid.type: the RAID level is `level`"),
    ("rate = \"1GbE\"", "speed = \"10GbE\"", "30: link.speed: the link is `rate` in `[link]`"),
    (
        "\"256MiB\"",
        "\"256MiB\"\nbbu = true",
        "25: controller.bbu: a write-back cache that survives a power cut is `battery = true`",
    ),
    (
        "count = 2",
        "count = 2\n\n[tier]\nfrom = \"sheet\"\ncapacity = \"1TB\"\niops_max = 50000\nmb_s = 500\nhit_pct = 0.9",
        "41: tier.hit_pct: impossible: 0.9 % would be no tier; write 90 for 0.9",
    ),
    ("rpm = 7200", "rpm = 7200\nrpm = 5400", "9: duplicate key"),
    ("kind = \"hdd\"", "kind = hdd", "6: string values must be quoted"),
    (
        "seek_avg_ms = 8.5",
        "seek_avg_ms = { value = 8.5, range = \"8..9\" }",
        "10: device.seek_avg_ms: `range` is two numbers: [lowest, highest]",
    ),
];

#[test]
fn thirty_mistakes_are_answered_with_their_line_and_what_would_do() {
    parse("good.toml", GOOD).unwrap_or_else(|e| panic!("{e}"));
    assert!(MISTAKES.len() >= 30);
    let mut wrong = Vec::new();
    for (from, to, expected) in MISTAKES {
        assert!(GOOD.contains(from), "the good file has no {from}");
        let error = parse("a.toml", &GOOD.replacen(from, to, 1)).expect_err(to);
        let message = error.to_string();
        if error.errors.len() != 1 || !message.starts_with(&format!("a.toml:{expected}")) {
            wrong.push(format!("{to}\n  expected {expected}\n  answered {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_in_its_order() {
    let text = GOOD
        .replacen("rpm = 7200", "rpmm = 7200", 1)
        .replacen("level = 5", "level = \"raid7\"", 1)
        .replacen("\"64KiB\"", "\"a lot\"", 1)
        .replacen("\"1GbE\"", "\"3GbE\"", 1);
    let error = parse("a.toml", &text).expect_err("it has four mistakes");
    let places: Vec<&str> = error.errors.iter().map(|e| e.place.as_str()).collect();
    assert_eq!(
        places,
        ["a.toml:8: device.rpmm", "a.toml:18: raid.level", "a.toml:20: raid.chunk", "a.toml:30: link.rate"]
    );
    assert_eq!(error.to_string().lines().count(), 4);
}

#[test]
fn contradictions_of_several_tables_are_told_at_once() {
    let text = GOOD
        .replacen("inner_mb_s = 70", "inner_mb_s = 170", 1)
        .replacen("disks = 4", "disks = 2", 1)
        .replacen("kind = \"iscsi\"", "kind = \"fc\"", 1);
    let error = parse("a.toml", &text).expect_err("it has three contradictions");
    assert_eq!(error.errors.len(), 3, "{error}");
}

#[test]
fn the_guide_has_the_answers() {
    let guide = include_str!("../../../../docs/guide/array-files.md");
    for (_, to, _) in MISTAKES {
        let written = to.lines().last().unwrap_or(to);
        let row = guide.lines().find(|line| line.starts_with("| `") && line.contains(written));
        assert!(row.is_some() || to.is_empty(), "the guide has no row for {written}");
    }
}

#[test]
fn links_and_path_policies_are_understood_as_people_write_them() {
    let read = |from: &str, to: &str| {
        parse("a.toml", &GOOD.replacen(from, to, 1)).unwrap_or_else(|e| panic!("{to}: {e}"))
    };
    for written in [
        "10 GBE", "10Gbps", "10 Gb/s", "10Gbit", "10 Gb Ethernet", "10GigE", "10G", "10 gigabit", "10 Gbit/s",
    ] {
        assert_eq!(read("\"1GbE\"", &format!("{written:?}")).link.rate.name(), "10GbE", "{written}");
    }
    for written in ["16Gb FC", "16GFC", "16 G FC", "16 Gbit FC"] {
        let file = GOOD.replacen("iscsi", "fc", 1).replacen("1GbE", written, 1);
        let array = parse("a.toml", &file).unwrap_or_else(|e| panic!("{written}: {e}"));
        assert_eq!(array.link.rate.name(), "16GFC", "{written}");
    }
    assert_eq!(read("\"1GbE\"", "\"0.3 Gbit/s\"").link.rate.name(), "0.3Gbit/s");
    for (written, word) in [("round-robin", "rr"), ("Round Robin", "rr"), ("MRU", "fixed"), ("LACP", "hash")]
    {
        let array = read("count = 2", &format!("count = 2\npolicy = {written:?}"));
        assert_eq!(
            format!("{:?}", array.paths.policy),
            format!("{:?}", read("count = 2", &format!("count = 2\npolicy = {word:?}")).paths.policy)
        );
    }
}
