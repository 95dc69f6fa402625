//! The room against real devices. Loop devices need root; a test that cannot have one says so and passes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "helpers of tests panic where a test fails, and say why one is skipped"
)]

mod chosen;
mod loop_device;
mod namespace;
mod probing;
mod routed;
mod sampling;
mod stacked;
