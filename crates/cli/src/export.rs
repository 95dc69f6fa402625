//! `assay export` and `assay import`: a stored run as one file, and back. The file has a line of JSON for what the
//! store knows beside the events, and a line for each event, so that an imported run is the run.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_interop::results::{ImportedResult, fio_json, hdr, iometer_csv, openmetrics, table};
use assay_record::{Event, RunEvent, RunHeader};
use assay_spec::suites::suite;
use assay_store::Store;
use assay_target::input::{self, Input};
use serde::{Deserialize, Serialize};

use crate::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::exit::{Exit, Failed};
use crate::open_store::{existing_store, open_store};
use crate::output::{Kept, Output, OutputKind};
use crate::run::Choice;
use crate::runs::Stored;
use crate::terminal::{note, say};

/// Name and version of the file's form, its first words.
const SCHEMA: &str = "assay.export/1";
/// Bytes of a file that tell whether it is one.
const HEAD_BYTES: u64 = 64;

/// All events of one are in memory at once. A job that runs for a day has about 250 MiB.
const EXPORT: Input = Input { name: "a file of assay export", bytes_max: 2 << 30 };

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Cover {
    pub(crate) schema: String,
    pub(crate) run: String,
    pub(crate) label: Option<String>,
    pub(crate) note: Option<String>,
    /// Number of lines that follow; `None` in the file of a run whose store was lost, which grows while the run goes
    /// on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<usize>,
    /// Why events are missing from some moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<String>,
}

impl Cover {
    /// Of a run that is not over.
    pub(crate) fn of(run: &str, label: Option<&str>, note: Option<&str>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (schema, run) = (SCHEMA.to_owned(), run.to_owned());
        Self { schema, run, label: owned(label), note: owned(note), events: None, lost: None }
    }
}

/// A run from a file.
pub(crate) struct Exported {
    pub(crate) label: Option<String>,
    pub(crate) note: Option<String>,
    /// Why events are missing from some moment on.
    pub(crate) lost: Option<String>,
    pub(crate) header: RunHeader,
    pub(crate) events: Vec<Event>,
}

pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    match args.format {
        ExportFormat::Assay => export_events(args),
        ExportFormat::Icf => export_plan(args),
        ExportFormat::IometerCsv => export_results(args, iometer_csv::export),
        ExportFormat::FioJson => export_results(args, fio_json::export),
        ExportFormat::Openmetrics => export_results(args, openmetrics::export),
        ExportFormat::Hdr => export_results(args, hdr::export),
    }
}

/// Writes the results of a run in the form of another tool.
fn export_results(args: &ExportArgs, form: fn(&RunHeader, &[Event]) -> String) -> anyhow::Result<Exit> {
    let path = Path::new(&args.run);
    let (header, events) = if is_export(path) {
        let exported = read(path)?;
        (exported.header, exported.events)
    } else {
        let store = existing_store(&args.store)?;
        let run = store.find(&args.run)?;
        (store.header(&run)?, store.load(&run)?)
    };
    write_text(args, &form(&header, &events))?;
    Ok(Exit::Done)
}

/// Writes the plan of a run, a suite or a plan file for Iometer.
fn export_plan(args: &ExportArgs) -> anyhow::Result<Exit> {
    let is_plan = suite(&args.run).is_some() || Path::new(&args.run).is_file();
    let (plan, targets) = if is_plan && !is_export(Path::new(&args.run)) {
        (crate::run::resolve(&args.run, &Choice::default())?, Vec::new())
    } else {
        let stored = Stored::named(&args.store, &args.run)?;
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
    let runs = crate::runs::labelled(&store, &args.run)?;
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
        bail!("run {run} is still going on; export it when it has ended");
    }
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{run}.assay")));
    let output = Output::check(&path, OutputKind::Export, Kept::of(&args.store, &[]), Some(run))?;
    let events = store.load(run)?;
    let cover = Cover {
        events: Some(events.len()),
        lost: row.lost,
        ..Cover::of(run, row.label.as_deref(), row.note.as_deref())
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

pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    // All files are understood before anything is stored.
    let all: Vec<Import> = args.files.iter().map(|path| understood(path)).collect::<Result<_, _>>()?;
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
    let bytes = crate::foreign::bytes_of(path)?;
    let text = assay_interop::decode(&name, &bytes)?;
    let result = if fio_json::is_results(&text) {
        fio_json::import(&name, &text)?
    } else if iometer_csv::is_results(&text) {
        iometer_csv::import(&name, &text)?
    } else if table::is_table(&text) {
        table::import(&name, &text)?
    } else {
        bail!(
            "{name} is neither a file of assay export nor results of fio (--output-format=json+) or Iometer (CSV); a \
             table needs the titles system,test,MiB/s,IOPS,avg ms,max ms"
        );
    };
    Ok(Import::Result(Box::new(result)))
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
    make_room(store, exported)?;
    let mut writer =
        store.begin_run(&exported.header, exported.label.as_deref(), exported.note.as_deref())?;
    let stored = exported.events.iter().try_for_each(|event| writer.append(event));
    drop(writer);
    let stored = stored.and_then(|()| match &exported.lost {
        Some(why) => store.set_lost(&exported.header.run, Some(why)),
        None => Ok(()),
    });
    if stored.is_err() {
        // Half of a run would be in the way of the next attempt.
        let _ = store.remove(&exported.header.run);
    }
    Ok(stored?)
}

/// Removes what the store has of a run when it lost the rest, and the file has more.
fn make_room(store: &Store, exported: &Exported) -> anyhow::Result<()> {
    let run = &exported.header.run;
    let Ok(row) = store.row(run) else { return Ok(()) };
    let is_part = row.status.is_none() && !row.is_running;
    // A part that does not even read back is no reason to keep it.
    let has_less = store.load(run).map_or(true, |events| exported.events.starts_with(&events));
    if is_part && has_less && exported.events.len() > store.load(run).map_or(0, |events| events.len()) {
        store.remove(run)?;
    }
    Ok(())
}

/// Whether a file is one of these.
pub(crate) fn is_export(path: &Path) -> bool {
    let mut head = Vec::new();
    let Ok(file) = input::open(path, EXPORT) else { return false };
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    read.is_ok() && head.starts_with(format!("{{\"schema\":\"{SCHEMA}\"").as_bytes())
}

/// Reads a file of `assay export`, and checks that it is whole.
pub(crate) fn read(path: &Path) -> anyhow::Result<Exported> {
    let name = path.display();
    let file = input::open(path, EXPORT)?;
    if !is_export(path) {
        bail!("{name} is not a file of assay export");
    }
    let mut lines = BufReader::new(file.take(EXPORT.bytes_max)).lines();
    let first = lines.next().transpose().with_context(|| format!("cannot read {name}"))?.unwrap_or_default();
    let cover: Cover =
        serde_json::from_str(&first).with_context(|| format!("{name}:1 does not read back"))?;
    let mut events: Vec<Event> = Vec::new();
    for (index, line) in lines.enumerate() {
        let line = line.with_context(|| format!("cannot read {name}"))?;
        let event = serde_json::from_str(&line);
        events.push(event.with_context(|| format!("{name}:{} does not read back", index + 2))?);
    }
    if let Some(count) = cover.events.filter(|count| *count != events.len()) {
        bail!("{name} is cut off: it has {} of {count} events; export it again", events.len());
    }
    let Some(RunEvent::Started(header)) = events.first().map(|event| &event.what) else {
        bail!("{name} does not begin with the start of a run; export it again");
    };
    let header = (**header).clone();
    if !assay_store::is_run_id(&header.run) {
        bail!("{name} holds a run whose id is none of Assay's; export it again");
    }
    if header.run != cover.run {
        bail!("{name} is named run {} and holds run {}; export it again", cover.run, header.run);
    }
    Ok(Exported { label: cover.label, note: cover.note, lost: cover.lost, header, events })
}
