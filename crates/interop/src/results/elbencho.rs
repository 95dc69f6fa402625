//! The table that elbencho writes with `--csvfile`, and what it prints.

use std::collections::HashMap;

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, imported};
use crate::{ImportError, complain};

/// Whether a text begins with the titles of such a table, or has those of what is printed.
#[must_use]
pub fn is_results(text: &str) -> bool {
    is_printed(text) || is_csv(text)
}

fn is_printed(text: &str) -> bool {
    text.contains("OPERATION") && text.contains("RESULT TYPE") && text.contains("LAST DONE")
}

/// The phases of what is printed; the last column is that of the time until the last thread had ended.
fn printed(text: &str) -> Vec<Plain> {
    let mut rows: Vec<(Plain, HashMap<String, f64>)> = Vec::new();
    for line in text.lines().map(|line| line.trim_start_matches(['>', '`'])) {
        let Some((head, values)) = line.split_once(" : ").or_else(|| line.split_once(": ")) else { continue };
        let words: Vec<&str> = head.split_whitespace().collect();
        let is_phase =
            |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let key = match words.as_slice() {
            [phase, rest @ ..] if is_phase(phase) && rest.first() == Some(&"Elapsed") => {
                rows.push((Plain { test: phase.to_lowercase(), ..Plain::default() }, HashMap::new()));
                rest.join(" ")
            }
            words => words.join(" "),
        };
        let Some((row, known)) = rows.last_mut() else { continue };
        let last = values.split_whitespace().last().unwrap_or_default();
        match key.as_str() {
            "Elapsed time" | "Elapsed ms" => row.seconds = seconds(last, key.ends_with("ms")).unwrap_or(0.0),
            "IO lat us" => {
                for (name, value) in values.split_whitespace().filter_map(|word| word.split_once('=')) {
                    known.extend(value.parse().ok().map(|us: f64| (format!("lat {name}"), us / 1e3)));
                }
            }
            key => known.extend(last.parse().ok().map(|number: f64| (key.to_owned(), number))),
        }
    }
    let side = |row: &Plain, known: &HashMap<String, f64>| -> Option<Side> {
        let (ios, mib) = (known.get("IOPS")?, known.get("Throughput MiB/s")?);
        let lat = |name: &str| known.get(name).copied();
        let rates = Side::of_rates(*ios, mib * f64::from(1 << 20), row.seconds);
        let mean_ms = lat("lat avg").unwrap_or(0.0);
        Some(Side { mean_ms, least_ms: lat("lat min"), most_ms: lat("lat max"), ..rates })
    };
    let all = rows.into_iter().filter_map(|(row, known)| {
        let side = side(&row, &known)?;
        let is_read = row.test.starts_with("read");
        Some(if is_read { Plain { read: side, ..row } } else { Plain { write: side, ..row } })
    });
    all.collect()
}

/// `1.012s`, `2m3.5s` or, of older versions, milliseconds.
fn seconds(text: &str, is_ms: bool) -> Option<f64> {
    if is_ms {
        return text.parse::<f64>().ok().map(|ms| ms / 1e3);
    }
    let (mut sum, mut digits) = (0.0, String::new());
    for c in text.chars() {
        let unit = match c {
            'h' => 3600.0,
            'm' => 60.0,
            's' => 1.0,
            c => {
                digits.push(c);
                continue;
            }
        };
        sum += std::mem::take(&mut digits).parse::<f64>().ok()? * unit;
    }
    digits.is_empty().then_some(sum)
}

fn is_csv(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("ISO date,") && first.contains(",IOPS [last],") && first.contains(",time ms [last],")
}

/// Reads the table; phases that move no data (directories, deletions) are left out.
///
/// # Errors
/// When it is damaged, or no phase moves data.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    if is_printed(text) {
        let says = "elbencho prints MiB/s in whole numbers and neither the size of its I/Os nor their order: sizes are \
                    the bytes over the I/Os. The figures are those until the last thread had ended.";
        let missing = &["percentiles", "whether positions are random"];
        let origin = Origin { file: origin, tool: "elbencho".to_owned(), missing };
        return imported(&origin, &printed(text), vec![says.to_owned()]);
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let titles = reader.headers().map_err(|error| complain(origin, 1, error.to_string()))?.clone();
    let place: HashMap<&str, usize> =
        titles.iter().enumerate().map(|(index, title)| (title, index)).collect();
    let (mut rows, mut others, mut version) = (Vec::new(), 0, String::new());
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| complain(origin, index + 2, error.to_string()))?;
        let cell = |title: &str| place.get(title).and_then(|at| record.get(*at)).unwrap_or_default().trim();
        let number = |title: &str| cell(title).parse::<f64>().ok();
        // Titles are repeated where several runs were appended.
        if cell("operation") == "operation" {
            continue;
        }
        cell("version").clone_into(&mut version);
        match row(&number, &cell) {
            Some(row) => rows.push(row),
            None => others += 1,
        }
    }
    let mut notes = vec![
        "elbencho gives MiB and MiB/s in whole numbers; the counts of I/Os are its rate times the time until the \
         last thread had ended."
            .to_owned(),
    ];
    if others > 0 {
        notes.push(format!("{others} phases move no data (directories, files, deletions) and are left out."));
    }
    let tool = format!("elbencho {version}").trim().to_owned();
    let origin = Origin { file: origin, tool, missing: &["percentiles"] };
    imported(&origin, &rows, notes)
}

fn row<'c>(number: &dyn Fn(&str) -> Option<f64>, cell: &dyn Fn(&str) -> &'c str) -> Option<Plain> {
    let seconds = number("time ms [last]")? / 1e3;
    let side = |prefix: &str, lat: &str| -> Option<Side> {
        let ios = number(&format!("{prefix}IOPS [last]"))?;
        let block = block_bytes(cell("block size"));
        let bytes = match block {
            Some(block) => ios * block,
            None => number(&format!("{prefix}MiB/s [last]"))? * f64::from(1 << 20),
        };
        let ms = |which: &str| number(&format!("{lat}IO lat us [{which}]")).map(|us| us / 1e3);
        let rates = Side::of_rates(ios, bytes, seconds);
        Some(Side { mean_ms: ms("avg").unwrap_or(0.0), least_ms: ms("min"), most_ms: ms("max"), ..rates })
    };
    let operation = cell("operation");
    let whole = side("", "")?;
    let mixed = side("rwmix read ", "rwmix read ");
    let reads = operation.starts_with("READ");
    let (read, write) = match mixed {
        Some(read) => (read, whole),
        None if reads => (whole, Side::default()),
        None => (Side::default(), whole),
    };
    let count = |title: &str| number(title).map_or(1, |value| super::whole(value).clamp(1, 1 << 16));
    let random = matches!(cell("random"), "1" | "true");
    let test = format!(
        "{} {}{}",
        operation.to_lowercase(),
        if random { "random" } else { "sequential" },
        if cell("block size").is_empty() { String::new() } else { format!(" {}", cell("block size")) }
    );
    Some(Plain {
        test,
        seconds,
        read,
        write,
        is_random: random,
        workers: u32::try_from(count("threads")).unwrap_or(1),
        outstanding: u32::try_from(count("IO depth")).unwrap_or(1),
        cpu_busy: number("CPU% [last]").map(|percent| percent / 100.0),
        target: None,
    })
}

/// `4K` and `1M` are in powers of 1024; a bare number is bytes.
fn block_bytes(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_lowercase().chars().next() {
        None => 1.0,
        Some('k') => 1024.0,
        Some('m') => 1024.0 * 1024.0,
        Some('g') => 1024.0 * 1024.0 * 1024.0,
        Some(_) => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * factor).filter(|bytes| *bytes > 0.0)
}
