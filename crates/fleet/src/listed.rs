//! The hosts on a bus, as they are listed.

use assay_record::HostFacts;
use serde::Serialize;

/// The agents on the bus.
#[derive(Debug, Clone)]
pub struct HostList {
    /// Those whose lease has not ended, by name.
    pub hosts: Vec<ListedHost>,
    /// What the hosts that answer differ in, a sentence each.
    pub differences: Vec<String>,
    /// The version that agents need in order to work with this program.
    pub version: String,
}

/// Whether this program can work with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It answers.
    Ready,
    /// It does not answer, and its lease has not ended yet.
    Silent,
    /// It is another version.
    OtherVersion,
}

/// An agent on the bus.
#[derive(Debug, Clone)]
pub struct ListedHost {
    /// Its name.
    pub name: String,
    /// Its version, with that of the bus.
    pub version: String,
    /// Whether it can be worked with.
    pub state: HostState,
    /// Rest of its lease, ms; `None` if it does not answer.
    pub lease_left_ms: Option<u64>,
    /// How far its clock is ahead of this host's; `None` if it does not answer.
    pub offset: Option<Offset>,
    /// What it runs on; `None` if another version says it in another way.
    pub facts: Option<HostFacts>,
    /// Targets that its configuration names, a line each.
    pub targets: Vec<String>,
}

impl ListedHost {
    /// Returns what to do about an agent of another version than this program's: who is older is updated. Only this
    /// program goes to other hosts: anybody with the key of an agent can announce a version, and no program of theirs
    /// is to be installed here.
    #[must_use]
    pub fn other_version(&self, ours: &str) -> String {
        let Self { name, version: theirs, .. } = self;
        let has = format!("host {name} has Assay {theirs}, and this host {ours}");
        match is_newer(theirs, ours) {
            true => format!("{has}, which is older; install {theirs} here, from where you got Assay"),
            false => format!(
                "{has}; install {ours} there and restart its agent, for example: scp \"$(command -v assay)\" \
                 {name}:/usr/local/bin/assay"
            ),
        }
    }
}

/// Whether a version is later than ours, by its numbers: 0.10.0+bus5 is later than 0.9.1+bus5.
fn is_newer(theirs: &str, ours: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let parts = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        parts.map_while(|part| part.parse().ok()).collect()
    };
    numbers(theirs) > numbers(ours)
}

/// How far a host's wall clock is ahead of this host's, and how wrong that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The host's time minus this host's, ns.
    pub ahead_ns: i64,
    /// The true offset is within this much of it on either side, ns: half of the way there and back.
    pub error_ns: u64,
}
