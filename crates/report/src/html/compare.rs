//! Results side by side as one HTML file.

use assay_analysis::compare::{Cell, Comparison, TestPair, Weight};

use super::facts::{self, Fact};
use super::heat_difference::heat_difference;
use super::trend::Links;
use super::{page_end, page_start};
use crate::compare::{Reader, judged, legend_html, letter, result_table, shared_and_lone};
use crate::svg::{
    Axis, BarSeries, Bars, Line, Lines, STYLES, Side, Star, Whisker, WhiskerSeries, Whiskers, escape,
};

/// The chart of ratios is as narrow as the others up to this many tests.
const NAMES_NARROW: usize = 12;
/// Sweeps of so many steps are drawn as lines.
const OVERLAY_STEPS_MIN: usize = 4;
/// Points of a line over time, and the fewest that are one.
const SECONDS_DRAWN_MAX: usize = 240;
const SECONDS_DRAWN_MIN: usize = 10;
/// Most tests whose lines over time and latency distributions are drawn.
const CURVES_MAX: usize = 8;
/// Most maps of differences of a test.
const MAPS_MAX: usize = 3;

/// The whole page.
pub fn comparison(comparison: &Comparison) -> String {
    let mut page = page_start(&title(comparison));
    page.push_str(&comparison_body(comparison, Links::None));
    page.push_str(page_end());
    page
}

fn title(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.sides.iter().map(|s| s.name.as_str()).collect();
    format!("{} side by side", names.join(", "))
}

/// What the page has between the tags of its body.
pub fn comparison_body(comparison: &Comparison, links: Links) -> String {
    let mut page = format!("<h1>{}</h1>\n", escape(&title(comparison)));
    page.push_str(&super::matrix::matrix(comparison, links));
    for says in &comparison.says {
        page.push_str(&format!("<p><strong>{}</strong></p>\n", escape(says)));
    }
    page.push_str(&sides(comparison));
    page.push_str(&table(comparison));
    page.push_str(&charts(comparison));
    page.push_str(&findings(comparison));
    let fired = comparison.findings.iter().map(|found| found.rule.as_str());
    let fired: Vec<&str> = fired.chain(comparison.across.iter().map(|found| found.rule.as_str())).collect();
    let definitions = super::methods::section(&page, &fired);
    page.push_str(&definitions);
    page
}

fn sides(comparison: &Comparison) -> String {
    let mut facts: Vec<Fact> = Vec::new();
    for (index, side) in comparison.sides.iter().enumerate() {
        let name = format!("{} {}", letter(index), side.name);
        let runs = side.runs.join(", ");
        // A run without a label of its own goes by its id.
        let runs = if runs == side.name { String::new() } else { format!("{runs}: ") };
        facts.push((name, format!("{runs}{}", side.about)));
    }
    for difference in &comparison.differences {
        let means = match difference.weight {
            Weight::Subject => "compared",
            Weight::Weakens => "may be part of a change",
            Weight::Changed => "was changed",
            Weight::Breaks => "makes the runs not comparable",
        };
        facts.push((difference.what.clone(), format!("{} ({means})", difference.values.join(" / "))));
    }
    facts::table(&facts)
}

fn table(comparison: &Comparison) -> String {
    let (_, lone) = shared_and_lone(comparison);
    let table = result_table(comparison, Reader::Person).html(&legend_html(comparison));
    let mut text = format!("<h2>Test by test</h2>\n<div class=\"scroll\" tabindex=\"0\">{table}</div>\n");
    lone.iter().for_each(|says| text.push_str(&format!("<p class=\"soft\">{}</p>\n", escape(says))));
    text
}

/// The ratios of all tests in one picture, then the throughput of each sweep and of the tests that sweep nothing.
fn charts(comparison: &Comparison) -> String {
    let (shared, _) = shared_and_lone(comparison);
    if shared.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2>Charts</h2>\n");
    // Points of many tests need the room of two charts; those of a few would only be larger.
    if shared.len() > NAMES_NARROW {
        text.push_str(&format!("<div class=\"charts wide\">\n{}</div>\n", ratios(comparison)));
        text.push_str("<div class=\"charts\">\n");
    } else {
        text.push_str(&format!("<div class=\"charts\">\n{}", ratios(comparison)));
    }
    let mut tests: Vec<&str> = Vec::new();
    for test in shared.iter().filter(|t| !t.step.is_empty()) {
        if !tests.contains(&test.test.as_str()) {
            tests.push(&test.test);
        }
    }
    for name in tests {
        let steps: Vec<&TestPair> = shared.iter().copied().filter(|t| t.test == name).collect();
        if steps.len() >= OVERLAY_STEPS_MIN {
            text.push_str(&overlay(comparison, name, "MiB/s", &steps, |c| Some(c.mib_per_s)));
            text.push_str(&overlay(comparison, name, "p99, ms", &steps, |c| c.p99_ms));
            continue;
        }
        text.push_str(&bars(
            comparison,
            name,
            "MiB/s",
            &steps,
            |t| step_value(&t.step),
            |c| Some(c.mib_per_s),
        ));
        text.push_str(&bars(comparison, name, "p99, ms", &steps, |t| step_value(&t.step), |c| c.p99_ms));
    }
    let single: Vec<&TestPair> = shared.iter().copied().filter(|t| t.step.is_empty()).collect();
    if !single.is_empty() {
        let title = |what: &str| format!("{what} of each test");
        text.push_str(&bars(
            comparison,
            &title("Rate"),
            "MiB/s",
            &single,
            |t| t.test.clone(),
            |c| Some(c.mib_per_s),
        ));
        text.push_str(&bars(
            comparison,
            &title("IOPS"),
            "IOPS",
            &single,
            |t| t.test.clone(),
            |c| Some(c.iops),
        ));
        text.push_str(&bars(comparison, &title("p99"), "p99, ms", &single, |t| t.test.clone(), |c| c.p99_ms));
    }
    for test in single.iter().take(CURVES_MAX) {
        text.push_str(&over_time(comparison, test));
        text.push_str(&latency_curves(comparison, test));
        text.push_str(&heat_differences(comparison, test));
    }
    text.push_str("</div>\n");
    text
}

/// `size=4KiB` as `4KiB`; several swept values stay as they are.
fn step_value(step: &str) -> String {
    match step.split_once('=') {
        Some((_, value)) if !value.contains('=') => value.to_owned(),
        _ => step.to_owned(),
    }
}

fn ratios(comparison: &Comparison) -> String {
    let (tests, _) = shared_and_lone(comparison);
    let names: Vec<String> =
        tests.iter().map(|t| format!("{} {}", t.test, step_value(&t.step)).trim().to_owned()).collect();
    let of = |test: &TestPair, side: usize| {
        let against = test.cells[side].as_ref()?.against.as_ref()?;
        let ratio = judged(test, against);
        (ratio.value > 0.0).then(|| Whisker { value: ratio.value, ends: ratio.ends() })
    };
    let series = (1..comparison.sides.len()).map(|side| WhiskerSeries {
        name: named(comparison, side),
        values: tests.iter().map(|t| of(t, side)).collect(),
    });
    let paced = if tests.iter().any(|t| t.is_paced) { " (p99 where paced)" } else { "" };
    let title = format!("IOPS{paced} over those of {}, with 95 % intervals", comparison.sides[0].name);
    let chart = Whiskers {
        title: &title,
        x_title: "test",
        y_title: "ratio",
        names: &names,
        series: series.collect(),
        first_style: 1,
    };
    chart.svg()
}

/// The sides of a sweep as lines over its values.
fn overlay(
    comparison: &Comparison,
    title: &str,
    unit: &str,
    steps: &[&TestPair],
    value: impl Fn(&Cell) -> Option<f64>,
) -> String {
    let names: Vec<String> = steps.iter().map(|t| step_value(&t.step)).collect();
    let points = |side: usize| -> Vec<(f64, f64)> {
        let at =
            |(index, test): (usize, &&TestPair)| Some((index as f64, value(test.cells[side].as_ref()?)?));
        steps.iter().enumerate().filter_map(at).collect()
    };
    let lines: Vec<Line> = sides_as(comparison, points);
    let all = || lines.iter().flat_map(|l| &l.pieces[0]).map(|(_, y)| *y).filter(|y| *y > 0.0);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if high <= 0.0 {
        return String::new();
    }
    let is_wide = high > low * 30.0;
    let y = if is_wide {
        Axis::log(&format!("{unit} (logarithmic)"), low, high)
    } else {
        Axis::from_zero(unit, high)
    };
    let key = steps[0].step.split_once('=').map_or("step", |(key, _)| key).to_owned();
    Lines { title, x: Axis::names(&key, &names), y, lines, breaks: vec![], marks: vec![] }.svg()
}

/// The IOPS of the sides over time, one over the other; of repetitions the first.
fn over_time(comparison: &Comparison, test: &TestPair) -> String {
    let points = |side: usize| -> Vec<(f64, f64)> {
        let seconds = test.cells[side].as_ref().map_or(&[][..], |cell| &cell.seconds);
        let together = seconds.len().div_ceil(SECONDS_DRAWN_MAX).max(1);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let means = seconds.chunks(together).enumerate();
        means.map(|(index, part)| ((index * together + part.len()) as f64, mean(part))).collect()
    };
    let lines: Vec<Line> = sides_as(comparison, points);
    if lines.iter().filter(|line| line.pieces[0].len() >= SECONDS_DRAWN_MIN).count() < 2 {
        return String::new();
    }
    let all = || lines.iter().flat_map(|line| &line.pieces[0]);
    let (last, high) = all().fold((0.0_f64, 0.0_f64), |(t, v), point| (t.max(point.0), v.max(point.1)));
    let title = format!("IOPS over time, {}", test.test);
    let x = Axis::up_to("s since the measured window began", last);
    Lines { title: &title, x, y: Axis::from_zero("IOPS", high), lines, breaks: vec![], marks: vec![] }.svg()
}

/// How the latencies over time of each further side differ from those of the first; of repetitions the first.
fn heat_differences(comparison: &Comparison, test: &TestPair) -> String {
    let heat = |side: usize| test.cells[side].as_ref().map(|cell| &cell.heat);
    let Some(first) = heat(0) else { return String::new() };
    let of = |side: usize| {
        let sides = [0, side].map(|side| Side { name: letter(side).to_string(), style: side % STYLES });
        let title = format!("Latencies over time, {}: {} less {}", test.test, letter(side), letter(0));
        Some(heat_difference(&title, (first, heat(side)?), sides))
    };
    (1..comparison.sides.len()).take(MAPS_MAX).filter_map(of).collect()
}

/// The latency distributions of the sides, one over the other.
fn latency_curves(comparison: &Comparison, test: &TestPair) -> String {
    let nines = |share: f64| -(1.0 - share).log10();
    let points = |side: usize| -> Vec<(f64, f64)> {
        let cell = test.cells[side].as_ref();
        cell.map_or_else(Vec::new, |c| c.curve_ms.iter().map(|(share, ms)| (nines(*share), *ms)).collect())
    };
    let lines: Vec<Line> = sides_as(comparison, points);
    let all = || lines.iter().flat_map(|l| &l.pieces[0]);
    let (low, high) = all().map(|(_, y)| *y).fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    if lines.iter().filter(|line| !line.pieces[0].is_empty()).count() < 2 || high <= 0.0 {
        return String::new();
    }
    let most = all().map(|(x, _)| *x).fold(1.0, f64::max);
    let title = format!("Latency distribution, {}", test.test);
    let chart = Lines {
        title: &title,
        x: Axis::percentiles("share of I/Os that take no longer", most),
        y: Axis::log("latency, ms", low, high),
        lines,
        breaks: vec![],
        marks: vec![],
    };
    chart.svg()
}

/// The letter of a side and its name, as all charts and tables have it.
fn named(comparison: &Comparison, side: usize) -> String {
    format!("{} {}", letter(side), comparison.sides[side].name)
}

/// A line for each side.
fn sides_as(comparison: &Comparison, points: impl Fn(usize) -> Vec<(f64, f64)>) -> Vec<Line> {
    let sides = 0..comparison.sides.len();
    sides.map(|index| Line { name: named(comparison, index), pieces: vec![points(index)] }).collect()
}

fn bars(
    comparison: &Comparison,
    title: &str,
    unit: &str,
    tests: &[&TestPair],
    name: impl Fn(&TestPair) -> String,
    value: impl Fn(&Cell) -> Option<f64>,
) -> String {
    let names: Vec<String> = tests.iter().map(|t| name(t)).collect();
    let series: Vec<BarSeries> = (0..comparison.sides.len())
        .map(|index| BarSeries {
            name: named(comparison, index),
            values: tests.iter().map(|t| t.cells[index].as_ref().and_then(&value)).collect(),
            doubts: Vec::new(),
        })
        .collect();
    if series.iter().flat_map(|s| &s.values).all(Option::is_none) {
        return String::new();
    }
    let chart = Bars { title, x_title: "", y_title: unit, names: &names, series, star: Star::None };
    chart.svg()
}

fn findings(comparison: &Comparison) -> String {
    if comparison.findings.is_empty() && comparison.across.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2>Findings that not every side has</h2>\n<ul class=\"findings\">\n");
    for found in &comparison.findings {
        let sides: Vec<&str> = found.sides.iter().map(|i| comparison.sides[*i].name.as_str()).collect();
        text.push_str(&format!(
            "<li class=\"{}\"><strong>{}</strong>: {}<div class=\"evidence\">{}</div></li>\n",
            found.severity.name(),
            escape(&sides.join(", ")),
            super::unbroken(&found.says),
            super::methods::rule_link(&found.rule)
        ));
    }
    for found in &comparison.across {
        text.push_str(&format!(
            "<li class=\"info\">{}<div class=\"evidence\">{}</div></li>\n",
            super::unbroken(&found.says),
            super::methods::rule_link(&found.rule)
        ));
    }
    text.push_str("</ul>\n");
    text
}
