//! The change each article made or proposed, as a what-if: the sentence it should have written.

use super::ValidateError;
use crate::array::{Array, set, shipped};
use crate::predict::Engines;
use crate::resolved::Tables;
use crate::whatif::what_if;
use crate::workload::Workload;
use assay_spec::units::{Bytes, GIB};
use serde::Serialize;

/// A change and what it brings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Article {
    /// Shipped array, with what was set before the change.
    pub array: String,
    /// The load.
    pub load: String,
    /// The override.
    pub change: String,
    /// Expected rate over that before.
    pub gain: f64,
    /// The sentence.
    pub says: String,
}

/// Array, preparation, index of the forum test, change.
const CHANGES: [(&str, &str, usize, &str); 8] = [
    ("openfiler-2.3-8disk", "paths.rr_ios=1000 paths.rr_bytes=none", 0, "paths.rr_ios=1"),
    ("ix4-200d", "", 3, "raid=10"),
    ("ix4-200d", "target.serial_write_ms=none", 3, "raid=10"),
    ("openfiler-2.3-4disk", "", 3, "disks=8"),
    ("ix4-200d", "", 0, "link=10GbE"),
    ("nas-4bay", "", 0, "link=10GbE"),
    ("x4500", "", 0, "disks=44"),
    ("x4500", "protocol.kind=local link=none paths.count=1 paths.policy=fixed", 0, "disks=44"),
];

/// Every change, predicted.
///
/// # Errors
/// Never for the shipped arrays.
pub fn articles(tables: &mut Tables) -> Result<Vec<Article>, ValidateError> {
    let forum = Workload::forum_tests(Bytes(16 * GIB));
    let mut out = Vec::new();
    for (name, before, test, change) in CHANGES {
        let refused = |source| ValidateError::Set { row: format!("{name}: {change}"), source };
        let mut array: Array = shipped::named(name)
            .ok_or_else(|| ValidateError::NoArray { row: change.to_owned(), array: name.to_owned() })??;
        set(&mut array, before).map_err(refused)?;
        let rows = what_if(&array, &forum[test], &[change], Engines::Closed, tables).map_err(refused)?;
        let array = if before.is_empty() { name.to_owned() } else { format!("{name}, {before}") };
        out.extend(rows.into_iter().map(|w| Article {
            array: array.clone(),
            load: forum[test].name.clone(),
            change: w.change,
            gain: w.gain,
            says: w.says,
        }));
    }
    Ok(out)
}
