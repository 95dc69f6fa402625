//! A user-space iSCSI initiator (RFC 7143) with multipath, for test benches.
//!
//! [`Initiator`] opens sessions over all paths to one logical unit. [`Command`]s move in with their buffers and are
//! returned as [`Completion`]s. Below it lies a protocol core without I/O ([`pdu`], [`text`], [`login`], [`session`],
//! [`scsi`]) that is tested byte by byte. The README of this crate describes how the parts work together.
#![forbid(unsafe_code)]

mod changes;
pub mod chap;
mod config;
mod discovery;
mod error;
mod events;
mod initiator;
pub mod login;
pub mod multipath;
pub mod pdu;
mod proof;
pub mod scsi;
pub mod serial;
pub mod session;
mod slots;
mod stats;
mod sync;
pub mod text;
mod transport;
mod units;

pub use assay_tcp::{PathStats, TcpFacts};
pub use config::{Config, Fence, Policy, Timeouts, UnitWatch};
pub use discovery::{DiscoveredPortal, DiscoveredTarget, discover};
pub use error::{CommandError, ConnectError, DiscoveryError, IoError, Lost, Missing, PathError, PathErrors};
pub use events::{Event, EventKind, FencedBy};
pub(crate) use initiator::login_error as initiator_login_error;
pub use initiator::{Initiator, Transfer};
pub use multipath::{Command, Completion, Kind};
pub use proof::{UnitIdentity, UnitProof};
pub use stats::PathStatus;
pub use transport::resolve;
pub use units::{Unit, Units, UnitsError, units};
