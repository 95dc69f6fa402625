//! The trend of a test on a target over time: rate and latency of each run, what changed where they did, and what
//! happened beside them.

use assay_analysis::trend::{ChangePoint, Level, Trend, TrendEvent, TrendPoint};
use assay_record::FigureDigest;

use crate::journal::FactChange;
use crate::number::{self, TimeUnit};
use crate::svg::{Event, Point, Step, TrendChart, escape};

/// Most facts that are listed at a change; what comes after is counted.
const FACTS_MAX: usize = 8;
/// A list of more events is folded.
const EVENTS_OPEN: usize = 8;

/// What the records of the runs around a change show to have changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeFacts {
    /// The first run after the change.
    pub run: String,
    /// Differences between it and the last run before.
    pub facts: Vec<FactChange>,
}

/// What happened beside the figures of a trend, the oldest first.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'e> {
    /// All of it, over all runs on the target: what is not said of a change must not have happened.
    pub all: &'e [TrendEvent],
    /// What the page lists, by [`trend_events`].
    pub listed: &'e [TrendEvent],
}

/// Where the points of a trend lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Nowhere: a page that stands alone.
    None,
    /// To the pages of the runs.
    Runs,
}

/// What is drawn of a trend.
#[derive(Debug, Clone, Copy)]
pub struct TrendView<'v> {
    /// With as many points as are to be drawn.
    pub trend: &'v Trend,
    /// The level of the baseline.
    pub baseline: Option<&'v Level>,
    /// What happened beside the figures; their numbers are those of [`trend_events`].
    pub events: &'v [TrendEvent],
    /// Whether runs of other loads are drawn.
    pub others: Others,
    /// Where the points lead to.
    pub links: Links,
}

/// Whether the runs of other loads are drawn, hollow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They are.
    Drawn,
    /// They are counted in a sentence.
    Left,
}

/// Returns the drawings of a trend over time: IOPS, and p99 where it is known.
pub fn trend(view: TrendView<'_>) -> String {
    let known: Vec<f64> =
        view.trend.points.iter().filter_map(|point| point.p99_us).map(|p99| p99.value * 1e3).collect();
    let unit = TimeUnit::for_means(&known);
    let in_unit = |us: f64| unit.of_ns(us * 1e3);
    let figure = |figure: FigureDigest| (figure.value, figure.lo.zip(figure.hi));
    let iops = chart(
        view,
        ("Rate", "IOPS"),
        &|point| Some(point.iops),
        &view.trend.iops_changes,
        view.baseline.map(|level| figure(level.iops)),
    );
    let p99 = match known.is_empty() {
        true => String::new(),
        false => chart(
            view,
            ("p99 latency", unit.name()),
            &|point| point.p99_us.map(|p99| scaled(p99, in_unit)),
            &view.trend.p99_changes,
            view.baseline.and_then(|level| level.p99_us).map(|p99| figure(scaled(p99, in_unit))),
        ),
    };
    format!("<div class=\"charts\">{iops}{p99}</div>\n")
}

fn chart(
    view: TrendView<'_>,
    (what, unit): (&str, &str),
    figure: &dyn Fn(&TrendPoint) -> Option<FigureDigest>,
    changes: &[ChangePoint],
    baseline: Option<(f64, Option<(f64, f64)>)>,
) -> String {
    // A section of a page has the name of the test in its heading.
    let name = format!("{} {}", view.trend.test, view.trend.step);
    let title = match view.links {
        Links::Runs => what.to_owned(),
        Links::None => format!("{}: {what}", name.trim_end()),
    };
    let known = |of: &TrendPoint, says: &str| Some(point(of, says, figure(of)?, changes, view.links));
    let points: Vec<Point> = view.trend.points.iter().filter_map(|of| known(of, "")).collect();
    let others = view.trend.others.iter().filter(|_| view.others == Others::Drawn);
    let others: Vec<Point> = others.filter_map(|other| known(&other.point, &other.says)).collect();
    let times = || points.iter().chain(&others).map(|point| point.at_ms);
    let (from_ms, to_ms) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let numbered = (1..).zip(view.events);
    let events = numbered.filter(|(_, event)| (from_ms..=to_ms).contains(&event.at_unix_ms));
    let event = |(number, event): (usize, &TrendEvent)| Event {
        at_ms: event.at_unix_ms,
        number,
        says: event.says.clone(),
    };
    let step = |change: &ChangePoint| Step { at_ms: change.at_unix_ms, says: by(change.ratio) };
    let chart = TrendChart {
        title: &title,
        unit,
        from_ms,
        to_ms,
        changes: changes.iter().map(step).collect(),
        events: events.map(event).collect(),
        points,
        others,
        baseline,
    };
    chart.svg()
}

/// Returns what happened beside the figures, numbered as in the drawings.
pub fn trend_events(events: &[TrendEvent], links: Links) -> String {
    let item = |event: &TrendEvent| {
        let run = match links {
            Links::Runs => format!("<a href=\"/runs/{0}\">{0}</a>", escape(&event.run)),
            Links::None => escape(&event.run),
        };
        format!("<li>{} before run {run} ({})</li>\n", escape(&event.says), number::minute(event.at_unix_ms))
    };
    let list = || format!("<ol class=\"events\">\n{}</ol>\n", events.iter().map(item).collect::<String>());
    match events.len() {
        0 => String::new(),
        1..=EVENTS_OPEN => list(),
        // The drawings come before what happened beside them.
        count => format!(
            "<details><summary>{count} steps of journals, changed versions and notes, numbered as in the \
             drawings</summary>\n{}</details>\n",
            list()
        ),
    }
}

/// Returns what changed at each change of a trend, in sentences.
pub fn trend_changes(trend: &Trend, facts: &[ChangeFacts], beside: Beside<'_>, links: Links) -> String {
    let figures = [("IOPS", &trend.iops_changes), ("p99", &trend.p99_changes)];
    let item = |(figure, change): (&str, &ChangePoint)| {
        let started = number::minute(change.at_unix_ms);
        let run = match links {
            Links::Runs => format!("<a href=\"/runs/{0}\">{0}</a>", escape(&change.run)),
            Links::None => escape(&change.run),
        };
        let is_fall = change.ratio < 1.0;
        let (least, most) = match is_fall {
            true => (change.ratio_hi, change.ratio_lo),
            false => (change.ratio_lo, change.ratio_hi),
        };
        let percent = |ratio: f64| (ratio - 1.0) * if is_fall { -100.0 } else { 100.0 };
        let known = facts.iter().find(|known| known.run == change.run);
        let since = since_run_before(trend, change, beside.all);
        format!(
            "<li><strong>{figure} {} by {:.0} % from run {run} on</strong> ({}; 95 %: {:.1} to {:.1} %). {}</li>\n",
            if is_fall { "fell" } else { "rose" },
            percent(change.ratio),
            escape(&started),
            percent(least),
            percent(most),
            what_changed(known, since.as_deref(), beside.listed)
        )
    };
    let all = figures.iter().flat_map(|(figure, changes)| changes.iter().map(|change| (*figure, change)));
    let items: String = all.map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"changes\">\n{items}</ul>\n") }
}

/// What happened from the run before a change to the first one after it, to runs of other plans too: a step of a
/// journal is of the first run that has it. `None` where the run before is not known.
fn since_run_before<'e>(
    trend: &Trend,
    change: &ChangePoint,
    all: &'e [TrendEvent],
) -> Option<Vec<&'e TrendEvent>> {
    let before_ms = trend.points.iter().find(|point| point.run == change.before)?.started_unix_ms;
    let is_since = |at_ms: u64| before_ms < at_ms && at_ms <= change.at_unix_ms;
    Some(all.iter().filter(|event| is_since(event.at_unix_ms)).collect())
}

/// Assay, its load and this host are in the records.
const NO_OTHER_CHANGE: &str = "The records of both runs show no other change: it is in what they do not hold, the \
    storage itself or who else uses it.";

/// What the records show to have changed, and what happened since the run before, numbered where the page lists it.
fn what_changed(known: Option<&ChangeFacts>, since: Option<&[&TrendEvent]>, listed: &[TrendEvent]) -> String {
    let facts = known.map_or(&[][..], |known| known.facts.as_slice());
    let (named, more) = facts.split_at(facts.len().min(FACTS_MAX));
    let fact = |fact: &FactChange| {
        format!("{} from {} to {}", escape(&fact.what), escape(&fact.before), escape(&fact.after))
    };
    let mut changed: Vec<String> = named.iter().map(fact).collect();
    if let count @ 1.. = more.len() {
        changed.push(format!("and {count} more"));
    }
    // Another version of the kernel or of Assay is an event and a fact.
    let is_named = |event: &TrendEvent| {
        named.iter().any(|fact| event.says.ends_with(&format!(" {} \u{2192} {}", fact.before, fact.after)))
    };
    let event = |event: &&TrendEvent| match listed.iter().position(|known| known == *event) {
        Some(index) => format!("{}, {}", index + 1, escape(&event.says)),
        None => escape(&event.says),
    };
    let happened: Vec<String> =
        since.unwrap_or_default().iter().filter(|event| !is_named(event)).map(event).collect();
    let mut says = match happened.join("; ") {
        none if none.is_empty() => String::new(),
        happened => format!("Since the run before it: {}. ", happened.trim_end_matches('.')),
    };
    match (changed.as_slice(), happened.as_slice(), known.and(since)) {
        ([], [], Some(_)) => {
            says.push_str(NO_OTHER_CHANGE);
        }
        ([], ..) => {}
        (changed, ..) => says.push_str(&format!("What changed with it: {}.", changed.join("; "))),
    }
    says.trim_end().to_owned()
}

/// Returns a point as it is drawn; `says` is what was otherwise in it.
fn point(of: &TrendPoint, says: &str, figure: FigureDigest, changes: &[ChangePoint], links: Links) -> Point {
    let value = number::long(figure.value);
    let when = number::minute(of.started_unix_ms);
    let otherwise = if says.is_empty() { String::new() } else { format!(" ({says})") };
    let says = match (of.runs, figure.lo.zip(figure.hi)) {
        (several, Some((lo, hi))) if several > 1 => {
            format!("{several} runs from {when} on: {value} ({} to {})", number::long(lo), number::long(hi))
        }
        _ => format!("{when}, run {}: {value}{otherwise}", of.run),
    };
    Point {
        at_ms: of.started_unix_ms,
        value: figure.value,
        ends: figure.lo.zip(figure.hi),
        says,
        link: match links {
            Links::Runs => Some(format!("/runs/{}", of.run)),
            Links::None => None,
        },
        is_marked: changes.iter().any(|change| change.run == of.run),
        is_several: of.runs > 1,
    }
}

fn scaled(us: FigureDigest, unit: impl Fn(f64) -> f64) -> FigureDigest {
    FigureDigest { value: unit(us.value), lo: us.lo.map(&unit), hi: us.hi.map(&unit) }
}

/// A change in whole percent, as it stands in a drawing.
fn by(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0).replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happened(says: &str) -> TrendEvent {
        TrendEvent { at_unix_ms: 1, run: "261130-aaaa".into(), says: says.into() }
    }

    fn fact(what: &str, before: &str, after: &str) -> FactChange {
        FactChange { area: "host".into(), what: what.into(), before: before.into(), after: after.into() }
    }

    /// Beside a note "firmware 6.2" the page said that the records show no other change, and so it did where it had
    /// not looked at notes.
    #[test]
    fn a_change_names_what_happened_since_the_run_before() {
        let none = ChangeFacts { run: "261130-aaaa".into(), facts: Vec::new() };
        let (firmware, cable) = (happened("firmware 6.2"), happened("new cable."));
        let listed = [happened("older"), firmware.clone()];
        let says = what_changed(Some(&none), Some(&[&firmware, &cable]), &listed);
        assert_eq!(says, "Since the run before it: 2, firmware 6.2; new cable.");
        let says = what_changed(Some(&none), Some(&[]), &listed);
        assert_eq!(says, NO_OTHER_CHANGE);
        assert_eq!(what_changed(Some(&none), None, &[]), "", "nobody has looked");
        assert_eq!(what_changed(None, Some(&[]), &[]), "");
        let facts = ChangeFacts { facts: vec![fact("host.cpus", "1", "2"); FACTS_MAX + 2], ..none };
        let says = what_changed(Some(&facts), Some(&[&firmware]), &[]);
        let starts = "Since the run before it: firmware 6.2. What changed with it: host.cpus ";
        assert!(says.starts_with(starts), "{says}");
        assert!(says.ends_with("; and 2 more."), "{says}");
    }

    /// "1, kernel 6.18.1 → 6.19.0. What changed with it: host.kernel from 6.18.1 to 6.19.0" read as two changes.
    #[test]
    fn another_version_is_said_once() {
        let facts = vec![fact("host.kernel", "6.18.1", "6.19.0")];
        let known = ChangeFacts { run: "261130-aaaa".into(), facts };
        let kernel = happened("kernel 6.18.1 \u{2192} 6.19.0");
        let says = what_changed(Some(&known), Some(&[&kernel]), std::slice::from_ref(&kernel));
        assert_eq!(says, "What changed with it: host.kernel from 6.18.1 to 6.19.0.");
        let says = what_changed(None, Some(&[&kernel]), std::slice::from_ref(&kernel));
        assert_eq!(says, "Since the run before it: 1, kernel 6.18.1 \u{2192} 6.19.0.");
    }
}
