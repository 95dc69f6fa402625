//! A plain table as CSV, typed from an article: `system,test,MiB/s,IOPS,avg ms,max ms`, in any order.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::units::MIB;

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, ns_of_ms, repeated, whole};
use crate::{ImportError, complain};

/// A table does not say how long was measured; with 1000 s rates keep three decimals.
const SECONDS: f64 = 1000.0;

/// A column that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    System,
    Test,
    MibPerS,
    MbPerS,
    Iops,
    MeanMs,
    MaxMs,
}

fn column(title: &str) -> Option<Column> {
    match title.trim().trim_matches('"').to_lowercase().as_str() {
        "system" | "target" | "storage" => Some(Column::System),
        "test" | "test name" => Some(Column::Test),
        "mib/s" | "mibps" => Some(Column::MibPerS),
        "mb/s" | "mbps" => Some(Column::MbPerS),
        "iops" | "io/s" | "ios/s" => Some(Column::Iops),
        "avg ms" | "avg" | "average ms" | "latency (ms)" | "mean ms" => Some(Column::MeanMs),
        "max ms" | "max" | "maximum ms" => Some(Column::MaxMs),
        _ => None,
    }
}

/// Whether a text may be such a table.
pub fn is_table(text: &str) -> bool {
    let columns = text.lines().find(|line| !line.trim().is_empty()).map(titles).unwrap_or_default();
    columns.contains(&Some(Column::Test))
}

/// The columns of the line of titles.
fn titles(line: &str) -> Vec<Option<Column>> {
    split(line, separator(line)).iter().map(|title| column(title)).collect()
}

/// Splits a line into its cells. A cell in quotation marks may contain the separator, and `""` for a quotation mark.
fn split(line: &str, by: char) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => cell.extend(rest.next()),
            '"' if is_quoted => is_quoted = false,
            '"' if cell.trim().is_empty() => is_quoted = true,
            c if c == by && !is_quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            c => cell.push(c),
        }
    }
    cells.push(cell.trim().to_owned());
    cells
}

/// Reads a number. Where cells are not separated by commas, a comma may be that of a decimal fraction.
fn number_of(text: &str, by: char) -> Result<f64, String> {
    let short: String = text.chars().take(40).collect();
    let is_decimal = by != ',' && text.matches(',').count() == 1 && !text.contains('.');
    if is_decimal && text.rsplit(',').next().is_some_and(|last| last.len() == 3) {
        let whole = text.replace(',', "");
        return Err(format!("`{short}` may be a fraction or {whole}; write it without the comma"));
    }
    let plain = if is_decimal { text.replace(',', ".") } else { text.to_owned() };
    let value = plain.parse::<f64>().ok().filter(|value| (0.0..1e15).contains(value));
    value.ok_or_else(|| format!("`{short}` is not a number, or out of range; write it like 1234.5"))
}

fn separator(titles: &str) -> char {
    [';', '\t'].into_iter().find(|c| titles.contains(*c)).unwrap_or(',')
}

/// Reads a table. `origin` is the file's name in messages.
///
/// # Errors
/// When the text has no column of tests, no rate, or a cell that is not a number.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let all = all_cells(origin, text)?;
    let has_mean = all.iter().any(|row| row.mean_ms.is_some());
    let has_max = all.iter().any(|row| row.max_ms.is_some());
    let mut systems: Vec<String> = Vec::new();
    for cells in &all {
        if !systems.contains(&cells.system) && !cells.system.is_empty() {
            systems.push(cells.system.clone());
        }
    }
    let mut rows: Vec<ResultRow> = Vec::new();
    for cells in all {
        let system = cells.system.clone();
        let row = row(cells);
        let test = match systems.len() {
            0 | 1 => row.test.clone(),
            _ => format!("{system}: {}", row.test),
        };
        rows.push(ResultRow { swept: repeated(&test, &rows), test, ..row });
    }
    let mut missing = vec!["the duration", "percentiles", "shares of reads and writes", Imported::LOAD];
    missing.extend((!has_mean).then_some("the mean latency"));
    missing.extend((!has_max).then_some("the maximum latency"));
    let result = ImportedResult::of(origin, "a table", &missing, rows).on(systems);
    Ok(ImportedResult { notes: notes(text), ..result })
}

fn notes(text: &str) -> Vec<String> {
    let mut notes = vec![
        "The table does not say how long was measured; counts stand for 1000 s. Reads and writes are not separate: \
         rows with `write` in their name count as writes, all others as reads."
            .to_owned(),
    ];
    let head = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let unknown: Vec<String> = split(head, separator(head))
        .into_iter()
        .filter(|title| !title.is_empty() && column(title).is_none())
        .map(|title| format!("`{}`", title.chars().take(40).collect::<String>()))
        .collect();
    if !unknown.is_empty() {
        notes.push(format!("Left out: {}; a table has no such column.", unknown.join(", ")));
    }
    notes
}

/// The cells of a row that are understood.
struct Cells {
    system: String,
    test: String,
    mib_per_s: Option<f64>,
    mb_per_s: Option<f64>,
    iops: Option<f64>,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
}

fn cells(
    origin: &str,
    line: usize,
    text: &str,
    by: char,
    columns: &[Option<Column>],
) -> Result<Cells, ImportError> {
    let cells = split(text, by);
    let is_known = |cell: &&str| !["", "-", "–", "—", "n/a", "na"].contains(&cell.to_lowercase().as_str());
    let cell = |wanted: Column| {
        let at = columns.iter().position(|column| *column == Some(wanted));
        at.and_then(|at| cells.get(at)).map(String::as_str).filter(is_known)
    };
    let number = |wanted: Column| {
        let read = |text| number_of(text, by).map_err(|why| complain(origin, line, why));
        cell(wanted).map(read).transpose()
    };
    let Some(test) = cell(Column::Test) else { return Err(complain(origin, line, "the row names no test")) };
    let row = Cells {
        system: cell(Column::System).unwrap_or_default().to_owned(),
        test: test.to_owned(),
        mib_per_s: number(Column::MibPerS)?,
        mb_per_s: number(Column::MbPerS)?,
        iops: number(Column::Iops)?,
        mean_ms: number(Column::MeanMs)?,
        max_ms: number(Column::MaxMs)?,
    };
    if row.mib_per_s.is_none() && row.mb_per_s.is_none() && row.iops.is_none() {
        return Err(complain(origin, line, "the row has neither a throughput nor IOPS"));
    }
    Ok(row)
}

fn row(cells: Cells) -> ResultRow {
    let rate = cells.mib_per_s.map(|mib| mib * MIB as f64).or(cells.mb_per_s.map(|mb| mb * 1e6));
    let count = whole(cells.iops.unwrap_or(0.0) * SECONDS);
    let bytes = whole(rate.unwrap_or(0.0) * SECONDS);
    let mean_ns = cells.mean_ms.unwrap_or(0.0) * 1e6;
    let service = Latency::from_summary(count, mean_ns, None, cells.max_ms.map(ns_of_ms));
    let side = OpStats { bytes, service, ..OpStats::default() };
    let is_write = cells.test.to_lowercase().contains("write");
    let stats = match is_write {
        true => AccessStats { write: side, ..AccessStats::default() },
        false => AccessStats { read: side, ..AccessStats::default() },
    };
    let size = bytes.checked_div(count).unwrap_or(0);
    let job = RowJob {
        name: cells.test.clone(),
        mix: vec![access(size, if is_write { 0.0 } else { 100.0 }, 0.0)],
        stats,
        measured_ns: whole(SECONDS * 1e9),
        ..RowJob::default()
    };
    ResultRow { test: cells.test, swept: Vec::new(), jobs: vec![job], cpu_busy: None }
}

/// Returns a table as a file of `published/`: the form of tables that ship with Assay. Its source is for the reader to
/// fill in.
///
/// # Errors
/// As [`import`].
pub fn published(origin: &str, text: &str) -> Result<String, ImportError> {
    let rows = all_cells(origin, text)?;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut systems: Vec<&str> =
        rows.iter().map(|row| row.system.as_str()).filter(|s| !s.is_empty()).collect();
    systems.dedup();
    let name = crate::names::stem(origin);
    let mut toml = format!(
        "# Typed from {}. Name author, title and year in `source` before it ships.\nname = {}\nsystem = {}\n\
         source = {}\n\
         setup = \"\"\n",
        crate::names::file_name(origin),
        quoted(name),
        quoted(if systems.is_empty() { name } else { systems[0] }),
        quoted(&format!("a table typed from {}", crate::names::file_name(origin))),
    );
    for row in &rows {
        toml.push_str(&format!("\n[[row]]\ntest = {}\n", quoted(&row.test)));
        if systems.len() > 1 {
            toml.push_str(&format!("setup = {}\n", quoted(&row.system)));
        }
        for (key, value) in [
            ("mib_s", row.mib_per_s),
            ("mb_s", row.mb_per_s),
            ("iops", row.iops),
            ("mean_ms", row.mean_ms),
            ("max_ms", row.max_ms),
        ] {
            if let Some(value) = value {
                toml.push_str(&format!("{key} = {value:?}\n"));
            }
        }
    }
    Ok(toml)
}

/// Every row of a table, below its titles.
fn all_cells(origin: &str, text: &str) -> Result<Vec<Cells>, ImportError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((first, head)) = lines.next() else { return Err(complain(origin, 0, "is empty")) };
    let columns = titles(head);
    let rates = [Column::MibPerS, Column::MbPerS, Column::Iops];
    let has = |column: Column| columns.contains(&Some(column));
    if !has(Column::Test) || !rates.iter().any(|rate| has(*rate)) {
        return Err(complain(
            origin,
            first + 1,
            "needs the titles `test` and one of `MiB/s`, `MB/s` and `IOPS`, for example: system,test,MiB/s,IOPS,avg \
             ms,max ms",
        ));
    }
    let (by, mut rows) = (separator(head), Vec::new());
    for (index, line) in lines {
        if rows.len() >= ROWS_MAX {
            return Err(complain(origin, index + 1, format!("has more than {ROWS_MAX} rows")));
        }
        rows.push(cells(origin, index + 1, line, by, &columns)?);
    }
    if rows.is_empty() {
        return Err(complain(origin, first + 1, "has no row below its header"));
    }
    Ok(rows)
}
