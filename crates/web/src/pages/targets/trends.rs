//! The trends of a target: in its card, and in full on its own page.

use assay_analysis::trend::Trend;
use assay_report::html::{
    Beside, Links, Others, TrendView, escape, spark, trend, trend_changes, trend_events,
};
use assay_report::{rounded_long, separated};
use assay_results::{baseline_level, facts_of_changes};
use assay_store::Reader;

use super::{Card, encoded};
use crate::answer::Refusal;
use crate::visitor::Fields;

/// Points of a drawing in a card; the page of one target has more.
const POINTS: usize = 40;
const POINTS_OF_ONE: usize = 120;
const DAY_MS: u64 = 86_400_000;
/// Parts of the time that can be chosen: as they stand in addresses, their names, and their days.
const RANGES: [(&str, &str, Option<u64>); 4] = [
    ("30d", "30 days", Some(30)),
    ("6m", "6 months", Some(183)),
    ("1y", "a year", Some(366)),
    ("all", "all", None),
];

/// Returns the trends of a card; while the budget lasts those of several runs are drawn.
pub(super) fn in_card(store: &Reader, of: &Card, budget: &mut usize) -> Result<String, Refusal> {
    let (target, mut drawings) = (of.target(), String::new());
    if target.runs.len() < target.count {
        let (newest, count) = (target.runs.len(), target.count);
        let (newest, count) = (separated(&newest.to_string()), separated(&count.to_string()));
        drawings.push_str(&format!("<p class=\"soft\">Trends of the newest {newest} of {count} runs.</p>\n"));
    }
    let beside = Beside { all: &of.history.events, listed: &[] };
    for of in of.trends() {
        if *budget > 0 && of.points.len() > 2 {
            *budget -= 1;
            let read = if target.runs.len() < target.count { Read::Newest } else { Read::All };
            let shown = Shown { whole: of, part: of.clone(), points: POINTS, others: Others::Left, read };
            drawings.push_str(&section(store, &target.address, &shown, beside)?);
        } else {
            drawings.push_str(&line(of));
        }
    }
    Ok(drawings)
}

/// Returns every trend of one target, in the part of the time that is asked for.
pub(super) fn of_one(store: &Reader, of: &Card, asked: &Fields) -> Result<String, Refusal> {
    if of.trends().is_empty() {
        return Ok("<p>A trend begins with the second run of a plan on this target.</p>\n".to_owned());
    }
    let range = RANGES.iter().find(|(name, ..)| *name == asked.get("range")).unwrap_or(&RANGES[3]);
    let others = if asked.get("others") == "yes" { Others::Drawn } else { Others::Left };
    let last = of.target().runs.first().map_or(0, |run| run.row.started_unix_ms);
    let from = range.2.map_or(0, |days| last.saturating_sub(days * DAY_MS));
    let all = &of.history.events;
    let listed = &all[all.partition_point(|event| event.at_unix_ms < from)..];
    let mut text = choices(&of.target().address, range.0, others, of.trends());
    text.push_str(&trend_events(listed, Links::Runs));
    for of_test in of.trends() {
        let shown = Shown {
            whole: of_test,
            part: of_test.since(from),
            points: POINTS_OF_ONE,
            others,
            read: Read::All,
        };
        text.push_str(&section(store, &of.target().address, &shown, Beside { all, listed })?);
    }
    Ok(text)
}

/// Returns links to other parts of the time, and to the runs of other loads.
fn choices(address: &str, range: &str, others: Others, trends: &[Trend]) -> String {
    let link = |range: &str, others: Others, says: &str, is_current: bool| {
        let others = if others == Others::Drawn { "&amp;others=yes" } else { "" };
        let current = if is_current { " aria-current=\"true\"" } else { "" };
        let address = escape(&encoded(address));
        format!("<a href=\"/targets?target={address}&amp;range={range}{others}\"{current}>{says}</a> ")
    };
    let ranges: String =
        RANGES.iter().map(|(name, says, _)| link(name, others, says, *name == range)).collect();
    let count: usize = trends.iter().map(|trend| trend.others.len()).sum();
    let toggle = match (count, others) {
        (0, _) => String::new(),
        (_, Others::Left) => link(range, Others::Drawn, "Show the runs of other loads, hollow", false),
        (_, Others::Drawn) => link(range, Others::Left, "Hide the runs of other loads", false),
    };
    format!("<nav class=\"choices\" aria-label=\"Time\">Up to the last run: {ranges} {toggle}</nav>\n")
}

/// A trend as it is drawn.
struct Shown<'t> {
    whole: &'t Trend,
    part: Trend,
    /// Most points.
    points: usize,
    others: Others,
    read: Read,
}

/// Which runs of a target a trend was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    All,
    Newest,
}

fn section(store: &Reader, address: &str, shown: &Shown<'_>, beside: Beside<'_>) -> Result<String, Refusal> {
    let of = shown.whole;
    let (condensed, span) = shown.part.condensed(shown.points);
    let baseline = baseline_level(store, address, of)?;
    let view = TrendView {
        trend: &condensed,
        baseline: baseline.as_ref(),
        events: beside.listed,
        others: shown.others,
        links: Links::Runs,
    };
    let drawing = if condensed.points.is_empty() { String::new() } else { trend(view) };
    Ok(format!(
        "<section class=\"trend\">\n<h3>{} <span class=\"soft\">{}</span></h3>\n{}{drawing}{}</section>\n",
        escape(format!("{} {}", of.test, of.step).trim_end()),
        escape(&plan_with_changes(of)),
        sentence(shown, span),
        trend_changes(of, &facts_of_changes(store, of)?, beside, Links::Runs)
    ))
}

/// What is drawn of how many runs.
fn sentence(shown: &Shown<'_>, span: Option<&str>) -> String {
    let number = |count: usize| separated(&count.to_string());
    let (drawn, all) = (shown.part.points.len(), shown.whole.points.len());
    let mut says = match (drawn == all, span) {
        (true, None) => String::new(),
        (true, Some(_)) if shown.read == Read::Newest => format!("The newest {} runs.", number(all)),
        (true, Some(_)) => format!("All {} runs.", number(all)),
        (false, _) => {
            format!("{} of {} runs are drawn; all are searched for changes.", number(drawn), number(all))
        }
    };
    if let Some(span) = span {
        says.push_str(&format!(
            " A point stands for the runs of {span}: their median, in a band from the lowest to the highest."
        ));
    }
    let others = shown.part.others.len();
    if others > 0 {
        let how = match shown.others {
            Others::Drawn => "hollow",
            Others::Left => "not drawn",
        };
        let (runs, are) = if others == 1 { ("run", "is") } else { ("runs", "are") };
        says.push_str(&format!(" {} {runs} of this test with another load {are} {how}.", number(others)));
    }
    if says.is_empty() { says } else { format!("<p class=\"soft\">{}</p>\n", says.trim_start()) }
}

/// The plan, with what the command line changed of it.
fn plan_with_changes(of: &Trend) -> String {
    match of.changed.as_str() {
        "" => of.plan.clone(),
        changed => format!("{} with {changed}", of.plan),
    }
}

/// A trend in a line: the highest of its points is the top.
fn line(of: &Trend) -> String {
    let (condensed, _) = of.condensed(POINTS);
    let name = format!("{} {}", of.test, of.step);
    let top = condensed.points.iter().map(|point| point.iops.value).fold(0.0, f64::max);
    #[expect(clippy::cast_possible_truncation, reason = "a share in [0, 1] of a small drawing")]
    let shares: Vec<f32> = condensed.points.iter().map(|point| (point.iops.value / top) as f32).collect();
    let last = of.points.last().map_or(0.0, |point| point.iops.value);
    let changes = match of.iops_changes.len() + of.p99_changes.len() {
        0 => String::new(),
        count => format!(", <span class=\"sev warning\">{count} changed</span>"),
    };
    format!(
        "<p class=\"trend-line\">{} {} <span class=\"soft\">{}: {} IOPS in the last of {} runs{changes}</span></p>\n",
        spark(&format!("IOPS of {}", name.trim_end()), &shares),
        escape(name.trim_end()),
        escape(&plan_with_changes(of)),
        rounded_long(last),
        of.points.len()
    )
}
