//! Results of DiskSpd: its text, and its XML (`-Rxml`).

use assay_record::{AccessStats, Latency, OpStats};
use assay_spec::Access;
use assay_spec::units::KIB;

use super::fio_json::steps;
use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, leading_number, ns_of_ms, repeated, whole};
use crate::xml::{self, Element};
use crate::{ImportError, complain};

/// Whether a text is the XML of results; one without is a profile.
pub fn is_xml(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(4096)];
    head.contains("<Results>")
}

/// Whether a text is what DiskSpd prints.
pub fn is_text(text: &str) -> bool {
    let is_result = text.contains("Results for timespan ") || text.contains("actual test time:");
    is_result && (text.contains("Input parameters:") || text.contains("Total IO"))
}

/// Percentiles with their times, ms: `(0.5, 1.2)`; the first is the minimum, the last the maximum.
type Points = Vec<(f64, f64)>;

/// One direction of a time span.
#[derive(Debug, Default)]
struct Side {
    count: u64,
    bytes: u64,
    mean_ms: Option<f64>,
    points: Points,
}

impl Side {
    fn stats(&self) -> OpStats {
        OpStats { bytes: self.bytes, service: latency(self), ..OpStats::default() }
    }
}

/// A step function through the listed percentiles where there are any; else only the mean.
fn latency(side: &Side) -> Latency {
    let mean_ns = side.mean_ms.unwrap_or(0.0) * 1e6;
    let max_ns = side.points.last().map(|(_, ms)| ns_of_ms(*ms));
    let min_ns = side.points.first().map(|(_, ms)| ns_of_ms(*ms));
    if side.points.len() < 3 || side.count == 0 {
        return Latency::from_summary(side.count, mean_ns, min_ns.filter(|ns| *ns > 0), max_ns);
    }
    let known: Vec<(f64, f64)> =
        side.points.iter().map(|(share, ms)| (share * 100.0, (ms * 1e6).max(1.0))).collect();
    let last = max_ns.unwrap_or(1).max(1);
    let counts = steps(&known, side.count, last);
    Latency::from_buckets(counts.into_iter(), mean_ns, min_ns.unwrap_or(0), last)
}

/// A time span with what is known of its load.
struct Span {
    name: String,
    mix: Access,
    threads: u32,
    outstanding: u32,
    seconds: f64,
    read: Side,
    write: Side,
    /// Of both, where the text has that.
    total: Side,
    cpu_busy: Option<f64>,
    targets: Vec<String>,
    /// Whether the text says what the load is.
    is_described: bool,
    /// Whether the text says which share are reads.
    is_mix_known: bool,
}

/// Reads the XML of results.
///
/// # Errors
/// When it is no XML, or has no time span with results.
pub fn import_xml(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let root = xml::parse(origin, text)?;
    if root.name != "Results" {
        return Err(complain(origin, root.line, "is not a DiskSpd result: <Results> is missing"));
    }
    let profiles: Vec<&Element> = root
        .child("Profile")
        .and_then(|profile| profile.child("TimeSpans"))
        .map(|spans| spans.all("TimeSpan").collect())
        .unwrap_or_default();
    let spans = root
        .all("TimeSpan")
        .enumerate()
        .map(|(index, span)| xml_span(origin, index, span, profiles.get(index).copied()))
        .collect::<Result<Vec<_>, _>>()?;
    let system = root.child("System");
    let version = system
        .and_then(|system| system.child("Tool"))
        .and_then(|tool| tool.text_of("Version"))
        .map_or("DiskSpd".to_owned(), |version| format!("DiskSpd {version}"));
    result(origin, version, spans)
}

fn xml_span(
    origin: &str,
    index: usize,
    span: &Element,
    profile: Option<&Element>,
) -> Result<Span, ImportError> {
    let number =
        |element: &Element, name: &str| element.text_of(name).and_then(|text| text.parse::<f64>().ok());
    let mut found = profile.map_or_else(|| blank(index), |profile| described(index, profile));
    found.seconds = number(span, "TestTimeSeconds")
        .filter(|s| *s > 0.0 && *s < 1e9)
        .ok_or_else(|| complain(origin, span.line, "the time span has no TestTimeSeconds"))?;
    let (mut read_ms, mut write_ms) = (0.0, 0.0);
    for target in span.all("Thread").flat_map(|thread| thread.all("Target")) {
        let count = |name: &str| number(target, name).filter(|n| (0.0..9e18).contains(n)).map_or(0, whole);
        found.read.count = found.read.count.saturating_add(count("ReadCount"));
        found.read.bytes = found.read.bytes.saturating_add(count("ReadBytes"));
        found.write.count = found.write.count.saturating_add(count("WriteCount"));
        found.write.bytes = found.write.bytes.saturating_add(count("WriteBytes"));
        let weighted = |name: &str, count: u64| number(target, name).unwrap_or(0.0) * count as f64;
        read_ms += weighted("AverageReadLatencyMilliseconds", count("ReadCount"));
        write_ms += weighted("AverageWriteLatencyMilliseconds", count("WriteCount"));
        if let Some(path) = target.text_of("Path").filter(|path| !found.targets.iter().any(|t| t == path)) {
            found.targets.push(path.to_owned());
        }
    }
    let mean = |sum: f64, count: u64| (count > 0 && sum > 0.0).then(|| sum / count as f64);
    found.read.mean_ms = mean(read_ms, found.read.count);
    found.write.mean_ms = mean(write_ms, found.write.count);
    if let Some(latency) = span.child("Latency") {
        for (side, average, column) in [
            (&mut found.read, "AverageReadMilliseconds", "ReadMilliseconds"),
            (&mut found.write, "AverageWriteMilliseconds", "WriteMilliseconds"),
        ] {
            side.mean_ms = number(latency, average).or(side.mean_ms);
            side.points =
                sorted(latency.all("Bucket").filter_map(|bucket| {
                    Some((number(bucket, "Percentile")? / 100.0, number(bucket, column)?))
                }));
        }
    }
    found.cpu_busy = span
        .child("CpuUtilization")
        .and_then(|cpu| cpu.child("Average"))
        .and_then(|average| number(average, "UsagePercent"))
        .map(|percent| percent / 100.0);
    Ok(found)
}

/// Percentiles in their order, without what is not a time.
fn sorted(points: impl Iterator<Item = (f64, f64)>) -> Points {
    let mut points: Points =
        points.filter(|(share, ms)| (0.0..=1.0).contains(share) && (0.0..1e9).contains(ms)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut longest: f64 = 0.0;
    for (_, ms) in &mut points {
        longest = longest.max(*ms);
        *ms = longest;
    }
    points
}

fn blank(index: usize) -> Span {
    Span {
        name: format!("timespan {}", index + 1),
        mix: access(64 * KIB, 100.0, 0.0),
        threads: 1,
        outstanding: 1,
        seconds: 0.0,
        read: Side::default(),
        write: Side::default(),
        total: Side::default(),
        cpu_busy: None,
        targets: Vec::new(),
        is_described: true,
        is_mix_known: false,
    }
}

/// The load of a time span as the profile in the results has it; of several targets the first.
fn described(index: usize, profile: &Element) -> Span {
    let mut span = blank(index);
    let targets = || profile.all("Targets").flat_map(|targets| targets.all("Target"));
    let Some(first) = targets().next() else { return span };
    let number = |name: &str| first.text_of(name).and_then(|text| text.parse::<u64>().ok());
    let percent = |value: Option<u64>| value.filter(|share| *share <= 100).unwrap_or(0) as f64;
    let size = number("BlockSize").unwrap_or(64 * KIB);
    let is_random = number("Random").is_some();
    let random = match number("RandomRatio") {
        Some(share) => percent(Some(share)),
        None if is_random => 100.0,
        None => 0.0,
    };
    span.mix = access(size, 100.0 - percent(number("WriteRatio")), random);
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let shared = profile.text_of("ThreadCount").and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    let own: u64 = targets()
        .filter_map(|target| target.text_of("ThreadsPerFile").and_then(|text| text.parse::<u64>().ok()))
        .sum();
    span.threads = small(shared.unwrap_or(own).max(1));
    span.outstanding = small(number("RequestCount").unwrap_or(2).max(1));
    span.name = named(&span.mix, span.threads, span.outstanding);
    span
}

fn named(mix: &Access, threads: u32, outstanding: u32) -> String {
    let position = if mix.random > 0.0 { "random" } else { "sequential" };
    let kind = match mix.read {
        read if read >= 100.0 => "read".to_owned(),
        read if read <= 0.0 => "write".to_owned(),
        read => format!("{read} % read"),
    };
    format!("{} {position} {kind}, {threads} x {outstanding}", mix.size)
}

fn result(origin: &str, tool: String, spans: Vec<Span>) -> Result<ImportedResult, ImportError> {
    if spans.is_empty() {
        return Err(complain(origin, 0, "has no results of a time span"));
    }
    if spans.len() > ROWS_MAX {
        return Err(complain(origin, 0, format!("has more than {ROWS_MAX} time spans")));
    }
    let mut missing = Vec::new();
    if spans.iter().all(|span| span.read.points.is_empty() && span.write.points.is_empty()) {
        missing.push("percentiles (-L)");
    }
    if spans.iter().all(|span| span.read.mean_ms.is_none() && span.write.mean_ms.is_none()) {
        missing.push("latencies (-L)");
    }
    if spans.iter().any(|span| !span.is_described) {
        missing.push("how many I/Os are outstanding, and where");
    }
    let mut targets: Vec<String> = Vec::new();
    let mut rows: Vec<ResultRow> = Vec::new();
    for span in spans {
        for target in &span.targets {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        rows.push(row(span, &rows));
    }
    let says = "DiskSpd prints MiB/s (2^20) as MB/s in old versions. Its percentiles are a step function here: between \
                two that are listed, latencies are not known.";
    let result = ImportedResult::of(origin, tool, &missing, rows).on(targets);
    Ok(ImportedResult { notes: vec![says.to_owned()], ..result })
}

fn row(span: Span, others: &[ResultRow]) -> ResultRow {
    let swept = repeated(&span.name, others);
    let job = RowJob {
        name: span.name.clone(),
        workers: span.threads,
        outstanding: span.outstanding,
        mix: vec![span.mix],
        stats: AccessStats { read: span.read.stats(), write: span.write.stats() },
        measured_ns: whole(span.seconds * 1e9),
        ..RowJob::default()
    };
    ResultRow { test: span.name, swept, jobs: vec![job], cpu_busy: span.cpu_busy }
}

/// Reads what DiskSpd prints.
///
/// # Errors
/// When it has no table of a time span.
pub fn import_text(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let load = Span { is_described: false, ..blank(0) };
    let mut reader = TextReader { spans: Vec::new(), load, section: Section::None };
    for line in text.lines() {
        reader.line(line.trim());
        if reader.spans.len() > ROWS_MAX {
            return Err(complain(origin, 0, format!("has more than {ROWS_MAX} time spans")));
        }
    }
    let has_counts = |span: &Span| span.read.count + span.write.count > 0;
    let spans: Vec<Span> =
        reader.spans.into_iter().map(told_apart).filter(has_counts).map(measured).collect();
    if spans.is_empty() {
        return Err(complain(origin, 0, "has no totals of reads and of writes (Read IO, Write IO)"));
    }
    if let Some(span) = spans.iter().find(|span| span.seconds <= 0.0) {
        return Err(complain(origin, 0, format!("\"{}\" has no test time", span.name)));
    }
    result(origin, "DiskSpd".to_owned(), spans)
}

/// Where a text ends behind the totals of both directions, they are those of the one that its parameters name.
fn told_apart(mut span: Span) -> Span {
    let has_none = span.read.count + span.write.count == 0;
    match span.mix.read {
        read if has_none && span.is_mix_known && read >= 100.0 => span.read = std::mem::take(&mut span.total),
        read if has_none && span.is_mix_known && read <= 0.0 => span.write = std::mem::take(&mut span.total),
        _ => {}
    }
    span
}

/// A span whose load is not described has the size and the share of reads that its counts give.
fn measured(mut span: Span) -> Span {
    if !span.is_described {
        let (ios, bytes) =
            (span.read.count + span.write.count, span.read.bytes.saturating_add(span.write.bytes));
        let read = (span.read.count as f64 / ios as f64 * 10_000.0).round() / 100.0;
        span.mix = access(bytes / ios, read, 0.0);
    }
    span
}

/// Which table of the text a line is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// That says what the load is.
    None,
    Result,
    Total,
    Read,
    Write,
    Percentiles,
    Cpu,
}

struct TextReader {
    spans: Vec<Span>,
    /// Of the input parameters.
    load: Span,
    section: Section,
}

impl TextReader {
    fn line(&mut self, line: &str) {
        let after = |key: &str| line.strip_prefix(key).and_then(leading_number);
        let small = |value: f64| u32::try_from(whole(value)).unwrap_or(1).max(1);
        if line.starts_with("Input parameters:") && !self.spans.is_empty() {
            // Of another run behind the one before.
            self.load = blank(0);
        }
        self.load.is_described |= line.starts_with("Input parameters:");
        // Without the words before it, a time begins what is posted of a run.
        let is_cut =
            after("actual test time:").is_some() && self.spans.last().is_none_or(|span| span.seconds > 0.0);
        if line.starts_with("Results for timespan ") || is_cut {
            self.begin();
        } else if self.section == Section::None {
            self.parameter(line, &after, small);
        }
        let Some(span) = self.spans.last_mut() else { return };
        match line {
            "Read IO" => self.section = Section::Read,
            "Write IO" => self.section = Section::Write,
            "Total IO" => self.section = Section::Total,
            "Input parameters:" => self.section = Section::None,
            _ if line.starts_with("%-ile |") => {
                self.section = Section::Percentiles;
                // Tables of single targets stand before that of all.
                span.read.points.clear();
                span.write.points.clear();
            }
            _ if line.contains("CPU |") || line.starts_with("Socket |") => self.section = Section::Cpu,
            _ => {}
        }
        for key in ["actual test time:", "test time:"] {
            if let Some(seconds) = after(key).filter(|seconds| *seconds < 1e9) {
                span.seconds = seconds;
            }
        }
        if let Some(threads) = after("thread count:").filter(|_| !span.is_described) {
            span.threads = small(threads);
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let is_total = line.starts_with("total:") && cells.len() > 1;
        match self.section {
            Section::Total if is_total => total(&mut span.total, &cells),
            Section::Read if is_total => total(&mut span.read, &cells),
            Section::Write if is_total => total(&mut span.write, &cells),
            Section::Percentiles => percentile(span, &cells),
            Section::Cpu if line.starts_with("avg.") => {
                span.cpu_busy =
                    cells.get(1).and_then(|cell| leading_number(cell)).map(|percent| percent / 100.0);
            }
            _ => {}
        }
    }

    /// Begins the results of a time span.
    fn begin(&mut self) {
        let load = &self.load;
        let mut span = Span { mix: load.mix.clone(), ..blank(self.spans.len()) };
        (span.threads, span.outstanding) = (load.threads, load.outstanding);
        span.targets.clone_from(&load.targets);
        (span.is_described, span.is_mix_known) = (load.is_described, load.is_mix_known);
        if span.is_described {
            span.name = named(&span.mix, span.threads, span.outstanding);
        }
        self.spans.push(span);
        self.section = Section::Result;
    }

    /// A line of the input parameters: of several paths the first says what the load is.
    fn parameter(&mut self, line: &str, after: &dyn Fn(&str) -> Option<f64>, small: fn(f64) -> u32) {
        let load = &mut self.load;
        if let Some(path) = line.strip_prefix("path: ") {
            load.targets.push(path.trim_matches('\'').to_owned());
        }
        if load.targets.len() > 1 {
            // Each file has threads of its own.
            load.threads = load.threads.saturating_add(after("threads per file:").map_or(0, small));
            return;
        }
        if let Some(size) = after("block size:") {
            // `8KiB`, of old versions `8192`.
            let unit = if line.ends_with("KiB") {
                KIB
            } else if line.ends_with("MiB") {
                KIB * KIB
            } else {
                1
            };
            load.mix.size = assay_spec::units::Bytes(whole(size).saturating_mul(unit));
            load.mix.align = load.mix.size;
        }
        if line.starts_with("performing ") {
            load.is_mix_known = true;
            load.mix.read = match line {
                _ if line.contains("mix test") => {
                    line.split("read/write ratio:").nth(1).or(line.split('(').nth(1)).map_or(50.0, |text| {
                        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
                        digits
                            .split(|c: char| !c.is_ascii_digit())
                            .next()
                            .and_then(|n| n.parse().ok())
                            .unwrap_or(50.0)
                    })
                }
                _ if line.contains("write test") => 0.0,
                _ => 100.0,
            };
        }
        if line.starts_with("using random I/O") {
            load.mix.random = 100.0;
        }
        // Older versions leave the words behind `operations` out.
        for key in
            ["number of outstanding I/O operations per thread:", "number of outstanding I/O operations:"]
        {
            if let Some(depth) = after(key) {
                load.outstanding = small(depth);
            }
        }
        for key in ["threads per file:", "total threads:"] {
            if let Some(threads) = after(key) {
                load.threads = small(threads);
            }
        }
    }
}

/// `total: bytes | I/Os | MiB/s | I/O per s | AvgLat | …`.
fn total(side: &mut Side, cells: &[&str]) {
    let number = |at: usize, prefix: &str| {
        cells
            .get(at)
            .map(|cell| cell.trim_start_matches(prefix).trim())
            .and_then(|cell| cell.parse::<f64>().ok())
    };
    side.bytes = number(0, "total:").filter(|n| (0.0..9e18).contains(n)).map_or(0, whole);
    side.count = number(1, "").filter(|n| (0.0..9e18).contains(n)).map_or(0, whole);
    side.mean_ms = number(4, "").filter(|ms| *ms > 0.0);
}

/// `99th | read | write | total`, `3-nines | …`, `min | …`, `max | …`; `N/A` is unknown.
fn percentile(span: &mut Span, cells: &[&str]) {
    let [name, read, write, ..] = cells else { return };
    let share = match *name {
        "min" => Some(0.0),
        "max" => Some(1.0),
        name if name.ends_with("-nines") => {
            let nines = name.trim_end_matches("-nines").parse::<i32>().ok().filter(|n| (1..=12).contains(n));
            nines.map(|nines| 1.0 - 10.0_f64.powi(-nines))
        }
        name => name.trim_end_matches("th").parse::<f64>().ok().map(|percent| percent / 100.0),
    };
    let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) else { return };
    for (side, cell) in [(&mut span.read, read), (&mut span.write, write)] {
        if let Ok(ms) = cell.parse::<f64>() {
            side.points.push((share, ms));
            side.points = sorted(std::mem::take(&mut side.points).into_iter());
        }
    }
}
