//! Hosts over NATS: the bus, agents, and the coordinator of a run.

mod agent;
mod allow;
mod bus;
mod clock;
mod conduct;
mod differences;
mod drift;
mod errand;
mod follow;
mod hosts;
mod init;
mod merge;
mod outbox;
mod probe;
mod reading;
mod run;
mod shared;
mod step_end;
mod task;
mod waiting;
mod watch;
mod wire;

pub use agent::{Agent, AgentStop};
pub use allow::Allowed;
pub use hosts::hosts;
pub use init::init;
pub use run::{attach, run};
