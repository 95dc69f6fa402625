//! The README and the tour, typed by somebody who has just installed Assay: every command of their `console` blocks, in
//! order, each document in an empty home. What a block shows must come, but for numbers and for findings, which depend
//! on the machine.
//!
//! Blocks marked `text` show what needs more than a home: a disk (root), a NAS. They are named as not run.

use std::process::{Command, Stdio};

const README: &str = include_str!("../../../../README.md");
const TOUR: &str = include_str!("../../../../docs/guide/tour.md");

/// Words of a line that must agree: names and the first columns of a table.
const WORDS: usize = 6;

/// A fenced block of a document.
struct Block {
    kind: &'static str,
    lines: Vec<&'static str>,
}

fn blocks(document: &'static str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in document.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(kind), None) => open = Some(Block { kind, lines: Vec::new() }),
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line);
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Numbers, ids of runs and rules, each as one sign; without what depends on the machine.
fn shape(line: &str) -> String {
    if line.starts_with("Run ") && line.contains(" UTC, ") {
        return "Run".to_owned();
    }
    // What stands in brackets depends on the machine: its file system, intervals.
    let mut depth = 0;
    let text: String = line
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '(');
            let is_outside = depth == 0;
            depth -= i32::from(*c == ')');
            is_outside
        })
        .collect();
    // Errors have a column where the numbers leave room for it.
    let words = text.split_whitespace().filter(|word| *word != "±%").map(|word| {
        let is_run = word.len() >= 11
            && word.as_bytes()[6] == b'-'
            && word.as_bytes()[..6].iter().all(u8::is_ascii_digit);
        // On a busy machine an error is unknown, a single dash, or above 100 %.
        // A ratio is a number with its sign.
        let number = word.strip_prefix('x').unwrap_or(word);
        let is_number = number.starts_with(|c: char| c.is_ascii_digit() || c == '>') || word == "-";
        let is_rule = word.chars().all(|c| c == '-') && word != "-";
        match word {
            _ if is_run => "RUN",
            _ if is_rule => "-",
            _ if is_number => "N",
            // The means decide which unit a table of latencies has.
            "ms" | "µs" => "TIME",
            word => word,
        }
    });
    words.take(WORDS).collect::<Vec<_>>().join(" ")
}

/// Findings begin so; they and what follows them depend on the machine.
fn is_finding(line: &str) -> bool {
    ["Warning [", "CRITICAL", "Info ["].iter().any(|mark| line.starts_with(mark))
        || line.contains("remark")
        || line.starts_with("--explain ")
        || line.starts_with("No warnings")
        || ["GOOD?", "LIMIT", "CHANGED", "WARNING", "NEXT"].iter().any(|title| line.starts_with(title))
}

/// Runs a command as a shell in an empty home would.
fn typed(story: &crate::story::Story, command: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_assay"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(story.path(""))
        .env("HOME", story.path(""))
        .env("PATH", path)
        .env_remove("ASSAY_STORE")
        .env_remove("XDG_DATA_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = crate::story::printed(output).ends(crate::story::DONE);
    format!("{}{}", printed.out, printed.err)
}

fn check(command: &str, shown: &[&str], came: &str) {
    let mut came_lines = came.lines().map(shape);
    for line in shown.iter().take_while(|line| !is_finding(line)) {
        // An ellipsis stands for lines that are left out.
        if line.trim().is_empty() || line.trim() == "…" {
            continue;
        }
        let wanted = shape(line);
        assert!(
            came_lines.any(|came| came == wanted),
            "`{line}` of `{command}` did not come; this did:\n{came}"
        );
    }
}

#[test]
fn the_tour_works_as_typed_in_an_empty_home() {
    assert!(type_all(TOUR) >= 8, "a tour has some commands");
}

#[test]
fn the_readme_works_as_typed_in_an_empty_home() {
    assert!(type_all(README) >= 3, "the README has a session");
}

/// Types every command of a document, and returns how many there were.
#[expect(clippy::print_stderr, reason = "names what is not run")]
fn type_all(document: &'static str) -> usize {
    let story = crate::story::Story::new();
    let mut count = 0;
    for block in blocks(document) {
        match block.kind {
            "toml" => {
                let name = block.lines[0].trim_start_matches("# ");
                story.write(name, block.lines.join("\n"));
            }
            "console" => {
                let starts: Vec<usize> =
                    (0..block.lines.len()).filter(|i| block.lines[*i].starts_with("$ ")).collect();
                for (index, start) in starts.iter().enumerate() {
                    let end = starts.get(index + 1).copied().unwrap_or(block.lines.len());
                    let command = &block.lines[*start][2..];
                    let came = typed(&story, command);
                    check(command, &block.lines[start + 1..end], &came);
                    count += 1;
                }
            }
            "text" => {
                for line in block.lines.iter().filter(|line| line.starts_with("$ ")) {
                    eprintln!("not run, as it needs a disk or a NAS: {}", &line[2..]);
                }
            }
            _ => {}
        }
    }
    count
}
