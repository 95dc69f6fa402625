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
pub const SUITES: [Suite; 4] = [
    Suite { name: "vmware", text: include_str!("../../../suites/vmware.toml") },
    Suite { name: "vmware-modern", text: include_str!("../../../suites/vmware-modern.toml") },
    Suite { name: "super-atto", text: include_str!("../../../suites/super-atto.toml") },
    Suite { name: "anandtech", text: include_str!("../../../suites/anandtech.toml") },
];

/// The suite of that name.
#[must_use]
pub fn suite(name: &str) -> Option<Suite> {
    SUITES.into_iter().find(|s| s.name.eq_ignore_ascii_case(name))
}
