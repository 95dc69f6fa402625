//! Failures of a worker: the first few in full, with memory allocated before the run.

use std::io;

use assay_record::{Failure, Mismatch, StepEnd};
use assay_spec::names_device;
use assay_target::OpKind;

use crate::flights::{Flight, Role};

/// "Operation not permitted".
const EPERM: i32 = 1;
/// "No such device or address", and "No such device".
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;
/// "No space left on device".
const ENOSPC: i32 = 28;
/// "Stale file handle".
const ESTALE: i32 = 116;

/// Failed I/Os and wrong data of one worker.
pub(crate) struct Trouble {
    pub(crate) failures: Vec<Failure>,
    /// Failed I/Os and flushes outside the measured window.
    pub(crate) outside_count: u64,
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
            outside_count: 0,
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
            Some(errno) => sentence(errno, flight.kind, member),
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

/// What the system says of a failed I/O, and what it means where that is not plain.
fn sentence(errno: i32, kind: OpKind, member: &str) -> String {
    let says = io::Error::from_raw_os_error(errno).to_string();
    if matches!(errno, ENODEV | ENXIO) && member.starts_with("/dev/") {
        return format!(
            "{says}: the kernel has this device no longer, or has set it offline (dmesg says why)"
        );
    }
    // The kernel ends writes beyond the end of a device so, which is at 0 where a virtual disk was taken away.
    if errno == ENOSPC && kind != OpKind::Read && names_device(member) {
        return format!(
            "{says}: a thin pool below this device is full, or the device has become smaller or is gone (dmesg)"
        );
    }
    if errno == ESTALE {
        return format!("{says}: the file was removed or replaced on the server, or its export has changed");
    }
    let is_refused_write = errno == EPERM && kind != OpKind::Read && !member.contains("://");
    match (is_refused_write, member.starts_with("/dev/")) {
        (false, _) => says,
        // A driver does that to a disk that fails, and `blockdev --setro` to one that is open for writing.
        (true, true) => {
            format!("{says}: the kernel answers so where a device has become read-only (blockdev --getro)")
        }
        (true, false) => format!("{says}: the file may have been made immutable (lsattr) or sealed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Operation not permitted" was all that was said of a disk that had become read-only.
    #[test]
    fn a_write_that_is_not_permitted_is_explained() {
        let is_explained = |errno, kind, member| sentence(errno, kind, member).contains("become read-only");
        assert!(is_explained(EPERM, OpKind::Write, "/dev/sdb"));
        assert!(!is_explained(EPERM, OpKind::Read, "/dev/sdb"));
        assert!(sentence(EPERM, OpKind::Write, "/srv/t.dat").contains("lsattr"));
        assert!(!is_explained(EPERM, OpKind::Write, "nfs://nas/v/t.dat"));
        assert!(!is_explained(5, OpKind::Write, "/dev/sdb"));
        assert!(
            sentence(ESTALE, OpKind::Read, "/mnt/t.dat")
                .contains("removed or replaced on the server, or its export")
        );
        // "No such device" was all that was said of a disk that was removed during the run.
        assert!(sentence(ENODEV, OpKind::Read, "/dev/sdb").contains("no longer, or has set it offline"));
        // "No space left on device" was all that was said of a virtual disk that was taken away.
        assert!(sentence(ENOSPC, OpKind::Write, "/dev/vdb").contains("become smaller or is gone"));
        assert!(!sentence(ENOSPC, OpKind::Write, "/srv/t.dat").contains("is gone"));
        assert!(!sentence(ENOSPC, OpKind::Write, "/dev/shm/t.dat").contains("is gone"));
    }
}
