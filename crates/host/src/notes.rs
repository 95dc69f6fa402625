//! What the kernel shows of a device and the devices below it: limits and states that a load will meet.
//!
//! Each is one row of [`ROWS`]: a function from a device's directory in sysfs to a note that quotes the file and its
//! value, and says what mends it. What a file does not show is no note. The host as a whole has rows of its own
//! (`host`), and so has a mounted file system (`mount`).

use std::path::{Path, PathBuf};

use assay_record::{HostNote, IoLimit, NoteKind};

use crate::cgroup::{own_folders, own_groups};
use crate::machine::{Machine, attribute, name_of, number};
use crate::program::said;

mod background;
mod drive;
mod health;
mod host;
mod limits;
pub(crate) mod mount;
mod queue;
mod sata;
mod thin;
mod zfs;

pub(crate) use host::of_host;

/// A device of a stack.
struct Seen<'m> {
    machine: &'m Machine,
    name: String,
    folder: PathBuf,
}

/// A row: what a device may show of itself.
type Row = fn(&Seen<'_>) -> Option<HostNote>;

/// Everything that a device may show of itself.
const ROWS: [Row; 18] = [
    raid_degraded,
    raid_busy,
    background::file_system,
    one_command,
    queue::small,
    queue::scheduler,
    queue::write_throttle,
    queue::write_cache_off,
    queue::no_fua,
    narrow_link,
    sata::slowed,
    sata::slow,
    sata::sleeps,
    drive::nvme_sleeps,
    drive::suspends,
    drive::hot,
    limits::cost,
    encrypted,
];

/// Files of version 1: name, whether it is about reads, whether it counts bytes.
const THROTTLES: [(&str, bool, bool); 4] = [
    ("blkio.throttle.read_iops_device", true, false),
    ("blkio.throttle.write_iops_device", false, false),
    ("blkio.throttle.read_bps_device", true, true),
    ("blkio.throttle.write_bps_device", false, true),
];
/// Keys of `io.max` of version 2.
const KEYS: [(&str, bool, bool); 4] =
    [("riops", true, false), ("wiops", false, false), ("rbps", true, true), ("wbps", false, true)];

/// Returns what the kernel shows of the devices of a stack (kernel names), the limits first.
pub(crate) fn notes_of(machine: &Machine, stack: &[String]) -> Vec<HostNote> {
    let folder = |name: &String| machine.block_folder_by_name(name).ok();
    let seen: Vec<Seen<'_>> = stack
        .iter()
        .filter_map(|name| Some(Seen { machine, name: name.clone(), folder: folder(name)? }))
        .collect();
    let mut notes: Vec<HostNote> = seen.iter().flat_map(io_limits).collect();
    notes.extend(seen.iter().flat_map(limits::latencies_of_others));
    notes.extend(seen.iter().flat_map(health::drive));
    notes.extend(seen.iter().flat_map(thin::notes));
    notes.extend(seen.iter().flat_map(zfs::of_volume));
    notes.extend(seen.iter().flat_map(|seen| ROWS.iter().filter_map(|row| row(seen))));
    notes
}

impl Seen<'_> {
    /// A note about a file below the device's directory.
    fn note(
        &self,
        kind: NoteKind,
        file: &Path,
        value: String,
        says: String,
        mend: impl FnOnce(&str) -> String,
    ) -> HostNote {
        note(self.machine, kind, file, value, says, mend)
    }
}

/// A note about a file.
fn note(
    machine: &Machine,
    kind: NoteKind,
    file: &Path,
    value: String,
    says: String,
    mend: impl FnOnce(&str) -> String,
) -> HostNote {
    let path = machine.shown(file).display().to_string();
    let mend = mend(&path);
    HostNote { kind, path, value, says, mend, limit: None }
}

/// The limits of this process's control groups on a device. Version 1 knows no hierarchy of them: a limit holds for the
/// processes of the group itself and for none below it (block/blk-throttle.c).
fn io_limits(seen: &Seen<'_>) -> Vec<HostNote> {
    let Some(number) = attribute(&seen.folder.join("dev")) else { return Vec::new() };
    let number = number.as_str();
    let of_group =
        |group: PathBuf| THROTTLES.iter().filter_map(move |row| throttle(seen, number, &group, *row));
    let throttles = own_groups(seen.machine).into_iter().flat_map(of_group);
    let of_all = own_folders(seen.machine).into_iter().flat_map(|folder| io_max(seen, number, &folder));
    throttles.chain(of_all).collect()
}

/// Version 1: lines of a device and a rate.
fn throttle(
    seen: &Seen<'_>,
    number: &str,
    folder: &Path,
    (file, is_read, is_bytes): (&str, bool, bool),
) -> Option<HostNote> {
    let file = folder.join(file);
    let line = line_of(&file, number)?;
    let per_s = line.parse().ok()?;
    let limit = IoLimit { is_read, is_bytes, per_s };
    Some(limit_note(seen, &file, format!("{number} {line}"), limit, &format!("{number} 0")))
}

/// Version 2: lines of a device and `riops=800 wiops=max …`.
fn io_max(seen: &Seen<'_>, number: &str, folder: &Path) -> Vec<HostNote> {
    let file = folder.join("io.max");
    let Some(line) = line_of(&file, number) else { return Vec::new() };
    let value = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let one = |(key, is_read, is_bytes): (&str, bool, bool)| {
        let per_s = value(key)?.parse().ok()?;
        let limit = IoLimit { is_read, is_bytes, per_s };
        let quoted = format!("{number} {key}={per_s}");
        Some(limit_note(seen, &file, quoted, limit, &format!("{number} {key}=max")))
    };
    KEYS.into_iter().filter_map(one).collect()
}

/// What stands behind the number of a device in a file with a line for each.
fn line_of(file: &Path, number: &str) -> Option<String> {
    let text = attribute(file)?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(device, _)| *device == number).map(|(_, rest)| rest.trim().to_owned())
}

fn limit_note(seen: &Seen<'_>, file: &Path, value: String, limit: IoLimit, none: &str) -> HostNote {
    let what = if limit.is_read { "reads" } else { "writes" };
    let rate = match limit.is_bytes {
        true => format!("{:.1} MB/s", limit.per_s / 1e6),
        false => format!("{} per second", limit.per_s),
    };
    let says = format!("a control group of this process limits {what} of {} to {rate}", seen.name);
    let lift = |path: &str| format!("Lift the limit: echo '{none}' > {path}");
    HostNote { limit: Some(limit), ..seen.note(NoteKind::IoLimit, file, value, says, lift) }
}

fn raid_degraded(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("md/degraded");
    let missing = number::<u32>(&file).filter(|missing| *missing > 0)?;
    let name = &seen.name;
    let says = format!(
        "the software RAID {name} lacks {missing} of its members: what stood on them is computed from the others"
    );
    let mend = |_: &str| {
        format!(
            "Find the missing member (mdadm --detail /dev/{name}) and replace it: mdadm /dev/{name} --add DISK"
        )
    };
    Some(seen.note(NoteKind::RaidDegraded, &file, missing.to_string(), says, mend))
}

fn raid_busy(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("md/sync_action");
    let action = attribute(&file).filter(|action| !matches!(action.as_str(), "idle" | "frozen"))?;
    let does = match action.as_str() {
        "check" | "repair" => "is being checked",
        "reshape" => "is being reshaped",
        _ => "is being rebuilt",
    };
    let done = attribute(&seen.folder.join("md/sync_completed")).and_then(|text| {
        let (done, all) = text.split_once('/')?;
        Some((done.trim().parse::<f64>().ok()?, all.trim().parse::<f64>().ok()?))
    });
    let percent = done.filter(|(_, all)| *all > 0.0).map(|(done, all)| done * 100.0 / all);
    let far = percent.map_or_else(String::new, |percent| format!(" ({percent:.0} % done)"));
    let says = format!("the software RAID {} {does}{far}: its disks serve that beside the load", seen.name);
    let mend = |path: &str| match action.as_str() {
        "check" | "repair" => format!("Stop it for the time of the test: echo idle > {path}"),
        _ => "Wait until it has ended (cat /proc/mdstat), then test.".to_owned(),
    };
    Some(seen.note(NoteKind::RaidBusy, &file, action.clone(), says, mend))
}

fn one_command(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("device/queue_depth");
    number::<u32>(&file).filter(|depth| *depth == 1)?;
    let says = format!("{} gets one command at a time: NCQ is off, or it has none", seen.name);
    let mend = |path: &str| format!("Raise the depth, if the disk has NCQ: echo 32 > {path}");
    Some(seen.note(NoteKind::OneCommand, &file, "1".to_owned(), says, mend))
}

/// Speed, GT/s, and number of lanes of one end of a PCIe link.
fn pcie(folder: &Path, which: &str) -> Option<(f64, u32)> {
    let speed = attribute(&folder.join(format!("{which}_link_speed")))?;
    let lanes = number::<u32>(&folder.join(format!("{which}_link_width"))).filter(|lanes| *lanes > 0)?;
    Some((speed.split_whitespace().next()?.parse().ok()?, lanes))
}

fn narrow_link(seen: &Seen<'_>) -> Option<HostNote> {
    // The device's own link is the first one above a disk.
    let device = seen.folder.ancestors().skip(1).find(|folder| folder.join("current_link_speed").exists())?;
    let (speed, lanes) = pcie(device, "current")?;
    let own = pcie(device, "max")?;
    let port = device.parent().and_then(|port| pcie(port, "max")).unwrap_or(own);
    let (fastest, widest) = (own.0.min(port.0), own.1.min(port.1));
    if speed >= fastest && lanes >= widest {
        return None;
    }
    let says = format!(
        "the PCIe link of {} runs at {speed} GT/s with {lanes} lanes, and both ends can {fastest} GT/s with {widest}",
        seen.name
    );
    let mend = |_: &str| {
        format!(
            "Reseat the device or use another slot; lspci -vvs {} shows LnkCap and LnkSta.",
            name_of(device)
        )
    };
    let file = device.join("current_link_speed");
    Some(seen.note(NoteKind::NarrowLink, &file, format!("{speed} GT/s"), says, mend))
}

fn encrypted(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("dm/uuid");
    let uuid = attribute(&file).filter(|uuid| uuid.starts_with("CRYPT-"))?;
    let name = attribute(&seen.folder.join("dm/name")).unwrap_or_else(|| seen.name.clone());
    // `0 2097152 crypt aes-xts-plain64 :64:logon:… 0 8:16 32768 2 no_read_workqueue no_write_workqueue`
    let table = said(seen.machine, "dmsetup", &["table", &name]).unwrap_or_default();
    let words: Vec<&str> = table.split_whitespace().collect();
    let cipher = words.get(3).filter(|_| words.get(2) == Some(&"crypt"));
    let by = cipher.map_or_else(String::new, |cipher| format!(" ({cipher})"));
    let is_direct = ["no_read_workqueue", "no_write_workqueue"].iter().all(|flag| words.contains(flag));
    let threads = match (cipher, is_direct) {
        (None, _) => "",
        (Some(_), false) => ", in threads of dm-crypt that I/Os wait for",
        (Some(_), true) => ", without a detour over threads",
    };
    let says = format!("this host encrypts {}{by}: each byte costs CPU time here{threads}", seen.name);
    let mend = |_: &str| match is_direct {
        true => "cryptsetup benchmark shows how many bytes per second these CPUs encrypt.".to_owned(),
        false => format!(
            "On flash, without a detour over threads: cryptsetup refresh --perf-no_read_workqueue \
             --perf-no_write_workqueue {name}"
        ),
    };
    Some(seen.note(NoteKind::Encrypted, &file, uuid, says, mend))
}

#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod rows_tests;
#[cfg(test)]
mod tests;
