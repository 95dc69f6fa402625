//! The files that SQLite and Assay keep beside a store, before SQLite sees them: it removes, empties or overwrites
//! whatever has one of their names.
//!
//! They are recognised by what is in them, and those of an empty file are not the store's: SQLite removes the log and
//! the journal of a database without a page, and with them the last transactions of a database that was cut or deleted.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::libc;

use crate::error::StoreError;

/// What a file beside a store is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    Log,
    LogIndex,
    Journal,
    LiveRuns,
}

const NEIGHBOURS: [Neighbour; 4] =
    [Neighbour::Log, Neighbour::LogIndex, Neighbour::Journal, Neighbour::LiveRuns];

/// The log begins with one of two numbers, big-endian; the last bit is the byte order of its checksums.
const LOG_MAGIC: [[u8; 4]; 2] = [[0x37, 0x7F, 0x06, 0x82], [0x37, 0x7F, 0x06, 0x83]];
/// SQLite grows the index of the log by pages of this size; the first user of a store cuts it to three bytes.
const INDEX_PAGE_BYTES: u64 = 4096;
const INDEX_CUT_BYTES: u64 = 3;
/// A journal begins with this and the number of its pages, or with zeros until both are known.
const JOURNAL_MAGIC: [u8; 8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7];
const JOURNAL_UNSYNCED: [u8; 12] = [0; 12];
/// Length of a journal's header, and where in it, big-endian: the pages that the database had, the sizes of a sector
/// and of a page, bytes.
const JOURNAL_HEADER_BYTES: usize = 28;
const JOURNAL_PAGES_AT: usize = 16;
const JOURNAL_SIZES_AT: [usize; 2] = [20, 24];
/// The longest name of a file that Linux takes, and the longest path that SQLite does, bytes.
const NAME_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 512;
/// Smallest and largest sector and page of SQLite, bytes.
const SIZES: std::ops::RangeInclusive<u32> = 32..=65_536;

impl Neighbour {
    fn end(self) -> &'static str {
        match self {
            Self::Log => "-wal",
            Self::LogIndex => "-shm",
            Self::Journal => "-journal",
            Self::LiveRuns => "-live",
        }
    }

    /// Whether a file of that length, not 0, can be what its name says.
    fn is_itself(self, file: &Path, bytes: u64) -> io::Result<bool> {
        Ok(match self {
            Self::Log => {
                let head = head(file)?;
                LOG_MAGIC.iter().any(|magic| head.starts_with(magic))
            }
            // It is not opened: SQLite's locks of this process are on it, and closing a descriptor would drop them.
            Self::LogIndex => bytes == INDEX_CUT_BYTES || bytes.is_multiple_of(INDEX_PAGE_BYTES),
            Self::Journal => journal_pages(&head(file)?).is_some(),
            // Runs only lock bytes of it.
            Self::LiveRuns => false,
        })
    }

    /// Whether a file of that length, not 0, may lie beside an empty store: only the journal of the transaction that
    /// creates it, which takes back nothing.
    fn belongs_to_nothing(self, file: &Path) -> io::Result<bool> {
        Ok(self == Self::Journal && journal_pages(&head(file)?) == Some(0))
    }
}

/// Refuses a store with a pipe, a link, a device or a folder under one of the names, or with another program's file:
/// opening a pipe waits for ever, and SQLite would change or remove the file. A store that is a link to nothing is
/// refused too: SQLite would look for these files where the link leads, and they cannot be found before the store is.
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    let is_missing = std::fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_missing && path.is_symlink() {
        let why = "it is a symbolic link to nothing".to_owned();
        return Err(StoreError::NotAllowed { path: path.into(), why });
    }
    if let Some(why) = too_long(path) {
        return Err(StoreError::NotAllowed { path: path.into(), why });
    }
    for neighbour in NEIGHBOURS {
        let file = beside(path, neighbour.end());
        let Ok(metadata) = std::fs::symlink_metadata(&file) else { continue };
        if !metadata.is_file() {
            return Err(refused(path, &file, "is not a regular file; move that away"));
        }
        if metadata.len() > 0 && !unless_gone(path, &file, neighbour.is_itself(&file, metadata.len()))? {
            return Err(refused(
                path,
                &file,
                "was written by another program, and SQLite would change or remove it; choose another name for the \
                 store, or move that file away",
            ));
        }
    }
    Ok(())
}

/// Returns why SQLite would refuse the path, where it is too long for the names beside it: SQLite says so only once
/// the file has been created.
fn too_long(path: &Path) -> Option<String> {
    let ends = NEIGHBOURS.map(|neighbour| neighbour.end().len()).into_iter().max()?;
    let file = path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default();
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name)
    });
    let (name, all) = (file.file_name()?.len(), file.as_os_str().len());
    let (what, bytes, most) = match (name + ends > NAME_BYTES_MAX, all + ends > PATH_BYTES_MAX) {
        (true, _) => ("name", name, NAME_BYTES_MAX - ends),
        (false, true) => ("path", all, PATH_BYTES_MAX - ends),
        (false, false) => return None,
    };
    Some(format!("its {what} has {bytes} bytes, and SQLite takes at most {most}"))
}

/// Refuses a store that does not exist or is empty, if a log or a journal of another database lies beside it.
pub(crate) fn check_of_empty(path: &Path) -> Result<(), StoreError> {
    let found = NEIGHBOURS.into_iter().find_map(|neighbour| {
        let file = beside(path, neighbour.end());
        let bytes = std::fs::symlink_metadata(&file).map_or(0, |metadata| metadata.len());
        (bytes > 0 && !neighbour.belongs_to_nothing(&file).unwrap_or(false)).then_some(file)
    });
    // Another process may have created the store meanwhile.
    match found.filter(|file| file.exists() && is_empty_or_missing(path)) {
        None => Ok(()),
        Some(file) => Err(refused(
            path,
            &file,
            "belongs to a database that is no longer there, and may hold its last transactions, which SQLite would \
             remove; choose another name for the store, or move that file away",
        )),
    }
}

/// Returns the path of a file beside the store, as SQLite names it: links of the store's own name are followed.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(end);
    name.into()
}

/// Whether there is no file of that name, or one without a byte.
pub(crate) fn is_empty_or_missing(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |metadata| metadata.is_file() && metadata.len() == 0)
}

/// Whether the journal of the transaction that creates the store lies beside it: nothing of it counts yet.
pub(crate) fn is_being_created(path: &Path) -> bool {
    let journal = beside(path, Neighbour::Journal.end());
    head(&journal).is_ok_and(|head| journal_pages(&head) == Some(0))
}

/// A file that another process has removed meanwhile is of no concern. One that cannot be read is not called another
/// program's: its disk may fail.
fn unless_gone(path: &Path, file: &Path, result: io::Result<bool>) -> Result<bool, StoreError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => {
            let source = io::Error::new(error.kind(), format!("reading {}: {error}", file.display()));
            Err(StoreError::File { path: path.into(), source })
        }
        Ok(is_itself) => Ok(is_itself),
    }
}

fn refused(path: &Path, file: &Path, why: &str) -> StoreError {
    StoreError::NotAllowed { path: path.into(), why: format!("{} next to it {why}", file.display()) }
}

/// Returns the first bytes of a file; a link or a pipe that has taken its place is neither followed nor waited for.
fn head(file: &Path) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(file)?;
    let mut head = vec![0; JOURNAL_HEADER_BYTES];
    let read = file.read_at(&mut head, 0)?;
    head.truncate(read);
    Ok(head)
}

/// Returns the pages that the database of a journal had when the transaction began; `None` if it is no journal.
fn journal_pages(head: &[u8]) -> Option<u32> {
    let number = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let is_size = |size: u32| size.is_power_of_two() && SIZES.contains(&size);
    let begins = head.starts_with(&JOURNAL_MAGIC) || head.starts_with(&JOURNAL_UNSYNCED);
    let has_sizes = JOURNAL_SIZES_AT.iter().all(|at| number(*at).is_some_and(is_size));
    (begins && has_sizes).then(|| number(JOURNAL_PAGES_AT)).flatten()
}
