//! The CPUs on which a block device reports completions.
//!
//! A request that is issued on one CPU and completed by an interrupt on another pays for waking the first: at queue
//! depth 1 that was a quarter of the latency of a virtual disk. sysfs and procfs show which CPUs avoid this cost.

use std::path::{Path, PathBuf};

use crate::block::whole_disk;
use crate::machine::{Machine, attribute, name_of, names_in};

/// Devices that pass requests to a thread or a server: where their completions arrive says nothing about the disk.
const INDIRECT: [&str; 6] = ["loop", "nbd", "rbd", "drbd", "zram", "ram"];
/// Name endings of interrupt vectors that do not report completions.
const OTHER_VECTORS: [&str; 5] = ["-config", "-control", "-event", "q0", "-admin"];

/// The CPUs that a device interrupts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInterrupts {
    /// Kernel name of the disk.
    pub device: String,
    /// CPUs whose own requests are completed by an interrupt on the same CPU, ascending. At least one.
    pub cpus: Vec<usize>,
}

/// Returns the CPUs that the disks under a device interrupt, given the device and every device below it
/// ([`DeviceFacts::stack`](assay_record::DeviceFacts)). `None` if that is unknown, or if the disks have no CPU in
/// common.
pub fn interrupts_of(stack: &[String]) -> Option<DeviceInterrupts> {
    interrupts_on(&Machine::this(), stack)
}

fn interrupts_on(machine: &Machine, stack: &[String]) -> Option<DeviceInterrupts> {
    let is_indirect = |name: &String| INDIRECT.iter().any(|prefix| name.starts_with(prefix));
    if stack.iter().any(is_indirect) {
        return None;
    }
    let mut disks: Vec<PathBuf> = stack
        .iter()
        .filter_map(|name| Some(whole_disk(&machine.block_folder_by_name(name).ok()?)))
        .filter(|disk| disk.join("device").exists())
        .collect();
    disks.dedup();
    let mut found: Option<DeviceInterrupts> = None;
    for disk in &disks {
        let cpus = cpus_of(machine, disk)?;
        let known =
            found.get_or_insert_with(|| DeviceInterrupts { device: name_of(disk), cpus: cpus.clone() });
        known.cpus.retain(|cpu| cpus.contains(cpu));
    }
    found.filter(|known| !known.cpus.is_empty())
}

/// Returns the CPUs whose requests are completed on the same CPU; if there is none, those that are interrupted at all.
fn cpus_of(machine: &Machine, disk: &Path) -> Option<Vec<usize>> {
    let interrupts: Vec<Vec<usize>> =
        vectors(machine, disk)?.iter().filter_map(|irq| affinity(machine, irq)).collect();
    let all: Vec<usize> = sorted(interrupts.iter().flatten().copied().collect());
    if all.is_empty() {
        return None;
    }
    let queues = queues(disk);
    // One vector serves all queues, or each queue has its own in the same order; otherwise the assignment is unknown.
    let local = match interrupts.len() {
        1 => queues.concat(),
        count if count == queues.len() => {
            let pairs = queues.iter().zip(&interrupts);
            pairs.flat_map(|(queue, to)| queue.iter().copied().filter(|cpu| to.contains(cpu))).collect()
        }
        _ => all.clone(),
    };
    let local = sorted(local.into_iter().filter(|cpu| all.contains(cpu)).collect());
    Some(if local.is_empty() { all } else { local })
}

fn sorted(mut cpus: Vec<usize>) -> Vec<usize> {
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Returns the CPUs of each hardware queue, in the order of the queues.
fn queues(disk: &Path) -> Vec<Vec<usize>> {
    let folder = disk.join("mq");
    let mut numbers: Vec<usize> = names_in(&folder).iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let cpus = |number: usize| attribute(&folder.join(number.to_string()).join("cpu_list"));
    numbers
        .into_iter()
        .map(|number| cpus(number).and_then(|list| cpu_list(&list)).unwrap_or_default())
        .collect()
}

/// Returns the interrupt numbers by which the controller of a disk reports completions, ascending.
fn vectors(machine: &Machine, disk: &Path) -> Option<Vec<String>> {
    let device = disk.join("device").canonicalize().ok()?;
    let controller = device.ancestors().find(|folder| folder.join("msi_irqs").exists())?;
    let mut numbers: Vec<u32> =
        names_in(&controller.join("msi_irqs")).iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let numbers = numbers.iter().map(u32::to_string);
    Some(numbers.filter(|irq| reports_completions(&machine.path(format!("/proc/irq/{irq}")))).collect())
}

/// Returns true if a vector reports completions: one in use has a directory with the name of its handler.
fn reports_completions(folder: &Path) -> bool {
    let handlers = names_in(folder).into_iter().filter(|name| folder.join(name).is_dir());
    let is_other = |name: &String| OTHER_VECTORS.iter().any(|end| name.ends_with(end));
    handlers.into_iter().any(|name| !is_other(&name))
}

/// Returns the CPUs that an interrupt really goes to; kernels before 4.15 show only where it may go.
fn affinity(machine: &Machine, irq: &str) -> Option<Vec<usize>> {
    let file = |name: &str| machine.attribute(format!("/proc/irq/{irq}/{name}"));
    let effective = file("effective_affinity_list").and_then(|list| cpu_list(&list));
    effective
        .or_else(|| file("smp_affinity_list").and_then(|list| cpu_list(&list)).filter(|cpus| cpus.len() == 1))
}

/// Parses a list of CPUs in the notation of the kernel: `0-2,5`, and in `cpu_list` files `0, 1, 2`. `None` for anything
/// else.
pub fn cpu_list(text: &str) -> Option<Vec<usize>> {
    /// More CPUs than Linux supports on any architecture.
    const CPUS_MAX: usize = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(sorted(cpus))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::captured::Captured;

    /// Returns a disk `name` whose controller has the vectors (number, handler, effective affinity), and whose queues
    /// serve these CPUs.
    fn disk(captured: Captured, name: &str, vectors: &[(u32, &str, &str)], queues: &[&str]) -> Captured {
        let number = format!("8:{}", vectors.first().map_or(0, |of| of.0));
        let captured =
            captured.device(&format!("pci/{name}-card/unit/block/{name}"), &number, &[("size", "8")]);
        let machine = captured.machine();
        let folder = machine.path(format!("/sys/devices/pci/{name}-card/unit/block/{name}"));
        symlink("../..", folder.join("device")).unwrap();
        for (number, handler, affinity) in vectors {
            captured.file(&format!("sys/devices/pci/{name}-card/msi_irqs/{number}"), b"msix\n");
            captured.file(&format!("proc/irq/{number}/effective_affinity_list"), affinity.as_bytes());
            if !handler.is_empty() {
                captured.file(&format!("proc/irq/{number}/{handler}/x"), b"");
            }
        }
        for (queue, cpus) in queues.iter().enumerate() {
            captured.file(
                &format!("sys/devices/pci/{name}-card/unit/block/{name}/mq/{queue}/cpu_list"),
                cpus.as_bytes(),
            );
        }
        captured
    }

    fn cpus(captured: &Captured, stack: &[&str]) -> Option<Vec<usize>> {
        let stack: Vec<String> = stack.iter().map(|&name| name.to_owned()).collect();
        interrupts_on(&captured.machine(), &stack).map(|found| found.cpus)
    }

    #[test]
    fn a_disk_with_one_queue_interrupts_one_cpu() {
        let vectors = [(35, "virtio1-config", "0"), (36, "virtio1-req.0", "1"), (37, "", "0")];
        let captured = disk(Captured::new(), "vda", &vectors, &["0, 1\n"]);
        assert_eq!(cpus(&captured, &["vda"]), Some(vec![1]));
    }

    #[test]
    fn each_queue_has_its_own_vector_if_counts_match() {
        let vectors = [(40, "nvme0q0", "0"), (41, "nvme0q1", "0"), (42, "nvme0q2", "3")];
        let captured = disk(Captured::new(), "nvme0n1", &vectors, &["0, 1\n", "2, 3\n"]);
        assert_eq!(cpus(&captured, &["nvme0n1"]), Some(vec![0, 3]), "1 and 2 are served from elsewhere");
        let crossed = [(41, "nvme0q1", "2"), (42, "nvme0q2", "1")];
        let captured = disk(Captured::new(), "nvme0n1", &crossed, &["0, 1\n", "2, 3\n"]);
        assert_eq!(
            cpus(&captured, &["nvme0n1"]),
            Some(vec![1, 2]),
            "no CPU serves itself: those that are interrupted"
        );
    }

    #[test]
    fn vectors_that_match_no_queues_count_together() {
        let vectors = [(50, "megasas0-msix0", "2"), (51, "megasas0-msix1", "0"), (52, "megasas0-msix2", "2")];
        let captured = disk(Captured::new(), "sda", &vectors, &["0, 1, 2, 3\n"]);
        assert_eq!(cpus(&captured, &["sda"]), Some(vec![0, 2]));
    }

    #[test]
    fn a_volume_over_two_disks_gets_a_cpu_that_both_interrupt() {
        let first = disk(Captured::new(), "sda", &[(60, "ahci-a", "0-1")], &["0-3"]);
        let both = disk(first, "sdb", &[(70, "ahci-b", "1-2")], &["0-3"]);
        assert_eq!(cpus(&both, &["dm-0", "sda", "sdb"]), Some(vec![1]));
        let apart = disk(both, "sdc", &[(80, "ahci-c", "3")], &["0-3"]);
        assert_eq!(cpus(&apart, &["md0", "sda", "sdb", "sdc"]), None);
    }

    #[test]
    fn unknown_interrupts_are_not_reported() {
        let captured = disk(Captured::new(), "vda", &[(36, "virtio1-req.0", "1")], &["0, 1\n"]);
        assert_eq!(cpus(&captured, &["loop0", "vda"]), None, "a loop device has threads of its own");
        assert_eq!(cpus(&captured, &["sdz"]), None);
        assert_eq!(cpus(&captured, &[]), None);
        let silent = disk(Captured::new(), "sda", &[(90, "", "1")], &["0, 1\n"]);
        assert_eq!(cpus(&silent, &["sda"]), None, "no vector has a handler");
    }

    #[test]
    fn cpu_lists_are_parsed_in_kernel_and_user_notation() {
        assert_eq!(cpu_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list("3, 1,1\n"), Some(vec![1, 3]));
        for wrong in ["", "a", "2-1", "1,,2", "0-99999999", "-1"] {
            assert_eq!(cpu_list(wrong), None, "{wrong}");
        }
    }
}
