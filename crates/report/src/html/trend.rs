//! The trend of a test on a target: rate and latency of each run, and what changed where they did.

use assay_analysis::trend::{ChangePoint, Trend, TrendPoint};
use assay_record::FigureDigest;

use crate::journal::FactChange;
use crate::number;
use crate::svg::{Point, Step, TrendChart, escape};

/// Most facts that are listed at a change; what comes after is counted.
const FACTS_MAX: usize = 8;

/// What the records of the runs around a change show to have changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeFacts {
    /// The first run after the change.
    pub run: String,
    /// Differences between it and the last run before.
    pub facts: Vec<FactChange>,
}

/// Where the points of a trend lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Nowhere: a page that stands alone.
    None,
    /// To the pages of the runs.
    Runs,
}

/// Returns the drawings of a trend: IOPS, and p99 where it is known. `baseline` is the level of the baseline.
#[must_use]
pub fn trend(trend: &Trend, baseline: Option<&TrendPoint>, links: Links) -> String {
    let name = format!("{} {}", trend.test, trend.step);
    let days: Vec<String> = trend.points.iter().map(|point| day(point.started_unix_ms)).collect();
    let iops = TrendChart {
        title: &format!("{}: rate", name.trim_end()),
        unit: "IOPS",
        days: &days,
        points: points(trend, &trend.iops_changes, links, &|point| Some(point.iops)),
        changes: steps(&trend.iops_changes),
        baseline: baseline.map(|point| point.iops.value),
    };
    let known: Vec<&TrendPoint> = trend.points.iter().filter(|point| point.p99_us.is_some()).collect();
    let mut text = iops.svg();
    // Runs without a latency would shift the others.
    if known.len() == trend.points.len() {
        let p99 = TrendChart {
            title: &format!("{}: p99 latency", name.trim_end()),
            unit: "ms",
            days: &days,
            points: points(trend, &trend.p99_changes, links, &|point| point.p99_us.map(in_ms)),
            changes: steps(&trend.p99_changes),
            baseline: baseline.and_then(|point| point.p99_us).map(|p99| p99.value / 1e3),
        };
        text.push_str(&p99.svg());
    }
    format!("<div class=\"charts\">{text}</div>\n")
}

/// Returns what changed at each change of a trend, in sentences.
#[must_use]
pub fn trend_changes(trend: &Trend, facts: &[ChangeFacts], links: Links) -> String {
    let figures = [("IOPS", &trend.iops_changes), ("p99", &trend.p99_changes)];
    let item = |(figure, change): (&str, &ChangePoint)| {
        let started = trend.points.get(change.index).map(|point| number::minute(point.started_unix_ms));
        let run = match links {
            Links::Runs => format!("<a href=\"/runs/{0}\">{0}</a>", escape(&change.run)),
            Links::None => escape(&change.run),
        };
        let known = facts.iter().find(|known| known.run == change.run);
        format!(
            "<li><strong>{} {} from run {run} on</strong> ({}), {} of before (95 %: {} to {}). {}</li>\n",
            figure,
            if change.ratio < 1.0 { "fell" } else { "rose" },
            escape(&started.unwrap_or_default()),
            percent(change.ratio),
            percent(change.ratio_lo),
            percent(change.ratio_hi),
            known.map_or_else(String::new, |known| what_changed(&known.facts))
        )
    };
    let all = figures.iter().flat_map(|(figure, changes)| changes.iter().map(|change| (*figure, change)));
    let items: String = all.map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"changes\">\n{items}</ul>\n") }
}

fn what_changed(facts: &[FactChange]) -> String {
    if facts.is_empty() {
        return "The records of both runs show no other change: look at the storage itself.".to_owned();
    }
    let fact = |fact: &FactChange| {
        format!("{} from {} to {}", escape(&fact.what), escape(&fact.before), escape(&fact.after))
    };
    let listed: Vec<String> = facts.iter().take(FACTS_MAX).map(fact).collect();
    let more = match facts.len().saturating_sub(FACTS_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("What changed with it: {}{more}.", listed.join("; "))
}

fn points(
    trend: &Trend,
    changes: &[ChangePoint],
    links: Links,
    figure: &dyn Fn(&TrendPoint) -> Option<FigureDigest>,
) -> Vec<Point> {
    let point = |(index, point): (usize, &TrendPoint)| {
        let figure = figure(point).unwrap_or_default();
        Point {
            value: figure.value,
            ends: figure.lo.zip(figure.hi),
            says: format!(
                "{}, run {}: {}",
                number::minute(point.started_unix_ms),
                point.run,
                number::long(figure.value)
            ),
            link: match links {
                Links::Runs => Some(format!("/runs/{}", point.run)),
                Links::None => None,
            },
            is_marked: changes.iter().any(|change| change.index == index),
        }
    };
    trend.points.iter().enumerate().map(point).collect()
}

fn steps(changes: &[ChangePoint]) -> Vec<Step> {
    let step = |change: &ChangePoint| Step {
        at: change.index,
        says: format!("{:+.0} %", (change.ratio - 1.0) * 100.0),
    };
    changes.iter().map(step).collect()
}

fn in_ms(us: FigureDigest) -> FigureDigest {
    let ms = |us: f64| us / 1e3;
    FigureDigest { value: ms(us.value), lo: us.lo.map(ms), hi: us.hi.map(ms) }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// Month and day.
fn day(unix_ms: u64) -> String {
    number::minute(unix_ms).chars().skip(5).take(5).collect()
}
