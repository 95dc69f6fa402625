//! I/Os with their places: what a slow member of a stripe or a slow region is found by.

use serde::{Deserialize, Serialize};

/// A sample of the I/Os that a worker completed in the measured window, in the order of completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceSample {
    /// Index of the job in the step.
    pub job: u32,
    /// Every I/O whose number is a multiple of this was kept.
    pub every: u32,
    /// The I/Os.
    pub ios: Vec<PlacedIo>,
}

/// An I/O of a sample: index of the target in the job, offset in bytes, service time in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedIo(pub u32, pub u64, pub u64);
