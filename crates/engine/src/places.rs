//! A sample of a worker's I/Os with their places: a slow region or a slow member of a stripe shows in it.

use assay_record::{PlaceSample, PlacedIo};

use crate::flights::Flight;

/// Most I/Os that the workers of a step keep together: 24 bytes each, and about as many in the record.
const KEPT: usize = 1024;
/// A worker keeps so many, however many workers there are.
const KEPT_LEAST: usize = 16;

/// Keeps every I/O at first. Whenever its room is full it drops every other one and keeps half as many from then on,
/// so that what is kept is spread evenly over the window, and most I/Os cost one subtraction.
pub(crate) struct Places {
    job: u32,
    room: usize,

    every: u32,
    /// Number of I/Os until the next one that is kept.
    left: u32,
    ios: Vec<PlacedIo>,
}

impl Places {
    pub(crate) fn new(job: u32, workers: u32) -> Self {
        let room = (KEPT / workers.max(1) as usize).max(KEPT_LEAST);
        Self { job, room, every: 1, left: 1, ios: Vec::with_capacity(room) }
    }

    /// Counts an I/O that was started at `began_ns` and has completed.
    #[inline(always)]
    pub(crate) fn completed(&mut self, flight: &Flight, began_ns: u64, now_ns: u64) {
        self.left -= 1;
        if self.left == 0 {
            self.keep(PlacedIo(flight.member, flight.offset_bytes, now_ns.saturating_sub(began_ns)));
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, io: PlacedIo) {
        if self.ios.len() == self.room {
            let mut number = 0_u32;
            self.ios.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
        self.ios.push(io);
        self.left = self.every;
    }

    /// Returns the sample; `None` where nothing was measured.
    pub(crate) fn finish(self) -> Option<PlaceSample> {
        let Self { job, every, ios, .. } = self;
        (!ios.is_empty()).then_some(PlaceSample { job, every, ios })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flights::{Counting, Role};
    use crate::planner::Draw;
    use assay_target::OpKind;

    fn sample(ios: u64, workers: u32) -> PlaceSample {
        let mut places = Places::new(3, workers);
        for number in 0..ios {
            let draw = Draw { access: 0, kind: OpKind::Read, size_bytes: 512, offset_bytes: number * 512 };
            let flight = Flight::new(&draw, 0, 0, Counting::On, Role::Request);
            places.completed(&flight, 1_000, 1_000 + number);
        }
        places.finish().unwrap()
    }

    #[test]
    fn a_sample_is_spread_evenly_over_all_ios_and_never_larger_than_its_room() {
        for (ios, workers) in [(5, 1), (1024, 1), (1025, 1), (100_000, 1), (999_999, 2), (777, 64)] {
            let sample = sample(ios, workers);
            let room = KEPT / workers as usize;
            assert!(sample.ios.len() <= room && sample.ios.len() as u64 >= ios.min(room as u64 / 2));
            let every = u64::from(sample.every);
            for (number, io) in (0..).zip(&sample.ios) {
                assert_eq!(*io, PlacedIo(0, number * every * 512, number * every), "{ios} I/Os, {workers}");
            }
            assert!((sample.ios.len() as u64 + 1) * every >= ios, "to the end");
        }
    }

    #[test]
    fn nothing_measured_is_no_sample() {
        assert_eq!(Places::new(0, 1).finish(), None);
    }
}
