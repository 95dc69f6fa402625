//! Stored results as they are read.
//!
//! A [`Stored`] run is its header, the summary of its events, and what the rules of today say of them. The command line
//! and the served pages both read runs here, so that they cannot differ. [`repetitions`] finds the stored runs that
//! show how far repetitions of a side of a comparison lie apart.
//!
//! Architecture invariant: reading changes nothing. Functions take a [`assay_store::Reader`], which cannot write; only
//! [`complete`] takes the store.
#![forbid(unsafe_code)]

mod baseline;
mod complete;
mod known;
mod readings;
mod short;
mod sides;
mod stored;
mod targets;

pub use baseline::{
    against_earlier, baseline_of, baseline_side, held, keys_of, read_extract_held, read_held,
    runs_of_baseline,
};
pub use complete::{complete, completed, incomplete};
pub use known::{KnownTargets, TargetHistory};
pub use readings::Readings;
pub use short::{Baselines, InShort};
pub use sides::{labelled, name_of, repetitions, with_distinct_names};
pub use stored::{ReadError, Stored, collector_of, judged, status, summary_stored};
pub use targets::{LastTest, TargetRuns, baseline_level, facts_of_changes};
