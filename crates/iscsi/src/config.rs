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
    /// Logical unit.
    pub lun: u16,
    /// Portals: `host:port`, `host`, `[v6]:port`, each optionally with `,group`. At least one.
    pub portals: Vec<String>,
    /// Sessions to each portal, in [1, 32]. Every session is a path.
    pub sessions_per_portal: u8,
    /// Our name.
    pub initiator_name: String,
    /// Credentials.
    pub chap: Option<ChapConfig>,
    /// Our side of the negotiated keys.
    pub offer: Offer,
    /// How commands are spread over paths.
    pub policy: Policy,
    /// Commands that can be submitted and not completed, in [1, 4096].
    pub depth: u16,
    /// Commands in flight per path, in [1, 1024]; the target's command window limits it further.
    pub path_depth: u16,
    /// Times.
    pub timeouts: Timeouts,
    /// What makes it safe to send writes again.
    pub fence: Fence,
    /// What the unit must be, shared by all initiators that drive it.
    pub proof: Arc<UnitProof>,
    /// How closely the unit is watched once it was written.
    pub watch: UnitWatch,
}

/// How closely a unit is watched while it is written, for targets that do not report that another one took its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitWatch {
    /// All the time: nothing is measured.
    Closely,
    /// Once a second.
    Regularly,
    /// Only when the target reports something.
    OnNews,
}

impl Config {
    /// A configuration with defaults for everything but the address.
    #[must_use]
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
        }
    }
}

/// How commands are spread over the paths that serve I/O best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Stay on a path for this many I/Os or bytes, whichever comes first, then take the next.
    RoundRobin {
        /// I/Os per turn, at least 1.
        rr_ios: u32,
        /// Bytes per turn, at least 1.
        rr_bytes: u64,
    },
    /// The path with the fewest commands in flight.
    LeastOutstanding,
    /// Always this path (counted from 0), another one only while it is down.
    Fixed(u8),
}

impl Policy {
    /// Every I/O on the next path.
    pub const ROUND_ROBIN_EACH: Self = Self::RoundRobin { rr_ios: 1, rr_bytes: u64::MAX };
    /// The default of VMware: 1000 I/Os per path.
    pub const VMWARE_IOS: Self = Self::RoundRobin { rr_ios: 1000, rr_bytes: u64::MAX };
    /// VMware's limit by bytes: 10,485,760 per path.
    pub const VMWARE_BYTES: Self = Self::RoundRobin { rr_ios: u32::MAX, rr_bytes: 10_485_760 };
}

/// What makes it safe to send a write again whose first sending may still be in the target.
///
/// Without a fence a write could be carried out twice, the second time after a newer write to the same block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Reinstate the session of the failed path: log in with its ISID, through its own portal or another one of the
    /// same portal group. The target ends the tasks of the old session first.
    Reinstatement,
    /// As above; where no portal of the group can be reached, reset the logical unit through another path. A reset
    /// also ends the commands of other initiators, who then repeat them.
    ReinstatementOrReset,
}

/// All time limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// A command that has not ended so long after it was submitted fails, whatever was tried meanwhile and whatever
    /// else the target answered.
    pub io: Duration,
    /// For opening a TCP connection.
    pub connect: Duration,
    /// For a whole login, and for reading the identity of the LUN after it.
    pub login: Duration,
    /// A command without an answer for this long is aborted and sent again.
    pub command: Duration,
    /// An abort or reset without an answer for this long ends the connection.
    pub task_management: Duration,
    /// Time between two pings of an idle or busy connection.
    pub ping_interval: Duration,
    /// A ping without an answer, and without any other byte received, for this long ends the connection.
    pub ping: Duration,
    /// A path that owes answers and says nothing for this long, not even to a ping, while another path answers, gets no
    /// new commands until it says something. Longer, up to four times as long, on a path whose answers take long.
    pub suspect: Duration,
    /// Such silence for this long ends the connection, so that its commands go to the other paths; at most `ping`.
    pub silence: Duration,
    /// How long commands wait while no path is up; then they fail and the initiator is lost.
    pub no_path: Duration,
    /// How long a busy or not yet ready target is asked again before the command fails.
    pub busy: Duration,
    /// First pause before a failed path is tried again while others serve; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// Longest pause between two tries.
    pub retry_max: Duration,
    /// Longest pause between two tries while no path serves, except where the login was refused for good.
    pub retry_alone: Duration,
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
