//! How rows of systems that taught nothing scatter around what is predicted of them: the distribution of a family.
//!
//! A stated interval holds the ranges of the array file and the error of the model. How far its ends have to move until
//! a share q of the rows of a system nobody has seen lies inside is learned from the systems that were measured:
//! ```text
//!   side     = ln(hi / value) above the nominal value and ln(value / lo) below it, at least SIDE_MIN
//!   score    = |ln(measured / value)| / side
//!   z_q      = the share q (n + 1) / n of the scores of n systems lies below it, each system weighing the same
//!   interval = value e^(-z_q side) to value e^(z_q side)
//! ```
//! A family of fewer than [`SYSTEMS_MIN`] systems has the scatter of all. The known rows never make an interval of 80 %
//! narrower than what is stated, and those of 50 % and 95 % lie inside and around it. `published/learned.tsv` has what
//! all rows teach; `docs/model-validation.md` shows how it holds for each system with what the others teach.

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

/// What rows taught: the factors z on the sides of a stated interval, and how much taught them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Learned {
    /// For each of [`LEVELS`].
    pub z: [f64; 3],
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
    pub(crate) system: &'r str,
    /// |ln(measured / value)| over the side of the stated interval.
    pub(crate) score: f64,
}

/// How far a measured rate lies from a stated interval's value, in sides of it.
pub(crate) fn score(stated: Bounds, measured: f64) -> f64 {
    let apart = (measured / stated.value).ln();
    let [below, above] = sides(stated);
    apart.abs() / if apart < 0.0 { below } else { above }
}

fn sides(stated: Bounds) -> [f64; 2] {
    let Bounds { lo, value, hi } = stated;
    [(value / lo).ln().max(SIDE_MIN), (hi / value).ln().max(SIDE_MIN)]
}

/// The factors that lessons teach; `None` of no lesson.
pub(crate) fn learn(lessons: &[Lesson<'_>]) -> Option<Learned> {
    let rows_of = |system: &str| lessons.iter().filter(|lesson| lesson.system == system).count();
    let mut weighted: Vec<(f64, f64)> =
        lessons.iter().map(|lesson| (lesson.score, 1.0 / rows_of(lesson.system) as f64)).collect();
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut names: Vec<&str> = lessons.iter().map(|lesson| lesson.system).collect();
    names.sort_unstable();
    names.dedup();
    let systems = names.len();
    let all: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let (last, _) = *weighted.last()?;
    let z = LEVELS.map(|level| {
        // One system more than there are: the next one may lie outside of all.
        let share = (level * (systems as f64 + 1.0) / systems as f64).min(1.0);
        let mut below = 0.0;
        let found = weighted.iter().find(|(_, weight)| {
            below += weight;
            below >= share * all * 0.999_999
        });
        found.map_or(last, |(score, _)| *score)
    });
    Some(Learned { z, systems, rows: lessons.len() })
}

impl Learned {
    /// The intervals of all levels around a stated one.
    pub(crate) fn around(&self, stated: Bounds) -> [Bounds; 3] {
        let [below, above] = sides(stated);
        let at = |z: f64| Bounds {
            lo: stated.value * (-z * below).exp(),
            value: stated.value,
            hi: stated.value * (z * above).exp(),
        };
        let [half, most, nearly_all] = self.z.map(at);
        let at_80 = if self.z[1] > 1.0 { stated.with(most) } else { stated };
        let at_50 = Bounds { lo: half.lo.max(at_80.lo), value: stated.value, hi: half.hi.min(at_80.hi) };
        [at_50, at_80, at_80.with(nearly_all)]
    }
}

/// What all rows teach of a family, and whether they are its own.
fn of(family: Family) -> Option<(Learned, Option<Family>)> {
    let own = SHIPPED.iter().find(|(name, _)| *name == family.says());
    let all = SHIPPED.iter().find(|(name, _)| *name == ALL);
    match (own, all) {
        (Some((_, own)), _) if own.systems >= SYSTEMS_MIN => Some((*own, Some(family))),
        (_, all) => all.map(|(_, all)| (*all, None)),
    }
}

/// The interval of 80 % around a stated one, and the others.
pub(crate) fn around(family: Family, stated: Bounds) -> (Bounds, Option<Levels>) {
    let Some((learned, family)) = of(family) else { return (stated, None) };
    let [at_50, at_80, at_95] = learned.around(stated);
    (at_80, Some(Levels { at_50, at_95, family, systems: learned.systems }))
}

/// The word of all families together.
pub(crate) const ALL: &str = "all";

static SHIPPED: LazyLock<Vec<(&str, Learned)>> =
    LazyLock::new(|| rows(include_str!("../../../published/learned.tsv")));

/// The rows of a table: family, systems, rows, and the factors of the levels. A test reads the one that ships.
pub(crate) fn rows(text: &str) -> Vec<(&str, Learned)> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(parsed).collect()
}

fn parsed(line: &str) -> Option<(&str, Learned)> {
    let mut cells = line.split('\t');
    let family = cells.next()?;
    let (systems, rows) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
    let mut z = || cells.next()?.parse::<f64>().ok();
    Some((family, Learned { z: [z()?, z()?, z()?], systems, rows }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lessons(scores: &[(&'static str, f64)]) -> Vec<Lesson<'static>> {
        scores.iter().map(|(system, score)| Lesson { system, score: *score }).collect()
    }

    #[test]
    fn every_system_weighs_the_same_and_the_next_one_may_lie_outside_of_all() {
        let a = ["a"; 9].map(|system| (system, 0.1)).to_vec();
        let learned = learn(&lessons(&[a, vec![("b", 1.0), ("c", 2.0)]].concat())).unwrap();
        assert_eq!((learned.systems, learned.rows), (3, 11));
        // Two thirds of the weight lie below for 50 % of three systems, and all of it for 80 %.
        assert_eq!(learned.z, [1.0, 2.0, 2.0]);
        assert_eq!(learn(&[]), None);
    }

    #[test]
    fn known_rows_never_make_an_interval_narrower_and_levels_are_nested() {
        let stated = Bounds { lo: 50.0, value: 100.0, hi: 120.0 };
        for z in [[0.1, 0.2, 0.3], [0.5, 1.0, 1.5], [1.2, 1.5, 4.0], [2.0, 2.0, 2.0]] {
            let [at_50, at_80, at_95] = Learned { z, systems: 9, rows: 9 }.around(stated);
            assert!(at_80.lo <= stated.lo && at_80.hi >= stated.hi, "{z:?}: {at_80:?}");
            for (inner, outer) in [(at_50, at_80), (at_80, at_95)] {
                assert!(inner.lo >= outer.lo && inner.hi <= outer.hi, "{z:?}: {inner:?} in {outer:?}");
                assert!(inner.lo <= inner.value && inner.value <= inner.hi, "{z:?}: {inner:?}");
            }
        }
    }

    #[test]
    fn a_family_of_few_systems_has_the_scatter_of_all() {
        let stated = Bounds { lo: 50.0, value: 100.0, hi: 120.0 };
        let families = Family::ALL.map(|family| around(family, stated).1.expect("all rows taught something"));
        assert!(families.iter().all(|levels| levels.systems >= SYSTEMS_MIN), "{families:?}");
        assert!(families.iter().any(|levels| levels.family.is_none()), "md and several disks have few");
    }
}
