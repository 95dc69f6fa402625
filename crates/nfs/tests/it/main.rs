//! Tests of the public interface: against a real nfs-ganesha if one can be started, and against a scripted server that
//! violates the protocol.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

mod behaviour;
mod deadlines;
mod faults;
mod lies;
mod moved;
mod scripted;
mod work;

use assay_testkit::ganesha;
