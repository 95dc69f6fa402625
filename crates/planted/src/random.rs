//! Seeded draws for set-ups.

use assay_model::rng::Rng;

/// The model's generator: the same seed must give the same set-up for ever.
pub(crate) struct Random(Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x6A09_E667_F3BC_C909);
        rng.bits();
        Self(rng)
    }

    pub(crate) fn seed(&mut self) -> u64 {
        self.0.bits()
    }

    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.seed() % (limit as u64).max(1)).unwrap_or(0)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Even over the logarithm; panics where that does not exist.
    pub(crate) fn within(&mut self, lo: f64, hi: f64) -> f64 {
        assert!(0.0 < lo && lo <= hi, "no logarithm between {lo} and {hi}");
        (lo.ln() + (hi.ln() - lo.ln()) * self.unit()).exp()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let (a, b) = (self.unit().max(1e-12), self.unit());
        (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
    }
}
