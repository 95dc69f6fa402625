//! A run that is going on, and parts of the time of any run: drawn for the pages that are served.

use assay_analysis::{Finding, Judgement, RunSummary, StepSummary, rule_name};
use assay_model::quantity::Bounds;
use assay_record::{RunHeader, StepId};
use serde_json::{Value, json};

use super::timeline::{self, View};
use crate::expected;
use crate::network::LinkUse;
use crate::number::{self, TimeUnit};
use crate::svg::{Lane, escape};

pub use super::timeline::{Reference, ReferenceLevel, TimeRange};

/// The live chart shows so much of a longer step, s; its stored run shows all of it.
const SHOWN_S: f64 = 300.0;
/// Its time axis moves on by so much at once, s: between two moves a second adds its points, and nothing that was drawn
/// lies elsewhere, so that viewers are sent little.
const MOVES_S: f64 = 30.0;
/// That of a whole test moves on by at least this share of its length.
const MOVES_SHARE: f64 = 16.0;
/// Two points are a line.
const POINTS_MIN: usize = 2;

/// A run that is going on.
#[derive(Debug, Clone, Copy)]
pub struct Live<'l> {
    /// What it has measured so far.
    pub summary: &'l RunSummary,
    /// The step that is measured now, once it has a result.
    pub step: Option<&'l StepSummary>,
    /// What that step is compared with.
    pub references: &'l [Reference],
}

impl Reference {
    /// Returns what an array is expected to give in a step; `None` where the model cannot express its load.
    pub fn expected(judgement: &Judgement, step: StepId) -> Option<Self> {
        let expected = expected::of_step(judgement, step)?;
        let level = |bounds: Bounds| ReferenceLevel { lo: bounds.lo, hi: bounds.hi, value: None };
        Some(match expected.is_bound {
            true => {
                let most = expected.iops.hi;
                let iops = ReferenceLevel { lo: most, hi: most, value: Some(most) };
                Self { name: "at most", iops, p99_us: None }
            }
            false => {
                let us = |ms: Bounds| ReferenceLevel { lo: ms.lo * 1e3, hi: ms.hi * 1e3, value: None };
                Self { name: "expected", iops: level(expected.iops), p99_us: expected.p99_ms.map(us) }
            }
        })
    }
}

/// How much of the time of a run that goes on is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Span {
    /// The last five minutes of the step.
    #[default]
    Last,
    /// The whole test, with its steps one after another.
    Whole,
}

impl Live<'_> {
    /// Returns the figures of the last second.
    pub fn figures(&self) -> String {
        let Some((step, last)) = self.step.and_then(|step| Some((step, step.series.last()?))) else {
            return "<p class=\"soft\">No result yet: the measured window has not begun.</p>\n".to_owned();
        };
        let unit = TimeUnit::for_means(&last.p99_us.map(|us| us * 1e3).into_iter().collect::<Vec<_>>());
        let time =
            |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| number::long(unit.of_ns(us * 1e3)));
        let cpu = step.timeline.samples.last().map(|sample| number::short(sample.cpu_busy * 100.0));
        let figures = [
            ("iops", "IOPS", number::long(last.iops)),
            ("mibs", "MiB/s", number::long(last.mib_per_s)),
            ("percentile", &format!("p50, {}", unit.name()), time(last.p50_us)),
            ("percentile", &format!("p99, {}", unit.name()), time(last.p99_us)),
            ("cpu", "CPU %", cpu.unwrap_or_else(|| "-".to_owned())),
            ("iops", "Errors", step.errors.to_string()),
        ];
        let figure = |(anchor, name, value): &(&str, &str, String)| {
            format!("<div><dt><a href=\"/methods#m-{anchor}\">{name}</a></dt><dd>{value}</dd></div>\n")
        };
        let all: String = figures.iter().map(figure).collect();
        format!("<dl class=\"figures\">\n{all}</dl>\n")
    }

    /// Returns the lanes and the heat map of the step, and its hosts where those are several.
    pub fn charts(&self, header: &RunHeader, span: Span) -> String {
        let Some(step) = self.step else { return String::new() };
        let mut steps: Vec<&StepSummary> = match span {
            Span::Last => Vec::new(),
            Span::Whole => timeline::steps_of(self.summary, step.id.test),
        };
        steps.retain(|before| before.id != step.id);
        steps.push(step);
        let ends_s = match span {
            Span::Last => next_move(step.seconds, MOVES_S),
            Span::Whole => whole_end(steps.iter().map(|step| step.seconds).sum()),
        };
        let from_s = ends_s - SHOWN_S - MOVES_S;
        let range = (span == Span::Last && from_s > 0.0).then_some(TimeRange { from_s, to_s: ends_s });
        // A level of the step that goes on is none of the steps before it.
        let references = if steps.len() > 1 { &[] } else { self.references };
        let view = View { range, points_min: POINTS_MIN, references, ends_s };
        let lanes = timeline::lanes(&steps, view);
        let hosts = super::hosts::table(header, step);
        let of_step = match span {
            Span::Last => view,
            Span::Whole => View { ends_s: whole_end(step.seconds), ..view },
        };
        format!("{lanes}{hosts}<div class=\"charts\">\n{}</div>\n", timeline::heat(step, of_step))
    }

    /// Returns the table of the steps so far.
    pub fn table(&self, header: &RunHeader) -> String {
        if self.summary.steps.is_empty() {
            return String::new();
        }
        // The definitions are on a page of their own.
        super::tables::summary(header, self.summary).replace("href=\"#m-", "href=\"/methods#m-")
    }

    /// Returns what the gravest finding so far says.
    pub fn finding(run: &str, findings: &[Finding]) -> String {
        let Some(first) = findings.first() else {
            return "<p class=\"soft\">No finding so far.</p>\n".to_owned();
        };
        let more = match findings.len() {
            1 => String::new(),
            count => format!(" <a href=\"/runs/{}#findings\">{} more</a>", escape(run), count - 1),
        };
        format!(
            "<ul class=\"findings\"><li class=\"{}\"><span class=\"sev\">{}</span> {} <a href=\"/methods#rule-{}\" \
             title=\"When this rule fires\">{}</a>{more}</li></ul>\n",
            first.severity.name(),
            super::mark(first.severity),
            escape(&first.says),
            escape(rule_name(&first.rule)),
            escape(&first.rule)
        )
    }

    /// Returns the links under the targets, in words; empty where there are none.
    pub fn links(&self, header: &RunHeader) -> String {
        let links = self.step.and_then(|step| LinkUse::of_step(header, step));
        links.map_or_else(String::new, |links| format!("<p class=\"soft\">{}</p>\n", escape(&links.says())))
    }
}

/// Returns the first multiple of a length that is not reached yet.
fn next_move(seconds: f64, moves_s: f64) -> f64 {
    ((seconds / moves_s).floor() + 1.0) * moves_s
}

/// Returns where the time axis of a whole test ends that has gone on for so long.
fn whole_end(seconds: f64) -> f64 {
    let lengths = std::iter::successors(Some(MOVES_S), |moves_s| Some(moves_s * 2.0));
    let mut enough = lengths.skip_while(|moves_s| moves_s * MOVES_SHARE < seconds);
    next_move(seconds, enough.next().unwrap_or(seconds))
}

/// Draws a part of the time of a test; `None` if it has no points there.
pub fn over_time(summary: &RunSummary, test: u32, range: Option<TimeRange>) -> Option<String> {
    let steps = timeline::steps_of(summary, test);
    let drawn = timeline::lanes(&steps, View { range, points_min: POINTS_MIN, ..View::default() });
    (!drawn.is_empty()).then_some(drawn)
}

/// Returns the values that [`over_time`] draws, as a reader gets them: lanes with their lines, each with times and
/// written values.
pub fn values_over_time(summary: &RunSummary, test: u32, range: Option<TimeRange>) -> Option<Value> {
    let chart = timeline::chart(
        &timeline::steps_of(summary, test),
        View { range, points_min: POINTS_MIN, ..View::default() },
    )?;
    let line = |(name, points): &(String, Vec<(f64, f64)>)| {
        let times: Vec<f64> = points.iter().map(|(t, _)| (t * 1e3).round() / 1e3).collect();
        let values: Vec<String> = points.iter().map(|(_, value)| number::long(*value)).collect();
        json!({ "name": name, "t": times, "v": values })
    };
    let lane =
        |lane: &Lane| json!({ "title": lane.title, "lines": lane.lines.iter().map(line).collect::<Value>() });
    Some(json!({ "lanes": chart.lanes.iter().map(lane).collect::<Value>() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_analysis::Severity;

    /// Six tiles had six links of one name, "Warning", to six places.
    #[test]
    fn the_link_of_a_finding_has_the_name_of_its_rule() {
        let finding = Finding {
            rule: "busy-host".to_owned(),
            aliases: Vec::new(),
            severity: Severity::Warning,
            says: "CPUs <busy>.".to_owned(),
            evidence: Vec::new(),
            next: String::new(),
            steps: Vec::new(),
        };
        let html = Live::finding("261130-aaaa", &[finding]);
        assert!(html.contains("<span class=\"sev\">▲ Warning</span> CPUs &lt;busy&gt;. <a "), "{html}");
        assert!(html.contains("href=\"/methods#rule-busy-host\""), "{html}");
        assert!(html.contains(">busy-host</a>"), "{html}");
    }

    #[test]
    fn the_time_axis_of_a_run_that_goes_on_is_ahead_of_it_and_moves_on_at_once() {
        assert_eq!(
            [0.0, 29.9, 30.0, 361.0].map(|seconds| next_move(seconds, MOVES_S)),
            [30.0, 30.0, 60.0, 390.0]
        );
        assert_eq!([10.0, 470.0, 490.0, 3_600.0].map(whole_end), [30.0, 480.0, 540.0, 3_840.0]);
    }
}
