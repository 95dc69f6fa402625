//! Stories: the program itself on real files and devices, as somebody at a terminal would use it.
//!
//! Times never decide: what is asserted is counts, sums, order, exit codes and words. Stories that need root (loop
//! devices, mounts, swap) are skipped where there is none (`assay_testkit::need`). `SLOW_TESTS=1` adds those that
//! take longer.
#![expect(clippy::unwrap_used, reason = "a panic in a story is a story that failed")]

mod bad_plans;
mod baseline;
mod bounds;
mod choices;
mod compare;
mod curve;
mod defended;
mod devices;
mod diagnose;
mod errors;
mod exchange;
mod exits;
mod failing_store;
mod faults;
mod figures;
mod files;
mod fio_beside;
mod fio_equal;
mod first_contact;
mod foreign_plans;
mod foreign_results;
mod forum;
mod gaps;
mod hidden;
mod hosts;
mod hosts_exact;
mod interrupted;
mod kinds;
mod lab;
mod lies;
mod load;
mod loop_device;
mod lost_store;
mod lun;
mod map;
mod metrics;
mod nfs;
mod outputs;
mod postgres;
mod predict;
mod probe_cache;
mod read_only;
mod real_tools;
mod releases;
mod secrets;
mod shares;
mod side_by_side;
mod store;
mod tour;
mod verify;
mod web;

use assay_testkit::story;
