//! The file that takes a run's place in the store, and the lines that go into it.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Memory for the events of a run, bytes of JSON: about an hour of one job. The events of longer runs are read back
/// from the store where that is still possible.
pub(crate) const KEPT_BYTES_MAX: usize = if cfg!(test) { 40_000 } else { 16 << 20 };

/// The events so far as lines of JSON, as long as they are not too many.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) lines: Vec<String>,
    bytes: usize,
    /// How many there were, also of those that are not kept.
    pub(crate) count: usize,
}

/// The file that takes a run's place in the store. It has whole lines only.
pub(crate) struct Spool {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// Length of the lines that it took, bytes.
    bytes: u64,
    /// Lines that it has not taken yet: its file system may be full for a while.
    waiting: Lines,
    /// Whether lines are missing, so that none may follow.
    pub(crate) is_cut: bool,
}

impl Lines {
    pub(crate) fn push(&mut self, line: String) {
        self.count += 1;
        self.bytes += line.len();
        if self.bytes > KEPT_BYTES_MAX {
            self.lines.clear();
            self.bytes = line.len();
        }
        self.lines.push(line);
    }

    /// Returns whether there are as many as are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > KEPT_BYTES_MAX / 2
    }

    /// Returns the lines from the one with that number on; `None` where they are not kept.
    pub(crate) fn since(&self, first: usize) -> Option<Vec<String>> {
        let forgotten = self.count - self.lines.len();
        self.lines.get(first.checked_sub(forgotten)?..).map(<[String]>::to_vec)
    }

    /// Returns whether lines that there were are not kept any more.
    pub(crate) fn is_short(&self) -> bool {
        self.lines.len() < self.count
    }

    /// Removes the first lines, which are kept elsewhere.
    fn forget(&mut self, count: usize) {
        self.bytes -= self.lines.drain(..count).map(|line| line.len()).sum::<usize>();
        self.count -= count;
    }
}

impl Spool {
    pub(crate) fn create(folder: &Path, name: &str) -> Option<Self> {
        let path = folder.join(name);
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        Some(Self { path, file, bytes: 0, waiting: Lines::default(), is_cut: false })
    }

    /// Takes a line. Returns whether the file has all lines.
    pub(crate) fn put(&mut self, line: String) -> bool {
        self.waiting.push(line + "\n");
        self.write()
    }

    /// Returns its lines from the one with that number on; `None` where they cannot be read back.
    pub(crate) fn since(&self, first: usize) -> Option<Vec<String>> {
        if self.is_cut {
            return None;
        }
        let written = BufReader::new(File::open(&self.path).ok()?).lines().skip(first);
        let mut lines = written.collect::<Result<Vec<String>, _>>().ok()?;
        lines.extend(self.waiting.lines.iter().map(|line| line.trim_end().to_owned()));
        Some(lines)
    }

    /// Writes the lines that wait. Returns whether the file has all lines.
    pub(crate) fn write(&mut self) -> bool {
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
