//! The program `assay`, one file for each verb.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 run with errors, 2 bad
//! input, 130 interrupted.
#![forbid(unsafe_code)]

mod args;
mod arrays;
mod calibrate;
mod check;
mod check_lun;
mod check_nfs;
mod compare;
mod discovery;
mod export;
mod foreign;
mod look;
mod open_store;
mod output;
mod overhead;
mod predict;
mod program;
mod progress;
mod published;
mod render;
mod run;
mod runs;
mod secret;
mod suites;
mod targets;
mod truth;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};
use output::note;

/// Exit code of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// It ran, with errors.
    Errors = 1,
    /// It was stopped.
    Interrupted = 130,
}

/// Exit code for input that cannot be used. Nothing was started.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let result = look::without_verb(&typed).unwrap_or_else(|| {
        let cli = Cli::parse();
        output::set_color(cli.color);
        verb(&cli.verb)
    });
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            note!("error: {}", message(&error));
            ExitCode::from(error.downcast_ref::<Failed>().map_or(BAD_INPUT, |failed| failed.exit as u8))
        }
    }
}

fn verb(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Run(args) => run::run(args),
        Verb::Suites(args) => suites::suites(args),
        Verb::Check(args) => check::check(args),
        Verb::Overhead(args) => overhead::overhead(args),
        Verb::Runs(args) => runs::runs(args),
        Verb::Show(args) => runs::show(args),
        Verb::Report(args) => runs::report(args),
        Verb::Compare(args) => compare::compare(args),
        Verb::Label(args) => runs::label(args),
        Verb::Rm(args) => runs::rm(args),
        Verb::Export(args) => export::export(args),
        Verb::Import(args) => export::import(args),
        Verb::Convert(args) => foreign::convert(args),
        Verb::Predict(args) => predict::predict(args),
        Verb::Arrays(args) => arrays::arrays(args),
        Verb::Published(args) => published::published(args),
        Verb::Calibrate(args) => calibrate::calibrate(args),
        Verb::Validate(args) => published::validation(args),
        Verb::Target(args) => targets::target(args),
        Verb::Completions(args) => program::completions(args),
        Verb::Man(args) => program::man(args),
        Verb::Version => program::version(),
    }
}

/// Returns the chain of causes as one sentence. A cause that its message contains already is not repeated.
fn message(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.is_empty() => cause,
        cause if said.contains(&cause) => said,
        cause => format!("{said}: {cause}"),
    }) + next_step(error)
}

/// Returns what to do about an error of the system. Errors of the store contain it.
fn next_step(error: &anyhow::Error) -> &'static str {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let has_advice = error.chain().any(|cause| cause.is::<assay_store::StoreError>());
    let kind = error.chain().find_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()));
    match kind.filter(|_| !has_advice) {
        Some(PermissionDenied) if is_root() => {
            "; root is refused too: look for a read-only or immutable file (lsattr), an NFS export that maps root to \
             nobody, or a container without access to devices"
        }
        Some(PermissionDenied) => {
            "; choose another place, run as root, or for a device join its group (usually `disk`)"
        }
        Some(ReadOnlyFilesystem) => {
            "; it is mounted read-only: choose another place, or mount it for writing"
        }
        Some(StorageFull) => "; free some space, or choose another place or a smaller --size",
        _ => "",
    }
}

/// Whether this process runs as root.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// An error that is not bad input: something failed on the way.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    pub(crate) says: String,
}

impl Failed {
    pub(crate) fn new(exit: Exit, error: impl std::fmt::Display) -> Self {
        Self { exit, says: error.to_string() }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.says)
    }
}

impl std::error::Error for Failed {}

/// Prints to standard output. A reader that closes the pipe early (`assay runs | head`) is no error.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failed::new(Exit::Errors, format!("cannot print the result: {e}")).into())
        }
        _ => Ok(()),
    }
}
