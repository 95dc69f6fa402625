//! Positions of signatures on a disk, and the table of those that libblkid does not know, or accepts only if structures
//! elsewhere confirm them.

/// Length of the head, bytes, which contains nearly all signatures; the last of them is LUKS2's copy of its header at 4
/// MiB.
pub(crate) const HEAD_BYTES: u64 = (4 << 20) + (64 << 10);
/// Length of the tail, bytes, which contains the others: firmware RAIDs look as far as 1.6 MiB back from the end.
pub(crate) const TAIL_BYTES: u64 = 2 << 20;
/// Number of bytes examined where a copy of a signature may survive.
const COPY_BYTES: u64 = 64 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Further positions at which file systems and volume managers keep copies of their superblocks or labels, bytes from
/// the start.
const COPIES_AT: [u64; 19] = [
    // ext2, ext3, ext4: groups 1, 3, 5 and 7 with blocks of 1, 2 and 4 KiB.
    8 * MIB,
    24 * MIB,
    40 * MIB,
    56 * MIB,
    32 * MIB,
    96 * MIB,
    160 * MIB,
    128 * MIB,
    384 * MIB,
    640 * MIB,
    // VMFS; Btrfs.
    16 * MIB,
    64 * MIB,
    256 * GIB,
    // OCFS2 and BlueStore.
    GIB,
    4 * GIB,
    10 * GIB,
    64 * GIB,
    100 * GIB,
    1000 * GIB,
];

/// Returns the places, as offset and length in bytes, that must be read to find every known signature on a disk of
/// `size_bytes`: both ends, then the places of copies. All start at multiples of 4 KiB.
pub fn signature_places(size_bytes: u64) -> Vec<(u64, u64)> {
    let head = HEAD_BYTES.min(size_bytes);
    let tail_at = (size_bytes.saturating_sub(TAIL_BYTES) / 4096 * 4096).max(head);
    // Older forms of NTFS have one in the middle.
    let middle = size_bytes / 2 / 4096 * 4096;
    let mut places = vec![(0, head), (tail_at, size_bytes - tail_at)];
    let copies = COPIES_AT.into_iter().chain([middle]).filter(|at| (head..tail_at).contains(at));
    places.extend(copies.map(|at| (at, COPY_BYTES.min(tail_at - at))));
    places.retain(|(_, bytes)| *bytes > 0);
    places
}

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
const BSD: [u8; 4] = 0x8256_4557_u32.to_le_bytes();
const SPACES: &str = "a member of a Storage Spaces pool";
/// Superblocks of the device mapper, eight bytes each; libblkid does not know them, and closed they are nothing else.
const THIN: [u8; 8] = 0x019c_52ba_u64.to_le_bytes();
const CACHE: [u8; 8] = 0x0018_c403_u64.to_le_bytes();
const ERA: [u8; 8] = 0x7ec1_077b_u64.to_le_bytes();
const CLONE: [u8; 8] = 0x8af2_7f64_u64.to_le_bytes();
const VHD: &str = "a disk image (VHD)";
const PARALLELS: &str = "a disk image (Parallels)";

/// Marks of at least four bytes: random data matches one by chance once in four billion cases.
const MARKS: &[Mark] = &[
    mark(512, b"EFI PART", GPT),
    mark(4096, b"EFI PART", GPT),
    mark(0, b"LUKS\xba\xbe", LUKS),
    mark(0x4000, b"SKUL\xba\xbe", LUKS),
    mark(0, b"LABELONE", LVM),
    mark(512, b"LABELONE", LVM),
    mark(1024, b"LABELONE", LVM),
    mark(1536, b"LABELONE", LVM),
    mark(32, &THIN, "the metadata of a thin pool (dm-thin)"),
    mark(32, &CACHE, "the metadata of a cache (dm-cache)"),
    mark(32, &ERA, "the metadata of dm-era"),
    mark(32, &CLONE, "the metadata of dm-clone"),
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
    mark(0, b"SPACEDB ", SPACES),
    mark(4096, b"SPACEDB ", SPACES),
    mark(0, b"RDSK", "a partition table (Amiga)"),
    mark(512, &BSD, "a partition table (BSD)"),
    mark(64, &BSD, "a partition table (BSD)"),
    mark(3072, b"PRIVHEAD", "a Windows dynamic disk (LDM)"),
    mark(0, b"QFI\xfb", "a disk image (QCOW)"),
    mark(0, b"QED\0", "a disk image (QED)"),
    mark(0, b"KDMV", "a disk image (VMDK)"),
    mark(0, b"COWD", "a disk image (VMDK)"),
    mark(0, b"conectix", VHD),
    mark(0, b"vhdxfile", "a disk image (VHDX)"),
    mark(0x40, &[0x7f, 0x10, 0xda, 0xbe], "a disk image (VDI)"),
    mark(0, b"WithoutFreeSpace", PARALLELS),
    mark(0, b"WithouFreSpacExt", PARALLELS),
    mark(257, b"ustar", "a tar archive"),
    mark(0, b"070701", "a cpio archive"),
    mark(0, b"PK\x03\x04", "a ZIP archive"),
    mark(0, b"\xfd7zXZ\0", "a compressed file (xz)"),
    mark(0, &[0x28, 0xb5, 0x2f, 0xfd], "a compressed file (Zstandard)"),
    mark(0, b"SQLite format 3\0", "an SQLite database"),
    mark(0, b"\x7fELF", "a program"),
];

/// Returns the partition tables, file systems, volume managers and similar formats found on a disk of `size_bytes`,
/// each once, as in `an ext2, ext3 or ext4 file system`. `head` is the start of the disk ([`HEAD_BYTES`] or all of it),
/// `tail` its end ([`TAIL_BYTES`] or all of it).
pub(crate) fn content_of(head: &[u8], tail: &[u8], size_bytes: u64) -> Vec<&'static str> {
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

/// Checks the boot signature 55 AA, which alone occurs by chance too often, and that the four entries are valid.
fn is_partition_table(head: &[u8]) -> bool {
    let Some(entries) = head.get(446..510) else { return false };
    has(head, 510, &[0x55, 0xaa]) && entries.chunks_exact(16).all(|entry| entry[0] & 0x7f == 0)
}

/// Checks for 53 EF with a valid block size and revision, and some inodes.
fn is_ext(head: &[u8]) -> bool {
    let word = |at: usize| {
        head.get(at..at + 4)
            .map_or(0, |b| u32::from_le_bytes(b.try_into().expect("four bytes were asked for")))
    };
    has(head, 0x438, &[0x53, 0xef]) && word(0x418) <= 6 && word(0x44c) <= 1 && word(0x400) > 0
}

/// Looks for an uberblock, in either byte order, in one of the four labels (256 KiB each, two at either end).
fn is_zfs(bytes: &[u8]) -> bool {
    const LITTLE: [u8; 8] = 0x00ba_b10c_u64.to_le_bytes();
    const BIG: [u8; 8] = 0x00ba_b10c_u64.to_be_bytes();
    bytes.chunks_exact(1024).any(|block| block.starts_with(&LITTLE) || block.starts_with(&BIG))
}

/// Returns the format found at the end: the second GPT, old RAID formats, DRBD.
fn at_end(tail: &[u8], size_bytes: u64) -> Option<&'static str> {
    let from_end = |bytes: u64| usize::try_from(bytes).ok().and_then(|bytes| tail.len().checked_sub(bytes));
    let is_at = |distance: u64, offset: usize, mark: &[u8]| {
        from_end(distance).is_some_and(|at| has(tail, at + offset, mark))
    };
    if is_at(512, 0, b"EFI PART") || is_at(4096, 0, b"EFI PART") {
        return Some(GPT);
    }
    if is_at(512, 0, b"conectix") {
        return Some(VHD);
    }
    if is_at(512, 0, b"koly") {
        return Some("a disk image (DMG)");
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

    const SIZE: usize = 8 << 20;

    fn seen(disk: &[u8]) -> Vec<&'static str> {
        let at = |bytes| usize::try_from(bytes).unwrap();
        content_of(&disk[..at(HEAD_BYTES)], &disk[disk.len() - at(TAIL_BYTES)..], disk.len() as u64)
    }

    #[test]
    fn the_places_of_signatures_lie_on_the_disk_and_do_not_overlap_its_ends() {
        for size_bytes in [0, 512, 4096, 1 << 20, HEAD_BYTES, HEAD_BYTES + 512, 64 << 20, 1 << 50] {
            let places = signature_places(size_bytes);
            assert!(
                places.iter().all(|(at, bytes)| at % 4096 == 0 && *bytes > 0 && at + bytes <= size_bytes)
            );
            let ends: u64 = places.iter().take(2).map(|(_, bytes)| bytes).sum();
            assert!(ends >= size_bytes.min(HEAD_BYTES + TAIL_BYTES), "{size_bytes}: {places:?}");
        }
        let large = signature_places(1 << 50);
        assert!(large.contains(&(256 << 30, 64 << 10)) && large.contains(&(1 << 49, 64 << 10)), "{large:?}");
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
    fn every_mark_is_found_at_its_place() {
        for one in MARKS {
            check(&[(one.at, one.bytes)], one.says);
        }
        check(&[(510, &[0x55, 0xaa])], "MBR");
        // As numbers, as the kernel's sources have them; that of dm-cache is octal.
        check(&[(32, &27_022_010_u64.to_le_bytes())], "the metadata of a thin pool");
        check(&[(32, &0o6_142_003_u64.to_le_bytes())], "the metadata of a cache");
        check(&[(32, &2_126_579_579_u64.to_le_bytes())], "the metadata of dm-era");
        check(&[(32, &0x8af2_7f64_u64.to_le_bytes())], "the metadata of dm-clone");
        check(&[(0x400, &[8]), (0x438, &[0x53, 0xef])], "ext4");
        check(&[(128 << 10, &0x00ba_b10c_u64.to_le_bytes())], "ZFS");
        check(&[(SIZE - (128 << 10), &0x00ba_b10c_u64.to_be_bytes())], "ZFS");
        check(&[(SIZE - 512, b"EFI PART")], "GPT");
        check(&[(SIZE - 512, b"conectix")], "VHD");
        check(&[(SIZE - 512, b"koly")], "DMG");
        check(&[(SIZE - 65_536, MD)], "Linux RAID");
        check(&[(SIZE - 8192, MD)], "Linux RAID");
        check(&[(SIZE - 4096 + 60, &[0x83, 0x74, 0x02, 0x6d])], "DRBD");
    }

    #[test]
    fn zeroes_small_disks_and_near_matches_have_no_signature() {
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
}
