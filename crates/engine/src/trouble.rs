//! Failures of a worker: the first few in full, with memory allocated before the run.

use std::io;

use assay_record::{Failure, Mismatch, StepEnd};
use assay_target::OpKind;

use crate::flights::{Flight, Role};

/// Failed I/Os and wrong data of one worker.
pub(crate) struct Trouble {
    pub(crate) failures: Vec<Failure>,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) mismatch_count: u64,
    /// Writes of which the target may execute another copy later.
    pub(crate) moved_count: u64,
    /// Blocks with an older write of which two copies were sent.
    pub(crate) late_count: u64,
}

impl Trouble {
    pub(crate) fn new() -> Self {
        Self {
            failures: Vec::with_capacity(StepEnd::KEPT),
            mismatches: Vec::with_capacity(StepEnd::KEPT),
            mismatch_count: 0,
            moved_count: 0,
            late_count: 0,
        }
    }

    /// Keeps a failed I/O on `member` if it is among the first few. `moved` bytes were transferred if there is no
    /// `errno`.
    pub(crate) fn failed(&mut self, job: u32, member: &str, flight: &Flight, errno: Option<i32>, moved: u32) {
        if self.failures.len() >= StepEnd::KEPT {
            return;
        }
        let says = match errno {
            Some(errno) if flight.role == Role::Flush => {
                format!("flush: {}", io::Error::from_raw_os_error(errno))
            }
            Some(errno) => io::Error::from_raw_os_error(errno).to_string(),
            // The kernel ends a device that was pulled at offset 0, and reads beyond an end move nothing.
            None if moved == 0 => format!(
                "moved 0 of {} bytes: the device is gone, or the target ends before this offset",
                flight.size_bytes
            ),
            None => format!("moved {moved} of {} bytes", flight.size_bytes),
        };
        self.failures.push(Failure {
            job,
            member: member.to_owned(),
            is_write: flight.kind != OpKind::Read,
            offset_bytes: flight.offset_bytes,
            size_bytes: flight.size_bytes,
            errno: errno.unwrap_or(0),
            says,
        });
    }
}
