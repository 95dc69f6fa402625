//! Arguments, and complete READ and WRITE calls of which only a few fields change.

use super::{Handle, Rights, Stable, procedure};
use crate::rpc::{Credentials, LAST_FRAGMENT, write_call};
use crate::xdr::Writer;

/// Returns arguments that consist of a handle: GETATTR, FSSTAT, FSINFO, PATHCONF.
pub(crate) fn handle_only(handle: &Handle) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(handle.bytes());
    writer.into_bytes()
}

/// Returns the arguments of LOOKUP and REMOVE.
pub(crate) fn directory_name(directory: &Handle, name: &str) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(directory.bytes()).opaque(name.as_bytes());
    writer.into_bytes()
}

/// Returns the arguments of ACCESS.
pub fn access(handle: &Handle) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(handle.bytes()).u32(Rights::ALL.0);
    writer.into_bytes()
}

/// Returns the arguments of a guarded CREATE, which fails if the name exists.
pub fn create(directory: &Handle, name: &str, mode: u32) -> Vec<u8> {
    const GUARDED: u32 = 1;
    let mut writer = Writer::new();
    writer.opaque(directory.bytes()).opaque(name.as_bytes()).u32(GUARDED);
    // The mode is set; the server chooses owner, group, size and times.
    writer.u32(1).u32(mode).u32(0).u32(0).u32(0).u32(0).u32(0);
    writer.into_bytes()
}

/// Returns the arguments of a SETATTR that sets the length.
pub fn set_size(handle: &Handle, bytes: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(handle.bytes()).u32(0).u32(0).u32(0).u32(1).u64(bytes).u32(0).u32(0);
    // No guard on the change time.
    writer.u32(0);
    writer.into_bytes()
}

/// Returns the arguments of READ.
pub fn read(handle: &Handle, offset_bytes: u64, bytes: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(handle.bytes()).u64(offset_bytes).u32(bytes);
    writer.into_bytes()
}

/// Returns the arguments of WRITE up to the data.
pub(crate) fn write_head(handle: &Handle, offset_bytes: u64, bytes: u32, stable: Stable) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.opaque(handle.bytes()).u64(offset_bytes).u32(bytes).u32(stable_number(stable)).u32(bytes);
    writer.into_bytes()
}

/// Returns the arguments of WRITE.
pub fn write(handle: &Handle, offset_bytes: u64, data: &[u8], stable: Stable) -> Vec<u8> {
    let bytes = u32::try_from(data.len()).expect("whoever writes so keeps to the server's limit");
    let mut writer = Writer::new();
    writer.fixed(&write_head(handle, offset_bytes, bytes, stable)).fixed(data);
    let padding = crate::xdr::padding(bytes) as usize;
    writer.fixed(&[0; 3][..padding]);
    writer.into_bytes()
}

/// Returns the arguments of COMMIT; 0 bytes means up to the end.
pub fn commit(handle: &Handle, offset_bytes: u64, bytes: u32) -> Vec<u8> {
    read(handle, offset_bytes, bytes)
}

fn stable_number(stable: Stable) -> u32 {
    match stable {
        Stable::Unstable => 0,
        Stable::DataSync => 1,
        Stable::FileSync => 2,
    }
}

/// Largest length of a call up to its data, bytes: mark, head, credentials with 16 groups and 64 bytes of name, handle,
/// arguments.
pub(crate) const CALL_BYTES_MAX: usize = 4 + 24 + 8 + 148 + 8 + 68 + 20;

/// A call of one kind on one file, complete except for the fields that change with each I/O: xid, offset, count.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: [u8; CALL_BYTES_MAX],
    length: usize,
    /// Position of the offset field; the count follows it.
    offset_at: usize,
    /// True if data follows, preceded by its length.
    has_data: bool,
}

impl Template {
    /// Returns a template for READs of a file.
    pub fn read(credentials: &Credentials, handle: &Handle) -> Self {
        Self::new(procedure::READ, credentials, &read(handle, 0, 0), handle, false)
    }

    /// Returns a template for WRITEs to a file.
    pub fn write(credentials: &Credentials, handle: &Handle, stable: Stable) -> Self {
        Self::new(procedure::WRITE, credentials, &write_head(handle, 0, 0, stable), handle, true)
    }

    /// Returns a template for COMMITs of a file.
    pub fn commit(credentials: &Credentials, handle: &Handle) -> Self {
        Self::new(procedure::COMMIT, credentials, &commit(handle, 0, 0), handle, false)
    }

    /// Returns a template for pings.
    pub fn null() -> Self {
        let mut writer = Writer::new();
        writer.u32(0);
        write_call(&mut writer, 0, procedure::NULL, None);
        let length = writer.bytes().len();
        Self::of(writer.bytes(), length, false)
    }

    fn new(
        procedure: crate::rpc::Procedure,
        credentials: &Credentials,
        arguments: &[u8],
        handle: &Handle,
        has_data: bool,
    ) -> Self {
        let mut writer = Writer::new();
        writer.u32(0);
        write_call(&mut writer, 0, procedure, Some(credentials));
        let offset_at = writer.bytes().len() + 4 + handle.bytes().len().next_multiple_of(4);
        writer.fixed(arguments);
        Self::of(writer.bytes(), offset_at, has_data)
    }

    fn of(call: &[u8], offset_at: usize, has_data: bool) -> Self {
        let mut bytes = [0; CALL_BYTES_MAX];
        bytes[..call.len()].copy_from_slice(call);
        Self { bytes, length: call.len(), offset_at, has_data }
    }

    /// Encodes a call into `place` and returns its length up to the data.
    pub fn fill(&self, place: &mut [u8; CALL_BYTES_MAX], xid: u32, offset_bytes: u64, bytes: u32) -> usize {
        place[..self.length].copy_from_slice(&self.bytes[..self.length]);
        let data_bytes = if self.has_data { bytes + crate::xdr::padding(bytes) } else { 0 };
        let length = u32::try_from(self.length - 4).expect("a call is short") + data_bytes;
        place[..4].copy_from_slice(&(length | LAST_FRAGMENT).to_be_bytes());
        place[4..8].copy_from_slice(&xid.to_be_bytes());
        if self.offset_at < self.length {
            let at = self.offset_at;
            place[at..at + 8].copy_from_slice(&offset_bytes.to_be_bytes());
            place[at + 8..at + 12].copy_from_slice(&bytes.to_be_bytes());
            if self.has_data {
                place[self.length - 4..self.length].copy_from_slice(&bytes.to_be_bytes());
            }
        }
        self.length
    }
}
