//! A diagnosis as text, as JSON and as a section of a page.

use assay_analysis::RunSummary;
use assay_diagnose::{Cause, Diagnosis, Odds, Range, Row, diagnose};
use assay_record::RunHeader;
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::short;
use crate::options::{Detail, TextOptions};
use crate::svg::{Axis, Line, Lines, escape};
use crate::table::{Align, Column, Narrow, Table};

/// Name and version of the document's form.
pub const SCHEMA: &str = "assay.diagnosis/1";

/// Heights of a bar of the drawing in text, from nothing to certainty.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Below this a cause is ruled out.
const RULED_OUT: f64 = 0.01;
/// Most causes that are named as ruled out.
const NAMED_MAX: usize = 5;
/// Most hypotheses in a drawing.
const DRAWN_MAX: usize = 6;
/// Columns of a line of the drawing beside the name and the bars.
const DRAWN_BESIDE: usize = 11;
/// Columns of a name in the drawing at least.
const DRAWN_NAME_MIN: usize = 12;

/// Returns the diagnosis of a run as text: the cause, its evidence and what mends it, and for [`Detail::Full`] the
/// numbers behind them; `None` for a run that is none.
pub fn text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> Option<String> {
    let of = diagnose(header, summary)?;
    let mut text = first_screen(&of, options.prose());
    if options.detail == Detail::Full {
        text.push_str(&behind(&of, options));
    }
    Some(text)
}

/// A title and what it is about, wrapped; nothing where there is nothing to say.
fn part(title: &str, says: &str, width: usize) -> String {
    match says {
        "" => String::new(),
        says => format!("{}\n", wrap(&format!("{title}: {says}"), width, "  ")),
    }
}

fn first_screen(of: &Diagnosis, width: usize) -> String {
    let out: Vec<&str> =
        of.odds.iter().filter(|odds| odds.probability < RULED_OUT).map(|odds| odds.name).collect();
    let more = out.len().saturating_sub(NAMED_MAX);
    let named = out[..out.len() - more].join("; ");
    let ruled_out = match more {
        0 => named,
        more => format!("{named}; and {more} more"),
    };
    [
        "\n".to_owned(),
        part("CAUSE", &of.says, width),
        part("EVIDENCE", &of.evidence, width),
        part("FIX", &of.helps, width),
        part("Changed", &of.changed, width),
        part("Ruled out", &ruled_out, width),
    ]
    .concat()
}

/// The numbers behind the answer.
fn behind(of: &Diagnosis, options: TextOptions) -> String {
    let mut text = part("Not visible from here", &of.unknown, options.prose());
    if !of.ruled_out.is_empty() {
        text.push_str("\nRuled out (less than 1 % each), by the number that counted most:\n");
        for says in &of.ruled_out {
            text.push_str(&format!("{}\n", wrap(&format!("  {says}."), options.prose(), "    ")));
        }
    }
    text.push_str(&rows(of, options));
    text.push_str(&drawing(of, options.width));
    text
}

fn range(range: Option<Range>) -> String {
    match range {
        None => "any".to_owned(),
        Some(r) if r.hi <= 0.0 => "none".to_owned(),
        Some(r) => format!("{} to {}", short(r.lo), short(r.hi)),
    }
}

fn measured(row: &Row) -> String {
    let (lo, hi) = row.interval;
    match row.measured {
        0.0 => "none".to_owned(),
        counted if lo >= hi => short(counted),
        estimated => format!("{} ({} to {})", short(estimated), short(lo), short(hi)),
    }
}

/// The cause at a place among those that expect something: that none of them is true expects nothing.
fn listed(of: &Diagnosis, index: usize) -> Option<&Odds> {
    of.odds.iter().filter(|odds| odds.cause != Cause::NoneOfThese).nth(index)
}

/// The table: an experiment, what each of the first two expects, and what was measured.
fn rows(of: &Diagnosis, options: TextOptions) -> String {
    let name = |index: usize| listed(of, index).map_or("", |odds| odds.name);
    let mut table = Table::new(vec![
        // `the load itself` stays whole, and the other names stay readable: what B expects goes before that.
        Column::text("Experiment").narrow(Narrow::Cut(15)),
        Column::text("Quantity").narrow(Narrow::Cut(18)),
        Column::text("expected if A").align(Align::Right).narrow(Narrow::Drop(1)),
        Column::text("expected if B").align(Align::Right).narrow(Narrow::Drop(2)),
        Column::text("measured (95 %)").align(Align::Right).narrow(Narrow::Keep),
    ]);
    for row in &of.rows {
        table.push([
            row.experiment.name().into(),
            row.quantity.as_str().into(),
            range(row.expected_first).into(),
            range(row.expected_second).into(),
            measured(row).into(),
        ]);
    }
    let says = format!("A is {}; B is {}:", name(0), name(1));
    format!("\n{}\n{}", wrap(&says, options.prose(), "  "), table.text(options.width).text)
}

/// Odds after each experiment, a bar each, in at most so many columns.
fn drawing(of: &Diagnosis, width: usize) -> String {
    let mut text = format!("\nOdds after each of {} experiments:\n", of.series.len());
    let drawn: Vec<Cause> = drawn(of).collect();
    let longest = drawn.iter().map(|cause| name(of, *cause).chars().count()).max().unwrap_or(0);
    let room = width
        .saturating_sub(of.series.len() + DRAWN_BESIDE)
        .clamp(DRAWN_NAME_MIN, longest.max(DRAWN_NAME_MIN));
    for cause in drawn {
        let bars: String =
            of.series.iter().map(|point| bar(probability(&point.probabilities, cause))).collect();
        let last = of.odds.iter().find(|odds| odds.cause == cause).map_or(0.0, |odds| odds.probability);
        let name = cut(name(of, cause), room);
        text.push_str(&format!("  {name:<room$} {bars} {:>5.1} %\n", last * 100.0));
    }
    text
}

/// A name in at most so many columns.
fn cut(name: &str, columns: usize) -> String {
    match name.chars().count() > columns {
        true => name.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// The name of a cause in the field's words.
fn name(of: &Diagnosis, cause: Cause) -> &'static str {
    of.odds.iter().find(|odds| odds.cause == cause).map_or(cause.name(), |odds| odds.name)
}

fn drawn(of: &Diagnosis) -> impl Iterator<Item = Cause> + '_ {
    let first = of.series.first();
    let causes = first.into_iter().flat_map(|point| &point.probabilities).map(|(cause, _)| *cause);
    causes.take(DRAWN_MAX)
}

fn probability(of: &[(Cause, f64)], cause: Cause) -> f64 {
    of.iter().find(|(one, _)| *one == cause).map_or(0.0, |(_, probability)| *probability)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index below nine")]
fn bar(probability: f64) -> char {
    BARS[(probability.clamp(0.0, 1.0) * 8.0).round() as usize]
}

/// Returns the diagnosis of a run as a JSON document; `None` for a run that is none.
pub fn document(header: &RunHeader, summary: &RunSummary) -> Option<Value> {
    let of = diagnose(header, summary)?;
    Some(json!({
        "schema": SCHEMA,
        "run": header.run,
        "status": summary.status.name(),
        "target": header.targets.first().map(|target| &target.address),
        "budget_s": header.diagnosis.as_ref().map(|facts| facts.budget_s),
        "diagnosis": of,
    }))
}

/// Returns the diagnosis of a run as a section of its page; nothing for a run that is none.
pub fn html(header: &RunHeader, summary: &RunSummary) -> String {
    let Some(of) = diagnose(header, summary) else { return String::new() };
    let mut text = format!("<h2>Diagnosis</h2>\n<p><strong>{}</strong></p>\n", escape(&of.says));
    for (title, says) in [
        ("Evidence", &of.evidence),
        ("What would help", &of.helps),
        ("Not visible from here", &of.unknown),
        ("Changed", &of.changed),
    ] {
        if !says.is_empty() {
            text.push_str(&format!("<p><strong>{title}:</strong> {}</p>\n", escape(says)));
        }
    }
    text.push_str(&chart(&of));
    if !of.ruled_out.is_empty() {
        text.push_str("<p>Ruled out, less than 1 % each:</p>\n<ul>\n");
        of.ruled_out.iter().for_each(|says| text.push_str(&format!("<li>{}.</li>\n", escape(says))));
        text.push_str("</ul>\n");
    }
    text.push_str(&table(&of));
    text
}

fn table(of: &Diagnosis) -> String {
    let name = |index: usize| listed(of, index).map_or("", |odds| odds.name);
    let mut text = format!(
        "<h3>What each experiment showed</h3>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"beside\">\n\
         <thead><tr><th>Experiment</th><th class=\"w\">Quantity</th><th>Measured (95 %)</th><th>Expected if {}</th>\
         <th>Expected if {}</th></tr></thead>\n<tbody>\n",
        escape(name(0)),
        escape(name(1))
    );
    for row in &of.rows {
        let cells = [
            row.experiment.name().to_owned(),
            row.quantity.clone(),
            measured(row),
            range(row.expected_first),
            range(row.expected_second),
        ];
        let cell = |(index, cell): (usize, &String)| {
            format!("<td{}>{}</td>", if index == 1 { " class=\"w\"" } else { "" }, escape(cell))
        };
        let cells: String = cells.iter().enumerate().map(cell).collect();
        text.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    text.push_str("</tbody>\n</table></div>\n");
    text
}

fn chart(of: &Diagnosis) -> String {
    let lines: Vec<Line> = drawn(of)
        .map(|cause| Line {
            name: name(of, cause).to_owned(),
            pieces: vec![
                (1..)
                    .zip(&of.series)
                    .map(|(number, point)| {
                        (f64::from(number), probability(&point.probabilities, cause) * 100.0)
                    })
                    .collect(),
            ],
        })
        .collect();
    // A single line has no legend.
    let caption = match lines.as_slice() {
        [one] => format!(
            "<figcaption class=\"soft\">Of {}, the only likely cause.</figcaption>",
            escape(&one.name)
        ),
        _ => String::new(),
    };
    let experiments = of.series.len().max(2) as f64;
    let (x, y) = (Axis::up_to("experiment", experiments), Axis::up_to("probability, %", 100.0));
    let chart =
        Lines { title: "Odds after each experiment", x, y, lines, breaks: Vec::new(), marks: Vec::new() };
    format!("<figure>{}{caption}</figure>\n", chart.svg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_diagnose::{Odds, SeriesPoint};
    use assay_record::Experiment;

    /// They were the names of files: `iops-cap`, `none-of-these`.
    #[test]
    fn suspects_are_drawn_by_the_names_of_the_field() {
        let odds = |cause, name, probability| Odds { cause, name, probability };
        let both = [(Cause::TargetPerByte, 0.9), (Cause::IopsCap, 0.1)];
        let point = || SeriesPoint { experiment: Experiment::Base, probabilities: both.to_vec() };
        let of = Diagnosis {
            odds: vec![
                odds(Cause::TargetPerByte, "the target's software, which costs time for each byte", 0.9),
                odds(Cause::IopsCap, "a limit on operations per second", 0.1),
            ],
            series: (0..13).map(|_| point()).collect(),
            ..nothing()
        };
        let wide = drawing(&of, 120);
        assert!(
            wide.contains("  the target's software, which costs time for each byte ▇▇▇▇▇▇▇▇▇▇▇▇▇  90.0 %"),
            "{wide}"
        );
        assert!(wide.contains("  a limit on operations per second                      ▁"), "{wide}");
        for width in [60, 80, 120] {
            let text = drawing(&of, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.contains("a limit on operations per second"), "{text}");
        }
        assert!(
            rows(&of, TextOptions { width: 110, ..TextOptions::default() })
                .contains("B is a limit on operations")
        );
    }

    fn nothing() -> Diagnosis {
        Diagnosis {
            says: String::new(),
            evidence: String::new(),
            load: String::new(),
            iops: 0.0,
            odds: Vec::new(),
            rows: Vec::new(),
            ruled_out: Vec::new(),
            helps: String::new(),
            unknown: String::new(),
            changed: String::new(),
            series: Vec::new(),
            is_settled: false,
        }
    }

    #[test]
    fn names_of_the_table_stay_whole_at_80_columns() {
        let quantities = ["median / mean latency", "slowest / fastest path", "device / tester bytes"];
        let expected = Some(Range { lo: 0.95, hi: 1.06 });
        let row = |quantity: &&str| Row {
            experiment: Experiment::Base,
            quantity: (*quantity).to_owned(),
            measured: 0.831,
            interval: (0.712, 0.964),
            expected_first: expected,
            expected_second: expected,
            factor: 1.0,
            misfit: 0.0,
        };
        let of = Diagnosis { rows: quantities.iter().map(row).collect(), ..nothing() };
        for (columns, has_second) in [(110, true), (80, false)] {
            let text = rows(&of, TextOptions { width: columns, ..TextOptions::default() });
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert!(text.contains("the load itself ") && !text.contains('…'), "{text}");
            assert!(quantities.iter().all(|quantity| text.contains(quantity)), "{text}");
            assert_eq!(text.contains("expected if B"), has_second, "{text}");
        }
        // "A is none-of-these" stood above what another cause expects.
        let odds = |cause: Cause| Odds { cause, name: cause.name(), probability: 0.3 };
        let open = [Cause::NoneOfThese, Cause::IopsCap, Cause::SlowMember].map(odds);
        let of_open = Diagnosis { odds: open.to_vec(), ..of.clone() };
        let text = rows(&of_open, TextOptions { width: 110, ..TextOptions::default() });
        assert!(text.contains("A is iops-cap; B is slow-member:"), "{text}");
        let narrow = rows(&of, TextOptions { width: 60, ..TextOptions::default() });
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        assert!(narrow.contains("the load itself "), "{narrow}");
    }
}
