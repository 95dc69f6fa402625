//! Stories on a network of four links (scripts/lab.sh): what `assay check` sees of it, how paths share the load, and
//! how a run goes on when links and targets fail. They need root, iproute2 and tgt, and are skipped where one is
//! missing.
#![expect(clippy::unwrap_used, reason = "a panic in a story is a story that failed")]

mod array;
mod check;
mod foreign;
mod network;
mod runs;

use assay_testkit::{lab, story};
