//! Makes it happen.
//!
//! [`run`] goes through a plan's steps on [`RunTargets`], which somebody else has prepared. For each step, worker
//! threads are started, one [`Target`](assay_target::Target) each, and driven through the phases warm-up, measure and
//! drain; the calling thread coordinates and passes every [`Event`](assay_record::Event) to a sink.
//!
//! Architecture invariant: threads, no async; between measure and drain a worker allocates nothing, locks nothing
//! and logs nothing (a test with a counting allocator holds it to that).
#![forbid(unsafe_code)]

mod budget;
mod clock;
mod control;
mod events;
mod fill;
mod fit;
mod flights;
mod flushing;
mod pacer;
mod paths;
mod placement;
mod planner;
mod prefilled;
mod rng;
mod run;
mod sampler;
mod stalls;
mod stamp;
mod step;
mod tally;
mod targets;
mod worker;

pub use clock::Clock;
pub use control::StopSignal;
pub use events::{RunError, Sink};
pub use run::{RunRequest, run, run_ordered, run_with};
pub use targets::{Misfit, RunTargets, check_fit};
