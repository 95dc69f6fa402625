//! Recognises a file by whichever of its server's names, addresses, ports and exports it was reached.
//!
//! NFSv3 has no name for a server. What there is: the mark beside a file of Assay's own carries a random number,
//! which is the same by every way; and a server's write verifier, which its addresses have in common while it runs,
//! together with the numbers of file system and file. Either alone would do for most files; locks are taken by all
//! that is known.

use std::fs::File;
use std::io;

use assay_nfs::nfs3::{Attributes, Verifier};

use super::location::NfsLocation;
use crate::file::Lock;

/// What tells a file from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Of the mark beside it, where there is one that is the file's.
    mark_id: Option<String>,
    attributes: Attributes,
    /// `None` where the server does not report it.
    verifier: Option<Verifier>,
}

impl Identity {
    /// Whether both are one file. Both are looked at in the same moment; a file that somebody else changes in between
    /// may seem to be two.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        if let (Some(ours), Some(theirs)) = (&self.mark_id, &other.mark_id) {
            return ours == theirs;
        }
        // Servers that were copied have equal files with equal numbers and times; they were not started together.
        let may_be_one_server = match (self.verifier, other.verifier) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => true,
        };
        may_be_one_server && self.attributes == other.attributes
    }
}

impl NfsLocation {
    /// Returns what tells the file from others; `None` where there is no file.
    pub fn identity(&mut self) -> Option<Identity> {
        let file = self.file?;
        let verifier = self.server.verifier(&file.handle).ok();
        // Access times and the like are not among them; what a COMMIT may change is nothing here.
        let attributes = self.server.attributes(&file.handle).unwrap_or(file.attributes);
        Some(Identity { mark_id: self.mark_id.clone(), attributes, verifier })
    }

    /// Keeps runs on this machine apart on the file, which must be there: as a LUN has no lock that they could share,
    /// an NFSv3 server has none without its lock manager. `None` when another run has it. `mark_id`: the number of
    /// the mark that it has or is about to get.
    pub fn hold(&mut self, lock: Lock, mark_id: Option<&str>) -> io::Result<Option<Vec<File>>> {
        let names = self.lock_names(mark_id);
        let mut held = Vec::with_capacity(names.len());
        let mut failed = None;
        for name in names {
            match crate::lun::hold_name(&name, lock) {
                Ok(Some(file)) => held.push(file),
                Ok(None) => return Ok(None),
                // The other names keep others away as well; only without any is nothing held.
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if held.is_empty() => Err(error),
            _ => Ok(Some(held)),
        }
    }

    /// By the address, which serves where a server tells nothing; by the server, for files without a mark; by the mark.
    fn lock_names(&mut self, mark_id: Option<&str>) -> Vec<String> {
        let Some(file) = self.file else { return Vec::new() };
        let number = format!("{:x}-{:x}", self.fsid, file.attributes.fileid);
        let address = self.server.address().to_string().replace(['[', ']', ':', '%'], "_");
        let mut names = vec![format!("nfs-{address}-{number}")];
        if let Ok(verifier) = self.server.verifier(&file.handle) {
            names.push(format!("nfs-server-{:x}-{number}", u64::from_be_bytes(verifier)));
        }
        names.extend(mark_id.map(|id| format!("nfs-mark-{id}")));
        names
    }
}

#[cfg(test)]
mod tests {
    use assay_nfs::nfs3::FileKind;

    use super::*;

    fn identity(mark_id: Option<&str>, fileid: u64, verifier: Option<u8>) -> Identity {
        let attributes = Attributes {
            kind: FileKind::Regular,
            mode: 0o644,
            uid: 0,
            gid: 0,
            size_bytes: 4096,
            used_bytes: 4096,
            fsid: 7,
            fileid,
            modified_ns: 1,
            changed_ns: 2,
        };
        Identity { mark_id: mark_id.map(str::to_owned), attributes, verifier: verifier.map(|v| [v; 8]) }
    }

    #[test]
    fn the_mark_decides_where_both_have_one_and_else_numbers_and_the_server() {
        let plain = identity(None, 1, Some(1));
        assert!(plain.is_same(&plain) && plain.is_same(&identity(None, 1, None)));
        assert!(!plain.is_same(&identity(None, 2, Some(1))), "another file");
        assert!(!plain.is_same(&identity(None, 1, Some(2))), "the same numbers on another server");
        let marked = identity(Some("a"), 1, Some(1));
        assert!(marked.is_same(&identity(Some("a"), 9, Some(2))), "by another export of another node");
        assert!(!marked.is_same(&identity(Some("b"), 1, Some(1))));
        assert!(marked.is_same(&plain), "marked between the two looks");
    }

    #[test]
    fn numbers_of_marks_differ() {
        let ids: std::collections::BTreeSet<String> = (0..100).map(|_| crate::mark::random_id()).collect();
        assert!(ids.len() == 100 && ids.iter().all(|id| id.len() == 32), "{ids:?}");
    }
}
