//! Each row on a tree of sysfs and procfs as a kernel shows it.

use std::path::Path;

use assay_record::{HostNote, NoteKind};

use super::*;
use crate::captured::Captured;

/// The notes on one device below `sys/devices`.
fn notes(folder: &str, files: &[(&str, &str)]) -> Vec<HostNote> {
    let machine = Captured::new();
    for (file, text) in files {
        machine.file(file, text.as_bytes());
    }
    let machine = machine.device(folder, "8:0", &[("dev", "8:0\n")]);
    notes_of(&machine.machine(), &[name_of(Path::new(folder))])
}

fn one(folder: &str, files: &[(&str, &str)]) -> HostNote {
    let mut notes = notes(folder, files);
    assert_eq!(notes.len(), 1, "{notes:?}");
    notes.remove(0)
}

const SDA: &str = "pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
const V1: [(&str, &str); 2] = [
    ("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"),
    ("proc/self/cgroup", "5:blkio:/slow\n"),
];

#[test]
fn a_limit_of_version_1_is_quoted_with_the_command_that_lifts_it() {
    let path = "sys/fs/cgroup/blkio/slow/blkio.throttle.read_iops_device";
    let note = one(SDA, &[V1[0], V1[1], (path, "8:16 5\n8:0 800\n")]);
    assert_eq!((note.kind, note.value.as_str()), (NoteKind::IoLimit, "8:0 800"));
    assert_eq!(note.path, format!("/{path}"));
    assert_eq!(note.limit, Some(IoLimit { is_read: true, is_bytes: false, per_s: 800.0 }));
    assert_eq!(note.says, "a control group of this process limits reads of sda to 800 per second");
    assert_eq!(note.mend, format!("Lift the limit: echo '8:0 0' > /{path}"));
}

/// Version 1 throttles the group itself: a limit on the one above was quoted, and limits nobody.
#[test]
fn a_limit_of_version_1_on_the_group_above_is_none() {
    let files = [
        V1[0],
        ("proc/self/cgroup", "5:blkio:/slow/below\n"),
        ("sys/fs/cgroup/blkio/slow/blkio.throttle.read_iops_device", "8:0 800\n"),
    ];
    assert_eq!(notes(SDA, &files), []);
}

#[test]
fn limits_of_version_2_are_those_of_the_groups_above_too() {
    let files = [
        ("proc/self/mountinfo", "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=120\n"),
        ("sys/fs/cgroup/a/b/io.max", "259:0 rbps=1 wbps=1 riops=1 wiops=1\n"),
    ];
    let says: Vec<(String, String)> =
        notes(SDA, &files).into_iter().map(|note| (note.value, note.mend)).collect();
    let lift = |key: &str| format!("Lift the limit: echo '8:0 {key}=max' > /sys/fs/cgroup/a/io.max");
    assert_eq!(
        says,
        [("8:0 wiops=120".to_owned(), lift("wiops")), ("8:0 wbps=1048576".to_owned(), lift("wbps")),]
    );
}

#[test]
fn a_software_raid_shows_what_it_lacks_and_does() {
    let md = |file: &str| format!("sys/devices/virtual/block/md0/md/{file}");
    let (degraded, action, done) = (md("degraded"), md("sync_action"), md("sync_completed"));
    let files = [(degraded.as_str(), "1\n"), (action.as_str(), "recover\n"), (done.as_str(), "250 / 1000\n")];
    let [lacks, does] = notes("virtual/block/md0", &files).try_into().unwrap();
    assert_eq!((lacks.kind, lacks.value.as_str()), (NoteKind::RaidDegraded, "1"));
    assert!(lacks.mend.contains("mdadm /dev/md0 --add"), "{lacks:?}");
    assert_eq!(does.kind, NoteKind::RaidBusy);
    assert!(does.says.contains("is being rebuilt (25 % done)"), "{does:?}");
    let checked = one("virtual/block/md0", &[(degraded.as_str(), "0\n"), (action.as_str(), "check\n")]);
    assert_eq!(
        checked.mend,
        "Stop it for the time of the test: echo idle > /sys/devices/virtual/block/md0/md/sync_action"
    );
    let well = [(degraded.as_str(), "0\n"), (action.as_str(), "idle\n"), (done.as_str(), "none\n")];
    assert_eq!(notes("virtual/block/md0", &well), []);
}

#[test]
fn a_disk_without_a_queue_shows_its_depth() {
    let file = "sys/devices/pci0/host2/target2:0:0/2:0:0:0/queue_depth";
    // As in the kernel: `device` of a disk is a link to the directory two above.
    let at = |depth: &str| {
        let machine = Captured::new();
        machine.file(file, depth.as_bytes());
        let folder = "pci0/host2/target2:0:0/2:0:0:0/block/sda";
        let machine = machine.device(folder, "8:0", &[("dev", "8:0\n")]);
        let disk = machine.machine().path(format!("/sys/devices/{folder}"));
        std::os::unix::fs::symlink("../..", disk.join("device")).unwrap();
        notes_of(&machine.machine(), &["sda".to_owned()])
    };
    let [note] = at("1\n").try_into().unwrap();
    assert_eq!(note.kind, NoteKind::OneCommand);
    assert!(note.mend.contains("echo 32 > /sys/devices/") && note.mend.ends_with("/queue_depth"), "{note:?}");
    assert_eq!(at("32\n"), []);
}

#[test]
fn a_pcie_link_is_compared_with_what_both_ends_can() {
    let nvme = "pci0/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1";
    let link = |speed: &str, lanes: &str, port: &str| {
        let device = "sys/devices/pci0/0000:00:01.0/0000:01:00.0";
        let files: Vec<(String, String)> = [
            ("current_link_speed", speed),
            ("current_link_width", lanes),
            ("max_link_speed", "16.0 GT/s PCIe"),
            ("max_link_width", "4"),
        ]
        .into_iter()
        .map(|(file, text)| (format!("{device}/{file}"), text.to_owned()))
        .chain([
            ("sys/devices/pci0/0000:00:01.0/max_link_speed".to_owned(), port.to_owned()),
            ("sys/devices/pci0/0000:00:01.0/max_link_width".to_owned(), "16".to_owned()),
        ])
        .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(f, t)| (f.as_str(), t.as_str())).collect();
        notes(nvme, &files)
    };
    let [note] = link("8.0 GT/s PCIe", "2", "16.0 GT/s PCIe").try_into().unwrap();
    assert_eq!(note.kind, NoteKind::NarrowLink);
    assert!(note.says.ends_with("runs at 8 GT/s with 2 lanes, and both ends can 16 GT/s with 4"), "{note:?}");
    assert_eq!(link("8.0 GT/s PCIe", "4", "8.0 GT/s PCIe"), [], "the slot cannot do more");
}

#[test]
fn a_sata_port_that_was_slowed_down_shows_it() {
    let link = "sys/devices/pci0/0000:00:17.0/ata3/link3/ata_link/link3";
    let at = |now: &str| {
        let (limit, can) = (format!("{link}/sata_spd_limit"), format!("{link}/hw_sata_spd_limit"));
        notes(SDA, &[(limit.as_str(), now), (can.as_str(), "6.0 Gbps\n")])
    };
    let [note] = at("3.0 Gbps\n").try_into().unwrap();
    assert_eq!((note.kind, note.value.as_str()), (NoteKind::SlowedSata, "3 Gbps"));
    assert!(note.mend.contains("dmesg | grep ata3"), "{note:?}");
    assert_eq!(at("6.0 Gbps\n"), []);
    assert_eq!(at("<unknown>\n"), []);
}

#[test]
fn mapped_devices_show_encryption_and_thin_pools() {
    let (uuid, name) = ("sys/devices/virtual/block/dm-0/dm/uuid", "sys/devices/virtual/block/dm-0/dm/name");
    let of = |text: &str| notes("virtual/block/dm-0", &[(uuid, text), (name, "vault\n")]);
    let [crypt] = of("CRYPT-LUKS2-aa-vault\n").try_into().unwrap();
    assert_eq!(crypt.kind, NoteKind::Encrypted);
    assert!(crypt.mend.ends_with(" vault"), "{crypt:?}");
    let [pool] = of("LVM-abc-tpool\n").try_into().unwrap();
    assert_eq!(pool.kind, NoteKind::Thin);
    assert_eq!(of("LVM-abc\n"), []);
}

/// The advice was to do without threads also where none were left.
#[test]
fn an_encrypted_device_says_its_cipher_and_whether_threads_do_the_work() {
    let of = |flags: &str| {
        let folder = "virtual/block/dm-0";
        let [uuid, name] = ["uuid", "name"].map(|file| format!("sys/devices/{folder}/dm/{file}"));
        let table = format!("0 2097152 crypt aes-xts-plain64 :64:logon:cryptsetup:x 0 8:16 32768{flags}\n");
        one(
            folder,
            &[
                (&uuid, "CRYPT-LUKS2-aa-vault\n"),
                (&name, "vault\n"),
                ("programs/dmsetup table vault", &table),
            ],
        )
    };
    let threads = of("");
    assert_eq!(
        threads.says,
        "this host encrypts dm-0 (aes-xts-plain64): each byte costs CPU time here, in threads of dm-crypt that I/Os \
         wait for"
    );
    assert!(threads.mend.ends_with("--perf-no_write_workqueue vault"), "{threads:?}");
    let direct = of(" 2 no_read_workqueue no_write_workqueue");
    assert!(direct.says.ends_with(", without a detour over threads"), "{direct:?}");
    assert!(direct.mend.starts_with("cryptsetup benchmark"), "{direct:?}");
}
