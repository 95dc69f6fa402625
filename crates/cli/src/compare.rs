//! `assay compare`: results side by side, and which differences are more than noise.

use std::path::{Path, PathBuf};

use anyhow::bail;
use assay_analysis::compare::{Comparison, Gate, ResultSet, Side, Source, broken, compare_with};
use assay_record::Outcome;
use assay_report::reading;
use assay_store::{RunRow, Store};
use assay_target::input::{Input, read_text};

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::open_store::existing_store;
use crate::output::{Kept, Output};
use crate::published;
use crate::render::Rendered as _;
use crate::run_file::is_export;
use crate::stored::Stored;
use crate::terminal::{note, say};

/// A JSON document of a run. Most of one are its series: about 150 bytes for each second.
const DOCUMENT: Input = Input { name: "a JSON document of a run", bytes_max: 256 << 20 };

pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    // Articles and files can be compared where nothing was ever stored.
    let store = existing_store(&args.store);
    let check = |path: &PathBuf| Output::check_named(path, Kept::of(&args.store, &[]), None);
    let output = args.output.as_ref().map(check).transpose()?;
    let sides: Vec<Side> = args.results.iter().map(|name| side(&store, name)).collect::<Result<_, _>>()?;
    let sides = with_distinct_names(sides);
    let history = store.as_ref().map_or(Ok(Vec::new()), |store| stored_repetitions(store, &sides))?;
    let comparison = compare_with(&sides, &history);
    let is_printed = match &output {
        Some(output) => {
            comparison.write(output, "comparison")?;
            !output.is_stdout()
        }
        None => true,
    };
    if is_printed {
        say(&comparison.printed(args.view.form(), args.view.options()))?;
    }
    Ok(judged_by(&args.fail_if, &comparison))
}

/// Reports every limit that is broken, and returns the exit code.
pub(crate) fn judged_by(gates: &[Gate], comparison: &Comparison) -> Exit {
    let mut exit = Exit::Done;
    for gate in gates {
        for says in broken(comparison, *gate) {
            note!("--fail-if \"{gate}\": {says}");
            exit = Exit::Worse;
        }
    }
    exit
}

/// Returns the side that was typed: names joined by commas are repetitions, and so are runs that share a label.
fn side(store: &anyhow::Result<Store>, typed: &str) -> anyhow::Result<Side> {
    let mut readings: Vec<ResultSet> = Vec::new();
    let mut label = None;
    for name in typed.split(',').map(str::trim) {
        let found = readings_of(store, name)?;
        label = label.or(found.label);
        readings.extend(found.readings);
    }
    let mut ids: Vec<&str> = readings.iter().map(|r| r.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("`{typed}` names {} twice; a repetition must be another run", twice[0]);
    }
    let name = match (label, &readings[..]) {
        (Some(label), _) => label,
        (None, readings) => name_of(readings),
    };
    Ok(Side { name, readings })
}

/// A spread needs no more repetitions of one label than this; reading a run takes time.
const REPETITIONS_MAX: usize = 8;

/// Stored runs that share label, plan and targets, where a side is one run: they show how far repetitions lie apart.
pub(crate) fn stored_repetitions(store: &Store, sides: &[Side]) -> anyhow::Result<Vec<Side>> {
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
        let readings = runs.iter().filter_map(|run| Stored::read(store, run).ok());
        Side { name, readings: readings.map(|stored| of_stored(&stored)).collect() }
    };
    Ok(groups.into_iter().map(read).filter(|side| side.readings.len() > 1).collect())
}

/// Returns a name for repetitions that share no label; a list of many ids is longer than what is said of them.
fn name_of(readings: &[ResultSet]) -> String {
    match readings {
        [first, .., _] if readings.len() > 2 => format!("{} and {} more", first.id, readings.len() - 1),
        _ => readings.iter().map(|r| r.id.as_str()).collect::<Vec<_>>().join(","),
    }
}

/// Names sides by their ids if they share a name.
fn with_distinct_names(mut sides: Vec<Side>) -> Vec<Side> {
    let names: Vec<String> = sides.iter().map(|s| s.name.clone()).collect();
    for side in &mut sides {
        if names.iter().filter(|name| **name == side.name).count() > 1 {
            side.name = name_of(&side.readings);
        }
    }
    sides
}

/// The results that one name means.
struct Found {
    label: Option<String>,
    readings: Vec<ResultSet>,
}

fn readings_of(store: &anyhow::Result<Store>, name: &str) -> anyhow::Result<Found> {
    if let Some(table) = name.strip_prefix("published:") {
        let (table, judgement) = published::judged(table)?;
        let reading = ResultSet::of_published(&table, &judgement);
        return Ok(Found { label: Some(table.name), readings: vec![reading] });
    }
    if is_export(Path::new(name)) {
        let stored = Stored::of_file(Path::new(name))?;
        return Ok(Found { label: stored.label.clone(), readings: vec![of_stored(&stored)] });
    }
    if Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
        let text = read_text(Path::new(name), DOCUMENT)?;
        let (reading, label) = reading::read(&text).map_err(|says| anyhow::anyhow!("{name}: {says}"))?;
        return Ok(Found { label, readings: vec![reading] });
    }
    let store = store.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let labelled: Vec<String> = store
        .runs()?
        .into_iter()
        .filter(|row| row.label.as_deref() == Some(name))
        .map(|row| row.run)
        .collect();
    let runs = if labelled.is_empty() { vec![store.find(name)?] } else { labelled };
    let mut found = Found { label: None, readings: Vec::new() };
    for run in &runs {
        let stored = Stored::read(store, run)?;
        found.label = found.label.or(stored.label.clone());
        found.readings.push(of_stored(&stored));
    }
    Ok(found)
}

pub(crate) fn of_stored(stored: &Stored) -> ResultSet {
    let Stored { header, summary, findings, judgement, .. } = stored;
    ResultSet::of_run(header, summary, findings, judgement.as_ref())
}
