//! What `dd` prints when it ends, of GNU in any language, of BSD and of BusyBox.

use std::collections::VecDeque;

use assay_record::{AccessStats, Latency, OpStats};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, repeated, whole};
use crate::{ImportError, complain};

/// Whether a text is what `dd` prints.
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
    // Commas of Chinese and of Japanese.
    let rest = rest.replace(['\u{ff0c}', '\u{3001}'], ", ");
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

/// Whether each `dd` of a line reads, in their order; `None` where the line does not say where its output goes.
fn directions(line: &str) -> Vec<Option<bool>> {
    line.replace("||", ";").replace("&&", ";").split(';').flat_map(of_pipeline).collect()
}

/// A `dd` without `of=` writes to where the pipeline that it is in does.
fn of_pipeline(text: &str) -> Vec<Option<bool>> {
    let stages: Vec<Vec<&str>> = text.split('|').map(|stage| stage.split_whitespace().collect()).collect();
    let end = stages.last().and_then(|words| output(words));
    let commands = stages.iter().filter_map(|words| {
        let own = &words[words.iter().position(|word| is_dd(word))?..];
        own.iter().any(|word| word.starts_with("if=") || word.starts_with("of=")).then_some(own)
    });
    commands.map(|own| output(own).or(end).map(|file| file == "/dev/null")).collect()
}

/// The file that a command writes to: that of `of=`, or of a redirection of its standard output.
fn output<'l>(words: &[&'l str]) -> Option<&'l str> {
    const SIGNS: [&str; 5] = ["&>", "1>>", "1>", ">>", ">"];
    let redirected = |(at, word): (usize, &&'l str)| {
        let file = SIGNS.iter().find_map(|sign| word.strip_prefix(sign))?;
        if file.is_empty() { words.get(at + 1).copied() } else { Some(file) }
    };
    let given = words.iter().rev().find_map(|word| word.strip_prefix("of="));
    let file = given.or_else(|| words.iter().enumerate().find_map(redirected))?;
    Some(file.trim_matches(['"', '\'', '`', ')']))
}

/// `dd`, also with a path, or right behind a prompt.
fn is_dd(word: &str) -> bool {
    let before = word.strip_suffix("dd").filter(|before| !before.contains('='));
    before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c)))
}

/// Reads all runs of `dd` in a text.
///
/// # Errors
/// When a line of its results has no bytes or no time.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut rows: Vec<ResultRow> = Vec::new();
    let (mut records, mut names_direction) = (0, true);
    // Of the commands of the last line with some, those whose results have not come yet.
    let mut commands = VecDeque::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let found = directions(line);
        if !found.is_empty() {
            commands = found.into();
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
        let is_read = commands.pop_front().flatten();
        names_direction &= is_read.is_some();
        let row = row(bytes, records, seconds, is_read.unwrap_or(false), &rows);
        rows.push(row);
        records = 0;
    }
    if rows.is_empty() {
        let says = "contains no dd result: a line like `1048576 bytes … copied, 1.5 s`";
        return Err(complain(origin, 0, says));
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
    Ok(ImportedResult { notes, ..ImportedResult::of(origin, "dd", &["latencies", "CPU use"], rows) })
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
        name: test.clone(),
        mix: vec![access(size, if is_read { 100.0 } else { 0.0 }, 0.0)],
        stats,
        measured_ns: whole(seconds * 1e9),
        ..RowJob::default()
    };
    ResultRow { swept: repeated(&test, others), test, jobs: vec![job], cpu_busy: None }
}
