//! Where the data of a lab are kept.
//!
//! The folder of `--data` may be anywhere. It is removed only if it holds the mark that `up` wrote, with the random id
//! that the state has too.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use nix::fcntl::OFlag;

use super::owned;
use super::state::{Lab, Names};

/// Name of the mark in a data folder.
const MARK: &str = ".assay-lab";
/// The part of a data folder that is served.
const SERVED: &str = "data";

/// Returns a new random id.
pub(super) fn new_id() -> anyhow::Result<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/uuid").context("cannot get a random id")?;
    Ok(id.trim().to_owned())
}

/// Returns the directory that is served if data are kept in `directory`; refuses a directory that does not exist and a
/// name that is taken.
pub(super) fn planned(directory: &Path, names: &Names) -> anyhow::Result<PathBuf> {
    let name = directory.display();
    let real = directory.canonicalize().with_context(|| format!("--data {name}"))?;
    let folder = real.join(format!("assay-{}-array", names.lab));
    if folder.symlink_metadata().is_ok() {
        bail!(
            "--data {name}: {} exists already, and a lab uses only a directory that it creates; remove it, \
             or choose another --data or --name",
            folder.display()
        );
    }
    Ok(folder.join(SERVED))
}

/// Returns the folder of `--data` with the mark in it; `None` if the data are in the folder of the lab.
fn folder(lab: &Lab) -> Option<&Path> {
    lab.data.parent().filter(|folder| *folder != lab.names().folder)
}

/// Creates the directory that is served, and for `--data` the folder around it with its mark.
pub(super) fn create(lab: &Lab) -> anyhow::Result<()> {
    if let Some(folder) = folder(lab) {
        owned::create(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        File::create_new(folder.join(MARK))?.write_all(mark(lab).as_bytes())?;
    }
    owned::create(&lab.data).with_context(|| format!("cannot create {}", lab.data.display()))
}

fn mark(lab: &Lab) -> String {
    format!("lab {} {}\n", lab.name, lab.id)
}

/// Removes what `up` created for `--data`. Returns the reason if something is left.
pub(super) fn remove(lab: &Lab) -> Option<String> {
    let folder = folder(lab)?;
    let flags = OFlag::O_NOFOLLOW | OFlag::O_DIRECTORY;
    let opened = match File::options().read(true).custom_flags(flags.bits()).open(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(error.to_string()),
        Ok(opened) => opened,
    };
    // Names from here on belong to the directory that was opened, whatever takes its place meanwhile.
    let inside = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    let is_marked = !lab.id.is_empty() && owned::read(&inside.join(MARK)).is_ok_and(|text| text == mark(lab));
    if !is_marked {
        return Some("it does not hold the mark of this lab".to_owned());
    }
    // The mark goes last, so that a removal that was interrupted can be repeated.
    let removed = match std::fs::remove_dir_all(inside.join(SERVED)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::remove_file(inside.join(MARK)),
    };
    removed.and_then(|()| std::fs::remove_dir(folder)).err().map(|error| error.to_string())
}
