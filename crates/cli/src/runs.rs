//! `assay runs`, `show`, `report`, `label`, `rm`: stored runs.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use assay_analysis::RunStatus;
use assay_report::RunListing;
use assay_report::table::Format;
use assay_store::{RunRow, StoreError};

use crate::args::{Form, LabelArgs, ReportArgs, RmArgs, RunsArgs, ShowArgs, Since, Status};
use crate::exit::Exit;
use crate::open_store::{existing_store, store_path};
use crate::output::{Kept, Output};
use crate::render::Rendered as _;
use crate::stored::{Stored, status};
use crate::terminal::{note, say, text_options};

pub(crate) fn runs(args: &RunsArgs) -> anyhow::Result<Exit> {
    let is_first_use = args.store.named().is_none() && !store_path(&args.store)?.exists();
    let all = if is_first_use { Vec::new() } else { existing_store(&args.store)?.runs()? };
    let listings: Vec<RunListing<'_>> = chosen(args, &all).map(listing).collect();
    let format = match args.form.form() {
        Form::Text if listings.is_empty() && !all.is_empty() => {
            note!("none of the {} stored runs matches", all.len());
            return Ok(Exit::Done);
        }
        Form::Text => Format::Text(text_options().width),
        Form::Csv => Format::Csv,
        Form::Md => Format::Markdown,
        Form::Bbcode => Format::BbCode,
        Form::Json => {
            say(&format!("{:#}\n", assay_report::runs_json(&listings)))?;
            return Ok(Exit::Done);
        }
    };
    say(&assay_report::runs_rendered(&listings, format))?;
    Ok(Exit::Done)
}

/// The runs that pass every filter, in their order.
fn chosen<'r>(args: &'r RunsArgs, rows: &'r [RunRow]) -> impl Iterator<Item = &'r RunRow> {
    let has = |text: &str, part: &Option<String>| {
        part.as_ref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
    };
    let since_unix_ms = args.since.map(since_unix_ms);
    let is_wanted = move |row: &&RunRow| {
        (args.target.is_none() || row.targets.iter().any(|target| has(target, &args.target)))
            && has(&row.name, &args.plan)
            && has(row.label.as_deref().unwrap_or_default(), &args.label)
            && args.status.is_none_or(|wanted| status_of(wanted) == status(row))
            && since_unix_ms.is_none_or(|since| row.started_unix_ms >= since)
    };
    rows.iter().filter(is_wanted).take(args.limit.unwrap_or(usize::MAX))
}

fn since_unix_ms(since: Since) -> u64 {
    const DAY_MS: u64 = 86_400_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    match since {
        Since::At(unix_ms) => unix_ms,
        Since::Ago(ms) => now_ms.saturating_sub(ms),
        Since::Today => now_ms / DAY_MS * DAY_MS,
    }
}

fn status_of(status: Status) -> RunStatus {
    match status {
        Status::Done => RunStatus::Done,
        Status::Failed => RunStatus::Failed,
        Status::Interrupted => RunStatus::Interrupted,
        Status::Running => RunStatus::Running,
        Status::Partial => RunStatus::Partial,
    }
}

fn listing(row: &RunRow) -> RunListing<'_> {
    RunListing {
        run: &row.run,
        name: &row.name,
        status: status(row).name(),
        label: row.label.as_deref(),
        note: row.note.as_deref(),
        lost: row.lost.as_deref(),
        started_unix_ms: row.started_unix_ms,
        targets: &row.targets,
    }
}

pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<Exit> {
    if let Some(name) = args.run.strip_prefix("published:") {
        return crate::published::show(name, args.view.form());
    }
    let stored = Stored::named(&args.store, &args.run)?;
    if let Some(every) = args.series {
        return show_series(&stored, every, args);
    }
    say(&stored.page().printed(args.view.form(), args.view.options()))?;
    Ok(Exit::Done)
}

/// Prints the measured windows over time.
fn show_series(stored: &Stored, every: assay_spec::units::Nanos, args: &ShowArgs) -> anyhow::Result<Exit> {
    let every_s = every.0 as f64 / 1e9;
    if every_s < 1.0 {
        bail!("--series {every}: results are kept for each second; give 1s or more");
    }
    let table = assay_report::series::table(&stored.summary.steps, every_s);
    let format = match args.view.form() {
        Form::Text => Format::Text(args.view.options().width),
        Form::Csv => Format::Csv,
        Form::Md => Format::Markdown,
        Form::Bbcode => Format::BbCode,
        Form::Json => {
            bail!("--series has no JSON of its own: assay show {} --json has `series`, each second", args.run)
        }
    };
    say(&table.render(format))?;
    Ok(Exit::Done)
}

pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let stored = Stored::named(&args.store, &args.run)?;
    let output = Output::check_named(&args.output, Kept::of(&args.store, &[]), Some(&stored.header.run))?;
    stored.page().write(&output, "report")?;
    Ok(Exit::Done)
}

pub(crate) fn label(args: &LabelArgs) -> anyhow::Result<Exit> {
    if args.label.is_none() && args.note.is_none() {
        bail!("give a label, or --note TEXT");
    }
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    let text = |text: &str| Some(text.trim().to_owned()).filter(|t| !t.is_empty());
    if let Some(label) = &args.label {
        store.set_label(&run, text(label).as_deref())?;
    }
    if let Some(note) = &args.note {
        store.set_note(&run, text(note).as_deref())?;
    }
    Ok(Exit::Done)
}

pub(crate) fn rm(args: &RmArgs) -> anyhow::Result<Exit> {
    let store = existing_store(&args.store)?;
    // All names are resolved before anything is removed.
    let runs: Vec<String> = args.runs.iter().map(|name| store.find(name)).collect::<Result<_, _>>()?;
    for run in &runs {
        if store.row(run)?.is_running {
            bail!(StoreError::Running { run: run.clone() });
        }
    }
    for run in runs {
        store.remove(&run)?;
        note!("removed run {run}");
    }
    Ok(Exit::Done)
}
