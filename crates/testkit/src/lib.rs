//! Code shared by the tests of several rooms. A development dependency only: no shipped code uses it.
//!
//! A test requests its requirements through [`need`]: if one is missing, the test is a *skip*, which `make test` counts
//! and prints, and a failure with `CI=true`. Servers ([`tgt`], [`istgt`], [`ganesha`], [`nats`], [`postgres`]),
//! [loop devices](loop_device), [network namespaces](namespace) and the [lab](lab) do that themselves and clean up on
//! drop, even if a test fails. A [`story::Story`] is the program in a directory with its own store; [`synthetic`]
//! generates the events of a run without running one.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a panic in what tests use is a test that failed")]

mod documents;
pub mod faults;
pub mod ganesha;
pub mod images;
mod iscsi_wire;
pub mod istgt;
pub mod lab;
pub mod lean;
pub mod loop_device;
pub mod lying;
pub mod namespace;
pub mod nats;
pub mod need;
pub mod nfs_proxy;
pub mod pauses;
pub mod postgres;
pub mod proxy;
mod servant;
pub mod story;
pub mod synthetic;
pub mod tgt;
mod unit;

use std::net::TcpListener;
use std::path::PathBuf;

/// Returns an unused TCP port on loopback.
///
/// # Panics
/// If loopback has no free port.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the path of a script of the repository.
fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}
