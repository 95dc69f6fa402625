//! What a worker must find when it opens a file or device: the mark of this run, and data that Assay wrote.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use assay_target::file::open;
use assay_target::{AccessMode, FileGuard, FileMember, OpenError};

use crate::fingerprint::{END_BYTES, HeadCheck, NOT_OWN, drop_pages, is_own};
use crate::mark::Marker;

/// The file or device that a run has inspected and prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileClaim {
    /// Id of this run in the mark of the file; `None` for a target without a mark.
    pub run: Option<String>,
    /// Required content at the start of a device or of a file that this run has filled.
    pub head: HeadCheck,
}

impl FileGuard for FileClaim {
    /// Fails if a file that is written does not carry the mark of this run, or a target filled by this run does not
    /// hold its data.
    fn check(&self, member: &FileMember, file: &File) -> Result<(), OpenError> {
        let Some(binding) = &member.binding else { return Ok(()) };
        let path = || member.path.display().to_string();
        let failed = |source| OpenError::Open { path: path(), source };
        let changed = |what: &str| Err(OpenError::Changed { target: path(), what: what.to_owned() });
        if let Some(run) = &self.run
            && Marker::run_of(&binding.real, file).map_err(failed)? != *run
        {
            return changed("its mark");
        }
        if self.head == HeadCheck::OwnData
            && !has_own_head(&binding.real, member.span_bytes).map_err(failed)?
        {
            return changed(NOT_OWN);
        }
        Ok(())
    }
}

/// Reads through a separate descriptor, as the worker's may accept aligned buffers only.
fn has_own_head(real: &Path, span_bytes: u64) -> io::Result<bool> {
    let head_bytes = usize::try_from(END_BYTES.min(span_bytes)).expect("an end is short");
    let mut head = vec![0; head_bytes];
    let file = open(real, AccessMode::ReadOnly)?;
    drop_pages(&file, 0, head_bytes);
    file.read_exact_at(&mut head, 0)?;
    drop_pages(&file, 0, head_bytes);
    Ok(is_own(&head))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_target::file::FileIdentity;
    use assay_target::{Binding, Caching, Durability};

    use super::*;

    #[test]
    fn a_file_with_the_mark_of_another_run_is_not_opened() {
        let keep = tempfile::NamedTempFile::new().unwrap();
        keep.as_file().set_len(4096).unwrap();
        let mut marker = Marker::new(true);
        marker.begin_run(60);
        marker.write(keep.path(), keep.as_file(), true).unwrap();
        let identity = FileIdentity::of(keep.as_file()).unwrap();
        let real = keep.path().to_owned();
        let claim = FileClaim { run: Some(marker.run.clone()), head: HeadCheck::Nothing };
        let member = FileMember {
            path: real.clone(),
            binding: Some(Binding { real, identity, guard: Some(Arc::new(claim)) }),
            access: AccessMode::ReadWrite,
            caching: Caching::Cached,
            durability: Durability::Device,
            span_bytes: 4096,
            block_bytes: 512,
        };
        member.open_first().unwrap();
        marker.begin_run(60);
        marker.write(keep.path(), keep.as_file(), true).unwrap();
        let refused = member.open_first().unwrap_err().to_string();
        assert!(refused.contains("changed after Assay inspected it (its mark)"), "{refused}");
    }
}
