//! From summaries to charts: what is drawn, in which unit, over which axis.

use assay_analysis::{FiveParts, SteadyState, StepSummary};
use assay_record::Latency;

use crate::number::TimeUnit;
use crate::svg::{Axis, Line, Lines};

/// Most shares of a percentile curve, and the nines it ends at.
const CURVE_POINTS: u32 = 80;
const NINES_MAX: f64 = 4.0;
/// A step must have this many I/Os beyond a percentile for the curve to reach it.
const BEYOND_MIN: f64 = 5.0;

/// Lanes over time, the heat map, and the latency distribution, as far as there is enough to draw. Steps of a sweep
/// stand one after another.
pub(super) fn of_test(steps: &[&StepSummary]) -> String {
    let lanes = super::timeline::lanes(steps, super::timeline::View::default());
    let mut drawn = vec![("time", String::new())];
    match steps {
        [step] => {
            drawn.push(("distribution", curve(step)));
            drawn.push(("heat", super::timeline::heat(step, super::timeline::View::default())));
            drawn.push(match &step.steady {
                Some(state) => ("rounds", rounds(state)),
                None => ("parts", five_parts(step)),
            });
        }
        several => drawn.push(("percentile", latency_by_step(several))),
    }
    let charts: String = drawn.iter().map(|(_, chart)| chart.as_str()).collect();
    // What was too short to be drawn needs no explanation.
    let is_there =
        |(name, chart): &&(&str, String)| !chart.is_empty() || (*name == "time" && !lanes.is_empty());
    let how: Vec<&str> = drawn.iter().filter(is_there).map(|(name, _)| *name).collect();
    if how.is_empty() {
        return String::new();
    }
    format!(
        "{lanes}<div class=\"charts\">\n{charts}</div>\n<p class=\"soft\">{}.</p>\n",
        super::methods::how(&how)
    )
}

/// The proof of a step that is measured until it is steady: every round, and the five that are judged.
fn rounds(state: &SteadyState) -> String {
    let is_rate = state.tracks == "iops";
    let value = |round: &assay_analysis::Round| if is_rate { round.iops } else { round.mean_us / 1e3 };
    let all: Vec<(f64, f64)> = (0_u32..).map(f64::from).zip(state.rounds.iter().map(value)).collect();
    let judged = &all[state.first.min(all.len())..];
    let (Some(first), Some(last)) = (judged.first(), judged.last()) else { return String::new() };
    let mean = judged.iter().map(|(_, y)| y).sum::<f64>() / judged.len() as f64;
    let centre = f64::midpoint(first.0, last.0);
    let rise: f64 = judged.iter().map(|(x, y)| (x - centre) * (y - mean)).sum::<f64>()
        / judged.iter().map(|(x, _)| (x - centre).powi(2)).sum::<f64>().max(1.0);
    let along = |from: f64, to: f64| vec![(first.0, from), (last.0, to)];
    let half = rise * (last.0 - first.0) / 2.0;
    let ten = mean * 0.1;
    let line = |name: &str, pieces| Line { name: name.to_owned(), pieces };
    let lines = vec![
        line("round", vec![all.clone()]),
        line("line through the last five", vec![along(mean - half, mean + half)]),
        line("their mean ± 10 %", vec![along(mean - ten, mean - ten), along(mean + ten, mean + ten)]),
    ];
    let highest = all.iter().map(|(_, y)| *y).fold(mean + ten, f64::max);
    let verdict = if state.is_reached { "steady" } else { "not steady" };
    let title = format!(
        "{} rounds of {} s: range {:.1} %, slope {:.1} %, {verdict}",
        all.len(),
        state.round_s,
        state.range * 100.0,
        state.slope * 100.0
    );
    let names: Vec<String> = (1..=all.len()).map(|n| n.to_string()).collect();
    let chart = Lines {
        title: &title,
        x: Axis::names("round", &names),
        y: Axis::from_zero(if is_rate { "IOPS" } else { "mean latency, ms" }, highest),
        lines,
        breaks: vec![],
        marks: vec![],
    };
    chart.svg()
}

/// The proof that a load was steady, or was not.
fn five_parts(step: &StepSummary) -> String {
    let Some(FiveParts { means, parts }) = assay_analysis::five_parts(step) else { return String::new() };
    let along = |from: f64, to: f64| vec![vec![(0.0, from), (4.0, to)]];
    let rise = parts.slope * parts.mean / 2.0;
    let ten = parts.mean * 0.1;
    let line = |name: &str, pieces| Line { name: name.to_owned(), pieces };
    let measured = means.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
    let lines = vec![
        line("part", vec![measured]),
        line("line through them", along(parts.mean - rise, parts.mean + rise)),
        line(
            "mean ± 10 %",
            [along(parts.mean - ten, parts.mean - ten), along(parts.mean + ten, parts.mean + ten)].concat(),
        ),
    ];
    let highest = means.iter().copied().fold(parts.mean + ten, f64::max);
    let names: Vec<String> = (1..=means.len()).map(|n| n.to_string()).collect();
    let verdict = if parts.is_steady() { "steady" } else { "not steady" };
    let title = format!(
        "Five parts of the window: range {:.1} %, slope {:+.1} %, {verdict}",
        parts.range * 100.0,
        parts.slope * 100.0
    );
    let chart = Lines {
        title: &title,
        x: Axis::names("part of the window", &names),
        y: Axis::from_zero("IOPS", highest),
        lines,
        breaks: vec![],
        marks: vec![],
    };
    chart.svg()
}

/// The latency that a share of all I/Os stays at or below.
fn curve(step: &StepSummary) -> String {
    let both = step.read.ops > 0 && step.write.ops > 0;
    let kinds: Vec<(&str, &Latency)> = [("reads", &step.read), ("writes", &step.write)]
        .into_iter()
        .filter(|(_, ops)| ops.ops > 0)
        .map(|(name, ops)| (name, ops.waited()))
        .collect();
    let most = kinds.iter().map(|(_, l)| nines(l)).fold(1.0, f64::max);
    let unit =
        TimeUnit::for_means(&kinds.iter().filter_map(|(_, l)| l.quantile_ns(0.99)).collect::<Vec<_>>());
    let lines: Vec<Line> = kinds
        .iter()
        .map(|(name, latency)| Line { name: (*name).to_owned(), pieces: vec![curve_points(latency, unit)] })
        .collect();
    let values: Vec<f64> = lines.iter().flat_map(|l| &l.pieces[0]).map(|(_, y)| *y).collect();
    // Of some imports only the mean is known, or not even that.
    if values.is_empty() {
        return String::new();
    }
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let what = if step.total.response.is_some() { "response time" } else { "service time" };
    let title = match (both, kinds.first()) {
        (false, Some((name, _))) => format!("Latency distribution of {name}"),
        _ => "Latency distribution".to_owned(),
    };
    let chart = Lines {
        title: &title,
        x: Axis::percentiles("share of I/Os that take no longer", most),
        y: Axis::log(&format!("{what}, {}", unit.name()), low, high),
        lines,
        breaks: vec![],
        marks: vec![],
    };
    chart.svg()
}

/// As far as the count of I/Os carries: -log10 of the share beyond.
fn nines(latency: &Latency) -> f64 {
    (latency.count() as f64 / BEYOND_MIN).log10().clamp(1.0, NINES_MAX)
}

fn curve_points(latency: &Latency, unit: TimeUnit) -> Vec<(f64, f64)> {
    let end = nines(latency);
    // The first share is that of the fastest single I/O, which would stretch the axis; the table has it.
    (1..=CURVE_POINTS)
        .filter_map(|n| {
            let x = end * f64::from(n) / f64::from(CURVE_POINTS);
            let share = 1.0 - 10_f64.powf(-x);
            Some((x, unit.of_ns(latency.quantile_ns(share)?)))
        })
        .collect()
}

/// Median and 99th percentile of each step of a sweep.
fn latency_by_step(steps: &[&StepSummary]) -> String {
    let names: Vec<String> = steps.iter().map(|step| super::swept_values(&step.step)).collect();
    let quantile = |q: f64| -> Vec<f64> {
        steps.iter().map(|s| s.total.waited().quantile_ns(q).unwrap_or(0.0)).collect()
    };
    let shown = [("p50", quantile(0.5)), ("p99", quantile(0.99))];
    let unit = TimeUnit::for_means(&shown[1].1);
    let all: Vec<f64> =
        shown.iter().flat_map(|(_, v)| v).map(|ns| unit.of_ns(*ns)).filter(|v| *v > 0.0).collect();
    if all.is_empty() {
        return String::new();
    }
    let (low, high) = all.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let line = |(name, values): &(&str, Vec<f64>)| Line {
        name: (*name).to_owned(),
        pieces: vec![values.iter().enumerate().map(|(i, ns)| (i as f64, unit.of_ns(*ns))).collect()],
    };
    let chart = Lines {
        title: "Latency by step",
        x: Axis::names("step", &names),
        y: Axis::log(&format!("latency, {}", unit.name()), low, high),
        lines: shown.iter().map(line).collect(),
        breaks: vec![],
        marks: vec![],
    };
    chart.svg()
}
