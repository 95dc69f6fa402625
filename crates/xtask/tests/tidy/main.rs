//! House rules that a program can check. Each lists its violations with the remedy.

mod arrows;
mod circles;
mod documents;
mod files;
mod lengths;
mod licences;
mod public;
mod rules;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root directory of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this package is in crates/").to_owned()
}

/// A text file of the project.
struct Source {
    /// Path from the root of the workspace.
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns true if the whole file is test code.
    fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }
}

/// Returns the files that git tracks or is about to track, so that a rule applies before the commit.
fn tracked() -> Vec<String> {
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git must be installed");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let mut paths: Vec<String> = list.split_terminator('\0').map(str::to_owned).collect();
    // Deleted but not yet staged files are still listed.
    paths.retain(|path| root().join(path).is_file());
    assert!(paths.len() > 20, "git ls-files lists hardly anything: {paths:?}");
    paths
}

/// Returns the tracked files that are text.
fn sources() -> Vec<Source> {
    let read = |path: String| {
        let text = String::from_utf8(std::fs::read(root().join(&path)).ok()?).ok()?;
        Some(Source { path, text })
    };
    tracked().into_iter().filter_map(read).collect()
}

/// Fails with the list if it is not empty.
#[track_caller]
fn none(offenders: &[String], what_to_do: &str) {
    assert!(offenders.is_empty(), "{what_to_do}:\n  {}\n", offenders.join("\n  "));
}

#[test]
fn only_tests_in_the_file_itself_are_left_out() {
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests;\nb"), "a\n#[cfg(test)]\nmod tests;\nb");
    assert_eq!(
        without_tests("a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod tests {\nc }"),
        "a\n#[cfg(test)]\nmod tests;\nb"
    );
}

/// Returns the code before a module of tests in the same file. A line that declares tests in another file ends nothing.
pub fn without_tests(text: &str) -> &str {
    let mark = "\n#[cfg(test)]\nmod ";
    let is_here = |at: &usize| text[at + mark.len()..].lines().next().is_some_and(|line| line.ends_with('{'));
    let found = text.match_indices(mark).map(|(at, _)| at).find(is_here);
    &text[..found.unwrap_or(text.len())]
}
