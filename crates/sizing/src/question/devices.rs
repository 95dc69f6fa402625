//! The devices of a question: their class, their speed, and whose a capacity is.

use super::{CLASSES, Class, DEVICES, FAILURES, IO_MAX, IO_MIN, QuestionError, Reading, once, refuse, whole};
use assay_spec::units::MIB;

use crate::words::{ATTRIBUTES, IO_WORDS, bytes_of, number};

/// Speeds of disks, rpm, and the words of their classes.
const SPEEDS: [(f64, &str); 5] =
    [(5400.0, "5400rpm"), (5900.0, "5400rpm"), (7200.0, "7200rpm"), (10_000.0, "10k"), (15_000.0, "15k")];
/// From this size on, "2000 IOPS at 4 TB" is an amount of data.
const OF_IOS_MAX: f64 = 17_179_869_184.0;
/// Words for devices that rotate.
const ROTATING: &[&str] =
    &["hdd", "hdds", "spindle", "spindles", "spinning", "rotating", "rotational", "mechanical"];
/// Words for disks, which may be of any class.
const DISKS: &[&str] = &["disk", "disks", "drive", "drives"];

/// What the words said of the class of devices, without its name.
#[derive(Default)]
pub(super) struct Kind {
    /// They rotate.
    is_rotating: bool,
    /// They are disks with this interface.
    disks_with: bool,
    /// SSDs are new.
    pub(super) is_fresh: bool,
    /// SAS or SATA, which disks and SSDs have.
    interface: Option<String>,
}

impl Reading {
    /// Whether the devices just counted have failed: `failed disks`, `of the disks fails`, `disk is rebuilding`.
    pub(super) fn failure_follows(&self) -> bool {
        self.device_words_until(FAILURES)
    }

    pub(super) fn device_words_until(&self, words: &[&str]) -> bool {
        let between = ["is", "are", "has", "have", "of", "the", "them", "device", "devices", "being", "more"];
        let rest = self.words.get(self.next..).unwrap_or_default();
        let skipped = |word: &&String| !between.contains(&word.as_str()) && !DEVICES.contains(&word.as_str());
        rest.iter().find(skipped).is_some_and(|word| words.contains(&word.as_str()))
    }

    /// Whether the size just read is that of the devices before it: `12 disks of 4 TB`, `8 SSDs at 1.92TB`.
    fn is_of_devices(&self) -> bool {
        ["of", "at"].contains(&self.before_size(0)) && DEVICES.contains(&self.before_size(1))
    }

    /// Takes the word that makes the size just read one of I/Os; `10 TB block storage` is an amount of data.
    fn io_word_follows(&mut self) -> bool {
        let next = self.words.get(self.next + 1).map_or("", String::as_str);
        let is_storage =
            ["storage", "device", "devices", "volume", "volumes", "array", "target"].contains(&next);
        let follows = !is_storage && self.accept(&IO_WORDS);
        if follows {
            self.accept(&["size"]);
        }
        follows
    }

    /// Whether the size just read is that of the I/Os before it: `blocks of 64 KiB`.
    fn is_of_blocks(&self) -> bool {
        self.before_size(0) == "of" && ["block", "blocks"].contains(&self.before_size(1))
    }

    /// Whether the size just read is that of the I/Os before it, `2000 IOPS of 64 MiB`; more than a run of them is
    /// data.
    fn is_of_ios(&self, bytes: f64) -> bool {
        let before = ["of", "at", "with"].contains(&self.before_size(0));
        before && ["iops", "i/os", "ios", "io/s"].contains(&self.before_size(1)) && bytes <= OF_IOS_MAX
    }

    /// Whether the next words are those of a device: `15k disks`, `4tb 7200 rpm drives`, `sata ssds`.
    pub(super) fn device_follows(&self) -> bool {
        self.device_ahead().is_some()
    }

    /// The word for devices behind their attributes, the last one of several: `ssds` of `sata ssds`, `nvme ssds`.
    fn device_ahead(&self) -> Option<&str> {
        let rest = self.words.get(self.next..).unwrap_or_default();
        let attribute = |word: &str, next: &str| {
            ATTRIBUTES.contains(&word)
                || number(word).is_some_and(|(value, unit)| match unit {
                    "" => is_speed(value) || ["rpm", "k", "gb", "gbyte", "tb"].contains(&next),
                    "k" | "rpm" => true,
                    unit => bytes_of(unit).is_some_and(|bytes| bytes >= 1e9),
                })
        };
        let mut found = None;
        for (at, word) in rest.iter().enumerate() {
            if DEVICES.contains(&word.as_str()) {
                found = Some(word.as_str());
            } else if found.is_some() || !attribute(word, rest.get(at + 1).map_or("", String::as_str)) {
                break;
            }
        }
        found
    }

    /// Takes a word that says what the devices are; `false` where it says nothing of them.
    pub(super) fn device_word(&mut self, word: &str) -> bool {
        match word {
            "ssd" | "ssds" if self.classes.iter().any(|class| class.word == "nvme") => {}
            "ssd" | "ssds" | "flash" | "all-flash" | "allflash" => self.class("ssd"),
            "nl-sas" | "nearline" => self.class("7200rpm"),
            "nvme" => self.class("nvme"),
            "fresh" => self.kind.is_fresh = true,
            "hard" if DISKS.contains(&self.peek()) => self.kind.is_rotating = true,
            word if ROTATING.contains(&word) => self.kind.is_rotating = true,
            "sas" | "sata" => {
                let is_disk = self.device_ahead().is_some_and(|device| DISKS.contains(&device));
                self.kind.disks_with |= is_disk;
                self.kind.interface = Some(word.to_uppercase());
            }
            word if DISKS.contains(&word) => {}
            _ => return false,
        }
        true
    }

    /// The classes that the words mean together: those of a speed, or all that rotate.
    pub(super) fn settle_classes(&mut self) -> Result<(), QuestionError> {
        let kind = std::mem::take(&mut self.kind);
        let is_open = self.classes.is_empty();
        let rotates = kind.is_rotating || kind.disks_with && is_open;
        if let Some(interface) = kind.interface.filter(|_| is_open && !rotates) {
            return refuse(format!(
                "{interface}: disks and SSDs have this interface; write \"{interface} disks\", \"{interface} SSDs\" or \
                 \"7200 rpm\""
            ));
        }
        if rotates && !self.classes.iter().any(Class::rotates) {
            self.classes.extend(CLASSES.iter().filter(|class| class.rotates()));
        }
        Ok(())
    }

    /// A capacity in front of a class is that of each device where devices are counted, and the amount of data
    /// otherwise; returns which reading was taken.
    pub(super) fn settle_capacity(&mut self) -> Result<Option<String>, QuestionError> {
        let Some(bytes) = self.in_front else {
            let of_each = self.is_in_front.then_some(self.disk_size).flatten();
            return Ok(of_each.map(|bytes| format!("{} is the capacity of each device.", whole(bytes))));
        };
        let size = whole(bytes);
        if self.disks.or(self.disks_most).or(self.disks_least).is_some() {
            once(&mut self.disk_size, bytes, "bytes of a disk")?;
            return Ok(Some(format!(
                "{size} is the capacity of each device, because their number is given; write \"{size} of data\" for an \
                 amount of data."
            )));
        }
        if self.data.is_some() {
            once(&mut self.disk_size, bytes, "bytes of a disk")?;
            return Ok(Some(format!(
                "{size} is the capacity of each device, because the amount of data is given besides."
            )));
        }
        self.data = Some(bytes);
        Ok(Some(format!(
            "{size} is the amount of data; write \"12 x {size} SSD\" or \"{size} disks\" for the capacity of each \
             device."
        )))
    }

    /// Whether a bare number that is a speed stands for it: `7200 RAID6`, `7200 disks`.
    pub(super) fn level_or_end_follows(&self) -> bool {
        let next = self.peek();
        let is_end = next.is_empty() || next == "," || DEVICES.contains(&next);
        is_end && self.disks_or_devices(next) || is_level(next)
    }

    /// A speed at the end belongs to devices that stand before it; `2000` alone is a number without a unit.
    fn disks_or_devices(&self, next: &str) -> bool {
        self.disks.is_some() || DEVICES.contains(&next)
    }

    /// Whether `10k` is a speed: I/Os have powers of two in KiB, so a number that disks turn at is one of I/Os only
    /// where their word stands beside it.
    pub(super) fn is_speed_in_k(&self, value: f64) -> bool {
        let is_of_rotation =
            self.peek() == "rpm" || DEVICES.contains(&self.peek()) && value.log2().fract() != 0.0;
        let names_io = IO_WORDS.contains(&self.peek()) || ["block", "blocks"].contains(&self.before_size(0));
        is_of_rotation || is_speed((value * 1e3).round()) && !names_io && !self.is_of_blocks()
    }

    /// Whether a speed stands beside the capacity just read: `4 TB 7200 rpm`, `7200 rpm 4 TB`.
    fn speed_is_beside(&self) -> bool {
        let after = self.words.get(self.next + 1).map_or("", String::as_str);
        let is_ahead = is_speed_word(self.peek(), after);
        is_ahead
            || is_speed_word(self.before_size(0), "")
            || is_speed_word(self.before_size(1), self.before_size(0))
    }

    pub(super) fn spindle(&mut self, rpm: f64) -> Result<(), QuestionError> {
        match SPEEDS.iter().find(|(known, _)| *known == rpm) {
            Some((_, word)) => {
                self.class(word);
                Ok(())
            }
            None => refuse(format!("{rpm} rpm: disks turn at 5400, 7200, 10000 or 15000 rpm")),
        }
    }

    pub(super) fn class(&mut self, word: &str) {
        let found = CLASSES.iter().find(|class| class.word == word);
        self.classes.extend(found.filter(|class| !self.classes.contains(class)));
    }

    pub(super) fn rotating(&mut self) {
        self.kind.is_rotating = true;
    }

    pub(super) fn bytes(&mut self, bytes: f64) -> Result<(), QuestionError> {
        if bytes < IO_MIN {
            return refuse(format!(
                "{bytes} bytes: I/Os and amounts of data begin at {}; leave it out for any amount",
                whole(IO_MIN)
            ));
        }
        // `1 MB blocks` are of 1 MiB, as `8 KB` ones are of 8 KiB.
        let is_mb = bytes <= IO_MAX && bytes % 1e6 == 0.0;
        let bytes = if is_mb { bytes / 1e6 * MIB as f64 } else { bytes };
        if bytes <= IO_MAX && bytes % IO_MIN != 0.0 {
            return refuse(format!("{bytes} bytes: an I/O has whole sectors of {}", whole(IO_MIN)));
        }
        if self.io_word_follows() || self.is_of_blocks() || self.is_of_ios(bytes) {
            if bytes > IO_MAX {
                return refuse(format!(
                    "{} as the size of an I/O: sizes of I/Os end at {}; write an amount of data without \"blocks\" or \
                     \"I/Os\"",
                    whole(bytes),
                    whole(IO_MAX)
                ));
            }
            return once(&mut self.size, bytes, "bytes of an I/O");
        }
        if bytes <= IO_MAX {
            return match self.accept_active() {
                true => once(&mut self.active, bytes, "bytes of active data"),
                false => once(&mut self.size, bytes, "bytes of an I/O"),
            };
        }
        let is_each = self.accept(&["each"]);
        if self.accept(&["per-session"]) || is_each && self.sessions.is_some() && self.disks.is_none() {
            return once(&mut self.data_each, bytes, "bytes of each");
        }
        // `6 x 4 TB`.
        let is_factor = self.disks.is_some() && ["x", "×", "*"].contains(&self.before_size(0));
        if self.is_of_devices() || is_each || is_factor && self.device_ahead().is_none() {
            return once(&mut self.disk_size, bytes, "bytes of a disk");
        }
        if let Some(device) = self.device_ahead() {
            // `10 TB SSD` may be an amount of data on SSD; `10 TB SSDs`, and `how many 10 TB` ones, are devices.
            let is_each = device.ends_with('s') || self.before_size(0) == "many";
            self.is_in_front |= is_each;
            return match is_each {
                true => once(&mut self.disk_size, bytes, "bytes of a disk"),
                false => once(&mut self.in_front, bytes, "bytes in front of a class"),
            };
        }
        if self.speed_is_beside() {
            return once(&mut self.in_front, bytes, "bytes in front of a class");
        }
        self.pending = None;
        self.limit_behind();
        match self.accept_active() {
            true => once(&mut self.active, bytes, "bytes of active data"),
            false => once(&mut self.data, bytes, "bytes of data"),
        }
    }

    /// `500 GB active`, `500 GB working set`.
    fn accept_active(&mut self) -> bool {
        let is = self.accept(&["active", "hot", "working"]);
        if is {
            self.accept(&["set"]);
        }
        is
    }

    /// The word before the size just read, or one further back.
    pub(super) fn before_size(&self, back: usize) -> &str {
        let before = |back: usize| self.next.checked_sub(back).and_then(|at| self.words.get(at));
        // A size is one word or two.
        let last = if before(1).is_some_and(|word| number(word).is_some()) { 2 } else { 3 };
        before(last + back).map_or("", String::as_str)
    }
}

/// Whether a word begins a RAID level.
fn is_level(word: &str) -> bool {
    word.starts_with("raid") || ["mirrored", "mirrors", "mirroring"].contains(&word)
}

/// Whether a word, or a number and the word after it, is the speed of a disk: `7200rpm`, `10k`, `7200 rpm`.
fn is_speed_word(word: &str, after: &str) -> bool {
    match number(word) {
        Some((value, "rpm")) => is_speed(value),
        Some((value, "k")) => is_speed((value * 1e3).round()),
        Some((value, "")) => after == "rpm" && is_speed(value),
        _ => false,
    }
}

/// Whether a number is the speed of a disk, rpm.
pub(super) fn is_speed(value: f64) -> bool {
    SPEEDS.iter().any(|(known, _)| *known == value)
}
