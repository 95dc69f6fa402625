//! Slow places: read again beside others, to tell a weak place from a moment at which everything was slow.

use crate::level::{Excess, excess};
use crate::sample::{Order, Outcome, Sample, Why};

/// A place is looked at again if it took so many times as long as others at its time.
const TIMES_SUSPECT: f64 = 3.0;
/// Most places that are looked at again.
const SPOTS_MAX: usize = 32;
/// Each is read again so often, beside another place. Were it like any other, either of a pair would be the slower one
/// as often: that all but [`MISSES_MAX`] of 21 pairs say "slower" then has a probability of 1 in 95 000.
const PAIRS: u32 = 21;
/// So many pairs may say that it is not slow.
const MISSES_MAX: u32 = 1;
/// A pair says "slow" where the place takes this many times as long as the other one.
const TIMES_SLOW: f64 = 2.0;
/// Fewer reads do not say what is usual.
pub(crate) const NEIGHBOURS_MIN: u64 = 32;

/// The slow places of a survey.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    spots: Vec<Spot>,
    /// Index of the spot that was read again last.
    turn: usize,
}

#[derive(Debug)]
struct Spot {
    offset_bytes: u64,
    pairs: u32,
    misses: u32,
    again_ns: Option<u64>,
    control_ns: Option<u64>,
    ratios: Vec<f64>,
}

/// How the slow places ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Judged {
    /// Slow every time: place, and how many times as slow as others.
    pub(crate) weak: Vec<(u64, f64)>,
    /// Places that were slow once, and not when they were read again.
    pub(crate) passing: usize,
    /// Places for which the time did not suffice.
    pub(crate) open: usize,
    /// Probability that noise alone makes one of them weak.
    pub(crate) chance: f64,
}

impl Candidates {
    /// Returns the places that took far longer than others at their time, the slowest first.
    pub(crate) fn of(excess: &[Excess]) -> Self {
        let mut slow: Vec<&Excess> = excess.iter().filter(|one| one.log > TIMES_SUSPECT.ln()).collect();
        slow.sort_by(|a, b| b.log.total_cmp(&a.log));
        let mut spots: Vec<Spot> = Vec::new();
        for one in slow {
            if spots.len() < SPOTS_MAX && spots.iter().all(|spot| spot.offset_bytes != one.offset_bytes) {
                spots.push(Spot::at(one.offset_bytes));
            }
        }
        Self { spots, turn: 0 }
    }

    /// Returns the place to be read again next: each in turn, so that what disturbs one moment meets each of them once.
    pub(crate) fn next(&mut self) -> Option<(usize, u64)> {
        let count = self.spots.len();
        let index =
            (1..=count).map(|by| (self.turn + by) % count).find(|index| self.spots[*index].is_open())?;
        self.turn = index;
        Some((index, self.spots[index].offset_bytes))
    }

    /// Notes a read.
    pub(crate) fn took(&mut self, sample: &Sample) {
        let latency_ns = match sample.outcome {
            Outcome::Failed(_) => u64::MAX,
            Outcome::Data | Outcome::Zeros => sample.latency_ns.max(1),
        };
        let (spot, is_again) = match sample.look.why {
            Why::Again { spot } => (spot, true),
            Why::Control { spot } => (spot, false),
            Why::Place | Why::Position | Why::Transfer => return,
        };
        let Some(spot) = self.spots.get_mut(spot) else { return };
        *if is_again { &mut spot.again_ns } else { &mut spot.control_ns } = Some(latency_ns);
        if let (Some(again), Some(control)) = (spot.again_ns, spot.control_ns) {
            spot.pair(again as f64 / control as f64);
        }
    }

    fn judged(&self) -> Judged {
        let mut judged = Judged::default();
        for spot in &self.spots {
            match (spot.misses > MISSES_MAX, spot.pairs >= PAIRS) {
                (true, _) => judged.passing += 1,
                (false, true) => {
                    judged.weak.push((spot.offset_bytes, assay_statistics::median(&spot.ratios)));
                }
                (false, false) => judged.open += 1,
            }
        }
        judged.weak.sort_unstable_by_key(|(offset, _)| *offset);
        judged.chance = self.spots.len() as f64 * f64::from(1 + PAIRS) / 2_f64.powf(f64::from(PAIRS));
        judged
    }
}

impl Spot {
    fn at(offset_bytes: u64) -> Self {
        Self { offset_bytes, pairs: 0, misses: 0, again_ns: None, control_ns: None, ratios: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.pairs < PAIRS && self.misses <= MISSES_MAX
    }

    fn pair(&mut self, ratio: f64) {
        self.pairs += 1;
        self.misses += u32::from(ratio < TIMES_SLOW);
        self.ratios.push(ratio);
        (self.again_ns, self.control_ns) = (None, None);
    }
}

/// Returns how the slow places of a whole survey ended.
pub(crate) fn judged(samples: &[Sample], order: Order) -> Judged {
    let is_again = |sample: &Sample| matches!(sample.look.why, Why::Again { .. } | Why::Control { .. });
    // The candidates were chosen from what had been read before the first was read again.
    let before = samples.iter().position(is_again).unwrap_or(samples.len());
    let mut candidates = Candidates::of(&excess(&samples[..before], order));
    samples.iter().for_each(|sample| candidates.took(sample));
    candidates.judged()
}
