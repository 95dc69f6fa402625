//! From members to the target that drives them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use assay_spec::Engine;
use rustix::fs::{Mode, OFlags};
use thiserror::Error;

use crate::file::{FileIdentity, Marker};
use crate::fingerprint::{END_BYTES, HeadCheck, drop_pages, is_own};
use crate::inline::InlineTarget;
use crate::lun::LunTarget;
use crate::member::Member;
use crate::nfs::NfsTarget;
use crate::null::NullTarget;
use crate::psync::PsyncTarget;
use crate::remote::{Moment, RemoteReport};
use crate::uring::UringTarget;
use crate::{Completion, Geometry, IoBuf, Op, Target, TargetLost, Wait};

/// A file or block device, and how it is to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMember {
    /// The file or device node, as it was given.
    pub path: PathBuf,
    /// Which file it must be, however the path is understood later; `None`: whichever it is.
    pub binding: Option<Binding>,
    /// Whether writes are allowed.
    pub access: AccessMode,
    /// Past the page cache or through it.
    pub caching: Caching,
    /// Whether each write waits until it is durable.
    pub durability: Durability,
    /// Usable bytes from its start.
    pub span_bytes: u64,
    /// Offsets and sizes must be multiples of this, bytes.
    pub block_bytes: u32,
}

/// Which file or device a path led to when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The path with all links resolved.
    pub real: PathBuf,
    /// What was there.
    pub identity: FileIdentity,
    /// Number of this run in the mark of the file; `None` for what carries no mark.
    pub run: Option<String>,
    /// What a device must hold.
    pub head: HeadCheck,
}

/// Whether a member may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Reads only; the kernel refuses writes.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// Past the page cache or through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// O_DIRECT: what the storage does.
    Direct,
    /// Through the page cache: what an application sees.
    Cached,
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the device says so; its own cache may still hold it.
    Device,
    /// O_DSYNC: when it survives a power loss.
    Sync,
}

/// How I/O is issued to files and block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// io_uring.
    Uring,
    /// Blocking calls by the thread that drives the target, one at a time: for files in memory.
    Inline,
    /// pread and pwrite on helper threads.
    Psync,
}

/// What [`open`] needs.
#[derive(Debug)]
pub struct OpenRequest<'r> {
    /// What the target drives: all of one kind, and of LUNs and files on NFS servers only one.
    pub members: &'r [Member],
    /// The most operations in flight.
    pub depth: u32,
    /// How I/O is issued to files and devices.
    pub engine: IoEngine,
    /// The buffers that operations will use, to be registered.
    pub buffers: &'r [IoBuf],
}

impl OpenRequest<'_> {
    /// Returns the usable bytes of each member.
    #[must_use]
    pub fn spans(&self) -> Vec<u64> {
        self.members.iter().map(Member::span_bytes).collect()
    }
}

/// A LUN of a simulated array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedMember {
    /// As it stands in the address: an array that ships, or the path of an array file.
    pub array: String,
    /// Which LUN: its place on the command line.
    pub lun: u32,
    /// Bytes that are used.
    pub span_bytes: u64,
}

/// Why a target could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file system has no direct I/O.
    #[error(
        "{0}: this file system does not support direct I/O; choose a target on another file system, or use --cached \
         to measure through the page cache"
    )]
    NoDirectIo(String),
    /// The member cannot be opened.
    #[error("cannot open {path}: {source}")]
    Open {
        /// Which one.
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// Another file has taken the place of the one that was prepared.
    #[error(
        "{0} was replaced by another file after it was prepared; nothing was written to it; start the run again"
    )]
    Replaced(String),
    /// Somebody else changed a target, or another one took its place, before this run wrote to it.
    #[error(
        "{target} changed after Assay inspected it ({what}), so it was not written; find out what else uses it, and \
         start the run again"
    )]
    Changed {
        /// Path or address.
        target: String,
        /// What changed.
        what: String,
    },
    /// The ring could not be made.
    #[error("cannot set up io_uring: {0}; use --io psync")]
    Ring(#[source] io::Error),
    /// This caller brings no simulation.
    #[error("cannot open sim:{array}: {why}")]
    Simulated {
        /// The array.
        array: String,
        /// What is in the way.
        why: String,
    },
    /// A LUN cannot be reached or used.
    #[error("{lun}: {why}")]
    Lun {
        /// Its address.
        lun: String,
        /// Why not.
        why: String,
    },
    /// A file on an NFS server was replaced.
    #[error(
        "{file}: the name now refers to another file, or to none: the file was moved, replaced or removed after \
         it was opened; the present file is left unchanged"
    )]
    NfsElsewhere {
        /// Its address.
        file: String,
    },
    /// A file on an NFS server cannot be reached or used.
    #[error("{file}: {why}")]
    Nfs {
        /// Its address.
        file: String,
        /// Why not, and what would help.
        why: String,
    },
    /// An NFS server did not answer within the time there was.
    #[error("{file}: {why}")]
    NfsSilent {
        /// Its address.
        file: String,
        /// What it did not answer.
        why: String,
    },
    /// More in flight than the initiator takes.
    #[error("{lun}: {depth} outstanding I/Os of one worker are more than {most}; use several workers")]
    LunDepth {
        /// Its address.
        lun: String,
        /// As asked for.
        depth: u32,
        /// What is possible.
        most: u32,
    },
    /// Several LUNs in one job.
    #[error(
        "{0} and other targets cannot share a job; give each LUN or NFS file a job of its own (`targets = [0]` and \
         so on)"
    )]
    LunShares(String),
    /// Members of several kinds in one job.
    #[error(
        "{0} and targets of another kind cannot share a job; give each kind a job of its own (`targets = [0]` and so \
         on)"
    )]
    MixedKinds(String),
    /// A helper thread could not be started.
    #[error("cannot start a thread for the psync engine: {0}; lower `outstanding` or `workers`")]
    Thread(#[source] io::Error),
}

/// What changed, where the start of a target holds something else than this run wrote.
pub(crate) const NOT_OWN: &str = "its start holds data that Assay did not write";

impl FileMember {
    /// Opens the file as described; never creates or truncates.
    pub fn open(&self) -> Result<File, OpenError> {
        let mut flags = OFlags::CLOEXEC;
        flags |= match self.access {
            AccessMode::ReadOnly => OFlags::RDONLY,
            AccessMode::ReadWrite => OFlags::RDWR,
        };
        if self.caching == Caching::Direct {
            flags |= OFlags::DIRECT;
        }
        if self.durability == Durability::Sync {
            flags |= OFlags::DSYNC;
        }
        let path = || self.path.display().to_string();
        let real: &Path = match &self.binding {
            Some(binding) => {
                flags |= OFlags::NOFOLLOW;
                &binding.real
            }
            None => &self.path,
        };
        let opened = rustix::fs::open(real, flags, Mode::empty());
        let file = opened.map(File::from).map_err(|errno| match (errno, self.caching) {
            (rustix::io::Errno::INVAL, Caching::Direct) => OpenError::NoDirectIo(path()),
            (rustix::io::Errno::LOOP, _) if self.binding.is_some() => OpenError::Replaced(path()),
            _ => OpenError::Open { path: path(), source: errno.into() },
        })?;
        let identity = FileIdentity::of(&file).map_err(|source| OpenError::Open { path: path(), source })?;
        match &self.binding {
            Some(expected) if expected.identity != identity => Err(OpenError::Replaced(path())),
            _ => Ok(file),
        }
    }

    /// Opens the file for the first time on a worker: a file that is written must carry the mark of this run, and a
    /// device that this run filled must hold its data.
    pub(crate) fn open_first(&self) -> Result<File, OpenError> {
        let file = self.open()?;
        let Some(binding) = &self.binding else { return Ok(file) };
        let path = || self.path.display().to_string();
        let failed = |source| OpenError::Open { path: path(), source };
        let changed = |what: &str| Err(OpenError::Changed { target: path(), what: what.to_owned() });
        if let Some(run) = &binding.run
            && Marker::run_of(&binding.real, &file).map_err(failed)? != *run
        {
            return changed("its mark");
        }
        if binding.head == HeadCheck::OwnData && !self.has_own_head(&binding.real).map_err(failed)? {
            return changed(NOT_OWN);
        }
        Ok(file)
    }

    /// Reads by a descriptor of its own, as that of the worker may take aligned buffers only.
    fn has_own_head(&self, real: &Path) -> io::Result<bool> {
        let head_bytes = usize::try_from(END_BYTES.min(self.span_bytes)).expect("an end is short");
        let mut head = vec![0; head_bytes];
        let file = crate::file::open(real, AccessMode::ReadOnly)?;
        drop_pages(&file, 0, head_bytes);
        file.read_exact_at(&mut head, 0)?;
        drop_pages(&file, 0, head_bytes);
        Ok(is_own(&head))
    }
}

impl IoEngine {
    /// Returns its name in the record.
    #[must_use]
    pub const fn recorded(self) -> Engine {
        match self {
            Self::Uring => Engine::IoUring,
            Self::Inline => Engine::Inline,
            Self::Psync => Engine::Psync,
        }
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

/// The files and devices that are driven together; anything else among them is refused.
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

/// Returns true if this process may use io_uring: policies (sysctl, seccomp) refuse it on many hosts, and kernels
/// before 5.11 cannot wait for a limited time.
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

/// One of the targets there are.
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
    /// pread and pwrite at once.
    Inline(InlineTarget),
    /// A logical unit over iSCSI.
    Lun(Box<LunTarget>),
    /// A file on an NFS server.
    Nfs(Box<NfsTarget>),
}

macro_rules! each {
    ($self:ident, $target:ident => $call:expr) => {
        match $self {
            AnyTarget::Null($target) => $call,
            AnyTarget::Uring($target) => $call,
            AnyTarget::Psync($target) => $call,
            AnyTarget::Inline($target) => $call,
            AnyTarget::Lun($target) => $call,
            AnyTarget::Nfs($target) => $call,
        }
    };
}

impl Target for AnyTarget {
    fn geometry(&self) -> &Geometry {
        each!(self, t => t.geometry())
    }

    #[inline]
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
pub(crate) mod tests {
    use super::*;

    /// A file of `size` bytes that is gone when the first value is dropped.
    pub(crate) fn temporary_member(size: u64) -> (tempfile::NamedTempFile, FileMember) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(size).unwrap();
        let member = FileMember {
            path: file.path().to_owned(),
            binding: None,
            access: AccessMode::ReadWrite,
            caching: Caching::Cached,
            durability: Durability::Device,
            span_bytes: size,
            block_bytes: 512,
        };
        (file, member)
    }

    #[test]
    fn a_file_that_took_the_place_of_another_is_not_opened() {
        let (keep, mut member) = temporary_member(4096);
        let identity = FileIdentity::of(keep.as_file()).unwrap();
        member.binding =
            Some(Binding { real: keep.path().to_owned(), identity, run: None, head: HeadCheck::Nothing });
        member.open().unwrap();
        let (other, _) = temporary_member(4096);
        let aside = keep.path().with_extension("aside");
        std::fs::rename(keep.path(), &aside).unwrap();
        std::os::unix::fs::symlink(&aside, keep.path()).unwrap();
        assert!(matches!(member.open(), Err(OpenError::Replaced(_))), "a link, even to the file itself");
        std::fs::remove_file(aside).unwrap();
        std::fs::rename(other.path(), keep.path()).unwrap();
        assert!(matches!(member.open(), Err(OpenError::Replaced(_))));
    }

    #[test]
    fn a_file_that_carries_another_mark_than_that_of_the_run_is_not_opened() {
        let (keep, mut member) = temporary_member(4096);
        let mut marker = Marker::new(true);
        marker.begin_run(60);
        marker.write(keep.path(), keep.as_file(), true).unwrap();
        let identity = FileIdentity::of(keep.as_file()).unwrap();
        let real = keep.path().to_owned();
        let run = Some(marker.run.clone());
        member.binding = Some(Binding { real, identity, run, head: HeadCheck::Nothing });
        member.open_first().unwrap();
        marker.begin_run(60);
        marker.write(keep.path(), keep.as_file(), true).unwrap();
        let refused = member.open_first().unwrap_err().to_string();
        assert!(refused.contains("changed after Assay inspected it (its mark)"), "{refused}");
    }

    /// A reopen once opened the new file before it closed the old one, so the last close that a storage sees when
    /// Iometer reconnects never came.
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

    #[test]
    fn a_missing_file_is_named() {
        let (_keep, mut member) = temporary_member(0);
        member.path = "/nonexistent/t.dat".into();
        let message = member.open().unwrap_err().to_string();
        assert!(message.starts_with("cannot open /nonexistent/t.dat: No such file"), "{message}");
    }

    #[test]
    fn a_file_system_without_direct_io_names_the_choice() {
        let (_keep, mut member) = temporary_member(0);
        // procfs refuses O_DIRECT, as overlay and FUSE mounts may.
        (member.path, member.access, member.caching) =
            ("/proc/version".into(), AccessMode::ReadOnly, Caching::Direct);
        assert!(member.open().unwrap_err().to_string().contains("--cached"));
    }
}
