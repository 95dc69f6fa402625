//! Targets: a card for each, and one target with the trend of every test.

use std::sync::Arc;

use assay_analysis::quoted;
use assay_analysis::trend::{Trend, TrendPoint};
use assay_report::held::Held;
use assay_report::html::{ChangeFacts, Links, escape, spark, trend, trend_changes};
use assay_report::{minute, rounded_long};
use assay_results::{LastTest, Stored, TargetRuns, facts_of_changes, held, runs_of_baseline};
use assay_spec::Address;
use assay_spec::units::Bytes;
use assay_store::{Baseline, BaselineOf, Checked, Reader, target_key};
use axum::extract::{Extension, Query, State};
use axum::response::Response;
use serde_json::Value;

use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

/// Trends that the page of all targets draws in full; of the others it has a line.
const DRAWN_MAX: usize = 8;
/// Runs of a target that pages of all targets read, the newest; the page of one target has all.
pub(crate) const RUNS_OF_MANY: usize = 400;
/// Points of a drawing there; the page of one target has more.
const POINTS: usize = 40;
const POINTS_OF_ONE: usize = 120;

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query).get("target").to_owned();
    if !app.options.store.exists() {
        return Err(Refusal::no_store());
    }
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let known = store.target_addresses()?;
        let (title, body) = match asked.as_str() {
            "" => ("Targets", all(&shared, store, &known)?),
            one if known.iter().any(|known| known == one) => (one, of_one(&shared, store, one)?),
            _ => return Err(Refusal::not_found("No run of this store used that target.")),
        };
        Ok(html(Page::of(&visitor, title, Place::Targets, &body).text()))
    })
    .await
}

fn all(app: &App, store: &Reader, known: &[String]) -> Result<String, Refusal> {
    let mut targets: Vec<TargetRuns> = known
        .iter()
        .map(|address| TargetRuns::read(store, address, RUNS_OF_MANY))
        .collect::<Result<_, _>>()?;
    // What was used last comes first.
    targets.sort_by_key(|target| {
        std::cmp::Reverse(target.runs.first().map_or(0, |run| run.row.started_unix_ms))
    });
    let mut budget = DRAWN_MAX;
    let mut text = String::from("<h1>Targets</h1>\n");
    if targets.is_empty() {
        text.push_str("<p>No run is stored yet. To make one: <code>assay run SUITE TARGET</code></p>\n");
    }
    for target in &targets {
        text.push_str(&card(app, store, target, &mut budget)?);
    }
    Ok(text)
}

fn card(app: &App, store: &Reader, target: &TargetRuns, budget: &mut usize) -> Result<String, Refusal> {
    let head = head(app, store, target)?;
    let trends = target.trends();
    let mut drawings = String::new();
    if target.runs.len() < target.count {
        let (newest, count) = (target.runs.len(), target.count);
        drawings.push_str(&format!("<p class=\"soft\">Trends of the newest {newest} of {count} runs.</p>\n"));
    }
    for of in &trends {
        let (condensed, each) = of.condensed(POINTS);
        if *budget > 0 && of.points.len() > 2 {
            *budget -= 1;
            let facts = facts_of_changes(store, of)?;
            drawings.push_str(&drawn(
                (&condensed, each),
                of,
                &facts,
                baseline_point(store, target, of)?.as_ref(),
            ));
        } else {
            drawings.push_str(&line(&condensed, of));
        }
    }
    Ok(format!(
        "<article class=\"target\">\n<h2><a href=\"{0}\">{1}</a></h2>\n{head}{drawings}<p><a href=\"{0}\">All trends \
         of this target</a> · <a href=\"/runs?target={2}\">its runs</a></p>\n</article>\n",
        link(&target.address),
        escape(&target.address),
        escape(&encoded(&target.address))
    ))
}

fn of_one(app: &App, store: &Reader, address: &str) -> Result<String, Refusal> {
    let target = TargetRuns::read(store, address, usize::MAX)?;
    let mut text = format!(
        "<p><a href=\"/targets\">All targets</a></p>\n<h1>{}</h1>\n{}",
        escape(address),
        head(app, store, &target)?
    );
    let trends = target.trends();
    if trends.is_empty() {
        text.push_str("<p>A trend begins with the second run of a plan on this target.</p>\n");
    }
    for of in &trends {
        let (condensed, each) = of.condensed(POINTS_OF_ONE);
        let facts = facts_of_changes(store, of)?;
        text.push_str(&drawn((&condensed, each), of, &facts, baseline_point(store, &target, of)?.as_ref()));
    }
    Ok(text)
}

/// What is known of a target beside its trends.
fn head(app: &App, store: &Reader, target: &TargetRuns) -> Result<String, Refusal> {
    let mut text = String::new();
    let last = target.runs.first().map_or_else(
        || "no run".to_owned(),
        |run| {
            format!(
                "{} {}, the last <a href=\"/runs/{2}\">{2}</a> ({3}, {4})",
                target.count,
                if target.count == 1 { "run" } else { "runs" },
                escape(&run.row.run),
                escape(&run.row.name),
                minute(run.row.started_unix_ms)
            )
        },
    );
    text.push_str(&format!("<p class=\"soft\">{last}</p>\n"));
    let checked = store.checks()?.into_iter().find(|checked| checked.address == target.address);
    let found = checked.as_ref().map(Found::of);
    text.push_str(&health(&target.address, checked.as_ref(), found.as_ref()));
    text.push_str(&figures(&target.last(), found.as_ref()));
    text.push_str(&array(store, target)?);
    for (baseline, held) in plans_held(app, store, target)? {
        text.push_str(&baseline_line(&baseline, held.as_deref()));
    }
    Ok(text)
}

/// What a stored check says.
pub(crate) struct Found {
    /// Its faults, a sentence each.
    pub(crate) faults: Vec<String>,
    pub(crate) size_bytes: Option<u64>,
    /// Free space of its file system, bytes.
    pub(crate) free_bytes: Option<u64>,
    /// Size of its file system, bytes.
    filesystem_bytes: Option<u64>,
}

impl Found {
    pub(crate) fn of(checked: &Checked) -> Self {
        // What a later version wrote otherwise is not shown.
        let document: Value = serde_json::from_str(&checked.body).unwrap_or_default();
        let says = |fault: &Value| {
            let text = |name: &str| fault[name].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("says"), text("next")).trim_end().to_owned()
        };
        let faults = document["path_faults"].as_array().into_iter().flatten().map(says).collect();
        let filesystem = &document["filesystem"];
        Self {
            faults,
            size_bytes: document["size_bytes"].as_u64().filter(|bytes| *bytes > 0),
            free_bytes: filesystem["free_bytes"].as_u64(),
            filesystem_bytes: filesystem["size_bytes"].as_u64(),
        }
    }
}

fn health(address: &str, checked: Option<&Checked>, found: Option<&Found>) -> String {
    let Some((checked, found)) = checked.zip(found) else {
        // There is nothing to check of a target that exists in this program alone.
        if matches!(address.parse(), Ok(Address::Null { .. } | Address::Sim { .. })) {
            return String::new();
        }
        return format!(
            "<p class=\"soft\">Not checked yet. To check it: <code>assay check {}</code></p>\n",
            escape(&quoted(address))
        );
    };
    let when = minute(checked.checked_unix_ms);
    if found.faults.is_empty() {
        return format!(
            "<p><span class=\"state running\">No fault found</span> by the check of {when}.</p>\n"
        );
    }
    let items: String = found.faults.iter().map(|says| format!("<li>{}</li>\n", escape(says))).collect();
    let (count, word) = (found.faults.len(), if found.faults.len() == 1 { "fault" } else { "faults" });
    format!(
        "<p><span class=\"sev critical\">{count} {word}</span> found by the check of {when}:</p>\n<ul>\n{items}</ul>\n"
    )
}

/// Peak and mean of the last results, the best test of each, and how full the storage is.
fn figures(last: &[LastTest<'_>], found: Option<&Found>) -> String {
    let best = |of: &dyn Fn(&LastTest<'_>) -> Option<f64>| {
        last.iter()
            .filter_map(of)
            .fold(None, |best: Option<f64>, value| Some(best.map_or(value, |b| b.max(value))))
    };
    let mut items: Vec<(&str, String)> = Vec::new();
    let mut number =
        |title, value: Option<f64>| items.extend(value.map(|value| (title, rounded_long(value))));
    // The highest whole second of a window of hardly one may be below its mean.
    let peak = |second: Option<f64>, mean: f64| second.map(|second| second.max(mean));
    number("IOPS, peak", best(&|last| peak(last.test.iops_max, last.test.iops.value)));
    number("IOPS, mean", best(&|last| Some(last.test.iops.value)));
    number("MiB/s, peak", best(&|last| peak(last.test.mib_per_s_max, last.test.mib_per_s.value)));
    number("MiB/s, mean", best(&|last| Some(last.test.mib_per_s.value)));
    if let Some(found) = found {
        match (found.filesystem_bytes, found.free_bytes, found.size_bytes) {
            (Some(size), Some(free), _) if size > 0 => {
                let used = size.saturating_sub(free);
                let share = used as f64 / size as f64 * 100.0;
                items.push(("Used", format!("{share:.0} % <small>of {}</small>", Bytes(size).rounded())));
            }
            (_, _, Some(size)) => items.push(("Size", Bytes(size).rounded())),
            _ => {}
        }
    }
    let ratios: Vec<f64> = last.iter().filter_map(|last| last.test.expected_ratio).collect();
    if let (Some(low), Some(high)) =
        (ratios.iter().copied().reduce(f64::min), ratios.iter().copied().reduce(f64::max))
    {
        items.push(("Of expected", format!("{:.0} to {:.0} %", low * 100.0, high * 100.0)));
    }
    if items.is_empty() {
        return String::new();
    }
    let items: String =
        items.iter().map(|(title, value)| format!("<div><dt>{title}</dt><dd>{value}</dd></div>\n")).collect();
    format!(
        "<dl class=\"figures\">\n{items}</dl>\n<p class=\"soft\">The best test of the last complete results; a peak is \
         the highest second.</p>\n"
    )
}

fn array(store: &Reader, target: &TargetRuns) -> Result<String, Refusal> {
    let Some(text) = store.target_array(&target.address)? else { return Ok(String::new()) };
    let title = assay_model::array::parse_stored("store", &text)
        .map_or_else(|error| error.to_string(), |array| array.title);
    Ok(format!(
        "<p>On {}. <a href=\"/predict?of={}\">Predict changes of this array</a></p>\n",
        escape(&title),
        escape(&encoded(&target.address))
    ))
}

fn baseline_line(baseline: &Baseline, held: Option<&Held>) -> String {
    let name = match &baseline.of {
        BaselineOf::Run(run) => format!("run <a href=\"/runs/{0}\">{0}</a>", escape(run)),
        BaselineOf::Label(label) => format!("runs labelled {}", escape(label)),
    };
    let (class, says) = match held {
        Some(held) if held.is_worse() => ("sev critical", held.says()),
        Some(held) => ("", held.says()),
        None => ("soft", "no later run yet".to_owned()),
    };
    format!(
        "<p>Baseline of {}: {name}, set {}: <span class=\"{class}\">{}</span></p>\n",
        escape(&baseline.plan),
        minute(baseline.set_unix_ms),
        escape(&says)
    )
}

/// A baseline, with the last run of its plan compared with it.
type BaselineHeld = (Baseline, Option<Arc<Held>>);

/// Returns the baselines of a target, and how the last run of each plan compares with it. Reading the runs of both
/// takes time, so that the answer is kept until another run or baseline takes its place.
pub(crate) fn plans_held(
    app: &App,
    store: &Reader,
    target: &TargetRuns,
) -> Result<Vec<BaselineHeld>, Refusal> {
    let mut all = Vec::new();
    for baseline in store.baselines()?.into_iter().filter(|baseline| baseline.address == target.address) {
        let of_baseline = runs_of_baseline(store, &baseline)?;
        let is_later = |run: &&assay_store::ListedRun| {
            run.row.name == baseline.plan && run.row.status.is_some() && !of_baseline.contains(&run.row.run)
        };
        let held = match target.runs.iter().find(is_later) {
            Some(run) => {
                let key = format!("{} {baseline:?}", run.row.run);
                app.held(&key, || {
                    let stored = Stored::read_extract(store, &run.row.run)?;
                    Ok(held(store, &stored.header, vec![stored.result_set()])?)
                })?
            }
            None => None,
        };
        all.push((baseline, held));
    }
    Ok(all)
}

/// Returns the last complete result of the baseline in a test, for its level in the drawing.
fn baseline_point(store: &Reader, target: &TargetRuns, of: &Trend) -> Result<Option<TrendPoint>, Refusal> {
    let baselines = store.baselines()?;
    let is_of =
        |baseline: &&Baseline| baseline.plan == of.plan && target_key(&baseline.address) == target.address;
    let Some(baseline) = baselines.iter().find(is_of) else { return Ok(None) };
    let runs = runs_of_baseline(store, baseline)?;
    Ok(of.points.iter().find(|point| runs.contains(&point.run)).cloned())
}

/// A trend, drawn with points that stand for `each` runs in a row.
fn drawn(
    (condensed, each): (&Trend, usize),
    of: &Trend,
    facts: &[ChangeFacts],
    baseline: Option<&TrendPoint>,
) -> String {
    let count = of.points.len();
    let runs = match each {
        1 => String::new(),
        each => format!(
            "<p class=\"soft\">All {count} runs: a point is the median of {each} in a row, its line goes from the \
             lowest to the highest, and its link leads to the first.</p>\n"
        ),
    };
    format!(
        "<section class=\"trend\">\n<h3>{} <span class=\"soft\">{}</span></h3>\n{runs}{}{}</section>\n",
        escape(format!("{} {}", of.test, of.step).trim_end()),
        escape(&plan_with_changes(of)),
        trend(condensed, baseline, Links::Runs),
        trend_changes(of, facts, Links::Runs)
    )
}

/// The plan, with what the command line changed of it.
fn plan_with_changes(of: &Trend) -> String {
    match of.changed.as_str() {
        "" => of.plan.clone(),
        changed => format!("{} with {changed}", of.plan),
    }
}

/// A trend in a line: the highest of its points is the top.
fn line(condensed: &Trend, of: &Trend) -> String {
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
        escape(&of.plan),
        rounded_long(last),
        of.points.len()
    )
}

/// Returns the address of a target's page.
fn link(address: &str) -> String {
    escape(&format!("/targets?target={}", encoded(address)))
}

/// Returns a value as it stands in the query of an address.
pub(crate) fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
