//! Whether two paths lead to the same file, whatever file systems show it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::machine::{Machine, unescape};
use crate::mounts::{Mount, mount_of, mounts};

/// `OVERLAYFS_SUPER_MAGIC` of linux/magic.h.
const OVERLAY_MAGIC: rustix::fs::FsWord = 0x794c_7630;
/// Number of overlays that may lie on one another; Linux allows two.
const OVERLAYS_MAX: u32 = 4;

/// Returns the device and the inode of a file, following links. One on an overlay has those of the file that is
/// written, too.
///
/// # Errors
/// If the path does not exist, or cannot be examined.
pub(crate) fn file_ids(path: &Path) -> io::Result<BTreeSet<(u64, u64)>> {
    let mut ids = BTreeSet::new();
    let mut next = Some(path.to_owned());
    for _ in 0..OVERLAYS_MAX {
        let Some(path) = next.take() else { break };
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            // The directory below an overlay may lie in another mount namespace.
            Err(_) if !ids.is_empty() => break,
            Err(error) => return Err(error),
        };
        ids.insert((metadata.dev(), metadata.ino()));
        let is_overlay = || rustix::fs::statfs(&path).is_ok_and(|fs| fs.f_type == OVERLAY_MAGIC);
        if metadata.is_file() && is_overlay() {
            next = written_below(&path, &mounts(&Machine::this())?);
        }
    }
    Ok(ids)
}

/// Returns true if both are the same file; where one cannot be seen, by its name.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (file_ids(one), file_ids(other)) {
        (Ok(a), Ok(b)) => !a.is_disjoint(&b),
        _ => one == other,
    }
}

/// Returns the path of the file that is written instead of one on an overlay: that in its upper directory.
fn written_below(path: &Path, mounts: &[Mount]) -> Option<PathBuf> {
    let canonical = path.canonicalize().ok()?;
    let mount = mount_of(mounts, &canonical).filter(|mount| mount.kind == "overlay")?;
    let upper = mount.options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
    let inside = canonical.strip_prefix(&mount.mount_point).ok()?;
    let root = mount.root.trim_start_matches('/');
    Some(Path::new(&unescape(upper)).join(root).join(inside))
}
