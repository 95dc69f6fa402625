//! The table that iozone prints in its automatic mode (`-a`, `-s`, `-r`), in a post or a file.

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

/// Whether a text has such a table.
#[must_use]
pub fn is_results(text: &str) -> bool {
    text.lines().any(is_header)
}

fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.trim_start_matches(['>', ' ', '\t']).split_whitespace().take(4).collect();
    matches!(words.as_slice(), ["kB" | "KB", "reclen", "write", "rewrite"])
}

/// What the numbers of a table are.
#[derive(Clone, Copy)]
enum Unit {
    KibPerSecond,
    OpsPerSecond,
    MicrosecondsPerOp,
}

/// Reads the rows of all tables of a text.
///
/// # Errors
/// When there are none.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut unit, mut is_table, mut rows, mut unclear) = (Unit::KibPerSecond, false, Vec::new(), 0);
    for line in text.lines().map(|line| line.trim_start_matches('>')) {
        if is_header(line) {
            is_table = true;
        } else if line.contains("Performance Test of File I/O") {
            (unit, is_table) = (Unit::KibPerSecond, false);
        } else if line.contains("Output is in operations per second") {
            unit = Unit::OpsPerSecond;
        } else if line.contains("Output is in microseconds per operation") {
            unit = Unit::MicrosecondsPerOp;
        } else if is_table {
            match cells(line) {
                Some(cells) if cells.values.is_empty() => unclear += 1,
                Some(cells) => {
                    rows.extend(cells.values.iter().map(|(test, value)| row(&cells, *test, *value, unit)))
                }
                None => {}
            }
        }
    }
    let mut notes = vec![
        "iozone calls 1,024 bytes a kB, does one I/O at a time and gives rates; without -I they are those of the page \
         cache."
            .to_owned(),
    ];
    if unclear > 0 {
        notes.push(format!("{unclear} lines are left out: their numbers are in no column of the table."));
    }
    let origin = Origin { file: origin, tool: "iozone".to_owned(), missing: &["latencies", "CPU use"] };
    imported(&origin, &rows, notes)
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
fn row(cells: &Cells, test: usize, value: f64, unit: Unit) -> Plain {
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
    Plain {
        test: format!("{name}, {}k", cells.record_kib),
        seconds,
        read,
        write,
        is_random,
        ..Plain::default()
    }
}
