//! Paths, and the choice of a path for each command.

mod connection;
mod path;
mod policy;
mod silence;

pub(crate) use connection::{Connection, Phase, ProbeStep, Reset};
pub(crate) use path::{
    Attempt, FailedAt, FenceGroup, Path, Purpose, RESET_PAUSE_MAX, RESET_PAUSE_MIN, State,
};
pub(crate) use policy::{Candidate, PathSelector};
pub(crate) use silence::{Silence, SilenceAction};
