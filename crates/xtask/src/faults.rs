//! The fault matrix, repeated for a given time, and many kills: `make soak`.
//!
//! One round executes every cell of `testkit::faults` once, each at another moment within its phase, and prints the
//! results as a table. Further rounds print only failures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use assay_testkit::faults::{self, Cell, Ending, FAULTS, Fault, KINDS, Kind, PHASES};

/// Range of moments within a phase, ms.
const JITTER_MS: u64 = 400;

/// Options as typed.
struct Options {
    /// Parts of names of cells; empty for all.
    names: Vec<String>,
    /// Time for which the matrix is repeated, at least once.
    time: Duration,
    /// Number of runs that are killed, one after the other.
    kills: u32,
}

pub(crate) fn faults(args: &[String]) -> anyhow::Result<()> {
    let options = options(args)?;
    let program = build()?;
    let program = program.to_str().context("the path of the program is not UTF-8")?;
    let wanted = |cell: &Cell| {
        options.names.is_empty() || options.names.iter().any(|name| cell.name().contains(name.as_str()))
    };
    let cells: Vec<Cell> = faults::cells().into_iter().filter(wanted).collect();
    if cells.is_empty() {
        bail!("no cell of the fault matrix has {:?} in its name", options.names);
    }
    let mut broken = 0;
    if options.kills > 0 {
        broken += kills(options.kills, program);
    }
    let (began, mut round) = (Instant::now(), 0);
    while round == 0 || began.elapsed() < options.time {
        let ended = play(&cells, program, round);
        broken += ended.values().filter(|ending| !ending.broken.is_empty()).count();
        if round == 0 {
            println!("{}", table(&ended));
        }
        round += 1;
    }
    println!("{round} rounds of {} cells in {} s", cells.len(), began.elapsed().as_secs());
    if broken > 0 {
        bail!("{broken} cells did not keep what they must");
    }
    Ok(())
}

fn options(args: &[String]) -> anyhow::Result<Options> {
    let mut options = Options { names: Vec::new(), time: Duration::ZERO, kills: 0 };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || -> anyhow::Result<u32> {
            let value = args.next().with_context(|| format!("{arg} needs a number"))?;
            value.parse().with_context(|| format!("{arg} {value}"))
        };
        match arg.as_str() {
            "--minutes" => options.time = Duration::from_secs(60 * u64::from(number()?)),
            "--kills" => options.kills = number()?,
            name if !name.starts_with('-') => options.names.push(name.to_owned()),
            other => {
                bail!(
                    "{other} is not an option of faults; give --minutes N, --kills N, or parts of cells' names"
                )
            }
        }
    }
    Ok(options)
}

/// Builds the program in release mode; `ASSAY` names another one.
fn build() -> anyhow::Result<PathBuf> {
    if let Some(program) = std::env::var_os("ASSAY") {
        return Ok(program.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--release", "--package", "assay-cli"]).status();
    if !status.context("cannot start cargo")?.success() {
        bail!("Assay does not build");
    }
    Ok(std::env::current_exe()?.with_file_name("assay"))
}

fn play(cells: &[Cell], program: &str, round: u64) -> BTreeMap<String, Ending> {
    let mut ended = BTreeMap::new();
    for (number, cell) in (0_u64..).zip(cells).filter(|(_, cell)| cell.why_not().is_none()) {
        // Another moment in each round, but the same ones in each soak.
        let jitter = (number * 37 + round * 101 + 11) % JITTER_MS;
        let Some(ending) = faults::run(*cell, program, Duration::from_millis(jitter)) else {
            eprintln!("{}: skipped", cell.name());
            continue;
        };
        let code = ending.code.map_or("killed".into(), |code| code.to_string());
        eprintln!(
            "{:<24} {code:>6}, {:.1} s {}",
            cell.name(),
            ending.took.as_secs_f64(),
            ending.broken.join("; ")
        );
        ended.insert(cell.name(), ending);
    }
    ended
}

/// Kills runs on a file at arbitrary moments; returns the number of failures.
fn kills(count: u32, program: &str) -> usize {
    let mut broken = 0;
    for number in 0..count {
        let phase = PHASES[number as usize % PHASES.len()];
        let kind = if number % 2 == 0 { Kind::File } else { Kind::Device };
        let jitter = Duration::from_millis(u64::from(number) * 7919 % 1600);
        let cell = Cell { fault: Fault::Kill, phase, kind };
        match faults::run(cell, program, jitter) {
            Some(ending) if ending.broken.is_empty() => {}
            Some(ending) => {
                eprintln!("kill {number}, {}: {}", cell.name(), ending.broken.join("; "));
                broken += 1;
            }
            None => eprintln!("kill {number}, {}: skipped", cell.name()),
        }
        if number % 50 == 49 {
            eprintln!("{} of {count} kills, {broken} without what must be kept", number + 1);
        }
    }
    broken
}

/// Returns the matrix in Markdown: a line for each fault and kind, a column for each phase. A cell without failures
/// contains the exit codes of the run and of the later one.
fn table(ended: &BTreeMap<String, Ending>) -> String {
    let heads: Vec<String> = PHASES.iter().map(|phase| format!("{phase:?}").to_lowercase()).collect();
    let mut text =
        format!("| fault, target | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(PHASES.len()));
    for fault in FAULTS {
        for kind in KINDS {
            let row: Vec<String> =
                PHASES.iter().map(|phase| entry(Cell { fault, phase: *phase, kind }, ended)).collect();
            let name = format!("{fault:?}, {kind:?}").to_lowercase();
            // A line with six equal cells is printed once.
            let cells = match row.iter().all(|cell| *cell == row[0]) && row[0].starts_with("n/a") {
                true => format!("{}{}", row[0], " |".repeat(PHASES.len() - 1)),
                false => row.join(" | "),
            };
            let _ = writeln!(text, "| {name} | {cells} |");
        }
    }
    text
}

fn entry(cell: Cell, ended: &BTreeMap<String, Ending>) -> String {
    if let Some(why) = cell.why_not() {
        return format!("n/a: {why}");
    }
    let Some(ending) = ended.get(&cell.name()) else { return "not run".into() };
    let code = |code: Option<i32>| code.map_or("killed".into(), |code| code.to_string());
    match ending.broken.first() {
        None => format!("kept ({}, then {})", code(ending.code), code(ending.code_afterwards)),
        Some(first) => format!("**broken**: {first}"),
    }
}
