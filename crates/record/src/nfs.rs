//! A file on an NFS server: its address, the limits of the server, and the durability of writes.

use serde::{Deserialize, Serialize};

use crate::connection::PathFacts;

/// A file on an NFSv3 server that Assay accesses with its own client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NfsFacts {
    /// Address and port of the server.
    pub server: String,
    /// Mounted export.
    pub export: String,
    /// Path of the file on the server.
    pub path: String,
    /// User id sent with each call.
    pub uid: u32,
    /// Group id sent with each call.
    pub gid: u32,
    /// Number of TCP connections per worker.
    pub connections: u8,
    /// Requested durability of each write: `unstable` (one COMMIT at the end of the test) or `file`.
    pub sync: String,
    /// Largest READ of the server, bytes; larger reads are split and count as one.
    pub read_bytes_max: u32,
    /// READ size that the server prefers, bytes.
    pub read_bytes_preferred: u32,
    /// Largest WRITE of the server, bytes; larger writes are split and count as one.
    pub write_bytes_max: u32,
    /// WRITE size that the server prefers, bytes.
    pub write_bytes_preferred: u32,
    /// Median round-trip time of a few NULL calls before the run, µs.
    pub round_trip_us: u64,
    /// The network path to the server, which all connections share; empty if it was not examined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
}

/// Durability of a job's writes over NFS in the measured window, all workers together. Restarts of the server and the
/// writes that they may have lost count from the opening of the target, including the warm-up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WriteEnd {
    /// Index of the job in the step.
    pub job: u32,
    /// Address of the member.
    pub member: String,
    /// Number of WRITE calls that the server answered UNSTABLE: in its memory until a COMMIT.
    pub unstable: u64,
    /// Number of WRITE calls that it answered DATA_SYNC: the data is on stable storage.
    pub data_sync: u64,
    /// Number of WRITE calls that it answered FILE_SYNC: data and metadata are on stable storage.
    pub file_sync: u64,
    /// Number of COMMITs after the measured window.
    pub commits: u64,
    /// Longest COMMIT of a worker, ns. It is not part of any latency or rate.
    pub commit_ns: u64,
    /// Number of bytes of the measured window that the COMMITs made durable.
    pub committed_bytes: u64,
    /// Number of bytes of the warm-up that the same COMMITs made durable in the same time.
    #[serde(default)]
    pub committed_before_bytes: u64,
    /// Number of server restarts, according to its write verifier.
    pub restarts: u64,
    /// Number of unstable writes that were not committed when it restarted: they may be lost.
    pub uncertain: u64,
    /// Number of bytes in these writes.
    pub uncertain_bytes: u64,
    /// Number of writes that were sent over a connection which was lost before their answer: the server may execute
    /// that copy later, even after newer writes.
    #[serde(default)]
    pub moved: u64,
    /// Reason why a COMMIT failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl WriteEnd {
    /// Adds the writes of another worker of the same job.
    pub fn merge(&mut self, other: &Self) {
        self.unstable += other.unstable;
        self.data_sync += other.data_sync;
        self.file_sync += other.file_sync;
        self.commits += other.commits;
        self.commit_ns = self.commit_ns.max(other.commit_ns);
        self.committed_bytes += other.committed_bytes;
        self.committed_before_bytes += other.committed_before_bytes;
        self.restarts = self.restarts.max(other.restarts);
        self.uncertain += other.uncertain;
        self.uncertain_bytes += other.uncertain_bytes;
        self.moved += other.moved;
        if self.failure.is_none() {
            self.failure.clone_from(&other.failure);
        }
    }
}
