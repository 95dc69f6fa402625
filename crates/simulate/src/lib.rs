//! A deterministic simulator of the multipath core of the iSCSI initiator, after TigerBeetle's VOPR.
//!
//! A run is one seed: a [`Core`](assay_iscsi::multipath::Core) with its sessions (in every eighth seed two that share
//! the proof of the unit's identity, as the workers of a run do), driven over a simulated network by a simulated
//! storage system with several portals and a reference disk, in virtual time, with faults of a random choice of kinds.
//! After every event oracles check that no write lands after a newer acknowledged one, that each command completes once
//! and within its limit, that what is read is what was acknowledged, that no path that answers is ended, that nothing
//! is sent to another unit once the target has said so, that a unit is called another one only if it is, and that the
//! core's tables agree with each other. A seed that fails replays exactly: `cargo xtask simulate --seed N`.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to people, and a trace is printed as it happens"
)]

mod disk;
mod draw;
mod event;
mod fault;
mod oracle;
mod program;
mod random;
mod resets;
mod storage;
mod time;
mod world;

pub use draw::{STALLS, nth_seed};
pub use fault::{FAULTS, Fault, FaultCounts};
pub use program::program;
pub use world::{Outcome, run};
