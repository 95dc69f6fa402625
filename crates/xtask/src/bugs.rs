//! `cargo xtask simulate --bugs`: how many seeds the simulator takes to find each bug that is planted in the core.
//!
//! A bug is a patch in `crates/simulate/bugs`. Each is applied to a copy of the sources, built and simulated from
//! seed 1 until a seed violates an oracle. A tidy test checks that every patch still applies.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use assay_simulate::STALLS;

use crate::bench::target_folder;

/// Number of seeds after which a bug counts as not found.
const SEEDS_MAX: &str = "50000";

pub(crate) fn bugs(names: &[String]) -> anyhow::Result<()> {
    let root = std::env::current_dir().context("cannot find the current folder")?;
    let folder = target_folder()?.join("bugs");
    let mut patches: Vec<PathBuf> = std::fs::read_dir(root.join("crates/simulate/bugs"))
        .context("cannot read the planted bugs")?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<_>>()?;
    patches.sort();
    let mut missed = Vec::new();
    for patch in patches {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !names.is_empty() && !names.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let began = Instant::now();
        plant(&root, &folder, &patch)?;
        match search(&folder)? {
            Some((seeds, why)) => {
                println!("{name:<36} {seeds:>6} seeds, {:.0} s: {why}", began.elapsed().as_secs_f64());
            }
            None => missed.push(name),
        }
    }
    ensure!(missed.is_empty(), "not found in {SEEDS_MAX} seeds: {}", missed.join(", "));
    Ok(())
}

/// Copies what git tracks, and applies the patch.
fn plant(root: &Path, folder: &Path, patch: &Path) -> anyhow::Result<()> {
    let copy = folder.join("crates");
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir_all(folder)?;
    let pack = "git ls-files -z | tar --create --null --files-from - | tar --extract --directory \"$0\"";
    let status = Command::new("sh").args(["-c", pack]).arg(folder).current_dir(root).status()?;
    ensure!(status.success(), "cannot copy the sources to {}", folder.display());
    // Below a checkout, git would pass over the paths of the patch as outside of its folder.
    let mut apply = Command::new("git");
    apply.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(root)).current_dir(folder);
    let status = apply.args(["apply", "--"]).arg(patch).status()?;
    ensure!(status.success(), "{} does not apply: make it again for today's core", patch.display());
    Ok(())
}

/// Builds the copy and simulates. Returns the number of seeds until one violates an oracle, and which oracle.
fn search(folder: &Path) -> anyhow::Result<Option<(u64, String)>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    // With the assertions of the core, which are oracles too.
    let words = "run --quiet --profile fuzz --package assay-simulate -- --first --seeds";
    let output = Command::new(cargo)
        .args(words.split(' '))
        .arg(SEEDS_MAX)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let found = said.lines().find_map(|line| line.strip_prefix("seed ")?.split_once(": "));
    match found {
        Some((seed, why)) => {
            let seed: u64 = seed.parse().context("not a seed")?;
            Ok(Some((seed % STALLS, why.to_owned())))
        }
        None if output.status.success() => Ok(None),
        None => match panicked(&said) {
            Some(why) => Ok(Some((1, why))),
            None => bail!("the copy does not build:\n{said}"),
        },
    }
}

/// Returns the words of a panic: an assertion of the core itself found the bug.
fn panicked(said: &str) -> Option<String> {
    let mut lines = said.lines().skip_while(|line| !line.contains("panicked at"));
    lines.next()?;
    Some(format!("an assertion: {}", lines.next()?))
}
