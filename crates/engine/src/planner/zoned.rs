//! Zones that are written from their beginnings (`zonemode=zbd` of fio), on a target that has none: a random write goes
//! to the zone that was drawn, behind what was written of it. At most so many are open; while they are, another drawn
//! zone becomes one of these. A full zone is closed, and begins anew when it is opened again.

use std::ops::Range;

use assay_spec::Zoned;

use super::Place;
use crate::rng::Rng;

/// A worker's zones of a member. Clones of fio share all zones; here each has every so many-th, so that a zone stays
/// one stream without a lock.
pub(super) struct Zones {
    window: Range<u64>,
    zone_bytes: u64,
    /// Its first zone, and how many there are from one of its zones to the next.
    first: u64,
    step: u64,
    open_max: usize,

    /// Bytes written of each of its zones, and whether it is open.
    zones: Vec<(u64, bool)>,
    open: Vec<usize>,
}

impl Zones {
    pub(super) fn new(zoned: Zoned, window: Range<u64>, (worker, workers): (u32, u32)) -> Self {
        // No zone leaves the window, whatever was checked before.
        let zone_bytes = zoned.bytes.0.min(window.end - window.start).max(1);
        let all = ((window.end - window.start) / zone_bytes).max(1);
        let (worker, workers) = (u64::from(worker), u64::from(workers));
        let shared = |count: u64| count / workers + u64::from(worker < count % workers);
        // Fewer zones than workers are everyone's.
        let (first, step, own) = if all < workers { (0, 1, all) } else { (worker, workers, shared(all)) };
        let own = usize::try_from(own).expect("zones that a plan has fit into memory");
        let open_max = match zoned.open {
            0 => own,
            open => usize::try_from(shared(open.into())).map_or(own, |open| open.clamp(1, own)),
        };
        let (zones, open) = (vec![(0, false); own], Vec::with_capacity(open_max));
        Self { window, zone_bytes, first, step, open_max, zones, open }
    }

    /// Where a write goes that was drawn, and its size, which ends with its zone.
    pub(super) fn place(&mut self, rng: &mut Rng, drawn: Place, least_bytes: u64) -> Place {
        let zone = (drawn.offset_bytes - self.window.start) / self.zone_bytes / self.step;
        let zone = usize::try_from(zone).map_or(0, |zone| zone % self.zones.len());
        let zone = match self.zones[zone].1 {
            true => zone,
            false if self.open.len() < self.open_max => self.begin(zone),
            false => self.open[usize::try_from(rng.below(self.open.len() as u64)).unwrap_or(0)],
        };
        let start = self.window.start + (self.first + zone as u64 * self.step) * self.zone_bytes;
        let at = self.zones[zone].0;
        let left = (self.zone_bytes - at) / least_bytes * least_bytes;
        let size_bytes = drawn.size_bytes.min(u32::try_from(left).unwrap_or(u32::MAX));
        self.zones[zone].0 += u64::from(size_bytes);
        if left - u64::from(size_bytes) < least_bytes {
            self.zones[zone].1 = false;
            self.open.retain(|open| *open != zone);
        }
        Place { offset_bytes: start + at, size_bytes }
    }

    /// Opens a zone that nothing was written of, or that is full.
    fn begin(&mut self, zone: usize) -> usize {
        self.zones[zone] = (0, true);
        self.open.push(zone);
        zone
    }
}

#[cfg(test)]
mod tests {
    use assay_spec::units::Bytes;

    use super::*;

    /// Zones of 16 blocks in a window of 8 zones that begins at 100 blocks.
    fn zones(open: u32, of: (u32, u32)) -> Zones {
        Zones::new(Zoned { bytes: Bytes(16 * 4096), open }, 100 * 4096..228 * 4096, of)
    }

    fn write(zones: &mut Zones, rng: &mut Rng) -> u64 {
        let offset_bytes = (100 + rng.below(128)) * 4096;
        zones.place(rng, Place { offset_bytes, size_bytes: 4096 }, 4096).offset_bytes / 4096 - 100
    }

    #[test]
    fn every_zone_is_written_in_order_and_no_more_are_open_than_may_be() {
        for (open, of) in [(0, (0, 1)), (3, (0, 1)), (4, (1, 2))] {
            let (mut zones, mut rng) = (zones(open, of), Rng::new(7));
            let mut written = [0_u64; 8];
            for _ in 0..10_000 {
                let block = write(&mut zones, &mut rng);
                let (zone, at) = (block / 16, block % 16);
                let next = &mut written[usize::try_from(zone).unwrap()];
                assert_eq!(at, *next % 16, "zone {zone}");
                assert_eq!(zone % u64::from(of.1), u64::from(of.0), "zone {zone} is another worker's");
                *next += 1;
                let begun = written.iter().filter(|blocks| **blocks % 16 > 0).count();
                assert!(open == 0 || begun <= (open / of.1) as usize, "{written:?}");
            }
            let own = written.iter().filter(|blocks| **blocks > 0).count();
            assert_eq!(own, 8 / of.1 as usize, "{written:?}");
        }
    }

    /// A zone of 256 MiB in a window of 100 MiB was written to its end, 156 MiB beyond the window.
    #[test]
    fn a_zone_that_is_larger_than_the_window_ends_with_it() {
        let (window, mut rng) = (10 * 4096..20 * 4096 + 512, Rng::new(3));
        for of in [(0, 1), (1, 2)] {
            let zoned = Zoned { bytes: Bytes(16 * 4096), open: 0 };
            let mut zones = Zones::new(zoned, window.clone(), of);
            for _ in 0..100 {
                let drawn = Place { offset_bytes: 12 * 4096, size_bytes: 3 * 4096 };
                let Place { offset_bytes, size_bytes } = zones.place(&mut rng, drawn, 4096);
                assert!(size_bytes > 0 && offset_bytes >= window.start, "{offset_bytes} {size_bytes}");
                assert!(offset_bytes + u64::from(size_bytes) <= window.end, "{offset_bytes} {size_bytes}");
            }
        }
    }

    #[test]
    fn a_write_that_does_not_fit_into_the_rest_of_a_zone_is_cut() {
        let (mut zones, mut rng) = (zones(1, (0, 1)), Rng::new(1));
        let sizes: Vec<u32> = (0..4)
            .map(|_| {
                zones
                    .place(&mut rng, Place { offset_bytes: 100 * 4096, size_bytes: 6 * 4096 }, 4096)
                    .size_bytes
            })
            .collect();
        assert_eq!(sizes, [6, 6, 4, 6].map(|blocks| blocks * 4096));
    }
}
