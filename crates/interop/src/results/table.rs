//! A plain table as CSV, typed from an article: `system,test,MiB/s,IOPS,avg ms,max ms`, in any order.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::units::MIB;
use assay_spec::{Semantics, Swept};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, ns_of_ms, whole};
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
#[must_use]
pub fn is_table(text: &str) -> bool {
    let columns = text.lines().find(|line| !line.trim().is_empty()).map(titles).unwrap_or_default();
    columns.contains(&Some(Column::Test))
}

/// The columns of the line of titles.
fn titles(line: &str) -> Vec<Option<Column>> {
    line.split(separator(line)).map(column).collect()
}

fn separator(titles: &str) -> char {
    [';', '\t'].into_iter().find(|c| titles.contains(*c)).unwrap_or(',')
}

/// Reads a table. `origin` is the file's name in messages.
///
/// # Errors
/// When the text has no column of tests, no rate, or a cell that is not a number.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
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
    let (mut rows, mut systems): (Vec<ResultRow>, Vec<String>) = (Vec::new(), Vec::new());
    let by = separator(head);
    for (index, line) in lines {
        if rows.len() >= ROWS_MAX {
            return Err(complain(origin, index + 1, format!("has more than {ROWS_MAX} rows")));
        }
        let (system, row) = row(origin, index + 1, line, by, &columns)?;
        if !systems.contains(&system) && !system.is_empty() {
            systems.push(system.clone());
        }
        let test = match systems.len() {
            0 | 1 => row.test.clone(),
            _ => format!("{system}: {}", row.test),
        };
        let same = rows.iter().filter(|other: &&ResultRow| other.test == test).count();
        let swept = match same {
            0 => Vec::new(),
            same => vec![Swept { key: "row".to_owned(), value: (same + 1).to_string() }],
        };
        rows.push(ResultRow { test, swept, ..row });
    }
    if rows.is_empty() {
        return Err(complain(origin, first + 1, "has no row below its header"));
    }
    let mut missing =
        vec!["the duration".to_owned(), "percentiles".to_owned(), "shares of reads and writes".to_owned()];
    missing.extend((!has(Column::MeanMs)).then(|| "the mean latency".to_owned()));
    missing.extend((!has(Column::MaxMs)).then(|| "the maximum latency".to_owned()));
    let name = crate::names::stem(origin).to_owned();
    Ok(ImportedResult {
        from: Imported {
            tool: "a table".to_owned(),
            file: crate::names::file_name(origin).to_owned(),
            missing,
        },
        started_unix_ms: None,
        targets: if systems.is_empty() { vec![name.clone()] } else { systems },
        name,
        semantics: Semantics::Assay,
        rows,
        notes: vec![
            "The table does not say how long was measured; counts stand for 1000 s. Reads and writes are \
                 not separate: \
             rows with `write` in their name count as writes, all others as reads."
                .to_owned(),
        ],
    })
}

fn row(
    origin: &str,
    line: usize,
    text: &str,
    by: char,
    columns: &[Option<Column>],
) -> Result<(String, ResultRow), ImportError> {
    let cells: Vec<&str> = text.split(by).map(|cell| cell.trim().trim_matches('"')).collect();
    let cell = |wanted: Column| {
        let at = columns.iter().position(|column| *column == Some(wanted));
        at.and_then(|at| cells.get(at)).copied().filter(|cell| !cell.is_empty() && *cell != "-")
    };
    let number = |wanted: Column| match cell(wanted) {
        None => Ok(None),
        Some(text) => match text.parse::<f64>() {
            Ok(value) if (0.0..1e15).contains(&value) => Ok(Some(value)),
            _ => {
                let short: String = text.chars().take(40).collect();
                Err(complain(
                    origin,
                    line,
                    format!("`{short}` is not a number, or out of range; write it like 1234.5"),
                ))
            }
        },
    };
    let Some(test) = cell(Column::Test) else { return Err(complain(origin, line, "the row names no test")) };
    let rate =
        number(Column::MibPerS)?.map(|mib| mib * MIB as f64).or(number(Column::MbPerS)?.map(|mb| mb * 1e6));
    let iops = number(Column::Iops)?;
    if rate.is_none() && iops.is_none() {
        return Err(complain(origin, line, "the row has neither a throughput nor IOPS"));
    }
    let count = whole(iops.unwrap_or(0.0) * SECONDS);
    let bytes = whole(rate.unwrap_or(0.0) * SECONDS);
    let mean_ns = number(Column::MeanMs)?.unwrap_or(0.0) * 1e6;
    let service = Latency::from_summary(count, mean_ns, None, number(Column::MaxMs)?.map(ns_of_ms));
    let side = OpStats { bytes, service, ..OpStats::default() };
    let is_write = test.to_lowercase().contains("write");
    let stats = match is_write {
        true => AccessStats { write: side, ..AccessStats::default() },
        false => AccessStats { read: side, ..AccessStats::default() },
    };
    let size = bytes.checked_div(count).unwrap_or(0);
    let job = RowJob {
        name: test.to_owned(),
        workers: 1,
        outstanding: 1,
        mix: vec![access(size, if is_write { 0.0 } else { 100.0 }, 0.0)],
        stats,
        measured_ns: whole(SECONDS * 1e9),
    };
    let row = ResultRow { test: test.to_owned(), swept: Vec::new(), jobs: vec![job], cpu_busy: None };
    Ok((cell(Column::System).unwrap_or_default().to_owned(), row))
}
