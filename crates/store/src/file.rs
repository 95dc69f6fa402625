//! The file of a store, as this process holds it.
//!
//! We open it before SQLite does, and check the descriptor: SQLite takes a block device for an empty database. The
//! descriptor is then kept until the process ends. POSIX locks belong to a process and a file, and the kernel drops all
//! of them when *any* descriptor of that file is closed, so that closing ours would leave SQLite without its locks: the
//! next process that closed the store would take itself for the last one, and remove the log that a run appends to.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use nix::fcntl::{AT_FDCWD, FcntlArg, fcntl};
use nix::libc;
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};

use crate::address::StoreAddress;
use crate::error::StoreError;
use crate::neighbours::{self, beside};
use crate::schema::APPLICATION_ID;

/// How every SQLite database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes of SQLite's header, and where in it the id of the program is, big-endian.
const HEADER_BYTES: usize = 100;
const APPLICATION_ID_AT: usize = 68;
/// Rights of the group and of others: a store has addresses and names that are nobody else's concern.
const OTHERS: u32 = 0o077;
const OWNER_ONLY: u32 = 0o600;

/// Which file it is, whatever its name. A file that was opened as a store is held until the process ends, so that no
/// other one gets its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Returns the file that has the name of a store now; `None` for a store in a server, and where there is none.
    ///
    /// # Errors
    /// Where that cannot be found out.
    pub fn now(store: &StoreAddress) -> io::Result<Option<Self>> {
        match store.file().map(std::fs::metadata).transpose() {
            Ok(found) => Ok(found.as_ref().map(Self::of)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the log beside a store; `None` where it is empty or missing.
    #[must_use]
    pub fn log(store: &StoreAddress) -> Option<Self> {
        let log = std::fs::symlink_metadata(beside(store.file()?, "-wal")).ok()?;
        (log.len() > 0).then(|| Self::of(&log))
    }

    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Returns the file at a path, links followed; `None` if there is none.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// Files that are held until the process ends.
static HELD: Mutex<Vec<(FileId, File)>> = Mutex::new(Vec::new());

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is created where there is none.
    Write,
    /// It must exist, and nothing in it or beside it is changed.
    Read,
}

/// A file that may be a store, held open.
pub(crate) struct Held {
    pub(crate) id: FileId,
    pub(crate) whose: Whose,
}

/// Whose file it is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It is empty, or a store of Assay.
    Ours,
    /// A database without the id of a program.
    Unknown,
}

/// Opens the file at `path` for good, and checks that it is a database of Assay or empty, or one that nobody claims.
pub(crate) fn hold(path: &Path, access: Access) -> Result<Held, StoreError> {
    neighbours::check(path)?;
    // Before it is created, so that a refusal leaves nothing behind.
    if neighbours::is_empty_or_missing(path) {
        neighbours::check_of_empty(path)?;
    }
    let id = open_for_good(path, access)?;
    let held = held();
    let (_, file) =
        held.iter().find(|(known, _)| *known == id).expect("it was put there, and nothing is removed");
    let whose = whose(path, file)?;
    if neighbours::is_empty_or_missing(path) {
        neighbours::check_of_empty(path)?;
    }
    Ok(Held { id, whose })
}

fn open_for_good(path: &Path, access: Access) -> Result<FileId, StoreError> {
    let not_a_file = || StoreError::NotAllowed {
        path: path.into(),
        why: "it is not a regular file, and nothing was written to it".to_owned(),
    };
    if let Ok(metadata) = std::fs::metadata(path) {
        if !metadata.is_file() {
            return Err(not_a_file());
        }
        let id = FileId::of(&metadata);
        if held().iter().any(|(known, _)| *known == id) {
            return Ok(id);
        }
    }
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    if access == Access::Write {
        options.write(true).create(true).truncate(false).mode(OWNER_ONLY);
    }
    let failed = |source| StoreError::File { path: path.into(), source };
    let file = options.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    // What the name stood for may have changed since the first look.
    if !metadata.is_file() {
        return Err(not_a_file());
    }
    let id = FileId::of(&metadata);
    held().push((id, file));
    Ok(id)
}

/// Byte of the index of a log on which each program that has the store open holds a lock (SQLite's "dead man switch").
const IN_USE_AT: i64 = 128;

/// Whether another program has the log beside a store open: locks of this one do not count. What cannot be found out
/// counts as such.
pub(crate) fn is_used_elsewhere(path: &Path) -> bool {
    let index = beside(path, "-shm");
    if !index.exists() {
        return false;
    }
    // It is held for good like a store: to close it would drop the locks of this program.
    let Ok(id) = open_for_good(&index, Access::Read) else { return true };
    let held = held();
    let Some((_, file)) = held.iter().find(|(known, _)| *known == id) else { return true };
    let short = |constant: libc::c_int| i16::try_from(constant).expect("the system's constants are small");
    let (l_type, l_whence) = (short(libc::F_WRLCK), short(libc::SEEK_SET));
    let mut lock = libc::flock { l_type, l_whence, l_start: IN_USE_AT, l_len: 1, l_pid: 0 };
    let asked = fcntl(file, FcntlArg::F_GETLK(&mut lock));
    asked.is_err() || i32::from(lock.l_type) != libc::F_UNLCK
}

fn held() -> std::sync::MutexGuard<'static, Vec<(FileId, File)>> {
    // A panic elsewhere leaves a list that is as good as before.
    HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn whose(path: &Path, file: &File) -> Result<Whose, StoreError> {
    let mut head = [0; HEADER_BYTES];
    let mut filled = 0;
    while filled < HEADER_BYTES {
        let read = file.read_at(&mut head[filled..], filled as u64);
        match read.map_err(|source| StoreError::File { path: path.into(), source })? {
            0 => break,
            bytes => filled += bytes,
        }
    }
    let head = &head[..filled];
    if head.is_empty() {
        return Ok(Whose::Ours);
    }
    if !head.starts_with(MAGIC) {
        let why = "it is not a database, and nothing was written to it".to_owned();
        return Err(StoreError::NotAllowed { path: path.into(), why });
    }
    let id = head
        .get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4)
        .map(|id| id.iter().fold(0, |id, byte| id << 8 | i64::from(*byte)));
    match id {
        Some(APPLICATION_ID) => Ok(Whose::Ours),
        // A database without an id may be empty; the schema tells.
        Some(0) | None => Ok(Whose::Unknown),
        Some(_) => Err(StoreError::Foreign { path: path.into() }),
    }
}

/// Takes the rights of the group and of others from a store and the files beside it. Returns the rights that the store
/// had, if there was something to take.
///
/// The store's own name may be a link, as it was given; a link under one of the names beside it is somebody's trap.
pub(crate) fn tighten(path: &Path) -> Option<u32> {
    let files = [beside(path, ""), beside(path, "-wal"), beside(path, "-shm"), beside(path, "-live")];
    let had = files.map(|file| tighten_one(&file));
    had.into_iter().flatten().next()
}

fn tighten_one(path: &Path) -> Option<u32> {
    let metadata = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return None;
    }
    let tight = Mode::from_bits_truncate(mode & !OTHERS);
    // By name, because closing a descriptor would drop SQLite's locks. Another user's store stays as that user wants
    // it.
    fchmodat(AT_FDCWD, path, tight, FchmodatFlags::NoFollowSymlink).ok().map(|()| mode)
}

/// The files of a store as they were when they were opened: who deletes or replaces one of them takes the events that
/// come later with it, and SQLite does not notice.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    files: Vec<(PathBuf, FileId)>,
}

impl OpenFiles {
    /// Notes the files of a store whose log is open.
    pub(crate) fn note(path: &Path, id: FileId) -> Self {
        let mut files = vec![(path.to_owned(), id)];
        files.extend(["-wal", "-shm"].iter().filter_map(|end| {
            let file = beside(path, end);
            FileId::at(&file).map(|id| (file, id))
        }));
        Self { files }
    }

    /// Returns an error if one of the files is gone, or another one has its name.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        for (path, id) in &self.files {
            let why = match FileId::at(path) {
                Some(found) if found == *id => continue,
                Some(_) => "was replaced by another file",
                None => "was deleted or moved",
            };
            return Err(StoreError::Gone { path: path.clone(), why });
        }
        Ok(())
    }
}
