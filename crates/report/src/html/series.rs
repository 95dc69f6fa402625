//! Repetitions and journals as one HTML file each.

use assay_analysis::repeats::Pooled;

use super::{page_end, page_start};
use crate::journal::{self, Journal, facts_text, names};
use crate::repeats::{Repeats, side_table};
use crate::svg::{Whisker, WhiskerSeries, Whiskers, escape};

/// The page of repetitions: a table and the repetitions of each test for each side, and the comparison of several.
pub fn repeats(repeats: &Repeats) -> String {
    let title = repeats.sides.iter().map(|side| side.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut page = page_start(&title);
    page.push_str(&format!("<h1>{}</h1>\n", escape(&title)));
    if let Some(comparison) = &repeats.comparison {
        for says in &comparison.says {
            page.push_str(&format!("<p><strong>{}</strong></p>\n", escape(says)));
        }
    }
    for side in &repeats.sides {
        let caption = format!("{}: {} repetitions of {}", side.name, side.runs.len(), side.about);
        page.push_str(&format!("<h2>{}</h2>\n", escape(&side.name)));
        let table = side_table(side).html(&escape(&caption));
        page.push_str(&format!("<div class=\"scroll\" tabindex=\"0\">{table}</div>\n"));
        page.push_str("<div class=\"charts\">\n");
        for test in &side.tests {
            page.push_str(&repetitions(test));
        }
        page.push_str("</div>\n");
    }
    page.push_str(page_end());
    page
}

/// The IOPS of each repetition over that of all.
fn repetitions(test: &Pooled) -> String {
    let names: Vec<String> = (1..=test.runs.len()).map(|number| number.to_string()).collect();
    let whisker = |run: &assay_analysis::repeats::Repeat| {
        let over = |value: f64| value / test.iops.value;
        (test.iops.value > 0.0).then(|| Whisker {
            value: over(run.iops.value),
            ends: run.iops.ends().map(|(lo, hi)| (over(lo), over(hi))),
        })
    };
    let series =
        WhiskerSeries { name: "repetition".to_owned(), values: test.runs.iter().map(whisker).collect() };
    let title = format!("{} {}", test.test, test.step);
    Whiskers {
        title: &format!("{}: IOPS over the mean of all", title.trim_end()),
        x_title: "repetition",
        y_title: "ratio",
        names: &names,
        series: vec![series],
        first_style: 0,
    }
    .svg()
}

/// The page of a journal: a chart for each test over the steps, the table, and what else changed in each step.
pub fn journal(journal: &Journal) -> String {
    let mut page = page_start(&journal.name);
    page.push_str(&format!("<h1>{}</h1>\n<p>{}</p>\n", escape(&journal.name), escape(&journal.about)));
    page.push_str("<div class=\"charts\">\n");
    for (test, step) in names(journal) {
        page.push_str(&over_steps(journal, &test, &step));
    }
    page.push_str("</div>\n");
    let table = journal::result_table(journal).html("Each step compared with the one before.");
    page.push_str(&format!("<h2>Steps</h2>\n<div class=\"scroll\" tabindex=\"0\">{table}</div>\n<ol>\n"));
    for step in &journal.steps {
        let facts = if step.against.is_some() { facts_text(&step.facts) } else { String::new() };
        page.push_str(&format!("<li><strong>{}</strong> {}</li>\n", escape(&step.change), escape(&facts)));
    }
    page.push_str("</ol>\n");
    page.push_str(page_end());
    page
}

/// The IOPS of a test in each step over those of the first, with the interval of each ratio.
fn over_steps(journal: &Journal, test: &str, step: &str) -> String {
    let names: Vec<String> =
        (1..).zip(&journal.steps).map(|(n, entry)| format!("{n}. {}", entry.change)).collect();
    let pair = journal
        .whole
        .as_ref()
        .and_then(|whole| whole.tests.iter().find(|pair| pair.test == test && pair.step == step));
    let value = |index: usize| {
        let cell = pair?.cells.get(index)?.as_ref()?;
        match &cell.against {
            Some(against) => Some(Whisker { value: against.iops.value, ends: against.iops.ends() }),
            None => Some(Whisker { value: 1.0, ends: None }),
        }
    };
    let series = WhiskerSeries { name: "step".to_owned(), values: (0..names.len()).map(value).collect() };
    let title = format!("{test} {step}");
    Whiskers {
        title: &format!("{}: IOPS over those of the first step", title.trim_end()),
        x_title: "step",
        y_title: "ratio",
        names: &names,
        series: vec![series],
        first_style: 0,
    }
    .svg()
}
