//! Where a quantity that falls or rises is zero, between two places of which one is on either side: steps along the
//! line through both (regula falsi), with Illinois' halving of an end that stays.

/// Two places, each with the quantity there; the signs differ.
#[derive(Debug, Clone, Copy)]
pub struct Bracket {
    /// The lower place, and the quantity.
    pub low: (f64, f64),
    /// The higher place, and the quantity.
    pub high: (f64, f64),
    last: f64,
}

impl Bracket {
    /// A bracket of two places with their quantities.
    #[must_use]
    pub const fn new(low: (f64, f64), high: (f64, f64)) -> Self {
        Self { low, high, last: 0.0 }
    }

    /// The share of the way from the lower place to the higher one that is tried next, at least `least` from either
    /// end.
    #[must_use]
    pub fn step(&self, least: f64) -> f64 {
        (self.low.1 / (self.low.1 - self.high.1)).clamp(least, 1.0 - least)
    }

    /// Moves the end that is on the same side as what was found at a place between.
    pub fn narrow(&mut self, place: f64, found: f64) {
        let is_low = (found > 0.0) == (self.low.1 > 0.0);
        let (moved, stays) =
            if is_low { (&mut self.low, &mut self.high) } else { (&mut self.high, &mut self.low) };
        *moved = (place, found);
        if found * self.last > 0.0 {
            stays.1 /= 2.0;
        }
        self.last = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the halving one end of a curve that bends stays for ever, and each step is a small one.
    #[test]
    fn a_curve_that_bends_is_found_in_few_steps_from_either_side() {
        for sign in [1.0, -1.0] {
            let curve = |x: f64| sign * (x.powi(9) - 0.5);
            let mut bracket = Bracket::new((0.0, curve(0.0)), (2.0, curve(2.0)));
            for _ in 0..24 {
                let at = bracket.low.0 + (bracket.high.0 - bracket.low.0) * bracket.step(0.02);
                bracket.narrow(at, curve(at));
            }
            let root = 0.5_f64.powf(1.0 / 9.0);
            let (low, high) = (bracket.low.0, bracket.high.0);
            assert!(low <= root && root <= high && high - low < 1e-2, "{sign}: {bracket:?}");
        }
    }
}
