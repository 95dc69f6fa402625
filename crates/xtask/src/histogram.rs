//! Cost of recording one time: hdrhistogram against a plain log-linear array, alternating.

use std::hint::black_box;
use std::time::Instant;

use hdrhistogram::Histogram;

/// Number of times recorded in a row; they fit a first-level cache, so that only recording is measured.
const TIMES: usize = 2048;
/// Number of passes over them per round: a round takes about 50 ms.
const PASSES: usize = 20_000;
/// Number of rounds, of which the median is printed.
const ROUNDS: usize = 15;
/// Longest latency with its own bucket, ns; as in the record room.
const HIGHEST_NS: u64 = 1 << 42;

/// Buckets per power of two of the plain array, as a power of two: 1/128 wide, as two decimal digits need.
const SUB_BITS: u32 = 7;

/// The simplest possible histogram: one shift, one add, no bounds but the array's.
struct Plain {
    counts: Vec<u64>,
}

impl Plain {
    fn new() -> Self {
        Self { counts: vec![0; (64 - SUB_BITS as usize) << SUB_BITS] }
    }

    #[inline]
    fn record(&mut self, ns: u64) {
        let shift = (63 - (ns | 1).leading_zeros()).saturating_sub(SUB_BITS);
        let index = ((u64::from(shift)) << SUB_BITS) + (ns >> shift);
        let last = self.counts.len() - 1;
        self.counts[usize::try_from(index).map_or(last, |index| index.min(last))] += 1;
    }
}

pub(crate) fn histogram() {
    let times = times();
    let hdr = |digits| Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, digits).expect("constants that fit");
    let (mut two, mut three, mut plain) = (hdr(2), hdr(3), Plain::new());
    let mut costs: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        costs[0].push(cost(&times, |ns| _ = black_box(ns)));
        costs[1].push(cost(&times, |ns| two.saturating_record(ns)));
        costs[2].push(cost(&times, |ns| three.saturating_record(ns)));
        costs[3].push(cost(&times, |ns| plain.record(ns)));
    }
    black_box((&two, &three, &plain.counts));
    println!("ns per record, median of {ROUNDS} rounds in turns ({TIMES} times between 20 us and 5 ms)");
    let names = ["empty loop", "hdrhistogram, 2 digits", "hdrhistogram, 3 digits", "plain log-linear array"];
    for (name, costs) in names.iter().zip(&mut costs) {
        costs.sort_by(f64::total_cmp);
        println!("  {name:<24} {:.2}", costs[ROUNDS / 2]);
    }
}

fn cost(times: &[u64], mut record: impl FnMut(u64)) -> f64 {
    let started = Instant::now();
    for _ in 0..PASSES {
        for ns in black_box(times) {
            record(*ns);
        }
    }
    started.elapsed().as_secs_f64() * 1e9 / (TIMES * PASSES) as f64
}

/// Returns times like those of storage: log-uniform from 20 us to about 5 ms, from a fixed sequence.
fn times() -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..TIMES).map(|_| (20_000 << (next() % 8)) + next() % 20_000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_array_keeps_order_and_neighbours_apart() {
        let bucket = |ns| {
            let mut plain = Plain::new();
            plain.record(ns);
            plain.counts.iter().position(|count| *count == 1).unwrap()
        };
        let buckets: Vec<_> = (0..40).map(|bits| bucket(1_u64 << bits)).collect();
        assert!(buckets.is_sorted() && buckets.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(bucket(1_000_000) < bucket(1_010_000));
    }
}
