//! Whether a device holds anything: some of its blocks are read, at places spread over the span.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use assay_spec::random::split_mix;

/// Number of blocks that are read. A span of which a tenth is written shows it with a probability of 99.9 %.
const BLOCKS: u64 = 64;
/// Size of a block, bytes.
const BLOCK_BYTES: usize = 4096;
/// A slow device is not read for longer.
const TIME_MAX: Duration = Duration::from_secs(2);
/// Fewer blocks than this say nothing.
const BLOCKS_MIN: u32 = 16;

/// What some blocks of a device held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zeros {
    /// Number of blocks that were read.
    pub(crate) read: u32,
    /// Those of them that held only zeros.
    pub(crate) zeros: u32,
}

impl Zeros {
    /// Returns the share of blocks of zeros, 0 to 1.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.zeros) / f64::from(self.read.max(1))
    }
}

/// Reads one block at a random place in each of [`BLOCKS`] equal parts of a span; `None` where too few could be read.
pub(crate) fn zeros(file: &File, span_bytes: u64, seed: u64) -> Option<Zeros> {
    let part = span_bytes / BLOCKS;
    let (began, mut at) = (Instant::now(), seed);
    let mut block = [0_u8; BLOCK_BYTES];
    let mut seen = Zeros { read: 0, zeros: 0 };
    if part < BLOCK_BYTES as u64 {
        return None;
    }
    for index in 0..BLOCKS {
        let within = split_mix(&mut at) % (part - BLOCK_BYTES as u64 + 1);
        let offset = (index * part + within) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        if file.read_exact_at(&mut block, offset).is_ok() {
            seen.read += 1;
            seen.zeros += u32::from(block.iter().all(|byte| *byte == 0));
        }
        if began.elapsed() > TIME_MAX {
            break;
        }
    }
    // A write around the page cache waits for what is in it: those to these blocks would come out of their order. What
    // lies beyond the span is somebody else's.
    let _ = rustix::fs::fadvise(file, 0, NonZeroU64::new(span_bytes), rustix::fs::Advice::DontNeed);
    (seen.read >= BLOCKS_MIN).then_some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They stayed in the page cache, and the kernel passed the writes to them to a thread, behind later ones.
    #[test]
    fn what_was_looked_at_is_in_no_cache() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let is_cached = || {
            let mut block = [0; BLOCK_BYTES];
            let buffers = &mut [std::io::IoSliceMut::new(&mut block)];
            rustix::io::preadv2(&file, buffers, 0, rustix::io::ReadWriteFlags::NOWAIT).map(|_| ())
        };
        // A file system without a cache of its own says so.
        if is_cached() == Ok(()) {
            assert!(zeros(&file, 1 << 20, 1).is_some());
            assert_eq!(is_cached(), Err(rustix::io::Errno::AGAIN));
        }
    }

    #[test]
    fn the_share_of_zeros_is_that_of_the_parts_that_were_never_written() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let of = |seed| zeros(&file, 1 << 20, seed).unwrap();
        assert_eq!(of(1), Zeros { read: 64, zeros: 64 });
        file.write_all_at(&vec![7; 256 << 10], 0).unwrap();
        assert_eq!(of(2), Zeros { read: 64, zeros: 48 });
        assert!((of(3).share() - 0.75).abs() < 1e-9);
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        assert_eq!(of(4).zeros, 0);
        assert_eq!(zeros(&file, 4096, 1), None, "too small to have parts");
        assert_eq!(zeros(&file, 1 << 40, 1), None, "nothing there");
    }
}
