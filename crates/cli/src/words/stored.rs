//! A stored run as the command line means it: from the store or from a file of `assay export`.

use std::path::Path;

use assay_results::read_held;
use assay_store::Store;

use crate::args::StoreArgs;
use crate::output::terminal::note;
use crate::words::run_file;
use crate::words::store::existing_store;

pub(crate) use assay_results::{Stored, judged, status};

/// Reads what a name means: a file of `assay export`, or a run in the store.
pub(crate) fn named(store: &StoreArgs, name: &str) -> anyhow::Result<Stored> {
    let path = Path::new(name);
    if run_file::is_export(path) {
        return of_file(path);
    }
    let store = existing_store(store)?;
    Ok(said(read_held(&store, name)?))
}

/// Reads a file of `assay export`.
pub(crate) fn of_file(path: &Path) -> anyhow::Result<Stored> {
    let (run_file::Exported { label, note, lost, header, .. }, collector) = run_file::collected(path)?;
    let summary = collector.summary();
    let (findings, judgement) = judged(&header, &summary)?;
    Ok(said(Stored { label, note, lost, header, summary, findings, judgement, baseline: None, last: None }))
}

/// Reads the run of that name in the store, and says what is special about it.
pub(crate) fn read(store: &Store, name: &str) -> anyhow::Result<Stored> {
    Ok(said(Stored::read(store, name)?))
}

fn said(stored: Stored) -> Stored {
    if stored.summary.status == assay_analysis::RunStatus::Running {
        note!("run {} is still in progress; these are its results so far", stored.header.run);
    }
    if let Some(why) = &stored.lost {
        let run = &stored.header.run;
        note!("warning: run {run} is incomplete, its last events could not be stored: {why}");
    }
    stored
}

/// Returns the repetitions that a label stands for; `None` where it stands for one run, or is no label.
pub(crate) fn labelled(store: &Store, name: &str) -> anyhow::Result<Vec<String>> {
    // Repetitions are read in the order in which they were made.
    Ok(store.labelled(name)?.into_iter().rev().filter(|row| !row.is_running).map(|row| row.run).collect())
}
