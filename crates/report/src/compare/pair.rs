//! Two sides on one screen: a row for each test, where several sides take a group of rows.

use assay_analysis::compare::{Comparison, Named, TestPair};
use assay_analysis::{Severity, first_sentence};

use super::{
    Change, Source, costs_line, expected_line, judged, letter, number_column, ratio_text, shared_and_lone,
    wrap,
};
use crate::painted::mark;
use crate::table::{Align, Cell, Column, Narrow, Row, Table};

/// Columns of a test's name that narrow text keeps.
const NAME_COLUMNS: usize = 24;
/// Most findings of one side that are said.
const FINDINGS_MAX: usize = 2;
/// Lines of a terminal, less those of the command and of the next prompt.
pub(super) const SCREEN_LINES: usize = 22;

/// Returns what each side is: of one plan on one target in one sentence.
pub(super) fn sides(comparison: &Comparison, width: usize) -> String {
    let [a, b] = comparison.sides.as_slice() else { return super::sides(comparison, width) };
    if a.about != b.about {
        return super::sides(comparison, width);
    }
    let named = |index: usize, side: &Named| match side.runs[..] == [side.name.clone()] {
        true => format!("{} {}", letter(index), side.name),
        false => format!("{} {} ({})", letter(index), side.name, side.runs.join(", ")),
    };
    let line = format!("{}; {}: {}", named(0, a), named(1, b), a.about);
    format!("{}\n", wrap(&line, width, "   "))
}

/// Returns the tests of two sides: rates, the verdict, latencies; below a test what keeps it from being judged.
pub(super) fn table(comparison: &Comparison) -> Table {
    let p99 = |title| number_column(title, "p99 ms").narrow(Narrow::Drop(1));
    let mut table = Table::new(vec![
        Column::text("Test").narrow(Narrow::Cut(NAME_COLUMNS)),
        number_column("A", "IOPS"),
        number_column("B", "IOPS"),
        p99("A"),
        p99("B"),
        Column::text("B against A").align(Align::Left).narrow(Narrow::Keep),
    ]);
    for test in shared_and_lone(comparison).0 {
        let [Some(a), Some(b)] = test.cells.as_slice() else { continue };
        let cells: Vec<Cell> = vec![
            format!("{} {}", test.test, test.step).trim_end().to_owned().into(),
            a.iops.into(),
            b.iops.into(),
            a.p99_ms.into(),
            b.p99_ms.into(),
            change(test, b).into(),
        ];
        table.rows.push(Row::Cells(cells));
        table.rows.extend(notes(comparison, test).into_iter().map(Row::Note));
    }
    table
}

/// `x1.02 (0.98..1.06) in the noise`: latencies have columns of their own.
fn change(test: &TestPair, cell: &assay_analysis::compare::Cell) -> String {
    let against = cell.against.as_ref();
    // The plan sets the rate of a paced load, so its p99 decides.
    let what = if test.is_paced { "p99 " } else { "" };
    against
        .map_or_else(String::new, |of| format!("{what}{} {}", ratio_text(judged(test, of)), of.change.says()))
}

/// Why a test is not judged, and what an array or an article leads to expect. The outcome below names what was changed.
fn notes(comparison: &Comparison, test: &TestPair) -> Vec<String> {
    let cells: Vec<_> = test.cells.iter().enumerate().filter_map(|(i, c)| Some((i, c.as_ref()?))).collect();
    let against = || cells.iter().filter_map(|(_, cell)| cell.against.as_ref());
    let is_refused = against().any(|against| against.change == Change::NotComparable);
    let breaks: Vec<&str> = against().flat_map(|a| &a.load_differs).map(String::as_str).collect();
    // What the model expects of an array is the other side itself.
    let is_article = comparison.sides.iter().any(|side| side.source == Source::Article);
    let has_prediction = comparison.sides.iter().any(|side| side.source == Source::Prediction);
    let refused =
        (is_refused && !breaks.is_empty()).then(|| format!("not comparable: {}", breaks.join("; ")));
    let expected = expected_line(comparison, &cells).filter(|_| is_article && !has_prediction);
    [refused, costs_line(&cells), expected].into_iter().flatten().collect()
}

/// Which sides are bounds of hardware alone, and no expectation.
pub(super) fn bounds(comparison: &Comparison, width: usize) -> String {
    let is_bound = |side: usize| {
        let mut cells = comparison.tests.iter().filter_map(|test| test.cells.get(side)?.as_ref());
        comparison.sides[side].source == Source::Prediction && cells.any(|cell| cell.is_bound)
    };
    let words = |side: usize| {
        let says = format!(
            "{} is the hardware of an array whose software cost is unknown, at its nominal values: no expectation.",
            letter(side)
        );
        format!("{}\n", wrap(&says, width, "  "))
    };
    (0..comparison.sides.len()).filter(|side| is_bound(*side)).map(words).collect()
}

/// How often each side was run, and how far its runs lie apart at most.
pub(super) fn repeated(comparison: &Comparison, width: usize) -> String {
    let of_side = |side: usize| {
        let cells = || comparison.tests.iter().filter_map(move |test| test.cells.get(side)?.as_ref());
        let runs = cells().map(|cell| cell.repeats).max()?;
        let cv = cells().filter_map(|cell| cell.cv).max_by(f64::total_cmp)?;
        Some(format!("{} {runs} runs, CV at most {:.1} %", letter(side), cv * 100.0))
    };
    let sides: Vec<String> = (0..comparison.sides.len()).filter_map(of_side).collect();
    match sides.is_empty() {
        true => String::new(),
        false => format!("{}\n", wrap(&format!("Repeated: {}.", sides.join("; ")), width, "  ")),
    }
}

/// Returns the findings that one side alone has: the most harmful in a sentence, however few lines there are for them,
/// and as many more as fit; the others by name.
pub(super) fn findings(comparison: &Comparison, width: usize, lines: usize) -> String {
    let fewer = (2..=FINDINGS_MAX).rev().map(|most| findings_said(comparison, width, most));
    let fitting = fewer.into_iter().find(|text| text.lines().count() <= lines);
    fitting.unwrap_or_else(|| findings_said(comparison, width, 1))
}

fn findings_said(comparison: &Comparison, width: usize, most: usize) -> String {
    let doubts: Vec<_> = comparison.findings.iter().filter(|found| found.severity > Severity::Info).collect();
    let said = doubts.iter().take(most).map(|found| {
        let sides: Vec<String> = found.sides.iter().map(|i| letter(*i).to_string()).collect();
        let says = first_sentence(&found.says);
        let line = format!("{} [{}] only in {}: {says}", mark(found.severity), found.rule, sides.join(", "));
        format!("{}\n", wrap(&line, width, "  "))
    });
    let across = comparison.across.iter().map(|found| {
        format!("{}\n", wrap(&format!("Together [{}]: {}", found.rule, found.says), width, "  "))
    });
    let text: String = said.chain(across).collect();
    let mut rest: Vec<&str> = doubts.iter().skip(most).map(|found| found.rule.as_str()).collect();
    rest.dedup();
    let rest = match rest.is_empty() {
        true => String::new(),
        false => format!("{}\n", wrap(&format!("--explain adds {}.", rest.join(", ")), width, "  ")),
    };
    if text.is_empty() { text } else { format!("\n{text}{rest}") }
}
