//! The table that elbencho writes with `--csvfile`, and what it prints.

use std::collections::HashMap;

use assay_record::Imported;

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, imported};
use crate::{ImportError, complain};

/// Whether a text begins with the titles of such a table, or has those of what is printed.
pub fn is_results(text: &str) -> bool {
    is_printed(text) || is_csv(text)
}

fn is_printed(text: &str) -> bool {
    text.contains("OPERATION") && text.contains("RESULT TYPE") && text.contains("LAST DONE")
}

/// A phase as it is printed: what stands in its last column, that of the time until the last thread had ended.
#[derive(Default)]
struct Phase {
    name: String,
    seconds: f64,
    known: HashMap<String, f64>,
}

/// The phases of what is printed.
fn printed(text: &str) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for line in text.lines().map(|line| line.trim_start_matches(['>', '`'])) {
        let Some((head, values)) = line.split_once(" : ").or_else(|| line.split_once(": ")) else { continue };
        let words: Vec<&str> = head.split_whitespace().collect();
        // `WRITE`, `RMFILES`, `RWMIX70`, `WRITE+s`.
        let is_phase = |word: &str| {
            word.len() > 2
                && word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.split('+').next().unwrap_or_default().chars().all(|c| !c.is_ascii_lowercase())
        };
        let key = match words.as_slice() {
            [phase, rest @ ..] if is_phase(phase) && rest.first() == Some(&"Elapsed") => {
                phases.push(Phase { name: phase.to_lowercase(), ..Phase::default() });
                rest.join(" ")
            }
            words => words.join(" "),
        };
        let Some(phase) = phases.last_mut() else { continue };
        let last = values.split_whitespace().last().unwrap_or_default();
        match key.as_str() {
            "Elapsed time" => phase.seconds = seconds(last).unwrap_or(0.0),
            "Elapsed ms" => phase.seconds = last.parse().map_or(0.0, |ms: f64| ms / 1e3),
            // `IO lat us` of versions before 3, `IO latency` with units; those of a mix are `IO wr` and `IO rd`.
            key if key.ends_with("lat us") || key.ends_with("latency") => {
                let is_us = key.ends_with("us");
                let of = key.trim_end_matches(" lat us").trim_end_matches(" latency");
                for (name, value) in values.split_whitespace().filter_map(|word| word.split_once('=')) {
                    let ms = if is_us { value.parse().ok().map(|us: f64| us / 1e3) } else { millis(value) };
                    phase.known.extend(ms.map(|ms| (format!("{of} {name}"), ms)));
                }
            }
            key => phase.known.extend(last.parse().ok().map(|number: f64| (key.to_owned(), number))),
        }
    }
    phases
}

impl Phase {
    fn get(&self, key: &str) -> Option<f64> {
        self.known.get(key).copied()
    }

    /// A time of its latencies, ms: that of I/Os, or of files that are one I/O each.
    fn latency(&self, way: &str, name: &str) -> Option<f64> {
        self.get(&format!("IO{way} {name}")).or_else(|| self.get(&format!("Files{way} {name}")))
    }

    /// The I/Os of one direction; `way` ends its titles in a mix. `None` if it moved none.
    fn side(&self, way: &str) -> Option<Side> {
        let short = match way {
            " write" => " wr",
            " read" => " rd",
            _ => "",
        };
        let rate = |unit: &str| match way {
            "" => self.get(&format!("Throughput {unit}")),
            way => self.get(&format!("{unit}{way}")),
        };
        // Whole numbers: of more than a second the sum has more digits than the rate.
        let sum = self.get("Total MiB").filter(|_| way.is_empty() && self.seconds > 1.0);
        let mib = sum.map(|mib| mib / self.seconds).or(rate("MiB/s"));
        let bytes = mib.map(|mib| mib * f64::from(1 << 20)).or(rate("MB/s").map(|mb| mb * 1e6))?;
        // A file that has one block is counted as a file only, and so is an object.
        let ios = ["IOPS", "Files/s", "Objects/s"].iter().find_map(|key| self.get(&format!("{key}{way}")))?;
        let rates = Side::of_rates(ios, bytes, self.seconds);
        Some(Side {
            mean_ms: self.latency(short, "avg").unwrap_or(0.0),
            least_ms: self.latency(short, "min"),
            most_ms: self.latency(short, "max"),
            ..rates
        })
    }

    fn row(&self) -> Option<Plain> {
        let row = Plain { test: self.name.clone(), seconds: self.seconds, ..Plain::default() };
        match (self.side(" read"), self.side(" write"), self.side("")) {
            (Some(read), write, _) => Some(Plain { read, write: write.unwrap_or_default(), ..row }),
            (None, Some(write), _) => Some(Plain { write, ..row }),
            (None, None, Some(read)) if self.name.starts_with("read") => Some(Plain { read, ..row }),
            (None, None, Some(write)) => Some(Plain { write, ..row }),
            (None, None, None) => None,
        }
    }
}

/// `586ms`, `1.012s`, `2m3.5s` or `1h2m3s`.
fn seconds(text: &str) -> Option<f64> {
    let (mut sum, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, behind) = rest.split_at(end);
        let units = [("ms", 1e-3), ("us", 1e-6), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
        let (unit, factor) = units.into_iter().find(|(unit, _)| behind.starts_with(unit))?;
        sum += number.parse::<f64>().ok()? * factor;
        rest = &behind[unit.len()..];
    }
    Some(sum)
}

/// `108us`, `2.50ms` or `1.50s`, ms.
fn millis(text: &str) -> Option<f64> {
    seconds(text).filter(|_| !text.is_empty()).map(|seconds| seconds * 1e3)
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
        let missing = &["percentiles", Imported::LOAD];
        let origin = Origin { file: origin, tool: "elbencho".to_owned(), missing };
        let phases = printed(text);
        let rows: Vec<Plain> = phases.iter().filter_map(Phase::row).collect();
        let mut notes = vec![says.to_owned()];
        notes.extend(left_out(phases.len() - rows.len()));
        if phases.iter().any(|phase| phase.get("IOPS").is_none() && phase.get("Files/s").is_some()) {
            notes.push(
                "Where files are counted and no I/Os, each file is one I/O, as elbencho has it.".to_owned(),
            );
        }
        return imported(&origin, &rows, notes);
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
    notes.extend(left_out(others));
    let tool = format!("elbencho {version}").trim().to_owned();
    let origin = Origin { file: origin, tool, missing: &["percentiles"] };
    imported(&origin, &rows, notes)
}

/// Says how many phases are left out.
fn left_out(others: usize) -> Option<String> {
    (others > 0)
        .then(|| format!("{others} phases move no data (directories, files, deletions) and are left out."))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// In the forms of elbencho's own `Statistics.cpp` (3.1): times with units, mixes by direction, files of one block,
    /// rates of `--base10`. A time of 588 ms was none, and a mix was lost without a word.
    #[test]
    fn all_that_elbencho_3_prints_is_read() {
        let text = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
WRITE       Elapsed time     :       586ms       500ms
            IOPS             :       16962       16978
            Throughput MiB/s :          66          66
            IO latency       : [ min=108us avg=469us max=14.5ms ]
---
RWMIX70     Elapsed time     :    1m0.244s    1m0.000s
            IOPS write       :        3000        2900
            IOPS read        :        7000        6800
            IOPS total       :       10000        9700
            MiB/s write      :          11          11
            MiB/s read       :          27          26
            MiB/s total      :          39          37
            IO wr latency    : [ min=1.02ms avg=2.50ms max=102ms ]
            IO rd latency    : [ min=87us avg=300us max=1.50s ]
---
READ        Elapsed time     :     1.000s      2.000s
            Files/s          :        1000         990
            Throughput MB/s  :        4000        3960
            Files latency    : [ min=1.02ms avg=2.50ms max=102ms ]
---
RMFILES     Elapsed ms       :      12402      12896
            Files/s          :      80263      81309
";
        let result = import("e.txt", text).unwrap();
        let found: Vec<[u64; 6]> = result
            .rows
            .iter()
            .map(|row| {
                let job = &row.jobs[0];
                let mean = |side: &assay_record::OpStats| {
                    crate::results::whole(side.service.mean_ns().unwrap_or(0.0) / 1e3)
                };
                let (read, write) = (&job.stats.read, &job.stats.write);
                [
                    job.measured_ns / 1_000_000,
                    read.ops(),
                    write.ops(),
                    write.bytes >> 20,
                    mean(read),
                    mean(write),
                ]
            })
            .collect();
        assert_eq!(
            found,
            [
                [500, 0, 8489, 33, 0, 469],
                [60_000, 408_000, 174_000, 660, 300, 2500],
                [2000, 1980, 0, 0, 2500, 0],
            ]
        );
        assert_eq!(result.rows[2].jobs[0].stats.read.bytes, 7_920_000_000);
        assert!(
            result.notes.iter().any(|note| note.starts_with("1 phases move no data")),
            "{:?}",
            result.notes
        );
    }
}
