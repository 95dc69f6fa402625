//! Files and block devices through io_uring: one ring per worker, registered files and buffers, and two operations per
//! system call, the last of which also waits for the next completions.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use assay_spec::{Engine, Flush};
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use crate::file_member::FileMember;
use crate::open_error::OpenError;
use crate::stop::DROP_LIMIT;
use crate::trim::{self, Ground};
use crate::{BATCH_MAX, Completion, Geometry, IoBuf, IoFailure, Op, OpKind, Target, TargetLost, Wait};

/// `io_uring_enter` flag: reap completions, and run work that the kernel deferred to this thread.
const ENTER_GETEVENTS: u32 = 1;

/// Number of operations started by one system call. From three on the kernel delays them until it has all (it plugs the
/// block layer), merges adjacent ones and sends a burst to the device: other requests than the plan specifies, and the
/// queue runs empty in between. On a virtual disk that cost 13 % of the IOPS and 20 % of p50 at 4 KiB and depth 32.
const AT_ONCE: u32 = 2;

/// Files and block devices, driven through one ring.
///
/// The field order matters for Drop: the ring is dropped before the files and buffers that it refers to, and `drop`
/// waits before any of that.
pub struct UringTarget {
    ring: IoUring,
    /// `None` only where a member could not be opened again.
    files: Vec<Option<File>>,
    geometry: Geometry,
    members: Vec<FileMember>,
    /// By member: what its trims go to.
    grounds: Vec<Ground>,
    /// True if the workers' buffers are registered, which avoids pinning their pages for every operation;
    /// they are not if the limit on locked memory is low.
    has_fixed_buffers: bool,

    /// Operations in the kernel, by tag. A buffer in here must not be freed.
    in_flight: Vec<Option<Op>>,
    in_flight_count: u32,
    lost: Option<TargetLost>,
}

impl UringTarget {
    /// Opens `members` for up to `depth` operations that use `buffers`. Call it on the thread that will drive the
    /// target: the kernel binds the ring to it.
    pub(crate) fn open(members: &[FileMember], depth: u32, buffers: &[IoBuf]) -> Result<Self, OpenError> {
        let files = members.iter().map(FileMember::open_first).collect::<Result<Vec<_>, _>>()?;
        let ring = cheapest_ring(depth).map_err(OpenError::Ring)?;
        let descriptors: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors).map_err(OpenError::Ring)?;
        let geometry = Geometry {
            members: members.iter().map(|m| m.span_bytes).collect(),
            block_bytes: members.iter().map(|m| m.block_bytes).max().unwrap_or(512),
            depth,
            engine: Engine::IoUring,
        };
        let grounds = files.iter().map(Ground::of).collect::<Result<_, _>>().map_err(OpenError::Ring)?;
        let iovecs: Vec<_> = buffers.iter().map(IoBuf::iovec).collect();
        // SAFETY: each vector describes memory owned by an `IoBuf`. The kernel pins the pages while they are
        // registered, so they stay valid for it even when the `IoBuf` is freed first; and it only touches them for
        // operations in flight, which own their buffer.
        let has_fixed_buffers =
            !iovecs.is_empty() && unsafe { ring.submitter().register_buffers(&iovecs) }.is_ok();
        Ok(Self {
            ring,
            files: files.into_iter().map(Some).collect(),
            geometry,
            members: members.to_vec(),
            grounds,
            has_fixed_buffers,
            in_flight: (0..depth).map(|_| None).collect(),
            in_flight_count: 0,
            lost: None,
        })
    }

    fn entry(&self, op: &Op) -> squeue::Entry {
        let (file, start, size, slot) = (Fixed(op.member), op.buf.as_ptr(), op.size_bytes, op.buf.slot());
        let entry = match (op.kind, self.has_fixed_buffers) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "register_buffers takes at most 16,384 buffers"
            )]
            (OpKind::Read, true) => {
                opcode::ReadFixed::new(file, start, size, slot as u16).offset(op.offset_bytes).build()
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "register_buffers takes at most 16,384 buffers"
            )]
            (OpKind::Write, true) => {
                opcode::WriteFixed::new(file, start, size, slot as u16).offset(op.offset_bytes).build()
            }
            (OpKind::Trim, _) => trim::entry(file, self.grounds[op.member as usize], op.offset_bytes, size),
            (OpKind::Flush(Flush::All), _) => opcode::Fsync::new(file).build(),
            (OpKind::Flush(Flush::Data), _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            (OpKind::Read, false) => opcode::Read::new(file, start, size).offset(op.offset_bytes).build(),
            (OpKind::Write, false) => opcode::Write::new(file, start, size).offset(op.offset_bytes).build(),
        };
        entry.user_data(u64::from(op.tag))
    }

    /// Starts submitted operations and waits as requested.
    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        match self.start_all_but_the_last().and_then(|()| self.start_and_wait(wait)) {
            // A signal, an expired wait, or completions to be reaped before more can start: the caller's next turn
            // handles all of them.
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN)
                ) =>
            {
                Ok(())
            }
            result => result,
        }
    }

    /// Starts operations until at most `AT_ONCE` are left.
    fn start_all_but_the_last(&mut self) -> io::Result<()> {
        while self.waiting_to_start() > AT_ONCE {
            // SAFETY: no argument is passed; the kernel takes entries that `submit` has filled.
            let started = unsafe { self.ring.submitter().enter::<libc::sigset_t>(AT_ONCE, 0, 0, None) }?;
            if started == 0 {
                break;
            }
        }
        Ok(())
    }

    fn waiting_to_start(&mut self) -> u32 {
        u32::try_from(self.ring.submission().len()).expect("a ring holds at most 32,768 entries")
    }

    /// Starts the remaining operations and waits, with one system call.
    fn start_and_wait(&mut self, wait: Wait) -> io::Result<()> {
        let to_submit = self.waiting_to_start();
        // Completions left from the last batch make the wait unnecessary.
        let is_ready = !self.ring.completion().is_empty();
        let result = match wait {
            _ if is_ready && to_submit == 0 => return Ok(()),
            Wait::One if !is_ready && self.in_flight_count > 0 => self.ring.submit_and_wait(1),
            Wait::AtMost(time) if !is_ready => {
                let timespec = Timespec::from(time);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
            }
            _ => {
                // SAFETY: no argument is passed, and the flag only asks for completions to be posted.
                unsafe { self.ring.submitter().enter::<libc::sigset_t>(to_submit, 0, ENTER_GETEVENTS, None) }
            }
        };
        result.map(|_| ())
    }

    /// Closes and reopens a member. The ring holds the file too: both must release it before it is opened again, or its
    /// last close would never happen.
    fn close_and_open(&mut self, member: u32) -> Result<File, String> {
        const NO_FILE: i32 = -1;
        let index = member as usize;
        let submitter = self.ring.submitter();
        submitter.register_files_update(member, &[NO_FILE]).map_err(|e| e.to_string())?;
        self.files[index] = None;
        let file = self.members[index].open().map_err(|e| e.to_string())?;
        submitter.register_files_update(member, &[file.as_raw_fd()]).map_err(|e| e.to_string())?;
        Ok(file)
    }

    fn reap(&mut self, done: &mut Vec<Completion>) {
        let mut queue = self.ring.completion();
        queue.sync();
        for entry in queue.by_ref().take(BATCH_MAX) {
            let index = usize::try_from(entry.user_data()).expect("tags are 32 bits");
            let op = self.in_flight[index].take().expect("the kernel completes an operation once");
            self.in_flight_count -= 1;
            let result = trimmed(&op, entry.result(), &self.files, &self.grounds);
            let moved = u32::try_from(result).map_err(|_| IoFailure { errno: -result });
            // The kernel returns 0 if no data is transferred.
            let outcome = if op.kind == OpKind::Trim { moved.map(|_| op.size_bytes) } else { moved };
            done.push(Completion::new(op.tag, outcome, op.buf));
        }
    }
}

/// Returns the result of an operation; a trim that the ring has no command for is done again by a call, which blocks.
fn trimmed(op: &Op, result: i32, files: &[Option<File>], grounds: &[Ground]) -> i32 {
    let member = op.member as usize;
    let is_again =
        op.kind == OpKind::Trim && grounds[member] == Ground::Device && trim::is_unknown_command(result);
    match &files[member] {
        Some(file) if is_again => trim::discard(file, op.offset_bytes, op.size_bytes)
            .map_or_else(|errno| -errno.raw_os_error(), |()| 0),
        _ => result,
    }
}

impl Target for UringTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(never)]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        let tag = op.tag as usize;
        if self.lost.is_some() || self.in_flight.get(tag).is_none_or(Option::is_some) {
            return Err(op);
        }
        let is_within = op.kind == OpKind::Trim || op.size_bytes as usize <= op.buf.len();
        assert!(is_within, "the kernel must stay within the buffer");
        let entry = self.entry(&op);
        // SAFETY: the entry points into `op.buf`, which is as large as it says and kept in `in_flight` until the kernel
        // has completed it, and at a registered file, which `reopen` replaces only while none of its operations is in
        // flight.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Err(op);
        }
        self.in_flight[tag] = Some(op);
        self.in_flight_count += 1;
        Ok(())
    }

    #[inline(never)]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        if let Err(error) = self.enter(wait) {
            let lost = TargetLost::Ring(error.to_string());
            self.lost = Some(lost.clone());
            return Err(lost);
        }
        self.reap(done);
        Ok(())
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        let index = member as usize;
        match self.close_and_open(member) {
            Ok(file) => {
                self.files[index] = Some(file);
                Ok(())
            }
            Err(why) => {
                let lost = TargetLost::Reopen { path: self.members[index].path.display().to_string(), why };
                self.lost = Some(lost.clone());
                Err(lost)
            }
        }
    }
}

impl Drop for UringTarget {
    fn drop(&mut self) {
        let mut done = Vec::with_capacity(BATCH_MAX);
        let deadline = Instant::now() + DROP_LIMIT;
        while self.in_flight_count > 0 {
            let wait = Wait::AtMost(Duration::from_millis(50));
            if self.lost.is_some() || Instant::now() >= deadline || self.enter(wait).is_err() {
                // The kernel may still write to these buffers, and there is no way to learn when that ends: never free
                // them.
                self.in_flight.drain(..).flatten().for_each(std::mem::forget);
                return;
            }
            self.reap(&mut done);
            done.clear();
        }
    }
}

/// Returns a ring with the cheapest configuration of the kernel. Kernels refuse unknown flags, so the best is tried
/// first.
fn cheapest_ring(depth: u32) -> io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    let builder = || {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_cqsize(entries * 2);
        builder
    };
    // 6.1: this thread handles completions when it asks for them, without being interrupted. 6.6: no index array.
    let newest = builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_no_sqarray()
        .setup_submit_all()
        .build(entries);
    newest
        .or_else(|_| builder().setup_single_issuer().setup_defer_taskrun().setup_submit_all().build(entries))
        .or_else(|_| builder().setup_coop_taskrun().build(entries))
        .or_else(|_| builder().build(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_member::tests::temporary_member;

    #[test]
    fn written_data_is_read_back_and_every_buffer_is_returned() {
        let (_keep, member) = temporary_member(1 << 20);
        let buffers: Vec<IoBuf> = (0..8).map(|slot| IoBuf::new(slot, 4096)).collect();
        let mut target = UringTarget::open(&[member], 8, &buffers).unwrap();
        let mut done = Vec::new();
        for (tag, mut buf) in buffers.into_iter().enumerate() {
            buf.fill(u8::try_from(tag + 1).unwrap());
            let tag = u32::try_from(tag).unwrap();
            let offset_bytes = u64::from(tag) * 4096;
            target
                .submit(Op { tag, member: 0, kind: OpKind::Write, size_bytes: 4096, offset_bytes, buf })
                .unwrap();
        }
        while done.len() < 8 {
            target.poll(Wait::One, &mut done).unwrap();
        }
        let mut again = Vec::new();
        for mut completion in done.drain(..) {
            assert_eq!(completion.outcome, Ok(4096));
            completion.buf.fill(0);
            let (tag, buf) = (completion.tag, completion.buf);
            let offset_bytes = u64::from(tag) * 4096;
            target
                .submit(Op { tag, member: 0, kind: OpKind::Read, size_bytes: 4096, offset_bytes, buf })
                .unwrap();
        }
        while again.len() < 8 {
            target.poll(Wait::One, &mut again).unwrap();
        }
        assert!(again.iter().all(|c| c.buf.iter().all(|b| u32::from(*b) == c.tag + 1)));
    }

    #[test]
    fn a_busy_tag_returns_the_operation() {
        let (_keep, member) = temporary_member(1 << 20);
        let mut target = UringTarget::open(&[member], 1, &[]).unwrap();
        let op = |buf| Op { tag: 0, member: 0, kind: OpKind::Read, size_bytes: 512, offset_bytes: 0, buf };
        target.submit(op(IoBuf::new(0, 512))).unwrap();
        assert_eq!(target.submit(op(IoBuf::new(1, 512))).unwrap_err().buf.slot(), 1);
    }

    #[test]
    fn a_failed_operation_completes_with_its_error_number() {
        let (_keep, mut member) = temporary_member(1 << 20);
        member.access = crate::access::AccessMode::ReadOnly;
        let mut target = UringTarget::open(&[member], 1, &[]).unwrap();
        let buf = IoBuf::new(0, 4096);
        target
            .submit(Op { tag: 0, member: 0, kind: OpKind::Write, size_bytes: 4096, offset_bytes: 0, buf })
            .unwrap();
        let mut done = Vec::new();
        target.poll(Wait::One, &mut done).unwrap();
        assert_eq!(done[0].outcome, Err(IoFailure { errno: libc::EBADF }));
    }

    #[test]
    fn a_timed_wait_returns_when_nothing_is_in_flight() {
        let (_keep, member) = temporary_member(1 << 20);
        let mut target = UringTarget::open(&[member], 1, &[]).unwrap();
        let mut done = Vec::new();
        target.poll(Wait::AtMost(std::time::Duration::from_millis(5)), &mut done).unwrap();
        target.poll(Wait::One, &mut done).unwrap();
        assert!(done.is_empty());
    }
}
