//! Which place is read next.

use assay_spec::random::split_mix;

use crate::level::excess;
use crate::sample::{CELLS, Look, Order, Sample, Why, bounds};
use crate::spot::{Candidates, NEIGHBOURS_MIN};

/// Size of the reads whose latency is mapped, bytes; larger where the target has larger blocks.
pub(crate) const READ_BYTES: u32 = 4096;
/// Size of the reads whose throughput is mapped, bytes; smaller where the target takes no such reads.
const TRANSFER_BYTES: u32 = 1 << 20;
/// A smaller target has no map, bytes.
pub const SIZE_MIN: u64 = 4 << 20;
/// A throughput is measured at every so many visits of a cell: they cost more than all other reads otherwise. It has no
/// factor in common with the number of cells, so that each cell gets its turn in sequential order, too.
const TRANSFER_EVERY: u64 = 7;
const _: () = assert!(!CELLS.is_multiple_of(TRANSFER_EVERY));
/// Share of the budget, or of the samples that are kept, after which slow places are read again.
const AGAIN_FROM: f64 = 0.75;
/// Most samples of a survey: 40 bytes each.
const SAMPLES_MAX: usize = 1 << 20;

/// The target of a survey.
#[derive(Debug, Clone, Copy)]
pub struct Ground {
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Offsets and sizes of reads are multiples of this, bytes.
    pub block_bytes: u32,
    /// Its largest read, bytes.
    pub read_bytes_max: u32,
}

/// Decides what is read, from what was read.
#[derive(Debug)]
pub struct Survey {
    size_bytes: u64,
    block_bytes: u32,
    transfer_bytes: u32,
    order: Order,

    random: u64,
    samples: Vec<Sample>,
    /// Cells that this pass has yet to visit, the next one last.
    pass: Vec<u64>,
    visits: u64,
    queued: Vec<Look>,
    /// Slow places, once they are looked for.
    slow: Option<Candidates>,
}

impl Survey {
    /// Returns the survey of a target; `None` if it is too small for a map.
    pub fn new(ground: Ground, order: Order, seed: u64) -> Option<Self> {
        let block_bytes = ground.block_bytes.max(READ_BYTES);
        let whole = |bytes: u64| bytes / u64::from(block_bytes) * u64::from(block_bytes);
        let size_bytes = whole(ground.size_bytes);
        let most = whole(ground.read_bytes_max.min(TRANSFER_BYTES).into()).max(block_bytes.into());
        let survey = Self {
            size_bytes,
            block_bytes,
            transfer_bytes: u32::try_from(most).unwrap_or(block_bytes),
            order,
            random: seed,
            samples: Vec::new(),
            pass: Vec::new(),
            visits: 0,
            queued: Vec::new(),
            slow: None,
        };
        (size_bytes >= SIZE_MIN).then_some(survey)
    }

    /// Returns what is to be read next; `spent` is the share of the budget that is used up. `None`: it is over.
    pub fn next(&mut self, spent: f64) -> Option<Look> {
        if spent >= 1.0 || self.samples.len() >= SAMPLES_MAX {
            return None;
        }
        if let Some(look) = self.queued.pop() {
            return Some(look);
        }
        let kept = self.samples.len() as f64 / SAMPLES_MAX as f64;
        if spent.max(kept) >= AGAIN_FROM {
            if self.slow.is_none() {
                self.slow = Some(Candidates::of(&excess(&self.samples, self.order)));
            }
            if let Some((spot, offset_bytes)) = self.slow.as_mut().and_then(Candidates::next) {
                let control = self.anywhere();
                let again = self.small(offset_bytes, Why::Again { spot });
                let control = self.small(control, Why::Control { spot });
                // Which of the two comes first is left to chance.
                let is_first = self.draw(2) == 0;
                self.queued.push(if is_first { control } else { again });
                return Some(if is_first { again } else { control });
            }
        }
        Some(self.visit())
    }

    /// Notes what a read returned.
    pub fn took(&mut self, sample: Sample) {
        if let Some(slow) = &mut self.slow {
            slow.took(&sample);
        }
        self.samples.push(sample);
    }

    /// Returns everything that was read, in order of time.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the number of bytes that are mapped.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns in which order cells are visited.
    pub fn order(&self) -> Order {
        self.order
    }

    fn visit(&mut self) -> Look {
        if self.pass.is_empty() {
            self.pass = (0..CELLS).rev().collect();
            if self.order == Order::Random {
                for last in (1..self.pass.len()).rev() {
                    let other = self.draw(last as u64 + 1);
                    self.pass.swap(last, usize::try_from(other).unwrap_or(0));
                }
            }
        }
        let cell = self.pass.pop().unwrap_or(0);
        self.visits += 1;
        let (from, to) = bounds(self.size_bytes, cell);
        let offset = self.aligned(from, to.saturating_sub(u64::from(self.block_bytes)).max(from));
        if self.visits.is_multiple_of(TRANSFER_EVERY) && self.visits > NEIGHBOURS_MIN {
            let size_bytes = self.transfer_bytes;
            let at = offset.min(self.size_bytes - 2 * u64::from(size_bytes));
            let behind = at + u64::from(size_bytes);
            self.queued.push(Look { offset_bytes: behind, size_bytes, why: Why::Transfer });
            return Look { offset_bytes: at, size_bytes, why: Why::Position };
        }
        self.small(offset, Why::Place)
    }

    fn small(&self, offset_bytes: u64, why: Why) -> Look {
        Look { offset_bytes, size_bytes: self.block_bytes, why }
    }

    fn anywhere(&mut self) -> u64 {
        self.aligned(0, self.size_bytes - u64::from(self.block_bytes))
    }

    /// Returns a random place of whole blocks, from the first to the last of these.
    fn aligned(&mut self, from: u64, last: u64) -> u64 {
        let block = u64::from(self.block_bytes);
        let from = from.div_ceil(block).min(last / block);
        (from + self.draw(last / block - from + 1)) * block
    }

    fn draw(&mut self, below: u64) -> u64 {
        split_mix(&mut self.random) % below.max(1)
    }
}
