//! `iostat -x`: one row for each device, with a series of its samples. The first sample is a mean since the machine
//! started, and is left out.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::Semantics;
use assay_spec::units::{KIB, MIB};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, whole};
use crate::{ImportError, complain};

/// The most samples of a file, all devices together: each holds two distributions, 72 KiB.
const SAMPLES_MAX: usize = 5_000;

/// Whether a text is what `iostat -x` prints.
#[must_use]
pub fn is_results(text: &str) -> bool {
    text.lines().take(200).any(|line| titles(line).is_some())
}

/// Names of the columns behind the device, of a line of titles.
fn titles(line: &str) -> Option<Vec<&str>> {
    let mut words = line.split_whitespace();
    let is_device = matches!(words.next(), Some("Device" | "Device:"));
    let titles: Vec<&str> = words.collect();
    (is_device && titles.contains(&"r/s") && titles.contains(&"w/s")).then_some(titles)
}

/// A device with its samples.
struct Device {
    name: String,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy, Default)]
struct Sample {
    reads_per_s: f64,
    writes_per_s: f64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    read_ms: f64,
    write_ms: f64,
}

/// What is being read.
#[derive(Default)]
struct Reader<'t> {
    columns: Option<Vec<&'t str>>,
    devices: Vec<Device>,
    /// Of `iostat -t`, ms since 1970.
    times: Vec<u64>,
    /// Of the command itself, where it stands in the text.
    interval_s: Option<u64>,
    /// Share of CPU time in use, of each sample.
    busy: Vec<f64>,
    is_cpu: bool,
    count: usize,
}

impl<'t> Reader<'t> {
    fn line(&mut self, origin: &str, number: usize, line: &'t str) -> Result<(), ImportError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(found) = titles(line) {
            self.columns = Some(found);
            return Ok(());
        }
        if words.contains(&"iostat") {
            // The command itself, as pasted from a terminal: `iostat -x 15 13`.
            self.interval_s = words.iter().find_map(|word| word.parse().ok()).or(self.interval_s);
        }
        if self.is_cpu {
            self.busy.extend(words.last().and_then(|idle| self::number(idle)).map(|idle| 1.0 - idle / 100.0));
        }
        self.is_cpu = line.trim_start().starts_with("avg-cpu:");
        self.times.extend(timestamp(line));
        let Some(titles) = self.columns.as_ref().filter(|titles| words.len() == titles.len() + 1) else {
            if words.is_empty() {
                self.columns = None;
            }
            return Ok(());
        };
        let sample = sample(origin, number, titles, &words[1..])?;
        self.count += 1;
        if self.count > SAMPLES_MAX {
            let says = format!("has more than {SAMPLES_MAX} samples of devices; take a part of the file");
            return Err(complain(origin, number, says));
        }
        match self.devices.iter().position(|device| device.name == words[0]) {
            Some(at) => self.devices[at].samples.push(sample),
            None if self.devices.len() >= ROWS_MAX => {
                return Err(complain(origin, number, format!("has more than {ROWS_MAX} devices")));
            }
            None => self.devices.push(Device { name: words[0].to_owned(), samples: vec![sample] }),
        }
        Ok(())
    }

    /// The length of a sample, ns, where the text says it.
    fn length_ns(&self) -> Option<u64> {
        let step = self.times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).find(|ms| *ms > 0);
        let of_command = self.interval_s.map(|s| s.saturating_mul(1_000_000_000));
        step.map(|ms| ms.saturating_mul(1_000_000)).or(of_command)
    }

    /// The mean of all samples but the first.
    fn cpu_busy(&self) -> Option<f64> {
        let rest = self.busy.get(1..).filter(|rest| !rest.is_empty())?;
        Some(rest.iter().sum::<f64>() / rest.len() as f64)
    }
}

/// Reads a text.
///
/// # Errors
/// When there is no second sample, or a cell is not a number.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(origin, index + 1, line)?;
    }
    let (known_ns, cpu_busy) = (reader.length_ns(), reader.cpu_busy());
    let length_ns = known_ns.unwrap_or(1_000_000_000).clamp(1_000_000, 86_400_000_000_000);
    let several = reader.devices.iter().filter(|device| device.samples.len() > 1);
    let rows: Vec<ResultRow> = several.map(|device| row(device, length_ns, cpu_busy)).collect();
    if rows.is_empty() {
        return Err(complain(
            origin,
            0,
            "has one sample only, a mean since the machine started; run iostat -x with an interval",
        ));
    }
    let mut notes = vec![
        "The first sample, a mean since the machine started, is left out. Latencies are means of each sample: the \
         distribution within one is not known."
            .to_owned(),
    ];
    if known_ns.is_none() {
        notes.push(
            "The text does not contain the interval (iostat -t, or the command): samples stand for 1 s."
                .to_owned(),
        );
    }
    let name = crate::names::stem(origin).to_owned();
    Ok(ImportedResult {
        from: Imported {
            tool: "iostat".to_owned(),
            file: crate::names::file_name(origin).to_owned(),
            missing: vec!["percentiles".to_owned(), "the load".to_owned()],
            has_series: true,
        },
        started_unix_ms: reader.times.get(1).copied(),
        targets: rows.iter().map(|row| row.test.clone()).collect(),
        name,
        semantics: Semantics::Assay,
        rows,
        notes,
    })
}

/// A line of `iostat -t`: `11/21/2026 03:04:05 PM` or `2026-11-21T15:04:05+0000`, ms since 1970.
fn timestamp(line: &str) -> Option<u64> {
    let line = line.trim();
    if let Some((date, rest)) = line.split_once('T').filter(|(date, _)| date.len() == 10) {
        return crate::dates::parse_stamp(&format!("{date} {}", rest.get(..8)?));
    }
    let (date, time) = line.split_once(' ')?;
    let parts: Vec<&str> = date.split('/').collect();
    let [month, day, year] = parts[..] else { return None };
    let year = if year.len() == 2 { format!("20{year}") } else { year.to_owned() };
    let (clock, half) = time.trim().split_once(' ').unwrap_or((time.trim(), ""));
    let at = crate::dates::parse_stamp(&format!("{year}-{month}-{day} {clock}"))?;
    let hour: u64 = clock.split(':').next()?.parse().ok()?;
    Some(match half.trim() {
        "PM" if hour < 12 => at + 12 * 3_600_000,
        "AM" if hour == 12 => at.saturating_sub(12 * 3_600_000),
        _ => at,
    })
}

fn number(text: &str) -> Option<f64> {
    text.replace(',', ".").parse::<f64>().ok().filter(|value| (0.0..1e15).contains(value))
}

fn sample(origin: &str, line: usize, titles: &[&str], cells: &[&str]) -> Result<Sample, ImportError> {
    let cell = |names: &[&str]| -> Result<Option<f64>, ImportError> {
        let Some(at) = titles.iter().position(|title| names.contains(title)) else { return Ok(None) };
        number(cells[at]).map(Some).ok_or_else(|| {
            let short: String = cells[at].chars().take(40).collect();
            complain(origin, line, format!("`{short}` under {} is not a number", titles[at]))
        })
    };
    let bytes = |kib: &str, mib: &str, sectors: &str| -> Result<f64, ImportError> {
        let kib = cell(&[kib])?.map(|v| v * KIB as f64);
        let mib = cell(&[mib])?.map(|v| v * MIB as f64);
        let sectors = cell(&[sectors])?.map(|v| v * 512.0);
        Ok(kib.or(mib).or(sectors).unwrap_or(0.0))
    };
    let both = cell(&["await"])?;
    Ok(Sample {
        reads_per_s: cell(&["r/s"])?.unwrap_or(0.0),
        writes_per_s: cell(&["w/s"])?.unwrap_or(0.0),
        read_bytes_per_s: bytes("rkB/s", "rMB/s", "rsec/s")?,
        write_bytes_per_s: bytes("wkB/s", "wMB/s", "wsec/s")?,
        read_ms: cell(&["r_await"])?.or(both).unwrap_or(0.0),
        write_ms: cell(&["w_await"])?.or(both).unwrap_or(0.0),
    })
}

fn row(device: &Device, length_ns: u64, cpu_busy: Option<f64>) -> ResultRow {
    let seconds = length_ns as f64 / 1e9;
    let side = |per_s: f64, bytes_per_s: f64, ms: f64| {
        let (count, mean_ns) = (whole(per_s * seconds), ms * 1e6);
        OpStats {
            bytes: whole(bytes_per_s * seconds),
            service: Latency::from_summary(count, mean_ns, None, None),
            ..OpStats::default()
        }
    };
    let of = |sample: &Sample| AccessStats {
        read: side(sample.reads_per_s, sample.read_bytes_per_s, sample.read_ms),
        write: side(sample.writes_per_s, sample.write_bytes_per_s, sample.write_ms),
    };
    let mut sum = AccessStats::default();
    let mut series = Vec::new();
    for sample in &device.samples[1..] {
        let stats = of(sample);
        sum.merge(&stats);
        series.push((length_ns, stats));
    }
    let (reads, writes) = (sum.read.ops(), sum.write.ops());
    let count = reads + writes;
    let size = (sum.read.bytes + sum.write.bytes).checked_div(count).unwrap_or(0);
    let read = if count == 0 { 100.0 } else { 100.0 * reads as f64 / count as f64 };
    let job = RowJob {
        flush: None,
        name: device.name.clone(),
        workers: 1,
        outstanding: 1,
        mix: vec![access(size.max(512), read, 0.0)],
        stats: sum,
        measured_ns: length_ns.saturating_mul(device.samples.len() as u64 - 1),
        series,
    };
    ResultRow { test: device.name.clone(), swept: Vec::new(), jobs: vec![job], cpu_busy }
}
