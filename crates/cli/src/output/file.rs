//! Where `-o` may write. One function decides it for every verb.
//!
//! A file is only ever replaced if it begins exactly as Assay writes what replaces it, and does not hold another run.
//! It is replaced by renaming a whole new file, so that nobody reads half of it and a failure leaves the old one.
//! Devices, pipes, folders, the store, the targets and links to any of them are never written to.

use std::fs::{File, Metadata};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use assay_report::escape;
use assay_spec::Address;
use assay_store::StoreAddress;

use super::kind::{HEAD_BYTES, OutputKind};
use crate::args::StoreArgs;

/// Longest document that is read to learn which run it holds.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;
/// How the schemas of Assay begin.
const SCHEMAS: &str = "assay.";
/// What SQLite and Assay keep beside a store.
const STORE_ENDS: [&str; 5] = ["", "-wal", "-shm", "-journal", "-live"];

/// Names that are tried for a temporary file: a random one is taken by chance only.
const PART_TRIES: u32 = 16;

/// Files that must not be lost, whatever is in them: the store and what lies beside it, the targets.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    paths: Vec<PathBuf>,
}

impl Kept {
    /// Those of a verb: its store, or the one of the environment.
    pub(crate) fn of(store: &StoreArgs, targets: &[Address]) -> Self {
        let mut kept = Self::default();
        if let Some(path) = store.address().ok().as_ref().and_then(StoreAddress::file) {
            kept.paths.extend(STORE_ENDS.iter().map(|end| beside(path, end)));
        }
        kept.paths.extend(targets.iter().filter_map(|target| match target {
            Address::Path(path) => Some(path.clone()),
            _ => None,
        }));
        kept
    }

    /// Those of a verb that has no store.
    pub(crate) fn of_environment() -> Self {
        Self::of(&StoreArgs::of_environment(), &[])
    }

    /// Whether a path is one of them, under any of its names.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.paths.iter().any(|kept| is_same(kept, path))
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A place that may be written to; [`Output::write`] asks again.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    kind: OutputKind,
    kept: Kept,
}

impl Output {
    /// Returns the place, if it may be written to. `-` is standard output, which always may. `run` is the run that will
    /// be written, where it exists already.
    pub(crate) fn check(
        path: &Path,
        kind: OutputKind,
        kept: Kept,
        run: Option<&str>,
    ) -> anyhow::Result<Self> {
        let output = Self { path: path.to_owned(), kind, kept };
        output.may_write(run).map(|_| output)
    }

    /// The same of a kind that follows from the name.
    pub(crate) fn check_named(path: &Path, kept: Kept, run: Option<&str>) -> anyhow::Result<Self> {
        let output = Self { path: path.to_owned(), kind: OutputKind::Text, kept };
        output.place()?;
        Self::check(path, OutputKind::of(path)?, output.kept, run)
    }

    pub(crate) fn kind(&self) -> OutputKind {
        self.kind
    }

    /// Whether it is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Writes a file under a temporary name beside it, and renames that. `run` is the run in it.
    pub(crate) fn write(&self, text: &str, run: Option<&str>) -> anyhow::Result<()> {
        self.write_bytes(escape::visible(text).as_bytes(), run)
    }

    /// The same of what is no text.
    pub(crate) fn write_bytes(&self, bytes: &[u8], run: Option<&str>) -> anyhow::Result<()> {
        // What is there now need not be what was there when a run began.
        let (path, old) = self.may_write(run)?;
        if let Some(old) = &old {
            self.check_same_content(bytes, old)?;
        }
        let (part, file) = new_beside(&path, &|part| File::create_new(part))
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        let moved = fill(file, bytes, old.as_ref()).and_then(|()| match &old {
            Some(old) => replace(&part, &path, old),
            None => place(&part, &path),
        });
        // It is incomplete, or has its name.
        let _ = std::fs::remove_file(&part);
        moved.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Returns where to write, with links followed, and what is there already.
    fn may_write(&self, run: Option<&str>) -> anyhow::Result<(PathBuf, Option<Metadata>)> {
        let Some(metadata) = self.place()? else { return Ok((self.path.clone(), None)) };
        let name = self.path.display();
        if metadata.len() == 0 && metadata.uid() != nix::unistd::geteuid().as_raw() {
            bail!("{name} is an empty file of another user; choose another name, or remove it first");
        }
        if metadata.len() > 0 && self.written()?.is_none() {
            bail!("{name} exists, and Assay did not write it; choose another name, or remove it first");
        }
        self.check_same_run(&metadata, run)?;
        let path = self.path.canonicalize().with_context(|| format!("cannot inspect {name}"))?;
        Ok((path, Some(metadata)))
    }

    /// Returns the file that is there already; refuses places that are no files, and files that must not be lost.
    fn place(&self) -> anyhow::Result<Option<Metadata>> {
        if self.is_stdout() {
            return Ok(None);
        }
        let name = self.path.display();
        let directory = parent(&self.path);
        if !directory.is_dir() {
            bail!("cannot write to {name}: there is no directory {}", directory.display());
        }
        if self.kept.has(&self.path) {
            bail!("cannot write to {name}: it is a target or the store; choose another name");
        }
        // The new file has another name until it is whole, so the directory decides.
        if let Some(mount) = assay_host::read_only_mount(directory) {
            bail!("cannot write to {name}: {mount} is mounted read-only; choose another place");
        }
        let Ok(metadata) = std::fs::metadata(&self.path) else {
            if self.path.is_symlink() {
                bail!("cannot write to {name}: it is a symbolic link to nothing; choose another name");
            }
            if assay_host::filesystem_of(directory).is_ok_and(|fs| fs.kind == "devtmpfs") {
                bail!(
                    "cannot write to {name}: {} is for device nodes; choose another directory",
                    directory.display()
                );
            }
            return Ok(None);
        };
        if metadata.is_dir() {
            bail!("cannot write to {name}: it is a directory; name a file in it");
        }
        if !metadata.is_file() {
            bail!("cannot write to {name}: it is not a file; choose another name");
        }
        Ok(Some(metadata))
    }

    /// Returns the name of what is in the file, if Assay wrote it.
    fn written(&self) -> anyhow::Result<Option<&'static str>> {
        let mut head = Vec::new();
        let read =
            File::open(&self.path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
        read.with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(self.kind.written(&String::from_utf8_lossy(&head)))
    }

    /// Refuses to replace a file by something else than it holds: a comparison by a run.
    fn check_same_content(&self, bytes: &[u8], old: &Metadata) -> anyhow::Result<()> {
        if old.len() == 0 {
            return Ok(());
        }
        let new = self.kind.written(&String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]));
        let name = self.path.display();
        match self.written()? {
            held if held.is_some() && held == new => Ok(()),
            Some(held) => bail!("{name} holds {held}; choose another name, or remove it first"),
            None => {
                bail!("{name} exists, and Assay did not write it; choose another name, or remove it first")
            }
        }
    }

    /// Refuses to replace the stored form of a run (a JSON document, an export) by anything but the same run: it may be
    /// the only copy.
    fn check_same_run(&self, metadata: &Metadata, run: Option<&str>) -> anyhow::Result<()> {
        if !matches!(self.kind, OutputKind::Json | OutputKind::Export) {
            return Ok(());
        }
        let name = self.path.display();
        if metadata.len() > DOCUMENT_BYTES_MAX {
            bail!("{name} is too large to search for a run in it; choose another name, or remove it first");
        }
        if metadata.len() == 0 {
            return Ok(());
        }
        let text = std::fs::read_to_string(&self.path).ok();
        let held = text.and_then(|text| match self.kind {
            OutputKind::Export => runs_of_export(&text),
            _ => runs_of_document(&text),
        });
        let Some(held) = held else {
            bail!(
                "{name} is not one whole file as Assay writes it, and may hold the only copy of a run; choose \
                 another name, or remove it first"
            )
        };
        match held.iter().find(|held| run != Some(held.as_str())) {
            Some(other) => bail!("{name} holds run {other}; choose another name, or remove it first"),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Creates something beside a path by `create`, under a name that nothing has yet, and returns its path.
pub(crate) fn new_beside<T>(
    path: &Path,
    create: &dyn Fn(&Path) -> std::io::Result<T>,
) -> std::io::Result<(PathBuf, T)> {
    let mut tries = 0;
    loop {
        // Each hasher has other keys.
        let random = RandomState::new().hash_one(path);
        let part = beside(path, &format!(".{}.{random:016x}.part", std::process::id()));
        tries += 1;
        match create(&part) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < PART_TRIES => {}
            created => return created.map(|created| (part, created)),
        }
    }
}

/// Writes a new file, with the permissions of the one that it replaces.
fn fill(mut file: File, bytes: &[u8], old: Option<&Metadata>) -> std::io::Result<()> {
    file.write_all(bytes)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

/// Gives a file its name, unless that has been taken in the meantime.
fn place(part: &Path, path: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(part, path) {
        // A file system without hard links. A rename would replace what has the name by now.
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => copy_new(part, path),
        linked => linked,
    }
}

fn copy_new(part: &Path, path: &Path) -> std::io::Result<()> {
    let mut from = File::open(part)?;
    let mut to = File::create_new(path)?;
    let copied = std::io::copy(&mut from, &mut to).and_then(|_| to.sync_all());
    if copied.is_err() {
        // It is ours, and incomplete.
        let _ = std::fs::remove_file(path);
    }
    copied
}

/// Gives a file the name of another one, unless that is no longer the file that was inspected.
fn replace(part: &Path, path: &Path, old: &Metadata) -> std::io::Result<()> {
    let looks = |of: &Metadata| {
        (of.dev(), of.ino(), of.len(), of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec())
    };
    let now = std::fs::symlink_metadata(path)?;
    if looks(&now) != looks(old) {
        return Err(std::io::Error::other("another program has changed it meanwhile; write it again"));
    }
    std::fs::rename(part, path)
}

/// Returns the run that a JSON document of Assay is of, none of a document that is of no single run; `None` for
/// anything but one whole document.
fn runs_of_document(text: &str) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Document {
        schema: String,
        run: Option<String>,
    }
    let document: Document = serde_json::from_str(text).ok()?;
    document.schema.starts_with(SCHEMAS).then(|| document.run.into_iter().collect())
}

/// Returns every run that a file of `assay export` holds: several, if somebody has joined such files. `None` for a file
/// with a line of anything else.
fn runs_of_export(text: &str) -> Option<Vec<String>> {
    /// The first line of an export, or an event.
    #[derive(serde::Deserialize)]
    struct Line {
        schema: Option<String>,
        run: Option<String>,
        at_ns: Option<u64>,
    }
    let mut runs = Vec::new();
    for line in text.lines() {
        let line: Line = serde_json::from_str(line).ok()?;
        match (line.schema, line.run, line.at_ns) {
            (Some(schema), Some(run), _) if schema.starts_with(SCHEMAS) => runs.push(run),
            (None, _, Some(_)) => {}
            _ => return None,
        }
    }
    (!runs.is_empty()).then_some(runs)
}

/// Whether two paths name one file: links are followed, and a file may have several names. It need not exist.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    match (id(one), id(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => real_path(one).is_some_and(|real| Some(real) == real_path(other)),
        _ => false,
    }
}

fn real_path(path: &Path) -> Option<PathBuf> {
    Some(parent(path).canonicalize().ok()?.join(path.file_name()?))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).expect("a file")
    }

    /// On a file system without hard links a report replaced whatever had got its name since it was checked.
    #[test]
    fn a_new_file_takes_no_name_that_another_one_got_meanwhile() {
        let folder = tempfile::tempdir().expect("a folder");
        let (part, path) = (folder.path().join("part"), folder.path().join("r.html"));
        for write in [place, copy_new] {
            let _ = std::fs::remove_file(&part);
            std::fs::write(&part, "a report").expect("written");
            write(&part, &path).expect("the name is free");
            assert_eq!(text(&path), "a report");
            std::fs::remove_file(&path).expect("removed");
            std::fs::write(&path, "of somebody else").expect("written");
            assert!(write(&part, &path).is_err());
            assert_eq!(text(&path), "of somebody else");
            std::fs::remove_file(&path).expect("removed");
        }
    }

    #[test]
    fn a_temporary_name_that_is_taken_is_left_and_another_one_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("r.html");
        let taken = std::cell::RefCell::new(None);
        let (part, ()) = new_beside(&path, &|part| {
            if taken.borrow().is_none() {
                std::fs::write(part, "of somebody else")?;
                *taken.borrow_mut() = Some(part.to_owned());
            }
            File::create_new(part).map(|_| ())
        })
        .expect("another name is free");
        let taken = taken.take().expect("one was taken");
        assert_ne!(part, taken);
        assert_eq!(text(&taken), "of somebody else");
        let taken = |_: &Path| Err::<(), _>(ErrorKind::AlreadyExists.into());
        assert!(new_beside(&path, &taken).is_err(), "it ends");
    }

    #[test]
    fn only_the_inspected_file_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (part, path) = (folder.path().join("part"), folder.path().join("r.html"));
        std::fs::write(&part, "a report").expect("written");
        std::fs::write(&path, "an older one").expect("written");
        let old = std::fs::metadata(&path).expect("it is there");
        let other = folder.path().join("other");
        std::fs::write(&other, "of somebody else").expect("written");
        std::fs::rename(&other, &path).expect("renamed");
        assert!(replace(&part, &path, &old).is_err());
        assert_eq!(text(&path), "of somebody else");
        let old = std::fs::metadata(&path).expect("it is there");
        replace(&part, &path, &old).expect("nothing has changed");
        assert_eq!(text(&path), "a report");
    }
}
