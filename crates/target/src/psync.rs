//! Files and block devices through plain positioned reads and writes: the fallback if io_uring is refused.
//!
//! One call blocks one thread, so a depth of N needs N helper threads. This keeps the queue depth as requested, unlike
//! tools that silently fall back to one I/O at a time.

use std::fs::File;
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use std::time::Instant;

use assay_spec::{Engine, Flush};
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};

use crate::file_member::FileMember;
use crate::open_error::OpenError;
use crate::stop::DROP_LIMIT;
use crate::trim::trim;
use crate::{BATCH_MAX, Completion, Geometry, IoFailure, Op, OpKind, Target, TargetLost, Wait};

/// Stack size of a helper, bytes; it needs very little.
const HELPER_STACK_BYTES: usize = 128 << 10;

/// Files and block devices, driven by helper threads that block in `pread` and `pwrite`.
pub struct PsyncTarget {
    geometry: Geometry,
    members: Vec<FileMember>,
    /// `None` only while a member is being reopened, or if that failed.
    files: Arc<Vec<RwLock<Option<File>>>>,
    helpers: Vec<JoinHandle<()>>,

    /// `None` only during drop: closing it ends the helpers.
    work: Option<Sender<Op>>,
    /// The helpers' end of the queue, to remove operations that no helper has started.
    todo: Receiver<Op>,
    finished: Receiver<Completion>,
    in_flight_count: u32,
}

impl PsyncTarget {
    /// Largest number of helper threads of one worker: further operations would wait here and not in the storage, so a
    /// larger depth must be refused.
    pub const DEPTH_MAX: u32 = 256;

    pub(crate) fn open(members: &[FileMember], depth: u32) -> Result<Self, OpenError> {
        let files = members
            .iter()
            .map(|m| m.open_first().map(|file| RwLock::new(Some(file))))
            .collect::<Result<Vec<_>, _>>()?;
        let files = Arc::new(files);
        let geometry = Geometry {
            members: members.iter().map(|m| m.span_bytes).collect(),
            block_bytes: members.iter().map(|m| m.block_bytes).max().unwrap_or(512),
            depth,
            engine: Engine::Psync,
        };
        let (work, todo) = bounded::<Op>(depth as usize);
        let (finish, finished) = bounded(depth as usize);
        let helpers = (0..depth.min(Self::DEPTH_MAX))
            .map(|_| {
                let (todo, finish, files) = (todo.clone(), finish.clone(), Arc::clone(&files));
                std::thread::Builder::new()
                    .name("assay-psync".into())
                    .stack_size(HELPER_STACK_BYTES)
                    .spawn(move || help(&todo, &finish, &files))
                    .map_err(OpenError::Thread)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            geometry,
            members: members.to_vec(),
            files,
            helpers,
            work: Some(work),
            todo,
            finished,
            in_flight_count: 0,
        })
    }

    fn take(&mut self, completion: Completion, done: &mut Vec<Completion>) {
        self.in_flight_count -= 1;
        done.push(completion);
    }

    fn first(&mut self, wait: Wait) -> Result<Option<Completion>, TargetLost> {
        if let (0, Wait::AtMost(time)) = (self.in_flight_count, wait) {
            std::thread::sleep(time);
            return Ok(None);
        }
        match wait {
            Wait::One if self.in_flight_count > 0 => {
                self.finished.recv().map(Some).map_err(|_| TargetLost::Helper)
            }
            Wait::AtMost(time) => Ok(self.finished.recv_timeout(time).ok()),
            _ => Ok(self.finished.try_recv().ok()),
        }
    }
}

impl Target for PsyncTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(never)]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        let Some(work) = &self.work else { return Err(op) };
        work.try_send(op).map_err(crossbeam_channel::TrySendError::into_inner)?;
        self.in_flight_count += 1;
        Ok(())
    }

    #[inline(never)]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        let Some(first) = self.first(wait)? else { return Ok(()) };
        self.take(first, done);
        for _ in 1..BATCH_MAX {
            match self.finished.try_recv() {
                Ok(next) => self.take(next, done),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(TargetLost::Helper),
            }
        }
        Ok(())
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        let index = member as usize;
        let path = || self.members[index].path.display().to_string();
        let mut place = self.files[index].write().map_err(|_| TargetLost::Helper)?;
        *place = None;
        let file = self.members[index]
            .open()
            .map_err(|e| TargetLost::Reopen { path: path(), why: e.to_string() })?;
        *place = Some(file);
        Ok(())
    }
}

impl Drop for PsyncTarget {
    fn drop(&mut self) {
        self.work = None;
        // Operations that no helper has started are dropped.
        while self.todo.try_recv().is_ok() {
            self.in_flight_count -= 1;
        }
        let deadline = Instant::now() + DROP_LIMIT;
        while self.in_flight_count > 0 {
            if self.finished.recv_deadline(deadline).is_err() {
                // A helper that is stuck in the kernel owns its buffer, and nobody waits for it.
                return;
            }
            self.in_flight_count -= 1;
        }
        for helper in self.helpers.drain(..) {
            // A helper that panicked has already lost its operation; there is nothing left to wait for.
            let _ = helper.join();
        }
    }
}

fn help(todo: &Receiver<Op>, finish: &Sender<Completion>, files: &[RwLock<Option<File>>]) {
    while let Ok(mut op) = todo.recv() {
        let outcome = match files[op.member as usize].read() {
            Ok(file) => match &*file {
                Some(file) => transfer(file, &mut op),
                None => Err(IoFailure { errno: libc::EBADF }),
            },
            Err(_) => Err(IoFailure { errno: libc::EIO }),
        };
        if finish.send(Completion::new(op.tag, outcome, op.buf)).is_err() {
            return;
        }
    }
}

/// Executes one call like the asynchronous engine: a short transfer is reported, not continued.
///
/// Not by the standard library: the C library behind it makes each call a point at which its thread may be cancelled,
/// by two atomic operations.
pub(crate) fn transfer(file: &File, op: &mut Op) -> Result<u32, IoFailure> {
    // A trim may be larger than any buffer.
    let bytes = if op.kind == OpKind::Trim { 0 } else { op.size_bytes as usize };
    let bytes = &mut op.buf[..bytes];
    loop {
        let result = match op.kind {
            OpKind::Read => pread(file, &mut *bytes, op.offset_bytes),
            OpKind::Write => pwrite(file, bytes, op.offset_bytes),
            OpKind::Trim => trim(file, op.offset_bytes, op.size_bytes).map(|()| op.size_bytes as usize),
            OpKind::Flush(Flush::Data) => fdatasync(file).map(|()| 0),
            OpKind::Flush(Flush::All) => fsync(file).map(|()| 0),
        };
        match result {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(IoFailure { errno: errno.raw_os_error() }),
            Ok(moved) => return Ok(u32::try_from(moved).expect("at most the 32-bit size that was asked for")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IoBuf;
    use crate::file_member::tests::temporary_member;

    #[test]
    fn written_data_is_read_back_at_depth() {
        let (_keep, member) = temporary_member(1 << 20);
        let mut target = PsyncTarget::open(&[member], 4).unwrap();
        let mut done = Vec::new();
        for tag in 0..4_u32 {
            let mut buf = IoBuf::new(tag, 4096);
            buf.fill(u8::try_from(tag).unwrap() + 1);
            let offset_bytes = u64::from(tag) * 4096;
            target
                .submit(Op { tag, member: 0, kind: OpKind::Write, size_bytes: 4096, offset_bytes, buf })
                .unwrap();
        }
        while done.len() < 4 {
            target.poll(Wait::One, &mut done).unwrap();
        }
        target.reopen(0).unwrap();
        let Completion { tag, outcome, buf, .. } = done.pop().unwrap();
        assert_eq!(outcome, Ok(4096));
        let offset_bytes = u64::from(tag) * 4096;
        target
            .submit(Op { tag, member: 0, kind: OpKind::Read, size_bytes: 4096, offset_bytes, buf })
            .unwrap();
        done.clear();
        target.poll(Wait::One, &mut done).unwrap();
        assert!(done[0].buf.iter().all(|b| u32::from(*b) == tag + 1));
    }
}
