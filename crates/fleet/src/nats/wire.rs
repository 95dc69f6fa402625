//! What is said on the bus, as JSON.

use std::collections::BTreeMap;

use assay_record::{ClockDrift, ClockOffset, Event, HostFacts, RunSetting, StatedMemory, StepId, Warning};
use assay_spec::Plan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::nats::task::TaskOptions;

/// Version of what is said on the bus. With that of the program it must be equal on both sides.
const PROTOCOL: u32 = 5;

/// Returns the version that both sides must have.
pub(crate) fn version() -> String {
    format!("{}+bus{PROTOCOL}", env!("CARGO_PKG_VERSION"))
}

/// What an agent says of itself, in the KV bucket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Announcement {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
    /// [`HostFacts`] as its version writes them.
    #[serde(default)]
    pub(crate) host: serde_json::Value,
    /// What its configuration allows, a line each.
    #[serde(default)]
    pub(crate) targets: Vec<String>,
}

impl Announcement {
    pub(crate) fn new(name: &str, host: &HostFacts, targets: Vec<String>) -> Self {
        let host = serde_json::to_value(host).expect("host facts have string keys");
        Self { name: name.to_owned(), version: version(), host, targets }
    }

    /// Returns the facts of the host; `None` where another version writes them in another way.
    pub(crate) fn facts(&self) -> Option<HostFacts> {
        HostFacts::deserialize(&self.host).ok()
    }
}

/// A request to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// Its clock and its lease.
    Time,
    /// Nothing: an agent of that name says to others of the same name that it is there, and since when. The one that
    /// came later goes.
    Agent {
        /// When it began, ns since 1970.
        since_unix_ns: i64,
    },
    /// To inspect targets, and to wait. Nothing changes by that.
    Inspect(Box<Task>),
    /// To open and fill the targets that have passed inspection, and to begin.
    Open(String),
    /// To give up a run that has opened nothing.
    CallOff(String),
    /// To begin the load of a step when its clock shows a moment.
    Begin {
        /// Id of the run.
        run: String,
        /// Its step, as the task counts.
        step: StepId,
        /// Clock of the agent, ns since 1970.
        at_unix_ns: i64,
    },
    /// To end the measured window of a step.
    Enough {
        /// Id of the run.
        run: String,
        /// Its step, as the task counts.
        step: StepId,
    },
    /// To stop a run and keep what was measured.
    Stop(String),
    /// Whether it knows a run.
    Knows(String),
}

/// The part of a host in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Id of the run.
    pub(crate) run: String,
    pub(crate) plan: Plan,
    pub(crate) targets: Vec<String>,
    pub(crate) options: TaskOptions,
}

/// The answer of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Its clock, and the rest of its lease.
    Time {
        /// Its clock, ns since 1970: the wall clock as it was when its present run began, which nobody sets since.
        unix_ns: i64,
        /// By how much the wall clock was set since then, ns.
        set_ns: i64,
        /// The server drops its announcement after this unless it is renewed, ms.
        lease_left_ms: u64,
    },
    /// It does that.
    Accepted,
    /// It knows no such run: it was started anew, or is over with it.
    UnknownRun,
    /// It does not do that, with the reason.
    Refused(String),
}

/// A message of an agent in the stream of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Said {
    /// From 1, without gaps. A message that arrives twice counts once.
    pub(crate) number: u64,
    /// When the clock of its events showed 0, by the agent's clock, ns since 1970.
    pub(crate) epoch_unix_ns: i64,
    /// In the order in which it happened.
    pub(crate) what: Vec<What>,
}

/// What an agent says of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// Every target has passed inspection.
    Inspected,
    /// The run did not begin here, and nothing was measured.
    Refused {
        /// Reason.
        why: String,
        /// Whether targets may have been written to.
        has_begun: bool,
    },
    /// Targets are being filled, and writes complete.
    Filling,
    /// Every worker of a step is ready to begin.
    Ready(StepId),
    /// Something happened.
    Event(Box<Event>),
    /// The last message: what failed, and what is left.
    Over {
        /// A sentence each.
        failures: Vec<String>,
    },
}

/// A message of the coordinator in the stream of a run: what it decided, so that another one can go on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Noted {
    /// The first message: what runs where.
    Placed(Box<Placed>),
    /// A step begins everywhere.
    Begin {
        /// The step, as the record counts.
        step: StepId,
        /// When, by the coordinator's clock, ns since 1970.
        at_unix_ns: i64,
        /// Offset of each host's clock.
        clocks: BTreeMap<String, ClockOffset>,
        /// None of them is older than this, by the coordinator's clock, ns since 1970; `None` from earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clocks_unix_ns: Option<i64>,
    },
    /// Nothing comes from a host any more.
    Lost {
        /// Its name.
        host: String,
        /// Reason.
        why: String,
        /// When, by the coordinator's clock, ns since 1970.
        at_unix_ns: i64,
    },
    /// How fast the clocks of hosts run away, as far as it is known.
    Drift(BTreeMap<String, ClockDrift>),
    /// Something for the reader of the results.
    Warning(Warning),
    /// Another coordinator follows the run from here on.
    Follows {
        /// Which process, and where.
        by: String,
    },
    /// Nothing: it shows whether the stream takes messages.
    Here,
}

/// What runs where, and what the store keeps with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Placed {
    /// [`version`] of who began it; empty where that was one of before.
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) run: String,
    pub(crate) started_unix_ms: u64,
    /// The plan before it was placed on hosts: its placement follows from it, and would not fit into a message for
    /// many.
    pub(crate) plan: Plan,
    pub(crate) hosts: Vec<String>,
    /// Number of targets of each host.
    pub(crate) targets: u32,
    /// Offset of each host's clock.
    pub(crate) clocks: BTreeMap<String, ClockOffset>,
    /// None of them is older than this, by the coordinator's clock, ns since 1970; `None` from earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clocks_unix_ns: Option<i64>,
    pub(crate) label: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) array: Option<String>,
    pub(crate) stated: StatedMemory,
    pub(crate) setting: RunSetting,
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("what is said on the bus has string keys")
}

/// Reads what somebody else has said; `None` if it is not understood. As text, as the store reads events: a reader of
/// bytes would be compiled a second time for all that a record has.
pub(crate) fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()
}
