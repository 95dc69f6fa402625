//! The CPU time of the tester.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::{Reach, Setting};
use crate::unchanged;

use super::throttle::behind;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::TesterCpu,
    name: "the CPU time of the tester",
    physics: "A worker issues and completes every I/O itself, so its highest rate is one CPU divided by the cost per \
        I/O. More outstanding I/Os do not help; another worker on another CPU does. The target completes I/Os faster \
        than the worker issues them.",
    source: "CPU time of the tester's process (getrusage) over the measured window, shared by its workers; `assay \
        overhead` measures the cost of an I/O.",
    applies: |_| true,
    forms: &[
        expects,
        expects_of_many,
        expects_with_quota,
        expects_with_even_quota::<false>,
        expects_with_even_quota::<true>,
        expects_of_memory,
    ],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "Use more workers, or faster CPUs, or a polled engine; the target can do more.",
    gain: Some(E::MoreWorkers),
    look: "Nothing on the target: it waits for the tester.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::TesterBusy => range(0.86, 1.06),
        Q::Rate(E::LargerIo) => range(0.45, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.7),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.0),
        Q::Rate(E::MoreWorkers) => range(1.0, 2.1),
        Q::PacedLatency => range(0.03, 0.6),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.8, 1.25),
        Q::MedianToMean => range(0.85, 1.07),
        Q::PingWait => range(0.05, 1.1),
        _ => None,
    }
}

/// Several workers may use every CPU there is: more of them only share it.
fn expects_of_many(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreWorkers) if s.workers > 1.0 => range(0.85, 1.1),
        _ => expects(quantity, s),
    }
}

/// A control group lets the tester run for a part of each period and stops it for the rest: I/Os that end meanwhile
/// wait, and the rate of a window depends on where it lies in the periods.
fn expects_with_quota(quantity: Q, s: &Setting) -> Option<Range> {
    if !s.has_cpu_quota {
        return expects(quantity, s);
    }
    match quantity {
        Q::StoppedByQuota => range(0.15, 1.02),
        Q::LowToMean => range(0.005, 1.07),
        Q::PacedToOne => range(0.2, 4.0),
        Q::TesterBusy => range(0.7, 1.1),
        Q::MedianToMean => range(0.01, 1.05),
        Q::Rate(E::Base) | Q::Trend => range(0.3, 1.6),
        Q::Rate(E::LargerIo) => range(0.3, 1.2),
        Q::Rate(E::SmallerIo) => range(0.7, 2.0),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.2),
        Q::Rate(E::MoreOutstanding)
        | Q::Rate(E::Sequential)
        | Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan) => range(0.6, 3.0),
        Q::Rate(E::MoreWorkers) | Q::Rate(E::AfterIdle) => range(0.4, 2.5),
        Q::PacedLatency => range(0.005, 1.0),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.5, 1.8),
        Q::PingWait => range(0.05, 1.1),
        _ => None,
    }
}

/// Over many periods it is a bucket of tokens as any other limit: each I/O takes as much CPU time, whichever worker
/// issues it.
fn expects_with_even_quota<const SLOW: bool>(quantity: Q, s: &Setting) -> Option<Range> {
    if !s.has_cpu_quota {
        return expects(quantity, s);
    }
    match quantity {
        Q::StoppedByQuota => range(0.15, 1.02),
        Q::MedianToMean => range(0.3, 1.8),
        Q::LowToMean => range(0.05, 1.15),
        Q::PacedLatency => range(0.005, 1.0),
        Q::Rate(E::MoreWorkers) => range(0.85, 1.1),
        Q::Rate(E::LargerIo) => range(0.85, 1.03),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.93, 1.07),
        _ => behind::<SLOW>(quantity).or_else(|| expects(quantity, s)),
    }
}

/// A file in memory: the worker copies the bytes itself, so that they count, and a few MiB come from its caches.
fn expects_of_memory(quantity: Q, s: &Setting) -> Option<Range> {
    if s.reach != Reach::Memory {
        return expects(quantity, s);
    }
    match quantity {
        Q::Rate(E::HotSpan) => range(0.95, 4.0),
        Q::Rate(E::TenthSpan) => range(0.95, 3.0),
        Q::Rate(E::Sequential) => range(0.9, 3.0),
        Q::Rate(E::Random) => range(0.3, 1.1),
        Q::Rate(E::LargerIo) => range(0.13, 1.0),
        Q::Rate(E::SmallerIo) => range(1.0, 6.0),
        // Each is done before the next is issued.
        Q::Rate(E::OneOutstanding) => range(0.6, 1.05),
        Q::PacedLatency => range(0.4, 2.0),
        Q::MedianToMean => range(0.6, 1.07),
        Q::Rate(E::MoreWorkers) => range(1.0, 2.4),
        _ => expects(quantity, s),
    }
}
