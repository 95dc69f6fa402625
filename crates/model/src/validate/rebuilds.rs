//! Rebuilds without other load: published rates beside what the devices allow.

use std::fmt::Write as _;

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

const HEAD: &str = "
## Rebuilds

Rates of rebuilds without other load (`published/degraded/rebuilds.toml`), and the highest that the devices allow. The
arrays were described before anything was predicted, and predicted once.

| row | measured, MiB/s | at most, MiB/s | ratio | holds |
|---|--:|--:|--:|---|
";

const REMARK: &str = "
No rebuild was faster than its devices allow, and one of the seven came near: the sequential rebuild of a ZFS mirror,
whose disk is not named, so that its range is wide. The others were limited by what no data sheet has. The controller
of 2004 rebuilt at a third to a seventh of what its disks stream (those of the reviewer's other tests of that year;
the page that was read does not name them), the paper gives 90 min as the best case, the author of the md message
says himself that his disks are faster, and the QNAP rebuilt at the 50,000 KiB/s that its setting `speed_limit_min`
asked for. The time that `assay predict` and `assay size` state is therefore the shortest one.

The rate of a load beside a rebuild was published nowhere that was found with its set-up and its numbers: searched
were reviews of RAID controllers and NAS (xbitlabs, AnandTech, Tom's Hardware, Ars Technica), manuals and papers of
Dell, HPE, IBM and Intel, linux-raid, and the pull requests of OpenZFS. What `raid.rebuild_pct` does to a load is
checked by its definition and by the simulation only.
";

/// The section of the document.
pub(super) fn to_markdown(rows: &[RebuildRow]) -> String {
    let mut out = String::from(HEAD);
    for row in rows {
        let at_most = row.at_most;
        let _ = writeln!(
            out,
            "| {} | {:.1} | {:.1} ({:.1} to {:.1}) | {:.2} | {} |",
            row.test,
            row.measured,
            at_most.value,
            at_most.lo,
            at_most.hi,
            at_most.value / row.measured,
            if row.holds() { "yes" } else { "no" }
        );
    }
    out.push_str(REMARK);
    out
}
