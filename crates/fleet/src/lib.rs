//! Hosts that find each other over NATS, and how far their clocks are apart.
//!
//! An [`Agent`] dials the *bus* (a NATS server with JetStream) and announces itself in a KV bucket. The entry is a
//! *lease*: the server drops it unless the agent renews it. [`hosts`] reads the bucket and asks each agent for its
//! clock, many times; the quickest answer gives the [`Offset`] and the bound of its error.
//!
//! ```text
//!  hosts ──reads──> $KV.assay_hosts.NAME <──renews── agent
//!    └────────── request: assay.ask.NAME ──────────────┘
//! ```
//!
//! Architecture invariant: an agent only answers. Nothing on the bus makes it open, read or write a target. No protocol
//! of delivery, election or security is written here: they are those of NATS.
#![forbid(unsafe_code)]

mod agent;
mod bus;
mod clock;
mod differences;
mod error;
mod hosts;
mod wire;

pub use agent::{Agent, AgentOptions, AgentStop};
pub use bus::{BusOptions, LEASE};
pub use clock::Offset;
pub use error::FleetError;
pub use hosts::{HostList, HostState, ListedHost, hosts};
