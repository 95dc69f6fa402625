//! Runs against the baseline of their plan and target.

use assay_analysis::compare::{ResultSet, Row, Side, compare_same};
use assay_record::{Outcome, RunDigest, RunHeader};
use assay_report::held::{Held, Origin, THIS_RUN};
use assay_store::{Baseline, BaselineOf, Reader, RunFilter, RunRow, RunSlice, StoreError};

use crate::readings::Readings;
use crate::sides::repetitions;
use crate::stored::{ReadError, Stored};

/// Most repetitions of a baseline that a run is compared with, the latest: reading each takes time.
const REPETITIONS_MAX: usize = 8;

/// Earlier runs on a target among which the last comparable one is looked for.
const EARLIER_MAX: usize = 50;

/// Returns the baseline of a plan on the first of these targets that has one, by their names in the store.
///
/// # Errors
/// Where the store cannot be read.
pub fn baseline_of(store: &Reader, plan: &str, targets: &[String]) -> Result<Option<Baseline>, StoreError> {
    let known = store.baselines()?;
    let found = targets.iter().find_map(|target| {
        known.iter().find(|baseline| baseline.plan == plan && baseline.address == *target)
    });
    Ok(found.cloned())
}

/// Returns the names in the store of the targets of a run.
///
/// # Errors
/// Where the store cannot be read.
pub fn keys_of(store: &Reader, header: &RunHeader) -> Result<Vec<String>, StoreError> {
    store.target_keys(&header.run, header.targets.iter().map(|target| target.address.as_str()))
}

/// Returns the names in the store of the targets of a run in a list.
pub(crate) fn keys_of_row(store: &Reader, row: &RunRow) -> Result<Vec<String>, StoreError> {
    store.target_keys(&row.run, row.targets.iter().map(String::as_str))
}

/// Returns a run, or its repetitions, against the baseline of its plan and target; `None` where none is set, or it is
/// the run itself.
///
/// # Errors
/// Where the store, or a run of the baseline, cannot be read.
pub fn held(store: &Reader, header: &RunHeader, readings: Vec<ResultSet>) -> Result<Option<Held>, ReadError> {
    let targets = keys_of(store, header)?;
    let Some(baseline) = baseline_of(store, &header.plan.name, &targets)? else { return Ok(None) };
    let runs = runs_of_baseline(store, &baseline)?;
    if runs.is_empty() || readings.iter().any(|reading| runs.contains(&reading.id)) {
        return Ok(None);
    }
    let name = match &baseline.of {
        BaselineOf::Run(run) => run.clone(),
        BaselineOf::Label(label) => label.clone(),
    };
    let baselines = runs.iter().map(|run| Ok(Stored::read_extract(store, run)?.result_set()));
    let mut baselines = baselines.collect::<Result<Vec<_>, ReadError>>()?;
    // What the run was not asked for (`--only`) is not missing.
    let is_asked = |row: &Row| header.plan.tests.iter().any(|test| test.name == row.test);
    baselines.iter_mut().for_each(|baseline| baseline.rows.retain(is_asked));
    let sides = [
        Side { name: format!("baseline {name}"), readings: baselines },
        Side { name: THIS_RUN.to_owned(), readings },
    ];
    let comparison = compare_same(&sides, &repetitions(store, &sides)?);
    Ok(Some(Held { name, target: baseline.address, comparison, origin: Origin::Baseline }))
}

/// Returns the baseline of the plan and target of a run as a side of a comparison; `None` where none is set.
///
/// # Errors
/// Where the store, or a run of the baseline, cannot be read.
pub fn baseline_side(store: &Reader, known: &Readings, row: &RunRow) -> Result<Option<Side>, ReadError> {
    let Some(baseline) = baseline_of(store, &row.name, &keys_of_row(store, row)?)? else { return Ok(None) };
    let runs = runs_of_baseline(store, &baseline)?;
    let readings = runs.iter().map(|run| known.read(store, run)).collect::<Result<Vec<_>, _>>()?;
    let name = match &baseline.of {
        BaselineOf::Run(run) => run.clone(),
        BaselineOf::Label(label) => label.clone(),
    };
    Ok((!readings.is_empty()).then(|| Side { name: format!("baseline {name}"), readings }))
}

/// Reads the run that `name` means from its events, and compares it with the baseline of its plan and target.
///
/// # Errors
/// Where it, or a run of the baseline, cannot be read.
pub fn read_held(store: &Reader, name: &str) -> Result<Stored, ReadError> {
    with_baseline(store, Stored::read(store, name)?)
}

/// The same from its extract.
///
/// # Errors
/// Where it, or a run of the baseline, cannot be read.
pub fn read_extract_held(store: &Reader, name: &str) -> Result<Stored, ReadError> {
    with_baseline(store, Stored::read_extract(store, name)?)
}

/// Returns a run against the last complete run of the same plan on the same targets before it that can be compared with
/// it; `None` where there is none among the newest.
///
/// # Errors
/// Where the store, or that run, cannot be read.
fn last(store: &Reader, header: &RunHeader, reading: ResultSet) -> Result<Option<Held>, ReadError> {
    let Some(target) = header.targets.first() else { return Ok(None) };
    let filter = RunFilter {
        on_target: keys_of(store, header)?.into_iter().next(),
        until_unix_ms: Some(header.started_unix_ms),
        ..RunFilter::default()
    };
    let rows = store.rows(&filter, RunSlice { skip: 0, limit: EARLIER_MAX })?;
    let addresses = header.targets.iter().map(|target| target.address.as_str());
    let series = header.series();
    let is_of = |row: &&RunRow| {
        row.run != header.run
            && (row.name == header.plan.name || series.is_some())
            && row.status == Some(Outcome::Done)
            && row.targets.iter().map(String::as_str).eq(addresses.clone())
    };
    for row in rows.iter().filter(is_of) {
        let is_same = |digest: RunDigest| {
            // Digests from before it was kept say nothing of it.
            let is_of_series = row.name == header.plan.name || digest.series == series;
            is_of_series && reading.is_of_load(&digest)
        };
        let is_same = store.digest(&row.run)?.is_some_and(is_same);
        if !is_same {
            continue;
        }
        // One that is damaged is passed over.
        let Ok(before) = Stored::read_extract(store, &row.run) else { continue };
        // One that was still going when this one began came not before it: each disturbed the other.
        let ended_unix_ms = before.header.started_unix_ms as f64 + before.summary.length_s * 1e3;
        if ended_unix_ms > header.started_unix_ms as f64 {
            continue;
        }
        let name = format!("run {}", row.run);
        let sides = [
            Side { name, readings: vec![before.result_set()] },
            Side { name: THIS_RUN.to_owned(), readings: vec![reading] },
        ];
        let comparison = compare_same(&sides, &repetitions(store, &sides)?);
        let (name, target) = (row.run.clone(), target.address.clone());
        return Ok(Some(Held { name, target, comparison, origin: Origin::Last }));
    }
    Ok(None)
}

/// Returns a run against the baseline of its plan and target; without one, against the last run of the same.
///
/// # Errors
/// Where the store, or a run that it is compared with, cannot be read.
pub fn against_earlier(
    store: &Reader,
    header: &RunHeader,
    reading: ResultSet,
) -> Result<Option<Held>, ReadError> {
    match held(store, header, vec![reading.clone()])? {
        Some(held) => Ok(Some(held)),
        None => last(store, header, reading),
    }
}

fn with_baseline(store: &Reader, mut stored: Stored) -> Result<Stored, ReadError> {
    let found = against_earlier(store, &stored.header, stored.result_set())?;
    let is_baseline = found.as_ref().is_some_and(|held| held.origin == Origin::Baseline);
    *(if is_baseline { &mut stored.baseline } else { &mut stored.last }) = found;
    Ok(stored)
}

/// Returns the runs of a baseline: of a label those that were there when it was set, the newest first.
///
/// # Errors
/// Where the store cannot be read.
pub fn runs_of_baseline(store: &Reader, baseline: &Baseline) -> Result<Vec<String>, StoreError> {
    match &baseline.of {
        BaselineOf::Run(run) => Ok(vec![run.clone()]),
        BaselineOf::Label(label) => {
            let filter = RunFilter {
                on_label: Some(label.clone()),
                on_target: Some(baseline.address.clone()),
                until_unix_ms: Some(baseline.set_unix_ms.saturating_add(1)),
                ..RunFilter::default()
            };
            let runs = store.rows(&filter, RunSlice::ALL)?.into_iter();
            let ids = runs.filter(|row| row.name == baseline.plan && !row.is_running).map(|row| row.run);
            Ok(ids.take(REPETITIONS_MAX).collect())
        }
    }
}
