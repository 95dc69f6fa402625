//! Media: disks that seek, flash with dies, memory.

use super::stations::Station;
use assay_model::rng::Rng;

/// Exponent by which a queue shortens the service time of a disk that sorts (docs/design/040-model.md).
const SORTING: f64 = 0.26;
/// Commands that a disk sorts.
const SORTED_MAX: f64 = 32.0;
/// Time of a read from the disk's own memory, µs.
const DISK_CACHE_US: f64 = 150.0;

/// What the data lie on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Medium {
    /// Rotating disks.
    Disks {
        /// How many.
        count: usize,
        /// Time of one random access over the whole span, µs.
        access_us: f64,
        /// Transfer rate of each, bytes/µs.
        rate: f64,
    },
    /// Flash.
    Flash {
        /// Dies at work at once.
        dies: usize,
        /// Time of a read of up to 16 KiB, µs.
        read_us: f64,
        /// Time of a write of up to 16 KiB, µs.
        write_us: f64,
        /// Share of random writes that wait for a collection, and how long, µs.
        collection: (f64, f64),
        /// Factor by which writes are slower once the fast area is used up; 1: it has none.
        slc: f64,
    },
    /// A stripe of flash drives, some of which are slower than the others.
    Stripe {
        /// How many.
        members: usize,
        /// Time of an access on most of them, µs.
        service_us: f64,
        /// Times as long on the slow ones.
        slower: f64,
        /// Which are slow: a bit for each, the lowest is that of the first.
        slow: u32,
        /// How each takes what arrives.
        serves: Serves,
        /// Bytes of a chunk.
        chunk: f64,
    },
    /// Memory.
    Memory,
}

/// How a member of a stripe takes what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// One after another.
    OneAtATime,
    /// All at once, as a delay does.
    All,
}

/// Where an I/O goes.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) is_read: bool,
    pub(super) is_random: bool,
    /// Where a random one goes, bytes.
    pub(super) at: u64,
    /// Share of the span that is used.
    pub(super) span: f64,
    pub(super) after_idle: bool,
}

pub(super) struct Media {
    medium: Medium,
    stations: Vec<Station>,
    /// Ends of the accesses of each disk, for the length of its queue.
    waiting: Vec<Vec<f64>>,
    next: f64,
}

impl Media {
    pub(super) fn new(medium: &Medium) -> Self {
        let count = match medium {
            Medium::Disks { count, .. } => *count,
            Medium::Flash { dies, .. } => *dies,
            Medium::Stripe { members, .. } => *members,
            Medium::Memory => 1,
        };
        let stations = (0..count).map(|_| Station::new(1)).collect();
        Self { medium: *medium, stations, waiting: vec![Vec::new(); count], next: 0.0 }
    }

    /// When an access ends; `work` multiplies what it costs.
    pub(super) fn serve(&mut self, now: f64, size: f64, work: f64, place: Place, rng: &mut Rng) -> f64 {
        match self.medium {
            Medium::Memory => now + 2.0 + size / 8000.0,
            Medium::Disks { access_us, rate, .. } => {
                self.disk(now, size, (access_us, rate, work), place, rng)
            }
            Medium::Flash { .. } => self.flash(now, size, work, place, rng),
            Medium::Stripe { .. } => self.stripe(now, size, work, place, rng),
        }
    }

    fn index(&mut self, size: f64, is_random: bool, rng: &mut Rng) -> usize {
        let count = self.stations.len() as u64;
        if is_random {
            return usize::try_from(rng.below(count)).unwrap_or(0);
        }
        self.next += size;
        let stripe = (self.next / 65_536.0) as u64;
        usize::try_from(stripe % count).unwrap_or(0)
    }

    fn disk(&mut self, now: f64, size: f64, of: (f64, f64, f64), place: Place, rng: &mut Rng) -> f64 {
        let (access_us, rate, work) = of;
        let index = self.index(size, place.is_random, rng);
        let waiting = &mut self.waiting[index];
        waiting.retain(|end| *end > now);
        let queue = (waiting.len() as f64 + 1.0).min(SORTED_MAX);
        // A few MiB stay in the memory of the disk itself.
        let is_near = place.span < 0.01 && place.is_read;
        let positioning = match place.is_random {
            false => 0.0,
            true if is_near => DISK_CACHE_US,
            true => {
                access_us * queue.powf(-SORTING) * (0.55 + 0.45 * place.span.powf(0.4)) * (0.5 + rng.unit())
            }
        };
        let end = self.stations[index].serve(now, (positioning + size / rate) * work);
        self.waiting[index].push(end);
        end
    }

    /// An I/O occupies every member that it touches.
    fn stripe(&mut self, now: f64, size: f64, work: f64, place: Place, rng: &mut Rng) -> f64 {
        let Medium::Stripe { service_us, slower, slow, serves, chunk, .. } = self.medium else { return now };
        let members = self.stations.len();
        let first = if place.is_random {
            (place.at as f64 / chunk) as usize % members
        } else {
            self.next += size;
            (self.next / chunk) as usize % members
        };
        let touched = ((size / chunk).ceil().max(1.0) as usize).min(members);
        let mut end = now;
        for member in (first..first + touched).map(|member| member % members) {
            let times = if slow >> member & 1 == 1 { slower } else { 1.0 };
            let bytes = (size / touched as f64 / 2000.0).max(0.0);
            let service = (service_us * (0.85 + 0.3 * rng.unit()) + bytes) * times * work;
            end = end.max(match serves {
                Serves::OneAtATime => self.stations[member].serve(now, service),
                Serves::All => now + service,
            });
        }
        end
    }

    fn flash(&mut self, now: f64, size: f64, work: f64, place: Place, rng: &mut Rng) -> f64 {
        let Medium::Flash { read_us, write_us, collection, slc, .. } = self.medium else { return now };
        let pages = (size / 16_384.0).ceil().max(1.0);
        let one = if place.is_read { read_us } else { write_us };
        let slower = if place.is_read || place.after_idle { 1.0 } else { slc };
        let mut end = now;
        let mut left = pages;
        while left >= 1.0 {
            let die = usize::try_from(rng.below(self.stations.len() as u64)).unwrap_or(0);
            let mut service = one * work * slower * (0.85 + 0.3 * rng.unit());
            if !place.is_read && place.is_random && rng.unit() < collection.0 {
                service += collection.1;
            }
            end = end.max(self.stations[die].serve(now, service));
            left -= 1.0;
        }
        end
    }
}
