//! Must show: figures of pages are those of `assay show --json`, for stored runs of every kind of target.

use std::path::Path;

use assay_testkit::story::{DONE, Story};
use serde_json::Value;

use super::{Served, get};

/// Runs on null, a file, a device, a LUN, an NFS export and a simulated array; open and closed loads, a sweep, I/O
/// errors, one interrupted and one killed: the store that is kept of a release.
const KEPT: &str = "../store/tests/data/0.1.0-a331602";

/// A table of a page: its titles, and the cells of each row.
struct Cells {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The text of a piece of HTML, without its tags.
fn text(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<String>().trim().to_owned()
}

/// The first table of a part of a page.
fn table(part: &str) -> Cells {
    let table = part.split("</table>").next().unwrap();
    let (head, body) = table.split_once("<tbody>").unwrap_or_else(|| panic!("no table: {part}"));
    let cells = |row: &str, tag: &str| {
        row.split(&format!("<{tag}")).skip(1).map(|cell| text(&format!("<{cell}"))).collect::<Vec<_>>()
    };
    let rows = body.split("<tr").skip(1).filter(|row| row.starts_with('>'));
    Cells {
        // The head above the names has no text, and is an ordinary cell.
        titles: cells(&head.split("<thead>").nth(1).unwrap().replace("<td></td>", "<th></th>"), "th"),
        rows: rows.map(|row| cells(row, "td")).collect(),
    }
}

/// Checks a written number against the exact one: they are equal to the last digit that is written.
fn check(what: &str, written: &str, exact: Option<f64>) {
    let Some(exact) = exact else {
        assert!(written.is_empty() || written == "-", "{what}: {written} for a figure that is not known");
        return;
    };
    let digits: String = written.chars().filter(|c| c.is_ascii_digit() || matches!(c, '.' | '-')).collect();
    let value: f64 = digits.parse().unwrap_or_else(|_| panic!("{what}: {written} for {exact}"));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    // The document itself is rounded to three decimals.
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap()) + 0.000_51;
    assert!((value - exact).abs() <= half, "{what}: {written} for {exact}");
}

/// The figure of a step that a title names, from the document.
fn figure(step: &Value, kind: &str, title: &str) -> Option<f64> {
    let ops = &step[kind];
    let waited = if step["load"] == "open" { "response_us" } else { "service_us" };
    let scale = if title.contains("ms") { 1e-3 } else { 1.0 };
    let time = |name: &str| ops[waited][name].as_f64().map(|us| us * scale);
    match title.split_whitespace().next().unwrap_or_default() {
        "I/Os" => ops["ops"].as_f64(),
        "IOPS" => ops["iops"].as_f64(),
        "MiB/s" => ops["mib_per_s"].as_f64(),
        "MB/s" => ops["mb_per_s"].as_f64(),
        "Avg" | "mean" => time("mean"),
        "Max" | "max" => time("max"),
        "min" => time("min"),
        "Outst." => step["outstanding_effective"].as_f64(),
        "CPU" => step["cpu"]["host_busy_ratio"].as_f64().map(|ratio| ratio * 100.0),
        p if p.starts_with('p') => time(&p.replace('.', "_")),
        other => panic!("{other} has no figure in the document"),
    }
}

#[test]
fn figures_of_pages_are_those_of_show_for_runs_of_every_kind() {
    let story = Story::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
    std::fs::copy(kept.join("store.sqlite"), story.path("store.sqlite")).unwrap();
    let served = Served::start(&story, &[]);
    let (mut runs, mut compared) = (0, 0);
    for document in std::fs::read_dir(kept.join("runs")).unwrap() {
        let name = document.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        let document = story.assay(&["show", &name, "--json"]).ends(DONE).json();
        let page = get(&served, &format!("/runs/{name}"));
        compared += check_run(&name, &document, &page);
        runs += 1;
    }
    assert!(runs >= 10 && compared > 500, "{runs} runs, {compared} figures");
}

/// Compares every figure of the tables of results. Returns their number.
fn check_run(run: &str, document: &Value, page: &str) -> usize {
    let is_measured = |step: &&Value| {
        step["skipped"].is_null() && step["unmeasured"].is_null() && step["total"]["ops"] != 0
    };
    let steps: Vec<&Value> = document["tests"].as_array().unwrap().iter().filter(is_measured).collect();
    let mut compared = 0;
    let mut check_row =
        |what: &str, cells: &[String], titles: &[String], step: &Value, kind: &str, unit: &str| {
            for (cell, title) in cells.iter().zip(titles).skip(1) {
                // Titles of percentiles have no unit of their own.
                check(
                    &format!("{run} {what} {kind} {title}"),
                    cell,
                    figure(step, kind, &format!("{title} {unit}")),
                );
                compared += 1;
            }
        };
    let all = table(page.split("All tests</h2>").nth(1).unwrap());
    let rows: Vec<&Vec<String>> = all.rows.iter().filter(|row| row.len() == all.titles.len()).collect();
    let unit = if all.titles.iter().any(|title| title.ends_with("ms")) { "ms" } else { "" };
    let measured: Vec<&&Vec<String>> =
        rows.iter().filter(|row| row[1] != "-" && !row[1].is_empty()).collect();
    assert_eq!(measured.len(), steps.len(), "{run}: {rows:?}");
    for (row, step) in measured.into_iter().zip(&steps) {
        check_row("all tests", row, &all.titles, step, "total", unit);
    }
    for (caption, unit) in [("Latencies in ms.", "ms"), ("Latencies in µs.", "")] {
        for (index, before) in page.match_indices(caption).map(|(at, _)| &page[..at]).enumerate() {
            let part = &page[before.rfind("<table").unwrap()..];
            let name = text(before.rsplit("<h2>").next().unwrap().split("</h2>").next().unwrap());
            let latencies = table(part);
            for row in &latencies.rows {
                let kind =
                    ["all", "reads", "writes"].into_iter().find(|kind| row[0].ends_with(kind)).unwrap();
                let step = row[0].strip_suffix(kind).unwrap().trim();
                let is_of =
                    |of: &&&Value| of["name"] == *name && of["step"].as_str().unwrap_or_default() == step;
                let step = steps.iter().find(is_of).unwrap_or_else(|| panic!("{run} {name} {step} {index}"));
                let kind = match kind {
                    "all" => "total",
                    "reads" => "read",
                    _ => "write",
                };
                check_row(&name, row, &latencies.titles, step, kind, unit);
            }
        }
    }
    compared
}
