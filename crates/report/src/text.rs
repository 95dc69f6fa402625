//! A run as text: the forum table, and what it means below.

use assay_analysis::{
    DiskUse, Finding, Judgement, RunLimits, RunStatus, RunSummary, Severity, StepSummary, first_sentence,
    limits, price, time,
};
use assay_record::RunHeader;

use crate::crystaldiskmark;
use crate::escape::{self, Style};
use crate::forum::{self, Reader};
use crate::network::LinkUse;
use crate::number;
use crate::painted::{of_table, paint};
use crate::rounds;
use crate::table::{Format, Table};

pub use crate::forum::step_line;
pub use crate::layout::wrap;
pub use crate::options::{Color, Detail, TextOptions};

/// The result table, the findings, and the plan's notes.
#[must_use]
pub fn table(header: &RunHeader, summary: &RunSummary, findings: &[Finding], options: TextOptions) -> String {
    table_with(header, summary, findings, None, options)
}

/// The same with expected and measured values, if the array is known.
#[must_use]
pub fn table_with(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    options: TextOptions,
) -> String {
    let mut text = heading(header, summary, options.width);
    let table = || of_table(&forum::priced(&summary.steps, Reader::Person, price(header)), options);
    let block = crystaldiskmark::block(&summary.steps, options.width)
        .or_else(|| steady_sweeps(header, summary, options));
    match block {
        // The table has a row for each of many runs; the block says the same in the form that is known.
        Some(block) if options.detail == Detail::Brief => text.push_str(&block),
        Some(block) => text.push_str(&format!("{}\n{block}", table())),
        None => text.push_str(&table()),
    }
    // The answer comes first: right after the numbers, before how they were made and what puts them in doubt.
    text.push_str(&judgement.map_or_else(String::new, |j| match options.detail {
        Detail::Full => crate::expected::text(j, options.prose()),
        Detail::Brief => crate::expected::brief(j, options.prose()),
    }));
    text.push_str(&crate::fleet::text(header, summary, options.prose()));
    text.push_str(&limits_text(header, summary, judgement, options));
    text.push_str(&crate::diagnosis::text(header, summary, options).unwrap_or_default());
    text.push_str(&crate::cache_probe::text(header, summary, options.width, options.prose()));
    text.push_str(&crate::curve::text(header, summary, options.width, options.prose()));
    text.push_str(&crate::conduct::steady_text(summary, options.prose()));
    text.push_str(&network_text(header, summary, options));
    text.push_str(&crate::conduct::tester_text(header, summary, options.prose()));
    match options.detail {
        Detail::Full => {
            text.push_str(&self::findings(findings, options));
            text.push_str(&queue_text(summary, options));
            text.push_str(&notes_text(header, summary, options));
        }
        Detail::Brief => text.push_str(&brief_findings(header, findings, options)),
    }
    text
}

/// The tables of tests that repeat a sweep until it is steady.
fn steady_sweeps(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> Option<String> {
    let table = |(title, table): (String, Table)| format!("{title}\n{}", of_table(&table, options));
    Some(rounds::tables(header, summary)?.into_iter().map(table).collect())
}

/// The verdict on a run of which no array is known; with one, the judgement has a sharper verdict.
fn limits_text(
    header: &RunHeader,
    summary: &RunSummary,
    judgement: Option<&Judgement>,
    options: TextOptions,
) -> String {
    // The experiments of a diagnosis are judged together.
    if judgement.is_some_and(|j| j.verdict.is_some()) || header.diagnosis.is_some() {
        return String::new();
    }
    let says = |limits: RunLimits| {
        format!("\n{}\n", wrap(&format!("VERDICT: {}", limits.says), options.prose(), "  "))
    };
    limits(header, summary).map_or_else(String::new, says)
}

/// The table of some steps alone: also for a run that is going on.
#[must_use]
pub fn rows(steps: &[StepSummary], options: TextOptions) -> String {
    of_table(&forum::table(steps, Reader::Person), options)
}

/// A run in a format: the page of [`table_with`] as text, else its heading and its table; in a document or a forum with
/// what one has to know to compare it.
#[must_use]
pub fn rendered(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    format: Format,
) -> String {
    let title = format!("{}, run {}, {}", title(header), header.run, number::minute(header.started_unix_ms));
    match format {
        Format::Text(width) => table(header, summary, &[], TextOptions { width, ..TextOptions::default() }),
        Format::Csv => forum::priced(&summary.steps, Reader::Program, price(header)).render(format),
        Format::Markdown | Format::BbCode => {
            let block =
                crystaldiskmark::block(&summary.steps, usize::MAX).map(|block| format.verbatim(&block));
            let table = || forum::priced(&summary.steps, Reader::Person, price(header)).render(format);
            let caveats = format.text(&caveats(header, summary, findings, judgement));
            format!("{}\n\n{}\n{caveats}\n", format.text(&title), block.unwrap_or_else(table))
        }
    }
}

/// What a table lacks that is posted without the page around it: what measured, what limits it, and what was changed or
/// disturbed.
fn caveats(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
) -> String {
    let by = match &header.imported {
        Some(from) => format!("Measured by {}.", from.tool),
        None => format!(
            "Measured by Assay {} on {} (Linux {}).",
            header.version, header.host.name, header.host.kernel
        ),
    };
    let status =
        (summary.status != RunStatus::Done).then(|| format!("The run is {}.", summary.status.name()));
    let verdict = match judgement.and_then(|judgement| judgement.verdict.as_ref()) {
        Some(verdict) => Some(verdict.says.clone()),
        None => limits(header, summary).map(|limits| limits.says),
    };
    let is_shown =
        |finding: &&Finding| finding.severity > Severity::Info || CHANGES.contains(&finding.rule.as_str());
    let shown = findings.iter().filter(is_shown);
    let shown = shown.map(|finding| format!("{}: {}", finding.rule, first_sentence(&finding.says)));
    let parts = [Some(by), status, verdict.map(|says| format!("Verdict: {says}"))].into_iter().flatten();
    parts.chain(shown).collect::<Vec<_>>().join(" ")
}

/// Rules about how a run differs from its plan as it ships.
const CHANGES: [&str; 3] = ["changed", "partial", "quick"];

fn title(header: &RunHeader) -> String {
    let targets: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    escape::line(&format!("{} on {}", header.plan.name, targets.join(", "))).into_owned()
}

fn heading(header: &RunHeader, summary: &RunSummary, columns: usize) -> String {
    let status = match summary.status {
        RunStatus::Done => String::new(),
        other => format!(" ({})", other.name().to_uppercase()),
    };
    let started = number::minute(header.started_unix_ms);
    let run = match &header.imported {
        Some(from) => {
            format!("Run {}{status}, {started}, {}, imported from {}", header.run, from.tool, from.file)
        }
        None => format!(
            "Run {}{status}, {started}, {} with Linux {}, assay {}",
            header.run, header.host.name, header.host.kernel, header.version
        ),
    };
    // Addresses are copied from here, so their line is left to the terminal.
    format!("{}\n{}\n\n", title(header), wrap(&run, columns, "  "))
}

/// A sentence for each step: use of the links, round trips under load, retransmits.
fn network_text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let line = |step: &StepSummary| {
        let full = LinkUse::of_step(header, step).map(|of| of.says());
        let words: Vec<String> = [full, tcp_words(step)].into_iter().flatten().collect();
        let name = [step.test.as_str(), step.step.as_str()].join(" ");
        let says = format!("Network in {}: {}", name.trim_end(), words.join("; "));
        (!words.is_empty() && step.unmeasured.is_none()).then(|| wrap(&says, options.prose(), "  ") + "\n")
    };
    let lines: String = summary.steps.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// A sentence for each step of which the kernel counted the queues of the devices: beside Outst., the tester's own
/// count.
fn queue_text(summary: &RunSummary, options: TextOptions) -> String {
    let line = |step: &StepSummary| {
        let queue = |disk: &DiskUse| Some(format!("{} {:.1}", disk.device, disk.queue_mean?));
        let queues: Vec<String> = step.host.disks.iter().filter_map(queue).collect();
        let name = [step.test.as_str(), step.step.as_str()].join(" ");
        let says = format!(
            "Device queues in {}, mean number of requests by the kernel's count: {}; Outst. {:.1}",
            name.trim_end(),
            queues.join(", "),
            step.outstanding_effective
        );
        (!queues.is_empty() && step.unmeasured.is_none()).then(|| wrap(&says, options.prose(), "  ") + "\n")
    };
    let lines: String = summary.steps.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn tcp_words(step: &StepSummary) -> Option<String> {
    let least = step.tcp.iter().filter_map(|tcp| tcp.rtt_us_min).min()?;
    let medians: Vec<u32> = step.tcp.iter().filter_map(|tcp| tcp.rtt_us_median).collect();
    let (low, high) = (medians.iter().min()?, medians.iter().max()?);
    let again: u64 = step.tcp.iter().map(|tcp| tcp.retransmits).sum();
    let median = if low == high {
        time(f64::from(*low))
    } else {
        format!("{} to {} by portal", time(f64::from(*low)), time(f64::from(*high)))
    };
    let again = match again {
        0 => "no retransmits".to_owned(),
        1 => "1 retransmit".to_owned(),
        n => format!("{n} retransmits"),
    };
    Some(format!("round trip min {}, median {median}; {again}", time(f64::from(least))))
}

/// Returns the severity of a finding as its first word. A note is what a person wrote, so no finding is called one.
pub(crate) fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "CRITICAL",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    }
}

/// Findings in full, as they stand under a table.
#[must_use]
pub fn findings(findings: &[Finding], options: TextOptions) -> String {
    findings.iter().map(|finding| format!("\n{}", finding_text(finding, &finding.says, options))).collect()
}

/// A finding with its next step, each wrapped.
fn finding_text(finding: &Finding, says: &str, options: TextOptions) -> String {
    let mark = mark(finding.severity);
    let style = match finding.severity {
        Severity::Critical => Style::Critical,
        Severity::Warning => Style::Warning,
        Severity::Info => Style::Info,
    };
    let words = format!("{mark} [{}] {says}", finding.rule);
    let mut text = wrap(&words, options.prose(), "  ").replacen(mark, &paint(mark, style, options.color), 1);
    text.push('\n');
    if !finding.next.is_empty() {
        text.push_str(&wrap(&format!("  -> {}", finding.next), options.prose(), "     "));
        text.push('\n');
    }
    text
}

/// What puts data or the measurement in doubt; of warnings the first sentence, of the rest only the names.
fn brief_findings(header: &RunHeader, findings: &[Finding], options: TextOptions) -> String {
    let mut text = String::new();
    // That a run is going on, or has no end, changes what its rows are worth.
    let is_shown = |f: &&Finding| f.severity > Severity::Info || f.rule == "partial";
    for finding in findings.iter().filter(is_shown) {
        let says = match finding.severity {
            Severity::Critical => finding.says.as_str(),
            _ => first_sentence(&finding.says),
        };
        text.push_str(&format!("\n{}", finding_text(finding, says, options)));
    }
    let mut names: Vec<&str> = Vec::new();
    for finding in findings.iter().filter(|f| !is_shown(f)) {
        if !names.contains(&finding.rule.as_str()) {
            names.push(&finding.rule);
        }
    }
    let says = match names.len() {
        0 if text.is_empty() => {
            format!("No warnings. assay show {} --explain says what the columns mean.", header.run)
        }
        0 => format!("assay show {} --explain says more.", header.run),
        1 => format!("One remark ({}): assay show {} --explain", names[0], header.run),
        n => format!("{n} remarks ({}): assay show {} --explain", names.join(", "), header.run),
    };
    text.push_str(&format!("\n{}\n", wrap(&says, options.prose(), "  ")));
    text
}

fn notes_text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let tests = header.plan.tests.iter().filter(|t| !t.notes.is_empty());
    let mut notes: Vec<String> = header.plan.notes.clone();
    notes.extend(tests.map(|t| format!("{}: {}", t.name, t.notes)));
    notes.push("MiB/s is 2^20 bytes per second: the \"MB/s\" of forum tables.".into());
    if summary.steps.iter().any(|step| LinkUse::of_step(header, step).is_some()) {
        notes.push("MB/s is 10^6 bytes per second, as links are sold. The ceiling of a link is that of 32 KiB reads, \
                    as assay check shows it.".into());
    }
    notes.push(
        "±% is half of the 95 % interval of the IOPS, from the seconds of the window; the next run may be further off."
            .into(),
    );
    notes.push("Outst. is the mean number of I/Os in flight: IOPS x mean latency.".into());
    if summary.steps.iter().any(|s| s.paths.len() > 1) {
        notes.push(
            "Rows of paths also count the I/Os that completed after the end of the window, so they add up to slightly \
             more than the row of the step, and their maximum can be larger."
                .into(),
        );
    }
    if summary.steps.iter().any(|s| s.total.response.is_some()) {
        notes.push(
            "Latencies of open loops are response times: they count from when an I/O was due. Outst. counts \
             from its issue."
                .into(),
        );
    }
    let lines = notes.iter().map(|note| wrap(&format!("* {note}"), options.prose(), "  "));
    format!("\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}
