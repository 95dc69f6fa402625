//! Advisory locks: two runs of one machine never use a file at the same time if one of them writes.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::fingerprint::WriteTimes;

/// Mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Other readers may use the file.
    Shared,
    /// No other run may use the file.
    Exclusive,
}

/// Time for which a lock is tried. A process shares its locks with a child until the child executes its own program,
/// which takes a while on a busy machine: a lock that was just released may still seem to be held. udev locks a device
/// for as long as it looks at it.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// A byte behind the end of any file. A server of SMB refuses I/O on bytes that another descriptor has locked, even one
/// of the same run: a lock of the whole file, which flock is there, refused the run its own writes.
const BEYOND: i64 = i64::MAX - 1;

/// Takes an advisory lock; returns `false` if another Assay holds the file. It lasts until `file` is closed.
pub fn lock(file: &File, lock: Lock) -> io::Result<bool> {
    let is_smb = WriteTimes::of(file) == WriteTimes::Late;
    let take = || match is_smb {
        // A descriptor that is only read cannot lock a byte for itself alone; it only asks whether a file is in use.
        true => match lock_beyond(file, lock) {
            Err(Errno::BADF) => lock_whole(file, lock),
            // What SMB calls a lock that is not granted.
            Err(Errno::ACCESS) => Err(Errno::WOULDBLOCK),
            other => other,
        },
        false => lock_whole(file, lock),
    };
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match take() {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            // Some network file systems have no locks; the file cannot be protected then.
            Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn lock_whole(file: &File, lock: Lock) -> Result<(), Errno> {
    let operation = match lock {
        Lock::Shared => FlockOperation::NonBlockingLockShared,
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    rustix::fs::flock(file, operation)
}

/// Locks the byte behind the end for this descriptor.
fn lock_beyond(file: &File, lock: Lock) -> Result<(), Errno> {
    let kind = match lock {
        Lock::Shared => libc::F_RDLCK,
        Lock::Exclusive => libc::F_WRLCK,
    };
    let byte = libc::flock {
        l_type: i16::try_from(kind).expect("a small number"),
        l_whence: i16::try_from(libc::SEEK_SET).expect("a small number"),
        l_start: BEYOND,
        l_len: 1,
        l_pid: 0,
    };
    let locked = nix::fcntl::fcntl(file, nix::fcntl::FcntlArg::F_OFD_SETLK(&byte));
    locked.map(drop).map_err(|errno| Errno::from_raw_os_error(errno as i32))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use assay_target::AccessMode;
    use assay_target::file::{create, open};

    use super::*;

    fn made(directory: &Path) -> (PathBuf, File) {
        let path = directory.join("t.dat");
        let file = create(&path).unwrap();
        (path, file)
    }

    /// A child that has not executed its own program yet holds the locks of its parent: a run that started right after
    /// another one was refused.
    #[test]
    fn a_lock_is_retried_until_it_is_released_a_moment_later() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        assert!(lock(&file, Lock::Exclusive).unwrap());
        // As in a child: another descriptor of the same lock.
        let (inherited, other) = (file.try_clone().unwrap(), open(&path, AccessMode::ReadWrite).unwrap());
        drop(file);
        let child = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(inherited);
        });
        assert!(lock(&other, Lock::Exclusive).unwrap());
        child.join().unwrap();
        let third = open(&path, AccessMode::ReadWrite).unwrap();
        assert!(!lock(&third, Lock::Shared).unwrap(), "one that stays is not waited for");
    }

    #[test]
    fn two_writers_exclude_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        let other = File::open(path).unwrap();
        assert!(lock(&file, Lock::Exclusive).unwrap());
        assert!(!lock(&other, Lock::Shared).unwrap());
        drop(file);
        assert!(lock(&other, Lock::Shared).unwrap());
    }

    /// As over SMB, where the whole file cannot be locked: descriptors exclude each other, and what is not one for
    /// writing cannot lock it for itself.
    #[test]
    fn a_byte_behind_the_end_excludes_other_descriptors() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        let other = open(&path, AccessMode::ReadWrite).unwrap();
        lock_beyond(&file, Lock::Exclusive).unwrap();
        assert_eq!(lock_beyond(&other, Lock::Exclusive), Err(Errno::WOULDBLOCK));
        assert_eq!(lock_beyond(&other, Lock::Shared), Err(Errno::WOULDBLOCK));
        drop(file);
        lock_beyond(&other, Lock::Shared).unwrap();
        let reader = File::open(path).unwrap();
        lock_beyond(&reader, Lock::Shared).unwrap();
        assert_eq!(lock_beyond(&reader, Lock::Exclusive), Err(Errno::BADF));
    }
}
