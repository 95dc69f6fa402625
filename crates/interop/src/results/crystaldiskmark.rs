//! The text that CrystalDiskMark copies to the clipboard, of versions 3 to 9. Rows get the names of Assay's suite, so
//! that the two can be compared.

use assay_record::{AccessStats, Latency, OpStats};
use assay_spec::units::{KIB, MIB};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, leading_number, tell_apart, whole};
use crate::{ImportError, complain};

/// KDiskMark prints the same lines.
const TOOLS: [&str; 2] = ["CrystalDiskMark", "KDiskMark"];

/// Bytes of a MB of CrystalDiskMark, and of KDiskMark, which divides fio's KiB/s by 1,000.
const MB: f64 = 1e6;
const KDISKMARK_MB: f64 = 1_024_000.0;

/// Whether a text is CrystalDiskMark's or KDiskMark's, or has at least two of their rows with a queue depth: people
/// paste the rows alone.
pub fn is_results(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(4096)];
    let is_row =
        |line: &&str| (line.contains("Q=") || line.contains("QD=")) && row(plain(line), "").is_some();
    (TOOLS.iter().any(|tool| head.contains(tool)) && text.contains("MB/s"))
        || text.lines().filter(is_row).nth(1).is_some()
}

/// A line without what a post puts before it.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t', '`']).trim()
}

/// A row of the text.
struct Row {
    test: String,
    size: u64,
    is_random: bool,
    /// Whether it reads, writes or does both; `None` where neither the row nor a heading says it.
    way: Option<Way>,
    outstanding: u32,
    workers: u32,
    mb_per_s: f64,
    iops: Option<f64>,
    mean_us: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
    Mix,
}

/// What one copy of the window says; a post may hold those of several disks.
struct Copy {
    rows: Vec<Row>,
    /// Below the rows, like the disk and the date.
    seconds: f64,
    mix_read: f64,
    drive: Option<String>,
    /// Bytes of what it calls a MB, where its head says which program it is of.
    mb_bytes: Option<f64>,
}

impl Default for Copy {
    fn default() -> Self {
        Self { rows: Vec::new(), seconds: 5.0, mix_read: 70.0, drive: None, mb_bytes: None }
    }
}

impl Copy {
    /// Bytes of its MB; of rows alone that which their rates of I/Os come closer to.
    fn mb_bytes(&self) -> f64 {
        let sums = self.rows.iter().filter_map(|row| Some((row.iops? * row.size as f64, row.mb_per_s)));
        let (bytes, mb) = sums.fold((0.0, 0.0), |(bytes, mb), row| (bytes + row.0, mb + row.1));
        let is_of_kdiskmark = bytes > mb * f64::midpoint(MB, KDISKMARK_MB);
        self.mb_bytes.unwrap_or(if is_of_kdiskmark { KDISKMARK_MB } else { MB })
    }
}

/// Reads the text.
///
/// # Errors
/// When it has no row with a rate.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut copies, mut heading, mut version, mut date) = (Vec::<Copy>::new(), String::new(), None, None);
    let mut copy = Copy::default();
    for line in text.lines().map(plain) {
        // `CrystalDiskMark 8.0.4 x64 (C) …`, or `KDiskMark (3.1.2): https://…`.
        let own = line.strip_prefix("CrystalDiskMark ").and_then(|rest| rest.split_whitespace().next());
        let other = line.strip_prefix("KDiskMark (").and_then(|rest| rest.split(')').next());
        if own.is_some() || other.is_some() {
            copies.push(std::mem::take(&mut copy));
            copy.mb_bytes = Some(if other.is_some() { KDISKMARK_MB } else { MB });
            // The next text may say in its rows what they are. A `[Read]` before the head stays.
            if heading == "mix" {
                heading.clear();
            }
            let named = other.map(|version| format!("of KDiskMark {version}"));
            version = own.map(str::to_owned).or(named);
        }
        if let Some(rest) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            heading = rest.0.trim().to_lowercase();
            // `[Mix] Read 70%/Write 30%`.
            copy.mix_read = rest.1.split("Read").nth(1).and_then(leading_number).unwrap_or(copy.mix_read);
        }
        if let Some(measured) = line.strip_prefix("Time: Measure ").and_then(leading_number) {
            copy.seconds = measured;
        }
        if let Some(rest) = line.strip_prefix("Date:").or_else(|| line.strip_prefix("Date :")) {
            date = date.or(crate::dates::parse_stamp(&rest.trim().replace('/', "-")));
        }
        if let Some(rest) = line.strip_prefix("Test:").or_else(|| line.strip_prefix("Test :")) {
            let drive = rest.split('[').nth(1).and_then(|rest| rest.split([']', ' ']).next());
            // KDiskMark names no disk: `[Measure: 5 sec / Interval: 5 sec]`.
            copy.seconds = rest.split("[Measure:").nth(1).and_then(leading_number).unwrap_or(copy.seconds);
            copy.drive = drive.filter(|name| !matches!(*name, "Measure:" | "Interval:")).map(str::to_owned);
        }
        // A row that was not measured has a rate of nothing.
        copy.rows.extend(row(line, &heading).filter(|row| row.mb_per_s > 0.0));
    }
    copies.push(copy);
    result(origin, &copies, version, date)
}

fn result(
    origin: &str,
    copies: &[Copy],
    version: Option<String>,
    date: Option<u64>,
) -> Result<ImportedResult, ImportError> {
    let name = crate::names::stem(origin).to_owned();
    let (mut rows, mut drives, mut unclear, mut is_kdiskmark) = (Vec::new(), Vec::new(), 0, false);
    for copy in copies {
        let mb_bytes = copy.mb_bytes();
        is_kdiskmark |= !copy.rows.is_empty() && mb_bytes > MB;
        for row in &copy.rows {
            if row.way.is_none() {
                unclear += 1;
                continue;
            }
            if rows.len() >= ROWS_MAX {
                return Err(complain(origin, 0, format!("has more than {ROWS_MAX} rows")));
            }
            rows.push(result_row(row, copy.mix_read, copy.seconds, mb_bytes));
            drives.push(copy.drive.clone().unwrap_or_else(|| name.clone()));
        }
    }
    if rows.is_empty() && unclear > 0 {
        let says = "does not say which of CrystalDiskMark's rows were read and which written; put the lines [Read] \
                    and [Write] before them";
        return Err(complain(origin, 0, says));
    }
    if rows.is_empty() {
        return Err(complain(origin, 0, "contains no CrystalDiskMark row with a rate in MB/s"));
    }
    let says = match is_kdiskmark {
        true => {
            "KDiskMark prints the best of its runs, and the lowest mean latency of any of them; a mean of all its runs \
             is slower. It calls 1,000 KiB a MB; bytes and rates here are what it measured."
        }
        false => {
            "CrystalDiskMark prints the best of its runs in MB/s (10^6 bytes), and the lowest mean latency of any of \
             them; a mean of all its runs is slower."
        }
    };
    let mut notes = vec![says.to_owned()];
    if version.is_none() {
        let says = "The lines that name the program are not in the text; KDiskMark prints the same rows.";
        notes.push(says.to_owned());
    }
    if unclear > 0 {
        let says = "rows are left out: nothing says whether they were read or written ([Read], [Write]).";
        notes.push(format!("{unclear} {says}"));
    }
    let tool = version.map_or("CrystalDiskMark".to_owned(), |version| format!("CrystalDiskMark {version}"));
    let targets = tell_apart(&mut rows, drives);
    let result = ImportedResult::of(origin, tool, &["percentiles", "CPU use"], rows).on(targets);
    Ok(ImportedResult { started_unix_ms: date, notes, ..result })
}

/// `SEQ    1MiB (Q=  8, T= 1):  3458.123 MB/s [   3297.9 IOPS] <  2423.22 us>`, or of versions up to 6
/// `Random Read 4KiB (Q= 32,T= 1) :   123.456 MB/s [ 30140.6 IOPS]`.
fn row(line: &str, heading: &str) -> Option<Row> {
    let (left, right) = line.rsplit_once(':')?;
    let (rate, rest) = right.split_once("MB/s")?;
    let mb_per_s = number(rate).filter(|rate| (0.0..1e9).contains(rate))?;
    let left = left.trim();
    let lower = left.to_lowercase();
    let is_random = lower.starts_with("rnd") || lower.starts_with("random");
    if !is_random && !lower.starts_with("seq") {
        return None;
    }
    let way = match (heading, lower.contains("read"), lower.contains("write")) {
        ("mix", ..) => Some(Way::Mix),
        (_, _, true) | ("write", false, false) => Some(Way::Write),
        (_, true, _) | ("read", ..) => Some(Way::Read),
        _ => None,
    };
    let parameter = |key: &str| {
        let text = left.split(&format!("{key}=")).nth(1)?;
        leading_number(text.trim_start()).map(whole).and_then(|value| u32::try_from(value).ok())
    };
    let outstanding = parameter("Q").or_else(|| parameter("QD")).unwrap_or(1).max(1);
    // Versions 4 to 6 do not say that their queued sequential row has 128 KiB, and the other one 1 MiB.
    let size = size(left).unwrap_or(if outstanding > 1 { 128 * KIB } else { MIB });
    let workers = parameter("T").unwrap_or(1).max(1);
    let number_before = |unit: &str, opening: char| {
        let inside = rest.split(opening).nth(1)?.split(unit).next()?;
        number(inside).filter(|value| *value > 0.0 && *value < 1e15)
    };
    let kind = if is_random { "RND" } else { "SEQ" };
    let short = match size {
        size if size.is_multiple_of(MIB) => format!("{}M", size / MIB),
        size => format!("{}K", size / KIB),
    };
    let direction = match way {
        Some(Way::Mix) => "mix",
        Some(Way::Write) => "write",
        Some(Way::Read) | None => "read",
    };
    Some(Row {
        test: format!("{kind}{short} Q{outstanding}T{workers} {direction}"),
        size,
        is_random,
        way,
        outstanding,
        workers,
        mb_per_s,
        iops: number_before("IOPS", '['),
        mean_us: number_before("us", '<'),
    })
}

/// A number, which always has decimals: without a point a comma is their sign, as in German.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.contains('.') { text.replace(',', "") } else { text.replace(',', ".") }.parse().ok()
}

/// The size in a label: `1MiB`, `512KB`, `4KiB`. Versions up to 4 wrote KB for 1024 bytes.
fn size(label: &str) -> Option<u64> {
    // KDiskMark has a blank in `1 MiB`.
    let label = label.replace(" MiB", "MiB").replace(" KiB", "KiB");
    label.split([' ', '(']).find_map(|word| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &word[digits.len()..] {
            "MiB" | "MB" => MIB,
            "KiB" | "KB" | "K" => KIB,
            _ => return None,
        };
        digits.parse::<u64>().ok().filter(|size| (1..=65_536).contains(size)).map(|size| size * unit)
    })
}

fn result_row(row: &Row, mix_read: f64, seconds: f64, mb_bytes: f64) -> ResultRow {
    // The window ends with the last whole I/O, so that the rates are those of the text to the last digit.
    let ios = row.iops.map(|iops| (whole(iops * seconds), iops)).filter(|(count, _)| *count > 0);
    let seconds = ios.map_or(seconds, |(count, iops)| count as f64 / iops);
    let bytes = whole(row.mb_per_s * mb_bytes * seconds);
    let count = ios.map_or(bytes / row.size.max(1), |(count, _)| count);
    let mean_ns = row.mean_us.unwrap_or(0.0) * 1e3;
    let side = |share: f64| {
        let part = |value: u64| whole(value as f64 * share);
        OpStats {
            bytes: part(bytes),
            service: Latency::from_summary(part(count), mean_ns, None, None),
            ..OpStats::default()
        }
    };
    let read = match row.way {
        Some(Way::Mix) => (mix_read / 100.0).clamp(0.0, 1.0),
        Some(Way::Write) => 0.0,
        Some(Way::Read) | None => 1.0,
    };
    let job = RowJob {
        name: row.test.clone(),
        workers: row.workers,
        outstanding: row.outstanding,
        mix: vec![access(row.size, read * 100.0, if row.is_random { 100.0 } else { 0.0 })],
        stats: AccessStats { read: side(read), write: side(1.0 - read) },
        measured_ns: whole(seconds * 1e9),
        ..RowJob::default()
    };
    ResultRow { swept: Vec::new(), test: row.test.clone(), jobs: vec![job], cpu_busy: None }
}
