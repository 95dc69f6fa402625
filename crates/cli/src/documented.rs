//! Every command and every TOML block of README, docs and `--help` is what the program takes: commands are read as a
//! shell and then the command line would, plans are resolved. Nothing is run, so this costs a second.

use std::path::{Path, PathBuf};

use assay_spec::{Overrides, PlanFile};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use crate::args::Cli;
use crate::words::either_order;

/// A command, and where it stands.
struct Command {
    place: String,
    line: String,
    /// Whether it stands in a sentence, which may name a verb alone.
    is_inline: bool,
}

fn documents() -> Vec<(String, String)> {
    fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            match path.is_dir() {
                true => markdown(&path, found),
                false => found.extend(path.extension().is_some_and(|ending| ending == "md").then_some(path)),
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    markdown(&root.join("docs"), &mut paths);
    let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// Blocks of a document: the line that each begins in, its kind, and its lines.
fn blocks(text: &str) -> Vec<(usize, String, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, Vec<&str>)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(kind), None) => open = Some((number, kind.to_owned(), Vec::new())),
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.2.push(line);
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Commands of the blocks: lines behind a prompt, or in a shell script; a line that ends in a backslash goes on.
fn typed(name: &str, text: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    for (start, kind, lines) in blocks(text) {
        let is_script = kind == "sh";
        let mut lines = (start + 1..).zip(lines.iter().map(|line| line.trim()));
        while let Some((number, line)) = lines.next() {
            let behind = ["$ ", "# "].iter().find_map(|prompt| line.strip_prefix(prompt));
            let Some(first) = behind.or(is_script.then_some(line)) else { continue };
            let mut whole = first.to_owned();
            while let Some(begun) = whole.strip_suffix('\\') {
                let next = lines.next().map_or("", |(_, next)| next.trim_start_matches("> "));
                whole = format!("{begun} {next}");
            }
            let place = format!("{name}:{number}");
            commands.push(Command { place, line: whole, is_inline: false });
        }
    }
    commands
}

/// Commands in the text: `assay run …`. One that is abridged, or names what to put in, is none to type.
fn inline(name: &str, text: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut is_block = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_block ^= line.trim_start().starts_with("```");
        if is_block {
            continue;
        }
        let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("assay "));
        let is_whole = |span: &&str| !span.contains(['…', '[', '|', '<']);
        commands.extend(spans.filter(is_whole).map(|span| Command {
            place: format!("{name}:{number}"),
            line: span.to_owned(),
            is_inline: true,
        }));
    }
    commands
}

/// Examples under `--help`.
fn helped() -> Vec<Command> {
    let mut commands = Vec::new();
    for verb in Cli::command().get_subcommands() {
        let Some(help) = verb.get_after_help() else { continue };
        let text = help.to_string().replace("\\\n", " ");
        let examples = text.lines().filter(|line| line.starts_with("    assay "));
        commands.extend(examples.map(|line| Command {
            place: format!("assay {} --help", verb.get_name()),
            line: line.trim().to_owned(),
            is_inline: false,
        }));
    }
    commands
}

/// Words of each program that a shell would start; comments and redirections are not theirs.
fn split(line: &str) -> Vec<Vec<String>> {
    let (mut programs, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let (mut quote, mut is_word) = (None, false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', Some('"') | None) => word.extend(letters.next()),
            (letter, Some(_)) => word.push(letter),
            ('\'' | '"', None) => (quote, is_word) = (Some(letter), true),
            ('#', None) if !is_word => break,
            ('|' | ';' | '&' | '>' | '<' | '(' | ')', None) => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                programs.push(std::mem::take(&mut words));
                is_word = false;
            }
            (space, None) if space.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            (letter, None) => {
                is_word = true;
                word.push(letter);
            }
        }
    }
    if is_word {
        words.push(word);
    }
    programs.push(words);
    programs
}

/// Whether more words would make a command whole.
fn is_unfinished(kind: ErrorKind) -> bool {
    use ErrorKind::{
        DisplayHelpOnMissingArgumentOrSubcommand as Alone, MissingRequiredArgument, MissingSubcommand,
    };
    matches!(kind, Alone | MissingRequiredArgument | MissingSubcommand | ErrorKind::WrongNumberOfValues)
        || kind == ErrorKind::TooFewValues
}

/// Why the program would not take a command; `None` if it does, or is not called.
fn fault(command: &Command) -> Option<String> {
    let is_name = |word: &String| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    for words in split(&command.line) {
        // `sudo assay`, `ASSAY_STORE=x assay`, `$(assay …)`.
        let Some(at) = words.iter().position(|word| word.trim_start_matches("$(") == "assay") else {
            continue;
        };
        let words = &words[at..];
        // The words of another program's option stand for something.
        let stands_for = words.windows(2).any(|two| two[0].starts_with('-') && is_name(&two[1]));
        if words.len() == 1 || stands_for || words.iter().any(|word| word.starts_with('$')) {
            continue;
        }
        if crate::words::targets::looks_like_target(&words[1]) {
            continue;
        }
        match Cli::try_parse_from(words) {
            Ok(mut cli) => either_order::settle(&mut cli.verb),
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {}
            Err(error) if command.is_inline && is_unfinished(error.kind()) => {}
            Err(error) => {
                let says = error.to_string().lines().next().unwrap_or_default().to_owned();
                return Some(format!("{}: `{}`: {says}", command.place, command.line));
            }
        }
    }
    None
}

#[test]
fn every_command_of_the_documents_is_one_that_the_program_takes() {
    let documents = documents();
    let mut commands: Vec<Command> = documents
        .iter()
        .flat_map(|(name, text)| typed(name, text).into_iter().chain(inline(name, text)))
        .collect();
    commands.extend(helped());
    let ours = commands.iter().filter(|command| command.line.contains("assay ")).count();
    assert!(ours >= 250, "only {ours} commands were found");
    let faults: Vec<String> = commands.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} of {ours} are not taken:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_plan_of_the_documents_resolves() {
    let mut plans = 0;
    for (name, text) in documents() {
        for (line, kind, lines) in blocks(&text) {
            let block = lines.join("\n");
            if kind != "toml" || !block.contains("[[test]]") {
                continue;
            }
            plans += 1;
            let place = format!("{name}:{line}");
            let file = PlanFile::parse(&place, &block).unwrap_or_else(|error| panic!("{error}"));
            // Loads that are shares of a maximum need the search for it first.
            let over = Overrides::default();
            let search = file.search(&over).unwrap_or_else(|error| panic!("{place}: {error}"));
            if search.is_none() {
                file.resolve(&over).unwrap_or_else(|error| panic!("{place}: {error}"));
            }
        }
    }
    assert!(plans >= 4, "only {plans} plans were found");
}

#[test]
fn a_shell_line_is_cut_as_a_shell_cuts_it() {
    let cut = split("assay compare a 'b c' | head # all; of it");
    assert_eq!(cut, [vec!["assay", "compare", "a", "b c"], vec!["head"]]);
    assert_eq!(split("x && assay runs > f"), [vec!["x"], vec![], vec!["assay", "runs"], vec!["f"]]);
}
