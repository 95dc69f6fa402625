//! What `dd` prints when it ends, of GNU and BSD.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::Semantics;

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, leading_number, repeated, whole};
use crate::{ImportError, complain};

/// Whether a text is what `dd` prints.
#[must_use]
pub fn is_results(text: &str) -> bool {
    text.contains(" records out") && (text.contains(" copied, ") || text.contains(" bytes transferred in "))
}

/// Reads all runs of `dd` in a text.
///
/// # Errors
/// When a line of its results has no bytes or no time.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut rows: Vec<ResultRow> = Vec::new();
    let (mut records, mut command, mut names_direction) = (0, String::new(), true);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.contains("dd ") && line.contains("of=") {
            line.clone_into(&mut command);
        }
        if let Some((whole_and_part, _)) = line.split_once(" records out") {
            let (full, part) = whole_and_part.split_once('+').unwrap_or((whole_and_part, "0"));
            let number = |text: &str| text.trim().parse::<u64>().unwrap_or(0);
            records = number(full).saturating_add(number(part));
        }
        let Some(rest) = line.split_once(" bytes ").map(|(bytes, rest)| (bytes.trim(), rest)) else {
            continue;
        };
        let after = ["copied, ", "transferred in "].iter().find_map(|word| rest.1.split(word).nth(1));
        let Some(after) = after else { continue };
        let (bytes, seconds) = (rest.0.parse::<u64>().ok(), leading_number(after));
        let (Some(bytes), Some(seconds)) = (bytes, seconds.filter(|s| *s > 0.0 && *s < 1e9)) else {
            return Err(complain(origin, index + 1, "the line has no bytes or no time"));
        };
        if rows.len() >= ROWS_MAX {
            return Err(complain(origin, index + 1, format!("has more than {ROWS_MAX} results")));
        }
        names_direction &= !command.is_empty();
        let is_read = command.contains("of=/dev/null");
        let row = row(bytes, records, seconds, is_read, &rows);
        rows.push(row);
        (records, command) = (0, String::new());
    }
    if rows.is_empty() {
        return Err(complain(
            origin,
            0,
            "contains no dd result: a line like `1048576 bytes … copied, 1.5 s`",
        ));
    }
    let mut notes = vec![
        "dd transfers one block at a time, sequentially. Without oflag=direct or conv=fsync its rate \
                          includes what the page cache took."
            .to_owned(),
    ];
    if !names_direction {
        notes.push(
            "The text does not contain all dd commands; where it does not, the result counts as a write."
                .to_owned(),
        );
    }
    let name = crate::names::stem(origin).to_owned();
    Ok(ImportedResult {
        from: Imported {
            tool: "dd".to_owned(),
            file: crate::names::file_name(origin).to_owned(),
            missing: vec!["latencies".to_owned(), "CPU use".to_owned()],
            has_series: false,
        },
        started_unix_ms: None,
        targets: vec![name.clone()],
        name,
        semantics: Semantics::Assay,
        rows,
        notes,
    })
}

fn row(bytes: u64, records: u64, seconds: f64, is_read: bool, others: &[ResultRow]) -> ResultRow {
    let size = bytes.checked_div(records).unwrap_or(0);
    let side =
        OpStats { bytes, service: Latency::from_summary(records, 0.0, None, None), ..OpStats::default() };
    let stats = match is_read {
        true => AccessStats { read: side, ..AccessStats::default() },
        false => AccessStats { write: side, ..AccessStats::default() },
    };
    let test = format!("dd {}", if is_read { "read" } else { "write" });
    let job = RowJob {
        flush: None,
        name: test.clone(),
        workers: 1,
        outstanding: 1,
        mix: vec![access(size, if is_read { 100.0 } else { 0.0 }, 0.0)],
        stats,
        measured_ns: whole(seconds * 1e9),
        series: Vec::new(),
    };
    ResultRow { swept: repeated(&test, others), test, jobs: vec![job], cpu_busy: None }
}
