//! Words of sizing questions: each one changes the question, is known to mean nothing, or is refused.

use assay_analysis::sizing::{Question, parse};

fn ask(text: &str) -> Question {
    parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn refused(text: &str) -> String {
    match parse(text) {
        Err(error) => error.to_string(),
        Ok(question) => panic!("{text} is taken as {question:?}"),
    }
}

fn classes(text: &str) -> Vec<&'static str> {
    ask(text).classes.iter().map(|class| class.word).collect()
}

/// They were passed over, and SSDs proposed.
#[test]
fn words_for_disks_that_rotate_leave_out_ssds() {
    for text in [
        "how many HDDs for 3000 iops, 70% reads, 8k",
        "HDD, 3000 IOPS, 70% read, 8k, raid6",
        "how many spinning disks for 3000 iops",
        "how many hard disks for 3000 IOPS, 8k, RAID10",
        "3000 iops with SAS disks, 8k",
        "3000 iops on SATA drives",
        "3000 IOPS, rotating",
        "3000 IOPS, 12 spindles",
        "3000 IOPS, 12 hard drives",
    ] {
        assert_eq!(classes(text), ["5400rpm", "7200rpm", "10k", "15k"], "{text}");
    }
    assert_eq!(ask("3000 IOPS, 12 HDDs").disks, Some(12));
    assert_eq!(classes("3000 IOPS, 7200 rpm HDDs"), ["7200rpm"]);
    assert_eq!(classes("3000 IOPS, 24 15k SAS disks"), ["15k"]);
    assert_eq!(classes("3000 IOPS, 24 10k HDDs"), ["10k"]);
    assert_eq!(classes("3000 IOPS, SAS SSDs"), ["ssd"]);
    assert_eq!(classes("3000 IOPS, SSD or HDD"), ["ssd", "5400rpm", "7200rpm", "10k", "15k"]);
    assert_eq!(classes("3000 IOPS, how many disks"), [""; 0]);
    assert!(refused("3000 IOPS, SAS, 8k").starts_with("SAS: disks and SSDs have this interface"));
}

/// A word that nothing here understands must not be passed over: the answer would be to another question.
#[test]
fn a_word_changes_the_question_or_is_refused() {
    let plain = ask("2000 IOPS, 10 TB");
    for word in [
        "hdd",
        "hdds",
        "spinning",
        "rotating",
        "spindles",
        "hard",
        "sas",
        "sata",
        "nl-sas",
        "ssd",
        "nvme",
        "flash",
        "hybrid",
        "tape",
        "shingled",
        "smr",
        "optane",
        "qlc",
        "zfs",
        "ceph",
        "dedup",
        "compressed",
        "encrypted",
        "thin",
        "snapshots",
        "cached",
        "cache",
        "without",
        "no",
        "not",
        "except",
        "only",
        "raw",
        "mirrored",
        "raid",
        "raid10",
        "jbod",
        "parity",
        "iscsi",
        "nfs",
        "smb",
        "fc",
        "network",
        "ethernet",
        "lan",
        "link",
        "fibre",
        "read",
        "write",
        "sequential",
        "failed",
        "rebuilding",
        "faster",
        "bring",
        "slow",
        "cheap",
        "peak",
        "burst",
        "monthly",
        "vsan",
        "laptop",
        "usb",
        "queue",
        "depth",
        "threads",
    ] {
        if let Ok(asked) = parse(&format!("2000 IOPS, 10 TB, {word}")) {
            assert_ne!(asked, plain, "`{word}` is passed over");
        }
    }
    for (text, expected) in [
        ("2000 IOPS over the network", "`network`: say which, as in 10 GbE"),
        ("2000 IOPS, what do faster disks bring", "what a change brings: name the link"),
        ("2000 IOPS, what does RAID10 bring", "what a change brings: name the link"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    assert!(ask("2000 IOPS over fibre channel").protocol.is_some());
    assert!(ask("which RAID level carries 2000 IOPS").levels.is_empty());
    assert_eq!(ask("2000 IOPS, RAID level 6").levels.len(), 1);
}

/// `10TB ssd` lost its class, and was the capacity of each device.
#[test]
fn a_capacity_in_front_of_a_class_is_said_to_be_data_or_that_of_a_device() {
    const TERA: u64 = 1_000_000_000_000;
    for (text, data, each, says) in [
        ("2000 IOPS 8k 10TB ssd", Some(10), None, "10TB is the amount of data; write"),
        ("2000 IOPS, 8k, 10 TB nvme", Some(10), None, "10TB is the amount of data; write"),
        ("2000 IOPS 10TB hdd", Some(10), None, "10TB is the amount of data; write"),
        ("2000 IOPS, 8k, 10 TB, ssd", Some(10), None, ""),
        (
            "2000 IOPS, 12 x 4 TB ssd",
            None,
            Some(4),
            "4TB is the capacity of each device, because their number",
        ),
        ("2000 IOPS, 12 4TB SSDs", None, Some(4), "4TB is the capacity of each device."),
        (
            "2000 IOPS, 10 TB, 4TB ssd",
            Some(10),
            Some(4),
            "4TB is the capacity of each device, because the amount",
        ),
        ("how many 4TB ssd for 2000 IOPS", None, Some(4), "4TB is the capacity of each device."),
        ("2000 IOPS on 4 TB disks", None, Some(4), "4TB is the capacity of each device."),
    ] {
        let asked = ask(text);
        let bytes = |tera: Option<u64>| tera.map(|tera| tera * TERA);
        let found = (asked.need.data.map(|b| b.0), asked.disk_size.map(|b| b.0));
        assert_eq!(found, (bytes(data), bytes(each)), "{text}");
        assert_eq!(asked.classes.is_empty(), text.contains("disks"), "{text}");
        let assumed = asked.assumed.join(" ");
        assert!(assumed.contains(says), "{text}: {assumed}");
        assert_eq!(says.is_empty(), !assumed.contains("TB is the"), "{text}: {assumed}");
    }
    assert_eq!(classes("2000 IOPS 8k 10TB ssd"), ["ssd"]);
    assert_eq!(classes("2000 IOPS 8k ssd"), ["ssd"]);
}
