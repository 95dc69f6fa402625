//! Hosts that find each other over NATS, and run plans together.
//!
//! An [`Agent`] dials the *bus* (a NATS server with JetStream) and announces itself in a KV bucket. The entry is a
//! *lease*: the server drops it unless the agent renews it. [`hosts`] reads the bucket and asks each agent for its
//! clock, many times; the quickest answer gives the [`Offset`] and the bound of its error.
//!
//! [`run`] places a plan on hosts, and asks each to do its part. An agent does that by the same `runner` as a local
//! run, and says what happens into the *stream* of the run, in which the coordinator notes its decisions too. The run
//! is what `merge` makes of the stream, in the order of the stream; so [`attach`] gets the same run from it.
//!
//! ```text
//!  hosts ──reads──> $KV.assay_hosts.NAME <──renews── agent
//!    └────────── request: assay.ask.NAME ──────────────┘
//!  run ──notes──> assay.plan.RUN ─┐                     │
//!                                 ├─> stream ──> merge ──> events of one run
//!                 assay.run.RUN.NAME <──────says────────┘
//! ```
//!
//! Architecture invariant: what an agent does is decided by its own configuration ([`Allowed`]), whatever arrives on
//! the bus. No protocol of delivery, election or security is written here: they are those of NATS. Nothing above this
//! room knows whether a run was local.
#![forbid(unsafe_code)]

#[cfg(not(feature = "nats"))]
mod absent;
mod error;
mod listed;
#[cfg(feature = "nats")]
mod nats;
mod order;

#[cfg(not(feature = "nats"))]
pub use absent::{Agent, AgentStop, Allowed, attach, hosts, init, run};
pub use error::FleetError;
pub use listed::{HostList, HostState, ListedHost, Offset};
#[cfg(feature = "nats")]
pub use nats::{Agent, AgentStop, Allowed, attach, hosts, init, run};
pub use order::{
    AgentOptions, BusOptions, FleetDone, FleetOrder, HostChoice, InitDone, InitOptions, LEASE, RunHere,
    WallClock,
};
