//! Facts about the host, read once.

use std::fs;

use assay_record::HostFacts;

use crate::awake::allowed_cpus;
use crate::cgroup;
use crate::machine::Machine;

/// Returns the facts about the machine. Never fails: facts that the kernel does not show stay empty.
pub fn host_facts() -> HostFacts {
    let uname = rustix::system::uname();
    let cpus = u32::try_from(allowed_cpus().len()).unwrap_or(u32::MAX).max(1);
    HostFacts {
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        cpus,
        ..facts_of(&Machine::this())
    }
}

/// Returns the facts that files provide.
fn facts_of(machine: &Machine) -> HostFacts {
    let cpuinfo = machine.text("/proc/cpuinfo").unwrap_or_default();
    let limits = cgroup::limits(machine);
    HostFacts {
        name: String::new(),
        os: os_name(
            &machine
                .text("/etc/os-release")
                .or_else(|_| machine.text("/usr/lib/os-release"))
                .unwrap_or_default(),
        ),
        kernel: String::new(),
        cpu_model: cpu_model(&cpuinfo).unwrap_or_default(),
        cpus: 1,
        cpus_online: machine.attribute("/sys/devices/system/cpu/online").map_or(0, |list| count_cpus(&list)),
        cgroup_cpus: limits.cpus,
        memory_bytes: memory_bytes(&machine.text("/proc/meminfo").unwrap_or_default()).unwrap_or(0),
        cgroup_memory_bytes: limits.memory_bytes,
        clocksource: machine
            .attribute("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_default(),
        hypervisor: hypervisor(machine, &cpuinfo),
        governor: governor(machine),
        clock: None,
        notes: crate::notes::of_host(machine),
    }
}

fn os_name(os_release: &str) -> String {
    let value = |key: &str| {
        let value = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(value.trim_matches(['"', '\'']).to_owned())
    };
    value("PRETTY_NAME").or_else(|| value("NAME")).unwrap_or_default()
}

/// Returns the CPU model: `model name` on x86; `Model`, `Hardware` or `uarch` on some ARM and RISC-V kernels.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "Hardware", "cpu model", "uarch"].iter().find_map(|key| field(cpuinfo, key))
}

fn field(cpuinfo: &str, key: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Returns the number of CPUs in a list: 5 for `0-3,8`.
fn count_cpus(list: &str) -> u32 {
    let range = |part: &str| -> Option<u32> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(last.trim().parse::<u32>().ok()?.checked_sub(first.trim().parse().ok()?)? + 1)
    };
    list.split(',').filter_map(range).sum()
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib = field(meminfo, "MemTotal")?;
    kib.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the governor of the CPUs; different ones are joined, because such a machine gives uneven results.
fn governor(machine: &Machine) -> Option<String> {
    let folder = machine.path("/sys/devices/system/cpu/cpufreq");
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|policy| crate::machine::attribute(&policy.path().join("scaling_governor")))
        .collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Firmware names, and the hypervisor that each belongs to.
const FIRMWARE_NAMES: [(&str, &str); 10] = [
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Virtual Machine", "Hyper-V"),
    ("HVM domU", "Xen"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Parallels", "Parallels"),
    ("bhyve", "bhyve"),
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
];

/// Clock sources that only one hypervisor offers.
const CLOCK_NAMES: [(&str, &str); 4] =
    [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"), ("vmware", "VMware")];

/// Returns the hypervisor, with its own name if it reports one. On x86 the CPU flag decides, because bare-metal cloud
/// machines carry the firmware names of cloud vendors too.
fn hypervisor(machine: &Machine, cpuinfo: &str) -> Option<String> {
    let flags = field(cpuinfo, "flags");
    let flagged = flags.as_ref().map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    if flagged == Some(false) {
        return None;
    }
    let firmware = ["product_name", "sys_vendor", "bios_vendor"]
        .map(|file| machine.attribute(format!("/sys/class/dmi/id/{file}")).unwrap_or_default())
        .join(" ");
    let clocks = machine
        .attribute("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let known = |names: &[(&str, &str)], text: &str| {
        names.iter().find(|(sign, _)| text.contains(sign)).map(|(_, name)| (*name).to_owned())
    };
    known(&FIRMWARE_NAMES, &firmware)
        .or_else(|| machine.attribute("/sys/hypervisor/type"))
        .or_else(|| known(&CLOCK_NAMES, &clocks))
        .or_else(|| (flagged == Some(true)).then(|| "unknown".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_release_gives_its_pretty_name() {
        for (text, expected) in [
            ("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n", "Debian GNU/Linux 12 (bookworm)"),
            ("NAME=Alpine\nID=alpine\n", "Alpine"),
            ("", ""),
        ] {
            assert_eq!(os_name(text), expected);
        }
    }

    #[test]
    fn cpu_lists_are_counted() {
        for (list, expected) in [("0-1", 2), ("0", 1), ("0-3,8,10-11", 7), ("", 0), ("3-1", 0)] {
            assert_eq!(count_cpus(list), expected, "{list}");
        }
    }

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(memory_bytes("MemTotal:       24668984 kB\nMemFree: 1 kB\n"), Some(24_668_984 * 1024));
        assert_eq!(memory_bytes(""), None);
    }

    #[test]
    fn hypervisors_are_named_by_flag_firmware_and_clock() {
        let check = |files: &[(&str, &str)], cpuinfo: &str, expected: Option<&str>| {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let found = hypervisor(&Machine::captured(root.path()), cpuinfo);
            assert_eq!(found.as_deref(), expected, "{files:?} {cpuinfo}");
        };
        let product = "sys/class/dmi/id/product_name";
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let virtual_x86 = "flags\t\t: fpu hypervisor lm\n";
        check(&[(product, "VMware Virtual Platform\n")], virtual_x86, Some("VMware"));
        check(&[(product, "Virtual Machine\n")], virtual_x86, Some("Hyper-V"));
        check(&[(clocks, "tsc kvm-clock \n")], virtual_x86, Some("KVM"));
        check(&[], virtual_x86, Some("unknown"));
        check(&[("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")], "flags : fpu lm\n", None);
        check(&[("sys/hypervisor/type", "xen\n")], "Features : fp asimd\n", Some("xen"));
        check(&[], "Features : fp asimd\n", None);
    }

    #[test]
    fn this_host_has_a_name_a_kernel_memory_and_cpus() {
        let facts = host_facts();
        assert!(!facts.name.is_empty() && !facts.kernel.is_empty(), "{facts:?}");
        assert!(facts.memory_bytes > 0 && facts.cpus >= 1 && facts.cpus <= facts.cpus_online, "{facts:?}");
    }
}
