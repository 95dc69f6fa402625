//! Files to be imported, found in what was named: a folder stands for all files in it, however deep.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use assay_interop::results::fio_log::{LogName, log_name};

/// The most files that are looked at, and the deepest folder below the named one.
const FILES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 8;

/// What was named, and whether it was found in a folder: then it may be none that can be imported.
pub(crate) struct ResultFile {
    pub(crate) path: PathBuf,
    pub(crate) is_found: bool,
}

/// Returns logs of fio by job, with their paths, and what else was named. One log that was named stands for those of its
/// job beside it.
pub(crate) fn fio_logs(files: Vec<ResultFile>) -> (Vec<Vec<PathBuf>>, Vec<ResultFile>) {
    let mut jobs: Vec<((PathBuf, LogName), Vec<PathBuf>)> = Vec::new();
    let mut others = Vec::new();
    for file in files {
        let name = file.path.file_name().and_then(|name| log_name(&name.to_string_lossy()));
        let Some(name) = name else {
            others.push(file);
            continue;
        };
        let folder = file.path.parent().map(Path::to_path_buf).unwrap_or_default();
        let key = (folder, name);
        match jobs.iter_mut().find(|(known, _)| *known == key) {
            Some((_, paths)) => paths.push(file.path),
            None if file.is_found => jobs.push((key, vec![file.path])),
            None => {
                let paths = beside(&key.0, &key.1);
                jobs.push((key, paths));
            }
        }
    }
    (jobs.into_iter().map(|(_, paths)| paths).collect(), others)
}

/// The logs of a job in a folder.
fn beside(folder: &Path, name: &LogName) -> Vec<PathBuf> {
    let end = if name.job > 0 { format!(".{}.log", name.job) } else { ".log".to_owned() };
    let paths = ["bw", "iops", "lat"].map(|kind| folder.join(format!("{}_{kind}{end}", name.stem)));
    paths.into_iter().filter(|path| path.is_file()).collect()
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
