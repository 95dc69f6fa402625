//! What happened to the connections and to what was written, each with its time.

/// Something that happened to a connection.
pub type Event = assay_tcp::Event<EventKind>;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The connection serves I/O.
    Up,
    /// The connection ended; its calls wait to be sent again.
    Down {
        /// Why.
        cause: String,
        /// Calls in flight.
        calls: u32,
    },
    /// An attempt to connect again failed.
    RetryFailed {
        /// Why.
        cause: String,
    },
    /// No connection is left; I/O waits.
    AllDown,
    /// The server asks for a later retry (NFS3ERR_JUKEBOX); reported once for each stretch.
    Jukebox,
    /// The server has another write verifier: it restarted, and unstable writes may be lost.
    Restarted {
        /// Writes that were answered and not committed.
        writes: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The oldest command waits for long.
    Stalled {
        /// How long, ms.
        waited_ms: u128,
        /// Commands that have not ended.
        commands: u32,
        /// After how long each fails, s.
        limit_s: u64,
    },
    /// No command waits for long any more.
    Resumed {
        /// How long the oldest had waited, ms.
        waited_ms: u128,
    },
    /// Events were dropped because nobody took them.
    Dropped {
        /// How many.
        count: u64,
    },
}
