//! How far the clocks of hosts are apart, by requests over the bus, and the clocks in which hosts state moments.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assay_host::boot_ns;

use crate::listed::Offset;
use crate::order::WallClock;

/// The clock of an agent, which nobody sets: the wall clock at one moment, and `CLOCK_MONOTONIC` from there on, as in
/// the events of a run. Everything that an agent says of a run is in it, so NTP or a person may set a wall clock at any
/// time, between a measurement of the clocks and what is computed from it too, and no moment moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steady {
    at: Instant,
    at_unix_ns: i64,
}

impl Steady {
    /// Returns the clock of what begins now.
    pub(crate) fn begin(wall: &WallClock) -> Self {
        const LOOKS: u32 = 50;
        let (at, at_unix_ns) = together(wall, LOOKS);
        Self { at, at_unix_ns }
    }

    /// Returns the time, ns since 1970.
    pub(crate) fn unix_ns(&self) -> i64 {
        self.unix_ns_at(Instant::now())
    }

    /// Returns the time at a moment, ns since 1970.
    pub(crate) fn unix_ns_at(&self, moment: Instant) -> i64 {
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        match moment.checked_duration_since(self.at) {
            Some(since) => self.at_unix_ns.saturating_add(ns(since)),
            None => self.at_unix_ns.saturating_sub(ns(self.at - moment)),
        }
    }

    /// Returns the moment at which it shows a time, or now if that is over.
    pub(crate) fn moment(&self, unix_ns: i64) -> Instant {
        let now = Instant::now();
        let left_ns = unix_ns.saturating_sub(self.unix_ns_at(now));
        now + Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0))
    }

    /// Returns by how much the wall clock was set since it began, ns.
    pub(crate) fn set_ns(&self, wall: &WallClock) -> i64 {
        // The answer in which it stands is waited for.
        const LOOKS: u32 = 3;
        let (moment, wall_ns) = together(wall, LOOKS);
        wall_ns.saturating_sub(self.unix_ns_at(moment))
    }
}

/// The clock of a coordinator, which nobody sets either. It goes on while its machine is suspended, as the hosts do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CoordinatorClock {
    at_boot_ns: u64,
    at_unix_ns: i64,
}

impl CoordinatorClock {
    /// Returns the clock of what begins now.
    pub(crate) fn begin() -> Self {
        Self { at_boot_ns: boot_ns(), at_unix_ns: WallClock::default().unix_ns() }
    }

    /// Returns the time, ns since 1970.
    pub(crate) fn unix_ns(&self) -> i64 {
        let since_ns = boot_ns().saturating_sub(self.at_boot_ns);
        self.at_unix_ns.saturating_add(i64::try_from(since_ns).unwrap_or(i64::MAX))
    }
}

impl WallClock {
    /// Returns the time, ns since 1970.
    pub(crate) fn unix_ns(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        unix_ns.saturating_add(self.0.load(Ordering::Acquire))
    }
}

/// Returns a moment of the clock that never jumps with the wall clock at the same moment, ns since 1970. A busy machine
/// may take the CPU away between two looks, so of several the two that are closest to each other count.
fn together(wall: &WallClock, looks: u32) -> (Instant, i64) {
    const CLOSE: Duration = Duration::from_micros(2);
    let mut best: Option<(Duration, Instant, i64)> = None;
    for _ in 0..looks {
        let (before, wall_ns) = (Instant::now(), wall.unix_ns());
        let way = before.elapsed();
        if best.is_none_or(|(least, ..)| way < least) {
            best = Some((way, before + way / 2, wall_ns));
        }
        if way <= CLOSE {
            break;
        }
    }
    best.map_or_else(|| (Instant::now(), wall.unix_ns()), |(_, moment, wall_ns)| (moment, wall_ns))
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

    /// Returns the offset of a clock that is so much ahead of this one.
    pub(crate) fn ahead_by(self, more_ns: i64) -> Self {
        Self { ahead_ns: self.ahead_ns.saturating_add(more_ns), ..self }
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
    fn a_wall_clock_that_is_set_moves_no_moment() {
        let wall = WallClock::default();
        let clock = Steady::begin(&wall);
        let close = |a: i64, b: i64| a.abs_diff(b) < 1_000_000_000;
        for set_ns in [3_000_000_000, -3_000_000_000, 3_600_000_000_000] {
            let (moment, before_ns) = (Instant::now(), clock.unix_ns());
            wall.set_ahead(set_ns);
            assert!(close(clock.set_ns(&wall), set_ns) && close(clock.unix_ns(), before_ns), "{set_ns}");
            assert!(clock.unix_ns_at(moment) <= before_ns);
            let later = clock.moment(clock.unix_ns_at(moment) + 60_000_000_000);
            assert!(later.saturating_duration_since(moment).abs_diff(Duration::from_secs(60)) < CLOSE);
        }
        assert!(clock.moment(0) <= Instant::now(), "what is over is now");
    }

    const CLOSE: Duration = Duration::from_micros(1);
}
