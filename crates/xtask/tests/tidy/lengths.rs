//! Limits on the length of files and functions. Tests may be longer, because they are data.

use crate::{Source, none, sources, without_tests};

/// Number of lines of a file without tests. The aim is 300.
const FILE_WALL: usize = 800;
/// Number of lines of a function from its name to its closing brace. The aim is 30.
const FUNCTION_WALL: usize = 70;

/// Number of columns of a line of Rust: rustfmt wraps code at 110, but not comments and strings.
const COLUMNS_WALL: usize = 120;

/// Items that were too long when the rule was added, with their number of lines: they may shrink, must not grow, and
/// are removed once within the limit.
const RATCHET: [(&str, usize); 0] = [];

/// Returns the code of a file without its test module, which comes last.
fn code(source: &Source) -> &str {
    without_tests(&source.text)
}

fn own_code() -> Vec<Source> {
    sources().into_iter().filter(|s| s.is_rust() && !s.is_test()).collect()
}

fn limit(name: &str, wall: usize) -> usize {
    RATCHET.iter().find(|(known, _)| *known == name).map_or(wall, |(_, lines)| *lines)
}

#[test]
fn files_are_short() {
    let long = own_code().into_iter().filter_map(|source| {
        let lines = code(&source).lines().count();
        let is_long = lines > limit(&source.path, FILE_WALL);
        is_long.then(|| format!("{}:1: {lines} lines, the wall is {FILE_WALL}", source.path))
    });
    none(&long.collect::<Vec<_>>(), "split these by noun");
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for source in own_code() {
        for Function { name, line, length } in functions(code(&source)) {
            if length > limit(&format!("{}:{name}", source.path), FUNCTION_WALL) {
                let path = &source.path;
                long.push(format!("{path}:{line}: {name} has {length} lines, the wall is {FUNCTION_WALL}"));
            }
        }
    }
    none(&long, "split these so that the top tells the story");
}

#[test]
fn lines_are_short() {
    let mut long = Vec::new();
    for source in sources().iter().filter(|source| source.is_rust()) {
        for (number, line) in (1..).zip(source.text.lines()) {
            let columns = line.chars().count();
            if columns > COLUMNS_WALL {
                let path = &source.path;
                long.push(format!("{path}:{number}: {columns} columns, the wall is {COLUMNS_WALL}"));
            }
        }
    }
    none(&long, "wrap these");
}

struct Function {
    name: String,
    line: usize,
    length: usize,
}

/// Returns all functions, found by indentation: rustfmt closes a function at the column of its first line.
fn functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let rest = lines[index..].iter();
        // A signature that ends in a semicolon has no body; one-liners close at once.
        let end = rest.clone().position(|l| *l == closing).unwrap_or(0);
        let has_body = !line.ends_with(';') && !line.ends_with('}');
        found.push(Function { name, line: index + 1, length: if has_body { end + 1 } else { 1 } });
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let is_modifier = |word: &str| {
        matches!(word, "const" | "async" | "unsafe" | "extern")
            || word.starts_with("pub")
            || word.starts_with('"')
    };
    if !before.split_whitespace().all(is_modifier) {
        return None;
    }
    let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

#[test]
fn lengths_are_counted_from_the_name_to_the_closing_brace() {
    let text = "impl A {\n    pub(crate) fn long(\n        a: u8,\n    ) -> u8 {\n        a\n    }\n    \
                fn short() {}\n}\n";
    let lengths: Vec<_> = functions(text).into_iter().map(|f| (f.name, f.line, f.length)).collect();
    assert_eq!(lengths, [("long".to_owned(), 2, 5), ("short".to_owned(), 7, 1)]);
}

#[test]
fn the_ratchet_contains_no_removed_items() {
    let paths: Vec<String> = own_code().into_iter().map(|s| s.path).collect();
    let is_gone = |name: &str| !paths.iter().any(|path| name.starts_with(path.as_str()));
    let gone = RATCHET.iter().filter(|(name, _)| is_gone(name)).map(|(name, _)| (*name).to_owned());
    none(&gone.collect::<Vec<_>>(), "remove these from the ratchet");
}
