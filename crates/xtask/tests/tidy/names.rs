//! Names in documents and in interfaces: what ARCHITECTURE.md names exists, and code in comments is run by somebody.

use std::collections::BTreeSet;

use crate::{Source, none, root, sources};

/// Returns the parts of a text in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|part| !part.contains('\n'))
}

/// Returns the name that code of this project defines by `part`, if it looks like one: a type, or a path to a function.
fn defined_name(part: &str) -> Option<&str> {
    let name = part.rsplit("::").next()?;
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_type =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase());
    let is_path = part.contains("::") && part.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
    (is_word && (is_type || is_path)).then_some(name)
}

/// Returns every name that a file defines.
fn definitions(source: &Source) -> impl Iterator<Item = &str> {
    const KEYWORDS: [&str; 9] = ["struct", "enum", "trait", "type", "fn", "mod", "const", "static", "union"];
    source.text.lines().filter_map(|line| {
        let mut words =
            line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.find(|word| KEYWORDS.contains(word))?;
        words.next()
    })
}

/// A document named a type that had been renamed for weeks.
#[test]
fn what_the_architecture_names_exists() {
    let sources = sources();
    let code: Vec<&Source> = sources.iter().filter(|source| source.is_rust()).collect();
    let mut known: BTreeSet<&str> = code.iter().flat_map(|source| definitions(source)).collect();
    // Members of enums, and what the standard library and cargo call things.
    known.extend(["Option", "Result", "Vec", "Drop"]);
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is in the repository");
    let mut missing: Vec<String> = quoted(&text)
        .filter_map(|part| {
            defined_name(part).filter(|name| !known.contains(name)).map(|_| format!("`{part}`"))
        })
        .collect();
    let is_there = |path: &str| root().join(path).exists() || root().join("crates").join(path).exists();
    let paths = quoted(&text).filter(|part| part.ends_with(".rs") && !part.contains(' '));
    missing.extend(paths.filter(|path| !is_there(path)).map(|path| format!("`{path}`")));
    none(&missing, "ARCHITECTURE.md names what does not exist; name what is there now");
}

#[test]
fn names_are_types_and_paths() {
    assert_eq!(defined_name("assay_target::Member"), Some("Member"));
    assert_eq!(defined_name("RunTargets"), Some("RunTargets"));
    assert_eq!(defined_name("engine::run_with"), Some("run_with"));
    for other in ["spec", "cargo metadata", "SQLite append", "close", "TCP"] {
        assert_eq!(defined_name(other), None, "{other}");
    }
}

/// `make test` runs no examples of comments, because there are none.
#[test]
fn code_in_comments_says_what_it_is() {
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| source.is_rust() && !source.is_test()) {
        let mut is_inside = false;
        for (number, line) in (1..).zip(source.text.lines()) {
            let Some(comment) = ["//!", "///"].iter().find_map(|mark| line.trim_start().strip_prefix(mark))
            else {
                continue;
            };
            let Some(language) = comment.trim_start().strip_prefix("```") else { continue };
            let is_run = ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language.trim());
            if !is_inside && is_run {
                offenders.push(format!("{}:{number}", source.path));
            }
            is_inside = !is_inside;
        }
    }
    none(&offenders, "write ```text, or a test: examples in comments are not run");
}
