//! Predict: an array as sliders, and what a suite is expected to give on it.
//!
//! Everything is a form of method GET, so that it works without script and a setting is an address that can be kept.
//! With script the answer is requested as the sliders move: by the closed form at once, and simulated, with p99, when
//! they rest. A simulation takes a second of CPU time, so that one is made at a time, and none while a run goes on.

use std::sync::Arc;

use assay_model::array::{Array, LinkRate, parse, set, shipped};
use assay_model::facts::usable_bytes;
use assay_model::from_plan::{Extent, predict_step, workloads};
use assay_model::predict::Engines;
use assay_model::quantity::Quantity;
use assay_model::resolved::Tables;
use assay_report::html::{self as report, escape};
use assay_report::prediction::{self, Expectation};
use assay_spec::suites::{SUITES, suite};
use assay_spec::units::{Bytes, GIB};
use assay_spec::{Overrides, Plan, PlanFile};
use axum::extract::{Extension, Query, State};
use axum::response::Response;
use serde_json::Value;

use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

/// The array before somebody has chosen one, and the suite.
const ARRAY: &str = "nas-4bay";
const SUITE: &str = "vmware";
/// The part of the array that tests use: that of published forum tables.
const SPAN: Bytes = Bytes(4 * GIB);
/// Most steps that are simulated for a page: each takes some ten milliseconds.
const SIMULATED_MAX: usize = 64;
/// Most disks and links that sliders reach; an array with more moves its own slider.
const DISKS_MAX: f64 = 48.0;
const LINKS_MAX: f64 = 8.0;

const LEVELS: [&str; 11] = ["single", "0", "1", "10", "5", "6", "50", "60", "raidz1", "raidz2", "raidz3"];
const PROTOCOLS: [&str; 5] = ["local", "sas", "fc", "iscsi", "nfs"];
const POLICIES: [&str; 4] = ["fixed", "rr", "least-queue", "hash"];
const RR_IOS: [&str; 5] = ["1", "10", "100", "1000", "10000"];
const CACHES: [&str; 8] = ["none", "256MiB", "512MiB", "1GiB", "2GiB", "4GiB", "8GiB", "16GiB"];

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let chosen = chosen(&app, &asked).await?;
    let body = format!(
        "<h1>Predict</h1>\n{}<p id=\"says\" class=\"hidden\" role=\"status\"></p>\n<div id=\"answer\">\n{}</div>\n",
        form(&asked, &chosen),
        answered(&app, &asked, &chosen, Depth::Simulated).await?
    );
    Ok(html(Page::of(&visitor, "Predict", Place::Predict, &body).text()))
}

/// Answers with the prediction alone, as the sliders move.
pub(crate) async fn part(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let chosen = chosen(&app, &asked).await?;
    let depth = if asked.get("simulated").is_empty() { Depth::ClosedForm } else { Depth::Simulated };
    Ok(html(answered(&app, &asked, &chosen, depth).await?.to_string()))
}

/// How a prediction is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// In milliseconds, without p99 and without jobs side by side.
    ClosedForm,
    /// As `assay predict` does.
    Simulated,
    /// The closed form, because a run goes on.
    SparesRun,
}

/// What is asked, as the answer depends on it and not as it was typed.
#[derive(Debug)]
struct Question {
    /// With the changes.
    array: Array,
    title: String,
    changes: String,
    suite: &'static str,
    plan: Plan,
}

/// Returns what is expected, or why nothing can be. A simulated answer is the same for ever and is made once: who asks
/// again neither waits for the simulations of others nor for the end of a run.
async fn answered(
    app: &Arc<App>,
    asked: &Fields,
    chosen: &Chosen,
    depth: Depth,
) -> Result<Arc<String>, Refusal> {
    let question = match question(asked, chosen) {
        Ok(question) => question,
        Err(says) => return Ok(Arc::new(format!("<p class=\"banner\">{}</p>\n", escape(&says)))),
    };
    if depth != Depth::Simulated || question.steps() > SIMULATED_MAX {
        return aside(move || Arc::new(answer(&question, depth))).await;
    }
    let key = question.key();
    if let Some(known) = app.prediction(&key) {
        return Ok(known);
    }
    let _turn = app.simulations.acquire().await.map_err(|_| failed())?;
    // Who waited behind the same question has its answer.
    if let Some(known) = app.prediction(&key) {
        return Ok(known);
    }
    let is_running =
        app.options.store.exists() && app.with_store(|store| Ok(!store.running()?.is_empty())).await?;
    if is_running {
        return aside(move || Arc::new(answer(&question, Depth::SparesRun))).await;
    }
    let shared = Arc::clone(app);
    aside(move || shared.keep_prediction(key, answer(&question, Depth::Simulated))).await
}

/// Makes an answer aside from other requests.
async fn aside(make: impl FnOnce() -> Arc<String> + Send + 'static) -> Result<Arc<String>, Refusal> {
    tokio::task::spawn_blocking(make).await.map_err(|_| failed())
}

fn failed() -> Refusal {
    Refusal::internal("the prediction failed")
}

/// The array before sliders move it, and where it comes from.
struct Chosen {
    array: Array,
    /// The target whose own array it is; empty for one that ships.
    target: String,
    /// Targets with an array of their own.
    targets: Vec<String>,
}

async fn chosen(app: &Arc<App>, asked: &Fields) -> Result<Chosen, Refusal> {
    let target = asked.get("of").to_owned();
    let own = match app.options.store.exists() {
        true => app.with_store(|store| Ok(store.target_arrays()?)).await?,
        false => Vec::new(),
    };
    let targets = own.iter().map(|(address, _)| address.clone()).collect();
    if let Some((_, text)) = own.iter().find(|(address, _)| *address == target) {
        let array = parse("the target's array", text).map_err(|error| Refusal::bad(error.to_string()))?;
        return Ok(Chosen { array, target, targets });
    }
    let name = Some(asked.get("array")).filter(|name| !name.is_empty()).unwrap_or(ARRAY);
    let array = shipped::named(name)
        .ok_or_else(|| Refusal::not_found("No array of that name ships with Assay."))?
        .map_err(|error| Refusal::internal(error.to_string()))?;
    Ok(Chosen { array, target: String::new(), targets })
}

/// Returns the changes that sliders ask for, as [`set`] takes them. A field that was not moved stays as the array has
/// it, with its range.
fn changes(asked: &Fields, array: &Array) -> String {
    let disks = number(&array.raid.disks);
    let links = number(&array.paths.count);
    let fields = [
        ("disks", "raid.disks", disks),
        ("level", "raid.level", level_of(array)),
        ("protocol", "protocol.kind", protocol_of(array)),
        ("link", "link.rate", array.link.rate.name().into_owned()),
        ("links", "paths.count", links),
        ("policy", "paths.policy", policy_of(array)),
        ("rr_ios", "paths.rr_ios", number(&array.paths.rr_ios)),
        ("cache", "controller.write_back", cache_of(array)),
    ];
    let moved = fields.iter().filter_map(|(field, name, own)| {
        let value = asked.get(field).trim();
        (!value.is_empty() && value != own)
            .then(|| format!("{name}={}", value.replace([' ', ',', ';', '='], "")))
    });
    moved.collect::<Vec<_>>().join(" ")
}

fn number(quantity: &Quantity) -> String {
    format!("{}", quantity.value)
}

/// Returns a word of the array's own text: what it is called in a file.
fn written(array: &Array, table: &str, key: &str) -> String {
    let text = assay_model::array::to_toml(array);
    let part = text.split(&format!("[{table}]")).nth(1).unwrap_or_default();
    let part = part.split("\n[").next().unwrap_or_default();
    let line = part.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    let value = line.unwrap_or_default().trim();
    // A number with its range is `{ value = 4, … }`.
    let value =
        value.split_once("value = ").map_or(value, |(_, rest)| rest.split([',', '}']).next().unwrap_or(rest));
    value.trim().trim_matches('"').to_owned()
}

fn level_of(array: &Array) -> String {
    written(array, "raid", "level")
}

fn protocol_of(array: &Array) -> String {
    written(array, "protocol", "kind")
}

fn policy_of(array: &Array) -> String {
    written(array, "paths", "policy")
}

fn cache_of(array: &Array) -> String {
    match &array.controller.write_back {
        Some(cache) => Bytes(whole(cache.value)).to_string(),
        None => "none".to_owned(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in bytes, below 2^53")]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

fn form(asked: &Fields, chosen: &Chosen) -> String {
    let array = &chosen.array;
    let value =
        |field: &str, own: String| Some(asked.get(field).to_owned()).filter(|v| !v.is_empty()).unwrap_or(own);
    let arrays: Vec<&str> = shipped::FILES.iter().map(|(name, _)| *name).collect();
    let suites: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let name = if chosen.target.is_empty() { array.name.clone() } else { String::new() };
    let links: Vec<&str> = LinkRate::NAMES.iter().map(|(name, _)| *name).collect();
    let mut targets: Vec<&str> = vec![""];
    targets.extend(chosen.targets.iter().map(String::as_str));
    let disks_max = DISKS_MAX.max(array.raid.disks.value * 2.0);
    let mut text = String::from(
        "<form id=\"predict\" class=\"predict\" method=\"get\" action=\"/predict\" data-part=\"/predict/part\">\n",
    );
    text.push_str("<div class=\"filters\">\n");
    text.push_str(&select("array", "Array", &arrays, &name));
    if targets.len() > 1 {
        text.push_str(&select("of", "or the array of a target", &targets, &chosen.target));
    }
    text.push_str(&select("plan", "Suite", &suites, &value("plan", SUITE.to_owned())));
    text.push_str("<noscript><button>Use this array</button></noscript>\n</div>\n<div class=\"sliders\">\n");
    text.push_str(&slider("disks", "Disks", (1.0, disks_max), &value("disks", number(&array.raid.disks))));
    text.push_str(&select("level", "RAID level", &LEVELS, &value("level", level_of(array))));
    text.push_str(&select("protocol", "Protocol", &PROTOCOLS, &value("protocol", protocol_of(array))));
    text.push_str(&select("link", "Link", &links, &value("link", array.link.rate.name().into_owned())));
    text.push_str(&slider("links", "Links", (1.0, LINKS_MAX), &value("links", number(&array.paths.count))));
    text.push_str(&select("policy", "Paths", &POLICIES, &value("policy", policy_of(array))));
    text.push_str(&select(
        "rr_ios",
        "I/Os before the next path",
        &RR_IOS,
        &value("rr_ios", number(&array.paths.rr_ios)),
    ));
    text.push_str(&select("cache", "Write-back cache", &CACHES, &value("cache", cache_of(array))));
    text.push_str("</div>\n<noscript><button>Predict</button></noscript>\n</form>\n");
    text
}

/// A field with a few values, and the array's own where it is another one.
fn select(name: &str, title: &str, values: &[&str], chosen: &str) -> String {
    let own = (!values.contains(&chosen)).then_some(chosen);
    let option = |value: &str| {
        let selected = if value == chosen { " selected" } else { "" };
        let shown = if value.is_empty() { "–" } else { value };
        format!("<option value=\"{}\"{selected}>{}</option>", escape(value), escape(shown))
    };
    let options: String = own.into_iter().chain(values.iter().copied()).map(option).collect();
    format!("<label>{title} <select name=\"{name}\">{options}</select></label>\n")
}

fn slider(name: &str, title: &str, (low, high): (f64, f64), value: &str) -> String {
    format!(
        "<label>{title} <span class=\"slide\"><input type=\"range\" name=\"{name}\" min=\"{low}\" max=\"{high}\" \
         step=\"1\" value=\"{0}\"><output>{0}</output></span></label>\n",
        escape(value)
    )
}

impl Question {
    /// Returns a name that no other question has.
    fn key(&self) -> String {
        format!("{:?}", (self.suite, &self.title, &self.changes, &self.array))
    }

    fn steps(&self) -> usize {
        self.plan.tests.iter().map(|test| test.steps.len()).sum()
    }
}

/// Returns what is asked, or why it has no answer.
fn question(asked: &Fields, chosen: &Chosen) -> Result<Question, String> {
    let mut array = chosen.array.clone();
    let changes = changes(asked, &array);
    set(&mut array, &changes).map_err(|error| error.to_string())?;
    if usable_bytes(&array) < SPAN.0 as f64 {
        return Err(format!("This array holds less than {}.", SPAN.rounded()));
    }
    let name = Some(asked.get("plan")).filter(|name| !name.is_empty()).unwrap_or(SUITE);
    let (suite, plan) = plan(name)?;
    Ok(Question { array, title: chosen.array.title.clone(), changes, suite, plan })
}

fn answer(question: &Question, depth: Depth) -> String {
    let Question { array, title, changes, plan, .. } = question;
    let steps = question.steps();
    let is_simulated = depth == Depth::Simulated && steps <= SIMULATED_MAX;
    let (rows, left_out) = rows(array, plan, if is_simulated { Engines::FULL } else { Engines::Closed });
    let changed = match changes.as_str() {
        "" => "as described".to_owned(),
        changes => format!("with {}", escape(&changes.replace(' ', ", "))),
    };
    let left_out = match left_out {
        0 => String::new(),
        count => format!(
            "<p class=\"soft\">{count} {} with jobs side by side left out: only a simulation answers them.</p>\n",
            if count == 1 { "step is" } else { "steps are" }
        ),
    };
    let span = SPAN.rounded();
    let how = match depth {
        _ if is_simulated => format!("Simulated, on the first {span} of the array, as assay predict does."),
        Depth::ClosedForm => format!(
            "By the closed form, on the first {span} of the array. The simulation, with p99, follows when the \
             sliders rest."
        ),
        Depth::SparesRun => format!(
            "By the closed form, on the first {span} of the array, without p99: a run goes on, and a simulation would \
             take CPU time from it."
        ),
        Depth::Simulated => format!(
            "By the closed form, on the first {span} of the array, without p99: this suite has {steps} steps, and \
             {SIMULATED_MAX} are simulated at most. assay predict simulates all."
        ),
    };
    format!(
        "<h2>{} on {}, {changed}</h2>\n{}{left_out}<p class=\"soft\">{how}</p>\n",
        escape(&plan.name),
        escape(title),
        // The definitions are on a page of their own.
        report::prediction(&rows).replace("href=\"#m-", "href=\"/methods#m-")
    )
}

/// Returns what an array is expected to give with a plan, by the closed form.
pub(crate) fn expected(array: &Array, plan: &Plan) -> String {
    let (rows, _) = rows(array, plan, Engines::Closed);
    report::prediction(&rows).replace("href=\"#m-", "href=\"/methods#m-")
}

/// Returns what the closed form expects of an array that ships under a suite, as a document.
pub(crate) fn document(array: &str, suite: &str) -> Result<Value, Refusal> {
    let found = shipped::named(array).transpose().map_err(|error| Refusal::internal(error.to_string()))?;
    let array = found.ok_or_else(|| Refusal::not_found("There is no array of that name."))?;
    let (_, plan) = plan(suite).map_err(Refusal::bad)?;
    let (rows, _) = rows(&array, &plan, Engines::Closed);
    let page = prediction::Page { array: &array, plan: &plan.name, span_bytes: SPAN.0, rows: &rows };
    Ok(prediction::document(page))
}

/// Returns a suite by its own name, and its plan.
fn plan(name: &str) -> Result<(&'static str, Plan), String> {
    let suite = suite(name).ok_or_else(|| format!("no suite is called {name}"))?;
    let file = PlanFile::parse(name, suite.text).map_err(|error| error.to_string())?;
    let plan = file.resolve(&Overrides::default()).map_err(|error| error.to_string())?;
    Ok((suite.name, plan))
}

/// Returns the steps, and the number of those that are left out: those with several jobs, by the closed form.
fn rows(array: &Array, plan: &Plan, engines: Engines) -> (Vec<Expectation>, usize) {
    let mut tables = Tables::default();
    let mut rows = Vec::new();
    let mut left_out = 0;
    for test in &plan.tests {
        for step in &test.steps {
            let loads = workloads(&test.name, plan.semantics, step, Extent::outer(SPAN));
            if loads.len() > 1 && engines == Engines::Closed {
                left_out += 1;
                continue;
            }
            let Some(answer) = predict_step(array, &loads, engines, &mut tables) else { continue };
            let name = format!("{} {}", test.name, step.label()).trim_end().to_owned();
            rows.push(Expectation {
                name,
                answer,
                what_ifs: Vec::new(),
                what_ifs_together: Vec::new(),
                sweeps: Vec::new(),
                left_out: Vec::new(),
            });
        }
    }
    (rows, left_out)
}
