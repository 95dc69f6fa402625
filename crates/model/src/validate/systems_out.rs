//! Every system predicted with what the others teach: leave one system out.
//!
//! For each row of a system, what moves the ends of its stated interval is learned (`learned.rs`) from the rows that
//! the other systems have, so that the share of rows inside is one that a system nobody has seen may expect, as far as
//! it is like these: from rows of its group of loads where enough other systems have any, or else of its family. A
//! family of few other systems has the scatter of all, or its own where that is wider.
//!
//! Beside it stands what a factor on the nominal value would do, `b`, the median of ln(measured / value) of the others,
//! drawn to 0 by n / (n + 3). Predictions do not have it: it makes the rows of other systems no better.

use std::fmt::Write as _;

use serde::Serialize;

use super::clear::{self, ClearBy};
use super::unseen::{Described, described, word_of, word_of_limit};
use super::{ValidateError, median};
use crate::array::VirtualDisk;
use crate::demand::ResourceKind;
use crate::family::{Family, Group};
use crate::learned::{self, GROUP_MOST_MIN, GROUP_SYSTEMS_MIN, Learned, Lesson, MOST_MIN};
use crate::predict::{Engines, is_taught, predict_alone};
use crate::published::{Row, RowLimit};
use crate::quantity::Bounds;
use crate::resolved::{Software, Tables};
use crate::unseen::{self, Half, Set};

/// Systems that the prior "the nominal value is right" counts as.
const PRIOR_SYSTEMS: f64 = 3.0;
/// A family's factor beyond this would be no constant but a mistake.
const FACTOR_MAX: f64 = 2.0;

/// A row, and what is predicted of it with what other systems teach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrossedRow {
    /// Of which set.
    pub set: Set,
    /// System.
    pub system: String,
    /// Row.
    pub test: String,
    /// Its family.
    pub family: Family,
    /// Loads of its family that are like it.
    #[serde(skip)]
    pub(crate) group: Option<Group>,
    /// What limits according to the source of the row.
    pub kind: RowLimit,
    /// Measured I/Os per second.
    pub measured: f64,
    /// The ranges of the array file and the error of the model; of unknown software only its upper end.
    pub stated: Bounds,
    /// Whether only the upper end counts.
    pub is_bound: bool,
    /// Whether rows of other systems say how wide it is.
    pub is_taught: bool,
    /// Whether a virtual disk is in front. Such rows teach nothing: the class of virtual disks was taken from some.
    pub is_guest: bool,
    /// What limits it.
    pub limit: ResourceKind,
    /// I/Os per second above which a link would carry more than it can.
    #[serde(skip)]
    pub links_most: f64,
    /// Around it, learned from the other systems, at each of the levels; the stated one of a bound.
    pub levels: [Bounds; 3],
    /// The nominal value times the factor that the other systems of the family teach.
    pub shifted: f64,
    /// Whether the limit is named as it is known to be; `None` where several are possible.
    pub limit_right: Option<bool>,
    /// What leaves no other limit.
    #[serde(skip)]
    pub clear_by: Option<ClearBy>,
}

impl CrossedRow {
    /// Whether the measured rate is inside the interval of a level; of a bound, whether it is below it.
    #[must_use]
    pub fn is_inside(&self, level: usize) -> bool {
        let Bounds { lo, hi, .. } = self.levels[level];
        (self.is_bound || self.measured >= lo) && self.measured <= hi
    }

    /// |predicted / measured - 1| of the nominal value.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.stated.value / self.measured - 1.0).abs()
    }

    /// The same of the nominal value times the family's factor.
    #[must_use]
    pub fn error_shifted(&self) -> f64 {
        (self.shifted / self.measured - 1.0).abs()
    }

    /// Highest over lowest rate of the 80 % interval.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.levels[1].hi / self.levels[1].lo
    }
}

/// Every row of every system of all sets, each predicted with what the others teach.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub(super) fn systems_out(tables: &mut Tables) -> Result<Vec<CrossedRow>, ValidateError> {
    let mut rows = Vec::new();
    for set in Set::ALL {
        for half in [Half::Open, Half::HeldBack] {
            for table in unseen::tables(set, half)? {
                for row in &table.rows {
                    rows.extend(stated(set, &table.name, row, tables)?);
                }
            }
        }
    }
    let crossed: Vec<_> = rows.iter().map(|row| (levels(row, &rows), shifted(row, &rows))).collect();
    for (row, (levels, shifted)) in rows.iter_mut().zip(crossed) {
        (row.levels, row.shifted) = (levels, shifted);
    }
    Ok(rows)
}

fn stated(
    set: Set,
    system: &str,
    row: &Row,
    tables: &mut Tables,
) -> Result<Option<CrossedRow>, ValidateError> {
    let Some(Described { model, array, workload, measured }) = described(row)? else { return Ok(None) };
    let prediction = predict_alone(&array, &workload, Engines::Closed, tables);
    let is_bound = prediction.software == Software::Unknown;
    let known = clear::known(&model.names, &array, &workload, measured, &prediction.table);
    // Unknown software counts as the limit of every bound: only a rate at the link tests what the bound is named after.
    let known = known.filter(|(_, by)| !is_bound || *by == ClearBy::Link);
    let named = if is_bound { word_of_limit(prediction.limit) } else { word_of(&prediction) };
    Ok(Some(CrossedRow {
        set,
        system: system.to_owned(),
        test: row.test.clone(),
        family: Family::of(&array),
        group: Group::of(&array, &workload, prediction.limit),
        kind: model.limit,
        measured,
        stated: prediction.iops,
        is_bound,
        // Their inputs are the limits that a provider enforces, as those of volumes are.
        is_taught: set != Set::Sixth && is_taught(&prediction, &array, &workload),
        is_guest: array.guest.disk != VirtualDisk::None,
        limit: prediction.limit,
        links_most: prediction.links_most,
        levels: [prediction.iops; 3],
        shifted: prediction.iops.value,
        limit_right: known.map(|(word, _)| named == Some(word)),
        clear_by: known.map(|(_, by)| by),
    }))
}

/// What rows teach, with the least part for 80 %; `None` if there are none but bounds.
fn taught_by(rows: &[&CrossedRow], least: f64) -> Option<Learned> {
    let teachers = rows.iter().filter(|row| row.is_taught && !row.is_guest);
    let lessons: Vec<Lesson<'_>> =
        teachers.map(|row| Lesson::of(&row.system, row.stated, row.measured)).collect();
    learned::learn(&lessons, least)
}

/// What the rows of a group teach; `None` of fewer systems than that.
fn taught_by_group(rows: &[&CrossedRow], group: Group, systems_min: usize) -> Option<Learned> {
    let of: Vec<&CrossedRow> = rows.iter().copied().filter(|row| row.group == Some(group)).collect();
    // Most drives that are known by their class are of one collection, whose hosts are alike.
    let least = if group.is_class { MOST_MIN } else { GROUP_MOST_MIN };
    taught_by(&of, least).filter(|learned| learned.systems >= systems_min)
}

fn levels(row: &CrossedRow, all: &[CrossedRow]) -> [Bounds; 3] {
    let others: Vec<&CrossedRow> = all.iter().filter(|other| other.system != row.system).collect();
    let family: Vec<&CrossedRow> =
        others.iter().copied().filter(|other| other.family == row.family).collect();
    let of_group = row.group.and_then(|group| taught_by_group(&others, group, GROUP_SYSTEMS_MIN));
    let of_family = || learned::of_few(taught_by(&family, MOST_MIN), taught_by(&others, MOST_MIN));
    match of_group.or_else(of_family).filter(|_| row.is_taught) {
        Some(learned) => learned.around(row.stated).map(|level| level.at_most(row.links_most)),
        None => [row.stated; 3],
    }
}

fn shifted(row: &CrossedRow, all: &[CrossedRow]) -> f64 {
    let family = all
        .iter()
        .filter(|other| other.family == row.family && other.system != row.system && !other.is_guest);
    let family: Vec<&CrossedRow> = family.collect();
    let count = systems(&family) as f64;
    let weight = |system: &str| 1.0 / family.iter().filter(|other| other.system == system).count() as f64;
    let mut logs: Vec<(f64, f64)> = family
        .iter()
        .map(|other| ((other.measured / other.stated.value).ln(), weight(&other.system)))
        .collect();
    logs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0.0;
    let middle = logs.iter().find(|(_, weight)| {
        below += weight;
        below >= count / 2.0
    });
    let drawn = middle.map_or(0.0, |(log, _)| *log) * count / (count + PRIOR_SYSTEMS);
    row.stated.value * drawn.clamp(-FACTOR_MAX.ln(), FACTOR_MAX.ln()).exp()
}

/// What all rows teach, as `published/learned.tsv` has it.
#[must_use]
pub fn learned_table(rows: &[CrossedRow]) -> String {
    let mut text = String::from(
        "# What the rows of published/unseen/ teach of intervals (crates/model/src/learned.rs): for each family and \
         each group of loads\n# the number of systems, that of their rows, the parts of the reach of each side that \
         hold 50 and 80 %, and the factor\n# on both ends that holds 95 %.\n",
    );
    let of = |family: Option<Family>| -> Vec<&CrossedRow> {
        rows.iter().filter(|row| family.is_none_or(|family| row.family == family)).collect()
    };
    let mut line = |name: &str, learned: Option<Learned>| {
        if let Some(Learned { parts: [half, most], beyond, systems, rows }) = learned {
            let _ = writeln!(text, "{name}\t{systems}\t{rows}\t{half:.3}\t{most:.3}\t{beyond:.3}");
        }
    };
    for family in Family::ALL.into_iter().map(Some).chain([None]) {
        let name = family.map_or(learned::ALL, Family::says);
        line(name, taught_by(&of(family), MOST_MIN));
    }
    let mut groups: Vec<Group> = rows.iter().filter_map(|row| row.group).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        // One more than teaches a row: each has been left out once.
        line(&group.says(), taught_by_group(&of(None), group, GROUP_SYSTEMS_MIN + 1));
    }
    text
}

/// Number of systems among rows.
#[must_use]
pub fn systems(rows: &[&CrossedRow]) -> usize {
    let mut names: Vec<&str> = rows.iter().map(|r| r.system.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// Median of a figure over rows; NaN of none.
#[must_use]
pub fn median_of(rows: &[&CrossedRow], figure: fn(&CrossedRow) -> f64) -> f64 {
    median(rows.iter().map(|row| figure(row)).collect())
}
