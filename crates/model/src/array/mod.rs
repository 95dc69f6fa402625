//! An array: everything between the initiator's queue and the medium, as data.
//!
//! An [`Array`] file has one table per entity: `[device]` (all members are alike), `[raid]`, `[controller]`
//! (and its caches), `[tier]`, `[log]`, `[server]`, `[target]` (what its software costs), `[protocol]`, `[link]`,
//! `[paths]`, `[initiator]`, `[guest]`.
//! [`parse`] reads it with the line of every error, [`to_toml`] writes it back, [`crate::whatif`] changes
//! single fields; all three walk the same list of fields (`fields.rs`), so that they cannot disagree.

mod check;
mod error;
pub(crate) mod fields;
mod keys;
mod named;
mod read;
mod set;
pub mod shipped;
mod types;
mod unmodelled;
mod words;
mod write;

pub use error::ArrayError;
pub use keys::{Key, keys};
pub use read::{parse, parse_stored};
pub use set::{SetError, set};
pub use types::{
    Array, Controller, Device, Flash, FlashState, Guest, Hdd, Initiator, Level, Link, LinkRate, Log,
    PathPolicy, Paths, Protocol, ProtocolKind, Raid, Server, SoftwareName, Sorting, Submission, Target, Tier,
    TierHolds, VirtualDisk,
};
pub use write::to_toml;
