//! A diagnosis that is started from a page: which load of which target, what it does and writes; then the diagnosis.

use std::sync::Arc;

use assay_report::html::escape;
use assay_spec::suites::Suite;
use assay_spec::units::SizeSpec;
use assay_spec::{Overrides, Plan, PlanFile, Span, without_secret};
use axum::extract::{Extension, Query, State};
use axum::response::Response;

use super::{by_question, effect, listed_targets, plan_named, refused, short_field, started_at};
use crate::answer::{Refusal, html};
use crate::app::App;
use crate::launch::Verb;
use crate::options::RunPermission;
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

/// Times that all experiments may take, as the command line takes them.
const BUDGETS: [(&str, &str); 3] = [("2min", "2 minutes"), ("30s", "half a minute"), ("10min", "10 minutes")];
/// The load where none is chosen, as `assay diagnose` has it.
const BUILT_IN: &str = "4 KiB random reads, 32 outstanding";
/// Fields that the button sends again.
const FIELDS: [&str; 7] = ["target", "plan", "test", "set", "size", "budget", "read_only"];

/// What is asked for, by the numbers of what the server's options list.
struct Order {
    target: String,
    /// As the command line takes it, and what it says; `None`: the load where none is chosen.
    plan: Option<(String, PlanFile)>,
    test: String,
    set: Vec<String>,
    size: Option<SizeSpec>,
    budget: &'static str,
    is_read_only: bool,
}

/// Returns the link to a diagnosis of the load of a run; nothing where the form has no field for what the command line
/// changed.
pub(super) fn link(place: usize, suite: Suite, changed: &str) -> String {
    // How long steps are is of no matter to a diagnosis.
    let is_length = |word: &&str| *word == "--quick" || word.starts_with("run=");
    let words = changed.split(", ").filter(|word| !word.is_empty() && !is_length(word));
    let set: Option<Vec<String>> =
        words.map(|word| word.contains('=').then(|| format!("&amp;set={}", super::encoded(word)))).collect();
    let Some(set) = set else { return String::new() };
    format!(
        "<a class=\"button\" href=\"/new/diagnosis?target={place}&amp;plan={}{}\">Diagnose</a> ",
        suite.name,
        set.concat()
    )
}

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let Some(permission) = &app.options.runs else { return Err(not_allowed()) };
    let asked = Fields::new(query);
    let preview = match asked.get("target") {
        "" => String::new(),
        _ => order(permission, &asked)
            .and_then(|order| preview(&order, &asked, &visitor))
            .unwrap_or_else(|says| refused(&says)),
    };
    let body = format!("<h1>New diagnosis</h1>\n{preview}{}", form(permission, &asked));
    Ok(html(Page::of(&visitor, "New diagnosis", Place::Diagnose, &body).text()))
}

/// Starts what the page before has shown.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Extension(fields): Extension<Fields>,
) -> Result<Response, Refusal> {
    let Some(permission) = &app.options.runs else { return Err(not_allowed()) };
    let order = order(permission, &fields).map_err(Refusal::bad)?;
    one_load(&order).map_err(Refusal::bad)?;
    started_at(&app, permission, Verb::Diagnose, &words(&order))
}

fn not_allowed() -> Refusal {
    Refusal::forbidden("This server starts no diagnoses; it was started without --allow-runs.")
}

/// Reads what was asked for.
fn order(permission: &RunPermission, asked: &Fields) -> Result<Order, String> {
    let target = asked.get("target").parse().ok().and_then(|index: usize| permission.targets.get(index));
    let target = target.ok_or("Choose one of the listed targets.")?.address.clone();
    let plan = match asked.get("plan") {
        "" => None,
        chosen => Some(plan_named(permission, chosen)?),
    };
    let budget = match asked.get("budget") {
        "" => Some(BUDGETS[0].0),
        chosen => BUDGETS.iter().map(|(budget, _)| *budget).find(|budget| *budget == chosen),
    };
    let set = asked.all("set").map(str::trim).filter(|word| !word.is_empty());
    let set: Vec<String> = set.map(|word| super::short(word, "set")).collect::<Result<_, _>>()?;
    let test = short_field(asked, "test")?;
    // The page says what the load without a plan does; these would make it another one.
    if plan.is_none() && !(set.is_empty() && test.is_empty()) {
        return Err("Choose the plan that the test and its changes belong to.".to_owned());
    }
    Ok(Order {
        target,
        plan,
        test,
        set,
        size: size(&short_field(asked, "size")?)?,
        budget: budget.ok_or("Choose one of the listed times.")?,
        is_read_only: asked.get("read_only") == "on",
    })
}

fn size(text: &str) -> Result<Option<SizeSpec>, String> {
    let size = Some(text).filter(|text| !text.is_empty()).map(str::parse).transpose();
    size.map_err(|error| format!("size: {error}"))
}

/// Returns the plan of the load, with its changes, as `assay diagnose` makes it; `None` for the one that it has itself.
fn resolved(order: &Order) -> Result<Option<Plan>, String> {
    let mut overrides = Overrides::default();
    for word in &order.set {
        overrides.set(word).map_err(|error| error.to_string())?;
    }
    overrides.size = order.size;
    overrides.only = Some(order.test.clone()).filter(|test| !test.is_empty()).into_iter().collect();
    let plan = order.plan.as_ref().map(|(_, file)| file.resolve(&overrides)).transpose();
    plan.map_err(|error| error.to_string())
}

/// Returns the names of the loads of a plan: a diagnosis is of one.
fn loads(plan: &Plan) -> Vec<String> {
    let of = |test: &assay_spec::Test| -> Vec<String> {
        test.steps.iter().map(|step| format!("{} {}", test.name, step.label()).trim().to_owned()).collect()
    };
    plan.tests.iter().flat_map(of).collect()
}

/// Refuses what `assay diagnose` would refuse before it looks at the target.
fn one_load(order: &Order) -> Result<Option<Plan>, String> {
    let plan = resolved(order)?;
    let Some(plan) = plan else { return Ok(None) };
    match loads(&plan).as_slice() {
        [_] if order.is_read_only && plan.writes() => {
            Err("The load writes: choose another one, or allow writing.".to_owned())
        }
        [_] => Ok(Some(plan)),
        several => {
            Err(format!("A diagnosis is of one load, and this plan has {}: choose one.", several.len()))
        }
    }
}

/// Returns the words of the command line. Each value stands in one word with its option, so that none becomes one.
fn words(order: &Order) -> Vec<String> {
    let mut words = vec![order.target.clone()];
    words.extend(order.plan.as_ref().map(|(plan, _)| plan.clone()));
    words.push(format!("--budget={}", order.budget));
    if !order.test.is_empty() {
        words.push(format!("--test={}", order.test));
    }
    words.extend(order.size.map(|size| format!("--size={size}")));
    words.extend(order.set.iter().map(|word| format!("--set={word}")));
    words.extend(order.is_read_only.then(|| "--read-only".to_owned()));
    words
}

/// Returns what will be done and written, with the button that starts it; or the loads of the plan, to choose one.
fn preview(order: &Order, asked: &Fields, visitor: &Visitor) -> Result<String, String> {
    if let Some(plan) = resolved(order)?
        && let several = loads(&plan)
        && several.len() != 1
    {
        return Ok(choice(&several, asked));
    }
    let plan = one_load(order)?;
    let load = plan.as_ref().and_then(|plan| loads(plan).into_iter().next());
    let kept: String = FIELDS
        .iter()
        .flat_map(|name| asked.all(name).map(move |value| (name, value)))
        .map(|(name, value)| format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escape(value)))
        .collect();
    let start = match visitor.csrf() {
        Some(_) => format!(
            "<form method=\"post\" action=\"/new/diagnosis\">{}{kept}<button class=\"start\">Start this \
             diagnosis</button></form>\n",
            visitor.hidden()
        ),
        None => "<p><a class=\"button\" href=\"/login\">Sign in to start it</a></p>\n".to_owned(),
    };
    let span = order.size.map_or_else(|| plan.as_ref().map_or(Span::Whole, |plan| plan.span), Span::Size);
    let is_writing = plan.as_ref().is_some_and(Plan::writes);
    let words: Vec<String> = words(order).iter().map(|word| assay_analysis::quoted(word)).collect();
    Ok(format!(
        "<section class=\"preview\" aria-label=\"Diagnosis\">\n<h2>What limits {}?</h2>\n<p>On <strong>{}</strong>, in \
         {} at most, and the time to fill it where it is new. The load is measured; then one thing after another is \
         changed (its depth, its sizes, its pace, its way to the storage), until one cause is probable \
         enough.</p>\n{}<p class=\"soft\">The same in a terminal: <code>assay diagnose \
         {}</code></p>\n{start}</section>\n",
        escape(load.as_deref().unwrap_or(BUILT_IN)),
        escape(&without_secret(&order.target)),
        BUDGETS.iter().find(|(budget, _)| *budget == order.budget).map_or("", |(_, title)| title),
        effect::of_diagnosis(span, is_writing, &order.target, order.is_read_only),
        escape(&words.join(" "))
    ))
}

/// Returns the loads of a plan as links.
fn choice(loads: &[String], asked: &Fields) -> String {
    let kept: String = FIELDS
        .iter()
        .filter(|name| **name != "test")
        .flat_map(|name| asked.all(name).map(move |value| (name, value)))
        .map(|(name, value)| format!("{name}={}&amp;", super::encoded(value)))
        .collect();
    let link = |load: &String| {
        let test = super::encoded(load);
        format!("<li><a href=\"/new/diagnosis?{kept}test={test}\">{}</a></li>\n", escape(load))
    };
    format!(
        "<section class=\"preview\" aria-label=\"Loads\">\n<h2>Which load?</h2>\n<p>A diagnosis is of one load, and \
         this plan has {}.</p>\n<ul>{}</ul></section>\n",
        loads.len(),
        loads.iter().map(link).collect::<String>()
    )
}

fn form(permission: &RunPermission, asked: &Fields) -> String {
    let option = |value: &str, title: &str, chosen: &str| {
        let selected = if value == chosen { " selected" } else { "" };
        format!("<option value=\"{}\"{selected}>{}</option>\n", escape(value), escape(title))
    };
    let chosen = asked.get("plan");
    let group = |(title, names): (&str, Vec<&str>)| {
        let options: String = names.iter().map(|name| option(name, name, chosen)).collect();
        format!("<optgroup label=\"{title}\">\n{options}</optgroup>\n")
    };
    let suites: String = by_question().into_iter().map(group).collect();
    let files = permission.plans.iter().enumerate();
    let files: String = files
        .map(|(index, path)| option(&format!("file-{index}"), &path.display().to_string(), chosen))
        .collect();
    let budgets: String =
        BUDGETS.iter().map(|(value, title)| option(value, title, asked.get("budget"))).collect();
    format!(
        "<form class=\"stack\" method=\"get\" action=\"/new/diagnosis\">\n<label for=\"target\">Target</label>\n\
         <select id=\"target\" name=\"target\" required>\n{}</select>\n<label for=\"plan\">Load</label>\n\
         <select id=\"plan\" name=\"plan\">\n{}{suites}{files}</select>\n<label for=\"budget\">Time for all \
         experiments</label>\n<select id=\"budget\" name=\"budget\">\n{budgets}</select>\n<label class=\"tick\">\
         <input type=\"checkbox\" name=\"read_only\"{}> Write nothing at all</label>\n<label \
         for=\"size\">Size</label>\n<input id=\"size\" name=\"size\" value=\"{}\" placeholder=\"how much of the \
         target to use: 4GiB\" maxlength=\"{}\">\n<button>Show what it does</button>\n</form>\n",
        listed_targets(permission, asked),
        option("", BUILT_IN, chosen),
        if asked.get("read_only") == "on" { " checked" } else { "" },
        escape(asked.get("size")),
        super::FIELD_MAX,
    )
}
