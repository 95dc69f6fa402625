//! The first screen of a report: the three questions, and the results.

use assay_analysis::Estimate;
use assay_analysis::compare::is_round;
use assay_analysis::{RunSummary, StepSummary, precision};
use assay_record::{MemberKind, RunHeader, StepId};

use crate::glance::{Glance, Said};
use crate::number::{self, TimeUnit};
use crate::svg::{BarRow, Doubt, Rows};

/// More rows than this are no glance; of sweeps, only the best step is then shown.
const ROWS_MAX: usize = 20;

/// Charts of what came out, with those of the sweeps.
pub(super) fn screen(header: &RunHeader, summary: &RunSummary, disturbed: &[StepId], sweeps: &str) -> String {
    // A curve, or caches that were looked for, say more than a bar for each of their steps.
    let curves = crate::cache_probe::html(header, summary) + &crate::curve::html(header, summary);
    if !curves.is_empty() {
        return curves + sweeps;
    }
    // Bars of two settings swept together are a list in which nothing stands beside what it differs from.
    let steps: Vec<&StepSummary> =
        summary.steps.iter().filter(|step| !super::sweep::is_of_two(header, step)).collect();
    let rows = shown(&steps, disturbed);
    if sweeps.is_empty() || rows.iter().all(|row| row.swept == Swept::No) {
        return came_out(steps.len(), disturbed, &rows) + sweeps;
    }
    // The step with the highest throughput of a sweep has neither its most IOPS nor its shortest latency: the sweep
    // itself is what came out.
    let others: Vec<Shown<'_>> = rows.into_iter().filter(|row| row.swept == Swept::No).collect();
    format!("{sweeps}{}", came_out(steps.len(), disturbed, &others))
}

/// Bars of tests, some of all steps; nothing for a run without results.
fn came_out(all: usize, disturbed: &[StepId], rows: &[Shown<'_>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let drawn = rows.len();
    let fewer = match drawn < all {
        true => {
            format!("<p class=\"soft\">{drawn} of {all} steps are drawn; the table has all of them.</p>\n")
        }
        false => String::new(),
    };
    format!("<h2>Results</h2>\n{}{fewer}", charts(rows, disturbed))
}

/// A step, and how it is called.
struct Shown<'s> {
    name: String,
    step: &'s StepSummary,
    swept: Swept,
}

/// Whether a step stands for those of a sweep that are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Swept {
    No,
    Best,
}

/// All steps that have a result, or the best of each test where they are too many.
fn shown<'s>(steps: &[&'s StepSummary], disturbed: &[StepId]) -> Vec<Shown<'s>> {
    let measured: Vec<&StepSummary> = steps
        .iter()
        .copied()
        .filter(|s| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0)
        .collect();
    let named = |step: &'s StepSummary| Shown {
        name: format!("{} {}", step.test, step.step).trim_end().to_owned(),
        step,
        swept: Swept::No,
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
            true => {
                // Rounds are repetitions, and no sweep.
                let swept = if is_round(&step.step) { Swept::No } else { Swept::Best };
                Shown { name: format!("{}, best at {}", step.test, step.step), step, swept }
            }
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
    // Only what is there is explained.
    let has_ends = [&rate, &throughput, &latency].iter().any(|chart| chart.contains("class=\"ci\""));
    let intervals = match has_ends {
        true => {
            "Lines across the bars are 95 % intervals from the seconds of this run (<a href=\"#m-interval\">how</a>); \
             another run may differ by more. "
        }
        false => "",
    };
    let is_doubtful = |row: &Shown<'_>| doubt(row.step, disturbed) != Doubt::None;
    let marked = match rows.iter().any(is_doubtful) {
        true => "Bars marked ! were disturbed or cut short. ",
        false => "",
    };
    format!(
        "<div class=\"charts three\">\n{rate}{throughput}{latency}</div>\n<p \
         class=\"soft\">{intervals}{marked}{}.</p>\n",
        super::methods::how(&["iops", "mibs", "percentile"])
    )
}

fn doubt(step: &StepSummary, disturbed: &[StepId]) -> Doubt {
    match step.complete {
        false => Doubt::CutShort,
        true if disturbed.contains(&step.id) => Doubt::Disturbed,
        true => Doubt::None,
    }
}

fn bar(row: &Shown<'_>, estimate: Estimate, disturbed: &[StepId]) -> BarRow {
    BarRow {
        name: row.name.clone(),
        value: estimate.value,
        ends: estimate.ends(),
        text: number::long(estimate.value),
        doubt: doubt(row.step, disturbed),
    }
}

/// What a glance ends with, behind what to do next.
pub(super) const NEXT_END: &str = "</dd></div>\n</dl></section>\n";

/// The three questions, and what to do next.
pub(super) fn glance(header: &RunHeader, summary: &RunSummary, glance: &Glance) -> String {
    let line = |title: &str, said: &Option<Said>, unknown: &str| {
        let (tone, says) =
            said.as_ref().map_or(("plain", unknown), |said| (said.tone.name(), said.says.as_str()));
        format!("<div class=\"tone-{tone}\"><dt>{title}</dt><dd>{}</dd></div>\n", super::unbroken(says))
    };
    let is_null = header.targets.iter().all(|target| target.member.kind == MemberKind::Null);
    let incomparable = match header.array {
        _ if is_null => "The target stores nothing: these are rates of Assay itself.",
        Some(_) => "The model has no expectation for these loads on this array.",
        None if header.imported.is_some() => {
            "Nothing to compare it with: set a baseline with assay baseline set."
        }
        None => {
            "Nothing to compare it with: describe the storage with --array, or set a baseline with assay baseline set."
        }
    };
    let unlimited = match header.imported {
        Some(_) => "Not found: the file of the other tool does not say what the storage and the host did.",
        None => "Not found by this run; assay diagnose finds it by experiments.",
    };
    let steps: String =
        glance.next.iter().map(|step| format!("<li>{}</li>\n", super::unbroken(step))).collect();
    let tester = crate::conduct::tester_line(header, summary).map_or_else(String::new, |line| {
        format!("<p class=\"soft\">{}\u{a0}(<a href=\"#m-tester\">how</a>)</p>\n", super::unbroken(&line))
    });
    format!(
        "<section class=\"glance\" aria-label=\"At a glance\"><dl>\n{}{}{}<div class=\"tone-plain\"><dt>Next</dt>\
         <dd><ol>{steps}</ol>{NEXT_END}{tester}",
        line("Good?", &glance.good, incomparable),
        line("Limit", &glance.limit, unlimited),
        line(
            "Changed",
            &glance.changed,
            "No comparable run of this plan on this target is stored to compare it with."
        ),
    )
}
