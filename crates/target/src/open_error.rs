//! Why targets cannot be opened.

use std::io;

use thiserror::Error;

/// Why a target could not be opened.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum OpenError {
    /// The file system does not support direct I/O.
    #[error(
        "{0}: this file system does not support direct I/O; choose a target on another file system, or use --cached \
         to measure through the page cache"
    )]
    NoDirectIo(String),
    /// The member cannot be opened.
    #[error("cannot open {path}: {source}")]
    Open { path: String, source: io::Error },
    /// Another file replaced the prepared one.
    #[error(
        "{0} was replaced by another file after it was prepared; nothing was written to it; start the run again"
    )]
    Replaced(String),
    /// A target was changed or replaced before this run wrote to it.
    #[error(
        "{target} changed after Assay inspected it ({what}), so it was not written; find out what else uses it, and \
         start the run again"
    )]
    Changed { target: String, what: String },
    /// Another program has changed a file between two steps of a run.
    #[error(
        "another program has changed {target} since Assay last wrote to it ({what}), so the next step was not started; \
         find out which program uses it"
    )]
    ChangedBetween { target: String, what: String },
    /// The ring could not be created.
    #[error("cannot set up io_uring: {0}; use --io psync")]
    Ring(#[source] io::Error),
    /// The caller provides no simulation.
    #[error("cannot open sim:{array}: {why}")]
    Simulated { array: String, why: String },
    /// A LUN cannot be reached or used.
    #[error("{lun}: {why}")]
    Lun { lun: String, why: String },
    /// No portal of a LUN answered.
    #[error("{lun}: {why}")]
    LunUnreached { lun: String, why: String },
    /// A file on an NFS server was replaced.
    #[error(
        "{file}: the name now refers to another file, or to none: the file was moved, replaced or removed after \
         it was opened; the present file is left unchanged"
    )]
    NfsElsewhere { file: String },
    /// A file on an NFS server cannot be reached or used.
    #[error("{file}: {why}")]
    Nfs {
        file: String,
        /// Reason and remedy.
        why: String,
    },
    /// No connection to an NFS server came up.
    #[error("{file}: {why}")]
    NfsUnreached { file: String, why: String },
    /// An NFS server did not answer in time.
    #[error("{file}: {why}")]
    NfsSilent {
        file: String,
        /// The unanswered call.
        why: String,
    },
    /// The depth exceeds the limit of the initiator.
    #[error("{lun}: {depth} outstanding I/Os of one worker are more than {most}; use several workers")]
    LunDepth { lun: String, depth: u32, most: u32 },
    /// Several LUNs in one job.
    #[error(
        "{0} and other targets cannot share a job; give each LUN or NFS file a job of its own (`targets = [0]` and \
         so on)"
    )]
    LunShares(String),
    /// Members of several kinds in one job.
    #[error(
        "{0} and targets of another kind cannot share a job; give each kind a job of its own (`targets = [0]` and so \
         on)"
    )]
    MixedKinds(String),
    /// A worker, or a helper of one, could not be started.
    #[error(
        "cannot start a thread: {0}; lower `workers` or `outstanding`, or raise the limit (ulimit -u, pids.max of the \
         control group)"
    )]
    Thread(#[source] io::Error),
}

impl OpenError {
    /// Returns true if the network may be the cause: nobody answered.
    pub fn is_unreached(&self) -> bool {
        matches!(self, Self::LunUnreached { .. } | Self::NfsUnreached { .. } | Self::NfsSilent { .. })
    }
}
