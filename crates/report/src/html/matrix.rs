//! A comparison at a glance: a row for each test, a column for each side, and whether each is better.

use assay_analysis::compare::{Against, Change, Comparison, TestPair};

use super::trend::Links;
use crate::compare::{judged, letter, name_of};
use crate::number;
use crate::svg::{STYLES, escape};

/// Returns the matrix; nothing where no test is on two sides.
pub(super) fn matrix(comparison: &Comparison, links: Links) -> String {
    let is_shared = |test: &&TestPair| test.cells.iter().filter(|cell| cell.is_some()).count() > 1;
    let rows: String = comparison.tests.iter().filter(is_shared).map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    let head: String = (0..comparison.sides.len()).map(|side| head(comparison, side, links)).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"matrix\">\n<caption><span>A: IOPS. The others: against A, \
         by p99 where the plan sets the rate. ▲ better, ▼ worse, with ? by few repetitions; ≈ within the noise; no \
         mark: \
         it is not known how far repetitions lie apart; ≠ not comparable.</span></caption>\n<thead><tr><th>Test</th>\
         {head}\
         </tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// The letter and the name of a side, which leads to its run.
fn head(comparison: &Comparison, side: usize, links: Links) -> String {
    let of = &comparison.sides[side];
    let name = match (links, of.runs.as_slice()) {
        (Links::Runs, [run]) if !run.contains(':') => {
            format!("<a href=\"/runs/{}\">{}</a>", escape(run), escape(&of.name))
        }
        _ => escape(&of.name),
    };
    format!("<th><span class=\"side f{0}\"></span>{1} {name}</th>", side % STYLES, letter(side))
}

fn row(test: &TestPair) -> String {
    let cell = |cell: &Option<assay_analysis::compare::Cell>| match cell {
        None => "<td class=\"soft\">no such test</td>".to_owned(),
        Some(cell) => match &cell.against {
            None => format!("<td>{}</td>", number::long(cell.iops)),
            Some(against) => against_cell(test, against),
        },
    };
    let cells: String = test.cells.iter().map(cell).collect();
    format!("<tr><td>{}</td>{cells}</tr>\n", escape(&name_of(test)))
}

fn against_cell(test: &TestPair, against: &Against) -> String {
    format!("<td>{}</td>", marked(judged(test, against).value, against.change))
}

/// Returns a ratio as percent, with the mark of whether it is real.
pub fn marked(ratio: f64, change: Change) -> String {
    let percent = percent(ratio);
    let (class, says) = match change {
        Change::Faster => ("better", format!("▲ {percent}")),
        Change::Slower => ("worse", format!("▼ {percent}")),
        Change::PerhapsFaster => ("better", format!("▲? {percent}")),
        Change::PerhapsSlower => ("worse", format!("▼? {percent}")),
        Change::Same | Change::Unclear => ("", "≈ noise".to_owned()),
        Change::AsPredicted | Change::WithinBound => ("", format!("≈ {percent}")),
        Change::Unknown => ("soft", percent),
        Change::NotComparable => ("soft", "≠".to_owned()),
    };
    format!("<span class=\"{class}\">{says}</span>")
}

/// `+9 %`, `−40 %`, `×3.4` from twice on, `±0 %` where no whole percent is left.
fn percent(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        _ if ratio >= 2.0 => format!("×{}", number::short(ratio)),
        none if none.abs() < 0.5 => "±0 %".to_owned(),
        less if less < 0.0 => format!("−{:.0} %", -less),
        more => format!("+{more:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_percents_below_twice() {
        assert_eq!([0.6, 1.09, 3.42, 1.0].map(percent), ["−40 %", "+9 %", "×3.42", "±0 %"]);
        // A run that was as fast was listed with −0 %.
        assert_eq!([0.9985, 1.004, 0.994].map(percent), ["±0 %", "±0 %", "−1 %"]);
    }
}
