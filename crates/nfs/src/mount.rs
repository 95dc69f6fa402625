//! MOUNT version 3 (RFC 1813, appendix I): what a server exports, and the handle of an export's root.

use crate::nfs3::{HANDLE_BYTES_MAX, Handle};
use crate::rpc::Procedure;
use crate::xdr::{Reader, Writer, XdrError};

/// Program number.
pub(crate) const PROGRAM: u32 = 100_005;
/// Program version.
pub const VERSION: u32 = 3;
/// MNT.
pub(crate) const MNT: Procedure = Procedure { program: PROGRAM, version: VERSION, number: 1 };
/// UMNT.
pub(crate) const UMNT: Procedure = Procedure { program: PROGRAM, version: VERSION, number: 3 };
/// EXPORT.
pub const EXPORT: Procedure = Procedure { program: PROGRAM, version: VERSION, number: 5 };
/// Largest length of paths and names in the protocol, bytes.
const PATH_BYTES_MAX: u32 = 1024;
const NAME_BYTES_MAX: u32 = 255;
/// Number of exports, groups and flavours that are read.
const EXPORTS_MAX: usize = 4096;
const GROUPS_MAX: usize = 4096;
const FLAVORS_MAX: u32 = 64;

/// An export of a server, and the hosts that may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Exported directory.
    pub path: String,
    /// Hosts and groups to which it is exported; empty for everyone.
    pub groups: Vec<String>,
}

/// A mounted export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Handle of its root.
    pub handle: Handle,
    /// Authentication flavors that it accepts (`auth_flavor` numbers; 1 is AUTH_SYS).
    pub flavors: Vec<u32>,
}

/// Returns the arguments of MNT and UMNT.
pub fn directory(path: &str) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(path.as_bytes());
    writer.into_bytes()
}

/// Parses the result of MNT: the handle, or the server's status.
pub fn mounted(results: &[u8]) -> Result<Result<Mounted, u32>, XdrError> {
    let mut reader = Reader::new(results);
    let status = reader.u32("the status of a mount")?;
    if status != 0 {
        return Ok(Err(status));
    }
    let handle = Handle::new(reader.opaque(HANDLE_BYTES_MAX, "a file handle")?)
        .ok_or(XdrError::Value { what: "length of a file handle", value: 0 })?;
    let count = reader.u32("a list of flavours")?;
    if count > FLAVORS_MAX {
        return Err(XdrError::TooLong { what: "a list of flavours", bytes: count, most: FLAVORS_MAX });
    }
    let flavors = (0..count).map(|_| reader.u32("a flavour")).collect::<Result<_, _>>()?;
    reader.end()?;
    Ok(Ok(Mounted { handle, flavors }))
}

/// Parses the result of EXPORT.
pub fn exports(results: &[u8]) -> Result<Vec<Export>, XdrError> {
    let mut reader = Reader::new(results);
    let mut exports = Vec::new();
    while reader.bool("a list of exports")? {
        if exports.len() == EXPORTS_MAX {
            return Err(XdrError::TooLong { what: "a list of exports", bytes: 4097, most: 4096 });
        }
        let path = reader.text(PATH_BYTES_MAX, "the path of an export")?;
        let mut groups = Vec::new();
        while reader.bool("a list of groups")? {
            let group = reader.text(NAME_BYTES_MAX, "the name of a group")?;
            if groups.len() == GROUPS_MAX {
                return Err(XdrError::TooLong { what: "a list of groups", bytes: 4097, most: 4096 });
            }
            groups.push(group);
        }
        exports.push(Export { path, groups });
    }
    reader.end()?;
    Ok(exports)
}

/// Returns a status of MNT in words.
pub fn status_words(status: u32) -> &'static str {
    match status {
        1 => "not the owner (MNT3ERR_PERM)",
        2 => "no such export or directory (MNT3ERR_NOENT)",
        5 => "I/O error on the server (MNT3ERR_IO)",
        13 => "permission denied: no such export, or this host is not among its clients (MNT3ERR_ACCES)",
        20 => "not a directory (MNT3ERR_NOTDIR)",
        22 => "invalid argument (MNT3ERR_INVAL)",
        63 => "the name is too long (MNT3ERR_NAMETOOLONG)",
        10_004 => "not supported (MNT3ERR_NOTSUPP)",
        10_006 => "a failure on the server (MNT3ERR_SERVERFAULT)",
        _ => "a status that RFC 1813 does not define",
    }
}

/// MNT3ERR_ACCES.
pub const ACCES: u32 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_with_their_groups() {
        let mut writer = Writer::new();
        writer.u32(1).opaque(b"/data").u32(1).opaque(b"10.0.0.0/24").u32(1).opaque(b"nas").u32(0);
        writer.u32(1).opaque(b"/pub").u32(0).u32(0);
        let read = exports(writer.bytes()).unwrap();
        assert_eq!(
            read[0],
            Export { path: "/data".into(), groups: vec!["10.0.0.0/24".into(), "nas".into()] }
        );
        assert_eq!(read[1], Export { path: "/pub".into(), groups: vec![] });
        for length in 0..writer.bytes().len() {
            assert!(exports(&writer.bytes()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn an_endless_list_is_refused() {
        let mut writer = Writer::new();
        for _ in 0..=EXPORTS_MAX {
            writer.u32(1).opaque(b"/x").u32(0);
        }
        assert!(matches!(exports(writer.bytes()), Err(XdrError::TooLong { .. })));
    }

    #[test]
    fn a_mount_gives_a_handle_or_a_reason() {
        let mut writer = Writer::new();
        writer.u32(0).opaque(&[9; 20]).u32(2).u32(1).u32(390_003);
        let read = mounted(writer.bytes()).unwrap().unwrap();
        assert_eq!((read.handle.bytes(), &read.flavors[..]), (&[9; 20][..], &[1, 390_003][..]));
        assert_eq!(mounted(&[0, 0, 0, 13]), Ok(Err(ACCES)));
        assert!(status_words(ACCES).contains("not among its clients"));
        assert_eq!(directory("/a"), [0, 0, 0, 2, b'/', b'a', 0, 0]);
        let mut empty = Writer::new();
        empty.u32(0).u32(0).u32(0);
        assert!(mounted(empty.bytes()).is_err(), "an empty handle");
    }
}
