//! `assay export` and `assay import`: a stored run as one file, and back. The file has a line of JSON for what the
//! store knows beside the events, and a line for each event, so that an imported run is the run.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use assay_record::{Event, RunEvent, RunHeader};
use assay_store::Store;
use assay_target::input::{self, Input};
use serde::{Deserialize, Serialize};

use crate::args::{ExportArgs, ImportArgs};
use crate::exit::Exit;
use crate::open_store::{existing_store, open_store};
use crate::output::{Kept, Output, OutputKind};
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
    /// Number of lines that follow; `None` in the file of a run whose store was lost, which grows while the run goes on.
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
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    let row = store.row(&run)?;
    if row.is_running {
        bail!("run {run} is still going on; export it when it has ended");
    }
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{run}.assay")));
    let output = Output::check(&path, OutputKind::Export, Kept::of(&args.store, &[]), Some(&run))?;
    let events = store.load(&run)?;
    let cover = Cover {
        events: Some(events.len()),
        lost: row.lost,
        ..Cover::of(&run, row.label.as_deref(), row.note.as_deref())
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
    output.write(&text, Some(&run))?;
    note!("run {run} written to {}; assay import {0} adds it to another store", path.display());
    Ok(Exit::Done)
}

pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    // All files are understood before anything is stored.
    let all: Vec<Exported> = args.files.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let store = open_store(&args.store)?;
    for exported in &all {
        let run = &exported.header.run;
        add(&store, exported).with_context(|| format!("cannot import run {run}"))?;
        note!("imported run {run}: assay show {run}");
    }
    Ok(Exit::Done)
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
        bail!("{name} is no file of assay export");
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
