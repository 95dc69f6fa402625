//! Results side by side, as text and as JSON. The HTML page is in `html/compare.rs`.

mod pair;

use assay_analysis::Estimate;
use assay_analysis::compare::{
    Against, Cell, Change, Comparison, Difference, Judged, Source, SpreadSource, TestPair, Weight,
};
use assay_model::quantity::Bounds;
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{long, rounded, short};
use crate::options::{Detail, TextOptions};
use crate::painted::mark;
use crate::prediction::{interval, interval_json};
use crate::table::{self, Column, Decimals, Format, Narrow, Row, Table};
use assay_analysis::first_sentence;

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.compare/1";
/// Columns of a side's letter and name that narrow text keeps.
const NAME_COLUMNS: usize = 12;
/// Sentences are wrapped here.
const WIDTH_MAX: usize = 100;

/// Returns the comparison as text: sides, differences, a group for each test with a row for each side, findings, and
/// the outcome.
pub fn table(comparison: &Comparison, options: TextOptions) -> String {
    let width = options.width.min(WIDTH_MAX);
    let (shared, lone) = shared_and_lone(comparison);
    // Two sides, as most comparisons have, fit a screen.
    let is_pair = options.detail == Detail::Brief && comparison.sides.len() == 2;
    let mut text = if is_pair { pair::sides(comparison, width) } else { sides(comparison, width) };
    text.push_str(&differences(comparison, width));
    if !shared.is_empty() {
        text.push('\n');
        let results =
            if is_pair { pair::table(comparison) } else { result_table(comparison, Reader::Person) };
        text.push_str(&results.render(Format::Text(width)));
        text.push_str(&if is_pair { pair::repeated(comparison, width) } else { String::new() });
        text.push_str(&if is_pair { pair::bounds(comparison, width) } else { String::new() });
    }
    for says in lone {
        text.push_str(&format!("\n{}\n", wrap(&says, width, "  ")));
    }
    let mut outcome = "\n".to_owned();
    for says in &comparison.says {
        outcome.push_str(&wrap(says, width, "  "));
        outcome.push('\n');
    }
    if !shared.is_empty() {
        outcome.push_str(&wrap(&legend(comparison, !is_pair), width, ""));
        outcome.push('\n');
    }
    let room = pair::SCREEN_LINES.saturating_sub(text.lines().count() + outcome.lines().count());
    text.push_str(&match is_pair {
        true => pair::findings(comparison, width, room),
        false => findings(comparison, width, options.detail),
    });
    text.push_str(&outcome);
    if options.detail == Detail::Full {
        text.push_str(&explanation(comparison, width));
    }
    text
}

/// Tests of several sides, and a line for each side about the tests that only it has.
pub(crate) fn shared_and_lone(comparison: &Comparison) -> (Vec<&TestPair>, Vec<String>) {
    let sides_of = |test: &TestPair| test.cells.iter().filter(|c| c.is_some()).count();
    let (shared, lone): (Vec<&TestPair>, Vec<&TestPair>) =
        comparison.tests.iter().partition(|test| sides_of(test) > 1);
    let says = (0..comparison.sides.len()).filter_map(|side| {
        let own: Vec<String> = lone.iter().filter(|t| t.cells[side].is_some()).map(|t| name_of(t)).collect();
        let first = own.first()?;
        let more = match own.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        Some(format!("Only {} has {first}{more}.", letter(side)))
    });
    (shared, says.collect())
}

/// Letters for the sides: names may be long and alike.
pub(crate) fn letter(index: usize) -> char {
    char::from_u32(u32::from('A') + u32::try_from(index).unwrap_or(25).min(25)).unwrap_or('?')
}

fn sides(comparison: &Comparison, width: usize) -> String {
    let mut text = String::new();
    for (index, side) in comparison.sides.iter().enumerate() {
        let runs = if side.runs[..] == [side.name.clone()] {
            String::new()
        } else {
            format!(" ({})", side.runs.join(", "))
        };
        let line = format!("{}  {}{runs}: {}", letter(index), side.name, side.about);
        text.push_str(&wrap(&line, width, "   "));
        text.push('\n');
    }
    text
}

fn differences(comparison: &Comparison, width: usize) -> String {
    let of = |weight: Weight| -> Vec<String> {
        comparison.differences.iter().filter(|d| d.weight == weight).map(|d| d.says()).collect()
    };
    let mut text = String::new();
    for (weight, words) in [
        (Weight::Breaks, "Not comparable, because these differ"),
        (Weight::Changed, "Changed"),
        (Weight::Weakens, "Also different, and perhaps part of a change"),
        (Weight::Subject, "Compared"),
    ] {
        let found = of(weight);
        if !found.is_empty() {
            text.push_str(&wrap(&format!("{words}: {}.", found.join("; ")), width, "  "));
            text.push('\n');
        }
    }
    text
}

/// Which columns a table of results has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A ratio with its interval and its word in one column; remarks below each test.
    Person,
    /// One number for each column.
    Program,
}

fn number_column(title: &str, unit: &str) -> Column {
    Column::number(title, unit).decimals(Decimals::Each)
}

/// Returns the tests of several sides: a group for each test, a row for each side.
pub(crate) fn result_table(comparison: &Comparison, reader: Reader) -> Table {
    let number = number_column;
    let side = Column::text("Side").narrow(Narrow::Cut(NAME_COLUMNS));
    // Both follow from the others, or nearly.
    let mib_per_s = number("MiB/s", "").narrow(Narrow::Drop(2));
    let mean = number("mean", "ms").narrow(Narrow::Drop(1));
    let mut columns = vec![side, number("IOPS", ""), mib_per_s, mean, number("p99", "ms")];
    match reader {
        Reader::Person => columns.push(Column::text("against A (95 %)").narrow(Narrow::Keep)),
        Reader::Program => {
            for name in ["IOPS", "p50", "p99"] {
                columns.push(Column::text(&format!("{name} change")));
                columns.extend(["ratio", "low", "high"].map(|end| number(&format!("{name} {end}"), "")));
            }
        }
    }
    let mut table = Table::new(columns);
    table.group = "Test".to_owned();
    for test in shared_and_lone(comparison).0 {
        table.rows.push(Row::Group(name_of(test)));
        for (index, cell) in test.cells.iter().enumerate() {
            let name = format!("{}  {}", letter(index), comparison.sides[index].name);
            let Some(cell) = cell else {
                table.rows.push(Row::Words { name, words: "no such test".to_owned() });
                continue;
            };
            let mut cells: Vec<table::Cell> = vec![
                name.into(),
                cell.iops.into(),
                cell.mib_per_s.into(),
                cell.mean_ms.into(),
                cell.p99_ms.into(),
            ];
            match reader {
                Reader::Person => cells.push(against_text(test, cell).into()),
                Reader::Program => cells.extend(against_cells(cell)),
            }
            table.rows.push(Row::Cells(cells));
        }
        table.rows.extend(remark_lines(comparison, test).into_iter().map(Row::Note));
    }
    table
}

/// Word, ratio and ends of IOPS, p50 and p99.
fn against_cells(cell: &Cell) -> Vec<table::Cell> {
    let Some(against) = &cell.against else { return vec![table::Cell::Empty; 12] };
    let of = |change: Change, ratio: Estimate| -> [table::Cell; 4] {
        [change.says().into(), ratio.value.into(), ratio.lo.into(), ratio.hi.into()]
    };
    let judged =
        |judged: Option<Judged>| judged.map_or([const { table::Cell::Empty }; 4], |j| of(j.change, j.ratio));
    [of(against.change, against.iops), judged(against.p50), judged(against.p99)].concat()
}

/// Returns the comparison in a format: the page of [`table`] as text, else the tests, and below them what came out.
pub fn rendered(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Text(width) => table(comparison, TextOptions { width, ..TextOptions::default() }),
        Format::Csv => result_table(comparison, Reader::Program).render(format),
        Format::Markdown | Format::BbCode => {
            let says: Vec<String> = comparison.says.iter().map(|says| format.text(says)).collect();
            let says = says.join("\n\n");
            let sides: String = (0..comparison.sides.len())
                .map(|i| format!("{}: {}\n\n", letter(i), format.text(&comparison.sides[i].about)))
                .collect();
            let table = result_table(comparison, Reader::Person).render(format);
            format!("{sides}{table}\n{says}\n{}", caveats(comparison, format))
        }
    }
}

/// What differs beside the numbers, and what was found in one side only: a posted table is not read without it.
fn caveats(comparison: &Comparison, format: Format) -> String {
    let text = differences(comparison, usize::MAX) + &findings(comparison, usize::MAX, Detail::Brief);
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| format!("\n{}\n", format.text(line))).collect()
}

/// Test and swept values, and what decides where it is not the IOPS.
pub(crate) fn name_of(test: &TestPair) -> String {
    let paced = if test.is_paced { " (paced: judged by p99)" } else { "" };
    format!("{} {}", test.test, test.step).trim_end().to_owned() + paced
}

fn against_text(test: &TestPair, cell: &Cell) -> String {
    let Some(against) = &cell.against else { return String::new() };
    let change = format!("{} {}", ratio_text(judged(test, against)), against.change.says());
    match against.notable_p99().filter(|_| !test.is_paced) {
        // The change of the rate alone would read as if nothing else had moved.
        Some(p99) => format!("{change}; p99 x{}", short(p99.ratio.value)),
        None => change,
    }
}

/// The ratio that decides: of p99 where the plan sets the rate.
pub(crate) fn judged(test: &TestPair, against: &Against) -> Estimate {
    match against.p99 {
        Some(p99) if test.is_paced => p99.ratio,
        _ => against.iops,
    }
}

/// `x1.62 (1.55..1.70)`, or without an interval where none is known.
pub(crate) fn ratio_text(ratio: Estimate) -> String {
    // Two decimals of a ratio of 1/300 would say nothing.
    let digits = match ratio.value {
        v if v < 0.1 => 4,
        v if v < 100.0 => 2,
        _ => 0,
    };
    match ratio.ends() {
        Some((lo, hi)) => format!("x{:.digits$} ({lo:.digits$}..{hi:.digits$})", ratio.value),
        None => format!("x{:.digits$}", ratio.value),
    }
}

/// Repetitions, expectations, and why a row is not judged.
pub(crate) fn remark_lines(comparison: &Comparison, test: &TestPair) -> Vec<String> {
    let mut lines = Vec::new();
    let cells: Vec<(usize, &Cell)> =
        test.cells.iter().enumerate().filter_map(|(i, c)| Some((i, c.as_ref()?))).collect();
    let repeats: Vec<String> = cells
        .iter()
        .filter_map(|(i, c)| Some(format!("{} {} runs, CV {:.1} %", letter(*i), c.repeats, c.cv? * 100.0)))
        .collect();
    if !repeats.is_empty() {
        lines.push(format!("repeated: {}", repeats.join("; ")));
    }
    lines.extend(costs_line(&cells));
    lines.extend(latency_line(test, &cells));
    lines.extend(expected_line(comparison, &cells));
    let mut changed: Vec<String> = cells
        .iter()
        .filter_map(|(_, c)| c.against.as_ref())
        .flat_map(|a| &a.changed)
        .map(Difference::says)
        .collect();
    changed.dedup();
    if !changed.is_empty() {
        lines.push(format!("changed: {}", changed.join("; ")));
    }
    let mut breaks: Vec<&String> =
        cells.iter().filter_map(|(_, c)| c.against.as_ref()).flat_map(|a| &a.load_differs).collect();
    breaks.dedup();
    if !breaks.is_empty() {
        let words: Vec<&str> = breaks.into_iter().map(String::as_str).collect();
        lines.push(format!("not comparable: {}", words.join("; ")));
    }
    lines
}

/// Prices for what each side does.
fn costs_line(cells: &[(usize, &Cell)]) -> Option<String> {
    let of_side = |(index, cell): &(usize, &Cell)| {
        let cost = cell.cost.as_ref()?;
        let (iops, mib) = (short(cost.per_1000_iops), short(cost.per_mib_per_s));
        Some(format!("{} {iops} {1} per 1000 IOPS, {mib} {1} per MiB/s", letter(*index), cost.currency))
    };
    let costs: Vec<String> = cells.iter().filter_map(of_side).collect();
    (!costs.is_empty()).then(|| format!("cost: {}", costs.join("; ")))
}

/// The changes of p50 and p99, where less is faster; the p99 of paced loads stands in the table.
fn latency_line(test: &TestPair, cells: &[(usize, &Cell)]) -> Option<String> {
    let of_side = |(index, cell): &(usize, &Cell)| {
        let against = cell.against.as_ref()?;
        let word = |name: &str, judged: Option<Judged>| {
            // Where nothing can be compared, the table has said so.
            let judged = judged.filter(|j| j.change != Change::NotComparable)?;
            Some(format!("{name} {} {}", ratio_text(judged.ratio), judged.change.says()))
        };
        let p99 = against.p99.filter(|_| !test.is_paced);
        let words: Vec<String> = [word("p50", against.p50), word("p99", p99)].into_iter().flatten().collect();
        (!words.is_empty()).then(|| format!("{} {}", letter(*index), words.join(", ")))
    };
    let sides: Vec<String> = cells.iter().filter_map(of_side).collect();
    (!sides.is_empty()).then(|| format!("latency: {}", sides.join("; ")))
}

/// Returns what the array files lead to expect, once where all sides share it, and the measured share of it.
fn expected_line(comparison: &Comparison, cells: &[(usize, &Cell)]) -> Option<String> {
    let known: Vec<(usize, &Cell, Bounds)> =
        cells.iter().filter_map(|(i, c)| Some((*i, *c, c.expected?))).collect();
    let (index, first, expected) = known.first()?;
    // What shipped arrays say of software was fitted to these very tables, which would judge themselves by it.
    let is_article = |i: usize| comparison.sides[i].source == Source::Article;
    let words = |i: usize, c: &Cell, e: Bounds| match (c.is_bound, is_article(i)) {
        (true, true) => format!("at most {} by the hardware's data sheets", long(e.hi)),
        (true, false) => format!("at most {} (software cost unknown)", long(e.hi)),
        (false, _) => interval(e),
    };
    let measured = |c: &Cell, e: Bounds| ratio_text(Estimate::bare(c.iops / said(e, c.is_bound)));
    let shared = known.len() == cells.len()
        && known.iter().all(|(i, c, e)| words(*i, c, *e) == words(*index, first, *expected));
    if shared {
        let each: Vec<String> =
            known.iter().map(|(i, c, e)| format!("{} {}", letter(*i), measured(c, *e))).collect();
        return Some(format!(
            "expected IOPS: {}; measured {}",
            words(*index, first, *expected),
            each.join(", ")
        ));
    }
    let each = known
        .iter()
        .map(|(i, c, e)| format!("{} {}, measured {}", letter(*i), words(*i, c, *e), measured(c, *e)));
    let ratios = cells.iter().filter_map(|(i, c)| {
        let ratio = c.against.as_ref()?.expected?;
        Some(format!("{} against A {}", letter(*i), ratio_text(Estimate::bare(ratio))))
    });
    Some(format!("expected IOPS: {}", each.chain(ratios).collect::<Vec<_>>().join("; ")))
}

/// The number that stands before a measured share, which is the share of: a bound has no value in the middle.
fn said(expected: Bounds, is_bound: bool) -> f64 {
    if is_bound { expected.hi } else { expected.value }
}

/// Findings that not every side has: in full, or the first sentence of each.
fn findings(comparison: &Comparison, width: usize, detail: Detail) -> String {
    let mut text = String::new();
    for found in &comparison.findings {
        let sides: Vec<String> = found.sides.iter().map(|i| letter(*i).to_string()).collect();
        let says = match detail {
            Detail::Full => found.says.as_str(),
            Detail::Brief => first_sentence(&found.says),
        };
        let line = format!("{} [{}] only in {}: {says}", mark(found.severity), found.rule, sides.join(", "));
        text.push_str(&format!("\n{}\n", wrap(&line, width, "  ")));
    }
    for found in &comparison.across {
        text.push_str(&format!(
            "\n{}\n",
            wrap(&format!("Together [{}]: {}", found.rule, found.says), width, "  ")
        ));
    }
    text
}

/// How differences are judged: the meaning of each word that the table has, and where its intervals come from.
fn explanation(comparison: &Comparison, width: usize) -> String {
    let against =
        || comparison.tests.iter().flat_map(|t| t.cells.iter().flatten()).filter_map(|c| c.against.as_ref());
    let is_used = |change: Change| {
        against().any(|a| {
            let latency = [a.p50, a.p99].into_iter().flatten().any(|judged| judged.change == change);
            a.change == change || latency
        })
    };
    let words = WORDS.into_iter().filter(|(change, _)| is_used(*change));
    let mut lines: Vec<String> = words.map(|(change, means)| format!("{}: {means}", change.says())).collect();
    lines.push(
        "The plan sets the rate of paced loads, so their p99 decides. For other loads IOPS decide; p50 and p99 have \
         their own interval and word, where faster is a lower latency."
            .to_owned(),
    );
    if against().any(|a| matches!(a.spread_from, SpreadSource::Stored | SpreadSource::Unknown)) {
        lines.push(
            "Runs on one target differ more than the seconds within a run. The interval of single runs comes from \
             stored repetitions on the same target and span; three runs of each side under one label are enough."
                .to_owned(),
        );
    }
    let line = |says: &String| wrap(&format!("* {}.", says.trim_end_matches('.')), width, "  ") + "\n";
    format!("\n{}", lines.iter().map(line).collect::<String>())
}

/// What each word of the table means.
const WORDS: [(Change, &str); 10] = [
    (Change::Faster, "the interval does not contain 1, and there are enough repetitions"),
    (Change::Slower, "the interval does not contain 1, and there are enough repetitions"),
    (
        Change::PerhapsFaster,
        "more than runs differ by themselves, but there are too few repetitions to be sure",
    ),
    (
        Change::PerhapsSlower,
        "more than runs differ by themselves, but there are too few repetitions to be sure",
    ),
    (Change::Same, "the interval lies within 5 % around 1"),
    (Change::Unclear, "the interval contains 1"),
    (Change::AsPredicted, "the interval of the prediction holds what was measured"),
    (
        Change::WithinBound,
        "the software cost of the array is unknown, and its hardware allows what was measured",
    ),
    (Change::Unknown, "the spread between runs on this target is unknown, so no change is claimed"),
    (Change::NotComparable, "the loads differ, or something that all results depend on"),
];

/// Returns what the words of the table mean, as far as they are in it.
fn legend(comparison: &Comparison, has_throughput: bool) -> String {
    let cells = || comparison.tests.iter().flat_map(|t| t.cells.iter().flatten());
    let has =
        |source: SpreadSource| cells().filter_map(|c| c.against.as_ref()).any(|a| a.spread_from == source);
    let mut says = "xN is the ratio to A".to_owned();
    let sources: Vec<&str> = [
        (SpreadSource::Repetitions, "repetitions"),
        (SpreadSource::Stored, "stored repetitions on the same target"),
    ]
    .into_iter()
    .filter_map(|(source, words)| has(source).then_some(words))
    .collect();
    if !sources.is_empty() {
        says.push_str(&format!(", with its 95 % interval from {}", sources.join(" and ")));
    }
    if has(SpreadSource::Prediction) {
        says.push_str(if sources.is_empty() {
            ", with the interval of the prediction"
        } else {
            " or of the prediction"
        });
    }
    says.push_str(if has_throughput { ". MiB/s is 2^20 bytes per second." } else { "." });
    // A word is explained where it stands: in the table, the remarks in it, or the outcome.
    let unknown = Change::Unknown.says();
    let shown = result_table(comparison, Reader::Person).render(Format::Markdown);
    if shown.contains(unknown) || comparison.says.iter().any(|says| says.contains(unknown)) {
        says.push_str(
            " Spread unknown: single runs do not show the spread of repetitions, and none are stored for this target.",
        );
    }
    says
}

/// The same for a page.
pub(crate) fn legend_html(comparison: &Comparison) -> String {
    crate::svg::escape(&legend(comparison, true)).replace("2^20", "2<sup>20</sup>")
}

/// The same as one JSON document.
pub fn document(comparison: &Comparison) -> Value {
    json!({
        "schema": SCHEMA,
        "sides": comparison.sides,
        "differences": comparison.differences,
        "tests": comparison.tests.iter().map(test_json).collect::<Vec<_>>(),
        "findings": comparison.findings,
        "across": comparison.across,
        "overlays": overlays(comparison),
        "says": comparison.says,
    })
}

/// What a chart lays over each other: percentile curves of every test, and the sizes of tests that sweep them.
fn overlays(comparison: &Comparison) -> Value {
    let (shared, _) = shared_and_lone(comparison);
    let latency = shared.iter().map(|test| {
        let points = |cell: &Option<Cell>| {
            let curve = cell.iter().flat_map(|cell| &cell.curve_ms);
            curve.map(|(q, ms)| json!([q, rounded(*ms)])).collect::<Vec<_>>()
        };
        let sides: Vec<_> = test.cells.iter().map(points).collect();
        json!({ "name": test.test, "step": test.step, "points": ["share of I/Os", "ms"], "sides": sides })
    });
    let mut names: Vec<&str> = Vec::new();
    for test in shared.iter().filter(|test| test.step.starts_with("size=")) {
        if !names.contains(&test.test.as_str()) {
            names.push(&test.test);
        }
    }
    let sweeps = names.iter().map(|name| {
        let steps: Vec<&&TestPair> = shared.iter().filter(|test| test.test == *name).collect();
        let points = |side: usize| {
            let of = |test: &&&TestPair| {
                let cell = test.cells[side].as_ref()?;
                let size = test.step.strip_prefix("size=")?.split(' ').next()?;
                Some(json!([size, rounded(cell.iops), rounded(cell.mib_per_s)]))
            };
            steps.iter().filter_map(of).collect::<Vec<_>>()
        };
        let sides: Vec<_> = (0..comparison.sides.len()).map(points).collect();
        json!({ "name": name, "points": ["size", "IOPS", "MiB/s"], "sides": sides })
    });
    json!({ "latency": latency.collect::<Vec<_>>(), "sizes": sweeps.collect::<Vec<_>>() })
}

fn test_json(test: &TestPair) -> Value {
    json!({
        "name": test.test,
        "step": (!test.step.is_empty()).then_some(&test.step),
        "judged_by": if test.is_paced { "p99" } else { "iops" },
        "sides": test.cells.iter().map(|cell| cell.as_ref().map(cell_json)).collect::<Vec<_>>(),
    })
}

fn cell_json(cell: &Cell) -> Value {
    json!({
        "iops": rounded(cell.iops),
        "mib_per_s": rounded(cell.mib_per_s),
        "mean_ms": cell.mean_ms.and_then(rounded),
        "p99_ms": cell.p99_ms.and_then(rounded),
        "repeats": cell.repeats,
        "cv": cell.cv.and_then(rounded),
        "cost": cell.cost,
        "expected_iops": cell.expected.map(interval_json),
        "expected_is_bound": cell.expected.map(|_| cell.is_bound),
        "against_first": cell.against.as_ref().map(|a| json!({
            "iops": estimate_json(a.iops),
            "p50": a.p50.map(|p50| estimate_json(p50.ratio)),
            "p50_change": a.p50.map(|p50| p50.change),
            "p99": a.p99.map(|p99| estimate_json(p99.ratio)),
            "p99_change": a.p99.map(|p99| p99.change),
            "expected": a.expected.and_then(rounded),
            "change": a.change,
            "spread_from": a.spread_from,
            "load_differs": a.load_differs,
            "changed": a.changed,
        })),
    })
}

pub(crate) fn estimate_json(estimate: Estimate) -> Value {
    json!({
        "value": rounded(estimate.value),
        "lo": estimate.lo.and_then(rounded),
        "hi": estimate.hi.and_then(rounded),
        "n_effective": rounded(estimate.n_effective),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5,248 IOPS "of at most 70,390" were x4.37: of the middle that a bound does not have.
    #[test]
    fn the_share_of_a_bound_is_of_the_bound() {
        let expected = Bounds { lo: 809.0, value: 1202.0, hi: 70_390.0 };
        assert_eq!([true, false].map(|is_bound| said(expected, is_bound)), [70_390.0, 1202.0]);
    }
}
