//! A run as one HTML file: no script, nothing loaded from elsewhere, readable on paper. The same as the body of a page
//! that is served, with the charts of a run that is going on.

mod charts;
mod compare;
mod facts;
mod first;
mod heat_difference;
mod hosts;
mod live;
mod map;
mod matrix;
mod method;
pub(crate) mod methods;
mod prediction;
mod series;
mod shapes;
mod sweep;
mod tables;
mod timeline;
mod trend;

use assay_analysis::{Finding, RunStatus, RunSummary, Severity, StepSummary};
use assay_record::RunHeader;
use assay_spec::Test;

use crate::Meta;
use crate::network::LinkUse;
use crate::number;
pub use crate::svg::{escape, spark};
pub use compare::{comparison, comparison_body};
pub use live::{Live, Reference, ReferenceLevel, Span, TimeRange, over_time, values_over_time};
pub use map::{map, stored_map};
pub use matrix::marked;
pub use methods::page as methods;
pub use prediction::prediction;
pub use series::{journal, repeats};
pub use trend::{Beside, ChangeFacts, Links, Others, TrendView, trend, trend_changes, trend_events};

/// What marks the moment of a finding; a page that is served makes it a link to that part of the time.
const MOMENT: &str = "<b class=\"moment\" data-at=\"";

/// Returns a report whose findings lead to their moments in the charts of its own page.
pub fn with_moments(report: &str) -> String {
    let mut parts = report.split(MOMENT);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(&format!("<a class=\"moment\" href=\"?{}", part.replacen("</b>", "</a>", 1)));
    }
    text
}

/// Returns a report with buttons behind what to do next; of a diagnosis, which says that in its own words, they stand
/// before it.
pub fn with_buttons(report: &str, buttons: &str) -> String {
    if buttons.is_empty() {
        return report.to_owned();
    }
    let buttons = format!("<p class=\"tools\">{buttons}</p>\n");
    match report.split_once(first::NEXT_END) {
        Some((before, after)) => format!("{before}{buttons}{}{after}", first::NEXT_END),
        None => buttons + report,
    }
}

/// The style sheet of every page; it contains no reference to anything else.
pub const STYLE: &str = include_str!("html/style.css");

/// The whole report of a run.
pub fn report(header: &RunHeader, summary: &RunSummary, findings: &[Finding], meta: Meta<'_>) -> String {
    let mut page = page_start(&format!("{} · {}", header.plan.name, header.run));
    page.push_str(&body(header, summary, findings, meta));
    page.push_str(page_end());
    page
}

/// Returns a page of its own with a title.
pub fn alone(title: &str, body: &str) -> String {
    format!("{}<h1>{}</h1>\n{body}{}", page_start(title), escape(title), page_end())
}

/// What the report of a run has between the tags of its body.
pub fn body(header: &RunHeader, summary: &RunSummary, findings: &[Finding], meta: Meta<'_>) -> String {
    let mut page = heading(header, summary, meta);
    // A diagnosis answers by experiments.
    let diagnosis = crate::diagnosis::html(header, summary);
    page.push_str(&match diagnosis.is_empty() {
        true => first::glance(header, summary, &meta.glance(header, summary, findings)),
        false => diagnosis,
    });
    let disturbed = assay_analysis::disturbed_steps(findings);
    page.push_str(&shapes::known(header, summary));
    let sweeps = sweep::sweeps(header, summary, &disturbed);
    page.push_str(&first::screen(header, summary, &disturbed, &sweeps));
    page.push_str(&meta.baseline.map_or_else(String::new, crate::held::html));
    page.push_str("<h2>All tests</h2>\n");
    page.push_str(&tables::summary(header, summary));
    page.push_str(&findings_list(summary, findings));
    if let Some(judgement) = meta.judgement {
        page.push_str(&crate::expected::html(judgement));
    }
    for (index, test) in header.plan.tests.iter().enumerate() {
        let steps: Vec<&StepSummary> = summary.steps.iter().filter(|s| s.id.test as usize == index).collect();
        page.push_str(&test_section(header, test, &steps));
    }
    page.push_str(&facts::all(header, summary));
    let fired: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    let definitions = methods::section(&page, &fired);
    page.push_str(&definitions);
    page
}

/// Returns a body whose parts can be folded: each begins at a heading of the second level.
pub fn folded(body: &str) -> String {
    const HEADING: &str = "<h2";
    let mut parts = body.split(HEADING);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (heading, rest) = part.split_once("</h2>").unwrap_or((part, ""));
        text.push_str(&format!(
            "<details open>\n<summary>{HEADING}{heading}</h2></summary>{rest}</details>\n"
        ));
    }
    text
}

/// Everything before what a page has to say.
fn page_start(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"assay\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light \
         dark\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escape(title)
    )
}

fn page_end() -> &'static str {
    "</main>\n</body>\n</html>\n"
}

fn heading(header: &RunHeader, summary: &RunSummary, meta: Meta<'_>) -> String {
    let targets: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    let mut text = format!("<h1>{}</h1>\n", escape(&header.plan.name));
    text.push_str(&format!(
        "<p>on <strong>{}</strong>{}, {}. Run {}{}{}</p>\n",
        escape(&targets.join(", ")),
        whence(header),
        number::minute(header.started_unix_ms),
        escape(&header.run),
        meta.label.map(|l| format!(" “{}”", escape(l))).unwrap_or_default(),
        match summary.status {
            RunStatus::Done => ".".to_owned(),
            other => format!(": <span class=\"status\">{}</span>.", other.name()),
        }
    ));
    for words in [meta.note, Some(header.plan.about.as_str())].into_iter().flatten().filter(|w| !w.is_empty())
    {
        text.push_str(&format!("<p class=\"soft\">{}</p>\n", escape(words)));
    }
    text
}

/// The host of a run, or the tool that measured what was imported.
fn whence(header: &RunHeader) -> String {
    let name = &header.host.name;
    let host = if name.is_empty() { String::new() } else { format!(" from {}", escape(name)) };
    match &header.imported {
        Some(from) => format!("{host}, imported from {} ({})", escape(&from.file), escape(&from.tool)),
        None => host,
    }
}

/// Escaped, with no line break between a number and its unit, microseconds as tables write them, and words of a plan as
/// code.
fn unbroken(says: &str) -> String {
    let says = with_micros(&escape(says)).replace(" %", "\u{a0}%").replace(" µs", "\u{a0}µs");
    let parts: Vec<&str> = says.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // A quote that no other closes is a letter.
        return says;
    }
    let code = |(index, part): (usize, &&str)| match index % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(code).collect()
}

/// Writes the unit after a number as µs; sentences for terminals say us.
fn with_micros(says: &str) -> String {
    let mut parts = says.split(" us");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_number = text.ends_with(|c: char| c.is_ascii_digit());
        let is_whole = !part.starts_with(|c: char| c.is_alphanumeric());
        text.push_str(if is_number && is_whole { "\u{a0}µs" } else { " us" });
        text.push_str(part);
    }
    text
}

/// Returns the values of a step of a sweep without the names of what is swept: `4KiB, 16` of
/// `size=4KiB outstanding=16`.
fn swept_values(step: &str) -> String {
    let values: Option<Vec<&str>> =
        step.split(' ').map(|word| word.split_once('=').map(|(_, value)| value)).collect();
    match values {
        Some(values) => values.join(", "),
        // A value with a blank in it.
        None => step.rsplit('=').next().unwrap_or_default().to_owned(),
    }
}

fn findings_list(summary: &RunSummary, findings: &[Finding]) -> String {
    let mut text = String::from("<h2 id=\"findings\">Findings</h2>\n");
    if findings.is_empty() {
        text.push_str("<p>No rule fired. A rule without the facts that it needs does not fire.</p>\n");
        return text;
    }
    text.push_str("<ul class=\"findings\">\n");
    findings.iter().for_each(|f| text.push_str(&finding_item(summary, f)));
    text.push_str("</ul>\n");
    text
}

/// How grave a finding is, as it stands before it.
fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "✖ Critical",
        Severity::Warning => "▲ Warning",
        Severity::Info => "● Info",
    }
}

fn finding_item(summary: &RunSummary, finding: &Finding) -> String {
    let (class, mark) = (finding.severity.name(), mark(finding.severity));
    let mut text =
        format!("<li class=\"{class}\"><span class=\"sev\">{mark}</span> {}", unbroken(&finding.says));
    if !finding.next.is_empty() {
        text.push_str(&format!("<br><strong>Next:</strong> {}", unbroken(&finding.next)));
    }
    let evidence: Vec<String> = finding
        .evidence
        .iter()
        .map(|e| {
            let unit = if e.unit == "us" { "µs" } else { e.unit.as_str() };
            format!("{} {} {unit}", e.label, number::short(e.value)).trim_end().to_owned()
        })
        .collect();
    let separator = if evidence.is_empty() { "" } else { ": " };
    let rule = methods::rule_link(&finding.rule);
    if let Some((test, TimeRange { from_s, to_s })) = timeline::moment(summary, finding) {
        text.push_str(&format!(
            " {MOMENT}test={test}&amp;from={from_s:.3}&amp;to={to_s:.3}\">in the chart, {from_s:.0} to {to_s:.0} s</b>"
        ));
    }
    text.push_str(&format!(
        "<div class=\"evidence\">{rule}{separator}{}</div></li>\n",
        escape(&evidence.join(", "))
    ));
    text
}

fn test_section(header: &RunHeader, test: &Test, steps: &[&StepSummary]) -> String {
    let mut text = format!("<h2>{}</h2>\n", escape(&test.name));
    if !test.notes.is_empty() {
        text.push_str(&format!("<p class=\"soft\">{}</p>\n", escape(&test.notes)));
    }
    let measured: Vec<&StepSummary> = steps
        .iter()
        .copied()
        .filter(|s| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0)
        .collect();
    if measured.is_empty() {
        text.push_str("<p>Nothing was measured.</p>\n");
        return text;
    }
    text.push_str(&charts::of_test(&measured));
    for (step, links) in measured.iter().filter_map(|s| Some((*s, LinkUse::of_step(header, s)?))) {
        let words = format!("Network {}: {}", step.step, links.says()).replace(" :", ":");
        text.push_str(&format!(
            "<p class=\"soft\">{}; {}</p>\n",
            escape(&words),
            escape(&links.ceiling.arithmetic)
        ));
    }
    measured.iter().for_each(|step| text.push_str(&hosts::table(header, step)));
    text.push_str(&tables::latencies(&measured));
    text
}
