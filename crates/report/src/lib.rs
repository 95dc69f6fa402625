//! Says what a run measured: as text, as JSON, as one HTML file with drawn charts.
//!
//! Everything takes a run's header, its [`RunSummary`](assay_analysis::RunSummary) and its findings, and gives back
//! text. Numbers come from `analysis`; this room rounds, aligns, colours and draws.
//!
//! Architecture invariant: bytes out, no I/O, no clock; the same run gives the same bytes.
#![forbid(unsafe_code)]

pub mod compare;
pub mod expected;
pub mod html;
pub mod json;
mod layout;
mod listing;
pub mod network;
mod number;
pub mod prediction;
pub mod reading;
mod svg;
pub mod table;
pub mod text;

pub use listing::{RunListing, runs_json, runs_table};

/// What the store knows of a run beside its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meta<'m> {
    /// What somebody called it.
    pub label: Option<&'m str>,
    /// What somebody noted of it.
    pub note: Option<&'m str>,
    /// What the description of its array lets one say of it.
    pub judgement: Option<&'m assay_analysis::Judgement>,
}
