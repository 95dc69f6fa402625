//! Rounds beside a table of CrystalDiskMark, which has the best of its runs only.

use super::{ResultSet, Row, Side};

/// The tool as the facet "measured by" names it.
const TOOL: &str = "CrystalDiskMark";
const MEASURED_BY: &str = "measured by";

/// Returns the sides with the best of the rounds of each test; `None` where no side is a table of CrystalDiskMark.
pub(super) fn best_of_rounds(sides: &[Side], history: &[Side]) -> Option<(Vec<Side>, Vec<Side>)> {
    sides.iter().flat_map(|side| &side.readings).any(is_of_tool).then(|| {
        let best = |sides: &[Side]| sides.iter().map(of_side).collect();
        (best(sides), best(history))
    })
}

fn is_of_tool(reading: &ResultSet) -> bool {
    reading.facets.iter().any(|facet| facet.name == MEASURED_BY && facet.value.starts_with(TOOL))
}

fn of_side(side: &Side) -> Side {
    let reading = |of: &ResultSet| ResultSet { rows: best_rows(&of.rows), ..of.clone() };
    Side { name: side.name.clone(), readings: side.readings.iter().map(reading).collect() }
}

/// The best rate and the lowest mean latency of all rounds, as CrystalDiskMark has them: maybe of different ones.
fn best_rows(rows: &[Row]) -> Vec<Row> {
    let mut best: Vec<Row> = Vec::new();
    for row in rows {
        if !is_round(&row.step) {
            best.push(row.clone());
            continue;
        }
        let row = Row { step: String::new(), ..row.clone() };
        match best.iter_mut().find(|known| known.test == row.test && known.step.is_empty()) {
            None => best.push(row),
            Some(known) => {
                let lowest = [known.mean_ms, row.mean_ms].into_iter().flatten().reduce(f64::min);
                if row.iops > known.iops {
                    *known = row;
                }
                known.mean_ms = lowest;
            }
        }
    }
    best
}

/// Whether a step of this name only repeats the others of its test.
pub fn is_round(step: &str) -> bool {
    step.starts_with("round=") && !step.contains(' ')
}
