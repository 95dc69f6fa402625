//! Sides of a comparison, as the store knows them.

use std::collections::HashMap;

use assay_analysis::compare::{ResultSet, Side, Source};
use assay_record::Outcome;
use assay_store::{Reader, RunFilter, RunRow, RunSlice, StoreError};

use crate::stored::{ReadError, Stored};

/// A spread needs no more repetitions of one label than this; reading a run takes time.
const REPETITIONS_MAX: usize = 8;
/// Most labels of a target whose repetitions are read, the newest: so many say how far they lie apart.
const LABELS_MAX: usize = 64;

/// Returns the stored runs that share label, plan and targets with a side of one run: they show how far repetitions
/// lie apart. They are read from their digests, as a target may have thousands of them.
///
/// # Errors
/// Where the store cannot be read.
pub fn repetitions(store: &Reader, sides: &[Side]) -> Result<Vec<Side>, StoreError> {
    let single = sides.iter().filter(|side| side.readings.len() == 1).map(|side| &side.readings[0]);
    let runs = single.filter(|set| set.source == Source::Run);
    let mut targets: Vec<(&str, Option<String>)> = Vec::new();
    for set in runs {
        let Some(all) = set.targets() else { continue };
        // A relative path of two folders is two targets.
        let first = all.split(", ").next().unwrap_or_default();
        targets.push((all, store.target_keys(&set.id, [first])?.pop()));
    }
    targets.sort_unstable();
    targets.dedup();
    let is_compared = |run: &str| sides.iter().any(|side| side.readings.iter().any(|set| set.id == run));
    let mut groups: Vec<Group> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for (all, on_target) in targets {
        let filter = RunFilter { on_target: on_target.clone(), ..RunFilter::default() };
        let rows = store.rows(&filter, RunSlice::ALL)?.into_iter();
        for row in rows.filter(|row| row.status == Some(Outcome::Done) && row.targets.join(", ") == all) {
            let Some(label) = &row.label else { continue };
            let key = [label.as_str(), &row.name, all, on_target.as_deref().unwrap_or_default()].join("\n");
            let place = by_key.get(&key).copied().unwrap_or_else(|| {
                by_key.insert(key.clone(), groups.len());
                groups.push(Group { key, runs: Vec::new(), is_compared: false });
                groups.len() - 1
            });
            let group = &mut groups[place];
            group.is_compared |= is_compared(&row.run);
            if group.runs.len() < REPETITIONS_MAX {
                group.runs.push(row);
            }
        }
    }
    groups.retain(|group| group.runs.len() > 1);
    let mut others = 0;
    groups.retain(|group| {
        others += usize::from(!group.is_compared);
        group.is_compared || others <= LABELS_MAX
    });
    let read = |group: Group| Side {
        name: group.key,
        readings: group.runs.iter().filter_map(|row| in_short(store, row)).collect(),
    };
    Ok(groups.into_iter().map(read).filter(|side| side.readings.len() > 1).collect())
}

/// Runs that share label, plan and targets.
struct Group {
    key: String,
    /// The newest of them.
    runs: Vec<RunRow>,
    /// Whether a side of the comparison is one of them.
    is_compared: bool,
}

/// Returns a run from its digest; from its extract where the digest is of an earlier version. A damaged run among
/// repetitions must not keep two others from being compared.
fn in_short(store: &Reader, row: &RunRow) -> Option<ResultSet> {
    let digest = store.digest(&row.run).ok().flatten();
    let of_digest = |digest| ResultSet::of_digest(&row.run, &row.name, &row.targets.join(", "), &digest);
    digest
        .and_then(of_digest)
        .or_else(|| Stored::read_extract(store, &row.run).ok().map(|stored| stored.result_set()))
}

/// Returns the runs of exactly that label that came to an end, as repetitions: the newest of them, of one plan on one
/// target. `None` where there is none.
///
/// # Errors
/// Where the store, or one of them, cannot be read.
pub fn labelled(store: &Reader, label: &str) -> Result<Option<Side>, ReadError> {
    let mut rows = store.labelled(label)?;
    rows.retain(|row| row.status == Some(Outcome::Done));
    let Some(first) = rows.first() else { return Ok(None) };
    let is_of = |row: &&RunRow| row.name == first.name && row.targets == first.targets;
    let read = |row: &RunRow| Ok(Stored::read_extract(store, &row.run)?.result_set());
    let readings = rows.iter().filter(is_of).take(REPETITIONS_MAX).map(read);
    Ok(Some(Side { name: label.to_owned(), readings: readings.collect::<Result<_, ReadError>>()? }))
}

/// Returns a name for repetitions that share no label; a list of many ids is longer than what is said of them.
#[must_use]
pub fn name_of(readings: &[ResultSet]) -> String {
    match readings {
        [first, .., _] if readings.len() > 2 => format!("{} and {} more", first.id, readings.len() - 1),
        _ => readings.iter().map(|r| r.id.as_str()).collect::<Vec<_>>().join(","),
    }
}

/// Names sides by their ids if they share a name.
#[must_use]
pub fn with_distinct_names(mut sides: Vec<Side>) -> Vec<Side> {
    let names: Vec<String> = sides.iter().map(|s| s.name.clone()).collect();
    for side in &mut sides {
        if names.iter().filter(|name| **name == side.name).count() > 1 {
            side.name = name_of(&side.readings);
        }
    }
    sides
}
