//! The rows of queues, drives, control groups, the host and mounts, on trees as a kernel shows them.

use std::path::Path;

use assay_record::{FilesystemFacts, HostNote, NoteKind};

use super::mount::of_mount;
use super::*;
use crate::captured::Captured;

pub(super) const NVME: &str = "pci0/0000:01:00.0/nvme/nvme0/nvme0n1";
pub(super) const SDA: &str = "pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";

/// The notes on one device below `sys/devices`. As in the kernel, `device` leads to the directory above the block
/// devices of a disk.
pub(super) fn notes(folder: &str, files: &[(&str, &str)]) -> Vec<HostNote> {
    let machine = Captured::new();
    for (file, text) in files {
        machine.file(file, text.as_bytes());
    }
    let machine = machine.device(folder, "8:0", &[("dev", "8:0\n")]);
    let disk = machine.machine().path(format!("/sys/devices/{folder}"));
    let device = if folder == SDA { "../.." } else { ".." };
    std::os::unix::fs::symlink(device, disk.join("device")).unwrap();
    notes_of(&machine.machine(), &[name_of(Path::new(folder))])
}

/// The notes on a device with files of its own.
pub(super) fn with(folder: &str, files: &[(&str, &str)]) -> Vec<HostNote> {
    let files: Vec<(String, &str)> =
        files.iter().map(|(file, text)| (format!("sys/devices/{folder}/{file}"), *text)).collect();
    notes(folder, &files.iter().map(|(file, text)| (file.as_str(), *text)).collect::<Vec<_>>())
}

fn one(notes: Vec<HostNote>, kind: NoteKind, says: &str, mend: &str) {
    let [note] = notes.try_into().unwrap();
    assert_eq!((note.kind, note.says.as_str()), (kind, says));
    assert!(note.mend.starts_with(mend) && note.path.starts_with('/'), "{note:?}");
}

#[test]
fn a_short_queue_is_shown_with_the_file_that_lengthens_it() {
    let of = |requests: &str| with(NVME, &[("queue/nr_requests", requests)]);
    one(
        of("8\n"),
        NoteKind::SmallQueue,
        "nvme0n1 gets at most 8 commands at a time: a greater queue depth waits in the kernel",
        "Raise it, if the device takes more: echo 256 > /sys/devices/pci0/",
    );
    assert_eq!(of("1023\n"), []);
}

#[test]
fn a_scheduler_that_costs_more_than_it_gives_is_named() {
    let of = |folder: &str, line: &str| with(folder, &[("queue/scheduler", line)]);
    one(
        of(NVME, "none [mq-deadline] kyber\n"),
        NoteKind::Scheduler,
        "the I/O scheduler of nvme0n1 is mq-deadline: it costs CPU for each I/O, and an NVMe drive orders its commands \
         itself",
        "Compare with another: echo none > /sys/",
    );
    one(
        of(SDA, "mq-deadline [bfq]\n"),
        NoteKind::Scheduler,
        "the I/O scheduler of sda is bfq: it gives each process a slice of time and costs CPU for each I/O",
        "Compare with another: echo mq-deadline > /sys/",
    );
    assert_eq!(of(SDA, "[mq-deadline] none\n"), []);
    assert_eq!(of(NVME, "[none] mq-deadline\n"), []);
}

#[test]
fn writes_that_the_kernel_or_the_disk_delays_are_shown() {
    one(
        with(NVME, &[("queue/wbt_lat_usec", "2000\n")]),
        NoteKind::WriteThrottle,
        "the kernel holds back writes from the page cache to nvme0n1 while a read takes longer than 2000 µs (wbt)",
        "Compare without it: echo 0 > /sys/",
    );
    assert_eq!(with(NVME, &[("queue/wbt_lat_usec", "0\n")]), []);
    let vendor = "sys/devices/pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/vendor";
    let (cache, kind) =
        (format!("sys/devices/{SDA}/queue/write_cache"), format!("sys/devices/{SDA}/queue/rotational"));
    let of = |of_vendor, mode, rotates| notes(SDA, &[(vendor, of_vendor), (&cache, mode), (&kind, rotates)]);
    one(
        of("ATA     \n", "write through\n", "1\n"),
        NoteKind::WriteCacheOff,
        "the write cache of the disk sda is off: each write waits until the platter has turned below the head",
        "Turn it on where a flush or an uninterruptible supply protects the data: hdparm -W1 /dev/sda",
    );
    assert_eq!(of("ATA\n", "write back\n", "1\n"), []);
    assert_eq!(of("LSI\n", "write through\n", "1\n"), [], "a controller with memory of its own");
    assert_eq!(of("ATA\n", "write through\n", "0\n"), [], "flash with capacitors");
}

#[test]
fn drives_and_links_that_sleep_are_shown() {
    let policy = "sys/devices/pci0/0000:00:17.0/ata3/host2/scsi_host/host2/link_power_management_policy";
    one(
        notes(SDA, &[(policy, "med_power_with_dipm\n")]),
        NoteKind::DriveSleeps,
        "the SATA link of sda sleeps between commands: an I/O after a pause first waits for the link, up to 10 ms",
        &format!("Keep it awake for the test: echo max_performance > /{policy}"),
    );
    assert_eq!(notes(SDA, &[(policy, "max_performance\n")]), []);
    let tolerance = "sys/devices/pci0/0000:01:00.0/nvme/nvme0/power/pm_qos_latency_tolerance_us";
    one(
        notes(NVME, &[(tolerance, "100000\n")]),
        NoteKind::DriveSleeps,
        "nvme0n1 may enter power states that take up to 100000 µs to leave (APST): the first I/O after a pause waits",
        &format!("Keep it awake for the test: echo 0 > /{tolerance}"),
    );
    assert_eq!(notes(NVME, &[(tolerance, "0\n")]), []);
    let power = "sys/devices/pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/power";
    let (control, delay) = (format!("{power}/control"), format!("{power}/autosuspend_delay_ms"));
    one(
        notes(SDA, &[(&control, "auto\n"), (&delay, "300000\n")]),
        NoteKind::DriveSleeps,
        "the kernel suspends sda after 300000 ms without I/O: the next I/O waits until it runs again",
        "Keep it awake for the test: echo on > /sys/",
    );
    assert_eq!(notes(SDA, &[(&control, "on\n"), (&delay, "300000\n")]), []);
    assert_eq!(notes(SDA, &[(&control, "auto\n"), (&delay, "-1\n")]), [], "never");
}

#[test]
fn a_hot_drive_is_compared_with_its_own_limit() {
    let nvme = "sys/devices/pci0/0000:01:00.0/nvme/nvme0/hwmon1";
    let sata = "sys/devices/pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/hwmon/hwmon2";
    for (folder, sensor, name) in [(NVME, nvme, "nvme0n1"), (SDA, sata, "sda")] {
        let (input, max) = (format!("{sensor}/temp1_input"), format!("{sensor}/temp1_max"));
        let at = |now| notes(folder, &[(&input, now), (&max, "81850\n")]);
        one(
            at("82000\n"),
            NoteKind::HotDrive,
            &format!("{name} is 82 °C hot, and 82 °C is its limit: drives slow themselves down there"),
            "Cool it",
        );
        assert_eq!(at("40000\n"), []);
    }
}

#[test]
fn control_groups_that_share_a_device_by_latency_or_cost_are_shown() {
    let base = [
        ("proc/self/mountinfo", "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/a\n"),
        ("sys/fs/cgroup/a/io.latency", "8:0 target=5\n"),
    ];
    let of = |file, line| notes(SDA, &[base[0], base[1], base[2], (file, line)]);
    one(
        of("sys/fs/cgroup/db/io.latency", "8:0 target=10000\n"),
        NoteKind::IoShare,
        "the control group db has a goal of 10000 µs for its I/Os to sda: this process is held back while it is missed",
        "Lift the goal: echo '8:0 target=0' > /sys/fs/cgroup/db/io.latency",
    );
    assert_eq!(of("sys/fs/cgroup/db/io.latency", "8:16 target=10000\n"), [], "of another device");
    one(
        of("sys/fs/cgroup/io.cost.qos", "8:0 enable=1 ctrl=auto rpct=95.00 rlat=5000\n"),
        NoteKind::IoShare,
        "the kernel hands out sda by the cost of I/Os and the weights of control groups, and holds back whoever uses \
         more (io.cost)",
        "Turn it off: echo '8:0 enable=0' > /sys/fs/cgroup/io.cost.qos",
    );
    assert_eq!(of("sys/fs/cgroup/io.cost.qos", "8:0 enable=0 ctrl=auto\n"), []);
}

#[test]
fn a_btrfs_that_works_on_its_own_is_shown() {
    let on = ("sys/fs/btrfs/u-1/devices/sda/size", "1\n");
    let operation = "sys/fs/btrfs/u-1/exclusive_operation";
    one(
        notes(SDA, &[on, (operation, "balance\n")]),
        NoteKind::BackgroundWork,
        "the Btrfs on sda runs a balance: its disks serve that beside the load",
        "Wait until it has ended",
    );
    let status = "var/lib/btrfs/scrub.status.u-1";
    let of = |line: &str| notes(SDA, &[on, (operation, "none\n"), (status, line)]);
    let head = "scrub status:1\nu-1:1|data_extents_scrubbed:5|duration:3|";
    one(
        of(&format!("{head}canceled:0|finished:0\n")),
        NoteKind::BackgroundWork,
        "the Btrfs on sda is being scrubbed: its disks serve that beside the load",
        "Wait, or stop it for the time of the test: btrfs scrub cancel",
    );
    assert_eq!(of(&format!("{head}canceled:0|finished:1\n")), []);
    assert_eq!(notes(SDA, &[("sys/fs/btrfs/u-1/devices/sdb/size", "1\n"), (operation, "balance\n")]), []);
}

pub(super) fn host(files: &[(&str, &str)]) -> Vec<HostNote> {
    let machine = Captured::new();
    files.iter().for_each(|(file, text)| machine.file(file, text.as_bytes()));
    of_host(&machine.machine())
}

#[test]
fn cpu_time_that_a_control_group_withheld_is_shown() {
    let v2 = [
        ("proc/self/mountinfo", "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/a\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
    ];
    let of = |stat| host(&[v2[0], v2[1], v2[2], ("sys/fs/cgroup/a/cpu.stat", stat)]);
    one(
        of("usage_usec 9\nnr_periods 90\nnr_throttled 40\nthrottled_usec 12300000\n"),
        NoteKind::CpuQuota,
        "a control group of this process limits its CPU time, and has stopped it 40 times, 12.3 s in all: I/Os wait \
         meanwhile",
        "Lift the limit: echo max > /sys/fs/cgroup/a/cpu.max",
    );
    assert_eq!(of("nr_throttled 0\nthrottled_usec 0\n"), []);
    let v1 = [
        ("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"),
        ("proc/self/cgroup", "5:cpu:/slow\n"),
        ("sys/fs/cgroup/cpu/slow/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/slow/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 2000000000\n"),
    ];
    let [note] = host(&v1).try_into().unwrap();
    assert!(
        note.says.contains("4 times, 2.0 s") && note.mend.contains("echo -1 > /sys/fs/cgroup/cpu/slow/"),
        "{note:?}"
    );
}

#[test]
fn durable_writes_that_flush_the_whole_cache_are_shown() {
    let of = |fua: &str, cache: &str| with(SDA, &[("queue/fua", fua), ("queue/write_cache", cache)]);
    let vendor = "sys/devices/pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/vendor";
    let [fua, cache] = ["fua", "write_cache"].map(|file| format!("sys/devices/{SDA}/queue/{file}"));
    let other = of("0\n", "write back\n");
    assert_eq!(other.len(), 1);
    assert_eq!(other[0].mend, "Fewer and larger commits.");
    one(
        notes(SDA, &[(vendor, "ATA     \n"), (&fua, "0\n"), (&cache, "write back\n")]),
        NoteKind::NoFua,
        "sda takes no FUA: a write that must be durable costs a flush of its whole write cache",
        "SATA: libata.fua=1",
    );
    assert_eq!(of("1\n", "write back\n"), []);
    assert_eq!(of("0\n", "write through\n"), [], "there is nothing to flush");
}

#[test]
fn a_sata_link_below_the_speed_of_its_port_is_shown_once() {
    let link = |file: &str| format!("sys/devices/pci0/0000:00:17.0/ata3/link3/ata_link/link3/{file}");
    let of = |now: &str, ordered: &str| {
        notes(
            SDA,
            &[
                (&link("sata_spd"), now),
                (&link("sata_spd_limit"), ordered),
                (&link("hw_sata_spd_limit"), "6.0 Gbps\n"),
            ],
        )
    };
    one(
        of("3.0 Gbps\n", "6.0 Gbps\n"),
        NoteKind::NarrowLink,
        "the SATA link of sda runs at 3 Gbit/s, and its port can 6: at most 279 MB/s",
        "Another cable",
    );
    assert_eq!(of("6.0 Gbps\n", "6.0 Gbps\n"), []);
    let [ordered] = of("3.0 Gbps\n", "3.0 Gbps\n").try_into().unwrap();
    assert_eq!(ordered.kind, NoteKind::SlowedSata);
}

/// Where a port has no limit of its own, as most have, the kernel writes `<unknown>`: a port that it had slowed down
/// was not shown, and of a slow link it was said that its port can 6 Gbit/s.
#[test]
fn a_port_without_a_limit_of_its_own_is_unknown_and_not_six() {
    let link = |file: &str| format!("sys/devices/pci0/0000:00:17.0/ata3/link3/ata_link/link3/{file}");
    let of = |now: &str, ordered: &str| {
        let files = [("sata_spd", now), ("sata_spd_limit", ordered), ("hw_sata_spd_limit", "<unknown>\n")];
        let files = files.map(|(file, text)| (link(file), text));
        notes(SDA, &files.each_ref().map(|(file, text)| (file.as_str(), *text)))
    };
    one(
        of("3.0 Gbps\n", "<unknown>\n"),
        NoteKind::NarrowLink,
        "the SATA link of sda runs at 3 Gbit/s: at most 279 MB/s",
        "Another cable",
    );
    one(
        of("3.0 Gbps\n", "3.0 Gbps\n"),
        NoteKind::SlowedSata,
        "the kernel has slowed the SATA port of sda to 3 Gbit/s, as it does after errors",
        "Change the cable",
    );
    assert_eq!(of("6.0 Gbps\n", "<unknown>\n"), []);
    assert_eq!(of("<unknown>\n", "<unknown>\n"), [], "nothing is plugged in");
}

#[test]
fn waits_for_memory_are_shown() {
    let of = |line: &str| {
        host(&[("proc/pressure/memory", &format!("{line}\nfull avg10=0.00 avg60=0.00 total=0\n"))])
    };
    one(
        of("some avg10=12.40 avg60=3.00 avg300=1.00 total=9"),
        NoteKind::MemoryPressure,
        "processes of this host waited for memory for 12 % of the last 10 s: the kernel reclaims pages or swaps",
        "Stop what takes the memory",
    );
    assert_eq!(of("some avg10=0.40 avg60=30.0 avg300=1.00 total=9"), []);
}

#[test]
fn cpus_that_are_slow_or_sleep_deeply_are_shown() {
    let policy = |file: &str| format!("sys/devices/system/cpu/cpufreq/policy0/{file}");
    let (now, can) = (policy("scaling_max_freq"), policy("cpuinfo_max_freq"));
    let (governor, driver) = (policy("scaling_governor"), policy("scaling_driver"));
    one(
        host(&[(&now, "1200000\n"), (&can, "3400000\n")]),
        NoteKind::SlowCpu,
        "the frequency of the CPUs is limited to 1.2 GHz, and they can 3.4 GHz",
        "Lift the limit: cpupower frequency-set -u 3400000kHz",
    );
    assert_eq!(host(&[(&now, "3400000\n"), (&can, "3400000\n")]), []);
    let of = |of_driver| host(&[(&governor, "powersave\n"), (&driver, of_driver)]);
    one(
        of("acpi-cpufreq\n"),
        NoteKind::SlowCpu,
        "the governor `powersave` holds the CPUs at their lowest frequency",
        "Let them run: cpupower frequency-set -g performance",
    );
    assert_eq!(of("intel_pstate\n"), [], "there it follows the load");
    let state = |n: u32, file: &str| format!("sys/devices/system/cpu/cpu0/cpuidle/state{n}/{file}");
    let (c1, c6, off) = (state(1, "latency"), state(2, "latency"), state(2, "disable"));
    let of = |disabled| host(&[(&c1, "2\n"), (&c6, "133\n"), (&off, disabled)]);
    one(
        of("0\n"),
        NoteKind::CpuSleeps,
        "an idle CPU of this host takes up to 133 µs to wake: one I/O at a time has that in its latency",
        "Measure with --keep-awake",
    );
    assert_eq!(of("1\n"), []);
}

#[test]
fn costly_mount_options_and_file_systems_in_user_space_are_shown() {
    let of = |kind: &str, options: &str| {
        let (kind, options, mount_point) = (kind.to_owned(), options.to_owned(), "/srv".to_owned());
        of_mount(
            &Captured::new().machine(),
            &FilesystemFacts { kind, options, mount_point, ..FilesystemFacts::default() },
        )
    };
    let [sync, discard] = of("ext4", "rw,sync,discard,relatime").try_into().unwrap();
    assert_eq!(sync.says, "/srv is mounted with `sync`: every write waits until it is durable");
    assert_eq!(discard.mend, "Compare without: mount -o remount,nodiscard /srv");
    let [journal] = of("ext4", "rw,data=journal").try_into().unwrap();
    assert_eq!(
        (journal.kind, journal.mend.as_str()),
        (NoteKind::MountOptions, "Mount it with data=ordered instead.")
    );
    let [barrier] = of("ext4", "rw,nobarrier").try_into().unwrap();
    assert_eq!(barrier.mend, "Compare without: mount -o remount,barrier /srv");
    one(
        of("fuse.sshfs", "rw"),
        NoteKind::Fuse,
        "/srv is a file system in user space (fuse.sshfs): each I/O passes through another process of this host",
        "Test the storage below it",
    );
    one(
        of("nfs4", "rw,vers=4.2,soft,timeo=10"),
        NoteKind::MountOptions,
        "/srv is mounted with `soft`: an I/O that the server does not answer in time fails, and a write that was given \
         up may still arrive, after a newer one",
        "Mount it with hard instead",
    );
    assert_eq!(of("cifs", "rw,soft"), []);
    assert_eq!(of("xfs", "rw,relatime,attr2"), []);
}
