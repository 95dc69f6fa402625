//! A user-space NFSv3 client (RFC 1813) over TCP, for test benches.
//!
//! [`Server`] makes single calls: what is exported, where a file is, how much space there is. A [`File`] accesses one
//! file: [`Command`]s move in with their buffers and are returned as [`Completion`]s, in parallel over several
//! connections. Below both lies a protocol core without I/O ([`xdr`], [`rpc`], [`portmap`], [`mount`], [`nfs3`]) that
//! is tested byte by byte. The README of this crate describes how the parts work together.
#![forbid(unsafe_code)]

mod config;
mod error;
mod events;
mod file;
pub mod mount;
pub mod nfs3;
pub mod portmap;
pub mod rpc;
mod server;
mod stats;
mod transport;
pub mod xdr;

pub use assay_tcp::PathStats;
pub use config::{FileConfig, ServerConfig, Timeouts};
pub use error::{CallError, FileError, IoError, Lost};
pub use events::{Event, EventKind};
pub use file::{Command, Completion, File, Kind};
pub use server::Server;
pub use stats::{ConnectionStatus, WriteStats};
