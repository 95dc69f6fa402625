//! The data of writes.

use std::sync::Arc;

use assay_spec::Data;

use crate::rng::{BulkRng, Rng};

/// Unit of reducible data, bytes: the block size by which most storage compresses and deduplicates.
const UNIT_BYTES: usize = 4096;
/// Number of earlier unique units from which a duplicate is drawn.
const DEDUPE_POOL: usize = 64;
/// Size of the random pool for unique data, bytes: it fits the cache of a core, and a random window of it under a
/// random 64-bit mask takes 0.1 µs for 4 KiB, where fresh random bytes take 0.5 µs.
const UNIQUE_POOL_BYTES: usize = 4 << 20;
/// Alignment of windows, bytes, so that copies are aligned.
const WINDOW_GRAIN: usize = 64;
/// Size of the random pool for Iometer's full random data, bytes.
const IOMETER_POOL_BYTES: usize = 16 << 20;

/// Random bytes from which all workers of a job take their windows; empty if the job needs none.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<[u8]>);

impl Pool {
    /// Returns a pool for writes of up to `size_max` bytes: 4 or 16 MiB per job with such data, however many workers it
    /// has.
    pub(crate) fn new(data: Data, size_max: usize, seed: u64) -> Self {
        let bytes = match data {
            Data::Unique => UNIQUE_POOL_BYTES + size_max,
            Data::IometerFullRandom => IOMETER_POOL_BYTES + size_max,
            Data::Reducible { .. } | Data::IometerRepeating | Data::IometerPseudoRandom => 0,
        };
        Self(random_bytes(bytes, seed).into())
    }
}

fn random_bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; count];
    BulkRng::new(seed).fill(&mut bytes);
    bytes
}

/// Generates the data of one worker's writes.
pub(crate) enum Filler {
    /// A random window into a pool under a random mask: no block repeats, and blocks have nothing in common.
    Unique { pool: Pool, rng: Rng },
    /// Random bytes of which one share compresses and one share repeats.
    Reducible(Reducible),
    /// One random byte, repeated.
    Repeating(Rng),
    /// The same random bytes for every write.
    PseudoRandom(Vec<u8>),
    /// A window at a random multiple of four into a pool.
    FullRandom { pool: Pool, rng: Rng },
}

/// Data that compresses by `compress` and deduplicates by `dedupe`.
pub(crate) struct Reducible {
    /// Number of leading random bytes in each unit; the rest is zero.
    random_bytes: usize,
    /// Number of new units out of 2^32.
    unique_limit: u64,

    rng: Rng,
    recent: Vec<u64>,
}

impl Filler {
    /// Returns a filler for writes of up to `size_max` bytes; `pool` is that of the job.
    pub(crate) fn new(data: Data, pool: &Pool, size_max: usize, seed: u64) -> Self {
        match data {
            Data::Unique => Self::Unique { pool: pool.clone(), rng: Rng::new(seed) },
            Data::Reducible { compress, dedupe } => Self::Reducible(Reducible::new(compress, dedupe, seed)),
            Data::IometerRepeating => Self::Repeating(Rng::new(seed)),
            Data::IometerPseudoRandom => Self::PseudoRandom(random_bytes(size_max, seed)),
            Data::IometerFullRandom => Self::FullRandom { pool: pool.clone(), rng: Rng::new(seed) },
        }
    }

    /// Fills a write's buffer.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        match self {
            Self::Unique { pool, rng } => {
                let start = window(rng, pool.0.len(), bytes.len(), WINDOW_GRAIN);
                copy_masked(bytes, &pool.0[start..], rng.next());
            }
            Self::Reducible(reducible) => bytes.chunks_mut(UNIT_BYTES).for_each(|unit| reducible.fill(unit)),
            Self::Repeating(rng) => bytes.fill(rng.next().to_le_bytes()[7]),
            Self::PseudoRandom(pattern) => bytes.copy_from_slice(&pattern[..bytes.len()]),
            Self::FullRandom { pool, rng } => {
                let start = window(rng, pool.0.len(), bytes.len(), 4);
                bytes.copy_from_slice(&pool.0[start..start + bytes.len()]);
            }
        }
    }
}

/// Returns the start of a random window of `length` bytes, a multiple of `grain`.
fn window(rng: &mut Rng, pool: usize, length: usize, grain: usize) -> usize {
    let windows = (pool - length) / grain + 1;
    usize::try_from(rng.below(windows as u64)).expect("below the pool's length") * grain
}

/// Fills `to` from `from`, each eight bytes under `mask`.
fn copy_masked(to: &mut [u8], from: &[u8], mask: u64) {
    let (eights, rest) = to.as_chunks_mut::<8>();
    let done = eights.len() * 8;
    for (to, from) in eights.iter_mut().zip(from.as_chunks::<8>().0) {
        *to = (u64::from_le_bytes(*from) ^ mask).to_le_bytes();
    }
    for ((to, from), mask) in rest.iter_mut().zip(&from[done..]).zip(mask.to_le_bytes()) {
        *to = from ^ mask;
    }
}

impl Reducible {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ratios are at least 1, so shares are at most 1"
    )]
    fn new(compress: f64, dedupe: f64, seed: u64) -> Self {
        let random_bytes = (UNIT_BYTES as f64 / compress).round() as usize;
        let unique_limit = ((1_u64 << 32) as f64 / dedupe).round() as u64;
        Self { random_bytes, unique_limit, rng: Rng::new(seed), recent: Vec::with_capacity(DEDUPE_POOL) }
    }

    fn fill(&mut self, unit: &mut [u8]) {
        let seed = self.content();
        let random = self.random_bytes.min(unit.len());
        BulkRng::new(seed).fill(&mut unit[..random]);
        unit[random..].fill(0);
    }

    /// Returns the seed of the next unit: a new one, or a recently used one.
    fn content(&mut self) -> u64 {
        let fresh = self.rng.next();
        if self.recent.is_empty() || (self.rng.next() >> 32) < self.unique_limit {
            match self.recent.len() {
                DEDUPE_POOL => self.recent[usize::from(fresh.to_le_bytes()[7]) % DEDUPE_POOL] = fresh,
                _ => self.recent.push(fresh),
            }
            return fresh;
        }
        let index = self.rng.below(self.recent.len() as u64);
        self.recent[usize::try_from(index).expect("below a small length")]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn written(data: Data, size: usize, count: usize) -> Vec<Vec<u8>> {
        let mut filler = Filler::new(data, &Pool::new(data, size, 41), size, 42);
        (0..count)
            .map(|_| {
                let mut bytes = vec![0xEE; size];
                filler.fill(&mut bytes);
                bytes
            })
            .collect()
    }

    fn distinct(blocks: &[Vec<u8>]) -> usize {
        blocks.iter().flat_map(|b| b.chunks(UNIT_BYTES)).collect::<HashSet<_>>().len()
    }

    #[test]
    fn unique_data_never_repeats_a_block() {
        assert_eq!(distinct(&written(Data::Unique, 8192, 500)), 1000);
    }

    #[test]
    fn unique_data_of_any_size_fills_all_of_it_evenly() {
        for size in [1, 7, 512, 4096, 5003] {
            let bytes: Vec<u8> = written(Data::Unique, size, 100_000 / size).concat();
            let mut counts = [0_u32; 256];
            bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
            let expected = bytes.len() as f64 / 256.0;
            // Chi-square with 255 degrees of freedom; the seed is fixed.
            let chi: f64 = counts.iter().map(|c| (f64::from(*c) - expected).powi(2) / expected).sum();
            assert!(chi < 340.0, "{size}: {chi}");
        }
    }

    #[test]
    fn iometers_patterns_match_their_description() {
        let repeating = written(Data::IometerRepeating, 4096, 50);
        assert!(repeating.iter().all(|b| b.iter().all(|x| x == &b[0])) && distinct(&repeating) > 20);
        assert_eq!(distinct(&written(Data::IometerPseudoRandom, 4096, 50)), 1);
        assert_eq!(distinct(&written(Data::IometerFullRandom, 4096, 50)), 50);
    }

    #[test]
    fn reducible_data_has_the_requested_ratios() {
        let blocks = written(Data::Reducible { compress: 2.0, dedupe: 4.0 }, 4096, 8000);
        let zeros = blocks.iter().flatten().filter(|b| **b == 0).count() as f64 / (8000.0 * 4096.0);
        assert!((zeros - 0.502).abs() < 0.01, "{zeros}");
        let ratio = 8000.0 / distinct(&blocks) as f64;
        assert!((ratio / 4.0 - 1.0).abs() < 0.1, "{ratio}");
    }
}
