//! What the kernel shows of the way to a device: limits and states that a load will meet, quoted.

use serde::{Deserialize, Serialize};

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// A limit of this process's control group, or one above it.
    IoLimit,
    /// A software RAID that lacks a member.
    RaidDegraded,
    /// A software RAID that is rebuilt, checked or reshaped.
    RaidBusy,
    /// A disk that takes one command at a time.
    OneCommand,
    /// A PCIe link that is slower or narrower than both of its ends can.
    NarrowLink,
    /// A SATA port that the kernel has slowed down after errors.
    SlowedSata,
    /// A device that this host encrypts.
    Encrypted,
    /// A thin volume.
    Thin,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

/// A limit or a state that stands in a file of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostNote {
    /// What it is about.
    pub kind: NoteKind,
    /// The file.
    pub path: String,
    /// What stands in it.
    pub value: String,
    /// What that means for a load; a clause without a capital.
    pub says: String,
    /// The command or change that mends it; a sentence.
    pub mend: String,
    /// The limit as a number, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<IoLimit>,
}

/// A limit on the I/O of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IoLimit {
    /// Whether it holds for reads; else for writes.
    pub is_read: bool,
    /// Whether it counts bytes; else operations.
    pub is_bytes: bool,
    /// Operations or bytes per second.
    pub per_s: f64,
}
