//! The plan file that a name means: a suite, a file, or a plan of another tool.

use anyhow::bail;
use assay_model::array::shipped;
use assay_spec::limits::PLAN_BYTES_MAX;
use assay_spec::suites::{SUITES, suite};
use assay_spec::{PlanFile, nearest};
use assay_target::input::{Input, read_text};

use super::array::has_table;

/// Every plan is in memory, as text and as what it means.
const PLAN: Input = Input { name: "a plan", bytes_max: PLAN_BYTES_MAX };

/// Whether a word can only be meant as a plan: a suite, a plan file, or a plan of another tool.
pub(crate) fn is_plan(word: &str) -> bool {
    let is_file = word.ends_with(".toml") && !word.starts_with("sim:");
    suite(word).is_some() || is_file || crate::words::foreign::is_foreign(word)
}

/// Names of the suites that ship.
pub(crate) fn names() -> Vec<&'static str> {
    SUITES.iter().map(|s| s.name).collect()
}

/// Files of a directory that are looked at for one with a similar name.
const DIRECTORY_MAX: usize = 10_000;

/// Returns the plan that `name` means: a suite or a file.
pub(crate) fn plan_file(name: &str) -> anyhow::Result<PlanFile> {
    if let Some(plan) = crate::words::foreign::plan_file(name)? {
        return Ok(plan);
    }
    let path = std::path::Path::new(name);
    if let Some(suite) = suite(name).filter(|_| !path.exists() || !name.contains(['/', '.'])) {
        return Ok(PlanFile::parse(suite.name, suite.text)?);
    }
    match read_text(path, PLAN) {
        Ok(text)
            if !has_table(&text, "[[test")
                && (has_table(&text, "[raid]") || has_table(&text, "[device]")) =>
        {
            bail!("{}", array_not_plan(name, "an array file"))
        }
        Ok(text) if !name.ends_with(".toml") && assay_interop::results::is_results(&text) => {
            bail!(
                "{name} holds results, not a plan; assay import {name} makes them a run that can be shown and compared"
            )
        }
        Ok(text) => Ok(PlanFile::parse(name, &text)?),
        Err(error) if error.is_not_found() => {
            if shipped::FILES.iter().any(|(stem, _)| *stem == name) {
                bail!("{}", array_not_plan(name, "an array"));
            }
            if let Some(near) = near_file(path) {
                bail!("there is no file {name}; did you mean `{near}`?");
            }
            if let Some(meant) = called_elsewhere(name) {
                bail!("{name} is neither a plan file nor a suite; {meant}");
            }
            let near = nearest(name, names().into_iter()).or_else(|| begun(name));
            let meant = near.map_or("assay suites lists those that ship".to_owned(), |near| {
                format!("did you mean `{near}`?")
            });
            bail!("{name} is neither a plan file nor a suite; {meant}")
        }
        Err(error) => Err(error.into()),
    }
}

/// The suite that a word begins: `crystal`.
fn begun(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    names().into_iter().find(|name| word.len() >= 3 && name.starts_with(&word))
}

/// What people call the load that they look for.
fn called_elsewhere(word: &str) -> Option<String> {
    let (_, suite) = CALLED.iter().find(|(words, _)| words.contains(&word.to_ascii_lowercase().as_str()))?;
    Some(match *suite {
        "fio" => format!(
            "it is a pattern of fio, whose whole command is given in quotation marks: 'fio --rw={word} --bs=4k …'"
        ),
        "" => format!("a job file of {word} is given by its path, and a command line in quotation marks"),
        suite => format!("did you mean `{suite}`?"),
    })
}

const CALLED: [(&[&str], &str); 9] = [
    (&["fio", "iometer", "diskspd", "vdbench", "sqlio"], ""),
    (&["randread", "randwrite", "randrw", "readwrite"], "fio"),
    (&["cdm", "diskmark", "crystalmark"], "crystaldiskmark"),
    (&["forum", "esx", "esxi", "vsphere"], "vmware"),
    (&["4k", "random", "rand", "latency"], "latency-qd1"),
    (&["sequential", "seq", "throughput", "bandwidth"], "super-atto"),
    (&["hcibench", "easy-run"], "hcibench-easy-run"),
    (&["vdi", "desktop"], "vdi-like"),
    (&["database", "db", "sql", "oltp", "postgres"], "oltp-66-33"),
];

/// Returns the file of the same directory with nearly the same name and the same ending.
fn near_file(path: &std::path::Path) -> Option<String> {
    let (name, ending) = (path.file_name()?.to_str()?, path.extension()?);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    let entries = std::fs::read_dir(folder).ok()?.take(DIRECTORY_MAX).flatten();
    let alike = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> =
        alike.filter(|file| std::path::Path::new(file).extension() == Some(ending)).collect();
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

fn array_not_plan(name: &str, what: &str) -> String {
    format!(
        "{name} is {what}, but a suite or a plan is needed here (`assay suites` lists them); to predict it: assay \
         predict {name}; to run on it: assay run SUITE sim:{name}"
    )
}
