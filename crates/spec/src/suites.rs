//! The plans that ship with Assay, embedded as their TOML text.

/// A plan that ships with Assay.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The plan, as TOML.
    pub text: &'static str,
}

/// Suites by their names, which are those of their files.
macro_rules! suites {
    ($($name:literal),* $(,)?) => {
        [$(Suite { name: $name, text: include_str!(concat!("../../../suites/", $name, ".toml")) }),*]
    };
}

/// Every suite, the best known first.
pub const SUITES: [Suite; 31] = suites![
    "vmware",
    "vmware-modern",
    "super-atto",
    "anandtech",
    "crystaldiskmark",
    "crystaldiskmark-nvme",
    "crystaldiskmark-peak",
    "crystaldiskmark-real-world",
    "crystaldiskmark-mix",
    "crystaldiskmark-3",
    "kdiskmark",
    "yabs",
    "atto",
    "as-ssd",
    "hcibench-easy-run",
    "vdi-like",
    "jetstress-like",
    "iometer-classics",
    "iometer-builtins",
    "oltp-66-33",
    "latency-qd1",
    "qd-sweep",
    "mix-matrix",
    "sqlio-smallio",
    "sqlio-largeio",
    "sqlio-8x2g",
    "dd-stream",
    "snia-pts-iops",
    "scale-out",
    "many-initiators",
    "spc1-like",
];

/// The suite whose plan has that name: what a run of it is called.
pub fn suite_titled(title: &str) -> Option<Suite> {
    let name = |suite: &Suite| suite.text.lines().find_map(|line| line.strip_prefix("name = "));
    SUITES.into_iter().find(|suite| name(suite).is_some_and(|name| name.trim().trim_matches('"') == title))
}

/// The suite of that name.
pub fn suite(name: &str) -> Option<Suite> {
    SUITES.into_iter().find(|s| s.name.eq_ignore_ascii_case(name))
}
