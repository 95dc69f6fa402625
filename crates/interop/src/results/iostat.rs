//! `iostat` of sysstat 12: one row for each device, with a series of its samples, in all of its forms: with `-x`, short
//! (`-s`), with units (`-h`), as JSON (`-o JSON`). The first sample is a mean since the machine started, and is left
//! out.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::units::{KIB, MIB};
use serde_json::Value;

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, whole};
use crate::{ImportError, complain};

/// The most samples of a file, all devices together: each holds two distributions, 72 KiB.
const SAMPLES_MAX: usize = 5_000;

/// Whether a text is what `iostat` prints.
pub fn is_results(text: &str) -> bool {
    is_json(text) || text.lines().take(200).any(|line| columns(line).is_some())
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"sysstat\"") && text.contains("\"disk_device\"")
}

/// The columns of a line of titles.
#[derive(Clone)]
struct Columns<'t> {
    titles: Vec<&'t str>,
    /// `iostat -h` has the device behind its values, and a table for each direction.
    device_is_last: bool,
}

fn columns(line: &str) -> Option<Columns<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_device = |word: &str| matches!(word, "Device" | "Device:");
    let (device_is_last, titles) = match words.as_slice() {
        [first, titles @ ..] if is_device(first) => (false, titles),
        [titles @ .., last] if is_device(last) => (true, titles),
        _ => return None,
    };
    let has = |title: &str| titles.contains(&title);
    let is_known = (has("r/s") && has("w/s")) || has("tps") || (device_is_last && (has("r/s") || has("w/s")));
    // Discards and flushes of `-h` are no reads and no writes.
    is_known.then(|| Columns { titles: titles.to_vec(), device_is_last })
}

/// A device with its samples.
struct Device {
    name: String,
    samples: Vec<Sample>,
    /// How many lines of each table have been read, by the first title of the table.
    lines: Vec<(String, usize)>,
}

#[derive(Clone, Copy, Default)]
struct Sample {
    reads_per_s: f64,
    writes_per_s: f64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    read_ms: f64,
    write_ms: f64,
    /// Reads, writes and discards, where only their sum is printed.
    both_per_s: Option<f64>,
}

/// What is being read.
#[derive(Default)]
struct Reader<'t> {
    columns: Option<Columns<'t>>,
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
        if let Some(found) = columns(line) {
            self.columns = Some(found);
            return Ok(());
        }
        // A table of something else begins: discards, flushes.
        let is_title = |word: Option<&&str>| matches!(word, Some(&"Device" | &"Device:"));
        if is_title(words.first()) || is_title(words.last()) {
            self.columns = None;
            return Ok(());
        }
        if words.contains(&"iostat") {
            // The command itself, as pasted from a terminal: `iostat -x 15 13`.
            self.interval_s = words.iter().find_map(|word| word.parse().ok()).or(self.interval_s);
        }
        if self.is_cpu {
            let idle = words.last().and_then(|idle| self::number(idle.trim_end_matches('%')));
            self.busy.extend(idle.map(|idle| 1.0 - idle / 100.0));
        }
        self.is_cpu = line.trim_start().starts_with("avg-cpu:");
        self.times.extend(timestamp(line));
        let Some(columns) = self.columns.clone().filter(|known| words.len() == known.titles.len() + 1) else {
            if words.is_empty() {
                self.columns = None;
            }
            return Ok(());
        };
        match words.as_slice() {
            [cells @ .., device] if columns.device_is_last => {
                self.sample(origin, number, device, &columns.titles, cells)
            }
            [device, cells @ ..] => self.sample(origin, number, device, &columns.titles, cells),
            [] => Ok(()),
        }
    }

    /// Adds what a line says of a device.
    fn sample(
        &mut self,
        origin: &str,
        line: usize,
        name: &str,
        titles: &[&str],
        cells: &[&str],
    ) -> Result<(), ImportError> {
        let at = match self.devices.iter().position(|device| device.name == name) {
            Some(at) => at,
            None if self.devices.len() >= ROWS_MAX => {
                return Err(complain(origin, line, format!("has more than {ROWS_MAX} devices")));
            }
            None => {
                self.devices.push(Device { name: name.to_owned(), samples: Vec::new(), lines: Vec::new() });
                self.devices.len() - 1
            }
        };
        let device = &mut self.devices[at];
        // Only `-h` says of reads and of writes in tables of their own.
        let index = match (titles.contains(&"r/s"), titles.contains(&"w/s")) {
            (true, false) => device.next_line("r/s"),
            (false, true) => device.next_line("w/s"),
            _ => device.samples.len(),
        };
        if index >= device.samples.len() {
            self.count += 1;
            if self.count > SAMPLES_MAX {
                let says = format!("has more than {SAMPLES_MAX} samples of devices; take a part of the file");
                return Err(complain(origin, line, says));
            }
            device.samples.push(Sample::default());
        }
        match device.samples.get_mut(index) {
            Some(sample) => sample.add(&Line { origin, line, titles, cells }),
            None => Ok(()),
        }
    }

    /// Reads `-o JSON`.
    fn json(&mut self, origin: &str, text: &str) -> Result<(), ImportError> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| complain(origin, error.line(), error.to_string()))?;
        let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        for statistics in list(&document["sysstat"], "hosts").iter().flat_map(|host| list(host, "statistics"))
        {
            self.busy.extend(statistics["avg-cpu"]["idle"].as_f64().map(|idle| 1.0 - idle / 100.0));
            self.times.extend(statistics["timestamp"].as_str().and_then(timestamp));
            for disk in list(&statistics, "disk") {
                let (Some(values), Some(name)) = (disk.as_object(), disk["disk_device"].as_str()) else {
                    continue;
                };
                let cells: Vec<(&str, String)> = values
                    .iter()
                    .filter(|(_, value)| value.is_number())
                    .map(|(title, value)| (title.as_str(), value.to_string()))
                    .collect();
                let titles: Vec<&str> = cells.iter().map(|(title, _)| *title).collect();
                let cells: Vec<&str> = cells.iter().map(|(_, cell)| cell.as_str()).collect();
                self.sample(origin, 0, name, &titles, &cells)?;
            }
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
    if is_json(text) {
        reader.json(origin, text)?;
    } else {
        for (index, line) in text.lines().enumerate() {
            reader.line(origin, index + 1, line)?;
        }
    }
    let (known_ns, cpu_busy) = (reader.length_ns(), reader.cpu_busy());
    let length_ns = known_ns.unwrap_or(1_000_000_000).clamp(1_000_000, 86_400_000_000_000);
    // Beside reads and writes of their own, sums are the same I/Os once more.
    for device in &mut reader.devices {
        if device.samples.iter().any(|sample| sample.both_per_s.is_none()) {
            device.samples.retain(|sample| sample.both_per_s.is_none());
        }
    }
    let several = || reader.devices.iter().filter(|device| device.samples.len() > 1);
    let rows: Vec<ResultRow> = several().map(|device| row(device, length_ns, cpu_busy)).collect();
    let targets = several().map(|device| device.name.clone()).collect();
    if rows.is_empty() {
        let says = "has one sample only, a mean since the machine started; run iostat -x with an interval";
        return Err(complain(origin, 0, says));
    }
    let mut notes = vec![
        "The first sample, a mean since the machine started, is left out. Latencies are means of each sample: the \
         distribution within one is not known."
            .to_owned(),
    ];
    if reader.devices.iter().flat_map(|device| &device.samples).any(|sample| sample.both_per_s.is_some()) {
        let says = "Without -x, and with -s, iostat counts reads, writes and discards together: they stand as \
                    reads here.";
        notes.push(says.to_owned());
    }
    if known_ns.is_none() {
        notes.push(
            "The text does not contain the interval (iostat -t, or the command): samples stand for 1 s."
                .to_owned(),
        );
    }
    let mut result = ImportedResult::of(origin, "iostat", &["percentiles", Imported::LOAD], rows);
    result.from.has_series = true;
    Ok(ImportedResult { started_unix_ms: reader.times.get(1).copied(), targets, notes, ..result })
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

/// A line of a table: where it stands, and what is in it.
struct Line<'l> {
    origin: &'l str,
    line: usize,
    titles: &'l [&'l str],
    cells: &'l [&'l str],
}

impl Line<'_> {
    /// The first of these columns that is there.
    fn text(&self, names: &[&str]) -> Option<(&str, &str)> {
        let at = self.titles.iter().position(|title| names.contains(title))?;
        self.cells.get(at).map(|cell| (self.titles[at], *cell))
    }

    fn number(&self, names: &[&str]) -> Result<Option<f64>, ImportError> {
        self.text(names).map(|(title, cell)| self.read(title, number(cell))).transpose()
    }

    /// Bytes: with `-h` a number has its own unit, which is k for none.
    fn bytes(&self, units: [(&str, f64); 3]) -> Result<Option<f64>, ImportError> {
        for (title, unit) in units {
            let Some((title, cell)) = self.text(&[title]) else { continue };
            let own = cell.chars().last().and_then(|last| "kMGT".find(last));
            let bytes = match own {
                Some(power) => number(&cell[..cell.len() - 1]).map(|n| n * 1024_f64.powf(power as f64 + 1.0)),
                None => number(cell).map(|n| n * unit),
            };
            return self.read(title, bytes).map(Some);
        }
        Ok(None)
    }

    fn read(&self, title: &str, value: Option<f64>) -> Result<f64, ImportError> {
        value.ok_or_else(|| {
            let cell = self.text(&[title]).map_or("", |(_, cell)| cell);
            let short: String = cell.chars().take(40).collect();
            complain(self.origin, self.line, format!("`{short}` under {title} is not a number"))
        })
    }
}

impl Device {
    /// Which sample the next line of a table belongs to.
    fn next_line(&mut self, table: &str) -> usize {
        match self.lines.iter_mut().find(|(known, _)| known == table) {
            Some((_, count)) => {
                *count += 1;
                *count - 1
            }
            None => {
                self.lines.push((table.to_owned(), 1));
                0
            }
        }
    }
}

impl Sample {
    /// Adds what a line says: with `-h` that of reads comes first, and that of writes later.
    fn add(&mut self, line: &Line<'_>) -> Result<(), ImportError> {
        const SECTOR: f64 = 512.0;
        let (kib, mib) = (KIB as f64, MIB as f64);
        let both_ms = line.number(&["await"])?;
        let set = |field: &mut f64, value: Option<f64>| *field = value.unwrap_or(*field);
        set(&mut self.reads_per_s, line.number(&["r/s"])?);
        set(&mut self.writes_per_s, line.number(&["w/s"])?);
        set(&mut self.read_ms, line.number(&["r_await"])?.or(both_ms));
        set(&mut self.write_ms, line.number(&["w_await"])?.or(both_ms));
        set(&mut self.read_bytes_per_s, line.bytes([("rkB/s", kib), ("rMB/s", mib), ("rsec/s", SECTOR)])?);
        set(&mut self.write_bytes_per_s, line.bytes([("wkB/s", kib), ("wMB/s", mib), ("wsec/s", SECTOR)])?);
        if let Some(tps) = line.number(&["tps"])? {
            let mut sum = line.bytes([("kB/s", kib), ("MB/s", mib), ("sec/s", SECTOR)])?.unwrap_or(0.0);
            for of in ["read/s", "wrtn/s", "w+d/s", "dscd/s"] {
                let [kilo, mega, sectors] = ["kB", "MB", "Blk"].map(|unit| format!("{unit}_{of}"));
                let bytes =
                    line.bytes([(kilo.as_str(), kib), (mega.as_str(), mib), (sectors.as_str(), SECTOR)])?;
                sum += bytes.unwrap_or(0.0);
            }
            (self.both_per_s, self.read_bytes_per_s) = (Some(tps), sum);
        }
        Ok(())
    }
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
        read: side(sample.both_per_s.unwrap_or(sample.reads_per_s), sample.read_bytes_per_s, sample.read_ms),
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
    let size = sum.read.bytes.saturating_add(sum.write.bytes).checked_div(count).unwrap_or(0);
    let read = if count == 0 { 100.0 } else { 100.0 * reads as f64 / count as f64 };
    let is_sum = device.samples.iter().any(|sample| sample.both_per_s.is_some());
    let name = if is_sum { format!("{}: reads and writes", device.name) } else { device.name.clone() };
    let job = RowJob {
        name: name.clone(),
        mix: vec![access(size.max(512), read, 0.0)],
        stats: sum,
        measured_ns: length_ns.saturating_mul(device.samples.len() as u64 - 1),
        series,
        ..RowJob::default()
    };
    ResultRow { test: name, swept: Vec::new(), jobs: vec![job], cpu_busy }
}
