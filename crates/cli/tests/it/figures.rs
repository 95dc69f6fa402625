//! Figures of README and docs: what a document shows below a command that needs no target is what the program prints,
//! in words exactly and in numbers within a band.

use std::path::{Path, PathBuf};

use crate::story::{DONE, Story};

/// Numbers may be off by this share: a model is tuned, and a document says what is about so.
const BAND: f64 = 0.05;
/// Verbs that need no target, and files that the documents do not make.
const VERBS: [&str; 2] = ["assay predict ", "assay size "];
const OWN_FILES: [&str; 2] = ["my-", "mine"];

/// A command with the lines below it.
struct Shown {
    place: String,
    command: String,
    lines: Vec<String>,
}

fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("docs")];
    let mut paths: Vec<PathBuf> = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => paths.extend(entry.extension().is_some_and(|end| end == "md").then_some(entry)),
            }
        }
    }
    let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

fn shown(name: &str, text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let (mut is_block, mut is_open) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            (is_block, is_open) = (!is_block, false);
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_block) {
            is_open = VERBS.iter().any(|verb| command.starts_with(verb));
            if is_open {
                let (place, command) = (format!("{name}:{number}"), command.to_owned());
                found.push(Shown { place, command, lines: Vec::new() });
            }
        } else if let Some(last) = found.last_mut().filter(|_| is_open) {
            // A command goes on behind a backslash.
            match last.command.strip_suffix('\\') {
                Some(begun) if last.lines.is_empty() => last.command = format!("{begun} {}", line.trim()),
                _ => last.lines.push(line.to_owned()),
            }
        }
    }
    let is_own = |shown: &Shown| OWN_FILES.iter().any(|file| shown.command.contains(file));
    found.retain(|shown| shown.lines.iter().any(|line| !line.trim().is_empty()) && !is_own(shown));
    found
}

/// The words of lines, however they are wrapped.
fn words(lines: &[String]) -> Vec<String> {
    let is_rule = |word: &&str| word.chars().all(|c| c == '-') && word.len() > 1;
    lines.iter().flat_map(|line| line.split_whitespace()).filter(|w| !is_rule(w)).map(str::to_owned).collect()
}

/// Whether two words are the same, but for numbers in the band: `(57.9..136)` has two.
fn is_like(shown: &str, printed: &str) -> bool {
    let parts = |word: &str| -> (String, Vec<f64>) {
        let (mut text, mut numbers, mut digits) = (String::new(), Vec::new(), String::new());
        let letters: Vec<char> = word.chars().collect();
        for (at, letter) in letters.iter().enumerate() {
            let next_is_digit = letters.get(at + 1).is_some_and(char::is_ascii_digit);
            match letter {
                digit if digit.is_ascii_digit() => digits.push(*digit),
                ',' if !digits.is_empty() && next_is_digit => {}
                '.' if !digits.is_empty() && next_is_digit => digits.push('.'),
                other => {
                    numbers.extend(std::mem::take(&mut digits).parse::<f64>());
                    text.push(*other);
                }
            }
        }
        numbers.extend(digits.parse::<f64>());
        (text, numbers)
    };
    let ((a, x), (b, y)) = (parts(shown), parts(printed));
    let is_near = |(x, y): (&f64, &f64)| (x - y).abs() <= BAND * x.abs().max(y.abs()) + 0.011;
    a == b && x.len() == y.len() && x.iter().zip(&y).all(is_near)
}

/// Why a document does not show what is printed; `…` on a line of its own stands for what is left out.
fn fault(shown: &Shown, printed: &str) -> Option<String> {
    let printed = words(&printed.lines().map(str::to_owned).collect::<Vec<_>>());
    for part in shown.lines.split(|line| line.trim() == "…") {
        let part = words(part);
        let fits = |at: usize| {
            let window = printed.get(at..at + part.len());
            window.is_some_and(|window| part.iter().zip(window).all(|(a, b)| is_like(a, b)))
        };
        if !(0..=printed.len()).any(fits) {
            // The longest beginning that is printed says where they part.
            let agree =
                |at: usize| part.iter().zip(&printed[at..]).take_while(|(a, b)| is_like(a, b)).count();
            let best = (0..printed.len()).max_by_key(|at| agree(*at)).unwrap_or(0);
            let (from, count) = (agree(best), 6);
            let take = |of: &[String], at: usize| {
                of.iter().skip(at).take(count).cloned().collect::<Vec<_>>().join(" ")
            };
            return Some(format!(
                "{} shows `{}`, and `{}` prints `{}`",
                shown.place,
                take(&part, from),
                shown.command,
                take(&printed, best + from)
            ));
        }
    }
    None
}

#[test]
fn figures_of_the_documents_are_those_that_the_program_prints() {
    let all: Vec<Shown> = documents().iter().flat_map(|(name, text)| shown(name, text)).collect();
    assert!(all.len() >= 7, "only {} commands show what they print", all.len());
    let story = Story::new();
    let each = all.iter().filter_map(|shown| {
        let words = shlex(&shown.command);
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        fault(shown, &story.assay(&words).ends(DONE).out)
    });
    let faults: Vec<String> = each.collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), all.len(), faults.join("\n"));
}

/// A question of the table of `docs/guide/sizing.md`, the array of it, and the answer.
fn twenty_questions() -> Vec<(String, Option<String>, u32)> {
    let all = documents();
    let (_, text) = all.iter().find(|(name, _)| name == "docs/guide/sizing.md").unwrap();
    let section = text.split("## Twenty questions").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (question, array) = match cells[1].split_once(" (`--array ") {
            Some((question, rest)) => (question, Some(rest.trim_end_matches("`)").to_owned())),
            None => (cells[1], None),
        };
        let count = cells[2].split(' ').next().unwrap().parse().unwrap();
        (question.to_owned(), array, count)
    })
    .collect()
}

#[test]
fn the_twenty_questions_about_sizes_have_the_answers_of_the_table() {
    let questions = twenty_questions();
    assert_eq!(questions.len(), 20);
    let story = Story::new();
    let faults = questions.iter().filter_map(|(question, array, wanted)| {
        let mut words = vec!["size", question.as_str()];
        words.extend(array.iter().flat_map(|array| ["--array", array.as_str()]));
        let out = story.assay(&words).ends(DONE).out;
        // `80 x 7200 rpm disks in RAID10 sustain this`, or `ts140-raid10 with 14 devices sustains this`.
        let words: Vec<&str> = out.split_whitespace().collect();
        let counts = words.windows(2).filter_map(|pair| match pair {
            [count, "x"] | ["with", count] => count.parse::<u32>().ok(),
            _ => None,
        });
        let found = counts.take(1).next();
        let is_near = |count: u32| f64::from(count.abs_diff(*wanted)) <= BAND * f64::from(*wanted);
        (!found.is_some_and(is_near)).then(|| format!("{question}: {found:?}, the table has {wanted}"))
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The words of a line with double quotes.
fn shlex(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            1 => vec![part.to_owned()],
            _ => part.split_whitespace().map(str::to_owned).collect(),
        })
        .collect()
}

#[test]
fn words_agree_exactly_and_numbers_within_the_band() {
    assert!(is_like("x1.66", "x1.70") && is_like("(57.9..136)", "(58.0..140)") && is_like("2,020", "2,027"));
    assert!(!is_like("x1.66", "x1.86") && !is_like("414", "315") && !is_like("disks", "links"));
}
