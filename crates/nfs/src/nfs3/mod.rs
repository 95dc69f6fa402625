//! NFS version 3 (RFC 1813): types, arguments and results of the procedures that a test bench needs. No I/O.

mod calls;
mod results;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use calls::{CALL_BYTES_MAX, directory_name, handle_only};
pub use calls::{Template, access, commit, create, read, set_size, write};
pub use results::{
    ReadHead, accessed, attributes, committed, created, fsinfo, fsstat, looked_up, path_limits, read_head,
    removed, size_set, written,
};
pub use status::{NfsStatus, status};

use std::fmt;

use crate::rpc::Procedure;

/// Program number.
pub(crate) const PROGRAM: u32 = 100_003;
/// Program version.
pub const VERSION: u32 = 3;
/// Default port of NFS.
pub const PORT: u16 = 2049;
/// Longest file handle, bytes.
pub(crate) const HANDLE_BYTES_MAX: u32 = 64;

/// Procedures of the program.
pub mod procedure {
    use super::{PROGRAM, Procedure, VERSION};

    const fn of(number: u32) -> Procedure {
        Procedure { program: PROGRAM, version: VERSION, number }
    }
    /// Does nothing: a ping.
    pub const NULL: Procedure = of(0);
    /// Attributes of a file.
    pub(crate) const GETATTR: Procedure = of(1);
    /// Changes attributes.
    pub(crate) const SETATTR: Procedure = of(2);
    /// Looks up a name in a directory.
    pub(crate) const LOOKUP: Procedure = of(3);
    /// Access rights of the caller.
    pub const ACCESS: Procedure = of(4);
    /// Reads from a file.
    pub const READ: Procedure = of(6);
    /// Writes to a file.
    pub const WRITE: Procedure = of(7);
    /// Creates a file.
    pub const CREATE: Procedure = of(8);
    /// Removes a file.
    pub(crate) const REMOVE: Procedure = of(12);
    /// Space of a file system.
    pub(crate) const FSSTAT: Procedure = of(18);
    /// Limits of a server.
    pub(crate) const FSINFO: Procedure = of(19);
    /// Limits of names.
    pub(crate) const PATHCONF: Procedure = of(20);
    /// Makes unstable writes durable.
    pub const COMMIT: Procedure = of(21);
}

/// A server's name for a file. In [1, 64] bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    bytes: [u8; HANDLE_BYTES_MAX as usize],
    length: u8,
}

impl Handle {
    /// Returns a handle of these bytes; `None` if there are too few or too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let length = u8::try_from(bytes.len()).ok()?;
        let mut all = [0; HANDLE_BYTES_MAX as usize];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (length > 0).then_some(Self { bytes: all, length })
    }

    /// Returns the bytes of the handle.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, a pipe or a socket.
    Special,
}

/// Attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Type.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length, bytes.
    pub size_bytes: u64,
    /// Allocated space, bytes.
    pub used_bytes: u64,
    /// Identifier of its file system.
    pub fsid: u64,
    /// Inode number.
    pub fileid: u64,
    /// Time of the last modification of the content, ns since 1970.
    pub modified_ns: i128,
    /// Time of the last change of content or attributes, ns since 1970. No call can set it.
    pub changed_ns: i128,
}

/// Durability of an answered write, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stable {
    /// The server may hold it in memory until a COMMIT.
    Unstable,
    /// Data, and the metadata needed to read it, are on stable storage.
    DataSync,
    /// Data and all attributes are on stable storage.
    FileSync,
}

/// Changes when a server may have lost unstable writes.
pub type Verifier = [u8; 8];

/// Result of a WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of bytes accepted.
    pub bytes: u32,
    /// Durability of these bytes.
    pub stable: Stable,
    /// The server's verifier.
    pub verifier: Verifier,
}

/// Limits of a server, all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsInfo {
    /// Largest read.
    pub read_max: u32,
    /// Preferred read.
    pub read_preferred: u32,
    /// Reads should be multiples of this.
    pub read_multiple: u32,
    /// Largest write.
    pub write_max: u32,
    /// Preferred write.
    pub write_preferred: u32,
    /// Writes should be multiples of this.
    pub write_multiple: u32,
    /// Largest file.
    pub file_max: u64,
}

/// Space of a file system, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsStat {
    /// Size.
    pub total_bytes: u64,
    /// Free.
    pub free_bytes: u64,
    /// Free for the caller.
    pub available_bytes: u64,
}

/// Limits of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLimits {
    /// Longest name, bytes.
    pub name_bytes_max: u32,
    /// True if a name that is too long is refused instead of truncated.
    pub no_truncation: bool,
}

/// Access rights of a caller, in the encoding of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights(pub u32);

impl Rights {
    /// Every right.
    pub const ALL: Self = Self(0x3f);

    /// Returns true if the caller may read data or list a directory.
    pub fn read(self) -> bool {
        self.0 & 0x01 != 0
    }

    /// Returns true if the caller may look up names.
    pub fn lookup(self) -> bool {
        self.0 & 0x02 != 0
    }

    /// Returns true if the caller may change existing data.
    pub fn modify(self) -> bool {
        self.0 & 0x04 != 0
    }

    /// Returns true if the caller may write new data or add names.
    pub fn extend(self) -> bool {
        self.0 & 0x08 != 0
    }

    /// Returns true if the caller may remove names.
    pub fn delete(self) -> bool {
        self.0 & 0x10 != 0
    }
}
