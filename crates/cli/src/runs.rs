//! `assay runs`, `show`, `report`, `label`, `rm`: what is kept.

use anyhow::bail;
use assay_analysis::{Collector, Finding, Judgement, RunStatus, RunSummary};
use assay_record::RunHeader;
use assay_report::{Meta, RunListing};
use assay_store::{RunRow, Store, StoreError};

use crate::args::{LabelArgs, ReportArgs, RmArgs, RunsArgs, ShowArgs};
use crate::open_store::{existing_store, store_path};
use crate::output::{check_report_path, note, text_options, write_report};
use crate::run::judged;
use crate::{Exit, say};

pub(crate) fn runs(args: &RunsArgs) -> anyhow::Result<Exit> {
    let is_first_use = args.store.store.is_none() && !store_path(&args.store)?.exists();
    let rows = if is_first_use { Vec::new() } else { existing_store(&args.store)?.runs()? };
    let listings: Vec<RunListing<'_>> = rows.iter().map(listing).collect();
    match args.json {
        true => say(&format!("{:#}\n", assay_report::runs_json(&listings)))?,
        false => say(&assay_report::runs_table(&listings))?,
    }
    Ok(Exit::Done)
}

fn listing(row: &RunRow) -> RunListing<'_> {
    RunListing {
        run: &row.run,
        name: &row.name,
        status: status(row).name(),
        label: row.label.as_deref(),
        note: row.note.as_deref(),
        started_unix_ms: row.started_unix_ms,
        targets: &row.targets,
    }
}

/// The store knows what a run's events cannot tell: whether somebody is still at it.
fn status(row: &RunRow) -> RunStatus {
    if row.is_running { RunStatus::Running } else { RunStatus::from(row.status) }
}

/// A stored run, judged anew.
pub(crate) struct Stored {
    pub(crate) row: RunRow,
    pub(crate) header: RunHeader,
    pub(crate) summary: RunSummary,
    pub(crate) findings: Vec<Finding>,
    pub(crate) judgement: Option<Judgement>,
}

impl Stored {
    pub(crate) fn read(store: &Store, name: &str) -> anyhow::Result<Self> {
        let run = store.find(name)?;
        let (row, header) = (store.row(&run)?, store.header(&run)?);
        if row.is_running {
            note!("run {run} is still going on; this is what it has measured so far");
        }
        let mut collector = Collector::new(&header);
        store.load(&run)?.iter().for_each(|event| collector.add(event));
        let mut summary = collector.summary();
        if row.is_running {
            summary.status = status(&row);
        }
        let (findings, judgement) = judged(&header, &summary)?;
        Ok(Self { row, header, summary, findings, judgement })
    }

    fn meta(&self) -> Meta<'_> {
        Meta {
            label: self.row.label.as_deref(),
            note: self.row.note.as_deref(),
            judgement: self.judgement.as_ref(),
        }
    }
}

pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<Exit> {
    if let Some(name) = args.run.strip_prefix("published:") {
        return crate::published::show(name, args.json);
    }
    let stored = Stored::read(&existing_store(&args.store)?, &args.run)?;
    let Stored { header, summary, findings, judgement, .. } = &stored;
    match args.json {
        true => {
            say(&format!("{:#}\n", assay_report::json::document(header, summary, findings, stored.meta())))?
        }
        false => {
            let options = text_options();
            say(&assay_report::text::table_with(header, summary, findings, judgement.as_ref(), options))?
        }
    }
    Ok(Exit::Done)
}

pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let store = existing_store(&args.store)?;
    check_report_path(&args.output, &[store.path().to_owned()])?;
    let stored = Stored::read(&store, &args.run)?;
    write_report(&args.output, &stored.header, &stored.summary, &stored.findings, stored.meta())?;
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
    // All names are understood before anything is removed.
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
