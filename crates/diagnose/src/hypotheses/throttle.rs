//! What a token bucket shows of the device behind it.

use assay_record::Experiment as E;

use crate::quantity::Quantity as Q;
use crate::range::{Range, range};

/// Returns what the device alone shows through a limit. One I/O at a time meets the limit too where the device is
/// faster than it: it then waits for its token, and a load at half the rate, which finds tokens, has a shorter latency
/// than one I/O at a time. That never happens to a serial server, for which both are its time for one I/O. Where the
/// device is slower (`SLOW`), one I/O at a time stays below the limit, and both latencies are the device's own.
pub(super) fn behind<const SLOW: bool>(quantity: Q) -> Option<Range> {
    match quantity {
        Q::Rate(E::OneOutstanding) if SLOW => range(0.04, 0.95),
        Q::PacedToOne if SLOW => range(0.85, 1.4),
        Q::Rate(E::OneOutstanding) => range(0.92, 1.04),
        Q::PacedToOne => range(0.004, 0.85),
        _ => None,
    }
}
