//! Files in memory (tmpfs, ramfs): I/O executed at once by the calling thread.
//!
//! Such files never wait for a device but cannot guarantee it, so io_uring passes each of their operations to a kernel
//! thread, and two context switches cost more than the I/O. Here an operation is executed by the poll after its
//! submission, as io_uring does for files that guarantee not to wait. Each poll executes exactly one operation, so the
//! caller knows when each of them started and completed. Operations that wait for their turn are in no device: one I/O
//! is in flight at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

use assay_spec::Engine;

use crate::file_member::FileMember;
use crate::open_error::OpenError;
use crate::psync::transfer;
use crate::{Completion, Geometry, IoFailure, Op, Target, TargetLost, Wait};

/// `f_type` of tmpfs and ramfs, as in statfs(2).
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58F6];

/// Returns true if `path` is a regular file in memory. A device node is not, although /dev is a tmpfs by its type: the
/// device counts, wherever its node is.
pub fn is_in_memory(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|of| of.is_file())
        && rustix::fs::statfs(path).is_ok_and(|fs| IN_MEMORY.contains(&fs.f_type))
}

/// Files in memory.
pub struct InlineTarget {
    geometry: Geometry,
    members: Vec<FileMember>,
    /// `None` only where a member could not be opened again.
    files: Vec<Option<File>>,

    queue: VecDeque<Op>,
}

impl InlineTarget {
    pub(crate) fn open(members: &[FileMember], depth: u32) -> Result<Self, OpenError> {
        let files = members.iter().map(|m| m.open_first().map(Some)).collect::<Result<Vec<_>, _>>()?;
        let geometry = Geometry {
            members: members.iter().map(|m| m.span_bytes).collect(),
            block_bytes: members.iter().map(|m| m.block_bytes).max().unwrap_or(512),
            depth,
            engine: Engine::Inline,
        };
        Ok(Self {
            geometry,
            members: members.to_vec(),
            files,
            queue: VecDeque::with_capacity(depth as usize),
        })
    }
}

impl Target for InlineTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        if self.queue.len() >= self.geometry.depth as usize {
            return Err(op);
        }
        self.queue.push_back(op);
        Ok(())
    }

    #[inline(never)]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        if let (true, Wait::AtMost(time)) = (self.queue.is_empty(), wait) {
            // Nothing is in flight: this is the pause of a paced load.
            std::thread::sleep(time);
        }
        let Some(mut op) = self.queue.pop_front() else { return Ok(()) };
        let outcome = match &self.files[op.member as usize] {
            Some(file) => transfer(file, &mut op),
            None => Err(IoFailure { errno: libc::EBADF }),
        };
        done.push(Completion::new(op.tag, outcome, op.buf));
        Ok(())
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        let index = member as usize;
        let path = || self.members[index].path.display().to_string();
        self.files[index] = None;
        let file = self.members[index]
            .open()
            .map_err(|e| TargetLost::Reopen { path: path(), why: e.to_string() })?;
        self.files[index] = Some(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_member::tests::temporary_member;
    use crate::{IoBuf, OpKind};

    /// A block device named in /dev was taken for memory, because devtmpfs has the type of a tmpfs; it was measured one
    /// I/O at a time, whatever the plan requested.
    #[test]
    fn only_a_regular_file_can_be_in_memory() {
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        assert!(is_in_memory(file.path()));
        for other in ["/dev/shm", "/proc/version", "/nonexistent"] {
            assert!(!is_in_memory(Path::new(other)), "{other}");
        }
        let devices = std::fs::read_dir("/dev").unwrap().flatten().map(|entry| entry.path());
        for device in devices.filter(|path| !path.is_file()) {
            assert!(!is_in_memory(&device), "{}", device.display());
        }
    }

    #[test]
    fn written_data_is_read_back_in_order() {
        let (_keep, member) = temporary_member(1 << 20);
        let mut target = InlineTarget::open(&[member], 2).unwrap();
        let op = |tag, kind, buf| Op { tag, member: 0, kind, size_bytes: 4096, offset_bytes: 8192, buf };
        let mut buf = IoBuf::new(0, 4096);
        buf.fill(9);
        target.submit(op(0, OpKind::Write, buf)).unwrap();
        target.submit(op(1, OpKind::Read, IoBuf::new(1, 4096))).unwrap();
        assert!(target.submit(op(2, OpKind::Read, IoBuf::new(2, 4096))).is_err(), "two is the depth");
        let mut done = Vec::new();
        target.poll(Wait::One, &mut done).unwrap();
        assert_eq!(done.iter().map(|c| c.tag).collect::<Vec<_>>(), [0], "one at a time");
        target.poll(Wait::One, &mut done).unwrap();
        assert_eq!(done.iter().map(|c| c.tag).collect::<Vec<_>>(), [0, 1]);
        assert!(done[1].buf.iter().all(|b| *b == 9));
    }
}
