//! Checks that the files of a run fit their file systems, all of them together.

use assay_record::FilesystemFacts;
use assay_spec::units::{Bytes, GIB, MIB};

use crate::error::PrepareError;

/// Largest reserve that stays free on a file system, bytes: a full one is slow, and harms its other users.
const RESERVE_MAX: u64 = GIB;
const RESERVE_SHARE: u64 = 50;
/// Size from which sizes are rounded to whole GiB, at most by a tenth.
const ROUND_TO_GIB: u64 = 10 * GIB;

/// Space needed by the files on one file system.
pub(crate) struct Need {
    /// Identifies the file system: `st_dev` of a local one, server and `fsid` of one over NFS.
    pub(crate) place: String,
    /// Names of the files.
    pub(crate) names: Vec<String>,
    pub(crate) filesystem: FilesystemFacts,
    /// Size of the files, bytes.
    pub(crate) span_bytes: u64,
    /// Part of it that is already allocated, bytes.
    pub(crate) held_bytes: u64,
}

/// Fails if a file that may grow does not fit.
pub(crate) fn check(needs: Vec<Need>) -> Result<(), PrepareError> {
    together(needs).iter().try_for_each(check_one)
}

/// Returns one need for each file system.
fn together(needs: Vec<Need>) -> Vec<Need> {
    let mut sums: Vec<Need> = Vec::new();
    for need in needs {
        match sums.iter_mut().find(|sum| sum.place == need.place) {
            Some(sum) => {
                sum.names.extend(need.names);
                sum.span_bytes = sum.span_bytes.saturating_add(need.span_bytes);
                sum.held_bytes += need.held_bytes;
            }
            None => sums.push(need),
        }
    }
    sums
}

fn check_one(need: &Need) -> Result<(), PrepareError> {
    let filesystem = &need.filesystem;
    let Some(free) = filesystem.free() else { return Ok(()) };
    let reserve = (filesystem.size_bytes / RESERVE_SHARE).min(RESERVE_MAX);
    let usable = free.saturating_sub(reserve);
    if need.span_bytes - need.held_bytes <= usable {
        return Ok(());
    }
    let together = if need.names.len() > 1 { " together" } else { "" };
    Err(PrepareError::NoSpace {
        path: format!("{}{together}", need.names.join(", ")),
        asked: Bytes(need.span_bytes),
        mount: filesystem.mount_point.clone(),
        free: round_down(free),
        reserve: match round_down(reserve) {
            Bytes(0) => String::new(),
            reserve => format!(", of which {reserve} must stay free"),
        },
        next: match round_down((usable + need.held_bytes) / need.names.len() as u64) {
            Bytes(0) => "free some space there, or choose another location".into(),
            most => format!("use --size {most} or less"),
        },
    })
}

/// Rounds a size of a file system, which is easier to read, and whose last digits change constantly.
fn round_down(bytes: u64) -> Bytes {
    let unit = if bytes >= ROUND_TO_GIB { GIB } else { MIB };
    Bytes(bytes / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(name: &str, gib: u64) -> Need {
        let filesystem = FilesystemFacts {
            mount_point: "/mnt".into(),
            size_bytes: 100 * GIB,
            free_bytes: 11 * GIB,
            ..FilesystemFacts::default()
        };
        Need { place: "1".into(), names: vec![name.into()], filesystem, span_bytes: gib * GIB, held_bytes: 0 }
    }

    #[test]
    fn files_on_one_file_system_must_fit_it_together() {
        check(vec![need("a", 10)]).unwrap();
        check(vec![need("a", 5), need("b", 5)]).unwrap();
        check(vec![need("a", 10), Need { place: "2".into(), ..need("b", 10) }]).unwrap();
        // A file system that does not tell its size tells no room either.
        let silent = FilesystemFacts { mount_point: "/mnt".into(), ..FilesystemFacts::default() };
        check(vec![Need { filesystem: silent, ..need("a", 6) }]).unwrap();
        let refused = check(vec![need("a", 6), need("b", 6)]).unwrap_err().to_string();
        assert_eq!(
            refused,
            "a, b together: 12GiB does not fit: /mnt has 11GiB free, of which 1GiB must stay free; use --size 5GiB or \
             less"
        );
    }
}
