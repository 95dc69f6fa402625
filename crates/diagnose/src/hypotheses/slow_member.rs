//! One of several disks or drives that is slower than the others.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::experiments::SIZE_TIMES;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SlowMember,
    name: "one slow member of a stripe",
    physics: "Of N members one takes k times as long, s k instead of s. It gets every N-th I/O, so nearly all I/Os \
        that are outstanding wait for it: X = N / (s k), whatever the queue depth; mean latency Q / X, and median \
        about s, which is N / (Q k) of the mean. One I/O at a time waits for it once in N: X(1) / X = k / (N - 1 + k). \
        Members that serve any number at once have no queue: X = Q / mean, and more in flight give more.",
    source: "Operational analysis (Denning and Buzen 1978): the bottleneck is the station with the largest demand; \
        planted stripes of 4 and 8 members.",
    applies: |s| s.has_medium() && s.is_random() && s.outstanding >= 2.0,
    forms: &[
        expects::<3, 3>,
        expects::<4, 2>,
        expects::<4, 3>,
        expects::<4, 5>,
        expects::<8, 2>,
        expects::<8, 3>,
        expects::<8, 5>,
        expects::<12, 4>,
        expects_found,
        expects_found_without_queue,
    ],
    unchanged: &[&unchanged::WAYS, &unchanged::PLACES, &unchanged::WORKERS, &unchanged::REST],
    helps: "Find the member: compare the latencies of the disks (iostat -x, SMART, the array's own statistics), and \
        replace it.",
    gain: None,
    look: "Latency and utilisation of each disk, media errors, a rebuild.",
};

/// A stripe of so many members, of which one is so many times slower.
fn expects<const MEMBERS: u32, const SLOWER: u32>(quantity: Q, s: &Setting) -> Option<Range> {
    // So few do not gather.
    if s.outstanding < 4.0 {
        return expects_found(quantity, s);
    }
    let (members, slower) = (f64::from(MEMBERS), f64::from(SLOWER));
    // The way to the members takes time, too, and their own I/Os wait for each other a little.
    let of_mean = members / (s.outstanding * slower);
    let alone = slower / (members - 1.0 + slower);
    // An I/O larger than a chunk occupies several members.
    let spread = members.min(SIZE_TIMES as f64);
    match quantity {
        Q::MedianToMean => range(0.7 * of_mean, (3.5 * of_mean).min(0.85)),
        Q::LowToMean => range(0.5 * of_mean, (3.0 * of_mean).min(0.7)),
        Q::Rate(E::MoreOutstanding) => range(0.96, 1.12),
        Q::Rate(E::OneOutstanding) => range(0.25 * alone, 1.1 * alone),
        Q::PacedLatency => range(0.5 * of_mean, (3.5 * of_mean).min(0.9)),
        Q::Rate(E::LargerIo) => range(0.7 / spread, 1.04),
        Q::Rate(E::Sequential) => range(0.6 * alone, 1.6 * members),
        Q::Rate(E::HotSpan) => range(0.93, 1.5),
        Q::PingWait => range(0.001, 0.05),
        Q::SlowMember => FOUND,
        _ => None,
    }
}

/// By how much a member is slower where the offsets of the load show it.
const FOUND: Option<Range> = Some(Range { lo: 1.25, hi: 300.0 });

/// The offsets show it, and no I/O waits for another: only the share of slow ones makes the mean longer.
fn expects_found_without_queue(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::SlowMember => FOUND,
        Q::MedianToMean => range(0.3, 1.08),
        Q::LowToMean => range(0.2, 1.05),
        Q::Rate(E::MoreOutstanding) => range(2.4, 4.2),
        Q::Rate(E::OneOutstanding) => range(0.8 / s.outstanding, 2.1 / s.outstanding),
        Q::Rate(E::LargerIo) => range(0.5, 1.06),
        Q::PacedLatency => range(0.6, 1.1),
        Q::PacedToOne => range(0.65, 1.3),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

/// The offsets show it: whatever else there is beside it, and with members that serve many at once.
fn expects_found(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::SlowMember => FOUND,
        Q::MedianToMean => range(0.01, 1.0),
        Q::LowToMean => range(0.005, 1.0),
        Q::Rate(E::MoreOutstanding) => range(0.94, 4.2),
        Q::Rate(E::OneOutstanding) => range(0.4 / s.outstanding, 1.1),
        Q::PacedLatency => range(0.03, 1.1),
        Q::Rate(E::LargerIo) => range(0.08, 1.1),
        Q::Rate(E::SmallerIo) => range(0.9, 3.0),
        Q::Rate(E::Sequential) => range(0.1, 30.0),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.4, 2.5),
        Q::Trend => range(0.6, 1.6),
        // A busy host changes rates, and no offsets.
        Q::Rate(_) => range(0.65, 1.6),
        Q::PingWait => range(0.001, 0.1),
        _ => None,
    }
}
