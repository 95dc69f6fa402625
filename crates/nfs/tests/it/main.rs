//! Tests through the public border: against a real nfs-ganesha where one can be started, and against a scripted server
//! that breaks the rules.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic in a test is a test that failed; one that is skipped says why"
)]

mod behaviour;
mod faults;
#[expect(dead_code, reason = "the stories of the program use more of it")]
mod ganesha;
mod scripted;
mod work;
