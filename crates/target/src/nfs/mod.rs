//! A file on an NFS server, accessed by Assay's NFSv3 client in the worker's thread.
//!
//! Every worker has its own client with all its connections: nothing is shared between threads.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use assay_nfs::nfs3::{Handle, NfsStatus, Stable};
use assay_nfs::rpc::Credentials;
use assay_nfs::{Command, EventKind, File, FileConfig, IoError, Kind, Timeouts};
use assay_spec::{NfsAddress, NfsSync};

use crate::remote::{
    CompletionQueue, Moment, PathChange, PathEvent, PathReport, RemoteReport, WriteReport, WriteStats,
};
use crate::{
    AccessMode, Completion, Durability, Geometry, IoBuf, IoFailure, Op, OpKind, OpenError, Target,
    TargetLost, Wait,
};

/// Largest queue depth of the client.
const DEPTH_MAX: u32 = 4096;
/// Limit of a COMMIT, as a multiple of the limit of an I/O.
const COMMIT_TIMES: u32 = 10;
/// Interval of pings, as for LUNs.
const PING_EVERY: Duration = Duration::from_millis(250);
/// Unit of offsets and sizes, bytes: NFS accepts any.
pub const BLOCK_BYTES: u32 = 1;

/// A file on an NFS server, and how to access it.
#[derive(Debug, Clone)]
pub struct NfsMember {
    /// Address with the path of the file itself.
    pub address: NfsAddress,
    /// Address of the server's NFS service.
    pub server: SocketAddr,
    /// Port of its MOUNT service, to find the file again after the run.
    pub mount_port: Option<u16>,
    /// File handle: whatever happens to names, I/O stays on this file.
    pub handle: Handle,
    /// Id of the mark that this run gave it, if any: it distinguishes the file from another that gets its name later.
    pub mark_id: Option<String>,
    /// User and groups sent to the server.
    pub credentials: Credentials,
    /// Whether writes are allowed.
    pub access: AccessMode,
    /// `Sync`: every write is FILE_SYNC, whatever the address says.
    pub durability: Durability,
    /// Usable bytes from its start.
    pub span_bytes: u64,
    /// Largest READ and WRITE of the server, bytes; larger I/O is split.
    pub read_bytes_max: u32,
    /// As above.
    pub write_bytes_max: u32,
    /// Parts of which the server may execute another copy of a write of the fill at any time, bytes.
    pub moved: Vec<Range<u64>>,
}

impl NfsMember {
    /// Returns the stability that each WRITE requests.
    pub fn stable(&self) -> Stable {
        match (self.address.sync, self.durability) {
            (NfsSync::Unstable, Durability::Device) => Stable::Unstable,
            _ => Stable::FileSync,
        }
    }
}

/// One file over all its connections.
#[derive(Debug)]
pub struct NfsTarget {
    geometry: Geometry,
    access: AccessMode,
    server: String,

    file: File<IoBuf>,
    /// Completions from the client, which may return more at once than a poll may.
    given_back: Vec<assay_nfs::Completion<IoBuf>>,
    completed: CompletionQueue,
}

impl NfsTarget {
    /// Connects; at least one connection must come up.
    pub fn open(member: &NfsMember, depth: u32) -> Result<Self, OpenError> {
        let name = || member.address.to_string();
        if depth > DEPTH_MAX {
            return Err(OpenError::LunDepth { lun: name(), depth, most: DEPTH_MAX });
        }
        let config = FileConfig {
            address: member.server,
            handle: member.handle,
            credentials: member.credentials.clone(),
            connections: member.address.connections,
            depth: u16::try_from(depth.clamp(1, DEPTH_MAX)).expect("clamped to 4096"),
            read_bytes_max: member.read_bytes_max,
            write_bytes_max: member.write_bytes_max,
            stable: member.stable(),
            timeouts: timeouts(Duration::from_secs(member.address.timeout_s.into())),
        };
        let file = File::open(config).map_err(|e| OpenError::Nfs { file: name(), why: e.to_string() })?;
        Ok(Self {
            geometry: Geometry {
                members: vec![member.span_bytes],
                block_bytes: BLOCK_BYTES,
                depth,
                engine: assay_spec::Engine::Nfs,
            },
            access: member.access,
            server: member.server.to_string(),
            file,
            given_back: Vec::with_capacity(depth as usize),
            completed: CompletionQueue::new(depth),
        })
    }

    fn settle(&mut self) {
        for back in self.given_back.drain(..) {
            let outcome = back.result.map_err(|error| {
                self.completed.failed(&error);
                IoFailure { errno: errno(&error) }
            });
            self.completed.settle(back.tag, outcome, back.buf, back.is_moved);
        }
    }

    /// Makes writes in the server's memory durable; `None` if nothing was written.
    fn commit(&mut self, give_up: &dyn Fn() -> bool) -> Option<WriteReport> {
        let failure = self.file.commit(give_up).err().map(|error| error.to_string());
        let stats = self.file.writes();
        (stats != WriteStats::default() || failure.is_some()).then_some(WriteReport { stats, failure })
    }

    fn paths(&mut self) -> Vec<PathReport> {
        let report = |path: assay_nfs::ConnectionStatus| PathReport {
            path: path.path,
            portal: self.server.clone(),
            is_up: path.is_up,
            access: None,
            outstanding: path.outstanding,
            agreed: None,
            command_window: None,
            addresses: path.addresses,
            tcp: path.tcp,
            stats: path.stats,
        };
        self.file.stats().into_iter().map(report).collect()
    }
}

impl Target for NfsTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(never)]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        let Some(op) = self.completed.fence(self.access, op) else { return Ok(()) };
        let Op { tag, member, kind, size_bytes, offset_bytes, buf } = op;
        let kind_of = match kind {
            OpKind::Read => Kind::Read,
            OpKind::Write => Kind::Write,
            OpKind::Trim | OpKind::Flush(_) => {
                self.completed.unsupported("NFSv3 has no such call between reads and writes", tag, buf);
                return Ok(());
            }
        };
        let command = Command { tag: tag.into(), kind: kind_of, offset_bytes, data_bytes: size_bytes, buf };
        let back = |c: Command<IoBuf>| Op { tag, member, kind, size_bytes, offset_bytes, buf: c.buf };
        self.file.submit(command).map_err(back)
    }

    #[inline(never)]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        let polled = self.file.poll(self.completed.patience(wait), &mut self.given_back);
        self.settle();
        self.completed.hand_out(polled, done)
    }

    /// Keeps the connections: NFS has no open and no close, and a kernel keeps its mount as well.
    fn reopen(&mut self, _member: u32) -> Result<(), TargetLost> {
        Ok(())
    }

    fn remote_report(&mut self, moment: Moment<'_>) -> Option<RemoteReport> {
        let writes = match moment {
            Moment::Begin => Some(WriteReport { stats: self.file.writes(), failure: None }),
            Moment::End { give_up } => self.commit(give_up),
        };
        let (paths, mut events) =
            (self.paths(), self.file.events().into_iter().filter_map(event).collect::<Vec<_>>());
        events.extend(self.completed.first_failure());
        Some(RemoteReport { paths, events, writes, failures: self.completed.failures() })
    }
}

/// Returns the time limits, which derive from that of an I/O: there is time for a second attempt on a new connection. A
/// COMMIT may have to write everything in the server's memory.
fn timeouts(io: Duration) -> Timeouts {
    let default = Timeouts::default();
    Timeouts {
        io,
        connect: default.connect.min(io),
        call: default.call.min(io / 2),
        commit: io * COMMIT_TIMES,
        ping_interval: PING_EVERY,
        ping: default.ping.min(io),
        no_server: io,
        busy: default.busy.min(io),
        ..default
    }
}

/// Returns the recorded form of an event; `None` for a stall, which the caller of the target reports itself.
fn event(event: assay_nfs::Event) -> Option<PathEvent> {
    let change = match event.kind {
        EventKind::Up => PathChange::Up,
        _ => PathChange::Other,
    };
    let path = event.path.map_or_else(|| "the server".to_owned(), |path| format!("connection {path}"));
    let says = match event.kind {
        EventKind::Up => format!("{path} is up"),
        EventKind::Down { cause, calls } => {
            format!("{path} went down: {cause}; {calls} calls wait to be sent again")
        }
        EventKind::RetryFailed { cause } => format!("{path} is still down: {cause}"),
        EventKind::AllDown => "all connections are down; I/O waits".to_owned(),
        EventKind::Jukebox => {
            format!("{path}: the server is busy and asks for a retry later (NFS3ERR_JUKEBOX)")
        }
        EventKind::Restarted { writes: 0, .. } => {
            "the server restarted (its write verifier changed); no write was left uncommitted".to_owned()
        }
        EventKind::Restarted { writes, bytes } => format!(
            "the server restarted (its write verifier changed): {writes} unstable writes, {bytes} bytes, were not \
             committed yet and may be lost"
        ),
        EventKind::Stalled { .. } | EventKind::Resumed { .. } => return None,
        EventKind::Dropped { count } => format!("{count} events of connections were dropped"),
    };
    Some(PathEvent { at: event.at, change, says })
}

/// Returns the nearest error number of the operating system, as the kernel's own client reports it.
fn errno(error: &IoError) -> i32 {
    match error {
        IoError::Status(status) => errno_of(*status),
        IoError::Refused(_) => libc::EACCES,
        IoError::Broken(_) => libc::EPROTO,
        IoError::GivenUp { .. } | IoError::Expired { .. } | IoError::Abandoned { .. } => libc::ETIMEDOUT,
        IoError::NoServer { .. } => libc::ENOLINK,
        IoError::Invalid(_) => libc::EINVAL,
    }
}

fn errno_of(status: NfsStatus) -> i32 {
    match status {
        NfsStatus::JUKEBOX => libc::EBUSY,
        NfsStatus::STALE => libc::ESTALE,
        // The first statuses are the errno values of the systems of that time, and of Linux.
        NfsStatus(number @ (1 | 2 | 5 | 6 | 13 | 17..=22 | 27 | 28 | 30)) => {
            i32::try_from(number).expect("a small number")
        }
        NfsStatus(69) => libc::EDQUOT,
        NfsStatus(10_004) => libc::EOPNOTSUPP,
        _ => libc::EREMOTEIO,
    }
}
