//! What the bytes of a disk look like, where there is no device node that `wipefs` could look at: a LUN reached
//! without the kernel.

/// A mark at a fixed place from the start of the disk.
struct Mark {
    at: usize,
    bytes: &'static [u8],
    says: &'static str,
}

const fn mark(at: usize, bytes: &'static [u8], says: &'static str) -> Mark {
    Mark { at, bytes, says }
}

const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LUKS: &str = "an encrypted volume (LUKS)";
const SWAP: &str = "swap space";
const LVM: &str = "an LVM physical volume";
const RAID: &str = "a member of a Linux RAID (md)";
const VMFS: &str = "a VMware VMFS datastore";
const GPT: &str = "a partition table (GPT)";

/// Marks of at least four bytes: random data has one of them by chance once in four thousand million.
const MARKS: &[Mark] = &[
    mark(512, b"EFI PART", GPT),
    mark(4096, b"EFI PART", GPT),
    mark(0, b"LUKS\xba\xbe", LUKS),
    mark(0x4000, b"SKUL\xba\xbe", LUKS),
    mark(0, b"LABELONE", LVM),
    mark(512, b"LABELONE", LVM),
    mark(1024, b"LABELONE", LVM),
    mark(1536, b"LABELONE", LVM),
    mark(0, MD, RAID),
    mark(4096, MD, RAID),
    mark(0, b"XFSB", "an XFS file system"),
    mark(3, b"NTFS    ", "an NTFS file system"),
    mark(3, b"ReFS\0\0\0\0", "a ReFS file system"),
    mark(3, b"EXFAT   ", "an exFAT file system"),
    mark(3, b"-FVE-FS-", "an encrypted volume (BitLocker)"),
    mark(0x36, b"FAT12   ", "a FAT file system"),
    mark(0x36, b"FAT16   ", "a FAT file system"),
    mark(0x52, b"FAT32   ", "a FAT file system"),
    mark(32, b"NXSB", "an APFS container"),
    mark(1024, b"H+\0\x04", "an HFS+ file system"),
    mark(1024, b"HX\0\x05", "an HFS+ file system"),
    mark(1024, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    mark(0x10040, b"_BHRfS_M", "a Btrfs file system"),
    mark(0x10034, b"ReIsEr", "a ReiserFS file system"),
    mark(0x8000, b"JFS1", "a JFS file system"),
    mark(0x8001, b"CD001", "an ISO 9660 image"),
    mark(0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca], "a bcache device"),
    mark(0x204, b"!Stra0tis\x86\xff\x02", "a Stratis pool"),
    mark(0, b"bluestore block device", "a Ceph BlueStore volume"),
    mark(4096 - 10, b"SWAPSPACE2", SWAP),
    mark(8192 - 10, b"SWAPSPACE2", SWAP),
    mark(16384 - 10, b"SWAPSPACE2", SWAP),
    mark(65536 - 10, b"SWAPSPACE2", SWAP),
    mark(0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0], VMFS),
    mark(0x20_0000, &[0x5e, 0xf1, 0xab, 0x2f], VMFS),
];

/// Partition tables, file systems, volume managers and the like on a disk of `size_bytes`, each once, as `an ext2, ext3
/// or ext4 file system`. `head` is the start of the disk (a little more than 2 MiB, or all of it), `tail` its end (1
/// MiB or all of it).
#[must_use]
pub fn content_of(head: &[u8], tail: &[u8], size_bytes: u64) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    let at_start = MARKS.iter().filter(|m| has(head, m.at, m.bytes)).map(|m| m.says);
    let more = [
        is_partition_table(head).then_some("a partition table (MBR)"),
        is_ext(head).then_some("an ext2, ext3 or ext4 file system"),
        (is_zfs(head) || is_zfs(tail)).then_some("a member of a ZFS pool"),
        at_end(tail, size_bytes),
    ];
    for says in at_start.chain(more.into_iter().flatten()) {
        if !found.contains(&says) {
            found.push(says);
        }
    }
    found
}

fn has(bytes: &[u8], at: usize, expected: &[u8]) -> bool {
    bytes.get(at..at + expected.len()) == Some(expected)
}

/// 55 AA alone is met by chance too often: the four entries must be possible ones as well.
fn is_partition_table(head: &[u8]) -> bool {
    let Some(entries) = head.get(446..510) else { return false };
    has(head, 510, &[0x55, 0xaa]) && entries.chunks_exact(16).all(|entry| entry[0] & 0x7f == 0)
}

/// 53 EF, with a block size and a revision that exist and some inodes.
fn is_ext(head: &[u8]) -> bool {
    let word = |at: usize| {
        head.get(at..at + 4)
            .map_or(0, |b| u32::from_le_bytes(b.try_into().expect("four bytes were asked for")))
    };
    has(head, 0x438, &[0x53, 0xef]) && word(0x418) <= 6 && word(0x44c) <= 1 && word(0x400) > 0
}

/// An uberblock, in either byte order, in one of the four labels (256 KiB each, two at either end).
fn is_zfs(bytes: &[u8]) -> bool {
    const LITTLE: [u8; 8] = 0x00ba_b10c_u64.to_le_bytes();
    const BIG: [u8; 8] = 0x00ba_b10c_u64.to_be_bytes();
    bytes.chunks_exact(1024).any(|block| block.starts_with(&LITTLE) || block.starts_with(&BIG))
}

/// Returns what stands at the end: the second GPT, old RAID forms, DRBD.
fn at_end(tail: &[u8], size_bytes: u64) -> Option<&'static str> {
    let from_end = |bytes: u64| usize::try_from(bytes).ok().and_then(|bytes| tail.len().checked_sub(bytes));
    let is_at = |distance: u64, offset: usize, mark: &[u8]| {
        from_end(distance).is_some_and(|at| has(tail, at + offset, mark))
    };
    if is_at(512, 0, b"EFI PART") || is_at(4096, 0, b"EFI PART") {
        return Some(GPT);
    }
    // Version 0.90 lies in the last whole 64 KiB but one, version 1.0 8 KiB before the end rounded down to 4 KiB.
    let old = size_bytes - (size_bytes / 65_536 * 65_536).saturating_sub(65_536);
    let new = size_bytes - (size_bytes / 4096 * 4096).saturating_sub(8192);
    if is_at(old, 0, MD) || is_at(new, 0, MD) {
        return Some(RAID);
    }
    is_at(4096, 60, &[0x83, 0x74, 0x02, 0x6d]).then_some("a DRBD backing device")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 4 << 20;

    fn seen(disk: &[u8]) -> Vec<&'static str> {
        content_of(&disk[..(2 << 20) + 4096], &disk[disk.len() - (1 << 20)..], disk.len() as u64)
    }

    #[track_caller]
    fn check(marks: &[(usize, &[u8])], expected: &str) {
        let mut disk = vec![0; SIZE];
        for (at, bytes) in marks {
            disk[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        assert!(seen(&disk).iter().any(|says| says.contains(expected)), "{expected}: {:?}", seen(&disk));
    }

    #[test]
    fn every_mark_is_found_where_it_stands() {
        for one in MARKS {
            check(&[(one.at, one.bytes)], one.says);
        }
        check(&[(510, &[0x55, 0xaa])], "MBR");
        check(&[(0x400, &[8]), (0x438, &[0x53, 0xef])], "ext4");
        check(&[(128 << 10, &0x00ba_b10c_u64.to_le_bytes())], "ZFS");
        check(&[(SIZE - (128 << 10), &0x00ba_b10c_u64.to_be_bytes())], "ZFS");
        check(&[(SIZE - 512, b"EFI PART")], "GPT");
        check(&[(SIZE - 65_536, MD)], "Linux RAID");
        check(&[(SIZE - 8192, MD)], "Linux RAID");
        check(&[(SIZE - 4096 + 60, &[0x83, 0x74, 0x02, 0x6d])], "DRBD");
    }

    #[test]
    fn nothing_is_found_on_zeroes_on_small_disks_and_in_what_only_resembles_a_mark() {
        assert!(seen(&vec![0; SIZE]).is_empty());
        for size in [0, 1, 511, 512, 4096, 70_000] {
            let disk = vec![0; size];
            assert!(content_of(&disk, &disk, size as u64).is_empty());
        }
        let mut disk = vec![0xA5; SIZE];
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        disk[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        assert!(seen(&disk).is_empty(), "{:?}", seen(&disk));
    }

    /// What the programs that make them really write.
    #[test]
    fn real_file_systems_are_found() {
        for (program, args, expected) in [
            ("mkfs.ext4", &["-q", "-F"][..], "ext4"),
            ("mkswap", &[][..], "swap"),
            ("mkfs.vfat", &[][..], "FAT"),
            ("mkfs.ntfs", &["-q", "-F"][..], "NTFS"),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(64 << 20).unwrap();
            let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
            let made = std::process::Command::new(program)
                .args(args)
                .arg(file.path())
                .env("PATH", path)
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status();
            if made.is_ok_and(|status| status.success()) {
                let disk = std::fs::read(file.path()).unwrap();
                assert!(
                    seen(&disk).iter().any(|says| says.contains(expected)),
                    "{program}: {:?}",
                    seen(&disk)
                );
            }
        }
    }
}
