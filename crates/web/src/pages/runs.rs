//! Runs: all that are stored, searched and filtered, with what each measured.

use std::sync::Arc;

use assay_analysis::first_sentence;
use assay_record::{RunDigest, Severity, TestDigest};
use assay_report::html::{escape, marked};
use assay_report::{day_unix_ms, minute, rounded_long, separated};
use assay_results::{Baselines, InShort, status};
use assay_store::{ListedRun, Reader, RunFilter, RunOrder, RunPage, RunRow, RunSlice, RunState, is_run_id};
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
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let baselines = Baselines::read(store)?;
        let sort = Sort::named(asked.get("sort"));
        let page = |number: usize| {
            let slice = RunSlice { skip: (number - 1).saturating_mul(PAGE_RUNS), limit: PAGE_RUNS };
            listed(&shared, store, (&filter, sort, slice), &baselines)
        };
        let (mut number, mut found) = (number, page(number)?);
        if found.runs.is_empty() && number > 1 {
            // A page beyond the last one is the last one.
            number = store.matching(&filter)?.div_ceil(PAGE_RUNS).max(1);
            found = page(number)?;
        }
        let around = Around {
            store,
            sort,
            asked: &asked,
            visitor: &visitor,
            baselines,
            lacking: shared.lacking(),
            is_empty: found.matching == 0 && store.count()? == 0,
        };
        let body = body(&around, &found, number);
        Ok(html(Page::of(&visitor, "Runs", Place::Runs, &body).text()))
    })
    .await
}

/// Returns the runs of a page in its order.
fn listed(
    app: &App,
    store: &Reader,
    (filter, sort, slice): (&RunFilter, Sort, RunSlice),
    baselines: &Baselines,
) -> Result<RunPage, Refusal> {
    let order = match sort {
        Sort::By(order) => return Ok(store.list_by(filter, slice, order)?),
        Sort::Baseline => app.unwritten(&format!("against the baseline {filter:?}"), || {
            Ok(baselines.sorted(store, filter)?.join("\n"))
        })?,
    };
    let first: Vec<String> = order.lines().skip(slice.skip).take(slice.limit).map(str::to_owned).collect();
    // A page that is full needs no more of the order.
    let (all, skip) = match first.len() == slice.limit {
        true => (first, 0),
        false => (order.lines().map(str::to_owned).collect(), slice.skip),
    };
    let found = store.list_by(filter, RunSlice { skip, ..slice }, RunOrder::First(&all))?;
    // Runs without a baseline stand behind the others.
    Ok(RunPage { matching: store.matching(filter)?, has_more: false, ..found })
}

/// Returns what is asked for.
pub(crate) fn filter(asked: &Fields) -> Result<RunFilter, Refusal> {
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
        state: of_name("status", &STATES, state, asked.get("state"))?,
        severity: of_name("severity", &SEVERITIES, severity, asked.get("severity"))?,
        ..RunFilter::default()
    })
}

const STATES: [&str; 5] = ["running", "done", "interrupted", "failed", "partial"];
const SEVERITIES: [&str; 2] = ["warning", "critical"];

/// Returns what a name stands for; `None` for no name. A name that is not known would show runs of every kind.
fn of_name<T>(
    what: &str,
    names: &[&str],
    of: fn(&str) -> Option<T>,
    name: &str,
) -> Result<Option<T>, Refusal> {
    let unknown = || Refusal::bad(format!("“{name}” is no {what}; use one of: {}.", names.join(", ")));
    if name.is_empty() { Ok(None) } else { of(name).map(Some).ok_or_else(unknown) }
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

/// What a list says beside its runs.
struct Around<'a> {
    store: &'a Reader,
    asked: &'a Fields,
    visitor: &'a Visitor,
    baselines: Baselines,
    /// Runs that are being indexed.
    lacking: usize,
    /// Whether no run is stored at all.
    is_empty: bool,
    sort: Sort,
}

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    By(RunOrder<'static>),
    /// The ratio to the baseline, the lowest first.
    Baseline,
}

impl Sort {
    /// The orders that have names in an address.
    const NAMED: [(&'static str, Self); 6] = [
        ("oldest", Self::By(RunOrder::Oldest)),
        ("target", Self::By(RunOrder::Target)),
        ("plan", Self::By(RunOrder::Plan)),
        ("p99", Self::By(RunOrder::P99)),
        ("baseline", Self::Baseline),
        ("limit", Self::By(RunOrder::Limit)),
    ];

    fn named(name: &str) -> Self {
        let known = Self::NAMED.into_iter().find(|(known, _)| *known == name);
        known.map_or(Self::By(RunOrder::Newest), |(_, sort)| sort)
    }
}

fn body(around: &Around<'_>, found: &RunPage, number: usize) -> String {
    let rows: String = found.runs.iter().map(|run| row(run, around)).collect();
    let count = match found.matching {
        1 => "1 run".to_owned(),
        many if found.has_more => format!("More than {} runs", separated(&many.to_string())),
        many => format!("{} runs", separated(&many.to_string())),
    };
    let table = match found.runs.is_empty() {
        true if around.is_empty => {
            "<p>No run is stored yet. To make one: <code>assay run vmware ./t.dat --quick</code></p>\n"
                .to_owned()
        }
        true => "<p>No run matches.</p>\n".to_owned(),
        false => format!(
            "{}<div class=\"scroll\" tabindex=\"0\"><table class=\"runs\">\n<thead><tr><th><span \
             class=\"hidden\">Compare</span></th>{}<th>First test</th>{}\
             <th>Findings</th><th>Label and note</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
            chosen(around, found),
            [("", "Time, UTC"), ("target", "Target"), ("plan", "Plan")]
                .map(|by| sortable(around, by))
                .concat(),
            [("p99", "p99"), ("baseline", "Against baseline"), ("limit", "Limit")]
                .map(|by| sortable(around, by))
                .concat(),
        ),
    };
    format!(
        "<h1>Runs</h1>\n{}{}<p class=\"soft\">{count}</p>\n{table}{}",
        indexing(around.lacking),
        search(around.asked),
        pages(around, found, number)
    )
}

/// Says how many runs lists and trends do not have yet; nothing where they have all.
pub(crate) fn indexing(lacking: usize) -> String {
    match lacking {
        0 => String::new(),
        count => format!(
            "<p class=\"banner info\" role=\"status\">{} {} being indexed: until then search finds {} by plan, target, \
             label and note only, and trends lack {}.</p>\n",
            separated(&count.to_string()),
            if count == 1 { "run is" } else { "runs are" },
            if count == 1 { "it" } else { "them" },
            if count == 1 { "it" } else { "them" },
        ),
    }
}

/// The form of the ticks. Those of other pages of the list stay.
fn chosen(around: &Around<'_>, found: &RunPage) -> String {
    let is_elsewhere = |run: &&str| found.runs.iter().all(|listed| listed.row.run != **run);
    let elsewhere: Vec<&str> =
        around.asked.all("r").filter(|run| is_run_id(run)).filter(is_elsewhere).collect();
    let kept = hidden(elsewhere.iter().copied());
    let count = match elsewhere.len() {
        0 => String::new(),
        count => {
            format!(" <span class=\"soft\">{count} chosen on other pages; <a href=\"/runs\">clear</a></span>")
        }
    };
    format!(
        "<form id=\"compare\" class=\"compare\" method=\"get\" action=\"/compare\">{kept}<button>Compare <span \
         id=\"chosen\">the ticked runs</span></button>{count}</form>\n"
    )
}

/// The head of a column that the list can be sorted by, and its name in an address.
fn sortable(around: &Around<'_>, (name, title): (&str, &str)) -> String {
    const OLDEST: Sort = Sort::By(RunOrder::Oldest);
    let of = Sort::named(name);
    let is_newest = of == Sort::named("");
    let sorted = match around.sort == of || is_newest && around.sort == OLDEST {
        false => "",
        // The newest and the longest come first.
        true if around.sort == Sort::named("") || around.sort == Sort::By(RunOrder::P99) => {
            " aria-sort=\"descending\""
        }
        true => " aria-sort=\"ascending\"",
    };
    let to = match is_newest && around.sort == of {
        true => "sort=oldest".to_owned(),
        false if is_newest => String::new(),
        false => format!("sort={name}"),
    };
    format!("<th{sorted}><a href=\"/runs?{}{to}\">{title}</a></th>", kept(around.asked, &["sort", "page"]))
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
        let options: String = [""].iter().chain(all).map(|known| option(known, asked.get(name))).collect();
        format!("<label>{title} <select name=\"{name}\">{options}</select></label>\n")
    };
    let states = choice("state", "Status", &STATES);
    let severities = choice("severity", "Severity", &SEVERITIES);
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
         </div></details>\n{kept}</form>\n",
        value("q"),
        kept = hidden(asked.all("r").filter(|run| is_run_id(run)))
    )
}

/// Runs that were ticked, as fields of a form.
fn hidden<'a>(runs: impl Iterator<Item = &'a str>) -> String {
    runs.map(|run| format!("<input type=\"hidden\" name=\"r\" value=\"{}\">", escape(run))).collect()
}

fn row(run: &ListedRun, around: &Around<'_>) -> String {
    let row = &run.row;
    let id = escape(&row.run);
    if let Some(error) = row.error() {
        let says = escape(&error.to_string());
        return format!("<tr><td></td><td class=\"w\" colspan=\"9\">{says}</td></tr>\n");
    }
    let digest = run.digest.as_ref();
    let ticked = if around.asked.all("r").any(|known| known == row.run) { " checked" } else { "" };
    let test = digest.and_then(|digest| digest.tests.first());
    let (name, p99) = test.map_or_else(|| ("-".to_owned(), "-".to_owned()), of_test);
    format!(
        "<tr><td><input type=\"checkbox\" form=\"compare\" name=\"r\" value=\"{id}\" aria-label=\"Compare run \
         {id}\"{ticked}></td><td class=\"nowrap\"><a href=\"/runs/{id}\">{}<span \
         class=\"zone\"> UTC</span></a>{}</td><td class=\"w\">{}</td><td \
         class=\"w\"><span class=\"pair\">{}{}</span></td><td class=\"w\">{name}</td><td \
         data-head=\"p99\">{p99}</td><td data-head=\"baseline\">{}</td><td \
         class=\"w limit\">{}</td><td>{}</td><td class=\"w words\">{}</td></tr>\n",
        minute(row.started_unix_ms).trim_end_matches(" UTC"),
        state_badge(row),
        cut(&row.targets.join(", ")),
        cut(&row.name),
        digest.map_or_else(String::new, changed_badge),
        against(around.baselines.against(around.store, run)),
        digest
            .and_then(|digest| digest.verdict.as_deref())
            .map_or_else(String::new, |verdict| limit(verdict, around.sort)),
        digest.map_or_else(String::new, findings),
        words(run, around.visitor)
    )
}

/// A long text is cut; all of it is under the pointer.
fn cut(text: &str) -> String {
    let text = escape(text);
    format!("<span class=\"cut\" title=\"{text}\">{text}</span>")
}

/// A state that is not the usual one.
fn state_badge(row: &RunRow) -> String {
    let name = status(row).name();
    match name {
        "done" => String::new(),
        name => {
            let says = if name == "partial" { "killed" } else { name };
            format!(" <span class=\"state {name}\">{says}</span>")
        }
    }
}

/// What the command line changed: such a run is not compared with the plan as it ships.
fn changed_badge(digest: &RunDigest) -> String {
    match digest.changed.as_str() {
        "" => String::new(),
        changed if changed.starts_with("--quick") => " <span class=\"badge\">quick</span>".to_owned(),
        changed => format!(" <span class=\"badge\" title=\"{}\">changed</span>", escape(changed)),
    }
}

/// The first test with its rate, and its p99.
fn of_test(test: &TestDigest) -> (String, String) {
    let p99 = test.p99_us.map_or_else(
        || "-".to_owned(),
        |p99| match p99.value {
            us if us < 1000.0 => format!("{} µs", rounded_long(us)),
            us => format!("{} ms", rounded_long(us / 1000.0)),
        },
    );
    let name = cut(format!("{} {}", test.test, test.step).trim_end());
    let rate = format!("<span class=\"nowrap\">{} IOPS</span>", rounded_long(test.iops.value));
    (format!("<span class=\"pair\">{name} {rate}</span>"), p99)
}

fn against(in_short: Option<InShort>) -> String {
    match in_short {
        None => String::new(),
        Some(InShort::Own) => "<span class=\"soft\">is it</span>".to_owned(),
        Some(InShort::Ratio { ratio, change }) => marked(ratio, change),
    }
}

/// What limits, from the first sentence of a verdict; all of it under the pointer. A list that is sorted by verdicts
/// shows them as they begin, or it would seem unsorted.
fn limit(verdict: &str, sort: Sort) -> String {
    let sentence = first_sentence(verdict);
    let shown = match sort {
        Sort::By(RunOrder::Limit) => clause(sentence).to_owned(),
        _ => limit_first(sentence),
    };
    format!("<span class=\"cut\" title=\"{}\">{}</span>", escape(verdict), escape(&shown))
}

fn clause(text: &str) -> &str {
    text.split(';').next().unwrap_or(text)
}

/// A verdict with the limit first: a column has room for three words, and those before it are the same in every line.
/// What else they say stands behind it.
fn limit_first(sentence: &str) -> String {
    let of_suspect =
        ["first suspect is ", "explained by "].iter().find_map(|words| sentence.rsplit_once(words));
    if let Some((before, limit)) = of_suspect {
        let of_expected = ["slower than ", "faster than "].iter().find_map(|words| before.find(words));
        let how = match of_expected {
            Some(from) => before[from..].split(',').next(),
            None if before.contains(" is uncertain") => Some("uncertain"),
            None => None,
        };
        let limit = clause(limit).trim_end_matches('.');
        return how.map_or_else(|| limit.to_owned(), |how| format!("{limit}, {how}"));
    }
    let of_bottleneck = || {
        let rest = clause(sentence).strip_prefix("The bottleneck of ")?;
        // The name of a load may have any words.
        rest.split_once(" IOPS) is ").or_else(|| rest.split_once(" is "))
    };
    of_bottleneck().map_or_else(|| clause(sentence).to_owned(), |(_, limit)| limit.to_owned())
}

/// Returns the number of findings of each severity.
fn findings(digest: &RunDigest) -> String {
    let count = |severity: Severity, mark: &str, name: &str, plural: &str| {
        let of: Vec<&str> =
            digest.findings.iter().filter(|f| f.severity == severity).map(|f| f.rule.as_str()).collect();
        match of.len() {
            0 => String::new(),
            count => format!(
                "<span class=\"sev {}\" title=\"{}\">{mark} {count}<span class=\"word\"> {name}{}</span></span> ",
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
        let note = note.map_or_else(String::new, |note| format!("<span class=\"soft\">{}</span>", cut(note)));
        let label = label.map_or_else(String::new, |label| cut(label));
        return format!("<span class=\"pair\">{label} {note}</span>");
    }
    let id = escape(&run.row.run);
    let form = |what: &str, value: Option<&String>| {
        format!(
            "<form method=\"post\" action=\"/runs/{id}/{what}\">{}<input type=\"hidden\" name=\"from\" \
             value=\"list\"><input name=\"text\" value=\"{}\" placeholder=\"{what}\" aria-label=\"{what} of run \
             {id}\"> <button>Save</button></form>",
            visitor.hidden(),
            value.map_or_else(String::new, |text| escape(text))
        )
    };
    let delete = match run.row.is_running {
        true => String::new(),
        false => format!("<a class=\"delete\" href=\"/runs/{id}/delete\">Delete…</a>"),
    };
    let says = match (label, note) {
        (None, None) => "<span class=\"soft\">Add a label or note</span>".to_owned(),
        (label, note) => {
            let all: Vec<String> = label.into_iter().chain(note).map(|text| cut(text)).collect();
            format!("<span class=\"pair\">{}</span>", all.join(" "))
        }
    };
    format!(
        "<details class=\"inplace\"><summary title=\"Edit label and note\">{says}</summary>{}{}{delete}</details>",
        form("label", label),
        form("note", note)
    )
}

/// Returns what was asked for as it stands in an address, but for some fields.
fn kept(asked: &Fields, but: &[&str]) -> String {
    ["q", "since", "until", "state", "severity", "sort"]
        .into_iter()
        .chain(FILTERS.map(|(name, ..)| name))
        .filter(|name| !asked.get(name).is_empty() && !but.contains(name))
        .map(|name| format!("{name}={}&amp;", encoded(asked.get(name))))
        .collect()
}

/// Returns the buttons to the pages before and after: they send the ticks along.
fn pages(around: &Around<'_>, found: &RunPage, number: usize) -> String {
    let last = found.matching.div_ceil(PAGE_RUNS);
    if last < 2 {
        return String::new();
    }
    let kept = kept(around.asked, &["page"]);
    let hidden: String = kept
        .split("&amp;")
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, _)| {
            let value = escape(around.asked.get(name));
            format!("<input type=\"hidden\" form=\"compare\" name=\"{name}\" value=\"{value}\">")
        })
        .collect();
    let button = |to: usize, name: &str| {
        format!("<button form=\"compare\" formaction=\"/runs\" name=\"page\" value=\"{to}\">{name}</button>")
    };
    let before = if number > 1 { button(number - 1, "Before") } else { String::new() };
    let many = if found.has_more { "more than " } else { "" };
    let after = if number < last { button(number + 1, "Next") } else { String::new() };
    format!(
        "{hidden}<nav class=\"pages\" aria-label=\"Pages of the list\">{before} \
         <span>Page {number} of {many}{last}</span> {after}</nav>\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of the list said "The only test judged is …", and what limited it was cut.
    #[test]
    fn the_column_of_limits_begins_with_the_limit() {
        for (says, first) in [
            (
                "The bottleneck of all 4 tests is 4 disks, as expected; second suspect: b.",
                ">4 disks, as expected<",
            ),
            (
                "All 2 tests are slower than expected, and the first suspect is the link; second suspect: b.",
                ">the link, slower than expected<",
            ),
            (
                "All 4 tests are faster than expected, explained by the cache.",
                ">the cache, faster than expected<",
            ),
            (
                "The bottleneck of what is slow (9,000 IOPS) is uncertain; the first suspect is a disk (45 %).",
                ">a disk (45 %), uncertain<",
            ),
            (
                "The bottleneck of what is slow (9,000 IOPS) is the link, with a probability of 97 %.",
                ">the link, with a probability of 97 %.<",
            ),
            (
                "The device vda probably limits this test (4.0 of 4).",
                ">The device vda probably limits this test (4.0 of 4).<",
            ),
            ("The bottleneck is not known.", ">The bottleneck is not known.<"),
        ] {
            let shown = limit(says, Sort::named(""));
            assert!(shown.contains(first) && shown.contains(&format!("title=\"{says}\"")), "{shown}");
        }
        let says = "The bottleneck of all 4 tests is 4 disks, as expected; second suspect: b.";
        let sorted = limit(says, Sort::named("limit"));
        assert!(sorted.contains(">The bottleneck of all 4 tests is 4 disks, as expected<"), "{sorted}");
    }
}
