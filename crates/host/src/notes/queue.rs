//! The queue of a disk in the kernel: its length, its scheduler, and what happens to writes.

use assay_record::{HostNote, NoteKind};

use super::Seen;
use crate::machine::{attribute, name_of, number};

/// A queue below this is shorter than what tests and databases keep outstanding.
const SHORT: u32 = 32;
/// SATA has 32 places and the kernel uses 31 or 32 of them: that is what the disk can.
const SHORT_DEVICE: u32 = 16;
/// Schedulers that give each process a slice of the time: the queue of a fast device runs dry meanwhile.
const SLICING: [&str; 2] = ["bfq", "cfq"];
/// A device of many queues orders its commands itself.
const ORDERING: [&str; 3] = ["mq-deadline", "deadline", "kyber"];

pub(super) fn small(seen: &Seen<'_>) -> Option<HostNote> {
    let of_device = seen.folder.join("device/queue_depth");
    let of_kernel = seen.folder.join("queue/nr_requests");
    let short = number::<u32>(&of_device).filter(|depth| (2..SHORT_DEVICE).contains(depth));
    let (file, depth, more) = match short {
        Some(depth) => (of_device, depth, 32),
        None => {
            let requests = number::<u32>(&of_kernel).filter(|requests| *requests < SHORT)?;
            (of_kernel, requests, 256)
        }
    };
    let says = format!(
        "{} gets at most {depth} commands at a time: a greater queue depth waits in the kernel",
        seen.name
    );
    let mend = |path: &str| format!("Raise it, if the device takes more: echo {more} > {path}");
    Some(seen.note(NoteKind::SmallQueue, &file, depth.to_string(), says, mend))
}

pub(super) fn scheduler(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("queue/scheduler");
    let line = attribute(&file)?;
    let chosen = line.split_once('[')?.1.split_once(']')?.0;
    let is_nvme = seen.name.starts_with("nvme");
    let why = match chosen {
        slicing if SLICING.contains(&slicing) => {
            "it gives each process a slice of time and costs CPU for each I/O"
        }
        ordering if is_nvme && ORDERING.contains(&ordering) => {
            "it costs CPU for each I/O, and an NVMe drive orders its commands itself"
        }
        _ => return None,
    };
    let says = format!("the I/O scheduler of {} is {chosen}: {why}", seen.name);
    let to = if line.contains("none") { "none" } else { "mq-deadline" };
    let mend = |path: &str| format!("Compare with another: echo {to} > {path}");
    Some(seen.note(NoteKind::Scheduler, &file, line.clone(), says, mend))
}

pub(super) fn write_throttle(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("queue/wbt_lat_usec");
    let goal = number::<u64>(&file).filter(|goal| *goal > 0)?;
    let says = format!(
        "the kernel holds back writes from the page cache to {} while a read takes longer than {goal} µs (wbt)",
        seen.name
    );
    let mend = |path: &str| format!("Compare without it: echo 0 > {path}");
    Some(seen.note(NoteKind::WriteThrottle, &file, goal.to_string(), says, mend))
}

/// Of a SATA disk: drives with capacitors and controllers with memory of their own say the same and lose nothing by it.
pub(super) fn write_cache_off(seen: &Seen<'_>) -> Option<HostNote> {
    let is_sata = attribute(&seen.folder.join("device/vendor")).is_some_and(|vendor| vendor == "ATA");
    let is_rotating = number::<u32>(&seen.folder.join("queue/rotational")) == Some(1);
    let file = seen.folder.join("queue/write_cache");
    let value = attribute(&file).filter(|value| value == "write through" && is_sata && is_rotating)?;
    let says = format!(
        "the write cache of the disk {} is off: each write waits until the platter has turned below the head",
        seen.name
    );
    let mend = |_: &str| {
        format!(
            "Turn it on where a flush or an uninterruptible supply protects the data: hdparm -W1 /dev/{}",
            name_of(&seen.folder)
        )
    };
    Some(seen.note(NoteKind::WriteCacheOff, &file, value, says, mend))
}

/// A drive that has a volatile cache and takes no FUA: a durable write is a write and a flush of the cache.
pub(super) fn no_fua(seen: &Seen<'_>) -> Option<HostNote> {
    let file = seen.folder.join("queue/fua");
    let has_cache =
        attribute(&seen.folder.join("queue/write_cache")).is_some_and(|value| value == "write back");
    number::<u32>(&file).filter(|fua| *fua == 0 && has_cache)?;
    let says = format!(
        "{} takes no FUA: a write that must be durable costs a flush of its whole write cache",
        seen.name
    );
    let is_sata = attribute(&seen.folder.join("device/vendor")).is_some_and(|vendor| vendor == "ATA");
    let mend = |_: &str| {
        let of_sata = "SATA: libata.fua=1 on the command line of the kernel, if the disk has it; else fewer and larger \
             commits.";
        if is_sata { of_sata } else { "Fewer and larger commits." }.to_owned()
    };
    Some(seen.note(NoteKind::NoFua, &file, "0".to_owned(), says, mend))
}
