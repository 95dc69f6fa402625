//! The server from outside: real requests over real connections, from visitors who mean well and from others.
#![expect(clippy::unwrap_used, reason = "a panic here is a test that failed")]

mod api;
mod client;
mod in_server;
mod limits;
mod pages;
mod replaced;
mod security;
mod served;
mod targets;
