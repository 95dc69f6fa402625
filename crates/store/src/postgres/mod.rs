//! A store in a PostgreSQL server: its address, its connection, its tables.
//!
//! The client is tokio-postgres: the store asks one question at a time, in SQL that it shares with SQLite, so that
//! sqlx's pools, macros and own drivers would be weight; of its blocking wrapper, the crate `postgres`, a time-out is
//! missing.

mod address;
mod client;
mod login;
mod message;
mod schema;
mod tls;

pub use address::PostgresAddress;
pub(crate) use client::Client;
pub use schema::init_sql;
pub(crate) use schema::{Missing, Rights, prepare};
