//! Connections to the file of a store: to write and to read, and why one is refused.

use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::AccessFlags;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::file::{self, Access, FileId, Held, Whose};
use crate::neighbours::beside;
use crate::{schema, strangers};

/// How long one process waits for another's write. Writes take milliseconds; a stalled disk may take seconds.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Page of a new file, bytes. An interval of a LUN and what the host did in that second take 2.5 and 0.65 KB: of pages
/// of 4 and of 8 KiB, a quarter would stay empty.
const PAGE_BYTES: i64 = 16_384;

/// What a connection keeps of the file, KiB. Digests of the runs of one target lie far apart: with the 2 MiB of SQLite,
/// a page of twelve targets with 10,000 runs reads each piece of the file again for each target.
const CACHE_KIB: i64 = 24 << 10;

/// Opens and prepares a connection of its own. Returns it with the file that it has open.
pub(crate) fn connect(path: &Path) -> Result<(Connection, FileId), StoreError> {
    let Held { id, whose } = file::hold(path, Access::Write)?;
    if whose == Whose::Unknown {
        check_unknown(path)?;
    }
    let open = |source| StoreError::opening(path, source);
    let mut connection = open_file(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(open)?;
    check_same(path, id)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(open)?;
    // Without effect on a file that has pages.
    connection.pragma_update(None, "page_size", PAGE_BYTES).map_err(open)?;
    // A newer or foreign file is refused before anything in it is changed, the journal mode included.
    strangers::check(&connection, path)?;
    schema::migrate(&mut connection, path)?;
    use_wal(&connection).map_err(open)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(open)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(open)?;
    keep_pages(&connection).map_err(open)?;
    check_same(path, id)?;
    Ok((connection, id))
}

/// Opens exactly the file that was checked. Names that mean something else to SQLite (`file:/dev/sdX` is a URI that it
/// follows, `:memory:` is no file) are plain names as absolute paths.
fn open_file(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Connection::open_with_flags(absolute, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Refuses a path that leads to another file by now than the one that is held.
fn check_same(path: &Path, id: FileId) -> Result<(), StoreError> {
    match FileId::at(path) {
        Some(found) if found == id => Ok(()),
        _ => Err(StoreError::Gone { path: path.into(), why: "was replaced by another file" }),
    }
}

/// Refuses another program's database that carries no id, without changing anything: SQLite itself moves the log of a
/// database into it, or takes back a transaction that was cut off, as soon as it reads the first table.
fn check_unknown(path: &Path) -> Result<(), StoreError> {
    let foreign = || StoreError::Foreign { path: path.into() };
    let has = |end: &str| std::fs::metadata(beside(path, end)).is_ok_and(|file| file.len() > 0);
    if has("-wal") || has("-journal") {
        return Err(foreign());
    }
    let connection = open_uri(path, "immutable=1").map_err(|source| StoreError::opening(path, source))?;
    match schema::is_empty(&connection).map_err(|source| StoreError::opening(path, source))? {
        true => Ok(()),
        false => Err(foreign()),
    }
}

/// Opens a connection that changes nothing, in a mode of SQLite's URIs.
pub(crate) fn connect_to_read(path: &Path, mode: &str) -> Result<Connection, StoreError> {
    file::hold(path, Access::Read)?;
    let open = |source| StoreError::opening(path, source);
    let connection = open_uri(path, mode).map_err(open)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(open)?;
    strangers::check(&connection, path)?;
    schema::check(&connection, path)?;
    keep_pages(&connection).map_err(open)?;
    Ok(connection)
}

fn keep_pages(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -CACHE_KIB)
}

fn open_uri(path: &Path, mode: &str) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{}?{mode}", uri_path(path)), flags)
}

/// Returns a path as it stands in a URI.
fn uri_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let bytes = absolute.as_os_str().as_bytes().iter();
    bytes
        .map(|byte| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns the error where this user lacks a permission, which SQLite's own message does not say.
pub(crate) fn not_allowed(path: &Path) -> Option<StoreError> {
    let refused = |of: &Path, flags| nix::unistd::access(of, flags).err();
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The journal lies beside the file, and writing needs it too.
    let (what, errno) = match (refused(path, AccessFlags::W_OK), refused(folder, AccessFlags::W_OK)) {
        (_, Some(Errno::EROFS)) => {
            let why = "its file system is mounted read-only".to_owned();
            return Some(StoreError::NotAllowed { path: path.into(), why });
        }
        (Some(errno), _) if path.exists() => ("write to the file".to_owned(), errno),
        (_, Some(errno)) if folder.exists() => (format!("create files in {}", folder.display()), errno),
        _ => return None,
    };
    let reason = if errno == Errno::EACCES { "permission denied" } else { errno.desc() };
    let why = format!("{reason}: this user cannot {what}");
    Some(StoreError::NotAllowed { path: path.into(), why })
}

/// Sets the journal mode, which is kept in the file. Changing it needs the file alone for a moment and does not wait
/// for it, so that two processes that create a store at once must try again.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    const ATTEMPTS: u32 = 200;
    for attempt in 1.. {
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if mode == "wal" {
            break;
        }
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && attempt < ATTEMPTS => {
                std::thread::sleep(Duration::from_millis(10))
            }
            changed => return changed,
        }
    }
    Ok(())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
