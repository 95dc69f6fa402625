//! The grammar of a sizing question, as a table: what people write, and the words that [`super::question`] knows.
//!
//! Rewriting goes over the words once, from left to right, and takes the longest phrase that fits. What a table
//! cannot hold, because it depends on a number, are the four rules behind it.

use super::words::number;

/// Words, and the words that stand for them.
const PHRASES: &[(&[&str], &[&str])] = &[
    // Rates.
    (&["operations", "per", "second"], &["iops"]),
    (&["requests", "per", "second"], &["iops"]),
    (&["ops", "per", "second"], &["iops"]),
    (&["ops/s"], &["iops"]),
    (&["ops"], &["iops"]),
    // Sizes.
    (&["bs"], &["block"]),
    (&["blocksize"], &["block"]),
    (&["block", "size"], &["block"]),
    (&["i/o", "size"], &["block"]),
    (&["io", "size"], &["block"]),
    (&["terabytes"], &["tb"]),
    (&["terabyte"], &["tb"]),
    (&["gigabytes"], &["gbyte"]),
    (&["gigabyte"], &["gbyte"]),
    (&["petabytes"], &["pb"]),
    (&["petabyte"], &["pb"]),
    (&["kilobytes"], &["kb"]),
    // Mixes.
    (&["all", "reads"], &["read", "only"]),
    (&["all", "writes"], &["write", "only"]),
    (&["half", "reads", "half", "writes"], &["50", "%", "read"]),
    (&["half", "reads", "and", "half", "writes"], &["50", "%", "read"]),
    (&["half", "reads"], &["50", "%", "read"]),
    (&["half", "writes"], &["50", "%", "write"]),
    (&["two", "thirds", "reads"], &["66.7", "%", "read"]),
    (&["two", "thirds", "writes"], &["66.7", "%", "write"]),
    (&["one", "third", "writes"], &["33.3", "%", "write"]),
    (&["fully", "random"], &["random"]),
    (&["purely", "random"], &["random"]),
    (&["purely", "sequential"], &["sequential"]),
    (&["read:write"], &["read/write"]),
    // Latency.
    (&["milliseconds"], &["ms"]),
    (&["millisecond"], &["ms"]),
    (&["microseconds"], &["us"]),
    (&["sub-millisecond"], &["mean", "1", "ms"]),
    (&["submillisecond"], &["mean", "1", "ms"]),
    (&["sub-ms"], &["mean", "1", "ms"]),
    (&["99", "%", "below"], &["p99", "below"]),
    (&["99", "%", "under"], &["p99", "under"]),
    (&["99", "%", "within"], &["p99", "within"]),
    (&["99", "%", "of", "i/os", "below"], &["p99", "below"]),
    (&["99", "%", "of", "i/os", "under"], &["p99", "under"]),
    (&["99", "%", "of", "i/os", "within"], &["p99", "within"]),
    // Devices.
    (&["solid", "state"], &["ssd"]),
    (&["solid-state"], &["ssd"]),
    (&["all", "flash"], &["flash"]),
    (&["a", "dozen"], &["12"]),
    (&["one", "dozen"], &["12"]),
    (&["two", "dozen"], &["24"]),
    (&["three", "dozen"], &["36"]),
    (&["dozen"], &["12"]),
    (&["a", "hundred"], &["100"]),
    (&["a", "thousand"], &["1000"]),
    (&["maximum", "of"], &["maximum"]),
    (&["max", "of"], &["max"]),
    (&["minimum", "of"], &["minimum"]),
    (&["down"], &["failed"]),
    // Levels.
    (&["double", "parity"], &["raid6"]),
    (&["dual", "parity"], &["raid6"]),
    (&["single", "parity"], &["raid5"]),
    (&["triple", "parity"], &["raidz3"]),
    (&["striped", "mirrors"], &["mirrored"]),
    // Sessions.
    (&["virtual", "machines"], &["vms"]),
    (&["virtual", "machine"], &["vms"]),
    (&["virtual", "servers"], &["vms"]),
    (&["virtual", "desktops"], &["desktops"]),
    (&["vdi", "desktops"], &["desktops"]),
    (&["vdi", "users"], &["desktops"]),
    (&["containers"], &["vms"]),
    // Networks.
    (&["nvme/tcp"], &["nvme-tcp"]),
    (&["nvme", "over", "tcp"], &["nvme-tcp"]),
];

/// Numbers that people write as words behind a number.
const SCALES: &[(&str, f64)] = &[("thousand", 1e3), ("million", 1e6), ("billion", 1e9)];
/// Words for devices that a range of numbers counts.
const COUNTED: &[&str] = &["disks", "drives", "spindles", "hdds", "ssds", "devices"];
/// What may be between a number and the I/Os that it counts: `5000 random read IOPS`.
const ADJECTIVES: &[&str] = &["random", "sequential", "read", "write"];

/// Rewrites the words of a question into those that are known.
pub(super) fn rewritten(words: Vec<String>) -> Vec<String> {
    let words = by_table(&words.into_iter().flat_map(split).collect::<Vec<_>>());
    adjectives(ranges(&scaled(words)))
}

/// `12x4tb`, `3000+`, `~3000`, `70:30` and `70r/30w` as separate, plain words.
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
    let sides = word.split_once([':', '/']).map(|(a, b)| (a.trim_end_matches('r'), b.trim_end_matches('w')));
    match sides {
        Some((reads, writes)) if [reads, writes].iter().all(|side| matches!(number(side), Some((_, "")))) => {
            vec![format!("{reads}/{writes}")]
        }
        _ => vec![word],
    }
}

fn by_table(words: &[String]) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let fits = |phrase: &[&str]| {
            words
                .get(at..at + phrase.len())
                .is_some_and(|found| found.iter().zip(phrase).all(|(a, b)| a == b))
        };
        let longest = PHRASES.iter().filter(|(from, _)| fits(from)).max_by_key(|(from, _)| from.len());
        match longest {
            Some((from, to)) => {
                out.extend(to.iter().map(|word| (*word).to_owned()));
                at += from.len();
            }
            None => {
                out.push(word.clone());
                at += 1;
            }
        }
    }
    out
}

/// `20 thousand` as `20000`; `two million` too.
fn scaled(words: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let scale = SCALES.iter().find(|(known, _)| *known == word).map(|(_, scale)| *scale);
        let before = out.last().and_then(|last| match number(last) {
            Some((value, "")) => Some(value),
            _ => super::words::number_word(last),
        });
        match (scale, before) {
            (Some(scale), Some(value)) => {
                out.pop();
                out.push(format!("{}", value * scale));
            }
            _ => out.push(word),
        }
    }
    out
}

/// `between 8 and 24 disks`, `8 to 24 disks` and `8-24 disks` as two limits.
fn ranges(words: &[String]) -> Vec<String> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let whole = |text: &str| matches!(number(text), Some((_, "")));
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let joined = word(at).split_once('-').filter(|(a, b)| whole(a) && whole(b));
        let (least, most, device, taken) = match joined {
            Some((a, b)) => (a, b, word(at + 1), 2),
            None if word(at) == "between" && word(at + 2) == "and" => {
                (word(at + 1), word(at + 3), word(at + 4), 5)
            }
            None => (word(at), word(at + 2), word(at + 3), if word(at + 1) == "to" { 4 } else { 0 }),
        };
        if taken > 0 && whole(least) && whole(most) && COUNTED.contains(&device) {
            let said = ["at", "least", least, device, ",", "at", "most", most, device];
            out.extend(said.map(str::to_owned));
            at += taken;
        } else {
            out.push(word(at).to_owned());
            at += 1;
        }
    }
    out
}

/// `5000 random 8k read iops` as `5000 iops , random , 8k , read only`.
fn adjectives(words: Vec<String>) -> Vec<String> {
    let Some(end) = words.iter().position(|word| word == "iops") else { return words };
    let is_size = |word: &str| matches!(number(word), Some((_, "k" | "kb" | "kib")));
    let is_said = |word: &String| ADJECTIVES.contains(&word.as_str()) || is_size(word);
    let mut begin = end;
    while begin > 0 && is_said(&words[begin - 1]) {
        begin -= 1;
    }
    // `2k iops`: the number itself looks like a size.
    if begin < end && begin == 0 || begin > 0 && number(&words[begin - 1]).is_none() {
        begin += usize::from(begin < end && is_size(&words[begin]));
    }
    let counts = begin > 0 && begin < end && number(&words[begin - 1]).is_some();
    if !counts {
        return words;
    }
    let mut out: Vec<String> = words[..begin].to_vec();
    out.push("iops".to_owned());
    for word in &words[begin..end] {
        out.push(",".to_owned());
        out.push(word.clone());
        if ["read", "write"].contains(&word.as_str()) {
            out.push("only".to_owned());
        }
    }
    // Two of them next to each other would be one phrase with what follows.
    out.push(",".to_owned());
    out.extend(words[end + 1..].iter().cloned());
    out
}
