//! `assay suites`: the suites that ship with Assay.

use anyhow::bail;
use assay_analysis::{PlannedStep, Standing};
use assay_report::standing::length;
use assay_report::text::wrap;
use assay_spec::suites::{SUITES, suite};
use assay_spec::{Overrides, Plan, PlanFile, suggest};
use serde_json::json;

use crate::args::{SuitesArgs, SuitesVerb};
use crate::exit::Exit;
use crate::output::terminal::{say, text_options};
use crate::words::plan_file::names;

/// Columns of the longest name in the short list, of those that lead a family.
const NAME_COLUMNS: usize = 17;
/// Number of columns of running text; longer lines are hard to read.
const WIDTH_MAX: usize = 110;

pub(crate) fn suites(args: &SuitesArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Some(SuitesVerb::Show { name }) => match suite(name) {
            Some(suite) => say(suite.text)?,
            None => bail!("there is no suite `{name}`{}", suggest(name, &names())),
        },
        None if args.form.json => say(&format!("{:#}\n", as_json()?))?,
        None if args.explain => say(&explained()?)?,
        None => say(&list()?)?,
    }
    Ok(Exit::Done)
}

fn resolved() -> anyhow::Result<Vec<(&'static str, Plan)>> {
    let resolve = |s: &assay_spec::suites::Suite| {
        Ok((s.name, PlanFile::parse(s.name, s.text)?.resolve(&Overrides::default())?))
    };
    SUITES.iter().map(resolve).collect()
}

/// A line for each suite; the variants of one stand behind it, so that all fit a screen.
fn list() -> anyhow::Result<String> {
    let resolved = resolved()?;
    let family = |name: &'static str| match name {
        "atto" => "super",
        "many-initiators" => "scale",
        name => name.split('-').next().unwrap_or(name),
    };
    let mut text = String::new();
    for (at, (name, plan)) in resolved.iter().enumerate() {
        if resolved[..at].iter().any(|(before, _)| family(before) == family(name)) {
            continue;
        }
        let others = resolved[at + 1..].iter().filter(|(other, _)| family(other) == family(name));
        // `-nvme` behind crystaldiskmark, `iometer-builtins` behind iometer-classics.
        let others: Vec<&str> = others.map(|(other, _)| other.strip_prefix(name).unwrap_or(other)).collect();
        let also = if others.is_empty() { String::new() } else { format!("; {}", others.join(" ")) };
        text.push_str(&format!(
            "{name:<NAME_COLUMNS$} {:>6}  {}{also}\n",
            about_minutes(plan.time()),
            plan.name
        ));
    }
    text.push_str("assay suites show NAME prints one as a plan file; --explain: what each is for\n");
    Ok(text)
}

/// Minutes, or hours of what takes many.
fn about_minutes(time: assay_spec::units::Nanos) -> String {
    let whole = (time.as_secs_f64() / 60.0).ceil();
    if whole < 600.0 { format!("{whole:.0} min") } else { format!("{:.0} h", whole / 60.0) }
}

/// What each suite is for.
fn explained() -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, plan) in resolved()? {
        let standing = Standing::new(&plan);
        let time = match standing.steps().iter().all(PlannedStep::is_timed) {
            true => minutes(plan.time()),
            false => length(standing.steps()),
        };
        let time = format!("{time}, {} steps", plan.step_count());
        let indent = " ".repeat(16);
        let about = wrap(&format!("{indent}{}", plan.about), text_options().width.min(WIDTH_MAX), &indent);
        text.push_str(&format!("{name:<15} {} ({time})\n{about}\n\n", plan.name));
    }
    text.push_str("assay suites show NAME prints one as a plan file; assay run NAME TARGET runs it.\n");
    Ok(text)
}

fn minutes(time: assay_spec::units::Nanos) -> String {
    format!("{:.0} min", (time.as_secs_f64() / 60.0).ceil())
}

fn as_json() -> anyhow::Result<serde_json::Value> {
    let suites = resolved()?.into_iter().map(|(name, plan)| {
        json!({ "suite": name, "name": plan.name, "about": plan.about, "source": plan.source,
                "seconds": plan.time().as_secs_f64(), "steps": plan.step_count() })
    });
    Ok(suites.collect())
}
