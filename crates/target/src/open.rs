//! Opens the target that drives given members.

use std::io;

use crate::access::IoEngine;
use crate::file_member::FileMember;
use crate::inline::InlineTarget;
use crate::lun::LunTarget;
use crate::member::Member;
use crate::nfs::NfsTarget;
use crate::null::NullTarget;
use crate::open_error::OpenError;
use crate::psync::PsyncTarget;
use crate::remote::{Moment, RemoteReport};
use crate::uring::UringTarget;
use crate::{Completion, Geometry, IoBuf, Op, Target, TargetLost, Wait};

/// Arguments of [`open`].
#[derive(Debug)]
pub struct OpenRequest<'r> {
    /// Members of the target: all of one kind, and only one LUN or file on an NFS server.
    pub members: &'r [Member],
    /// Largest number of operations in flight.
    pub depth: u32,
    /// How I/O is issued to files and devices.
    pub engine: IoEngine,
    /// Buffers of the operations, to be registered.
    pub buffers: &'r [IoBuf],
}

impl OpenRequest<'_> {
    /// Returns the usable bytes of each member.
    pub fn spans(&self) -> Vec<u64> {
        self.members.iter().map(Member::span_bytes).collect()
    }
}

/// Opens the target that drives the given members. Call it on the thread that will drive it.
pub fn open(request: &OpenRequest<'_>) -> Result<AnyTarget, OpenError> {
    let depth = request.depth;
    match request.members {
        [Member::Lun(lun)] => {
            return LunTarget::open(lun, depth).map(|target| AnyTarget::Lun(Box::new(target)));
        }
        [Member::Nfs(file)] => {
            return NfsTarget::open(file, depth).map(|target| AnyTarget::Nfs(Box::new(target)));
        }
        [Member::Simulated(member), ..] => {
            let why = "only assay run and assay calibrate support simulated arrays".to_owned();
            return Err(OpenError::Simulated { array: member.array.clone(), why });
        }
        members if members.iter().all(|member| matches!(member, Member::Null { .. })) => {
            return Ok(AnyTarget::Null(NullTarget::new(request.spans(), depth)));
        }
        _ => {}
    }
    let files = files(request.members)?;
    match request.engine {
        IoEngine::Inline => InlineTarget::open(&files, depth).map(AnyTarget::Inline),
        IoEngine::Uring => UringTarget::open(&files, depth, request.buffers).map(AnyTarget::Uring),
        IoEngine::Psync => PsyncTarget::open(&files, depth).map(AnyTarget::Psync),
    }
}

/// Returns the files and devices that are driven together; fails for any other member.
fn files(members: &[Member]) -> Result<Vec<FileMember>, OpenError> {
    let file = |member: &Member| match member {
        Member::File(file) => Ok(file.clone()),
        Member::Lun(lun) => Err(OpenError::LunShares(lun.address.to_string())),
        Member::Nfs(file) => Err(OpenError::LunShares(file.address.to_string())),
        Member::Null { .. } => Err(OpenError::MixedKinds("null:".into())),
        Member::Simulated(member) => Err(OpenError::MixedKinds(format!("sim:{}", member.array))),
    };
    members.iter().map(file).collect()
}

/// Returns the error if this process may not use io_uring: policies (sysctl, seccomp) refuse it on many hosts, and
/// kernels before 5.11 cannot wait for a limited time.
pub fn uring_refused() -> Option<io::Error> {
    match io_uring::IoUring::new(2) {
        Ok(ring) if ring.params().is_feature_ext_arg() => None,
        Ok(_) => Some(io::Error::new(
            io::ErrorKind::Unsupported,
            "waiting with a time limit needs Linux 5.11 or later",
        )),
        Err(error) => Some(error),
    }
}

/// A target of any kind.
#[expect(
    clippy::large_enum_variant,
    reason = "one per worker, and a pointer more would be followed for every I/O"
)]
pub enum AnyTarget {
    /// The null target.
    Null(NullTarget),
    /// io_uring.
    Uring(UringTarget),
    /// pread and pwrite on helper threads.
    Psync(PsyncTarget),
    /// pread and pwrite in the worker's thread.
    Inline(InlineTarget),
    /// A logical unit over iSCSI.
    Lun(Box<LunTarget>),
    /// A file on an NFS server.
    Nfs(Box<NfsTarget>),
    /// One of another room: a simulated array.
    Other(Box<dyn Target>),
}

/// Opens the target of a worker, in its thread.
pub type Opener<'o> = dyn Fn(&OpenRequest<'_>) -> Result<AnyTarget, OpenError> + Sync + 'o;

macro_rules! each {
    ($self:ident, $target:ident => $call:expr) => {
        match $self {
            AnyTarget::Null($target) => $call,
            AnyTarget::Uring($target) => $call,
            AnyTarget::Psync($target) => $call,
            AnyTarget::Inline($target) => $call,
            AnyTarget::Lun($target) => $call,
            AnyTarget::Nfs($target) => $call,
            AnyTarget::Other($target) => $call,
        }
    };
}

impl Target for AnyTarget {
    fn geometry(&self) -> &Geometry {
        each!(self, t => t.geometry())
    }

    // Together with the methods of the targets that stay calls (`inline(never)`), this leaves little between the worker
    // and a target in memory: merged into one function, every target would pay for the registers of all.
    #[inline(always)]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        each!(self, t => t.submit(op))
    }

    #[inline]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        each!(self, t => t.poll(wait, done))
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        each!(self, t => t.reopen(member))
    }

    fn remote_report(&mut self, moment: Moment<'_>) -> Option<RemoteReport> {
        each!(self, t => t.remote_report(moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_member::tests::temporary_member;

    /// A reopen opened the new file before it closed the old one, so the storage never saw the last close when Iometer
    /// reconnects.
    #[test]
    fn a_member_is_closed_before_it_is_opened_again() {
        use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
        let (_keep, member) = temporary_member(4096);
        for engine in [IoEngine::Uring, IoEngine::Inline, IoEngine::Psync] {
            let request =
                OpenRequest { members: &[Member::File(member.clone())], depth: 1, engine, buffers: &[] };
            let mut target = open(&request).unwrap();
            let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
            inotify::add_watch(&watch, &member.path, WatchFlags::OPEN | WatchFlags::CLOSE).unwrap();
            target.reopen(0).unwrap();
            let mut room = [std::mem::MaybeUninit::uninit(); 512];
            let mut reader = inotify::Reader::new(&watch, &mut room);
            let mut seen = Vec::new();
            while let Ok(event) = reader.next() {
                seen.push(event.events().contains(ReadFlags::OPEN));
            }
            assert_eq!(seen, [false, true], "{engine:?}: closed, then opened");
        }
    }
}
