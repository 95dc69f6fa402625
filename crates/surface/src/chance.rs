//! Ranks, and how probable it is that noise alone explains a difference.

/// Largest probability with which noise alone makes a finding.
pub(crate) const CHANCE_MAX: f64 = 0.001;

/// Upper bound of the probability that a normal variable exceeds `z`, times the number of things that were looked at.
pub(crate) fn corrected(z: f64, looked_at: usize) -> f64 {
    if z <= 1.0 {
        return 1.0;
    }
    // Mills' ratio: the tail lies below the density over z.
    let tail = (-z * z / 2.0).exp() / (z * (2.0 * std::f64::consts::PI).sqrt());
    (tail * looked_at as f64).min(1.0)
}

/// Returns the rank of each value as a share, in (0, 1); equal values share the mean of their ranks.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = (f64::from(before) + equal.len() as f64 / 2.0) / values.len() as f64;
        equal.iter().for_each(|index| ranks[*index] = rank);
        before += u32::try_from(equal.len()).unwrap_or(u32::MAX);
    }
    ranks
}

/// Number, sum and sum of squares of values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    pub(crate) n: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
}

impl Moments {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.add(value));
        moments
    }

    pub(crate) fn add(&mut self, value: f64) {
        self.n += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub(crate) fn with(self, part: Self) -> Self {
        Self { n: self.n + part.n, sum: self.sum + part.sum, squares: self.squares + part.squares }
    }

    pub(crate) fn without(self, part: Self) -> Self {
        Self { n: self.n - part.n, sum: self.sum - part.sum, squares: self.squares - part.squares }
    }

    pub(crate) fn mean(self) -> f64 {
        self.sum / self.n.max(1.0)
    }

    /// Standard deviation of one value.
    pub(crate) fn deviation(self) -> f64 {
        (self.squares / self.n.max(1.0) - self.mean().powi(2)).max(0.0).sqrt()
    }
}

/// By how many standard errors the mean of a part lies above the mean of the rest, if the part were drawn by chance.
pub(crate) fn errors_above(part: Moments, all: Moments) -> f64 {
    let rest = all.without(part);
    if part.n < 1.0 || rest.n < 1.0 || all.deviation() <= 0.0 {
        return 0.0;
    }
    (part.mean() - rest.mean()) / (all.deviation() * (1.0 / part.n + 1.0 / rest.n).sqrt())
}
