//! Streams and amounts: rates in bytes, and the data that must fit.

use super::{QuestionError, Reading, STREAM_SIZE, once, refuse, whole};

/// Words for moving pictures, which mean nothing else here.
pub(super) const VIDEO: &[&str] = &[
    "plex", "video", "videos", "footage", "prores", "raw", "film", "editing", "editor", "editors", "camera",
    "cameras",
];

/// A throughput that was asked for.
pub(super) struct Throughput {
    value: f64,
    unit: String,
    bytes_s: f64,
    /// Whether each session has it.
    is_each: bool,
}

impl Throughput {
    fn text(&self) -> String {
        let unit = match self.unit.as_str() {
            "gbyte/s" => "GB/s".to_owned(),
            "mbit/s" => "Mbit/s".to_owned(),
            unit => unit.replace("ib", "iB").replace("b/s", "B/s").replace('m', "M").replace('g', "G"),
        };
        format!("{} {unit}", self.value)
    }
}

/// Why I/Os of a stream have the size that is taken where none is said.
pub(super) fn of_stream_size(read_pct: f64) -> &'static str {
    match read_pct < 100.0 {
        true => {
            "I/Os of 1 MiB, because no size was given; smaller ones write parts of stripes, which takes more disks \
             with parity."
        }
        false => "I/Os of 1 MiB, because no size was given.",
    }
}

impl Reading {
    /// A rate in bytes, of each session or of all.
    pub(super) fn bytes_per_s(&mut self, value: f64, unit: &str, bytes: f64) -> Result<(), QuestionError> {
        self.pending = None;
        self.limit_behind();
        let said = Throughput {
            value,
            unit: unit.to_owned(),
            bytes_s: value * bytes,
            is_each: self.accept(&["each"]),
        };
        match self.throughput.replace(said) {
            Some(before) if before.bytes_s != value * bytes => refuse(format!(
                "{} and {value} {unit}: a question has one load; ask for each by itself",
                before.text()
            )),
            _ => Ok(()),
        }
    }

    /// A rate in bytes as one of I/Os: of streams, unless their size or order is said.
    pub(super) fn settle_throughput(&mut self) -> Result<(), QuestionError> {
        let Some(asked) = &self.throughput else {
            return match self.kept_s {
                Some(_) => refuse(
                    "what is kept: say the rate too, as in \"20 cameras of 8 Mbit/s each, 30 days retention\""
                        .to_owned(),
                ),
                None => Ok(()),
            };
        };
        let text = asked.text();
        let size = self.size.filter(|size| *size > 0.0).unwrap_or(STREAM_SIZE);
        // A rate in bytes has no seeks in it, which arrays are full of, and reads and writes have other limits.
        if !self.shares.says_reads() || self.size.is_none() && self.shares.are_random() {
            return refuse(format!(
                "{text}: sizing is by I/Os per second, not by throughput; divide it by the size of an I/O, as in \
                 \"{:.0} IOPS, {}\" for I/Os of that size; only streams need no size, as in \"{text} sequential \
                 write\"",
                (asked.bytes_s / size).ceil(),
                whole(size)
            ));
        }
        if let (Some(sessions), false) = (self.sessions, asked.is_each) {
            let of = self.session_name();
            return refuse(format!("{sessions} {of} and {text}: say \"{text} each\", or leave out the {of}"));
        }
        if let (Some(kept_s), None) = (self.kept_s, self.data) {
            let all = asked.bytes_s * self.sessions.filter(|_| asked.is_each).unwrap_or(1.0) * kept_s;
            self.moved = Some(all);
            self.notes.push(format!(
                "{} is what the rate writes in {:.0} days.",
                whole(all),
                kept_s / 86_400.0
            ));
        }
        let per_s = asked.bytes_s / size;
        match asked.is_each {
            true => once(&mut self.iops_each, per_s, "IOPS each"),
            false => once(&mut self.iops, per_s, "IOPS"),
        }
    }

    pub(super) fn check_amounts(&self) -> Result<(), QuestionError> {
        if let (Some(active), Some(data)) = (self.active, self.data)
            && active > data
        {
            return refuse(format!(
                "{} of {} active: the active data cannot exceed all data",
                whole(active),
                whole(data)
            ));
        }
        self.check_limits()
    }

    /// The data that must fit: as said, of each session, or as much as has to be moved.
    pub(super) fn all_data(&self) -> Result<Option<f64>, QuestionError> {
        match (self.data, self.data_each, self.sessions) {
            (Some(each), None, Some(sessions)) if self.all_each => Ok(Some(each * sessions)),
            (None, Some(each), Some(sessions)) => Ok(Some(each * sessions)),
            (_, Some(each), None) => {
                refuse(format!("{} each: say of how many, as in \"100 VMs with 50 GB each\"", whole(each)))
            }
            (Some(data), Some(each), _) if self.data_each != self.data => {
                refuse(format!("{} and {} each: give all data, or that of each", whole(data), whole(each)))
            }
            (data, ..) => Ok(data.or(self.moved)),
        }
    }
}

/// `4K video` is a picture of 4,000 points, not I/Os of 4 KiB.
pub(super) fn picture(words: &[String]) -> Option<String> {
    let is_one_of = |known: &[&str]| words.iter().find(|word| known.contains(&word.as_str()));
    is_one_of(VIDEO).and(is_one_of(&["4k", "5k", "6k", "8k", "12k"])).map(|size| {
        format!(
            "`{size}` with video: leave out the picture and say the rate, as in \"4 streams of 100 MB/s each, \
             sequential read\"; I/Os of that size are written {} KiB",
            size.trim_end_matches('k')
        )
    })
}

/// Refuses `3.000`: three thousand where points group digits, and three elsewhere; `0.125` is a fraction everywhere.
/// Refuses `1,500 ms` too, of which [`crate::words::cut`] left the comma.
pub(super) fn no_grouping_by_points(word: &str) -> Result<(), QuestionError> {
    if let Some((whole, fraction)) = word.split_once(',')
        && whole.ends_with(|c: char| c.is_ascii_digit())
    {
        let fraction = fraction.trim_end_matches(|c: char| !c.is_ascii_digit());
        return refuse(format!(
            "{whole},{fraction}: a comma before three digits can group them; write {whole}{fraction}, or \
             {whole}.{fraction}0 for the fraction"
        ));
    }
    let digits = &word[..word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len())];
    let groups: Vec<&str> = digits.split('.').collect();
    let [first, rest @ ..] = &groups[..] else { return Ok(()) };
    let is_grouped = matches!(first.len(), 1..=3) && !first.starts_with('0');
    if rest.is_empty() || !is_grouped || rest.iter().any(|group| group.len() != 3) {
        return Ok(());
    }
    let thousands = groups.concat();
    // `1.5000` has four digits behind the point, so it groups nothing.
    let fraction = match rest {
        [_] => format!(", or {digits}0 for the fraction"),
        _ => String::new(),
    };
    refuse(format!("{digits}: a point before three digits can group them; write {thousands}{fraction}"))
}
