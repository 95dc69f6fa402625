//! What the tests of several rooms share. A development dependency only: no room uses it in what it ships.
//!
//! A test that needs something of its machine asks for it through [`need`]: where it is missing, the test is a *skip*,
//! which is counted and printed by `make test`, and a failure with `CI=true`. Servers ([`tgt`], [`istgt`],
//! [`ganesha`]), [loop devices](loop_device), [network namespaces](namespace) and the [lab](lab) ask that way
//! themselves and clean up when they are dropped, also when a test fails. A [`story::Story`] is the program in a folder
//! with a store of its own; [`synthetic`] makes the events of a run without running one.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a panic in what tests use is a test that failed")]

pub mod faults;
pub mod ganesha;
pub mod images;
pub mod istgt;
pub mod lab;
pub mod loop_device;
pub mod lying;
pub mod namespace;
pub mod need;
pub mod proxy;
pub mod story;
pub mod synthetic;
pub mod tgt;

use std::net::TcpListener;
use std::path::PathBuf;

/// Returns a TCP port on loopback that nobody listens on at the moment.
///
/// # Panics
/// If loopback has no free port.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the path of a script of the repository.
fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}
