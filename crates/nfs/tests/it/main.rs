//! Tests through the public border: against a real nfs-ganesha where one can be started, and against a scripted server
//! that breaks the rules.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

mod behaviour;
mod deadlines;
mod faults;
mod lies;
mod scripted;
mod work;

use assay_testkit::ganesha;
