//! Chooses the next I/O: line of the mix, read or write, member, position.
//!
//! Three sets of rules (docs/method.md, "Three semantics"). Assay: each worker has its own sequential stream in its own
//! slice of every member; random I/Os are drawn over the whole span and never affect the stream. Iometer: one cursor
//! per worker and member, shared by everything; a random I/O moves it, and an I/O that would exceed the end starts at
//! the beginning. Fio: see [`fio`].

mod fio;
mod visited;
mod zoned;

use assay_spec::{Access, Change, Job, Semantics};
use assay_target::OpKind;

use crate::rng::{IometerRng, Rng, derive};
use crate::sampler::{Hot, Sampler};

/// The next I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draw {
    /// Index of the line in the mix.
    pub(crate) access: u32,
    pub(crate) kind: OpKind,
    pub(crate) size_bytes: u32,
    pub(crate) offset_bytes: u64,
}

/// Configuration of one worker's planner.
pub(crate) struct PlannerSetup<'s> {
    pub(crate) job: &'s Job,
    pub(crate) semantics: Semantics,
    /// Usable bytes of each member.
    pub(crate) spans: &'s [u64],
    /// Smallest I/O of the target, bytes.
    pub(crate) block_bytes: u32,
    pub(crate) worker: u32,
    pub(crate) workers: u32,
    /// True if random I/Os stay in the worker's own slice too, so that workers never meet (verify mode).
    pub(crate) exclusive: bool,
    pub(crate) seed: u64,
    /// True if a load ends after so many bytes or passes: then each pass of fio repeats the draws of the first.
    pub(crate) repeats: bool,
    /// The same for all workers of a run: selects the hot places of a member.
    pub(crate) hot_seed: u64,
}

/// Draws I/Os by one of the sets of rules.
pub(crate) struct Planner {
    lines: Vec<Line>,
    rules: Rules,

    /// The current line, and the number of I/Os left in its burst.
    line: usize,
    burst_left: u32,
    /// Whether each I/O of a burst has a line of its own, as in fio.
    mixes_bursts: bool,
    /// Whether a pause waits for all I/Os in flight, as in fio.
    pauses_idle: bool,
    has_begun: bool,
}

/// A line of the mix, prepared for drawing.
#[derive(Debug, Clone)]
struct Line {
    /// Sum of the weights up to and including this line.
    weight_end: u64,
    size_bytes: u32,
    reply_bytes: u32,
    align_bytes: u64,
    read_percent: f64,
    random_percent: f64,
    /// The percentages as shares of 2^32.
    read_limit: u64,
    random_limit: u64,
    delay_ns: u64,
    burst: u32,
    /// Number of consecutive I/Os from each random position.
    sequence: u32,
    /// Operation of the line when it does not read.
    change: OpKind,
    once: bool,
    gap_bytes: u64,
    back_bytes: u64,
    /// Whether a trim is followed by a write of its blocks.
    rewrites: bool,
}

enum Rules {
    Assay { rng: Rng, members: Vec<Slice> },
    Iometer { lines: IometerRng, members: Vec<IometerMember> },
    Fio { rng: Rng, members: Vec<fio::Member>, repeats: Option<Repeats> },
}

/// The draws of a load that begin anew once all blocks of all members were visited.
struct Repeats {
    seed: u64,
    passes: u64,
}

/// One of the two I/Os of a line.
#[derive(Clone, Copy)]
enum Part {
    Request,
    Reply,
}

/// Position and bytes of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset_bytes: u64,
    size_bytes: u32,
}

/// Possible positions of random I/Os of one kind: `start` and this many places after it, one alignment apart.
struct Places {
    start: u64,
    count: u64,
    sampler: Sampler,
}

/// The current sequence of a line on a member.
#[derive(Clone, Copy, Default)]
struct Sequence {
    left: u32,
    next: u64,
}

/// A worker's part of a member.
struct Slice {
    /// By line: places of its requests and of its replies. Divisions take longer than the rest of a draw, so they are
    /// done before the run.
    places: Vec<[Places; 2]>,
    /// By line.
    sequences: Vec<Sequence>,
    /// Range of the sequential stream.
    stream: std::ops::Range<u64>,

    cursor: u64,
}

struct IometerMember {
    start: u64,
    end: u64,

    rng: IometerRng,
    offset: u64,
    last_bytes: u64,
}

impl Planner {
    pub(crate) fn new(setup: &PlannerSetup<'_>) -> Self {
        let mut weight_end = 0;
        let mut lines: Vec<Line> = setup
            .job
            .mix
            .iter()
            .map(|access| {
                weight_end += u64::from(access.weight);
                line(access, weight_end, setup.block_bytes, setup.semantics)
            })
            .collect();
        if let [only] = lines.as_mut_slice()
            && only.delay_ns == 0
        {
            // Nothing is chosen and nothing pauses between its bursts, so they are one.
            only.burst = u32::MAX;
        }
        let rules = match setup.semantics {
            Semantics::Assay => Rules::Assay { rng: Rng::new(setup.seed), members: slices(setup, &lines) },
            Semantics::Iometer => iometer(setup),
            Semantics::Fio => Rules::Fio {
                rng: Rng::new(setup.seed),
                members: fio::members(setup, &lines),
                repeats: repeats(setup),
            },
        };
        let is_fio = setup.semantics == Semantics::Fio;
        Self {
            mixes_bursts: is_fio && lines.len() > 1,
            pauses_idle: is_fio && lines.iter().any(|line| line.delay_ns > 0),
            has_begun: false,
            lines,
            rules,
            line: 0,
            burst_left: 0,
        }
    }

    /// Returns true if the next I/O must wait until none is in flight: fio pauses with an empty queue.
    #[inline]
    pub(crate) fn pauses_when_idle(&self) -> bool {
        self.pauses_idle && self.burst_left == 0 && self.has_begun
    }

    /// Chooses a line if the burst is over. Returns the pause before the new burst, ns; fio has none before the first.
    #[inline]
    pub(crate) fn begin_burst(&mut self) -> u64 {
        let is_over = self.burst_left == 0;
        if !is_over && !self.mixes_bursts {
            return 0;
        }
        if self.lines.len() > 1 {
            let total = self.lines[self.lines.len() - 1].weight_end;
            let drawn = match &mut self.rules {
                Rules::Assay { rng, .. } | Rules::Fio { rng, .. } => rng.below(total),
                Rules::Iometer { lines, .. } => lines.below(total),
            };
            self.line = self.lines.partition_point(|line| line.weight_end <= drawn);
        }
        if !is_over {
            return 0;
        }
        self.burst_left = self.lines[self.line].burst;
        match self.pauses_idle && !std::mem::replace(&mut self.has_begun, true) {
            true => 0,
            false => self.lines[self.line].delay_ns,
        }
    }

    /// Returns the next I/O on `member`. Call [`Planner::begin_burst`] before.
    #[inline]
    pub(crate) fn draw(&mut self, member: usize) -> Draw {
        debug_assert!(self.burst_left > 0);
        self.burst_left -= 1;
        let line = &self.lines[self.line];
        let mut size_bytes = line.size_bytes;
        let (is_read, offset_bytes) = match &mut self.rules {
            Rules::Assay { rng, members } => {
                let is_read = chance(rng, line.read_limit);
                (is_read, members[member].place(rng, line, self.line, Part::Request))
            }
            Rules::Iometer { members, .. } => members[member].draw(line),
            Rules::Fio { rng, members, repeats } => {
                let is_read = chance(rng, line.read_limit);
                let place = members[member].draw(rng, line, self.line, is_read);
                size_bytes = place.size_bytes;
                if let Some(repeats) = repeats
                    && members[member].ends_pass()
                    && members.iter().all(|member| member.passes > repeats.passes)
                {
                    repeats.passes += 1;
                    *rng = Rng::new(repeats.seed);
                }
                (is_read, place.offset_bytes)
            }
        };
        let kind = if is_read { OpKind::Read } else { line.change };
        Draw { access: index(self.line), kind, size_bytes, offset_bytes }
    }

    /// Returns the reply that follows an I/O of line `access`: the opposite operation, at its own position. `None` if
    /// the line has no replies. Iometer positions it by the line of the current burst, whatever the line of the request
    /// was.
    pub(crate) fn reply(&mut self, access: u32, kind: OpKind, member: usize) -> Option<Draw> {
        let line = &self.lines[access as usize];
        let size_bytes = line.reply_bytes;
        if size_bytes == 0 {
            return None;
        }
        let kind = match kind {
            OpKind::Read => OpKind::Write,
            OpKind::Write | OpKind::Trim | OpKind::Flush(_) => OpKind::Read,
        };
        let offset_bytes = match &mut self.rules {
            Rules::Assay { rng, members } => members[member].place(rng, line, access as usize, Part::Reply),
            Rules::Iometer { members, .. } => members[member].seek(&self.lines[self.line], size_bytes.into()),
            // fio has no replies, and a plan with its rules has none.
            Rules::Fio { .. } => return None,
        };
        Some(Draw { access, kind, size_bytes, offset_bytes })
    }

    /// Returns the write that follows a trim of the same blocks; `None` if `request` is no such trim.
    pub(crate) fn rewrite(&self, request: &Draw) -> Option<Draw> {
        let is_due = self.lines[request.access as usize].rewrites && request.kind == OpKind::Trim;
        is_due.then_some(Draw { kind: OpKind::Write, ..*request })
    }

    /// Returns true if any line has replies: called once, so that the loop need not check each I/O.
    pub(crate) fn has_replies(&self) -> bool {
        self.lines.iter().any(|line| line.reply_bytes > 0 || line.rewrites)
    }

    /// Returns the size of what follows an I/O: its reply, or the write of what it trims, bytes; 0 if nothing does.
    pub(crate) fn reply_bytes(&self, request: &Draw) -> u32 {
        self.rewrite(request)
            .map_or(self.lines[request.access as usize].reply_bytes, |write| write.size_bytes)
    }

    /// Restarts sequential I/O from the beginning after a member was reopened.
    pub(crate) fn rewind(&mut self, member: usize) {
        match &mut self.rules {
            Rules::Assay { members, .. } => members[member].cursor = members[member].stream.start,
            // Iometer keeps the size of the last I/O across a reopen: the first sequential I/O starts that far behind
            // the beginning.
            Rules::Iometer { members, .. } => members[member].offset = members[member].start,
            Rules::Fio { members, .. } => members[member].rewind(),
        }
    }
}

impl Slice {
    /// Returns the position of the next I/O of line `index`.
    #[inline(always)]
    fn place(&mut self, rng: &mut Rng, line: &Line, index: usize, part: Part) -> u64 {
        if line.sequence > 1 {
            return self.place_in_sequence(rng, line, index, part);
        }
        match chance(rng, line.random_limit) {
            true => self.places[index][part as usize].draw(rng, line.align_bytes),
            false => self.next(line, line.bytes(part)),
        }
    }

    #[inline(never)]
    fn place_in_sequence(&mut self, rng: &mut Rng, line: &Line, index: usize, part: Part) -> u64 {
        if let Some(offset) = self.continued(line, index, part) {
            return offset;
        }
        let size = line.bytes(part);
        if !chance(rng, line.random_limit) {
            return self.next(line, size);
        }
        let offset = self.places[index][part as usize].draw(rng, line.align_bytes);
        self.sequences[index] = Sequence { left: line.sequence - 1, next: offset + size };
        offset
    }

    /// Returns the position of the next I/O of a sequence; `None` if there is none, or it has reached the last place.
    fn continued(&mut self, line: &Line, index: usize, part: Part) -> Option<u64> {
        let (sequence, places) = (&mut self.sequences[index], &self.places[index][part as usize]);
        let offset = align_up(sequence.next, line.align_bytes);
        let last = places.start + line.align_bytes * places.count.saturating_sub(1);
        if sequence.left == 0 || offset > last {
            return None;
        }
        *sequence = Sequence { left: sequence.left - 1, next: offset + line.bytes(part) };
        Some(offset)
    }

    #[inline]
    fn next(&mut self, line: &Line, size: u64) -> u64 {
        let mut offset = align_up(self.cursor, line.align_bytes);
        if offset + size > self.stream.end {
            offset = align_up(self.stream.start, line.align_bytes);
        }
        self.cursor = offset + size;
        offset
    }
}

impl Places {
    #[inline]
    fn draw(&self, rng: &mut Rng, align_bytes: u64) -> u64 {
        self.start + align_bytes * self.sampler.draw(rng, self.count)
    }
}

impl IometerMember {
    /// Returns whether the next I/O of a line reads, and its position.
    #[inline(never)]
    fn draw(&mut self, line: &Line) -> (bool, u64) {
        (iometer_chance(&mut self.rng, line.read_percent), self.seek(line, line.size_bytes.into()))
    }

    /// Returns the position of the next I/O, `size` bytes long, under the line of the current burst.
    ///
    /// The size of that line's requests decides whether the position is too near to the end, for replies too. Iometer
    /// lets a larger reply exceed the end; here it starts at the beginning, as nothing beyond the end may be touched.
    fn seek(&mut self, line: &Line, size: u64) -> u64 {
        if iometer_chance(&mut self.rng, line.random_percent) {
            self.offset = self.start + self.rng.below(self.end - self.start);
        } else {
            self.offset += self.last_bytes;
        }
        self.offset = align_up(self.offset, line.align_bytes);
        if self.offset + size.max(u64::from(line.size_bytes)) > self.end {
            self.offset = align_up(self.start, line.align_bytes);
        }
        self.last_bytes = size;
        self.offset
    }
}

/// Returns the next multiple of `align`; without a division for powers of two, as nearly all alignments are.
#[inline]
fn align_up(value: u64, align: u64) -> u64 {
    if align.is_power_of_two() { (value + (align - 1)) & !(align - 1) } else { value.next_multiple_of(align) }
}

impl Line {
    #[inline]
    fn bytes(&self, part: Part) -> u64 {
        u64::from(match part {
            Part::Request => self.size_bytes,
            Part::Reply => self.reply_bytes,
        })
    }

    /// Returns every aligned place in `span` at which the I/O fits. None for a part that is never drawn.
    fn places(&self, part: Part, span: &std::ops::Range<u64>, spread: &Spread<'_>) -> Places {
        let start = span.start.next_multiple_of(self.align_bytes);
        let last = span.end.saturating_sub(self.bytes(part));
        let count = if last < start { 0 } else { (last - start) / self.align_bytes + 1 };
        let sampler = Sampler::new(spread.distribution, count, self.align_bytes, spread.hot);
        Places { start, count, sampler }
    }
}

/// Distribution of random positions over places.
struct Spread<'s> {
    distribution: &'s assay_spec::Distribution,
    hot: Hot,
}

/// Sector by which Iometer aligns if nothing else is known: over NFS and through the page cache, bytes.
const SECTOR_BYTES: u32 = 512;

fn line(access: &Access, weight_end: u64, block_bytes: u32, semantics: Semantics) -> Line {
    let bytes =
        |bytes: assay_spec::units::Bytes| u32::try_from(bytes.0).expect("the plan keeps I/Os below 512 MiB");
    let least = match semantics {
        // No alignment means the sector's.
        Semantics::Iometer if access.align.0 == 0 => block_bytes.max(SECTOR_BYTES),
        _ => 1,
    };
    // Nothing smaller than a block can be addressed.
    let align_bytes = access.align.0.max(least.into()).next_multiple_of(u64::from(block_bytes));
    Line {
        weight_end,
        size_bytes: bytes(access.size),
        reply_bytes: bytes(access.reply),
        align_bytes,
        read_percent: access.read,
        random_percent: access.random,
        read_limit: limit(access.read),
        random_limit: limit(access.random),
        delay_ns: access.delay.0,
        burst: access.burst,
        sequence: access.sequence,
        change: match access.change {
            Change::Write => OpKind::Write,
            Change::Trim | Change::TrimWrite => OpKind::Trim,
        },
        once: access.once,
        gap_bytes: access.gap.0,
        back_bytes: access.back.0,
        rewrites: access.change == Change::TrimWrite,
    }
}

/// Returns what repeats the draws of a load: fio seeds its generators anew for each pass over all blocks.
fn repeats(setup: &PlannerSetup<'_>) -> Option<Repeats> {
    let is_plain = |line: &Access| line.once && line.random >= 100.0 && line.sequence == 1;
    let is_whole = setup.job.strides.is_none() && setup.job.zoned.is_none();
    (setup.repeats && is_whole && setup.job.mix.iter().all(is_plain))
        .then_some(Repeats { seed: setup.seed, passes: 0 })
}

/// Returns a percentage as a share of 2^32.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a percentage in [0, 100] gives at most 2^32"
)]
fn limit(percent: f64) -> u64 {
    (percent / 100.0 * (1_u64 << 32) as f64).round() as u64
}

/// Returns true with a probability of `limit` / 2^32; certain results draw no random number.
#[inline]
fn chance(rng: &mut Rng, limit: u64) -> bool {
    match limit {
        0 => false,
        l if l >= 1 << 32 => true,
        l => (rng.next() >> 32) < l,
    }
}

/// Decides like Iometer: a draw below 100, always drawn.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole percents, checked by the plan"
)]
fn iometer_chance(rng: &mut IometerRng, percent: f64) -> bool {
    rng.below(100) < percent as u64
}

/// Returns each worker's part of each member. The plan was checked to fit: a slice holds the largest I/O.
fn slices(setup: &PlannerSetup<'_>, lines: &[Line]) -> Vec<Slice> {
    let grain = slice_grain(lines);
    (0..)
        .zip(setup.spans)
        .map(|(member, span)| {
            let used = window(setup.job, *span);
            let first = used.start.next_multiple_of(grain);
            let share = used.end.saturating_sub(first) / u64::from(setup.workers) / grain * grain;
            let start = first + share * u64::from(setup.worker);
            let end =
                if setup.worker + 1 == setup.workers && !setup.exclusive { used.end } else { start + share };
            let stream = start..end;
            let random = if setup.exclusive { stream.clone() } else { used };
            let seed = derive(setup.hot_seed, &[member]);
            let places = lines.iter().zip(&setup.job.mix).map(|(line, access)| {
                let spread = Spread { distribution: &access.distribution, hot: Hot::Apart { seed } };
                [Part::Request, Part::Reply].map(|part| line.places(part, &random, &spread))
            });
            let sequences = vec![Sequence::default(); lines.len()];
            Slice { places: places.collect(), sequences, cursor: stream.start, stream }
        })
        .collect()
}

/// Returns the part of a member of `span` bytes that a job uses. The plan was checked to fit, so that nothing exceeds
/// the end.
fn window(job: &Job, span: u64) -> std::ops::Range<u64> {
    let window = job.window.of(span);
    window.start.min(span)..window.end.min(span)
}

/// Returns the alignment of slices: the least common multiple of all alignments of the mix.
fn slice_grain(lines: &[Line]) -> u64 {
    lines.iter().fold(1, |grain, line| least_common_multiple(grain, line.align_bytes))
}

/// Returns the least common multiple; saturates on overflow, and then fits no span.
fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}

/// Returns the bytes of a member of `span` bytes that the workers of a job can use: its window, from the first position
/// at which a slice may begin.
pub(crate) fn usable(job: &Job, semantics: Semantics, block_bytes: u32, span: u64) -> u64 {
    let lines: Vec<Line> = job.mix.iter().map(|access| line(access, 1, block_bytes, semantics)).collect();
    let used = window(job, span);
    if semantics == Semantics::Fio {
        return used.end - used.start;
    }
    let first = used.start.checked_next_multiple_of(slice_grain(&lines)).unwrap_or(u64::MAX);
    used.end.saturating_sub(first)
}

/// Returns the bytes of the smallest part of a member of `span` bytes that a worker has to itself or shares.
pub(crate) fn narrowest(job: &Job, semantics: Semantics, span: u64) -> u64 {
    match semantics {
        Semantics::Fio => fio::narrowest(job, span),
        Semantics::Assay | Semantics::Iometer => window(job, span).end - window(job, span).start,
    }
}

/// Returns the bytes that worker `worker` of a job moves on each member, once through all that the job uses.
pub(crate) fn pass_bytes(job: &Job, semantics: Semantics, worker: u32, spans: &[u64]) -> Vec<u64> {
    let workers = u64::from(job.workers);
    let of = |span: &u64| match semantics {
        Semantics::Fio => fio::pass_bytes(job, worker, *span),
        Semantics::Assay | Semantics::Iometer => {
            span / workers + u64::from(u64::from(worker) < span % workers)
        }
    };
    spans.iter().map(of).collect()
}

/// Returns the smallest span that the workers of this job need, bytes: each slice must hold its largest I/O.
pub(crate) fn least_span(job: &Job, semantics: Semantics, block_bytes: u32) -> u64 {
    let lines: Vec<Line> = job.mix.iter().map(|access| line(access, 1, block_bytes, semantics)).collect();
    let grain = slice_grain(&lines);
    let largest = lines
        .iter()
        .map(|l| u64::from(l.size_bytes.max(l.reply_bytes)).next_multiple_of(l.align_bytes))
        .max();
    match semantics {
        // Workers of Iometer and of fio share the whole span.
        Semantics::Iometer | Semantics::Fio => largest.unwrap_or(1),
        Semantics::Assay => {
            let slice = largest.unwrap_or(1).checked_next_multiple_of(grain).unwrap_or(u64::MAX);
            slice.saturating_mul(u64::from(job.workers))
        }
    }
}

fn iometer(setup: &PlannerSetup<'_>) -> Rules {
    let mut seeds = Rng::new(setup.seed);
    let lines = IometerRng::new(seeds.next());
    let members = setup
        .spans
        .iter()
        .map(|span| {
            let std::ops::Range { start, end } = window(setup.job, *span);
            IometerMember { start, end, rng: IometerRng::new(seeds.next()), offset: start, last_bytes: 0 }
        })
        .collect();
    Rules::Iometer { lines, members }
}

fn index(line: usize) -> u32 {
    u32::try_from(line).expect("a plan has few lines")
}

#[cfg(test)]
mod tests;
