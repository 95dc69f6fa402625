//! `assay version`, `assay completions` and `assay man`: about the program itself.

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::output::note;
use crate::{Exit, say};

pub(crate) fn version() -> anyhow::Result<Exit> {
    let profile = if cfg!(debug_assertions) { ", with debug assertions" } else { "" };
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    say(&format!("assay {} ({machine} {system}{profile})\n", env!("CARGO_PKG_VERSION")))?;
    Ok(Exit::Done)
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "assay", &mut script);
    say(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write the man pages to {}", folder.display()))?;
    let count = std::fs::read_dir(folder).map_or(0, Iterator::count);
    note!("{count} man pages in {0}; man -l {0}/assay.1 shows the first", folder.display());
    Ok(Exit::Done)
}
