//! The initiator against real targets (tgt), through real sockets. Tests say why when they skip.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a panic is a failed test"
)]
#![expect(clippy::cast_possible_truncation, reason = "test sizes are small")]

mod behaviour;
mod faults;
mod proxy;
mod quirks;
mod scripted;
mod session;
mod silence;
mod tgt;
mod work;
