//! The file that takes a run's place in the store.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::lines::Lines;

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

impl Spool {
    pub(crate) fn create(folder: &Path, name: &str) -> Option<Self> {
        let path = folder.join(name);
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        Some(Self { path, file, bytes: 0, waiting: Lines::default(), is_cut: false })
    }

    /// Takes a line. Returns whether the file has all lines.
    pub(crate) fn put(&mut self, mut line: String) -> bool {
        line.push('\n');
        self.waiting.push(&line);
        self.write()
    }

    /// Returns its lines from the one with that number on; `None` where they cannot be read back.
    pub(crate) fn since(&self, first: usize) -> Option<Vec<String>> {
        if self.is_cut {
            return None;
        }
        let written = BufReader::new(File::open(&self.path).ok()?).lines().skip(first);
        let mut lines = written.collect::<Result<Vec<String>, _>>().ok()?;
        lines.extend(self.waiting.iter().map(|line| line.trim_end().to_owned()));
        Some(lines)
    }

    /// Writes the lines that wait. Returns whether the file has all lines.
    pub(crate) fn write(&mut self) -> bool {
        self.is_cut |= self.waiting.is_short();
        let mut written = 0;
        for line in self.waiting.iter().filter(|_| !self.is_cut) {
            if self.file.write_all_at(line.as_bytes(), self.bytes).is_err() {
                // Half a line could not be read again.
                let _ = self.file.set_len(self.bytes);
                break;
            }
            self.bytes += line.len() as u64;
            written += 1;
        }
        self.waiting.forget(written);
        !self.is_cut && self.waiting.len() == 0
    }
}
