//! Runs: all that are stored, searched and filtered, with what each measured.

use std::sync::Arc;

use assay_record::{RunDigest, Severity, TestDigest};
use assay_report::html::{escape, spark};
use assay_report::{day_unix_ms, minute, rounded_long, separated};
use assay_results::status;
use assay_store::{ListedRun, RunFilter, RunPage, RunSlice, RunState};
use axum::extract::{Extension, Query, State};
use axum::response::Response;

use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

/// Runs on a page.
const PAGE_RUNS: usize = 50;
const DAY_MS: u64 = 86_400_000;

/// The filters of the page: name of the field, title, and what it looks for.
const FILTERS: [(&str, &str, &str); 5] = [
    ("target", "Target", "part of an address"),
    ("plan", "Plan", "part of its name"),
    ("label", "Label", "part of it"),
    ("host", "Host", "part of its name"),
    ("finding", "Finding", "name of a rule"),
];

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let filter = filter(&asked)?;
    let number: usize = asked.get("page").parse().unwrap_or(1).max(1);
    if !app.options.store.exists() {
        return Err(Refusal::no_store());
    }
    app.with_store(move |store| {
        let slice = RunSlice { skip: (number - 1).saturating_mul(PAGE_RUNS), limit: PAGE_RUNS };
        let found = store.list(&filter, slice)?;
        let body = body(&asked, &found, number, &visitor);
        Ok(html(Page::of(&visitor, "Runs", Place::Runs, &body).text()))
    })
    .await
}

/// Returns what is asked for.
fn filter(asked: &Fields) -> Result<RunFilter, Refusal> {
    let part = |name: &str| Some(asked.get(name).trim().to_owned()).filter(|text| !text.is_empty());
    let day = |name: &str| match asked.get(name).trim() {
        "" => Ok(None),
        text => day_unix_ms(text)
            .map(Some)
            .ok_or_else(|| Refusal::bad(format!("“{text}” is not a day; write it as 2026-11-21."))),
    };
    Ok(RunFilter {
        text: asked.get("q").trim().to_owned(),
        target: part("target"),
        plan: part("plan"),
        label: part("label"),
        host: part("host"),
        rule: part("finding"),
        since_unix_ms: day("since")?,
        until_unix_ms: day("until")?.map(|start| start + DAY_MS),
        state: state(asked.get("state")),
        severity: severity(asked.get("severity")),
        ..RunFilter::default()
    })
}

fn state(name: &str) -> Option<RunState> {
    use assay_record::Outcome::{Done, Failed, Interrupted};
    Some(match name {
        "done" => RunState::Ended(Done),
        "failed" => RunState::Ended(Failed),
        "interrupted" => RunState::Ended(Interrupted),
        "running" => RunState::Running,
        "partial" => RunState::Partial,
        _ => return None,
    })
}

fn severity(name: &str) -> Option<Severity> {
    [Severity::Critical, Severity::Warning].into_iter().find(|severity| severity.name() == name)
}

fn body(asked: &Fields, found: &RunPage, number: usize, visitor: &Visitor) -> String {
    let rows: String = found.runs.iter().map(|run| row(run, visitor)).collect();
    let count = match found.matching {
        1 => "1 run".to_owned(),
        many => format!("{} runs", separated(&many.to_string())),
    };
    let table = match found.runs.is_empty() {
        true => "<p>No run matches.</p>\n".to_owned(),
        false => format!(
            "<form id=\"compare\" class=\"compare\" method=\"get\" action=\"/compare\">\
             <button>Compare the ticked runs</button></form>\n\
             <div class=\"scroll\"><table class=\"runs\">\n<thead><tr><th><span class=\"hidden\">Compare</span></th>\
             <th>Run</th><th>Plan and target</th><th>IOPS over time</th><th>Best test</th><th>Findings</th>\
             <th>Label and note</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        ),
    };
    format!(
        "<h1>Runs</h1>\n{}<p class=\"soft\">{count}</p>\n{table}{}",
        search(asked),
        pages(asked, found, number)
    )
}

/// Returns the form of search and filters.
fn search(asked: &Fields) -> String {
    let value = |name: &str| escape(asked.get(name));
    let field = |(name, title, looks_for): &(&str, &str, &str)| {
        format!(
            "<label>{title} <input name=\"{name}\" value=\"{}\" placeholder=\"{looks_for}\"></label>\n",
            value(name)
        )
    };
    let fields: String = FILTERS.iter().map(field).collect();
    let days: String = [("since", "From"), ("until", "To")]
        .iter()
        .map(|(name, title)| {
            format!(
                "<label>{title} <input type=\"date\" name=\"{name}\" value=\"{}\"></label>\n",
                value(name)
            )
        })
        .collect();
    let option = |name: &str, chosen: &str| {
        let selected = if name == chosen { " selected" } else { "" };
        format!("<option value=\"{name}\"{selected}>{}</option>", if name.is_empty() { "any" } else { name })
    };
    let choice = |name: &str, title: &str, all: &[&str]| {
        let options: String = all.iter().map(|known| option(known, asked.get(name))).collect();
        format!("<label>{title} <select name=\"{name}\">{options}</select></label>\n")
    };
    let states = choice("state", "Status", &["", "running", "done", "interrupted", "failed", "partial"]);
    let severities = choice("severity", "Severity", &["", "warning", "critical"]);
    let is_open = FILTERS
        .iter()
        .map(|(name, ..)| *name)
        .chain(["since", "until", "state", "severity"])
        .any(|name| !asked.get(name).is_empty());
    let open = if is_open { " open" } else { "" };
    format!(
        "<form class=\"search\" method=\"get\" action=\"/runs\" role=\"search\">\n<div class=\"row\"><input \
         type=\"search\" name=\"q\" value=\"{}\" aria-label=\"Search runs\" placeholder=\"Search: plan, target, label, \
         note, test, finding\"> <button>Search</button></div>\n<details{open}><summary>Filters</summary>\n<div \
         class=\"filters\">\n{fields}{days}{states}{severities}<button>Filter</button> <a href=\"/runs\">Clear</a>\
         </div></details>\n</form>\n",
        value("q")
    )
}

fn row(run: &ListedRun, visitor: &Visitor) -> String {
    let row = &run.row;
    let id = escape(&row.run);
    if let Some(error) = row.error() {
        let says = escape(&error.to_string());
        return format!("<tr><td></td><td class=\"w\" colspan=\"6\">{says}</td></tr>\n");
    }
    let status = status(row);
    let digest = run.digest.as_ref();
    let spark = digest
        .map_or_else(String::new, |digest| spark(&format!("IOPS over time, run {}", row.run), &digest.spark));
    format!(
        "<tr><td><input type=\"checkbox\" form=\"compare\" name=\"r\" value=\"{id}\" aria-label=\"Compare run \
         {id}\"></td><td class=\"nowrap\"><a href=\"/runs/{id}\">{id}</a><br><span class=\"soft\">{}</span><br><span \
         class=\"state {}\">{}</span></td><td class=\"w\">{}<br><span class=\"soft\">{}</span></td><td>{spark}</td>\
         <td>{}</td><td>{}</td><td class=\"w\">{}</td></tr>\n",
        minute(row.started_unix_ms),
        status.name(),
        if status.name() == "partial" { "killed" } else { status.name() },
        escape(&row.name),
        escape(&row.targets.join(", ")),
        digest.map_or_else(String::new, best),
        digest.map_or_else(String::new, findings),
        words(run, visitor)
    )
}

/// Returns the figures of the test with the most IOPS.
fn best(digest: &RunDigest) -> String {
    let by_iops = |a: &&TestDigest, b: &&TestDigest| a.iops.value.total_cmp(&b.iops.value);
    let Some(best) = digest.tests.iter().max_by(by_iops).filter(|best| best.iops.value > 0.0) else {
        return "-".to_owned();
    };
    format!(
        "<span class=\"nowrap\">{} IOPS</span><br><span class=\"nowrap\">{} MiB/s</span>",
        rounded_long(best.iops.value),
        rounded_long(best.mib_per_s.value)
    )
}

/// Returns the number of findings of each severity.
fn findings(digest: &RunDigest) -> String {
    let count = |severity: Severity, mark: &str, name: &str, plural: &str| {
        let of: Vec<&str> =
            digest.findings.iter().filter(|f| f.severity == severity).map(|f| f.rule.as_str()).collect();
        match of.len() {
            0 => String::new(),
            count => format!(
                "<span class=\"sev {}\" title=\"{}\">{mark} {count} {name}{}</span><br>",
                severity.name(),
                escape(&of.join(", ")),
                if count == 1 { "" } else { plural }
            ),
        }
    };
    count(Severity::Critical, "✖", "critical", "") + &count(Severity::Warning, "▲", "warning", "s")
}

/// Returns label and note; for who may change them as forms that open where they stand.
fn words(run: &ListedRun, visitor: &Visitor) -> String {
    let (label, note) = (run.row.label.as_ref(), run.row.note.as_ref());
    if visitor.csrf().is_none() {
        let note =
            note.map_or_else(String::new, |note| format!("<br><span class=\"soft\">{}</span>", escape(note)));
        return format!("{}{note}", label.map_or_else(String::new, |label| escape(label)));
    }
    let id = escape(&run.row.run);
    let form = |what: &str, value: Option<&String>| {
        format!(
            "<details class=\"inplace\"><summary title=\"Edit the {what}\">{}</summary><form method=\"post\" \
             action=\"/runs/{id}/{what}\">{}<input type=\"hidden\" name=\"from\" value=\"list\"><input name=\"text\" \
             value=\"{}\" aria-label=\"{what} of run {id}\"> <button>Save</button></form></details>",
            value.map_or_else(|| format!("<span class=\"soft\">Add a {what}</span>"), |text| escape(text)),
            visitor.hidden(),
            value.map_or_else(String::new, |text| escape(text))
        )
    };
    let delete = match run.row.is_running {
        true => String::new(),
        false => format!("<a class=\"delete\" href=\"/runs/{id}/delete\">Delete…</a>"),
    };
    format!("{}{}{delete}", form("label", label), form("note", note))
}

/// Returns the links to the pages before and after.
fn pages(asked: &Fields, found: &RunPage, number: usize) -> String {
    let last = found.matching.div_ceil(PAGE_RUNS);
    if last < 2 {
        return String::new();
    }
    let kept: String = ["q", "since", "until", "state", "severity"]
        .into_iter()
        .chain(FILTERS.map(|(name, ..)| name))
        .filter(|name| !asked.get(name).is_empty())
        .map(|name| format!("{name}={}&amp;", encoded(asked.get(name))))
        .collect();
    let link = |to: usize, name: &str| format!("<a href=\"/runs?{kept}page={to}\">{name}</a>");
    let newer = if number > 1 { link(number - 1, "Newer") } else { String::new() };
    let older = if number < last { link(number + 1, "Older") } else { String::new() };
    format!(
        "<nav class=\"pages\" aria-label=\"Pages of the list\">{newer} \
         <span>Page {number} of {last}</span> {older}</nav>\n"
    )
}

/// Returns a value as a part of an address.
pub(crate) fn encoded(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
