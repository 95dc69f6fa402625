//! The words of a sizing question: cut apart, and without those that only make a sentence of it.

use assay_spec::{distance, nearest};

/// Words that change nothing in any question: they make a sentence of it. What could change an answer does not stand
/// here: it has a meaning of its own in [`super::question`], or it is refused.
const NOTHING: &[&str] = &[
    "bandwidth", "cluster", "datastore", "datastores", "movies", "page", "pages", "photos", "quote", "rac",
    "vdi", "warehouse", "esxi", "exchange", "hyper-v", "files", "home", "mssql", "must", "mysql", "offer",
    "oltp", "onto", "oracle", "please", "postgres", "postgresql", "mariadb", "mongodb", "proxmox",
    "kubernetes", "truenas", "veeam", "propose", "recommend", "sql", "throughput", "vmware", "vsphere",
    "after", "approximately", "around", "block", "blocks", "being", "database", "dataset", "even",
    "databases", "device", "devices", "during", "enough", "enterprise", "host", "hosts", "local", "mix",
    "mixed", "our", "percentile", "server", "servers", "roughly", "sufficient", "sustained", "total", "user",
    "vm", "workload", "a", "about", "all", "an", "and", "any", "are", "array", "arrays", "at", "be", "by",
    "can", "capacity", "carried", "carries", "carry", "concurrent", "data", "do", "does", "each", "every",
    "for", "from", "give", "handle", "has", "have", "how", "i", "if", "in", "is", "it", "left", "load",
    "many", "much", "my", "need", "needed", "needs", "of", "on", "or", "over", "per", "pulling", "rate",
    "required", "should", "space", "still", "storage", "support", "sustain", "system", "that", "the", "them",
    "there", "these", "this", "to", "under", "usable", "want", "was", "we", "what", "when", "which", "while",
    "will", "with", "would", "below", "better", "get", "out", "vs", "versus", "compare", "compared",
    "remains", "move", "archive", "windows", "sap", "hana", "elasticsearch", "splunk", "indexer", "log",
    "volume", "volumes", ",", "=", "x", "×", "*", "+", "-",
];

/// What a rate may be of each of.
pub(super) const SESSIONS: &[&str] = &[
    "sessions", "session", "users", "clients", "vms", "desktops", "guests", "mailboxes", "hosts", "nodes",
    "servers", "cameras", "editors", "streams", "workstations",
];
/// Whether a word counts sessions, one of them or several.
pub(super) fn is_session(word: &str) -> bool {
    SESSIONS.iter().any(|known| *known == word || one_of(known) == word)
}

/// The singular of what sessions are called.
pub(super) fn one_of(word: &str) -> &str {
    if word == "mailboxes" { "mailbox" } else { word.strip_suffix('s').unwrap_or(word) }
}

/// Words after the size of an I/O.
pub(super) const IO_WORDS: [&str; 6] = ["block", "blocks", "i/o", "i/os", "io", "ios"];
/// Units of throughput, and their bytes.
pub(super) const THROUGHPUT: &[(&str, f64)] = &[
    ("mbit/s", 125e3),
    ("kb/s", 1e3),
    ("mb/s", 1e6),
    ("gbyte/s", 1e9),
    ("kib/s", 1024.0),
    ("mib/s", 1_048_576.0),
    ("gib/s", 1_073_741_824.0),
];
/// Words before a device that are part of its name.
pub(super) const ATTRIBUTES: &[&str] = &[
    "rpm", "sas", "sata", "nl-sas", "nearline", "hard", "spinning", "rotating", "rotational", "mechanical",
    "enterprise", "flash", "gb", "gbyte", "tb", "k",
];
/// Those of them that are no unit of a number.
pub(super) const KINDS: &[&str] = &[
    "sas", "sata", "nl-sas", "nearline", "hard", "spinning", "rotating", "rotational", "mechanical",
    "enterprise",
];
/// What happens to a device that an array has to endure.
pub(super) const FAILURES: &[&str] = &[
    "failed", "fails", "fail", "failing", "failure", "failures", "degraded", "lost", "dies", "dead",
    "broken", "rebuilding", "rebuild", "rebuilt",
];
/// Words that a message may propose.
pub(super) const KNOWN: &[&str] = &[
    "iops", "read", "write", "random", "sequential", "p99", "mean", "raid10", "raid5", "raid6", "raidz2",
    "rpm", "ssd", "nvme", "hdd", "disks", "sessions", "tps", "active", "iscsi", "nfs", "fc", "failed",
    "rebuilding", "gbe",
];

/// The words of a question, in lower case; `gbit` and `gbyte` for what only its case tells apart.
pub(super) fn cut(text: &str) -> Vec<String> {
    let mut clean = String::with_capacity(text.len());
    let letters: Vec<char> = text.chars().collect();
    for (i, c) in letters.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
        match c {
            // 2,000 is a number, and `2000, 70 %` two of them.
            ',' if digit(i.checked_sub(1)) && digit(Some(i + 1)) => clean.push_str(comma(&letters, i)),
            '?' | '!' | '(' | ')' | '"' => clean.push(' '),
            // A comma ends what belongs together: `4 TB, SSD` is not the size of a drive.
            ',' | ';' => clean.push_str(" , "),
            '%' | '<' | '≤' | '>' | '≥' | '×' | '*' | '=' => clean.extend([' ', *c, ' ']),
            c => clean.push(*c),
        }
    }
    let words = clean.split_whitespace().map(|word| in_lower_case(word.trim_end_matches(['.', ':'])));
    words.collect()
}

/// Units of which a number is a fraction as often as not; sizes of I/Os and rates are whole numbers.
const OF_FRACTIONS: &[&str] =
    &["ms", "us", "µs", "s", "tb", "tib", "gb", "gib", "pb", "gb/s", "gib/s", "mb/s", "mib/s", "gbit/s"];

/// What stands for a comma between two digits.
///
/// It groups thousands in front of three digits, or begins a fraction: behind a 0, and in front of one or two digits of
/// a unit that has fractions. In front of three digits of a time it may be either, and stays, to be refused. Behind
/// digits of a name or of a mix (`RAID10,8k`, `raid 5,8 TB`, `70/30,8k`) it ends what belongs together.
fn comma(letters: &[char], at: usize) -> &'static str {
    let is_of_number = |c: &char| c.is_ascii_digit() || *c == ',';
    let start = letters[..at].iter().rposition(|c| !is_of_number(c)).map_or(0, |before| before + 1);
    let before = &letters[start..at];
    let end =
        letters[at + 1..].iter().position(|c| !c.is_ascii_digit()).map_or(letters.len(), |n| at + 1 + n);
    let behind: String = letters[end..].iter().collect();
    let unit = behind.trim_start().split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or("");
    let unit = unit.trim_end_matches(['.', '?', ')']).to_lowercase();
    let is_fraction = before == ['0'] || before.len() <= 3 && OF_FRACTIONS.contains(&unit.as_str());
    match end - at - 1 {
        _ if !begins_number(&letters[..start]) => " , ",
        3 if before == ['0'] => ".",
        3 if before.len() <= 3 && ["ms", "s"].contains(&unit.as_str()) => ",",
        3 => "",
        1 | 2 if is_fraction && !before.contains(&',') => ".",
        _ => " , ",
    }
}

/// Whether the digits behind these letters are a number, and no part of a name or of a mix.
fn begins_number(letters: &[char]) -> bool {
    let text: String = letters.iter().collect();
    let last_word = text.split_whitespace().last().unwrap_or("").to_lowercase();
    let names_level = text.ends_with(char::is_whitespace) && ["raid", "level"].contains(&last_word.as_str());
    let is_factor = text.ends_with('x') && text.trim_end_matches('x').ends_with(|c: char| c.is_ascii_digit());
    let is_part = text.ends_with(|c: char| c.is_alphanumeric() || ['/', '.', ':'].contains(&c));
    !names_level && (is_factor || !is_part)
}

/// Units whose case tells bits from bytes, and other spellings.
const SPELLINGS: &[(&[&str], &str)] = &[
    (&["Gb"], "gbit"),
    (&["GB"], "gbyte"),
    (&["GB/s", "GBps", "GB/sec", "GByte/s", "GBytes/s", "gbyte/sec"], "gbyte/s"),
    (&["Gb/s", "Gbps", "Gb/sec", "Gbits/s"], "gbit/s"),
    (&["MB/sec", "MBps", "mb/sec", "MByte/s", "MBytes/s", "mbyte/s"], "mb/s"),
    (&["Mb/s", "Mbps", "mbps", "Mb/sec", "Mbit/sec", "Mbits/s", "Mbit"], "mbit/s"),
    (&["MiB/sec", "MiBps"], "mib/s"),
    (&["reads/sec", "reads/second"], "reads/s"),
    (&["writes/sec", "writes/second"], "writes/s"),
    (&["IO/sec", "io/sec", "IOs/sec", "I/Os/sec", "ops/sec"], "ops/s"),
];

fn in_lower_case(word: &str) -> String {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let value = &word[..word.len() - unit.len()];
    match SPELLINGS.iter().find(|(spellings, _)| spellings.contains(&unit)) {
        Some((_, unit)) => format!("{value}{unit}"),
        None => word.to_lowercase(),
    }
}

/// Whether a word is there for the sentence only.
pub(super) fn means_nothing(word: &str) -> bool {
    word.is_empty() || NOTHING.contains(&word)
}

/// Numbers that people write as words.
const NUMBERS: &[(&str, f64)] = &[
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("eighty", 80.0),
    ("hundred", 100.0),
];

/// The number that a word means.
pub(super) fn number_word(word: &str) -> Option<f64> {
    NUMBERS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// A number and what is written to it: `20ms`, `7200`, `8kib`; `None` for a word.
pub(super) fn number(word: &str) -> Option<(f64, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    Some((digits.parse().ok()?, unit))
}

/// Bytes of a unit of size; a bare `k` is the field's 1024.
pub(super) fn bytes_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "b" | "byte" | "bytes" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "m" | "mb" => 1e6,
        "gib" => 1_073_741_824.0,
        "g" | "gb" | "gbyte" => 1e9,
        "tib" => 1_099_511_627_776.0,
        "t" | "tb" => 1e12,
        "pb" => 1e15,
        _ => return None,
    })
}

/// The known word that was probably meant, as the end of a message: one that keeps more than half of the letters.
pub(super) fn meant(word: &str) -> Option<String> {
    let keeps = |known: &&str| distance(word, known) * 2 < word.chars().count();
    let near = nearest(word, KNOWN.iter().copied()).filter(keeps);
    near.map(|known| format!("; did you mean `{known}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_belong_to_a_number_and_other_commas_do_not() {
        assert_eq!(cut("2,000 IOPS, 70% read"), ["2000", "iops", ",", "70", "%", "read"]);
        assert_eq!(cut("2000,70 % reads?"), ["2000", ",", "70", "%", "reads"]);
        assert_eq!(cut("10Gb NFS, 500 GB"), ["10gbit", "nfs", ",", "500", "gbyte"]);
        assert_eq!(number("20ms"), Some((20.0, "ms")));
        assert_eq!(number("1.5tb"), Some((1.5, "tb")));
        assert_eq!(number("raid10"), None);
    }
}
