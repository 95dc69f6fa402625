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
    let variable = |_: &str| None;
    let surroundings = Surroundings { include: &include, variable: &variable };
    each_strictness(|options| command::import(&text, &surroundings, options));
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
    // An imported run can be exported to the other tools.
    for text in [fio_json::export(&header, &events), iometer_csv::export(&header, &events)] {
        assert!(!text.contains("NaN"), "{text}");
    }
    let mut collector = assay_analysis::Collector::new(&header);
    events.iter().for_each(|event| collector.add(event));
    let summary = collector.summary();
    let _ = assay_analysis::findings(&header, &summary);
}

pub(crate) fn fio_json(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = fio_json::is_results(&text);
    result(fio_json::import("fuzz", &text));
}

pub(crate) fn iometer_csv(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = iometer_csv::is_results(&text);
    result(iometer_csv::import("fuzz", &text));
}

pub(crate) fn table(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = table::is_table(&text);
    result(table::import("fuzz", &text));
}

pub(crate) fn diskspd_xml(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = diskspd::is_xml(&text);
    result(diskspd::import_xml("fuzz", &text));
}

pub(crate) fn diskspd_text(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = diskspd::is_text(&text);
    result(diskspd::import_text("fuzz", &text));
}

pub(crate) fn sqlio(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = sqlio::is_results(&text);
    result(sqlio::import("fuzz", &text));
}

pub(crate) fn crystaldiskmark(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = crystaldiskmark::is_results(&text);
    result(crystaldiskmark::import("fuzz", &text));
}

pub(crate) fn dd(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = dd::is_results(&text);
    result(dd::import("fuzz", &text));
}

pub(crate) fn iostat(bytes: &[u8]) {
    let Ok(text) = decode("fuzz", bytes) else { return };
    let _ = iostat::is_results(&text);
    result(iostat::import("fuzz", &text));
}
