//! Control groups of version 2 that share a device: by latency (`io.latency`) and by cost (`io.cost`).

use std::path::{Path, PathBuf};

use assay_record::{HostNote, NoteKind};

use super::{Seen, line_of};
use crate::cgroup::own_folders;
use crate::machine::{attribute, name_of, names_in};

/// A group beside this process's own that has a goal for the latency of a device: while it is missed, the others are
/// held back.
pub(super) fn latencies_of_others(seen: &Seen<'_>) -> Vec<HostNote> {
    let Some(number) = attribute(&seen.folder.join("dev")) else { return Vec::new() };
    let own = own_folders(seen.machine);
    let beside = |folder: &PathBuf| -> Vec<PathBuf> {
        let Some(parent) = folder.parent().filter(|parent| own.iter().any(|one| one == parent)) else {
            return Vec::new();
        };
        names_in(parent)
            .into_iter()
            .map(|name| parent.join(name))
            .filter(|other| !own.contains(other))
            .collect()
    };
    own.iter().flat_map(beside).filter_map(|group| latency_of(seen, &number, &group)).collect()
}

fn latency_of(seen: &Seen<'_>, number: &str, group: &Path) -> Option<HostNote> {
    let file = group.join("io.latency");
    let line = line_of(&file, number)?;
    let goal = line.strip_prefix("target=")?.parse::<u64>().ok().filter(|us| *us > 0)?;
    let says = format!(
        "the control group {} has a goal of {goal} µs for its I/Os to {}: this process is held back while it is missed",
        name_of(group),
        seen.name
    );
    let mend = |path: &str| format!("Lift the goal: echo '{number} target=0' > {path}");
    Some(seen.note(NoteKind::IoShare, &file, format!("{number} {line}"), says, mend))
}

/// The root group hands out a device by what I/Os cost.
pub(super) fn cost(seen: &Seen<'_>) -> Option<HostNote> {
    let number = attribute(&seen.folder.join("dev"))?;
    let files = own_folders(seen.machine).into_iter().map(|folder| folder.join("io.cost.qos"));
    let (file, line) = files.filter_map(|file| line_of(&file, &number).map(|line| (file, line))).next()?;
    if !line.split(' ').any(|word| word == "enable=1") {
        return None;
    }
    let says = format!(
        "the kernel hands out {} by the cost of I/Os and the weights of control groups, and holds back whoever uses \
         more (io.cost)",
        seen.name
    );
    let mend = |path: &str| format!("Turn it off: echo '{number} enable=0' > {path}");
    Some(seen.note(NoteKind::IoShare, &file, format!("{number} {line}"), says, mend))
}
