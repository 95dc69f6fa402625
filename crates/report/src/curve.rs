//! Curves of a run as text, JSON and pictures: response over offered load, throughput over queue depth.

use assay_analysis::{
    DepthCurve, DepthPoint, LoadCurve, RunSummary, StepSummary, depth_curves, load_curves, time,
};
use assay_record::{RunHeader, StepId};
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{TimeUnit, rounded, separated};
use crate::options::{Detail, TextOptions};
use crate::svg::{Axis, Line, Lines, Mark, escape};
use crate::table::{Cell, Column, Decimals, Format, Narrow, Table};

/// Returns the curves of a run as text; nothing where it has none.
pub(crate) fn text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let (columns, prose) = (options.width, options.prose());
    let load = load_curves(header, summary).into_iter().map(|curve| {
        let table = load_table(&curve).render(Format::Text(columns));
        (format!("{}: response over offered load", curve.test), table, load_words(&curve, options.detail))
    });
    let depth = depth_curves(header, summary).into_iter().map(|curve| {
        let table = depth_table(&curve).render(Format::Text(columns));
        (format!("{}: rate over queue depth", curve.test), table, depth_words(&curve, options.detail))
    });
    let mut text = String::new();
    // On one screen the heading is followed by the title at once.
    let gap = if options.detail == Detail::Brief { "" } else { "\n" };
    for (title, table, words) in load.chain(depth) {
        text.push_str(&format!("{gap}{}\n{table}", wrap(&title, columns, "  ")));
        for sentence in words {
            text.push_str(&format!("{}\n", wrap(&sentence, prose, "  ")));
        }
    }
    text
}

/// Returns the steps that no curve of the run has: those of other tests, and those without a result. Empty where it has
/// no curve.
pub(crate) fn other_steps(header: &RunHeader, summary: &RunSummary) -> Vec<StepSummary> {
    let (load, depth) = (load_curves(header, summary), depth_curves(header, summary));
    let of_load = |curve: &LoadCurve| {
        let maximum = curve.maximum.map(|maximum| maximum.step);
        curve.points.iter().map(|point| point.step).chain(maximum).collect::<Vec<_>>()
    };
    let drawn: Vec<StepId> = load
        .iter()
        .flat_map(of_load)
        .chain(depth.iter().flat_map(|curve| curve.points.iter().map(|point| point.step)))
        .collect();
    let is_other = |step: &&StepSummary| !drawn.is_empty() && !drawn.contains(&step.id);
    summary.steps.iter().filter(is_other).cloned().collect()
}

/// Returns true if a curve of the run says itself that it cannot be relied on.
pub(crate) fn is_unsteady(header: &RunHeader, summary: &RunSummary) -> bool {
    load_curves(header, summary).iter().any(LoadCurve::is_unsteady)
        || depth_curves(header, summary).iter().any(|curve| curve.dip().is_some())
}

/// Returns the curves of a run for its JSON document.
pub(crate) fn document(header: &RunHeader, summary: &RunSummary) -> Value {
    let load: Vec<Value> = load_curves(header, summary).iter().map(load_json).collect();
    let depth: Vec<Value> = depth_curves(header, summary).iter().map(depth_json).collect();
    json!({ "load": load, "depth": depth })
}

pub(crate) fn load_json(curve: &LoadCurve) -> Value {
    let points = curve.points.iter().map(|point| {
        json!({
            "step": point.label,
            "offered": rounded(point.offered),
            "achieved": rounded(point.achieved),
            "kept_ratio": rounded(point.kept),
            "load_ratio": point.load.and_then(rounded),
            "service_us": rounded(point.service_us),
            "response_us": rounded(point.response_us),
            "response_p50_us": point.response_p50_us.and_then(rounded),
            "response_p99_us": point.response_p99_us.and_then(rounded),
            "saturated": point.is_saturated,
        })
    });
    json!({
        "test": curve.test,
        "maximum": curve.maximum.map(|maximum| json!({
            "iops": rounded(maximum.iops),
            "outstanding": maximum.outstanding,
        })),
        "points": points.collect::<Vec<_>>(),
        "unsteady": curve.is_unsteady(),
        "knee": curve.knee.map(|knee| curve.points[knee].label.clone()),
    })
}

fn depth_json(curve: &DepthCurve) -> Value {
    let points = curve.points.iter().map(|point| {
        json!({
            "outstanding": point.asked,
            "iops": rounded(point.iops),
            "mean_us": rounded(point.mean_us),
            "p99_us": point.p99_us.and_then(rounded),
            "in_flight": rounded(point.in_flight),
        })
    });
    json!({
        "test": curve.test,
        "points": points.collect::<Vec<_>>(),
        "unsteady": curve.dip().is_some(),
        "knee": curve.points[curve.knee].asked,
    })
}

/// Offered against achieved, response against service time.
pub(crate) fn load_table(curve: &LoadCurve) -> Table {
    let unit = TimeUnit::for_means(&curve.points.iter().map(|p| p.response_us * 1e3).collect::<Vec<_>>());
    let us = |us: f64| Cell::from(unit.of_ns(us * 1e3));
    let time = |title: &str| Column::number(title, unit.name());
    let mut table = Table::new(vec![
        Column::text("Load"),
        Column::number("Offered/s", "").decimals(Decimals::Fixed(0)),
        Column::number("Achieved/s", "").decimals(Decimals::Fixed(0)),
        time("Service").narrow(Narrow::Drop(2)),
        time("Response"),
        time("p50").narrow(Narrow::Drop(3)),
        time("p99"),
        Column::text(""),
    ]);
    for (index, point) in curve.points.iter().enumerate() {
        let is_knee = curve.knee == Some(index) && !curve.is_unsteady();
        let remark = match (point.is_saturated, is_knee) {
            (true, _) => "saturated",
            (false, true) => "knee",
            (false, false) => "",
        };
        table.push([
            swept_value(&point.label).into(),
            point.offered.into(),
            point.achieved.into(),
            us(point.service_us),
            us(point.response_us),
            point.response_p50_us.map_or(Cell::Empty, us),
            point.response_p99_us.map_or(Cell::Empty, us),
            remark.to_owned().into(),
        ]);
    }
    table
}

/// Rate and latency of each depth, with Little's law.
pub(crate) fn depth_table(curve: &DepthCurve) -> Table {
    let unit = TimeUnit::for_means(&curve.points.iter().map(|p| p.mean_us * 1e3).collect::<Vec<_>>());
    let us = |us: f64| Cell::from(unit.of_ns(us * 1e3));
    let mut table = Table::new(vec![
        Column::number("QD", "").decimals(Decimals::Fixed(0)),
        Column::number("IOPS", "").decimals(Decimals::Fixed(0)),
        Column::number("Avg", unit.name()),
        Column::number("p99", unit.name()),
        Column::number("IOPS x Avg", "").narrow(Narrow::Drop(1)),
        Column::text(""),
    ]);
    let knee = curve.dip().is_none().then_some(curve.knee);
    for (index, point) in curve.points.iter().enumerate() {
        table.push([
            (point.asked as f64).into(),
            point.iops.into(),
            us(point.mean_us),
            point.p99_us.map_or(Cell::Empty, us),
            point.in_flight.into(),
            if Some(index) == knee { "knee".to_owned().into() } else { String::new().into() },
        ]);
    }
    table
}

/// `load=50%` as `50%`.
fn swept_value(label: &str) -> String {
    label.split_once('=').map_or(label, |(_, value)| value).to_owned()
}

/// The share of `load=50%`, \[0, 1\]; `None` for a rate.
fn swept_share(label: &str) -> Option<f64> {
    let percent = label.strip_prefix("load=")?.strip_suffix('%')?;
    percent.trim().parse::<f64>().ok().filter(|percent| *percent > 0.0).map(|percent| percent / 100.0)
}

/// The rate that the loads are shares of, where the curve sweeps shares.
fn base(curve: &LoadCurve) -> Option<f64> {
    let last = curve.points.last()?;
    Some(last.offered / swept_share(&last.label)?)
}

/// Maximum, knee and saturation, a sentence each.
pub(crate) fn load_words(curve: &LoadCurve, detail: Detail) -> Vec<String> {
    if detail == Detail::Brief {
        return brief_words(curve);
    }
    let mut words = Vec::new();
    if let Some(maximum) = curve.maximum {
        words.push(format!(
            "Maximum: {} IOPS as a closed loop with {} in flight.{}",
            whole(maximum.iops),
            maximum.outstanding,
            base(curve).map_or(String::new(), |base| format!(" Loads are shares of {} IOPS.", whole(base)))
        ));
    }
    let share = |index: usize| {
        let point = &curve.points[index];
        match (swept_share(&point.label), point.load) {
            (Some(_), _) => format!(", the load of {}", swept_value(&point.label).replace('%', " %")),
            (None, Some(load)) => format!(", {:.0} % of the maximum", load * 100.0),
            (None, None) => String::new(),
        }
    };
    words.extend(match (curve.is_unsteady(), curve.knee) {
        (true, _) => None,
        (false, None) => Some("No knee: every step is saturated.".to_owned()),
        (false, Some(knee)) => {
            let point = &curve.points[knee];
            Some(format!(
                "Knee: {} IOPS{}, the step with the highest rate over mean response time; response time is {} there, \
                 {:.2} times that at the lowest load.",
                whole(point.achieved),
                share(knee),
                time(point.response_us),
                point.response_us / curve.points[0].response_us.max(f64::MIN_POSITIVE)
            ))
        }
    });
    words.push(saturation_words(curve));
    words
}

/// Maximum and knee in a line: the rows above are marked, and have the rest.
fn brief_words(curve: &LoadCurve) -> Vec<String> {
    let maximum = curve
        .maximum
        .map(|of| format!("Maximum: {} IOPS with {} in flight.", whole(of.iops), of.outstanding));
    let rest = match (curve.is_unsteady(), curve.knee) {
        (true, _) => Some(saturation_words(curve)),
        (false, None) => None,
        (false, Some(knee)) => {
            let point = &curve.points[knee];
            Some(format!("Knee: {} IOPS at {}.", whole(point.achieved), time(point.response_us)))
        }
    };
    vec![maximum.into_iter().chain(rest).collect::<Vec<_>>().join(" ")]
}

/// From which load on the target falls behind; or that it did so at times, which no load explains.
fn saturation_words(curve: &LoadCurve) -> String {
    let labels = |is_saturated: bool| {
        let points = curve.points.iter().filter(move |point| point.is_saturated == is_saturated);
        points.map(|point| swept_value(&point.label).replace('%', " %"))
    };
    let behind = "fewer than 99 % of the I/Os that were due completed";
    if curve.is_unsteady() {
        let slow: Vec<String> = labels(true).collect();
        let kept = labels(false).next_back().unwrap_or_default();
        return format!(
            "UNRELIABLE: {} fell behind and {kept} did not: target or host was slower for a while. Rerun when nothing \
             else runs, each step longer (--run 60s).",
            slow.join(", ")
        );
    }
    match curve.points.iter().find(|point| point.is_saturated) {
        None => "No step is saturated: at least 99 % of the I/Os that were due completed.".to_owned(),
        Some(first) => format!(
            "Saturated from {} on: {behind}, so the backlog and the response time grow for as long as the load lasts.",
            first.label
        ),
    }
}

/// Knee and Little's law, a sentence each.
pub(crate) fn depth_words(curve: &DepthCurve, detail: Detail) -> Vec<String> {
    if let Some([before, low, after]) = curve.dip() {
        return vec![format!(
            "UNRELIABLE: QD {} gave {} IOPS, less than QD {} with {}, and QD {} gave {}: for a while the target, this \
             host or Assay on it was slower. Rerun when nothing else runs, each step longer (--set run=60s).",
            low.asked,
            whole(low.iops),
            before.asked,
            whole(before.iops),
            after.asked,
            whole(after.iops)
        )];
    }
    let knee = &curve.points[curve.knee];
    if detail == Detail::Brief {
        return vec![depth_brief(curve, knee)];
    }
    let mut words = vec![format!(
        "Knee: QD {}, the depth with the highest rate over mean latency: {} IOPS at {}.",
        knee.asked,
        whole(knee.iops),
        time(knee.mean_us)
    )];
    if let Some(last) = curve.points.last().filter(|last| last.asked > knee.asked) {
        words.push(format!(
            "From there to QD {} the rate changes to {:.2} times, the mean latency to {:.1} times.",
            last.asked,
            last.iops / knee.iops.max(f64::MIN_POSITIVE),
            last.mean_us / knee.mean_us.max(f64::MIN_POSITIVE)
        ));
    }
    words.push(format!(
        "Little's law: {} IOPS x {} = {:.1} I/Os in flight, of {} requested.",
        whole(knee.iops),
        time(knee.mean_us),
        knee.in_flight,
        knee.asked
    ));
    words
}

/// The knee, and what more depth brings and costs.
fn depth_brief(curve: &DepthCurve, knee: &DepthPoint) -> String {
    let says = format!("Knee: QD {}, {} IOPS at {}.", knee.asked, whole(knee.iops), time(knee.mean_us));
    match curve.points.last().filter(|last| last.asked > knee.asked) {
        Some(last) => format!(
            "{says} QD {}: x{:.2} the rate, x{:.1} the latency.",
            last.asked,
            last.iops / knee.iops.max(f64::MIN_POSITIVE),
            last.mean_us / knee.mean_us.max(f64::MIN_POSITIVE)
        ),
        None => says,
    }
}

fn whole(value: f64) -> String {
    separated(&format!("{value:.0}"))
}

/// Returns the curves of a run as a part of its page; nothing where it has none.
pub(crate) fn html(header: &RunHeader, summary: &RunSummary) -> String {
    let mut text = String::new();
    for curve in load_curves(header, summary) {
        text.push_str(&part(
            &format!("{}: response over offered load", curve.test),
            &format!("{}{}", response_chart(&curve), achieved_chart(&curve)),
            &load_table(&curve).html("Response counts from when an I/O was due, service from its issue."),
            &load_words(&curve, Detail::Full),
        ));
    }
    for curve in depth_curves(header, summary) {
        text.push_str(&part(
            &format!("{}: rate over queue depth", curve.test),
            &format!("{}{}", depth_rate_chart(&curve), depth_latency_chart(&curve)),
            &depth_table(&curve).html("IOPS x Avg is the mean number of I/Os in flight (Little's law)."),
            &depth_words(&curve, Detail::Full),
        ));
    }
    text
}

fn part(title: &str, charts: &str, table: &str, words: &[String]) -> String {
    let words: String = words.iter().map(|w| format!("<p>{}</p>\n", escape(w))).collect();
    format!(
        "<h2>{}</h2>\n<div class=\"charts\">\n{charts}</div>\n{words}\
         <div class=\"scroll\" tabindex=\"0\">{table}</div>\n",
        escape(title)
    )
}

fn response_chart(curve: &LoadCurve) -> String {
    let times: Vec<f64> = curve.points.iter().map(|p| p.response_us * 1e3).collect();
    let unit = TimeUnit::for_means(&times);
    let of = |us: f64| unit.of_ns(us * 1e3);
    let line = |name: &str, value: &dyn Fn(&assay_analysis::LoadPoint) -> Option<f64>| Line {
        name: name.to_owned(),
        pieces: vec![curve.points.iter().filter_map(|p| Some((p.offered, of(value(p)?)))).collect()],
    };
    let lines = vec![
        line("mean response", &|p| Some(p.response_us)),
        line("mean service", &|p| Some(p.service_us)),
        line("p99 response", &|p| p.response_p99_us),
    ];
    let chart = Lines {
        title: "Response and service time over offered load",
        x: Axis::from_zero("offered, I/Os per second", highest(curve.points.iter().map(|p| p.offered))),
        y: y_axis(&format!("time, {}", unit.name()), &lines),
        marks: load_marks(curve, |point| of(point.response_us)),
        lines,
        breaks: vec![],
    };
    chart.svg()
}

fn achieved_chart(curve: &LoadCurve) -> String {
    let most = highest(curve.points.iter().flat_map(|p| [p.offered, p.achieved]));
    let points = |value: &dyn Fn(&assay_analysis::LoadPoint) -> f64| {
        vec![curve.points.iter().map(|p| (p.offered, value(p))).collect()]
    };
    let chart = Lines {
        title: "Achieved against offered",
        x: Axis::from_zero("offered, I/Os per second", most),
        y: Axis::from_zero("I/Os per second", most),
        lines: vec![
            Line { name: "achieved".to_owned(), pieces: points(&|p| p.achieved) },
            Line { name: "offered".to_owned(), pieces: points(&|p| p.offered) },
        ],
        marks: load_marks(curve, |point| point.achieved),
        breaks: vec![],
    };
    chart.svg()
}

/// The knee has a star, saturated steps an exclamation mark.
fn load_marks(curve: &LoadCurve, y: impl Fn(&assay_analysis::LoadPoint) -> f64) -> Vec<Mark> {
    let points = curve.points.iter().enumerate();
    points
        .filter_map(|(index, point)| {
            let is_knee = curve.knee == Some(index) && !curve.is_unsteady();
            let text = match (is_knee, point.is_saturated) {
                (true, _) => "★ knee",
                (_, true) => "!",
                _ => return None,
            };
            Some(Mark { x: point.offered, y: y(point), text: text.to_owned() })
        })
        .collect()
}

fn depth_rate_chart(curve: &DepthCurve) -> String {
    depth_chart(
        curve,
        "Rate over queue depth",
        |top| Axis::from_zero("IOPS", top),
        &[("IOPS", &|p| Some(p.iops))],
    )
}

fn depth_latency_chart(curve: &DepthCurve) -> String {
    let unit = TimeUnit::for_means(&curve.points.iter().map(|p| p.mean_us * 1e3).collect::<Vec<_>>());
    let low = curve.points.iter().map(|p| unit.of_ns(p.mean_us * 1e3)).fold(f64::INFINITY, f64::min);
    let title = format!("latency, {}", unit.name());
    let axis =
        |top: f64| if top > low * 30.0 { Axis::log(&title, low, top) } else { Axis::from_zero(&title, top) };
    depth_chart(
        curve,
        "Latency over queue depth",
        axis,
        &[("mean", &|p| Some(unit.of_ns(p.mean_us * 1e3))), ("p99", &|p| Some(unit.of_ns(p.p99_us? * 1e3)))],
    )
}

/// A value of a point, in the unit of the axis.
type DepthValue<'v> = &'v dyn Fn(&assay_analysis::DepthPoint) -> Option<f64>;

fn depth_chart(
    curve: &DepthCurve,
    title: &str,
    axis: impl Fn(f64) -> Axis,
    values: &[(&str, DepthValue<'_>)],
) -> String {
    let line = |(name, value): &(&str, DepthValue<'_>)| Line {
        name: (*name).to_owned(),
        pieces: vec![curve.points.iter().filter_map(|p| Some((p.asked as f64, value(p)?))).collect()],
    };
    let lines: Vec<Line> = values.iter().map(line).collect();
    let top = highest(lines.iter().flat_map(|l| &l.pieces[0]).map(|(_, y)| *y));
    let knee = &curve.points[curve.knee];
    let at = values.first().filter(|_| curve.dip().is_none()).and_then(|(_, value)| value(knee));
    let mark = at.map(|y| Mark { x: knee.asked as f64, y, text: "★ knee".to_owned() });
    let depths: Vec<f64> = curve.points.iter().map(|p| p.asked as f64).collect();
    let chart = Lines {
        title,
        x: Axis::doubling("I/Os in flight requested", &depths),
        y: axis(top),
        lines,
        marks: mark.into_iter().collect(),
        breaks: vec![],
    };
    chart.svg()
}

fn highest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Logarithmic where the values lie decades apart.
fn y_axis(title: &str, lines: &[Line]) -> Axis {
    let all = || lines.iter().flat_map(|l| l.pieces.iter().flatten()).map(|(_, y)| *y).filter(|y| *y > 0.0);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if high > low * 30.0 { Axis::log(title, low, high) } else { Axis::from_zero(title, high) }
}

#[cfg(test)]
mod tests {
    use assay_analysis::{CurveMaximum, DepthPoint, LoadPoint};

    use super::*;

    #[test]
    fn a_depth_that_is_slower_than_a_shallower_and_a_deeper_one_leaves_no_knee() {
        let step = assay_record::StepId { test: 0, step: 0 };
        let curve = |rates: &[f64]| {
            let point = |(index, iops): (usize, &f64)| {
                let asked = 1 << index;
                let mean_us = asked as f64 / iops * 1e6;
                DepthPoint { step, asked, iops: *iops, mean_us, p99_us: None, in_flight: asked as f64 }
            };
            let points = rates.iter().enumerate().map(point).collect();
            DepthCurve { test: "t".to_owned(), points, knee: 1, is_random: true }
        };
        // Of a host whose CPUs were 96 % busy.
        let spoilt = curve(&[398.0, 1569.0, 1552.0, 995.0, 4281.0, 4424.0, 4490.0, 9325.0, 7512.0]);
        let words = depth_words(&spoilt, Detail::Brief).join(" ");
        let says = "UNRELIABLE: QD 8 gave 995 IOPS, less than QD 2 with 1,569, and QD 128 gave 9,325:";
        assert!(words.contains(says) && !words.contains("Knee"), "{words}");
        assert_eq!(depth_json(&spoilt)["unsteady"], true);
        // Of streams, reading ahead may be what the depths between lack.
        let streams = DepthCurve { is_random: false, ..spoilt.clone() };
        assert!(depth_words(&streams, Detail::Brief)[0].starts_with("Knee: QD 2"));
        // A second I/O that costs a disk some of its order, and a deep queue that costs some of the highest rate.
        let sound = curve(&[200.0, 180.0, 260.0, 400.0, 520.0, 470.0]);
        assert!(depth_words(&sound, Detail::Brief)[0].starts_with("Knee: QD 2"));
        let marked = |curve: &DepthCurve| depth_table(curve).render(Format::Csv).matches("knee").count();
        assert_eq!((marked(&spoilt), marked(&sound)), (0, 1));
    }

    #[test]
    fn shares_are_of_the_rate_that_they_are_offered_of() {
        let step = assay_record::StepId { test: 0, step: 0 };
        let point = |percent: f64| LoadPoint {
            step,
            label: format!("load={percent}%"),
            offered: 162_941.0 * percent / 100.0,
            achieved: 162_941.0 * percent / 100.0,
            kept: 1.0,
            load: Some(162_941.0 * percent / 100.0 / 159_688.0),
            service_us: 100.0,
            response_us: 200.0,
            response_p50_us: None,
            response_p99_us: None,
            is_saturated: false,
        };
        let curve = LoadCurve {
            test: "t".to_owned(),
            maximum: Some(CurveMaximum { step, iops: 159_688.0, outstanding: 32 }),
            points: vec![point(10.0), point(50.0), point(95.0)],
            knee: Some(1),
        };
        let words = load_words(&curve, Detail::Full).join(" ");
        assert!(words.contains("Loads are shares of 162,941 IOPS."), "{words}");
        assert!(words.contains("Knee: 81,470 IOPS, the load of 50 %,"), "{words}");
        let saturated = |which: &[usize]| {
            let mut curve = curve.clone();
            which.iter().for_each(|index| curve.points[*index].is_saturated = true);
            load_words(&curve, Detail::Full).join(" ")
        };
        assert!(saturated(&[1, 2]).contains("Saturated from load=50% on:"), "{}", saturated(&[1, 2]));
        let one = saturated(&[1]);
        assert!(
            one.contains("UNRELIABLE: 50 % fell behind")
                && one.contains("95 % did not")
                && !one.contains("Knee"),
            "{one}"
        );
    }
}
