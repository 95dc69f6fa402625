//! A stored run, from the store or from a file of `assay export`, judged by the rules of today.

use std::path::Path;

use assay_analysis::{Collector, Finding, Judgement, RunStatus, RunSummary, findings};
use assay_record::{Event, RunHeader};
use assay_report::Meta;
use assay_report::held::Held;
use assay_store::{RunRow, Store};

use crate::args::StoreArgs;
use crate::open_store::existing_store;
use crate::render::Page;
use crate::run_file;
use crate::terminal::note;

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
    /// Against the baseline of its plan and target, where that was asked for.
    pub(crate) baseline: Option<Held>,
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
        if run_file::is_export(path) {
            return Self::of_file(path);
        }
        Self::read(&existing_store(store)?, name)
    }

    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Self> {
        let exported = run_file::read(path)?;
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
        Ok(Self { label, note, lost, header, summary, findings, judgement, baseline: None })
    }

    pub(crate) fn page(&self) -> Page<'_> {
        let meta = Meta {
            label: self.label.as_deref(),
            note: self.note.as_deref(),
            lost: self.lost.as_deref(),
            judgement: self.judgement.as_ref(),
            baseline: self.baseline.as_ref(),
        };
        Page { header: &self.header, summary: &self.summary, findings: &self.findings, meta }
    }
}

fn summary_of(header: &RunHeader, events: &[Event]) -> RunSummary {
    let mut collector = Collector::new(header);
    events.iter().for_each(|event| collector.add(event));
    collector.summary()
}

/// Returns the status; only the store knows whether a run without an end is still going on.
pub(crate) fn status(row: &RunRow) -> RunStatus {
    if row.is_running { RunStatus::Running } else { RunStatus::from(row.status) }
}

/// Returns every finding, the most severe first, and the judgement by the array in the header.
pub(crate) fn judged(
    header: &RunHeader,
    summary: &RunSummary,
) -> anyhow::Result<(Vec<Finding>, Option<Judgement>)> {
    let judgement = assay_analysis::judge(header, summary)?;
    let mut all = findings(header, summary);
    all.extend(judgement.iter().flat_map(|j| j.findings.clone()));
    all.sort_by_key(|f| std::cmp::Reverse(f.severity));
    Ok((all, judgement))
}

/// Returns the repetitions that a label stands for; `None` where it stands for one run, or is no label.
pub(crate) fn labelled(store: &Store, name: &str) -> anyhow::Result<Vec<String>> {
    let rows = store.runs()?;
    let of_label = rows.iter().filter(|row| row.label.as_deref() == Some(name) && !row.is_running);
    // Repetitions are read in the order in which they were made.
    Ok(of_label.rev().map(|row| row.run.clone()).collect())
}
