//! Sides of a comparison, as the store knows them.

use assay_analysis::compare::{ResultSet, Side, Source};
use assay_record::Outcome;
use assay_store::{Reader, RunRow, StoreError};

use crate::stored::Stored;

/// A spread needs no more repetitions of one label than this; reading a run takes time.
const REPETITIONS_MAX: usize = 8;

/// Returns the stored runs that share label, plan and targets with a side of one run: they show how far repetitions
/// lie apart.
///
/// # Errors
/// Where the store cannot be read.
pub fn repetitions(store: &Reader, sides: &[Side]) -> Result<Vec<Side>, StoreError> {
    let single: Vec<&ResultSet> =
        sides.iter().filter(|side| side.readings.len() == 1).map(|side| &side.readings[0]).collect();
    let is_on_target = |row: &RunRow| {
        let targets = row.targets.join(", ");
        single.iter().any(|set| set.source == Source::Run && set.about.ends_with(&format!(" on {targets}")))
    };
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for row in store.runs()?.into_iter().filter(|row| row.status == Some(Outcome::Done) && is_on_target(row))
    {
        let Some(label) = &row.label else { continue };
        let key = [label, &row.name, &row.targets.join(", ")].map(String::as_str).join("\n");
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, runs)) if runs.len() < REPETITIONS_MAX => runs.push(row.run),
            Some(_) => {}
            None => groups.push((key, vec![row.run])),
        }
    }
    groups.retain(|(_, runs)| runs.len() > 1);
    // A damaged run among them must not keep two others from being compared.
    let read = |(name, runs): (String, Vec<String>)| {
        let readings = runs.iter().filter_map(|run| Stored::read_extract(store, run).ok());
        Side { name, readings: readings.map(|stored| stored.result_set()).collect() }
    };
    Ok(groups.into_iter().map(read).filter(|side| side.readings.len() > 1).collect())
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
