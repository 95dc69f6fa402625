//! Rules about documents: what they name exists.

use std::collections::{BTreeMap, BTreeSet};

use crate::{none, root, sources, tracked};

/// Endings of the files that ARCHITECTURE.md names by their path below `crates/`.
const FILES: [&str; 2] = [".rs", ".md"];

#[test]
fn design_documents_have_numbers_of_their_own() {
    let mut by_number: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in tracked() {
        let Some(name) = path.strip_prefix("docs/design/") else { continue };
        let number = name.split('-').next().unwrap_or_default().to_owned();
        by_number.entry(number).or_default().push(name.to_owned());
    }
    assert!(by_number.len() > 1);
    let shared: Vec<String> =
        by_number.into_values().filter(|names| names.len() > 1).map(|names| names.join(", ")).collect();
    none(&shared, "give each a number of its own");
}

#[test]
fn what_architecture_names_exists() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let tracked: BTreeSet<String> = tracked().into_iter().collect();
    let code: Vec<String> =
        sources().into_iter().filter(|source| source.is_rust()).map(|source| source.text).collect();
    let missing: Vec<String> = names(&text).filter(|name| !exists(name, &tracked, &code)).collect();
    none(&missing, "ARCHITECTURE.md names what is not there: name what took its place");
}

#[test]
fn links_of_documents_lead_somewhere() {
    let tracked: BTreeSet<String> = tracked().into_iter().collect();
    let documents: BTreeMap<&String, String> = tracked
        .iter()
        // Others are parts of documents that are put together elsewhere.
        .filter(|path| path.ends_with(".md") && !path.starts_with("crates/"))
        .map(|path| (path, std::fs::read_to_string(root().join(path)).expect("it is tracked")))
        .collect();
    let mut broken = Vec::new();
    let mut count = 0;
    for (path, text) in &documents {
        for link in links(text) {
            count += 1;
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
            let to = if file.is_empty() { (*path).clone() } else { beside(path, file) };
            let folder = format!("{}/", to.trim_end_matches('/'));
            let is_there = tracked.contains(&to) || tracked.iter().any(|path| path.starts_with(&folder));
            let has_anchor =
                anchor.is_none_or(|at| documents.get(&to).is_some_and(|text| anchors(text).any(|a| a == at)));
            if !is_there || !has_anchor {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(count > 100, "{count} links");
    none(&broken, "these links lead nowhere");
}

/// Returns where the links of a document lead, but for those to other hosts.
fn links(text: &str) -> impl Iterator<Item = &str> {
    // Not what stands in a fenced block, or in backticks: there it is an example.
    let prose = text.split("```").step_by(2).flat_map(|part| part.split('`').step_by(2));
    let parts = prose.flat_map(|part| part.split("](").skip(1));
    parts.filter_map(|rest| rest.split(')').next()).filter(|link| !link.starts_with("http"))
}

/// Returns the path of a file that a document links to.
fn beside(document: &str, link: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchors of the headings of a document: small letters, hyphens for blanks, no other signs.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings.map(|heading| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    })
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

/// Returns what stands in backticks outside of drawings.
fn names(text: &str) -> impl Iterator<Item = String> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).map(str::to_owned)
}

/// Returns true unless a name is that of a file, a folder, a type or a function of the project that is not there.
fn exists(name: &str, tracked: &BTreeSet<String>, code: &[String]) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if FILES.iter().any(|ending| name.ends_with(ending)) || (name.contains('/') && name.contains("/src/")) {
        let below = format!("crates/{name}");
        return [name, &below].iter().any(|path| {
            tracked.contains(*path)
                || tracked.range(format!("{path}/")..).next().is_some_and(|t| t.starts_with(*path))
        });
    }
    let last = name.split("::").last().unwrap_or_default().split('(').next().unwrap_or_default();
    let is_type =
        is_word(last) && last.starts_with(char::is_uppercase) && last.chars().any(char::is_lowercase);
    if is_type {
        let kinds = ["struct", "enum", "trait", "type"];
        return kinds.iter().any(|kind| defines(code, kind, last)) || is_variant(name, code, last);
    }
    // `room::function`, with the path as it is written.
    !(name.contains("::") && is_word(last)) || defines(code, "fn", last) || defines(code, "mod", last)
}

fn defines(code: &[String], kind: &str, name: &str) -> bool {
    let text = format!("{kind} {name}");
    code.iter().any(|file| {
        let ends = |at: usize| file[at..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        file.match_indices(&text).any(|(at, _)| ends(at + text.len()))
    })
}

/// `Enum::Variant`.
fn is_variant(name: &str, code: &[String], variant: &str) -> bool {
    let path: Vec<&str> = name.split("::").collect();
    matches!(path.as_slice(), [.., of, _] if defines(code, "enum", of))
        && code.iter().any(|file| file.contains(&format!("    {variant}")))
}

#[test]
fn a_name_that_is_not_there_is_found() {
    let tracked = BTreeSet::from(["crates/a/src/b.rs".to_owned(), "crates/a/src/c/d.rs".to_owned()]);
    let code = vec!["pub struct Plan {\n}\nenum Step {\n    Done,\n}\npub fn run(".to_owned()];
    let check = |name: &str, expected: bool| assert_eq!(exists(name, &tracked, &code), expected, "{name}");
    check("a/src/b.rs", true);
    check("a/src/c", true);
    check("a/src/e.rs", false);
    check("Plan", true);
    check("Plans", false);
    check("a::run(header)", true);
    check("a::runs", false);
    check("Step::Done", true);
    check("Step::Lost", false);
    check("kill -9", true);
    check("assay export", true);
}
