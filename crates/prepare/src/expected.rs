//! The state in which a file of Assay's own must be when it is closed: its mark must not claim what another program
//! wrote to it during the run.

use assay_record::Warning;
use assay_target::file::FileLook;
use assay_target::nfs::Attributes;

/// The state of a file, as far as this run knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// As it was opened.
    AsHeld,
    /// Unknown: a fill failed.
    Anything,
    /// This run is writing to it, which changes neither its length nor leaves its time as it is.
    Length(u64),
    /// As this run left it.
    Look {
        /// Length, bytes.
        length_bytes: u64,
        /// Modification time, ns since 1970.
        modified_ns: i128,
    },
    /// Another program has changed it.
    Changed(Difference),
}

/// How a file differs from what is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    Length,
    Time,
}

impl Expected {
    pub(crate) fn of(look: &FileLook) -> Self {
        Self::Look { length_bytes: look.length_bytes, modified_ns: look.modified_ns }
    }

    /// Returns the state while a step writes to the file, which looks like this before.
    pub(crate) fn written(self, before: &FileLook) -> Self {
        self.difference(before).map_or(Self::Length(before.length_bytes), Self::Changed)
    }

    /// Returns the state after a step has written to the file, which looks like this now.
    pub(crate) fn left(self, now: &FileLook) -> Self {
        self.difference(now).map_or(Self::of(now), Self::Changed)
    }

    pub(crate) fn of_attributes(attributes: &Attributes) -> Self {
        Self::Look { length_bytes: attributes.size_bytes, modified_ns: attributes.modified_ns }
    }

    /// Returns the difference; `None` if there is none. `AsHeld` is compared by its holder.
    pub(crate) fn difference(self, now: &FileLook) -> Option<Difference> {
        let (length_bytes, modified_ns) = match self {
            Self::AsHeld | Self::Anything => return None,
            Self::Changed(difference) => return Some(difference),
            Self::Length(bytes) => (bytes, now.modified_ns),
            Self::Look { length_bytes, modified_ns } => (length_bytes, modified_ns),
        };
        if length_bytes != now.length_bytes {
            Some(Difference::Length)
        } else {
            (modified_ns != now.modified_ns).then_some(Difference::Time)
        }
    }
}

impl Difference {
    /// Returns what differs.
    pub(crate) fn property(self) -> &'static str {
        match self {
            Self::Length => "its size",
            Self::Time => "its modification time",
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Length => "during the run: its size differs",
            Self::Time => "during the run: it has been modified since Assay last wrote to it",
        }
    }
}

/// Returns the warning about a file that another program has changed.
pub(crate) fn changed(name: &str, what: &str) -> Warning {
    Warning {
        rule: "file-changed".into(),
        says: format!("Another program has changed {name} {what}. Assay no longer treats the file as its own."),
        next: "Find out which program uses the file; to use it as a target again, remove it or name it in --overwrite."
            .into(),
    }
}
