//! `assay export` and `assay import`: a stored run as one file, and back.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_interop::results::{
    self, ImportedResult, fio_json, fio_log, hdr, iometer_csv, openmetrics, parquet, table,
};
use assay_record::{Event, ExportCover, RunHeader};
use assay_report::table::Format;
use assay_spec::suites::suite;
use assay_store::{Namesake, Store, WholeRun};

use crate::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::exit::{Exit, Failed};
use crate::output::render::{Page, Rendered as _};
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output, OutputKind};
use crate::words::plan::Choice;
use crate::words::result_files::{fio_logs, result_files};
use crate::words::run_file::{Exported, is_export, read};
use crate::words::store::{existing_store, open_store};

pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    match format(args)? {
        ExportFormat::Assay => export_events(args),
        ExportFormat::Icf => export_plan(args),
        ExportFormat::IometerCsv => export_results(args, iometer_csv::export),
        ExportFormat::FioJson => export_results(args, fio_json::export),
        ExportFormat::Openmetrics => export_results(args, openmetrics::export),
        ExportFormat::Hdr => export_results(args, hdr::export),
        ExportFormat::Parquet => export_parquet(args),
        ExportFormat::Raw => export_raw(args),
        ExportFormat::Csv => export_table(args, Format::Csv),
        ExportFormat::Markdown => export_table(args, Format::Markdown),
        ExportFormat::Bbcode => export_table(args, Format::BbCode),
    }
}

/// What to write: what is asked for, else what the ending of the file is known for.
fn format(args: &ExportArgs) -> anyhow::Result<ExportFormat> {
    let of_ending = || {
        let path = args.output.as_deref()?;
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| (path, *format))
    };
    match (args.format, of_ending()) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(ExportFormat::Assay),
        (None, Some((_, Ok(format)))) => Ok(format),
        (None, Some((path, Err(says)))) => bail!("{}: {says}", path.display()),
    }
}

/// Endings of files, and what is written to them where `--format` is not given; or why it names nothing.
const ENDINGS: [(&str, Result<ExportFormat, &str>); 13] = [
    ("assay", Ok(ExportFormat::Assay)),
    ("icf", Ok(ExportFormat::Icf)),
    ("prom", Ok(ExportFormat::Openmetrics)),
    ("om", Ok(ExportFormat::Openmetrics)),
    ("hlog", Ok(ExportFormat::Hdr)),
    ("hdr", Ok(ExportFormat::Hdr)),
    ("parquet", Ok(ExportFormat::Parquet)),
    ("csv", Ok(ExportFormat::Csv)),
    ("md", Ok(ExportFormat::Markdown)),
    ("bbcode", Ok(ExportFormat::Bbcode)),
    (
        "json",
        Err(
            "choose --format fio-json (as fio writes results) or --format assay (all events, for another Assay); \
             assay report -o FILE.json writes the document of assay show --json",
        ),
    ),
    ("html", Err("assay report -o FILE.html writes the page")),
    ("txt", Err("assay report -o FILE.txt writes the table as text")),
];

/// Writes the results of a run in the form of another tool.
fn export_results(args: &ExportArgs, form: fn(&RunHeader, &[Event]) -> String) -> anyhow::Result<Exit> {
    let (header, events) = run_named(args)?;
    write_text(args, &form(&header, &events))?;
    Ok(Exit::Done)
}

/// Writes the table of a run.
fn export_table(args: &ExportArgs, format: Format) -> anyhow::Result<Exit> {
    let stored = crate::words::stored::named(&args.store, &args.run)?;
    write_text(args, &Page::of(&stored).table(format))?;
    Ok(Exit::Done)
}

/// Writes what is stored of a run as it is: a line for each column of its row and for each event.
fn export_raw(args: &ExportArgs) -> anyhow::Result<Exit> {
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    let mut text = String::new();
    store.each_raw(&run, |name, bytes| {
        // Bytes that are no text stand as their code points in Latin-1, which loses none.
        let line = std::str::from_utf8(bytes).map_or_else(
            |_| serde_json::json!({ "name": name, "latin1": bytes.iter().map(|b| char::from(*b)).collect::<String>() }),
            |value| serde_json::json!({ "name": name, "text": value }),
        );
        text.push_str(&format!("{line}\n"));
    })?;
    write_text(args, &text)?;
    Ok(Exit::Done)
}

/// Writes the intervals of a run with their histograms.
fn export_parquet(args: &ExportArgs) -> anyhow::Result<Exit> {
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        bail!("a Parquet file is binary; name the file to write, for example -o run.parquet");
    };
    let output = Output::check(path, OutputKind::Text, Kept::of(&args.store, &[]), None)?;
    let (header, events) = run_named(args)?;
    let bytes = parquet::export(&header, &events);
    output.write_bytes(&bytes, None).map_err(|error| Failed::new(Exit::Errors, error))?;
    note!("written to {output}");
    Ok(Exit::Done)
}

/// The run of the store, or of a file of `assay export`.
fn run_named(args: &ExportArgs) -> anyhow::Result<(RunHeader, Vec<Event>)> {
    let path = Path::new(&args.run);
    if is_export(path) {
        let exported = read(path)?;
        return Ok((exported.header, exported.events));
    }
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    Ok((store.header(&run)?, store.load(&run)?))
}

/// Writes the plan of a run, a suite or a plan file for Iometer.
fn export_plan(args: &ExportArgs) -> anyhow::Result<Exit> {
    let is_plan = suite(&args.run).is_some() || Path::new(&args.run).is_file();
    let (plan, targets) = if is_plan && !is_export(Path::new(&args.run)) {
        (crate::words::plan::resolve(&args.run, &Choice::default())?, Vec::new())
    } else {
        let stored = crate::words::stored::named(&args.store, &args.run)?;
        let targets = stored.header.targets.iter().map(|target| target.address.clone()).collect();
        (stored.header.plan, targets)
    };
    let exported = assay_interop::icf::export(&plan, &targets);
    write_text(args, &exported.text)?;
    exported.notes.iter().for_each(|says| note!("note: {says}"));
    Ok(Exit::Done)
}

/// Writes an export that is no run of Assay's: to standard output, or to a file that does not exist yet.
fn write_text(args: &ExportArgs, text: &str) -> anyhow::Result<()> {
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return say(text);
    };
    let output = Output::check(path, OutputKind::Text, Kept::of(&args.store, &[]), None)?;
    output.write(text, None).map_err(|error| Failed::new(Exit::Errors, error))?;
    note!("written to {output}");
    Ok(())
}

fn export_events(args: &ExportArgs) -> anyhow::Result<Exit> {
    let store = existing_store(&args.store)?;
    let runs = crate::words::stored::labelled(&store, &args.run)?;
    if runs.len() > 1 {
        if args.output.is_some() {
            bail!(
                "`{}` stands for {} repetitions; leave out -o to write a file for each",
                args.run,
                runs.len()
            );
        }
        for run in &runs {
            export_run(args, &store, run)?;
        }
        return Ok(Exit::Done);
    }
    export_run(args, &store, &store.find(&args.run)?)
}

fn export_run(args: &ExportArgs, store: &Store, run: &str) -> anyhow::Result<Exit> {
    let row = store.row(run)?;
    if row.is_running {
        bail!("run {run} is still in progress; export it when it has ended");
    }
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{run}.assay")));
    let output = Output::check(&path, OutputKind::Export, Kept::of(&args.store, &[]), Some(run))?;
    let events = store.load(run)?;
    let cover = ExportCover {
        events: Some(events.len()),
        lost: row.lost,
        ..ExportCover::of(run, row.label.as_deref(), row.note.as_deref())
    };
    let mut text = serde_json::to_string(&cover)? + "\n";
    for event in &events {
        text.push_str(&serde_json::to_string(event)?);
        text.push('\n');
    }
    if output.is_stdout() {
        say(&text)?;
        return Ok(Exit::Done);
    }
    output.write(&text, Some(run))?;
    note!("run {run} written to {}; assay import {0} adds it to another store", path.display());
    Ok(Exit::Done)
}

/// Prints a table as a file of published measurements.
fn publish(args: &ImportArgs) -> anyhow::Result<Exit> {
    let [path] = args.files.as_slice() else { bail!("--published takes one table") };
    let name = path.display().to_string();
    let text = assay_interop::decode(&name, &crate::words::foreign::bytes_of(path)?)?;
    let toml = table::published(&name, &text)?;
    // It must read back as what it is to become.
    assay_model::published::parse(&name, &toml)
        .with_context(|| format!("{name} contains no table that can be published"))?;
    say(&toml)?;
    Ok(Exit::Done)
}

pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    if args.published {
        return publish(args);
    }
    // All files are understood before anything is stored.
    let (mut all, mut others) = (Vec::new(), Vec::new());
    let (logs, files) = fio_logs(result_files(&args.files)?);
    for paths in logs {
        match of_logs(&paths) {
            Ok(import) => all.push(import),
            Err(error) if args.files.iter().any(|path| path.is_dir()) => others.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    for file in files {
        match understood(&file.path) {
            Ok(import) => all.push(import),
            // A folder has what it has.
            Err(error) if file.is_found => others.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    others.iter().take(OTHERS_SHOWN).for_each(|why| note!("not imported: {why}"));
    if let Some(more) = others.len().checked_sub(OTHERS_SHOWN).filter(|more| *more > 0) {
        note!("not imported: {more} more files");
    }
    if all.is_empty() {
        bail!("there is nothing to import in what was named");
    }
    let store = open_store(&args.store)?;
    for (number, import) in (1..).zip(all) {
        let mut exported = match import {
            Import::Run(exported) => *exported,
            Import::Result(result) => {
                result.notes.iter().for_each(|says| note!("note: {says}"));
                of_result(*result, &store, number)?
            }
        };
        exported.label = args.label.clone().or(exported.label);
        let run = &exported.header.run;
        add(&store, &exported).with_context(|| format!("cannot import run {run}"))?;
        let from = exported.header.imported.as_ref();
        let whose = from.map_or(String::new(), |from| format!(" ({}, {})", from.tool, from.file));
        note!("imported run {run}{whose}: assay show {run}");
    }
    Ok(Exit::Done)
}

/// Files of a folder that are no results, of which the reasons are listed.
const OTHERS_SHOWN: usize = 30;

/// A file that can be imported.
enum Import {
    Run(Box<Exported>),
    Result(Box<ImportedResult>),
}

/// Reads a file of `assay export`, or results of another tool.
fn understood(path: &Path) -> anyhow::Result<Import> {
    if is_export(path) || !path.is_file() {
        return Ok(Import::Run(Box::new(read(path)?)));
    }
    let name = path.display().to_string();
    let bytes = crate::words::foreign::bytes_of(path)?;
    let text = assay_interop::decode(&name, &bytes)?;
    let Some(result) = results::import(&name, &text)? else {
        bail!(
            "{name} is neither a file of assay export nor results of a tool that is known (`assay import --help` lists \
             them); a table needs the titles system,test,MiB/s,IOPS,avg ms,max ms"
        );
    };
    Ok(Import::Result(Box::new(result)))
}

/// The logs that fio wrote of a job.
fn of_logs(paths: &[PathBuf]) -> anyhow::Result<Import> {
    let mut logs = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let text = assay_interop::decode(&name, &crate::words::foreign::bytes_of(path)?)?;
        logs.push((name, text));
    }
    Ok(Import::Result(Box::new(fio_log::import(&logs)?)))
}

/// Results of another tool as a run with an id of its own.
fn of_result(result: ImportedResult, store: &Store, number: u64) -> anyhow::Result<Exported> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).context("the clock is far off")?;
    let random = u64::from(now.subsec_nanos()) << 32 | (u64::from(std::process::id()) ^ number << 20);
    let run = store.new_run_id(result.started_unix_ms().unwrap_or(now_ms), random)?;
    let (header, events) = result.into_events(run, env!("CARGO_PKG_VERSION"), now_ms);
    Ok(Exported { label: None, note: None, lost: None, header, events })
}

fn add(store: &Store, exported: &Exported) -> anyhow::Result<()> {
    let whole = WholeRun {
        header: &exported.header,
        label: exported.label.as_deref(),
        note: exported.note.as_deref(),
        lost: exported.lost.as_deref(),
        events: &exported.events,
    };
    store.add_run(&whole, namesake(store, exported))?;
    // What makes lists and pages of it fast; made again by whoever needs it where that fails.
    let _ = assay_results::complete(store, &exported.header.run);
    Ok(())
}

/// A run of which the store lost the rest is replaced, if the file has more of it.
fn namesake(store: &Store, exported: &Exported) -> Namesake {
    let run = &exported.header.run;
    let Ok(row) = store.row(run) else { return Namesake::Keep };
    let is_part = row.status.is_none() && !row.is_running;
    // A part that does not even read back is no reason to keep it.
    let kept = store.load(run).unwrap_or_default();
    let has_more = exported.events.len() > kept.len() && exported.events.starts_with(&kept);
    if is_part && has_more { Namesake::Replace } else { Namesake::Keep }
}
