//! Arrays that have lost a member: published rows and the model's predictions, healthy and degraded.

use serde::Serialize;

use super::ValidateError;
use crate::array::{Array, Level, parse, set, shipped};
use crate::predict::{Engines, predict};
use crate::published;
use crate::resolved::Tables;
use crate::workload::Workload;

const ROWS: &str = include_str!("../../../../published/degraded/md-raid6.toml");
const ARRAY: &str = include_str!("../../../../arrays/md-raid6-10x6tb.toml");

/// What reviews say a failure leaves, in words and not as a table: array, level, failed disks, what is left of the
/// random reads, and who says so.
const SAID: [(&str, Level, u32, f64, &str); 5] = [
    (
        "8 disks",
        Level::Raid5,
        1,
        0.5,
        "xbitlabs, LSI MegaRAID SAS 8708EM2 (2009): \"lowers their performance by 50%\"",
    ),
    ("8 disks", Level::Raid6, 1, 0.5, "the same"),
    ("8 disks", Level::Raid6, 2, 0.25, "the same: the second loss \"cuts the performance by 50% more\""),
    (
        "8 disks",
        Level::Raid5,
        1,
        0.5,
        "xbitlabs, HighPoint RocketRAID 4320 (2009): \"a twofold performance hit\"",
    ),
    ("8 disks", Level::Raid6, 1, 0.5, "the same"),
];

/// A row, healthy or degraded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DegradedRow {
    /// Which.
    pub test: String,
    /// Measured I/Os per second, or what is left of the healthy rate.
    pub measured: f64,
    /// The same, predicted.
    pub predicted: f64,
    /// Whether the measured rate lies in the stated interval; `None` where only a share is known.
    pub inside: Option<bool>,
    /// Who measured.
    pub source: String,
}

/// Every row.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn degraded(tables: &mut Tables) -> Result<Vec<DegradedRow>, ValidateError> {
    let table = published::parse("degraded/md-raid6", ROWS)?;
    let base = parse("arrays/md-raid6-10x6tb.toml", ARRAY)?;
    let mut rows = Vec::new();
    for row in &table.rows {
        let (Some(model), Some(load), Some(measured)) = (&row.model, row.workload(), row.measured_iops())
        else {
            continue;
        };
        let mut array = base.clone();
        set(&mut array, &model.set).map_err(|source| ValidateError::Set { row: row.test.clone(), source })?;
        let predicted = predict(&array, &load, Engines::Closed, tables).iops;
        rows.push(DegradedRow {
            test: row.test.clone(),
            measured,
            predicted: predicted.value,
            inside: Some((predicted.lo..=predicted.hi).contains(&measured)),
            source: "md".to_owned(),
        });
    }
    for (disks, level, failed, measured, source) in SAID {
        rows.push(DegradedRow {
            test: format!(
                "{disks} in {}, {failed} failed: share of the random reads that is left",
                level.name()
            ),
            measured,
            predicted: share_left(level, failed, tables)?,
            inside: None,
            source: source.to_owned(),
        });
    }
    Ok(rows)
}

/// Random 8 KiB reads at 128 outstanding of 8 disks, degraded over healthy: the reviews' curves end at 256.
fn share_left(level: Level, failed: u32, tables: &mut Tables) -> Result<f64, ValidateError> {
    let base: Array = shipped::named("hdd-15k").ok_or(ValidateError::NoRow("degraded"))??;
    let mut rate = |more: &str| {
        let mut array = base.clone();
        set(&mut array, &format!("link.rate=none raid.level={} raid.disks=8 {more}", level.word()))
            .map_err(|source| ValidateError::Set { row: level.name(), source })?;
        let load = Workload {
            span: assay_spec::units::Bytes(2_000_000_000_000),
            ..Workload::simple("share", 8192, 100.0, 100.0, 128)
        };
        Ok::<f64, ValidateError>(predict(&array, &load, Engines::Closed, tables).iops.value)
    };
    Ok(rate(&format!("raid.failed={failed}"))? / rate("")?)
}
