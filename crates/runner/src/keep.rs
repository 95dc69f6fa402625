//! Where the events of a run go: into the store, and, from the moment on when the store does not take them, into a file
//! that `assay import` reads. A store that is full, deleted or replaced costs neither the run nor its record, and is
//! reported when it happens. A server that is away is asked again, and gets what it missed from the file.

#[cfg(test)]
mod away;
#[cfg(test)]
mod failing;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_record::{Event, ExportCover, RunDigest, RunEvent, RunHeader};
use assay_store::{RunWriter, Store, StoreAddress, StoreError, default_path};
use serde::Serialize;

use crate::error::NotStored;
use crate::lines::Lines;
use crate::spool::Spool;

/// How long a server that is away is left alone before it is asked again: at first, and at most.
const AGAIN_FIRST: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_secs(1) };
const AGAIN_MOST: Duration = Duration::from_secs(30);
/// How long the end of a run waits for a server that is away: it may have been started again just now.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_STEP: Duration =
    if cfg!(test) { Duration::from_millis(2) } else { Duration::from_millis(200) };

/// Events of a file that are given to a server together.
const TOGETHER: usize = 256;

/// Keeps the events of a run.
pub struct Keeper {
    cover: ExportCover,
    store: StoreAddress,
    /// `None` where the store did not even take the beginning.
    writer: Option<RunWriter>,
    lines: Lines,
    /// Folder of that file; `None` chooses one.
    spool_folder: Option<PathBuf>,
    patience: Duration,
    spool: Option<Spool>,
    /// Why the store does not hold all of the run.
    lost: Option<String>,
    /// When a server that is away is asked again.
    again: Option<Again>,
    /// What happened to the store, until it is reported.
    news: Option<StoreNews>,
}

/// What happened to the store of a run that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreNews {
    /// It no longer takes the events.
    Lost(LostStore),
    /// Its server is back, and has all events.
    Back(StoreAddress),
}

/// A store that no longer takes the events of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostStore {
    /// Where it is.
    pub store: StoreAddress,
    /// Reason.
    pub why: String,
    /// File that takes the events instead; `None` keeps them in memory.
    pub instead: Option<PathBuf>,
    /// Whether it is asked again until the run ends.
    pub is_asked_again: bool,
}

/// The next time that a server is asked.
struct Again {
    at: Instant,
    wait: Duration,
}

impl Keeper {
    /// Begins a run in the store. One that the store does not take goes into a file.
    pub fn begin(store: &Store, header: &RunHeader, (label, note): (Option<&str>, Option<&str>)) -> Self {
        let cover = ExportCover::of(&header.run, label, note);
        let mut keeper = Self {
            cover,
            store: store.address().clone(),
            writer: None,
            lines: Lines::default(),
            spool_folder: None,
            patience: PATIENCE,
            spool: None,
            lost: None,
            again: None,
            news: None,
        };
        match store.begin_run(header, label, note) {
            Ok(writer) => keeper.writer = Some(writer),
            Err(error) => keeper.lose(&error),
        }
        let started = Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) };
        // One that has no JSON is refused by the store as well, and reported there.
        serde_json::to_string(&started).iter().for_each(|line| keeper.take(line));
        keeper
    }

    /// Takes an event. The first one of a run was taken when it began.
    pub fn append(&mut self, event: &Event) {
        self.append_all(std::slice::from_ref(event));
    }

    /// Takes events that came together, and stores them together.
    pub fn append_all(&mut self, events: &[Event]) {
        // Written once: a thousand hosts say two thousand a second.
        let mut lines = Vec::with_capacity(events.len());
        let mut has_unwritten = false;
        for event in events.iter().filter(|event| !matches!(event.what, RunEvent::Started(_))) {
            match serde_json::to_string(event) {
                Ok(line) => {
                    self.take(&line);
                    lines.push((event, line));
                }
                Err(_) => has_unwritten = true,
            }
        }
        if self.lost.is_none() {
            let stored = self.writer.as_mut().map(|writer| match has_unwritten {
                // What has no JSON is refused there, with what comes after it.
                true => writer.append_all(events),
                false => writer.append_lines(&lines),
            });
            if let Some(Err(error)) = stored {
                self.lose(&error);
            }
        } else if self.again.as_ref().is_some_and(|again| again.at <= Instant::now()) {
            self.ask_again();
        }
    }

    /// Gives a server that was away what it missed.
    fn ask_again(&mut self) {
        let Some(again) = &mut self.again else { return };
        again.wait = (again.wait * 2).min(AGAIN_MOST);
        again.at = Instant::now() + again.wait;
        match self.catch_up() {
            Ok(()) => {
                (self.lost, self.again) = (None, None);
                // A loss that nobody has heard of needs no report.
                let is_known = self.news.take().is_none();
                self.news = is_known.then(|| StoreNews::Back(self.store.clone()));
            }
            Err(Some(error)) if error.is_away() => {}
            // What it kept of the run is gone, or the events are.
            Err(_) => self.again = None,
        }
    }

    /// Appends what the store does not have. An error is that of the store, or that the events are not there any more.
    fn catch_up(&mut self) -> Result<(), Option<StoreError>> {
        let writer = self.writer.as_mut().ok_or(None)?;
        let stored = writer.resume().map_err(Some)?;
        // The file begins with its cover.
        let missing = match &self.spool {
            Some(spool) => spool.since(stored + 1),
            None => self.lines.since(stored),
        };
        for lines in missing.ok_or(None)?.chunks(TOGETHER) {
            let events = lines.iter().map(|line| serde_json::from_str(line));
            let events: Vec<Event> = events.collect::<Result<_, _>>().map_err(|_| None)?;
            writer.append_all(&events).map_err(Some)?;
        }
        Ok(())
    }

    /// Keeps the run in short for lists, beside the events that are stored. One that cannot be kept is made again by
    /// whoever lists runs, so that nobody needs to know.
    pub fn keep_digest(&self, digest: &RunDigest) {
        if self.lost.is_none() {
            let _ = self.writer.as_ref().map(|writer| writer.keep_digest(digest));
        }
    }

    /// Keeps the extract of the run for its page, beside the events that are stored. `version` is that of its form. One
    /// that cannot be kept is made again by whoever shows the run.
    pub fn keep_extract(&self, version: u32, extract: &impl Serialize) {
        if self.lost.is_none() {
            let _ = self.writer.as_ref().map(|writer| writer.keep_extract(version, extract));
        }
    }

    /// Ends the keeping, and looks whether the run can be found where it was put.
    ///
    /// # Errors
    /// Where it cannot, with the place where it is instead.
    pub fn finish(&mut self) -> Result<(), NotStored> {
        let began = Instant::now();
        loop {
            if self.lost.is_none()
                && let Some(Err(error)) = self.writer.as_mut().map(RunWriter::finish)
            {
                self.lose(&error);
            }
            if self.again.is_none() || began.elapsed() >= self.patience {
                break;
            }
            self.ask_again();
            if self.lost.is_some() {
                std::thread::sleep(PATIENCE_STEP);
            }
        }
        let Some(why) = self.lost.clone() else {
            // The store has all that it has.
            let spool = self.spool.take();
            spool.into_iter().for_each(|spool| drop(std::fs::remove_file(&spool.path)));
            return Ok(());
        };
        if self.spool.is_none() {
            self.open_spool();
        }
        let is_whole = |spool: &mut Spool| spool.write() && spool.file.sync_all().is_ok();
        Err(NotStored {
            run: self.cover.run.clone(),
            why,
            is_whole: self.spool.as_mut().is_some_and(is_whole),
            file: self.spool.as_ref().map(|spool| spool.path.clone()),
        })
    }

    fn take(&mut self, line: &str) {
        match &mut self.spool {
            Some(spool) => {
                spool.put(line.to_owned());
            }
            None => self.lines.push(line),
        }
        // A server that is away gives nothing back, so that what does not fit into memory must be in a file before.
        if self.spool.is_none() && self.store.file().is_none() && self.lines.is_full() {
            self.open_spool();
        }
    }

    /// Opens the file that takes the store's place.
    fn lose(&mut self, error: &StoreError) {
        if self.spool.is_none() {
            self.open_spool();
        }
        let (store, why) = (self.store.clone(), chain(error));
        let instead = self.spool.as_ref().map(|spool| spool.path.clone());
        let is_asked_again = error.is_away() && self.writer.is_some();
        self.again = is_asked_again.then(|| Again { at: Instant::now() + AGAIN_FIRST, wait: AGAIN_FIRST });
        self.news = Some(StoreNews::Lost(LostStore { store, why: why.clone(), instead, is_asked_again }));
        self.lost = Some(why);
    }

    /// Returns what happened to the store, once.
    pub fn news(&mut self) -> Option<StoreNews> {
        self.news.take()
    }

    /// Opens the file beside the store, or for a server where a store of this user would be, else in the working
    /// directory, else in that of temporary files, and writes what there is so far.
    fn open_spool(&mut self) {
        let Ok(cover) = serde_json::to_string(&self.cover) else { return };
        let earlier = self.earlier();
        let name = format!("{}.assay", self.cover.run);
        let own = default_path().ok();
        let beside = self.store.file().or(own.as_deref()).and_then(Path::parent).map(Path::to_owned);
        for folder in self
            .spool_folder
            .clone()
            .into_iter()
            .chain(beside)
            .chain([PathBuf::from("."), std::env::temp_dir()])
        {
            let Some(mut spool) = Spool::create(&folder, &name) else { continue };
            let lines = std::iter::once(&cover).chain(&earlier);
            if !lines.cloned().all(|line| spool.put(line)) {
                // A full file system: another one may have room.
                let _ = std::fs::remove_file(&spool.path);
                continue;
            }
            spool.is_cut = earlier.len() < self.lines.count;
            self.lines = Lines::default();
            self.spool = Some(spool);
            return;
        }
    }

    /// The events so far: those in memory, or where they were too many, those that the store gives back.
    fn earlier(&self) -> Vec<String> {
        if !self.lines.is_short() {
            return self.lines.iter().map(str::to_owned).collect();
        }
        let mut read: Vec<String> = Vec::new();
        if let Some(writer) = &self.writer {
            // What it does not give back is missing, and counted so.
            let _ = writer.each_stored(|line| read.push(line.to_owned()));
        }
        // The last ones are in memory, also those that the store did not take any more.
        let not_in_memory = self.lines.count - self.lines.len();
        if read.len() >= not_in_memory {
            read.truncate(not_in_memory);
            read.extend(self.lines.iter().map(str::to_owned));
        }
        read
    }
}

/// Returns an error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
