//! In the place of NATS, where a build leaves it out: everything is refused, with what to build.

use assay_engine::StopSignal;
use assay_runner::Sinks;

use crate::{AgentOptions, BusOptions, FleetDone, FleetError, FleetOrder, HostList, InitDone, InitOptions};

/// Targets that an agent uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed(());

impl Allowed {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn parse(_: &str, _: &str) -> Result<Self, FleetError> {
        Err(FleetError::Absent)
    }
}

/// Ends an agent from another thread.
#[derive(Debug, Clone, Default)]
pub struct AgentStop(());

impl AgentStop {
    /// Does nothing: there is no agent.
    pub fn stop(&self) {}
}

/// An agent, of which there is none.
#[derive(Debug)]
pub enum Agent {}

impl Agent {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn swarm(_: &AgentOptions, _: &[String]) -> Result<Self, FleetError> {
        Err(FleetError::Absent)
    }

    /// Serves; no agent gets here.
    ///
    /// # Errors
    /// Never.
    pub fn serve(self, _: &AgentStop) -> Result<(), FleetError> {
        match self {}
    }
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn hosts(_: &BusOptions) -> Result<HostList, FleetError> {
    Err(FleetError::Absent)
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn init(_: &InitOptions) -> Result<InitDone, FleetError> {
    Err(FleetError::Absent)
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn run(_: &FleetOrder, _: Sinks<'_>) -> Result<FleetDone, FleetError> {
    Err(FleetError::Absent)
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn attach(_: &str, _: &BusOptions, _: StopSignal, _: Sinks<'_>) -> Result<FleetDone, FleetError> {
    Err(FleetError::Absent)
}
