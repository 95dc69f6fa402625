//! A logical unit over iSCSI, driven by Assay's initiator in the worker's thread.
//!
//! Every worker has its own initiator with all its sessions and paths: nothing is shared between threads, and each
//! worker distributes its own I/O over the paths.

mod secret;
mod unmap;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use assay_iscsi::login::{DigestOffer, Offer};
use assay_iscsi::scsi::{cdb::Fua, key, status};
use assay_iscsi::{Command, Config, EventKind, FencedBy, Initiator, IoError, Kind, Policy, Timeouts};
use assay_spec::{IscsiAddress, PathPolicy};

use crate::remote::{CompletionQueue, Moment, PathChange, PathEvent, PathReport, RemoteReport};
use crate::{
    AccessMode, Completion, Durability, Geometry, IoBuf, IoFailure, Op, OpKind, OpenError, Target,
    TargetLost, Wait,
};

pub use assay_iscsi::login::Negotiated;
pub use assay_iscsi::{DiscoveredPortal, DiscoveredTarget, UnitProof, UnitWatch, resolve};
pub use secret::{
    Credentials, Secret, SecretError, credentials, exposed_file, keep_out_of_dumps, needs_prompt,
};
pub use unmap::{UnmapLimits, unmap_limits};

/// Interval of pings: short enough for several round-trip times per path even in a window of a second, too long to
/// affect the load.
const PING_EVERY: Duration = Duration::from_millis(250);
/// Largest queue depth of the initiator.
const DEPTH_MAX: u32 = 4096;
const PATH_DEPTH_MAX: u32 = 1024;
/// Shortest login limit: a login takes several round trips and some queries to the unit, however short the limit of an
/// I/O.
const LOGIN_MIN: Duration = Duration::from_secs(5);

/// A logical unit, and how to access it.
#[derive(Debug, Clone)]
pub struct LunMember {
    /// Its address.
    pub address: IscsiAddress,
    /// CHAP names and secrets; never shown.
    pub credentials: Option<Credentials>,
    /// Whether writes are allowed.
    pub access: AccessMode,
    /// `Sync`: every write with FUA.
    pub durability: Durability,
    /// Usable bytes from its start.
    pub span_bytes: u64,
    /// Logical block, bytes.
    pub block_bytes: u32,
    /// Largest I/O that the target accepts, bytes.
    pub transfer_bytes_max: u64,
    /// The unit at the first login, and the data written to it since: every later login, and every path whose target
    /// reports a change, is verified against it before it writes.
    pub proof: Arc<UnitProof>,
    /// Checks the unit that every login of a worker leads to; `None` accepts any.
    pub guard: Option<Arc<dyn LunGuard>>,
    /// How often it is checked during writes.
    pub watch: UnitWatch,
    /// Limits of trims, or the reason why there are none.
    pub unmap: Result<UnmapLimits, &'static str>,
    /// Parts of which the server may execute another copy of a write of the fill at any time, bytes.
    pub moved: Vec<Range<u64>>,
}

/// Decides whether the unit that a worker has just logged in to is the one that the run may use.
pub trait LunGuard: fmt::Debug + Send + Sync {
    /// Fails if it is not. Called before the first I/O of a worker.
    fn check(&self, member: &LunMember, initiator: &mut Initiator<IoBuf>) -> Result<(), OpenError>;
}

/// Returns the initiator's configuration for an address. Anything that the address omits has the initiator's default.
pub fn config(address: &IscsiAddress, credentials: Option<&Credentials>, depth: u32) -> Config {
    let mut config = Config::new(address.portals.clone(), address.target.clone(), address.lun);
    let digest = |wish: Option<bool>| match wish {
        None => DigestOffer::PreferNone,
        Some(true) => DigestOffer::Always,
        Some(false) => DigestOffer::Never,
    };
    let default = Offer::default();
    config.offer = Offer {
        header_digest: digest(address.header_digest),
        data_digest: digest(address.data_digest),
        initial_r2t: address.initial_r2t.unwrap_or(default.initial_r2t),
        immediate_data: address.immediate_data.unwrap_or(default.immediate_data),
        ..default
    };
    config.sessions_per_portal = address.sessions;
    config.policy = match address.policy {
        PathPolicy::RoundRobin { ios, bytes } => Policy::RoundRobin { rr_ios: ios, rr_bytes: bytes },
        PathPolicy::LeastOutstanding => Policy::LeastOutstanding,
        PathPolicy::Fixed => Policy::Fixed(0),
    };
    if let Some(name) = &address.initiator {
        config.initiator_name.clone_from(name);
    }
    config.chap = credentials.map(|c| c.0.clone());
    config.depth = u16::try_from(depth.clamp(1, DEPTH_MAX)).expect("clamped to 4096");
    config.path_depth = u16::try_from(depth.clamp(1, PATH_DEPTH_MAX)).expect("clamped to 1024");
    config.timeouts = timeouts(Duration::from_secs(address.timeout_s.into()));
    config
}

/// Returns the time limits, which derive from that of an I/O: there is time to abort a command once and to send it
/// again.
fn timeouts(io: Duration) -> Timeouts {
    let default = Timeouts::default();
    Timeouts {
        io,
        login: default.login.min(io.max(LOGIN_MIN)),
        command: default.command.min(io / 2),
        task_management: default.task_management.min(io / 2),
        ping_interval: PING_EVERY,
        ping: default.ping.min(io),
        no_path: io,
        busy: default.busy.min(io),
        ..default
    }
}

/// One logical unit over all its paths.
#[derive(Debug)]
pub struct LunTarget {
    geometry: Geometry,
    access: AccessMode,
    fua: Fua,
    unmap: Result<UnmapLimits, &'static str>,

    initiator: Initiator<IoBuf>,
    /// Completions from the initiator, which may return more at once than a poll may.
    given_back: Vec<assay_iscsi::Completion<IoBuf>>,
    completed: CompletionQueue,
}

impl LunTarget {
    /// Logs in over all paths; at least one must come up.
    pub fn open(member: &LunMember, depth: u32) -> Result<Self, OpenError> {
        if depth > DEPTH_MAX {
            return Err(OpenError::LunDepth { lun: member.address.to_string(), depth, most: DEPTH_MAX });
        }
        let mut config = config(&member.address, member.credentials.as_ref(), depth);
        (config.proof, config.watch) = (Arc::clone(&member.proof), member.watch);
        config.unmap_ranges_max = member.unmap.map_or(1, |limits| limits.ranges_max);
        let mut initiator = Initiator::connect(config)
            .map_err(|e| OpenError::Lun { lun: member.address.to_string(), why: e.to_string() })?;
        if let Some(guard) = &member.guard {
            guard.check(member, &mut initiator)?;
        }
        let geometry = Geometry {
            members: vec![member.span_bytes],
            block_bytes: member.block_bytes,
            depth,
            engine: assay_spec::Engine::Iscsi,
        };
        Ok(Self {
            geometry,
            access: member.access,
            unmap: member.unmap,
            fua: if member.durability == Durability::Sync { Fua::On } else { Fua::Off },
            initiator,
            given_back: Vec::with_capacity(depth as usize),
            completed: CompletionQueue::new(depth),
        })
    }

    fn settle(&mut self) {
        for back in self.given_back.drain(..) {
            let outcome = match back.result {
                Ok(bytes) => Ok(bytes),
                // The engine handles short transfers, as with files.
                Err(IoError::Short { transferred_bytes, .. }) => Ok(transferred_bytes),
                Err(error) => {
                    self.completed.failed(&error);
                    Err(IoFailure { errno: errno(&error) })
                }
            };
            self.completed.settle(back.tag, outcome, back.buf, back.is_moved);
        }
    }
}

impl Target for LunTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(never)]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        let Some(op) = self.completed.fence(self.access, op) else { return Ok(()) };
        let Op { tag, member, kind, size_bytes, offset_bytes, buf } = op;
        let (kind_of, fua) = match kind {
            OpKind::Read => (Kind::Read, Fua::Off),
            OpKind::Write => (Kind::Write, self.fua),
            OpKind::Flush(_) => (Kind::Flush, Fua::Off),
            OpKind::Trim => match self.unmap {
                Ok(_) => (Kind::Trim, Fua::Off),
                Err(why) => {
                    self.completed.unsupported(why, tag, buf);
                    return Ok(());
                }
            },
        };
        let command =
            Command { tag: tag.into(), kind: kind_of, offset_bytes, data_bytes: size_bytes, fua, buf };
        self.initiator.submit(command).map_err(|c| Op {
            tag,
            member,
            kind,
            size_bytes,
            offset_bytes,
            buf: c.buf,
        })
    }

    #[inline(never)]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        let polled = self.initiator.poll(self.completed.patience(wait), &mut self.given_back);
        self.settle();
        self.completed.hand_out(polled, done)
    }

    /// Keeps the sessions: closing and opening a disk does not log out of its target either, and frequent logins would
    /// measure logins and restart every turn of the round robin.
    fn reopen(&mut self, _member: u32) -> Result<(), TargetLost> {
        Ok(())
    }

    fn remote_report(&mut self, _moment: Moment<'_>) -> Option<RemoteReport> {
        // The inspection has reported deviations, and each login of each step finds the same ones again.
        let is_new = |event: &assay_iscsi::Event| !matches!(event.kind, EventKind::Deviation(_));
        let events = self.initiator.events().into_iter().filter(is_new);
        let mut events: Vec<PathEvent> = events.filter_map(event).collect();
        events.extend(self.completed.first_failure());
        let paths = self.initiator.stats().into_iter().map(PathReport::from).collect();
        Some(RemoteReport { paths, events, writes: None, failures: self.completed.failures() })
    }
}

/// Returns the recorded form of an event; `None` for a stall, which the caller of the target reports itself.
pub fn event(event: assay_iscsi::Event) -> Option<PathEvent> {
    let change = match event.kind {
        EventKind::PathUp { .. } => PathChange::Up,
        _ => PathChange::Other,
    };
    let path = event.path.map_or_else(|| "the target".to_owned(), |path| format!("path {path}"));
    let says = match event.kind {
        EventKind::PathUp { portal } => format!("{path} ({portal}) is up"),
        EventKind::PathDown { cause, commands, fenced_writes } => {
            format!(
                "{path} went down: {cause}; {commands} I/Os move to other paths, of which {fenced_writes} writes \
                 wait until the target has dropped them"
            )
        }
        EventKind::PathSilent { silent_ms, commands } => format!(
            "{path} has said nothing for {silent_ms} ms while another path answers: it gets no new I/O, and \
             {commands} I/Os wait for it"
        ),
        EventKind::PathAnswers { silent_ms } => {
            format!("{path} responds again after {silent_ms} ms; I/O on it resumes")
        }
        EventKind::PathBusy { answer } => {
            format!("{path} refuses commands ({answer}): the other paths get them")
        }
        EventKind::PathTakes { refusals } => {
            format!("{path} executes commands again, after {refusals} refusals")
        }
        EventKind::PathNeeded => {
            format!("{path} does not respond, but still gets I/O: no other path is left")
        }
        EventKind::RetryFailed { cause } => format!("{path} is still down: {cause}"),
        EventKind::Fenced { by, writes } => {
            let by = match by {
                FencedBy::Reinstatement => "its session was reinstated",
                FencedBy::ReinstatementElsewhere => "its session was reinstated through another portal",
                FencedBy::LogicalUnitReset => "the LUN was reset through another path",
            };
            format!("{path}: the target discarded {writes} old writes, which can now be sent again: {by}")
        }
        EventKind::AccessState(state) => format!("{path} is now {state:?}"),
        EventKind::UnitAttention(words) => format!("{path}: {words}"),
        EventKind::SameUnit => format!("{path} still leads to the same LUN; I/O on it resumes"),
        EventKind::CommandAborted { after_ms } => format!("{path}: an I/O was aborted after {after_ms} ms"),
        EventKind::TargetSays(words) | EventKind::Deviation(words) => format!("{path}: {words}"),
        EventKind::Stalled { .. } | EventKind::Resumed { .. } => return None,
        EventKind::AllPathsDown => "all paths are down; I/O waits".to_owned(),
        EventKind::Dropped { count } => format!("{count} events of paths were dropped"),
    };
    Some(PathEvent { at: event.at, change, says })
}

/// Returns the nearest error number of the operating system, as the kernel's own initiator reports it.
fn errno(error: &IoError) -> i32 {
    match error {
        IoError::Scsi { status: status::RESERVATION_CONFLICT, .. } => libc::EBADE,
        IoError::Scsi { sense: Some(sense), .. } => match sense.key {
            key::MEDIUM_ERROR => libc::ENODATA,
            key::DATA_PROTECT => libc::EROFS,
            key::ILLEGAL_REQUEST => libc::EREMOTEIO,
            key::NOT_READY => libc::ENOMEDIUM,
            _ => libc::EIO,
        },
        IoError::Scsi { status: status::BUSY | status::TASK_SET_FULL, .. } => libc::EBUSY,
        IoError::GivenUp { .. } | IoError::Expired { .. } => libc::ETIMEDOUT,
        IoError::NoPath { .. } => libc::ENOLINK,
        IoError::Changed { .. } => libc::ENODEV,
        IoError::Invalid(_) => libc::EINVAL,
        _ => libc::EIO,
    }
}
