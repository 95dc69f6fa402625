//! Runs every fuzz target for some seconds, one after the other: `make fuzz`.
//!
//! The build has its own directory, `target/fuzz`, because its flags count coverage. The corpus stays in
//! `target/fuzz/corpus`, so that the next round continues from there; inputs that fail are kept in `target/fuzz/found`,
//! and belong in `crates/fuzz/seeds` with the fix.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// Flags that let libFuzzer see the branches that an input takes; all of them are stable.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0";
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// Time from which a slow input is a finding, s.
const INPUT_S_MAX: u32 = 20;
/// Memory from which a target is a finding, MiB.
const MEMORY_MIB_MAX: u32 = 1024;

/// Options as typed.
struct Options {
    names: Vec<String>,
    seconds: u32,
}

/// A fuzz target, as the fuzzer lists it.
struct Target {
    name: String,
    bytes_max: String,
    /// Directories of the repository with initial inputs.
    seeds: Vec<String>,
}

/// Result of a target's round.
struct Outcome {
    executions: u64,
    /// Number of control-flow edges that the corpus covers.
    edges: u64,
    inputs: u64,
    found: Vec<PathBuf>,
}

pub(crate) fn fuzz(args: &[String]) -> anyhow::Result<()> {
    let options = options(args)?;
    let root = std::env::current_dir().context("cannot find the current folder")?;
    let (program, folder) = (build(&root)?, root.join("target/fuzz"));
    let mut targets = list(&program)?;
    targets.retain(|target| {
        options.names.is_empty() || options.names.iter().any(|name| target.name.contains(name.as_str()))
    });
    if targets.is_empty() {
        bail!("no fuzz target has {:?} in its name", options.names);
    }
    println!("{:<20} {:>12} {:>8} {:>8}  findings", "target", "executions", "edges", "inputs");
    let mut found = Vec::new();
    for target in targets {
        let outcome = round(&target, &program, &root, &folder, options.seconds)?;
        let Outcome { executions, edges, inputs, .. } = outcome;
        println!("{:<20} {executions:>12} {edges:>8} {inputs:>8}  {}", target.name, outcome.found.len());
        std::io::stdout().flush()?;
        found.extend(outcome.found);
    }
    if found.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = found.iter().map(|path| format!("  {}", path.display())).collect();
    bail!("{} inputs break their target; keep each in crates/fuzz/seeds:\n{}", found.len(), list.join("\n"))
}

fn options(args: &[String]) -> anyhow::Result<Options> {
    let mut options = Options { names: Vec::new(), seconds: 2 };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                let value = args.next().context("--seconds needs a number")?;
                options.seconds = value.parse().with_context(|| format!("--seconds {value}"))?;
            }
            name if !name.starts_with('-') => options.names.push(name.to_owned()),
            other => bail!("{other} is not an option of fuzz; give --seconds N and names of targets"),
        }
    }
    Ok(options)
}

fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let words = "build --quiet --profile fuzz --package assay-fuzz --features libfuzzer --bin assay-fuzz";
    let status = Command::new(cargo)
        .args(words.split(' '))
        .args(["--target", TRIPLE, "--target-dir", "target/fuzz"])
        .env("RUSTFLAGS", FLAGS)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the fuzzer does not build; it needs g++");
    }
    Ok(root.join("target/fuzz").join(TRIPLE).join("fuzz/assay-fuzz"))
}

/// Returns the targets: name, longest input, folders with seeds.
fn list(program: &Path) -> anyhow::Result<Vec<Target>> {
    let output = Command::new(program)
        .env("ASSAY_FUZZ", "list")
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let target = |line: &str| {
        // A target without directories ends with a blank; taken as a directory, it was the whole repository.
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Target { name: words.next()?, bytes_max: words.next()?, seeds: words.collect() })
    };
    Ok(text.lines().filter_map(target).collect())
}

fn round(
    target: &Target,
    program: &Path,
    root: &Path,
    folder: &Path,
    seconds: u32,
) -> anyhow::Result<Outcome> {
    let (corpus, found) = (folder.join("corpus").join(&target.name), folder.join("found").join(&target.name));
    for folder in [&corpus, &found] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let output = Command::new(program)
        .env("ASSAY_FUZZ", &target.name)
        .arg(&corpus)
        .arg(root.join("crates/fuzz/seeds").join(&target.name))
        .args(target.seeds.iter().map(|folder| root.join(folder)))
        .args([
            format!("-max_total_time={seconds}"),
            format!("-timeout={INPUT_S_MAX}"),
            format!("-rss_limit_mb={MEMORY_MIB_MAX}"),
            format!("-max_len={}", target.bytes_max),
            format!("-artifact_prefix={}/", found.display()),
            "-print_final_stats=1".into(),
        ])
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let found = files(&found)?;
    if !output.status.success() && found.is_empty() {
        bail!("{} ended without an input that breaks it:\n{said}", target.name);
    }
    // Parses the last progress line: `#8782 DONE cov: 6093 ft: 9524 corp: 723/1972Kb …`.
    let after = |word: &str| {
        let last = said.lines().rev().find(|line| line.contains(word)).unwrap_or_default();
        let rest = last.split(word).nth(1).unwrap_or_default().trim_start();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let (executions, edges, inputs) = (after("number_of_executed_units:"), after("cov:"), after("corp:"));
    Ok(Outcome { executions, edges, inputs, found })
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
