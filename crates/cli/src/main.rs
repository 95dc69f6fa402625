//! The program `assay`: what is typed (`args`), what it means (`words`), what is done (`verbs`, with `running` for a
//! run), and what is said (`output`).
//!
//! Results go to standard output, everything else to standard error (`output/terminal.rs`). What exit codes mean is in
//! `exit.rs`.
#![forbid(unsafe_code)]

mod args;
#[cfg(test)]
mod documented;
mod exit;
mod memory;
mod output;
mod running;
mod signals;
mod verbs;
mod words;

use std::process::ExitCode;

use assay_report::escape;
use clap::Parser;
use clap_complete::CompleteEnv;

use args::Cli;
use exit::Failed;
use output::terminal::{self, note};
use verbs::look;
use words::{candidates, either_order, foreign, other_tools, secret};

fn main() -> ExitCode {
    // Answers a shell that completes a command line, and ends.
    CompleteEnv::with_factory(candidates::command).complete();
    signals::survive_file_limits();
    if let Err(says) = memory::enough() {
        note!("{}", terminal::wrapped(&format!("error: {says}")));
        return ExitCode::from(exit::Exit::Refused as u8);
    }
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let result = secret::refuse_typed(&typed).and_then(|()| {
        look::without_verb(&typed).unwrap_or_else(|| {
            let mut cli = parsed(&typed);
            either_order::settle(&mut cli.verb);
            terminal::set_color(cli.color);
            verbs::answer(&cli.verb)
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
        if error.kind() == clap::error::ErrorKind::InvalidUtf8
            && let Some(word) = std::env::args_os().skip(1).find(|word| word.to_str().is_none())
        {
            note!(
                "error: {word:?} is not UTF-8, which names of plans and targets must be; rename the file, or make a \
                 link to it: ln -s"
            );
            std::process::exit(error.exit_code());
        }
        if let Some(says) = foreign::unquoted(typed) {
            note!("error: {says}");
            std::process::exit(error.exit_code());
        }
        if let Some(says) = other_tools::meant(&error, typed) {
            note!("{}", terminal::wrapped(&format!("error: {says}")));
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

/// Returns the chain of causes as one sentence. A cause that its message contains already is not repeated.
fn message(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.is_empty() => cause,
        cause if said.contains(&cause) => said,
        // "target `sdb`", then "`sdb` looks like …": one name is enough.
        cause => match said.rsplit(' ').next().filter(|word| word.starts_with('`')) {
            Some(word) if cause.starts_with(word) => format!("{said}{}", &cause[word.len()..]),
            _ => format!("{said}: {cause}"),
        },
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
