//! What vdbench writes: its summary (`summary.html`, the terminal) and its flat file (`flatfile.html`); and the sums
//! that HCIBench makes of several (`…-res.txt`).

use assay_record::Imported;

use super::ImportedResult;
use super::plain::{Origin, Plain, Side, imported, with_points};
use crate::ImportError;

const MIB: f64 = 1_048_576.0;

/// Whether a text is one of these.
pub fn is_results(text: &str) -> bool {
    is_flat(text) || is_summary(text) || is_sums(text)
}

fn is_flat(text: &str) -> bool {
    let titles = |line: &str| {
        let mut words = line.split_whitespace().filter(|word| *word != "timestamp");
        words.by_ref().take(3).eq(["tod", "Run", "Interval"])
    };
    text.lines().any(titles)
}

fn is_summary(text: &str) -> bool {
    text.contains("RD=") && text.lines().any(|line| average(line).is_some())
}

fn is_sums(text: &str) -> bool {
    text.contains("THROUGHPUT") && text.contains("VMs\t\t= ") && text.contains("IOPS\t\t= ")
}

/// Reads the averages of each run.
///
/// # Errors
/// When there are none.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut notes = Vec::new();
    let (tool, rows) = match is_sums(text) {
        true => {
            let (rows, unknown) = sums(origin, text);
            let says = "HCIBench sums up all its virtual machines and gives no duration; 1 s stands for it.";
            notes.push(says.to_owned());
            if unknown > 0 {
                notes.push(format!(
                    "{unknown} results are left out: nothing says what share of them were reads."
                ));
            }
            ("HCIBench", rows)
        }
        false => {
            let says = "vdbench calls 2^20 bytes a MB. Intervals of its warm-up are in no average.";
            notes.push(says.to_owned());
            let text = with_points(text);
            ("vdbench", if is_flat(&text) { flat(&text) } else { summary(&text) })
        }
    };
    let origin = Origin { file: origin, tool: tool.to_owned(), missing: &["percentiles", Imported::LOAD] };
    imported(&origin, &rows, notes)
}

/// The cells from `avg_2-30` on, which of many intervals stands right behind the time.
fn average(line: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, rest) = line.split_once("avg_")?;
    rest.starts_with(|c: char| c.is_ascii_digit())
        .then(|| line[line.len() - rest.len() - 4..].split_whitespace())
}

/// The averages of a run: `avg_2-30`, of which the first interval is the warm-up's.
fn intervals(word: &str) -> Option<f64> {
    let (from, to) = word.strip_prefix("avg_")?.split_once('-')?;
    let (from, to) = (from.parse::<f64>().ok()?, to.parse::<f64>().ok()?);
    (to >= from).then_some(to - from + 1.0)
}

/// What both forms give of a run.
struct Average {
    rate: f64,
    bytes_per_io: f64,
    read_percent: f64,
    read_ms: f64,
    write_ms: f64,
    read_max_ms: Option<f64>,
    write_max_ms: Option<f64>,
}

fn plain(name: &str, seconds: f64, average: &Average) -> Plain {
    let side = |share: f64, mean_ms: f64, most_ms: Option<f64>| {
        let ios = average.rate * share;
        let rates = Side::of_rates(ios, ios * average.bytes_per_io, seconds);
        if ios > 0.0 { Side { mean_ms, most_ms, ..rates } } else { rates }
    };
    let reads = average.read_percent / 100.0;
    Plain {
        test: name.to_owned(),
        seconds,
        read: side(reads, average.read_ms, average.read_max_ms),
        write: side(1.0 - reads, average.write_ms, average.write_max_ms),
        ..Plain::default()
    }
}

fn flat(text: &str) -> Vec<Plain> {
    let mut titles: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.first() == Some(&"tod") {
            titles = cells;
            continue;
        }
        let cell = |title: &str| {
            titles.iter().position(|known| *known == title).and_then(|at| cells.get(at)).copied()
        };
        let number = |title: &str| cell(title).and_then(|text| text.parse::<f64>().ok());
        let Some(count) = cell("Interval").and_then(intervals) else { continue };
        let average = Average {
            rate: number("rate").unwrap_or(0.0),
            bytes_per_io: number("bytes/io").unwrap_or(0.0),
            read_percent: number("read%").unwrap_or(100.0),
            read_ms: number("read_resp").or(number("resp")).unwrap_or(0.0),
            write_ms: number("write_resp").or(number("resp")).unwrap_or(0.0),
            read_max_ms: number("read_max").or(number("resp_max")),
            write_max_ms: number("write_max").or(number("resp_max")),
        };
        rows.push(plain(cell("Run").unwrap_or("run"), count, &average));
    }
    rows
}

fn summary(text: &str) -> Vec<Plain> {
    let (mut name, mut interval, mut rows) = ("run".to_owned(), 1.0, Vec::new());
    for line in text.lines() {
        if let Some(rest) = line.split("RD=").nth(1) {
            rest.split([';', '<', ' ']).next().unwrap_or("run").clone_into(&mut name);
            let own = rest.split("interval=").nth(1).map(|rest| rest.split([';', ' ', ',']).next());
            interval = own.flatten().and_then(|text| text.parse::<f64>().ok()).unwrap_or(interval);
        }
        let Some(mut cells) = average(line) else { continue };
        let Some(count) = cells.next().and_then(intervals) else { continue };
        let numbers: Vec<f64> = cells.map_while(|cell| cell.parse().ok()).collect();
        let &[rate, mib, bytes_per_io, read_percent, _, read_ms, write_ms, ref more @ ..] =
            numbers.as_slice()
        else {
            continue;
        };
        // The columns of another layout do not agree.
        if (rate * bytes_per_io / MIB - mib).abs() > mib / 50.0 + 0.02 {
            continue;
        }
        // Up to version 5.04.06 one maximum of both, deviation, depth and two shares of CPU time.
        let most = match more {
            [read, write, _, _, _, _, ..] => [Some(*read), Some(*write)],
            [both, _, _, _, _] => [Some(*both); 2],
            _ => [None; 2],
        };
        let average = Average {
            rate,
            bytes_per_io,
            read_percent,
            read_ms,
            write_ms,
            read_max_ms: most[0],
            write_max_ms: most[1],
        };
        rows.push(plain(&name, count * interval, &average));
    }
    rows
}

/// Rows of HCIBench, and how many say nothing of their share of reads: neither the name of the file (`70rdpct`) nor
/// means of one direction only.
fn sums(origin: &str, text: &str) -> (Vec<Plain>, usize) {
    let of_name = origin.split("rdpct").next().filter(|before| *before != origin).and_then(|before| {
        before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<f64>().ok())
    });
    let (mut rows, mut unknown) = (Vec::new(), 0);
    let (mut name, mut rate, mut bytes, mut read_ms) = (String::new(), 0.0, 0.0, 0.0);
    for line in text.lines() {
        let Some((key, value)) = line.split_once(['=', ':']).map(|(key, value)| (key.trim(), value.trim()))
        else {
            continue;
        };
        let number = value.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        match (key, number) {
            ("Run Def", _) => value.split(['=', ';']).nth(1).unwrap_or(value).clone_into(&mut name),
            ("JOB_NAME", _) => value.clone_into(&mut name),
            ("IOPS", Some(number)) => rate = number,
            ("THROUGHPUT", Some(number)) => bytes = number * MIB,
            ("R_LATENCY", Some(number)) => read_ms = number,
            ("W_LATENCY", Some(write_ms)) => {
                let by_means = match (read_ms > 0.0, write_ms > 0.0) {
                    (true, false) => Some(100.0),
                    (false, true) => Some(0.0),
                    _ => None,
                };
                let Some(read_percent) = of_name.or(by_means) else {
                    unknown += 1;
                    continue;
                };
                let bytes_per_io = if rate > 0.0 { bytes / rate } else { 0.0 };
                let (read_max_ms, write_max_ms) = (None, None);
                let average = Average {
                    rate,
                    bytes_per_io,
                    read_percent,
                    read_ms,
                    write_ms,
                    read_max_ms,
                    write_max_ms,
                };
                rows.push(plain(&name, 1.0, &average));
            }
            _ => {}
        }
    }
    (rows, unknown)
}
