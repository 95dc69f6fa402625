//! How I/O is issued to a target.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The way I/O is issued. Runs record the one that was really used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// io_uring: files and block devices.
    IoUring,
    /// Blocking calls on helper threads: files and block devices where io_uring is refused or not wanted.
    Psync,
    /// Blocking calls by the worker itself, one I/O at a time: files in memory.
    Inline,
    /// Assay's own iSCSI initiator.
    Iscsi,
    /// Assay's own NFSv3 client.
    Nfs,
    /// A simulated array.
    Sim,
    /// Nothing is done.
    #[default]
    Null,
}

impl Engine {
    /// Returns its name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Psync => "psync",
            Self::Inline => "inline",
            Self::Iscsi => "iscsi",
            Self::Nfs => "nfs",
            Self::Sim => "sim",
            Self::Null => "null",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_stored_under_the_name_that_is_shown() {
        use Engine::{Inline, IoUring, Iscsi, Nfs, Null, Psync, Sim};
        for engine in [IoUring, Psync, Inline, Iscsi, Nfs, Sim, Null] {
            assert_eq!(serde_json::to_value(engine).unwrap(), engine.name());
        }
    }
}
