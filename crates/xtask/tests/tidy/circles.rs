//! Files in a dependency circle cannot be read, tested or moved one after another. Code that both need belongs in a
//! third file.
//!
//! A file uses another of its crate if its code (without tests) names a path into it. A re-export is no use: a file
//! that uses the name depends on the file that defines it. A file and the files in its directory are one unit and may
//! use each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::{none, sources, without_tests};

/// Number of chained re-exports that are followed; no name has more.
const REEXPORTS_MAX: usize = 8;

/// Path of modules from the root of the crate, which is empty.
type Module = Vec<String>;

/// Paths in a file.
#[derive(Default)]
struct Names {
    /// Paths as written.
    used: Vec<Vec<String>>,
    /// Paths that it re-exports.
    reexported: Vec<Vec<String>>,
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for source in sources().into_iter().filter(|source| source.is_rust() && !source.is_test()) {
        let Some((room, path)) = source.path.split_once("/src/") else { continue };
        let code = without_tests(&source.text).to_owned();
        crates.entry(room.to_owned()).or_default().insert(module_of(path), code);
    }
    let found = crates.iter().flat_map(|(room, files)| {
        circles(files).into_iter().map(move |circle| format!("{room}/src: {circle}"))
    });
    none(&found.collect::<Vec<_>>(), "move what these files need of each other into a file of its own");
}

#[test]
fn a_circle_is_found_through_re_exports_and_not_within_a_folder() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let files = files.iter().map(|(path, code)| (module_of(path), (*code).to_owned())).collect();
        assert_eq!(circles(&files), expected);
    };
    check(&[("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { crate::a::f(); }")], &["a, b"]);
    check(&[("a.rs", "use crate::b;"), ("b.rs", "// use crate::a;\nconst T: &str = \"crate::a::f\";")], &[]);
    check(
        &[("a.rs", "use crate::{b::B, c};"), ("b.rs", "use crate::c::C;"), ("c.rs", "use super::a::A;")],
        &["a, b, c"],
    );
    check(
        &[("lib.rs", "pub use a::A;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::A as Other;")],
        &["a, b"],
    );
    check(&[("a/mod.rs", "use c::C;"), ("a/c.rs", "use super::A;")], &[]);
    check(
        &[("a.rs", "use crate::b;\nfn f<'a>() -> char { b::g(); '\"' }"), ("b.rs", "use crate::a::f;")],
        &["a, b"],
    );
}

/// Returns the module of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_of(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| last == "mod")
        || matches!(&names[..], [one] if one == "lib" || one == "main")
    {
        names.pop();
    }
    names
}

/// Returns the circles of files, each as a clause.
fn circles(files: &BTreeMap<Module, String>) -> Vec<String> {
    let uses = uses(files);
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        files.keys().map(|from| (from, reachable(from, &uses))).collect();
    let mut circles = BTreeSet::new();
    for (from, to) in &reach {
        let circle: Vec<String> =
            to.iter().filter(|other| reach[**other].contains(from)).map(|module| module.join("::")).collect();
        if circle.len() > 1 {
            circles.insert(circle.join(", "));
        }
    }
    circles.into_iter().collect()
}

fn reachable<'m>(from: &'m Module, uses: &'m BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<&'m Module> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for used in uses.get(next).into_iter().flatten() {
            if seen.insert(used) {
                open.push(used);
            }
        }
    }
    seen
}

/// Returns the files that each file uses.
fn uses(files: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let names: BTreeMap<&Module, Names> = files.iter().map(|(module, code)| (module, names(code))).collect();
    let mut origins = BTreeMap::new();
    for (module, names) in &names {
        for path in &names.reexported {
            if let Some(path) = absolute(module, path, files)
                && let Some(name) = path.last().cloned()
            {
                origins.insert([&module[..], &[name]].concat(), path);
            }
        }
    }
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, names) in &names {
        let paths = names.used.iter().filter_map(|path| absolute(module, path, files));
        let used = paths.map(|path| file_of(path, files, &origins));
        let is_other = |used: &Module| !used.starts_with(module) && !module.starts_with(used);
        uses.insert((*module).clone(), used.filter(is_other).collect());
    }
    uses
}

/// Returns a path from the root of the crate; `None` if it leads into another crate.
fn absolute(module: &[String], path: &[String], files: &BTreeMap<Module, String>) -> Option<Module> {
    if path[0] == "crate" {
        return Some(path[1..].to_vec());
    }
    let ups = path.iter().take_while(|name| *name == "super").count();
    let is_own = path[0] == "self" || files.contains_key(&[module, &path[..1]].concat());
    let base = &module[..module.len().checked_sub(ups)?];
    let rest = &path[if path[0] == "self" { 1 } else { ups }..];
    (ups > 0 || is_own).then(|| [base, rest].concat())
}

/// Returns the file that a path leads into, through re-exports.
fn file_of(mut path: Module, files: &BTreeMap<Module, String>, origins: &BTreeMap<Module, Module>) -> Module {
    for _ in 0..REEXPORTS_MAX {
        let length = (0..=path.len()).rev().find(|length| files.contains_key(&path[..*length])).unwrap_or(0);
        let origin = path.get(..length + 1).and_then(|name| origins.get(name));
        match origin {
            Some(origin) => path = [&origin[..], &path[length + 1..]].concat(),
            None => return path[..length].to_vec(),
        }
    }
    path
}

/// Returns all paths of a file.
fn names(code: &str) -> Names {
    let tokens = tokens(code);
    let mut names = Names::default();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(tokens.len() - at);
            // `pub use`, and `pub(crate) use`.
            let is_public = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | ")");
            let paths = if is_public { &mut names.reexported } else { &mut names.used };
            tree(&mut &tokens[at + 1..end], &[], paths);
            at = end;
        } else if tokens.get(at + 1).is_some_and(|next| next == "::") && is_name(&tokens[at]) {
            let mut path = vec![tokens[at].clone()];
            while tokens.get(at + 1).is_some_and(|token| token == "::")
                && let Some(name) = tokens.get(at + 2).filter(|token| is_name(token))
            {
                path.push(name.clone());
                at += 2;
            }
            names.used.push(path);
        }
        at += 1;
    }
    names
}

/// Collects the paths of a `use`, up to the comma or brace that ends this part of it.
fn tree(tokens: &mut &[String], before: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    // There is no path after a trailing comma.
    let mut has_path = false;
    while let Some((token, rest)) = tokens.split_first() {
        match token.as_str() {
            "," | "}" => break,
            "{" => {
                *tokens = rest;
                loop {
                    tree(tokens, &path, paths);
                    let Some((end, rest)) = tokens.split_first() else { return };
                    *tokens = rest;
                    if end == "}" {
                        return;
                    }
                }
            }
            // The new name does not matter.
            "as" => *tokens = rest.get(1..).unwrap_or_default(),
            name => {
                if is_name(name) && (name != "self" || path.is_empty()) {
                    path.push(name.to_owned());
                }
                has_path = true;
                *tokens = rest;
            }
        }
    }
    if has_path {
        paths.push(path);
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first == '_' || first.is_alphabetic())
}

/// Returns names, `::` and single characters, without comments and literals.
fn tokens(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            string_length(rest)
        } else if first == '\'' {
            char_length(rest)
        } else if first == '_' || first.is_alphanumeric() {
            let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            found.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                found.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// Returns the length of the string literal that starts here, including its quotation marks.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, sign) in text.char_indices().skip(1) {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character literal; 1, the quotation mark, for a lifetime.
fn char_length(text: &str) -> usize {
    let mut signs = text.char_indices().skip(1);
    match signs.next() {
        Some((_, '\\')) => signs.skip(1).find(|(_, sign)| *sign == '\'').map_or(1, |(at, _)| at + 1),
        _ => signs.next().filter(|(_, sign)| *sign == '\'').map_or(1, |(at, _)| at + 1),
    }
}
