//! `assay convert`: the plan file that another tool's file becomes.

use std::path::Path;

use anyhow::bail;
use assay_interop::{ImportOptions, Strictness};
use assay_spec::PlanFile;
use assay_target::input::open;

use crate::args::ConvertArgs;
use crate::exit::{Exit, Failed};
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output, OutputKind};
use crate::words::foreign::{FOREIGN, explain, read};

pub(crate) fn convert(args: &ConvertArgs) -> anyhow::Result<Exit> {
    let strictness = if args.lenient { Strictness::Lenient } else { Strictness::Strict };
    let options = ImportOptions { strictness, targets_given: None };
    let Some(imported) = read(&args.file, &options)? else {
        open(Path::new(&args.file), FOREIGN)?;
        bail!(
            "{} is not a file of a tool that Assay knows: Iometer (.icf), fio (job files), DiskSpd (XML profiles), \
             vdbench (parameter files), or a command line of fio, DiskSpd or SQLIO",
            args.file
        );
    };
    // It must read back, or somebody would run something else later.
    PlanFile::parse(&args.file, &imported.plan)?;
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => say(&imported.plan)?,
        Some(path) => {
            let output = Output::check(path, OutputKind::Text, Kept::of_environment(), None)?;
            output.write(&imported.plan, None).map_err(|error| Failed::new(Exit::Errors, error))?;
        }
    }
    explain(&args.file, &imported, &imported.understood);
    if let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) {
        note!("written to {0}; assay run {0} TARGET runs it", path.display());
    }
    Ok(Exit::Done)
}
