//! Results: each function takes the bytes that follow the head of a reply. The outer error is a malformed answer, the
//! inner one the server's status.

use super::{
    Attributes, FileKind, FsInfo, FsStat, HANDLE_BYTES_MAX, Handle, NfsStatus, PathLimits, Rights, Stable,
    Verifier, Written, status,
};
use crate::xdr::{Reader, XdrError};

type Answer<T> = Result<Result<T, NfsStatus>, XdrError>;

const ATTRIBUTES_BYTES: usize = 84;

/// Position and properties of the data of a READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead {
    /// Number of bytes of data.
    pub bytes: u32,
    /// True if the file ends with them.
    pub is_end: bool,
    /// Start of the data, bytes from the start of the results.
    pub data_at: usize,
}

/// Parses the status; anything after an error status is not read.
fn begin<'m>(results: &'m [u8]) -> Result<Result<Reader<'m>, NfsStatus>, XdrError> {
    let mut reader = Reader::new(results);
    Ok(match reader.u32("a status")? {
        0 => Ok(reader),
        other => Err(status(other)),
    })
}

fn whole<T>(results: &[u8], read: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>) -> Answer<T> {
    let mut reader = match begin(results)? {
        Ok(reader) => reader,
        Err(status) => return Ok(Err(status)),
    };
    let value = read(&mut reader)?;
    reader.end()?;
    Ok(Ok(value))
}

/// Reads results behind which anything may follow.
fn start_of<T>(results: &[u8], read: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>) -> Answer<T> {
    match begin(results)? {
        Ok(mut reader) => Ok(Ok(read(&mut reader)?)),
        Err(status) => Ok(Err(status)),
    }
}

fn read_attributes(reader: &mut Reader<'_>) -> Result<Attributes, XdrError> {
    let kind = match reader.u32("attributes")? {
        1 => FileKind::Regular,
        2 => FileKind::Directory,
        5 => FileKind::Link,
        3 | 4 | 6 | 7 => FileKind::Special,
        value => return Err(XdrError::Value { what: "type of a file", value }),
    };
    let mut word = || reader.u32("attributes");
    let (mode, _links, uid, gid) = (word()?, word()?, word()?, word()?);
    let (size_bytes, used_bytes) = (reader.u64("attributes")?, reader.u64("attributes")?);
    reader.fixed(8, "attributes")?;
    let (fsid, fileid) = (reader.u64("attributes")?, reader.u64("attributes")?);
    reader.fixed(8, "attributes")?;
    let mut time = || -> Result<i128, XdrError> {
        let (seconds, nanos) = (reader.u32("attributes")?, reader.u32("attributes")?);
        Ok(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
    };
    let (modified_ns, changed_ns) = (time()?, time()?);
    Ok(Attributes { kind, mode, uid, gid, size_bytes, used_bytes, fsid, fileid, modified_ns, changed_ns })
}

fn post_op(reader: &mut Reader<'_>) -> Result<Option<Attributes>, XdrError> {
    if reader.bool("attributes")? { read_attributes(reader).map(Some) } else { Ok(None) }
}

/// Skips the attributes before and after a change, which are not used.
fn skip_change(reader: &mut Reader<'_>) -> Result<(), XdrError> {
    if reader.bool("attributes")? {
        reader.fixed(24, "attributes")?;
    }
    skip_post_op(reader)
}

fn skip_post_op(reader: &mut Reader<'_>) -> Result<(), XdrError> {
    if reader.bool("attributes")? {
        reader.fixed(ATTRIBUTES_BYTES, "attributes")?;
    }
    Ok(())
}

fn read_handle(reader: &mut Reader<'_>) -> Result<Handle, XdrError> {
    Handle::new(reader.opaque(HANDLE_BYTES_MAX, "a file handle")?)
        .ok_or(XdrError::Value { what: "length of a file handle", value: 0 })
}

/// Parses the results of GETATTR.
pub fn attributes(results: &[u8]) -> Answer<Attributes> {
    whole(results, read_attributes)
}

/// Parses the results of SETATTR.
pub fn size_set(results: &[u8]) -> Answer<()> {
    whole(results, skip_change)
}

/// Parses the results of LOOKUP.
pub fn looked_up(results: &[u8]) -> Answer<(Handle, Option<Attributes>)> {
    whole(results, |reader| {
        let found = (read_handle(reader)?, post_op(reader)?);
        skip_post_op(reader)?;
        Ok(found)
    })
}

/// Parses the results of ACCESS.
pub fn accessed(results: &[u8]) -> Answer<Rights> {
    whole(results, |reader| {
        skip_post_op(reader)?;
        Ok(Rights(reader.u32("rights")?))
    })
}

/// Parses the results of CREATE; if the server omits the handle, the caller has to look it up.
pub fn created(results: &[u8]) -> Answer<Option<Handle>> {
    whole(results, |reader| {
        let handle = if reader.bool("a file handle")? { Some(read_handle(reader)?) } else { None };
        skip_post_op(reader)?;
        skip_change(reader)?;
        Ok(handle)
    })
}

/// Parses the results of REMOVE.
pub fn removed(results: &[u8]) -> Answer<()> {
    whole(results, skip_change)
}

/// Parses the results of FSSTAT. Some servers send more than these; what follows is of no use here.
pub fn fsstat(results: &[u8]) -> Answer<FsStat> {
    start_of(results, |reader| {
        skip_post_op(reader)?;
        let mut word = || reader.u64("the space of a file system");
        let (total_bytes, free_bytes, available_bytes) = (word()?, word()?, word()?);
        reader.fixed(28, "the space of a file system")?;
        Ok(FsStat { total_bytes, free_bytes, available_bytes })
    })
}

/// Parses the results of FSINFO.
pub fn fsinfo(results: &[u8]) -> Answer<FsInfo> {
    whole(results, |reader| {
        skip_post_op(reader)?;
        let mut word = || reader.u32("the limits of a server");
        let (read_max, read_preferred, read_multiple) = (word()?, word()?, word()?);
        let (write_max, write_preferred, write_multiple) = (word()?, word()?, word()?);
        word()?;
        let file_max = reader.u64("the limits of a server")?;
        reader.fixed(12, "the limits of a server")?;
        Ok(FsInfo {
            read_max,
            read_preferred,
            read_multiple,
            write_max,
            write_preferred,
            write_multiple,
            file_max,
        })
    })
}

/// Parses the results of PATHCONF.
pub fn path_limits(results: &[u8]) -> Answer<PathLimits> {
    whole(results, |reader| {
        skip_post_op(reader)?;
        reader.u32("limits of names")?;
        let name_bytes_max = reader.u32("limits of names")?;
        let no_truncation = reader.bool("limits of names")?;
        reader.fixed(12, "limits of names")?;
        Ok(PathLimits { name_bytes_max, no_truncation })
    })
}

/// Parses the results of READ up to the data; `Short` if more bytes are needed.
pub fn read_head(results: &[u8]) -> Answer<ReadHead> {
    let mut reader = match begin(results)? {
        Ok(reader) => reader,
        Err(status) => return Ok(Err(status)),
    };
    skip_post_op(&mut reader)?;
    let count = reader.u32("the count of a read")?;
    let is_end = reader.bool("whether the file ends")?;
    let bytes = reader.u32("the length of data")?;
    if count != bytes {
        return Err(XdrError::Value { what: "data length: the counts of the reply differ", value: bytes });
    }
    Ok(Ok(ReadHead { bytes, is_end, data_at: results.len() - reader.rest().len() }))
}

/// Parses the results of WRITE.
pub fn written(results: &[u8]) -> Answer<Written> {
    whole(results, |reader| {
        skip_change(reader)?;
        let bytes = reader.u32("the count of a write")?;
        let stable = match reader.u32("how durable a write is")? {
            0 => Stable::Unstable,
            1 => Stable::DataSync,
            2 => Stable::FileSync,
            value => return Err(XdrError::Value { what: "way to keep a write", value }),
        };
        Ok(Written { bytes, stable, verifier: verifier(reader)? })
    })
}

/// Parses the results of COMMIT.
pub fn committed(results: &[u8]) -> Answer<Verifier> {
    whole(results, |reader| {
        skip_change(reader)?;
        verifier(reader)
    })
}

fn verifier(reader: &mut Reader<'_>) -> Result<Verifier, XdrError> {
    Ok(reader.fixed(8, "a verifier")?.try_into().expect("eight bytes were taken"))
}
