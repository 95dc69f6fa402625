//! The plans that ship with Assay, embedded as their TOML text.

/// A plan that ships with Assay.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The plan, as TOML.
    pub text: &'static str,
}

/// Every suite, the best known first.
pub const SUITES: [Suite; 12] = [
    Suite { name: "vmware", text: include_str!("../../../suites/vmware.toml") },
    Suite { name: "vmware-modern", text: include_str!("../../../suites/vmware-modern.toml") },
    Suite { name: "super-atto", text: include_str!("../../../suites/super-atto.toml") },
    Suite { name: "anandtech", text: include_str!("../../../suites/anandtech.toml") },
    Suite { name: "crystaldiskmark", text: include_str!("../../../suites/crystaldiskmark.toml") },
    Suite { name: "atto", text: include_str!("../../../suites/atto.toml") },
    Suite { name: "as-ssd", text: include_str!("../../../suites/as-ssd.toml") },
    Suite { name: "iometer-classics", text: include_str!("../../../suites/iometer-classics.toml") },
    Suite { name: "oltp-66-33", text: include_str!("../../../suites/oltp-66-33.toml") },
    Suite { name: "latency-qd1", text: include_str!("../../../suites/latency-qd1.toml") },
    Suite { name: "qd-sweep", text: include_str!("../../../suites/qd-sweep.toml") },
    Suite { name: "mix-matrix", text: include_str!("../../../suites/mix-matrix.toml") },
];

/// The suite of that name.
#[must_use]
pub fn suite(name: &str) -> Option<Suite> {
    SUITES.into_iter().find(|s| s.name.eq_ignore_ascii_case(name))
}
