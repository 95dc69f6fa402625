//! A target with few threads.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ServerThreads,
    name: "a target with few threads",
    physics: "Each of n threads takes an I/O from its begin to its end, s, so the rate is n / s, whatever the \
        order, the span and the queue depth above n; one I/O at a time reaches a whole n-th of that, and its \
        latency is the same as that of a load at half the rate.",
    source: "Operational analysis (Denning and Buzen 1978): n servers with one queue; threads of nfsd, \
        nfs-ganesha, tgt.",
    // A device of this host has no threads that serve it.
    applies: |s| s.is_served && s.outstanding > 2.0,
    forms: &[
        expects::<2>,
        expects::<3>,
        expects::<4>,
        expects::<5>,
        expects::<6>,
        expects::<8>,
        expects::<11>,
        expects::<16>,
        expects_constant::<2>,
        expects_constant::<3>,
        expects_constant::<4>,
        expects_constant::<5>,
        expects_constant::<6>,
        expects_constant::<8>,
        expects_constant::<11>,
        expects_constant::<16>,
        expects_by_connection,
    ],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::DATA,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "More threads in the target's software (nfsd: /proc/fs/nfsd/threads; tgt: -t; nfs-ganesha: \
        NFS_CORE_PARAM).",
    gain: None,
    look: "Number of threads of the target's software, and what they wait for.",
};

fn expects<const THREADS: u32>(quantity: Q, s: &Setting) -> Option<Range> {
    let threads = f64::from(THREADS);
    match quantity {
        // With fewer outstanding than threads it is not the threads that limit.
        Q::Rate(E::OneOutstanding) if threads >= s.outstanding => range(1e-6, 2e-6),
        Q::Rate(E::OneOutstanding) => range(0.78 / threads, 1.08 / threads),
        Q::LatencyOne => range(150.0, 100_000.0),
        Q::PacedLatency => range(0.8 * threads / s.outstanding, (2.2 * threads / s.outstanding).min(1.1)),
        Q::PacedToOne => range(0.9, 1.7),
        Q::Rate(E::LargerIo) => range(0.3, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.3),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.6, 1.7),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::Sequential) => range(0.93, 1.15),
        Q::MedianToMean => range(0.8, 1.1),
        Q::LowToMean => range(0.5, 1.05),
        // A server of NFS answers a ping by the same threads, a target of iSCSI by the one that receives.
        Q::PingWait if s.is_file => range(0.001, 1.1),
        Q::PingWait => range(0.001, 0.4),
        Q::RoundTripShare => range(0.001, 0.3),
        _ => None,
    }
}

/// What a thread waits for takes the same time for every I/O.
fn expects_constant<const THREADS: u32>(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.9, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.05),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::Sequential) => range(0.95, 1.06),
        _ => expects::<THREADS>(quantity, s),
    }
}

/// A thread for each connection.
fn expects_by_connection(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreConnections) => range(1.7, 4.3),
        Q::Rate(E::OneOutstanding) => range(0.85, 1.06),
        Q::LatencyOne => range(150.0, 100_000.0),
        Q::PacedLatency => range(0.6 / s.outstanding, 0.4),
        Q::PacedToOne => range(0.8, 2.5),
        _ => expects::<2>(quantity, s),
    }
}
