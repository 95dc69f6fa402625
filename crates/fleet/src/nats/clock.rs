//! How far the clocks of hosts are apart, measured by requests over the bus.

use crate::listed::Offset;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Returns the wall clock of this host, ns since 1970.
pub(crate) fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns a moment of the clock that never jumps with the wall clock at the same moment, ns since 1970. A busy machine
/// may take the CPU away between two looks, so of several the two that are closest to each other count.
pub(crate) fn together() -> (Instant, i64) {
    const LOOKS: u32 = 50;
    const CLOSE: Duration = Duration::from_micros(2);
    let mut best: Option<(Duration, Instant, i64)> = None;
    for _ in 0..LOOKS {
        let (before, wall_ns) = (Instant::now(), unix_ns());
        let way = before.elapsed();
        if best.is_none_or(|(least, ..)| way < least) {
            best = Some((way, before + way / 2, wall_ns));
        }
        if way <= CLOSE {
            break;
        }
    }
    best.map_or_else(|| (Instant::now(), unix_ns()), |(_, moment, wall_ns)| (moment, wall_ns))
}

impl Offset {
    /// Returns the offset by one request. It was sent when this host's clock showed `sent_ns`, took `way` there and
    /// back, and was stamped by the host's clock in between: at any moment of the way.
    ///
    /// ```text
    ///  this host  sent ─────┐                ┌───> answered
    ///  host                 └──> stamped ────┘         offset = stamped − (sent + way / 2)
    /// ```
    pub(crate) fn of(sent_ns: i64, way: Duration, stamped_ns: i64) -> Self {
        let way_ns = i64::try_from(way.as_nanos()).unwrap_or(i64::MAX);
        let middle_ns = sent_ns.saturating_add(way_ns / 2);
        Self { ahead_ns: stamped_ns.saturating_sub(middle_ns), error_ns: way_ns.unsigned_abs().div_ceil(2) }
    }

    /// Returns the better of two that were measured close to each other.
    pub(crate) fn better(self, other: Self) -> Self {
        if other.error_ns < self.error_ns { other } else { self }
    }
}

impl From<Offset> for assay_record::ClockOffset {
    fn from(offset: Offset) -> Self {
        Self { ahead_ns: offset.ahead_ns, error_ns: offset.error_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_offset_is_within_the_error_however_unequal_the_ways_are() {
        for (there, back) in [(10_i64, 10_i64), (0, 100), (100, 0), (33, 8), (0, 1), (1, 0)] {
            for ahead in [-3_000_000_000, 0, 7, 3_000_000_000] {
                let sent = 5_000_000_000;
                let way = Duration::from_nanos((there + back).cast_unsigned());
                let offset = Offset::of(sent, way, sent + there + ahead);
                let wrong = (offset.ahead_ns - ahead).unsigned_abs();
                assert!(wrong <= offset.error_ns, "{there} {back} {ahead}: {offset:?}");
            }
        }
    }

    #[test]
    fn the_quicker_of_two_requests_counts() {
        let (quick, slow) = (Offset { ahead_ns: 5, error_ns: 3 }, Offset { ahead_ns: 9, error_ns: 40 });
        assert_eq!((quick.better(slow), slow.better(quick)), (quick, quick));
    }
}
