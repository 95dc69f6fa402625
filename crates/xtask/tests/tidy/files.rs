//! Rules about the content and size of files.

use std::process::Command;

use crate::{none, root, sources, tracked};

/// Size of the largest file, bytes: larger ones would slow down every clone for ever.
const FILE_BYTES_MAX: u64 = 512 * 1024;

/// Forbidden text, and the remedy. Split in two parts, so that this file does not match itself.
const FORBIDDEN: [(&str, &str); 6] = [
    (concat!("FIX", "ME"), "do it now, or write an issue"),
    (concat!("XX", "X"), "do it now, or write an issue"),
    (concat!("db", "g!("), "remove the debugging aid"),
    (concat!("to", "do!("), "write it, or leave the path out"),
    (concat!("/wo", "rk/"), "use a relative path or a temporary folder"),
    (concat!("/ro", "ot/"), "use a relative path or a temporary folder"),
];

#[test]
fn no_unfinished_code_and_no_local_paths() {
    let mut offenders = Vec::new();
    for source in sources() {
        for (number, line) in (1..).zip(source.text.lines()) {
            let found = FORBIDDEN.iter().filter(|(word, _)| contains_word(line, word));
            offenders
                .extend(found.map(|(word, remedy)| format!("{}:{number}: {word} {remedy}", source.path)));
        }
    }
    none(&offenders, "remove these");
}

/// Returns true if `word` occurs, not as part of a longer word in capitals (a template like mkstemp's has six of a
/// letter).
fn contains_word(line: &str, word: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !is_inside(before) && (word.ends_with(['/', '(']) || !is_inside(after))
    })
}

#[test]
fn a_word_inside_a_longer_word_is_not_found() {
    assert!(contains_word("// ab: later", "ab"));
    assert!(!contains_word("mktemp -d /tmp/t.ababab", "ab"));
    assert!(contains_word("cd /a/b", "/a/"));
}

#[test]
fn no_large_files() {
    let size = |path: &String| root().join(path).metadata().map_or(0, |m| m.len());
    let large: Vec<_> = tracked()
        .iter()
        .filter(|path| size(path) > FILE_BYTES_MAX)
        .map(|path| format!("{path}: {} bytes", size(path)))
        .collect();
    none(&large, "make it when it is needed, or keep it outside of the repository");
}

#[test]
fn planted_bugs_apply() {
    let patches: Vec<String> =
        tracked().into_iter().filter(|path| path.starts_with("crates/simulate/bugs/")).collect();
    assert!(patches.len() >= 10, "{patches:?}");
    let applies = |patch: &&String| {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "apply", "--check", "--"]).arg(patch).current_dir(root());
        git.status().is_ok_and(|status| status.success())
    };
    let stale: Vec<String> = patches.iter().filter(|patch| !applies(patch)).cloned().collect();
    none(
        &stale,
        "make these patches again, each for the same bug in today's core (see crates/xtask/src/bugs.rs)",
    );
}
