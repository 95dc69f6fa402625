//! Sides of a comparison, as the store knows them.

use std::collections::{HashMap, HashSet};

use assay_analysis::compare::{ResultSet, Side, Source};
use assay_record::Outcome;
use assay_store::{LabelledRun, Reader, RunFilter, RunRow, RunSlice, RunState, StoreError};

use crate::readings::Readings;
use crate::stored::{ReadError, Stored};

/// A spread needs no more repetitions of one label than this; reading a run takes time.
const REPETITIONS_MAX: usize = 8;
/// Most labels of a target whose repetitions are read, the newest: so many say how far they lie apart.
const LABELS_MAX: usize = 64;
/// Runs of a label that are looked at at once.
const PART: usize = 64;

/// Returns the stored runs that share label, plan and targets with a side of one run: they show how far repetitions
/// lie apart. They are read from their digests, as a target may have thousands of them.
///
/// # Errors
/// Where the store cannot be read.
pub fn repetitions(store: &Reader, sides: &[Side]) -> Result<Vec<Side>, StoreError> {
    let of_runs = sides.iter().flat_map(|side| &side.readings).filter(|set| set.source == Source::Run);
    let rows: HashMap<&str, RunRow> =
        of_runs.filter_map(|set| Some((set.id.as_str(), store.row(&set.id).ok()?))).collect();
    let single = sides.iter().filter(|side| side.readings.len() == 1).map(|side| &side.readings[0]);
    let runs = single.filter(|set| set.source == Source::Run);
    let mut targets: Vec<(Vec<String>, Option<String>)> = Vec::new();
    for set in runs {
        let Some(all) = set.targets() else { continue };
        // One of a file need not be stored.
        let typed = || all.split(", ").map(str::to_owned).collect();
        let list: Vec<String> = rows.get(set.id.as_str()).map_or_else(typed, |row| row.targets.clone());
        // A relative path of two folders is two targets.
        let first = store.target_keys(&set.id, list.first().map(String::as_str))?.pop();
        targets.push((list, first));
    }
    targets.sort_unstable();
    targets.dedup();
    let compared: HashSet<_> =
        rows.values().map(|row| (row.label.as_ref(), &row.name, &row.targets)).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for (list, on_target) in &targets {
        let (all, on_target) = (list.join(", "), on_target.as_deref().unwrap_or_default());
        for run in store.repeated_on(on_target, list, REPETITIONS_MAX)? {
            let key = [run.label.as_str(), &run.plan, &all, on_target].join("\n");
            let place = *by_key.entry(key.clone()).or_insert_with(|| {
                let is_compared = compared.contains(&(Some(&run.label), &run.plan, list));
                groups.push(Group { key, targets: all.clone(), runs: Vec::new(), is_compared });
                groups.len() - 1
            });
            groups[place].runs.push(run);
        }
    }
    groups.retain(|group| group.runs.len() > 1);
    let mut others = 0;
    groups.retain(|group| {
        others += usize::from(!group.is_compared);
        group.is_compared || others <= LABELS_MAX
    });
    let read = |group: Group| Side {
        readings: group.runs.iter().filter_map(|run| in_short(store, run, &group.targets)).collect(),
        name: group.key,
    };
    Ok(groups.into_iter().map(read).filter(|side| side.readings.len() > 1).collect())
}

/// Runs that share label, plan and targets.
struct Group {
    key: String,
    targets: String,
    /// The newest of them.
    runs: Vec<LabelledRun>,
    /// Whether the comparison has one of them.
    is_compared: bool,
}

/// Returns a run from its digest; from its extract where the digest is of an earlier version. A damaged run among
/// repetitions must not keep two others from being compared.
fn in_short(store: &Reader, run: &LabelledRun, targets: &str) -> Option<ResultSet> {
    let digest = store.digest(&run.run).ok().flatten();
    let of_digest = |digest| ResultSet::of_digest(&run.run, &run.plan, targets, &digest);
    digest
        .and_then(of_digest)
        .or_else(|| Stored::read_extract(store, &run.run).ok().map(|stored| stored.result_set()))
}

/// Returns the runs of exactly that label that came to an end, as repetitions: the newest of them, of one plan on one
/// target. `None` where there is none.
///
/// # Errors
/// Where the store, or one of them, cannot be read.
pub fn labelled(store: &Reader, known: &Readings, label: &str) -> Result<Option<Side>, ReadError> {
    let filter = RunFilter {
        on_label: Some(label.to_owned()),
        state: Some(RunState::Ended(Outcome::Done)),
        ..RunFilter::default()
    };
    let mut rows: Vec<RunRow> = Vec::new();
    store.visit_rows(&filter, RunSlice::ALL, PART, &mut |part| {
        rows.extend(part);
        if let Some(first) = rows.first().map(|first| (first.name.clone(), first.targets.clone())) {
            rows.retain(|row| (&row.name, &row.targets) == (&first.0, &first.1));
        }
        rows.len() < REPETITIONS_MAX
    })?;
    if rows.is_empty() {
        return Ok(None);
    }
    let readings = rows.iter().take(REPETITIONS_MAX).map(|row| known.read(store, &row.run));
    Ok(Some(Side { name: label.to_owned(), readings: readings.collect::<Result<_, _>>()? }))
}

/// Returns a name for repetitions that share no label; a list of many ids is longer than what is said of them.
pub fn name_of(readings: &[ResultSet]) -> String {
    match readings {
        [first, .., _] if readings.len() > 2 => format!("{} and {} more", first.id, readings.len() - 1),
        _ => readings.iter().map(|r| r.id.as_str()).collect::<Vec<_>>().join(","),
    }
}

/// Names sides by their ids if they share a name.
pub fn with_distinct_names(mut sides: Vec<Side>) -> Vec<Side> {
    let names: Vec<String> = sides.iter().map(|s| s.name.clone()).collect();
    for side in &mut sides {
        if names.iter().filter(|name| **name == side.name).count() > 1 {
            side.name = name_of(&side.readings);
        }
    }
    sides
}
