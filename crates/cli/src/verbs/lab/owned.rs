//! Which folder with a state is a lab's own.
//!
//! It has a predictable name in a directory that everybody may write to, so its owner decides: only a directory of the
//! effective user that nobody else may write to counts.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use nix::fcntl::OFlag;
use nix::unistd::{Uid, User, geteuid};

/// Permission bits that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// No state of a lab and no mark is longer, bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Creates a directory that nobody else may read or write; fails if anything has its name.
pub(super) fn create(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Returns true if the folder of a lab exists and false if nothing has its name. Refuses a folder of another user,
/// one that others may write to, and anything but a directory.
pub(super) fn exists(folder: &Path) -> anyhow::Result<bool> {
    let metadata = match std::fs::symlink_metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    check(folder, &metadata)?;
    if !metadata.is_dir() {
        bail!(
            "{} is not a directory, so it is no lab; remove it, or choose another --name",
            folder.display()
        );
    }
    Ok(true)
}

/// Reads a file of a lab; refuses links, and files that another user owns or may write to.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    // A pipe must not be waited for.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
    let metadata = file.metadata()?;
    check(path, &metadata)?;
    if !metadata.is_file() {
        bail!("not a file");
    }
    let mut text = String::new();
    file.take(TEXT_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn check(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    let (name, user) = (path.display(), geteuid());
    if metadata.uid() != user.as_raw() {
        bail!(
            "{name} belongs to {}, not to {}: Assay did not create it; remove it, or choose another --name",
            said(Uid::from_raw(metadata.uid())),
            said(user)
        );
    }
    if !metadata.is_symlink() && metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        bail!(
            "other users may write to {name}: Assay did not create it; remove it, or choose another --name"
        );
    }
    Ok(())
}

fn said(uid: Uid) -> String {
    let name = User::from_uid(uid).ok().flatten().map(|user| user.name);
    name.map_or_else(|| format!("user {uid}"), |name| format!("user {name} ({uid})"))
}
