//! What `hdparm -tT` prints: reads in order through the page cache, and from the disk.

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, imported};
use crate::{ImportError, complain};

/// Whether a text is what `hdparm -t` or `-T` prints.
pub fn is_results(text: &str) -> bool {
    text.lines().any(|line| of_line(line).is_some())
}

/// Reads all lines of hdparm in a text.
///
/// # Errors
/// When none has an amount and a time.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut rows, mut target) = (Vec::<Plain>::new(), None);
    for line in text.lines() {
        let named = line.trim_start_matches(['>', ' ', '\t', '`']).trim_end().strip_suffix(':');
        if let Some(device) = named.filter(|name| name.starts_with('/')) {
            target = Some(device.to_owned());
        }
        rows.extend(of_line(line).map(|row| Plain { target: target.clone(), ..row }));
    }
    if rows.is_empty() {
        return Err(complain(origin, 0, "contains no line of hdparm with an amount and a time"));
    }
    let says = "hdparm reads in order; its MB are 2^20 bytes, read here as I/Os of 2 MiB, the size of its buffer. \
                Cached reads are those of the memory, not of the disk.";
    let missing = &["latencies", "CPU use"];
    imported(&Origin { file: origin, tool: "hdparm".to_owned(), missing }, &rows, vec![says.to_owned()])
}

/// `Timing buffered disk reads: 1200 MB in  3.00 seconds = 399.87 MB/sec`
fn of_line(line: &str) -> Option<Plain> {
    const BUFFER: f64 = 2.0 * 1024.0 * 1024.0;
    let rest = line.trim_start_matches(['>', ' ', '\t', '`']).strip_prefix("Timing ")?;
    let (what, rest) = rest.split_once(':')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [amount, "MB", "in", seconds, "seconds", more @ ..] = words.as_slice() else { return None };
    let (mib, seconds) = (amount.parse::<f64>().ok()?, seconds.parse::<f64>().ok()?);
    // The time has two decimals only, which of a fast disk is a digit; the rate has more.
    let seconds = rate_of(more).filter(|rate| *rate > 0.0).map_or(seconds, |rate| mib / rate);
    let bytes = mib * 1024.0 * 1024.0;
    let read = Side { ios: (bytes / BUFFER).ceil(), bytes, ..Side::default() };
    Some(Plain { test: format!("hdparm {}", what.trim()), seconds, read, ..Plain::default() })
}

/// MiB per second of `= 399.87 MB/sec`.
fn rate_of(words: &[&str]) -> Option<f64> {
    let ["=", rate, unit, ..] = words else { return None };
    let rate = rate.parse::<f64>().ok()?;
    match *unit {
        "MB/sec" => Some(rate),
        "kB/sec" => Some(rate / 1024.0),
        _ => None,
    }
}
