//! The recipes. Offsets and magic numbers are from the formats' documentation and from libblkid.

use assay_spec::random::split_mix;

use super::{IMAGE_BYTES, Recipe};

/// Programs of the recipes.
pub(super) const PROGRAMS: [&str; 28] = [
    "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.fat", "mkfs.exfat", "mkfs.ntfs", "mkfs.f2fs", "mkudffs",
    "mkfs.nilfs2", "mkfs.jfs", "mkreiserfs", "mksquashfs", "mkfs.erofs", "mkfs.ocfs2", "mkfs.gfs2",
    "cryptsetup", "veritysetup", "make-bcache", "genisoimage", "mkfs.minix", "mkfs.bfs", "mkfs.cramfs",
    "mkswap", "sfdisk", "parted", "qemu-img", "tar", "dd",
];

/// Name, recipe, and the number of bytes cleared at the start in a second image; 0 for no second image.
type Entry = (&'static str, Recipe, u64);

/// Shell commands, and the bytes cleared in a second image.
const BY_PROGRAMS: &[(&str, &str, u64)] = &[
    ("ext2", "mkfs.ext2 -q -F $I", 0),
    ("ext3", "mkfs.ext3 -q -F $I", 0),
    ("ext4", "mkfs.ext4 -q -F $I", 8 << 20),
    ("ext4 with blocks of 1 KiB", "mkfs.ext4 -q -F -b 1024 -O ^has_journal $I", 4 << 20),
    ("XFS", "mkfs.xfs -q -f $I", 1 << 20),
    ("Btrfs", "mkfs.btrfs -q -f $I", 1 << 20),
    ("FAT12", "mkfs.fat -F 12 -s 128 $I 200000", 512),
    ("FAT16", "mkfs.fat -F 16 $I", 0),
    ("FAT32", "mkfs.fat -F 32 $I", 4096),
    ("exFAT", "mkfs.exfat $I", 4096),
    ("NTFS", "mkfs.ntfs -q -F -Q $I", 4096),
    ("F2FS", "mkfs.f2fs -q $I", 4096),
    ("UDF", "mkudffs $I", 64 << 10),
    ("UDF on DVD-RAM", "mkudffs --media-type=dvdram $I", 0),
    ("NILFS2", "mkfs.nilfs2 -q -f $I", 4096),
    ("JFS", "mkfs.jfs -q $I", 36 << 10),
    ("ReiserFS", "mkreiserfs -ff -q $I", 0),
    ("SquashFS", "mkdir d; echo x > d/x; mksquashfs d s -quiet -no-progress; dd if=s of=$I conv=notrunc", 0),
    ("EROFS", "mkdir d; echo x > d/x; mkfs.erofs s d; dd if=s of=$I conv=notrunc", 0),
    ("cramfs", "mkdir d; echo x > d/x; mkfs.cramfs d s; dd if=s of=$I conv=notrunc", 0),
    ("ISO 9660", "mkdir d; echo x > d/x; genisoimage -quiet -o s d; dd if=s of=$I conv=notrunc", 0),
    ("OCFS2", "mkfs.ocfs2 -q -F -x -M local -N 1 -J size=4M $I", 0),
    ("GFS2", "mkfs.gfs2 -O -q -p lock_nolock -j 1 -J 8 $I", 0),
    ("LUKS1", "echo p | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 $I -", 4096),
    (
        "LUKS2",
        "echo p | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $I -",
        4096,
    ),
    ("dm-verity", "truncate -s 1M v; veritysetup format v $I", 0),
    ("bcache", "make-bcache -B $I", 0),
    ("Minix 1", "mkfs.minix -1 $I 20000", 0),
    ("Minix 2", "mkfs.minix -2 $I 20000", 0),
    ("Minix 3", "mkfs.minix -3 $I", 0),
    ("BFS (SCO)", "mkfs.bfs $I", 0),
    ("swap", "mkswap $I", 0),
    ("swap with pages of 64 KiB", "mkswap -p 65536 $I", 0),
    ("suspended swap", "mkswap $I; printf S1SUSPEND | dd of=$I bs=1 seek=4086 conv=notrunc", 0),
    ("GPT", "echo size=20M | sfdisk -q -X gpt $I", 1 << 20),
    ("MBR", "echo size=20M | sfdisk -q -X dos $I", 0),
    ("Sun table", "echo size=20M | sfdisk -q -X sun $I", 0),
    ("SGI table", "echo size=20M | sfdisk -q -X sgi $I", 0),
    ("Apple table", "parted -s $I mklabel mac", 0),
    ("BSD table", "parted -s $I mklabel bsd", 0),
    ("Amiga table", "parted -s $I mklabel amiga", 0),
    ("PC-98 table", "parted -s $I mklabel pc98", 0),
    ("Atari table", "parted -s $I mklabel atari", 0),
    ("qcow2 image", "qemu-img create -q -f qcow2 f 100M; dd if=f of=$I conv=notrunc", 0),
    ("qcow image", "qemu-img create -q -f qcow f 100M; dd if=f of=$I conv=notrunc", 0),
    ("QED image", "qemu-img create -q -f qed f 100M; dd if=f of=$I conv=notrunc", 0),
    ("VMDK image", "qemu-img create -q -f vmdk f 100M; dd if=f of=$I conv=notrunc", 512),
    (
        "VMDK image, stream optimized",
        "qemu-img create -q -f vmdk -o subformat=streamOptimized f 100M; dd if=f of=$I conv=notrunc",
        0,
    ),
    ("VHD image", "qemu-img create -q -f vpc f 100M; dd if=f of=$I conv=notrunc", 512),
    (
        "VHD image, fixed",
        "qemu-img create -q -f vpc -o subformat=fixed,force_size=on f 335543808; mv f $I",
        0,
    ),
    ("VHDX image", "qemu-img create -q -f vhdx f 100M; dd if=f of=$I conv=notrunc,sparse", 64 << 10),
    ("VDI image", "qemu-img create -q -f vdi f 100M; dd if=f of=$I conv=notrunc", 0),
    ("Parallels image", "qemu-img create -q -f parallels f 100M; dd if=f of=$I conv=notrunc", 0),
    ("tar archive", "mkdir d; echo x > d/x; tar cf f d; dd if=f of=$I conv=notrunc", 0),
];

/// Returns all recipes.
pub(super) fn all() -> Vec<Entry> {
    let programs = BY_PROGRAMS.iter().map(|&(name, line, wipes)| (name, Recipe::Program(line), wipes));
    programs.chain(by_format()).chain(plain_data()).collect()
}

fn one(name: &'static str, at: i64, bytes: &[u8]) -> Entry {
    (name, Recipe::Bytes(vec![(at, bytes.to_vec())]), 0)
}

/// Returns the formats that only other systems or kernel modules create.
fn by_format() -> Vec<Entry> {
    const KIB: i64 = 1 << 10;
    const MIB: i64 = 1 << 20;
    let uberblocks = |from: i64| {
        let block = |i: i64| (from + i * KIB, 0x00ba_b10c_u64.to_le_bytes().to_vec());
        (0..8).map(block).collect::<Vec<_>>()
    };
    let mut all = vec![
        ("ZFS", Recipe::Bytes(uberblocks(128 * KIB)), 0),
        ("ZFS, labels at the end", Recipe::Bytes(uberblocks(-128 * KIB)), 0),
        ("md 0.90", Recipe::Bytes(vec![(md_old_at(), md(0, 90, 0))]), 0),
        ("md 1.0", Recipe::Bytes(vec![(-8 * KIB, md(1, 0, (IMAGE_BYTES - (8 << 10)) / 512))]), 0),
        ("md 1.1", Recipe::Bytes(vec![(0, md(1, 0, 0))]), 0),
        ("md 1.2", Recipe::Bytes(vec![(4 * KIB, md(1, 0, 8))]), 0),
        ("LVM2", Recipe::Bytes(vec![(512, lvm2())]), 0),
        one("LVM1", 0, b"HM\x01\0"),
        one("dm-integrity", 0, b"integrt\0\x04\x0b"),
        one("dm-snapshot", 0, b"SnAp\x01\0\0\0\x01\0\0\0\x08\0\0\0"),
        one("VDO", 0, b"dmvdo001"),
        one("Stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh"),
        one("DRBD", -4 * KIB + 60, &[0x83, 0x74, 0x02, 0x6d]),
        one("BlueStore", 0, b"bluestore block device\n00000000-0000-0000-0000-000000000000\n"),
        one("Oracle ASM", 32, b"ORCLDISKDATA1"),
        one("VxFS", KIB, &[0xf5, 0xfc, 0x01, 0xa5, 7, 0, 0, 0]),
        one("VxFS, big endian", 8 * KIB, &[0xa5, 0x01, 0xfc, 0xf5, 0, 0, 0, 7]),
        one("UFS1", 8 * KIB + 1372, &0x0001_1954_u32.to_le_bytes()),
        one("UFS1, big endian", 8 * KIB + 1372, &0x0001_1954_u32.to_be_bytes()),
        one("UFS2", 64 * KIB + 1372, &0x1954_0119_u32.to_le_bytes()),
        one("HFS", KIB, b"BD\xd0\0\0\0\xd0\0\0\0"),
        one("HFS+", KIB, b"H+\0\x04\0\0\x01\0"),
        one("APFS", 32, b"NXSB\0\x10\0\0"),
        one("ReFS", 0, b"\0\0\0ReFS\0\0\0\0"),
        one("BitLocker", 0, b"\xebX\x90-FVE-FS-"),
        one("VMFS", 2 * MIB, &0x2fab_f15e_u32.to_le_bytes()),
        one("VMFS volume member", MIB, &0xc001_d00d_u32.to_le_bytes()),
        one("DDF RAID", -512, &ddf()),
        one("IMSM RAID", -KIB, b"Intel Raid ISM Cfg Sig. 1.3.00"),
        one("HighPoint 37x RAID", 9 * 512 + 32, &0x5a78_16f0_u32.to_le_bytes()),
        one("HighPoint 45x RAID", -11 * 512, &0x5a78_16f3_u32.to_le_bytes()),
        one("Promise RAID", -63 * 512, b"Promise Technology, Inc."),
        one("LSI MegaRAID", -512, b"$XIDE$"),
        one("NVIDIA RAID", -KIB, b"NVIDIA\0\0\x1e\0\0\0\x0a\xf8\xda\xf0"),
        one("VIA RAID", -512, &[0x55, 0xaa, 0, 0, 0, 0]),
        one("JMicron RAID", -512, b"JM\0\0\x01\0"),
        one("HPFS", 8 * KIB, &[0x49, 0xe8, 0x95, 0xf9]),
        one("romfs", 0, b"-rom1fs-"),
        one("BeFS", 544, b"1SFBEGIB"),
        one("NetWare", 4 * KIB, b"SPB5"),
        one("UBI", 0, b"UBI#\x01"),
        one("UBIFS", 0, &[0x31, 0x18, 0x10, 0x06]),
        one("Reiser4", 64 * KIB, b"ReIsEr4"),
        one("bcachefs", 4 * KIB + 24, &BCACHEFS),
        one("Storage Spaces", 4 * KIB, b"SPACEDB \x01\0\0\0"),
        one("Windows dynamic disk", 3 * KIB, b"PRIVHEAD\0\0\0\x01\0\x02\0\x0b"),
    ];
    all.push(("ext4, only a copy of the superblock", Recipe::Bytes(vec![(128 * MIB, ext_superblock())]), 0));
    all
}

const BCACHEFS: [u8; 16] =
    [0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef];

/// Returns data without any signature.
fn plain_data() -> Vec<Entry> {
    let random = noise(1 << 20);
    let pages: Vec<u8> = (0..64_u32).flat_map(innodb_page).collect();
    vec![
        one("random bytes", 0, &random),
        one("random bytes at the end", -(1 << 20), &random),
        ("random bytes in the middle", Recipe::Bytes(vec![((100 << 20) + 12_288, random.clone())]), 0),
        ("a random sector at 64 KiB", Recipe::Bytes(vec![(64 << 10, noise(512))]), 0),
        one("InnoDB pages", 0, &pages),
        one("an SQLite database", 0, b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20"),
        one("text", 0, "Dear diary,\ntoday nobody made a backup.\n".repeat(3000).as_bytes()),
        one("one byte", 1 << 20, b"!"),
        one("a stamp of Assay with a wrong checksum", 4096, b"ASSAY\0\0\x01\0\x10\0\0"),
    ]
}

/// Returns random bytes that are not from Assay's own generator, whose data is recognised.
fn noise(bytes: usize) -> Vec<u8> {
    let mut at: u64 = 42;
    let mut next = || split_mix(&mut at).to_le_bytes();
    std::iter::repeat_with(&mut next).flatten().take(bytes).collect()
}

/// Returns a page of 16 KiB: checksum, number, neighbours, LSN, type 17855 (index).
fn innodb_page(number: u32) -> Vec<u8> {
    let mut page = vec![0; 16 << 10];
    page[..4].copy_from_slice(&(number ^ 0xDEAD_BEEF).to_be_bytes());
    page[4..8].copy_from_slice(&number.to_be_bytes());
    page[16..24].copy_from_slice(&(u64::from(number) * 977 + 8204).to_be_bytes());
    page[24..26].copy_from_slice(&17_855_u16.to_be_bytes());
    page[120..128].copy_from_slice(b"infimum\0");
    page
}

/// Returns the position of version 0.90: the last whole 64 KiB but one.
fn md_old_at() -> i64 {
    i64::try_from(IMAGE_BYTES / 65_536 * 65_536 - 65_536).unwrap()
}

fn md(major: u32, minor: u32, super_sector: u64) -> Vec<u8> {
    let mut block = vec![0; 256];
    block[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
    block[4..8].copy_from_slice(&major.to_le_bytes());
    block[8..12].copy_from_slice(&minor.to_le_bytes());
    if major == 1 {
        block[128..136].copy_from_slice(&super_sector.to_le_bytes());
    }
    block
}

fn lvm2() -> Vec<u8> {
    let mut label = vec![0; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8] = 1;
    label[20] = 32;
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"0123456789abcdefghijklmnopqrstuv");
    label
}

fn ddf() -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..4].copy_from_slice(&0xDE11_DE11_u32.to_be_bytes());
    header[8..16].copy_from_slice(b"LSI     ");
    header[32..40].copy_from_slice(b"01.02.00");
    header
}

fn ext_superblock() -> Vec<u8> {
    let mut block = vec![0; 1024];
    block[..4].copy_from_slice(&81_920_u32.to_le_bytes());
    block[4..8].copy_from_slice(&81_920_u32.to_le_bytes());
    block[0x18] = 2;
    block[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
    block[0x5a] = 1;
    block
}
