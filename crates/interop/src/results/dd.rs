//! What `dd` prints when it ends, of GNU in any language, of BSD and of BusyBox.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::Semantics;

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, repeated, whole};
use crate::{ImportError, complain};

/// Whether a text is what `dd` prints.
#[must_use]
pub fn is_results(text: &str) -> bool {
    let has = |is_such: fn(&str) -> bool| text.lines().map(str::trim).any(is_such);
    has(|line| records_of(line).is_some()) && has(|line| moved(line).is_some())
}

/// `1024+0 records out`: whole and partial records.
fn records_of(line: &str) -> Option<u64> {
    let (full, part) = without_words(line).split_whitespace().next()?.split_once('+')?;
    Some(full.parse::<u64>().ok()?.saturating_add(part.parse().ok()?))
}

/// Without what precedes the number in Chinese and Russian.
fn without_words(line: &str) -> &str {
    line.trim_start_matches(|c: char| !c.is_ascii() || c == ' ')
}

/// Bytes and seconds of `1048576 bytes (1,0 MB, 1,0 MiB) copied, 1,5 s, 0,7 MB/s`, whose words and decimal signs are
/// those of a language, or of `1048576 bytes transferred in 1.5 secs (699050 bytes/sec)`.
fn moved(line: &str) -> Option<(u64, Option<f64>)> {
    let line = without_words(line);
    let (bytes, rest) = line.split_at(line.find(|c: char| !c.is_ascii_digit())?);
    let bytes =
        bytes.parse::<u64>().ok().filter(|_| rest.starts_with(|c: char| c == ' ' || !c.is_ascii()))?;
    let rest = rest.replace('\u{ff0c}', ", ");
    let fields: Vec<&str> = rest.split(", ").collect();
    let time = match (rest.split_once("transferred in "), fields.as_slice()) {
        (Some((_, time)), _) => time,
        (None, [_, .., time, rate])
            if ["/s", "/c", "/\u{441}"].iter().any(|end| rate.trim_end().ends_with(end)) =>
        {
            time
        }
        _ => return None,
    };
    let seconds = time.split_whitespace().next()?.replace(',', ".").parse::<f64>().ok();
    Some((bytes, seconds.filter(|seconds| *seconds > 0.0 && *seconds < 1e9)))
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
        records = records_of(line).unwrap_or(records);
        // What `status=progress` prints on the way has no records before it.
        let Some((bytes, seconds)) = moved(line).filter(|_| records > 0) else { continue };
        let Some(seconds) = seconds else {
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
