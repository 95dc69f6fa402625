//! `assay import`: runs from files of `assay export`, and results of other tools.
//!
//! All files are understood before anything is stored, by as many threads as there are CPUs. Of an exported run only
//! what is kept beside it is ever whole in memory; its events are read again when they are stored, to the letter.
//! Results that do not say when they were measured are of the moment of the import, in the order of their files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_interop::results::{self, ImportedResult, fio_log, table};
use assay_record::{Event, Outcome, RunEvent, RunHeader};
use assay_results::{collector_of, completed};
use assay_spec::random::split_mix;
use assay_store::{Completed, EventLines, Importer, Namesake, Store, StoreError, WholeEvents, WholeRun};
use assay_surface::SurfaceMap;

use crate::args::ImportArgs;
use crate::exit::Exit;
use crate::output::terminal::{note, say};
use crate::words::maps;
use crate::words::result_files::{fio_logs, result_files};
use crate::words::run_file::{self, Exported, is_export};
use crate::words::store::open_store;

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
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).context("the clock is far off")?;
    // All files are understood before anything is stored.
    let (mut all, mut others) = (Vec::new(), Vec::new());
    let (logs, files) = fio_logs(result_files(&args.files)?);
    for paths in logs {
        match of_logs(&paths, now_ms) {
            Ok(import) => all.push(import),
            Err(error) if args.files.iter().any(|path| path.is_dir()) => others.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    for (file, import) in files.iter().zip(all_understood(&paths, now_ms)) {
        match import {
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
    store_all(args, all)
}

fn store_all(args: &ImportArgs, all: Vec<Import>) -> anyhow::Result<Exit> {
    let store = open_store(&args.store)?;
    let importer = store.importer()?;
    notes_of(&all).iter().for_each(|says| note!("note: {says}"));
    let mut unsaid = 0_usize;
    let (mut runs, mut taken) = (Vec::with_capacity(all.len()), BTreeSet::new());
    for import in all {
        let mut run = match import {
            Import::Run(run) => *run,
            Import::Result(result, _) => result.named(&store, &mut taken)?,
            Import::Map(map) => {
                let is_new = maps::keep(&store, &map)?;
                let how = if is_new { "is stored" } else { "was stored already" };
                note!("the map of {} {how}: assay serve shows it with its target", map.target);
                continue;
            }
        };
        run.label = args.label.clone().or(run.label);
        runs.push(run);
    }
    let mut number = 0;
    while let Some(next) = runs.get(number..).filter(|next| !next.is_empty()) {
        let part = &next[..together(next)];
        let is_new = |run: &Whole| store.row(&run.header.run).is_err();
        let add_all = || part.iter().try_for_each(|run| run.add(Namesake::Keep, &importer));
        let are_added = part.len() > 1 && part.iter().all(is_new) && importer.together(add_all).is_ok();
        for run in part {
            number += 1;
            let id = &run.header.run;
            let added = if are_added { Ok(()) } else { run.add(run.namesake(&store), &importer) };
            match added {
                Err(error) if run.is_in(&store, &error) => {
                    let labelled = relabel(&store, args, id)?;
                    says(number, &mut unsaid, || {
                        format!("run {id} is already stored, with the same events{labelled}: assay show {id}")
                    });
                    continue;
                }
                added => added.with_context(|| format!("cannot import run {id}"))?,
            }
            let from = run.header.imported.as_ref();
            let whose = from.map_or(String::new(), |from| format!(" ({}, {})", from.tool, from.file));
            says(number, &mut unsaid, || format!("imported run {id}{whose}: assay show {id}"));
        }
    }
    match unsaid {
        0 => {}
        1 => note!("1 more run is stored now: assay runs"),
        more => note!("{more} more runs are stored now: assay runs"),
    }
    Ok(Exit::Done)
}

/// Sets the label that was asked for of a run that is stored already. Returns what to say of it.
fn relabel(store: &Store, args: &ImportArgs, id: &str) -> anyhow::Result<String> {
    let Some(label) = &args.label else { return Ok(String::new()) };
    let label = Some(label.trim()).filter(|label| !label.is_empty());
    store.set_label(id, label)?;
    Ok(label.map_or("; its label is removed".to_owned(), |label| format!("; its label is now {label}")))
}

/// Events that are stored in one transaction: a run that goes on waits for its end.
const TOGETHER_MAX: usize = 4096;

/// Returns how many of the next runs are stored together: one at least.
fn together(next: &[Whole]) -> usize {
    let mut events = 0;
    let fitting = next.iter().take_while(|run| {
        events += run.count();
        events <= TOGETHER_MAX
    });
    fitting.count().max(1)
}

/// Runs of which each has a line of its own.
const RUNS_SHOWN: usize = 30;

/// Prints the line of a run, or counts it: ten thousand would push away what was not imported.
fn says(number: usize, unsaid: &mut usize, line: impl Fn() -> String) {
    if number <= RUNS_SHOWN { note!("{}", line()) } else { *unsaid += 1 }
}

/// What is to be known of the results, each once: ten thousand files of one tool have the same to say.
fn notes_of(all: &[Import]) -> Vec<String> {
    let results = || {
        all.iter().filter_map(|import| match import {
            Import::Result(result, notes) => Some((result.file(), notes)),
            Import::Run(_) | Import::Map(_) => None,
        })
    };
    let files: BTreeSet<&str> = results().map(|(file, _)| file).collect();
    let mut of_files: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for (file, notes) in results() {
        for says in notes {
            match of_files.iter_mut().find(|(known, _)| *known == says.as_str()) {
                Some((_, named)) => _ = named.insert(file),
                None => of_files.push((says, BTreeSet::from([file]))),
            }
        }
    }
    let said = of_files.into_iter().map(|(says, named)| match (named.len(), named.first()) {
        (count, _) if count == files.len() => says.to_owned(),
        (1, Some(file)) => format!("{file}: {says}"),
        (count, _) => format!("{count} of {} files: {says}", files.len()),
    });
    said.collect()
}

/// Files of a folder that are no results, of which the reasons are listed.
const OTHERS_SHOWN: usize = 30;

/// A file that can be imported.
enum Import {
    Run(Box<Whole>),
    /// Results of another tool, with what is to be known of them. The run has no name before it is stored.
    Result(Box<Whole>, Vec<String>),
    /// A map by `assay map`.
    Map(Box<SurfaceMap>),
}

/// A run that is ready to be stored.
struct Whole {
    header: RunHeader,
    label: Option<String>,
    note: Option<String>,
    lost: Option<String>,
    events: WholesEvents,
    /// `None` where it cannot be made; whoever lists runs tries again.
    completed: Option<Completed>,
}

/// Where its events are.
enum WholesEvents {
    /// In a file.
    File { path: PathBuf, checksum: u32, count: usize, outcome: Option<Outcome> },
    /// Here.
    Made(Vec<Event>),
}

/// Reads all files, by as many threads as there are CPUs. Returns what each is, in order.
fn all_understood(paths: &[&Path], now_ms: u64) -> Vec<anyhow::Result<Import>> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let read_some = || {
        let mut read = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(index) else { return read };
            read.push((index, understood(path, now_ms)));
        }
    };
    let mut all: Vec<(usize, anyhow::Result<Import>)> = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, read_some).ok();
        // This thread reads as well: it may be the only one that this user may have (ulimit -u, pids.max).
        let threads: Vec<_> = (1..cpus.min(paths.len())).filter_map(start).collect();
        let own = read_some();
        let read = threads.into_iter().map(|thread| thread.join());
        let read = read.flat_map(|read| read.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        own.into_iter().chain(read).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, import)| import).collect()
}

/// Reads a file of `assay export`, or results of another tool.
fn understood(path: &Path, now_ms: u64) -> anyhow::Result<Import> {
    if is_export(path) || !path.is_file() {
        return Whole::of_file(path).map(|run| Import::Run(Box::new(run)));
    }
    let name = path.display().to_string();
    let bytes = crate::words::foreign::bytes_of(path)?;
    let text = assay_interop::decode(&name, &bytes)?;
    if let Some(map) = maps::parsed(&text) {
        // A map of an earlier version does not say when it was made; its file does.
        let of_file =
            || path.metadata().and_then(|file| file.modified()).ok()?.duration_since(UNIX_EPOCH).ok();
        let of_file_ms = || u64::try_from(of_file()?.as_millis()).ok();
        let made_unix_ms = map.made_unix_ms.or_else(of_file_ms).or(Some(now_ms));
        return Ok(Import::Map(Box::new(SurfaceMap { made_unix_ms, ..map })));
    }
    let Some(result) = results::import(&name, &text)? else {
        bail!(
            "{name} is neither a file of assay export nor results of a tool that is known (`assay import --help` lists \
             them); a table needs the titles system,test,MiB/s,IOPS,avg ms,max ms"
        );
    };
    result_of(result, now_ms)
}

/// The logs that fio wrote of a job.
fn of_logs(paths: &[PathBuf], now_ms: u64) -> anyhow::Result<Import> {
    let mut logs = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let text = assay_interop::decode(&name, &crate::words::foreign::bytes_of(path)?)?;
        logs.push((name, text));
    }
    result_of(fio_log::import(&logs)?, now_ms)
}

/// Makes results a run with all that is kept beside it, which takes most of the time of an import: here, where other
/// threads do the same.
fn result_of(result: ImportedResult, now_ms: u64) -> anyhow::Result<Import> {
    let notes = result.notes.clone();
    Ok(Import::Result(Box::new(Whole::of_result(result, now_ms)), notes))
}

impl Whole {
    /// Reads a file of `assay export`.
    fn of_file(path: &Path) -> anyhow::Result<Self> {
        let (exported, collector) = run_file::collected(path)?;
        let Exported { label, note, lost, header, count, outcome, checksum } = exported;
        let completed = completed(&header, &collector);
        let events = WholesEvents::File { path: path.to_owned(), checksum, count, outcome };
        Ok(Self { header, label, note, lost, events, completed })
    }

    /// Makes results of another tool a run that has no name yet.
    fn of_result(result: ImportedResult, now_ms: u64) -> Self {
        let (header, events) = result.into_events(String::new(), env!("CARGO_PKG_VERSION"), now_ms);
        let completed = completed(&header, &collector_of(&header, &events));
        let events = WholesEvents::Made(events);
        Self { header, label: None, note: None, lost: None, events, completed }
    }

    /// Gives it a name that no run of the store has, and none of those that are to be added with it.
    fn named(mut self: Box<Self>, store: &Store, taken: &mut BTreeSet<String>) -> anyhow::Result<Self> {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let mut random = u64::from(nanos) << 32 | u64::from(std::process::id());
        self.header.run = loop {
            let run = store.new_run_id(self.header.started_unix_ms, split_mix(&mut random))?;
            if taken.insert(run.clone()) {
                break run;
            }
        };
        if let WholesEvents::Made(events) = &mut self.events {
            for event in events {
                if let RunEvent::Started(header) = &mut event.what {
                    header.run.clone_from(&self.header.run);
                }
            }
        }
        Ok(*self)
    }

    /// The file that it is from.
    fn file(&self) -> &str {
        self.header.imported.as_ref().map_or("", |from| &from.file)
    }

    fn add(&self, namesake: Namesake, importer: &Importer) -> anyhow::Result<()> {
        let mut lines;
        let events = match &self.events {
            WholesEvents::Made(events) => WholeEvents::Decoded(events),
            WholesEvents::File { path, checksum, outcome, .. } => {
                lines = run_file::lines(path, *checksum)?.skip(1);
                WholeEvents::Lines { after_first: EventLines(&mut lines), outcome: *outcome }
            }
        };
        let whole = WholeRun {
            header: &self.header,
            label: self.label.as_deref(),
            note: self.note.as_deref(),
            lost: self.lost.as_deref(),
            events,
        };
        Ok(importer.add(whole, namesake, self.completed.as_ref())?)
    }

    /// A run of which the store lost the rest is replaced, if the file has more of it.
    fn namesake(&self, store: &Store) -> Namesake {
        let Ok(row) = store.row(&self.header.run) else { return Namesake::Keep };
        if row.status.is_some() || row.is_running {
            return Namesake::Keep;
        }
        match self.kept(store) {
            // A part that does not even read back is no reason to keep it.
            Err(_) => Namesake::Replace,
            Ok(Some(kept)) if kept < self.count() => Namesake::Replace,
            Ok(_) => Namesake::Keep,
        }
    }

    /// Whether the store refused the run because it has it, event by event.
    fn is_in(&self, store: &Store, refused: &anyhow::Error) -> bool {
        let exists = matches!(refused.downcast_ref(), Some(StoreError::RunExists { .. }));
        exists && self.kept(store).is_ok_and(|kept| kept == Some(self.count()))
    }

    /// Returns how many of its events the store has; `None` where it has others.
    fn kept(&self, store: &Store) -> Result<Option<usize>, StoreError> {
        let (mut own, mut is_same) = (self.events(), true);
        let kept = store.each_event(&self.header.run, |event| is_same &= own.next() == Some(event))?;
        Ok(is_same.then_some(kept))
    }

    fn count(&self) -> usize {
        match &self.events {
            WholesEvents::Made(events) => events.len(),
            WholesEvents::File { count, .. } => *count,
        }
    }

    /// Returns its events, until one of a file does not read back.
    fn events(&self) -> Box<dyn Iterator<Item = Event> + '_> {
        match &self.events {
            WholesEvents::Made(events) => Box::new(events.iter().cloned()),
            WholesEvents::File { path, checksum, .. } => {
                let lines = run_file::lines(path, *checksum).into_iter().flatten();
                Box::new(lines.map_while(|line| serde_json::from_str(&line.ok()?).ok()))
            }
        }
    }
}
