//! The events and results of runs, as data.
//!
//! The engine counts into [`OpStats`], divides time into [`Interval`]s and reports everything as [`Event`]s; a stored
//! run consists of its events. [`Latency`] holds complete distributions, from which readers compute percentiles.
//! [`HostFacts`] and [`HostSample`] describe the machine that ran it.
//!
//! Architecture invariant: data only, no I/O and no clock; every `merge` is associative and commutative.
#![forbid(unsafe_code)]

mod connection;
mod diagnosis;
mod digest;
mod event;
mod export;
mod fleet;
mod gap;
mod host;
mod latency;
mod nfs;
mod note;
mod path;
mod place;
mod setting;
mod stats;
mod step_cpu;
mod step_id;
mod version;

pub use connection::{Agreed, LunFacts, PathFacts, PingFacts, TcpPathFacts};
pub use diagnosis::{DiagnosisFacts, Experiment};
pub use digest::{FigureDigest, FindingDigest, HostDigest, RunDigest, Severity, TestDigest};
pub use event::{
    Event, Failure, FlushEnd, Imported, JobEnd, MemberEnd, Mismatch, Outcome, PathEnd, PathMoment, Phase,
    PlacementReason, RunEvent, RunHeader, Stamp, StatedMemory, StepEnd, StepReason, Warning, WorkerPlacement,
};
pub use export::ExportCover;
pub use fleet::{ClockDrift, ClockOffset, FleetHost, HostEnd, StepMoments};
pub use gap::{Gap, GapKind, GapPlace, StepTimes, covered_ns};
pub use host::{
    BusFacts, ClockState, Content, DeviceFacts, DiskSample, DriveFacts, FilesystemFacts, HostFacts,
    HostSample, LayoutFacts, MemberFacts, MemberKind, Placement, TargetFacts,
};
pub use latency::Latency;
pub use nfs::{NfsFacts, WriteEnd};
pub use note::{HostNote, IoLimit, NoteKind};
pub use path::{
    BondFacts, CoalescingFacts, FrameFacts, FrameHop, FrameOutcome, FrameProbe, FrameRefusal, FrameTry,
    InterfaceCounters, InterfaceFacts, LinkSample, LinkState, NetPathFacts, PauseFacts, RingFacts,
    RouteFacts, ShaperFacts, TcpSample,
};
pub use place::{PlaceSample, PlacedIo};
pub use setting::{JournalStep, NullCeiling, Price, Repetition, RunSetting};
pub use stats::{AccessStats, Interval, OpStats, TurnStats};
pub use step_cpu::StepCpu;
pub use step_id::StepId;
pub use version::EVENT_VERSION;
