//! What a shell offers after TAB: suites and their tests, arrays, runs, labels and targets that are there, beside verbs
//! and options.

use std::ffi::OsStr;

use assay_model::array::shipped;
use assay_spec::Step;
use assay_store::{RunFilter, RunRow, RunSlice, Store};
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};

use super::plan::{Choice, resolve};
use super::plan_file::names;
use crate::args::{Cli, StoreArgs};

/// Newest runs that are offered.
const RUNS_MAX: usize = 100;

/// What `--set` changes most; the plan reference has the others.
const SET_KEYS: [&str; 12] = [
    "burst", "data", "ops", "outstanding", "pace", "random", "rate", "read", "run", "size", "warmup",
    "workers",
];

/// Returns the command line with what can stand in the place of each word.
pub(crate) fn command() -> Command {
    offered(Cli::command())
}

fn offered(command: Command) -> Command {
    command.mut_subcommands(offered).mut_args(|arg| match kind(&arg) {
        Some(kind) => arg.add(ArgValueCompleter::new(move |typed: &OsStr| candidates(kind, typed))),
        None => arg,
    })
}

/// What stands in the place of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plan,
    Array,
    Run,
    Label,
    Target,
    Set,
    Test,
}

/// Returns it by the name of the argument, which the verbs share.
fn kind(arg: &Arg) -> Option<Kind> {
    match arg.get_id().as_str() {
        "plan" | "also" => Some(Kind::Plan),
        "array" => Some(Kind::Array),
        "run" | "runs" | "results" | "against" | "resume" => Some(Kind::Run),
        "label" => Some(Kind::Label),
        "target" | "targets" => Some(Kind::Target),
        "set" => Some(Kind::Set),
        "only" => Some(Kind::Test),
        _ => None,
    }
}

/// Returns what begins like what was typed; where a file may stand, files too. A store that cannot be read offers
/// nothing: nobody reads an error between two keys.
fn candidates(kind: Kind, typed: &OsStr) -> Vec<CompletionCandidate> {
    let begun = typed.to_string_lossy();
    let arrays = || shipped::FILES.iter().map(|(name, _)| (*name).to_owned());
    let words: Vec<String> = match kind {
        Kind::Plan => names().into_iter().map(str::to_owned).collect(),
        Kind::Array => arrays().collect(),
        Kind::Run => {
            let rows = newest();
            let labels = labels(&rows).into_iter();
            // What a run is compared with, for those who know that word.
            let expected =
                arrays().map(|name| format!("array:{name}")).filter(|_| begun.starts_with("array:"));
            ["last".to_owned()]
                .into_iter()
                .chain(labels)
                .chain(expected)
                .chain(rows.iter().map(|row| row.run.clone()))
                .collect()
        }
        Kind::Label => labels(&newest()),
        Kind::Target => {
            let simulated = arrays().map(|name| format!("sim:{name}"));
            simulated.chain(targets()).chain(["null:".to_owned()]).collect()
        }
        Kind::Set => SET_KEYS.iter().map(|key| format!("{key}=")).collect(),
        Kind::Test => {
            // Only Bash says what kind of completion it wants.
            let is_bash = std::env::var_os("_CLAP_COMPLETE_COMP_TYPE").is_some();
            let tests = tests_of(std::env::args());
            if is_bash { tests.iter().map(|test| escaped(test)).collect() } else { tests }
        }
    };
    let fits = words.into_iter().filter(|word| word.starts_with(&*begun)).map(CompletionCandidate::new);
    let files = match kind {
        Kind::Label | Kind::Set | Kind::Test => Vec::new(),
        // All files of a folder would hide the runs among them.
        Kind::Run | Kind::Array if begun.is_empty() => Vec::new(),
        _ => PathCompleter::any().complete(typed),
    };
    fits.chain(files).collect()
}

/// Returns the names of the tests of the plan that stands among the words, then what its steps are called. Of other
/// words only those that end like a plan are read: a target may be large.
fn tests_of(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut plans = words.filter(|word| names().contains(&word.as_str()) || word.ends_with(".toml"));
    let Some(plan) = plans.find_map(|name| resolve(&name, &Choice::default()).ok()) else {
        return Vec::new();
    };
    let labels = plan.tests.iter().flat_map(|test| &test.steps).map(Step::label);
    let mut all: Vec<String> = plan.tests.iter().map(|test| test.name.clone()).collect();
    for label in labels.filter(|label| !label.is_empty()) {
        if !all.contains(&label) {
            all.push(label);
        }
    }
    all
}

/// Returns a word as it stands unquoted in Bash, which inserts what it is offered as it is; other shells escape it
/// themselves.
fn escaped(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    word.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

fn store() -> Option<Store> {
    Store::open_existing(StoreArgs::of_environment().address().ok()?).ok()?
}

fn newest() -> Vec<RunRow> {
    let slice = RunSlice { limit: RUNS_MAX, ..RunSlice::ALL };
    store().and_then(|store| store.rows(&RunFilter::default(), slice).ok()).unwrap_or_default()
}

fn labels(rows: &[RunRow]) -> Vec<String> {
    let mut labels: Vec<String> = rows.iter().filter_map(|row| row.label.clone()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn targets() -> Vec<String> {
    store().and_then(|store| store.target_addresses().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_offered_in_their_places() {
        let offers = |kind, typed: &str| -> Vec<String> {
            let all = candidates(kind, OsStr::new(typed));
            all.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
        };
        assert!(offers(Kind::Plan, "vmw").contains(&"vmware-modern".to_owned()));
        assert_eq!(offers(Kind::Array, "ix4"), ["ix4-200d"]);
        assert_eq!(offers(Kind::Target, "sim:ix4"), ["sim:ix4-200d"]);
        assert_eq!(offers(Kind::Run, "array:ix4"), ["array:ix4-200d"]);
        assert_eq!(offers(Kind::Set, "outs"), ["outstanding="]);
        for key in SET_KEYS {
            let says = assay_spec::Overrides::default().set(&format!("{key}=?")).unwrap_err().to_string();
            assert!(!says.contains("no such field"), "{says}");
        }
        let typed = ["assay", "run", "latency-qd1", "t.dat", "--only", ""].map(str::to_owned);
        assert_eq!(tests_of(typed.into_iter())[0], "4 KiB random read");
        let typed = ["assay", "run", "super-atto", "t.dat", "--only", ""].map(str::to_owned);
        assert!(tests_of(typed.into_iter()).contains(&"size=64KiB".to_owned()));
        assert!(!offers(Kind::Run, "").iter().any(|word| word == "src/"), "no files until one is begun");
        command().debug_assert();
        let run = command().find_subcommand("run").cloned().unwrap();
        let kinds: Vec<Kind> = run.get_positionals().filter_map(kind).collect();
        assert_eq!(kinds, [Kind::Plan, Kind::Target]);
    }
}
