//! Memory that the kernel reads and writes directly.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of every buffer, bytes: what the strictest direct I/O asks for, and whole pages to register.
pub const ALIGNMENT: usize = 4096;

/// A page-aligned buffer that belongs to one slot of a worker.
///
/// It moves into an [`Op`](crate::Op) and comes back with the [`Completion`](crate::Completion); whoever holds it
/// may read and write it, and nobody else can.
#[derive(Debug)]
pub struct IoBuf {
    start: NonNull<u8>,
    capacity_bytes: u32,
    slot: u32,
}

// SAFETY: an `IoBuf` owns its memory alone, as a `Box<[u8]>` does; nothing in it is tied to a thread.
unsafe impl Send for IoBuf {}

impl IoBuf {
    /// A zeroed buffer for `slot` of at least one byte; its capacity is as asked for.
    #[must_use]
    pub fn new(slot: u32, capacity_bytes: u32) -> Self {
        let layout = Self::layout(capacity_bytes);
        // SAFETY: the layout's size is at least one page, so not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, capacity_bytes, slot }
    }

    /// The slot it was made for; also its index among the registered buffers.
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.slot
    }

    fn layout(capacity_bytes: u32) -> Layout {
        let size = (capacity_bytes as usize).max(1).next_multiple_of(ALIGNMENT);
        Layout::from_size_align(size, ALIGNMENT).expect("a 32-bit size rounded up to a page fits")
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// For registering with a ring.
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

impl Drop for IoBuf {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout, and freed only here.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity_bytes)) }
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
}
