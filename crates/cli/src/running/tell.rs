//! The result of a run, as it is printed and written.

use std::io::IsTerminal as _;

use assay_analysis::compare::ResultSet;
use assay_analysis::{RunStatus, RunSummary};
use assay_report::held::{Held, Origin};
use assay_report::text::TextOptions;

use super::Done;
use super::truth;
use crate::args::{Form, ViewArgs};
use crate::exit::{Exit, Failed};
use crate::output::Output;
use crate::output::render::{Page, Rendered as _};
use crate::output::terminal::{error_options, note, say};
use assay_results::judged;
use assay_store::Store;

/// How a result is printed.
#[derive(Clone, Copy)]
pub(crate) struct Telling<'t> {
    pub(crate) note: Option<&'t str>,
    pub(crate) form: Form,
    pub(crate) options: TextOptions,
    /// The run against its baseline, or the last run of the same.
    pub(crate) before: Option<&'t Held>,
}

impl<'t> Telling<'t> {
    /// As the command line has it.
    pub(crate) fn of(view: &ViewArgs, note: Option<&'t str>, before: Option<&'t Held>) -> Self {
        Self { note, form: view.form(), options: view.options(), before }
    }
}

/// Writes the report, then prints the result: a closed terminal must not cost the report.
pub(crate) fn tell(telling: Telling<'_>, done: &Done, output: Option<&Output>) -> anyhow::Result<Exit> {
    let Done { header, collector, truths, .. } = done;
    let summary = collector.summary();
    let (findings, judgement) = judged(header, &summary)?;
    let meta = assay_report::Meta {
        label: done.label.as_deref(),
        note: telling.note,
        lost: None,
        judgement: judgement.as_ref(),
        baseline: telling.before.filter(|held| held.origin == Origin::Baseline),
        last: telling.before.filter(|held| held.origin == Origin::Last),
    };
    let page = Page { header, summary: &summary, findings: &findings, meta };
    // A report that cannot be written must not cost the result on the terminal.
    let written = output.map_or(Ok(()), |output| page.write(output, "report"));
    match telling.form {
        Form::Json => {
            let mut document = page.document();
            if !truths.is_empty() {
                document["simulated_truth"] = truth::json(header, &summary, truths);
            }
            say(&format!("{document:#}\n"))?;
        }
        form => {
            let mut text = page.printed(form, telling.options);
            if form == Form::Text {
                text.push_str(&truth::text(header, &summary, truths));
            }
            match output.is_some_and(Output::is_stdout) {
                true => note!("{}", text.trim_end()),
                false => say(&text)?,
            }
            let may_resume = header.diagnosis.is_none() && header.setting.hosts.is_empty();
            if summary.status == RunStatus::Interrupted && done.is_stored && may_resume {
                note!("to measure the rest: assay run --resume {}", header.run);
            }
            // On one screen the id stands above the table already.
            if done.is_stored && !(std::io::stdout().is_terminal() && std::io::stderr().is_terminal()) {
                let says = format!("stored as run {}: assay show {0}, assay report {0}", header.run);
                note!("{}", assay_report::text::wrap(&says, error_options().width, "  "));
            }
        }
    }
    written.map(|()| exit_of(&summary)).map_err(|error| Failed::new(Exit::Errors, error).into())
}

/// Returns the run against its baseline, or the last run of the same. What cannot be read must not cost the result.
pub(crate) fn before(store: &Store, done: &Done) -> Option<Held> {
    let summary = done.collector.summary();
    let (findings, judgement) = judged(&done.header, &summary).ok()?;
    let reading = ResultSet::of_run(&done.header, &summary, &findings, judgement.as_ref());
    let read = |store: &Store| assay_results::against_earlier(store, &done.header, reading.clone());
    // A server that was restarted during the run has ended this connection.
    let anew = |error| match Store::open(store.address().clone()) {
        Ok(store) => read(&store),
        Err(_) => Err(error),
    };
    read(store).or_else(anew).unwrap_or_else(|error| {
        note!("warning: an earlier run cannot be read: {}", crate::message(&error.into()));
        None
    })
}

/// Returns the exit code of a run.
pub(crate) fn exit_of(summary: &RunSummary) -> Exit {
    let has_errors = summary.steps.iter().any(|s| s.errors > 0 || s.mismatch_count > 0);
    match summary.status {
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Failed => Exit::Errors,
        _ if has_errors => Exit::Errors,
        _ => Exit::Done,
    }
}
