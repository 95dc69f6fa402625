//! Advisory locks: two runs of one machine never use a file at the same time if one of them writes.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

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

/// Takes an advisory lock; returns `false` if another Assay holds the file. It lasts until `file` is closed.
pub fn lock(file: &File, lock: Lock) -> io::Result<bool> {
    let operation = match lock {
        Lock::Shared => FlockOperation::NonBlockingLockShared,
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
            // Some network file systems have no locks; the file cannot be protected then.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOLCK | rustix::io::Errno::NOSYS) => {
                return Ok(true);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
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
}
