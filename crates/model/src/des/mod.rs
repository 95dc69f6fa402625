//! Engine (c): discrete-event simulation in virtual time, with seeded randomness.
//!
//! The core (`core.rs`) is the array. Two things drive it: [`simulate`] runs whole workloads of one or several
//! clients as fast as the machine allows, and [`Simulation`] lets an outside loop submit single I/Os and
//! collect their completions in real time. Same core, same costs, same answers.

mod arrival;
mod cached;
mod core;
mod disks;
mod heap;
mod live;
mod op;
mod run;

pub use live::{Arrival, Simulation, SubmitError, VirtualCompletion};
pub use op::VirtualOp;
pub use run::{ClientOutcome, SimOptions, simulate};
