//! How often diagnoses of planted causes are right.

use assay_diagnose::Cause;
use assay_report::table::{Cell, Column, Format, Table};

use crate::validation::Validation;

/// How far the share that is right lies from the stated probability by chance alone, with 95 %.
fn by_chance(probability: f64, count: usize) -> f64 {
    1.96 * (probability * (1.0 - probability) / count.max(1) as f64).sqrt()
}

/// Returns a validation as a section of `docs/diagnosis-validation.md`.
pub fn section(title: &str, of: &Validation) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut stated = Table::new(
        ["stated probability", "mean of it", "right", "by chance", "set-ups"].map(Column::text).into(),
    );
    for (lo, mean, right, count) in of.calibration.iter().filter(|class| class.3 > 0) {
        stated.push([
            text(format!("from {:.0} %", lo * 100.0)),
            text(percent(*mean)),
            text(percent(*right)),
            text(format!("± {:.0} %", by_chance(*mean, *count) * 100.0)),
            text(count.to_string()),
        ]);
    }
    let titles = ["planted", "set-ups", "first", "first or second", "said instead"];
    let mut planted = Table::new(titles.map(Column::text).into());
    for cause in &of.causes {
        let instead: Vec<String> =
            cause.instead.iter().map(|(cause, count)| format!("{} {count}", cause.name())).collect();
        let share = |count: usize| format!("{:.0} %", count as f64 * 100.0 / cause.planted.max(1) as f64);
        planted.push([
            text(cause.cause.name()),
            text(cause.planted.to_string()),
            text(share(cause.first)),
            text(share(cause.first_or_second)),
            text(instead.join(", ")),
        ]);
    }
    format!(
        "## {title}\n\n{} set-ups, seeds {} to {}. The planted cause came first in {}, first or second in {}; none of \
         the listed causes in {}; another was stated with 80 % or more in {}; {:.1} \
         experiments each on average. Mean logarithm of the probability stated of the planted cause: {:.3}.\n\n{}\n{}",
        of.set_ups,
        of.from,
        of.from + of.set_ups as u64 - 1,
        percent(of.first),
        percent(of.first_or_second),
        percent(of.none),
        percent(of.confidently_wrong),
        of.experiments,
        of.log_score,
        stated.render(Format::Markdown),
        planted.render(Format::Markdown)
    )
}

/// Returns the validation without the planted causes as a section of the same document.
pub(crate) fn left_out_section(title: &str, of: &Validation) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let titles = ["left out", "set-ups", "none of these", "another, 80 % or more", "said"];
    let mut table = Table::new(titles.map(Column::text).into());
    for cause in &of.causes {
        let said: Vec<String> =
            cause.instead.iter().map(|(cause, count)| format!("{} {count}", cause.name())).collect();
        let share = |count: usize| percent(count as f64 / cause.planted.max(1) as f64);
        let none =
            cause.instead.iter().find(|(of, _)| *of == Cause::NoneOfThese).map_or(0, |(_, count)| *count);
        table.push([
            text(cause.cause.name()),
            text(cause.planted.to_string()),
            text(share(none)),
            text(share(cause.confidently_wrong)),
            text(said.join(", ")),
        ]);
    }
    format!(
        "### {title}, without the planted cause\n\nThe list of causes lacked the planted one. The answer was \
         \"none of these\" in {}, another cause with 80 % or more in {}; mean logarithm of its probability: \
         {:.3}.\n\n{}",
        percent(of.none),
        percent(of.confidently_wrong),
        of.log_score,
        table.render(Format::Markdown)
    )
}

fn text(words: impl Into<String>) -> Cell {
    Cell::Text(words.into())
}
