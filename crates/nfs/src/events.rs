//! Events of the connections and of written data, each with its time.

/// An event of a connection.
pub type Event = assay_tcp::Event<EventKind>;

/// Kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The connection is up.
    Up,
    /// The connection went down; its calls wait to be sent again.
    Down {
        /// Cause.
        cause: String,
        /// Number of calls in flight.
        calls: u32,
    },
    /// An attempt to connect again failed.
    RetryFailed {
        /// Cause.
        cause: String,
    },
    /// No connection is up; I/O waits.
    AllDown,
    /// The server requests a later retry (NFS3ERR_JUKEBOX); reported once per series.
    Jukebox,
    /// The server has another write verifier: it restarted, and unstable writes may be lost.
    Restarted {
        /// Number of writes that were answered and not committed.
        writes: u64,
        /// Number of bytes in these writes.
        bytes: u64,
    },
    /// The oldest command is stalled.
    Stalled {
        /// Age of the oldest command, ms.
        waited_ms: u128,
        /// Number of outstanding commands.
        commands: u32,
        /// Time limit of each command, s.
        limit_s: u64,
    },
    /// No command is stalled any more.
    Resumed {
        /// Age that the oldest command reached, ms.
        waited_ms: u128,
    },
    /// Events were dropped because nobody took them.
    Dropped {
        /// Number of events.
        count: u64,
    },
}
