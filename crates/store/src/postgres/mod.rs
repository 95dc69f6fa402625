//! A store in a PostgreSQL server: its address, its connection, its tables.
//!
//! The client is tokio-postgres: the store asks one question at a time, in SQL that it shares with SQLite, so that
//! sqlx's pools, macros and own drivers would be weight; of its blocking wrapper, the crate `postgres`, a time-out is
//! missing.

#[cfg(not(feature = "postgres"))]
mod absent;
mod address;
#[cfg(feature = "postgres")]
mod client;
#[cfg(feature = "postgres")]
mod login;
#[cfg(feature = "postgres")]
mod message;
mod schema;
#[cfg(feature = "postgres")]
mod tls;

#[cfg(not(feature = "postgres"))]
pub(crate) use absent::Client;
pub use address::PostgresAddress;
#[cfg(feature = "postgres")]
pub(crate) use client::Client;
pub use schema::init_sql;
pub(crate) use schema::{Missing, Rights, prepare};
