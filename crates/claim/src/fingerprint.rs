//! Detects changes of a target between its inspection and the first write to it.
//!
//! Names prove nothing: another file, disk or LUN may have taken one meanwhile. A [`Fingerprint`] is taken when a
//! target is inspected, and again before it is written.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Seek as _, SeekFrom};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};

use rustix::fs::Advice;

use crate::mark::FileLook;
use crate::own_data::{Author, SECTOR_BYTES, author};

/// Number of bytes compared at each end of a target: the places where disk formats write.
pub const END_BYTES: u64 = 128 << 10;
/// `f_type` of overlayfs, as in statfs(2).
const OVERLAY_MAGIC: i64 = 0x794c_7630;
/// The change if the start of a target holds data that this run did not write.
pub(crate) const NOT_OWN: &str = "its start holds data that Assay did not write";

/// What the modification time of a file says about writes that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteTimes {
    /// Of all of them.
    Exact,
    /// Servers of SMB may set it seconds after a write, or when the last descriptor is closed.
    Late,
}

impl WriteTimes {
    /// Returns how the file system of an open file sets them.
    pub fn of(file: &File) -> Self {
        /// `f_type` of cifs with SMB 1 and with later versions, as in statfs(2).
        const SMB: [i64; 2] = [0xFF53_4D42, 0xFE53_4D42];
        match rustix::fs::fstatfs(file).is_ok_and(|fs| SMB.contains(&fs.f_type)) {
            true => Self::Late,
            false => Self::Exact,
        }
    }
}

/// Properties of a target that change when it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Length or capacity, bytes.
    pub length_bytes: u64,
    /// Modification time, ns since 1970; `None` for devices and LUNs, which have none, and for files whose
    /// server sets it late.
    pub modified_ns: Option<i128>,
    /// Change time, ns since 1970; `None` where there is no modification time either. A program that sets the
    /// modification time back cannot set this one.
    pub changed_ns: Option<i128>,
    /// Digest of the data at both ends.
    pub ends: u64,
}

impl Fingerprint {
    /// Returns the fingerprint of an open regular file or block device.
    pub fn of(file: &File) -> io::Result<Self> {
        let is_device = file.metadata()?.file_type().is_block_device();
        let mut at = file;
        let length_bytes = at.seek(SeekFrom::End(0))?;
        let has_time = !is_device && WriteTimes::of(file) == WriteTimes::Exact;
        let look = has_time.then(|| FileLook::of(file)).transpose()?;
        let (modified_ns, changed_ns) =
            (look.map(|look| look.modified_ns), look.and_then(|look| look.changed_ns));
        let ends = ends_of(length_bytes, |offset_bytes, bytes| {
            let mut data = vec![0; bytes];
            drop_pages(file, offset_bytes, bytes);
            file.read_exact_at(&mut data, offset_bytes)?;
            drop_pages(file, offset_bytes, bytes);
            Ok::<_, io::Error>(data)
        })?;
        Ok(Self { length_bytes, modified_ns, changed_ns, ends })
    }

    /// Returns the fingerprint of a file that this process has now opened for writing. On an overlay that copies a
    /// file of the lower layer, and the copy has a change time of its own.
    pub fn opened_for_writing(self, file: &File) -> io::Result<Self> {
        match rustix::fs::fstatfs(file)?.f_type == OVERLAY_MAGIC {
            true => Ok(Self { changed_ns: Self::of(file)?.changed_ns, ..self }),
            false => Ok(self),
        }
    }

    /// Returns the difference in words; `None` if there is none.
    pub fn difference(&self, now: &Self) -> Option<&'static str> {
        if self.length_bytes != now.length_bytes {
            Some("its size")
        } else if self.modified_ns != now.modified_ns {
            Some("its modification time")
        } else if self.ends != now.ends {
            Some("the data at its start or end")
        } else if self.changed_ns != now.changed_ns {
            Some("its change time")
        } else {
            None
        }
    }
}

/// Drops clean pages from the page cache: they may be older than data written directly, and must not make a run through
/// the cache look faster. This is only advice; a file system that ignores it is read all the same.
pub(crate) fn drop_pages(file: &File, offset_bytes: u64, bytes: usize) {
    let _ = rustix::fs::fadvise(file, offset_bytes, NonZeroU64::new(bytes as u64), Advice::DontNeed);
}

/// Required content at the start of a device or LUN when a worker opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadCheck {
    /// Any: the target is only read, was not filled, or is written with data that cannot be recognised.
    Nothing,
    /// Data written by Assay: this run has filled the target.
    OwnData,
}

/// Returns true if the start of a target holds only data written by Assay.
pub(crate) fn is_own(head: &[u8]) -> bool {
    head.chunks(SECTOR_BYTES).all(|sector| author(sector) != Author::Foreign)
}

/// Returns the digest of both ends of a target of that length. `read` reads bytes at an offset.
pub(crate) fn ends_of<E>(
    length_bytes: u64,
    mut read: impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<u64, E> {
    let mut digest = DefaultHasher::new();
    for (offset_bytes, bytes) in ends(length_bytes) {
        digest.write(&read(offset_bytes, bytes)?);
    }
    Ok(digest.finish())
}

/// Returns both ends, as offset and length in bytes; one if they meet.
fn ends(length_bytes: u64) -> Vec<(u64, usize)> {
    let end = |bytes: u64| usize::try_from(bytes).expect("at most two ends");
    if length_bytes <= 2 * END_BYTES {
        return vec![(0, end(length_bytes))];
    }
    vec![(0, end(END_BYTES)), (length_bytes - END_BYTES, end(END_BYTES))]
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_fingerprint_detects_a_changed_length_time_head_or_tail() {
        for length_bytes in [0, 4096, 2 * END_BYTES, 1 << 20] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(length_bytes).unwrap();
            let then = SystemTime::now() - Duration::from_secs(60);
            file.set_modified(then).unwrap();
            let looked = Fingerprint::of(&file).unwrap();
            assert_eq!(looked.difference(&Fingerprint::of(&file).unwrap()), None);
            for at in [0, length_bytes.saturating_sub(1)] {
                if length_bytes == 0 {
                    continue;
                }
                file.write_all_at(&[7], at).unwrap();
                let changed = looked.difference(&Fingerprint::of(&file).unwrap());
                assert_eq!(changed, Some("its modification time"), "{length_bytes}");
                file.set_modified(then).unwrap();
                let changed = looked.difference(&Fingerprint::of(&file).unwrap());
                assert_eq!(changed, Some("the data at its start or end"), "{length_bytes} {at}");
                file.write_all_at(&[0], at).unwrap();
                file.set_modified(then).unwrap();
                let changed = looked.difference(&Fingerprint::of(&file).unwrap());
                assert_eq!(changed, Some("its change time"), "{length_bytes} {at}");
            }
            file.set_len(length_bytes + 1).unwrap();
            assert_eq!(looked.difference(&Fingerprint::of(&file).unwrap()), Some("its size"));
        }
    }
}
