//! Removes a file: only the one that is known, only if Assay created it, and only while nobody uses it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use assay_target::AccessMode;
use assay_target::file::{FileIdentity, open};

use crate::lock::{Lock, lock};
use crate::mark::{Marker, remove_beside};

/// Outcome of the removal of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The file and its mark were removed.
    Removed,
    /// Assay did not create the file, or another program changed it since.
    NotOurs,
    /// Its name now refers to another file, or to none; nothing was removed.
    Elsewhere,
    /// Another run on this machine is using it; nothing was removed.
    InUse,
}

/// Removes the file `known` with its marker if Assay created it and it still has that name.
pub fn remove(path: &Path, known: FileIdentity) -> io::Result<Removal> {
    let file = match open(path, AccessMode::ReadOnly) {
        Ok(file) => file,
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)) => {
            return Ok(Removal::Elsewhere);
        }
        Err(e) => return Err(e),
    };
    if FileIdentity::of(&file)? != known {
        return Ok(Removal::Elsewhere);
    }
    match Marker::read(path, &file)? {
        // Between the end of this run and now another one may have begun.
        Some(marker) if marker.created && !lock(&file, Lock::Exclusive)? => Ok(Removal::InUse),
        Some(marker) if marker.created => {
            fs::remove_file(path)?;
            remove_beside(path)?;
            Ok(Removal::Removed)
        }
        _ => Ok(Removal::NotOurs),
    }
}

/// Removes a file that was just created, whether or not it could be marked.
pub fn discard(path: &Path, created: &File) -> io::Result<()> {
    match FileIdentity::of_name(path) {
        Ok(identity) if identity == FileIdentity::of(created)? => {}
        // Another file, or none: there is nothing to take back.
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    fs::remove_file(path)?;
    remove_beside(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use assay_target::file::create;

    use super::*;

    fn made(directory: &Path) -> (PathBuf, File) {
        let path = directory.join("t.dat");
        let file = create(&path).unwrap();
        (path, file)
    }

    /// A run that had removed its file, or whose file somebody else had removed, said that it could not be undone.
    #[test]
    fn a_file_that_is_gone_is_discarded() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        fs::remove_file(&path).unwrap();
        discard(&path, &file).unwrap();
    }

    #[test]
    fn only_the_known_file_is_removed_and_only_if_assay_created_it() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut file) = made(directory.path());
        let known = FileIdentity::of(&file).unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::NotOurs, "no mark");
        Marker::new(true).write(&path, &file, false).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all(b"somebody else").unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::NotOurs, "a changed file stays");
        Marker::new(true).write(&path, &file, false).unwrap();
        let aside = directory.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::Elsewhere, "no file");
        fs::write(&path, "precious").unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::Elsewhere, "another file");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::Elsewhere, "a link");
        fs::rename(&aside, &path).unwrap();
        let other_run = open(&path, AccessMode::ReadOnly).unwrap();
        assert!(lock(&other_run, Lock::Shared).unwrap());
        assert_eq!(remove(&path, known).unwrap(), Removal::InUse, "another run has begun on it");
        drop(other_run);
        assert_eq!(remove(&path, known).unwrap(), Removal::Removed);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
