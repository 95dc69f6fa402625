//! How long a load with a rate waited for its own queue depth.

/// Sums the time in which an I/O was due and no slot was free.
#[derive(Default)]
pub(crate) struct FullTime {
    /// Since when, ns; 0 while there is room or nothing is due.
    since_ns: u64,
    sum_ns: u64,
}

impl FullTime {
    /// Ends the wait, if there is one: slots may be free from now on.
    #[inline]
    pub(crate) fn end(&mut self, now_ns: u64) {
        if self.since_ns > 0 {
            self.sum_ns += now_ns.saturating_sub(self.since_ns);
            self.since_ns = 0;
        }
    }

    /// Begins a wait in which all slots are taken and the next I/O is due at `due_ns`.
    #[inline]
    pub(crate) fn begin(&mut self, now_ns: u64, due_ns: u64) {
        self.since_ns = now_ns.max(due_ns);
    }

    /// Returns the whole time, ns.
    pub(crate) fn sum_ns(&self) -> u64 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_an_io_is_due_counts() {
        let mut full = FullTime::default();
        full.end(10);
        full.begin(10, 30);
        full.end(50);
        full.begin(50, 90);
        full.end(80);
        full.end(100);
        assert_eq!(full.sum_ns(), 20);
    }
}
