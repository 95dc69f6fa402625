//! The load generator.
//!
//! [`run`] executes a plan's steps on prepared [`RunTargets`]. For each step it starts worker threads, each with one
//! [`Target`](assay_target::Target), and drives them through the phases warm-up, measure and drain; the calling thread
//! coordinates them and passes every [`Event`](assay_record::Event) to a sink.
//!
//! Architecture invariant: threads, no async; between measure and drain a worker neither allocates nor locks nor logs
//! (a test with a counting allocator checks that).
#![forbid(unsafe_code)]

mod budget;
mod clock;
mod control;
mod events;
mod fill;
mod fit;
mod flights;
mod flow;
mod flushing;
mod full;
mod gate;
mod pacer;
mod paths;
mod placement;
mod places;
mod planner;
mod prefilled;
mod rng;
mod run;
mod sampler;
mod shares;
mod stalls;
mod stamp;
mod step;
mod tally;
mod targets;
mod trouble;
mod worker;

pub use clock::Clock;
pub use control::{CommonStart, EnoughSignal, StopSignal};
pub use events::{RunError, Sink};
pub use run::{RunRequest, run, run_ordered, run_with};
pub use targets::{Misfit, RunTargets, check_fit};
