//! What is asked of a simulated array.

use crate::raid::Kind;

/// An I/O for the simulated array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualOp {
    /// Which file or LUN of the target, from 0.
    pub member: u32,
    /// Read or write.
    pub kind: Kind,
    /// Byte offset.
    pub offset_bytes: u64,
    /// Bytes.
    pub size_bytes: u64,
    /// Its worker flushes after so many writes; 1 = this write is durable before it is answered; `None`: never.
    pub flush_every: Option<u32>,
}
