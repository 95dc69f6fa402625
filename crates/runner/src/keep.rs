//! Where the events of a run go: into the store, and, from the moment on when the store does not take them, into a file
//! that `assay import` reads. A store that is full, deleted or replaced costs neither the run nor its record, and is
//! reported when it happens.

#[cfg(test)]
mod failing;

use std::fs::File;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use assay_record::{Event, ExportCover, RunDigest, RunEvent, RunHeader};
use assay_store::{RunWriter, Store};
use serde::Serialize;

use crate::error::NotStored;

/// Memory for the events of a run, bytes of JSON: about an hour of one job. The events of longer runs are read back
/// from the store where that is still possible.
const KEPT_BYTES_MAX: usize = if cfg!(test) { 40_000 } else { 16 << 20 };

/// Keeps the events of a run.
pub struct Keeper {
    cover: ExportCover,
    store: PathBuf,
    /// `None` where the store did not even take the beginning.
    writer: Option<RunWriter>,
    lines: Lines,
    spool: Option<Spool>,
    /// Why the store does not hold all of the run.
    lost: Option<String>,
    /// The same, until it is reported.
    news: Option<LostStore>,
}

/// A store that no longer takes the events of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostStore {
    /// Path of the store.
    pub store: PathBuf,
    /// Reason.
    pub why: String,
    /// File that takes the events instead; `None` keeps them in memory.
    pub instead: Option<PathBuf>,
}

/// The events so far as lines of JSON, as long as they are not too many.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    bytes: usize,
    /// How many there were, also of those that are not kept.
    count: usize,
}

/// The file that takes a run's place in the store. It has whole lines only.
struct Spool {
    path: PathBuf,
    file: File,
    /// Length of the lines that it took, bytes.
    bytes: u64,
    /// Lines that it has not taken yet: its file system may be full for a while.
    waiting: Lines,
    /// Whether lines are missing, so that none may follow.
    is_cut: bool,
}

impl Keeper {
    /// Begins a run in the store. One that the store does not take goes into a file.
    #[must_use]
    pub fn begin(store: &Store, header: &RunHeader, (label, note): (Option<&str>, Option<&str>)) -> Self {
        let cover = ExportCover::of(&header.run, label, note);
        let mut keeper = Self {
            cover,
            store: store.path().to_owned(),
            writer: None,
            lines: Lines::default(),
            spool: None,
            lost: None,
            news: None,
        };
        match store.begin_run(header, label, note) {
            Ok(writer) => keeper.writer = Some(writer),
            Err(error) => keeper.lose(chain(&error)),
        }
        keeper.take(&Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) });
        keeper
    }

    /// Takes an event. The first one of a run was taken when it began.
    pub fn append(&mut self, event: &Event) {
        if matches!(event.what, RunEvent::Started(_)) {
            return;
        }
        self.take(event);
        if self.lost.is_none()
            && let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.append(event))
        {
            self.lose(chain(&error));
        }
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
        if self.lost.is_none()
            && let Some(Err(error)) = self.writer.as_ref().map(RunWriter::finish)
        {
            self.lose(chain(&error));
        }
        let Some(why) = self.lost.clone() else { return Ok(()) };
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

    fn take(&mut self, event: &Event) {
        // An event that has no JSON is refused by the store as well, and reported there.
        let Ok(line) = serde_json::to_string(event) else { return };
        match &mut self.spool {
            Some(spool) => {
                spool.put(line);
            }
            None => self.lines.push(line),
        }
    }

    /// Opens the file that takes the store's place.
    fn lose(&mut self, why: String) {
        self.open_spool();
        let instead = self.spool.as_ref().map(|spool| spool.path.clone());
        self.news = Some(LostStore { store: self.store.clone(), why: why.clone(), instead });
        self.lost = Some(why);
    }

    /// Returns the loss of the store, once.
    pub fn news(&mut self) -> Option<LostStore> {
        self.news.take()
    }

    /// Opens the file beside the store, else in the working directory, else in that of temporary files, and writes what
    /// there is so far.
    fn open_spool(&mut self) {
        let Ok(cover) = serde_json::to_string(&self.cover) else { return };
        let earlier = self.earlier();
        let name = format!("{}.assay", self.cover.run);
        let beside = self.store.parent().map(Path::to_owned);
        for folder in beside.into_iter().chain([PathBuf::from("."), std::env::temp_dir()]) {
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
            return self.lines.lines.clone();
        }
        let mut read: Vec<String> = Vec::new();
        if let Some(writer) = &self.writer {
            // What it does not give back is missing, and counted so.
            let _ = writer.each_stored(|line| read.push(line.to_owned()));
        }
        // The last ones are in memory, also those that the store did not take any more.
        let not_in_memory = self.lines.count - self.lines.lines.len();
        if read.len() >= not_in_memory {
            read.truncate(not_in_memory);
            read.extend(self.lines.lines.iter().cloned());
        }
        read
    }
}

impl Lines {
    fn push(&mut self, line: String) {
        self.count += 1;
        self.bytes += line.len();
        if self.bytes > KEPT_BYTES_MAX {
            self.lines.clear();
            self.bytes = line.len();
        }
        self.lines.push(line);
    }

    /// Returns whether lines that there were are not kept any more.
    fn is_short(&self) -> bool {
        self.lines.len() < self.count
    }

    /// Removes the first lines, which are kept elsewhere.
    fn forget(&mut self, count: usize) {
        self.bytes -= self.lines.drain(..count).map(|line| line.len()).sum::<usize>();
        self.count -= count;
    }
}

impl Spool {
    fn create(folder: &Path, name: &str) -> Option<Self> {
        let path = folder.join(name);
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        Some(Self { path, file, bytes: 0, waiting: Lines::default(), is_cut: false })
    }

    /// Takes a line. Returns whether the file has all lines.
    fn put(&mut self, line: String) -> bool {
        self.waiting.push(line + "\n");
        self.write()
    }

    /// Writes the lines that wait. Returns whether the file has all lines.
    fn write(&mut self) -> bool {
        self.is_cut |= self.waiting.is_short();
        let mut written = 0;
        for line in self.waiting.lines.iter().filter(|_| !self.is_cut) {
            if self.file.write_all_at(line.as_bytes(), self.bytes).is_err() {
                // Half a line could not be read again.
                let _ = self.file.set_len(self.bytes);
                break;
            }
            self.bytes += line.len() as u64;
            written += 1;
        }
        self.waiting.forget(written);
        !self.is_cut && self.waiting.lines.is_empty()
    }
}

/// Returns an error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
