//! The initiator against real targets (tgt), over real sockets. Skipped if tgt does not start.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is a failed test")]
#![expect(clippy::cast_possible_truncation, reason = "test sizes are small")]

mod behaviour;
mod deadlines;
mod faults;
mod lean;
mod lies;
mod management;
mod quirks;
mod remap;
mod scripted;
mod session;
mod silence;
mod starve;
mod trims;
mod work;

use assay_testkit::tgt;
