//! The program `assay`: one file for each verb.
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
mod open_store;
mod output;
mod overhead;
mod predict;
mod progress;
mod published;
mod run;
mod runs;
mod secret;
mod simulated;
mod suites;
mod targets;
mod truth;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};
use output::note;

/// How a verb ended, as the shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Done = 0,
    /// It ran, and errors occurred.
    Errors = 1,
    /// Somebody stopped it.
    Interrupted = 130,
}

/// Exit code of input that cannot be used; nothing was started.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    output::set_color(cli.color);
    let result = match cli.verb {
        Verb::Run(args) => run::run(&args),
        Verb::Suites(args) => suites::suites(&args),
        Verb::Check(args) => check::check(&args),
        Verb::Overhead(args) => overhead::overhead(&args),
        Verb::Runs(args) => runs::runs(&args),
        Verb::Show(args) => runs::show(&args),
        Verb::Report(args) => runs::report(&args),
        Verb::Compare(args) => compare::compare(&args),
        Verb::Label(args) => runs::label(&args),
        Verb::Rm(args) => runs::rm(&args),
        Verb::Predict(args) => predict::predict(&args),
        Verb::Arrays(args) => arrays::arrays(&args),
        Verb::Published(args) => published::published(&args),
        Verb::Calibrate(args) => calibrate::calibrate(&args),
        Verb::Validate(args) => published::validation(&args),
        Verb::Target(args) => targets::target(&args),
    };
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            note!("error: {}", told(&error));
            ExitCode::from(error.downcast_ref::<Failed>().map_or(BAD_INPUT, |failed| failed.exit as u8))
        }
    }
}

/// The chain of causes as one sentence. Some messages end in their cause already; it is not said again.
fn told(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.is_empty() => cause,
        cause if said.contains(&cause) => said,
        cause => format!("{said}: {cause}"),
    }) + next_step(error)
}

/// What to do about errors of the system that leave a user helpless. Errors of the store say so themselves.
fn next_step(error: &anyhow::Error) -> &'static str {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let is_told = error.chain().any(|cause| cause.is::<assay_store::StoreError>());
    let kind = error.chain().find_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()));
    match kind.filter(|_| !is_told) {
        Some(PermissionDenied) => {
            "; this user has not the rights: choose another place, or run as one who has them (for devices root, or the \
             group `disk`)"
        }
        Some(ReadOnlyFilesystem) => {
            "; it is mounted read-only: choose another place, or mount it for writing"
        }
        Some(StorageFull) => "; free some space, or choose another place or a smaller --size",
        _ => "",
    }
}

/// An error that is not bad input: something went wrong on the way.
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

/// Prints to standard output; a reader that has seen enough (`assay runs | head`) is no error.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failed::new(Exit::Errors, format!("cannot print the result: {e}")).into())
        }
        _ => Ok(()),
    }
}
