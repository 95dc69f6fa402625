//! Mounts from `/proc/self/mountinfo`, and the file system of a path.

use std::io;
use std::path::{Path, PathBuf};

use assay_record::FilesystemFacts;

use crate::machine::{DevNo, Machine, unescape};
use crate::notes::mount::of_mount;

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mount {
    pub(crate) device: DevNo,
    /// The mounted part of the file system, a path in it.
    pub(crate) root: String,
    pub(crate) mount_point: PathBuf,
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) options: String,
}

/// Returns true if this user may write to a file or device, or create files in a directory; considers read-only mounts.
pub fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns the mount point of a path whose file system is mounted read-only; `None` of any other path.
pub fn read_only_mount(path: &Path) -> Option<String> {
    let refused = rustix::fs::access(path, rustix::fs::Access::WRITE_OK).err()?;
    let mount = || filesystem_of(path).map_or_else(|_| path.display().to_string(), |fs| fs.mount_point);
    (refused == rustix::io::Errno::ROFS).then(mount)
}

/// Returns the file system that a path is on, or would be on if it does not exist yet.
///
/// # Errors
/// If neither the path nor any directory above it exists, or mountinfo cannot be read.
pub fn filesystem_of(path: &Path) -> io::Result<FilesystemFacts> {
    let existing = nearest_existing(path)?;
    let mounts = mounts(&Machine::this())?;
    let space = rustix::fs::statvfs(&existing)?;
    let (size_bytes, free_bytes) =
        (space.f_blocks.saturating_mul(space.f_frsize), space.f_bavail.saturating_mul(space.f_frsize));
    let Some(mount) = mount_of(&mounts, &existing) else {
        let is_read_only = space.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY);
        return Ok(FilesystemFacts {
            kind: kind_of(rustix::fs::statfs(&existing)?.f_type.cast_unsigned() & u64::from(u32::MAX))
                .to_owned(),
            source: "unknown".to_owned(),
            mount_point: "/".to_owned(),
            options: if is_read_only { "ro" } else { "rw" }.to_owned(),
            size_bytes,
            free_bytes,
            notes: Vec::new(),
        });
    };
    let facts = FilesystemFacts {
        kind: mount.kind.clone(),
        source: mount.source.clone(),
        mount_point: mount.mount_point.display().to_string(),
        options: mount.options.clone(),
        size_bytes,
        free_bytes,
        notes: Vec::new(),
    };
    Ok(FilesystemFacts { notes: of_mount(&Machine::this(), &facts), ..facts })
}

/// Returns the kind of a file system by the number that statfs(2) gives it: in a chroot whose root is no mount point,
/// mountinfo does not list the file system below it.
fn kind_of(magic: u64) -> &'static str {
    match magic {
        0xEF53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683E => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794C_7630 => "overlay",
        0x6969 => "nfs",
        0xFF53_4D42 | 0xFE53_4D42 => "cifs",
        0x2FC1_2FC1 => "zfs",
        0x6573_5546 => "fuse",
        0xF2F5_2010 => "f2fs",
        _ => "unknown",
    }
}

/// Returns all mounts of this process's mount namespace, in the order in which they were mounted.
pub(crate) fn mounts(machine: &Machine) -> io::Result<Vec<Mount>> {
    let name = "/proc/self/mountinfo";
    let text = machine.text(name);
    // The error of a read names no file, and would be taken for one about the target.
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}; is /proc mounted?"));
    Ok(parse_mountinfo(&text.map_err(named)?))
}

/// Returns the mount that serves a canonical path: the longest mount point above it; of several at one mount point, the
/// last hides the others.
pub(crate) fn mount_of<'a>(mounts: &'a [Mount], canonical: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| canonical.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.components().count())
}

/// Returns the path itself or the nearest directory above it that exists, with all links resolved.
pub(crate) fn nearest_existing(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    for candidate in absolute.ancestors() {
        match candidate.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Parses mountinfo lines such as `36 35 98:0 /root /mnt opts [tags…] - type source super-opts`; invalid lines are
/// skipped.
pub(crate) fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let device = place.next()?.parse().ok()?;
    let root = unescape(place.next()?);
    let mount_point = PathBuf::from(unescape(place.next()?));
    let own_options = place.next()?;
    let mut what = what.split(' ');
    let kind = unescape(what.next()?);
    let source = unescape(what.next()?);
    let options = merge_options(own_options, what.next().unwrap_or(""));
    Some(Mount { device, root, mount_point, kind, source, options })
}

/// Returns the options of the mount, then further options of the file system, as `/proc/mounts` shows them.
fn merge_options(own: &str, of_filesystem: &str) -> String {
    let mut options: Vec<&str> = own.split(',').collect();
    // A mount that is `ro` on a file system that is `rw` must not read as both.
    let decided = |option: &str| matches!(option, "rw" | "ro");
    options.extend(
        of_filesystem.split(',').filter(|o| !o.is_empty() && !decided(o) && !own.split(',').any(|x| x == *o)),
    );
    options.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURED: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
22 27 0:21 / /proc rw,relatime - proc proc rw
40 27 8:17 / /mnt/two\\040words rw,noatime shared:7 master:1 - xfs /dev/sdb1 rw,attr2,noquota
41 27 0:45 /@home /home ro,relatime shared:2 - btrfs /dev/nvme0n1p2 rw,ssd,subvol=/@home
42 27 0:50 / /srv rw - nfs4 nas:/export rw,vers=4.2
43 27 8:33 / /srv rw - ext4 /dev/sdc1 rw
garbage
";

    #[test]
    fn a_file_system_that_no_line_lists_is_known_by_its_number() {
        // That of /proc is listed everywhere but in such a chroot, and is none that files are measured on.
        assert_eq!(kind_of(rustix::fs::statfs("/proc").unwrap().f_type.cast_unsigned()), "unknown");
        let own = filesystem_of(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let by_number =
            kind_of(rustix::fs::statfs(env!("CARGO_MANIFEST_DIR")).unwrap().f_type.cast_unsigned());
        assert!(by_number == "unknown" || own.kind.starts_with(by_number), "{by_number}, {own:?}");
    }

    #[test]
    fn mountinfo_lines_keep_options_in_order_and_unescape_paths() {
        let mounts = parse_mountinfo(CAPTURED);
        assert_eq!(mounts.len(), 6);
        assert_eq!(mounts[0].options, "rw,relatime,discard");
        assert_eq!(mounts[2].mount_point, Path::new("/mnt/two words"));
        assert_eq!(mounts[2].device, DevNo { major: 8, minor: 17 });
        assert_eq!(mounts[2].options, "rw,noatime,attr2,noquota");
        assert_eq!(mounts[3].options, "ro,relatime,ssd,subvol=/@home");
        assert_eq!(mounts[3].root, "/@home");
        assert_eq!(mounts[4].source, "nas:/export");
    }

    #[test]
    fn the_longest_and_last_mount_point_serves_a_path() {
        let mounts = parse_mountinfo(CAPTURED);
        for (path, source) in [
            ("/etc/fstab", "/dev/vda"),
            ("/mnt/two words/x", "/dev/sdb1"),
            ("/mnt/two", "/dev/vda"),
            ("/srvx", "/dev/vda"),
            ("/srv/file", "/dev/sdc1"),
        ] {
            assert_eq!(mount_of(&mounts, Path::new(path)).map(|m| m.source.as_str()), Some(source), "{path}");
        }
    }

    #[test]
    fn a_new_file_is_on_the_file_system_of_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let facts = filesystem_of(&folder.path().join("not/yet")).unwrap();
        assert_eq!(
            facts,
            FilesystemFacts { free_bytes: facts.free_bytes, ..filesystem_of(folder.path()).unwrap() }
        );
        assert!(facts.size_bytes >= facts.free_bytes && facts.size_bytes > 0, "{facts:?}");
        assert!(!facts.kind.is_empty() && !facts.mount_point.is_empty(), "{facts:?}");
    }
}
