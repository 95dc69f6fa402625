//! Runs watched live and found again, as pages over HTTP.
//!
//! A [`Server`] reads the store of runs like any other reader: it knows of running runs by their events there,
//! whichever process writes them, and stops or starts nothing by itself. Pages are drawn here, with the tables and
//! charts of `report`, and need no script; the script adds what moves. `guard` is what every request passes.
//!
//! Architecture invariant: nothing of a request names a file, and nothing is changed without the token.
#![forbid(unsafe_code)]

mod answer;
mod app;
mod assets;
mod edits;
mod error;
mod frame;
mod guard;
mod launch;
mod live;
mod named;
mod options;
mod packed;
mod page;
mod pages;
mod rate;
mod routes;
mod run_id;
mod server;
mod session;
mod texts;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod token;
mod visitor;

pub use error::ServeError;
pub use options::{Limits, Options, RequestRate, RunPermission, RunTarget, Tls};
pub use server::{Server, Stopper};
