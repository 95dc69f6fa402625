//! New run: target, plan and options; then the plan with its time, what it writes, and what is expected; then the run.

pub(crate) mod diagnosis;
mod effect;

use std::sync::Arc;

use assay_analysis::Standing;
use assay_report::html::escape;
use assay_report::standing::length;
use assay_spec::suites::{SUITES, Suite, suite, suite_titled};
use assay_spec::units::SizeSpec;
use assay_spec::{Overrides, Plan, PlanFile, without_secret};
use assay_store::target_key;
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::answer::{Refusal, html, see_other};
use crate::app::App;
use crate::launch::{Launch, LaunchError, Verb};
use crate::options::{RunPermission, RunTarget};
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

use super::runs::encoded;

/// Largest plan file.
const PLAN_BYTES_MAX: u64 = 1 << 20;
/// Most repetitions that a page starts.
const REPEAT_MAX: u32 = 20;
/// Characters of a field.
const FIELD_MAX: usize = 200;

/// What is asked for, by the numbers of what the server's options list.
struct Order {
    target: String,
    /// As the command line takes it.
    plan: String,
    plan_file: PlanFile,
    options: RunOptions,
}

/// What can be chosen beside target and plan.
#[derive(Default)]
struct RunOptions {
    quick: bool,
    size: String,
    run: String,
    only: String,
    repeat: String,
    label: String,
    note: String,
    overwrite: String,
}

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let Some(permission) = &app.options.runs else {
        let body = format!(
            "<h1>New run</h1>\n<p>This server starts no runs. To allow it, start it with the targets that may be \
             chosen: <code>assay serve --allow-runs --target ./t.dat</code></p>\n{}",
            found(&app.options.found)
        );
        return Ok(html(Page::of(&visitor, "New run", Place::NewRun, &body).text()));
    };
    let asked = Fields::new(query);
    let preview = match asked.get("target") {
        "" => String::new(),
        _ => match order(permission, &asked) {
            Ok(order) => {
                let array = array_of(&app, &order.target).await?;
                preview(&order, array.as_deref(), &asked, &visitor)
            }
            Err(says) => refused(&says),
        },
    };
    let body =
        format!("<h1>New run</h1>\n{preview}{}{}", form(permission, &asked), found(&app.options.found));
    Ok(html(Page::of(&visitor, "New run", Place::NewRun, &body).text()))
}

/// Returns the storage of this host that cannot be chosen, and how to allow it.
fn found(found: &[RunTarget]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let line = |target: &RunTarget| {
        format!(
            "<li>{}: <code>--target {}</code></li>\n",
            escape(&target.name),
            escape(&quoted(&target.address))
        )
    };
    let all: String = found.iter().map(line).collect();
    format!(
        "<details class=\"found\"><summary>Storage of this host that is not offered ({})</summary>\n<p>Whoever starts \
         the server decides what runs may be started on: add these options to <code>assay serve --allow-runs</code>, \
         or <code>--found</code> for all of them.</p>\n<ul>{all}</ul></details>\n",
        found.len()
    )
}

/// Returns a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:=,".contains(letter);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns links to what can be done next with the load of a run: its plan, its targets, and what the command line
/// changed. Nothing where this server may not start it.
pub(crate) fn buttons(permission: Option<&RunPermission>, of: (&str, &[String], &str)) -> String {
    let (plan, targets, changed) = of;
    let Some((place, suite)) = place_of(permission, plan, targets) else { return String::new() };
    again(place, suite, changed) + &diagnosis::link(place, suite, changed)
}

/// Returns links that run a plan on a target again as it was run; nothing where the form has no field for what the
/// command line changed: another load under the same name would be no repetition.
fn again(place: usize, suite: Suite, changed: &str) -> String {
    let Some(options) = fields_of(changed) else { return String::new() };
    let link = |more: &str, says: &str| {
        format!(
            "<a class=\"button\" href=\"/new?target={place}&amp;plan={}{options}{more}\">{says}</a> ",
            suite.name
        )
    };
    link("", "Run again") + &link("&amp;repeat=3", "Repeat ×3")
}

/// Returns the number of the target of a run, and its suite; `None` where one of them cannot be chosen here.
fn place_of(permission: Option<&RunPermission>, plan: &str, targets: &[String]) -> Option<(usize, Suite)> {
    let [one] = targets else { return None };
    let place = permission?.targets.iter().position(|target| target_key(&target.address) == *one)?;
    // A run has the title of its suite, a plan of somebody's own any name.
    Some((place, suite_titled(plan)?))
}

/// Returns the fields of the form for what the command line changed: `--quick, run=20s`; `None` where there is none.
fn fields_of(changed: &str) -> Option<String> {
    let field = |word: &str| match word.split_once('=') {
        _ if word == "--quick" => Some("&amp;quick=on".to_owned()),
        Some(("run", value)) => Some(format!("&amp;run={}", encoded(value))),
        _ => None,
    };
    changed.split(", ").filter(|word| !word.is_empty()).map(field).collect()
}

/// Returns the text of the array that a target is on, where one is attached.
async fn array_of(app: &Arc<App>, target: &str) -> Result<Option<String>, Refusal> {
    if !app.options.store.exists() {
        return Ok(None);
    }
    let key = target_key(target);
    app.with_store(move |store| Ok(store.target_array(&key)?)).await
}

/// Starts what the page before has shown.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Extension(fields): Extension<Fields>,
) -> Result<Response, Refusal> {
    let Some(permission) = &app.options.runs else {
        return Err(Refusal::forbidden("This server starts no runs; it was started without --allow-runs."));
    };
    let order = order(permission, &fields).map_err(Refusal::bad)?;
    started_at(&app, permission, Verb::Run, &words(&order))
}

/// Starts a run, and leads to what it prints.
fn started_at(
    app: &App,
    permission: &RunPermission,
    verb: Verb,
    words: &[String],
) -> Result<Response, Refusal> {
    let started = app.launches().start(permission, &app.options.store, verb, words);
    let launch = started.map_err(|error| match error {
        LaunchError::TooMany => Refusal::new(StatusCode::CONFLICT, error.to_string()),
        LaunchError::Start(_) => Refusal::internal(error.to_string()),
    })?;
    Ok(see_other(&format!("/started/{}", launch.number)))
}

/// Shows what a run prints until it is stored; then the run itself.
pub(crate) async fn started(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(number): Path<u64>,
) -> Result<Response, Refusal> {
    let Some(launch) = app.launches().find(number) else {
        return Err(Refusal::not_found("No run with that number was started here."));
    };
    let run = match app.options.store.exists() {
        true => {
            let looked = Arc::clone(&launch);
            app.with_store(move |store| Ok(looked.run(store))).await?
        }
        false => None,
    };
    match run {
        Some(run) => Ok(see_other(&format!("/runs/{run}"))),
        None => Ok(beginning(&launch, &visitor)),
    }
}

fn beginning(launch: &Launch, visitor: &Visitor) -> Response {
    let says = match launch.status() {
        None => "Preparing: the target is inspected and, if needed, filled.".to_owned(),
        Some(status) if status.code() == Some(2) => {
            "Refused: nothing was started, and nothing was written to the target.".to_owned()
        }
        Some(status) => format!("It ended before the run began ({status})."),
    };
    let body = format!(
        "<h1>New run</h1>\n<p><strong>{says}</strong></p>\n<p><code>{}</code></p>\n<pre class=\"output\" \
         role=\"log\">{}</pre>\n<p><a href=\"/new\">Another run</a></p>\n",
        escape(&launch.command),
        escape(&launch.output())
    );
    let page = Page::of(visitor, "New run", Place::NewRun, &body);
    html(if launch.status().is_none() { page.reloaded(1) } else { page }.text())
}

/// Reads what was asked for. Targets and plans are numbers of lists: no path comes from a request.
fn order(permission: &RunPermission, asked: &Fields) -> Result<Order, String> {
    let target = asked.get("target").parse().ok().and_then(|index: usize| permission.targets.get(index));
    let target = target.ok_or("Choose one of the listed targets.")?.address.clone();
    let (plan, plan_file) = plan_named(permission, asked.get("plan"))?;
    let field = |name: &str| short_field(asked, name);
    let options = RunOptions {
        quick: asked.get("quick") == "on",
        size: field("size")?,
        run: field("run")?,
        only: field("only")?,
        repeat: repeat(&field("repeat")?)?,
        label: field("label")?,
        note: field("note")?,
        overwrite: field("overwrite")?,
    };
    Ok(Order { target, plan, plan_file, options })
}

/// Returns a plan that may be chosen: as the command line takes it, and what it says.
fn plan_named(permission: &RunPermission, chosen: &str) -> Result<(String, PlanFile), String> {
    let Some(index) = chosen.strip_prefix("file-") else {
        let suite = suite(chosen).ok_or("Choose one of the listed suites.")?;
        let file = PlanFile::parse(suite.name, suite.text).map_err(|error| error.to_string())?;
        return Ok((suite.name.to_owned(), file));
    };
    let path = index.parse().ok().and_then(|index: usize| permission.plans.get(index));
    let path = path.ok_or("Choose one of the listed plans.")?;
    Ok((path.display().to_string(), read_plan(path)?))
}

fn short_field(asked: &Fields, name: &str) -> Result<String, String> {
    short(asked.get(name).trim(), name)
}

fn short(text: &str, name: &str) -> Result<String, String> {
    match text.chars().count() <= FIELD_MAX && !text.chars().any(char::is_control) {
        true => Ok(text.to_owned()),
        false => Err(format!("The field “{name}” may have {FIELD_MAX} characters at most.")),
    }
}

/// A number of repetitions; empty for one run.
fn repeat(text: &str) -> Result<String, String> {
    match text.parse::<u32>() {
        _ if text.is_empty() => Ok(String::new()),
        Ok(count @ 1..=REPEAT_MAX) => Ok(count.to_string()),
        _ => Err(format!("Repetitions: a number from 1 to {REPEAT_MAX}.")),
    }
}

fn read_plan(path: &std::path::Path) -> Result<PlanFile, String> {
    let text = crate::named::read(path, PLAN_BYTES_MAX)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    PlanFile::parse(&path.display().to_string(), &text).map_err(|error| error.to_string())
}

/// Returns the plan with its changes, as `assay run` makes it.
fn resolved(order: &Order) -> Result<Plan, String> {
    let options = &order.options;
    let mut overrides = Overrides::default();
    if !options.run.is_empty() {
        overrides.set(&format!("run={}", options.run)).map_err(|error| error.to_string())?;
    }
    if !options.size.is_empty() {
        let size: SizeSpec = options.size.parse().map_err(|error| format!("size: {error}"))?;
        overrides.size = Some(size);
    }
    overrides.quick = options.quick;
    overrides.only = Some(options.only.clone()).filter(|only| !only.is_empty()).into_iter().collect();
    order.plan_file.resolve(&overrides).map_err(|error| error.to_string())
}

/// Returns the words of the command line. Each value stands in one word with its option, so that none becomes one.
fn words(order: &Order) -> Vec<String> {
    let options = &order.options;
    let mut words = vec![order.plan.clone(), order.target.clone()];
    let valued = [
        ("--size", &options.size),
        ("--only", &options.only),
        ("--repeat", &options.repeat),
        ("--label", &options.label),
        ("--note", &options.note),
        ("--overwrite", &options.overwrite),
    ];
    words.extend(options.quick.then(|| "--quick".to_owned()));
    if !options.run.is_empty() {
        words.push(format!("--set=run={}", options.run));
    }
    words.extend(
        valued.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}={value}")),
    );
    words
}

/// Returns the plan and its time, with the button that starts it.
fn preview(order: &Order, array: Option<&str>, asked: &Fields, visitor: &Visitor) -> String {
    let plan = match resolved(order) {
        Ok(plan) => plan,
        Err(says) => return refused(&says),
    };
    let standing = Standing::new(&plan);
    let (steps_of, mut first) = (standing.steps(), 0);
    let row = |test: &assay_spec::Test| {
        let planned = &steps_of[first..first + test.steps.len()];
        first += test.steps.len();
        let writes = if test.steps.iter().any(|step| step.jobs.iter().any(|job| job.writes())) {
            "reads and writes"
        } else {
            "reads"
        };
        format!(
            "<tr><td>{}</td><td>{}</td><td class=\"w\">{writes}</td><td>{}</td></tr>\n",
            escape(&test.name),
            test.steps.len(),
            escape(&length(planned))
        )
    };
    let rows: String = plan.tests.iter().map(row).collect();
    let kept: String =
        ["target", "plan", "quick", "size", "run", "only", "repeat", "label", "note", "overwrite"]
            .iter()
            .map(|name| {
                format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escape(asked.get(name)))
            })
            .collect();
    let start = match visitor.csrf() {
        Some(_) => format!(
            "<form method=\"post\" action=\"/new\">{}{kept}<button class=\"start\">Start this run</button></form>\n",
            visitor.hidden()
        ),
        None => "<p><a class=\"button\" href=\"/login\">Sign in to start it</a></p>\n".to_owned(),
    };
    let command: Vec<String> = words(order);
    format!(
        "<section class=\"preview\" aria-label=\"Plan\">\n<h2>{}</h2>\n<p>{} on <strong>{}</strong>, {} without \
         filling the target.</p>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>Test</th><th>Steps</th>\
         <th class=\"w\">I/O</th><th>\
         Time</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n{}{}<p class=\"soft\">The same in a \
         terminal: <code>assay run {}</code></p>\n{start}</section>\n",
        escape(&plan.name),
        steps(plan.step_count()),
        escape(&without_secret(&order.target)),
        escape(&length(steps_of)),
        effect::on_target(&plan, &order.target, &order.options.size, &order.options.overwrite),
        effect::expected(&plan, array),
        escape(&command.join(" "))
    )
}

/// Suites by the question that they answer; those that are named in none of these come last.
const QUESTIONS: [(&str, &[&str]); 4] = [
    ("How good is my NAS or SAN?", &["vmware-modern", "vmware", "mix-matrix", "dd-stream"]),
    (
        "How good is my SSD or disk?",
        &[
            "crystaldiskmark",
            "crystaldiskmark-nvme",
            "kdiskmark",
            "as-ssd",
            "atto",
            "snia-pts-iops",
            "latency-qd1",
        ],
    ),
    (
        "Will it do for a database?",
        &["oltp-66-33", "sqlio-smallio", "sqlio-largeio", "sqlio-8x2g", "spc1-like"],
    ),
    (
        "How does it compare with published results?",
        &["iometer-classics", "iometer-builtins", "anandtech", "yabs"],
    ),
];

fn by_question() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> =
        QUESTIONS.iter().map(|(title, names)| (*title, names.to_vec())).collect();
    let is_other = |name: &&str| QUESTIONS.iter().all(|(_, names)| !names.contains(name));
    groups.push(("Others", SUITES.iter().map(|suite| suite.name).filter(is_other).collect()));
    groups
}

fn steps(count: usize) -> String {
    if count == 1 { "1 step".to_owned() } else { format!("{count} steps") }
}

fn refused(says: &str) -> String {
    format!("<p class=\"banner\">Refused: {}</p>\n", escape(says))
}

/// Returns the targets that may be chosen, as options of a form.
fn listed_targets(permission: &RunPermission, asked: &Fields) -> String {
    let option = |(index, target): (usize, &RunTarget)| {
        let address = without_secret(&target.address);
        let shown = match target.name == address {
            true => address,
            false => format!("{} ({address})", target.name),
        };
        let selected = if index.to_string() == asked.get("target") { " selected" } else { "" };
        format!("<option value=\"{index}\"{selected}>{}</option>\n", escape(&shown))
    };
    permission.targets.iter().enumerate().map(option).collect()
}

fn form(permission: &RunPermission, asked: &Fields) -> String {
    let option = |value: &str, name: &str, chosen: &str| {
        let selected = if value == chosen { " selected" } else { "" };
        format!("<option value=\"{}\"{selected}>{}</option>\n", escape(value), escape(name))
    };
    let targets = listed_targets(permission, asked);
    let group = |(title, names): (&str, Vec<&str>)| {
        let options: String = names.iter().map(|name| option(name, name, asked.get("plan"))).collect();
        format!("<optgroup label=\"{title}\">\n{options}</optgroup>\n")
    };
    let suites: String = by_question().into_iter().map(group).collect();
    let files: String = permission
        .plans
        .iter()
        .enumerate()
        .map(|(index, path)| option(&format!("file-{index}"), &path.display().to_string(), asked.get("plan")))
        .collect();
    let text = |name: &str, title: &str, hint: &str| {
        format!(
            "<label for=\"{name}\">{title}</label>\n<input id=\"{name}\" name=\"{name}\" value=\"{}\" \
             placeholder=\"{hint}\" maxlength=\"{FIELD_MAX}\">\n",
            escape(asked.get(name))
        )
    };
    let is_first = asked.get("target").is_empty();
    let quick = if is_first || asked.get("quick") == "on" { " checked" } else { "" };
    format!(
        "<form class=\"stack\" method=\"get\" action=\"/new\">\n<label for=\"target\">Target</label>\n<select \
         id=\"target\" name=\"target\" required>\n{targets}</select>\n<label for=\"plan\">Suite or plan</label>\n\
         <select \
         id=\"plan\" name=\"plan\" required>\n{suites}{files}</select>\n<label class=\"tick\"><input type=\"checkbox\" \
         name=\"quick\"{quick}> Shorten every step to 5 s</label>\n{}{}<details>\
         <summary>More options</summary><div class=\"stack\">{}{}{}{}{}</div></details>\n<button>\
         Show the plan</button>\n</form>\n",
        text("size", "Size", "how much of the target to use: 4GiB"),
        text("run", "Length of each step", "20s"),
        text("only", "Only tests with this in their name", "4KiB"),
        text("repeat", "Repetitions", "3"),
        text("label", "Label", ""),
        text("note", "Note", ""),
        text("overwrite", "Overwrite", "serial number or WWID of a device or LUN; its content is lost"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with --quick was run again without it, and the two are not comparable.
    #[test]
    fn a_run_is_run_again_as_it_was_or_not_at_all() {
        assert_eq!(fields_of("").as_deref(), Some(""));
        assert_eq!(fields_of("--quick, run=20s").as_deref(), Some("&amp;quick=on&amp;run=20s"));
        assert_eq!(fields_of("--quick, outstanding=1,4"), None);
    }

    #[test]
    fn every_suite_is_offered_once() {
        let mut offered: Vec<&str> = by_question().into_iter().flat_map(|(_, names)| names).collect();
        let mut known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        offered.sort_unstable();
        known.sort_unstable();
        assert_eq!(offered, known);
    }
}
