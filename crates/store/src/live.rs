//! Which runs are going on: each holds a lock, which the kernel drops with its process, however that ends.
//!
//! All runs of a store lock one file beside it, `NAME-live`, each the byte at its row's number; nothing is ever written
//! to it. The locks belong to the open file, not to the process, so that a process sees its own runs too.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::neighbours::beside;

/// The file beside the store at `path`: one and the same by every name of the store.
pub(crate) fn live_path(path: &Path) -> PathBuf {
    beside(path, "-live")
}

/// Marks a run as going on, for as long as this lives.
#[derive(Debug)]
pub(crate) struct LiveLock {
    /// Holds the lock.
    _file: File,
}

impl LiveLock {
    /// Where the file system knows no locks, the run goes on without: it will look like one that was killed.
    pub(crate) fn take(path: &Path, run_id: i64) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(live_path(path))?;
        match fcntl(&file, FcntlArg::F_OFD_SETLK(&byte(run_id, libc::F_WRLCK))) {
            Ok(_) | Err(Errno::ENOLCK | Errno::EOPNOTSUPP | Errno::EINVAL | Errno::ENOSYS) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(Self { _file: file })
    }
}

/// Whether each of these runs is going on. What cannot be found out counts as not.
pub(crate) fn are_live(path: &Path, run_ids: &[i64]) -> Vec<bool> {
    // A pipe there would be waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = File::options().read(true).custom_flags(flags).open(live_path(path)) else {
        return vec![false; run_ids.len()];
    };
    let is_live = |run_id: &i64| {
        let mut lock = byte(*run_id, libc::F_RDLCK);
        let asked = fcntl(&file, FcntlArg::F_OFD_GETLK(&mut lock));
        asked.is_ok() && i32::from(lock.l_type) != libc::F_UNLCK
    };
    run_ids.iter().map(is_live).collect()
}

fn byte(run_id: i64, kind: libc::c_int) -> libc::flock {
    let short = |constant: libc::c_int| i16::try_from(constant).expect("the system's constants are small");
    libc::flock { l_type: short(kind), l_whence: short(libc::SEEK_SET), l_start: run_id, l_len: 1, l_pid: 0 }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits for the end of a lock: a process that another test has just forked holds it until it becomes its program.
    fn ends(store: &Path, run_id: i64) {
        let begun = Instant::now();
        while are_live(store, &[run_id]) == [true] {
            assert!(begun.elapsed() < Duration::from_secs(30), "the lock of {run_id} is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_run_is_live_until_its_lock_is_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("s.sqlite");
        assert_eq!(are_live(&store, &[7]), [false], "nothing ever ran");
        let seven = LiveLock::take(&store, 7).expect("a lock");
        let nine = LiveLock::take(&store, 9).expect("another run's lock");
        assert_eq!(are_live(&store, &[7, 8, 9]), [true, false, true]);
        drop(seven);
        ends(&store, 7);
        assert_eq!(are_live(&store, &[7, 8, 9]), [false, false, true]);
        drop(nine);
        ends(&store, 9);
    }
}
