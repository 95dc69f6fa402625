//! The program `assay`, one file for each verb.
//!
//! Results go to standard output, everything else to standard error (`terminal.rs`). What exit codes mean is in
//! `exit.rs`.
#![forbid(unsafe_code)]

mod args;
mod arrays;
mod baseline;
mod calibrate;
mod check;
mod check_lun;
mod check_nfs;
mod check_text;
mod compare;
mod curve;
mod diagnose;
mod discovery;
mod exit;
mod export;
mod fail_if;
mod foreign;
mod group;
mod journal;
mod journals;
mod lab;
mod look;
mod maxima;
mod open_store;
mod output;
mod overhead;
mod predict;
mod probe_cache;
mod program;
mod progress;
mod published;
mod render;
mod run_file;
mod run_verb;
mod running;
mod runs;
mod scale;
mod secret;
mod serve;
mod signals;
mod size;
mod stored;
mod suites;
mod targets;
mod tell;
mod terminal;
mod truth;
mod words;

use std::process::ExitCode;

use assay_report::escape;
use clap::Parser;

use args::{Cli, Verb};
use exit::{Exit, Failed};
use terminal::note;

fn main() -> ExitCode {
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let result = secret::refuse_typed(&typed).and_then(|()| {
        look::without_verb(&typed).unwrap_or_else(|| {
            let cli = parsed(&typed);
            terminal::set_color(cli.color);
            verb(&cli.verb)
        })
    });
    match result {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            note!("{}", terminal::wrapped(&format!("error: {}", message(&error))));
            ExitCode::from(exit::of(&error) as u8)
        }
    }
}

/// Reads the command line. Help and mistakes end the program here.
fn parsed(typed: &[String]) -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        if let Some(says) = foreign::unquoted(typed) {
            note!("error: {says}");
            std::process::exit(error.exit_code());
        }
        if typed.iter().any(|word| escape::visible(word) != *word) {
            // What clap repeats of it must not command the terminal.
            note!("{}", error.render().to_string().trim_end());
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

fn verb(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Run(args) => group::start(args),
        Verb::Curve(args) => curve::curve(args),
        Verb::ProbeCache(args) => probe_cache::probe_cache(args),
        Verb::Suites(args) => suites::suites(args),
        Verb::Diagnose(args) => diagnose::diagnose(args),
        Verb::Check(args) => check::check(args),
        Verb::Lab(args) => lab::lab(args),
        Verb::Journal(args) => journal::journal(args),
        Verb::Scale(args) => scale::scale(args),
        Verb::Overhead(args) => overhead::overhead(args),
        Verb::Runs(args) => runs::runs(args),
        Verb::Show(args) => runs::show(args),
        Verb::Report(args) => runs::report(args),
        Verb::Compare(args) => compare::compare(args),
        Verb::Baseline(args) => baseline::baseline(args),
        Verb::Serve(args) => serve::serve(args),
        Verb::Label(args) => runs::label(args),
        Verb::Rm(args) => runs::rm(args),
        Verb::Export(args) => export::export(args),
        Verb::Import(args) => export::import(args),
        Verb::Convert(args) => foreign::convert(args),
        Verb::Predict(args) => predict::predict(args),
        Verb::Size(args) => size::size(args),
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
    // What failed after a beginning stands in an error of its own.
    let error = error.downcast_ref::<Failed>().map_or(error, |failed| &failed.error);
    let has_advice = error.chain().any(|cause| cause.is::<assay_store::StoreError>());
    let kind = error.chain().find_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()));
    match kind.filter(|_| !has_advice) {
        Some(PermissionDenied) if nix::unistd::geteuid().is_root() => {
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
