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
pub const SUITES: [Suite; 31] = [
    Suite { name: "vmware", text: include_str!("../../../suites/vmware.toml") },
    Suite { name: "vmware-modern", text: include_str!("../../../suites/vmware-modern.toml") },
    Suite { name: "super-atto", text: include_str!("../../../suites/super-atto.toml") },
    Suite { name: "anandtech", text: include_str!("../../../suites/anandtech.toml") },
    Suite { name: "crystaldiskmark", text: include_str!("../../../suites/crystaldiskmark.toml") },
    Suite { name: "crystaldiskmark-nvme", text: include_str!("../../../suites/crystaldiskmark-nvme.toml") },
    Suite { name: "crystaldiskmark-peak", text: include_str!("../../../suites/crystaldiskmark-peak.toml") },
    Suite {
        name: "crystaldiskmark-real-world",
        text: include_str!("../../../suites/crystaldiskmark-real-world.toml"),
    },
    Suite { name: "crystaldiskmark-mix", text: include_str!("../../../suites/crystaldiskmark-mix.toml") },
    Suite { name: "crystaldiskmark-3", text: include_str!("../../../suites/crystaldiskmark-3.toml") },
    Suite { name: "kdiskmark", text: include_str!("../../../suites/kdiskmark.toml") },
    Suite { name: "yabs", text: include_str!("../../../suites/yabs.toml") },
    Suite { name: "atto", text: include_str!("../../../suites/atto.toml") },
    Suite { name: "as-ssd", text: include_str!("../../../suites/as-ssd.toml") },
    Suite { name: "hcibench-easy-run", text: include_str!("../../../suites/hcibench-easy-run.toml") },
    Suite { name: "vdi-like", text: include_str!("../../../suites/vdi-like.toml") },
    Suite { name: "jetstress-like", text: include_str!("../../../suites/jetstress-like.toml") },
    Suite { name: "iometer-classics", text: include_str!("../../../suites/iometer-classics.toml") },
    Suite { name: "iometer-builtins", text: include_str!("../../../suites/iometer-builtins.toml") },
    Suite { name: "oltp-66-33", text: include_str!("../../../suites/oltp-66-33.toml") },
    Suite { name: "latency-qd1", text: include_str!("../../../suites/latency-qd1.toml") },
    Suite { name: "qd-sweep", text: include_str!("../../../suites/qd-sweep.toml") },
    Suite { name: "mix-matrix", text: include_str!("../../../suites/mix-matrix.toml") },
    Suite { name: "sqlio-smallio", text: include_str!("../../../suites/sqlio-smallio.toml") },
    Suite { name: "sqlio-largeio", text: include_str!("../../../suites/sqlio-largeio.toml") },
    Suite { name: "sqlio-8x2g", text: include_str!("../../../suites/sqlio-8x2g.toml") },
    Suite { name: "dd-stream", text: include_str!("../../../suites/dd-stream.toml") },
    Suite { name: "snia-pts-iops", text: include_str!("../../../suites/snia-pts-iops.toml") },
    Suite { name: "scale-out", text: include_str!("../../../suites/scale-out.toml") },
    Suite { name: "many-initiators", text: include_str!("../../../suites/many-initiators.toml") },
    Suite { name: "spc1-like", text: include_str!("../../../suites/spc1-like.toml") },
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
