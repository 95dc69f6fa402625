//! From summaries to charts: what is drawn, in which unit, over which axis.

use assay_analysis::{OpSummary, Point, RunSummary, StepSummary};
use assay_record::{Latency, RunHeader, StepId};

use crate::number::{self, TimeUnit};
use crate::svg::{Axis, BarSeries, Bars, Doubt, Line, Lines, Star, escape};

/// Points of a line beyond this are drawn together: a line has about this many pixels.
const POINTS_MAX: usize = 500;
/// Most shares of a percentile curve, and the nines it ends at.
const CURVE_POINTS: u32 = 80;
const NINES_MAX: f64 = 4.0;
/// A step must have this many I/Os beyond a percentile for the curve to reach it.
const BEYOND_MIN: f64 = 5.0;

/// Throughput over the swept value, tests with the same steps side by side.
pub(super) fn sweeps(header: &RunHeader, summary: &RunSummary, disturbed: &[StepId]) -> String {
    let mut drawn: Vec<Vec<String>> = Vec::new();
    let mut text = String::new();
    for test in &header.plan.tests {
        let labels: Vec<String> = test.steps.iter().map(assay_spec::Step::label).collect();
        if labels.len() < 2 || drawn.contains(&labels) {
            continue;
        }
        text.push_str(&sweep(header, summary, disturbed, &labels));
        drawn.push(labels);
    }
    text
}

fn sweep(header: &RunHeader, summary: &RunSummary, disturbed: &[StepId], labels: &[String]) -> String {
    let tests = header.plan.tests.iter().enumerate();
    let same: Vec<usize> = tests
        .filter(|(_, t)| t.steps.iter().map(assay_spec::Step::label).eq(labels.iter().cloned()))
        .map(|(i, _)| i)
        .collect();
    let key = labels[0].split_once('=').map_or("step", |(key, _)| key);
    let is_single = labels.iter().all(|l| l.matches('=').count() == 1);
    let names: Vec<String> =
        labels
            .iter()
            .map(|l| {
                if is_single { l.split_once('=').map_or(l.clone(), |(_, v)| v.to_owned()) } else { l.clone() }
            })
            .collect();
    // Bytes per second say where a size saturates; for all else the I/Os count.
    let is_size = key == "size";
    let of = |ops: &OpSummary| if is_size { ops.mib_per_s } else { ops.iops };
    let series: Vec<BarSeries> = same
        .iter()
        .map(|test| BarSeries {
            name: header.plan.tests[*test].name.clone(),
            values: (0..labels.len())
                .map(|step| measured(summary, *test, step).map(|s| of(&s.total)))
                .collect(),
            doubts: (0..labels.len())
                .map(|step| measured(summary, *test, step).map_or(Doubt::None, |s| doubt(s, disturbed)))
                .collect(),
        })
        .collect();
    let unit = if is_size { "MiB/s" } else { "IOPS" };
    let best = best_text(&series, &names, unit);
    let title = if is_size { "Throughput by block size".to_owned() } else { format!("IOPS by {key}") };
    let x_title = if is_size {
        "size of an I/O".to_owned()
    } else if is_single {
        key.to_owned()
    } else {
        "step".to_owned()
    };
    let chart =
        Bars { title: &title, x_title: &x_title, y_title: unit, names: &names, series, star: Star::Best };
    format!(
        "<h2>{}</h2>\n<div class=\"charts wide\">{}</div>\n<p>{}</p>\n",
        escape(&format!("Sweep of {key}")),
        chart.svg(),
        escape(&best)
    )
}

fn doubt(step: &StepSummary, disturbed: &[StepId]) -> Doubt {
    match step.complete {
        false => Doubt::CutShort,
        true if disturbed.contains(&step.id) => Doubt::Disturbed,
        true => Doubt::None,
    }
}

fn measured(summary: &RunSummary, test: usize, step: usize) -> Option<&StepSummary> {
    let is_it = |s: &&StepSummary| s.id.test as usize == test && s.id.step as usize == step;
    summary
        .steps
        .iter()
        .find(is_it)
        .filter(|s| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0)
}

fn best_text(series: &[BarSeries], names: &[String], unit: &str) -> String {
    let words: Vec<String> = series
        .iter()
        .filter_map(|s| {
            let index = s.best()?;
            Some(format!(
                "{} is best at {} ({} {unit})",
                s.name,
                names[index],
                number::short(s.values[index]?)
            ))
        })
        .collect();
    let doubts = |kind: Doubt| series.iter().flat_map(|s| &s.doubts).any(|doubt| *doubt == kind);
    let mut text = if words.is_empty() { String::new() } else { format!("★ {}.", words.join("; ")) };
    for kind in [Doubt::Disturbed, Doubt::CutShort] {
        if doubts(kind) {
            text.push_str(&format!(" ! Steps marked so were {}; they get no star.", kind.says()));
        }
    }
    text.trim_start().to_owned()
}

/// IOPS and latency over time, and the latency distribution. Steps of a sweep stand one after another.
pub(super) fn of_test(steps: &[&StepSummary]) -> String {
    let mut text = String::from("<div class=\"charts\">\n");
    text.push_str(&over_time(steps));
    text.push_str(&match steps {
        [step] => curve(step),
        several => latency_by_step(several),
    });
    text.push_str("</div>\n");
    text
}

fn over_time(steps: &[&StepSummary]) -> String {
    let (mut offset_s, mut breaks, mut pieces) = (0.0, Vec::new(), Vec::new());
    let count: usize = steps.iter().map(|s| s.series.len()).sum();
    let together = count.div_ceil(POINTS_MAX).max(1);
    for step in steps {
        let points: Vec<Point> = step.series.chunks(together).map(drawn_together).collect();
        pieces.push(points.into_iter().map(|p| Point { t_s: p.t_s + offset_s, ..p }).collect::<Vec<_>>());
        offset_s += step.seconds;
        breaks.push(offset_s);
    }
    if count == 0 {
        return String::new();
    }
    breaks.pop();
    let title =
        if steps.len() > 1 { "s, the steps one after another" } else { "s since the measured window began" };
    let x = Axis::up_to(title, offset_s);
    let rates = || pieces.iter().flatten().map(|p| p.iops);
    let (lowest, highest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    // Steps of a sweep may lie decades apart; a single load that falls to nothing must be seen to.
    let y = match steps.len() > 1 && lowest > 0.0 && highest > lowest * 30.0 {
        true => Axis::log("IOPS", lowest, highest),
        false => Axis::from_zero("IOPS", highest),
    };
    let iops = Lines {
        title: "IOPS over time",
        x: x.clone(),
        y,
        lines: vec![line("IOPS", &pieces, |p| Some(p.iops))],
        breaks: breaks.clone(),
    };
    format!("{}{}", iops.svg(), latency_over_time(&pieces, x, breaks).svg())
}

fn latency_over_time(pieces: &[Vec<Point>], x: Axis, breaks: Vec<f64>) -> Lines<'static> {
    let p99: Vec<f64> = pieces.iter().flatten().filter_map(|p| p.p99_us).collect();
    let lows = pieces.iter().flatten().filter_map(|p| p.p50_us).fold(f64::INFINITY, f64::min);
    let highest_us = p99.iter().copied().fold(0.0, f64::max);
    let unit = TimeUnit::for_means(&p99.iter().map(|us| us * 1e3).collect::<Vec<_>>());
    let scaled = |us: f64| unit.of_ns(us * 1e3);
    let y_title = format!("service time, {}", unit.name());
    // Steps of a sweep may lie decades apart.
    let y = match highest_us > lows * 30.0 {
        true => Axis::log(&y_title, scaled(lows), scaled(highest_us)),
        false => Axis::from_zero(&y_title, scaled(highest_us)),
    };
    let lines =
        vec![line("p50", pieces, |p| p.p50_us.map(scaled)), line("p99", pieces, |p| p.p99_us.map(scaled))];
    Lines { title: "Latency over time", x, y, lines, breaks }
}

fn line(name: &str, pieces: &[Vec<Point>], value: impl Fn(&Point) -> Option<f64>) -> Line {
    let piece = |points: &Vec<Point>| points.iter().filter_map(|p| Some((p.t_s, value(p)?))).collect();
    Line { name: name.to_owned(), pieces: pieces.iter().map(piece).collect() }
}

/// Several seconds as one point: mean rates and medians, and the highest p99, so that no stall is smoothed away.
fn drawn_together(points: &[Point]) -> Point {
    let count = points.len().max(1) as f64;
    let mean = |value: fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / count;
    let mean_of = |value: fn(&Point) -> Option<f64>| {
        let known: Vec<f64> = points.iter().filter_map(value).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    Point {
        t_s: points.last().map_or(0.0, |p| p.t_s),
        iops: mean(|p| p.iops),
        mib_per_s: mean(|p| p.mib_per_s),
        mean_us: mean_of(|p| p.mean_us),
        p50_us: mean_of(|p| p.p50_us),
        p99_us: points.iter().filter_map(|p| p.p99_us).reduce(f64::max),
        errors: points.iter().map(|p| p.errors).sum(),
    }
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
    };
    chart.svg()
}

/// As far as the count of I/Os carries: -log10 of the share beyond.
fn nines(latency: &Latency) -> f64 {
    (latency.count() as f64 / BEYOND_MIN).log10().clamp(1.0, NINES_MAX)
}

fn curve_points(latency: &Latency, unit: TimeUnit) -> Vec<(f64, f64)> {
    let end = nines(latency);
    (0..=CURVE_POINTS)
        .filter_map(|n| {
            let x = end * f64::from(n) / f64::from(CURVE_POINTS);
            let share = 1.0 - 10_f64.powf(-x);
            Some((x, unit.of_ns(latency.quantile_ns(share)?)))
        })
        .collect()
}

/// Median and 99th percentile of each step of a sweep.
fn latency_by_step(steps: &[&StepSummary]) -> String {
    let names: Vec<String> =
        steps.iter().map(|s| s.step.rsplit('=').next().unwrap_or_default().to_owned()).collect();
    let quantile = |q: f64| -> Vec<f64> {
        steps.iter().map(|s| s.total.waited().quantile_ns(q).unwrap_or(0.0)).collect()
    };
    let shown = [("p50", quantile(0.5)), ("p99", quantile(0.99))];
    let unit = TimeUnit::for_means(&shown[1].1);
    let all: Vec<f64> =
        shown.iter().flat_map(|(_, v)| v).map(|ns| unit.of_ns(*ns)).filter(|v| *v > 0.0).collect();
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
    };
    chart.svg()
}
