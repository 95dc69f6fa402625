//! `assay runs`, `show`, `report`, `label`, `rm`: stored runs.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use assay_analysis::compare::Side;
use assay_analysis::{Collector, Finding, Judgement, RunStatus, RunSummary};
use assay_record::{Event, RunHeader};
use assay_report::repeats::Repeats;
use assay_report::table::Format;
use assay_report::{Meta, RunListing};
use assay_store::{RunRow, Store, StoreError};

use crate::args::{Form, LabelArgs, ReportArgs, RmArgs, RunsArgs, ShowArgs, Since, Status, StoreArgs};
use crate::compare::of_stored;
use crate::exit::Exit;
use crate::export::is_export;
use crate::group::repeats_of;
use crate::open_store::{existing_store, store_path};
use crate::output::{Kept, Output};
use crate::render::{Page, Rendered as _};
use crate::run::judged;
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

/// Returns the status; only the store knows whether a run without an end is still going on.
fn status(row: &RunRow) -> RunStatus {
    if row.is_running { RunStatus::Running } else { RunStatus::from(row.status) }
}

/// A run from the store or from a file, judged anew.
pub(crate) struct Stored {
    pub(crate) label: Option<String>,
    pub(crate) note: Option<String>,
    /// Why its events are missing from some moment on.
    lost: Option<String>,
    pub(crate) header: RunHeader,
    pub(crate) summary: RunSummary,
    pub(crate) findings: Vec<Finding>,
    pub(crate) judgement: Option<Judgement>,
}

/// What is kept with a run beside its events.
struct Beside {
    label: Option<String>,
    note: Option<String>,
    lost: Option<String>,
}

impl Stored {
    /// What a name means: a file of `assay export`, or a run in the store.
    pub(crate) fn named(store: &StoreArgs, name: &str) -> anyhow::Result<Self> {
        let path = Path::new(name);
        if is_export(path) {
            return Self::of_file(path);
        }
        Self::read(&existing_store(store)?, name)
    }

    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Self> {
        let exported = crate::export::read(path)?;
        let summary = summary_of(&exported.header, &exported.events);
        let kept = Beside { label: exported.label, note: exported.note, lost: exported.lost };
        Self::judged(exported.header, summary, kept)
    }

    pub(crate) fn read(store: &Store, name: &str) -> anyhow::Result<Self> {
        let run = store.find(name)?;
        let (row, header) = (store.row(&run)?, store.header(&run)?);
        if row.is_running {
            note!("run {run} is still going on; these are its results so far");
        }
        let mut summary = summary_of(&header, &store.load(&run)?);
        if row.is_running {
            summary.status = status(&row);
        }
        Self::judged(header, summary, Beside { label: row.label, note: row.note, lost: row.lost })
    }

    fn judged(header: RunHeader, summary: RunSummary, beside: Beside) -> anyhow::Result<Self> {
        let Beside { label, note, lost } = beside;
        if let Some(why) = &lost {
            note!("warning: run {} is incomplete, its last events could not be stored: {why}", header.run);
        }
        let (findings, judgement) = judged(&header, &summary)?;
        Ok(Self { label, note, lost, header, summary, findings, judgement })
    }

    fn page(&self) -> Page<'_> {
        let meta = Meta {
            label: self.label.as_deref(),
            note: self.note.as_deref(),
            lost: self.lost.as_deref(),
            judgement: self.judgement.as_ref(),
        };
        Page { header: &self.header, summary: &self.summary, findings: &self.findings, meta }
    }
}

fn summary_of(header: &RunHeader, events: &[Event]) -> RunSummary {
    let mut collector = Collector::new(header);
    events.iter().for_each(|event| collector.add(event));
    collector.summary()
}

pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<Exit> {
    if let Some(name) = args.run.strip_prefix("published:") {
        return crate::published::show(name, args.view.form());
    }
    if let Some(repeats) = repetitions(&args.store, &args.run)? {
        say(&repeats.printed(args.view.form(), args.view.options()))?;
        return Ok(Exit::Done);
    }
    let stored = Stored::named(&args.store, &args.run)?;
    say(&stored.page().printed(args.view.form(), args.view.options()))?;
    Ok(Exit::Done)
}

pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    if let Some(repeats) = repetitions(&args.store, &args.run)? {
        let output = Output::check_named(&args.output, Kept::of(&args.store, &[]), None)?;
        repeats.write(&output, "report")?;
        return Ok(Exit::Done);
    }
    let stored = Stored::named(&args.store, &args.run)?;
    let output = Output::check_named(&args.output, Kept::of(&args.store, &[]), Some(&stored.header.run))?;
    stored.page().write(&output, "report")?;
    Ok(Exit::Done)
}

/// Returns the repetitions that a label stands for; `None` where it stands for one run, or is no label.
pub(crate) fn labelled(store: &Store, name: &str) -> anyhow::Result<Vec<String>> {
    let rows = store.runs()?;
    let of_label = rows.iter().filter(|row| row.label.as_deref() == Some(name) && !row.is_running);
    // Repetitions are read in the order in which they were made.
    Ok(of_label.rev().map(|row| row.run.clone()).collect())
}

fn repetitions(args: &StoreArgs, name: &str) -> anyhow::Result<Option<Repeats>> {
    if is_export(Path::new(name)) || !store_path(args)?.exists() {
        return Ok(None);
    }
    let store = existing_store(args)?;
    let runs = labelled(&store, name)?;
    if runs.len() < 2 {
        return Ok(None);
    }
    let readings = runs.iter().map(|run| Ok(of_stored(&Stored::read(&store, run)?)));
    let readings = readings.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Some(repeats_of(&[Side { name: name.to_owned(), readings }], &[])))
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
