//! Seeded randomness for simulations.

use assay_spec::random::split_mix;

/// A SplitMix64 generator.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Starts at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        split_mix(&mut self.state)
    }

    /// A real number in \[0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `limit`, which must not be 0. The bias of the multiplication is below 2^-32.
    pub fn below(&mut self, limit: u64) -> u64 {
        debug_assert!(limit > 0 && limit <= 1 << 32);
        ((self.bits() >> 32) * limit) >> 32
    }

    /// An exponential waiting time with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}
