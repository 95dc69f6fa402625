//! Who uses a device now: mounts, swap, holders, loop devices; and which partitions are on it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::related::{Node, Relation};
use super::{Hold, ProbeError};
use crate::device::{SECTOR_BYTES, block_number};
use crate::machine::{DevNo, Machine, attribute, name_of, names_in, number, unescape};
use crate::mounts::mounts;

/// Everything that uses one of these devices.
pub(crate) fn holds(machine: &Machine, nodes: &[Node]) -> Result<Vec<Hold>, ProbeError> {
    let read = |file: &'static str| move |source| ProbeError::Read { file: file.to_owned(), source };
    let mounts = mounts(machine).map_err(read("/proc/self/mountinfo"))?;
    let swaps = swaps(&machine.text("/proc/swaps").map_err(read("/proc/swaps"))?);
    let loops = loops(machine);
    let mut found = Vec::new();
    for node in nodes {
        let subject = node.subject();
        for mount in &mounts {
            // Btrfs mounts have a device number of their own; there the source tells.
            if node.number == Some(mount.device) || is_node(machine, node, Path::new(&mount.source)) {
                found.push(format!(
                    "{subject} is mounted at {} ({})",
                    mount.mount_point.display(),
                    mount.kind
                ));
            }
        }
        // Only the first device of a Btrfs of many is the source of its mount.
        let in_btrfs = |label: &&String| {
            machine.path("/sys/fs/btrfs").join(label).join("devices").join(&node.name).exists()
        };
        for label in names_in(&machine.path("/sys/fs/btrfs")).iter().filter(in_btrfs) {
            found.push(format!("{subject} belongs to the mounted btrfs {label}"));
        }
        if swaps.iter().any(|swap| is_node(machine, node, swap)) {
            found.push(format!("{subject} is in use as swap"));
        }
        for holder in names_in(&node.folder.join("holders")) {
            found.push(format!("{subject} is in use by {}", describe_holder(machine, &holder)));
        }
        for user in loops.iter().filter(|user| is_node(machine, node, &user.file)) {
            found.push(format!("{subject} is the backing device of /dev/{}", user.name));
        }
        found.extend(backing_file_holds(machine, node, &loops, &swaps));
    }
    found.dedup();
    Ok(found.into_iter().map(Hold::in_use).collect())
}

/// The partitions of the device in question, in one sentence.
pub(crate) fn partitions(nodes: &[Node]) -> Option<Hold> {
    let parts: Vec<String> = nodes
        .iter()
        .filter(|node| node.relation == Relation::Part)
        .map(|node| {
            let bytes = number::<u64>(&node.folder.join("size")).unwrap_or(0).saturating_mul(SECTOR_BYTES);
            format!("{} ({bytes} bytes)", node.path().display())
        })
        .collect();
    let whole = nodes.first()?.path();
    let plural = if parts.len() == 1 { "a partition" } else { "partitions" };
    (!parts.is_empty())
        .then(|| Hold::content(format!("{} has {plural}: {}", whole.display(), parts.join(", "))))
}

/// A loop device writes into its file: who else uses that file?
fn backing_file_holds(machine: &Machine, node: &Node, loops: &[Loop], swaps: &[PathBuf]) -> Vec<String> {
    let Some(own) = loops.iter().find(|one| one.name == node.name) else { return Vec::new() };
    let file = own.file.display();
    let mut found = Vec::new();
    for other in loops.iter().filter(|other| other.name != own.name && is_same_file(&other.file, &own.file)) {
        found.push(format!("{} writes to {file}, which /dev/{} uses too", node.subject(), other.name));
    }
    if swaps.iter().any(|swap| is_same_file(swap, &own.file)) {
        found.push(format!("{} writes to {file}, which is in use as swap", node.subject()));
    }
    let below = block_number(&own.file).and_then(|number| machine.block_folder(number).ok());
    if below.is_some() {
        found.push(format!(
            "{} writes to the device {file}; probe and name that device instead",
            node.subject()
        ));
    }
    found
}

/// A loop device that is attached.
struct Loop {
    name: String,
    file: PathBuf,
}

fn loops(machine: &Machine) -> Vec<Loop> {
    let block = machine.path("/sys/class/block");
    let attached = |name: String| {
        let file = PathBuf::from(attribute(&block.join(&name).join("loop/backing_file"))?);
        Some(Loop { name, file })
    };
    names_in(&block).into_iter().filter(|name| name.starts_with("loop")).filter_map(attached).collect()
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => one == other,
    }
}

/// The paths in `/proc/swaps`, devices and files. Its first line is a heading.
fn swaps(text: &str) -> Vec<PathBuf> {
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|path| unescape(path).into())
        .collect()
}

/// Whether a path is the node of this device, by number; by name where this process does not see that path.
fn is_node(machine: &Machine, node: &Node, path: &Path) -> bool {
    if !path.starts_with("/dev") {
        return false;
    }
    let by_name = || -> Option<DevNo> {
        let folder = machine.block_folder_by_name(&name_of(path)).ok()?;
        attribute(&folder.join("dev"))?.parse().ok()
    };
    let number = block_number(&machine.path(path)).or_else(by_name);
    number.is_some() && number == node.number
}

/// `/dev/dm-0 (vg-home)` says more to people than `dm-0`.
fn describe_holder(machine: &Machine, holder: &str) -> String {
    let folder = machine.path("/sys/class/block").join(holder);
    match attribute(&folder.join("dm/name")) {
        Some(name) => format!("/dev/{holder} ({name})"),
        None if folder.exists() => format!("/dev/{holder}"),
        None => holder.to_owned(),
    }
}
