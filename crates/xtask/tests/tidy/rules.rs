//! Checks that docs/method.md lists every rule and every warning with its condition, and every threshold with its
//! value.

use crate::{Source, none, root, sources};

/// File that lists the rules.
const CATALOGUE: &str = "crates/analysis/src/rules/catalogue.rs";
/// Directory of the rules and their thresholds.
const RULES: &str = "crates/analysis/src/rules/";

fn method() -> String {
    std::fs::read_to_string(root().join("docs/method.md")).expect("docs/method.md is in the repository")
}

/// Returns the names in the first column of a document's tables, of rows with a second column.
fn listed(document: &str) -> Vec<String> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let (name, condition) = (cells.next()?, cells.next()?);
        (condition.len() > 10).then(|| name.to_owned())
    };
    document.lines().filter_map(row).collect()
}

/// Returns the quoted strings after each `before` in a text.
fn quoted_after(text: &str, before: &str) -> Vec<String> {
    let rest = |part: &str| {
        part.trim_start().strip_prefix('"').and_then(|part| part.split_once('"')).map(|p| p.0.to_owned())
    };
    text.split(before).skip(1).filter_map(rest).collect()
}

/// Returns the names of all rules, and of all warnings raised during preparation or a run.
fn names() -> Vec<(String, String)> {
    let mut names = Vec::new();
    for Source { path, text } in sources().into_iter().filter(|s| s.is_rust() && !s.is_test()) {
        let of_file = match path.as_str() {
            CATALOGUE => quoted_after(&text, "Rule::new("),
            path if path.starts_with("crates/analysis/") || path.starts_with("crates/report/") => Vec::new(),
            _ => quoted_after(text.split("#[cfg(test)]").next().unwrap_or_default(), " rule: "),
        };
        names.extend(of_file.into_iter().map(|name| (path.clone(), name)));
    }
    names
}

#[test]
fn the_method_lists_every_rule_and_every_warning() {
    let (listed, names) = (listed(&method()), names());
    assert!(names.len() > 50, "the names are no longer found: {names:?}");
    let missing: Vec<String> = names
        .iter()
        .filter(|(_, name)| !listed.contains(name))
        .map(|(path, name)| format!("{name} ({path})"))
        .collect();
    none(&missing, "list these with their condition in the tables of docs/method.md");
}

/// Returns a constant of a rule: its name, its value as written, and the file.
fn thresholds() -> Vec<(String, String, String)> {
    let of = |source: Source| {
        let value = |line: &str| -> Option<(String, String, String)> {
            let (name, rest) = line.trim_start().split_once("const ")?.1.split_once(':')?;
            let (kind, value) = rest.split_once('=')?;
            let is_number = ["f64", "u32", "u64", "usize"].contains(&kind.trim());
            let value = value.trim().trim_end_matches(';').to_owned();
            is_number.then(|| (name.to_owned(), value, source.path.clone()))
        };
        source.text.lines().filter_map(value).collect::<Vec<_>>()
    };
    sources().into_iter().filter(|s| s.path.starts_with(RULES)).flat_map(of).collect()
}

/// Returns the notations of a number of the code in a document: `0.02` as `0.02` or `2 %`, `20_000_000` ns as `20 ms`.
fn ways_to_write(value: &str) -> Vec<String> {
    let plain = value.replace('_', "");
    if let Some((number, shift)) = plain.split_once("<<") {
        let unit = if shift.trim() == "10" { "KiB" } else { "MiB" };
        return vec![format!("{} {unit}", number.trim())];
    }
    let Ok(number) = plain.parse::<f64>() else { return Vec::new() };
    let short = |x: f64| format!("{}", (x * 1e6).round() / 1e6);
    vec![
        short(number),
        format!("{} %", short(number * 100.0)),
        format!("{} %", short((1.0 - number) * 100.0)),
        format!("{} ms", short(number / 1e6)),
    ]
}

#[test]
fn the_method_gives_every_threshold() {
    let method = method();
    // Lengths of lists and units are not thresholds.
    let is_threshold = |name: &str| !["MIB", "FAULTS_LISTED", "STRETCH_MIN"].contains(&name);
    let missing: Vec<String> = thresholds()
        .into_iter()
        .filter(|(name, value, _)| {
            let ways = ways_to_write(value);
            is_threshold(name) && !ways.is_empty() && !ways.iter().any(|way| has_number(&method, way))
        })
        .map(|(name, value, path)| format!("{name} = {value} ({path})"))
        .collect();
    none(&missing, "give these values in docs/method.md, beside the rule that uses them");
}

/// Returns true if a number occurs that is not part of a longer one.
fn has_number(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + number.len()..].chars();
        let next = after.next();
        let goes_on = next == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit());
        !before.is_some_and(|c| c.is_ascii_digit() || c == '.')
            && !next.is_some_and(|c| c.is_ascii_digit())
            && !goes_on
    })
}

#[test]
fn only_complete_numbers_are_found() {
    assert!(has_number("below 97 %.", "97 %") && has_number("1.25 x the bound", "1.25"));
    assert!(!has_number("1.255 or 11.25", "1.25") && !has_number("297 %", "97 %"));
    assert!(ways_to_write("20_000_000").contains(&"20 ms".to_owned()));
    assert!(ways_to_write("32 << 10").contains(&"32 KiB".to_owned()));
}
