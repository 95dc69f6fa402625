//! Results side by side: what differs, and whether the difference is real.
//!
//! A [`Side`] is one or several [`ResultSet`]s of the same thing: repetitions. Every side is compared with the
//! first, test
//! by test. The seconds of a run do not show how far the next run would be from it; only repetitions do. So single runs
//! are judged by the spread of stored repetitions on the same target, and where there are none, no change is claimed.
//! A row whose load differs is not judged at all. docs/method.md has the rule in full.

mod advice;
mod best_of;
mod gate;
mod outcome;
mod overlap;
mod predicted;
mod result_set;
mod short;
mod spread;

use std::sync::Arc;

use assay_model::quantity::Bounds;
use assay_statistics::{Estimate, Spread, deviation, geometric_mean, level, mean, rank_test, ratio};
use serde::Serialize;

use crate::cost::Cost;
use crate::finding::{Finding, Severity};
use crate::rules;
use crate::timeline::HeatMap;

pub use best_of::is_round;
pub use gate::{Gate, broken};
pub use result_set::{Facet, FindingNote, ResultSet, Row, Source, Weight, facets, load_facets};
pub use short::{Effective, effective};
pub(crate) use short::{deciding, load};
pub use spread::SpreadSource;

/// A smaller change does not matter, and two runs of a side can show a larger one (SPC-1 asks a repetition to come as
/// near).
const REPEATS_WITHIN: f64 = 0.05;
/// A p99 that differs by this factor is in the headline, even where nothing is known of its spread.
const P99_NOTABLE: f64 = 1.5;
/// Runs of one load on one target that can be measured at all do not differ by this factor.
const BEYOND_NOISE: f64 = 4.0;
/// Number of repetitions of each side that show a change of any size.
const REPEATS_MIN: usize = 3;
/// A change of this factor or more, up or down, is beyond the scatter of runs without a measured spread.
const PLAIN: f64 = 2.0;
/// Highest probability of a chance result at which two samples are called different.
const CHANCE_MAX: f64 = 0.05;

/// One thing that is compared: a name and its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// As people call it.
    pub name: String,
    /// Never empty.
    pub readings: Vec<ResultSet>,
}

/// Sides compared with the first of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Names of the sides, each with the ids of its repetitions and what they are of.
    pub sides: Vec<Named>,
    /// What differs beside the numbers, the gravest first.
    pub differences: Vec<Difference>,
    /// In the order of the first side; tests that only others have come after.
    pub tests: Vec<TestPair>,
    /// Findings that not every side has.
    pub findings: Vec<FindingOf>,
    /// Findings about the expectations of two sides, and about runs that overlapped.
    pub across: Vec<Finding>,
    /// The outcome, a sentence for each side after the first.
    pub says: Vec<String>,
}

/// A side without its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// As people call it.
    pub name: String,
    /// Ids of its repetitions.
    pub runs: Vec<String>,
    /// Plan and targets.
    pub about: String,
    /// Where its results come from.
    pub source: Source,
}

/// Something that differs between sides, or between repetitions of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub what: String,
    /// Its value on each side; values of repetitions that differ are joined.
    pub values: Vec<String>,
    /// Its meaning for the comparison.
    pub weight: Weight,
}

/// One test on all sides.
#[derive(Debug, Clone, PartialEq)]
pub struct TestPair {
    /// Its name.
    pub test: String,
    /// Swept values; may be empty.
    pub step: String,
    /// Whether it is judged by p99, since the plan sets its rate.
    pub is_paced: bool,
    /// One for each side; `None` where it has no such test.
    pub cells: Vec<Option<Cell>>,
}

impl TestPair {
    /// Whether the test, or what it is judged by, is worse on the second side by more than noise.
    pub fn is_worse(&self) -> bool {
        let against = self.cells.get(1).and_then(Option::as_ref).and_then(|cell| cell.against.as_ref());
        against.is_some_and(|against| {
            against.change == Change::Slower || against.p99.is_some_and(|p99| p99.change == Change::Slower)
        })
    }
}

/// What one side measured in a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// I/Os per second; of repetitions the geometric mean, as all numbers here.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// Mean latency, ms.
    pub mean_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// Repetitions that have this test.
    pub repeats: usize,
    /// Standard deviation of the repetitions over their mean; `None` for a single one.
    pub cv: Option<f64>,
    /// Expected by the array file.
    pub expected: Option<Bounds>,
    /// Whether that is a bound only.
    pub is_bound: bool,
    /// Shares of the I/Os with the latency that they do not exceed, ms; as far as all repetitions reach. May be empty.
    pub curve_ms: Vec<(f64, f64)>,
    /// IOPS of each second of the first repetition; may be empty.
    pub seconds: Vec<f64>,
    /// Its latencies over time; may be empty.
    pub heat: Arc<HeatMap>,
    /// The price over these rates, where the price is known.
    pub cost: Option<Cost>,
    /// Against the first side; `None` for the first itself.
    pub against: Option<Against>,
}

/// A test against the first side's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// IOPS over the first side's.
    pub iops: Estimate,
    /// p50 over the first side's, where less is faster.
    pub p50: Option<Judged>,
    /// p99 over the first side's, where less is faster.
    pub p99: Option<Judged>,
    /// Expected IOPS over the first side's.
    pub expected: Option<f64>,
    /// Whether the difference in IOPS is real; in p99 where the plan sets the rate.
    pub change: Change,
    /// The source of the spread behind the interval of the IOPS.
    pub spread_from: SpreadSource,
    /// What differs in the load of this test, where it does: `I/Os in flight 64 / 32`.
    pub load_differs: Vec<String>,
    /// What was changed in the load of this test, from the first side to this one.
    pub changed: Vec<Difference>,
}

/// A ratio with its word.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Judged {
    /// Over the first side's.
    pub ratio: Estimate,
    /// Whether the difference is real.
    pub change: Change,
}

/// Whether a difference is real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// More, beyond what the noise explains.
    Faster,
    /// Less, beyond what the noise explains.
    Slower,
    /// More than the noise, by repetitions that are too few to be sure.
    PerhapsFaster,
    /// The same the other way.
    PerhapsSlower,
    /// The sides were repeated, and the interval lies within 5 % around 1.
    Same,
    /// The noise hides a change of any kind.
    Unclear,
    /// The interval of a prediction holds what was measured.
    AsPredicted,
    /// What was measured is no more than a bound of the hardware allows.
    WithinBound,
    /// Nothing is known of how far repetitions lie apart, so no change is claimed.
    Unknown,
    /// The loads differ.
    NotComparable,
}

/// A finding that some sides have and others lack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingOf {
    /// Name of the rule.
    pub rule: String,
    /// How much it matters where it is worst.
    pub severity: Severity,
    /// Which sides have it, by index.
    pub sides: Vec<usize>,
    /// Its text on the first of them.
    pub says: String,
}

/// Compares every side with the first, single runs by no spread at all.
///
/// # Panics
/// Without any side.
pub fn compare(sides: &[Side]) -> Comparison {
    compare_with(sides, &[])
}

/// Compares every side with the first, where all are meant to be of the same: a run and its baseline. A setting that
/// differs is then no change to be measured.
///
/// # Panics
/// Without any side.
pub fn compare_same(sides: &[Side], history: &[Side]) -> Comparison {
    compared(sides, history, Purpose::Same)
}

/// Compares every side with the first; settings that differ between runs are what is compared. `history` holds stored
/// repetitions, each [`Side`] of them on one target: single runs on the same target are judged by their spread.
///
/// # Panics
/// Without any side.
pub fn compare_with(sides: &[Side], history: &[Side]) -> Comparison {
    compared(sides, history, Purpose::Change)
}

/// What a comparison is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To see what a change does.
    Change,
    /// To see whether something changed by itself.
    Same,
}

fn compared(sides: &[Side], history: &[Side], purpose: Purpose) -> Comparison {
    let best = best_of::best_of_rounds(sides, history);
    let (sides, history) = best.as_ref().map_or((sides, history), |(sides, history)| (sides, history));
    let purpose = match sides.iter().flat_map(|side| &side.readings).all(|set| set.source == Source::Run) {
        true => purpose,
        // Nobody changed a setting of what somebody else published.
        false => Purpose::Same,
    };
    let all: Vec<&Side> = sides.iter().collect();
    let differences = differences(&all, purpose);
    // A side that cannot be compared with the first leaves the others alone.
    let with_first = |side: &Side| self::differences(&[&sides[0], side], purpose);
    let is_broken = |side: &Side| with_first(side).iter().any(|d| d.weight == Weight::Breaks);
    let conditions: Vec<Conditions> =
        sides.iter().map(|side| Conditions { is_broken: is_broken(side), purpose }).collect();
    let tests = tests(sides, history, &conditions);
    let says = (1..sides.len()).map(|index| outcome::sentence(sides, &differences, &tests, index)).collect();
    let named = sides.iter().map(|side| Named {
        name: side.name.clone(),
        runs: side.readings.iter().map(|r| r.id.clone()).collect(),
        about: side.readings[0].about.clone(),
        source: side.readings[0].source,
    });
    Comparison {
        sides: named.collect(),
        findings: finding_differences(sides),
        across: across(sides),
        differences,
        tests,
        says,
    }
}

impl Difference {
    /// `span 16GiB / 4GiB`.
    pub fn says(&self) -> String {
        format!("{} {}", self.what, self.values.join(" / "))
    }
}

/// Whether the rates of a side and of the first say anything of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Conditions {
    /// Something differs that all results depend on.
    is_broken: bool,
    purpose: Purpose,
}

impl Purpose {
    /// The weight of a difference for this purpose.
    fn weigh(self, weight: Weight) -> Weight {
        if weight == Weight::Changed && self == Self::Same { Weight::Breaks } else { weight }
    }
}

/// Facets that differ between any two readings.
fn differences(sides: &[&Side], purpose: Purpose) -> Vec<Difference> {
    let all: Vec<&ResultSet> = sides.iter().flat_map(|s| &s.readings).collect();
    let mut found: Vec<Difference> = Vec::new();
    for (own, facet) in all.iter().flat_map(|r| r.facets.iter().map(move |facet| (*r, facet))) {
        let value = |r: &ResultSet| r.facets.iter().find(|f| f.name == facet.name).map(|f| f.value.clone());
        // One label may have runs of several plans: those differ by intention, and their tests are not compared with
        // each other.
        let is_other = |r: &ResultSet| value(r).is_some_and(|v| v != facet.value);
        let differs = all.iter().any(|r| is_other(r) && r.has_tests_of(own));
        if !differs || found.iter().any(|d| d.what == facet.name) {
            continue;
        }
        let of_side = |side: &Side| -> String {
            let mut values: Vec<String> =
                side.readings.iter().map(|r| value(r).unwrap_or("unknown".to_owned())).collect();
            values.dedup();
            values.join(", ")
        };
        let differ = |(a, b): (&ResultSet, &ResultSet)| value(a) != value(b) && a.has_tests_of(b);
        let is_in_repetitions = sides.iter().copied().any(|side| {
            let others = |a| side.readings.iter().map(move |b| (a, b));
            side.readings.iter().flat_map(others).any(differ)
        });
        let purpose = if is_in_repetitions { Purpose::Same } else { purpose };
        found.push(Difference {
            what: facet.name.clone(),
            values: sides.iter().map(|side| of_side(side)).collect(),
            weight: purpose.weigh(facet.weight),
        });
    }
    found.sort_by_key(|d| std::cmp::Reverse(d.weight));
    found
}

/// Rows that measured the same, each with the result set it is from.
type Rows<'s> = Vec<(&'s ResultSet, &'s Row)>;

fn tests(sides: &[Side], history: &[Side], conditions: &[Conditions]) -> Vec<TestPair> {
    let mut tests: Vec<TestPair> = Vec::new();
    let mut used: Vec<&Row> = Vec::new();
    for side in sides {
        // A test that the first repetition did not reach may be in the next.
        for (reading, row) in side.readings.iter().flat_map(|r| r.rows.iter().map(move |row| (r, row))) {
            if used.iter().any(|known| std::ptr::eq(*known, row)) {
                continue;
            }
            let rows_of = |side| -> Rows<'_> {
                let side: &Side = side;
                side.readings.iter().filter_map(|r| Some((r, r.matching(row, reading)?))).collect()
            };
            let rows: Vec<Rows<'_>> = sides.iter().map(rows_of).collect();
            // A row that was matched by its load under another name must not come again.
            used.extend(rows.iter().flatten().map(|(_, row)| *row));
            tests.push(test(row, &rows, history, conditions));
        }
    }
    tests
}

fn test(row: &Row, rows: &[Rows<'_>], history: &[Side], conditions: &[Conditions]) -> TestPair {
    let is_paced = row.is_paced;
    let cells = rows.iter().enumerate().map(|(index, own)| {
        let against = (index > 0 && !rows[0].is_empty() && !own.is_empty())
            .then(|| against(&rows[0], own, history, conditions[index], is_paced));
        let price = own.iter().find_map(|(set, _)| set.price.as_ref());
        let own: Vec<&Row> = own.iter().map(|(_, row)| *row).collect();
        let cell = cell(&own)?;
        let cost = price.and_then(|price| Cost::of(price, cell.iops, cell.mib_per_s));
        Some(Cell { against, cost, ..cell })
    });
    TestPair { test: row.test.clone(), step: row.step.clone(), is_paced, cells: cells.collect() }
}

/// The repetitions of a side as one; `None` where there are none.
fn cell(rows: &[&Row]) -> Option<Cell> {
    let first = rows.first()?;
    let iops: Vec<f64> = rows.iter().map(|r| r.iops).collect();
    let of = |value: &dyn Fn(&Row) -> Option<f64>| {
        let values: Vec<f64> = rows.iter().filter_map(|r| value(r)).collect();
        (!values.is_empty()).then(|| geometric_mean(&values))
    };
    Some(Cell {
        iops: level(&iops).value,
        mib_per_s: of(&|r| Some(r.mib_per_s)).unwrap_or(0.0),
        mean_ms: of(&|r| r.mean_ms),
        p99_ms: of(&|r| r.p99_ms.map(|p| p.value)),
        repeats: rows.len(),
        cv: (rows.len() > 1).then(|| deviation(&iops) / mean(&iops)),
        expected: first.expected,
        is_bound: first.is_bound,
        curve_ms: curve(rows),
        seconds: first.seconds.clone(),
        heat: Arc::clone(&first.heat),
        cost: None,
        against: None,
    })
}

/// The latency curves of the repetitions as one, as far as all of them reach.
fn curve(rows: &[&Row]) -> Vec<(f64, f64)> {
    let shortest = rows.iter().map(|row| row.curve_ms.len()).min().unwrap_or(0);
    let at = |index: usize| -> Vec<f64> { rows.iter().map(|row| row.curve_ms[index].1).collect() };
    (0..shortest).map(|index| (rows[0].curve_ms[index].0, geometric_mean(&at(index)))).collect()
}

fn against(
    first: &Rows<'_>,
    own: &Rows<'_>,
    history: &[Side],
    conditions: Conditions,
    is_paced: bool,
) -> Against {
    let (a, b) = (first[0].1, own[0].1);
    let mut differs = a.load_differences(b);
    differs.iter_mut().for_each(|differs| differs.weight = conditions.purpose.weigh(differs.weight));
    let (changed, breaks): (Vec<Difference>, Vec<Difference>) =
        differs.into_iter().partition(|differs| differs.weight == Weight::Changed);
    let load_differs: Vec<String> = breaks.iter().map(Difference::says).collect();
    let is_judged = load_differs.is_empty() && !conditions.is_broken;
    // Two numbers that are only not to be exceeded say nothing of how many times one is the other.
    let estimates = a.expected.zip(b.expected).filter(|_| !a.is_bound && !b.is_bound);
    let expected = estimates.map(|(x, y)| y.value / x.value);
    let judged = |of: fn(&Row) -> Option<f64>| -> Option<(Judged, SpreadSource)> {
        let values = |rows: &Rows<'_>| rows.iter().filter_map(|(_, row)| of(row)).collect::<Vec<f64>>();
        let (x, y) = (values(first), values(own));
        if x.is_empty() || y.is_empty() {
            return None;
        }
        let (spreads, source) = spread::of_sides(first, own, history, of);
        let ratio = beyond_noise(ratio(geometric_mean(&x), geometric_mean(&y), spreads));
        let change =
            if is_judged { change(ratio, Grade::of(&x, &y, spreads)) } else { Change::NotComparable };
        Some((Judged { ratio, change }, source))
    };
    let percentile =
        |of: fn(&Row) -> Option<f64>| judged(of).map(|(p, _)| Judged { change: p.change.reversed(), ..p });
    let by_prediction =
        predicted::against(first, own).filter(|_| is_judged).map(|judged| (judged, SpreadSource::Prediction));
    let (iops, spread_from) = by_prediction
        .or_else(|| judged(|row| Some(row.iops)))
        .unwrap_or((Judged::unknown(), SpreadSource::Unknown));
    let p50 = percentile(|row| row.p50_ms.map(|p| p.value));
    let p99 = percentile(|row| row.p99_ms.map(|p| p.value));
    let change = match (is_judged, is_paced) {
        (false, _) => Change::NotComparable,
        // A prediction is of the rate.
        (true, true) if spread_from != SpreadSource::Prediction => {
            p99.map_or(Change::Unknown, |p99| p99.change)
        }
        (true, _) => iops.change,
    };
    Against { iops: iops.ratio, p50, p99, expected, change, spread_from, load_differs, changed }
}

impl Judged {
    fn unknown() -> Self {
        Self { ratio: Estimate::bare(1.0), change: Change::Unknown }
    }
}

impl Against {
    /// The change of p99 where it belongs in the headline: it is real, or large although nothing is known of its
    /// spread.
    pub fn notable_p99(&self) -> Option<Judged> {
        self.p99.filter(|p99| match p99.change {
            Change::Faster | Change::Slower | Change::PerhapsFaster | Change::PerhapsSlower => true,
            Change::Unknown => p99.ratio.value >= P99_NOTABLE || p99.ratio.value <= 1.0 / P99_NOTABLE,
            Change::Same
            | Change::Unclear
            | Change::AsPredicted
            | Change::WithinBound
            | Change::NotComparable => false,
        })
    }
}

/// The repetitions behind a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    /// Two at most tell the spread. They may agree by chance, above all in what is now of one kind and now of another,
    /// and then their interval is narrow for no reason.
    Pairs,
    /// Too few repetitions of a side; or enough of them, and their ranks do not tell the sides apart.
    Few,
    /// Enough repetitions of each side, whose ranks differ too, as far as so few can.
    Repeated,
}

impl Grade {
    fn of(a: &[f64], b: &[f64], spreads: Option<(Spread, Spread)>) -> Self {
        let (chance, least) = rank_test(a, b);
        let behind = spreads.map_or(0.0, |(a, b)| a.n.max(b.n));
        match a.len().min(b.len()) {
            fewer if fewer >= REPEATS_MIN && chance <= CHANCE_MAX.max(least) => Self::Repeated,
            _ if behind < REPEATS_MIN as f64 => Self::Pairs,
            _ => Self::Few,
        }
    }

    /// Whether a change by a factor above one, of which at least so much is no noise, is to be called real.
    fn is_real(self, factor: f64, least: f64) -> bool {
        match self {
            Self::Pairs => factor >= PLAIN && least >= 1.0 + REPEATS_WITHIN,
            Self::Few => least >= 1.0 + REPEATS_WITHIN,
            Self::Repeated => true,
        }
    }
}

/// A ratio without its interval, where that reaches to one from a factor that no repetition explains: so few
/// repetitions that lie so far apart tell nothing of the spread.
fn beyond_noise(ratio: Estimate) -> Estimate {
    let is_open = ratio.ends().is_some_and(|(lo, hi)| (lo..=hi).contains(&1.0));
    match ratio.value {
        value if is_open && !(1.0 / BEYOND_NOISE..=BEYOND_NOISE).contains(&value) => Estimate::bare(value),
        _ => ratio,
    }
}

fn change(ratio: Estimate, grade: Grade) -> Change {
    let Some((lo, hi)) = ratio.ends() else {
        return match ratio.value {
            value if value >= BEYOND_NOISE => Change::PerhapsFaster,
            value if value <= 1.0 / BEYOND_NOISE => Change::PerhapsSlower,
            _ => Change::Unknown,
        };
    };
    let within = 1.0 + REPEATS_WITHIN;
    if lo > 1.0 {
        if grade.is_real(ratio.value, lo) { Change::Faster } else { Change::PerhapsFaster }
    } else if hi < 1.0 {
        let is_real = grade.is_real(1.0 / ratio.value, 1.0 / hi);
        if is_real { Change::Slower } else { Change::PerhapsSlower }
    } else if lo >= 1.0 / within && hi <= within {
        Change::Same
    } else {
        Change::Unclear
    }
}

impl Change {
    /// For numbers of which less is better.
    fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            Self::PerhapsFaster => Self::PerhapsSlower,
            Self::PerhapsSlower => Self::PerhapsFaster,
            other => other,
        }
    }

    /// Whether the sides may well be the same.
    fn is_none_shown(self) -> bool {
        matches!(self, Self::Same | Self::Unclear | Self::AsPredicted | Self::WithinBound)
    }

    /// As it stands in tables.
    pub fn says(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::PerhapsFaster => "faster?",
            Self::PerhapsSlower => "slower?",
            Self::Same => "the same",
            Self::Unclear => "in the noise",
            Self::AsPredicted => "as predicted",
            Self::WithinBound => "within the bound",
            Self::Unknown => "spread unknown",
            Self::NotComparable => "not comparable",
        }
    }
}

fn finding_differences(sides: &[Side]) -> Vec<FindingOf> {
    let mut found: Vec<FindingOf> = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        for note in side.readings.iter().flat_map(|r| &r.findings) {
            match found.iter_mut().find(|f| f.rule == note.rule) {
                Some(known) => {
                    known.severity = known.severity.max(note.severity);
                    if !known.sides.contains(&index) {
                        known.sides.push(index);
                    }
                }
                None => found.push(FindingOf {
                    rule: note.rule.clone(),
                    severity: note.severity,
                    sides: vec![index],
                    says: note.says.clone(),
                }),
            }
        }
    }
    found.retain(|f| f.sides.len() < sides.len());
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

/// Returns what rules about two loads find in one load on each of two sides: a resource doubled and the rate stayed.
fn across(sides: &[Side]) -> Vec<Finding> {
    let first = &sides[0].readings[0].cases;
    let others = sides[1..].iter().map(|side| &side.readings[0].cases);
    others.flat_map(|own| rules::across(first, own)).chain(overlap::overlap(sides)).collect()
}
