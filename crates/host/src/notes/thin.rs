//! Thin volumes of the device mapper and their pools. LVM names its pools; of others only `dmsetup` knows what they
//! are.

use assay_record::{HostNote, NoteKind};

use super::Seen;
use crate::machine::attribute;
use crate::program::said;

/// A pool that is this full soon refuses writes.
const FULL: f64 = 0.9;
/// A volume of which this much is allocated is as good as a thick one.
const ALLOCATED: f64 = 0.999;

/// Returns what a device shows of itself as a pool of thin volumes, or as one of these.
pub(super) fn notes(seen: &Seen<'_>) -> Vec<HostNote> {
    let Some(name) = attribute(&seen.folder.join("dm/name")) else { return Vec::new() };
    let status = said(seen.machine, "dmsetup", &["status", &name]).unwrap_or_default();
    let words: Vec<&str> = status.split_whitespace().collect();
    let kind = words.get(2).copied();
    let by_status = (kind == Some("thin-pool")).then(|| pool_of_status(&name, words.get(5)));
    let full = by_status.is_some().then(|| nearly_full(&name, &words)).flatten();
    let volume = (kind == Some("thin")).then(|| volume(&name, &words)).flatten();
    pool_of_lvm(seen).or(by_status).into_iter().chain(full).chain(volume).collect()
}

fn pool_of_lvm(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("dm/uuid");
    let uuid = attribute(&file).filter(|uuid| uuid.starts_with("LVM-") && uuid.ends_with("-tpool"))?;
    let mend =
        |_: &str| "Write the span once before the test; lvs -o+data_percent shows how full it is.".to_owned();
    Some(seen.note(NoteKind::Thin, &file, uuid, says_pool(&seen.name), mend))
}

fn says_pool(name: &str) -> String {
    format!("{name} is a pool of thin volumes: the first write to a block allocates it")
}

fn pool_of_status(name: &str, used: Option<&&str>) -> HostNote {
    let mend = format!(
        "Write the span once before the test; dmsetup status {name} shows the blocks of the pool that are used."
    );
    note(name, used.map_or_else(String::new, |used| format!("{used} blocks")), says_pool(name), mend)
}

fn note(name: &str, value: String, says: String, mend: String) -> HostNote {
    HostNote { kind: NoteKind::Thin, path: format!("dmsetup status {name}"), value, says, mend, limit: None }
}

/// `0 8192 thin-pool 1 11/1024 120/128 - rw …`: blocks of tables and of data, used and all; whether it takes writes.
fn nearly_full(name: &str, words: &[&str]) -> Option<HostNote> {
    let share = |word: &str| -> Option<f64> {
        let (used, all) = word.split_once('/')?;
        Some(used.parse::<f64>().ok()? / all.parse::<f64>().ok()?.max(1.0))
    };
    let mend = || "Enlarge it before it refuses writes: lvextend, or fstrim what uses it.".to_owned();
    if words.get(7) == Some(&"out_of_data_space") {
        let says = format!(
            "the pool of thin volumes {name} is full: it holds back writes that need a block, or fails them"
        );
        return Some(note(name, "out_of_data_space".to_owned(), says, mend()));
    }
    let (tables, data) = (share(words.get(4)?)?, share(words.get(5)?)?);
    let (what, full) = if tables > data { ("tables", tables) } else { ("data", data) };
    let percent = format!("{:.0} %", full * 100.0);
    let says = format!("the {what} of the pool of thin volumes {name} are {percent} full");
    (full >= FULL).then(|| note(name, percent, says, mend()))
}

/// `0 8192 thin 4096 8191`: its sectors, and those that are allocated.
fn volume(name: &str, words: &[&str]) -> Option<HostNote> {
    let number = |at: usize| -> Option<f64> { words.get(at)?.parse().ok() };
    let (all, allocated) = (number(1)?, number(3)?);
    let share = (allocated / all.max(1.0)).min(1.0);
    let percent = format!("{:.0} %", (share * 100.0).floor());
    let says = format!(
        "{percent} of the thin volume {name} are allocated: reads of the rest touch no disk, and the first write to a \
         block allocates it"
    );
    (share < ALLOCATED).then(|| note(name, percent, says, "Write the span once before the test.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    /// What a device says of which `dmsetup status pool` answers this.
    fn of(uuid: &str, status: &str) -> Vec<(String, String)> {
        let machine = Captured::new();
        machine.file("programs/dmsetup status pool", status.as_bytes());
        let files = [("dm/name", "pool\n"), ("dm/uuid", uuid)];
        let captured = machine.device("virtual/block/dm-0", "253:0", &files);
        let (machine, name) = (captured.machine(), "dm-0".to_owned());
        let folder = machine.block_folder_by_name(&name).unwrap();
        let notes = notes(&Seen { machine: &machine, name, folder });
        assert!(notes.iter().all(|note| note.kind == NoteKind::Thin), "{notes:?}");
        notes.into_iter().map(|note| (note.path, note.says)).collect()
    }

    const BY_DMSETUP: &str = "dmsetup status pool";

    #[test]
    fn a_pool_that_lvm_did_not_make_is_known_by_its_status() {
        let says = "pool is a pool of thin volumes: the first write to a block allocates it";
        let pool = |data: &str| of("", &format!("0 8192 thin-pool 1 11/1024 {data} - rw no_discard\n"));
        assert_eq!(pool("60/128"), [(BY_DMSETUP.to_owned(), says.to_owned())]);
        let [_, full] = pool("120/128").try_into().unwrap();
        assert_eq!(full.1, "the data of the pool of thin volumes pool are 94 % full");
        let [_, over] =
            of("", "0 8192 thin-pool 1 11/1024 128/128 - out_of_data_space x\n").try_into().unwrap();
        assert!(over.1.starts_with("the pool of thin volumes pool is full"), "{over:?}");
        assert_eq!(of("", "0 8192 thin-pool Fail\n").len(), 1);
    }

    #[test]
    fn a_pool_of_lvm_is_named_once_and_by_its_file() {
        let status = "0 8192 thin-pool 1 11/1024 1/128 - rw\n";
        let [pool] = of("LVM-abc-tpool\n", status).try_into().unwrap();
        assert_eq!(pool.0, "/sys/devices/virtual/block/dm-0/dm/uuid");
        // Who may not ask dmsetup sees the file.
        assert_eq!(of("LVM-abc-tpool\n", ""), [pool]);
    }

    #[test]
    fn a_thin_volume_says_how_much_of_it_is_allocated() {
        assert_eq!(
            of("", "0 131072 thin 65536 131071\n"),
            [(
                BY_DMSETUP.to_owned(),
                "50 % of the thin volume pool are allocated: reads of the rest touch no disk, and the first write to \
                 a block allocates it"
                    .to_owned()
            )]
        );
        assert_eq!(of("", "0 131072 thin 131072 131071\n"), []);
        assert_eq!(of("", "0 131072 linear\n"), []);
        assert_eq!(of("CRYPT-LUKS2-aa\n", ""), []);
    }
}
