//! Memory that the kernel reads and writes directly.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of every buffer, bytes: required by the strictest direct I/O, and whole pages for registration.
pub(crate) const ALIGNMENT: usize = 4096;

/// Size of a huge page on the supported architectures, bytes.
const HUGE_PAGE: usize = 2 << 20;
/// Size from which a set of buffers uses huge pages, bytes; smaller sets consist of few pages anyway.
const HUGE_FROM_BYTES: usize = 64 << 10;

/// A page-aligned buffer that belongs to one slot of a worker.
///
/// It moves into an [`Op`](crate::Op) and returns with the [`Completion`](crate::Completion); only its owner can read
/// and write it.
#[derive(Debug)]
pub struct IoBuf {
    start: NonNull<u8>,
    capacity_bytes: u32,
    slot: u32,
    /// Keeps alive the memory that `start` points into.
    _region: Arc<Region>,
}

// SAFETY: an `IoBuf` owns its part of the region alone, as a `Box<[u8]>` does; nothing in it is tied to a thread.
unsafe impl Send for IoBuf {}

impl IoBuf {
    /// Returns a zeroed buffer for `slot` of at least one byte, with the requested capacity.
    pub fn new(slot: u32, capacity_bytes: u32) -> Self {
        Self::many(1, capacity_bytes).pop().map(|buf| Self { slot, ..buf }).expect("one was asked for")
    }

    /// Returns zeroed buffers for slots 0 to `count` - 1, adjacent in their own memory.
    ///
    /// Buffers larger than a page, with a total of 64 KiB or more, use huge pages if the kernel has some: an I/O of 128
    /// KiB is then one piece of physical memory instead of 32, each a descriptor for the device. On a virtual disk that
    /// alone made 128 KiB reads 2.5 times as fast.
    pub fn many(count: u32, capacity_bytes: u32) -> Vec<Self> {
        let stride = stride(capacity_bytes);
        let region = Arc::new(Region::new(layout(count, capacity_bytes)));
        let buffer = |slot: u32| {
            // SAFETY: the region holds `count` strides, so the sum stays within it.
            let start = unsafe { region.start.add(slot as usize * stride) };
            Self { start, capacity_bytes, slot, _region: Arc::clone(&region) }
        };
        (0..count).map(buffer).collect()
    }

    /// Returns the memory of `count` buffers of `capacity_bytes` allocated together, bytes.
    pub fn footprint_bytes(count: u32, capacity_bytes: u32) -> u64 {
        layout(count, capacity_bytes).size() as u64
    }

    /// Returns its slot, which is also its index among the registered buffers.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the buffer in the form for registration with a ring.
    pub(crate) fn iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.start.as_ptr().cast(), iov_len: self.capacity_bytes as usize }
    }
}

impl Deref for IoBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `capacity_bytes` initialised bytes that this value owns; the shared borrow of
        // `self` keeps anybody from writing to them, and the kernel writes only while the value is inside an `Op`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.capacity_bytes as usize) }
    }
}

impl DerefMut for IoBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and the exclusive borrow of `self` makes this the only view.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.capacity_bytes as usize) }
    }
}

impl AsRef<[u8]> for IoBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for IoBuf {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Memory of buffers; freed with the last of them.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a region is only the right to free its memory once; what lies in it is reached through buffers.
unsafe impl Send for Region {}
// SAFETY: nothing can be done with a shared region.
unsafe impl Sync for Region {}

/// Returns the distance between adjacent buffers, bytes.
fn stride(capacity_bytes: u32) -> usize {
    (capacity_bytes as usize).max(1).next_multiple_of(ALIGNMENT)
}

/// Returns the layout, in whole huge pages only if they are of use: a worker with few small buffers must not take 2 MiB
/// for them.
fn layout(count: u32, capacity_bytes: u32) -> Layout {
    let stride = stride(capacity_bytes);
    let size_bytes = (stride * count as usize).max(1);
    let in_huge_pages = stride > ALIGNMENT && size_bytes >= HUGE_FROM_BYTES;
    let unit = if in_huge_pages { HUGE_PAGE } else { ALIGNMENT };
    Layout::from_size_align(size_bytes.next_multiple_of(unit), unit)
        .expect("2^32 buffers of 2^32 bytes do not exist")
}

impl Region {
    fn new(layout: Layout) -> Self {
        // SAFETY: the layout's size is at least one page, so not zero.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        if layout.align() == HUGE_PAGE {
            // SAFETY: the range is ours and whole pages. Advice that is not taken leaves small pages, which work too.
            unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        // SAFETY: all of it is ours. This first touch, after the advice, is what brings the pages.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
        Self { start, layout }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout, and freed only here, when no buffer is left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_page_aligned_zeroed_and_writable() {
        for capacity in [1, 512, 4096, 5000, 1 << 20] {
            let mut buf = IoBuf::new(7, capacity);
            assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!((buf.len(), buf.slot()), (capacity as usize, 7));
            assert!(buf.iter().all(|b| *b == 0));
            buf.fill(0xA5);
            assert_eq!(buf.iter().filter(|b| **b == 0xA5).count(), capacity as usize);
        }
    }

    #[test]
    fn buffers_allocated_together_do_not_overlap_and_outlive_each_other() {
        let mut bufs = IoBuf::many(5, 5000);
        for buf in &mut bufs {
            let mark = u8::try_from(buf.slot() + 1).unwrap();
            buf.fill(mark);
        }
        let last = bufs.pop().unwrap();
        assert!(bufs.iter().all(|buf| buf.iter().all(|b| u32::from(*b) == buf.slot() + 1)));
        drop(bufs);
        assert_eq!((last.slot(), last.iter().filter(|b| **b == 5).count()), (4, 5000));
        assert!(IoBuf::many(0, 4096).is_empty());
    }
}
