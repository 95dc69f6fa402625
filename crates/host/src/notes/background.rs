//! What a Btrfs does on its own: it moves, replaces or checks data on the device.

use assay_record::{HostNote, NoteKind};

use super::Seen;
use crate::machine::{attribute, name_of, names_in};

/// A file system on the device that balances, replaces a device or scrubs. The kernel shows the first two; of a scrub
/// the program `btrfs` notes that it has begun and has not ended.
pub(super) fn file_system(seen: &Seen<'_>) -> Option<HostNote> {
    let all = seen.machine.path("/sys/fs/btrfs");
    let is_on = |uuid: &String| all.join(uuid).join("devices").join(name_of(&seen.folder)).exists();
    let uuid = names_in(&all).into_iter().find(is_on)?;
    let exclusive = all.join(&uuid).join("exclusive_operation");
    if let Some(does) = attribute(&exclusive).filter(|does| does != "none") {
        let says = format!("the Btrfs on {} runs a {does}: its disks serve that beside the load", seen.name);
        let mend =
            |_: &str| "Wait until it has ended: btrfs balance status, btrfs replace status.".to_owned();
        return Some(seen.note(NoteKind::BackgroundWork, &exclusive, does, says, mend));
    }
    let file = seen.machine.path(format!("/var/lib/btrfs/scrub.status.{uuid}"));
    let line = attribute(&file)?.lines().find(|line| is_scrubbing(line))?.to_owned();
    let says = format!("the Btrfs on {} is being scrubbed: its disks serve that beside the load", seen.name);
    let mend =
        |_: &str| "Wait, or stop it for the time of the test: btrfs scrub cancel MOUNT_POINT".to_owned();
    let value = line.split('|').filter(|word| word.starts_with("finished") || word.starts_with("canceled"));
    let value = value.collect::<Vec<_>>().join("|");
    Some(seen.note(NoteKind::BackgroundWork, &file, value, says, mend))
}

fn is_scrubbing(line: &str) -> bool {
    let has = |word: &str| line.split('|').any(|one| one == word);
    has("finished:0") && has("canceled:0")
}
