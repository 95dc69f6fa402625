use assay_model::array::{Level, parse, set, shipped, to_toml};
use assay_model::predict::{Engines, predict};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;

use crate::array;

/// A small array that is fine; each broken one is this with one thing changed.
const GOOD: &str = r#"name = "t"
title = "T"
source = "a test"

[device]
kind = "hdd"
from = "sheet"
rpm = 7200
seek_track_ms = 1.0
seek_avg_ms = { value = 8.5, range = [8.0, 9.5], from = "assumed: class" }
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
write_back = { value = "256MiB", from = "sheet" }

[protocol]
kind = "iscsi"

[link]
rate = "1GbE"
"#;

#[track_caller]
fn check(from: &str, to: &str, expected: &str) {
    assert!(GOOD.contains(from), "the good array has no {from}");
    let text = GOOD.replacen(from, to, 1);
    let message = parse("broken.toml", &text).expect_err("the array is broken").to_string();
    assert_eq!(message, expected);
}

#[test]
fn the_array_that_the_broken_ones_are_made_from_is_fine() {
    let array = parse("good.toml", GOOD).unwrap();
    assert_eq!(array.raid.disks.value, 4.0);
    assert_eq!(array.device, parse("again.toml", &to_toml(&array)).unwrap().device);
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    check(
        "rpm = 7200",
        "rpmm = 7200",
        "broken.toml:8: device.rpmm: there is no such field; did you mean `rpm`?",
    );
}

#[test]
fn an_unknown_table_names_the_nearest_one() {
    check(
        "[controller]",
        "[controler]",
        "broken.toml:22: controler: there is no such field; did you mean `controller`?",
    );
}

#[test]
fn raid5_of_two_disks_is_refused() {
    check(
        "disks = 4",
        "disks = 2",
        "broken.toml:19: raid.disks: impossible: level 5 with 2 disk(s) per group: one disk's worth is parity, \
         and two disks would be a mirror, so it needs 3 or more",
    );
}

#[test]
fn a_cache_larger_than_its_disks_is_refused() {
    check(
        "256MiB",
        "5TiB",
        "broken.toml:23: controller.write_back: impossible: a cache larger than the 4000 GB of disks behind it",
    );
}

#[test]
fn a_chunk_of_nothing_is_refused() {
    check("64KiB", "0", "broken.toml:20: raid.chunk: 0B is out of range: 512B to 64MiB");
}

#[test]
fn a_range_upside_down_is_refused() {
    check(
        "range = [8.0, 9.5]",
        "range = [9.5, 8.0]",
        "broken.toml:10: device.seek_avg_ms: range [9.5, 8] starts above its end; swap the two",
    );
}

#[test]
fn a_negative_time_is_refused() {
    check("seek_full_ms = 18", "seek_full_ms = -18", "broken.toml:11: device.seek_full_ms: -18 is negative");
}

#[test]
fn a_link_nobody_sells_is_refused() {
    let text = GOOD.replacen("1GbE", "3GbE", 1);
    let message = parse("broken.toml", &text).unwrap_err().to_string();
    assert_eq!(message, "broken.toml:29: link.rate: `3GbE` is not known; did you mean `1GbE`?");
}

#[test]
fn members_that_do_not_fill_the_vdevs_are_refused() {
    check(
        "level = 5\ndisks = 4",
        "level = \"raidz1\"\ngroups = 3\ndisks = 4",
        "broken.toml:19: raid.groups: impossible: 4 disks do not divide into 3 equal groups; change one of the two",
    );
}

#[test]
fn a_number_without_its_source_is_refused() {
    check(
        "[raid]\nfrom = \"sheet\"",
        "[raid]",
        "broken.toml:18: raid.disks: does not say where it comes from; add `from = \"sheet\"` (or measured, \
         calibrated, assumed) to the value or to its table",
    );
}

#[test]
fn a_missing_number_says_what_to_write() {
    check(
        "rpm = 7200\n",
        "",
        "broken.toml:5: device.rpm: missing; every array needs it; write `rpm = { value = …, from = \"sheet\" }` \
         (from 1000 to 30000)",
    );
}

#[test]
fn other_impossible_arrays_are_refused_with_their_reason() {
    for (from, to, expected) in [
        (
            "seek_track_ms = 1.0",
            "seek_track_ms = 9.9",
            "a track-to-track seek of 9.9 ms is longer than the average",
        ),
        ("inner_mb_s = 70", "inner_mb_s = 170", "the inner zone (170 MB/s) is faster than the outer one"),
        ("kind = \"iscsi\"", "kind = \"fc\"", "Fibre Channel needs a link like 4GFC, not `1GbE`"),
        ("level = 5", "level = \"single\"", "`single` has 1 disk, not 4"),
        ("level = 5\ndisks = 4", "level = 10\ndisks = 5", "RAID10 pairs its disks, and 5 is odd"),
        ("disks = 4", "disks = 4.5", "4.5 must be a whole number"),
        ("from = \"sheet\"\nrpm", "from = \"hearsay\"\nrpm", "`from` must start with one of sheet, measured"),
        ("\"64KiB\"", "\"64 elephants\"", "is not a unit of size"),
        ("level = 5", "level = 7", "`7` is not known; use one of: single, 0, 1, 10, 5, 6"),
        ("[link]", "[link", "b.toml:28"),
    ] {
        assert!(GOOD.contains(from), "the good array has no {from}");
        let message = parse("b.toml", &GOOD.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("b.toml:"), "{message}");
    }
}

#[test]
fn every_shipped_array_parses_and_survives_writing() {
    let arrays = shipped::all().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(arrays.len(), shipped::FILES.len());
    for a in arrays {
        assert!(!a.title.is_empty() && !a.source.is_empty(), "{} says where it comes from", a.name);
        let text = to_toml(&a);
        let again = parse("again.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(a, again, "{}", a.name);
    }
}

#[test]
fn shipped_arrays_are_called_like_their_files() {
    for (stem, _) in shipped::FILES {
        assert_eq!(&array(stem).name, stem);
    }
}

#[test]
fn overrides_say_what_is_wrong_with_them() {
    let refuse = |text: &str| set(&mut array("ix4-200d"), text).unwrap_err().to_string();
    assert_eq!(
        refuse("raid.levle=10"),
        "`raid.levle` is not a field of an array; did you mean `raid.level`?"
    );
    assert_eq!(refuse("raid"), "`raid` is not of the form field=value, like raid=10 or paths.rr_ios=1");
    assert_eq!(refuse("disks=many"), "raid.disks: `many` is not a number");
    assert_eq!(refuse("raid=10 disks=5"), "raid.disks: impossible: RAID10 pairs its disks, and 5 is odd");
    let near = refuse("link=10");
    assert!(
        near.starts_with("link.rate: `10` is not a known link rate; near it are 10GbE, 100GbE, "),
        "{near}"
    );
    assert!(near.len() < 300, "a list of all fills a screen: {near}");
}

#[test]
fn a_refused_override_leaves_the_array_as_it_was() {
    let mut a = array("ix4-200d");
    assert!(set(&mut a, "disks=8 raid=nonsense").is_err());
    assert_eq!(a, array("ix4-200d"));
}

#[test]
fn the_guide_explains_every_key() {
    let guide = include_str!("../../../../docs/guide/array-files.md");
    let keys = assay_model::array::keys();
    assert!(keys.len() > 60);
    for key in keys {
        assert!(guide.contains(&format!("`{}`", key.name)), "{} is not in the guide", key.name);
    }
}

#[test]
fn the_example_of_the_guide_is_an_array() {
    let guide = include_str!("../../../../docs/guide/array-files.md");
    let example = guide.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    parse("guide.toml", example).unwrap_or_else(|e| panic!("{e}"));
}

/// A part of an array file, put into a whole one, is taken: `clients` lacked its `from`.
#[test]
fn the_parts_in_the_guide_fit_an_array() {
    fn put(into: &mut toml::Table, part: toml::Table) {
        for (key, value) in part {
            match (into.get_mut(&key), value) {
                (Some(toml::Value::Table(into)), toml::Value::Table(part)) => put(into, part),
                (_, value) => drop(into.insert(key, value)),
            }
        }
    }
    let guide = include_str!("../../../../docs/guide/array-files.md");
    let blocks: Vec<&str> =
        guide.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3);
    for part in &blocks[1..] {
        let taken = [blocks[0], include_str!("../../../../arrays/ssd-sata.toml")].map(|whole| {
            let mut array: toml::Table = toml::from_str(whole).unwrap();
            put(&mut array, toml::from_str(part).unwrap());
            parse("guide.toml", &toml::to_string(&array).unwrap())
        });
        assert!(taken.iter().any(Result::is_ok), "{part}\n{taken:?}");
    }
}

#[test]
fn levels_are_read_as_people_write_them() {
    for (written, level) in [
        ("RAID-10", Level::Raid10),
        ("raid1+0", Level::Raid10),
        ("Raid 5", Level::Raid5),
        ("raid6", Level::Raid6),
        ("RAIDZ2", Level::Raidz2),
        ("raidz", Level::Raidz1),
    ] {
        let text = GOOD.replace("level = 5", &format!("level = \"{written}\""));
        let a = parse("t", &text).unwrap_or_else(|e| panic!("{written}: {e}"));
        assert_eq!(a.raid.level, level, "{written}");
    }
    assert!(parse("t", &GOOD.replace("level = 5", "level = \"raid5e\"")).is_err());
}

#[test]
fn rates_that_no_disk_or_drive_has_are_refused() {
    for (name, change) in [("hdd-7200", "device.outer_mb_s=175000"), ("nvme", "device.read_mb_s=175000")] {
        let error = set(&mut array(name), change).unwrap_err().to_string();
        assert!(error.contains("175000") && error.contains("out of range"), "{error}");
    }
}

/// Half of the bytes double a stream that disks limit; a random read is a seek, whatever it transfers; and drives that
/// are faster than the processor are held up by it.
#[test]
fn compression_halves_what_members_move_and_costs_the_processor() {
    let mut tables = Tables::default();
    let mut rate = |name: &str, changes: &str, load: &Workload| {
        let mut array = array(name);
        set(&mut array, changes).unwrap_or_else(|e| panic!("{changes}: {e}"));
        predict(&array, load, Engines::Closed, &mut tables).iops.value
    };
    let [read, written] = [100.0, 0.0].map(|reads| Workload::simple("s", 131_072, reads, 0.0, 64));
    let small = Workload::simple("r", 4096, 100.0, 100.0, 1);
    let disks = "raid=6 disks=8 link=none target.software=lvm target.cores=4";
    let ratio = |name: &str, load: &Workload, rate: &mut dyn FnMut(&str, &str, &Workload) -> f64| {
        rate(name, &format!("{disks} target.compression=2"), load) / rate(name, disks, load)
    };
    let streamed = ratio("hdd-7200", &read, &mut rate);
    assert!((1.9..=2.01).contains(&streamed), "{streamed}");
    let random = ratio("hdd-7200", &small, &mut rate);
    assert!((0.99..=1.02).contains(&random), "{random}");
    let drives = ratio("nvme", &written, &mut rate);
    assert!(drives < 1.0, "four cores compress 2.9 GB/s: {drives}");
}
