//! Targets: what state each is in, a card for each, and one target with the trend of every test.

mod status;
mod trends;

use std::sync::Arc;

use assay_analysis::quoted;
use assay_analysis::trend::Trend;
use assay_record::Outcome;
use assay_report::held::Held;
use assay_report::html::escape;
use assay_report::{minute, rounded_long, separated};
use assay_results::{LastTest, Stored, TargetHistory, TargetRuns, held, runs_of_baseline};
use assay_spec::Address;
use assay_spec::units::Bytes;
use assay_store::{Baseline, BaselineOf, Checked, ListedRun, Reader};
use axum::extract::{Extension, Query, State};
use axum::response::Response;
use serde_json::Value;

use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

/// Trends that the page of all targets draws in full; of the others it has a line.
const DRAWN_MAX: usize = 8;
/// What the page of all targets is kept as.
const ALL: &str = "targets";
/// Runs of a target that pages of all targets read, the newest: five years of nights. The page of one target has all.
pub(crate) const RUNS_OF_MANY: usize = 1_000;

/// A target with what its pages say of it.
struct Card {
    history: Arc<TargetHistory>,
    /// Its last check, and what that found.
    checked: Option<(Checked, Found)>,
    helds: Vec<BaselineHeld>,
}

impl Card {
    /// Reads what there is beside the runs.
    fn of(app: &App, store: &Reader, history: Arc<TargetHistory>) -> Result<Self, Refusal> {
        let address = &history.target.address;
        let checked = store.checks()?.into_iter().find(|checked| checked.address == *address);
        Ok(Self {
            checked: checked.map(|checked| {
                let found = Found::of(&checked);
                (checked, found)
            }),
            helds: plans_held(app, store, &history.target)?,
            history,
        })
    }

    fn target(&self) -> &TargetRuns {
        &self.history.target
    }

    fn trends(&self) -> &[Trend] {
        &self.history.trends
    }
}

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let known = store.target_addresses()?;
        let (title, body) = match asked.get("target") {
            "" => ("Targets", shared.unwritten(ALL, || all(&shared, store, &known))?),
            one if known.iter().any(|known| known == one) => {
                let key = format!("target {one} {} {}", asked.get("range"), asked.get("others"));
                (one, shared.unwritten(&key, || of_one(&shared, store, &asked))?)
            }
            _ => return Err(Refusal::not_found("This store has no run, check or map of that target.")),
        };
        let body = format!("{}{body}", super::runs::indexing(shared.lacking()));
        Ok(html(Page::of(&visitor, title, Place::Targets, &body).text()))
    })
    .await
}

/// Reads all targets, so that their page is there when somebody asks for it.
pub(crate) fn read_all(app: &App, store: &Reader) -> Result<(), Refusal> {
    let known = store.target_addresses()?;
    app.unwritten(ALL, || all(app, store, &known)).map(|_| ())
}

fn all(app: &App, store: &Reader, known: &[String]) -> Result<String, Refusal> {
    let look = app.known.look(store)?;
    let mut cards: Vec<Card> = known
        .iter()
        .map(|address| Card::of(app, store, app.known.read(store, &look, address, RUNS_OF_MANY)?))
        .collect::<Result<_, _>>()?;
    // What was used last comes first.
    cards.sort_by_key(|card| {
        std::cmp::Reverse(card.target().runs.first().map_or(0, |run| run.row.started_unix_ms))
    });
    let mut budget = DRAWN_MAX;
    let mut text = "<h1>Targets</h1>\n".to_owned();
    if cards.is_empty() {
        text.push_str("<p>No run is stored yet. To make one: <code>assay run SUITE TARGET</code></p>\n");
    } else {
        text.push_str(&status::table(&cards));
    }
    for of in &cards {
        text.push_str(&card(store, of, &mut budget)?);
    }
    Ok(text)
}

fn card(store: &Reader, of: &Card, budget: &mut usize) -> Result<String, Refusal> {
    let target = of.target();
    Ok(format!(
        "<article class=\"target\">\n<h2><a href=\"{0}\">{1}</a></h2>\n{2}{3}<p><a href=\"{0}\">All trends of this \
         target</a> · <a href=\"/runs?target={4}\">its runs</a></p>\n</article>\n",
        link(&target.address),
        escape(&target.address),
        head(store, of)?,
        trends::in_card(store, of, budget)?,
        escape(&encoded(&target.address))
    ))
}

fn of_one(app: &App, store: &Reader, asked: &Fields) -> Result<String, Refusal> {
    let history = app.known.read_whole(store, &*app.known.look(store)?, asked.get("target"))?;
    let of = Card::of(app, store, history)?;
    Ok(format!(
        "<p class=\"tools\"><a href=\"/targets\">All targets</a> {}</p>\n<h1>{}</h1>\n{}<h2>Trends</h2>\n{}",
        super::files::links(&format!("/targets/file?target={}&amp;", escape(&encoded(&of.target().address)))),
        escape(&of.target().address),
        head(store, &of)?,
        trends::of_one(store, &of, asked)?
    ))
}

/// What is known of a target beside its trends.
fn head(store: &Reader, of: &Card) -> Result<String, Refusal> {
    let target = of.target();
    let mut text = String::new();
    let last = target.runs.first().map_or_else(
        || "no run".to_owned(),
        |run| {
            format!(
                "{} {}, the last <a href=\"/runs/{2}\">{2}</a> ({3}, {4})",
                separated(&target.count.to_string()),
                if target.count == 1 { "run" } else { "runs" },
                escape(&run.row.run),
                escape(&run.row.name),
                minute(run.row.started_unix_ms)
            )
        },
    );
    text.push_str(&format!("<p class=\"soft\">{last}</p>\n"));
    text.push_str(&health(&target.address, of.checked.as_ref()));
    text.push_str(&figures(&target.last(), of.checked.as_ref().map(|(_, found)| found)));
    text.push_str(&maps(store, &target.address)?);
    text.push_str(&array(store, target)?);
    for (baseline, held) in &of.helds {
        text.push_str(&baseline_line(baseline, held.as_deref()));
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

impl Found {
    /// Share of its file system that is in use, and the size of that, bytes.
    fn used(&self) -> Option<(f64, u64)> {
        let (size, free) = (self.filesystem_bytes.filter(|size| *size > 0)?, self.free_bytes?);
        Some((size.saturating_sub(free) as f64 / size as f64, size))
    }
}

fn health(address: &str, checked: Option<&(Checked, Found)>) -> String {
    let Some((checked, found)) = checked else {
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
        return format!("<p><span class=\"sev better\">No fault found</span> by the check of {when}.</p>\n");
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
    // The highest whole second of a window of hardly one may be below its mean, and one without has its mean.
    let peak = |second: Option<f64>, mean: f64| Some(second.map_or(mean, |second| second.max(mean)));
    number("IOPS, peak", best(&|last| peak(last.test.iops_max, last.test.iops.value)));
    number("IOPS, mean", best(&|last| Some(last.test.iops.value)));
    number("MiB/s, peak", best(&|last| peak(last.test.mib_per_s_max, last.test.mib_per_s.value)));
    number("MiB/s, mean", best(&|last| Some(last.test.mib_per_s.value)));
    if let Some(found) = found {
        match (found.used(), found.size_bytes) {
            (Some((share, size)), _) => {
                let share = share * 100.0;
                items.push(("Used", format!("{share:.0} % <small>of {}</small>", Bytes(size).rounded())));
            }
            (None, Some(size)) => items.push(("Size", Bytes(size).rounded())),
            (None, None) => {}
        }
    }
    let ratios: Vec<f64> = last.iter().filter_map(|last| last.test.expected_ratio).collect();
    if let (Some(low), Some(high)) =
        (ratios.iter().copied().reduce(f64::min), ratios.iter().copied().reduce(f64::max))
    {
        items.push(("Of expected", percent_between(low, high)));
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

/// `97 %`, or `61 to 97 %` where both ends are written differently.
fn percent_between(low: f64, high: f64) -> String {
    let whole = |share: f64| format!("{:.0}", share * 100.0);
    let (low, high) = (whole(low), whole(high));
    if low == high { format!("{low} %") } else { format!("{low} to {high} %") }
}

/// What is said of the maps of a target.
fn maps(store: &Reader, target: &str) -> Result<String, Refusal> {
    let all = store.maps(target)?;
    let Some(newest) = all.first() else { return Ok(String::new()) };
    let count = match all.len() {
        1 => "A map".to_owned(),
        count => format!("{count} maps, the newest"),
    };
    Ok(format!(
        "<p>{count} of {}: <a href=\"{}\">latency over the addresses</a></p>\n",
        minute(*newest),
        link_to_map(target, *newest)
    ))
}

/// Returns the address of the page of a map.
pub(super) fn link_to_map(target: &str, made_unix_ms: u64) -> String {
    escape(&format!("/map?target={}&made={made_unix_ms}", encoded(target)))
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
    // The run is the second side of the comparison.
    let run = held.and_then(|held| held.comparison.sides.get(1)?.runs.first());
    let run = run.map_or_else(String::new, |run| format!(" (<a href=\"/runs/{0}\">{0}</a>)", escape(run)));
    let (class, says) = match held {
        Some(held) if held.is_worse() => ("sev critical", held.says()),
        Some(held) => ("", held.says()),
        None => ("soft", "no later run yet".to_owned()),
    };
    format!(
        "<p>Baseline of {}: {name}, set {}: <span class=\"{class}\">{}</span>{run}</p>\n",
        escape(&baseline.plan),
        minute(baseline.set_unix_ms),
        escape(&says)
    )
}

/// A baseline, with the last run of its plan compared with it.
type BaselineHeld = (Baseline, Option<Arc<Held>>);

/// Returns the baselines of a target, and how the last complete run of each plan compares with it. Reading the runs of
/// both takes time, so that the answer is kept until another run or baseline takes its place.
pub(crate) fn plans_held(
    app: &App,
    store: &Reader,
    target: &TargetRuns,
) -> Result<Vec<BaselineHeld>, Refusal> {
    let mut all = Vec::new();
    for baseline in store.baselines()?.into_iter().filter(|baseline| baseline.address == target.address) {
        let of_baseline = runs_of_baseline(store, &baseline)?;
        let is_later = |run: &&Arc<ListedRun>| {
            let is_complete = run.row.status == Some(Outcome::Done);
            run.row.name == baseline.plan && is_complete && !of_baseline.contains(&run.row.run)
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

/// Returns the address of a target's page.
pub(super) fn link(address: &str) -> String {
    escape(&format!("/targets?target={}", encoded(address)))
}

/// Returns a value as it stands in the query of an address.
pub(crate) fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use assay_analysis::compare::Effective;
    use assay_record::{FigureDigest, TestDigest};
    use assay_store::RunRow;

    use super::*;

    #[test]
    fn a_range_of_one_number_is_that_number() {
        assert_eq!(percent_between(0.969, 0.9701), "97 %");
        assert_eq!(percent_between(0.61, 0.97), "61 to 97 %");
    }

    /// The peak of all tests was below their mean, as the fastest had no whole second.
    #[test]
    fn a_peak_is_never_below_the_mean() {
        let row = RunRow {
            run: "261130-aaaa".to_owned(),
            name: String::new(),
            status: None,
            is_running: false,
            label: None,
            note: None,
            started_unix_ms: 0,
            targets: Vec::new(),
            lost: None,
            host: None,
            unreadable: None,
        };
        let run = ListedRun { row, digest: None };
        let test = |iops: f64, iops_max| TestDigest {
            iops: FigureDigest { value: iops, lo: None, hi: None },
            iops_max,
            ..TestDigest::default()
        };
        let tests = [test(2_000.0, Some(2_500.0)), test(3_700.0, None)];
        let last = tests.iter().map(|test| LastTest { run: &run, test, effective: Effective::default() });
        let html = figures(&last.collect::<Vec<_>>(), None);
        assert!(html.contains("<dt>IOPS, peak</dt><dd>3,700</dd>"), "{html}");
    }
}
