//! Every system predicted with what the others teach: leave one system out.
//!
//! A prediction from sheets alone is off by a factor that systems of a family share, and scatters around it. For a row
//! of system s in family f, both are learned from the rows of f that other systems have:
//! ```text
//!   b   = median of ln(measured / nominal), each system weighing the same; drawn to 0 by n / (n + 3), in [1/2, 2]
//!   w   = ln(fast / nominal) or ln(nominal / slow) of the array file's ranges, at least WIDTH_MIN
//!   z_q = the share q of all |ln(measured / nominal) - b| / w lies below it
//!   nominal' = nominal e^b,  interval_q = nominal' e^(-z_q w) .. nominal' e^(+z_q w)
//! ```
//! No row of s teaches anything about s, so that the share of rows inside is one that a system nobody has seen may
//! expect, as far as it is like these. A family of fewer than [`SYSTEMS_MIN`] other systems borrows the scatter of all.

use serde::Serialize;

use super::unseen::{Described, described, word_of};
use super::{ValidateError, median};
use crate::array::{Array, Device, LinkRate, ProtocolKind, SoftwareName};
use crate::predict::{Engines, Prediction, predict, unwidened};
use crate::published::{Row, RowLimit};
use crate::quantity::Bounds;
use crate::resolved::{Software, Tables};
use crate::unseen::{self, Half, Set};

/// Levels at which intervals are stated.
pub const LEVELS: [f64; 3] = [0.50, 0.80, 0.95];
/// Fewer systems than this say nothing of their own.
pub const SYSTEMS_MIN: usize = 5;
/// Smallest half-width of the ranges, as a logarithm: an input without a range is not known better than this.
const WIDTH_MIN: f64 = 0.10;
/// Systems that the prior "sheets are right" counts as.
const PRIOR_SYSTEMS: f64 = 3.0;
/// A family's factor beyond this would be no constant but a mistake.
const FACTOR_MAX: f64 = 2.0;

/// Systems that are wrong in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Family {
    /// One rotating disk.
    Disk,
    /// Several rotating disks without software of a name.
    Disks,
    /// Linux md.
    Md,
    /// ZFS.
    Zfs,
    /// SSDs with SATA or SAS.
    SataSsd,
    /// NVMe drives.
    Nvme,
    /// Storage of another machine.
    Remote,
}

impl Family {
    /// Every family, in the order of the document.
    pub const ALL: [Self; 7] =
        [Self::Disk, Self::Disks, Self::Md, Self::Zfs, Self::SataSsd, Self::Nvme, Self::Remote];

    /// What it is called.
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Disk => "one disk",
            Self::Disks => "several disks",
            Self::Md => "Linux md",
            Self::Zfs => "ZFS",
            Self::SataSsd => "SATA and SAS SSDs",
            Self::Nvme => "NVMe drives",
            Self::Remote => "over a network",
        }
    }

    fn of(array: &Array) -> Self {
        let is_pcie = |rate| matches!(rate, LinkRate::Pcie { .. });
        match (array.target.software, &array.device) {
            _ if array.protocol.kind != ProtocolKind::Local => Self::Remote,
            (SoftwareName::Md, _) => Self::Md,
            (SoftwareName::Zfs, _) => Self::Zfs,
            (_, Device::Ssd(ssd)) if is_pcie(ssd.link) || is_pcie(array.link.rate) => Self::Nvme,
            (_, Device::Ssd(_)) => Self::SataSsd,
            (_, Device::Hdd(_)) if array.raid.disks.value > 1.0 => Self::Disks,
            (_, Device::Hdd(_)) => Self::Disk,
        }
    }
}

/// A row, what sheets alone say, and what they say with what other systems teach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrossedRow {
    /// System.
    pub system: String,
    /// Row.
    pub test: String,
    /// Its family.
    pub family: Family,
    /// What limits according to the source of the row.
    pub kind: RowLimit,
    /// Measured I/Os per second.
    pub measured: f64,
    /// From the sheets: the ranges of the array file only.
    pub sheet: Bounds,
    /// What `assay predict` prints: the ranges, and the fixed error of the model.
    pub printed: Bounds,
    /// Learned from the other systems, at each of [`LEVELS`].
    pub learned: [Bounds; 3],
    /// Whether the limit is named as the source has it; `None` where that leaves several open.
    pub limit_right: Option<bool>,
}

impl CrossedRow {
    /// Whether the measured rate is inside the interval of a level.
    #[must_use]
    pub fn is_inside(&self, level: usize) -> bool {
        (self.learned[level].lo..=self.learned[level].hi).contains(&self.measured)
    }

    /// Whether the measured rate is inside the interval that is printed; of a bound, whether it is below its end.
    #[must_use]
    pub fn is_inside_printed(&self) -> bool {
        (self.printed.lo..=self.printed.hi).contains(&self.measured)
    }

    /// |predicted / measured - 1| of the learned nominal value.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.learned[0].value / self.measured - 1.0).abs()
    }

    /// Highest over lowest rate of the 80 % interval.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.learned[1].hi / self.learned[1].lo
    }
}

/// Every row of every system of both sets, each predicted with what the others teach.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub(super) fn systems_out(tables: &mut Tables) -> Result<Vec<CrossedRow>, ValidateError> {
    let mut rows = Vec::new();
    for set in Set::ALL {
        for half in [Half::Open, Half::HeldBack] {
            for table in unseen::tables(set, half)? {
                for row in &table.rows {
                    rows.extend(from_sheets(&table.name, row, tables)?);
                }
            }
        }
    }
    let learned: Vec<[Bounds; 3]> = rows.iter().map(|row| learn(row, &rows)).collect();
    for (row, learned) in rows.iter_mut().zip(learned) {
        row.learned = learned;
    }
    Ok(rows)
}

fn from_sheets(system: &str, row: &Row, tables: &mut Tables) -> Result<Option<CrossedRow>, ValidateError> {
    let Some(Described { model, array, workload, measured }) = described(row)? else { return Ok(None) };
    let prediction: Prediction = predict(&array, &workload, Engines::Closed, tables);
    let sheet = unwidened(&array, &workload, tables);
    Ok(Some(CrossedRow {
        system: system.to_owned(),
        test: row.test.clone(),
        family: Family::of(&array),
        kind: model.limit,
        measured,
        sheet,
        printed: Bounds {
            lo: if prediction.software == Software::Unknown { 0.0 } else { prediction.iops.lo },
            ..prediction.iops
        },
        learned: [sheet; 3],
        limit_right: match model.names[..] {
            [name] if prediction.software != Software::Unknown => Some(word_of(&prediction) == Some(name)),
            _ => None,
        },
    }))
}

/// ln(measured / nominal), and the half-width of the ranges on that side of `shift`.
fn residual(row: &CrossedRow, shift: f64) -> f64 {
    let apart = (row.measured / row.sheet.value).ln() - shift;
    let [down, up] = widths(row);
    apart.abs() / if apart < 0.0 { down } else { up }
}

fn widths(row: &CrossedRow) -> [f64; 2] {
    let Bounds { lo, value, hi } = row.sheet;
    [(value / lo).ln().max(WIDTH_MIN), (hi / value).ln().max(WIDTH_MIN)]
}

fn learn(row: &CrossedRow, all: &[CrossedRow]) -> [Bounds; 3] {
    let others: Vec<&CrossedRow> = all.iter().filter(|o| o.system != row.system).collect();
    let family: Vec<&CrossedRow> = others.iter().copied().filter(|o| o.family == row.family).collect();
    let count = systems(&family);
    let logs: Vec<(f64, f64)> =
        weighted(&family).map(|(o, weight)| ((o.measured / o.sheet.value).ln(), weight)).collect();
    let drawn = count as f64 / (count as f64 + PRIOR_SYSTEMS);
    let shift = (quantile(logs, 0.5) * drawn).clamp(-FACTOR_MAX.ln(), FACTOR_MAX.ln());
    let teachers = if count < SYSTEMS_MIN { &others } else { &family };
    let teaching = systems(teachers) as f64;
    let [down, up] = widths(row);
    LEVELS.map(|level| {
        // One system more than there are: the next one may be outside of all.
        let level = (level * (teaching + 1.0) / teaching).min(1.0);
        let scores = weighted(teachers).map(|(o, weight)| (residual(o, shift), weight)).collect();
        let z = quantile(scores, level);
        let value = row.sheet.value * shift.exp();
        Bounds { lo: value * (-z * down).exp(), value, hi: value * (z * up).exp() }
    })
}

/// Number of systems among rows.
#[must_use]
pub fn systems(rows: &[&CrossedRow]) -> usize {
    let mut names: Vec<&str> = rows.iter().map(|r| r.system.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// Rows with weights that make every system count the same.
fn weighted<'a>(rows: &'a [&'a CrossedRow]) -> impl Iterator<Item = (&'a CrossedRow, f64)> {
    rows.iter().map(|row| {
        let of_system = rows.iter().filter(|other| other.system == row.system).count();
        (*row, 1.0 / of_system as f64)
    })
}

/// The value below which a share of the weight lies; 0 of nothing.
fn quantile(mut values: Vec<(f64, f64)>, share: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|v| v.1).sum();
    let mut below = 0.0;
    for (value, weight) in &values {
        below += weight;
        if below >= share * all * 0.999_999 {
            return *value;
        }
    }
    values.last().map_or(0.0, |v| v.0)
}

/// Median of a figure over rows; NaN of none.
#[must_use]
pub fn median_of(rows: &[&CrossedRow], figure: fn(&CrossedRow) -> f64) -> f64 {
    median(rows.iter().map(|row| figure(row)).collect())
}
