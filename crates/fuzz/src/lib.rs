//! Fuzz targets: every parser, and both protocol state machines, with arbitrary bytes.
//!
//! A [`Target`] accepts any bytes and must neither panic, hang, nor violate the property that its module states. The
//! program `assay-fuzz` (feature `libfuzzer`) searches for bytes that do; the tests of this room replay the kept inputs
//! of `seeds/NAME`, including every input that once failed (`found-…`).
//!
//! libFuzzer through `libfuzzer-sys`, without cargo-fuzz: it is guided by coverage on the repository's stable
//! toolchain, because the flags for that (`-C passes=sancov-module`) are stable; cargo-fuzz and bolero's engines need
//! nightly.
#![forbid(unsafe_code)]

mod conversation;
mod foreign;
mod input;
mod kernel;
mod machine;
mod stored;
mod text;
mod wire;

/// A fuzz target.
#[derive(Debug)]
pub struct Target {
    /// Its name, and that of its seed directory.
    pub name: &'static str,
    /// Further directories of the repository with initial inputs.
    pub seeds: &'static [&'static str],
    /// Longest useful input, bytes.
    pub bytes_max: usize,
    /// Runs one input. A panic is a finding.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, bytes_max: usize, run: fn(&[u8])) -> Target {
    Target { name, seeds: &[], bytes_max, run }
}

const fn seeded(mut target: Target, seeds: &'static [&'static str]) -> Target {
    target.seeds = seeds;
    target
}

/// Every target.
pub const TARGETS: &[Target] = &[
    seeded(target("plan", 4096, text::plan), &["suites"]),
    target("override", 256, text::override_),
    target("address", 512, text::address),
    target("units", 64, text::units),
    seeded(target("array", 8192, text::array), &["arrays"]),
    seeded(target("published", 4096, text::published), &["published"]),
    target("event", 4096, stored::event),
    target("document", 8192, stored::document),
    target("outputs", 16384, stored::outputs),
    seeded(target("icf", 8192, foreign::icf), &["crates/interop/tests/samples"]),
    target("fio-job", 4096, foreign::fio_job),
    target("command-line", 1024, foreign::command_line),
    target("fio-json", 32768, foreign::fio_json),
    target("iometer-csv", 8192, foreign::iometer_csv),
    target("table", 2048, foreign::table),
    target("profile", 4096, foreign::profile),
    target("vdbench", 4096, foreign::vdbench),
    seeded(target("diskspd-xml", 16384, foreign::diskspd_xml), &["crates/interop/tests/samples"]),
    seeded(target("diskspd-text", 16384, foreign::diskspd_text), &["crates/interop/tests/samples"]),
    target("sqlio-text", 8192, foreign::sqlio),
    target("crystaldiskmark", 8192, foreign::crystaldiskmark),
    target("dd", 4096, foreign::dd),
    seeded(target("iostat", 16384, foreign::iostat), &["crates/interop/tests/samples"]),
    seeded(target("results", 8192, foreign::results), &["crates/interop/tests/samples"]),
    target("mark", 1024, stored::mark),
    target("stamp", 4096, stored::stamp),
    target("pdu", 48, wire::pdu),
    target("login-text", 2048, wire::login_text),
    target("scsi", 512, wire::scsi),
    target("rpc", 1024, wire::rpc),
    target("nfs-results", 1024, wire::nfs_results),
    target("procfs", 4096, kernel::procfs),
    target("netlink", 4096, kernel::netlink),
    target("places", 16, kernel::places),
    target("login", 4096, machine::login),
    target("session", 4096, machine::session),
    target("iscsi-conversation", 2048, conversation::iscsi),
    target("nfs-conversation", 2048, conversation::nfs),
];

/// Returns the target of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
