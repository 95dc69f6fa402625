//! Files of other tools: job files, command lines, configurations, results.
//!
//! The property besides not panicking: a plan that an importer writes is valid TOML, and a result that it accepts gives
//! events that have a JSON form.

use assay_interop::fio::{self, Surroundings};
use assay_interop::results::{
    ImportedResult, crystaldiskmark, dd, diskspd, fio_json, iometer_csv, iostat, sqlio, table,
};
use assay_interop::{ImportError, ImportOptions, ImportedPlan, Strictness, command, decode, icf, vdbench};
use assay_spec::PlanFile;

fn each_strictness(import: impl Fn(&ImportOptions) -> Result<ImportedPlan, ImportError>) {
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        let Ok(imported) = import(&ImportOptions { targets_given: Some(1), strictness }) else { continue };
        // A plan may refuse a value, such as a size of 0; it is still TOML.
        if let Err(error) = PlanFile::parse("imported", &imported.plan) {
            let read = toml::from_str::<toml::Table>(&imported.plan);
            assert!(read.is_ok(), "{error}: {:?}\n{}", read.err(), imported.plan);
        }
        imported.notes.iter().for_each(|note| drop(note.to_string()));
    }
}

pub(crate) fn icf(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = icf::is_icf(&text);
    each_strictness(|options| icf::import("fuzz", &text, options));
}

/// Parses a job file that may include itself.
pub(crate) fn fio_job(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = fio::is_job_file(&text);
    let include = |_: &str| Ok(text.clone());
    let variable = |name: &str| Some(name.to_owned());
    let surroundings = Surroundings { include: &include, variable: &variable };
    each_strictness(|options| fio::import("fuzz", &text, &surroundings, options));
}

pub(crate) fn command_line(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = command::is_command(&text);
    let include = |_: &str| Ok(text.clone());
    let variable = |name: &str| (name.len() == 1).then(|| name.to_owned());
    let surroundings = Surroundings { include: &include, variable: &variable };
    each_strictness(|options| command::import(&text, &surroundings, options));
    let _ = command::is_script(&text);
    each_strictness(|options| command::import_script("fuzz", &text, &surroundings, options));
}

pub(crate) fn profile(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = command::is_profile(&text);
    each_strictness(|options| command::import_profile("fuzz", &text, options));
}

/// A file may include itself.
pub(crate) fn vdbench(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = vdbench::is_parameter_file(&text);
    let include = |_: &str| Ok(text.clone());
    let surroundings = Surroundings { include: &include, variable: &|_| None };
    each_strictness(|options| vdbench::import("fuzz", &text, &surroundings, options));
}

fn result(imported: Result<ImportedResult, ImportError>) {
    let Ok(imported) = imported else { return };
    let (header, events) = imported.into_events("fuzz".to_owned(), "0", 0);
    for event in &events {
        serde_json::to_string(event).expect("an event has a JSON form");
    }
    // What was imported can be given to the other tools.
    let json = fio_json::export(&header, &events);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    // Names come from the input and may hold anything; what follows them are numbers.
    for line in iometer_csv::export(&header, &events).lines().filter(|line| line.starts_with("ALL,")) {
        assert!(
            line.split(',').skip(3).all(|cell| cell.parse::<f64>().map_or(true, f64::is_finite)),
            "{line}"
        );
    }
    let mut collector = assay_analysis::Collector::new(&header);
    events.iter().for_each(|event| collector.add(event));
    let summary = collector.summary();
    let _ = assay_analysis::findings(&header, &summary);
}

/// One importer of results: what recognises its files, and what reads them.
fn importer(
    bytes: &[u8],
    is_its: fn(&str) -> bool,
    import: fn(&str, &str) -> Result<ImportedResult, ImportError>,
) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = is_its(&text);
    result(import("fuzz", &text));
}

pub(crate) fn fio_json(bytes: &[u8]) {
    importer(bytes, fio_json::is_results, fio_json::import);
}

pub(crate) fn iometer_csv(bytes: &[u8]) {
    importer(bytes, iometer_csv::is_results, iometer_csv::import);
}

pub(crate) fn table(bytes: &[u8]) {
    importer(bytes, table::is_table, table::import);
}

pub(crate) fn diskspd_xml(bytes: &[u8]) {
    importer(bytes, diskspd::is_xml, diskspd::import_xml);
}

pub(crate) fn diskspd_text(bytes: &[u8]) {
    importer(bytes, diskspd::is_text, diskspd::import_text);
}

pub(crate) fn sqlio(bytes: &[u8]) {
    importer(bytes, sqlio::is_results, sqlio::import);
}

pub(crate) fn crystaldiskmark(bytes: &[u8]) {
    importer(bytes, crystaldiskmark::is_results, crystaldiskmark::import);
}

pub(crate) fn dd(bytes: &[u8]) {
    importer(bytes, dd::is_results, dd::import);
}

pub(crate) fn iostat(bytes: &[u8]) {
    importer(bytes, iostat::is_results, iostat::import);
}

/// Whatever tool the text is from.
pub(crate) fn results(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    if let Some(imported) = assay_interop::results::import("fuzz", &text).transpose() {
        result(imported);
    }
}
