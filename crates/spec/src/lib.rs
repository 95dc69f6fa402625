//! What to do, as data.
//!
//! A plan is written as TOML ([`PlanFile`](file::PlanFile): exactly what somebody wrote, with the line of
//! every value), and resolved to a [`Plan`]: tests made of steps, steps made of jobs, no option left that
//! means "default". A suite is a plan that ships with Assay. An [`Address`] says where I/O goes.
//!
//! Architecture invariant: no I/O and no clock in this room; everything here is a function of its arguments.
#![forbid(unsafe_code)]

pub mod units;
