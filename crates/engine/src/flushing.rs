//! Flushes between the writes of a worker: when one is due, and their duration.

use assay_record::OpStats;
use assay_spec::Job;
use assay_target::OpKind;

use crate::planner::Draw;

/// The flushes of one worker.
pub(crate) struct Flushing {
    /// `u32::MAX`: never.
    every: u32,
    kind: OpKind,

    /// Writes since the last flush, by member.
    written: Vec<u32>,
    /// Statistics of the measured window; `None` if the job never flushes. Boxed, so that memory is allocated before
    /// the run.
    stats: Option<Box<OpStats>>,
}

impl Flushing {
    pub(crate) fn new(job: &Job, members: usize) -> Self {
        Self {
            every: job.flush.map_or(u32::MAX, |flush| flush.every),
            kind: OpKind::Flush(job.flush.map(|flush| flush.kind).unwrap_or_default()),
            written: vec![0; members],
            stats: job.flush.map(|_| Box::default()),
        }
    }

    /// Returns true if the next operation on `member` is a flush.
    pub(crate) fn is_due(&self, member: u32) -> bool {
        self.written[member as usize] >= self.every
    }

    /// Records a submitted operation.
    pub(crate) fn submitted(&mut self, member: u32, kind: OpKind) {
        match kind {
            OpKind::Write => self.written[member as usize] = self.written[member as usize].saturating_add(1),
            OpKind::Flush(_) => self.written[member as usize] = 0,
            OpKind::Read | OpKind::Trim => {}
        }
    }

    /// Returns a flush.
    pub(crate) fn draw(&self) -> Draw {
        Draw { access: 0, kind: self.kind, size_bytes: 0, offset_bytes: 0 }
    }

    /// Counts a completed flush. Never allocates.
    pub(crate) fn completed(&mut self, service_ns: u64) {
        if let Some(stats) = &mut self.stats {
            stats.completed(0, service_ns, service_ns);
        }
    }

    /// Counts a failed flush.
    pub(crate) fn failed(&mut self) {
        if let Some(stats) = &mut self.stats {
            stats.errors += 1;
        }
    }

    pub(crate) fn finish(self) -> Option<Box<OpStats>> {
        self.stats
    }
}
