//! Rebuilds without other load: published rates, and what the devices allow.

use serde::Serialize;

use super::ValidateError;
use crate::array::{parse, set};
use crate::published;
use crate::quantity::Bounds;
use crate::resolved::rebuild::rate_onto_replacement;

const ROWS: &str = include_str!("../../../../published/degraded/rebuilds.toml");
const ARRAYS: [(&str, &str); 5] = [
    ("adaptec-2410sa", include_str!("../../../../arrays/rebuilt/adaptec-2410sa.toml")),
    ("md-raid1-250gb", include_str!("../../../../arrays/rebuilt/md-raid1-250gb.toml")),
    ("netapp-14-2", include_str!("../../../../arrays/rebuilt/netapp-14-2.toml")),
    ("qnap-ts559", include_str!("../../../../arrays/rebuilt/qnap-ts559.toml")),
    ("zfs-mirror-2tb", include_str!("../../../../arrays/rebuilt/zfs-mirror-2tb.toml")),
];
/// MiB, bytes.
const MIB: f64 = 1_048_576.0;

/// A rebuild.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RebuildRow {
    /// Which.
    pub test: String,
    /// Rate onto the replacement, MiB/s.
    pub measured: f64,
    /// Highest rate that the devices allow, MiB/s.
    pub at_most: Bounds,
}

impl RebuildRow {
    /// Returns whether the measured rate is below the upper end.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.measured <= self.at_most.hi
    }
}

/// Every row.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn rebuilds() -> Result<Vec<RebuildRow>, ValidateError> {
    let table = published::parse("degraded/rebuilds", ROWS)?;
    let mut rows = Vec::new();
    for row in &table.rows {
        let (Some(model), Some(load), Some(measured)) = (&row.model, row.workload(), row.measured_iops())
        else {
            continue;
        };
        let named = ARRAYS.iter().find(|(name, _)| *name == model.array);
        let (name, text) = named
            .ok_or_else(|| ValidateError::NoArray { row: row.test.clone(), array: model.array.clone() })?;
        let mut array = parse(&format!("arrays/rebuilt/{name}.toml"), text)?;
        set(&mut array, &model.set).map_err(|source| ValidateError::Set { row: row.test.clone(), source })?;
        if let Some(at_most) = rate_onto_replacement(&array, load.span.0 as f64) {
            rows.push(RebuildRow {
                test: row.test.clone(),
                measured: measured * load.mean_size() / MIB,
                at_most: at_most.scaled(1.0 / MIB),
            });
        }
    }
    Ok(rows)
}
