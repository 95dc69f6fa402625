//! Iometer's results files: 56 columns until 2008, 80 in 1.1.0; columns are found by their titles. Written as 1.1.0.

use std::collections::HashMap;
use std::fmt::Write as _;

use assay_record::{AccessStats, Event, Imported, Latency, OpStats, RunHeader};
use assay_spec::units::MIB;
use assay_spec::{Access, Semantics, Swept};

use super::{
    ImportedResult, Measured, ROWS_MAX, ResultRow, RowJob, access, iometer_series, measured, ns_of_ms, whole,
};
use crate::dates::{parse_stamp, stamp};
use crate::icf::spec_line;
use crate::{ImportError, complain};

/// Titles of the columns of 1.1.0, the latency bins apart.
const COLUMNS: [&str; 59] = [
    "Target Type",
    "Target Name",
    "Access Specification Name",
    "# Managers",
    "# Workers",
    "# Disks",
    "IOps",
    "Read IOps",
    "Write IOps",
    "MiBps (Binary)",
    "Read MiBps (Binary)",
    "Write MiBps (Binary)",
    "MBps (Decimal)",
    "Read MBps (Decimal)",
    "Write MBps (Decimal)",
    "Transactions per Second",
    "Connections per Second",
    "Average Response Time",
    "Average Read Response Time",
    "Average Write Response Time",
    "Average Transaction Time",
    "Average Connection Time",
    "Maximum Response Time",
    "Maximum Read Response Time",
    "Maximum Write Response Time",
    "Maximum Transaction Time",
    "Maximum Connection Time",
    "Errors",
    "Read Errors",
    "Write Errors",
    "Bytes Read",
    "Bytes Written",
    "Read I/Os",
    "Write I/Os",
    "Connections",
    "Transactions per Connection",
    "Total Raw Read Response Time",
    "Total Raw Write Response Time",
    "Total Raw Transaction Time",
    "Total Raw Connection Time",
    "Maximum Raw Read Response Time",
    "Maximum Raw Write Response Time",
    "Maximum Raw Transaction Time",
    "Maximum Raw Connection Time",
    "Total Raw Run Time",
    "Starting Sector",
    "Maximum Size",
    "Queue Depth",
    "% CPU Utilization",
    "% User Time",
    "% Privileged Time",
    "% DPC Time",
    "% Interrupt Time",
    "Processor Speed",
    "Interrupts per Second",
    "CPU Effectiveness",
    "Packets/Second",
    "Packet Errors",
    "Segments Retransmitted/Second",
];

/// The latency bins: title, and the time up to which they count, µs.
const BINS: [(&str, u64); 21] = [
    ("0 to 50 uS", 50),
    ("50 to 100 uS", 100),
    ("100 to 200 uS", 200),
    ("200 to 500 uS", 500),
    ("0.5 to 1 mS", 1_000),
    ("1 to 2 mS", 2_000),
    ("2 to 5 mS", 5_000),
    ("5 to 10 mS", 10_000),
    ("10 to 15 mS", 15_000),
    ("15 to 20 mS", 20_000),
    ("20 to 30 mS", 30_000),
    ("30 to 50 mS", 50_000),
    ("50 to 100 mS", 100_000),
    ("100 to 200 mS", 200_000),
    ("200 to 500 mS", 500_000),
    ("0.5 to 1 S", 1_000_000),
    ("1 to 2 s", 2_000_000),
    ("2 to 4.7 s", 4_000_000),
    ("4.7 to 5 s", 5_000_000),
    ("5 to 10 s", 10_000_000),
    (" >= 10 s", u64::MAX),
];

/// Whether a text may be results of Iometer.
pub fn is_results(text: &str) -> bool {
    text.lines().take(200).any(|line| {
        let line = line.trim_start_matches('\'');
        line.starts_with("Target Type,Target Name") || line.starts_with("TimeStamp,Target Type")
    })
}

/// What is being read.
#[derive(Default)]
struct Reader {
    version: String,
    description: String,
    started_unix_ms: Option<u64>,
    /// Access lines by the name of their specification.
    specs: HashMap<String, Vec<Access>>,
    spec: Option<String>,
    columns: HashMap<String, usize>,
    /// Manager (host) and disk: two hosts may name their disks alike.
    targets: Vec<(String, String)>,
    manager: String,
    rows: Vec<ResultRow>,
    has_summaries: bool,
}

/// Reads a results file. `origin` is its name in messages.
///
/// # Errors
/// When the text is no such file, or has no row that sums up a test.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut reader = Reader::default();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let line = line.trim_end_matches('\r');
        let next = lines.peek().map(|(_, next)| next.trim()).unwrap_or_default();
        match line.trim_start().strip_prefix('\'') {
            Some(key) if key.starts_with("Test Type,") => {
                from_cell(next.split_once(',').map_or("", |(_, text)| text))
                    .clone_into(&mut reader.description);
            }
            Some(key) if key.starts_with("Version") => next.clone_into(&mut reader.version),
            Some(key) if key.starts_with("Time Stamp") => {
                reader.started_unix_ms = reader.started_unix_ms.or(parse_stamp(next));
            }
            Some(key) if key.starts_with("Access specification name") => {
                let name = from_cell(next.rsplit_once(',').map_or(next, |(name, _)| name)).to_owned();
                // Each block repeats the specifications that it used.
                reader.specs.insert(name.clone(), Vec::new());
                reader.spec = Some(name);
            }
            Some(key) if key.to_lowercase().starts_with("end access") => reader.spec = None,
            Some(key) => reader.titles(key),
            None => reader.line(origin, index + 1, line)?,
        }
    }
    if reader.columns.is_empty() {
        return Err(complain(
            origin,
            0,
            "is not an Iometer results file: the header row (Target Type, …) is missing",
        ));
    }
    if reader.rows.is_empty() {
        let says = "has no row of type ALL; Iometer writes it unless Record Results is None";
        return Err(complain(origin, 0, says));
    }
    Ok(reader.result(origin))
}

impl Reader {
    fn titles(&mut self, key: &str) {
        // A file of instantaneous results has the time of each row in front.
        if key.starts_with("Target Type,") || key.starts_with("TimeStamp,") {
            let titles = key.split(',').enumerate();
            self.columns = titles.map(|(at, title)| (title.trim().to_lowercase(), at)).collect();
        }
    }

    fn line(&mut self, origin: &str, line: usize, text: &str) -> Result<(), ImportError> {
        if let Some(name) = self.spec.clone() {
            if let Some(access) = spec_line(text) {
                self.specs.entry(name).or_default().push(access);
            }
            return Ok(());
        }
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let first = usize::from(self.is_instantaneous());
        match cells.get(first).copied().unwrap_or_default() {
            "ALL" => {
                self.summary(origin, line, &cells)?;
                if self.is_instantaneous() {
                    self.started_unix_ms = self.started_unix_ms.or(parse_stamp(cells[0]));
                    iometer_series::fold(&mut self.rows);
                }
            }
            "MANAGER" => cells.get(first + 1).copied().unwrap_or_default().clone_into(&mut self.manager),
            "DISK" => {
                // Names may contain commas; the second cell is enough to recognise one.
                let name =
                    (self.manager.clone(), cells.get(first + 1).copied().unwrap_or_default().to_owned());
                if !self.targets.contains(&name) && self.targets.len() < 100 {
                    self.targets.push(name);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn is_instantaneous(&self) -> bool {
        self.columns.contains_key("timestamp")
    }

    /// The cell under the first of these titles, if it holds a number: -1 and 2^64-1 stand for several values.
    fn number(&self, cells: &[&str], titles: &[&str]) -> Option<f64> {
        let at = titles.iter().find_map(|title| self.columns.get(&title.to_lowercase()))?;
        let value = cells.get(*at)?.parse::<f64>().ok()?;
        (value.is_finite() && (0.0..1.8e19).contains(&value)).then_some(value)
    }

    fn summary(&mut self, origin: &str, line: usize, cells: &[&str]) -> Result<(), ImportError> {
        if self.columns.is_empty() {
            return Err(complain(origin, line, "a result row precedes the header row"));
        }
        if self.rows.len() >= ROWS_MAX {
            return Err(complain(origin, line, format!("there are more than {ROWS_MAX} results")));
        }
        let get = |titles: &[&str]| self.number(cells, titles);
        let Some(iops) = get(&["IOps"]) else {
            return Err(complain(
                origin,
                line,
                "a row of type ALL has no number of IOps; the file is cut off or damaged",
            ));
        };
        let reads = get(&["Read I/Os"]).unwrap_or(0.0);
        let writes = get(&["Write I/Os"]).unwrap_or(0.0);
        // Counts over rate is the window; a row that did nothing has none.
        let seconds = if iops > 0.0 { (reads + writes) / iops } else { 0.0 };
        let side = |what: &str, ops: f64, bytes: Option<f64>| OpStats {
            bytes: whole(bytes.unwrap_or(0.0)),
            errors: get(&[&format!("{what} Errors")]).map_or(0, whole),
            service: Latency::from_summary(
                whole(ops),
                get(&[&format!("Average {what} Response Time")]).unwrap_or(0.0) * 1e6,
                None,
                get(&[&format!("Maximum {what} Response Time")]).map(ns_of_ms),
            ),
            response: None,
        };
        let stats = AccessStats {
            read: side("Read", reads, get(&["Bytes Read"])),
            write: side("Write", writes, get(&["Bytes Written"])),
        };
        let name = self.columns.get("access specification name").and_then(|at| cells.get(*at)).copied();
        let test = from_cell(name.filter(|name| !name.is_empty()).unwrap_or("Unnamed")).to_owned();
        let depth = get(&["Queue Depth"]).map_or(0, whole);
        let workers = get(&["# Workers"]).map_or(1, whole).clamp(1, 100_000);
        let ops = whole(reads + writes);
        let size = (stats.read.bytes + stats.write.bytes).checked_div(ops).unwrap_or(0);
        let mix =
            self.specs.get(&test).cloned().unwrap_or_else(|| {
                vec![access(size, (reads / (reads + writes).max(1.0) * 100.0).round(), 0.0)]
            });
        let job = RowJob {
            name: test.clone(),
            workers: u32::try_from(workers).unwrap_or(1),
            outstanding: u32::try_from(depth.clamp(1, 100_000)).unwrap_or(1),
            mix,
            stats,
            measured_ns: whole(seconds.min(1e9) * 1e9).max(1),
            ..RowJob::default()
        };
        let cpu_busy = get(&["% CPU Utilization"]).map(|percent| (percent / 100.0).clamp(0.0, 1.0));
        self.rows.push(ResultRow { test, swept: Vec::new(), jobs: vec![job], cpu_busy });
        self.has_summaries = true;
        Ok(())
    }

    fn result(mut self, origin: &str) -> ImportedResult {
        let has_series = self.is_instantaneous();
        name_steps(&mut self.rows);
        let has_managers = self.targets.windows(2).any(|pair| pair[0].0 != pair[1].0);
        let named = |(manager, disk): &(String, String)| match has_managers {
            true => format!("{manager} {disk}").trim_start().to_owned(),
            false => disk.clone(),
        };
        let targets: Vec<String> = self.targets.iter().map(named).collect();
        let tool = format!("Iometer {}", self.version.chars().take(40).collect::<String>());
        let decimal = "MB/s in the file of versions before 1.1.0 is 2^20 bytes; here rates are computed \
             from the bytes.";
        ImportedResult {
            from: Imported {
                tool: tool.trim_end().to_owned(),
                file: crate::names::file_name(origin).to_owned(),
                missing: vec!["percentiles".to_owned()],
                has_series,
            },
            started_unix_ms: self.started_unix_ms,
            name: match self.description.trim() {
                "" => crate::names::stem(origin).to_owned(),
                description => description.to_owned(),
            },
            targets: if targets.is_empty() { vec!["unknown".to_owned()] } else { targets },
            semantics: Semantics::Iometer,
            rows: self.rows,
            notes: vec![decimal.to_owned(), "Times in the file are local; they are read as UTC.".to_owned()],
        }
    }
}

/// Rows of one specification are steps of a test: by what differs between them, or by their number.
fn name_steps(rows: &mut [ResultRow]) {
    let mut counts: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    for row in rows.iter() {
        let job = &row.jobs[0];
        counts.entry(row.test.clone()).or_default().push((job.outstanding, job.workers));
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for row in rows {
        let all = &counts[&row.test];
        if all.len() < 2 {
            continue;
        }
        let number = seen.entry(row.test.clone()).or_insert(0);
        *number += 1;
        let is_distinct = |of: fn(&(u32, u32)) -> u32| {
            all.iter().map(of).collect::<std::collections::HashSet<_>>().len() == all.len()
        };
        let (key, value) = match () {
            () if is_distinct(|row| row.0) => ("outstanding", row.jobs[0].outstanding.to_string()),
            () if is_distinct(|row| row.1) => ("workers", row.jobs[0].workers.to_string()),
            () => ("row", number.to_string()),
        };
        row.swept = vec![Swept { key: key.to_owned(), value }];
    }
}

/// Writes a run as Iometer 1.1.0 does; cells whose value is not known are empty.
pub fn export(header: &RunHeader, events: &[Event]) -> String {
    let mut text = String::new();
    let mut at_ms = header.started_unix_ms;
    for step in measured(header, events) {
        let longest_ns = step.jobs.iter().map(|job| job.measured_ns).max().unwrap_or(0);
        let end_ms = at_ms + step.span_ns().unwrap_or(longest_ns) / 1_000_000;
        block(&mut text, header, &step, (at_ms, end_ms));
        at_ms = end_ms;
    }
    text.push_str("'End Test\n");
    text.replace('\n', "\r\n")
}

fn block(text: &mut String, header: &RunHeader, step: &Measured<'_>, (start_ms, end_ms): (u64, u64)) {
    let _ = write!(
        text,
        "'Test Type,Test Description\n0,{}\n'Version\n1.1.0\n'Time Stamp\n{}\n'Access specifications\n",
        to_cell(&header.plan.name),
        stamp(start_ms)
    );
    let test = step.name();
    for job in &step.jobs {
        let spec = match step.jobs.len() {
            1 => to_cell(&test),
            _ => to_cell(&format!("{test}: {}", job.job.name)),
        };
        let _ = write!(
            text,
            "'Access specification name,default assignment\n{spec},0\n'size,% of size,% reads,% \
             random,delay,burst,align,reply\n"
        );
        for a in &job.job.mix {
            let Access { weight, read, random, burst, .. } = a;
            let delay_ms = a.delay.0 / 1_000_000;
            let _ = writeln!(
                text,
                "{},{weight},{read},{random},{delay_ms},{burst},{},{},",
                a.size.0, a.align.0, a.reply.0
            );
        }
    }
    let titles: Vec<&str> = COLUMNS.iter().copied().chain(BINS.iter().map(|(title, _)| *title)).collect();
    let _ = write!(text, "'End access specifications\n'Results\n'{}\n", titles.join(","));
    let _ = writeln!(text, "{}", row(&to_cell(&test), step).join(","));
    let _ = write!(text, "'Time Stamp\n{}\n", stamp(end_ms));
}

/// What a spreadsheet takes for the begin of a formula.
const FORMULA: [char; 5] = ['=', '+', '-', '@', '\t'];

/// A name as a cell. A spreadsheet may run a program for a formula, so an apostrophe goes before what begins like one,
/// as in other tables of Assay; all other names are as they were.
fn to_cell(name: &str) -> String {
    let cell = name.replace([',', '\r', '\n'], "-");
    let is_number = cell.parse::<f64>().is_ok() || cell == "-";
    if cell.starts_with(FORMULA) && !is_number { format!("'{cell}") } else { cell }
}

/// The name in a cell that [`to_cell`] wrote, or Iometer.
fn from_cell(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|name| name.starts_with(FORMULA)).unwrap_or(cell)
}

fn row(test: &str, step: &Measured<'_>) -> Vec<String> {
    let mut cells: HashMap<&str, String> = HashMap::new();
    let mut put = |title, value: String| drop(cells.insert(title, value));
    let (mut all, mut rates) = (AccessStats::default(), [0.0; 4]);
    let span_ns = step.span_ns();
    for job in &step.jobs {
        let seconds = span_ns.unwrap_or(job.measured_ns) as f64 / 1e9;
        let (read, write) = (&job.stats.read, &job.stats.write);
        for (rate, value) in rates.iter_mut().zip([read.ops(), write.ops(), read.bytes, write.bytes]) {
            *rate += value as f64 / seconds;
        }
        all.merge(&job.stats);
    }
    let [reads, writes, read_bytes, write_bytes] = rates;
    put("Target Type", "ALL".to_owned());
    put("Target Name", "All".to_owned());
    put("Access Specification Name", test.to_owned());
    put("# Managers", "1".to_owned());
    let workers: u32 = step.jobs.iter().map(|job| job.job.workers).sum();
    put("# Workers", workers.to_string());
    put(
        "Queue Depth",
        match step.jobs.as_slice() {
            [job] => job.job.outstanding.to_string(),
            _ => "-1".to_owned(),
        },
    );
    for (titles, values, unit) in [
        (["IOps", "Read IOps", "Write IOps"], [reads + writes, reads, writes], 1.0),
        (
            ["MiBps (Binary)", "Read MiBps (Binary)", "Write MiBps (Binary)"],
            [read_bytes + write_bytes, read_bytes, write_bytes],
            MIB as f64,
        ),
        (
            ["MBps (Decimal)", "Read MBps (Decimal)", "Write MBps (Decimal)"],
            [read_bytes + write_bytes, read_bytes, write_bytes],
            1e6,
        ),
    ] {
        titles.iter().zip(values).for_each(|(title, value)| put(title, decimal(value / unit)));
    }
    put("Transactions per Second", decimal(reads + writes));
    put_times(&mut cells, &all);
    if let Some(cpu) = step.cpu.filter(|cpu| cpu.host_busy > 0.0) {
        cells.insert("% CPU Utilization", decimal(cpu.host_busy * 100.0));
        cells.insert("CPU Effectiveness", decimal((reads + writes) / (cpu.host_busy * 100.0)));
    }
    let mut row: Vec<String> = COLUMNS.iter().map(|title| cells.remove(title).unwrap_or_default()).collect();
    row.extend(bins(&all.total().service));
    row
}

fn decimal(value: f64) -> String {
    format!("{value:.6}")
}

/// Times, errors and counts.
fn put_times(cells: &mut HashMap<&str, String>, all: &AccessStats) {
    let mut put = |title, value: String| drop(cells.insert(title, value));
    let total = all.total();
    for (stats, average, most) in [
        (&*total, "Average Response Time", "Maximum Response Time"),
        (&all.read, "Average Read Response Time", "Maximum Read Response Time"),
        (&all.write, "Average Write Response Time", "Maximum Write Response Time"),
    ] {
        let ms = |ns: f64| decimal(ns / 1e6);
        // Iometer writes 0 where nothing was done.
        let of = |value: Option<f64>| {
            value.map_or(if stats.ops() == 0 { decimal(0.0) } else { String::new() }, ms)
        };
        put(average, of(stats.service.mean_ns()));
        put(most, of(stats.service.max_ns().map(|ns| ns as f64)));
    }
    put("Errors", total.errors.to_string());
    put("Read Errors", all.read.errors.to_string());
    put("Write Errors", all.write.errors.to_string());
    put("Bytes Read", all.read.bytes.to_string());
    put("Bytes Written", all.write.bytes.to_string());
    put("Read I/Os", all.read.ops().to_string());
    put("Write I/Os", all.write.ops().to_string());
}

/// Counts of the 21 bins; empty where the distribution is not known.
fn bins(latency: &Latency) -> Vec<String> {
    if !latency.has_distribution() {
        return vec![String::new(); BINS.len()];
    }
    let mut counts = [0_u64; BINS.len()];
    for (ns, count) in latency.buckets() {
        counts[BINS.partition_point(|(_, up_to_us)| up_to_us.saturating_mul(1000) < ns)] += count;
    }
    counts.iter().map(u64::to_string).collect()
}
