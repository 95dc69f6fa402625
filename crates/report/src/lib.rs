//! Results as text, as tables in several formats, as JSON, and as one HTML file with charts.
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

/// Facts about a run that are not in its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meta<'m> {
    /// Label.
    pub label: Option<&'m str>,
    /// Note.
    pub note: Option<&'m str>,
    /// Expectations and verdicts, where an array file is known.
    pub judgement: Option<&'m assay_analysis::Judgement>,
}
