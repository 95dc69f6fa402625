//! Configuration of an initiator: portals, names and credentials, path policy, time limits.

use std::sync::Arc;
use std::time::Duration;

use crate::chap::ChapConfig;
use crate::login::Offer;
use crate::proof::UnitProof;

/// Configuration of an [`crate::Initiator`].
#[derive(Debug, Clone)]
pub struct Config {
    /// Name of the target.
    pub target_name: String,
    /// Logical unit number.
    pub lun: u16,
    /// Portals: `host:port`, `host`, `[v6]:port`, each optionally with `,group`. At least one.
    pub portals: Vec<String>,
    /// Number of sessions to each portal, in [1, 32]. Every session is a path.
    pub sessions_per_portal: u8,
    /// Name of the initiator.
    pub initiator_name: String,
    /// Credentials.
    pub chap: Option<ChapConfig>,
    /// Values that the initiator offers for the negotiated keys.
    pub offer: Offer,
    /// Path policy.
    pub policy: Policy,
    /// Number of commands that can be outstanding, in [1, 4096].
    pub depth: u16,
    /// Number of commands in flight per path, in [1, 1024]; the target's command window limits it further.
    pub path_depth: u16,
    /// Time limits.
    pub timeouts: Timeouts,
    /// How writes are made safe to retry.
    pub fence: Fence,
    /// Proof of the unit's identity, shared by all initiators that use the unit.
    pub proof: Arc<UnitProof>,
    /// How often the unit is checked after the first write.
    pub watch: UnitWatch,
    /// Number of ranges that the target accepts in one UNMAP (VPD page B0), at least 1.
    pub unmap_ranges_max: u32,
}

/// How often a unit is checked during writes, for targets that do not report that another unit took over its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitWatch {
    /// Continuously, because nothing is being measured.
    Closely,
    /// Once a second.
    Regularly,
    /// Only when the target reports a change.
    OnNews,
}

impl Config {
    /// Returns a configuration with defaults for everything but the address.
    pub fn new(portals: Vec<String>, target_name: impl Into<String>, lun: u16) -> Self {
        Self {
            target_name: target_name.into(),
            lun,
            portals,
            sessions_per_portal: 1,
            initiator_name: "iqn.2026-11.io.github.assay-bench:initiator".into(),
            chap: None,
            offer: Offer::default(),
            policy: Policy::ROUND_ROBIN_EACH,
            depth: 256,
            path_depth: 128,
            timeouts: Timeouts::default(),
            fence: Fence::ReinstatementOrReset,
            proof: Arc::default(),
            watch: UnitWatch::Regularly,
            unmap_ranges_max: 1,
        }
    }
}

/// Distribution of commands over the paths with the best access state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Use a path for this many I/Os or bytes, whichever limit is reached first, then the next path.
    RoundRobin {
        /// Number of I/Os per turn, at least 1.
        rr_ios: u32,
        /// Number of bytes per turn, at least 1.
        rr_bytes: u64,
    },
    /// The path with the fewest commands in flight.
    LeastOutstanding,
    /// This path (counted from 0); another one only while it is down.
    Fixed(u8),
}

impl Policy {
    /// A different path for each I/O.
    pub const ROUND_ROBIN_EACH: Self = Self::RoundRobin { rr_ios: 1, rr_bytes: u64::MAX };
    /// VMware's default: 1000 I/Os per path.
    pub const VMWARE_IOS: Self = Self::RoundRobin { rr_ios: 1000, rr_bytes: u64::MAX };
}

/// How a write whose first copy may still be in the target is made safe to retry.
///
/// Without a fence a write could be executed twice, the second time after a newer write to the same block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Session reinstatement: log in with the ISID of the failed path, through its own portal or another portal of the
    /// same portal group. The target first ends the tasks of the old session.
    Reinstatement,
    /// Session reinstatement; if no portal of the group can be reached, a logical unit reset through another path. A
    /// reset also aborts the commands of other initiators, which then retry them.
    ReinstatementOrReset,
}

/// Time limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Time from submission after which a command fails, regardless of retries and of other answers from the target.
    pub io: Duration,
    /// Limit for opening a TCP connection.
    pub connect: Duration,
    /// Limit for a complete login, and for reading the identity of the LUN after it.
    pub login: Duration,
    /// Time without an answer after which a command is aborted and sent again; at most half of `io`.
    pub command: Duration,
    /// Time without an answer to an abort after which the connection is ended, or without an answer to a LUN reset
    /// after which another path is tried; at most an eighth of `io`.
    pub task_management: Duration,
    /// Interval between pings of a connection, idle or busy.
    pub ping_interval: Duration,
    /// Time without an answer to a ping and without any other received byte after which the connection is ended.
    pub ping: Duration,
    /// A path with outstanding commands that is silent for this long, even after a ping, while another path answers,
    /// gets no new commands until data arrives. The limit is up to four times as long on a path with long response
    /// times.
    pub suspect: Duration,
    /// Duration of such silence after which the connection is ended, so that its commands move to other paths; at most
    /// `ping`.
    pub silence: Duration,
    /// Time that commands wait while no path is up; then they fail and the initiator is lost.
    pub no_path: Duration,
    /// Time for which a command to a busy or not yet ready target is retried before it fails.
    pub busy: Duration,
    /// First pause before a failed path is retried while other paths are up; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// Longest pause between two attempts.
    pub retry_max: Duration,
    /// Longest pause between two attempts while no path is up, unless the login was refused permanently.
    pub retry_alone: Duration,
}

impl Timeouts {
    /// Returns the time without an answer after which a command is aborted: half of its time is left for the abort, and
    /// for another path if the abort fails.
    pub(crate) fn abort_after(&self) -> Duration {
        self.command.min(self.io / 2)
    }

    /// Returns the limit for the answer to an abort or a reset, after which there is time for another path.
    pub(crate) fn management(&self) -> Duration {
        self.task_management.min(self.io / 8)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            io: Duration::from_secs(60),
            connect: Duration::from_secs(5),
            login: Duration::from_secs(15),
            command: Duration::from_secs(30),
            task_management: Duration::from_secs(10),
            ping_interval: Duration::from_secs(5),
            ping: Duration::from_secs(5),
            suspect: Duration::from_millis(250),
            silence: Duration::from_secs(1),
            no_path: Duration::from_secs(60),
            busy: Duration::from_secs(30),
            retry_min: Duration::from_millis(100),
            retry_max: Duration::from_secs(5),
            retry_alone: Duration::from_millis(500),
        }
    }
}
