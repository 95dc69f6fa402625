//! What to do, as data.
//!
//! A plan is written as TOML ([`PlanFile`]: exactly what somebody wrote), and resolved to a [`Plan`]: tests
//! made of steps, steps made of jobs, no option left that means "default". A [`Suite`](suites::Suite) is a
//! plan that ships with Assay. An [`Address`] says where I/O goes.
//!
//! Architecture invariant: no I/O and no clock in this room; everything here is a function of its arguments.
#![forbid(unsafe_code)]

mod address;
mod address_keys;
mod address_part;
mod address_word;
pub mod curve;
mod engine;
mod extent;
mod file;
mod foreign_word;
mod goal;
mod iscsi_address;
mod left_out;
pub mod limits;
mod nfs_address;
mod overrides;
mod place;
mod placement;
mod plan;
mod plan_error;
pub mod probe;
pub mod random;
pub mod reader;
mod resolve;
mod resolve_access;
mod secret;
mod smb_share;
pub mod suites;
pub mod threshold;
pub mod units;

pub use address::{Address, AddressError};
pub use address_word::names_device;
pub use engine::Engine;
pub use file::{FLOW_MAX, IO_BYTES_MAX, OUTSTANDING_MAX, PlanFile, TRIM_BYTES_MAX, WORKERS_MAX};
pub use foreign_word::field_called;
pub use goal::{Figure, Goal, Tolerance, ToleranceError};
pub use iscsi_address::{IscsiAddress, IscsiAddressError, IscsiPortal, PathPolicy};
pub use left_out::left_out;
pub use nfs_address::{NfsAddress, NfsAddressError, NfsSync};
pub use overrides::{Maxima, Overrides};
pub use place::{Distribution, Extent, Strides, Window, ZONE_BYTES_MIN, Zone, Zoned};
pub use placement::{HostPlan, PlacedStep, Placement, PlacementError};
pub use plan::{
    Access, Arrivals, Change, Data, Ends, Flush, Flushes, Job, Pacing, Plan, Role, Semantics, Span, Step,
    Stop, Swept, Test, named_steps,
};
pub use plan_error::PlanError;
pub use reader::{distance, nearest, suggest};
pub use secret::{has_secret, without_secret};
pub use smb_share::SmbShare;

#[cfg(test)]
mod tests;
