//! The rules of fio (docs/method.md, "Three semantics"): every worker uses the whole window, or its own further on;
//! reads and writes go on where the last of their kind ended; and a map lets random I/Os visit every block once before
//! any twice, and cuts those short that would meet a visited one.

use std::ops::Range;

use assay_spec::{Change, Extent, Job, Strides};

use super::visited::Visited;
use super::zoned::Zones;
use super::{Line, Part, Place, Places, PlannerSetup, Spread, chance, window};
use crate::rng::{Rng, derive};
use crate::sampler::Hot;

/// A worker's view of a member.
pub(super) struct Member {
    window: Range<u64>,
    /// By line.
    places: Vec<Places>,
    /// By line: I/Os that still follow the last random one.
    following: Vec<u32>,
    /// Bytes of a block of the map, and of the smallest I/O of the mix.
    unit_bytes: u64,
    least_bytes: u64,
    visited: Option<Visited>,
    /// Where the last read and the last write ended.
    next: [u64; 2],
    /// Whether a stream that comes to the end takes the other one back to the beginning: fio opens the file anew then,
    /// except where only time ends the load.
    begin_together: bool,
    stripe: Option<Stripe>,
    zones: Option<Zones>,
    /// How often all of its blocks were visited.
    pub(super) passes: u64,
}

/// The stripe that is used now.
struct Stripe {
    strides: Strides,
    start: u64,
    moved_bytes: u64,
}

/// Returns a worker's view of each member. The plan was checked to fit.
pub(super) fn members(setup: &PlannerSetup<'_>, lines: &[Line]) -> Vec<Member> {
    (0..).zip(setup.spans).map(|(index, span)| Member::new(setup, lines, index, *span)).collect()
}

/// Returns the part of a member of `span` bytes that a worker uses.
fn window_of(job: &Job, worker: u32, span: u64) -> Range<u64> {
    let used = window(job, span);
    let onward = job.increment.of(span).saturating_mul(u64::from(worker));
    let start = used.start.saturating_add(onward);
    // A share begins at the next whole block.
    let is_share = [job.window.offset, job.increment].iter().any(|part| matches!(part, Extent::Percent(_)));
    let grain = if is_share { least_bytes(job) } else { 1 };
    let start = start.checked_next_multiple_of(grain).unwrap_or(span).min(span);
    start..start.saturating_add(used.end - used.start).min(span)
}

/// Returns the size of the smallest I/O, bytes.
fn least_bytes(job: &Job) -> u64 {
    job.mix.iter().map(|line| line.size.0).min().unwrap_or(1).max(1)
}

/// Returns the size of the smallest part that a worker of `job` uses, bytes.
pub(super) fn narrowest(job: &Job, span: u64) -> u64 {
    let bytes = |worker| {
        let window = window_of(job, worker, span);
        window.end - window.start
    };
    (0..job.workers).map(bytes).min().unwrap_or(0)
}

/// Returns its size in whole I/Os of the smallest size, bytes.
pub(super) fn pass_bytes(job: &Job, worker: u32, span: u64) -> u64 {
    let window = window_of(job, worker, span);
    let least = least_bytes(job);
    // A block that is trimmed and then written is moved twice.
    let times = if job.mix.iter().all(|line| line.change == Change::TrimWrite) { 2 } else { 1 };
    (window.end - window.start) / least * least * times
}

/// Returns the part of it that no other worker uses: blocks must not change while they are verified.
fn exclusive(window: Range<u64>, setup: &PlannerSetup<'_>, unit_bytes: u64) -> Range<u64> {
    if !setup.exclusive || setup.job.increment != Extent::default() {
        return window;
    }
    let share = (window.end - window.start) / u64::from(setup.workers) / unit_bytes * unit_bytes;
    let start = window.start + share * u64::from(setup.worker);
    start..start + share
}

impl Member {
    fn new(setup: &PlannerSetup<'_>, lines: &[Line], index: u64, span: u64) -> Self {
        let random = || lines.iter().filter(|line| line.once);
        let unit_bytes = random().map(|line| line.align_bytes).min().unwrap_or(1);
        let grain = lines.iter().map(|line| line.align_bytes).max().unwrap_or(1);
        let window = exclusive(window_of(setup.job, setup.worker, span), setup, grain);
        let seed = derive(setup.hot_seed, &[index]);
        // Random positions are those of one stripe; they are moved on with it.
        let stripe_bytes = setup.job.strides.map_or(u64::MAX, |strides| strides.length.0);
        let drawn = window.start..window.end.min(window.start.saturating_add(stripe_bytes));
        let places = lines.iter().zip(&setup.job.mix).map(|(line, access)| {
            let spread = Spread { distribution: &access.distribution, hot: Hot::AsInFio { seed } };
            line.places(Part::Request, &drawn, &spread)
        });
        let blocks = (drawn.end - drawn.start) / unit_bytes;
        let workers = (setup.worker, setup.workers);
        Self {
            places: places.collect(),
            following: vec![0; lines.len()],
            unit_bytes,
            least_bytes: lines.iter().map(|line| u64::from(line.size_bytes)).min().unwrap_or(1),
            visited: random().next().map(|_| Visited::new(blocks)),
            next: [window.start; 2],
            begin_together: setup.repeats && lines.iter().all(|line| line.random_limit == 0),
            stripe: setup.job.strides.map(|strides| Stripe { strides, start: window.start, moved_bytes: 0 }),
            zones: setup.job.zoned.map(|zoned| Zones::new(zoned, window.clone(), workers)),
            passes: 0,
            window,
        }
    }

    /// Returns the place of the next I/O of line `index`.
    #[inline(never)]
    pub(super) fn draw(&mut self, rng: &mut Rng, line: &Line, index: usize, is_read: bool) -> Place {
        let way = usize::from(!is_read);
        self.stay_in_stripe(way);
        let (place, gap) = if self.following[index] > 0 {
            self.following[index] -= 1;
            (self.sequential(line, way), 0)
        } else if chance(rng, line.random_limit) {
            self.following[index] = line.sequence - 1;
            let place = self.random(rng, line, index);
            let (least, zones) = (self.least_bytes, self.zones.as_mut());
            (zones.map_or(place, |zones| zones.place(rng, place, least)), 0)
        } else {
            (self.sequential(line, way), line.gap_bytes)
        };
        self.next[way] = place.offset_bytes + u64::from(place.size_bytes) + gap;
        if let Some(stripe) = &mut self.stripe {
            stripe.moved_bytes += u64::from(place.size_bytes);
        }
        place
    }

    /// Begins the map anew if all blocks were visited; returns whether it did.
    pub(super) fn ends_pass(&mut self) -> bool {
        let Some(visited) = self.visited.as_mut().filter(|visited| visited.is_full()) else { return false };
        visited.clear();
        self.passes += 1;
        true
    }

    /// Begins the next stripe once enough was moved in the present one, and the present one anew at its end.
    fn stay_in_stripe(&mut self, way: usize) {
        let Some(Stripe { strides, start, moved_bytes }) = &mut self.stripe else { return };
        if *moved_bytes >= strides.bytes.0 {
            *moved_bytes = 0;
            let onward = start.saturating_add(strides.length.0).saturating_add(strides.skip.0);
            *start = if onward < self.window.end { onward } else { self.window.start };
            self.next[way] = *start;
        }
        if self.next[way] >= start.saturating_add(strides.length.0) {
            self.next[way] = *start;
        }
        if moved_bytes.is_multiple_of(strides.length.0)
            && let Some(visited) = &mut self.visited
        {
            visited.clear();
        }
    }

    /// Returns where a sequential I/O begins that goes back from the end of the one before, around the beginning of the
    /// window to its end. The first begins at the beginning.
    fn backwards(&self, back_bytes: u64, way: usize) -> u64 {
        let (Range { start, end }, next) = (self.window.clone(), self.next[way]);
        match next.saturating_sub(start) {
            0 => start,
            done if done >= back_bytes => next - back_bytes,
            _ => end.saturating_sub(back_bytes).max(start),
        }
    }

    /// Restarts both directions from the beginning.
    pub(super) fn rewind(&mut self) {
        self.next = [self.window.start; 2];
    }

    fn sequential(&mut self, line: &Line, way: usize) -> Place {
        let size = u64::from(line.size_bytes);
        let offset_bytes = match line.back_bytes {
            0 => self.next[way],
            back_bytes => self.backwards(back_bytes, way),
        };
        let left = self.window.end.saturating_sub(offset_bytes);
        if size <= left {
            return Place { offset_bytes, size_bytes: line.size_bytes };
        }
        match left / self.least_bytes * self.least_bytes {
            0 => {
                if self.begin_together {
                    self.rewind();
                }
                Place { offset_bytes: self.window.start, size_bytes: line.size_bytes }
            }
            rest => Place { offset_bytes, size_bytes: shortened(line, rest) },
        }
    }

    /// Returns how far on from the beginning of the window the present stripe begins.
    fn stripe_offset(&self) -> u64 {
        self.stripe.as_ref().map_or(0, |stripe| stripe.start - self.window.start)
    }

    fn random(&mut self, rng: &mut Rng, line: &Line, index: usize) -> Place {
        let onward = self.stripe_offset();
        let drawn = self.places[index].draw(rng, line.align_bytes) + onward;
        let end = self.window.end;
        if drawn + u64::from(line.size_bytes) > end {
            // The last stripe is cut off by the end of the window.
            let offset_bytes = self.window.start + onward;
            return Place { offset_bytes, size_bytes: shortened(line, end - offset_bytes) };
        }
        let Some(visited) = self.visited.as_mut().filter(|_| line.once) else {
            return Place { offset_bytes: drawn, size_bytes: line.size_bytes };
        };
        let first = self.places[index].start + onward;
        let blocks = u64::from(line.size_bytes).div_ceil(self.unit_bytes);
        let found = visited.visit(drawn.saturating_sub(first) / self.unit_bytes, blocks);
        let offset_bytes = first + found.start * self.unit_bytes;
        let length = ((found.end - found.start) * self.unit_bytes).min(self.window.end - offset_bytes);
        Place { offset_bytes, size_bytes: shortened(line, length) }
    }
}

/// The size of a line, or less where less is left.
fn shortened(line: &Line, left: u64) -> u32 {
    line.size_bytes.min(u32::try_from(left).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use assay_spec::units::Bytes;
    use assay_spec::{Access, Window};

    use super::*;

    /// `offset=13%` of 64 MiB began at byte 8,724,152: every direct I/O failed.
    #[test]
    fn a_share_begins_at_the_next_whole_block() {
        let share = Extent::Percent(13.0);
        let job = |offset, increment| Job {
            window: Window { offset, size: Some(share) },
            increment,
            mix: vec![Access { size: Bytes(4096), ..Access::default() }],
            ..Job::default()
        };
        let start = |job: &Job, worker| window_of(job, worker, 64 << 20).start;
        assert_eq!(start(&job(share, Extent::default()), 0), 8_724_480);
        assert_eq!(start(&job(Extent::default(), share), 1), 8_724_480);
        assert_eq!(start(&job(Extent::Bytes(Bytes(512)), Extent::default()), 0), 512);
    }
}
