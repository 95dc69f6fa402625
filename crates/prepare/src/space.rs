//! Whether the files of a run fit their file systems, all of them together.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use assay_spec::units::{Bytes, GIB, MIB};

use super::error::PrepareError;
use super::files::{FilePlan, FileState, Need, directory_of, io_error, text};
use super::inspect::Inspected;

/// Of a file system so much stays free: a full one slows down, and harms whoever else uses it.
const RESERVE_MAX: u64 = GIB;
const RESERVE_SHARE: u64 = 50;

/// Whether every file that may grow finds room.
pub(super) fn check(targets: &[Inspected]) -> Result<(), PrepareError> {
    let mut needs: Vec<Need> = Vec::new();
    for target in targets {
        let need = match target {
            Inspected::File(file) => need_of(file)?,
            Inspected::Nfs(file) => file.need(),
            _ => None,
        };
        let Some(need) = need else { continue };
        match needs.iter_mut().find(|other| other.place == need.place) {
            Some(other) => {
                other.names.extend(need.names);
                other.span_bytes = other.span_bytes.saturating_add(need.span_bytes);
                other.held_bytes += need.held_bytes;
            }
            None => needs.push(need),
        }
    }
    needs.iter().try_for_each(check_one)
}

fn need_of(file: &FilePlan) -> Result<Option<Need>, PrepareError> {
    if file.state == FileState::Foreign {
        return Ok(None);
    }
    let directory = directory_of(&file.path);
    let looked = std::fs::metadata(&directory).map_err(io_error("look at the directory of", &file.path))?;
    Ok(Some(Need {
        place: looked.dev().to_string(),
        names: vec![text(&file.path)],
        filesystem: file.filesystem.clone(),
        span_bytes: file.span_bytes,
        held_bytes: held_bytes(&file.path).min(file.span_bytes),
    }))
}

fn held_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.blocks() * 512)
}

fn check_one(need: &Need) -> Result<(), PrepareError> {
    let filesystem = &need.filesystem;
    let reserve = (filesystem.size_bytes / RESERVE_SHARE).min(RESERVE_MAX);
    let usable = filesystem.free_bytes.saturating_sub(reserve);
    if need.span_bytes - need.held_bytes <= usable {
        return Ok(());
    }
    let together = if need.names.len() > 1 { " together" } else { "" };
    Err(PrepareError::NoSpace {
        path: format!("{}{together}", need.names.join(", ")),
        asked: Bytes(need.span_bytes),
        mount: filesystem.mount_point.clone(),
        free: whole_mib(filesystem.free_bytes),
        reserve: whole_mib(reserve),
        next: match whole_mib((usable + need.held_bytes) / need.names.len() as u64) {
            Bytes(0) => "make room there, or choose another place".into(),
            most => format!("use --size {most} or less"),
        },
    })
}

/// Sizes of file systems are easier to read so.
fn whole_mib(bytes: u64) -> Bytes {
    Bytes(bytes / MIB * MIB)
}

#[cfg(test)]
mod tests {
    use assay_record::FilesystemFacts;

    use super::*;
    use assay_target::AccessMode;

    fn file(directory: &Path, name: &str, span_bytes: u64, state: FileState) -> Inspected {
        let filesystem = FilesystemFacts {
            mount_point: "/mnt".into(),
            size_bytes: 100 * GIB,
            free_bytes: 11 * GIB,
            ..FilesystemFacts::default()
        };
        Inspected::File(FilePlan {
            address: name.into(),
            path: directory.join(name),
            state,
            span_bytes,
            access: AccessMode::ReadWrite,
            filesystem,
            device: None,
        })
    }

    #[test]
    fn files_on_one_file_system_must_fit_it_together() {
        let directory = tempfile::tempdir().unwrap();
        let new = |name, gib| file(directory.path(), name, gib * GIB, FileState::New);
        check(&[new("a", 10)]).unwrap();
        check(&[new("a", 5), new("b", 5)]).unwrap();
        check(&[new("a", 10), file(directory.path(), "c", 50 * GIB, FileState::Foreign)]).unwrap();
        let refused = check(&[new("a", 6), new("b", 6)]).unwrap_err().to_string();
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        assert_eq!(
            refused,
            format!(
                "{}, {} together: 12GiB does not fit: /mnt has 11GiB free, of which 1GiB stay free; use --size 5GiB \
                 or less",
                a.display(),
                b.display()
            )
        );
    }
}
