//! Files to be imported, found in what was named: a folder stands for all files in it, however deep.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The most files that are looked at, and the deepest folder below the named one.
const FILES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 8;

/// What was named, and whether it was found in a folder: then it may be none that can be imported.
pub(crate) struct ResultFile {
    pub(crate) path: PathBuf,
    pub(crate) is_found: bool,
}

/// Returns the named files, and those in named folders in the order of their names. A folder that is an export of
/// Assay stands for itself.
pub(crate) fn result_files(named: &[PathBuf]) -> anyhow::Result<Vec<ResultFile>> {
    let mut files = Vec::new();
    for path in named {
        match path.is_dir() {
            true => add(path, &mut files, 0)?,
            false => files.push(ResultFile { path: path.clone(), is_found: false }),
        }
    }
    Ok(files)
}

fn add(folder: &Path, files: &mut Vec<ResultFile>, depth: usize) -> anyhow::Result<()> {
    let says = || format!("cannot read the folder {}", folder.display());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(says)? {
        paths.push(entry.with_context(says)?.path());
    }
    paths.sort();
    for path in paths {
        // What a link leads to may be outside, or the folder itself.
        let kind = path.symlink_metadata().with_context(says)?.file_type();
        if kind.is_dir() && depth < DEPTH_MAX {
            add(&path, files, depth + 1)?;
        } else if kind.is_file() {
            if files.len() >= FILES_MAX {
                bail!("{} holds more than {FILES_MAX} files; name a folder below it", folder.display());
            }
            files.push(ResultFile { path, is_found: true });
        }
    }
    Ok(())
}
