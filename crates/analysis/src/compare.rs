//! Results side by side: what differs, and whether the difference is real.
//!
//! A [`Side`] is one or several [`ResultSet`]s of the same thing: repetitions. Every side is held against the first, test
//! by test. Seconds of one run say how noisy that run was, and nothing of how far the next one would be from it; only
//! repetitions do. So a small difference between single runs is never called real, and a row whose load differs is
//! not judged at all. docs/method.md has the rule in full.

mod result_set;

use assay_model::quantity::Bounds;
use serde::Serialize;

use crate::estimate::{Estimate, Spread, deviation, mean, rank_test, ratio};
use crate::finding::{Finding, Severity};
use crate::rules;

pub use result_set::{Facet, FindingNote, ResultSet, Row, Weight, facets, load_facets};

/// A smaller change does not matter, and one that is larger can be told from two runs of a side (SPC-1 asks a
/// repetition to come as near).
const REPEATS_WITHIN: f64 = 0.05;
/// Single runs show a change that is larger than this. Runs of one plan on one virtual disk have been 1.2 times apart,
/// each steady in itself.
const SINGLE_WITHIN: f64 = 0.5;
/// Repetitions of each side that a change of any size can be told from.
const REPEATS_MIN: usize = 3;
/// What two samples of one distribution come to by chance, at most, to be called different.
const CHANCE_MAX: f64 = 0.05;

/// What is compared: a name, and the repetitions of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// As people call it.
    pub name: String,
    /// Never empty.
    pub readings: Vec<ResultSet>,
}

/// Sides held against the first of them.
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
    /// What the expectations of two sides show together.
    pub across: Vec<Finding>,
    /// What came out, a sentence for each side after the first.
    pub says: Vec<String>,
}

/// A side without its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// As people call it.
    pub name: String,
    /// Ids of its repetitions.
    pub runs: Vec<String>,
    /// What they are of.
    pub about: String,
}

/// Something that differs between sides, or between repetitions of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// What it is on each side; repetitions that differ stand together.
    pub values: Vec<String>,
    /// What it means.
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
    /// What the array's description lets one expect.
    pub expected: Option<Bounds>,
    /// Whether that is a bound only.
    pub is_bound: bool,
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
    /// What became of it.
    pub change: Change,
    /// What differs in the load of this test, where it does: `I/Os in flight 64 / 32`.
    pub load_differs: Vec<String>,
}

/// A ratio with its word.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Judged {
    /// Over the first side's.
    pub ratio: Estimate,
    /// What became of it.
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
    /// More than the noise within the runs, but no more than a repetition may be off.
    PerhapsFaster,
    /// The same the other way.
    PerhapsSlower,
    /// The sides were repeated, and the interval lies within 5 % around 1.
    Same,
    /// The noise hides a change of any kind.
    Unclear,
    /// Nothing is known of the noise: too few seconds, or a published number.
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
    /// What it says on the first of them.
    pub says: String,
}

/// Holds every side against the first.
///
/// # Panics
/// Without any side.
#[must_use]
pub fn compare(sides: &[Side]) -> Comparison {
    let differences = differences(sides);
    let comparable = match differences.iter().any(|d| d.weight == Weight::Breaks) {
        true => Comparable::No,
        false => Comparable::Yes,
    };
    let tests = tests(sides, comparable);
    let says = (1..sides.len()).map(|index| outcome(sides, &tests, index)).collect();
    let named = sides.iter().map(|side| Named {
        name: side.name.clone(),
        runs: side.readings.iter().map(|r| r.id.clone()).collect(),
        about: side.readings[0].about.clone(),
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
    #[must_use]
    pub fn says(&self) -> String {
        format!("{} {}", self.what, self.values.join(" / "))
    }
}

/// Whether rates of the sides say anything of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparable {
    Yes,
    No,
}

/// Facets that differ between any two readings.
fn differences(sides: &[Side]) -> Vec<Difference> {
    let all: Vec<&ResultSet> = sides.iter().flat_map(|s| &s.readings).collect();
    let mut found: Vec<Difference> = Vec::new();
    for facet in all.iter().flat_map(|r| &r.facets) {
        let value = |r: &ResultSet| r.facets.iter().find(|f| f.name == facet.name).map(|f| f.value.clone());
        let differs = all.iter().filter_map(|r| value(r)).any(|v| v != facet.value);
        if !differs || found.iter().any(|d| d.what == facet.name) {
            continue;
        }
        let of_side = |side: &Side| -> String {
            let mut values: Vec<String> =
                side.readings.iter().map(|r| value(r).unwrap_or("unknown".to_owned())).collect();
            values.dedup();
            values.join(", ")
        };
        found.push(Difference {
            what: facet.name.clone(),
            values: sides.iter().map(of_side).collect(),
            weight: facet.weight,
        });
    }
    found.sort_by_key(|d| std::cmp::Reverse(d.weight));
    found
}

fn tests(sides: &[Side], comparable: Comparable) -> Vec<TestPair> {
    let mut tests: Vec<TestPair> = Vec::new();
    let mut used: Vec<&Row> = Vec::new();
    for side in sides {
        // A test that the first repetition did not reach may be in the next.
        for (reading, row) in side.readings.iter().flat_map(|r| r.rows.iter().map(move |row| (r, row))) {
            if used.iter().any(|known| std::ptr::eq(*known, row)) {
                continue;
            }
            let rows: Vec<Vec<&Row>> = sides
                .iter()
                .map(|s| s.readings.iter().filter_map(|r| r.matching(row, reading)).collect())
                .collect();
            // A row that was matched by its load under another name must not come again.
            used.extend(rows.iter().flatten().copied());
            tests.push(test(row, &rows, comparable));
        }
    }
    tests
}

fn test(row: &Row, rows: &[Vec<&Row>], comparable: Comparable) -> TestPair {
    let is_paced = row.is_paced;
    let cells = rows.iter().enumerate().map(|(index, own)| {
        let against = (index > 0 && !rows[0].is_empty() && !own.is_empty())
            .then(|| against(&rows[0], own, comparable, is_paced));
        Some(Cell { against, ..cell(own)? })
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
        iops: geometric_mean(&iops),
        mib_per_s: of(&|r| Some(r.mib_per_s)).unwrap_or(0.0),
        mean_ms: of(&|r| r.mean_ms),
        p99_ms: of(&|r| r.p99_ms.map(|p| p.value)),
        repeats: rows.len(),
        cv: (rows.len() > 1).then(|| deviation(&iops) / mean(&iops)),
        expected: first.expected,
        is_bound: first.is_bound,
        against: None,
    })
}

/// Zeroes would take everything with them; a mean of them is what is left to say.
fn geometric_mean(values: &[f64]) -> f64 {
    if let [one] = values {
        return *one;
    }
    if values.iter().any(|v| *v <= 0.0) {
        return mean(values);
    }
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp()
}

fn against(first: &[&Row], own: &[&Row], comparable: Comparable, is_paced: bool) -> Against {
    let rates = |rows: &[&Row]| rows.iter().map(|r| r.iops).collect::<Vec<f64>>();
    let (a, b) = (rates(first), rates(own));
    let within = |rows: &[&Row]| rows.first().and_then(|r| Spread::of_seconds(&r.seconds));
    let iops = ratio(geometric_mean(&a), geometric_mean(&b), spreads(&a, &b, within(first).zip(within(own))));
    let load_differs = first[0].load_differences(own[0]);
    // Two numbers that are only not to be exceeded say nothing of how many times one is the other.
    let estimates = first[0].expected.zip(own[0].expected).filter(|_| !first[0].is_bound && !own[0].is_bound);
    let expected = estimates.map(|(x, y)| y.value / x.value);
    let is_judged = load_differs.is_empty() && comparable == Comparable::Yes;
    let percentile = |of: fn(&Row) -> Option<Estimate>| {
        let (ratio, grade) = percentile(first, own, of)?;
        let judged = if is_judged { change(ratio, grade).reversed() } else { Change::NotComparable };
        Some(Judged { ratio, change: judged })
    };
    let (p50, p99) = (percentile(|row| row.p50_ms), percentile(|row| row.p99_ms));
    let change = match (is_judged, is_paced) {
        (false, _) => Change::NotComparable,
        (true, true) => p99.map_or(Change::Unknown, |p99| p99.change),
        (true, false) => change(iops, Grade::of(&a, &b)),
    };
    Against { iops, p50, p99, expected, change, load_differs }
}

/// Of repetitions where there are any: a side that has one only is taken to be as noisy as the other. Else of seconds.
fn spreads(a: &[f64], b: &[f64], within: Option<(Spread, Spread)>) -> Option<(Spread, Spread)> {
    // It adds no freedom: the interval must be as wide as one estimate of the spread allows.
    let alone =
        |spread: Spread| Spread { error: spread.error * spread.n.sqrt(), is_borrowed: true, ..spread };
    match (Spread::of_repeats(a), Spread::of_repeats(b)) {
        (Some(a), Some(b)) => Some((a, b)),
        (Some(a), None) => Some((a, alone(a))),
        (None, Some(b)) => Some((alone(b), b)),
        (None, None) => within,
    }
}

/// A percentile over the first side's, with what a change of it rests on.
fn percentile(first: &[&Row], own: &[&Row], of: fn(&Row) -> Option<Estimate>) -> Option<(Estimate, Grade)> {
    let values = |rows: &[&Row]| -> Vec<Estimate> { rows.iter().filter_map(|r| of(r)).collect() };
    let (a, b) = (values(first), values(own));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let plain = |e: &[Estimate]| e.iter().map(|e| e.value).collect::<Vec<f64>>();
    let within = quantile_spread(a[0]).zip(quantile_spread(b[0]));
    let (x, y) = (plain(&a), plain(&b));
    let ratio = ratio(geometric_mean(&x), geometric_mean(&y), spreads(&x, &y, within));
    Some((ratio, Grade::of(&x, &y)))
}

/// A quantile's interval as a spread: half of it on the logarithm, as if it came from a normal error.
fn quantile_spread(p: Estimate) -> Option<Spread> {
    let (lo, hi) = p.ends().filter(|(lo, _)| *lo > 0.0)?;
    let n = p.n_effective.max(2.0);
    let half = (hi / lo).ln() / 2.0;
    Some(Spread::new(half / Spread::new(1.0, n).half_width(), n))
}

/// What a change rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    /// One run of each side.
    Single,
    /// Some repetitions; or enough of them, and their ranks do not tell the sides apart.
    Few,
    /// Enough repetitions of each side, told apart by their ranks too: as far as so few can be.
    Repeated,
}

impl Grade {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let (chance, least) = rank_test(a, b);
        match a.len().min(b.len()) {
            _ if a.len().max(b.len()) < 2 => Self::Single,
            fewer if fewer >= REPEATS_MIN && chance <= CHANCE_MAX.max(least) => Self::Repeated,
            _ => Self::Few,
        }
    }

    /// A change must be beyond this factor to be called real.
    fn factor(self) -> f64 {
        match self {
            Self::Single => 1.0 + SINGLE_WITHIN,
            Self::Few => 1.0 + REPEATS_WITHIN,
            Self::Repeated => 1.0,
        }
    }
}

fn change(ratio: Estimate, grade: Grade) -> Change {
    let Some((lo, hi)) = ratio.ends() else { return Change::Unknown };
    let (more, less) = (grade.factor(), 1.0 / grade.factor());
    let within = 1.0 + REPEATS_WITHIN;
    if lo > 1.0 {
        if lo >= more { Change::Faster } else { Change::PerhapsFaster }
    } else if hi < 1.0 {
        if hi <= less { Change::Slower } else { Change::PerhapsSlower }
    } else if grade != Grade::Single && lo >= 1.0 / within && hi <= within {
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

    /// As it stands in tables.
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::PerhapsFaster => "faster?",
            Self::PerhapsSlower => "slower?",
            Self::Same => "the same",
            Self::Unclear => "in the noise",
            Self::Unknown => "noise unknown",
            Self::NotComparable => "not comparable",
        }
    }
}

fn finding_differences(sides: &[Side]) -> Vec<FindingOf> {
    let mut found: Vec<FindingOf> = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        for told in side.readings.iter().flat_map(|r| &r.findings) {
            match found.iter_mut().find(|f| f.rule == told.rule) {
                Some(known) => {
                    known.severity = known.severity.max(told.severity);
                    if !known.sides.contains(&index) {
                        known.sides.push(index);
                    }
                }
                None => found.push(FindingOf {
                    rule: told.rule.clone(),
                    severity: told.severity,
                    sides: vec![index],
                    says: told.says.clone(),
                }),
            }
        }
    }
    found.retain(|f| f.sides.len() < sides.len());
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

/// What rules about two loads say of one load on each of two sides: a resource doubled and nothing moved.
fn across(sides: &[Side]) -> Vec<Finding> {
    let first = &sides[0].readings[0].cases;
    let others = sides[1..].iter().map(|side| &side.readings[0].cases);
    others.flat_map(|own| rules::model::across(first, own)).collect()
}

/// `iscsi against nfs: faster in 3 of 4 tests (x1.13 to x3.98), the same in 1.`
fn outcome(sides: &[Side], tests: &[TestPair], index: usize) -> String {
    let told: Vec<(&TestPair, &Against)> =
        tests.iter().filter_map(|t| Some((t, t.cells[index].as_ref()?.against.as_ref()?))).collect();
    let lead = format!("{} against {}: ", sides[index].name, sides[0].name);
    if told.is_empty() {
        return format!("{lead}no test is in both.");
    }
    let kinds = [
        Change::Faster,
        Change::Slower,
        Change::PerhapsFaster,
        Change::PerhapsSlower,
        Change::Same,
        Change::Unclear,
        Change::Unknown,
        Change::NotComparable,
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter_map(|kind| {
            let of: Vec<&(&TestPair, &Against)> = told.iter().filter(|(_, a)| a.change == kind).collect();
            (!of.is_empty()).then(|| {
                let ratios: Vec<f64> = of.iter().map(|(t, a)| judged_ratio(t, a)).collect();
                format!("{} in {} of {}{}", kind.says(), of.len(), told.len(), range(kind, &ratios))
            })
        })
        .collect();
    let mut says = format!("{lead}{}.", parts.join(", "));
    let is_open =
        |a: &Against| matches!(a.change, Change::PerhapsFaster | Change::PerhapsSlower | Change::Unclear);
    let few = sides[0].readings.len().min(sides[index].readings.len()) < REPEATS_MIN;
    if few && told.iter().any(|(_, a)| is_open(a)) {
        says.push_str(" Three runs or more of each side tell small changes from noise: give them one label.");
    }
    says
}

fn judged_ratio(test: &TestPair, against: &Against) -> f64 {
    match against.p99 {
        Some(p99) if test.is_paced => p99.ratio.value,
        _ => against.iops.value,
    }
}

fn range(kind: Change, ratios: &[f64]) -> String {
    if matches!(kind, Change::NotComparable | Change::Same) {
        return String::new();
    }
    let lo = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = ratios.iter().copied().fold(0.0, f64::max);
    let digits = if lo < 0.1 { 4 } else { 2 };
    let (lo, hi) = (format!("x{lo:.digits$}"), format!("x{hi:.digits$}"));
    if lo == hi { format!(" ({lo})") } else { format!(" ({lo} to {hi})") }
}
