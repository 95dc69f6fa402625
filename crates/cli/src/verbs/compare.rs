//! `assay compare`: results side by side, and which differences are more than noise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use assay_analysis::compare::{ResultSet, Side, Source, compare_with};
use assay_record::Outcome;
use assay_report::reading;
use assay_store::{RunRow, Store};
use assay_target::input::{Input, read_text};

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::progress::RESUMED;
use crate::output::render::Rendered as _;
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output};
use crate::verbs::published;
use crate::words::fail_if::judged_by_gates;
use crate::words::run_file::is_export;
use crate::words::store::existing_store;
use crate::words::stored;

/// A JSON document of a run. Most of one are its series: about 150 bytes for each second.
const DOCUMENT: Input = Input { name: "a JSON document of a run", bytes_max: 256 << 20 };

pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    // Articles and files can be compared where nothing was ever stored.
    let store = existing_store(&args.store);
    let check = |path: &PathBuf| Output::check_named(path, Kept::of(&args.store, &[]), None);
    let output = args.output.as_ref().map(check).transpose()?;
    let sides = sides(&store, &args.results)?;
    let sides = assay_results::with_distinct_names(sides);
    let history = store.as_ref().map_or(Ok(Vec::new()), |store| assay_results::repetitions(store, &sides))?;
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
    Ok(judged_by_gates(&args.fail_if, &comparison))
}

/// What stands before the name of an array.
const ARRAY: &str = "array:";

/// Returns the sides that were typed. An array is expected to do the plan of the first run.
fn sides(store: &anyhow::Result<Store>, typed: &[String]) -> anyhow::Result<Vec<Side>> {
    let measured = typed.iter().map(|name| match name.strip_prefix(ARRAY) {
        Some(_) => Ok(None),
        None => side(store, name).map(Some),
    });
    let measured = measured.collect::<anyhow::Result<Vec<Option<Side>>>>()?;
    let run = measured.iter().flatten().flat_map(|side| &side.readings).find(|set| set.source == Source::Run);
    let run = run.map(|set| set.id.clone());
    let expected = |name: &str| -> anyhow::Result<Side> {
        let array = crate::words::array::array(name.trim_start_matches(ARRAY))?;
        let run = run.as_ref().with_context(|| {
            format!("{name}: which plan? Name a stored run beside it, as in assay compare last {name}")
        })?;
        let store = store.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
        let set = ResultSet::of_array(&array, &store.header(run)?);
        Ok(Side { name: name.to_owned(), readings: vec![set] })
    };
    measured.into_iter().zip(typed).map(|(side, name)| side.map_or_else(|| expected(name), Ok)).collect()
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
        (None, readings) => assay_results::name_of(readings),
    };
    Ok(Side { name, readings })
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
        let stored = stored::of_file(Path::new(name))?;
        return Ok(Found { label: stored.label.clone(), readings: vec![stored.result_set()] });
    }
    if Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
        let text = read_text(Path::new(name), DOCUMENT)?;
        let (reading, label) = reading::read(&text).map_err(|says| anyhow::anyhow!("{name}: {says}"))?;
        return Ok(Found { label, readings: vec![reading] });
    }
    let store = store.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let labelled = complete(store.labelled(name)?);
    let runs = if labelled.is_empty() { vec![store.find(name)?] } else { labelled };
    let mut found = Found { label: None, readings: Vec::new() };
    let mut resumed = BTreeSet::new();
    for run in &runs {
        let stored = stored::read(store, run)?;
        // Two runs that resumed the same one have the same first steps, which are no repetitions.
        let mut warnings = stored.summary.warnings.iter();
        if let Some(warning) = warnings.find(|warning| warning.rule == RESUMED)
            && !resumed.insert(warning.says.clone())
        {
            note!("left out, as another run of {name} has the same first steps: {run}");
            continue;
        }
        found.label = found.label.or(stored.label.clone());
        found.readings.push(stored.result_set());
    }
    Ok(found)
}

/// The runs of a label that are its repetitions: where some came to an end, not those that did not, whose complete
/// steps a resumed run has again.
fn complete(mut rows: Vec<RunRow>) -> Vec<String> {
    let is_done = |row: &RunRow| row.status == Some(Outcome::Done);
    if rows.iter().any(is_done) {
        let left_out: Vec<&str> =
            rows.iter().filter(|row| !is_done(row)).map(|row| row.run.as_str()).collect();
        if !left_out.is_empty() {
            note!("left out, as they did not come to their end: {}", left_out.join(", "));
        }
        rows.retain(is_done);
    }
    rows.into_iter().map(|row| row.run).collect()
}
