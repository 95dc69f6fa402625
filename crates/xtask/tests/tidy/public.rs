//! What is `pub` is a promise to other rooms. A function or constant that none of them names is `pub(crate)`: then the
//! compiler says when nobody uses it at all.

use std::collections::{HashMap, HashSet};

use crate::{none, sources, without_tests};

/// Rooms that are programs: nobody can use what is in them.
const PROGRAMS: [&str; 2] = ["cli", "xtask"];

#[test]
fn what_is_public_is_used_by_another_room() {
    let files = sources().into_iter().filter(|source| source.is_rust() && source.path.starts_with("crates/"));
    let files: Vec<(String, String)> = files.map(|source| (source.path, source.text)).collect();
    none(&unused(&files), "make these pub(crate), or remove them");
}

#[test]
fn names_in_other_rooms_and_in_tests_of_the_same_one_are_uses() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        assert_eq!(unused(&files), expected);
    };
    let a = ("crates/a/src/x.rs", "\npub fn f() {}\npub(crate) fn g() { f() }\n    pub const fn h() {}\n");
    check(&[a], &["crates/a/src/x.rs:2: f", "crates/a/src/x.rs:4: h"]);
    check(
        &[a, ("crates/a/src/y.rs", "crate::f(); h()")],
        &["crates/a/src/x.rs:2: f", "crates/a/src/x.rs:4: h"],
    );
    check(&[a, ("crates/b/src/y.rs", "// h\na::f();")], &["crates/a/src/x.rs:4: h"]);
    check(&[a, ("crates/a/tests/it/y.rs", "a::f(); a::h();")], &[]);
}

/// Returns the functions and constants that are public and that no other room names, with their places.
fn unused(files: &[(String, String)]) -> Vec<String> {
    let mut named: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (path, text) in files {
        for line in text.lines().map(|line| line.split("//").next().unwrap_or_default()) {
            for word in line.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                named.entry(word).or_default().insert(part(path));
            }
        }
    }
    let in_room = files.iter().filter(|(path, _)| {
        part(path).ends_with("/src")
            && !PROGRAMS.iter().any(|room| part(path) == format!("crates/{room}/src"))
    });
    let mut found = Vec::new();
    for (path, text) in in_room {
        for (index, line) in without_tests(text).lines().enumerate() {
            let Some(name) = public_name(line) else { continue };
            if named[name].len() == 1 {
                found.push(format!("{path}:{}: {name}", index + 1));
            }
        }
    }
    found
}

/// Returns the room and its folder: `crates/a/src`; tests of a room see only what is public.
fn part(path: &str) -> &str {
    path.match_indices('/').nth(2).map_or(path, |(end, _)| &path[..end])
}

/// Returns the name of the public function or constant that begins on a line.
fn public_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start().strip_prefix("pub ")?;
    while let Some(behind) = ["async ", "unsafe "].iter().find_map(|word| rest.strip_prefix(*word)) {
        rest = behind;
    }
    let rest = rest
        .strip_prefix("const fn ")
        .or_else(|| rest.strip_prefix("fn "))
        .or_else(|| rest.strip_prefix("const "))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end])
}
