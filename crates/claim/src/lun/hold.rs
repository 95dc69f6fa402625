//! Locks a LUN against other runs on this machine, because a target offers no lock that initiators of two runs could
//! share.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use assay_spec::IscsiAddress;
use rustix::fs::{Mode, OFlags};

use crate::lock::{Lock, lock as take};

/// Directories that are emptied at boot, in order of preference. On some systems only root may write to the first.
const PLACES: [&str; 2] = ["/run/lock", "/tmp"];

/// Takes the lock of a LUN: exclusive to write, shared to read. Returns `None` if another run holds it. The lock lasts
/// until the file is closed, also when the process is killed. The file itself stays: removing it would let two runs
/// lock two files of one name.
pub fn hold(address: &IscsiAddress, lock: Lock) -> io::Result<Option<File>> {
    hold_name(&format!("{}-{}", address.target, address.lun), lock)
}

/// Takes a lock identified by `name`.
pub(crate) fn hold_name(name: &str, lock: Lock) -> io::Result<Option<File>> {
    let name = format!("assay-{name}.lock");
    let mut places: Vec<PathBuf> = PLACES.iter().map(PathBuf::from).collect();
    places.push(std::env::temp_dir());
    let mut opened = Err(io::ErrorKind::NotFound.into());
    for place in places {
        opened = open(&place.join(&name));
        if opened.is_ok() {
            break;
        }
    }
    let file = opened?;
    Ok(if take(&file, lock)? { Some(file) } else { None })
}

/// Read access suffices for a lock, so another user's file works as well.
fn open(path: &Path) -> io::Result<File> {
    // A pipe that somebody put there would be waited for; it locks as well as a file.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => {
            rustix::fs::open(path, flags | OFlags::CREATE, Mode::from_raw_mode(0o644))
        }
        other => other,
    };
    Ok(File::from(opened?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_or_several_readers_hold_a_lun() {
        let name = format!("nas/iqn.2026-11.example.hold:{}/1", std::process::id());
        let lun = IscsiAddress::parse(&name).unwrap();
        let other = IscsiAddress { lun: 2, ..lun.clone() };
        let writer = hold(&lun, Lock::Exclusive).unwrap();
        assert!(writer.is_some());
        assert!(hold(&lun, Lock::Exclusive).unwrap().is_none(), "a second writer");
        assert!(hold(&lun, Lock::Shared).unwrap().is_none(), "a reader beside a writer");
        assert!(hold(&other, Lock::Exclusive).unwrap().is_some(), "another unit");
        drop(writer);
        let readers = [hold(&lun, Lock::Shared).unwrap(), hold(&lun, Lock::Shared).unwrap()];
        assert!(readers.iter().all(Option::is_some));
        assert!(hold(&lun, Lock::Exclusive).unwrap().is_none(), "a writer beside readers");
        for unit in [1, 2] {
            let file = format!("assay-{}-{unit}.lock", lun.target);
            PLACES.iter().for_each(|place| drop(std::fs::remove_file(Path::new(place).join(&file))));
        }
    }
}
