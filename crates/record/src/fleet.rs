//! A run that several hosts did together.

use serde::{Deserialize, Serialize};

use crate::host::HostFacts;
use crate::step_cpu::StepCpu;

/// A host of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetHost {
    /// Its name on the bus, which its jobs, samples and targets have too.
    pub name: String,
    /// Facts about it.
    pub facts: HostFacts,
}

/// How far a host's clock was ahead of the coordinator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The host's time minus the coordinator's, ns.
    pub ahead_ns: i64,
    /// The true offset is within this much of it, ns.
    pub error_ns: u64,
}

/// How fast a host's clock runs away from the coordinator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockDrift {
    /// What the host's clock gains, ns per second of the coordinator's.
    pub ppb: i64,
    /// The true drift is within this much of it, if it is steady.
    pub error_ppb: u64,
}

/// A host at the end of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostEnd {
    /// Its name.
    pub host: String,
    /// Offset of its clock when the step began.
    pub clock: ClockOffset,
    /// How fast that offset changes, from all measurements until the step ended; `None` before there are enough, and
    /// where no steady drift explains them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<ClockDrift>,
    /// Its load was let go, ns after that moment by the coordinator's clock; `None` if it was lost. Its first I/O is
    /// issued when a CPU has woken the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_ns: Option<i64>,
    /// Its first I/O, ns after the moment at which all were to begin, by the coordinator's clock; `None` if it issued
    /// none, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_io_ns: Option<i64>,
    /// How much later than the common moment its schedule had that I/O, ns: hosts that share a rate take turns, and
    /// random arrivals come when they come.
    #[serde(default, skip_serializing_if = "crate::latency::is_zero")]
    pub first_wait_ns: u64,
    /// Its CPU use over its measured window.
    pub cpu: StepCpu,
    /// Why nothing came from it until the end of the step; `None` where it ended the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// Moments of a step, ns since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepMoments {
    /// The gate at which its workers waited for each other opened.
    pub load_ns: u64,
    /// The first I/O was issued; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_io_ns: Option<u64>,
    /// It was due, by its schedule; `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_due_ns: Option<u64>,
    /// The measured window began; `None` if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<u64>,
}
