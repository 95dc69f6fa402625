//! Encryption by this host.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Crypt,
    name: "encryption by this host (dm-crypt)",
    physics: "Each byte is enciphered below the file system, by threads of the kernel: throughput is CPUs over \
        time for a byte, and the CPU time is neither the tester's nor another program's.",
    source: "dm-crypt in the stack of the device; /proc/stat against the tester's own CPU time.",
    applies: |s| s.shows(Cause::Crypt),
    forms: &[expects, expects_bytes_alone, expects_of_one_cpu, expects_of_one_thread],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::REST,
    ],
    helps: "A cipher that the CPU has instructions for (cryptsetup benchmark), more CPUs, larger sectors \
        (--sector-size 4096), or no detour over threads (--perf-no_read_workqueue --perf-no_write_workqueue).",
    gain: None,
    look: "Threads of the kernel that use the CPU: top shows kcryptd.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Shown(Cause::Crypt) => range(0.3, 3.0),
        Q::HelpersBusy => range(0.7, 64.0),
        Q::Rate(E::LargerIo) => range(0.115, 0.4),
        Q::Rate(E::SmallerIo) => range(1.3, 8.3),
        Q::Rate(E::OneOutstanding) => range(0.6 / s.outstanding, 1.05),
        Q::Rate(E::MoreOutstanding) => range(0.93, 1.15),
        Q::Rate(E::MoreWorkers) => range(0.9, 1.3),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) => range(0.85, 1.3),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::WholeSpan) => range(0.9, 1.15),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.7, 1.4),
        Q::PacedLatency => range(0.03, 0.9),
        Q::MedianToMean => range(0.6, 1.08),
        _ => None,
    }
}

/// Nothing but bytes counts.
fn expects_bytes_alone(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.12, 0.13),
        Q::Rate(E::SmallerIo) => range(7.0, 8.4),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) | Q::Rate(E::MoreOutstanding) => range(0.95, 1.06),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::WholeSpan) => range(0.95, 1.06),
        Q::Rate(E::MoreWorkers) => range(0.95, 1.06),
        Q::MedianToMean => range(0.88, 1.07),
        Q::PacedLatency => range(0.01, 0.65),
        _ => expects(quantity, s),
    }
}

/// One thread of the kernel has one CPU all the time.
fn expects_of_one_cpu(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::HelpersBusy => range(0.88, 1.12),
        _ => expects_bytes_alone(quantity, s),
    }
}

/// The CPU that issues an I/O enciphers it.
fn expects_of_one_thread(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::HelpersBusy => range(0.2, 1.2),
        Q::Rate(E::MoreWorkers) => range(1.2, 2.1),
        _ => expects(quantity, s),
    }
}
