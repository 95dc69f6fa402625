//! `assay version`, `assay completions` and `assay man`: about the program itself.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::env::Shells;

use crate::args::{Cli, CompletionsArgs, ManArgs, VersionArgs};
use crate::exit::{Exit, Failed};
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output, OutputKind, new_beside};

pub(crate) fn version(args: &VersionArgs) -> anyhow::Result<Exit> {
    let profile = if cfg!(debug_assertions) { ", with debug assertions" } else { "" };
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    say(&format!("assay {} ({machine} {system}{profile})\n", env!("CARGO_PKG_VERSION")))?;
    if args.verbose {
        // scripts/dist.sh sets it; other builds do not know it.
        let commit = option_env!("ASSAY_COMMIT").unwrap_or("not recorded in this build");
        let built = if cfg!(debug_assertions) { "for development" } else { "optimised" };
        say(&format!(
            "commit: {commit}\nbuilt: {built}, {}{}\nstores: format {}\n",
            libc_name(),
            if cfg!(feature = "full") { "" } else { "; without NATS, PostgreSQL, TLS and labs" },
            assay_store::FORMAT
        ))?;
    }
    Ok(Exit::Done)
}

fn libc_name() -> &'static str {
    if cfg!(target_env = "gnu") { "against glibc" } else { "not against glibc" }
}

/// The script of bash, which breaks words where addresses have colons; that of the parser does not know it.
const BASH: &str = include_str!("completions.bash");

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    if args.shell == clap_complete::Shell::Bash {
        say(BASH)?;
        return Ok(Exit::Done);
    }
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let shell = shells.completer(&name).with_context(|| format!("no completions are known for {name}"))?;
    shell.write_registration("COMPLETE", "assay", "assay", "assay", &mut script)?;
    say(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    let folder = &args.output;
    let name = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {name}"))?;
    // They are made beside their places, where nothing can be overwritten.
    let part = new_beside(&folder.join(".assay-man"), &|part| std::fs::create_dir(part));
    let pages = part.and_then(|(part, ())| {
        let pages = generated(&part);
        let _ = std::fs::remove_dir_all(part);
        pages
    });
    let pages = pages.with_context(|| format!("cannot write the man pages to {name}"))?;
    let place = |page: &(OsString, String)| {
        Output::check(&folder.join(&page.0), OutputKind::ManPage, Kept::of_environment(), None)
    };
    let outputs: Vec<Output> = pages.iter().map(place).collect::<Result<_, _>>()?;
    for (output, (_, text)) in outputs.iter().zip(&pages) {
        output.write(text, None).map_err(|error| Failed::new(Exit::Errors, error))?;
    }
    note!("{} man pages in {name}; man -l {name}/assay.1 shows the first", pages.len());
    Ok(Exit::Done)
}

/// Makes all man pages in a folder, and returns their names and texts.
fn generated(folder: &Path) -> std::io::Result<Vec<(OsString, String)>> {
    clap_mangen::generate_to(Cli::command(), folder)?;
    let pages = std::fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        Ok((entry.file_name(), std::fs::read_to_string(entry.path())?))
    });
    pages.collect()
}
