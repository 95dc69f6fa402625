//! A scale check: every test under a growing load, and which was the limit.

use assay_analysis::scale::{ScaleLimit, ScalePoint, ScaledTest};
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::options::{Detail, TextOptions};
use crate::table::{Cell, Column, Decimals, Format, Narrow, Row, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.scale/1";

/// The tests of a scale check, with the runs that they are from.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleCheck {
    /// Plan and targets.
    pub about: String,
    /// Ids of its runs, in the order of the loads.
    pub runs: Vec<String>,
    /// Its tests.
    pub tests: Vec<ScaledTest>,
}

/// Returns the check as text: a table, and a sentence for each test.
pub fn table(check: &ScaleCheck, options: TextOptions) -> String {
    let runs = format!("Scale check, runs {}", check.runs.join(", "));
    let mut text = format!("{}\n{}\n\n", check.about, wrap(&runs, options.width, "  "));
    let is_brief = options.detail == Detail::Brief;
    let results = if is_brief { flat_table(check) } else { result_table(check) };
    text.push_str(&results.render(Format::Text(options.width)));
    if is_brief {
        let says =
            brief_words(&check.tests).into_iter().map(|says| wrap(&says, options.prose(), "  ") + "\n");
        text.push_str(&format!("\n{}", says.collect::<String>()));
        return text;
    }
    for test in &check.tests {
        let says = format!("{}: {}", test.name, test.says);
        text.push_str(&format!("\n{}\n", wrap(&says, options.prose(), "  ")));
    }
    text
}

/// A sentence for each limit, with the tests that it is of: the columns of the table have its numbers.
fn brief_words(tests: &[ScaledTest]) -> Vec<String> {
    let host =
        if tests.iter().flat_map(|test| &test.points).any(|point| point.hosts > 1) { "A" } else { "This" };
    let sentence = |limit: ScaleLimit| {
        // One load alone shows no limit, and no growth either.
        let of = |test: &&ScaledTest| test.limit == limit && test.points.len() > 1;
        let names: Vec<&str> = tests.iter().filter(of).map(|test| test.name.as_str()).collect();
        let names = match names.as_slice() {
            [] => return None,
            [name] => (*name).to_owned(),
            names if names.len() == tests.len() => format!("all {} tests", names.len()),
            [names @ .., last] => format!("{} and {last}", names.join(", ")),
        };
        Some(match limit {
            ScaleLimit::Tester => format!("LIMIT  The tester limits {names}: the storage may do more."),
            ScaleLimit::Host => format!("LIMIT  {host} host limits {names}: its CPUs are busy."),
            ScaleLimit::Storage => format!("LIMIT  The storage, or the path to it, limits {names}."),
            ScaleLimit::None => format!("No limit was reached: the rate of {names} grew with every load."),
        })
    };
    let limits = [ScaleLimit::Tester, ScaleLimit::Host, ScaleLimit::Storage, ScaleLimit::None];
    limits.into_iter().filter_map(sentence).collect()
}

/// A row for each load of each test, so that four tests fit a screen.
fn flat_table(check: &ScaleCheck) -> Table {
    let percent = |title: &str| Column::number(title, "").decimals(Decimals::Fixed(0));
    let count = |title: &str| Column::number(title, "").decimals(Decimals::Fixed(0));
    let has_hosts = check.tests.iter().flat_map(|test| &test.points).any(|point| point.hosts > 1);
    let mut table = Table::new(vec![
        Column::text("Test"),
        count("Workers"),
        count(if has_hosts { "Hosts" } else { "Targets" }),
        Column::number("IOPS", ""),
        Column::number("of first", "x").decimals(Decimals::Fixed(2)),
        percent("ceiling %"),
        percent("workers %").narrow(Narrow::Drop(2)),
        percent("host %"),
    ]);
    for test in &check.tests {
        let first = test.points.first().map_or(1.0, |point| point.iops);
        for point in &test.points {
            let [_, iops, of_first, _, _, ceiling, workers, host, _] = cells(point, first);
            let name = test.name.clone().into();
            let count = if has_hosts { point.hosts } else { point.targets };
            let load = [f64::from(point.workers).into(), (count as f64).into()];
            let [workers_in_use, count] = load;
            table.push([name, workers_in_use, count, iops, of_first, ceiling, workers, host]);
        }
    }
    table
}

fn result_table(check: &ScaleCheck) -> Table {
    let percent = |title: &str| Column::number(title, "").decimals(Decimals::Fixed(0));
    let mut table = Table::new(vec![
        Column::text("Load"),
        Column::number("IOPS", ""),
        Column::number("of first", "x").decimals(Decimals::Fixed(2)),
        Column::number("MiB/s", ""),
        Column::number("Avg", "µs").decimals(Decimals::Each).narrow(Narrow::Drop(2)),
        percent("ceiling %"),
        percent("workers %").narrow(Narrow::Drop(3)),
        percent("host %"),
        percent("steal %").narrow(Narrow::Drop(4)),
    ]);
    table.group = "Test".to_owned();
    for test in &check.tests {
        table.rows.push(Row::Group(test.name.clone()));
        let first = test.points.first().map_or(1.0, |point| point.iops);
        table.rows.extend(test.points.iter().map(|point| Row::Cells(cells(point, first).into())));
    }
    table
}

fn cells(point: &ScalePoint, first: f64) -> [Cell; 9] {
    let used = point.tester.as_ref();
    let percent = |ratio: Option<f64>| -> Cell { ratio.map(|ratio| ratio * 100.0).into() };
    [
        point.load.clone().into(),
        point.iops.into(),
        (point.iops / first).into(),
        point.mib_per_s.into(),
        point.mean_us.into(),
        percent(used.and_then(|used| used.null_ceiling_ratio)),
        percent(used.and_then(|used| used.busy_per_worker)),
        percent(used.and_then(|used| used.host_busy_ratio)),
        percent(used.and_then(|used| used.steal_ratio)),
    ]
}

/// Returns the check in a format: the page of [`table`] as text, else its table and its sentences.
pub fn rendered(check: &ScaleCheck, format: Format) -> String {
    match format {
        Format::Text(width) => table(check, TextOptions { width, ..TextOptions::default() }),
        Format::Csv => result_table(check).render(format),
        Format::Markdown | Format::BbCode => {
            let says: Vec<String> = check
                .tests
                .iter()
                .map(|test| format.text(&format!("{}: {}", test.name, test.says)))
                .collect();
            format!(
                "{}\n\n{}\n{}\n",
                format.text(&check.about),
                result_table(check).render(format),
                says.join("\n\n")
            )
        }
    }
}

/// Returns the check as one JSON document.
pub fn document(check: &ScaleCheck) -> Value {
    json!({ "schema": SCHEMA, "about": check.about, "runs": check.runs, "tests": check.tests })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_with_one_limit_share_a_sentence() {
        let point = ScalePoint {
            load: String::new(),
            hosts: 1,
            workers: 1,
            targets: 1,
            iops: 1.0,
            mib_per_s: 1.0,
            mean_us: None,
            tester: None,
        };
        let test = |name: &str, limit| ScaledTest {
            name: name.to_owned(),
            points: vec![point.clone(), point.clone()],
            limit,
            says: String::new(),
        };
        let mixed = [test("a", ScaleLimit::Host), test("b", ScaleLimit::None), test("c", ScaleLimit::Host)];
        assert_eq!(
            brief_words(&mixed),
            [
                "LIMIT  This host limits a and c: its CPUs are busy.",
                "No limit was reached: the rate of b grew with every load."
            ]
        );
        let same = [test("a", ScaleLimit::Storage), test("b", ScaleLimit::Storage)];
        let one = ScaledTest { points: vec![point.clone()], ..test("a", ScaleLimit::None) };
        assert_eq!(brief_words(&[one]), Vec::<String>::new());
        assert_eq!(brief_words(&same), ["LIMIT  The storage, or the path to it, limits all 2 tests."]);
    }
}
