//! Keeps runs.
//!
//! A [`Store`] is one SQLite file, or a schema in a PostgreSQL server; [`Store::begin_run`] gives a [`RunWriter`], to
//! which events are appended as they happen. A stored run is its events: [`Reader::load`] returns them in order, also
//! those of a run that was killed.
//!
//! # What survives what
//! Every [`RunWriter::append`] is one committed transaction in SQLite's write-ahead log with `synchronous = NORMAL`.
//! A commit hands its pages to the operating system before it returns, so a process that dies by any signal loses
//! nothing that was appended. A power failure may lose the last commits, but never breaks the file. `FULL` would also
//! survive that, at the price of a flush each second on what may be the very disk under test, which is why it is not
//! used; the log is flushed at the end of each step and of the run, when no load is measured.
//!
//! A run in progress holds a lock (`live.rs`): that distinguishes it from one that was killed, and keeps it from being
//! removed. After each event the files are compared with those that were opened (`file.rs`): a store that was deleted
//! or replaced takes events without a word, and they are gone with the process. Once an event could not be stored, none
//! after it is: what is stored of a run has no gap.
//!
//! # Lists
//! Beside its events a run has a digest ([`assay_record::RunDigest`]), which is written at the ends of steps and of the
//! run, so that a list of thousands of runs ([`Reader::list`]) reads no event. A digest can always be made again:
//! [`Reader::without_digest`] names the runs that need one. The extract of a run ([`Reader::extract`]) is the same for
//! its page: what a reader needs of its events, written at its end.
//!
//! Architecture invariant: this room does not know what events mean beyond the first and the last one.
#![forbid(unsafe_code)]

mod address;
mod beside;
mod condition;
mod connect;
mod copy;
mod database;
mod dialect;
mod digest;
mod error;
mod events;
mod extract;
mod file;
mod find;
mod follow;
mod id;
mod import;
mod key;
mod list;
mod live;
mod neighbours;
mod overview;
mod postgres;
mod process;
mod reader;
mod repeated;
mod row;
mod schema;
mod search;
mod server;
mod sql;
mod store;
mod strangers;
mod targets;
mod writer;

pub use address::{StoreAddress, StoreAddressError};
pub use beside::{Baseline, BaselineOf, Checked, KeptMap, MAPS_MAX};
pub use copy::{Copied, copy};
pub use error::StoreError;
pub use extract::PackedExtract;
pub use file::FileId;
pub use find::FindError;
pub use id::{is_run_id, new_run_id};
pub use import::{Completed, EventLines, Importer, Namesake, WholeEvents, WholeRun};
pub use key::target_key;
pub use list::{FirstTest, ListedRun, RunFilter, RunOrder, RunPage, RunSlice, RunState};
pub use overview::{Look, Overview, TargetVersion};
pub use postgres::{PostgresAddress, init_sql};
pub use process::{Process, StopError};
pub use reader::Reader;
pub use repeated::LabelledRun;
pub use row::RunRow;
pub use schema::FORMAT;
pub use sql::SqlError;
pub use store::{Store, default_path};
pub use writer::RunWriter;
