//! A run, from its targets to its last event.
//!
//! [`run`] takes an [`Order`] — a plan, targets, and how the steps follow each other —, prepares the targets, measures,
//! keeps every event in the store, and closes the targets. A [`Follower`] hears what happens while it happens, and
//! answers what the runner does not judge itself: whether a figure is known well enough, and which experiment comes
//! next. The result is a [`Done`]: what ran, and what failed.
//!
//! ```text
//!  Order ──> prepare ──> header ──> engine ──Event──> Follower, then Keeper ──> store
//!               │           ^                                     └─> file beside it, while the store is lost
//!               └─ a diagnosis plans its experiments here
//! ```
//!
//! Architecture invariant: prints nothing, knows no verb, and does not know what a figure means. Whoever starts runs
//! calls the same function: the program, and an agent that was asked to.
#![forbid(unsafe_code)]

mod ceiling;
mod close;
mod error;
mod facts;
mod follower;
mod keep;
mod lines;
mod measure;
mod order;
mod reader;
mod rounds;
mod run;
mod spool;
mod targets;

pub use ceiling::on_null;
pub use close::Left;
pub use error::{Consequence, NotStored, RunnerError};
pub use facts::host_facts;
pub use follower::{Experiments, Follower, Stage};
pub use keep::{Keeper, LostStore, StoreNews};
pub use order::{Order, Steps, Turn, label_of};
pub use reader::{Reader, Reading};
pub use run::{Done, Sinks, run};
