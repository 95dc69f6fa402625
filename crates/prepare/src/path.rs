//! Names of files and of their directories.

use std::path::{Path, PathBuf};

/// Name of the test file if the target is a directory.
pub(crate) const FILE_IN_DIRECTORY: &str = "assay.dat";

/// Returns the path with links followed; a file that does not exist yet keeps its name in its real directory.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return if real.is_dir() { real.join(FILE_IN_DIRECTORY) } else { real };
    }
    let directory = directory_of(path).canonicalize().unwrap_or_else(|_| directory_of(path));
    directory.join(path.file_name().unwrap_or_default())
}

/// Returns the directory of a file.
pub(crate) fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
