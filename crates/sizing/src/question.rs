//! Reads a sizing question as people write it: "2000 IOPS, 70 % read, 8 KiB, p99 20 ms, 10 TB, RAID10, 7200 rpm".

mod devices;
mod limits;
mod links;
mod shares;
mod streams;
mod survival;

use std::fmt;

use assay_model::array::{Level, LinkRate, ProtocolKind};
use assay_spec::units::{Bytes, KIB, MIB};

use devices::{Kind, is_speed};
use limits::Limit;
use links::{LINK_UNITS, of_network};
use shares::Shares;
use streams::{Throughput, VIDEO, no_grouping_by_points, of_stream_size, picture};

use super::phrases::{explained, rewritten};
use super::words::{
    FAILURES, KINDS, KNOWN, SESSIONS, THROUGHPUT, bytes_of, cut, means_nothing, meant, number, number_word,
    one_of,
};
use super::{CLASSES, Class, Endure, LatencyLimit, LeftOpen, Need, Question};

/// The largest size that is taken for that of an I/O; more is an amount of data.
const IO_MAX: f64 = 16.0 * MIB as f64;
/// A sector: devices take nothing smaller.
const IO_MIN: f64 = 512.0;
/// The size of the I/Os of a stream, where none is said: that of backup software and of copies.
const STREAM_SIZE: f64 = MIB as f64;
/// Words for the devices of an array.
const DEVICES: &[&str] =
    &["disks", "drives", "disk", "drive", "spindles", "hdds", "hdd", "ssds", "ssd", "members", "nvme"];
/// Networks, which are not protocols.
const NETWORKS: &[&str] = &["ethernet", "network", "lan", "link", "nic", "nas", "san"];
/// Why a question was not understood. The message is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionError(String);

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QuestionError {}

/// Sets what a question says once; the same again is no contradiction.
fn once(slot: &mut Option<f64>, value: f64, unit: &str) -> Result<(), QuestionError> {
    let show = |value: f64| match unit.strip_prefix("bytes ") {
        Some(of) => format!("{} {of}", whole(value)),
        None => format!("{value} {unit}"),
    };
    match slot.replace(value) {
        Some(before) if before != value => refuse(format!(
            "{} and {}: a question has one load; ask for each by itself",
            show(before),
            show(value)
        )),
        _ => Ok(()),
    }
}

fn refuse<T>(says: String) -> Result<T, QuestionError> {
    Err(QuestionError(says))
}

/// What the words said so far.
#[derive(Default)]
struct Reading {
    words: Vec<String>,
    next: usize,

    iops: Option<f64>,
    /// I/Os per second of each session.
    iops_each: Option<f64>,
    sessions: Option<f64>,
    /// What they were called.
    session_word: Option<String>,
    per_second: Option<f64>,
    ios_each: Option<f64>,
    reads_per_s: Option<f64>,
    writes_per_s: Option<f64>,
    size: Option<f64>,
    shares: Shares,
    /// The last word that a time belongs to.
    about: Option<About>,
    limit: Option<LatencyLimit>,
    data: Option<f64>,
    active: Option<f64>,
    disk_size: Option<f64>,
    /// A capacity in front of a class of devices.
    in_front: Option<f64>,
    /// Whether `disk_size` stood in front of devices.
    is_in_front: bool,
    disks: Option<f64>,
    disks_most: Option<f64>,
    disks_least: Option<f64>,
    /// What the last word says of the number that follows.
    pending: Option<Limit>,
    classes: Vec<Class>,
    kind: Kind,
    levels: Vec<Level>,
    links: Vec<LinkRate>,
    protocol: Option<ProtocolKind>,
    endure: Option<Endure>,
    brings: bool,
    /// A word for a network, which does not say what link it is.
    network: Option<String>,
    throughput: Option<Throughput>,
    /// Bytes that have to be moved, which are data that must fit where nothing else is said.
    moved: Option<f64>,
    /// Data of each session.
    data_each: Option<f64>,
    /// Whether everything is said of each session: `100 VMs each 50 IOPS and 20 GB`.
    all_each: bool,
    /// Words for what each of something was said of: `500 GB per host`.
    each_of: Vec<String>,
    /// Failures, of whichever devices, after which the data must be there.
    survived: Option<f64>,
    /// Time for which a stream is kept, s.
    kept_s: Option<f64>,
    /// Words that mean nothing here.
    unknown: Vec<String>,
    /// What is taken for words that can mean more.
    notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Mean,
    /// Latency, without saying which.
    Any,
    P99,
}

/// Reads a question.
///
/// # Errors
/// All words that mean nothing here, or the first number that cannot be.
pub fn parse(text: &str) -> Result<Question, QuestionError> {
    let words = cut(text);
    words.iter().try_for_each(|word| no_grouping_by_points(word))?;
    let mut reading = Reading { words: rewritten(words), ..Reading::default() };
    if let Some(says) = picture(&reading.words) {
        return refuse(says);
    }
    let mut says = explained(&mut reading.words);
    let read = reading.read();
    // What follows from words that are missing is no news.
    says.extend(unknown_words(&reading.unknown));
    if !says.is_empty() {
        return refuse(says.join("; "));
    }
    read?;
    let lower = text.to_lowercase();
    let how_many =
        lower.contains("how many") && !lower.contains("how many io") && !lower.contains("how many i/o");
    reading.settle_survival()?;
    reading.each_is_of_what_is_counted()?;
    reading.question(how_many)
}

/// The sentence on words that mean nothing here, all of them.
fn unknown_words(words: &[String]) -> Option<String> {
    let how = "write it like \"2000 IOPS, 70 % read, 8 KiB, p99 20 ms, 10 TB, RAID10, 7200 rpm\"";
    match words {
        [] => None,
        [word] => Some(format!(
            "`{word}` is not understood in a sizing question{}; {how}",
            meant(word).unwrap_or_default()
        )),
        words => {
            let each = words.iter().map(|word| format!("`{word}`"));
            let near: String = words.iter().filter_map(|word| meant(word)).collect();
            let all: Vec<String> = each.collect();
            Some(format!("{} are not understood in a sizing question{near}; {how}", all.join(", ")))
        }
    }
}

impl Reading {
    fn read(&mut self) -> Result<(), QuestionError> {
        while let Some(word) = self.take() {
            if let Some(value) = word.strip_prefix('-').filter(|value| number(value).is_some()) {
                return refuse(format!("-{value}: rates, sizes, shares and times are not negative"));
            }
            match number(&word) {
                Some((value, "")) => self.count(value)?,
                Some((value, unit)) => self.quantity(value, unit)?,
                None => match number_word(&word) {
                    Some(value) => self.count_in_words(&word, value)?,
                    None => self.word(&word)?,
                },
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Option<String> {
        let word = self.words.get(self.next).cloned();
        self.next += 1;
        word
    }

    fn peek(&self) -> &str {
        self.words.get(self.next).map_or("", String::as_str)
    }

    /// Takes the next word if it is one of these.
    fn accept(&mut self, words: &[&str]) -> bool {
        let is = words.contains(&self.peek());
        self.next += usize::from(is);
        is
    }

    /// A number without a unit of its own: of devices that have failed, of devices that come next (`24 15k disks`), or
    /// of what the next word says.
    fn count(&mut self, value: f64) -> Result<(), QuestionError> {
        if self.failure_follows() {
            // `12 disks, 1 failed`: the word after it says so.
            if value != 1.0 {
                return refuse(format!(
                    "{value} failed devices: a question asks for one; set `raid.failed` in an array file to start from \
                     an array that has lost others"
                ));
            }
            return Ok(());
        }
        if self.device_words_until(&["less", "fewer"]) {
            // The answer has it for one step.
            return Ok(());
        }
        if is_speed(value) && self.level_or_end_follows() {
            // `12 disks 7200 RAID6`.
            return self.spindle(value);
        }
        let is_attribute = number(self.peek()).is_some() || KINDS.contains(&self.peek());
        let unit = match is_attribute && self.device_follows() {
            true => "disks".to_owned(),
            false => self.take().unwrap_or_default(),
        };
        self.quantity(value, &unit)
    }

    /// `two nodes` is refused; `one` may count something, or mean nothing: `which one`.
    fn count_in_words(&mut self, word: &str, value: f64) -> Result<(), QuestionError> {
        let counted = ["million", "i/o", "io", "i/os", "tps", "transaction", "transactions", "x", "×", "*"];
        let counts = self.device_follows()
            || SESSIONS.contains(&self.peek())
            || counted.contains(&self.peek())
            || self.failure_follows();
        if counts {
            return self.count(value);
        }
        if value == 1.0 {
            return Ok(());
        }
        refuse(format!(
            "{word} {}: a question counts disks, sessions, users, VMs and I/Os; leave other counts out",
            self.peek()
        ))
    }

    /// A rate; of each session where it says so: `50 IOPS each`, `200 VMs x 30 IOPS`.
    fn rate(&mut self, per_s: f64) -> Result<(), QuestionError> {
        // The rate that must be carried is the same, whether more or less of it is asked for.
        self.pending = None;
        let is_factor = self.sessions.is_some() && ["x", "×", "*"].contains(&self.before_size(0));
        self.limit_behind();
        match self.accept(&["each"]) || is_factor {
            true => once(&mut self.iops_each, per_s, "IOPS each"),
            false => once(&mut self.iops, per_s, "IOPS"),
        }
    }

    fn quantity(&mut self, value: f64, unit: &str) -> Result<(), QuestionError> {
        if let Some((_, bytes)) = THROUGHPUT.iter().find(|(known, _)| *known == unit) {
            // What I/Os are meant may be said after it.
            return self.bytes_per_s(value, unit, *bytes);
        }
        match unit {
            "iops" => self.rate(value)?,
            "m" if self.accept(&["iops"]) => self.rate(value * 1e6)?,
            "bytes-moved" => self.moved = Some(value),
            "seconds-kept" => self.kept_s = Some(value),
            "th" if value == 99.0 => {
                self.accept(&["percentile"]);
                self.about = Some(About::P99);
            }
            unit if unit.starts_with('/') && number(&unit[1..]).is_some() => self.split(value, unit)?,
            "gfc" => self.link(&format!("{value}GFC"))?,
            unit if LINK_UNITS.contains(&unit) || of_network(unit, self.peek()) => {
                if unit == "gbit"
                    && ["of", "data", "active", "each", "disks", "drives"].contains(&self.peek())
                {
                    return self.data_or_link(value, "Gb");
                }
                let is_fibre = unit != "gbe" && (self.peek() == "fc" || self.peek() == "fibre");
                self.link(&format!("{value}{}", if is_fibre { "GFC" } else { "GbE" }))?;
            }
            "gb" | "g" | "gbyte" if self.may_be_link(unit) => return self.data_or_link(value, unit),
            "reads" | "writes" | "reads/s" | "writes/s" => self.of_one_kind(value, unit)?,
            "i/o" | "i/os" | "io" | "ios" => self.ios(value)?,
            unit if unit == "concurrent" || SESSIONS.contains(&unit) => self.count_sessions(value, unit)?,
            "tps" => once(&mut self.per_second, value, "transactions per second")?,
            "transactions" | "transaction" => {
                return refuse(format!(
                    "{value} {unit}: say how many per second, and the I/Os of each, as in \"{value} tps x 4 I/Os\""
                ));
            }
            "%" | "percent" => self.share(value)?,
            "ms" => self.time(value)?,
            "us" | "µs" => self.time(value / 1e3)?,
            "s" | "seconds" => self.time(value * 1e3)?,
            "rpm" => self.spindle(value)?,
            "k" if self.is_speed_in_k(value) => {
                self.accept(&["rpm", "sas", "disks", "drives", "hdd", "hdds"]);
                self.spindle((value * 1e3).round())?;
            }
            "disks" | "drives" | "disk" | "drive" | "members" => self.devices(value)?,
            "hdd" | "hdds" | "spindles" => {
                self.devices(value)?;
                self.rotating();
            }
            "ssd" | "ssds" | "flash" => {
                self.devices(value)?;
                self.class("ssd");
            }
            "nvme" => {
                self.devices(value)?;
                self.class("nvme");
            }
            "x" | "×" | "*" => self.times(value)?,
            unit => match bytes_of(unit) {
                Some(bytes) => self.bytes(value * bytes)?,
                None => return self.unknown_unit(value, unit),
            },
        }
        self.no_limit_on(value, unit)
    }

    /// `500 users`, `500 concurrent sessions`.
    fn count_sessions(&mut self, value: f64, unit: &str) -> Result<(), QuestionError> {
        let next = self.peek().to_owned();
        let counted = if self.accept(SESSIONS) { next } else { unit.to_owned() };
        self.session_word.get_or_insert(counted);
        once(&mut self.sessions, value, "sessions")
    }

    /// `70/30`, as people write 70 % reads and 30 % writes.
    fn split(&mut self, reads: f64, unit: &str) -> Result<(), QuestionError> {
        let writes = number(&unit[1..]).map_or(0.0, |(writes, _)| writes);
        if (reads + writes - 100.0).abs() > 0.5 {
            return refuse(format!(
                "{reads}{unit}: shares of reads and writes add up to 100; write it like 70/30, or 70 % read"
            ));
        }
        let said = format!("{reads}{unit}");
        match self.take().as_deref() {
            Some("write/read" | "w/r" | "write" | "writes") => self.shares.reads(100.0 - reads, said),
            Some("random/sequential") => self.shares.random(reads, said),
            Some("read/write" | "r/w" | "rw" | "mix" | "read" | "reads" | "mixed") => {
                self.shares.reads(reads, said)
            }
            _ => {
                // Nothing said: reads come first.
                self.next -= 1;
                self.shares.reads(reads, said)
            }
        }
    }

    fn unknown_unit(&self, value: f64, unit: &str) -> Result<(), QuestionError> {
        if unit.is_empty() || means_nothing(unit) || KNOWN.contains(&unit) || Level::named(unit).is_some() {
            return refuse(format!(
                "{value}: a number needs a unit here, like 2000 IOPS, 70 % read, 8 KiB, 20 ms, 10 TB, 12 disks"
            ));
        }
        let near = meant(unit).unwrap_or_default();
        refuse(format!("`{value} {unit}`: the unit `{unit}` is not known here{near}"))
    }

    /// `4 I/Os per transaction`.
    fn ios(&mut self, value: f64) -> Result<(), QuestionError> {
        self.accept(&["per", "a", "each"]);
        self.accept(&["transaction"]);
        once(&mut self.ios_each, value, "I/Os each")
    }

    /// `500 reads/s and 200 writes/s`: a rate and a mix.
    fn of_one_kind(&mut self, value: f64, unit: &str) -> Result<(), QuestionError> {
        self.pending = None;
        match unit {
            "reads/s" => once(&mut self.reads_per_s, value, unit),
            "writes/s" => once(&mut self.writes_per_s, value, unit),
            kind => refuse(format!(
                "{value} {kind}: say how many per second, or write {value} I/Os and the share of reads"
            )),
        }
    }

    /// `500 x 20 tps` and `500 x 20 IOPS` are products; `24 x 7200 rpm` a number of disks; `2 x 10 GbE` are several
    /// links.
    fn times(&mut self, value: f64) -> Result<(), QuestionError> {
        if self.link_follows() {
            if value == 1.0 {
                return Ok(());
            }
            return refuse(format!(
                "{value} links: a question has one; describe several paths in an array file (`paths.count`), and name \
                 it with --array"
            ));
        }
        if let Some((each, words)) = self.rate_each() {
            self.next += words;
            self.accept(&["each"]);
            once(&mut self.sessions, value, "sessions")?;
            return once(&mut self.iops_each, each, "IOPS each");
        }
        let device = self.words[self.next.min(self.words.len())..].iter().take(3);
        match device.clone().any(|w| ["tps", "i/os", "ios", "i/o", "transactions"].contains(&w.as_str())) {
            true if self.sessions.is_none() => self.sessions = Some(value),
            true => self.per_second = Some(value),
            false => self.devices(value)?,
        }
        Ok(())
    }

    /// The rate that comes next, and the number of its words.
    fn rate_each(&self) -> Option<(f64, usize)> {
        let word = |ahead: usize| self.words.get(self.next + ahead).map_or("", String::as_str);
        match number(word(0))? {
            (value, "") if word(1) == "iops" => Some((value, 2)),
            _ => None,
        }
    }

    fn share(&mut self, value: f64) -> Result<(), QuestionError> {
        if !(0.0..=100.0).contains(&value) {
            return refuse(format!("{value} %: a share lies between 0 and 100 %"));
        }
        let of = match self.peek() {
            // `reads 70 %`.
            "" | "," | "and" | "/" => Some(self.before_size(0).to_owned()),
            _ => self.take(),
        };
        match of.as_deref() {
            Some("read" | "reads" | "reading") => self.shares.reads(value, format!("{value} % read")),
            Some("write" | "writes" | "writing") => {
                self.shares.reads(100.0 - value, format!("{value} % write"))
            }
            Some("random" | "rand") => self.shares.random(value, format!("{value} % random")),
            Some("sequential" | "seq") => self.shares.random(100.0 - value, format!("{value} % sequential")),
            other => {
                let found = other.map_or(String::new(), |word| format!(", not `{word}`"));
                refuse(format!("{value} %: say of what: read, write, random or sequential{found}"))
            }
        }
    }

    fn time(&mut self, ms: f64) -> Result<(), QuestionError> {
        if ms <= 0.0 {
            return refuse(format!("{ms} ms: a limit on latency is above 0"));
        }
        let behind = self.limit_behind();
        self.pending = self.pending.or(behind);
        self.upper_limit(ms)?;
        let after = self.peek().to_owned();
        if self.shares.of_them && matches!(self.about, None | Some(About::Any)) {
            return refuse(format!(
                "{ms} ms of a share of the I/Os: limits are on the mean or on p99, as in \"p99 {ms} ms\"; a mix stands \
                 by itself, as in \"70 % read,\""
            ));
        }
        let about = match after.as_str() {
            "p99" | "mean" | "average" | "avg" => {
                self.take().map(|word| if word == "p99" { About::P99 } else { About::Mean })
            }
            "latency" | "response" => self.about.take().or(Some(About::Any)),
            _ => self.about.take(),
        };
        let limit = match about {
            Some(About::P99) => LatencyLimit::P99Ms(ms),
            Some(About::Mean) => LatencyLimit::MeanMs(ms),
            Some(About::Any) => {
                self.notes
                    .push("The limit is on the mean latency, because no percentile was given.".to_owned());
                LatencyLimit::MeanMs(ms)
            }
            None => return refuse(format!("{ms} ms: say of which latency: p99 {ms} ms, or mean {ms} ms")),
        };
        match self.limit.replace(limit) {
            Some(before) if before != limit => {
                refuse("two limits on latency: a question has one, on the mean or on p99".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), QuestionError> {
        if word == "," {
            self.shares.of_them = false;
        }
        if self.limit_word(word)? || self.device_word(word) {
            return Ok(());
        }
        match word {
            "p99" => self.about = Some(About::P99),
            "mean" | "average" | "avg" => self.about = Some(About::Mean),
            // `How many IOPS`: the rate is asked for.
            "iops" => {}
            "max" | "maximum" | "worst" | "highest" if ["latency", "response"].contains(&self.peek()) => {
                return refuse(format!("{word} {}: limits are on the mean or on p99", self.peek()));
            }
            "latency" | "response" => self.about = self.about.or(Some(About::Any)),
            "time" => {}
            "random" | "sequential" => self.shares.order(word)?,
            "read-only" | "readonly" => self.shares.only("read")?,
            "write-only" | "writeonly" => self.shares.only("write")?,
            "read" | "reads" | "write" | "writes" if self.accept(&["only"]) => {
                self.shares.only(word.trim_end_matches('s'))?;
            }
            "mostly" | "mainly" => {
                return refuse(format!("{word} {}: write the share, as in 90 % read", self.peek()));
            }
            "spare" | "spares" | "hot" => {
                return refuse(
                    "hot spares take no load: leave them out, and count the disks that hold data or parity"
                        .to_owned(),
                );
            }
            "read" | "reads" => self.shares.bare_reads = true,
            "write" | "writes" => self.shares.bare_writes = true,
            "survive" => self.survive()?,
            "of-them" => self.shares.of_them = true,
            word if word.ends_with(":each") => {
                self.each_of.push(word.trim_end_matches(":each").to_owned());
            }
            "all-each" => self.all_each = true,
            "peak" | "steady" => self.notes.push("The rate is taken to last, at its peak or not.".to_owned()),
            "mirrors" | "mirrored" | "mirroring" => self.levels.push(Level::Raid10),
            "smb" | "cifs" => self.protocol = Some(ProtocolKind::Smb),
            "iscsi" => self.protocol = Some(ProtocolKind::Iscsi),
            "nfs" => self.protocol = Some(ProtocolKind::Nfs),
            "fc" => self.protocol = Some(ProtocolKind::FibreChannel),
            "nvme-tcp" => self.protocol = Some(ProtocolKind::NvmeTcp),
            "rebuilding" | "rebuild" | "rebuilt" => self.endure = Some(Endure::Rebuilding),
            word if FAILURES.contains(&word) => self.endure = self.endure.or(Some(Endure::Failed)),
            "bring" | "brings" | "gain" | "gains" | "faster" => self.brings = true,
            "raid" => self.raid()?,
            "fibre" if self.accept(&["channel"]) => self.protocol = Some(ProtocolKind::FibreChannel),
            word if NETWORKS.contains(&word) || word == "fibre" => self.network = Some(word.to_owned()),
            word if means_nothing(word) || VIDEO.contains(&word) && word != "raw" => {}
            word if SESSIONS.contains(&word) => {
                return refuse(format!(
                    "`{word}` without a number: say how many, as in \"100 {word} with 50 IOPS each\", or leave it out"
                ));
            }
            word => return self.level(word),
        }
        Ok(())
    }

    /// `RAID 6`, `RAID level 6`; `which RAID level` leaves it open.
    fn raid(&mut self) -> Result<(), QuestionError> {
        let is_asked = self.next > 1 && ["what", "which"].contains(&self.words[self.next - 2].as_str());
        let is_level = self.accept(&["level", "levels"]);
        let named = format!("raid{}", self.peek());
        let is_name = named.contains(|c: char| c.is_ascii_digit()) || Level::named(&named).is_some();
        let is_amount = self.words.get(self.next + 1).is_some_and(|unit| bytes_of(unit).is_some());
        match is_level || is_asked {
            true if !is_name || is_amount => return Ok(()),
            false if !is_name => return refuse("`raid`: say which level, as in RAID10".to_owned()),
            _ => self.next += 1,
        }
        self.level(&named)
    }

    fn level(&mut self, word: &str) -> Result<(), QuestionError> {
        if let Some(level) = Level::named(word).filter(|_| !word.starts_with(|c: char| c.is_ascii_digit())) {
            self.levels.push(level);
            return Ok(());
        }
        if word.starts_with('p') && number(&word[1..]).is_some() {
            return refuse(format!(
                "{word}: limits are on the mean or on p99; other percentiles are not predicted"
            ));
        }
        if !self.unknown.iter().any(|known| known == word) {
            self.unknown.push(word.to_owned());
        }
        Ok(())
    }

    /// What the sessions are called.
    fn session_name(&self) -> &str {
        match self.session_word.as_deref() {
            None | Some("concurrent") => "sessions",
            Some("vms") => "VMs",
            Some(word) => word,
        }
    }

    /// Refuses `100 VMs, 500 GB per host`, which says nothing of a VM.
    fn each_is_of_what_is_counted(&self) -> Result<(), QuestionError> {
        let (Some(sessions), Some(counted)) = (self.sessions, &self.session_word) else { return Ok(()) };
        let other = self.each_of.iter().find(|each| one_of(each) != one_of(counted));
        let Some(other) = other else { return Ok(()) };
        let of = self.session_name();
        refuse(format!(
            "{sessions} {of}, and an amount of each {}: say what each of the {of} has, as in \
             \"100 VMs, 50 IOPS per VM\"",
            one_of(other)
        ))
    }

    /// The rate that is needed; what was assumed for it is added to the list.
    fn needed_rate(&self, assumed: &mut Vec<String>) -> Result<Option<f64>, QuestionError> {
        let of = self.session_name();
        if let (Some(sessions), None, Some(iops)) = (self.sessions, self.per_second, self.iops) {
            return refuse(format!(
                "{sessions} {of} and {iops} IOPS: say \"{iops} IOPS each\", or leave out the {of}"
            ));
        }
        if self.iops_each.is_some() && self.sessions.is_none() {
            return refuse("IOPS each: say of how many, as in \"100 VMs with 50 IOPS each\"".to_owned());
        }
        let product = match (self.sessions, self.per_second) {
            (None, None) => None,
            (Some(sessions), _) if self.iops_each.is_some() => self.iops_each.map(|each| sessions * each),
            (Some(sessions), None) => {
                return refuse(format!(
                    "{sessions} {of}: say what each does, as in \"{sessions} {of} x 20 tps\" or \"{sessions} {of} \
                     with 50 IOPS each\""
                ));
            }
            (sessions, per_second) => {
                if self.ios_each.is_none() {
                    assumed
                        .push("Each transaction counts as one I/O; write \"x 4 I/Os\" for more.".to_owned());
                }
                Some(sessions.unwrap_or(1.0) * per_second.unwrap_or(1.0) * self.ios_each.unwrap_or(1.0))
            }
        };
        let of_kinds = match (self.reads_per_s, self.writes_per_s) {
            (None, None) => None,
            (reads, writes) => Some(reads.unwrap_or(0.0) + writes.unwrap_or(0.0)),
        };
        if of_kinds.is_some() && (self.iops.is_some() || product.is_some() || self.shares.has_reads()) {
            return refuse(
                "reads or writes per second, and a rate or a share of reads: give one of the two".to_owned(),
            );
        }
        let iops = self.iops.or(product).or(of_kinds);
        if iops.is_some_and(|iops| !(1.0..=1e9).contains(&iops)) {
            return refuse(format!(
                "{} IOPS: a rate lies between 1 and 1,000,000,000",
                iops.unwrap_or_default()
            ));
        }
        Ok(iops)
    }

    /// Whose the data are, where sessions are counted.
    fn whose_data(&self) -> Option<String> {
        let (data, _) = self.data.zip(self.sessions)?;
        let of = self.session_name();
        let says =
            if self.all_each { format!("of each of the {of}") } else { format!("of all {of} together") };
        Some(format!("{} is the data {says}.", whole(data)))
    }

    /// What the words mean together.
    fn question(mut self, how_many: bool) -> Result<Question, QuestionError> {
        self.no_limit_pends()?;
        self.settle_throughput()?;
        let mut assumed = std::mem::take(&mut self.notes);
        let iops = self.needed_rate(&mut assumed)?;
        let fresh = self.kind.is_fresh;
        self.settle_classes()?;
        assumed.extend(self.settle_capacity()?);
        assumed.extend(self.whose_data());
        self.check_amounts()?;
        if let (Some(iops), true) = (iops, self.reads_per_s.or(self.writes_per_s).is_some()) {
            let pct = self.reads_per_s.unwrap_or(0.0) / iops * 100.0;
            self.shares.reads(pct, format!("{pct} % read"))?;
        }
        let (read_pct, random_pct) = self.shares.settled()?;
        let left_open = LeftOpen {
            size: self.size.is_none(),
            reads: read_pct.is_none(),
            positions: random_pct.is_none(),
        };
        let mut or_else = |value: Option<f64>, default: f64, says: &str| {
            if value.is_none() {
                assumed.push(says.to_owned());
            }
            value.unwrap_or(default)
        };
        let read_pct = or_else(read_pct, 70.0, "70 % reads, because no share was given.");
        let of_streams = self.throughput.is_some() || random_pct == Some(0.0) && iops.is_none();
        let (size, random_pct) = match of_streams {
            false => (
                or_else(self.size, 8.0 * KIB as f64, "I/Os of 8 KiB, because no size was given."),
                or_else(random_pct, 100.0, "Random positions, because no order was given."),
            ),
            true => (
                or_else(self.size, STREAM_SIZE, of_stream_size(read_pct)),
                or_else(random_pct, 0.0, "Streams in sequence, because a rate in bytes was asked for."),
            ),
        };
        let need = Need {
            iops,
            size: whole(size),
            read_pct,
            random_pct,
            limit: self.limit.unwrap_or(LatencyLimit::None),
            data: self.all_data()?.map(whole),
            active: self.active.map(whole),
            in_bytes: of_streams,
        };
        let (link, change) = self.link_and_change()?;
        let changes = change.map(|rate| format!("link.rate={}", rate.name()));
        Ok(Question {
            need,
            classes: self.classes,
            levels: self.levels,
            disks: self.disks.map(whole_count),
            disks_most: self.disks_most.map(whole_count),
            disks_least: self.disks_least.map(whole_count),
            how_many,
            disk_size: self.disk_size.map(whole),
            link,
            protocol: self.protocol,
            endure: self.endure.unwrap_or(Endure::Healthy),
            fresh,
            changes: changes.into_iter().collect(),
            assumed,
            left_open,
        })
    }
}

fn whole_count(count: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    let count = count as u32;
    count
}

fn whole(bytes: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    let bytes = bytes.round() as u64;
    Bytes(bytes)
}
