//! The grammar of a sizing question, as a table: what people write, and the words that [`super::question`] knows.
//!
//! Each row has a pattern and what stands for it. Rewriting goes over the words from left to right, takes the longest
//! pattern that fits, and begins anew until nothing fits any more, so a row may use what another one writes.

use super::words::{THROUGHPUT, bytes_of, is_session, number, number_word};

/// Passes over the words: each row leads nearer to the known words, and a question has few of them.
const PASSES_MAX: usize = 8;

/// Numbers as people write them; first, as every other pattern may hold one.
const NUMBERS: &[(&str, &str)] = &[
    ("N 000", "=1*1000"),
    ("N thousand", "=1*1000"),
    ("N million", "=1*1000000"),
    ("N billion", "=1*1000000000"),
    ("a dozen", "12"),
    ("N dozen", "=1*12"),
    ("dozen", "12"),
    ("half a million", "500000"),
    ("a hundred", "100"),
    ("a thousand", "1000"),
];

/// Patterns, and what stands for them.
///
/// In a pattern, `a|b` is one of the words, and capitals are `N` a number, `K` one of thousands or KiB (`8k`), `P` one
/// that is a power of two, as sizes are, `Q` one that is none, as rates may be (`50k`), `B` an
/// amount of bytes from 1 MB on, `T` a time from seconds to days, `R` a throughput, `M` a mix (`70/30`), `S` a word for
/// sessions. What these match is `$1`, `$2`, … from left to right; `=1*1000` and `=2/3` calculate with the numbers.
const PHRASES: &[(&str, &str)] = &[
    // Rates.
    ("per sec", "per second"),
    ("a sec", "per second"),
    ("a second", "per second"),
    ("operations|requests|ops|i/os|ios|io|i/o per second", "iops"),
    ("ops|ops/s|io/s|ios/s|i/os/s", "iops"),
    ("i/os|ios|iops of B per second", "$1 of $2"),
    ("K iops|transactions|tps", "=1*1000 $2"),
    ("K sustained|total iops", "=1*1000 iops"),
    ("N m iops", "=1*1000000 iops"),
    ("N kiops", "=1*1000 iops"),
    ("iops per|a S", "iops each $2:each"),
    ("tps per|a S", "tps $2:each"),
    ("S averaging|doing", "$1 at"),
    ("peak N iops", "$1 iops"),
    ("N iops peak", "$1 iops"),
    ("N S , each N iops", "$1 $2 , $3 iops each"),
    ("N S each N iops", "$1 $2 all-each , $3 iops each"),
    ("N S , N iops and B each|apiece", "$1 $2 all-each , $3 iops each , $4"),
    ("N S , B and N iops each|apiece", "$1 $2 all-each , $4 iops each , $3"),
    ("reads|writes , N per second", "$2 $1/s"),
    ("N S each B and N iops", "$1 $2 all-each , $3 , $4 iops each"),
    ("N S with|of|at B and N iops each|apiece", "$1 $2 all-each , $4 , $5 iops each"),
    ("N S with|of|at N iops and B each|apiece", "$1 $2 all-each , $4 iops each , $5"),
    ("N iops apiece", "$1 iops each"),
    ("N S each K iops", "$1 $2 all-each , =3*1000 iops each"),
    ("transaction|transactions per second", "tps"),
    ("transactions/s", "tps"),
    ("reads|writes per second", "$1/s"),
    ("reads|writes N per second", "$2 $1/s"),
    ("reads|writes N /s", "$2 $1/s"),
    ("reads|writes N k/s", "=2*1000 $1/s"),
    ("random|sequential reads|writes N /s", "$3 $2/s , $1 ,"),
    ("random|sequential reads|writes N k/s", "=3*1000 $2/s , $1 ,"),
    ("N reads and N writes per second", "$1 reads/s , $2 writes/s"),
    ("N writes and N reads per second", "$1 writes/s , $2 reads/s"),
    ("K reads/s|writes/s", "=1*1000 $2"),
    ("K reads|writes per second", "=1*1000 $2/s"),
    ("K random|sequential K reads|writes per second", "=1*1000 $4/s , $2 , $3 ,"),
    ("random|sequential read|write|reads|writes per second", "$2 per second , $1 ,"),
    ("random|sequential reads/s|writes/s", "$2 , $1 ,"),
    ("N random|sequential K reads|writes per second", "$1 $4/s , $2 , $3 ,"),
    ("N random|sequential K reads/s|writes/s", "$1 $4 , $2 , $3 ,"),
    ("N K reads|writes per second", "$1 $3/s , $2 ,"),
    ("N K reads/s|writes/s", "$1 $3 , $2 ,"),
    // What is between a number and the I/Os that it counts: `5000 random 8k read IOPS`.
    ("N % read|write|random|sequential iops", "iops , $1 % $2 ,"),
    ("M iops", "iops , $1 ,"),
    ("read|write iops", "iops , $1 only ,"),
    ("random|sequential iops", "iops , $1 ,"),
    ("N K iops", "$1 iops , $2 ,"),
    ("N random|sequential|read|write K iops", "$1 $2 iops , $3 ,"),
    ("Q P iops", "=1*1000 iops , $2 ,"),
    ("Q random|sequential|read|write P iops", "=1*1000 $2 iops , $3 ,"),
    ("P Q iops", "=2*1000 iops , $1 ,"),
    ("P random|sequential|read|write Q iops", "=3*1000 $2 iops , $1 ,"),
    ("P P iops", "$1 or $2 iops"),
    ("P random|sequential|read|write P iops", "$1 or $3 iops"),
    ("P or P iops", "rate-or-size"),
    ("N random|sequential read|write K iops", "$1 $2 $3 iops , $4 ,"),
    // Throughput, and amounts that have to be moved in a time.
    ("B per second", "=1/1000000 mb/s"),
    ("B per T", "=1/2/1000000 mb/s"),
    ("B in|within T", "=1/3/1000000 mb/s =1 bytes-moved"),
    ("B in a night|day|window of T", "=1/3/1000000 mb/s =1 bytes-moved"),
    ("B in|within under|below T", "=1/4/1000000 mb/s =1 bytes-moved"),
    ("B in less than T", "=1/2/1000000 mb/s =1 bytes-moved"),
    ("B in at most T", "=1/2/1000000 mb/s =1 bytes-moved"),
    ("B in|within a window of T", "=1/3/1000000 mb/s =1 bytes-moved"),
    ("B in|within a|an T window", "=1/4/1000000 mb/s =1 bytes-moved"),
    ("window of T , B", "=2/1/1000000 mb/s =2 bytes-moved"),
    ("T retention", "=1 seconds-kept sequential write"),
    ("retention of|: T", "=2 seconds-kept sequential write"),
    ("retention T", "=1 seconds-kept sequential write"),
    ("keep|keeping|retain|retaining|store|storing T", "=2 seconds-kept sequential write"),
    ("keep|keeping|retain|retaining|store|storing for T", "=2 seconds-kept sequential write"),
    ("N gbit/s|gbps read|write|reads|writes|sequential|throughput|bandwidth", "=1*125 mb/s $3"),
    ("N gbit/s|gbps of read|write|reads|writes", "=1*125 mb/s $3"),
    ("N S at|of|with|x R", "$1 $2 , $4 each"),
    ("N S at|of|with|x R each", "$1 $2 , $4 each"),
    ("S at|of|with|x R each", "$1 , $3 each"),
    ("a|one|1 S at|of|with R", "$4"),
    ("a|one|1 stream at|of|with R", "sequential , $3"),
    ("S R each", "$1 , $2 each"),
    ("R per|a S", "$1 each $3:each"),
    ("N S N streams each|per", "=1*3 streams"),
    ("N S with|x N streams each", "=1*4 streams"),
    ("backup|ingest|record|recording R", "sequential write $2"),
    ("backup|ingest|record|recording of|at|with R", "sequential write $3"),
    ("backup|ingest|record|recording N S", "sequential write $2 $3"),
    ("nightly|daily|weekly|full backup", "backup"),
    ("backup window", "backup"),
    ("backup window of", "backup window of"),
    ("R recording", "$1 sequential write"),
    ("R each recording", "$1 each sequential write"),
    ("stream|streaming", "sequential"),
    ("sequential|table scan|scans", "sequential read"),
    // Sizes.
    ("bs|blocksize", "block"),
    ("block|i/o|io size", "block"),
    ("terabytes|terabyte", "tb"),
    ("gigabytes|gigabyte", "gbyte"),
    ("petabytes|petabyte", "pb"),
    ("kilobytes|kilobyte", "kb"),
    ("B net", "$1"),
    ("N x B S", "$1 $3 , =1*2 bytes"),
    ("B after|behind raid", "$1"),
    ("B per|a S", "$1 per-session $3:each"),
    ("working set of|is B", "$2 active"),
    ("working set B", "$1 active"),
    ("B working set", "$1 active"),
    ("N S of B", "$1 $2 , $3 per-session"),
    // Mixes.
    ("all reads", "read only"),
    ("all writes", "write only"),
    ("half reads half writes", "50 % read"),
    ("half reads and half writes", "50 % read"),
    ("half reads|writes", "50 % $1"),
    ("two thirds reads|writes", "66.7 % $1"),
    ("two thirds of them reads|writes", "66.7 % $1"),
    ("reads|writes at N %|percent", "$2 % $1"),
    ("2/3 reads|writes|read|write", "66.7 % $1"),
    ("one third reads|writes", "33.3 % $1"),
    ("1/3 reads|writes|read|write", "33.3 % $1"),
    ("three quarters reads|writes", "75 % $1"),
    ("3/4 reads|writes|read|write", "75 % $1"),
    ("one quarter reads|writes", "25 % $1"),
    ("N % of reads|writes", "$1 % $2 of-them"),
    ("N % are reads|writes|random|sequential", "$1 % $2"),
    ("fully|purely random", "random"),
    ("purely sequential", "sequential"),
    ("read:write|read-write", "read/write"),
    ("read write ratio|mix", "mix"),
    // Latency.
    ("milliseconds|millisecond|msec", "ms"),
    ("microseconds|microsecond|usec", "us"),
    ("sub-millisecond|submillisecond|sub-ms", "mean 1 ms"),
    ("99 % below|under|within", "p99 $1"),
    ("99 % of i/os below|under|within", "p99 $1"),
    ("99 % of reads|writes below|under|within", "p99 $2"),
    ("not above|over|exceeding", "at most"),
    // Devices.
    ("N fresh", "fresh $1"),
    ("steady state", ","),
    ("a|the pair of", "2"),
    ("a|the pair of mirrored", "mirrored 2"),
    ("N mirrored disks|drives|ssds|hdds", "mirrored $1 $2"),
    ("minimum|smallest|fewest number of", ","),
    ("many vdevs", "many disks"),
    ("N hot spare|spares", "hot spare"),
    ("sas 10k|15k", "$1 sas"),
    ("7.2k nl-sas|nearline|sas|sata", "7200 rpm $1"),
    ("solid state", "ssd"),
    ("solid-state", "ssd"),
    ("all flash", "flash"),
    ("no|without ssd|ssds|flash", "hdd"),
    ("only ssd|ssds|nvme|hdd|hdds|flash", "$1"),
    ("ssd|ssds|nvme|hdd|hdds|flash only", "$1"),
    ("maximum|max|minimum of", "$1"),
    ("between N and N disks|drives|spindles|hdds|ssds|devices", "at least $1 $3 , at most $2 $3"),
    ("N to N disks|drives|spindles|hdds|ssds|devices", "at least $1 $3 , at most $2 $3"),
    ("budget for|of N disks|drives|ssds|hdds", "$2 $3"),
    ("down", "failed"),
    ("survives|tolerate|tolerates|withstand|withstands|surviving|tolerating", "survive"),
    ("survive N failures|losses", "survive $1 disks"),
    ("survive N of N disks|drives|spindles|hdds|ssds", "$2 $3 , survive $1 disks"),
    ("2|two disks|drives may|can fail|die", "survive 2 disks"),
    ("1|one disk|drive may|can fail|die", "survive 1 disks"),
    ("lose|losing 1|one|a disk|drive", "survive 1 disks"),
    ("lose|losing 2|two disks|drives", "survive 2 disks"),
    // Levels.
    ("mirror", "mirrored"),
    ("double|dual parity", "raid6"),
    ("single parity", "raid5"),
    ("triple parity", "raidz3"),
    ("striped mirrors", "mirrored"),
    ("raid N only", "raid $1"),
    ("raid10|raid5|raid6|raidz1|raidz2|raidz3 only", "$1"),
    ("only raid N", "raid $1"),
    ("only raid10|raid5|raid6|raidz1|raidz2|raidz3", "$1"),
    ("zfs raidz1|raidz2|raidz3", "$1"),
    // Sessions.
    ("virtual machines|machine|servers", "vms"),
    ("virtual desktops|desktop", "desktops"),
    ("vdi desktops|users|desktop", "desktops"),
    ("video editors", "editors"),
    ("containers", "vms"),
    ("boot|login storm", ","),
    ("boot|login storm of", "of"),
    ("N esxi hosts|servers", "$1 hosts"),
    ("N hosts|servers|nodes N vms|desktops", "$3 $4"),
    ("N hosts|servers|nodes N vms|desktops each", "=1*3 $4"),
    ("N hosts|servers|nodes N vms|desktops each N iops", "=1*3 $4 , $5 iops each"),
    ("N hosts|servers|nodes N vms|desktops per|a host|server|node", "=1*3 $4"),
    ("N hosts|servers|nodes with|x N vms|desktops each", "=1*4 $5"),
    ("N concurrent S", "$1 $2"),
    // Products, of which no number is a load.
    ("exchange|sql|windows|oracle server 2007|2010|2013|2016|2019|2022|2025", "$1"),
    ("exchange|oracle 2007|2010|2013|2016|2019", "$1"),
    ("file server|servers", "server"),
    ("N node cluster", ","),
    ("N node cluster each", "$1 nodes each"),
    ("N node cluster , each", "$1 nodes each"),
    ("read|write intensive ssd|ssds", "$2"),
    ("backup target|server|storage|repository|repo", ","),
    // Questions about an array instead of a load.
    ("what happens to", ","),
    ("how long does|would|will a|the rebuild take|last", "rebuilding"),
    ("rebuild time", "rebuilding"),
    ("how fast is|are|would", "how many iops"),
    ("how fast", "how many iops"),
    ("home directories|directory", "data"),
    // Networks.
    ("over gigabit", "over 1 gbe"),
    ("dual|two|2 N gbe", "2 x $2 gbe"),
    ("nvme/tcp", "nvme-tcp"),
    ("nvme over tcp", "nvme-tcp"),
    ("fibre channel N gbit|gb|g|gfc", "$1 gfc fc"),
    ("fc N gbit|gb|g|gfc", "$1 gfc fc"),
];

/// Reads and writes of a question are in sequence alike.
const OF_ONE_KIND: &str = "sizing has one order for reads and writes; give the share of all I/Os, as in \"70 % read, \
                           40 % random\"";

/// Patterns that no load follows from, and the sentence that says what would be.
const EXPLAINED: &[(&str, &str)] = &[
    ("backup|ingest|record|recording", "say how much in how long, as in \"backup 20 TB in 8 hours\""),
    (
        "restore|copy|replicate|migrate",
        "say which way the bytes go on this storage, as in \"read 5 TB in 2 hours\" or \"write 5 TB in 2 hours\"",
    ),
    (
        "messages|mails|emails per day",
        "say how many I/Os each mailbox makes, as in \"1000 mailboxes with 0.1 IOPS each\": it depends on the version \
         of the server and on its clients",
    ),
    (
        "sync|synchronous|synchronously|fsync|durable|durably",
        "sizing takes a write as done when the array says so; leave the word out, or predict a test with durable \
         writes with `assay predict`",
    ),
    (
        "queue depth|depths",
        "sizing asks for a rate that arrives by itself; for a number of outstanding I/Os predict a test, as in `assay \
         predict ARRAY PLAN --set outstanding=32`",
    ),
    (
        "write-back|writeback|battery-backed|bbu|bbwc|fbwc|cache|cached|caching",
        "describe a cache in an array file (`controller.write_back`, `controller.read_cache` or `[tier]`), and name it \
         with --array; the answer for disks says besides what a protected write-back cache brings",
    ),
    (
        "growth|grow|grows|growing",
        "say the rate and the data of the day until which the array must do, as in \"6000 IOPS, 15 TB\"",
    ),
    (
        "N % utilization|utilisation|busy|load",
        "without a limit on latency the busiest part is at most 80 % busy; leave it out, or say the latency",
    ),
    (
        "replace|replacing|upgrade|upgrading",
        "say what the new array must do, as in \"5000 IOPS, SSD, RAID10\"",
    ),
    ("vdevs", "say how many disks there are in all, or describe the vdevs in an array file (`raid.groups`)"),
    ("read|write|reads|writes of which|them|those N % random|sequential", OF_ONE_KIND),
    ("read|write|reads|writes , of which|them|those N % random|sequential", OF_ONE_KIND),
    ("read|write|reads|writes N % of which|them|those random|sequential", OF_ONE_KIND),
    ("read|write|reads|writes , N % of which|them|those random|sequential", OF_ONE_KIND),
    ("read|write|reads|writes heavy|intensive", "write the share, as in 30 % read"),
    ("iops per tb|tib|gb|gbyte|gib", "say the rate in all, as in \"15000 IOPS, 3 TB\""),
    ("N bay", "say how many disks there are, as in \"12 disks\""),
    (
        "B before raid|parity",
        "say what must be usable, as in \"40 TB\", or the disks, as in \"8 disks of 6 TB\"",
    ),
    (
        "for N minutes|minute|min|hours|hour",
        "sizing is for a load that lasts: leave the time out, or say how much in how long, as in \"backup 20 TB in 8 \
         hours\"",
    ),
    (
        "N % of i/os|ios below|under|within",
        "limits are on the mean or on p99; other percentiles are not predicted",
    ),
    (
        "fsyncs",
        "sizing takes a write as done when the array says so; predict a test with durable writes with `assay \
                predict`",
    ),
    (
        "wide",
        "a question counts all disks of an array; describe its groups in an array file, and name it with --array",
    ),
    (
        "cheapest|cheap|budget",
        "leave the word out; where prices are given, as in --price ssd=110, the cheapest comes first",
    ),
    ("N gb/s read|write|reads|writes|sequential|throughput", "write GB/s for bytes, or Gbit/s for bits"),
    ("rate-or-size", "say which number is the rate and which the size, as in \"8000 IOPS of 4 KiB\""),
    ("N S per|a S", "say how many there are in all, as in \"200 VMs with 50 IOPS each\""),
    ("N tpm", "say how many transactions per second, and I/Os of each, as in \"80 tps x 10 I/Os\""),
];

/// Rewrites the words of a question into those that are known.
pub(super) fn rewritten(words: Vec<String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().flat_map(split).collect();
    for table in [NUMBERS, PHRASES] {
        for _ in 0..PASSES_MAX {
            let next = pass(table, &words);
            if next == words {
                break;
            }
            words = next;
        }
    }
    words
}

/// The words that no load follows from, and why; a comma stands for them afterwards.
pub(super) fn explained(words: &mut [String]) -> Vec<String> {
    let mut all = Vec::new();
    for at in 0..words.len() {
        let rest = &words[at..];
        let found = EXPLAINED.iter().filter_map(|(row, says)| Some((matched(row, rest)?.0, says)));
        let Some((taken, says)) = found.max_by_key(|(taken, _)| *taken) else { continue };
        let text = rest[..taken].join(" ");
        words[at..at + taken].fill(",".to_owned());
        // Several words of one matter need one sentence.
        if !all.iter().any(|said: &String| said.ends_with(says)) {
            all.push(format!("`{text}`: {says}"));
        }
    }
    all
}

/// Units that stand apart from their number.
const APART: &[&str] = &["iops", "kiops", "ms", "us", "µs", "h", "min", "gbit", "gbps", "gbe"];

/// `12x4tb`, `3000+`, `~3000`, `8-24`, `70r`, `70:30` and `70r/30w` as separate, plain words.
fn split(word: String) -> Vec<String> {
    if let Some((count, each)) = word.split_once('x')
        && !count.is_empty()
        && count.chars().all(|c| c.is_ascii_digit())
        && each.starts_with(|c: char| c.is_ascii_digit())
    {
        return vec![count.to_owned(), "x".to_owned(), each.to_owned()];
    }
    let plain = word.trim_start_matches('~').trim_end_matches('+');
    if plain != word && number(plain).is_some() {
        return vec![plain.to_owned()];
    }
    let whole = |text: &str| matches!(number(text), Some((_, "")));
    if let Some((least, most)) = word.split_once('-').filter(|(a, b)| whole(a) && whole(b)) {
        return vec![least.to_owned(), "to".to_owned(), most.to_owned()];
    }
    if let Some((share, kind @ ("r" | "w"))) = number(&word) {
        let kind = if kind == "r" { "read" } else { "write" };
        return [share.to_string(), "%".to_owned(), kind.to_owned()].to_vec();
    }
    if let Some((_, unit)) = number(&word).filter(|(_, unit)| APART.contains(unit) || unit.ends_with("/s")) {
        return vec![word[..word.len() - unit.len()].to_owned(), unit.to_owned()];
    }
    let sides = word.split_once([':', '/']).map(|(a, b)| (a.trim_end_matches('r'), b.trim_end_matches('w')));
    match sides {
        Some((reads, writes)) if [reads, writes].iter().all(|side| whole(side)) => {
            vec![format!("{reads}/{writes}")]
        }
        _ => vec![word],
    }
}

fn pass(table: &[(&str, &str)], words: &[String]) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let rest = &words[at..];
        let fits = table.iter().filter_map(|(row, to)| matched(row, rest).map(|found| (found, to)));
        match fits.max_by_key(|((taken, _), _)| *taken) {
            Some(((taken, captures), to)) => {
                out.extend(to.split_whitespace().flat_map(|part| written(part, &captures)));
                at += taken;
            }
            None => {
                out.push(words[at].clone());
                at += 1;
            }
        }
    }
    out
}

/// What an element of a pattern matched: its words, and the number in them.
struct Capture {
    words: Vec<String>,
    value: f64,
}

/// The number of words at the beginning that a pattern takes, and what its elements matched.
fn matched(pattern: &str, words: &[String]) -> Option<(usize, Vec<Capture>)> {
    let mut at = 0;
    let mut captures = Vec::new();
    for element in pattern.split_whitespace() {
        let (taken, value) = taken(element, words.get(at..)?)?;
        if element.contains('|') || element.starts_with(|c: char| c.is_ascii_uppercase()) {
            captures.push(Capture { words: words[at..at + taken].to_vec(), value });
        }
        at += taken;
    }
    Some((at, captures))
}

/// The number of words that an element takes, and the number that they mean.
fn taken(element: &str, words: &[String]) -> Option<(usize, f64)> {
    let word = words.first()?;
    let quantity = |factor: &dyn Fn(&str) -> Option<f64>| match number(word)? {
        (value, "") => Some((2, value * factor(words.get(1)?)?)),
        (value, unit) => Some((1, value * factor(unit)?)),
    };
    match element {
        "N" => match number(word) {
            Some((value, "")) => Some((1, value)),
            Some(_) => None,
            None => number_word(word).map(|value| (1, value)),
        },
        "K" => quantity(&|unit| ["k", "kb", "kib"].contains(&unit).then_some(1.0)),
        "P" => taken("K", words).filter(|(_, value)| value.log2().fract() == 0.0),
        "Q" => taken("K", words).filter(|(_, value)| value.log2().fract() != 0.0),
        "B" => quantity(&|unit| bytes_of(unit).filter(|bytes| *bytes >= 1e6)),
        "T" => quantity(&seconds_of).or_else(|| seconds_of(word).filter(|s| *s >= 60.0).map(|s| (1, s))),
        "R" => quantity(&|unit| THROUGHPUT.iter().find(|(known, _)| *known == unit).map(|(_, bytes)| *bytes)),
        "M" => word
            .split_once('/')
            .filter(|(a, b)| [a, b].iter().all(|side| number(side).is_some()))
            .map(|_| (1, 0.0)),
        "S" => is_session(word).then_some((1, 0.0)),
        words => words.split('|').any(|known| known == word).then_some((1, 0.0)),
    }
}

/// A day, s.
const DAY_S: f64 = 86_400.0;

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "second" | "seconds" => 1.0,
        "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => DAY_S,
        "week" | "weeks" => 7.0 * DAY_S,
        "month" | "months" => 30.0 * DAY_S,
        "year" | "years" => 365.0 * DAY_S,
        _ => return None,
    })
}

/// A part of what stands for a pattern: `$1` as it was written, `=1/2` calculated.
fn written(part: &str, captures: &[Capture]) -> Vec<String> {
    if let Some(sum) = part.strip_prefix('=') {
        return vec![format!("{}", calculated(sum, captures))];
    }
    let Some(from) = part.strip_prefix('$') else { return vec![part.to_owned()] };
    let (index, behind) = from.split_at(1);
    let mut words = captured(index, captures).map_or_else(Vec::new, |capture| capture.words.clone());
    // A number in words is one in digits from here on.
    if let [word] = &mut words[..]
        && let Some(value) = number_word(word)
    {
        *word = format!("{value}");
    }
    if let Some(last) = words.last_mut() {
        last.push_str(behind);
    }
    words
}

/// `1*1000`, `1/2/1000000`: the first number and the ones behind it up to 9 are what was matched.
fn calculated(sum: &str, captures: &[Capture]) -> f64 {
    let mut value = 1.0;
    let mut is_divisor = false;
    for part in sum.split_inclusive(['*', '/']) {
        let text = part.trim_end_matches(['*', '/']);
        let factor = match captured(text, captures) {
            Some(capture) => capture.value,
            None => text.parse().unwrap_or(f64::NAN),
        };
        value = if is_divisor { value / factor } else { value * factor };
        is_divisor = part.ends_with('/');
    }
    value
}

fn captured<'c>(index: &str, captures: &'c [Capture]) -> Option<&'c Capture> {
    index.parse::<usize>().ok().and_then(|index| captures.get(index.checked_sub(1)?))
}
