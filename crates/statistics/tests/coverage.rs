//! Whether intervals hold what they say: many series with a known mean.

use assay_statistics::window::{Times, of_mean, of_quantile, spread};
use assay_statistics::{Estimate, NoInterval, Spread, geometric_mean, level, mean, ratio};

/// A generator that is the same everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = random.unit());
        random
    }

    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().max(1e-300).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Noise of deviation 1 that remembers this share of the value before.
    fn wandering(&mut self, memory: f64, count: usize) -> Vec<f64> {
        let mut last = self.normal();
        let mut next = || {
            last = memory * last + (1.0 - memory * memory).sqrt() * self.normal();
            last
        };
        (0..count).map(|_| next()).collect()
    }
}

/// An estimate from the repetitions of two sides, and what it should hold.
type OfSides = dyn Fn(&[f64], &[f64]) -> (Estimate, f64);

/// A kind of series: its name, a series, and the mean that it scatters around.
type Kind = (&'static str, fn(&mut Random) -> Vec<f64>, f64);

const LEVEL: f64 = 1000.0;

const KINDS: [Kind; 6] = [
    ("independent", |r| (0..60).map(|_| LEVEL + 50.0 * r.normal()).collect(), LEVEL),
    ("autocorrelated", |r| r.wandering(0.5, 60).iter().map(|x| LEVEL + 50.0 * x).collect(), LEVEL),
    (
        "drifting",
        |r| r.wandering(0.95, 600).iter().map(|x| LEVEL + 50.0 * x + 50.0 * r.normal()).collect(),
        LEVEL,
    ),
    (
        "bimodal",
        |r| (0..60).map(|_| if r.unit() < 0.3 { 600.0 } else { LEVEL } + 20.0 * r.normal()).collect(),
        880.0,
    ),
    (
        "heavy-tailed",
        |r| (0..60).map(|_| LEVEL * (0.5 * r.normal()).exp()).collect(),
        // LEVEL x exp(0.5^2 / 2).
        1_133.148_453,
    ),
    (
        "few",
        |r| {
            let all = (0..8).map(|_| LEVEL + 50.0 * r.normal()).collect::<Vec<f64>>();
            // 4 to 8 seconds.
            let left_out = [0, 1, 2, 3, 4].into_iter().filter(|_| r.unit() < 0.5).count();
            all[left_out.min(4)..].to_vec()
        },
        LEVEL,
    ),
];

const SERIES: u64 = 1000;

#[test]
fn intervals_of_95_percent_hold_the_mean_in_93_to_99_percent_of_six_kinds_of_series() {
    for (name, series, level) in KINDS {
        let (mut stated, mut held) = (0_u32, 0_u32);
        for seed in 0..SERIES {
            let values = series(&mut Random::new(seed));
            let Some((lo, hi)) = of_mean(mean(&values), &values).ends() else { continue };
            stated += 1;
            held += u32::from((lo..=hi).contains(&level));
        }
        let share = f64::from(held) / f64::from(stated);
        println!(
            "{name}: {stated} of {SERIES} have an interval, {:.1} % of them hold the mean",
            share * 100.0
        );
        assert!((0.93..=0.99).contains(&share), "{name}: {share}");
        assert!(stated >= 900, "{name}: {stated} of {SERIES} stated");
    }
}

#[test]
fn intervals_of_repetitions_hold_what_they_say() {
    let check = |name: &str, runs: usize, of: &OfSides| {
        let held = (0..SERIES).filter(|seed| {
            let mut random = Random::new(*seed);
            let side = |level: f64, random: &mut Random| -> Vec<f64> {
                (0..runs).map(|_| level * (0.05 * random.normal()).exp()).collect()
            };
            let (a, b) = (side(LEVEL, &mut random), side(LEVEL * 1.1, &mut random));
            let (estimate, truth) = of(&a, &b);
            let (lo, hi) = estimate.ends().unwrap();
            (lo..=hi).contains(&truth)
        });
        let share = held.count() as f64 / SERIES as f64;
        println!("{name} of {runs}: {share}");
        assert!((0.93..=0.995).contains(&share), "{name} of {runs}: {share}");
    };
    for runs in [2, 3, 5, 8, 20] {
        check("level", runs, &|a, _| (level(a), LEVEL));
        check("ratio", runs, &|a, b| {
            let spreads = Spread::of_repeats(a).zip(Spread::of_repeats(b));
            (ratio(geometric_mean(a), geometric_mean(b), spreads), 1.1)
        });
    }
}

/// Quantiles of the exponential distribution with mean 1.
fn exponential(q: f64) -> Option<f64> {
    Some(-(1.0 - q).ln())
}

#[test]
fn widths_follow_seconds_scatter_and_percentile() {
    for seed in 0..SERIES {
        let mut random = Random::new(seed);
        let noise: Vec<f64> = (0..120).map(|_| random.normal()).collect();
        let of = |count: usize, scatter: f64| {
            let values: Vec<f64> = noise[..count].iter().map(|x| LEVEL + scatter * x).collect();
            spread(&values).map(Spread::half_width)
        };
        // Twice the scatter, about twice the width; the mean moves a little.
        if let (Ok(calm), Ok(wild)) = (of(60, 20.0), of(60, 40.0)) {
            assert!((wild / calm - 2.0).abs() < 0.1, "{seed}: {calm} {wild}");
        }
        let rates: Vec<f64> = noise[..60].iter().map(|x| LEVEL + 10.0 * x).collect();
        let flat = vec![1.0; 60];
        let width = |q: f64, count: u64, seconds: &[&[f64]]| {
            let times = Times { at: &exponential, count, rates: &rates };
            of_quantile(times, q, seconds).unwrap().half_width()
        };
        // More I/Os know a percentile better, and p99.9 is known worse than p99.
        assert!(width(0.99, 1_000_000, &[&flat]) < width(0.99, 10_000, &[&flat]), "{seed}");
        assert!(width(0.999, 1_000_000, &[&flat]) > width(0.99, 1_000_000, &[&flat]), "{seed}");
        // Whatever the seconds of a percentile scatter makes it no surer.
        let moving: Vec<f64> = noise[..60].iter().map(|x| (0.2 * x).exp()).collect();
        assert!(width(0.99, 1_000_000, &[&flat, &moving]) >= width(0.99, 1_000_000, &[&flat]), "{seed}");
    }
    let longer: Vec<f64> = (10..=120).step_by(10).map(mean_width).collect();
    assert!(longer.windows(2).all(|pair| pair[1] < pair[0]), "{longer:?}");
}

/// Mean width over many series of so many seconds.
fn mean_width(count: usize) -> f64 {
    let widths = (0..SERIES).filter_map(|seed| {
        let mut random = Random::new(seed);
        let values: Vec<f64> = (0..count).map(|_| LEVEL + 50.0 * random.normal()).collect();
        spread(&values).ok().map(Spread::half_width)
    });
    mean(&widths.collect::<Vec<_>>())
}

#[test]
fn what_cannot_have_an_interval_has_none_and_says_why() {
    let why = |values: &[f64]| of_mean(mean(values), values).why;
    assert_eq!(why(&[900.0, 1000.0, 1100.0]), Some(NoInterval::TooShort));
    let line: Vec<f64> = (0..60).map(|s| 1000.0 - 10.0 * f64::from(s)).collect();
    assert_eq!(why(&line), Some(NoInterval::Drifts));
    // Half a wave in the window.
    let wave: Vec<f64> = (0..40).map(|s| 1000.0 + 50.0 * (f64::from(s) / 8.0).sin()).collect();
    assert_eq!(why(&wave), Some(NoInterval::Wanders));
    let rates = [1000.0, 990.0, 1010.0, 1000.0, 1005.0];
    let times = Times { at: &exponential, count: 100, rates: &rates };
    assert_eq!(of_quantile(times, 0.999, &[&rates]).unwrap().why, Some(NoInterval::TooFewBeyond));
    assert_eq!(of_quantile(times, 0.5, &[]).unwrap().why, Some(NoInterval::SecondsUnknown));
    let short = Times { at: &exponential, count: 1_000_000, rates: &rates[..2] };
    assert_eq!(of_quantile(short, 0.5, &[&rates[..2]]).unwrap().why, Some(NoInterval::TooShort));
}
