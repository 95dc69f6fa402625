//! The mark by which Assay recognises a file that it created.
//!
//! A [`Marker`] records what the file was filled with and its properties when Assay last marked it. It belongs to one
//! file, identified by its inode and birth time, so the mark of a copy proves nothing. A closed mark is void once the
//! length or time of the file differs. An open mark, which a killed run leaves behind, is void once the length differs,
//! or the file was changed later than that run can have lasted. [`store`] stores the marks of local files.

mod store;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use store::StoredText;
pub use store::mark_beside;
pub(crate) use store::{beside_name, beside_text, is_marker, marker_beside, remove_beside};

/// The mark of a file created by Assay: an extended attribute, or a file beside it if the file system has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Version of this record.
    pub version: u32,
    /// Random number that identifies the file, whatever path leads to it. Empty in marks of older versions.
    #[serde(default)]
    pub id: String,
    /// Random number of the run that wrote the mark.
    #[serde(default)]
    pub run: String,
    /// Inode of the file; its number on an NFS server.
    #[serde(default)]
    pub inode: u64,
    /// Birth time of the file, ns since 1970; `None` if the file system does not report it.
    #[serde(default)]
    pub born_ns: Option<i128>,
    /// True if Assay created the file (and may remove it), or was only allowed to overwrite it.
    pub created: bool,
    /// Number of bytes with data, from the start.
    pub filled_bytes: u64,
    /// Kinds of data that were written to it since it was filled, sorted; the fill is one of them.
    pub kinds: Vec<String>,
    /// Length when the marker was written, bytes.
    pub length_bytes: u64,
    /// Set while a run may write: the modification time is then that of its last write, which is not recorded.
    pub is_open: bool,
    /// When the marker was written, ns since 1970 by the later of the clocks of this host and of the file system.
    #[serde(default)]
    pub written_ns: i128,
    /// Time after `written_ns` during which the run that opened the file may still write to it, s.
    #[serde(default)]
    pub open_for_s: u64,
    /// Modification time of the file when the marker was written, ns since 1970.
    pub modified_ns: i128,
}

const MARKER_VERSION: u32 = 3;
/// Largest size of a marker, bytes; no real one comes near it.
pub(crate) const MARKER_BYTES_MAX: usize = 4096;
/// Largest difference of equal birth times, ns: some file systems store whole seconds, and fractions only in memory.
const BORN_WITHIN_NS: i128 = 2_000_000_000;

/// The length in a mark that describes no file.
const NO_LENGTH_BYTES: u64 = u64::MAX;

/// Properties of a file on which a mark depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLook {
    /// `st_ino`, or the file's number on its server.
    pub inode: u64,
    /// Birth time, ns since 1970; `None` if it is not reported.
    pub born_ns: Option<i128>,
    /// Length, bytes.
    pub length_bytes: u64,
    /// Modification time, ns since 1970.
    pub modified_ns: i128,
    /// Change time, ns since 1970, which no program can set; `None` if it is not compared.
    pub changed_ns: Option<i128>,
}

impl FileLook {
    /// Returns the present properties of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::of_metadata(&file.metadata()?))
    }

    fn of_metadata(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            born_ns: metadata.created().ok().map(since_1970_ns),
            length_bytes: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
            changed_ns: Some(
                i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()),
            ),
        }
    }
}

fn since_1970_ns(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |ns| -ns),
    }
}

/// The stored mark of a local file, valid or not, to be restored later.
#[derive(Debug)]
pub struct MarkBefore {
    text: Option<Vec<u8>>,
}

impl MarkBefore {
    /// Reads the mark of a file.
    pub fn note(path: &Path, file: &File) -> io::Result<Self> {
        let stored = store::read(path, file, FileLook::of(file)?.inode)?;
        Ok(Self { text: stored.map(|stored| stored.text) })
    }

    /// Restores the mark of the file, or removes it if there was none.
    pub fn put_back(&self, path: &Path, file: &File) -> io::Result<()> {
        match &self.text {
            Some(text) => store::write(path, file, FileLook::of(file)?.inode, text).map(drop),
            None => store::remove(path, file),
        }
    }
}

/// Result of checking the mark of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// The file has no mark.
    None,
    /// The mark describes the file.
    Valid(Marker),
    /// The mark does not describe the file.
    Void(VoidMark),
}

/// Why a mark proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoidMark {
    /// It cannot be read, or another version of Assay wrote it.
    OtherVersion,
    /// It belongs to another file: this one is a copy.
    Copied,
    /// The file was changed after the run that wrote the mark.
    Changed,
    /// Neither the file's owner nor this user wrote it: whoever may create files beside another one's could claim that
    /// for Assay.
    OtherUser,
}

impl Mark {
    /// Returns the marker if it describes its file.
    pub fn valid(self) -> Option<Marker> {
        match self {
            Self::Valid(marker) => Some(marker),
            Self::None | Self::Void(_) => None,
        }
    }

    /// Checks the mark `text` against the properties of a file. `written_ns`: time at which the mark was written, if
    /// known from another source than the mark.
    pub(crate) fn of_text(text: &[u8], look: &FileLook, written_ns: Option<i128>) -> Self {
        match serde_json::from_slice::<Marker>(text) {
            Ok(marker) => match marker.void_for(look, written_ns) {
                None => Self::Valid(marker),
                Some(why) => Self::Void(why),
            },
            Err(_) => Self::Void(VoidMark::OtherVersion),
        }
    }

    /// Checks the mark of a local file. `path` must not end in a link.
    pub fn of(path: &Path, file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let look = FileLook::of_metadata(&metadata);
        let trusted = [metadata.uid(), rustix::process::geteuid().as_raw()];
        Ok(match store::read(path, file, look.inode)? {
            Some(StoredText { text, writer: None }) => Self::of_text(&text, &look, None),
            Some(StoredText { text, writer: Some(writer) }) => {
                Self::of_text(&text, &look, None).written_by(writer, trusted)
            }
            None => Self::None,
        })
    }

    /// The same of a mark in a file of its own, which belongs to user `writer`: one that claims a file for Assay counts
    /// only if root or one of the `trusted` users wrote it.
    pub(crate) fn written_by(self, writer: u32, trusted: [u32; 2]) -> Self {
        match self {
            Self::Valid(marker) if marker.created && writer != 0 && !trusted.contains(&writer) => {
                Self::Void(VoidMark::OtherUser)
            }
            mark => mark,
        }
    }
}

impl Marker {
    /// Returns a marker for an empty file.
    pub fn new(created: bool) -> Self {
        Self {
            version: MARKER_VERSION,
            id: random_id(),
            run: String::new(),
            inode: 0,
            born_ns: None,
            created,
            filled_bytes: 0,
            kinds: Vec::new(),
            length_bytes: 0,
            is_open: true,
            written_ns: 0,
            open_for_s: 0,
            modified_ns: 0,
        }
    }

    /// Returns the marker of a local file, if it has one that still describes it.
    pub fn read(path: &Path, file: &File) -> io::Result<Option<Self>> {
        Ok(Mark::of(path, file)?.valid())
    }

    /// Returns why it does not describe a file with these properties; `None` if it does.
    fn void_for(&self, look: &FileLook, written_ns: Option<i128>) -> Option<VoidMark> {
        let is_born_then = match (self.born_ns, look.born_ns) {
            (Some(noted), Some(born)) => (noted - born).abs() <= BORN_WITHIN_NS,
            _ => true,
        };
        let latest_ns = match self.is_open {
            true => {
                let open_for_ns = i128::from(self.open_for_s) * 1_000_000_000;
                written_ns.unwrap_or(self.written_ns).saturating_add(open_for_ns)
            }
            false => self.modified_ns,
        };
        if self.version != MARKER_VERSION {
            Some(VoidMark::OtherVersion)
        } else if self.inode != look.inode || !is_born_then {
            Some(VoidMark::Copied)
        } else if self.length_bytes != look.length_bytes
            || !(self.modified_ns..=latest_ns.max(self.modified_ns)).contains(&look.modified_ns)
        {
            Some(VoidMark::Changed)
        } else {
            None
        }
    }

    /// Returns the id of a marker, valid or not.
    pub(crate) fn id_of_text(text: &[u8]) -> Option<String> {
        let id = serde_json::from_slice::<Self>(text).ok()?.id;
        // The id comes from a server and becomes part of a lock's name here: accept only what `random_id` generates.
        is_id(&id).then_some(id)
    }

    /// Returns the id of the run that last marked a local file; empty if the file has no mark.
    pub(crate) fn run_of(path: &Path, file: &File) -> io::Result<String> {
        let stored = store::read(path, file, FileLook::of(file)?.inode)?;
        let marker = stored.and_then(|stored| serde_json::from_slice::<Self>(&stored.text).ok());
        Ok(marker.map(|marker| marker.run).unwrap_or_default())
    }

    /// Records the start of a run that may write to the file for this long, s, and gives the run its own id.
    pub fn begin_run(&mut self, open_for_s: u64) {
        if !is_id(&self.id) {
            self.id = random_id();
        }
        self.run = random_id();
        self.open_for_s = open_for_s;
    }

    /// Records the properties of the file, and returns the text of the marker.
    pub(crate) fn seal(&mut self, look: &FileLook, is_open: bool) -> io::Result<Vec<u8>> {
        (self.is_open, self.inode, self.born_ns) = (is_open, look.inode, look.born_ns);
        (self.length_bytes, self.modified_ns) = (look.length_bytes, look.modified_ns);
        self.written_ns = self.written_ns.max(since_1970_ns(SystemTime::now()));
        serde_json::to_vec(self).map_err(io::Error::other)
    }

    /// Writes the marker of a local file: before a run that writes (`is_open`), and after it.
    pub fn write(&mut self, path: &Path, file: &File, is_open: bool) -> io::Result<()> {
        self.written_ns = 0;
        let look = FileLook::of(file)?;
        let marked_ns = store::write(path, file, look.inode, &self.seal(&look, is_open)?)?;
        // The times of the file are from the clock of its file system, which may be ahead of this host's.
        if is_open && marked_ns > self.written_ns {
            self.written_ns = marked_ns;
            store::write(path, file, look.inode, &self.seal(&look, is_open)?)?;
        }
        Ok(())
    }

    /// Writes a mark that no longer describes the local file, because another program has changed it. Neither the mark
    /// of this run nor the one before is left: they could claim what that program wrote.
    pub fn write_void(&mut self, path: &Path, file: &File) -> io::Result<()> {
        let look = FileLook::of(file)?;
        let text = self.seal(&FileLook { length_bytes: NO_LENGTH_BYTES, ..look }, false)?;
        store::write(path, file, look.inode, &text).map(drop)
    }
}

/// Returns true if [`random_id`] could have generated it. Marks of earlier versions have none.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns 128 random bits as text.
pub(crate) fn random_id() -> String {
    let mut bytes = [0; 16];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(16) => format!("{:032x}", u128::from_ne_bytes(bytes)),
        // Without random bytes, time and process distinguish files.
        _ => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{:024x}{:08x}", now.as_nanos(), std::process::id())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use assay_target::file::create;

    fn made(directory: &Path) -> (PathBuf, File) {
        let path = directory.join("t.dat");
        let file = create(&path).unwrap();
        (path, file)
    }

    /// Sets the file's time to `after_s` later than now.
    fn touch(file: &File, after_s: u64) {
        file.set_modified(SystemTime::now() + Duration::from_secs(after_s)).unwrap();
    }

    #[test]
    fn a_marked_file_counts_as_created_by_assay_until_it_is_changed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut file) = made(directory.path());
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::None);
        let mut marker = Marker::new(true);
        marker.kinds.push("unique".into());
        marker.write(&path, &file, false).unwrap();
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Valid(marker));
        std::thread::sleep(Duration::from_millis(20));
        file.write_all(b"somebody else").unwrap();
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Void(VoidMark::Changed));
        assert_eq!(Marker::read(&path, &file).unwrap(), None);
    }

    /// The mark of a killed run stayed open for ever: the next run overwrote whatever was put into the file later, if
    /// its length was unchanged.
    #[test]
    fn an_open_mark_is_valid_for_as_long_as_its_run_can_have_lasted() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        file.set_len(4096).unwrap();
        let mut marker = Marker::new(true);
        marker.begin_run(600);
        marker.write(&path, &file, true).unwrap();
        touch(&file, 500);
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Valid(marker.clone()), "the run that was killed");
        touch(&file, 700);
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Void(VoidMark::Changed), "later than the run");
        touch(&file, 500);
        file.set_len(5000).unwrap();
        touch(&file, 500);
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Void(VoidMark::Changed), "another length");
        file.set_len(4096).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
        assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Void(VoidMark::Changed), "older than the mark");
    }

    /// `cp -a`, `rsync -X` and restored backups copy the mark and the times.
    #[test]
    fn the_mark_of_a_copy_proves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        file.set_len(4096).unwrap();
        for is_open in [false, true] {
            let mut marker = Marker::new(true);
            marker.begin_run(600);
            marker.write(&path, &file, is_open).unwrap();
            let copy = directory.path().join("copy.dat");
            let copied =
                File::options().read(true).write(true).create(true).truncate(true).open(&copy).unwrap();
            copied.set_len(4096).unwrap();
            copied.set_modified(file.metadata().unwrap().modified().unwrap()).unwrap();
            let text = serde_json::to_vec(&marker).unwrap();
            store::write(&copy, &copied, copied.metadata().unwrap().ino(), &text).unwrap();
            assert_eq!(Mark::of(&copy, &copied).unwrap(), Mark::Void(VoidMark::Copied), "{is_open}");
            fs::remove_file(copy).unwrap();
        }
        let look = FileLook::of(&file).unwrap();
        let mut marker = Marker::new(true);
        let text = marker.seal(&look, false).unwrap();
        assert_eq!(Mark::of_text(&text, &look, None), Mark::Valid(marker));
        let reborn = FileLook { born_ns: Some(look.born_ns.unwrap_or(0) + 9_000_000_000), ..look };
        let noted = FileLook { born_ns: Some(look.born_ns.unwrap_or(0)), ..look };
        let text = Marker::new(true).seal(&noted, false).unwrap();
        let judged = Mark::of_text(&text, &reborn, None);
        assert_eq!(judged, Mark::Void(VoidMark::Copied), "a new file that got the number of the old one");
    }

    /// Whoever may create files beside somebody else's put a mark there that claimed that file for Assay: root's next
    /// run wrote over it.
    #[test]
    fn a_mark_that_another_user_put_beside_a_file_proves_nothing() {
        let look = FileLook { inode: 7, born_ns: None, length_bytes: 0, modified_ns: 0, changed_ns: None };
        let (owner, this_user, other) = (1000, 1001, 1002);
        let mark = |created: bool| {
            let mut marker = Marker::new(created);
            let text = marker.seal(&look, false).unwrap();
            (Mark::of_text(&text, &look, None), marker)
        };
        for writer in [0, owner, this_user] {
            let (judged, marker) = mark(true);
            assert_eq!(judged.written_by(writer, [owner, this_user]), Mark::Valid(marker));
        }
        let judged = mark(true).0.written_by(other, [owner, this_user]);
        assert_eq!(judged, Mark::Void(VoidMark::OtherUser));
        let (judged, marker) = mark(false);
        assert_eq!(judged.written_by(other, [owner, this_user]), Mark::Valid(marker), "it claims nothing");
    }

    #[test]
    fn a_void_mark_claims_its_file_in_no_state() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        let mut marker = Marker::new(true);
        marker.begin_run(600);
        for length_bytes in [0, 4096] {
            file.set_len(length_bytes).unwrap();
            marker.write(&path, &file, true).unwrap();
            assert!(Marker::read(&path, &file).unwrap().is_some());
            marker.write_void(&path, &file).unwrap();
            assert_eq!(Mark::of(&path, &file).unwrap(), Mark::Void(VoidMark::Changed));
        }
    }

    #[test]
    fn a_mark_of_another_version_proves_nothing() {
        let look = FileLook { inode: 7, born_ns: None, length_bytes: 0, modified_ns: 0, changed_ns: None };
        let two = br#"{"version":2,"id":"","created":true,"filled_bytes":0,"kinds":[],"length_bytes":0,
            "is_open":false,"open_for_s":0,"modified_ns":0}"#;
        for text in [&two[..], b"", b"{}", b"creating"] {
            assert_eq!(Mark::of_text(text, &look, None), Mark::Void(VoidMark::OtherVersion));
        }
    }
}
