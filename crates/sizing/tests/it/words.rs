//! Words of sizing questions: each one changes the question, is known to mean nothing, or is refused.

use assay_sizing::{LatencyLimit, Precision, Prices, Question, answer, parse};

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
        "hdd", "hdds", "spinning", "rotating", "spindles", "hard", "sas", "sata", "nl-sas", "ssd", "nvme",
        "flash", "hybrid", "tape", "shingled", "smr", "optane", "qlc", "zfs", "ceph", "dedup", "compressed",
        "encrypted", "thin", "snapshots", "cached", "cache", "without", "no", "not", "except", "only", "raw",
        "mirrored", "raid", "raid10", "jbod", "parity", "iscsi", "nfs", "smb", "fc", "network", "ethernet",
        "lan", "link", "fibre", "read", "write", "sequential", "failed", "rebuilding", "faster", "bring",
        "slow", "cheap", "peak", "burst", "monthly", "vsan", "laptop", "usb", "queue", "depth", "threads",
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

/// `at most 24 disks` was 24 disks.
#[test]
fn a_limit_on_the_number_of_disks_is_no_exact_number() {
    for (text, least, most) in [
        ("500 IOPS, at most 24 disks", None, Some(24)),
        ("500 IOPS, max 24 disks", None, Some(24)),
        ("500 IOPS, up to 24 disks", None, Some(24)),
        ("500 IOPS, no more than 24 disks", None, Some(24)),
        ("500 IOPS, fewer than 24 disks", None, Some(23)),
        ("500 IOPS, under 24 HDDs", None, Some(23)),
        ("500 IOPS, <= 24 disks", None, Some(24)),
        ("500 IOPS, 24 disks or fewer", None, Some(24)),
        ("500 IOPS, 24 disks max", None, Some(24)),
        ("500 IOPS, at most twelve SSDs", None, Some(12)),
        ("500 IOPS, at least 8 disks", Some(8), None),
        ("500 IOPS, more than 8 disks", Some(9), None),
        ("500 IOPS, at least 8 disks, at most 24 disks", Some(8), Some(24)),
        ("500 IOPS with one disk less", None, None),
    ] {
        let asked = ask(text);
        assert_eq!((asked.disks, asked.disks_least, asked.disks_most), (None, least, most), "{text}");
    }
    for text in ["500 IOPS, p99 at most 20 ms", "500 IOPS, p99 20 ms max", "up to 500 IOPS, p99 < 20 ms"] {
        assert_eq!(ask(text).need.limit, LatencyLimit::P99Ms(20.0), "{text}");
    }
    for (text, expected) in [
        ("500 IOPS, at most 70 % read", "at most 70 %: limits are on the number of disks"),
        ("500 IOPS, p99 at least 20 ms", "at least 20 ms: a limit on latency is an upper one"),
        ("500 IOPS, at most", "`at most` without a number"),
        ("500 IOPS, 12 disks, at most 24 disks", "12 disks, and a limit of 24"),
        (
            "500 IOPS, at least 24 disks, at most 12 disks",
            "at least 24 and at most 12 disks: no number is both",
        ),
    ] {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

#[test]
fn at_most_24_disks_are_as_few_as_carry_the_load() {
    let sized = |text: &str| answer(ask(text), &[], &Prices::new(), Precision::Closed);
    let disks = |text: &str| {
        let answer = sized(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        (answer.candidates[0].disks, answer.best().is_some())
    };
    let load = "500 IOPS, 70% read, 8 KiB, RAID10, 7200 rpm";
    assert_eq!(disks(&format!("{load}, at most 24 disks")), (disks(load).0, true));
    assert_eq!(disks(&format!("{load}, at least 20 disks")), (20, true));
    assert_eq!(disks(&format!("{load}, at most 4 disks")), (4, false));
    assert_eq!(disks("70% read, 8 KiB, RAID10, 7200 rpm, at most 24 disks").0, 24);
    let none = sized("500 IOPS, RAID6, 7200 rpm, at most 3 disks").expect_err("RAID6 has 4").to_string();
    assert!(none.starts_with("at most 3 disks: RAID6 has no such number"), "{none}");
}

/// The last share won.
#[test]
fn shares_that_contradict_each_other_are_refused() {
    for (text, expected) in [
        (
            "1000 IOPS, 70% read, 40% write",
            "70 % read and 40 % write: shares of reads and writes add up to 100",
        ),
        ("1000 IOPS, 30% random, 90% sequential", "30 % random and 90 % sequential: shares of random"),
        ("1000 IOPS, 70/30, 60% read", "70/30 and 60 % read: shares of reads"),
        ("1000 IOPS, sequential, 70% random", "sequential and 70 % random: shares of random"),
        ("1000 IOPS, random and sequential", "random and sequential: shares of random"),
        ("1000 IOPS, reads and writes of 8k", "reads and writes: say the share of one"),
        ("500 users, 300 users x 2 tps", "500 sessions and 300 sessions"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    let same = ask("1000 IOPS, 70% read, 30% write, 30/70 write/read, 40% random, 60% sequential").need;
    assert_eq!((same.read_pct, same.random_pct), (70.0, 40.0));
    assert_eq!(ask("1000 IOPS, 8k reads, 70% read").need.read_pct, 70.0);
    assert_eq!(ask("1000 IOPS, writes").need.read_pct, 0.0);
}

/// A stream that disks keep up with had a p99 of a nanosecond.
#[test]
fn what_was_read_ahead_still_crosses_the_interface_and_the_host() {
    for (text, least_ms) in [
        ("1000 IOPS, 64KiB, sequential, 100 % read, raid10, 7200 rpm, p99 1 ms", 0.1),
        ("200 IOPS, 64KiB, sequential, 100 % read, raid6, 7200 rpm", 0.1),
        ("20 IOPS, 1MiB, sequential, 100% read, 7200 rpm, 4 disks, raid5, mean 5 ms", 0.1),
    ] {
        let answer = answer(ask(text), &[], &Prices::new(), Precision::Simulated).unwrap();
        let best = answer.best().unwrap_or_else(|| panic!("{text}: nothing carries it"));
        let latency = best.assessment.latency_ms.expect("there is a rate");
        assert!(latency.lo >= least_ms && latency.value >= least_ms, "{text}: {latency:?}");
    }
}

#[test]
fn speeds_without_a_unit_and_words_of_newcomers_are_understood_or_explained() {
    let disks = ask("500 IOPS, 12 disks 7200 RAID6, 8k");
    assert_eq!((disks.disks, disks.classes[0].word, disks.need.size.0), (Some(12), "7200rpm", 8192));
    for text in ["24 disks 10k RAID10, 8k", "24 disks 10k, 8k", "24 10k disks, 8k", "24 disks, 10k rpm, 8k"] {
        let disks = ask(text);
        let found = (disks.disks, disks.classes[0].word, disks.need.size.0);
        assert_eq!(found, (Some(24), "10k", 8192), "{text}");
    }
    for text in ["500 IOPS, read only", "500 IOPS, read-only", "500 IOPS, reads only"] {
        assert_eq!(ask(text).need.read_pct, 100.0, "{text}");
    }
    assert_eq!(ask("500 IOPS, write only").need.read_pct, 0.0);
    for (text, expected) in [
        ("12 RAID6, 500 IOPS", "12: a number needs a unit here"),
        ("100 VMs, 8k", "100 VMs: say what each does, as in \"100 VMs x 20 tps\""),
        ("100 virtual machines, 500 IOPS", "100 VMs and 500 IOPS"),
        ("500 IOPS, mostly reads", "mostly reads: write the share, as in 90 % read"),
        ("500 IOPS, 12 disks and a hot spare", "hot spares take no load"),
        ("500 IOPS, read only, 70 % read", "read only and 70 % read: shares of reads and writes"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

/// `3.000 IOPS` was sized for 3 I/Os per second, and `0 KiB` or `0 TB` for I/Os of no bytes, without a word.
#[test]
fn points_that_may_group_digits_and_sizes_below_a_sector_are_refused() {
    for (text, expected) in [
        ("3.000 IOPS, 8 KiB", "3.000: a point before three digits can group them; write 3000, or 3.0000"),
        ("1.500 IOPS", "1.500: a point before three digits can group them; write 1500, or 1.5000"),
        ("500 IOPS, 10.000 GB", "10.000: a point before three digits can group them; write 10000, or"),
        ("1.000.000IOPS", "1.000.000: a point before three digits can group them; write 1000000"),
        ("500 IOPS, 0 KiB", "0 bytes: I/Os and amounts of data begin at 512B"),
        ("500 IOPS, 0 TB", "0 bytes: I/Os and amounts of data begin at 512B"),
        ("500 IOPS, 0.1 KiB blocks", "102.4 bytes: I/Os and amounts of data begin at 512B"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    assert_eq!(ask("1.5k IOPS").need.iops, Some(1500.0));
    assert_eq!(ask("3.0000 IOPS").need.iops, Some(3.0));
    assert_eq!(ask("40 VMs with 0.125 IOPS each").need.iops, Some(5.0));
    assert_eq!(ask("500 IOPS, 512 B").need.size.0, 512);
}

/// `mixed` and `maxed` were refused with "did you mean `failed`?".
#[test]
fn a_hint_keeps_more_than_half_of_the_letters() {
    assert_eq!(ask("2000 IOPS mixed, 8 KiB").need.iops, Some(2000.0));
    let message = refused("2000 IOPS maxed out");
    assert!(message.starts_with("`maxed` is not understood in a sizing question; write it"), "{message}");
    let message = refused("2000 IOPS, sequentail");
    assert!(message.contains("did you mean `sequential`?"), "{message}");
}
