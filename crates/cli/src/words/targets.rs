//! The targets that a command line means, and the places that may be written.

use std::path::Path;

use anyhow::{Context as _, bail};
use assay_spec::suites::suite;
use assay_spec::units::Bytes;
use assay_spec::{Address, AddressError, without_secret};

use crate::args::{Form, RunArgs, StoreArgs};
use crate::output::{Kept, Output};
use crate::words::other_tools::setting;

/// Reads the addresses of targets.
pub(crate) fn addresses(targets: &[String]) -> anyhow::Result<Vec<Address>> {
    refuse_suites(targets)?;
    refuse_settings(targets)?;
    refuse_slips(targets)?;
    let address = |t: &String| {
        t.parse()
            .map_err(|error| crate::words::offered::explain(t, error))
            .with_context(|| format!("target `{}`", without_secret(t)))
    };
    targets.iter().map(address).collect()
}

/// The name of a suite in the place of a target would become a file of that name.
fn refuse_suites(targets: &[String]) -> anyhow::Result<()> {
    let is_meant = |target: &&String| suite(target).is_some() && !Path::new(target.as_str()).exists();
    match targets.iter().find(is_meant) {
        Some(target) => {
            bail!("{target} is a suite, and a target is needed here; a file of that name is ./{target}")
        }
        None => Ok(()),
    }
}

/// A setting in the place of a target, as dd and vdbench write it, would become a file of that name.
fn refuse_settings(targets: &[String]) -> anyhow::Result<()> {
    let is_meant = |target: &&String| {
        let name = target.split_once('=').map_or("", |(name, _)| name);
        let is_name = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphabetic() || b"-_".contains(&c));
        is_name
            && (!target.contains('/') || ["if", "of"].contains(&name))
            && !Path::new(target.as_str()).exists()
    };
    let known = targets.iter().filter(is_meant).find_map(|target| Some((target, setting(target)?)));
    let Some((target, here)) = known else { return Ok(()) };
    bail!("{target} is no target: {here}; a file of that name is ./{target}")
}

/// Options that are words, of those that are typed without their dashes.
const OPTIONS: [&str; 9] =
    ["cached", "direct", "each", "explain", "json", "overwrite", "quick", "remove", "sync"];

/// Folders whose entries are places to mount something at.
const MOUNTS: [&str; 3] = ["/mnt", "/media", "/net"];

/// A word that is no name of a target would become a file of that name, of gigabytes; so would the place of a share
/// that is not mounted, on the disk of this machine.
fn refuse_slips(targets: &[String]) -> anyhow::Result<()> {
    let is_absent = |target: &&String| !Path::new(target.as_str()).exists();
    for target in targets.iter().filter(is_absent) {
        let is_path = matches!(target.parse(), Ok(Address::Path(_)));
        if let Some(here) = slip(target) {
            bail!("{target} is no target: {here}; a file of that name is ./{target}");
        }
        if is_path && target.trim() != target {
            bail!("target `{target}` has a blank at its end; without it: {}", target.trim());
        }
        let path = Path::new(target.as_str());
        let is_place =
            path.parent().is_some_and(|folder| MOUNTS.iter().any(|mount| folder == Path::new(mount)));
        if is_path && is_place && path.extension().is_none() {
            bail!(
                "{target} does not exist: is what belongs there mounted? A new file on the disk of this machine would \
                 be {target}.dat"
            );
        }
        if is_path && target.contains(['*', '?']) {
            bail!("no file matches {target}, and Assay creates none with * or ? in its name");
        }
    }
    Ok(())
}

/// What to type for a word that is an option, a count or a size.
fn slip(word: &str) -> Option<String> {
    let is_count = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_size = || word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<Bytes>().is_ok();
    match word {
        "direct" => Some("direct I/O is the default, and --cached uses the page cache".to_owned()),
        _ if OPTIONS.contains(&word) => Some(format!("the option is --{word}")),
        _ if is_count => Some(format!("to run it so many times: --repeat {word}")),
        _ if is_size() => Some(format!("use --size {word} for the size of the file")),
        _ => None,
    }
}

/// Whether a word can only be meant as a target: it is an address, rightly written or not, it has a slash, or it is
/// there.
pub(crate) fn looks_like_target(word: &str) -> bool {
    let is_address = !matches!(word.parse(), Ok(Address::Path(_)) | Err(AddressError::Empty));
    is_address || word.contains('/') || word == "." || word == ".." || Path::new(word).exists()
}

/// Refuses before the run what would fail after it, and targets and reports that would overwrite the store. Returns
/// where the report goes.
pub(crate) fn check_paths(args: &RunArgs, targets: &[String]) -> anyhow::Result<Option<Output>> {
    check_output(args.output.as_deref(), targets, &args.store, args.view.form())
}

/// The same for any verb that runs a plan.
pub(crate) fn check_output(
    output: Option<&Path>,
    targets: &[String],
    store: &StoreArgs,
    form: Form,
) -> anyhow::Result<Option<Output>> {
    let targets = addresses(targets)?;
    refuse_store(&targets, store)?;
    let Some(path) = output else { return Ok(None) };
    let output = Output::check_named(path, Kept::of(store, &targets), None)?;
    if form != Form::Text && output.is_stdout() {
        bail!("-o - and the format both print to standard output; give the report a file");
    }
    Ok(Some(output))
}

/// Refuses the store as a target, under any of its names.
pub(crate) fn refuse_store(targets: &[Address], store: &StoreArgs) -> anyhow::Result<()> {
    let kept = Kept::of(store, &[]);
    for address in targets {
        if matches!(address, Address::Path(path) if kept.has(path)) {
            bail!("{address} is the store of runs; choose another target or another --store");
        }
    }
    Ok(())
}
