//! Identifies a file, whichever name, address, port or export of its server was used.
//!
//! NFSv3 has no name for a server. Two things identify a file: the mark beside Assay's own file contains a random
//! number, which is the same over every route; and a server's write verifier, common to its addresses while it runs,
//! together with the numbers of file system and file. Either would suffice for most files; locks are taken on
//! everything that is known.

use std::fs::File;
use std::io;

use assay_nfs::nfs3::{Attributes, Verifier};

use super::location::NfsLocation;
use crate::lock::Lock;

/// Identity of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Id in the mark beside it, if that belongs to the file.
    mark_id: Option<String>,
    attributes: Attributes,
    /// `None` if the server does not report it.
    verifier: Option<Verifier>,
}

impl Identity {
    /// Returns true if both are the same file. Both are examined at the same moment; a file that is changed meanwhile
    /// may appear to be two.
    pub fn is_same(&self, other: &Self) -> bool {
        if let (Some(ours), Some(theirs)) = (&self.mark_id, &other.mark_id) {
            return ours == theirs;
        }
        // Copied servers have equal files with equal numbers and times, but different start times.
        let may_be_one_server = match (self.verifier, other.verifier) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => true,
        };
        may_be_one_server && self.attributes == other.attributes
    }
}

impl NfsLocation {
    /// Returns the identity of the file; `None` if there is no file.
    pub fn identity(&mut self) -> Option<Identity> {
        let file = self.file?;
        let verifier = self.server.verifier(&file.handle).ok();
        // Access times and similar attributes are not included, so a COMMIT has no effect here.
        let attributes = self.server.attributes(&file.handle).unwrap_or(file.attributes);
        Some(Identity { mark_id: self.mark_id.clone(), attributes, verifier })
    }

    /// Locks the file, which must exist, against other runs on this machine: an NFSv3 server without its lock manager
    /// has no lock that they could share, like a LUN. `None` if another run holds it. `mark_id`: the id of the mark
    /// that it has or is about to get.
    pub fn hold(&mut self, lock: Lock, mark_id: Option<&str>) -> io::Result<Option<Vec<File>>> {
        let names = self.lock_names(mark_id);
        let mut held = Vec::with_capacity(names.len());
        let mut failed = None;
        for name in names {
            match crate::lun::hold_name(&name, lock) {
                Ok(Some(file)) => held.push(file),
                Ok(None) => return Ok(None),
                // The locks of the other names exclude other runs as well; without any of them nothing is held.
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if held.is_empty() => Err(error),
            _ => Ok(Some(held)),
        }
    }

    /// Returns the names of its locks: by address, which works if a server reports nothing; by server, for files
    /// without a mark; by mark.
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
    fn the_mark_decides_if_both_have_one_otherwise_numbers_and_server() {
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
