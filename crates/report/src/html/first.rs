//! The first screen of a report: results, bottleneck, next steps.

use assay_analysis::Estimate;
use assay_analysis::compare::is_round;
use assay_analysis::{Finding, RunSummary, Severity, StepSummary, precision};
use assay_record::{RunHeader, StepId};

use crate::Meta;
use crate::number::{self, TimeUnit};
use crate::svg::{BarRow, Doubt, Rows, escape};

/// More rows than this are no glance; of sweeps, only the best step is then shown.
const ROWS_MAX: usize = 20;
/// Words by which a next step is recognised.
const OPENING_WORDS: usize = 4;
/// Most next steps.
const NEXT_MAX: usize = 3;

/// Charts, verdict and next steps.
pub(super) fn screen(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    disturbed: &[StepId],
    meta: Meta<'_>,
) -> String {
    // A curve, or caches that were looked for, say more than a bar for each of their steps.
    let curves = crate::cache_probe::html(header, summary) + &crate::curve::html(header, summary);
    let mut text = if curves.is_empty() { came_out(summary, disturbed) } else { curves };
    text.push_str(&verdict(header, summary, meta));
    text.push_str(&next(findings));
    text
}

/// Bars of all tests; nothing for a run without results.
fn came_out(summary: &RunSummary, disturbed: &[StepId]) -> String {
    let rows = shown(summary, disturbed);
    if rows.is_empty() {
        return String::new();
    }
    let (all, drawn) = (summary.steps.len(), rows.len());
    let fewer = match drawn < all {
        true => {
            format!("<p class=\"soft\">{drawn} of {all} steps are drawn; the table has all of them.</p>\n")
        }
        false => String::new(),
    };
    format!("<h2>Results</h2>\n{}{fewer}", charts(&rows, disturbed))
}

/// A step, and how it is called.
struct Shown<'s> {
    name: String,
    step: &'s StepSummary,
}

/// All steps that have a result, or the best of each test where they are too many.
fn shown<'s>(summary: &'s RunSummary, disturbed: &[StepId]) -> Vec<Shown<'s>> {
    let measured: Vec<&StepSummary> = summary
        .steps
        .iter()
        .filter(|s| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0)
        .collect();
    let named = |step: &'s StepSummary| Shown {
        name: format!("{} {}", step.test, step.step).trim_end().to_owned(),
        step,
    };
    if measured.len() <= ROWS_MAX {
        return measured.into_iter().map(named).collect();
    }
    // Of steps that differ in the load, only one that nothing disturbed can be the best, if there is one. Rounds are
    // repetitions: what disturbs one makes it no faster.
    let worth = |step: &StepSummary| {
        let is_sound = !disturbed.contains(&step.id) && step.complete;
        (is_sound || is_round(&step.step), step.total.mib_per_s)
    };
    let mut best: Vec<&StepSummary> = Vec::new();
    for step in measured {
        match best.iter_mut().find(|known| known.id.test == step.id.test) {
            Some(known) if worth(step) > worth(known) => *known = step,
            Some(_) => {}
            None => best.push(step),
        }
    }
    let is_swept = |step: &StepSummary| !step.step.is_empty();
    best.into_iter()
        .take(ROWS_MAX)
        .map(|step| match is_swept(step) {
            true => Shown { name: format!("{}, best at {}", step.test, step.step), step },
            false => named(step),
        })
        .collect()
}

fn charts(rows: &[Shown<'_>], disturbed: &[StepId]) -> String {
    let p99: Vec<f64> = rows.iter().filter_map(|r| r.step.total.waited().quantile_ns(0.99)).collect();
    let unit = TimeUnit::for_means(&p99);
    let chart = |title: &str, of: &dyn Fn(&StepSummary) -> Option<Estimate>| {
        let rows: Vec<BarRow> =
            rows.iter().filter_map(|row| Some(bar(row, of(row.step)?, disturbed))).collect();
        if rows.is_empty() { String::new() } else { Rows { title, rows }.svg() }
    };
    let rate =
        chart("IOPS", &|step| Some(precision(step).map_or(Estimate::bare(step.total.iops), |of| of.iops)));
    let throughput = chart("MiB/s", &|step| {
        Some(precision(step).map_or(Estimate::bare(step.total.mib_per_s), |of| of.mib_per_s))
    });
    let scaled = |us: f64| unit.of_ns(us * 1e3);
    let latency = chart(&format!("p99 latency, {}", unit.name()), &|step| {
        let estimate = precision(step)?.p99_us?;
        let ends = estimate.ends();
        Some(Estimate {
            value: scaled(estimate.value),
            lo: ends.map(|e| scaled(e.0)),
            hi: ends.map(|e| scaled(e.1)),
            ..estimate
        })
    });
    format!(
        "<div class=\"charts three\">\n{rate}{throughput}{latency}</div>\n<p class=\"soft\">Lines across the bars are \
         95 % \
         intervals from the seconds of this run (<a href=\"#m-interval\">how</a>); another run may differ by more. \
         Bars marked ! \
         were disturbed or cut short. {}.</p>\n",
        super::methods::how(&["iops", "mibs", "percentile"])
    )
}

fn bar(row: &Shown<'_>, estimate: Estimate, disturbed: &[StepId]) -> BarRow {
    let doubt = match row.step.complete {
        false => Doubt::CutShort,
        true if disturbed.contains(&row.step.id) => Doubt::Disturbed,
        true => Doubt::None,
    };
    BarRow {
        name: row.name.clone(),
        value: estimate.value,
        ends: estimate.ends(),
        text: number::long(estimate.value),
        doubt,
    }
}

fn verdict(header: &RunHeader, summary: &RunSummary, meta: Meta<'_>) -> String {
    let says = assay_analysis::verdict_on(header, summary, meta.judgement).map(|verdict| verdict.says);
    let tester = crate::conduct::tester_line(header, summary).map_or_else(String::new, |line| {
        format!("<p class=\"soft\">{}\u{a0}(<a href=\"#m-tester\">how</a>)</p>\n", super::unbroken(&line))
    });
    says.map_or_else(String::new, |says| {
        format!(
            "<h2>Bottleneck</h2>\n<p class=\"verdict\"><strong>Verdict:</strong> {}</p>\n{tester}",
            super::unbroken(&says)
        )
    })
}

/// The first words of a sentence, by which two next steps are recognised as one.
fn opening(sentence: &str) -> Vec<&str> {
    sentence.split_whitespace().take(OPENING_WORDS).collect()
}

/// The next steps of the gravest findings, each once.
fn next(findings: &[Finding]) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for finding in findings.iter().filter(|f| f.severity > Severity::Info && !f.next.is_empty()) {
        // Two findings with one cause say the same in other words.
        let is_known = steps.iter().any(|known| opening(known) == opening(&finding.next));
        if !is_known && steps.len() < NEXT_MAX {
            steps.push(&finding.next);
        }
    }
    if steps.is_empty() {
        return "<h2>Next steps</h2>\n<p>Nothing puts these numbers in doubt. Repeat the run with a label \
                (<code>--label</code>) before a comparison: only repetitions distinguish a small change from \
                noise.</p>\n"
            .to_owned();
    }
    let items: String = steps.iter().map(|step| format!("<li>{}</li>\n", escape(step))).collect();
    format!(
        "<h2>Next steps</h2>\n<ol>\n{items}</ol>\n<p class=\"soft\">The reasons are under <a \
         href=\"#findings\">Findings</a>.</p>\n"
    )
}
