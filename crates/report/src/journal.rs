//! A journal of changes to a set-up: what each step did, and what else changed.

use assay_analysis::compare::{Comparison, TestPair};
use assay_analysis::repeats::Pooled;
use assay_record::RunHeader;
use serde_json::{Value, json};

use crate::compare::{judged, ratio_text};
use crate::forum::error_cell;
use crate::layout::wrap;
use crate::options::TextOptions;
use crate::table::{Cell, Column, Decimals, Format, Narrow, Row, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.journal/1";
/// What a step is called in narrow text.
const STEP_COLUMNS: usize = 20;

/// A journal with its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    /// Its name.
    pub name: String,
    /// Plan and target.
    pub about: String,
    /// In the order in which they were measured.
    pub steps: Vec<JournalEntry>,
    /// Every step against the first; `None` for fewer than two.
    pub whole: Option<Comparison>,
    /// The stages of the method.
    pub stages: Vec<Stage>,
}

/// A measured step.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    /// What was changed, in the words of whoever changed it.
    pub change: String,
    /// Ids of its runs.
    pub runs: Vec<String>,
    /// Its tests.
    pub tests: Vec<Pooled>,
    /// Against the step before; `None` for the first.
    pub against: Option<Comparison>,
    /// What the records of both show to have changed.
    pub facts: Vec<FactChange>,
}

/// A fact that differs between two steps.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FactChange {
    /// What it belongs to: facts of one area change together.
    pub area: String,
    /// Its name.
    pub what: String,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

/// A stage of the method, and how to measure it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Stage {
    /// What it shows.
    pub says: String,
    /// How many steps have been measured in it.
    pub steps: usize,
    /// The command that measures a step of it.
    pub command: String,
}

/// Facts that change from run to run without anybody changing anything, by their name.
const PASSING: [&str; 17] = [
    "content",
    "congestion_window_segments",
    "extents",
    "first_bytes",
    "end_bytes",
    "pieces",
    "free_bytes",
    "local",
    "remote",
    "ping",
    "retransmits",
    "rtt_us",
    "unwritten_bytes",
    "counters",
    "source",
    "frames",
    "tcp_window",
];

/// Returns every fact of the host, the path, the target and the plan that differs between two runs.
pub fn changed_facts(before: &RunHeader, after: &RunHeader) -> Vec<FactChange> {
    let of = |header: &RunHeader| {
        let mut facts = Vec::new();
        flatten("host", &json!(header.host), &mut facts);
        for (index, target) in header.targets.iter().enumerate() {
            let name = if header.targets.len() > 1 { format!("target {index}") } else { "target".to_owned() };
            flatten(&name, &json!(target.member), &mut facts);
        }
        flatten("plan.tests", &json!(header.plan.tests), &mut facts);
        facts.push(("plan.semantics".to_owned(), json!(header.plan.semantics).to_string()));
        facts.push(("assay.version".to_owned(), header.version.clone()));
        facts
    };
    let (before, after) = (of(before), of(after));
    let value = |facts: &[(String, String)], what: &str| {
        facts.iter().find(|(name, _)| name == what).map_or("none".to_owned(), |(_, value)| value.clone())
    };
    let mut names: Vec<&String> = before.iter().chain(&after).map(|(name, _)| name).collect();
    names.dedup();
    let mut changed: Vec<FactChange> = Vec::new();
    for name in names {
        let (old, new) = (value(&before, name), value(&after, name));
        if old != new && !changed.iter().any(|known| known.what == *name) {
            changed.push(FactChange {
                area: area(name).to_owned(),
                what: name.clone(),
                before: old,
                after: new,
            });
        }
    }
    changed
}

/// Leaves of a document by their path; facts that pass are left out.
fn flatten(path: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !PASSING.contains(&name.as_str())) {
                flatten(&format!("{path}.{name}"), field, facts);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            for (index, field) in values.iter().enumerate() {
                flatten(&format!("{path}.{index}"), field, facts);
            }
        }
        Value::Null => {}
        Value::String(text) => facts.push((path.to_owned(), text.clone())),
        other => facts.push((path.to_owned(), other.to_string())),
    }
}

/// Facts that one change moves together are of one area.
fn area(name: &str) -> &'static str {
    let has = |part: &str| name.contains(part);
    if has(".agreed.") {
        "negotiated parameters"
    } else if has(".net.") || has(".tcp.") || has(".route") || has(".interface") {
        "network"
    } else if name.starts_with("plan.") {
        "plan"
    } else if ["span_bytes", "capacity_bytes", "device_bytes"].into_iter().any(has) {
        "span"
    } else if name.starts_with("host.") {
        "host"
    } else if name.starts_with("assay.") {
        "version of Assay"
    } else if has(".paths.") {
        "paths"
    } else {
        "target"
    }
}

/// Returns what else changed in a step, as one sentence; two areas at once are called that.
pub(crate) fn facts_text(facts: &[FactChange]) -> String {
    let mut areas: Vec<&str> = Vec::new();
    for fact in facts {
        if !areas.contains(&fact.area.as_str()) {
            areas.push(&fact.area);
        }
    }
    let listed = listed(facts);
    match areas.len() {
        0 => "The records of both steps show no change in host, path, target or plan.".to_owned(),
        1 => format!("Changed by the records ({}): {}.", areas[0], listed.join("; ")),
        n => format!(
            "{n} changes at once ({}): {}. The effect cannot be attributed to one of them; measure each by itself.",
            areas.join(", "),
            listed.join("; ")
        ),
    }
}

/// Changes that are named of a step; the JSON document has all of them.
const NAMED_MAX: usize = 6;

/// Returns the changes in words. The same change of the same field in several places is one: a setting of a plan is in
/// each of its steps.
fn listed(facts: &[FactChange]) -> Vec<String> {
    let mut changes: Vec<(String, &FactChange, usize)> = Vec::new();
    for fact in facts {
        let field = field_of(&fact.what);
        let is_same = |(known, first, _): &&mut (String, &FactChange, usize)| {
            *known == field && (&first.before, &first.after) == (&fact.before, &fact.after)
        };
        match changes.iter_mut().find(is_same) {
            Some((_, _, places)) => *places += 1,
            None => changes.push((field, fact, 1)),
        }
    }
    let more = changes.len().saturating_sub(NAMED_MAX);
    let words = changes.iter().take(NAMED_MAX).map(|(field, fact, places)| {
        let places = if *places > 1 { format!(" ({places} places)") } else { String::new() };
        format!("{field} {} -> {}{places}", short(&fact.before), short(&fact.after))
    });
    let mut words: Vec<String> = words.collect();
    words.extend((more > 0).then(|| format!("{more} more (--json lists them)")));
    words
}

/// Returns the name of a fact without the way to it: `plan.tests.1.steps.0.jobs.0.outstanding` is `outstanding`, a
/// fact of a path keeps its number.
fn field_of(what: &str) -> String {
    let parts: Vec<&str> = what.split('.').collect();
    let is_index = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let path = parts
        .iter()
        .position(|part| *part == "paths")
        .and_then(|at| parts.get(at + 1))
        .filter(|p| is_index(p));
    let name = parts.iter().rev().find(|part| !is_index(part)).copied().unwrap_or(what);
    path.map_or_else(|| name.replace('_', " "), |path| format!("{} of path {path}", name.replace('_', " ")))
}

/// A value as far as a sentence can have it.
fn short(value: &str) -> String {
    const CHARS_MAX: usize = 40;
    match value.chars().count() > CHARS_MAX {
        true => value.chars().take(CHARS_MAX).chain(['…']).collect(),
        false => value.to_owned(),
    }
}

/// Returns the journal as text: a table for each test over the steps, what else changed, and the stages.
pub fn table(journal: &Journal, options: TextOptions) -> String {
    let mut text = format!("Journal \"{}\": {}\n", journal.name, journal.about);
    if !journal.steps.is_empty() {
        text.push('\n');
        text.push_str(&result_table(journal).render(Format::Text(options.width)));
    }
    for (number, step) in (1..).zip(&journal.steps) {
        let runs = step.runs.join(", ");
        let words = match &step.against {
            None => format!("{number}. {} ({runs})", step.change),
            Some(_) => format!("{number}. {} ({runs}): {}", step.change, facts_text(&step.facts)),
        };
        text.push_str(&format!("\n{}\n", wrap(&words, options.prose(), "   ")));
    }
    text.push_str("\nStages:\n");
    let next = journal.stages.iter().position(|stage| stage.steps == 0);
    for (index, stage) in journal.stages.iter().enumerate() {
        let state = match stage.steps {
            0 if next == Some(index) => "next".to_owned(),
            0 => "later".to_owned(),
            1 => "1 step".to_owned(),
            n => format!("{n} steps"),
        };
        let says = format!("{}. {} [{state}]", index + 1, stage.says);
        // Commands are copied from here, so they are not wrapped.
        text.push_str(&format!("{}\n     {}\n", wrap(&says, options.prose(), "   "), stage.command));
    }
    text
}

pub(crate) fn result_table(journal: &Journal) -> Table {
    let mut table = Table::new(vec![
        Column::text("Step").narrow(Narrow::Cut(STEP_COLUMNS)),
        Column::number("IOPS", ""),
        Column::number("±%", "").decimals(Decimals::Fixed(1)).narrow(Narrow::Drop(2)),
        Column::number("MiB/s", ""),
        Column::number("p99", "ms").decimals(Decimals::Each).narrow(Narrow::Drop(1)),
        Column::text("against the step before (95 %)").narrow(Narrow::Keep),
    ]);
    table.group = "Test".to_owned();
    for (test, step) in names(journal) {
        table.rows.push(Row::Group(format!("{test} {step}").trim_end().to_owned()));
        for (number, entry) in (1..).zip(&journal.steps) {
            let name = format!("{number}. {}", entry.change);
            let pooled = entry.tests.iter().find(|of| of.test == test && of.step == step);
            table.rows.push(match pooled {
                Some(pooled) => Row::Cells(cells(name, pooled, entry)),
                None => Row::Words { name, words: "not measured".to_owned() },
            });
        }
    }
    table
}

/// Tests of all steps, in the order in which they come up.
pub(crate) fn names(journal: &Journal) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for test in journal.steps.iter().flat_map(|step| &step.tests) {
        let name = (test.test.clone(), test.step.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn cells(name: String, pooled: &Pooled, entry: &JournalEntry) -> Vec<Cell> {
    let width = pooled.iops.half_width().or_else(|| pooled.runs.first()?.iops.half_width());
    vec![
        name.into(),
        pooled.iops.value.into(),
        error_cell(width),
        pooled.mib_per_s.value.into(),
        pooled.p99_ms.map(|p99| p99.value).into(),
        change(pooled, entry).into(),
    ]
}

fn change(pooled: &Pooled, entry: &JournalEntry) -> String {
    let of = |test: &&TestPair| test.test == pooled.test && test.step == pooled.step;
    let test = entry.against.as_ref().and_then(|against| against.tests.iter().find(of));
    let against = test.and_then(|test| Some((test, test.cells.get(1)?.as_ref()?.against.as_ref()?)));
    against.map_or_else(String::new, |(test, against)| {
        format!("{} {}", ratio_text(judged(test, against)), against.change.says())
    })
}

/// Returns the journal in a format: the page of [`table`] as text, else its table and what else changed.
pub fn rendered(journal: &Journal, format: Format) -> String {
    match format {
        Format::Text(width) => table(journal, TextOptions { width, ..TextOptions::default() }),
        Format::Csv => result_table(journal).render(format),
        Format::Markdown | Format::BbCode => {
            let says = (1..).zip(&journal.steps).filter(|(_, step)| step.against.is_some()).map(
                |(number, step): (usize, &JournalEntry)| {
                    format.text(&format!("{number}. {}: {}", step.change, facts_text(&step.facts)))
                },
            );
            let says: Vec<String> = says.collect();
            let title = format!("{}: {}", journal.name, journal.about);
            format!(
                "{}\n\n{}\n{}\n",
                format.text(&title),
                result_table(journal).render(format),
                says.join("\n\n")
            )
        }
    }
}

/// Returns the journal as one JSON document.
pub fn document(journal: &Journal) -> Value {
    let step = |step: &JournalEntry| {
        json!({
            "change": step.change,
            "runs": step.runs,
            "tests": step.tests.iter().map(crate::repeats::test_json).collect::<Vec<_>>(),
            "against_before": step.against.as_ref().map(crate::compare::document),
            "also_changed": step.facts,
            "says": step.against.as_ref().map(|_| facts_text(&step.facts)),
        })
    };
    json!({
        "schema": SCHEMA,
        "name": journal.name,
        "about": journal.about,
        "steps": journal.steps.iter().map(step).collect::<Vec<_>>(),
        "stages": journal.stages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue depth that was changed in a plan of forty steps took forty lines.
    #[test]
    fn one_change_in_many_places_is_said_once() {
        let fact = |what: String, before: &str| FactChange {
            area: "plan".to_owned(),
            what,
            before: before.to_owned(),
            after: "32".to_owned(),
        };
        let mut facts: Vec<FactChange> =
            (0..40).map(|step| fact(format!("plan.tests.1.steps.{step}.jobs.0.outstanding"), "1")).collect();
        facts.push(fact("target.lun.paths.1.net.interface.mtu_bytes".to_owned(), "1500"));
        assert_eq!(listed(&facts), ["outstanding 1 -> 32 (40 places)", "mtu bytes of path 1 1500 -> 32"]);
        let many: Vec<FactChange> = (0..9).map(|n| fact(format!("host.field{n}"), "1")).collect();
        assert_eq!(listed(&many).last().unwrap(), "3 more (--json lists them)");
    }
}
