//! Stored results as they are read.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a failed test")]

mod baseline;
mod extract;
mod known;
