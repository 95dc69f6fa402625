//! What is asked of an array: the model's own small view of a test.

use assay_spec::units::{Bytes, GIB, KIB, MIB, Nanos};

/// One line of a mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Size of each I/O.
    pub size: Bytes,
    /// Share of reads, % in \[0, 100\].
    pub read_pct: f64,
    /// Share of random positions, % in \[0, 100\]; the rest continues where the last I/O ended.
    pub random_pct: f64,
    /// Weight among the lines; only ratios matter.
    pub weight: f64,
}

/// When the next I/O is issued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadModel {
    /// As soon as one completes: a closed loop with fixed outstanding.
    Closed,
    /// At a rate, whatever completes (up to `outstanding` in flight).
    Rate {
        /// I/Os per second of all workers together.
        per_s: f64,
        /// How the arrivals are spread.
        arrivals: Arrivals,
    },
}

/// Spread of paced arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Equal gaps.
    Even,
    /// Exponential gaps.
    Poisson,
}

/// How unevenly the positions of a load are used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Skew {
    /// Evenly, as far as the load says; the array file may say more (`tier.skew`).
    None,
    /// The k-th hottest place gets 1/k^theta of the hottest one's I/Os.
    Zipf(f64),
    /// A share 1-h of the I/Os goes to a share h of the places, and so on within these. In (0, 1).
    Pareto(f64),
}

impl Skew {
    /// Share of the I/Os that fall on the hottest `part` of `places`, both in \[0, 1\]:
    /// ```text
    ///   zipf    H(part n) / H(n),  H(k) = (k^(1 - theta) - 1) / (1 - theta) + 1,  ln k + 1 for theta = 1
    ///   pareto  part^(ln(1 - h) / ln h)
    /// ```
    #[must_use]
    pub fn on_hottest(self, part: f64, places: f64) -> f64 {
        let part = part.clamp(0.0, 1.0);
        match self {
            Self::None => part,
            Self::Zipf(theta) => {
                let sum = |k: f64| match (1.0 - theta).abs() < 1e-6 {
                    true => k.ln() + 1.0,
                    false => (k.powf(1.0 - theta) - 1.0) / (1.0 - theta) + 1.0,
                };
                let (places, hot) = (places.max(1.0), part * places);
                // Below one place, only a part of the hottest one's I/Os.
                if hot < 1.0 { hot / sum(places) } else { sum(hot) / sum(places) }
            }
            Self::Pareto(h) if part > 0.0 => part.powf((1.0 - h).ln() / h.ln()),
            Self::Pareto(_) => 0.0,
        }
    }
}

/// A part of an array's data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Where it starts, bytes from the outer edge of the disks.
    pub start_bytes: f64,
    /// Bytes of data in it.
    pub span_bytes: f64,
    /// From its first byte to its last; more than the data where they lie in pieces.
    pub reach_bytes: f64,
    /// Stretches that do not follow each other. At least 1.
    pub pieces: f64,
}

impl Region {
    /// A region at the outer edge.
    #[must_use]
    pub fn outer(span_bytes: f64) -> Self {
        Self { start_bytes: 0.0, span_bytes, reach_bytes: span_bytes, pieces: 1.0 }
    }
}

/// A load on an array, from one client.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Name of the test.
    pub name: String,
    /// The mix; at least one line with a weight above 0.
    pub mix: Vec<Access>,
    /// I/Os kept in flight per worker.
    pub outstanding: u32,
    /// Workers.
    pub workers: u32,
    /// Where the region starts in the array's data: 0 = the outer, fast edge of its disks.
    pub start: Bytes,
    /// Bytes of the region that positions fall into.
    pub span: Bytes,
    /// From the first byte of the region to its last, where its pieces lie apart; less than the span counts as it.
    pub reach: Bytes,
    /// Stretches of the region that do not follow each other on the array.
    pub pieces: u32,
    /// Measured time.
    pub duration: Nanos,
    /// Drain, reopen and rewind after this many I/Os of a worker.
    pub reconnect_every: Option<u32>,
    /// Pacing.
    pub pace: LoadModel,
    /// A worker flushes after so many writes, 1 = each is durable before it is answered; `None`: never.
    pub flush_every: Option<u32>,
    /// How unevenly positions are used.
    pub skew: Skew,
}

impl Workload {
    /// One access pattern in a closed loop for two minutes on 4 GiB.
    #[must_use]
    pub fn simple(name: &str, size: u64, read_pct: f64, random_pct: f64, outstanding: u32) -> Self {
        Self {
            name: name.to_owned(),
            mix: vec![Access { size: Bytes(size), read_pct, random_pct, weight: 1.0 }],
            outstanding,
            workers: 1,
            start: Bytes(0),
            span: Bytes(4 * GIB),
            reach: Bytes(0),
            pieces: 1,
            duration: Nanos::from_secs(120),
            reconnect_every: None,
            pace: LoadModel::Closed,
            flush_every: None,
            skew: Skew::None,
        }
    }

    /// I/Os in flight of all workers.
    #[must_use]
    pub fn total_outstanding(&self) -> f64 {
        f64::from(self.outstanding.max(1)) * f64::from(self.workers.max(1))
    }

    /// Where its positions are.
    #[must_use]
    pub fn region(&self) -> Region {
        Region {
            start_bytes: self.start.0 as f64,
            span_bytes: self.span.0 as f64,
            reach_bytes: self.reach.0.max(self.span.0) as f64,
            pieces: f64::from(self.pieces.max(1)),
        }
    }

    /// Mean bytes of an I/O.
    #[must_use]
    pub fn mean_size(&self) -> f64 {
        let weight: f64 = self.mix.iter().map(|a| a.weight).sum();
        self.mix.iter().map(|a| a.size.0 as f64 * a.weight).sum::<f64>() / weight
    }

    /// The four tests of the VMware forum thread: 64 outstanding, drain and reopen every 500, two minutes.
    #[must_use]
    pub fn forum_tests(span: Bytes) -> Vec<Self> {
        [
            ("Max Throughput-100%Read", 32 * KIB, 100.0, 0.0),
            ("RealLife-60%Rand-65%Read", 8 * KIB, 65.0, 60.0),
            ("Max Throughput-50%Read", 32 * KIB, 50.0, 0.0),
            ("Random-8k-70%Read", 8 * KIB, 70.0, 100.0),
        ]
        .map(|(name, size, read, random)| Self {
            span,
            reconnect_every: Some(500),
            ..Self::simple(name, size, read, random, 64)
        })
        .to_vec()
    }

    /// The "Super ATTO clone": sequential reads, then writes, 512 B to 8 MiB doubling.
    #[must_use]
    pub fn atto_tests(outstanding: u32) -> Vec<Self> {
        let sizes = (0..15).map(|i| 512_u64 << i).filter(|size| *size <= 8 * MIB);
        let both = [("read", 100.0), ("write", 0.0)];
        both.iter()
            .flat_map(|(word, read)| {
                sizes.clone().map(move |size| {
                    Self::simple(&format!("{} {word}", Bytes(size)), size, *read, 0.0, outstanding)
                })
            })
            .collect()
    }

    /// The usual eight corners of a storage test: sequential 1 MiB and random 4 KiB, read and write, QD 1 and 32.
    #[must_use]
    pub fn corner_tests(span: Bytes) -> Vec<Self> {
        let mut tests = Vec::new();
        for (pattern, size, random) in [("SEQ1M", MIB, 0.0), ("RND4K", 4 * KIB, 100.0)] {
            for depth in [1, 32] {
                for (word, read) in [("read", 100.0), ("write", 0.0)] {
                    let name = format!("{pattern} Q{depth} {word}");
                    tests.push(Self { span, ..Self::simple(&name, size, read, random, depth) });
                }
            }
        }
        tests
    }
}
