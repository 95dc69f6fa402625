//! The headline of a comparison: how many tests changed, by how much, and whether latency did too.

use super::advice::{unlike, without_common_test};
use super::{Against, BEYOND_NOISE, Change, Difference, Judged, REPEATS_MIN, Side, Source, TestPair, Weight};

/// Rounding in documents changes a ratio of one by less than this.
const ROUNDED: f64 = 1e-4;

/// Returns the outcome of a side: `iscsi against nfs: faster in 3 of 4 tests (x1.13 to x3.98), the same in 1 of 4.`
pub(super) fn sentence(
    sides: &[Side],
    differences: &[Difference],
    tests: &[TestPair],
    index: usize,
) -> String {
    let compared: Vec<(&TestPair, &Against)> =
        tests.iter().filter_map(|t| Some((t, t.cells[index].as_ref()?.against.as_ref()?))).collect();
    let lead = format!("{} against {}: ", sides[index].name, sides[0].name);
    if compared.is_empty() {
        return lead + &without_common_test(sides, index);
    }
    let ids = |side: &Side| side.readings.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
    // A document rounds its numbers, so equal ones are equal within that.
    let is_equal = |a: &Against| (a.iops.value - 1.0).abs() < ROUNDED;
    if ids(&sides[0]) == ids(&sides[index]) && compared.iter().all(|(_, a)| is_equal(a)) {
        return format!("{lead}the same run on both sides.");
    }
    let kinds = [
        Change::Faster,
        Change::Slower,
        Change::PerhapsFaster,
        Change::PerhapsSlower,
        Change::Same,
        Change::Unclear,
        Change::AsPredicted,
        Change::WithinBound,
        Change::Unknown,
        Change::NotComparable,
    ];
    let parts = kinds.into_iter().filter_map(|kind| part(kind, &compared));
    let changed = changed(differences, &compared, index);
    let mut says = format!("{lead}{changed}{}", parts.collect::<Vec<_>>().join(", "));
    for notable in [latency(tests, index, Direction::Higher), latency(tests, index, Direction::Lower)] {
        says.push_str(&notable.map_or(String::new(), |words| format!("; {words}")));
    }
    says.push('.');
    // An article is not repeated.
    if [0, index].iter().all(|side| sides[*side].readings[0].source == Source::Run) {
        says.push_str(advice(sides, index, &compared));
    }
    let against: Vec<&Against> = compared.iter().map(|(_, against)| *against).collect();
    says.push_str(&unlike(sides, index, &against));
    says
}

/// `you changed I/Os in flight from 1 to 32: `, of all tests or of some; empty where nothing was changed.
fn changed(differences: &[Difference], compared: &[(&TestPair, &Against)], index: usize) -> String {
    let says = |what: &str, from: &str, to: &str| format!("{what} from {from} to {to}");
    let own = |against: &Against| -> Vec<String> {
        against.changed.iter().map(|d| says(&d.what, &d.values[0], &d.values[1])).collect()
    };
    let of_runs =
        differences.iter().filter(|d| d.weight == Weight::Changed && d.values[0] != d.values[index]);
    let mut changed: Vec<String> = of_runs.map(|d| says(&d.what, &d.values[0], &d.values[index])).collect();
    let first = compared.first().map(|(_, against)| own(against)).unwrap_or_default();
    let of = compared.iter().filter(|(_, against)| !against.changed.is_empty()).count();
    if compared.iter().all(|(_, against)| own(against) == first) {
        changed.extend(first);
    } else {
        changed.push(format!("the load of {of} of {} tests", compared.len()));
    }
    if changed.is_empty() { String::new() } else { format!("you changed {}: ", changed.join(" and ")) }
}

/// `faster in 3 of 4 (x1.13 to x3.98)`
fn part(kind: Change, compared: &[(&TestPair, &Against)]) -> Option<String> {
    let of: Vec<_> = compared.iter().filter(|(_, a)| a.change == kind).collect();
    let ratios: Vec<f64> = of.iter().map(|(t, a)| judged_ratio(t, a)).collect();
    let range = range(kind, &ratios);
    let count = match compared.len() {
        1 => String::new(),
        all => format!(" in {} of {all}", of.len()),
    };
    (!of.is_empty()).then(|| match kind {
        Change::Unknown => {
            let ratios = range.trim_start_matches(" (").trim_end_matches(')');
            format!("{ratios}{count}, run-to-run spread unknown, so no change is claimed")
        }
        known => format!("{}{count}{range}", known.says()),
    })
}

/// What more runs would show.
fn advice(sides: &[Side], index: usize, compared: &[(&TestPair, &Against)]) -> &'static str {
    let is_plain = |a: &Against| !(1.0 / BEYOND_NOISE..=BEYOND_NOISE).contains(&a.iops.value);
    let is_open = |a: &Against| {
        !is_plain(a)
            && matches!(
                a.change,
                Change::PerhapsFaster | Change::PerhapsSlower | Change::Unclear | Change::Unknown
            )
    };
    let few = sides[0].readings.len().min(sides[index].readings.len()) < REPEATS_MIN;
    match few && compared.iter().any(|(_, a)| is_open(a)) {
        true => " Repeat each side three times under one label (--label) to tell changes from noise.",
        false => "",
    }
}

/// Which way p99 moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Higher,
    Lower,
}

/// `p99 latency is higher in 1 of 4 tests, x3.00 in Random (1.20 to 3.60 ms)`; `None` where none moved that way.
fn latency(tests: &[TestPair], index: usize, direction: Direction) -> Option<String> {
    let with_p99 = |t: &&TestPair| {
        // A paced test is judged by its p99 already.
        !t.is_paced
            && t.cells[index].as_ref().is_some_and(|c| c.against.as_ref().is_some_and(|a| a.p99.is_some()))
    };
    let all: Vec<&TestPair> = tests.iter().filter(with_p99).collect();
    let notable =
        |t: &TestPair| -> Option<Judged> { t.cells[index].as_ref()?.against.as_ref()?.notable_p99() };
    let is_ours = |ratio: f64| (ratio > 1.0) == (direction == Direction::Higher);
    let mut moved: Vec<(&TestPair, Judged)> =
        all.iter().filter_map(|t| Some((*t, notable(t)?))).filter(|(_, p)| is_ours(p.ratio.value)).collect();
    let far = |p: &Judged| p.ratio.value.ln().abs();
    moved.sort_by(|a, b| far(&b.1).total_cmp(&far(&a.1)));
    let (test, most) = moved.first()?;
    let word = if direction == Direction::Higher { "higher" } else { "lower" };
    let ms = |side: usize| test.cells[side].as_ref().and_then(|c| c.p99_ms);
    let times = match ms(0).zip(ms(index)) {
        Some((before, after)) => format!(" ({} to {} ms)", digits(before), digits(after)),
        None => String::new(),
    };
    let name = format!("{} {}", test.test, test.step);
    let ratio = format!("x{}{} in {}{times}", digits(most.ratio.value), unknown(most), name.trim_end());
    let most = if moved.len() > 1 { "the largest change is " } else { "" };
    let share = match all.len() {
        1 => String::new(),
        count => format!(" in {} of {count} tests", moved.len()),
    };
    Some(format!("p99 latency is {word}{share}, {most}{ratio}"))
}

fn unknown(judged: &Judged) -> &'static str {
    if judged.change == Change::Unknown { " (spread unknown)" } else { "" }
}

/// About three digits.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
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
