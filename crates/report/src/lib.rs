//! Results as text, as tables in several formats, as JSON, and as one HTML file with charts.
//!
//! Everything takes a run's header, its [`RunSummary`](assay_analysis::RunSummary) and its findings, and returns
//! text. Numbers come from `analysis`; this room rounds, aligns, colours and draws.
//!
//! Architecture invariant: bytes out, no I/O, no clock; the same run gives the same bytes.
#![forbid(unsafe_code)]

mod answer;
mod cache_probe;
pub mod compare;
mod conduct;
mod crystaldiskmark;
mod curve;
pub mod diagnosis;
pub mod escape;
pub mod expected;
mod fleet;
mod forum;
mod glance;
pub mod held;
pub mod html;
pub mod journal;
pub mod json;
mod layout;
mod listing;
pub mod map;
mod member;
pub mod network;
mod number;
mod options;
mod painted;
pub mod prediction;
pub mod reading;
pub mod repeats;
mod rounds;
pub mod scale;
pub mod series;
pub mod sizing;
pub mod standing;
mod svg;
pub mod table;
pub mod text;
pub mod trends;
pub mod validation;

pub use listing::{RunListing, runs_json, runs_rendered, runs_table};
pub use number::{day_unix_ms, long as rounded_long, minute, separated, size};

/// What the store keeps with a run beside its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meta<'m> {
    /// Its label.
    pub label: Option<&'m str>,
    /// Its note.
    pub note: Option<&'m str>,
    /// Why its events are missing from some moment on; `None`: none is.
    pub lost: Option<&'m str>,
    /// The judgement by the array of its targets.
    pub judgement: Option<&'m assay_analysis::Judgement>,
    /// The run against the baseline of its plan and target; `None` where none is set.
    pub baseline: Option<&'m held::Held>,
    /// The run against the last one of the same, where it has no baseline.
    pub last: Option<&'m held::Held>,
}

impl<'m> Meta<'m> {
    /// Returns a run at a glance.
    pub(crate) fn glance(
        self,
        header: &assay_record::RunHeader,
        summary: &assay_analysis::RunSummary,
        findings: &[assay_analysis::Finding],
    ) -> glance::Glance {
        let before = self.baseline.or(self.last).map(held::Held::before);
        glance::glance(header, summary, findings, self.judgement, before)
    }
}
