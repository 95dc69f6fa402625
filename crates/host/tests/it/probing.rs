//! Results of the probe for real devices in every state that must refuse writing, and for one that need not.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use assay_host::{HoldKind, ProbeError, device_of, filesystem_of, identities, probe};

use assay_testkit::loop_device::{CAPACITY_BYTES, LoopDevice};
use assay_testkit::need;

/// The probe must find exactly these: kind, and a part of its sentence.
fn check(device: &Path, expected: &[(HoldKind, &str)]) {
    let holds = probe(device).unwrap();
    assert_eq!(holds.len(), expected.len(), "{holds:#?}");
    for (hold, (kind, part)) in holds.iter().zip(expected) {
        println!("{:?}: {}", hold.what, hold.says);
        assert!(hold.what == *kind && hold.says.contains(part), "{hold:?} is not {kind:?} {part}");
    }
}

#[test]
fn an_empty_device_may_be_written() {
    let Some(device) = LoopDevice::new() else { return };
    check(&device.path, &[]);
    let facts = device_of(&device.path).unwrap().unwrap();
    assert_eq!((facts.name.clone(), facts.size_bytes), (device.name(), CAPACITY_BYTES));
    assert_eq!(identities(&facts), [format!("{}-{CAPACITY_BYTES}", device.name())]);
    assert_eq!(facts.stack[0], device.name());
    // The device of the backing file belongs to the stack.
    if let Some(below) = device_of(device.folder.path()).unwrap() {
        assert!(facts.stack.contains(&below.name), "{facts:?} {below:?}");
    }
}

#[test]
fn a_file_system_refuses_through_a_link_too_and_more_severely_when_mounted() {
    let Some(mut device) = LoopDevice::new() else { return };
    let text = device.text();
    if !device.run(&["mkfs.ext4", "-q", "-L", "data", &text], &[]) {
        return;
    }
    let link = device.folder.path().join("by-id");
    symlink(&device.path, &link).unwrap();
    check(&link, &[(HoldKind::Content, &format!("{text} holds `ext4` (label data, UUID "))]);
    check(&link, &[(HoldKind::Content, &format!("wipefs -a {text}"))]);

    let at = device.folder.path().join("two words");
    fs::create_dir(&at).unwrap();
    let at_text = at.display().to_string();
    device.run(&["mount", &text, &at_text], &["umount", &at_text]);
    check(
        &link,
        &[
            (HoldKind::InUse, &format!("{text} is mounted at {at_text} (ext4)")),
            (HoldKind::Content, "`ext4`"),
        ],
    );
    let filesystem = filesystem_of(&at.join("new")).unwrap();
    assert_eq!((filesystem.source, filesystem.kind), (text, "ext4".to_owned()));
    assert_eq!(filesystem.mount_point, at_text);
    let under = device_of(&at.join("new")).unwrap().unwrap();
    assert_eq!(under.name, device.name());
}

#[test]
fn a_btrfs_is_found_although_its_mount_has_another_device_number() {
    let Some(mut device) = LoopDevice::over_empty(192 << 20) else { return };
    let text = device.text();
    if !device.run(&["mkfs.btrfs", "-q", &text], &[]) {
        return;
    }
    let at = device.folder.path().join("mnt");
    fs::create_dir(&at).unwrap();
    let at_text = at.display().to_string();
    device.run(&["mount", &text, &at_text], &["umount", &at_text]);
    let holds = probe(&device.path).unwrap();
    assert!(
        holds.iter().any(|hold| hold.says == format!("{text} is mounted at {at_text} (btrfs)")),
        "{holds:#?}"
    );
    assert!(holds.iter().any(|hold| hold.says.contains("belongs to the mounted btrfs")), "{holds:#?}");
    assert_eq!(device_of(&at).unwrap().unwrap().name, device.name());
}

#[test]
fn swap_refuses_more_severely_when_in_use() {
    let Some(mut device) = LoopDevice::new() else { return };
    let text = device.text();
    if !device.run(&["mkswap", &text], &[]) {
        return;
    }
    check(&device.path, &[(HoldKind::Content, "holds swap space (`swap`)")]);
    device.run(&["swapon", &text], &["swapoff", &text]);
    check(
        &device.path,
        &[(HoldKind::InUse, &format!("{text} is in use as swap")), (HoldKind::Content, "swap")],
    );
}

#[test]
fn a_partition_table_refuses_and_is_reported_once_per_kind() {
    let Some(device) = LoopDevice::new() else { return };
    // An MBR with one Linux partition of 16 MiB at 1 MiB: boot signature 55 AA, entry 0 at byte 446.
    let mut entry = [0u8; 16];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&2048u32.to_le_bytes());
    entry[12..16].copy_from_slice(&32768u32.to_le_bytes());
    device.write(446, &entry);
    device.write(510, &[0x55, 0xAA]);
    check(&device.path, &[(HoldKind::Content, "holds a partition table (`dos`)")]);
}

#[test]
fn a_gpt_of_sfdisk_refuses() {
    let Some(mut device) = LoopDevice::new() else { return };
    let script = device.folder.path().join("table");
    fs::write(&script, "label: gpt\nsize=20M\n").unwrap();
    let command = format!("sfdisk --no-reread --no-tell-kernel {} < {}", device.text(), script.display());
    if !need::programs(&["sfdisk"]) || !device.run(&["sh", "-c", &command], &[]) {
        return;
    }
    let holds = probe(&device.path).unwrap();
    assert!(holds.iter().any(|hold| hold.says.contains("a partition table (`gpt`)")), "{holds:#?}");
    assert_eq!(holds.iter().filter(|hold| hold.says.contains("`gpt`")).count(), 1, "{holds:#?}");
}

#[test]
fn a_mounted_partition_refuses_its_disk_and_the_disk_its_partition() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backing");
    fs::File::create(&file).unwrap().set_len(CAPACITY_BYTES).unwrap();
    let Some(mut disk) = LoopDevice::over(folder, &file, &["--partscan"]) else { return };
    let text = disk.text();
    let part = format!("{text}p1");
    // The partition is added to the kernel directly, because the kernel may lack partition table parsers. 16 MiB at 1
    // MiB.
    if !disk.run(&["addpart", &text, "1", "2048", "32768"], &["delpart", &text, "1"]) {
        return;
    }
    check(&disk.path, &[(HoldKind::Content, &format!("{text} has a partition: {part} (16 MiB)"))]);
    check(Path::new(&part), &[]);
    let facts = device_of(Path::new(&part)).unwrap().unwrap();
    assert_eq!(facts.stack[..2], [format!("{}p1", disk.name()), disk.name()]);

    if !disk.run(&["mkfs.ext4", "-q", &part], &[]) {
        return;
    }
    let at = disk.folder.path().join("mnt");
    fs::create_dir(&at).unwrap();
    let at_text = at.display().to_string();
    disk.run(&["mount", &part, &at_text], &["umount", &at_text]);
    let subject = format!("{part} (a partition of {text})");
    check(
        &disk.path,
        &[
            (HoldKind::InUse, &format!("{subject} is mounted at {at_text} (ext4)")),
            (HoldKind::Content, "has a partition"),
            (HoldKind::Content, &format!("{subject} holds `ext4`")),
        ],
    );
    // Another partition of the same disk stays free.
    disk.run(&["addpart", &text, "2", "65536", "8192"], &["delpart", &text, "2"]);
    check(Path::new(&format!("{text}p2")), &[]);
}

#[test]
fn a_disk_used_as_a_whole_refuses_its_partition() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backing");
    fs::File::create(&file).unwrap().set_len(CAPACITY_BYTES).unwrap();
    let Some(mut disk) = LoopDevice::over(folder, &file, &["--partscan"]) else { return };
    let text = disk.text();
    if !disk.run(&["mkswap", &text], &[])
        || !disk.run(&["addpart", &text, "1", "2048", "32768"], &["delpart", &text, "1"])
    {
        return;
    }
    disk.run(&["swapon", &text], &["swapoff", &text]);
    let says = format!("{text} (the disk that {text}p1 is a part of) is in use as swap");
    check(Path::new(&format!("{text}p1")), &[(HoldKind::InUse, &says)]);
}

/// Magic bytes as written by the kernel and the tools, for stacks that cannot be built everywhere.
#[test]
fn members_of_volume_managers_and_pools_are_recognised_by_their_labels() {
    // LVM2: label sector 1, "LABELONE", sector number, CRC, offset 32, "LVM2 001".
    let mut lvm = vec![0u8; 512];
    lvm[..8].copy_from_slice(b"LABELONE");
    lvm[8] = 1;
    lvm[20] = 32;
    lvm[24..32].copy_from_slice(b"LVM2 001");
    lvm[32..64].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
    let crc = lvm_crc(&lvm[20..]);
    lvm[16..20].copy_from_slice(&crc.to_le_bytes());
    // MD 1.2: superblock at 4 KiB, magic A92B4EFC, major version 1, its own sector as super_offset (byte 144).
    let mut md = vec![0u8; 1024];
    md[..4].copy_from_slice(&0xA92B_4EFCu32.to_le_bytes());
    md[4] = 1;
    md[16..32].copy_from_slice(b"0123456789abcdef");
    md[144..152].copy_from_slice(&8u64.to_le_bytes());
    let sum = md_checksum(&md[..256]);
    md[216..220].copy_from_slice(&sum.to_le_bytes());
    // LUKS1: magic and version.
    let mut luks = vec![0u8; 592];
    luks[..8].copy_from_slice(b"LUKS\xba\xbe\x00\x01");
    for (offset, bytes, says) in [
        (512, lvm, "an LVM physical volume"),
        (4096, md, "a member of a Linux RAID"),
        (0, luks, "an encrypted volume"),
    ] {
        let Some(device) = LoopDevice::new() else { return };
        device.write(offset, &bytes);
        check(&device.path, &[(HoldKind::Content, says)]);
    }
}

/// LVM's CRC-32: polynomial EDB88320, start F597A6CF, no final inversion.
fn lvm_crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0xF597_A6CF, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 },
        )
    })
}

/// MD's checksum: the sum of all 32-bit words, folded once (its own field is zero).
fn md_checksum(superblock: &[u8]) -> u32 {
    let sum: u64 =
        superblock.chunks_exact(4).map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap()))).sum();
    u32::try_from((sum & 0xFFFF_FFFF) + (sum >> 32)).unwrap()
}

#[test]
fn an_exclusive_open_by_another_process_refuses() {
    let Some(device) = LoopDevice::new() else { return };
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let held = rustix::fs::open(&device.path, flags, rustix::fs::Mode::empty()).unwrap();
    check(&device.path, &[(HoldKind::InUse, "held exclusively by another program")]);
    drop(held);
    check(&device.path, &[]);
    assert_eq!(assay_host::unseen_processes(), 0, "root sees the files of all");
}

#[test]
fn a_mount_in_another_namespace_refuses() {
    let Some(mut device) = LoopDevice::new() else { return };
    if !device.run(&["mkfs.ext4", "-q", &device.text()], &[]) {
        return;
    }
    // The other namespace lives until its standard input closes, at the latest when `child` is dropped.
    let script = format!("mount {} /mnt && echo mounted && read -r _", device.text());
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let holds = probe(&device.path);
    drop(child.stdin.take());
    child.wait().unwrap();
    if line != "mounted\n" {
        need::skip("no mount namespace can be made");
        return;
    }
    let holds = holds.unwrap();
    assert!(holds[0].what == HoldKind::InUse && holds[0].says.contains("held exclusively"), "{holds:#?}");
    assert!(holds[1].says.contains("`ext4`"), "{holds:#?}");
}

#[test]
fn a_write_protected_device_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backing");
    fs::File::create(&file).unwrap().set_len(CAPACITY_BYTES).unwrap();
    let Some(device) = LoopDevice::over(folder, &file, &["--read-only"]) else { return };
    check(&device.path, &[(HoldKind::InUse, "is read-only")]);
}

#[test]
fn two_loop_devices_on_one_file_refuse_each_other_and_a_loop_over_a_device_refuses_both() {
    let Some(first) = LoopDevice::new() else { return };
    let file = first.folder.path().join("backing");
    let Some(second) = LoopDevice::over(tempfile::tempdir().unwrap(), &file, &[]) else { return };
    check(&first.path, &[(HoldKind::InUse, &format!("which {} uses too", second.text()))]);
    check(&second.path, &[(HoldKind::InUse, &format!("which {} uses too", first.text()))]);
    drop(second);
    let Some(over) = LoopDevice::over(tempfile::tempdir().unwrap(), &first.path, &[]) else { return };
    check(&first.path, &[(HoldKind::InUse, &format!("is the backing device of {}", over.text()))]);
    check(&over.path, &[(HoldKind::InUse, &format!("writes to the device {}", first.text()))]);
}

#[test]
fn the_device_under_the_root_file_system_refuses() {
    let Some(root) = device_of(Path::new("/")).unwrap() else {
        need::skip("there is no block device under /");
        return;
    };
    for name in &root.stack {
        match probe(&Path::new("/dev").join(name)) {
            Ok(holds) => {
                assert!(holds.iter().any(|hold| hold.what == HoldKind::InUse), "/dev/{name}: {holds:#?}");
            }
            // Without root, or in a container without device nodes, the probe fails closed.
            Err(error) => {
                assert!(matches!(error, ProbeError::Look { .. } | ProbeError::Open { .. }), "{error}")
            }
        }
    }
}

#[test]
fn a_path_that_is_no_block_device_is_an_error() {
    for (path, says) in [
        ("/dev/null", "/dev/null is not a block device"),
        ("/", "/ is not a block device"),
        ("/dev/no-such-device", "cannot read the metadata of /dev/no-such-device"),
    ] {
        let error = probe(Path::new(path)).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    assert_eq!(device_of(Path::new("/dev/null")).unwrap(), None);
}

/// A virtual machine or a storage target has its disk open without holding it exclusively, and a new disk is blank:
/// such a device was overwritten under its user.
#[test]
fn a_device_that_another_program_has_open_for_writing_is_in_use() {
    let Some(device) = LoopDevice::new() else { return };
    let text = device.text();
    let in_use = format!("{text} is open for writing in ");
    // A node elsewhere, as in the folder of a container, leads to the same device.
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("disk");
    let number = std::os::unix::fs::MetadataExt::rdev(&std::fs::metadata(&device.path).unwrap());
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    assay_testkit::story::run(&[
        "mknod",
        node.to_str().unwrap(),
        "b",
        &major.to_string(),
        &minor.to_string(),
    ]);
    let node = node.to_str().unwrap();
    let written = &[(HoldKind::InUse, in_use.as_str())][..];
    // As a program that starts another in its place: between two looks it has another name.
    let renamed = r#"exec perl -e '$0 = $i++ while select(undef, undef, undef, 0.01) == 0'"#;
    for (how, by, next, expected) in [
        ("<", &text[..], "exec sleep infinity", &[][..]),
        ("<>", &text, "exec sleep infinity", written),
        ("<>", node, "exec sleep infinity", written),
        ("<>", &text, renamed, written),
    ] {
        let script = format!("exec 3{how}{by}; echo open; {next}");
        let mut other = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(other.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
        let holds = std::panic::catch_unwind(|| check(&device.path, expected));
        other.kill().unwrap();
        other.wait().unwrap();
        holds.unwrap();
    }
    check(&device.path, &[]);
}

/// Ways to hold a device for writing that `/proc/PID/fd` does not show.
#[test]
fn a_device_that_is_mapped_or_held_by_one_thread_is_in_use() {
    let Some(device) = LoopDevice::new() else { return };
    if !need::programs(&["python3"]) {
        return;
    }
    let text = device.text();
    let in_use = format!("{text} is open for writing in ");
    let open = "f = os.open(sys.argv[1], os.O_RDWR)";
    let mapped = format!("{open}\nm = mmap.mmap(f, 4096)\nos.close(f)\nready()\ntime.sleep(60)");
    let led = format!(
        "{open}\nthreading.Thread(target=time.sleep, args=(60,)).start()\nready()\nlibc.pthread_exit(None)"
    );
    let own_table = format!(
        "def run():\n  libc.unshare(0x400)\n  {open}\n  ready()\n  time.sleep(60)\n\
         threading.Thread(target=run).start()"
    );
    for (how, script) in [("mapped", mapped), ("main thread gone", led), ("own table", own_table)] {
        let head = "import ctypes, mmap, os, sys, threading, time\nlibc = ctypes.CDLL(None)\n\
                    ready = lambda: print('open', flush=True)\n";
        let mut python = Command::new("python3");
        python.args(["-c", &format!("{head}{script}"), &text]).stdout(Stdio::piped());
        let mut other = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(other.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n", "{how}");
        let holds = std::panic::catch_unwind(|| check(&device.path, &[(HoldKind::InUse, in_use.as_str())]));
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(holds.is_ok(), "{how}");
    }
    check(&device.path, &[]);
}
