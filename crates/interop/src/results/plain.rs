//! Rows of tools that print sums only: counts, bytes and a mean, by direction.

use assay_record::{AccessStats, Latency, OpStats};
use assay_spec::units::{KIB, MIB};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, tell_apart, whole};
use crate::{ImportError, complain};

/// One direction of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Side {
    pub(super) ios: f64,
    pub(super) bytes: f64,
    /// 0 where it is not known.
    pub(super) mean_ms: f64,
    pub(super) least_ms: Option<f64>,
    pub(super) most_ms: Option<f64>,
}

impl Side {
    /// `ios` and `bytes` in a second, over `seconds`.
    pub(super) fn of_rates(ios: f64, bytes: f64, seconds: f64) -> Self {
        Self { ios: ios * seconds, bytes: bytes * seconds, ..Self::default() }
    }

    fn stats(self) -> OpStats {
        let ns = |ms: f64| whole(ms * 1e6);
        let service = Latency::from_summary(
            whole(self.ios),
            self.mean_ms * 1e6,
            self.least_ms.map(ns),
            self.most_ms.map(ns),
        );
        OpStats { bytes: whole(self.bytes), service, ..OpStats::default() }
    }
}

/// A row of sums.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) test: String,
    pub(super) seconds: f64,
    pub(super) read: Side,
    pub(super) write: Side,
    pub(super) is_random: bool,
    pub(super) workers: u32,
    pub(super) outstanding: u32,
    /// Share of CPU time in use, in [0, 1].
    pub(super) cpu_busy: Option<f64>,
    /// What it was measured on, where the text says.
    pub(super) target: Option<String>,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            test: String::new(),
            seconds: 0.0,
            read: Side::default(),
            write: Side::default(),
            is_random: false,
            workers: 1,
            outstanding: 1,
            cpu_busy: None,
            target: None,
        }
    }
}

impl Plain {
    fn row(&self) -> ResultRow {
        let (ios, bytes) = (self.read.ios + self.write.ios, self.read.bytes + self.write.bytes);
        let read = if ios > 0.0 { (self.read.ios / ios * 100.0).round() } else { 100.0 };
        let size = if ios > 0.0 { whole(bytes / ios) } else { 0 };
        let job = RowJob {
            name: self.test.clone(),
            workers: self.workers,
            outstanding: self.outstanding,
            mix: vec![access(size, read, if self.is_random { 100.0 } else { 0.0 })],
            stats: AccessStats { read: self.read.stats(), write: self.write.stats() },
            measured_ns: whole(self.seconds * 1e9),
            ..RowJob::default()
        };
        ResultRow { test: self.test.clone(), swept: Vec::new(), jobs: vec![job], cpu_busy: self.cpu_busy }
    }
}

/// A text with decimal points: in a word without a point, a comma between digits is their sign in many languages.
pub(super) fn with_points(text: &str) -> String {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let word = |word: &str| match word.contains('.') {
        true => word.to_owned(),
        false => {
            let bytes = word.as_bytes();
            let between = |at: usize| at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
            word.char_indices().map(|(at, c)| if c == ',' && between(at) { '.' } else { c }).collect()
        }
    };
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

/// Whose results they are, and what the file does not say.
pub(super) struct Origin<'o> {
    pub(super) file: &'o str,
    pub(super) tool: String,
    pub(super) missing: &'o [&'o str],
}

/// Makes results of rows.
pub(super) fn imported(
    origin: &Origin<'_>,
    plain: &[Plain],
    notes: Vec<String>,
) -> Result<ImportedResult, ImportError> {
    let name = crate::names::stem(origin.file).to_owned();
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    let is_known = |row: &&Plain| {
        let [read, write] = [&row.read, &row.write];
        row.seconds > 0.0
            && [row.seconds, read.ios + write.ios, read.bytes + write.bytes].iter().all(|n| n.is_finite())
    };
    for row in plain.iter().filter(is_known) {
        if rows.len() >= ROWS_MAX {
            return Err(complain(origin.file, 0, format!("has more than {ROWS_MAX} results")));
        }
        rows.push(row.row());
        targets.push(row.target.clone().unwrap_or_else(|| name.clone()));
    }
    if rows.is_empty() {
        return Err(complain(origin.file, 0, format!("has no result of {} with a duration", origin.tool)));
    }
    let targets = tell_apart(&mut rows, targets);
    let result = ImportedResult::of(origin.file, &origin.tool, origin.missing, rows).on(targets);
    Ok(ImportedResult { notes, ..result })
}

/// A number with a unit of bytes in powers of 1024, as in `47.4 MiB`.
pub(super) fn binary_bytes(number: f64, unit: &str) -> Option<f64> {
    let factor = match unit {
        "B" => 1,
        "KiB" => KIB,
        "MiB" => MIB,
        "GiB" => MIB * KIB,
        "TiB" => MIB * MIB,
        _ => return None,
    };
    Some(number * factor as f64)
}
