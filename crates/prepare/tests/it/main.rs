//! Inspection through the room's border, on real devices and servers.
#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

mod signatures;
