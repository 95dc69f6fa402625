//! The multipath core: what happens to commands and paths, without sockets and without a clock.
//!
//! A [`Core`] gets [`Input`]s with their time, and says what is to be done: [`Action`]s for connections, PDUs
//! ([`Core::next_pdu`]), completions and events. Commands, aborts, resets, pings and logouts are PDUs of the sessions,
//! which do no I/O either. Its driver is the [`Initiator`](crate::Initiator), with sockets and the clock of the system;
//! the simulator is another one, with a simulated network and virtual time.
//!
//! ```text
//! submit -> waiting -> (policy) -> path.pending -> session -> next_pdu      assign: from left to right
//!              ^                       |              |
//!              |--- path fails --------+--------------+ reads               Input::Lost, Input::Tick
//!              |                                      | writes
//!              |---------- fence <--------------------+
//! ```

mod audit;
mod connection;
mod core;
mod expire;
mod fence;
mod pace;
mod path;
mod policy;
mod probe;
mod recover;
mod reprove;
mod settle;
mod silence;
#[cfg(test)]
mod tests;
mod tick;
mod trim;
mod watch;

pub(crate) use core::SessionUse;
pub use core::{Action, Command, Completion, Core, Input, Kind};

pub(crate) use connection::{Connection, Phase, ProbeStep, Reset};
pub(crate) use pace::{Silence, SilenceAction};
pub(crate) use path::{
    CHECKS, FailedAt, FenceGroup, Path, Purpose, REDIRECTS_MAX, RESET_PAUSE_MAX, RESET_PAUSE_MIN, State, Step,
};
pub(crate) use policy::{Candidate, PathSelector};
