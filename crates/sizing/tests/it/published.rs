//! The table of published configurations in `docs/guide/sizing.md`, asked again: each answer is that of the table, and
//! it says rightly which of them are within 30 %.

use std::path::Path;

use assay_model::array::{Array, parse as parse_array, shipped};
use assay_sizing::{Precision, Prices, answer, parse};

/// How far an answer may be from what was built.
const NEAR: f64 = 0.3;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn array(name: &str) -> Array {
    match shipped::named(name) {
        Some(array) => array.unwrap(),
        None if name == "md-raid6-10x6tb" => parse_array(name, &read("arrays/md-raid6-10x6tb.toml")).unwrap(),
        None => parse_array(name, &read(&format!("arrays/unseen/{name}.toml"))).unwrap(),
    }
}

#[test]
fn published_configurations_have_the_answers_of_the_table() {
    let text = read("docs/guide/sizing.md");
    let section = text.split("## Published configurations").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() >= 12, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let name = row[1].split(',').next().unwrap();
        let [built, said] =
            [row[3], row[4]].map(|cell| if cell == "none" { 0 } else { cell.parse().unwrap() });
        let question = parse(&format!("how many disks for {}", row[2])).unwrap();
        let found = answer(question, &[array(name)], &Prices::new(), Precision::Closed).unwrap();
        let disks = found.best().map_or(0, |best| best.disks);
        let is_near = (f64::from(disks) / f64::from(built) - 1.0).abs() <= NEAR + 1e-9;
        if disks != said || row[5] != if is_near { "yes" } else { "no" } {
            wrong.push(format!("{name}, {}: {disks} of {built}, the table has {said}, {}", row[2], row[5]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
