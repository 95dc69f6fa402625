//! How rows of systems that taught nothing scatter around what is predicted of them: the distribution of a family.
//!
//! A stated interval holds the ranges of the array file and the error of the model. How far its ends have to move until
//! a share q of the rows of a system nobody has seen lies inside is learned from the systems that were measured:
//! ```text
//!   side   = ln(hi / value) above the nominal value and ln(value / lo) below it, at least SIDE_MIN
//!   part   = |ln(measured / value)| / side, and of 50 % the ends are  value e^(-part side), value e^(part side)
//!   beyond = lo / measured or measured / hi of a row outside, 1 of one inside; of 80 and 95 % the ends are
//!            lo / beyond and hi beyond
//!   each   = that below which the share q (n + 1) / n of the rows of n systems lies, each system weighing the same
//! ```
//! A part of a side for what is inside, and a factor for what is outside: a side that is wide says little of how far
//! beyond it a system may be. A family of fewer than [`SYSTEMS_MIN`] systems has the scatter of all, or its own where
//! that is wider. The known rows never make an interval of 80 % narrower than what is stated. `published/learned.tsv`
//! has what all rows teach; `docs/model-validation.md` shows how it holds for each system with what the others teach.

use std::sync::LazyLock;

use serde::Serialize;

use crate::family::Family;
use crate::quantity::Bounds;

/// Levels at which intervals are stated.
pub const LEVELS: [f64; 3] = [0.50, 0.80, 0.95];
/// Fewer systems than this say nothing of their own.
pub const SYSTEMS_MIN: usize = 5;
/// Smallest side of an interval, as a logarithm: nothing is known better than this.
const SIDE_MIN: f64 = 0.10;

/// What rows taught, and how much taught it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Learned {
    /// Part of each side that holds half of the rows.
    pub part: f64,
    /// Factors on both ends that hold 80 and 95 % of them, at least 1.
    pub beyond: [f64; 2],
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
        let part = apart.abs() / if apart < 0.0 { below } else { above };
        Self { system, part, beyond: (stated.lo / measured).max(measured / stated.hi).max(1.0) }
    }
}

fn sides(stated: Bounds) -> [f64; 2] {
    let Bounds { lo, value, hi } = stated;
    [(value / lo).ln().max(SIDE_MIN), (hi / value).ln().max(SIDE_MIN)]
}

/// What lessons teach; `None` of no lesson.
pub(crate) fn learn(lessons: &[Lesson<'_>]) -> Option<Learned> {
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
    let beyond = [at(most, |lesson| lesson.beyond)?, at(nearly_all, |lesson| lesson.beyond)?];
    Some(Learned { part: at(half, |lesson| lesson.part)?, beyond, systems, rows: lessons.len() })
}

impl Learned {
    /// The intervals of all levels around a stated one.
    pub(crate) fn around(&self, stated: Bounds) -> [Bounds; 3] {
        let Bounds { lo, value, hi } = stated;
        let [at_80, at_95] = self.beyond.map(|beyond| Bounds { lo: lo / beyond, value, hi: hi * beyond });
        let [below, above] = sides(stated).map(|side| (self.part * side).exp());
        let at_50 = Bounds { lo: (value / below).max(at_80.lo), value, hi: (value * above).min(at_80.hi) };
        [at_50, at_80, at_95]
    }
}

/// What its own systems teach of a family; of fewer than [`SYSTEMS_MIN`] what those of all do, or its own where that is
/// wider.
pub(crate) fn of_few(own: Option<Learned>, all: Option<Learned>) -> Option<Learned> {
    match (own, all) {
        (Some(own), _) if own.systems >= SYSTEMS_MIN => Some(own),
        (Some(own), Some(all)) => Some(Learned {
            part: all.part.max(own.part),
            beyond: [0, 1].map(|level| all.beyond[level].max(own.beyond[level])),
            ..all
        }),
        (own, all) => all.or(own),
    }
}

/// The interval of 80 % around a stated one, and the others.
pub(crate) fn around(family: Family, stated: Bounds) -> (Bounds, Option<Levels>) {
    let shipped =
        |name: &str| SHIPPED.iter().find(|(family, _)| *family == name).map(|(_, learned)| *learned);
    let own = shipped(family.says());
    let Some(learned) = of_few(own, shipped(ALL)) else { return (stated, None) };
    let [at_50, at_80, at_95] = learned.around(stated);
    let family = Some(family).filter(|_| own == Some(learned));
    (at_80, Some(Levels { at_50, at_95, family, systems: learned.systems }))
}

/// The word of all families together.
pub(crate) const ALL: &str = "all";

static SHIPPED: LazyLock<Vec<(&str, Learned)>> =
    LazyLock::new(|| rows(include_str!("../../../published/learned.tsv")));

/// The rows of a table: family, systems, rows, the part and the two factors. A test reads the one that ships.
pub(crate) fn rows(text: &str) -> Vec<(&str, Learned)> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(parsed).collect()
}

fn parsed(line: &str) -> Option<(&str, Learned)> {
    let mut cells = line.split('\t');
    let family = cells.next()?;
    let (systems, rows) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
    let mut number = || cells.next()?.parse::<f64>().ok();
    Some((family, Learned { part: number()?, beyond: [number()?, number()?], systems, rows }))
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
        let learned = learn(&lessons).unwrap();
        assert_eq!((learned.systems, learned.rows), (3, 11));
        // Two thirds of the weight lie below for 50 % of three systems, and all of it for 80 %.
        assert!((learned.part - 1.0).abs() < 1e-9, "{learned:?}");
        assert!(learned.beyond.iter().all(|beyond| (beyond - 3.0).abs() < 1e-9), "{learned:?}");
        assert_eq!(learn(&[]), None);
    }

    #[test]
    fn known_rows_never_make_an_interval_narrower_and_levels_are_nested() {
        for (part, beyond) in [(0.1, [1.0, 1.0]), (0.5, [1.0, 1.5]), (1.2, [1.5, 4.0]), (2.0, [2.0, 2.0])] {
            let [at_50, at_80, at_95] = Learned { part, beyond, systems: 9, rows: 9 }.around(STATED);
            assert!(at_80.lo <= STATED.lo && at_80.hi >= STATED.hi, "{part} {beyond:?}: {at_80:?}");
            for (inner, outer) in [(at_50, at_80), (at_80, at_95)] {
                assert!(inner.lo >= outer.lo && inner.hi <= outer.hi, "{inner:?} in {outer:?}");
                assert!(inner.lo <= inner.value && inner.value <= inner.hi, "{inner:?}");
            }
        }
    }

    /// A wide interval was widened by a power of its width: 95 % of disks lay between 2 and 67 thousand million IOPS.
    #[test]
    fn what_lies_beyond_an_interval_is_a_factor_however_wide_it_is() {
        let wide = Bounds { lo: 10.0, value: 100.0, hi: 5000.0 };
        let Some(levels) = around(Family::Disk, wide).1 else { panic!("rows taught it") };
        assert!(levels.at_95.hi < wide.hi * 20.0 && levels.at_95.lo > wide.lo / 20.0, "{levels:?}");
    }

    #[test]
    fn a_family_of_few_systems_has_the_scatter_of_all_or_its_own_where_that_is_wider() {
        let families = Family::ALL.map(|family| around(family, STATED).1.expect("all rows taught something"));
        assert!(families.iter().all(|levels| levels.systems >= SYSTEMS_MIN), "{families:?}");
        assert!(families.iter().any(|levels| levels.family.is_none()), "md and several disks have few");
        let [few, all] = [(0.3, [1.0, 3.0], 4), (0.5, [1.2, 1.5], 60)]
            .map(|(part, beyond, systems)| Learned { part, beyond, systems, rows: systems });
        let wider = of_few(Some(few), Some(all)).unwrap();
        assert_eq!((wider.part, wider.beyond, wider.systems), (0.5, [1.2, 3.0], 60));
        assert_eq!(of_few(Some(Learned { systems: 5, ..few }), Some(all)).unwrap().beyond, [1.0, 3.0]);
    }
}
