//! The table that iozone prints in its automatic mode (`-a`, `-s`, `-r`), and the sums of its processes (`-t`), in a
//! post or a file.

use assay_spec::units::KIB;

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, imported};
use crate::ImportError;

/// Tests by column: name, whether it reads, whether positions are random.
const TESTS: [(&str, bool, bool); 13] = [
    ("write", false, false),
    ("rewrite", false, false),
    ("read", true, false),
    ("reread", true, false),
    ("random read", true, true),
    ("random write", false, true),
    ("backward read", true, false),
    ("rewrite of a record", false, false),
    ("stride read", true, false),
    ("fwrite", false, false),
    ("refwrite", false, false),
    ("fread", true, false),
    ("refread", true, false),
];
/// Where the number of each column ends, counted from the end of the record's length: a test that was not done leaves
/// blanks.
const ENDS: [usize; 13] = [9, 18, 27, 36, 45, 54, 63, 73, 83, 92, 101, 110, 119];
/// How far off an end may be: a number with more digits than its column moves those behind it.
const SLACK: usize = 2;
/// What processes side by side do, as iozone calls them: name, whether it reads, whether positions are random.
const TOGETHER: [(&str, &str, bool, bool); 12] = [
    ("initial writers", "write", false, false),
    ("rewriters", "rewrite", false, false),
    ("readers", "read", true, false),
    ("re-readers", "reread", true, false),
    ("reverse readers", "backward read", true, false),
    ("stride readers", "stride read", true, false),
    ("random readers", "random read", true, true),
    ("random writers", "random write", false, true),
    ("pwrite writers", "pwrite", false, false),
    ("pread readers", "pread", true, false),
    ("fwriters", "fwrite", false, false),
    ("freaders", "fread", true, false),
];
/// What stands before the sum of the rates of all processes.
const CHILDREN: &str = "Children see throughput for";

/// Whether a text has such a table, or such sums.
pub fn is_results(text: &str) -> bool {
    text.lines().any(|line| is_header(line) || bare(line).starts_with(CHILDREN))
}

/// A line without what a post puts before it.
fn bare(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t'])
}

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.trim_start_matches(['>', ' ', '\t']).split_whitespace().take(4).collect();
    matches!(words.as_slice(), ["kB" | "KB", "reclen", "write", "rewrite"])
}

/// What the numbers of a table are.
#[derive(Clone, Copy, Default)]
enum Unit {
    #[default]
    KibPerSecond,
    OpsPerSecond,
    MicrosecondsPerOp,
}

/// What is before the sizes of `-t`, and of `-t` with `-T`.
const EACH: [&str; 2] = ["Each process writes a ", "Each thread writes a "];

/// What was read of a text so far.
#[derive(Default)]
struct Reader {
    unit: Unit,
    is_table: bool,
    lines: Vec<(Cells, Unit)>,
    /// KiB of the file and of a record of each of several processes.
    each_kib: (u64, u64),
    together: Vec<Plain>,
    unclear: usize,
    mixed: usize,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if is_header(line) {
            self.is_table = true;
        } else if line.contains("Performance Test of File I/O") {
            (self.unit, self.is_table, self.each_kib) = (Unit::KibPerSecond, false, (0, 0));
        } else if line.contains("Output is in operations per second") {
            self.unit = Unit::OpsPerSecond;
        } else if line.contains("Output is in microseconds per operation") {
            self.unit = Unit::MicrosecondsPerOp;
        } else if let Some(rest) = EACH.iter().find_map(|each| bare(line).strip_prefix(each)) {
            let mut numbers = rest.split_whitespace().filter_map(|word| word.parse().ok());
            self.each_kib = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        } else if let Some(rest) = bare(line).strip_prefix(CHILDREN) {
            match together(rest, self.each_kib) {
                Some(row) => self.together.push(row),
                None if rest.contains("mixed workload") => self.mixed += 1,
                None => self.unclear += 1,
            }
        } else if self.is_table {
            match cells(line) {
                Some(cells) if cells.values.is_empty() => self.unclear += 1,
                Some(cells) => self.lines.push((cells, self.unit)),
                None => {}
            }
        }
    }

    /// All rows; those of a table name their file where there are several.
    fn rows(&self) -> Vec<Plain> {
        let names_file = self.lines.windows(2).any(|pair| pair[0].0.file_kib != pair[1].0.file_kib);
        let of_line = |(cells, unit): &(Cells, Unit)| -> Vec<Plain> {
            cells.values.iter().map(|(test, value)| row(cells, *test, *value, *unit, names_file)).collect()
        };
        self.lines.iter().flat_map(of_line).chain(self.together.iter().cloned()).collect()
    }
}

/// Reads the rows of all tables of a text, and the sums of its processes.
///
/// # Errors
/// When there are none.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut reader = Reader::default();
    text.lines().for_each(|line| reader.line(line.trim_start_matches('>')));
    let says = "iozone calls 1,024 bytes a kB, does one I/O at a time and gives rates; without -I they are those of \
                the page cache.";
    let mut notes = vec![says.to_owned()];
    if !reader.together.is_empty() {
        let says = "Rates of several processes are the sums of what each measured while all of them ran (`Children \
                    see`).";
        notes.push(says.to_owned());
    }
    if reader.mixed > 0 {
        let says = "mixed workload is left out: iozone does not say how much of it was read.";
        notes.push(says.to_owned());
    }
    if reader.unclear > 0 {
        notes.push(format!(
            "{} lines are left out: their numbers are in no column of the table.",
            reader.unclear
        ));
    }
    let origin = Origin { file: origin, tool: "iozone".to_owned(), missing: &["latencies", "CPU use"] };
    imported(&origin, &reader.rows(), notes)
}

/// ` 2 random readers  = 8797014.94 kB/sec`, of processes with a file and records of so many KiB each.
fn together(rest: &str, (file_kib, record_kib): (u64, u64)) -> Option<Plain> {
    let (who, rate) = rest.split_once('=')?;
    let (count, who) = who.trim().split_once(' ')?;
    let (_, name, reads, is_random) = TOGETHER.into_iter().find(|(known, ..)| *known == who.trim())?;
    let mut words = rate.split_whitespace();
    let (rate, unit) = (words.next()?.parse::<f64>().ok()?, words.next()?);
    let workers = count.parse::<u32>().ok().filter(|_| file_kib > 0 && record_kib > 0 && rate > 0.0)?;
    let bytes = file_kib.saturating_mul(KIB) as f64 * f64::from(workers);
    let ios = (file_kib.div_ceil(record_kib)) as f64 * f64::from(workers);
    let seconds = match unit {
        "kB/sec" | "KB/sec" => bytes / KIB as f64 / rate,
        "ops/sec" => ios / rate,
        _ => return None,
    };
    let side = Side { ios, bytes, ..Side::default() };
    let (read, write) = if reads { (side, Side::default()) } else { (Side::default(), side) };
    let test = format!("{name}, {record_kib}k, {workers} processes");
    Some(Plain { test, seconds, read, write, is_random, workers, ..Plain::default() })
}

/// A line of the table.
struct Cells {
    file_kib: u64,
    record_kib: u64,
    /// By place in [`TESTS`]; empty where the line does not fit the columns.
    values: Vec<(usize, f64)>,
}

fn cells(line: &str) -> Option<Cells> {
    let mut words = words(line).into_iter();
    let mut whole = || words.next().and_then(|(word, end)| Some((word.parse::<u64>().ok()?, end)));
    let ((file_kib, _), (record_kib, base)) = (whole()?, whole()?);
    let rest: Vec<(f64, usize)> =
        words.map(|(word, end)| Some((word.parse::<f64>().ok()?, end))).collect::<Option<_>>()?;
    if record_kib == 0 || record_kib > file_kib || rest.is_empty() {
        return None;
    }
    let is_full = rest.len() == TESTS.len();
    let column = |index: usize, end: usize| match is_full {
        true => Some(index),
        false => ENDS.iter().position(|known| known.abs_diff(end - base) <= SLACK),
    };
    let placed = rest.iter().enumerate().map(|(index, (value, end))| Some((column(index, *end)?, *value)));
    let values: Vec<(usize, f64)> = placed.collect::<Option<_>>().unwrap_or_default();
    let is_clear = values.windows(2).all(|pair| pair[0].0 < pair[1].0);
    Some(Cells { file_kib, record_kib, values: if is_clear { values } else { Vec::new() } })
}

/// The words of a line, each with the column behind it.
fn words(line: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in line.split([' ', '\t']) {
        at += word.len();
        if !word.is_empty() {
            found.push((word, at));
        }
        at += 1;
    }
    found
}

/// Each test goes once through the file.
fn row(cells: &Cells, test: usize, value: f64, unit: Unit, names_file: bool) -> Plain {
    let (name, reads, is_random) = TESTS[test];
    let bytes = cells.file_kib.saturating_mul(KIB) as f64;
    let ios = cells.file_kib.div_ceil(cells.record_kib) as f64;
    let seconds = match unit {
        Unit::KibPerSecond => bytes / KIB as f64 / value,
        Unit::OpsPerSecond => ios / value,
        Unit::MicrosecondsPerOp => ios * value / 1e6,
    };
    let side = Side { ios, bytes, ..Side::default() };
    let (read, write) = if reads { (side, Side::default()) } else { (Side::default(), side) };
    let of_file = if names_file { format!(" of {}k", cells.file_kib) } else { String::new() };
    Plain {
        test: format!("{name}, {}k{of_file}", cells.record_kib),
        seconds,
        read,
        write,
        is_random,
        ..Plain::default()
    }
}
