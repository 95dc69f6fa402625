//! What `sysbench fileio` prints when it ends, of versions 0.4 to 1.1.

use super::ImportedResult;
use super::leading_number;
use super::plain::{Origin, Plain, Side, binary_bytes, imported};
use crate::{ImportError, complain};

/// Whether a text is what `sysbench fileio` prints.
pub fn is_results(text: &str) -> bool {
    let is_known = text.contains("sysbench ")
        && (text.contains("File operations:") || text.contains("Operations performed:"));
    is_known || (text.contains("fsync: IOPS=") && text.lines().any(|line| rates_of(line).is_some()))
}

/// What is known of a run so far.
#[derive(Default)]
struct Run {
    mode: String,
    threads: u32,
    block_bytes: f64,
    seconds: f64,
    /// Reads and writes, counts.
    ios: [f64; 2],
    /// The same in a second.
    rates: [f64; 2],
    bytes: [f64; 2],
    /// Of all I/Os, flushes too, ms.
    times: [Option<f64>; 3],
    /// `--time` of the command before it, and the sum of all times (1.1 prints no duration), s.
    asked: Option<f64>,
    sum: Option<f64>,
    /// Whether its rates are printed as 1.1 does.
    is_new: bool,
}

/// Way (0 reads, 1 writes), I/Os and bytes per second of `read:  IOPS=1857.00 29.02 MiB/s (30.43 MB/s)`, as 1.1 has it.
fn rates_of(line: &str) -> Option<(usize, f64, f64)> {
    let line = line.trim_start_matches(['>', ' ', '\t', '`']);
    let (way, rest) = match line.split_once(':')? {
        ("read", rest) => (0, rest),
        ("write", rest) => (1, rest),
        _ => return None,
    };
    let mut words = rest.trim().strip_prefix("IOPS=")?.split_whitespace();
    let (ios, bytes) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    (words.next() == Some("MiB/s")).then_some((way, ios, bytes * 1024.0 * 1024.0))
}

/// Seconds that sysbench runs where nobody says how long.
const DEFAULT_SECONDS: f64 = 10.0;

/// Reads all runs of sysbench in a text.
///
/// # Errors
/// When none has rates and a time.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut rows, mut run) = (Vec::<Plain>::new(), Run::default());
    let mut is_estimated = false;
    for line in text.lines().map(|line| line.trim_start_matches(['>', ' ', '\t', '`']).trim()) {
        // Results may be pasted one after the other without their first lines.
        let is_next = (run.seconds > 0.0 && line.starts_with("Number of threads:"))
            || (run.is_new && ["Number of threads:", "Throughput:"].iter().any(|key| line.starts_with(key)));
        if line.starts_with("sysbench ") || is_next {
            // The command stands before the line of the version.
            let asked = run.asked.filter(|_| !run.is_new);
            rows.extend(std::mem::replace(&mut run, Run { asked, ..Run::default() }).row(&mut is_estimated));
        }
        run.add(line);
    }
    rows.extend(run.row(&mut is_estimated));
    if rows.is_empty() {
        let says = "contains no sysbench result: `reads/s`, `writes/s` and `total time`";
        return Err(complain(origin, 0, says));
    }
    let says = "The latencies of sysbench are those of all its operations together, flushes too, and count for reads \
                and writes alike.";
    let mut notes = vec![says.to_owned()];
    let mut missing = vec!["percentiles", "CPU use"];
    if is_estimated {
        let says = "sysbench 1.1 prints rates and no duration: it is that of --time in the text, else the sum of all \
                    times for each thread, else 10 s, its default; the counts are the rates times it.";
        notes.push(says.to_owned());
        missing.push("duration");
    }
    imported(&Origin { file: origin, tool: "sysbench".to_owned(), missing: &missing }, &rows, notes)
}

impl Run {
    fn add(&mut self, line: &str) {
        let number = |key: &str| line.strip_prefix(key).map(str::trim).and_then(leading_number);
        // Seconds in older versions, milliseconds or none in the newer ones.
        let ms = |key: &str| {
            let text = line.strip_prefix(key)?.trim();
            leading_number(text)
                .map(|time| if text.ends_with("ms") || !text.ends_with('s') { time } else { time * 1e3 })
        };
        if let Some((way, ios, bytes)) = rates_of(line) {
            (self.rates[way], self.bytes[way], self.is_new) = (ios, bytes, true);
        } else if line.contains("sysbench") && line.contains("--time=") {
            self.asked = line.split("--time=").nth(1).and_then(leading_number).filter(|time| *time > 0.0);
        } else if let Some(sum) = ms("sum:") {
            self.sum = Some(sum / 1e3);
        } else if let Some(mode) = line.strip_prefix("Doing ").and_then(|rest| rest.strip_suffix(" test")) {
            mode.clone_into(&mut self.mode);
        } else if let Some(threads) = number("Number of threads:") {
            self.threads = u32::try_from(super::whole(threads)).unwrap_or(1);
        } else if let Some(size) = line.strip_prefix("Block size ") {
            self.block_bytes = bytes_of(size).unwrap_or(0.0);
        } else if let Some(seconds) = number("total time:").or_else(|| number("time elapsed:")) {
            self.seconds = seconds;
        } else if let Some(rate) = number("reads/s:") {
            self.rates[0] = rate;
        } else if let Some(rate) = number("writes/s:") {
            self.rates[1] = rate;
        } else if let Some(rate) = number("read, MiB/s:") {
            self.bytes[0] = rate * 1024.0 * 1024.0;
        } else if let Some(rate) = number("written, MiB/s:") {
            self.bytes[1] = rate * 1024.0 * 1024.0;
        } else if let Some(list) = line.strip_prefix("Operations performed:") {
            let count = |word: &str| {
                let part = list.split(',').find(|part| part.to_lowercase().contains(word));
                part.and_then(|part| leading_number(part.trim())).unwrap_or(0.0)
            };
            self.ios = [count("read"), count("write")];
        } else if let Some(time) = ms("min:") {
            self.times[0] = Some(time);
        } else if let Some(time) = ms("avg:") {
            self.times[1] = Some(time);
        } else if let Some(time) = ms("max:") {
            self.times[2] = Some(time);
        }
    }

    fn row(mut self, is_estimated: &mut bool) -> Option<Plain> {
        if self.is_new && self.seconds == 0.0 {
            let each = self.sum.map(|sum| sum / f64::from(self.threads.max(1)));
            // A run that ends after a number of events is shorter than the time that it may take.
            let ended = each.filter(|each| self.asked.is_none_or(|asked| *each < 0.9 * asked));
            self.seconds = ended.or(self.asked).filter(|time| *time > 0.0).unwrap_or(DEFAULT_SECONDS);
            *is_estimated = true;
        }
        let side = |way: usize| {
            let ios = if self.ios[way] > 0.0 { self.ios[way] } else { self.rates[way] * self.seconds };
            let known = self.bytes[way] * self.seconds;
            let bytes = if self.block_bytes > 0.0 { ios * self.block_bytes } else { known };
            let [least_ms, mean_ms, most_ms] = self.times;
            match ios > 0.0 {
                true => Side { ios, bytes, mean_ms: mean_ms.unwrap_or(0.0), least_ms, most_ms },
                false => Side::default(),
            }
        };
        let (read, write) = (side(0), side(1));
        (self.seconds > 0.0 && read.ios + write.ios > 0.0).then(|| Plain {
            test: format!("sysbench {}", self.mode).trim().to_owned(),
            seconds: self.seconds,
            read,
            write,
            is_random: self.mode.contains("random"),
            workers: self.threads.max(1),
            ..Plain::default()
        })
    }
}

/// `16KiB`, or `16Kb` of older versions.
fn bytes_of(text: &str) -> Option<f64> {
    let number = leading_number(text)?;
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
    let unit = match unit {
        "Kb" => "KiB",
        "Mb" => "MiB",
        "Gb" => "GiB",
        other => other,
    };
    binary_bytes(number, unit)
}
