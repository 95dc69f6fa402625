//! What `ioping` prints when it ends.

use serde_json::Value;

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, binary_bytes, imported, with_points};
use crate::{ImportError, complain};

/// Whether a text is what ioping prints, for people or as JSON (`-J`).
pub fn is_results(text: &str) -> bool {
    is_json(text) || text.contains(" ioping statistics ---") && text.contains("requests completed in ")
}

/// Reads all runs of ioping in a text.
///
/// # Errors
/// When none has counts and times.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut rows, mut target) = (Vec::<Plain>::new(), None);
    if is_json(text) {
        rows = json(text).map_err(|error| complain(origin, error.line(), error.to_string()))?;
    }
    let text = with_points(text);
    for line in text.lines().map(|line| line.trim_start_matches(['>', ' ', '\t', '`']).trim()) {
        if let Some(named) =
            line.strip_prefix("--- ").and_then(|rest| rest.split(" ioping statistics").next())
        {
            target = Some(named.split(" (").next().unwrap_or(named).to_owned());
        } else if line.contains("requests completed in ") {
            rows.extend(
                counts(line)
                    .or_else(|| counts_of_old(line))
                    .map(|row| Plain { target: target.clone(), ..row }),
            );
        } else if let Some(times) = line.strip_prefix("min/avg/max/mdev = ") {
            let times = times_of(times);
            if let (Some(row), [least, Some(mean), most, ..]) = (rows.last_mut(), times.as_slice()) {
                for side in [&mut row.read, &mut row.write].into_iter().filter(|side| side.ios > 0.0) {
                    (side.mean_ms, side.least_ms, side.most_ms) = (*mean, *least, *most);
                }
            }
        }
    }
    let is_old = |line: &str| line.contains("requests completed in ") && counts_of_old(line).is_some();
    let mut notes = Vec::new();
    if text.lines().any(is_old) {
        let says = "Versions of ioping before 1.0 do not say how long the requests took nor whether they read: that is \
                    their number over the rate, and they count as reads.";
        notes.push(says.to_owned());
    }
    let says = "ioping sends one request at a time, at intervals; the rate is that of the time in which requests ran. \
                Its first request is a warm-up and not counted.";
    let missing = &["percentiles", "CPU use", "whether positions are random"];
    let origin = Origin { file: origin, tool: "ioping".to_owned(), missing };
    notes.insert(0, says.to_owned());
    imported(&origin, &rows, notes)
}

fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("[{")
        && text.contains("\"stat\":")
        && text.contains("\"load\":")
        && text.contains("\"mdev\":")
}

/// The runs of a text.
fn json(text: &str) -> serde_json::Result<Vec<Plain>> {
    let (mut rows, mut writes) = (Vec::new(), false);
    for entry in serde_json::from_str::<Vec<Value>>(text)? {
        writes = entry["io"]["operation"].as_str().map_or(writes, |way| way == "write");
        let stat = |key: &str| entry["stat"][key].as_f64();
        let Some((ios, bytes)) = stat("count").zip(stat("size")) else { continue };
        // Times are nanoseconds.
        let ms = |key: &str| stat(key).map(|ns| ns / 1e6);
        let mean_ms = ms("avg").unwrap_or(0.0);
        let side = Side { ios, bytes, mean_ms, least_ms: ms("min"), most_ms: ms("max") };
        let target = entry["target"]["path"].as_str().map(str::to_owned);
        let seconds = stat("time").unwrap_or(0.0) / 1e9;
        let row = Plain { seconds, is_random: true, target, ..Plain::default() };
        rows.push(match writes {
            true => Plain { test: "ioping write".to_owned(), write: side, ..row },
            false => Plain { test: "ioping read".to_owned(), read: side, ..row },
        });
    }
    Ok(rows)
}

/// `20.0 k requests completed in 940.2 ms, 78.1 MiB read, 21.3 k iops, 83.1 MiB/s`
fn counts(line: &str) -> Option<Plain> {
    let (requests, rest) = line.split_once(" requests completed in ")?;
    let mut parts = rest.split(", ");
    let seconds = milliseconds(parts.next()?)? / 1e3;
    let amount: Vec<&str> = parts.next()?.split_whitespace().collect();
    let &[number, unit, way] = amount.as_slice() else { return None };
    let bytes = binary_bytes(number.parse().ok()?, unit)?;
    let side = Side { ios: counted(requests)?, bytes, ..Side::default() };
    let row = Plain { seconds, is_random: true, ..Plain::default() };
    Some(match way {
        "read" => Plain { test: "ioping read".to_owned(), read: side, ..row },
        _ => Plain { test: "ioping write".to_owned(), write: side, ..row },
    })
}

/// `2.2 k requests completed in 3.0 s, 738 iops, 2.9 MiB/s` of older versions: the time is that of the whole run.
fn counts_of_old(line: &str) -> Option<Plain> {
    let (requests, rest) =
        line.trim_start_matches(['>', ' ', '\t', '`']).split_once(" requests completed in ")?;
    let mut parts = rest.split(", ").skip(1);
    let rate = counted(parts.next()?.trim().strip_suffix(" iops")?)?;
    let (number, unit) = parts.next()?.trim().strip_suffix("/s")?.split_once(' ')?;
    let (ios, speed) = (counted(requests)?, binary_bytes(number.parse().ok()?, unit)?);
    let seconds = ios / rate;
    let read = Side { ios, bytes: speed * seconds, ..Side::default() };
    Some(Plain { test: "ioping read".to_owned(), seconds, read, is_random: true, ..Plain::default() })
}

/// `216 us / 1.4 ms / 33.6 ms / 3.3 ms`, or `0.2/2.8/12.7/5.0 ms` of the oldest versions, as milliseconds.
fn times_of(text: &str) -> Vec<Option<f64>> {
    let unit = text.trim().rsplit(' ').next().unwrap_or_default();
    let of_one = |time: &str| milliseconds(time).or_else(|| milliseconds(&format!("{} {unit}", time.trim())));
    text.split('/').map(of_one).collect()
}

/// `20.0 k`
fn counted(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit.trim() {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|number| number * factor)
}

/// `8.66 ms`, as milliseconds.
fn milliseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let factor = match unit.trim() {
        "ns" => 1e-6,
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        "min" => 60e3,
        "hour" => 3600e3,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}
