//! Batch files and scripts of PowerShell with commands of DiskSpd or SQLIO: assignments are carried out, every command
//! becomes a line of its own.
//!
//! No shell is run: loops and conditions are refused. Other commands change nothing that is measured, and become notes.

use std::collections::HashMap;

use super::parts::{Link, parts, without_texts};
use super::{Tool, tool};
use crate::fio::Surroundings;
use crate::fio::typed::{COMMANDS_MAX, LOOPS};
use crate::secrets::of_commands;
use crate::{ImportError, Note, complain};

/// The longest line after variables are put in, bytes.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Commands that change nothing for those of the tools.
const SILENT: [&str; 11] = [
    "echo", "pause", "timeout", "sleep", "start-sleep", "write-host", "cls", "cd", "title", "setlocal",
    "endlocal",
];

/// A command, and the line on which it begins, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: String,
}

/// Returns the commands of DiskSpd and SQLIO in their order, with what a shell would put in.
pub(super) fn commands(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Line>, ImportError> {
    let lines = lines(text);
    let (variables, commands) = (HashMap::new(), Vec::new());
    let last_line = lines.iter().filter(|line| may_have_command(&line.text)).map(|line| line.number).max();
    let mut batch = Batch {
        origin,
        surroundings,
        last_line: last_line.unwrap_or(0),
        variables,
        commands,
        is_ended: false,
        notes,
    };
    if let Some(line) = lines.get(COMMANDS_MAX) {
        return Err(batch.at(line, format!("there are more than {COMMANDS_MAX} commands")));
    }
    for line in &lines {
        if !batch.is_ended {
            batch.commands_of(line)?;
        }
    }
    Ok(batch.commands)
}

/// The lines of a text without remarks, each together with those that continue it.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut is_continued = false;
    for (index, raw) in without_texts(text).into_iter().enumerate() {
        let whole = raw.trim().trim_start_matches('@');
        let begun = whole.strip_suffix(['^', '`', '\\']).filter(|begun| begun.ends_with(' '));
        let part = begun.unwrap_or(whole);
        match lines.last_mut() {
            Some(last) if is_continued => {
                last.text.push_str(part);
            }
            _ if is_remark(part) || part.is_empty() => continue,
            _ => lines.push(Line { number: index + 1, text: part.to_owned() }),
        }
        is_continued = begun.is_some();
    }
    lines
}

/// Whether a line says nothing to a shell.
pub(super) fn is_remark(line: &str) -> bool {
    let head: String = line.trim_start_matches('@').chars().take(4).collect::<String>().to_lowercase();
    line.starts_with(['#', ';', '[']) || head.starts_with("::") || head.trim_end() == "rem"
}

struct Batch<'s> {
    origin: &'s str,
    surroundings: &'s Surroundings<'s>,
    /// The last one that has a command of the tools.
    last_line: usize,

    /// By their names as they are put in: `%SIZE%` in capitals, `$size` and `%%b` as written.
    variables: HashMap<String, String>,
    commands: Vec<Line>,
    /// Whether `exit` was carried out.
    is_ended: bool,
    notes: &'s mut Vec<Note>,
}

impl Batch<'_> {
    fn at(&self, line: &Line, says: impl Into<String>) -> ImportError {
        complain(self.origin, line.number, says)
    }

    /// Carries out the commands of a line.
    fn commands_of(&mut self, line: &Line) -> Result<(), ImportError> {
        for part in parts(&line.text) {
            let own = Line { number: line.number, text: part.text.to_owned() };
            let decided = match part.link {
                Link::Next => None,
                Link::Failure => Some("`||`: whether it runs depends on the command before"),
                Link::Pipe => Some("`|`: a command of the tools behind a pipe is not supported"),
            };
            match decided {
                Some(why) if may_have_command(part.text) => {
                    return Err(self.at(line, format!("{why}; give the commands themselves")));
                }
                Some(_) => {}
                None if is_loop(part.text) => {
                    return Err(self.at(line, format!("`{}`: {LOOPS}", first_word(part.text))));
                }
                None if self.flow(&own)? => {}
                None => self.single(&own)?,
            }
            if self.is_ended {
                break;
            }
        }
        Ok(())
    }

    /// Carries out what says which commands run; returns whether the command was one of these.
    fn flow(&mut self, line: &Line) -> Result<bool, ImportError> {
        let mut words = line.text.split_whitespace().map(str::to_lowercase);
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_end = ["exit", "return"].contains(&first.trim_end_matches(';'))
            || (first == "goto" && second == ":eof")
            || first == "goto:eof";
        if is_end {
            self.is_ended = true;
            if line.number < self.last_line {
                let says = format!("`{}` ends the script; nothing behind it is run.", line.text);
                self.notes.push(Note::new(line.number, says));
            }
            return Ok(true);
        }
        let decides = ["goto", "call", "break", "continue"].iter().find(|word| {
            first.strip_prefix(**word).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ';']))
        });
        let concerns_more = line.number <= self.last_line;
        match decides {
            Some(word) if concerns_more => {
                let says = "which commands run behind it only a shell decides; give the commands themselves";
                Err(self.at(line, format!("`{word}`: {says}")))
            }
            _ if first == "start" && may_have_command(&line.text) => {
                let says = "commands that run side by side are not supported; give them by themselves, or one with \
                            all files";
                Err(self.at(line, format!("`start`: {says}")))
            }
            _ => Ok(false),
        }
    }

    /// Whether a condition decides on the end of the script, other than after a failure.
    fn ends_if(&self, line: &Line) -> bool {
        let text = line.text.to_lowercase();
        let is_failure = ["errorlevel", "lastexitcode", "$?"].iter().any(|word| text.contains(word));
        let mut words = text.split(|c: char| c.is_whitespace() || "{}();".contains(c));
        line.number <= self.last_line
            && !is_failure
            && words.any(|word| ["goto", "exit", "return", "break", "continue", "call"].contains(&word))
    }

    /// Carries out a command.
    fn single(&mut self, line: &Line) -> Result<(), ImportError> {
        if let Some((name, value)) = assignment(&line.text).map_err(|says| self.at(line, says))? {
            let value = self.expanded(line, value)?;
            self.variables.insert(name, value);
            return Ok(());
        }
        match tool(after_assignment(&line.text)) {
            Some((Tool::Fio, _)) => {
                Err(self.at(line, "a command of fio among those of DiskSpd or SQLIO; give it by itself"))
            }
            Some(_) => {
                let text = self.expanded(line, after_assignment(&line.text))?;
                self.commands.push(Line { number: line.number, text });
                Ok(())
            }
            None => {
                let word = first_word(&line.text);
                let begins_block = line.text.ends_with(['{', '(']) && word != "function";
                let is_decided = word == "if" && self.ends_if(line);
                if begins_block || is_decided || may_have_command(&line.text) {
                    return Err(self.at(line, format!("`{word}`: {LOOPS}")));
                }
                let is_silent =
                    SILENT.contains(&word.as_str()) || line.text.starts_with([':', '}', ')', '{']);
                let note =
                    Note::new(line.number, format!("`{word}` is not DiskSpd or SQLIO; it is not run."));
                if !is_silent && !self.notes.iter().any(|known| known.says == note.says) {
                    self.notes.push(note);
                }
                Ok(())
            }
        }
    }

    /// Puts in the values of variables: `%SIZE%`, `!SIZE!`, `%%b`, `$size`, `${size}`, `$($size)`.
    fn expanded(&self, line: &Line, text: &str) -> Result<String, ImportError> {
        let (mut done, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['%', '!', '$']) {
            let (before, from) = rest.split_at(at);
            done.push_str(before);
            let (value, behind) = match reference(from) {
                Some((key, behind)) => (self.value(line, &key)?, behind),
                None => (from[..1].to_owned(), &from[1..]),
            };
            done.push_str(&value);
            if done.len() > LINE_BYTES_MAX {
                return Err(self.at(line, "the line is too long with its variables"));
            }
            rest = behind;
        }
        // Only now an address that was put together of variables is one.
        Ok(of_commands(&(done + rest)).into_owned())
    }

    fn value(&self, line: &Line, key: &str) -> Result<String, ImportError> {
        let name = key.trim_start_matches(['%', '$']);
        let found = self.variables.get(key).cloned().or_else(|| (self.surroundings.variable)(name));
        found.ok_or_else(|| self.at(line, format!("the variable {name} is not set")))
    }
}

/// Whether a command of the tools with an option stands somewhere in a line, as behind `if`.
fn may_have_command(text: &str) -> bool {
    let plain = text.replace(['(', '{', ')', '}', '@', '"', '&', ';', '|'], " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.windows(2).any(|pair| pair[1].starts_with('-') && tool(&pair.join(" ")).is_some())
}

fn is_loop(text: &str) -> bool {
    let first = first_word(text);
    first == "for" || first.starts_with("foreach")
}

/// The variable that a text begins with, as it is kept, and the text behind it.
fn reference(text: &str) -> Option<(String, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(loop_variable) = text.strip_prefix("%%") {
        let letter = loop_variable.chars().next().filter(char::is_ascii_alphabetic)?;
        return Some((format!("%%{letter}"), &loop_variable[1..]));
    }
    if let Some(inner) = text.strip_prefix('$') {
        let (open, close) =
            [("($", ")"), ("{", "}"), ("", "")].into_iter().find(|(open, _)| inner.starts_with(open))?;
        let inner = &inner[open.len()..];
        let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
        let behind = inner[end..].strip_prefix(close)?;
        return (end > 0).then(|| (format!("${}", &inner[..end]), behind));
    }
    let mark = &text[..1];
    let (name, behind) = text[1..].split_once(mark)?;
    (!name.is_empty() && name.chars().all(is_name)).then(|| (format!("%{}", name.to_uppercase()), behind))
}

/// Returns the name and the value of `set NAME=VALUE`, `$name = VALUE`; an error says what cannot be set.
fn assignment(text: &str) -> Result<Option<(String, &str)>, String> {
    let words = text.split_once(char::is_whitespace);
    if let Some((_, rest)) = words.filter(|(word, _)| word.eq_ignore_ascii_case("set")) {
        let rest = rest.trim().trim_matches('"');
        if rest.starts_with('/') {
            return Err("only `set NAME=VALUE` is supported".to_owned());
        }
        return Ok(rest
            .split_once('=')
            .map(|(name, value)| (format!("%{}", name.trim().to_uppercase()), value.trim_end())));
    }
    let Some((key, behind)) = text.starts_with('$').then(|| reference(text)).flatten() else {
        return Ok(None);
    };
    let value = behind.trim_start().strip_prefix('=').map(str::trim);
    // The output of a command is of no interest, the command is.
    Ok(value.filter(|value| tool(value).is_none()).map(|value| {
        let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        (key, inner.filter(|inner| !inner.contains('"')).unwrap_or(value))
    }))
}

/// `$out = diskspd …` without what its output goes to.
fn after_assignment(text: &str) -> &str {
    let behind = text.starts_with('$').then(|| reference(text)).flatten().map(|(_, behind)| behind);
    behind.and_then(|behind| behind.trim_start().strip_prefix('=')).map_or(text, str::trim_start)
}

fn first_word(text: &str) -> String {
    let end = text.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(text.len());
    text[..end].chars().take(40).collect::<String>().to_lowercase()
}
