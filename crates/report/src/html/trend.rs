//! The trend of a test on a target: rate and latency of each run, and what changed where they did.

use assay_analysis::trend::{ChangePoint, Trend, TrendPoint};
use assay_record::FigureDigest;

use crate::journal::FactChange;
use crate::number::{self, TimeUnit};
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
    // A section of a page has the name of the test in its heading.
    let name = format!("{} {}", trend.test, trend.step);
    let titled = |what: &str| match links {
        Links::Runs => what.to_owned(),
        Links::None => format!("{}: {what}", name.trim_end()),
    };
    let days = days(trend.points.iter().map(|point| point.started_unix_ms));
    let iops = TrendChart {
        title: &titled("Rate"),
        unit: "IOPS",
        days: &days.names,
        about_days: &days.title,
        points: points(trend, &trend.iops_changes, links, &|point| Some(point.iops)),
        changes: steps(&trend.iops_changes),
        baseline: baseline.map(|point| point.iops.value),
    };
    let known: Vec<&TrendPoint> = trend.points.iter().filter(|point| point.p99_us.is_some()).collect();
    let mut text = iops.svg();
    // Runs without a latency would shift the others.
    if known.len() == trend.points.len() {
        let all: Vec<f64> =
            known.iter().filter_map(|point| point.p99_us).map(|p99| p99.value * 1e3).collect();
        let unit = TimeUnit::for_means(&all);
        let in_unit = |us: f64| unit.of_ns(us * 1e3);
        let p99 = TrendChart {
            title: &titled("p99 latency"),
            unit: unit.name(),
            days: &days.names,
            about_days: &days.title,
            points: points(trend, &trend.p99_changes, links, &|point| {
                point.p99_us.map(|p99| scaled(p99, in_unit))
            }),
            changes: steps(&trend.p99_changes),
            baseline: baseline.and_then(|point| point.p99_us).map(|p99| in_unit(p99.value)),
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

fn scaled(us: FigureDigest, unit: impl Fn(f64) -> f64) -> FigureDigest {
    FigureDigest { value: unit(us.value), lo: us.lo.map(&unit), hi: us.hi.map(&unit) }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// Returns the names of the runs of a trend: their minutes, with the second where a minute had several runs.
fn moments(started_unix_ms: impl Iterator<Item = u64>) -> Vec<String> {
    let started: Vec<u64> = started_unix_ms.collect();
    let minutes: Vec<String> = started.iter().map(|ms| number::minute(*ms)).collect();
    let is_shared = |minute: &String| minutes.iter().filter(|other| *other == minute).count() > 1;
    let name = |(ms, minute): (&u64, &String)| match minute.strip_suffix(" UTC") {
        Some(bare) if is_shared(minute) => format!("{bare}:{:02} UTC", ms / 1000 % 60),
        _ => minute.clone(),
    };
    started.iter().zip(&minutes).map(name).collect()
}

/// When runs were: their days, with the time where a day had several runs; the times alone where all are of one day.
fn days(started_unix_ms: impl Iterator<Item = u64>) -> Days {
    const DAY: usize = "2026-11-21".len();
    const YEAR: usize = "2026-".len();
    let minutes = moments(started_unix_ms);
    let part = |minute: &str, from: usize, to: usize| minute.get(from..to).unwrap_or_default().to_owned();
    let day_of = |minute: &str| part(minute, 0, DAY);
    let time_of = |minute: &str| {
        let time = minute.get(DAY + 1..).unwrap_or_default();
        time.strip_suffix(" UTC").unwrap_or(time).to_owned()
    };
    let (Some(first), Some(last)) = (minutes.first(), minutes.last()) else { return Days::default() };
    if day_of(first) == day_of(last) {
        return Days {
            title: format!("{} (UTC)", day_of(first)),
            names: minutes.iter().map(|minute| time_of(minute)).collect(),
        };
    }
    // Runs of several years need them.
    let from = if part(first, 0, YEAR) == part(last, 0, YEAR) { YEAR } else { 0 };
    let name = |minute: &String| {
        let of_day = minutes.iter().filter(|other| day_of(other) == day_of(minute)).count();
        let day = part(minute, from, DAY);
        if of_day > 1 { format!("{day} {}", time_of(minute)) } else { day }
    };
    let title = if from == 0 { String::new() } else { part(first, 0, YEAR - 1) };
    Days { title, names: minutes.iter().map(name).collect() }
}

/// What stands below a trend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Days {
    /// What all names have in common.
    title: String,
    /// A name for each run.
    names: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(minutes: &[u64]) -> (String, String) {
        // 2026-11-21 00:00 UTC.
        let days = days(minutes.iter().map(|minute| 1_795_219_200_000 + minute * 60_000));
        (days.title, days.names.join("|"))
    }

    #[test]
    fn runs_are_told_apart_by_day_and_those_of_one_day_by_time() {
        const DAY: u64 = 24 * 60;
        let same = |title: &str, names: &str| (title.to_owned(), names.to_owned());
        assert_eq!(named(&[5, 65, 730]), same("2026-11-21 (UTC)", "00:05|01:05|12:10"));
        assert_eq!(named(&[0, DAY, 2 * DAY]), same("2026", "11-21|11-22|11-23"));
        assert_eq!(named(&[0, DAY + 61, DAY + 62]), same("2026", "11-21|11-22 01:01|11-22 01:02"));
        assert_eq!(named(&[0, 60 * DAY]), same("", "2026-11-21|2027-01-20"));
        assert_eq!(named(&[5, 5, 7]), same("2026-11-21 (UTC)", "00:05:00|00:05:00|00:07"), "with seconds");
        assert_eq!(named(&[]), same("", ""));
    }
}
