//! Command lines of fio, as people paste them and keep them in scripts: `fio --name=x --rw=randread --bs=4k`.
//!
//! As in fio, options before the first `--name` are those of `[global]`, each `--name` begins a job, and job files are
//! read after all options. fio takes one dash or two, and `--bs 4k` as well as `--bs=4k`. The jobs of the second
//! command and of each that follows run after those before it. Of a script, assignments are carried out; loops and
//! conditions are refused.

use std::collections::HashMap;

use super::lines::{JobLines, OptionLine, Reader};
use super::shell::{Command, Link, commands, expanded, is_variable};
use super::words::{assignment, is_before_command, is_fio, is_wrapper};
use crate::surroundings::Surroundings;
use crate::{ImportError, Note, complain};

/// The most commands of a script.
pub(crate) const COMMANDS_MAX: usize = 500;
/// What to do about the loops of a script.
pub(crate) const LOOPS: &str =
    "loops and conditions of a shell are not carried out; give the commands one by one";
/// Words that begin what only a shell can carry out.
const KEYWORDS: [&str; 11] =
    ["for", "while", "until", "if", "case", "select", "function", "foreach", "do", "done", "{"];
/// Commands that change nothing for those of fio.
const SILENT: [&str; 7] = ["set", "echo", "printf", "sleep", "date", "exit", "wait"];

/// Options of jobs that need no value.
const FLAGS: [&str; 16] = [
    "bs_unaligned",
    "blocksize_unaligned",
    "norandommap",
    "time_based",
    "verify_only",
    "exitall",
    "exitall_on_error",
    "stonewall",
    "wait_for_previous",
    "new_group",
    "thread",
    "group_reporting",
    "zero_buffers",
    "refill_buffers",
    "hipri",
    "sqthread_poll",
];
/// Options of the program without a value, which say how fio prints.
const PRINTING_FLAGS: [&str; 5] =
    ["minimal", "append-terse", "bandwidth-log", "warnings-fatal", "parse-only"];
/// Options of the program with a value, which say how fio prints, or where it gets its memory.
const PRINTING: [&str; 13] = [
    "output", "o", "output-format", "latency-log", "terse-version", "eta", "eta-interval", "eta-newline",
    "status-interval", "debug", "alloc-size", "max-jobs", "idle-prof",
];
/// Options of the program that ask for something else than a run.
const NO_RUN: [&str; 22] = [
    "version",
    "v",
    "help",
    "h",
    "cmdhelp",
    "enghelp",
    "showcmd",
    "crctest",
    "cpuclock-test",
    "memcpytest",
    "inflate-log",
    "profile",
    "server",
    "daemonize",
    "client",
    "remote-config",
    "trigger-file",
    "trigger-timeout",
    "trigger",
    "trigger-remote",
    "aux-path",
    "merge-blktrace-only",
];
/// Splits words into those before a command, and the command.
fn at_command(mut words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let at = |index: usize| words.get(index).map(String::as_str);
    let wraps = |index: usize| at(index).is_some_and(|word| is_wrapper(word, at(index + 1)));
    let begins = (0..words.len())
        .find(|index| is_fio(&words[*index]) || wraps(*index) || !is_before_command(&words[*index]))
        .unwrap_or(words.len());
    // `timeout 60 fio`, `sudo -u fio fio`: the words of such a command stand before it too.
    let is_last = |index: &usize| at(*index).is_some_and(is_fio) && !at(index + 1).is_some_and(is_fio);
    let wrapped =
        Some(begins).filter(|begins| wraps(*begins)).and_then(|begins| (begins..words.len()).find(is_last));
    let begins = wrapped.unwrap_or(begins);
    let command = words.split_off(begins);
    (words, command)
}

/// Whether messages name the line of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Named,
    Unnamed,
}

/// What the commands of a text ask for.
struct Typed<'s> {
    origin: &'s str,
    surroundings: &'s Surroundings<'s>,
    lines: Lines,

    variables: HashMap<String, String>,
    jobs: Vec<JobLines>,
    /// Commands of fio so far.
    commands: usize,
    beside: Beside,
    /// Whether `exit` was carried out.
    is_ended: bool,
    /// Line of the last command of fio.
    last_line: usize,
    notes: &'s mut Vec<Note>,
}

/// What may still run in the background when a command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// Commands that began together with it.
    Started,
    /// The same, and a command that ran beside them has ended: nobody knows how long they go on.
    Unknown,
}

/// Returns the jobs of all commands in their order. Other commands of a script become notes.
pub(super) fn jobs<'s>(
    origin: &'s str,
    text: &str,
    surroundings: &'s Surroundings<'s>,
    notes: &'s mut Vec<Note>,
) -> Result<Vec<JobLines>, ImportError> {
    let commands = commands(text).map_err(|(line, says)| complain(origin, line, says))?;
    // A line number helps nobody where there is one line.
    let lines = if commands.len() == 1 { Lines::Unnamed } else { Lines::Named };
    let variables = HashMap::new();
    let is_of_fio = |command: &&Command| command.words.iter().any(|word| is_fio(word));
    let last_line = commands.iter().filter(is_of_fio).map(|command| command.line).max().unwrap_or(0);
    let mut typed = Typed {
        origin,
        surroundings,
        lines,
        variables,
        jobs: Vec::new(),
        commands: 0,
        beside: Beside::Nothing,
        is_ended: false,
        last_line,
        notes,
    };
    if let Some(command) = commands.get(COMMANDS_MAX) {
        return Err(complain(origin, command.line, format!("there are more than {COMMANDS_MAX} commands")));
    }
    for command in &commands {
        if !typed.is_ended {
            typed.single(command)?;
        }
    }
    match typed.jobs.is_empty() {
        true => Err(complain(origin, 0, "has no job: no option of a job and no job file is given")),
        false => Ok(typed.jobs),
    }
}

/// The options of one command.
#[derive(Default)]
struct Program {
    files: Vec<String>,
    sections: Vec<String>,
    /// Whether `--readonly` forbids writes.
    guard: Option<OptionLine>,
}

impl Typed<'_> {
    fn line(&self, command: &Command) -> usize {
        if self.lines == Lines::Named { command.line } else { 0 }
    }

    /// Carries out one command.
    fn single(&mut self, command: &Command) -> Result<(), ImportError> {
        let (origin, line) = (self.origin, self.line(command));
        let at = |says: String| complain(origin, line, says);
        let (before, words) = at_command(command.words.clone());
        if command.link == Link::Failure {
            // What goes wrong with a command is for the user to see.
            return match words.iter().any(|word| is_fio(word)) {
                true => Err(at(
                    "`||`: whether fio runs depends on the command before; give the commands themselves"
                        .to_owned(),
                )),
                false => Ok(()),
            };
        }
        let is_last =
            before.iter().any(|word| word == "exec") && words.first().is_some_and(|word| is_fio(word));
        self.assign(before.into_iter()).map_err(at)?;
        let mut words = words.into_iter();
        let Some(first) = words.next() else { return Ok(()) };
        if KEYWORDS.contains(&first.as_str())
            || first.starts_with('(')
            || first.ends_with("()")
            || first.ends_with("(){")
        {
            return Err(at(format!("`{first}`: {LOOPS} (`set -x` prints them as the shell runs them)")));
        }
        if is_fio(&first) {
            self.command(line, words.collect(), command.is_background)?;
            self.is_ended |= is_last && !command.is_background;
            return Ok(());
        }
        if self.flow(command, &first).map_err(at)? {
            return Ok(());
        }
        if first == "export" || first == "declare" {
            return self.assign(words).map_err(at);
        }
        let short: String = first.chars().take(40).collect();
        let note = Note::new(line, format!("`{short}` is not fio; it is not run."));
        if !SILENT.contains(&first.as_str()) && !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Ok(())
    }

    /// Carries out what says which commands run, and when; returns whether the command was one of these.
    fn flow(&mut self, command: &Command, first: &str) -> Result<bool, String> {
        let concerns_more = command.line <= self.last_line;
        match first {
            "exit" | "return" if command.link == Link::Success && concerns_more => Err(format!(
                "`&& {first}`: whether fio runs behind it depends on the command before; leave it out"
            )),
            "exit" | "return" => {
                self.is_ended = true;
                if command.line < self.last_line {
                    let says = format!("`{first}` ends the script; nothing behind it is run.");
                    self.notes.push(Note::new(command.line, says));
                }
                Ok(true)
            }
            "wait" if command.words.len() > 1 && self.beside != Beside::Nothing => {
                Err("`wait` for one of several commands is not supported; write `wait` alone".to_owned())
            }
            "wait" => {
                self.beside = Beside::Nothing;
                Ok(true)
            }
            "sleep" if self.beside != Beside::Nothing => {
                Err("`sleep` beside a command in the background is not supported; use --startdelay"
                    .to_owned())
            }
            _ => Ok(false),
        }
    }

    /// Words with the values of their variables; a variable alone may be several words.
    fn expanded(&self, words: Vec<String>) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        for word in words {
            let value = expanded(&word, &self.variables, self.surroundings.variable)?;
            match is_variable(&word) {
                true => all.extend(value.split_whitespace().map(str::to_owned)),
                false => all.push(value),
            }
        }
        Ok(all)
    }

    fn assign(&mut self, words: impl Iterator<Item = String>) -> Result<(), String> {
        for word in words {
            if let Some((name, value)) = assignment(&word) {
                let value = expanded(value, &self.variables, self.surroundings.variable)?;
                self.variables.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }

    /// Reads one command of fio; `words` are those behind the name of the program.
    fn command(&mut self, line: usize, words: Vec<String>, is_background: bool) -> Result<(), ImportError> {
        let origin = self.origin;
        let words = self.expanded(words).map_err(|says| complain(origin, line, says))?;
        let mut reader = Reader::of_command(self.surroundings);
        let mut program = Program::default();
        let mut words = words.into_iter().peekable();
        let mut has_options = false;
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                program.files.push(word);
                continue;
            };
            let (key, mut value) = match option.split_once('=') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (option.to_owned(), None),
            };
            let needs_value = !FLAGS.contains(&key.as_str())
                && !PRINTING_FLAGS.contains(&key.as_str())
                && !["readonly", "r"].contains(&key.as_str());
            if value.is_none() && needs_value {
                value = words.next_if(|next| !next.starts_with('-'));
            }
            has_options |= self.option(line, (&key, value), &mut reader, &mut program)?;
        }
        if has_options && !reader.has_jobs() && program.files.is_empty() {
            // fio would refuse to run; there is no doubt about what is meant.
            reader.begin(origin, line, "fio")?;
        }
        for path in std::mem::take(&mut program.files) {
            reader.job_file(origin, line, &path)?;
        }
        let before = self.jobs.len();
        self.take(line, reader.into_jobs(), program)?;
        self.place(line, before, is_background)
    }

    /// Reads one option; returns whether it is one of a job.
    fn option(
        &self,
        line: usize,
        (key, value): (&str, Option<String>),
        reader: &mut Reader<'_>,
        program: &mut Program,
    ) -> Result<bool, ImportError> {
        let at = |says: String| complain(self.origin, line, says);
        let text = value.clone().unwrap_or_default();
        match key {
            "name" if text.is_empty() => return Err(at("--name needs the name of a job".to_owned())),
            "name" => reader.begin(self.origin, line, &text)?,
            "section" => program.sections.push(text),
            "readonly" | "r" => {
                let (file, key) = (self.origin.to_owned(), "readonly".to_owned());
                program.guard = Some(OptionLine { file, line, key, value: String::new(), unset: None });
            }
            key if PRINTING.contains(&key) || PRINTING_FLAGS.contains(&key) => {}
            key if NO_RUN.contains(&key) => {
                return Err(at(format!("--{key} is not supported; give the options of jobs, or a job file")));
            }
            key => {
                let option = value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"));
                reader.option(self.origin, line, &option)?;
                return Ok(true);
            }
        }
        Ok(key == "name")
    }

    /// Takes the jobs of a command; the first waits for those of the command before.
    fn take(&mut self, line: usize, mut jobs: Vec<JobLines>, program: Program) -> Result<(), ImportError> {
        let Program { sections, guard, .. } = program;
        if !sections.is_empty() {
            jobs.retain(|job| sections.contains(&job.name));
            if jobs.is_empty() {
                let says = format!("--section={}: there is no job of that name", sections.join(", "));
                return Err(complain(self.origin, line, says));
            }
        }
        for job in &mut jobs {
            job.options.extend(guard.clone());
            job.command = self.commands;
        }
        self.commands += 1;
        self.jobs.append(&mut jobs);
        Ok(())
    }

    /// Says what the jobs of a command, from this one on, wait for: those of the command before, unless both are to run
    /// side by side.
    fn place(&mut self, line: usize, from: usize, is_background: bool) -> Result<(), ImportError> {
        let is_beside = self.beside != Beside::Nothing;
        if self.beside == Beside::Unknown {
            let says =
                "a command before it may still run in the background; write `wait` on a line before it";
            return Err(complain(self.origin, line, says));
        }
        if is_beside || is_background {
            let waits =
                |option: &OptionLine| ["stonewall", "wait_for_previous"].contains(&option.key.as_str());
            if self.jobs[from..].iter().flat_map(|job| &job.options).any(waits) {
                let says =
                    "a command that runs beside others has jobs that wait (stonewall); give it by itself";
                return Err(complain(self.origin, line, says));
            }
        }
        if let Some(first) = self.jobs.get_mut(from).filter(|_| from > 0 && !is_beside) {
            let (file, key) = (self.origin.to_owned(), "stonewall".to_owned());
            first.options.push(OptionLine { file, line, key, value: String::new(), unset: None });
        }
        self.beside = match (is_background, self.beside) {
            (true, _) => Beside::Started,
            (false, Beside::Started) => Beside::Unknown,
            (false, other) => other,
        };
        Ok(())
    }
}
