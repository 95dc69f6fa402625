//! Limits on the number of I/Os and bytes that a worker may still issue.

/// The remaining limits, and the number of I/Os that were due.
pub(crate) struct Budget {
    pub(crate) ops_left: u64,
    pub(crate) bytes_left: u64,
    /// Number of I/Os that were due, if the load has a rate.
    pub(crate) due: u64,
}

impl Budget {
    pub(crate) const UNLIMITED: Self = Self { ops_left: u64::MAX, bytes_left: u64::MAX, due: 0 };

    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.ops_left == 0 || self.bytes_left == 0
    }

    #[inline]
    pub(crate) fn take(&mut self, size_bytes: u32) {
        self.ops_left = self.ops_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(size_bytes));
    }

    pub(crate) fn give_back(&mut self, size_bytes: u32) {
        self.ops_left = self.ops_left.saturating_add(1);
        self.bytes_left = self.bytes_left.saturating_add(u64::from(size_bytes));
    }
}
