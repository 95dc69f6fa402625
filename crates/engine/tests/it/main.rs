//! The engine through its public interface: plan text in, events out, on targets made for the purpose.
#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

mod allocations;
mod bench;
mod conservation;
#[path = "../../../target/tests/remote/counting.rs"]
mod counting;
mod panics;
mod shares;
mod waits;
