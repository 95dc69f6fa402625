//! What is said on the bus, as JSON.

use assay_record::HostFacts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of what is said on the bus. With that of the program it must be equal on both sides.
const PROTOCOL: u32 = 1;

/// Returns the version that both sides must have.
pub(crate) fn version() -> String {
    format!("{}+bus{PROTOCOL}", env!("CARGO_PKG_VERSION"))
}

/// What an agent says of itself, in the KV bucket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Announcement {
    pub(crate) name: String,
    pub(crate) version: String,
    /// [`HostFacts`] as its version writes them.
    pub(crate) host: serde_json::Value,
}

impl Announcement {
    pub(crate) fn new(name: &str, host: &HostFacts) -> Self {
        let host = serde_json::to_value(host).expect("host facts have string keys");
        Self { name: name.to_owned(), version: version(), host }
    }

    /// Returns the facts of the host; `None` where another version writes them in another way.
    pub(crate) fn facts(&self) -> Option<HostFacts> {
        HostFacts::deserialize(&self.host).ok()
    }
}

/// A request to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// Its clock and its lease.
    Time,
}

/// The answer of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Its clock, and the rest of its lease.
    Time {
        /// Wall clock, ns since 1970.
        unix_ns: i64,
        /// The server drops its announcement after this unless it is renewed, ms.
        lease_left_ms: u64,
    },
    /// It does not do that, with the reason.
    Refused(String),
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("what is said on the bus has string keys")
}

/// Reads what somebody else has said; `None` if it is not understood.
pub(crate) fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
