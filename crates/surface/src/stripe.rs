//! The slow member of a stripe, found by folding.
//!
//! On a stripe of `n` members with chunks of `c` bytes, offset `o` lies on member `(o / c) mod n`. For each `c` and `n`
//! the places are folded on these members, and the ranks of their latencies are compared:
//!
//! ```text
//! offset   |0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7|0 1 …      n = 8, chunks in a row
//! latency   . . # . . . . . . . # . . . . . . . #      -> member 3 of 8
//! ```
//!
//! With the true `c` and `n` all slow places fall on one member; a wrong fold spreads them, so that the fold that
//! explains most of the scatter is the right one. Places were drawn at random, therefore without a slow member the
//! ranks of a member are a random draw of all ranks, whatever disturbed the time. A weak region can be anywhere on a
//! fold, so that a member is named only if it is slow in each part of the target.

use serde::{Deserialize, Serialize};

use crate::chance::{CHANCE_MAX, Moments, corrected, errors_above, ranks};
use crate::level::Excess;

/// Chunk sizes that are tried, bytes.
const CHUNKS: [u64; 7] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
/// Numbers of members that are tried.
const MEMBERS: std::ops::RangeInclusive<u32> = 2..=16;
/// Fewer chunks of a member do not have a mean.
const CHUNKS_MIN: f64 = 16.0;
/// A member is slow if its places take this many times as long as the others'.
pub(crate) const SLOWER_MIN: f64 = 1.3;
/// A slow member is slow in each of so many parts of the target.
const PARTS: u32 = 4;
/// The mean of a place is taken from a part of the target that has this many periods of the longest stripe at least.
const PERIODS_MIN: u64 = 4;

/// A member that is slower than the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowMember {
    /// Which, from 1: the first holds offset 0.
    pub member: u32,
    /// How many times as long its median read takes as that of the others.
    pub times: f64,
}

/// A stripe with slow members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stripe {
    /// Bytes in a row on one member.
    pub chunk_bytes: u64,
    /// Number of members.
    pub members: u32,
    /// The slow ones, the slowest first.
    pub slow: Vec<SlowMember>,
    /// Probability that noise alone looks like this, over all folds that were tried.
    pub chance: f64,
}

impl Stripe {
    /// Returns true if a place lies on a slow member.
    pub(crate) fn is_slow(&self, offset_bytes: u64) -> bool {
        let member = offset_bytes / self.chunk_bytes % u64::from(self.members);
        self.slow.iter().any(|slow| u64::from(slow.member) == member + 1)
    }
}

/// A fold that was tried.
#[derive(Debug, Clone, Copy)]
struct Fold {
    chunk_bytes: u64,
    members: u32,
    /// By how many standard errors its slowest member is slower than the others.
    errors: f64,
}

/// A chunk that was read: its number, and the mean rank of its reads.
type Chunk = (u64, f64);

/// Returns the stripe, if one member is slower than chance and places explain.
pub(crate) fn stripe(size_bytes: u64, excess: &[Excess]) -> Option<Stripe> {
    let places = without_place(size_bytes, excess);
    let logs: Vec<f64> = places.iter().map(|one| one.log).collect();
    let ranks = ranks(&logs);
    let (mut tried, mut folds) = (0, Vec::new());
    for chunk_bytes in CHUNKS {
        let chunks = chunks(&places, &ranks, chunk_bytes);
        let all = Moments::of(chunks.iter().map(|(_, rank)| *rank));
        for members in MEMBERS {
            let parts = folded(&chunks, members);
            tried += parts.len();
            let errors =
                parts.iter().filter(|part| part.n >= CHUNKS_MIN).map(|part| errors_above(*part, all));
            folds.push(Fold { chunk_bytes, members, errors: errors.fold(0.0, f64::max) });
        }
    }
    let is_slow = |fold: &Fold| corrected(fold.errors, tried) < CHANCE_MAX;
    // Where no fold has a slow member, as on nearly all targets, it does not matter which explains most.
    folds.iter().any(is_slow).then_some(())?;
    // Folds are compared by the same witnesses, the reads; each is tested by its own, the chunks.
    let best = clearest(&chunks(&places, &ranks, CHUNKS[0]), &folds).filter(is_slow)?;
    let of_best = chunks(&places, &ranks, best.chunk_bytes);
    let slow = slow_members(size_bytes, excess, &of_best, best, tried);
    let Fold { chunk_bytes, members, errors } = best;
    (!slow.is_empty()).then_some(Stripe { chunk_bytes, members, slow, chance: corrected(errors, tried) })
}

/// Returns the first of the folds that explain most.
fn clearest(reads: &[Chunk], folds: &[Fold]) -> Option<Fold> {
    let mut best = None::<(f64, Fold)>;
    for fold in folds {
        let explains = explains(reads, fold.chunk_bytes / CHUNKS[0], fold.members);
        if best.is_none_or(|(most, _)| explains > most) {
            best = Some((explains, *fold));
        }
    }
    best.map(|(_, fold)| fold)
}

/// Returns the number of members of all folds that are tried.
pub(crate) fn folds() -> usize {
    CHUNKS.len() * MEMBERS.map(|members| members as usize).sum::<usize>()
}

/// Takes the level of each part of the target away, where a part is so long that every fold meets it alike. Zeros are
/// left out where there is data: holes are fast, and on no member.
fn without_place(size_bytes: u64, excess: &[Excess]) -> Vec<Excess> {
    let data = excess.iter().filter(|one| !one.is_zeros).count();
    let is_used = |one: &&Excess| !one.is_zeros || data < excess.len() / 10;
    let mut places: Vec<Excess> = excess.iter().filter(is_used).copied().collect();
    let part_bytes = PERIODS_MIN * CHUNKS[CHUNKS.len() - 1] * u64::from(*MEMBERS.end());
    let parts = (size_bytes / part_bytes).min(u64::from(PARTS) * 8).max(1);
    let part_of = |offset: u64| offset / size_bytes.div_ceil(parts).max(1);
    for part in 0..parts {
        let level =
            Moments::of(places.iter().filter(|one| part_of(one.offset_bytes) == part).map(|one| one.log));
        let of_part = places.iter_mut().filter(|one| part_of(one.offset_bytes) == part);
        of_part.for_each(|one| one.log -= level.mean());
    }
    places
}

/// Returns the chunks that were read, by their number: reads of one chunk are one witness.
fn chunks(places: &[Excess], ranks: &[f64], chunk_bytes: u64) -> Vec<Chunk> {
    let mut reads: Vec<Chunk> =
        places.iter().zip(ranks).map(|(one, rank)| (one.offset_bytes / chunk_bytes, *rank)).collect();
    reads.sort_unstable_by_key(|(chunk, _)| *chunk);
    let mean = |of: &[Chunk]| (of[0].0, Moments::of(of.iter().map(|(_, rank)| *rank)).mean());
    reads.chunk_by(|a, b| a.0 == b.0).map(mean).collect()
}

/// Returns the ranks of each member.
fn folded(chunks: &[Chunk], members: u32) -> Vec<Moments> {
    let mut parts = vec![Moments::default(); members as usize];
    for (chunk, rank) in chunks {
        parts[usize::try_from(chunk % u64::from(members)).unwrap_or(0)].add(*rank);
    }
    parts
}

/// How much of the scatter a fold explains, in variances of a rank, less what each member more costs (Schwarz, 1978):
/// twice the members explain as much, and no fold but the true one explains as much with as few.
fn explains(reads: &[Chunk], reads_per_chunk: u64, members: u32) -> f64 {
    let all = Moments::of(reads.iter().map(|(_, rank)| *rank));
    let coarse: Vec<Chunk> = reads.iter().map(|(read, rank)| (read / reads_per_chunk, *rank)).collect();
    let parts = folded(&coarse, members);
    let variance = all.deviation().powi(2).max(f64::MIN_POSITIVE);
    let between: f64 = parts.iter().map(|part| part.n * (part.mean() - all.mean()).powi(2)).sum();
    let known = parts.iter().filter(|part| part.n > 0.0).count();
    between / variance - known as f64 * all.n.max(1.0).ln()
}

fn slow_members(
    size_bytes: u64,
    excess: &[Excess],
    chunks: &[Chunk],
    best: Fold,
    tried: usize,
) -> Vec<SlowMember> {
    let all = Moments::of(chunks.iter().map(|(_, rank)| *rank));
    let parts = folded(chunks, best.members);
    let is_slow = |index: u32| {
        corrected(errors_above(parts[index as usize], all), tried) < CHANCE_MAX
            && is_everywhere(size_bytes, chunks, best, index)
    };
    let suspects: Vec<u32> = (0..best.members).filter(|index| is_slow(*index)).collect();
    let member_of = |one: &Excess| one.offset_bytes / best.chunk_bytes % u64::from(best.members);
    let median = |keep: &dyn Fn(u64) -> bool| {
        let of: Vec<f64> =
            excess.iter().filter(|one| keep(member_of(one))).map(|one| one.latency_ns as f64).collect();
        assay_statistics::median(&of)
    };
    let others = median(&|member| !suspects.iter().any(|suspect| u64::from(*suspect) == member));
    let slow = |index: &u32| {
        let times = median(&|member| member == u64::from(*index)) / others.max(1.0);
        SlowMember { member: index + 1, times }
    };
    let mut slow: Vec<SlowMember> = suspects.iter().map(slow).filter(|one| one.times >= SLOWER_MIN).collect();
    slow.sort_by(|a, b| b.times.total_cmp(&a.times));
    slow
}

/// Returns true if a member is slow in each part of the target, and not by one slow region.
fn is_everywhere(size_bytes: u64, chunks: &[Chunk], best: Fold, index: u32) -> bool {
    let part_of = |chunk: u64| {
        u128::from(chunk) * u128::from(best.chunk_bytes) * u128::from(PARTS) / u128::from(size_bytes.max(1))
    };
    (0..u128::from(PARTS)).all(|part| {
        let here: Vec<Chunk> = chunks.iter().filter(|(chunk, _)| part_of(*chunk) == part).copied().collect();
        let all = Moments::of(here.iter().map(|(_, rank)| *rank));
        let of_member = folded(&here, best.members)[index as usize];
        errors_above(of_member, all) > 1.0
    })
}
