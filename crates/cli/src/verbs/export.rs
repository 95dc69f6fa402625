//! `assay export`: a stored run as one file.

use std::path::{Path, PathBuf};

use anyhow::bail;
use assay_interop::results::{fio_json, hdr, iometer_csv, openmetrics, parquet};
use assay_record::{Event, ExportCover, RunHeader};
use assay_report::table::Format;
use assay_spec::suites::suite;
use assay_store::Store;

use crate::args::{ExportArgs, ExportFormat};
use crate::exit::{Exit, Failed};
use crate::output::render::{Page, Rendered as _};
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output, OutputKind};
use crate::words::plan::Choice;
use crate::words::run_file::{each_event, is_export};
use crate::words::store::existing_store;

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
        let known = ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format);
        Some((path, known.unwrap_or(Err(UNKNOWN_ENDING))))
    };
    match (args.format, of_ending()) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(ExportFormat::Assay),
        (None, Some((_, Ok(format)))) => Ok(format),
        (None, Some((path, Err(says)))) => bail!("{}: {says}", path.display()),
    }
}

const UNKNOWN_ENDING: &str = "this ending names no format: end the file in .assay, .csv, .md, .bbcode, .prom, .hlog, \
                              .parquet or .icf, or give --format";

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
        let mut events = Vec::new();
        let exported = each_event(path, |_, event| events.push(event))?;
        return Ok((exported.header, events));
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
    // The events of a day together take gigabytes of memory, their text hundreds of megabytes.
    let (mut text, mut written) = (String::new(), Ok(()));
    let count = store.each_event(run, |event| match serde_json::to_string(&event) {
        Ok(line) => text.extend([&line, "\n"]),
        Err(error) => written = Err(error),
    })?;
    written?;
    let cover = ExportCover {
        events: Some(count),
        lost: row.lost,
        ..ExportCover::of(run, row.label.as_deref(), row.note.as_deref())
    };
    text.insert_str(0, &(serde_json::to_string(&cover)? + "\n"));
    if output.is_stdout() {
        say(&text)?;
        return Ok(Exit::Done);
    }
    output.write(&text, Some(run))?;
    note!("run {run} written to {}; assay import {0} adds it to another store", path.display());
    Ok(Exit::Done)
}
