//! How rows of systems that taught nothing scatter around what is predicted of them: the distribution of a family.
//!
//! A stated interval holds every range of the array file at its end at once, and the error of the model. No system has
//! all of its inputs at the same end: of inputs that are independent the squares of their sides add up, and not the
//! sides, so that a side is the wider too much the more inputs it holds. How far the ends are until a share q of the
//! rows of a system nobody has seen lies inside is learned from the systems that were measured:
//! ```text
//!   side   = ln(hi / value) above the nominal value and ln(value / lo) below it, at least SIDE_MIN
//!   reach  = side ^ POWER
//!   part   = |ln(measured / value)| / reach; of 50 and 80 % the ends are  value e^(-part reach), value e^(part reach)
//!   beyond = lo / measured or measured / hi of a row outside of what is stated, 1 of one inside; of 95 % the ends are
//!            lo / beyond and hi beyond
//!   each   = that below which the share q (n + 1) / n of the rows of n systems lies, each system weighing the same
//! ```
//! They are learned for each [`Group`] of loads that at least [`GROUP_SYSTEMS_MIN`] systems have rows of: with one
//! distribution for a family, random writes of drives, which no sheet tells, made the intervals of their streams wide.
//!
//! A part for what is inside, and a factor for what is outside: a side that is wide says little of how far beyond it a
//! system may be. A family of fewer than [`SYSTEMS_MIN`] systems has the scatter of all, or its own where that is
//! wider. `published/learned.tsv` has what all rows teach; `docs/model-validation.md` shows how it holds for each
//! system with what the others teach.

use std::sync::LazyLock;

use serde::Serialize;

use crate::family::{Family, Group};
use crate::quantity::Bounds;

/// Levels at which intervals are stated.
pub const LEVELS: [f64; 3] = [0.50, 0.80, 0.95];
/// Fewer systems than this say nothing of their own.
pub const SYSTEMS_MIN: usize = 5;
/// Fewer systems than this make no group of their own: eight say what 80 % are, and no more.
pub(crate) const GROUP_SYSTEMS_MIN: usize = 8;
/// Smallest side of an interval, as a logarithm: nothing is known better than this.
const SIDE_MIN: f64 = 0.10;

/// Least part for 80 % of a family, whose loads are not alike.
pub(crate) const MOST_MIN: f64 = 0.75;
/// The same of a group of loads on drives with a sheet.
pub(crate) const GROUP_MOST_MIN: f64 = 0.4;
/// Sides of several inputs add up by their squares, and their length grows with the root of their number: between that,
/// 0.5, and a single input, 1. With 0.85 each family of more than five systems holds 80 % of its rows when it is left
/// out.
const POWER: f64 = 0.85;

/// What rows taught, and how much taught it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Learned {
    /// Parts of the reach of each side that hold 50 and 80 % of the rows.
    pub parts: [f64; 2],
    /// Factor on both ends of what is stated that holds 95 % of them, at least 1.
    pub beyond: f64,
    /// Number of systems that taught it.
    pub systems: usize,
    /// Number of their rows.
    pub rows: usize,
}

/// The distribution around a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Levels {
    /// Half of the rows of such systems lie inside.
    pub at_50: Bounds,
    /// 95 % of them do.
    pub at_95: Bounds,
    /// Whose rows taught it; `None` where the family has too few, and those of all did.
    pub family: Option<Family>,
    /// Number of systems that did.
    pub systems: usize,
}

/// A row that teaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lesson<'r> {
    system: &'r str,
    part: f64,
    beyond: f64,
}

impl<'r> Lesson<'r> {
    pub(crate) fn of(system: &'r str, stated: Bounds, measured: f64) -> Self {
        let apart = (measured / stated.value).ln();
        let [below, above] = sides(stated);
        let part = apart.abs() / reach(if apart < 0.0 { below } else { above });
        Self { system, part, beyond: (stated.lo / measured).max(measured / stated.hi).max(1.0) }
    }
}

fn reach(side: f64) -> f64 {
    side.powf(POWER)
}

fn sides(stated: Bounds) -> [f64; 2] {
    let Bounds { lo, value, hi } = stated;
    [(value / lo).ln().max(SIDE_MIN), (hi / value).ln().max(SIDE_MIN)]
}

/// What lessons teach, with the least part for 80 %; `None` of no lesson.
pub(crate) fn learn(lessons: &[Lesson<'_>], least: f64) -> Option<Learned> {
    let mut names: Vec<&str> = lessons.iter().map(|lesson| lesson.system).collect();
    names.sort_unstable();
    names.dedup();
    let systems = names.len();
    let rows_of = |system: &str| lessons.iter().filter(|lesson| lesson.system == system).count();
    let weights: Vec<f64> = lessons.iter().map(|lesson| 1.0 / rows_of(lesson.system) as f64).collect();
    let at = |level: f64, of: fn(&Lesson<'_>) -> f64| {
        // One system more than there are: the next one may lie outside of all.
        let share = (level * (systems as f64 + 1.0) / systems as f64).min(1.0);
        let mut scores: Vec<(f64, f64)> = lessons.iter().map(of).zip(weights.iter().copied()).collect();
        scores.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let found = scores.iter().find(|(_, weight)| {
            below += weight;
            below >= share * systems as f64 * 0.999_999
        });
        found.or(scores.last()).map(|(score, _)| *score)
    };
    let [half, most, nearly_all] = LEVELS;
    let parts = [at(half, |lesson| lesson.part)?, at(most, |lesson| lesson.part)?.max(least)];
    Some(Learned { parts, beyond: at(nearly_all, |lesson| lesson.beyond)?, systems, rows: lessons.len() })
}

impl Learned {
    /// The intervals of all levels around a stated one.
    pub(crate) fn around(&self, stated: Bounds) -> [Bounds; 3] {
        let Bounds { lo, value, hi } = stated;
        let [at_50, at_80] = self.parts.map(|part| within(part, stated));
        let at_95 =
            Bounds { lo: (lo / self.beyond).min(at_80.lo), value, hi: (hi * self.beyond).max(at_80.hi) };
        [at_50, at_80, at_95]
    }

    /// A time of the same load as the rates that taught this, at 80 %: no shorter than the hardware takes at best.
    pub(crate) fn of_time(&self, stated: Bounds) -> Bounds {
        let own = within(self.parts[1], stated);
        Bounds { lo: own.lo.max(stated.lo), ..own }
    }
}

fn within(part: f64, stated: Bounds) -> Bounds {
    let [below, above] = sides(stated).map(|side| (part * reach(side)).exp());
    Bounds { lo: stated.value / below, hi: stated.value * above, ..stated }
}

/// What its own systems teach of a family; of fewer than [`SYSTEMS_MIN`] what those of all do, or its own where that is
/// wider.
pub(crate) fn of_few(own: Option<Learned>, all: Option<Learned>) -> Option<Learned> {
    match (own, all) {
        (Some(own), _) if own.systems >= SYSTEMS_MIN => Some(own),
        (Some(own), Some(all)) => Some(Learned {
            parts: [0, 1].map(|level| all.parts[level].max(own.parts[level])),
            beyond: all.beyond.max(own.beyond),
            ..all
        }),
        (own, all) => all.or(own),
    }
}

/// What the rows that ship teach of a load: those of its group, or else of its family; `None` of no rows.
pub(crate) fn of(family: Family, group: Option<Group>) -> Option<Learned> {
    own(family, group).or_else(|| of_few(shipped(family.says()), shipped(ALL)))
}

/// What the rows of its own group or family teach.
fn own(family: Family, group: Option<Group>) -> Option<Learned> {
    let of_group = group.and_then(|group| shipped(&group.says()));
    of_group.or_else(|| shipped(family.says()).filter(|own| own.systems >= SYSTEMS_MIN))
}

fn shipped(name: &str) -> Option<Learned> {
    SHIPPED.iter().find(|(family, _)| *family == name).map(|(_, learned)| *learned)
}

/// The interval of 80 % around a stated one, and the others.
pub(crate) fn around(family: Family, group: Option<Group>, stated: Bounds) -> (Bounds, Option<Levels>) {
    let Some(learned) = of(family, group) else { return (stated, None) };
    let [at_50, at_80, at_95] = learned.around(stated);
    let family = Some(family).filter(|family| own(*family, group).is_some());
    (at_80, Some(Levels { at_50, at_95, family, systems: learned.systems }))
}

/// The word of all families together.
pub(crate) const ALL: &str = "all";

static SHIPPED: LazyLock<Vec<(&str, Learned)>> =
    LazyLock::new(|| rows(include_str!("../../../published/learned.tsv")));

/// The rows of a table: group or family, systems, rows, the two parts and the factor. A test reads the one that ships.
pub(crate) fn rows(text: &str) -> Vec<(&str, Learned)> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(parsed).collect()
}

fn parsed(line: &str) -> Option<(&str, Learned)> {
    let mut cells = line.split('\t');
    let family = cells.next()?;
    let (systems, rows) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
    let mut number = || cells.next()?.parse::<f64>().ok();
    Some((family, Learned { parts: [number()?, number()?], beyond: number()?, systems, rows }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATED: Bounds = Bounds { lo: 50.0, value: 100.0, hi: 200.0 };

    #[test]
    fn every_system_weighs_the_same_and_the_next_one_may_lie_outside_of_all() {
        let rows = [vec![("a", 100.0); 9], vec![("b", 200.0), ("c", 600.0)]].concat();
        let lessons: Vec<Lesson<'_>> =
            rows.iter().map(|(system, measured)| Lesson::of(system, STATED, *measured)).collect();
        let learned = learn(&lessons, MOST_MIN).unwrap();
        assert_eq!((learned.systems, learned.rows), (3, 11));
        // Two thirds of the weight lie below for 50 % of three systems, and all of it for 80 %: as far as 600.
        let at_end = 2f64.ln() / reach(2f64.ln());
        assert!((learned.parts[0] - at_end).abs() < 1e-9, "{learned:?}");
        assert!((learned.parts[1] - 6f64.ln() / reach(2f64.ln())).abs() < 1e-9, "{learned:?}");
        assert!((learned.beyond - 3.0).abs() < 1e-9, "{learned:?}");
        assert_eq!(learn(&[], MOST_MIN), None);
    }

    #[test]
    fn levels_are_nested_around_the_nominal_value() {
        for (parts, beyond) in [([0.1, 0.9], 1.0), ([0.5, 0.6], 1.5), ([1.2, 1.9], 4.0), ([2.0, 2.0], 2.0)] {
            let [at_50, at_80, at_95] = Learned { parts, beyond, systems: 9, rows: 9 }.around(STATED);
            for (inner, outer) in [(at_50, at_80), (at_80, at_95)] {
                assert!(inner.lo >= outer.lo && inner.hi <= outer.hi, "{inner:?} in {outer:?}");
                assert!(inner.lo <= inner.value && inner.value <= inner.hi, "{inner:?}");
            }
            assert!(at_95.lo <= STATED.lo && at_95.hi >= STATED.hi, "{at_95:?}");
        }
    }

    /// Every input at its end at once made nine in ten rows of 80 % lie inside, and intervals of 3.8 times.
    #[test]
    fn what_many_inputs_leave_open_is_less_than_all_of_their_ends_at_once() {
        let learned = Learned { parts: [0.4, 0.9], beyond: 1.5, systems: 40, rows: 200 };
        let share = |wide: f64| {
            let stated = Bounds { lo: 100.0 / wide, value: 100.0, hi: 100.0 * wide };
            let at_80 = learned.around(stated)[1];
            (at_80.hi / at_80.lo).ln() / (stated.hi / stated.lo).ln()
        };
        assert!(share(20.0) < share(5.0) && share(5.0) < share(1.5), "{} {}", share(20.0), share(1.5));
    }

    /// A wide interval was widened by a power of its width: 95 % of disks lay between 2 and 67 thousand million IOPS.
    #[test]
    fn what_lies_beyond_an_interval_is_a_factor_however_wide_it_is() {
        let wide = Bounds { lo: 10.0, value: 100.0, hi: 5000.0 };
        let Some(levels) = around(Family::Disk, None, wide).1 else { panic!("rows taught it") };
        assert!(levels.at_95.hi < wide.hi * 20.0 && levels.at_95.lo > wide.lo / 20.0, "{levels:?}");
    }

    #[test]
    fn a_family_of_few_systems_has_the_scatter_of_all_or_its_own_where_that_is_wider() {
        let families =
            Family::ALL.map(|family| around(family, None, STATED).1.expect("all rows taught something"));
        assert!(families.iter().all(|levels| levels.systems >= SYSTEMS_MIN), "{families:?}");
        assert!(families.iter().any(|levels| levels.family.is_none()), "several disks have few");
        let [few, all] = [([0.3, 1.0], 3.0, 4), ([0.5, 0.8], 1.5, 60)]
            .map(|(parts, beyond, systems)| Learned { parts, beyond, systems, rows: systems });
        let wider = of_few(Some(few), Some(all)).unwrap();
        assert_eq!((wider.parts, wider.beyond, wider.systems), ([0.5, 1.0], 3.0, 60));
        assert_eq!(of_few(Some(Learned { systems: 5, ..few }), Some(all)).unwrap().parts, [0.3, 1.0]);
    }
}
