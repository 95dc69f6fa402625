//! Running commands of the system, and saying which are missing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Where programs of the system lie that a search path may lack.
const SYSTEM_FOLDERS: &str = "/usr/sbin:/sbin";

/// Returns a command whose words are separated by blanks.
pub(super) fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(words).env("PATH", format!("{path}:{SYSTEM_FOLDERS}")).stdin(Stdio::null());
    command
}

/// Runs a command line and returns what it printed.
pub(super) fn run(line: &str) -> anyhow::Result<String> {
    let output = command(line).output().with_context(|| format!("cannot run `{line}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command line whose failure does not matter: what it would remove may be gone.
pub(super) fn run_if_possible(line: &str) {
    let _ = command(line).output();
}

/// A command and the Debian package that has it.
pub(super) type Need = (&'static str, &'static str);

/// Returns the packages of the commands that are not installed.
pub(super) fn missing(needs: &[Need]) -> Vec<&'static str> {
    let path = std::env::var("PATH").unwrap_or_default();
    let is_there = |name: &str| {
        path.split(':').chain(SYSTEM_FOLDERS.split(':')).any(|folder| Path::new(folder).join(name).is_file())
    };
    let mut packages: Vec<&'static str> = Vec::new();
    for (name, package) in needs {
        if !is_there(name) && !packages.contains(package) {
            packages.push(package);
        }
    }
    packages
}
