//! The tasks in flight: a slab whose index is part of the tag.

use super::coverage::Coverage;
use crate::pdu::{Direction, Residual};
use crate::serial::before;

/// Set in the tags of requests that are not SCSI commands.
pub(super) const CONTROL_TAG: u32 = 0x8000_0000;

/// A SCSI command to execute.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Number chosen by the caller, returned in every event.
    pub user: u32,
    /// Command descriptor block, zero padded.
    pub cdb: [u8; 16],
    /// Data direction.
    pub direction: Direction,
    /// Number of bytes to transfer.
    pub transfer_bytes: u32,
}

/// Outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOutcome {
    /// iSCSI response: 0 completed at target, 1 target failure.
    pub response: u8,
    /// SCSI status byte.
    pub status: u8,
    /// Residual reported by the target.
    pub residual: Residual,
    /// Number of bytes transferred: for reads those received without a gap; for writes those sent without a gap, less
    /// the residual that the target reported.
    pub transferred_bytes: u32,
    /// Number of bytes sent without a gap, whatever the target reported.
    pub sent_bytes: u32,
    /// Sense data, usually empty.
    pub sense: Vec<u8>,
}

/// One task.
#[derive(Debug)]
pub(super) struct Task {
    pub request: Request,
    pub itt: u32,
    pub cmd_sn: u32,
    pub is_sent: bool,
    pub received: Coverage,
    /// Write data that has been sent.
    pub sent: Coverage,
    /// Number of R2Ts not completely answered.
    pub open_r2t_count: u32,
    generation: u16,
    is_live: bool,
}

/// All tasks of a session. Memory: about 100 bytes per task, 128 tasks are 13 KiB.
#[derive(Debug)]
pub(super) struct Tasks {
    slab: Vec<Task>,
    free: Vec<u16>,
}

impl Tasks {
    pub(super) fn new(depth: u16) -> Self {
        let request = Request { user: 0, cdb: [0; 16], direction: Direction::None, transfer_bytes: 0 };
        let empty = || Task {
            request,
            itt: 0,
            cmd_sn: 0,
            is_sent: false,
            received: Coverage::default(),
            sent: Coverage::default(),
            open_r2t_count: 0,
            generation: 0,
            is_live: false,
        };
        Self { slab: (0..depth).map(|_| empty()).collect(), free: (0..depth).rev().collect() }
    }

    pub(super) fn count(&self) -> u16 {
        u16::try_from(self.slab.len() - self.free.len()).expect("the slab was made from a u16")
    }

    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(super) fn insert(&mut self, request: Request) -> Option<u16> {
        let index = self.free.pop()?;
        let task = &mut self.slab[usize::from(index)];
        // The generation makes a late response to an earlier task of this slot recognisable.
        task.generation = (task.generation + 1) & 0x7fff;
        task.itt = u32::from(task.generation) << 16 | u32::from(index);
        task.request = request;
        task.is_sent = false;
        task.is_live = true;
        task.open_r2t_count = 0;
        task.received.clear();
        task.sent.clear();
        Some(index)
    }

    pub(super) fn get(&mut self, index: u16) -> &mut Task {
        &mut self.slab[usize::from(index)]
    }

    /// Returns the task that the target refers to by `itt`, if it is in flight.
    pub(super) fn by_itt(&mut self, itt: u32) -> Option<&mut Task> {
        let index = (itt & 0xffff) as usize;
        self.slab.get_mut(index).filter(|task| task.itt == itt && task.is_live && task.is_sent)
    }

    pub(super) fn remove(&mut self, itt: u32) {
        let index = u16::try_from(itt & 0xffff).expect("masked to 16 bits");
        let task = self.get(index);
        debug_assert!(task.is_live && task.itt == itt, "a task ends once");
        self.release(index);
    }

    /// Returns true if a write was sent and has not ended.
    pub(super) fn has_sent_write(&self) -> bool {
        let mut sent = self.slab.iter().filter(|task| task.is_live && task.is_sent);
        sent.any(|task| task.request.direction == Direction::Write)
    }

    /// Returns the caller's number of a task.
    pub(super) fn user_of(&self, index: u16) -> u32 {
        self.slab[usize::from(index)].request.user
    }

    /// Frees a task that was never sent.
    pub(super) fn release(&mut self, index: u16) {
        self.get(index).is_live = false;
        self.free.push(index);
    }

    /// Returns the tag and number of a task that was sent.
    pub(super) fn sent_task(&self, user: u32) -> Option<(u32, u32)> {
        let mut live = self.slab.iter().filter(|task| task.is_live && task.is_sent);
        live.find(|task| task.request.user == user).map(|task| (task.itt, task.cmd_sn))
    }

    /// Returns the tags and callers' numbers of all tasks that were sent with a lower CmdSN.
    pub(super) fn sent_before(&self, cmd_sn: u32) -> Vec<(u32, u32)> {
        let is_earlier = |task: &&Task| task.is_live && task.is_sent && before(task.cmd_sn, cmd_sn);
        let live = self.slab.iter().filter(is_earlier);
        live.map(|task| (task.itt, task.request.user)).collect()
    }
}
