//! Command lines of DiskSpd, SQLIO and fio, as people type them: `diskspd -b8K -o32 -t4 -r -w30 -d60 -Sh`.
//!
//! DiskSpd and SQLIO have options of one dash and a letter with the value right behind it, and files after them. Lines
//! of fio are read in [`crate::fio`], like its job files.

mod batch;
mod diskspd;
mod parts;
mod profile;
mod sqlio;
#[cfg(test)]
mod tests;

use assay_spec::Data;
use assay_spec::units::{Bytes, Nanos, PerSecond};
use assay_spec::{Access, Distribution, Extent, Semantics, Window};

pub use crate::tool::is_command;
pub use profile::{import as import_profile, is_profile};

use crate::draft::{Draft, DraftJob, DraftTest};
use crate::fio::{self, Surroundings};
use crate::names;
use crate::secrets::{covering, of_commands};
use crate::targets::TargetNames;
use crate::tool::{Tool, tool};
use crate::{ImportError, ImportOptions, ImportedPlan, Note, complain};

/// The longest command line that is read, bytes; Windows takes 32 KiB.
const LINE_BYTES_MAX: usize = 32 << 10;

/// The longest script that is read, bytes.
const SCRIPT_BYTES_MAX: usize = 1 << 20;

/// Whether a text is a script with such command lines.
pub fn is_script(text: &str) -> bool {
    let is_sure =
        |line: &str| line.contains(" -") || [".fio", ".job", ".ini"].iter().any(|end| line.ends_with(end));
    let is_shell = text.starts_with("#!") && text.lines().next().is_some_and(|line| line.ends_with("sh"));
    let is_looped =
        || text.lines().map(str::trim).any(|line| line.starts_with("for ") && line.contains("do fio "));
    command_lines(text).any(is_sure) || (is_shell && text.contains("fio ")) || is_looped()
}

/// The commands of these tools in the lines of a script, also behind others and in a loop.
fn command_lines(text: &str) -> impl Iterator<Item = &str> {
    let is_command = |line: &str| {
        let place = line.to_ascii_lowercase().find(") do ").map(|place| place + ") do ".len());
        let in_loop = place.map_or(line, |place| line[place..].trim_start_matches('('));
        is_command(in_loop.trim_start_matches('@'))
            || line.split_once('=').is_some_and(|(_, c)| is_command(c))
    };
    let lines = text.lines().map(str::trim).filter(|line| !batch::is_remark(line));
    lines.flat_map(parts::parts).map(|part| part.text).filter(move |text| is_command(text))
}

/// What a command line asks for.
#[derive(Debug)]
struct Order {
    size: u64,
    outstanding: u64,
    threads: u64,
    /// Percent.
    read: f64,
    random: f64,
    align: Option<u64>,
    burst: u32,
    delay: Nanos,
    run: Nanos,
    warmup: Nanos,
    span: Option<u64>,
    /// I/Os per second of each thread on each target.
    rate: Option<f64>,
    seed: Option<u64>,
    data: Data,
    /// Where the target is used from, bytes.
    offset: u64,
    /// How much of it is used from there, bytes; `None`: all of it.
    length: Option<u64>,
    /// Whether each write waits until it is durable.
    is_durable: bool,
    distribution: Distribution,
    files: Vec<String>,
    notes: Vec<Note>,
}

/// Reads a command line.
///
/// # Errors
/// When it is of neither tool, cannot be read, or asks for what Assay cannot do.
pub fn import(
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    covering(surroundings, |surroundings| import_covered(&of_commands(text), surroundings, options))
}

/// Reads a command line without secrets.
fn import_covered(
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    match tool(text) {
        None => Err(complain("command line", 0, "is of none of DiskSpd, SQLIO and fio")),
        Some((Tool::Fio, rest)) => {
            check_length(Tool::Fio, text)?;
            fio::import_commands(fio::TYPED, &format!("fio {rest}"), surroundings, options)
        }
        Some(_) if parts::parts(text).len() > 1 => {
            check_length(Tool::DiskSpd, text)?;
            let source = text.trim().chars().take(500).collect();
            import_batch(
                Head { name: "command lines".to_owned(), source },
                "line",
                text,
                surroundings,
                options,
            )
        }
        Some((tool, rest)) => {
            let source = text.trim().chars().take(500).collect();
            let name = format!("{} line", tool.name());
            let order = order(tool, rest, surroundings, options)?;
            import_orders(tool, Head { name, source }, vec![order], Vec::new(), options)
        }
    }
}

fn check_length(tool: Tool, text: &str) -> Result<(), ImportError> {
    match text.len() > LINE_BYTES_MAX {
        true => {
            Err(complain(tool.name(), 0, format!("the command line is longer than {LINE_BYTES_MAX} bytes")))
        }
        false => Ok(()),
    }
}

/// Reads what stands behind the name of DiskSpd or SQLIO.
fn order(
    tool: Tool,
    rest: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<Order, ImportError> {
    let name = tool.name();
    check_length(tool, rest)?;
    let words = words(rest).ok_or_else(|| complain(name, 0, "a quotation mark is not closed"))?;
    let words = without_output(words);
    let order = match tool {
        Tool::DiskSpd => diskspd::read(&words, options.strictness)?,
        Tool::Sqlio | Tool::Fio => sqlio::read(&words, surroundings, options.strictness)?,
    };
    check(name, &order)?;
    Ok(order)
}

/// Reads a script of commands, fio's or those of DiskSpd and SQLIO. `origin` is its name in messages.
///
/// # Errors
/// When a command is none of these, or as of [`import`].
pub fn import_script(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    if text.len() > SCRIPT_BYTES_MAX {
        return Err(complain(origin, 0, "is too large; a script may have 1 MiB"));
    }
    covering(surroundings, |surroundings| {
        import_covered_script(origin, &of_commands(text), surroundings, options)
    })
}

/// Reads a script without secrets.
fn import_covered_script(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    let tools: Vec<Tool> =
        command_lines(text).map(|line| tool(line).map_or(Tool::DiskSpd, |(tool, _)| tool)).collect();
    match tools.as_slice() {
        // What is within a loop begins no line.
        [] if text.contains("fio ") => fio::import_commands(origin, text, surroundings, options),
        [] => Err(complain(origin, 0, "has no command of fio, DiskSpd or SQLIO")),
        all if all.iter().all(|tool| *tool == Tool::Fio) => {
            fio::import_commands(origin, text, surroundings, options)
        }
        _ => {
            let (name, source) = (names::stem(origin).to_owned(), names::file_name(origin).to_owned());
            import_batch(Head { name, source }, origin, text, surroundings, options)
        }
    }
}

/// Reads a script of commands of DiskSpd and SQLIO: each is a test of the plan.
fn import_batch(
    head: Head,
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    let mut notes = Vec::new();
    let (mut orders, mut last) = (Vec::new(), Tool::DiskSpd);
    for line in batch::commands(origin, text, surroundings, &mut notes)? {
        let Some((tool, rest)) = tool(&line.text) else { continue };
        let at =
            |error: ImportError| complain(origin, line.number, format!("{}: {}", error.place, error.message));
        let mut order = order(tool, rest, surroundings, options).map_err(at)?;
        for note in order.notes.drain(..) {
            if !notes.iter().any(|known: &Note| known.says == note.says) {
                notes.push(Note::new(line.number, note.says));
            }
        }
        orders.push(order);
        last = tool;
    }
    if orders.is_empty() {
        return Err(complain(origin, 0, "carries out no command of DiskSpd or SQLIO"));
    }
    import_orders(last, head, orders, notes, options)
}

/// What a plan says of its origin.
struct Head {
    name: String,
    source: String,
}

/// Makes a plan of commands that run one after the other.
fn import_orders(
    tool: Tool,
    head: Head,
    mut orders: Vec<Order>,
    mut notes: Vec<Note>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    for order in &mut orders {
        notes.append(&mut order.notes);
    }
    // Each file of each command is a user of targets: threads belong to a file.
    let users: Vec<Vec<String>> =
        orders.iter().flat_map(|order| &order.files).map(|file| vec![file.clone()]).collect();
    let targets = TargetNames::of(tool.name(), &users, options, &mut notes)?;
    let mut seeds: Vec<u64> = orders.iter().filter_map(|order| order.seed).collect();
    seeds.dedup();
    if seeds.len() > 1 {
        notes.push(Note::new(0, format!("-z: all tests use the first seed, {}.", seeds[0])));
    }
    let size = orders.iter().filter_map(Order::extent).max();
    let mut tests: Vec<DraftTest> = Vec::new();
    let mut first_user = 0;
    for order in &orders {
        let of = |file: usize| targets.of_user(first_user + file, 1);
        let mut test = test(order, &of, size, options.targets_given);
        // Commands of a loop over threads or depths differ in nothing else.
        if orders.iter().filter(|other| other.title() == test.name).count() > 1 {
            test.name = format!("{} {}x{}", test.name, order.threads, order.outstanding);
        }
        test.name = names::unique(&test.name, |name| tests.iter().any(|known| known.name == name));
        first_user += order.files.len();
        tests.push(test);
    }
    let script = if orders.len() > 1 { "script" } else { "command line" };
    let draft = Draft {
        name: head.name,
        about: String::new(),
        source: head.source,
        notes: notes.iter().map(ToString::to_string).collect(),
        semantics: Semantics::Assay,
        seed: seeds.first().copied(),
        size: size.map(Bytes),
        tests,
    };
    let tool = if tool == Tool::DiskSpd { "DiskSpd" } else { "SQLIO" };
    Ok(draft.imported(format!("{script} of {tool}"), notes, targets))
}

/// Limits of a plan, in the words of the command line.
fn check(name: &str, order: &Order) -> Result<(), ImportError> {
    use assay_spec::{IO_BYTES_MAX, OUTSTANDING_MAX, WORKERS_MAX};
    for (what, value, most) in [
        ("-b (bytes)", order.size, IO_BYTES_MAX),
        ("-o", order.outstanding, OUTSTANDING_MAX),
        ("-t", order.threads, WORKERS_MAX),
        ("-d or -s (seconds)", order.run.0 / 1_000_000_000, 366 * 86_400),
    ] {
        if value == 0 || value > most {
            return Err(complain(name, 0, format!("{what} is {value}; it must be from 1 to {most}")));
        }
    }
    if order.align.is_some_and(|align| align == 0 || align > IO_BYTES_MAX) {
        return Err(complain(name, 0, "the alignment of -r or -s is not valid"));
    }
    Ok(())
}

impl Order {
    /// `8KiB random read`.
    fn title(&self) -> String {
        let position = if self.random > 0.0 { "random" } else { "sequential" };
        let kind = match self.read {
            100.0 => "read",
            0.0 => "write",
            _ => "mix",
        };
        format!("{} {position} {kind}", Bytes(self.size))
    }

    /// How much of the target it uses at most, where that is known, bytes.
    fn extent(&self) -> Option<u64> {
        self.span.or(self.length.map(|length| self.offset.saturating_add(length)))
    }

    /// The part of the target that it uses; `size` is that of the target in the whole plan.
    fn window(&self, size: Option<u64>) -> Window {
        let ends_before = self.extent().filter(|own| size.is_some_and(|size| *own < size));
        let length = self.length.or(ends_before.map(|own| own.saturating_sub(self.offset)));
        Window {
            offset: Extent::Bytes(Bytes(self.offset)),
            size: length.map(|bytes| Extent::Bytes(Bytes(bytes))),
        }
    }
}

/// The test of a command. `of` gives the targets of each of its files.
fn test(order: &Order, of: &dyn Fn(usize) -> Vec<u32>, size: Option<u64>, given: Option<usize>) -> DraftTest {
    let small = |value: u64| u32::try_from(value).unwrap_or(1);
    let job = |index: usize, targets: Vec<u32>| DraftJob {
        name: format!("target {}", index + 1),
        targets,
        workers: small(order.threads),
        outstanding: small(order.outstanding),
        pace: order.rate.map(|rate| (PerSecond(rate * order.threads as f64), None)),
        data: Some(order.data),
        is_durable: order.is_durable && order.read < 100.0,
        mix: vec![Access {
            size: Bytes(order.size),
            read: order.read,
            random: order.random,
            align: Bytes(order.align.unwrap_or(order.size)),
            delay: order.delay,
            burst: order.burst,
            distribution: order.distribution.clone(),
            ..Access::default()
        }],
        window: order.window(size),
        ..DraftJob::default()
    };
    let own: Vec<Vec<u32>> = (0..order.files.len()).map(of).filter(|own| !own.is_empty()).collect();
    let jobs = match given {
        _ if own.len() > 1 => own.into_iter().enumerate().map(|(index, own)| job(index, own)).collect(),
        // A command with one file, or none, goes to every target that is given: each gets its own threads.
        Some(given) if given > 1 && own.is_empty() && order.files.len() <= 1 => {
            (0..given).map(|index| job(index, vec![u32::try_from(index).unwrap_or(0)])).collect()
        }
        _ => vec![job(0, own.into_iter().next().unwrap_or_default())],
    };
    DraftTest {
        name: order.title(),
        run: Some(order.run),
        warmup: order.warmup,
        jobs,
        ..DraftTest::default()
    }
}

/// Splits at blanks outside quotation marks; `None` if one is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut is_quoted, mut has_word) = (Vec::new(), String::new(), false, false);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            // A shell continues a line by one of these at its end; a pasted line still has it.
            '^' | '`' | '\\' if !is_quoted && !has_word && is_line_end(rest.as_str()) => {}
            '"' => {
                is_quoted = !is_quoted;
                has_word = true;
            }
            c if c.is_whitespace() && !is_quoted => {
                if std::mem::take(&mut has_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                has_word = true;
            }
        }
    }
    if has_word {
        words.push(word);
    }
    (!is_quoted).then_some(words)
}

/// Words without redirections (`> out.txt`, `2>&1`) and what follows a pipe or another command.
fn without_output(words: Vec<String>) -> Vec<String> {
    let (mut kept, mut words) = (Vec::new(), words.into_iter());
    while let Some(word) = words.next() {
        let plain = word.trim_start_matches(|c: char| c.is_ascii_digit());
        match plain.chars().next() {
            Some('|' | '&' | ';') => break,
            Some('>') if plain.trim_start_matches('>').is_empty() => drop(words.next()),
            Some('>') => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// Whether a text has nothing on its first line.
fn is_line_end(text: &str) -> bool {
    text.lines().next().is_none_or(|line| line.trim().is_empty())
}

/// What is not supported, collected so that all of it is reported at once.
#[derive(Default)]
struct Refusals(Vec<String>);

impl Refusals {
    fn add(&mut self, option: &str, why: &str) {
        self.0.push(format!("{option}: {why}"));
    }

    /// An error with all of them, or notes.
    fn settle(
        self,
        name: &str,
        strictness: crate::Strictness,
        notes: &mut Vec<Note>,
    ) -> Result<(), ImportError> {
        match (strictness, self.0.is_empty()) {
            (_, true) => Ok(()),
            (crate::Strictness::Strict, false) => Err(complain(
                name,
                0,
                format!("not supported; --lenient runs without: {}", self.0.join("; ")),
            )),
            (crate::Strictness::Lenient, false) => {
                notes.extend(self.0.into_iter().map(|says| Note::new(0, format!("{says}; left out."))));
                Ok(())
            }
        }
    }
}

/// A whole number behind an option.
fn number(name: &str, option: &str, value: &str) -> Result<u64, ImportError> {
    value
        .parse()
        .map_err(|_| complain(name, 0, format!("-{option}: `{}` is not a whole number", short(value))))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
