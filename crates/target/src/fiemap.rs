//! Written and unwritten parts of a file according to its file system (`FS_IOC_FIEMAP`).

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

/// `_IOWR('f', 11, struct fiemap)` with the 32-byte header.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
const FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 0x1;
/// Flags of extents whose position on the device is unknown, or is not that of their data: unknown, delayed, encoded,
/// unaligned, inline, tail.
const EXTENT_ELSEWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x100 | 0x200 | 0x400;
const EXTENT_UNWRITTEN: u32 = 0x800;
/// Number of extents requested in one call; 256 x 56 bytes = 14 KiB.
const BATCH: usize = 256;

/// `struct fiemap` of linux/fiemap.h with room for its extents.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; BATCH],
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

const _: () = assert!(size_of::<Extent>() == 56);
const _: () = assert!(size_of::<Request>() == 32 + BATCH * 56);

/// The extents of a file, up to a given length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extents {
    /// Number of bytes that were never written: holes, and space that is allocated but reads as zeros without access to
    /// the device.
    pub unwritten_bytes: u64,
    /// Their position on the device; `None` unless it is known for every extent.
    pub placed: Option<Placed>,
}

/// Position of a file's extents, bytes from the start of the device of its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The first byte.
    pub first_bytes: u64,
    /// The first byte after the last.
    pub end_bytes: u64,
    /// Number of pieces that lie apart on the device. At least 1. What follows a hole, or space that was reserved and
    /// not written, is no other piece if it lies behind the one before, or as far behind as the hole is long.
    pub pieces: u64,
}

impl Placed {
    /// Returns the position including the next extent of the file; `before` is the previous one.
    fn with(known: Option<Self>, before: &Extent, next: &Extent) -> Self {
        let (at, end_bytes) = (next.physical, next.physical.saturating_add(next.length));
        match known {
            None => Self { first_bytes: at, end_bytes, pieces: 1 },
            Some(known) => Self {
                first_bytes: known.first_bytes.min(at),
                end_bytes: known.end_bytes.max(end_bytes),
                pieces: known.pieces + u64::from(!follows(before, next)),
            },
        }
    }
}

/// Whether an extent lies behind the previous one on the device, as the file has it or without the hole between them.
fn follows(before: &Extent, next: &Extent) -> bool {
    let hole = next.logical.saturating_sub(before.logical.saturating_add(before.length));
    let end = before.physical.saturating_add(before.length);
    next.physical == end || next.physical == end.saturating_add(hole)
}

/// What becomes of pages that were written and are not on the device yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dirty {
    /// They are written first, so that every extent has its place.
    Write,
    /// They stay: a place is unknown where there are some that have none yet.
    Leave,
}

/// Returns the extents of the first `span` bytes. Fails with `Unsupported` if the file system does not report them.
pub(crate) fn extents(file: &File, span: u64, dirty: Dirty) -> io::Result<Extents> {
    let mut request = Box::new(Request {
        start: 0,
        length: 0,
        flags: if dirty == Dirty::Write { FLAG_SYNC } else { 0 },
        mapped_extents: 0,
        extent_count: u32::try_from(BATCH).expect("a small constant"),
        reserved: 0,
        extents: [Extent::default(); BATCH],
    });
    let (mut found, mut written, mut start) = (Extents::default(), 0, 0);
    let (mut is_placed, mut before) = (true, Extent::default());
    while start < span {
        (request.start, request.length) = (start, span - start);
        fill(file, &mut request)?;
        let extents = &request.extents[..(request.mapped_extents as usize).min(BATCH)];
        for extent in extents.iter().filter(|e| e.flags & EXTENT_UNWRITTEN == 0) {
            let (from, to) = (extent.logical, extent.logical.saturating_add(extent.length));
            written += to.min(span).saturating_sub(from.max(start));
            is_placed &= extent.flags & EXTENT_ELSEWHERE == 0;
            found.placed = Some(Placed::with(found.placed, &before, extent));
            before = *extent;
        }
        match extents.last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => start = last.logical + last.length.max(1),
            _ => break,
        }
    }
    found.placed = found.placed.filter(|_| is_placed);
    found.unwritten_bytes = span.saturating_sub(written);
    Ok(found)
}

fn fill(file: &File, request: &mut Request) -> io::Result<()> {
    // SAFETY: the request is laid out as the kernel's `struct fiemap` and says how many extents it has room for; the
    // kernel writes within that, and the exclusive borrow lasts through the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, std::ptr::from_mut(request)) };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL) => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_extents_are_one_piece() {
        assert_eq!(
            placed(&[(0, 100), (10, 110), (20, 50), (30, 60)]),
            Some(Placed { first_bytes: 50, end_bytes: 120, pieces: 2 })
        );
    }

    /// A sparse file, and one that was reserved and written here and there, had a piece for each hole.
    #[test]
    fn what_follows_a_hole_is_no_other_piece() {
        let pieces = |extents: &[(u64, u64)]| placed(extents).map(|placed| placed.pieces);
        assert_eq!(pieces(&[(0, 100), (40, 140), (80, 180)]), Some(1), "as far apart as in the file");
        assert_eq!(pieces(&[(0, 100), (40, 110), (80, 120)]), Some(1), "without the holes");
        assert_eq!(pieces(&[(0, 100), (40, 300), (80, 200)]), Some(3));
    }

    /// Where extents of 10 bytes lie that begin at these bytes of the file and of the device.
    fn placed(extents: &[(u64, u64)]) -> Option<Placed> {
        let extent = |(logical, physical): &(u64, u64)| Extent {
            logical: *logical,
            physical: *physical,
            length: 10,
            ..Extent::default()
        };
        let extents: Vec<Extent> = extents.iter().map(extent).collect();
        let add = |known, pair: &[Extent]| Some(Placed::with(known, &pair[0], &pair[1]));
        let first = extents.first().map(|first| Placed::with(None, first, first));
        extents.windows(2).fold(first, add)
    }
}
