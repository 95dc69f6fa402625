//! Which other programs have a device open for writing. A virtual machine or a storage target uses a disk without
//! holding it exclusively, and a new disk of theirs is blank: nothing else shows that it is in use.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::thread;

use super::related::Node;
use super::{HELD_PAUSE, HELD_TRIES, Hold};
use crate::machine::{DevNo, attribute, names_in};

/// Bits of the flags in `/proc/PID/fdinfo/FD` that are not 0 where a descriptor may write.
const MAY_WRITE: u32 = 0o3;

/// One hold for each device that a process has open for writing, as far as this user may see it. What opens a device
/// only for a moment does not use it.
pub(super) fn holds(nodes: &[Node]) -> Vec<Hold> {
    let mut found = Vec::new();
    for attempt in 0..HELD_TRIES {
        if attempt > 0 {
            thread::sleep(HELD_PAUSE);
        }
        let now = writers(nodes);
        found = if attempt == 0 { now } else { found.into_iter().filter(|one| now.contains(one)).collect() };
        if found.is_empty() {
            break;
        }
    }
    found.into_iter().map(Hold::in_use).collect()
}

fn writers(nodes: &[Node]) -> Vec<String> {
    let own = std::process::id().to_string();
    let is_process = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own;
    let mut found = Vec::new();
    for process in names_in(Path::new("/proc")).into_iter().filter(is_process) {
        let folder = Path::new("/proc").join(&process);
        for descriptor in names_in(&folder.join("fd")) {
            let Some(number) = open_device(&folder.join("fd").join(&descriptor)) else { continue };
            let Some(node) = nodes.iter().find(|node| node.number == Some(number)) else { continue };
            if may_write(&folder.join("fdinfo").join(&descriptor)) {
                let program = attribute(&folder.join("comm")).unwrap_or_else(|| "a program".to_owned());
                found
                    .push(format!("{} is open for writing in {program} (process {process})", node.subject()));
            }
        }
    }
    found.dedup();
    found
}

/// The block device that a descriptor has open. Only what lies in a `/dev` is looked at: to look at a file on a server
/// that is gone would hang.
fn open_device(descriptor: &Path) -> Option<DevNo> {
    fs::read_link(descriptor).ok().filter(|opened| opened.starts_with("/dev"))?;
    let metadata = fs::metadata(descriptor).ok()?;
    metadata.file_type().is_block_device().then(|| DevNo::from(metadata.rdev()))
}

fn may_write(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| flags & MAY_WRITE != 0)
}
