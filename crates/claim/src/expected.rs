//! The state in which a file of Assay's own must be when it is closed: its mark must not claim what another program
//! wrote to it during the run.

use assay_record::Warning;

use crate::fingerprint::WriteTimes;
use crate::mark::FileLook;
use crate::nfs::Attributes;

/// The state of a file, as far as this run knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// As it was opened.
    AsHeld,
    /// Unknown: a fill failed.
    Anything,
    /// This run is writing to it, which keeps its length and changes its time; or the server sets its time late.
    Length(u64),
    /// As this run left it.
    Look {
        /// Length, bytes.
        length_bytes: u64,
        /// Modification time, ns since 1970.
        modified_ns: i128,
        /// Change time, ns since 1970; `None` if it is not compared.
        changed_ns: Option<i128>,
    },
    /// Another program has changed it.
    Changed(Difference),
}

/// How a file differs from what is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// In its length.
    Length,
    /// In its modification time.
    Time,
    /// In its change time only: the other was set back, or its owner, permissions or names changed.
    Change,
}

impl Expected {
    /// Returns the state of a file that this run has left like this.
    pub fn of(look: &FileLook, times: WriteTimes) -> Self {
        let FileLook { length_bytes, modified_ns, changed_ns, .. } = *look;
        match times {
            WriteTimes::Exact => Self::Look { length_bytes, modified_ns, changed_ns },
            WriteTimes::Late => Self::Length(length_bytes),
        }
    }

    /// Returns the state while a step writes to the file, which looks like this before.
    pub fn written(self, before: &FileLook) -> Self {
        self.difference(before).map_or(Self::Length(before.length_bytes), Self::Changed)
    }

    /// Returns the state after a step has written to the file, which looks like this now.
    pub fn left(self, now: &FileLook, times: WriteTimes) -> Self {
        self.difference(now).map_or(Self::of(now, times), Self::Changed)
    }

    /// Returns the same for a file on an NFS server.
    pub fn of_attributes(attributes: &Attributes) -> Self {
        Self::Look {
            length_bytes: attributes.size_bytes,
            modified_ns: attributes.modified_ns,
            changed_ns: None,
        }
    }

    /// Returns the difference; `None` if there is none. `AsHeld` is compared by its holder.
    pub fn difference(self, now: &FileLook) -> Option<Difference> {
        let (length_bytes, modified_ns, changed_ns) = match self {
            Self::AsHeld | Self::Anything => return None,
            Self::Changed(difference) => return Some(difference),
            Self::Length(bytes) => (bytes, now.modified_ns, now.changed_ns),
            Self::Look { length_bytes, modified_ns, changed_ns } => (length_bytes, modified_ns, changed_ns),
        };
        if length_bytes != now.length_bytes {
            Some(Difference::Length)
        } else if modified_ns != now.modified_ns {
            Some(Difference::Time)
        } else {
            (changed_ns != now.changed_ns).then_some(Difference::Change)
        }
    }
}

impl Difference {
    /// Returns what differs.
    pub fn property(self) -> &'static str {
        match self {
            Self::Length => "its size",
            Self::Time => "its modification time",
            Self::Change => "its change time",
        }
    }

    /// Returns the words for a sentence: `another program has changed it …`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Length => "during the run: its size differs",
            Self::Time => "during the run: it has been modified since Assay last wrote to it",
            Self::Change => {
                "during the run: its change time differs, so it has been modified since Assay last wrote to it"
            }
        }
    }
}

/// Returns the warning about a file that another program has changed.
pub fn changed(name: &str, what: &str) -> Warning {
    Warning {
        rule: "file-changed".into(),
        says: format!("Another program has changed {name} {what}. Assay no longer treats the file as its own."),
        next: "Find out which program uses the file; to use it as a target again, remove it or name it in --overwrite."
            .into(),
    }
}

/// Returns the warning about a file that no longer has its name.
pub fn deleted(name: &str) -> Warning {
    Warning {
        rule: "file-changed".into(),
        says: format!(
            "{name} was moved, deleted or replaced during the run; what was measured is the file that had this name."
        ),
        next: "Find out which program did that.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On an SMB mount the server dated this run's own writes, and another program was blamed.
    #[test]
    fn a_time_that_a_server_sets_late_is_no_change() {
        let looks = |length_bytes, modified_ns| FileLook {
            inode: 1,
            born_ns: None,
            length_bytes,
            modified_ns,
            changed_ns: None,
        };
        let difference = |times, now: FileLook| {
            let filled = Expected::of(&looks(4096, 1), times);
            let left = filled.written(&now).left(&now, times);
            [filled.difference(&now), left.difference(&looks(4096, now.modified_ns + 1))]
        };
        assert_eq!(difference(WriteTimes::Late, looks(4096, 2)), [None, None]);
        assert_eq!(difference(WriteTimes::Late, looks(512, 1)), [Some(Difference::Length); 2]);
        assert_eq!(difference(WriteTimes::Exact, looks(4096, 2)), [Some(Difference::Time); 2]);
        assert_eq!(difference(WriteTimes::Exact, looks(4096, 1)), [None, Some(Difference::Time)]);
    }
}
