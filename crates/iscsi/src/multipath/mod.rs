//! Paths, and the choice of a path for each command.

mod connection;
mod path;
mod policy;
mod silence;

pub(crate) use connection::{Connection, Phase, ProbeStep};
pub(crate) use path::{Attempt, FailedAt, Path, Purpose, State};
pub(crate) use policy::{Candidate, PathSelector};
pub(crate) use silence::{Silence, SilenceAction};
