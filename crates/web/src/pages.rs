//! The pages, a file each.

pub(crate) mod api;
pub(crate) mod asset;
pub(crate) mod compare;
pub(crate) mod delete;
pub(crate) mod diagnose;
pub(crate) mod download;
pub(crate) mod edit;
pub(crate) mod files;
pub(crate) mod login;
pub(crate) mod map;
pub(crate) mod metrics;
pub(crate) mod new_run;
pub(crate) mod now;
pub(crate) mod predict;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod targets;
