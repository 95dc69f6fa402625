//! Tests that repeat a sweep in rounds until it is steady, as one table: each load point with the mean of the last five
//! rounds, as SNIA's performance test specification reports them.

use assay_analysis::{RunSummary, StepSummary};
use assay_record::RunHeader;
use assay_spec::{Goal, Role, Swept, Test};

use crate::options::TextOptions;
use crate::painted::of_table;
use crate::table::{Cell, Column, Decimals, Table};

/// Returns a table for each such test; `None` if the plan has another test too, or fewer than five rounds are complete.
pub(crate) fn block(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> Option<String> {
    let mut text = String::new();
    for (index, test) in (0..).zip(&header.plan.tests).filter(|(_, test)| test.role == Role::Measured) {
        let is_tracked = |step: &assay_spec::Step| step.stop.goal == Some(Goal::SteadySweep);
        test.steps.iter().find(|step| is_tracked(step))?;
        let steps: Vec<&StepSummary> = summary.steps.iter().filter(|step| step.id.test == index).collect();
        let (first, last) = window(test, &steps)?;
        text.push_str(&format!("{}: IOPS, mean of rounds {first} to {last}\n", test.name));
        text.push_str(&of_table(&table(test, &steps, first..=last), options));
    }
    (!text.is_empty()).then_some(text)
}

/// The rounds that are the result: those of the load point that is tracked.
fn window(test: &Test, steps: &[&StepSummary]) -> Option<(u64, u64)> {
    let last = steps.iter().rev().find(|step| step.steady.is_some())?;
    let last = round(&test.steps.get(last.id.step as usize)?.swept)?;
    Some((last.checked_sub(Goal::ROUNDS as u64 - 1)?, last))
}

fn round(swept: &[Swept]) -> Option<u64> {
    swept.iter().find(|swept| swept.key == "round")?.value.parse().ok()
}

/// A row for each value of the key that varies fastest, a column for each of the others.
fn table(test: &Test, steps: &[&StepSummary], rounds: std::ops::RangeInclusive<u64>) -> Table {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let mut sums: Vec<(String, String, f64, u32)> = Vec::new();
    for step in steps.iter().filter(|step| step.unmeasured.is_none() && step.skipped.is_none()) {
        let Some(planned) = test.steps.get(step.id.step as usize) else { continue };
        if !round(&planned.swept).is_some_and(|round| rounds.contains(&round)) {
            continue;
        }
        let keys: Vec<&Swept> = planned.swept.iter().filter(|swept| swept.key != "round").collect();
        let Some((fastest, others)) = keys.split_last() else { continue };
        let row = format!("{}={}", fastest.key, fastest.value);
        let column =
            others.iter().map(|swept| format!("{}={}", swept.key, swept.value)).collect::<Vec<_>>().join(" ");
        for (all, name) in [(&mut rows, &row), (&mut columns, &column)] {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        match sums.iter_mut().find(|(of, at, ..)| *of == row && *at == column) {
            Some((.., sum, count)) => {
                *sum += step.total.iops;
                *count += 1;
            }
            None => sums.push((row, column, step.total.iops, 1)),
        }
    }
    let titles = columns.iter().map(|title| if title.is_empty() { "IOPS" } else { title });
    let mut table = Table::new(
        std::iter::once(Column::text("Load point"))
            .chain(titles.map(|title| Column::number(title, "").decimals(Decimals::Fixed(0))))
            .collect(),
    );
    for row in rows {
        let cell = |column: &String| {
            let found = sums.iter().find(|(of, at, ..)| *of == row && at == column);
            found.map_or(Cell::Empty, |(.., sum, count)| Cell::Number(sum / f64::from(*count)))
        };
        let cells = std::iter::once(Cell::Text(row.clone())).chain(columns.iter().map(cell)).collect();
        table.rows.push(crate::table::Row::Cells(cells));
    }
    table
}
