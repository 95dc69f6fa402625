//! An array that rebuilds, or a file system that checks or moves data.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Rebuild,
    name: "a rebuild or check of the array",
    physics: "A rebuild reads all members and writes one, a check reads all, as fast as it may: the load gets \
        what is left of each disk's time. One member serves the rebuild and the load in turn, so latencies are \
        longer and spread more.",
    source: "md/sync_action, exclusive_operation of Btrfs; the array's own statistics.",
    applies: |s| s.shows(Cause::Rebuild),
    forms: &[expects, expects_sharing, expects_of_disks, expects_of_flash, expects_of_streams],
    unchanged: &[&unchanged::WORKERS],
    helps: "Wait until it has ended (cat /proc/mdstat), or slow it down for the time of the load: \
        /proc/sys/dev/raid/speed_limit_max.",
    gain: None,
    look: "How far it is, and how fast it may go.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Shown(Cause::Rebuild) => range(0.9, 1.1),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.7),
        Q::Rate(E::OneOutstanding) => range(0.5 / s.outstanding, 1.05),
        Q::Rate(E::LargerIo) => range(0.12, 1.0),
        Q::Rate(E::SmallerIo) => range(0.95, 2.0),
        Q::Rate(E::Sequential) => range(0.8, 60.0),
        Q::Rate(E::Random) => range(0.02, 1.1),
        Q::Rate(E::HotSpan) => range(0.8, 60.0),
        Q::Rate(E::TenthSpan) => range(0.8, 2.0),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.4, 4.0),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(0.7, 1.4),
        Q::PacedLatency => range(0.04, 1.1),
        Q::MedianToMean => range(0.3, 1.08),
        Q::DeviceBytes => range(0.95, 30.0),
        Q::Trend => range(0.7, 1.4),
        Q::PingWait => range(0.001, 0.2),
        _ => None,
    }
}

/// The disks give each its share of what is outstanding.
fn expects_sharing(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreOutstanding) => range(1.3, 3.0),
        Q::Rate(E::OneOutstanding) => range(0.5 / s.outstanding, 0.7),
        _ => expects(quantity, s),
    }
}

/// Disks that seek, with less of their time left.
fn expects_of_disks(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Sequential) => range(4.0, 300.0),
        Q::Rate(E::HotSpan) => range(1.05, 80.0),
        Q::Rate(E::TenthSpan) => range(1.0, 1.6),
        Q::Rate(E::WholeSpan) => range(0.55, 1.05),
        Q::Rate(E::LargerIo) => range(0.6, 1.0),
        Q::Rate(E::SmallerIo) => range(0.97, 1.15),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.9, 1.1),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(0.9, 1.12),
        Q::LatencyOne => range(4000.0, 80_000.0),
        Q::MedianToMean => range(0.6, 1.05),
        _ => expects(quantity, s),
    }
}

/// Flash with less of its time left.
fn expects_of_flash(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Sequential) | Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.92, 1.15),
        Q::Rate(E::MoreOutstanding) => range(0.98, 1.3),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.6),
        Q::Rate(E::LargerIo) => range(0.115, 1.03),
        Q::Rate(E::SmallerIo) => range(0.95, 8.3),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(0.9, 1.12),
        Q::LatencyOne => range(50.0, 2000.0),
        Q::MedianToMean => range(0.75, 1.06),
        _ => expects(quantity, s),
    }
}

/// A sequential load: its bytes count, and the disks seek between it and the rebuild. At half the rate each I/O finds
/// the heads elsewhere, which a stream of one I/O after another does not.
fn expects_of_streams(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.11, 0.2),
        Q::Rate(E::SmallerIo) => range(1.0, 8.3),
        Q::Rate(E::Random) => range(0.003, 0.4),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.15),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.92, 1.15),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.88, 1.12),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(0.88, 1.14),
        Q::LatencyOne => range(40.0, 5000.0),
        Q::PacedToOne => range(0.8, 8.0),
        Q::MedianToMean => range(0.6, 1.08),
        _ => expects(quantity, s),
    }
}
