//! Stripes with a slow member, each size of them: which are named?

use super::causes::{ample, case, load};
use super::*;

/// Numbers of members, factors and chunks, KiB.
const MEMBERS: [usize; 2] = [4, 8];
const SLOWER: [f64; 3] = [2.0, 3.0, 5.0];
const CHUNKS_KIB: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];
/// Stripes of each chunk size.
pub(crate) const KINDS: usize = MEMBERS.len() * SLOWER.len();
/// Time of an access on a member that is not slow, µs: a few of such drives do some hundred to some thousand IOPS.
const SERVICE_US: f64 = 1000.0;

/// A stripe, and the load on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) members: usize,
    pub(crate) slower: f64,
    pub(crate) chunk_kib: u64,
    pub(crate) outstanding: usize,
    pub(crate) serves: Serves,
    /// Which are slow: a bit for each, the lowest is that of the first.
    pub(crate) slow: u32,
}

/// Every size, with so many I/Os in flight.
pub(crate) fn cells(outstanding: usize, serves: Serves) -> Vec<Cell> {
    let mut all = Vec::new();
    for chunk_kib in CHUNKS_KIB {
        for members in MEMBERS {
            for slower in SLOWER {
                // Another one in each cell.
                let slow = 1 << (all.len() * 5 % members);
                all.push(Cell { members, slower, chunk_kib, outstanding, serves, slow });
            }
        }
    }
    all
}

impl Cell {
    /// The set-up, with so much time for the diagnosis, s.
    pub(crate) fn case(&self, budget_s: f64) -> PlantedCase {
        let seed =
            self.chunk_kib * 1000 + (self.members * 100 + self.outstanding) as u64 + self.slower as u64;
        let mut random = Random::new(seed);
        let (mut world, mut load) = (ample(&mut random, false), load(&mut random));
        world.medium = Medium::Stripe {
            members: self.members,
            service_us: SERVICE_US,
            slower: self.slower,
            slow: self.slow,
            serves: self.serves,
            chunk: (self.chunk_kib << 10) as f64,
        };
        (load.outstanding, load.workers) = (self.outstanding, 1);
        (load.size, load.reads, load.random) = (4096.0, 1.0, 1.0);
        let drawn = case(Cause::SlowMember, (world, load), seed, &mut random);
        // The whole target: a window of its own is drawn for a part of all set-ups.
        let load = PlantedLoad { span: 1.0, ..drawn.load };
        // A device: which member of a file's it is nobody knows.
        let setting = Setting { is_file: false, ..drawn.setting };
        PlantedCase { budget_s, setting, load, may_write: false, ..drawn }
    }
}
