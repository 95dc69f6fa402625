//! A run as text: the forum table, and what it means below.

use assay_analysis::{
    DiskUse, Finding, Judgement, RunStatus, RunSummary, Severity, StepSummary, by_sheet, first_sentence,
    load_curves, price, time, verdict_on,
};
use assay_record::RunHeader;

use crate::Meta;
use crate::answer::{Answer, OwnTable, answer};
use crate::crystaldiskmark;
use crate::escape::{self, Style};
use crate::forum::{self, Reader};
use crate::network::LinkUse;
use crate::number;
use crate::painted::{mark, of_table, paint};
use crate::rounds;
use crate::table::{Format, Table};

pub use crate::forum::step_line;
pub use crate::layout::wrap;
pub use crate::options::{Color, Detail, TextOptions};

/// The result table, the findings, and the plan's notes.
pub fn table(header: &RunHeader, summary: &RunSummary, findings: &[Finding], options: TextOptions) -> String {
    table_with(header, summary, findings, Meta::default(), options)
}

/// The same with what is known beside the run: expected values, a baseline. In brief it fits a screen: the numbers,
/// then the answer, which ends where the next command is typed.
pub fn table_with(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    meta: Meta<'_>,
    options: TextOptions,
) -> String {
    match options.detail {
        Detail::Brief => brief(header, summary, findings, meta, options),
        Detail::Full => full(header, summary, findings, meta, options),
    }
}

fn brief(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    meta: Meta<'_>,
    options: TextOptions,
) -> String {
    let mut text = heading(header, summary, options);
    // What experiments, curves and probes found has tables of its own; their steps are one flag away.
    let (own, kind) = own_tables(header, summary, options);
    // A table has a row for each of many runs; the block says the same in the form that is known.
    let block = || {
        crystaldiskmark::block(&summary.steps, options.width)
            .or_else(|| steady_sweeps(header, summary, options))
            .unwrap_or_else(|| brief_table(header, summary, options))
    };
    let beside = beside_curves(header, summary, options);
    if !beside.is_empty() {
        // Two tables fill a screen without a blank line.
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text.push_str(&if own.is_empty() { block() } else { own.trim_start().to_owned() });
    text.push_str(&beside);
    text.push_str(&crate::conduct::steady_text(summary, options.prose()));
    text.push_str(&sheet_text(header, summary, meta, options));
    text.push_str(&crate::fleet::text(header, summary, options.prose()));
    let mut answer = answer(header, summary, findings, meta);
    // A table of its own says what limits, and what puts it in doubt needs one line.
    let room = match kind {
        _ if own.is_empty() => ANSWER_LINES,
        // It says itself why not, in more lines.
        OwnTable::Unreliable => 1,
        OwnTable::Answer => ANSWER_LINES_OF_OWN,
        OwnTable::Curve => SCREEN_LINES.saturating_sub(text.lines().count()).max(ANSWER_LINES_OF_OWN),
    };
    if !load_curves(header, summary).is_empty() {
        // It marks the loads that are saturated.
        answer.leave_to_table("missed-rate");
    }
    if !own.is_empty() {
        answer.be_short(kind);
    }
    let is_diagnosis = header.diagnosis.is_some();
    let mut lines = answer_text(&answer, is_diagnosis, options);
    while lines.trim_start().lines().count() > room
        && (answer.shorten() || (!own.is_empty() && answer.leave_out()))
    {
        lines = answer_text(&answer, is_diagnosis, options);
    }
    text.push_str(if own.is_empty() { &lines } else { lines.trim_start() });
    text
}

/// With four tests, the shell's line and the one about a file that was filled, 24 lines have room for so many, and for
/// a blank line before them.
const ANSWER_LINES: usize = 11;
/// What has a table of its own leaves room for so many, without a blank line before them.
const ANSWER_LINES_OF_OWN: usize = 3;
/// Lines of a result that a screen has all of, with the command before it.
const SCREEN_LINES: usize = 22;

/// The answer, and how to see the rest.
fn answer_text(answer: &Answer, is_diagnosis: bool, options: TextOptions) -> String {
    // A diagnosis says itself what to do.
    let lines = answer.lines().into_iter().filter(|(title, _)| !(is_diagnosis && *title == "NEXT"));
    let lines: String = lines.map(|(title, says)| answer_line(title, &says, options)).collect();
    let rest = answer.rest();
    let says = match rest.is_empty() {
        true => "--explain says how it was measured.".to_owned(),
        false => format!("--explain adds {rest}."),
    };
    let gap = if lines.is_empty() { "" } else { "\n" };
    format!("{gap}{lines}{}\n", wrap(&says, options.prose(), "  "))
}

/// What the data sheets of the drives say, where no array file says more.
fn sheet_text(header: &RunHeader, summary: &RunSummary, meta: Meta<'_>, options: TextOptions) -> String {
    let line = by_sheet(header, summary).filter(|_| meta.judgement.is_none());
    line.map_or_else(String::new, |line| format!("\n{}\n", wrap(&line, options.prose(), "  ")))
}

/// Columns of the titles of the answer.
const TITLE_COLUMNS: usize = 9;

fn answer_line(title: &str, says: &str, options: TextOptions) -> String {
    let style = match title {
        "CRITICAL" => Style::Critical,
        "WARNING" => Style::Warning,
        _ => Style::Title,
    };
    let indent = " ".repeat(TITLE_COLUMNS);
    let words = wrap(&format!("{indent}{says}"), options.prose(), &indent);
    let padded = format!("{}{}", paint(title, style, options.color), " ".repeat(TITLE_COLUMNS - title.len()));
    format!("{}\n", words.replacen(&indent, &padded, 1))
}

fn full(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    meta: Meta<'_>,
    options: TextOptions,
) -> String {
    let mut text = heading(header, summary, options);
    let block = crystaldiskmark::block(&summary.steps, options.width)
        .or_else(|| steady_sweeps(header, summary, options));
    text.push_str(&forum_table(header, summary, options));
    text.push_str(&block.map_or_else(String::new, |block| format!("\n{block}")));
    // The answer comes first: right after the numbers, before how they were made and what puts them in doubt.
    text.push_str(&meta.judgement.map_or_else(String::new, |j| crate::expected::text(j, options.prose())));
    let answer = answer(header, summary, findings, meta);
    let is_judged = meta.judgement.is_some_and(|judgement| judgement.verdict.is_some());
    let verdict = answer.limit.filter(|_| !is_judged).map(|says| format!("VERDICT: {says}"));
    let good = answer.good.map(|says| format!("GOOD? {says}"));
    let lines = [good, verdict].into_iter().flatten();
    text.extend(lines.map(|says| format!("\n{}\n", wrap(&says, options.prose(), "  "))));
    text.push_str(&sheet_text(header, summary, meta, options));
    text.push_str(&crate::fleet::text(header, summary, options.prose()));
    text.push_str(&own_tables(header, summary, options).0);
    text.push_str(&crate::conduct::steady_text(summary, options.prose()));
    text.push_str(&network_text(header, summary, options));
    text.push_str(&crate::conduct::tester_text(header, summary, options.prose()));
    text.push_str(&self::findings(findings, options));
    text.push_str(&queue_text(summary, options));
    text.push_str(&notes_text(header, summary, options));
    text.push_str(&meta.baseline.map(|held| crate::held::text(held, options)).unwrap_or_default());
    text
}

/// The row of each step.
fn forum_table(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    of_table(&forum::priced(&summary.steps, Reader::Person, price(header)), options)
}

/// The same in brief: targets and paths that are alike have no rows.
fn brief_table(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let Some((steps, says)) = forum::without_even_parts(&summary.steps) else {
        return forum_table(header, summary, options);
    };
    let table = of_table(&forum::priced(&steps, Reader::Person, price(header)), options);
    format!("{table}{}\n", wrap(&says, options.prose(), "  "))
}

/// In brief, the rows of the steps beside the curves of a run: a suite has both.
fn beside_curves(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let steps = match header.diagnosis {
        Some(_) => Vec::new(),
        None => crate::curve::other_steps(header, summary),
    };
    match steps.is_empty() {
        true => String::new(),
        false => of_table(&forum::priced(&steps, Reader::Person, price(header)), options),
    }
}

/// What the verbs that make a plan of their own found, and which of them it was: a diagnosis, caches, curves. Empty for
/// any other run.
fn own_tables(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> (String, OwnTable) {
    let mut text = crate::diagnosis::text(header, summary, options).unwrap_or_default();
    text.push_str(&crate::cache_probe::text(header, summary, options));
    let curve = crate::curve::text(header, summary, options);
    let is_unreliable =
        crate::cache_probe::is_disturbed(header, summary) || crate::curve::is_unsteady(header, summary);
    let kind = match is_unreliable {
        true => OwnTable::Unreliable,
        false if text.is_empty() => OwnTable::Curve,
        false => OwnTable::Answer,
    };
    (text + &curve, kind)
}

/// The tables of tests that repeat a sweep until it is steady.
fn steady_sweeps(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> Option<String> {
    let table = |(title, table): (String, Table)| format!("{title}\n{}", of_table(&table, options));
    Some(rounds::tables(header, summary)?.into_iter().map(table).collect())
}

/// The table of some steps alone: also for a run that is going on.
pub fn rows(steps: &[StepSummary], options: TextOptions) -> String {
    of_table(&forum::table(steps, Reader::Person), options)
}

/// A run in a format: the page of [`table_with`] as text, else its heading and its table; in a document or a forum with
/// what one has to know to compare it.
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
    let verdict = verdict_on(header, summary, judgement).map(|verdict| verdict.says);
    let is_shown =
        |finding: &&Finding| finding.severity > Severity::Info || CHANGES.contains(&finding.rule.as_str());
    let shown = findings.iter().filter(is_shown);
    let shown = shown.map(|finding| format!("{}: {}", finding.rule, first_sentence(&finding.says)));
    let parts = [Some(by), status, verdict.map(|says| format!("Verdict: {says}"))].into_iter().flatten();
    parts.chain(shown).collect::<Vec<_>>().join(" ")
}

/// Rules about how a run differs from its plan as it ships.
const CHANGES: [&str; 4] = ["changed", "partial", "quick", "resumed"];

fn title(header: &RunHeader) -> String {
    let targets: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    escape::line(&format!("{} on {}", header.plan.name, targets.join(", "))).into_owned()
}

fn heading(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let status = match summary.status {
        RunStatus::Done => String::new(),
        other => format!(" ({})", other.name().to_uppercase()),
    };
    let started = number::minute(header.started_unix_ms);
    let run = match &header.imported {
        Some(from) => {
            format!("Run {}{status}, {started}, {}, imported from {}", header.run, from.tool, from.file)
        }
        None => {
            let version = match options.detail {
                Detail::Brief => String::new(),
                Detail::Full => format!(", assay {}", header.version),
            };
            let host = &header.host;
            format!(
                "Run {}{status}, {started}, {} with Linux {}{version}",
                header.run, host.name, host.kernel
            )
        }
    };
    // Addresses are copied from here, so their line is left to the terminal.
    format!("{}\n{}\n\n", title(header), wrap(&run, options.width, "  "))
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

/// Findings in full, as they stand under a table.
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
