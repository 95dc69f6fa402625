//! Measured rows of published articles, as data. Their text is in `published/` at the root of the repository.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use assay_spec::units::{Bytes, GIB, Nanos};

use crate::workload::Workload;

const FILES: &[(&str, &str)] = &[
    ("ix4-200d", include_str!("../../../published/ix4-200d.toml")),
    ("openfiler-2.3", include_str!("../../../published/openfiler-2.3.toml")),
    ("anandtech-2007", include_str!("../../../published/anandtech-2007.toml")),
    ("ts140", include_str!("../../../published/ts140.toml")),
    ("x4500", include_str!("../../../published/x4500.toml")),
];

const MIB: f64 = 1_048_576.0;

/// The tables of one article.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Short name; the file's stem.
    pub name: String,
    /// The system that was measured.
    pub system: String,
    /// Author, title, year.
    pub source: String,
    /// Set-up common to all rows.
    pub setup: String,
    /// The rows, in the article's order.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// One measured row. A value the article does not give is absent.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of the test.
    pub test: String,
    /// What was special about it.
    #[serde(default)]
    pub setup: String,
    /// A remark on the number.
    #[serde(default)]
    pub note: String,
    /// I/O size, bytes.
    pub size_bytes: Option<u64>,
    /// Reads, %.
    pub read_pct: Option<f64>,
    /// Random positions, %.
    pub random_pct: Option<f64>,
    /// MiB per second (2^20), where the article's MB is that.
    pub mib_s: Option<f64>,
    /// MB per second (10^6), where the article's MB is that or is not known to be 2^20.
    pub mb_s: Option<f64>,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Lowest and highest, where the article gives a range.
    pub iops_range: Option<[f64; 2]>,
    /// Mean response time, ms.
    pub mean_ms: Option<f64>,
    /// Longest response time, ms.
    pub max_ms: Option<f64>,
    /// Bytes that the article says were moved, where it does.
    pub stated_bytes: Option<f64>,
    /// How long the article says that took, s.
    pub stated_s: Option<f64>,
    /// How the row is modelled, if it can be.
    pub model: Option<RowModel>,
}

/// Whether hardware or software limits a row, where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowLimit {
    /// Disks, drives, controllers or links: data sheets must predict it.
    Hardware,
    /// The target's software: data sheets give a bound only.
    Software,
    /// Not explainable with what is written.
    Unexplained,
}

/// What may be named as the limit of a row, known from how it was measured and not from a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitWord {
    /// The disks or drives.
    Members,
    /// The I/Os in flight over the time of one.
    Latency,
    /// The link or an interface of a drive.
    Link,
    /// The host that issues the load.
    Host,
    /// The target's software.
    Cpu,
    /// The controller or its cache.
    Controller,
}

/// How a row is modelled.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RowModel {
    /// Name of the shipped array.
    pub array: String,
    /// What limits the row.
    pub limit: RowLimit,
    /// Which resource limits it, where that is known; any of several is right.
    #[serde(default)]
    pub names: Vec<LimitWord>,
    /// Overrides, as in a what-if.
    #[serde(default)]
    pub set: String,
    /// The fold it is predicted in after calibration.
    #[serde(default)]
    pub calibrated: String,
    /// I/Os in flight, of all workers together.
    pub outstanding: u32,
    /// Threads that issue them.
    #[serde(default = "one")]
    pub workers: u32,
    /// A worker flushes after so many writes.
    pub flush_every: Option<u32>,
    /// Drain and reopen after this many I/Os.
    pub reconnect_every: Option<u32>,
    /// Region, as a size.
    pub span: String,
    /// Measured time, s; two minutes where nothing is said.
    #[serde(default = "two_minutes")]
    pub duration_s: u64,
    /// Rows of the same group ran at the same time.
    #[serde(default)]
    pub group: String,
    /// Why it cannot be explained.
    #[serde(default)]
    pub why: String,
}

const fn one() -> u32 {
    1
}

const fn two_minutes() -> u64 {
    120
}

/// Why a published file could not be read; for files edited by hand.
#[derive(Debug, Error)]
#[error("published/{file}.toml: {source}")]
pub struct PublishedError {
    /// The file's stem.
    pub file: String,
    /// What the TOML parser says, with the line.
    pub source: Box<toml::de::Error>,
}

/// Reads one file's text.
///
/// # Errors
/// When the text is not of the form above.
pub fn parse(file: &str, text: &str) -> Result<Published, PublishedError> {
    toml::from_str(text).map_err(|e| PublishedError { file: file.to_owned(), source: Box::new(e) })
}

/// Every table that ships.
///
/// # Errors
/// Never for a released build: a test parses every shipped file.
pub fn all() -> Result<Vec<Published>, PublishedError> {
    FILES.iter().map(|(file, text)| parse(file, text)).collect()
}

impl Row {
    /// I/Os per second: as given, or from the rate and the size.
    #[must_use]
    pub fn measured_iops(&self) -> Option<f64> {
        let size = self.size_bytes.map(|s| s as f64);
        self.iops.or_else(|| Some(self.mib_s? * MIB / size?)).or_else(|| Some(self.mb_s? * 1e6 / size?))
    }

    /// The row's load, when it is modelled.
    #[must_use]
    pub fn workload(&self) -> Option<Workload> {
        let model = self.model.as_ref()?;
        Some(Workload {
            span: model.span.parse().unwrap_or(Bytes(4 * GIB)),
            duration: Nanos::from_secs(model.duration_s),
            reconnect_every: model.reconnect_every,
            workers: model.workers.max(1),
            flush_every: model.flush_every,
            ..Workload::simple(
                &self.test,
                self.size_bytes?,
                self.read_pct?,
                self.random_pct?,
                (model.outstanding / model.workers.max(1)).max(1),
            )
        })
    }
}
