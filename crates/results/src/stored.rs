//! A stored run, judged by the rules of today.

use assay_analysis::compare::ResultSet;
use assay_analysis::{Collector, Finding, Judgement, RunExtract, RunStatus, RunSummary, findings, judge};
use assay_model::array::ArrayError;
use assay_record::{Event, RunHeader};
use assay_report::Meta;
use assay_report::held::Held;
use assay_store::{Reader, RunRow, StoreError, is_run_id};
use thiserror::Error;

/// Why a stored run could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The store does not have it, or not whole.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The array that it was measured with is no longer understood.
    #[error(transparent)]
    Array(#[from] Box<ArrayError>),
}

/// A run that was read and judged anew.
#[derive(Debug)]
pub struct Stored {
    /// Its label.
    pub label: Option<String>,
    /// Its note.
    pub note: Option<String>,
    /// Why its events are missing from some moment on; `None`: none is.
    pub lost: Option<String>,
    /// What was to be done, on what, and where.
    pub header: RunHeader,
    /// What was measured.
    pub summary: RunSummary,
    /// What the rules say of it, the most severe first.
    pub findings: Vec<Finding>,
    /// The judgement by the array of its targets.
    pub judgement: Option<Judgement>,
    /// The run against the baseline of its plan and target, where that was asked for ([`crate::read_held`]).
    pub baseline: Option<Held>,
    /// The run against the last one of the same, where it has no baseline and that was asked for.
    pub last: Option<Held>,
}

impl Stored {
    /// Reads the run that `name` means in the store, from its events: from its extract once they have been checked,
    /// where there is one.
    ///
    /// # Errors
    /// Where no run, or more than one, goes by that name, or its events cannot be read.
    pub fn read(store: &Reader, name: &str) -> Result<Self, ReadError> {
        Self::read_by(store, name, |run, header| {
            if let Some(summary) = summary_of_extract(store, run, header)? {
                store.check_events(run)?;
                return Ok(summary);
            }
            Ok(collector_stored(store, run, header)?.0.summary())
        })
    }

    /// Reads the run that `name` means in the store, from its extract, where there is one. The figures are the same;
    /// damage in the events goes unnoticed.
    ///
    /// # Errors
    /// Where no run, or more than one, goes by that name, or what is kept of it cannot be read.
    pub fn read_extract(store: &Reader, name: &str) -> Result<Self, ReadError> {
        Self::read_by(store, name, |run, header| summary_stored(store, run, header))
    }

    fn read_by(
        store: &Reader,
        name: &str,
        summary: impl FnOnce(&str, &RunHeader) -> Result<RunSummary, StoreError>,
    ) -> Result<Self, ReadError> {
        // An id needs no look at all the others.
        let run =
            if is_run_id(name) && store.row(name).is_ok() { name.to_owned() } else { store.find(name)? };
        let (row, header) = (store.row(&run)?, store.header(&run)?);
        let mut summary = summary(&run, &header)?;
        if row.is_running {
            summary.status = status(&row);
        }
        let (findings, judgement) = judged(&header, &summary)?;
        let (label, note, lost) = (row.label, row.note, row.lost);
        Ok(Self { label, note, lost, header, summary, findings, judgement, baseline: None, last: None })
    }

    /// Returns what a report says beside the run's own events.
    pub fn meta(&self) -> Meta<'_> {
        Meta {
            label: self.label.as_deref(),
            note: self.note.as_deref(),
            lost: self.lost.as_deref(),
            judgement: self.judgement.as_ref(),
            baseline: self.baseline.as_ref(),
            last: self.last.as_ref(),
        }
    }

    /// Returns the run in the form in which results are compared.
    pub fn result_set(&self) -> ResultSet {
        ResultSet::of_run(&self.header, &self.summary, &self.findings, self.judgement.as_ref())
    }
}

/// Returns what these events of a run say together.
pub fn collector_of(header: &RunHeader, events: &[Event]) -> Collector {
    let mut collector = Collector::new(header);
    events.iter().for_each(|event| collector.add(event));
    collector
}

/// Reads the events of a stored run. Returns their number beside what was collected.
pub(crate) fn collector_stored(
    store: &Reader,
    run: &str,
    header: &RunHeader,
) -> Result<(Collector, usize), StoreError> {
    let mut collector = Collector::new(header);
    let count = store.each_event(run, |event| collector.add(&event))?;
    Ok((collector, count))
}

pub(crate) fn summary_of_extract(
    store: &Reader,
    run: &str,
    header: &RunHeader,
) -> Result<Option<RunSummary>, StoreError> {
    let extract = store.extract::<RunExtract>(run, RunExtract::VERSION)?;
    Ok(extract.map(|extract| extract.collector(header).summary()))
}

/// Returns the summary of a stored run from its extract, and from its events where it has none.
///
/// # Errors
/// Where the run has no extract, and its events cannot be read.
pub fn summary_stored(store: &Reader, run: &str, header: &RunHeader) -> Result<RunSummary, StoreError> {
    match summary_of_extract(store, run, header)? {
        Some(summary) => Ok(summary),
        None => Ok(collector_stored(store, run, header)?.0.summary()),
    }
}

/// Returns the status; only the store knows whether a run without an end is still going on.
pub fn status(row: &RunRow) -> RunStatus {
    if row.is_running { RunStatus::Running } else { RunStatus::from(row.status) }
}

/// Returns every finding, the most severe first, and the judgement by the array in the header.
///
/// # Errors
/// Where the array in the header cannot be read.
pub fn judged(
    header: &RunHeader,
    summary: &RunSummary,
) -> Result<(Vec<Finding>, Option<Judgement>), Box<ArrayError>> {
    let judgement = judge(header, summary).map_err(Box::new)?;
    let mut all = findings(header, summary);
    all.extend(judgement.iter().flat_map(|j| j.findings.clone()));
    all.sort_by_key(|f| std::cmp::Reverse(f.severity));
    Ok((all, judgement))
}
