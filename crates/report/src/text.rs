//! The forum table for a terminal, with what it means below.

use assay_analysis::{
    Finding, JobSummary, Judgement, OpSummary, RunStatus, RunSummary, Severity, StepSummary,
};
use assay_record::{Latency, PathEnd, RunHeader};

use crate::layout::{left, width};
use crate::network::LinkUse;
use crate::number::{self, TimeUnit};

pub use crate::layout::wrap;

/// How a terminal wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns. Notes are wrapped to it; the table keeps its columns and shortens names only.
    pub width: usize,
    /// Whether severities and headers carry ANSI colours.
    pub color: Color,
}

/// Whether ANSI colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Plain text.
    #[default]
    Never,
    /// Colours and bold.
    Ansi,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 110, color: Color::Never }
    }
}

/// Names are never cut below this.
const NAME_MIN: usize = 12;
/// What every portal of iSCSI has, where nothing else is said.
const DEFAULT_PORT: &str = ":3260";
/// Notes are readable at no more than this.
const NOTE_WIDTH_MAX: usize = 120;

/// One row: a name and a number per column.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<Option<f64>>,
    /// Said in place of numbers.
    pub(crate) instead: Option<String>,
    /// What becomes of a name that is wider than its column.
    pub(crate) long: Long,
}

/// What becomes of a name that is wider than its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Long {
    /// Its middle goes.
    Cut,
    /// It gets a line of its own, as every part of it matters.
    OwnLine,
}

/// The result table, the findings, and the plan's notes.
#[must_use]
pub fn table(header: &RunHeader, summary: &RunSummary, findings: &[Finding], options: TextOptions) -> String {
    table_with(header, summary, findings, None, options)
}

/// The same with what was expected, where somebody described the array.
#[must_use]
pub fn table_with(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    options: TextOptions,
) -> String {
    let mut text = heading(header, summary, options.width);
    let (titles, rows) = forum_rows(&summary.steps);
    text.push_str(&format_rows(&titles, &rows, options));
    text.push_str(&network_text(header, summary, options));
    text.push_str(&self::findings(findings, options));
    if let Some(judgement) = judgement {
        text.push_str(&crate::expected::text(judgement, options.width.min(NOTE_WIDTH_MAX)));
    }
    text.push_str(&notes_text(header, summary, options));
    text
}

/// The rows of some steps alone, under their titles: for a run that is going on.
#[must_use]
pub fn rows(steps: &[StepSummary], options: TextOptions) -> String {
    let (titles, rows) = forum_rows(steps);
    format_rows(&titles, &rows, options)
}

/// What a step came to, in the numbers of its row: `62.8 IOPS, 0.25 MiB/s, p99 18.2 ms`.
#[must_use]
pub fn step_line(step: &StepSummary) -> String {
    if let Some(why) = step.skipped.as_ref().map(|why| format!("left out: {why}")).or(step.unmeasured.clone())
    {
        return why;
    }
    let short = |value: f64| separated(&number::short(value));
    let total = &step.total;
    let p99 = total.waited().quantile_ns(0.99).map(|ns| {
        let unit = TimeUnit::for_means(&[total.waited().mean_ns().unwrap_or(ns)]);
        format!(", p99 {} {}", short(unit.of_ns(ns)), unit.name())
    });
    let errors = if step.errors > 0 {
        format!(", {} errors", separated(&step.errors.to_string()))
    } else {
        String::new()
    };
    format!("{} IOPS, {} MiB/s{}{errors}", short(total.iops), short(total.mib_per_s), p99.unwrap_or_default())
}

fn heading(header: &RunHeader, summary: &RunSummary, columns: usize) -> String {
    let targets: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    let status = match summary.status {
        RunStatus::Done => String::new(),
        other => format!(" ({})", other.name().to_uppercase()),
    };
    let started = number::minute(header.started_unix_ms);
    let run = format!(
        "Run {}{status}, {started}, {} with Linux {}, assay {}",
        header.run, header.host.name, header.host.kernel, header.version
    );
    // Addresses are copied from here, so their line is left to the terminal.
    format!("{} on {}\n{}\n\n", header.plan.name, targets.join(", "), wrap(&run, columns, "  "))
}

/// Titles and rows of the forum table: a row per step, under it a row per job where there are several.
pub(crate) fn forum_rows(steps: &[StepSummary]) -> (Vec<String>, Vec<Row>) {
    let means: Vec<f64> = steps.iter().filter_map(|s| s.total.waited().mean_ns()).collect();
    let unit = TimeUnit::for_means(&means);
    let u = unit.name();
    let titles = [
        "Test",
        "MiB/s",
        "IOPS",
        &format!("Avg {u}"),
        &format!("Max {u}"),
        "p50",
        "p99",
        "p99.9",
        "Outst.",
        "CPU %",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut rows = Vec::new();
    for step in steps {
        rows.push(step_row(step, unit));
        if step.jobs.len() > 1 && step.skipped.is_none() && step.unmeasured.is_none() {
            rows.extend(step.jobs.iter().map(|job| job_row(job, unit)));
        }
        if step.paths.len() > 1 && step.unmeasured.is_none() {
            rows.extend(step.paths.iter().map(|path| path_row(path, step, unit)));
        }
    }
    (titles, rows)
}

fn step_row(step: &StepSummary, unit: TimeUnit) -> Row {
    let name = if step.step.is_empty() { step.test.clone() } else { format!("{} {}", step.test, step.step) };
    if let Some(why) = &step.skipped {
        return Row { name, cells: vec![], instead: Some(format!("left out: {why}")), long: Long::Cut };
    }
    if let Some(why) = &step.unmeasured {
        return Row { name, cells: vec![], instead: Some(why.clone()), long: Long::Cut };
    }
    let mut cells = cells(&step.total, step.outstanding_effective, unit);
    cells.push(step.cpu.used.map(|c| c.host_busy * 100.0));
    Row { name, cells, instead: None, long: Long::Cut }
}

fn job_row(job: &JobSummary, unit: TimeUnit) -> Row {
    let mut cells = cells(&job.total, job.outstanding_effective, unit);
    cells.push(None);
    Row { name: format!("  {}", job.name), cells, instead: None, long: Long::Cut }
}

/// Share and portal in the name; rates over the window of the path's job.
fn path_row(path: &PathEnd, step: &StepSummary, unit: TimeUnit) -> Row {
    let ops_of = crate::json::path_ops;
    let of_job: u64 = step.paths.iter().filter(|p| p.job == path.job).map(ops_of).sum();
    let seconds = step.jobs.get(path.job as usize).map_or(step.seconds, |job| job.seconds);
    let ops = ops_of(path) as f64;
    let time = |ns: Option<f64>| ns.map(|ns| unit.of_ns(ns));
    let state = if path.is_up { "" } else { ", down" };
    let cells = vec![
        Some(crate::json::path_bytes(path) as f64 / f64::from(1 << 20) / seconds),
        Some(ops / seconds),
        time(path.latency.mean_ns()),
        time(path.latency.max_ns().map(|ns| ns as f64)),
        time(path.latency.quantile_ns(0.5)),
        time(path.latency.quantile_ns(0.99)),
        time(path.latency.quantile_ns(0.999)),
        Some(path.latency.sum_ns() as f64 / 1e9 / seconds),
        None,
    ];
    let share = 100.0 * ops / (of_job as f64).max(1.0);
    let portal = path.portal.strip_suffix(DEFAULT_PORT).unwrap_or(&path.portal);
    let name = format!("  path {} {portal} {share:.1} %{state}", path.path);
    Row { name, cells, instead: None, long: Long::OwnLine }
}

fn cells(total: &OpSummary, outstanding: f64, unit: TimeUnit) -> Vec<Option<f64>> {
    let waited: &Latency = total.waited();
    let time = |ns: Option<f64>| ns.map(|ns| unit.of_ns(ns));
    vec![
        Some(total.mib_per_s),
        Some(total.iops),
        time(waited.mean_ns()),
        time(waited.max_ns().map(|ns| ns as f64)),
        time(waited.quantile_ns(0.5)),
        time(waited.quantile_ns(0.99)),
        time(waited.quantile_ns(0.999)),
        Some(outstanding),
    ]
}

/// Names to the left, numbers to the right, one count of decimals per column.
pub(crate) fn columns(rows: &[Row], count: usize) -> Vec<Vec<String>> {
    (0..count)
        .map(|index| {
            number::column(&rows.iter().map(|r| r.cells.get(index).copied().flatten()).collect::<Vec<_>>())
        })
        .collect()
}

fn format_rows(titles: &[String], rows: &[Row], options: TextOptions) -> String {
    let texts = columns(rows, titles.len() - 1);
    let widths: Vec<usize> = texts
        .iter()
        .zip(&titles[1..])
        .map(|(cells, title)| cells.iter().map(|c| width(c)).max().unwrap_or(0).max(width(title)))
        .collect();
    let longest = rows.iter().map(|r| width(&r.name)).max().unwrap_or(0).max(width(&titles[0]));
    // Whole names in narrower gaps read better than names without their middle.
    let fits = |gap: usize| longest + widths.iter().map(|w| w + gap).sum::<usize>() <= options.width;
    let gap = if fits(2) { 2 } else { 1 };
    let numbers: usize = widths.iter().map(|w| w + gap).sum();
    let name_width = longest.min(options.width.saturating_sub(numbers)).max(NAME_MIN);
    let right = |cell: &str, w: usize| format!("{}{cell}", " ".repeat(gap + w.saturating_sub(width(cell))));
    let titles_text: String = titles[1..].iter().zip(&widths).map(|(t, w)| right(t, *w)).collect();
    let mut text = paint(&format!("{}{titles_text}", left(&titles[0], name_width)), "1", options.color);
    text.push('\n');
    text.push_str(&"-".repeat(name_width + numbers));
    text.push('\n');
    for (index, row) in rows.iter().enumerate() {
        match row.long {
            Long::OwnLine if width(&row.name) > name_width => {
                text.push_str(&format!("{}\n{}", row.name, " ".repeat(name_width)));
            }
            _ => text.push_str(&left(&row.name, name_width)),
        }
        match &row.instead {
            Some(words) => text.push_str(&format!("  {words}")),
            None => texts.iter().zip(&widths).for_each(|(cells, w)| text.push_str(&right(&cells[index], *w))),
        }
        text.push('\n');
    }
    text
}

/// A sentence a step: how full the links were, how long round trips took beside its load, and what was sent again.
fn network_text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let line = |step: &StepSummary| {
        let full = LinkUse::of_step(header, step).map(|of| of.says());
        let words: Vec<String> = [full, tcp_words(step)].into_iter().flatten().collect();
        let name = [step.test.as_str(), step.step.as_str()].join(" ");
        let says = format!("Network in {}: {}", name.trim_end(), words.join("; "));
        (!words.is_empty() && step.unmeasured.is_none())
            .then(|| wrap(&says, options.width.min(NOTE_WIDTH_MAX), "  ") + "\n")
    };
    let lines: String = summary.steps.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn tcp_words(step: &StepSummary) -> Option<String> {
    let least = step.tcp.iter().filter_map(|tcp| tcp.rtt_us_min).min()?;
    let medians: Vec<u32> = step.tcp.iter().filter_map(|tcp| tcp.rtt_us_median).collect();
    let (low, high) = (medians.iter().min()?, medians.iter().max()?);
    let again: u64 = step.tcp.iter().map(|tcp| tcp.retransmits).sum();
    let median = if low == high { format!("{low} us") } else { format!("{low} to {high} us by portal") };
    let again = match again {
        0 => "nothing sent again".to_owned(),
        1 => "1 segment sent again".to_owned(),
        n => format!("{n} segments sent again"),
    };
    Some(format!("round trip {least} us at best, median {median}; {again}"))
}

/// How grave a finding is, as its first word. A note is what a person wrote of a run, so no finding is called one.
pub(crate) fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "CRITICAL",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    }
}

/// Findings as they stand under a table.
#[must_use]
pub fn findings(findings: &[Finding], options: TextOptions) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = mark(finding.severity);
        let code = match finding.severity {
            Severity::Critical => "1;31",
            Severity::Warning => "33",
            Severity::Info => "36",
        };
        let words = format!("{mark} [{}] {}", finding.rule, finding.says);
        let wrapped = wrap(&words, options.width.min(NOTE_WIDTH_MAX), "  ");
        text.push('\n');
        text.push_str(&wrapped.replacen(mark, &paint(mark, code, options.color), 1));
        text.push('\n');
        if !finding.next.is_empty() {
            text.push_str(&wrap(
                &format!("  -> {}", finding.next),
                options.width.min(NOTE_WIDTH_MAX),
                "     ",
            ));
            text.push('\n');
        }
    }
    text
}

fn notes_text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let tests = header.plan.tests.iter().filter(|t| !t.notes.is_empty());
    let mut notes: Vec<String> = header.plan.notes.clone();
    notes.extend(tests.map(|t| format!("{}: {}", t.name, t.notes)));
    notes.push("MiB/s is 2^20 bytes per second: the \"MB/s\" of forum tables.".into());
    if summary.steps.iter().any(|step| LinkUse::of_step(header, step).is_some()) {
        notes.push("MB/s is 10^6 bytes per second, as links are sold. What links carry at most is reckoned for reads of 32 KiB, as assay check shows it.".into());
    }
    notes.push("Outst.: I/Os in flight on average, IOPS x mean latency.".into());
    if summary.steps.iter().any(|s| s.total.response.is_some()) {
        notes.push("Latencies of open loads count from when an I/O was due (response time); Outst. counts from its issue.".into());
    }
    let lines = notes.iter().map(|note| wrap(&format!("* {note}"), options.width.min(NOTE_WIDTH_MAX), "  "));
    format!("\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}

/// A written number with its thousands separated: `12,345.6`.
fn separated(number: &str) -> String {
    let whole = number.split('.').next().unwrap_or_default();
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + &number[whole.len()..]
}

fn paint(text: &str, code: &str, color: Color) -> String {
    match color {
        Color::Never => text.to_owned(),
        Color::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    }
}
