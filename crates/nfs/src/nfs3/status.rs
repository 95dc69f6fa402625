//! Every status of NFSv3, in words and with the reaction it requires.

use std::fmt;

/// A status other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NfsStatus(pub u32);

impl NfsStatus {
    /// Not the owner.
    pub const PERM: Self = Self(1);
    /// No such name.
    pub const NOENT: Self = Self(2);
    /// Permission denied.
    pub const ACCES: Self = Self(13);
    /// The name exists.
    pub const EXIST: Self = Self(17);
    /// No space.
    pub const NOSPC: Self = Self(28);
    /// Read-only.
    pub const ROFS: Self = Self(30);
    /// The handle is no longer valid.
    pub const STALE: Self = Self(70);
    /// The server requests a later retry.
    pub const JUKEBOX: Self = Self(10_008);

    /// Returns its name in the standard, and its meaning.
    pub fn words(self) -> (&'static str, &'static str) {
        match self.0 {
            1 => ("NFS3ERR_PERM", "operation not permitted: only for the owner or root"),
            2 => ("NFS3ERR_NOENT", "no such file or directory"),
            5 => ("NFS3ERR_IO", "an I/O error on the server"),
            6 => ("NFS3ERR_NXIO", "no such device on the server"),
            13 => (
                "NFS3ERR_ACCES",
                "permission denied for this user (see uid= and gid=, and squashing on the export)",
            ),
            17 => ("NFS3ERR_EXIST", "the name exists"),
            18 => ("NFS3ERR_XDEV", "it crosses file systems"),
            19 => ("NFS3ERR_NODEV", "no such device"),
            20 => ("NFS3ERR_NOTDIR", "not a directory"),
            21 => ("NFS3ERR_ISDIR", "a directory"),
            22 => ("NFS3ERR_INVAL", "invalid argument"),
            27 => ("NFS3ERR_FBIG", "the file is too large for the server"),
            28 => ("NFS3ERR_NOSPC", "no space left on the server"),
            30 => ("NFS3ERR_ROFS", "the export is read-only"),
            31 => ("NFS3ERR_MLINK", "too many links"),
            63 => ("NFS3ERR_NAMETOOLONG", "the name is too long"),
            66 => ("NFS3ERR_NOTEMPTY", "the directory is not empty"),
            69 => ("NFS3ERR_DQUOT", "the quota on the server is exhausted"),
            70 => ("NFS3ERR_STALE", "the file was removed on the server, or its export changed"),
            71 => ("NFS3ERR_REMOTE", "too many levels of remote files"),
            10_001 => ("NFS3ERR_BADHANDLE", "the server does not know this handle"),
            10_002 => ("NFS3ERR_NOT_SYNC", "the file changed in the meantime"),
            10_003 => ("NFS3ERR_BAD_COOKIE", "stale directory cookie"),
            10_004 => ("NFS3ERR_NOTSUPP", "the server does not support this"),
            10_005 => ("NFS3ERR_TOOSMALL", "the request is too small"),
            10_006 => ("NFS3ERR_SERVERFAULT", "unspecified server error"),
            10_007 => ("NFS3ERR_BADTYPE", "the server does not support this type of file"),
            10_008 => ("NFS3ERR_JUKEBOX", "the server asks to retry later"),
            _ => ("a status", "which RFC 1813 does not define"),
        }
    }
}

impl fmt::Display for NfsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, meaning) = self.words();
        match name.starts_with("NFS3ERR") {
            true => write!(f, "{meaning} ({name})"),
            false => write!(f, "status {}, {meaning}", self.0),
        }
    }
}

impl std::error::Error for NfsStatus {}

/// Returns the status with that number.
pub fn status(number: u32) -> NfsStatus {
    NfsStatus(number)
}
