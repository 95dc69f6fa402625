//! Buffers filled in advance: data for the next writes is generated while the worker would wait anyway, so that no slot
//! stays empty meanwhile.

use assay_spec::Job;
use assay_target::IoBuf;

use crate::fill::Filler;

/// Largest number of buffers filled in advance per worker: as many as one batch of completions can need.
pub(crate) const SPARES_MAX: u32 = 32;

/// The smallest buffer, bytes: that of jobs that move no data.
const BUFFER_BYTES_MIN: u32 = 512;

/// Buffers of a worker that belong to no slot.
pub(crate) struct PrefilledBuffers {
    /// Number of bytes filled in each: the largest write of the mix.
    size_bytes: usize,

    filled: Vec<IoBuf>,
    empty: Vec<IoBuf>,
}

impl PrefilledBuffers {
    pub(crate) fn new(buffers: Vec<IoBuf>, size_bytes: usize) -> Self {
        Self { size_bytes, filled: Vec::with_capacity(buffers.len()), empty: buffers }
    }

    /// Provides the data of a write in `buf`: swaps it for a filled one, or fills it now if there is none.
    #[inline]
    pub(crate) fn provide(&mut self, buf: &mut IoBuf, size_bytes: usize, filler: &mut Filler) {
        // For a small write among large ones, filling `buf` is faster than replacing a large spare.
        let is_worth_it = size_bytes * 4 >= self.size_bytes;
        match if is_worth_it { self.filled.pop() } else { None } {
            Some(filled) => self.empty.push(std::mem::replace(buf, filled)),
            None => filler.fill(&mut buf[..size_bytes]),
        }
    }

    /// Returns true if there is anything to fill.
    #[inline]
    pub(crate) fn wants_data(&self) -> bool {
        !self.empty.is_empty()
    }

    /// Fills all empty buffers.
    pub(crate) fn refill(&mut self, filler: &mut Filler) {
        while let Some(mut buf) = self.empty.pop() {
            filler.fill(&mut buf[..self.size_bytes]);
            self.filled.push(buf);
        }
    }
}

/// Returns the size of each buffer of a job, bytes.
pub(crate) fn size_max(job: &Job) -> u32 {
    let largest = u32::try_from(job.transfer_max().0).expect("the plan keeps I/Os below 512 MiB");
    largest.max(BUFFER_BYTES_MIN)
}

/// Returns the number of buffers beyond those of the slots, for data generated in advance.
pub(crate) fn spare_buffers(job: &Job, depth: u32) -> u32 {
    if job.writes() { depth.min(SPARES_MAX) } else { 0 }
}

#[cfg(test)]
mod tests {
    use assay_spec::Data;

    use super::*;
    use crate::fill::Pool;

    #[test]
    fn a_write_gets_new_data_whether_or_not_a_spare_is_ready() {
        let mut filler = Filler::new(Data::Unique, &Pool::new(Data::Unique, 4096, 6), 4096, 7);
        let mut spares = PrefilledBuffers::new((4..6).map(|slot| IoBuf::new(slot, 4096)).collect(), 4096);
        spares.refill(&mut filler);
        assert!(!spares.wants_data());
        let mut written = std::collections::HashSet::new();
        for _ in 0..5 {
            let mut buf = IoBuf::new(0, 4096);
            spares.provide(&mut buf, 4096, &mut filler);
            assert!(written.insert(buf.to_vec()));
        }
        assert!(spares.wants_data());
    }
}
