//! What the store knows of a target: its runs in short, their trends, and the last value of each test.

use std::sync::Arc;

use assay_analysis::compare::{Effective, effective};
use assay_analysis::trend::{Level, Trend, TrendEvent, TrendRun, events, trends};
use assay_record::{RunHeader, TestDigest};
use assay_report::html::ChangeFacts;
use assay_report::journal::changed_facts;
use assay_store::{Baseline, ListedRun, Reader, RunFilter, RunSlice, StoreError};

use crate::baseline::runs_of_baseline;

/// A target with its runs.
#[derive(Debug, Clone, Default)]
pub struct TargetRuns {
    /// Its name in the store.
    pub address: String,
    /// Number of all its runs.
    pub count: usize,
    /// The newest, the newest first.
    pub runs: Vec<Arc<ListedRun>>,
}

/// The last complete result of a test.
#[derive(Debug, Clone)]
pub struct LastTest<'r> {
    /// The run that it is of.
    pub run: &'r ListedRun,
    /// Its figures.
    pub test: &'r TestDigest,
    /// How it was measured.
    pub effective: Effective,
}

impl TargetRuns {
    /// Reads what there is of a target, the newest `limit` runs of it; no event is read.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read(store: &Reader, address: &str, limit: usize) -> Result<Self, StoreError> {
        let filter = RunFilter { on_target: Some(address.to_owned()), ..RunFilter::default() };
        let page = store.list(&filter, RunSlice { skip: 0, limit })?;
        let count = if page.has_more { store.matching(&filter)? } else { page.matching };
        Ok(Self { address: address.to_owned(), count, runs: page.runs.into_iter().map(Arc::new).collect() })
    }

    /// Returns the trend of each test. A run on several targets at once is none of this one.
    pub fn trends(&self) -> Vec<Trend> {
        trends(&self.trend_runs())
    }

    /// Returns what happened beside the figures: steps of journals, other versions, notes.
    pub fn events(&self) -> Vec<TrendEvent> {
        events(&self.trend_runs())
    }

    /// Drops the digests that [`TargetRuns::last`] has nothing of: they are most of what a target takes in memory.
    pub(crate) fn forget_older_digests(&mut self) {
        let kept: Vec<String> = self.last().iter().map(|last| last.run.row.run.clone()).collect();
        for run in self.runs.iter_mut().filter(|run| !kept.contains(&run.row.run)).filter_map(Arc::get_mut) {
            run.digest = None;
        }
    }

    fn trend_runs(&self) -> Vec<TrendRun<'_>> {
        let of = |run: &&Arc<ListedRun>| run.row.targets.len() == 1 && !run.row.is_running;
        self.runs.iter().filter(of).filter_map(|run| trend_run(run)).collect()
    }

    /// Returns the last complete result of each test of each plan, for each load that the command line made of it and
    /// each way in which it was measured.
    pub fn last(&self) -> Vec<LastTest<'_>> {
        let mut last: Vec<LastTest<'_>> = Vec::new();
        for run in &self.runs {
            let Some(digest) = run.digest.as_ref().filter(|digest| !digest.is_diagnosis) else { continue };
            for test in digest.tests.iter().filter(|test| test.complete) {
                let effective = effective(digest, test);
                let is_same = |known: &LastTest<'_>| {
                    series(known.run) == series(run)
                        && known.run.digest.as_ref().is_some_and(|known| known.changed == digest.changed)
                        && known.test.test == test.test
                        && known.test.step == test.step
                        && known.effective == effective
                };
                if !last.iter().any(is_same) {
                    last.push(LastTest { run, test, effective });
                }
            }
        }
        last
    }
}

/// What a run belongs to in the history of its target: its plan, or the tool whose results it has.
fn series(run: &ListedRun) -> &str {
    let of_tool = run.digest.as_ref().and_then(|digest| digest.series.as_deref());
    of_tool.unwrap_or(&run.row.name)
}

fn trend_run(run: &ListedRun) -> Option<TrendRun<'_>> {
    Some(TrendRun {
        run: &run.row.run,
        plan: series(run),
        started_unix_ms: run.row.started_unix_ms,
        digest: run.digest.as_ref().filter(|digest| !digest.is_diagnosis)?,
        note: run.row.note.as_deref(),
    })
}

/// Returns the level of the baseline of a trend's plan on its target; `None` where none is set, or it did not complete
/// the test.
///
/// # Errors
/// Where the store cannot be read.
pub fn baseline_level(store: &Reader, target: &str, trend: &Trend) -> Result<Option<Level>, StoreError> {
    let known = store.baselines()?;
    let is_of = |baseline: &&Baseline| baseline.plan == trend.plan && baseline.address == target;
    let Some(baseline) = known.iter().find(is_of) else { return Ok(None) };
    Ok(trend.level(&runs_of_baseline(store, baseline)?))
}

/// Returns what the records show to have changed at each change of a trend.
///
/// # Errors
/// Where the store cannot be read.
pub fn facts_of_changes(store: &Reader, trend: &Trend) -> Result<Vec<ChangeFacts>, StoreError> {
    let mut known: Vec<ChangeFacts> = Vec::new();
    for change in trend.iops_changes.iter().chain(&trend.p99_changes) {
        if known.iter().all(|known| known.run != change.run) {
            let header = |run: &str| -> Result<RunHeader, StoreError> { store.header(run) };
            let facts = changed_facts(&header(&change.before)?, &header(&change.run)?);
            known.push(ChangeFacts { run: change.run.clone(), facts });
        }
    }
    Ok(known)
}
