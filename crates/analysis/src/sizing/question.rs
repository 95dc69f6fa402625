//! Reads a sizing question as people write it: "2000 IOPS, 70 % read, 8 KiB, p99 20 ms, 10 TB, RAID10, 7200 rpm".

use std::fmt;

use assay_model::array::{Level, LinkRate, ProtocolKind};
use assay_spec::nearest;
use assay_spec::units::{Bytes, KIB, MIB};

use super::words::{bytes_of, cut, is_filler, number};
use super::{CLASSES, Class, Endure, LatencyLimit, LeftOpen, Need, Question};

/// The largest size that is taken for that of an I/O; more is an amount of data.
const IO_MAX: f64 = 16.0 * MIB as f64;
/// What a rate may be of each of.
const SESSIONS: &[&str] =
    &["sessions", "session", "users", "clients", "vms", "desktops", "guests", "mailboxes"];
/// Words for the devices of an array.
const DEVICES: &[&str] =
    &["disks", "drives", "disk", "drive", "spindles", "hdds", "hdd", "ssds", "ssd", "members", "nvme"];
/// Words before one of these that are part of its name.
const ATTRIBUTES: &[&str] =
    &["rpm", "sas", "sata", "nl-sas", "nearline", "hard", "spinning", "enterprise", "flash", "gb", "tb", "k"];
/// Words that a message may propose.
const KNOWN: &[&str] = &[
    "iops",
    "read",
    "write",
    "random",
    "sequential",
    "p99",
    "mean",
    "raid10",
    "raid5",
    "raid6",
    "raidz2",
    "rpm",
    "ssd",
    "nvme",
    "disks",
    "sessions",
    "tps",
    "active",
    "iscsi",
    "nfs",
    "fc",
    "failed",
    "rebuilding",
    "gbe",
];

/// Why a question was not understood. The message is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionError(String);

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QuestionError {}

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
    per_second: Option<f64>,
    ios_each: Option<f64>,
    size: Option<f64>,
    read_pct: Option<f64>,
    random_pct: Option<f64>,
    /// The last word that a time belongs to.
    about: Option<About>,
    limit: Option<LatencyLimit>,
    data: Option<f64>,
    active: Option<f64>,
    disk_size: Option<f64>,
    disks: Option<f64>,
    classes: Vec<Class>,
    levels: Vec<Level>,
    link: Option<LinkRate>,
    protocol: Option<ProtocolKind>,
    endure: Option<Endure>,
    brings: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Mean,
    P99,
}

/// Reads a question.
///
/// # Errors
/// The first word that means nothing here, or a number that cannot be.
pub fn parse(text: &str) -> Result<Question, QuestionError> {
    let mut reading = Reading { words: cut(text), ..Reading::default() };
    while let Some(word) = reading.take() {
        match number(&word) {
            Some((value, unit)) => {
                // `24 15k disks`: the number belongs to the devices that come next.
                let counts = unit.is_empty() && number(reading.peek()).is_some() && reading.device_follows();
                let unit = match unit {
                    _ if counts => "disks".to_owned(),
                    "" => reading.take().unwrap_or_default(),
                    unit => unit.to_owned(),
                };
                reading.quantity(value, &unit)?;
            }
            None => reading.word(&word)?,
        }
    }
    let lower = text.to_lowercase();
    let how_many =
        lower.contains("how many") && !lower.contains("how many io") && !lower.contains("how many i/o");
    reading.question(how_many)
}

impl Reading {
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

    /// Whether the next words are those of a device: `15k disks`, `4tb 7200 rpm drives`, `sata ssds`.
    fn device_follows(&self) -> bool {
        let rest = self.words.get(self.next..).unwrap_or_default();
        let attribute = |word: &String| {
            ATTRIBUTES.contains(&word.as_str())
                || number(word).is_some_and(|(_, unit)| {
                    ["", "k", "rpm"].contains(&unit) || bytes_of(unit).is_some_and(|bytes| bytes >= 1e9)
                })
        };
        rest.iter().find(|word| !attribute(word)).is_some_and(|word| DEVICES.contains(&word.as_str()))
    }

    /// A rate; of each session where it says so: `50 IOPS each`, `10 IOPS per desktop`.
    fn rate(&mut self, per_s: f64) {
        let session = self.words.get(self.next + 1).map_or("", String::as_str);
        let is_session =
            SESSIONS.iter().any(|known| *known == session || known.strip_suffix('s') == Some(session));
        if ["per", "a"].contains(&self.peek()) && is_session {
            self.next += 2;
        } else if !self.accept(&["each"]) {
            self.iops = Some(per_s);
            return;
        }
        self.iops_each = Some(per_s);
    }

    fn quantity(&mut self, value: f64, unit: &str) -> Result<(), QuestionError> {
        match unit {
            "iops" | "io/s" | "ios/s" | "i/os/s" => self.rate(value),
            "kiops" => self.rate(value * 1e3),
            "k" if self.accept(&["iops"]) => self.rate(value * 1e3),
            "m" | "million" if self.accept(&["iops"]) => self.rate(value * 1e6),
            "th" if value == 99.0 => {
                self.accept(&["percentile"]);
                self.about = Some(About::P99);
            }
            unit if unit.starts_with('/') && number(&unit[1..]).is_some() => self.split(value, unit)?,
            unit if self.is_link(unit) => {
                let is_fibre = self.peek() == "fc" || self.peek() == "fibre";
                self.link(&format!("{value}{}", if is_fibre { "GFC" } else { "GbE" }))?;
            }
            "i/o" | "i/os" | "io" | "ios" | "reads" | "writes" => self.ios(value),
            unit if unit == "concurrent" || SESSIONS.contains(&unit) => {
                self.accept(SESSIONS);
                self.sessions = Some(value);
            }
            "tps" | "transactions" | "transaction" => {
                self.accept(&["per", "a", "each"]);
                self.accept(&["second", "s"]);
                self.per_second = Some(value);
            }
            "%" | "percent" => self.share(value)?,
            "ms" => self.time(value)?,
            "us" | "µs" => self.time(value / 1e3)?,
            "s" | "seconds" => self.time(value * 1e3)?,
            "rpm" => self.spindle(value)?,
            "k" if self.accept(&["rpm", "sas", "disks", "drives"]) => self.spindle(value * 1e3)?,
            "disks" | "drives" | "disk" | "drive" | "spindles" | "hdds" | "members" => {
                self.disks = Some(value)
            }
            "ssd" | "ssds" | "flash" => {
                self.disks = Some(value);
                self.class("ssd");
            }
            "nvme" => {
                self.disks = Some(value);
                self.class("nvme");
            }
            "x" | "×" | "*" => self.times(value),
            "gbe" | "gbit" | "gbit/s" | "gb/s" => self.link(&format!("{value}GbE"))?,
            "gfc" => self.link(&format!("{value}GFC"))?,
            unit => match bytes_of(unit) {
                Some(bytes) => self.bytes(value * bytes),
                None => return self.unknown_unit(value, unit),
            },
        }
        Ok(())
    }

    /// `70/30`, as people write 70 % reads and 30 % writes.
    fn split(&mut self, reads: f64, unit: &str) -> Result<(), QuestionError> {
        let writes = number(&unit[1..]).map_or(0.0, |(writes, _)| writes);
        if (reads + writes - 100.0).abs() > 0.5 {
            return refuse(format!(
                "{reads}{unit}: shares of reads and writes add up to 100; write it like 70/30, or 70 % read"
            ));
        }
        match self.take().as_deref() {
            Some("read/write" | "r/w" | "rw" | "mix" | "read" | "reads" | "mixed") => {
                self.read_pct = Some(reads)
            }
            Some("write/read" | "w/r" | "write" | "writes") => self.read_pct = Some(writes),
            Some("random/sequential" | "random") => self.random_pct = Some(reads),
            _ => {
                // Nothing said: reads come first.
                self.next -= 1;
                self.read_pct = Some(reads);
            }
        }
        Ok(())
    }

    /// Whether gigabits are meant: `10 Gb iSCSI`, `8 Gb FC`, `10 gig network`.
    fn is_link(&self, unit: &str) -> bool {
        let networks = ["ethernet", "iscsi", "nfs", "smb", "network", "lan", "link", "fc", "fibre", "nic"];
        ["gb", "g", "gig", "gigabit", "gbps"].contains(&unit)
            && (networks.contains(&self.peek()) || ["gig", "gigabit", "gbps"].contains(&unit))
    }

    fn unknown_unit(&self, value: f64, unit: &str) -> Result<(), QuestionError> {
        if unit.is_empty() || is_filler(unit) {
            return refuse(format!(
                "{value}: a number needs a unit here, like 2000 IOPS, 70 % read, 8 KiB, 20 ms, 10 TB, 12 disks"
            ));
        }
        let near =
            nearest(unit, KNOWN.iter().copied()).map_or(String::new(), |k| format!("; did you mean `{k}`?"));
        refuse(format!("`{value} {unit}`: the unit `{unit}` is not known here{near}"))
    }

    /// `4 I/Os per transaction`, or `2000 I/Os per second`.
    fn ios(&mut self, value: f64) {
        let per = self.accept(&["per", "a", "each"]);
        match (per, self.peek()) {
            (true, "second" | "s") => {
                self.next += 1;
                self.iops = Some(value);
            }
            _ => {
                self.accept(&["transaction"]);
                self.ios_each = Some(value);
            }
        }
    }

    /// `500 x 20 tps` is a product; `24 x 7200 rpm` a number of disks.
    fn times(&mut self, value: f64) {
        let device = self.words[self.next.min(self.words.len())..].iter().take(3);
        match device.clone().any(|w| ["tps", "i/os", "ios", "i/o", "transactions"].contains(&w.as_str())) {
            true if self.sessions.is_none() => self.sessions = Some(value),
            true => self.per_second = Some(value),
            false => self.disks = Some(value),
        }
    }

    fn share(&mut self, value: f64) -> Result<(), QuestionError> {
        if !(0.0..=100.0).contains(&value) {
            return refuse(format!("{value} %: a share lies between 0 and 100 %"));
        }
        match self.take().as_deref() {
            Some("read" | "reads" | "reading") => self.read_pct = Some(value),
            Some("write" | "writes" | "writing") => self.read_pct = Some(100.0 - value),
            Some("random" | "rand") => self.random_pct = Some(value),
            Some("sequential" | "seq") => self.random_pct = Some(100.0 - value),
            other => {
                let found = other.map_or(String::new(), |word| format!(", not `{word}`"));
                return refuse(format!("{value} %: say of what: read, write, random or sequential{found}"));
            }
        }
        Ok(())
    }

    fn time(&mut self, ms: f64) -> Result<(), QuestionError> {
        if ms <= 0.0 {
            return refuse(format!("{ms} ms: a limit on latency is above 0"));
        }
        let after = self.peek().to_owned();
        let about = match after.as_str() {
            "p99" | "mean" | "average" | "avg" => {
                self.take().map(|word| if word == "p99" { About::P99 } else { About::Mean })
            }
            _ => self.about.take(),
        };
        match about {
            Some(About::P99) => self.limit = Some(LatencyLimit::P99Ms(ms)),
            Some(About::Mean) => self.limit = Some(LatencyLimit::MeanMs(ms)),
            None => return refuse(format!("{ms} ms: say of which latency: p99 {ms} ms, or mean {ms} ms")),
        }
        Ok(())
    }

    fn spindle(&mut self, rpm: f64) -> Result<(), QuestionError> {
        let classes = [
            (5400.0, "5400rpm"),
            (5900.0, "5400rpm"),
            (7200.0, "7200rpm"),
            (10_000.0, "10k"),
            (15_000.0, "15k"),
        ];
        match classes.iter().find(|(known, _)| *known == rpm) {
            Some((_, word)) => {
                self.class(word);
                Ok(())
            }
            None => refuse(format!("{rpm} rpm: disks turn at 5400, 7200, 10000 or 15000 rpm")),
        }
    }

    fn class(&mut self, word: &str) {
        let found = CLASSES.iter().find(|class| class.word == word);
        self.classes.extend(found.filter(|class| !self.classes.contains(class)));
    }

    fn link(&mut self, name: &str) -> Result<(), QuestionError> {
        match LinkRate::named(name) {
            Some(rate) => {
                self.link = Some(rate);
                Ok(())
            }
            None => {
                let names: Vec<&str> = LinkRate::NAMES
                    .iter()
                    .map(|(n, _)| *n)
                    .filter(|n| n.ends_with("GbE") || n.ends_with("GFC"))
                    .collect();
                refuse(format!("{name} is not a known link speed; use one of {}", names.join(", ")))
            }
        }
    }

    fn bytes(&mut self, bytes: f64) {
        let of_a_disk = self.accept(&["disks", "drives", "disk", "drive", "ssds", "ssd", "hdds", "members"])
            || bytes > IO_MAX && (self.device_follows() || self.accept(&["each"]));
        if of_a_disk {
            self.disk_size = Some(bytes);
        } else if self.accept(&["active", "hot", "working"]) {
            self.accept(&["set"]);
            self.active = Some(bytes);
        } else if bytes <= IO_MAX {
            self.size = Some(bytes);
        } else {
            self.data = Some(bytes);
        }
    }

    fn word(&mut self, word: &str) -> Result<(), QuestionError> {
        match word {
            "p99" => self.about = Some(About::P99),
            "mean" | "average" | "avg" => self.about = Some(About::Mean),
            // `How many IOPS`: the rate is asked for.
            "iops" => {}
            "latency" | "response" | "time" => self.about = self.about.or(Some(About::Mean)),
            "random" => self.random_pct = Some(100.0),
            "sequential" => self.random_pct = Some(0.0),
            "read" | "reads" => self.read_pct = self.read_pct.or(Some(100.0)),
            "write" | "writes" => self.read_pct = self.read_pct.or(Some(0.0)),
            "ssd" | "ssds" if self.classes.iter().all(|class| class.word != "nvme") => self.class("ssd"),
            "flash" | "all-flash" | "allflash" => self.class("ssd"),
            "nl-sas" | "nearline" => self.class("7200rpm"),
            "nvme" => self.class("nvme"),
            "mirrors" | "mirrored" | "mirroring" => self.levels.push(Level::Raid10),
            "smb" | "cifs" => self.protocol = Some(ProtocolKind::Smb),
            "iscsi" => self.protocol = Some(ProtocolKind::Iscsi),
            "nfs" => self.protocol = Some(ProtocolKind::Nfs),
            "fc" => self.protocol = Some(ProtocolKind::FibreChannel),
            "failed" | "fails" | "failure" | "degraded" | "lost" | "dies" => {
                self.endure = self.endure.or(Some(Endure::Failed))
            }
            "rebuilding" | "rebuild" | "rebuilt" => self.endure = Some(Endure::Rebuilding),
            "bring" | "brings" | "gain" | "gains" | "faster" => self.brings = true,
            "raid" => {
                let level = self.take().unwrap_or_default();
                self.level(&format!("raid{level}"))?;
            }
            "disks" | "drives" | "spindles" | "hdds" | "hdd" | "ssd" | "ssds" | "one" | "two" | "three" => {}
            word if is_filler(word) => {}
            word => return self.level(word),
        }
        Ok(())
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
        let near =
            nearest(word, KNOWN.iter().copied()).map_or(String::new(), |k| format!("; did you mean `{k}`?"));
        refuse(format!(
            "`{word}` is not understood in a sizing question{near}; write it like \"2000 IOPS, 70 % read, 8 KiB, \
             p99 20 ms, 10 TB, RAID10, 7200 rpm\""
        ))
    }

    /// The rate that is needed; what was assumed for it is added to the list.
    fn needed_rate(&self, assumed: &mut Vec<String>) -> Result<Option<f64>, QuestionError> {
        if let (Some(sessions), None, Some(iops)) = (self.sessions, self.per_second, self.iops) {
            return refuse(format!(
                "{sessions} sessions and {iops} IOPS: say \"{iops} IOPS each\", or leave out the sessions"
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
                    "{sessions} sessions: say what each does, as in \"{sessions} sessions x 20 tps\" or \
                     \"{sessions} VMs with 50 IOPS each\""
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
        let iops = self.iops.or(product);
        if iops.is_some_and(|iops| !(1.0..=1e9).contains(&iops)) {
            return refuse(format!(
                "{} IOPS: a rate lies between 1 and 1,000,000,000",
                iops.unwrap_or_default()
            ));
        }
        Ok(iops)
    }

    /// What the words mean together.
    fn question(self, how_many: bool) -> Result<Question, QuestionError> {
        let mut assumed = Vec::new();
        let iops = self.needed_rate(&mut assumed)?;
        if self.disks.is_some_and(|disks| disks < 1.0 || disks.fract() != 0.0) {
            return refuse("a number of disks is whole and 1 or more".to_owned());
        }
        let left_open = LeftOpen {
            size: self.size.is_none(),
            reads: self.read_pct.is_none(),
            positions: self.random_pct.is_none(),
        };
        let mut or_else = |value: Option<f64>, default: f64, says: &str| {
            if value.is_none() {
                assumed.push(says.to_owned());
            }
            value.unwrap_or(default)
        };
        let read_pct = or_else(self.read_pct, 70.0, "70 % reads, because no share was given.");
        let size = or_else(self.size, 8.0 * KIB as f64, "I/Os of 8 KiB, because no size was given.");
        let random_pct = or_else(self.random_pct, 100.0, "Random positions, because no order was given.");
        let need = Need {
            iops,
            size: whole(size),
            read_pct,
            random_pct,
            limit: self.limit.unwrap_or(LatencyLimit::None),
            data: self.data.map(whole),
            active: self.active.map(whole),
        };
        let link = self.link.filter(|_| !self.brings);
        let changes = self.link.filter(|_| self.brings).map(|rate| format!("link.rate={}", rate.name()));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above, and saturates"
        )]
        let disks = self.disks.map(|disks| disks as u32);
        Ok(Question {
            need,
            classes: self.classes,
            levels: self.levels,
            disks,
            how_many,
            disk_size: self.disk_size.map(whole),
            link,
            protocol: self.protocol,
            endure: self.endure.unwrap_or(Endure::Healthy),
            changes: changes.into_iter().collect(),
            assumed,
            left_open,
        })
    }
}

fn whole(bytes: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    let bytes = bytes.round() as u64;
    Bytes(bytes)
}
