//! The line of numbers that Bonnie++ prints (1.96 to 2.00), by itself or among what it says, and its table for people.

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, imported};
use crate::ImportError;

/// Columns of rates in KiB/s and of CPU use in percent, by test: name, first column, whether it reads, and writes.
const STREAMS: [(&str, usize, [bool; 2]); 5] = [
    ("Sequential output per char", 9, [false, true]),
    ("Sequential output by block", 11, [false, true]),
    ("Rewrite", 13, [true, true]),
    ("Sequential input per char", 15, [true, false]),
    ("Sequential input by block", 17, [true, false]),
];
/// Column of random seeks in a second.
const SEEKS: usize = 19;
/// The fewest columns of a line.
const COLUMNS: usize = 21;

fn is_line(line: &str) -> bool {
    let cells: Vec<&str> = line.split(',').collect();
    cells.len() >= COLUMNS
        && matches!(cells[0], "1.96" | "1.97" | "1.98" | "2.00")
        && cells[1].starts_with(['1', '2'])
}

/// Whether a text has such a line, or the table.
pub fn is_results(text: &str) -> bool {
    text.lines().any(is_line) || is_table(text)
}

fn is_table(text: &str) -> bool {
    text.contains("---Sequential Output---") && text.contains("-Rewrite-")
}

/// The rows of its table as its line of numbers has them: what people post of it, where the line is left out.
fn lines_of_table(text: &str) -> Vec<String> {
    let (mut found, mut is_open) = (Vec::new(), false);
    for line in text.lines().map(|line| line.trim_start_matches(['>', ' ', '\t', '`'])) {
        if line.contains("/sec %CP") {
            is_open = true;
        } else if line.contains("--Create--") || line.contains("-Create--") {
            is_open = false;
        } else if is_open {
            found.extend(line_of_row(line));
        }
    }
    found
}

/// `server1 16G 637k 99 180m 35 78m 17 1253k 97 201m 19 298.1 12`; rates without a letter are in KiB/s. With `-f` the
/// two columns of single characters are empty.
fn line_of_row(row: &str) -> Option<String> {
    let cells: Vec<&str> = row.split_whitespace().collect();
    row_of(&cells, &[9, 11, 13, 15, 17, SEEKS]).or_else(|| row_of(&cells, &[11, 13, 17, SEEKS]))
}

/// The cells of a row that ends in a rate and a share of the CPU for each of these columns.
fn row_of(cells: &[&str], columns: &[usize]) -> Option<String> {
    let (head, pairs) = cells.split_at_checked(cells.len().checked_sub(2 * columns.len())?)?;
    let (name, whole) = match head {
        [one] => one.rsplit_once(':')?,
        [name, .., whole] => (*name, *whole),
        [] => return None,
    };
    let size = whole.split(':').next().filter(|text| size(text).is_some())?;
    let is_known = |cell: &&str| cell.starts_with('+') || size_of_rate(cell).is_some();
    if !pairs.iter().step_by(2).all(is_known) {
        return None;
    }
    let mut line = vec![String::new(); COLUMNS];
    line[2] = name.to_owned();
    line[5] = size.to_owned();
    for (column, pair) in columns.iter().zip(pairs.chunks(2)) {
        let kib = |text: &str| size_of_rate(text).map(|kib| kib.to_string());
        let of_rate = if *column < SEEKS { kib(pair[0]) } else { Some(pair[0].replace(',', ".")) };
        line[*column] = of_rate.unwrap_or_else(|| pair[0].to_owned());
        line[*column + 1] = pair[1].to_owned();
    }
    Some(line.join(","))
}

/// `180m`, KiB in a second.
fn size_of_rate(text: &str) -> Option<f64> {
    let text = text.replace(',', ".");
    let is_bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    size(&text).map(|number| if is_bare { number } else { number / 1024.0 })
}

/// Reads all lines of Bonnie++ in a text.
///
/// # Errors
/// When none has a rate.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut rows, mut skipped) = (Vec::new(), 0);
    let lines: Vec<String> = match text.lines().any(is_line) {
        true => text.lines().filter(|line| is_line(line)).map(str::to_owned).collect(),
        false => lines_of_table(text),
    };
    for line in &lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let target = Some(cells[2].to_owned());
        let cell = |index: usize| cells.get(index).copied().unwrap_or_default();
        let bytes = size(cell(5)).unwrap_or(0.0);
        let block = size(cell(7)).filter(|bytes| *bytes > 0.0).unwrap_or(8192.0);
        for (name, first, [reads, writes]) in STREAMS {
            skipped += usize::from(cell(first).starts_with('+'));
            let Some(rate) = cell(first).parse::<f64>().ok().filter(|rate| *rate > 0.0) else { continue };
            let per_second = rate * 1024.0;
            let seconds = bytes / per_second;
            let unit = if name.contains("char") { 1.0 } else { block };
            let side = Side::of_rates(per_second / unit, per_second, seconds);
            let busy = cell(first + 1).parse::<f64>().ok().map(|percent| percent / 100.0);
            let of = |is: bool| if is { side } else { Side::default() };
            rows.push(Plain {
                test: name.to_owned(),
                seconds,
                read: of(reads),
                write: of(writes),
                cpu_busy: busy,
                target: target.clone(),
                ..Plain::default()
            });
        }
        skipped += usize::from(cell(SEEKS).starts_with('+'));
        if let Some(rate) = cell(SEEKS).parse::<f64>().ok().filter(|rate| *rate > 0.0) {
            let read = Side::of_rates(rate, rate * block, 1.0);
            rows.push(Plain {
                test: "Random seeks".to_owned(),
                seconds: 1.0,
                read,
                is_random: true,
                target,
                ..Plain::default()
            });
        }
    }
    let mut notes = vec![
        "Bonnie++ goes through the page cache. Its latencies are the longest of each test, of its own calls, and are \
         not kept. Tests of files that it creates and deletes are no I/O of blocks and are left out. Random seeks \
         are given as a rate; their duration is not known, and 1 s stands for it."
            .to_owned(),
    ];
    if skipped > 0 {
        notes.push(format!("{skipped} tests ended too fast for Bonnie++ to give a rate (+++++)."));
    }
    let missing = &["latencies"];
    let origin = Origin { file: origin, tool: "Bonnie++".to_owned(), missing };
    imported(&origin, &rows, notes)
}

/// `64M`, bytes; a bare number is in MiB where it is the size of the test.
fn size(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1.0,
        "k" | "K" => 1024.0,
        "M" | "m" => 1024.0 * 1024.0,
        "G" | "g" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * factor)
}
