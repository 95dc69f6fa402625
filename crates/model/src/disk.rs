//! A rotating disk: seek curve, zones, and the service time under a queue.
//!
//! `S = overhead + seek(distance) + rotational wait + transfer`. The mean service time falls with the queue n
//! the disk may choose from (NCQ/TCQ). How fast is simulated, not assumed: [`ServiceTable`] runs the disk with
//! n requests always waiting, once picking the one reached first (shortest positioning time first, SPTF, with an
//! age limit, without which it starves), and once sweeping over them in the order of their places, which is what
//! elevators of kernels and RAID controllers and many drives do. A sweep saves seeks and no rotation: on a short
//! stroke it gains nothing. Where a sheet does not say which a drive does, the mean of both is taken (geometric),
//! and the interval holds both.

use std::sync::OnceLock;

use crate::num::{index, whole};
use crate::raid::Kind;
use crate::rng::Rng;

/// Queue lengths at which the table is simulated; between them it is interpolated in log n.
const DEPTHS: [usize; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256];
/// Requests served per table point: a standard error of about 2 % of the mean.
const SERVED: usize = 500;
/// A request waits at most this many times the queue length before it is served out of turn. 5 gives the shape
/// seen on a real disk at QD 64 (p99/mean 4.4, max/mean 6), between FIFO and starvation.
const AGE_LIMIT: usize = 5;
/// Number of visits side by side that are distinguished.
const SIDE_BY_SIDE_MAX: u32 = 64;
/// Size of the table of service-time draws; a power of two, so that a draw is one mask.
pub(crate) const DRAWS: usize = 1024;

/// A disk at one corner of its ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disk {
    /// One revolution, ns.
    pub revolution_ns: f64,
    /// Command overhead, ns.
    pub overhead_ns: f64,
    /// Seek curve `c + a sqrt(x) + b x`, ns, x = fraction of the stroke; (c, a, b).
    pub seek: (f64, f64, f64),
    /// Outermost rate, bytes/s.
    pub outer_bytes_s: f64,
    /// Innermost rate, bytes/s.
    pub inner_bytes_s: f64,
    /// Part of the stroke that a track is: what lies on the same one needs no seek.
    pub track: f64,
    /// What its link carries, bytes/s.
    pub port_bytes_s: f64,
    /// Capacity, bytes.
    pub capacity_bytes: f64,
    /// Commands it reorders at once.
    pub ncq: f64,
    /// How much of the order is by position, \[0, 1\]: 1 = by positioning time, 0 = by seek only.
    pub by_position: f64,
    /// Writes that the drive's own write cache sorts; 0 = it has none, or it is off.
    pub cached_writes: f64,
    /// Exponent on the gain of reordering.
    pub ncq_gain: f64,
    /// The same, for the queue that the host gives it only: writes of its own cache it orders freely.
    pub queue_gain: f64,
}

impl Disk {
    /// Coefficients of Lee and Katz' seek curve from the three numbers of a sheet, ns:
    /// `c = track`, `a = 5 (avg - c) - 5 (full - c) / 3`, `b = (full - c) - a`.
    ///
    /// For random positions E\[sqrt x\] = 8/15 and E\[x\] = 1/3, so the curve gives back the sheet's average
    /// and full stroke exactly. A sheet whose average is so short that `b` would be negative gets `b = 0`
    /// and a curve through the average.
    #[must_use]
    pub fn seek_curve(track_ns: f64, avg_ns: f64, full_ns: f64) -> (f64, f64, f64) {
        let a = 5.0 * (avg_ns - track_ns) - 5.0 * (full_ns - track_ns) / 3.0;
        let b = full_ns - track_ns - a;
        if a >= 0.0 && b >= 0.0 {
            (track_ns, a, b)
        } else {
            (track_ns, (avg_ns - track_ns) * 15.0 / 8.0, 0.0)
        }
    }

    /// Seek time over a fraction `x` of the stroke, ns; nothing moves within half a track.
    #[must_use]
    pub(crate) fn seek_ns(&self, x: f64) -> f64 {
        let (c, a, b) = self.seek;
        if x <= self.track / 2.0 { 0.0 } else { c + a * x.sqrt() + b * x }
    }

    /// Fraction of the stroke that holds the outermost fraction `f` of the capacity.
    ///
    /// With a rate that falls linearly from o (outer) to i (inner) over the stroke x, the capacity up to x is
    /// `(o x - (o - i) x^2 / 2) / ((o + i) / 2)`; this is its inverse.
    #[must_use]
    pub fn stroke_of(&self, f: f64) -> f64 {
        let (o, i) = (self.outer_bytes_s, self.inner_bytes_s);
        let f = f.clamp(0.0, 1.0);
        let drop = o - i;
        if drop < 1e-9 * o {
            return f;
        }
        (o - (o * o - drop * (o + i) * f).max(0.0).sqrt()) / drop
    }

    /// Mean sequential rate over the part \[from, from + f\] of the capacity, bytes/s.
    ///
    /// Reading a stretch of the stroke takes time proportional to its length: rate = capacity / stroke. Whole
    /// disk: (o + i) / 2.
    #[must_use]
    pub fn mean_rate(&self, from: f64, f: f64) -> f64 {
        let (start, end) = (from.clamp(0.0, 1.0), (from + f).clamp(0.0, 1.0));
        let stroke = self.stroke_of(end) - self.stroke_of(start);
        if stroke <= 1e-9 {
            // Too short to integrate: the local rate falls linearly with the stroke.
            return self.outer_bytes_s - (self.outer_bytes_s - self.inner_bytes_s) * self.stroke_of(start);
        }
        (end - start) * f64::midpoint(self.outer_bytes_s, self.inner_bytes_s) / stroke
    }

    /// Time of a write that continues the last one after a pause, of `n` that wait together, ns: the place has just
    /// passed, and comes round once for all of them.
    #[must_use]
    pub(crate) fn behind_ns(&self, n: f64) -> f64 {
        self.overhead_ns + self.revolution_ns / n.max(1.0)
    }

    /// Fraction of the stroke between two fractions of the capacity.
    #[must_use]
    pub(crate) fn stroke_between(&self, from: f64, f: f64) -> f64 {
        self.stroke_of(from + f) - self.stroke_of(from)
    }
}

/// Positioning time of one disk on one span, by queue length. Transfer time is not included.
///
/// What a queue length takes is simulated when it is asked for first: most loads meet the shortest of them only, and
/// the longest take most of the computing.
#[derive(Debug, Clone)]
pub struct ServiceTable {
    disk: Disk,
    stroke: f64,
    seed: u64,

    /// Mean time at one waiting request, ns.
    one: f64,
    /// Mean times at [`DEPTHS`], ns: in the order of positioning times, and of a sweep.
    by_position: [OnceLock<f64>; DEPTHS.len()],
    by_seek: [OnceLock<f64>; DEPTHS.len()],
    /// Mean time of a read at 0..=256 waiting requests (index 0 = 1), ns.
    reads_ns: Vec<OnceLock<f64>>,
    /// The same of a write.
    writes_ns: Vec<OnceLock<f64>>,
    /// The same of a write that a controller destages in the order of its cache.
    destages_ns: Vec<OnceLock<f64>>,
    /// Draws of the time at one waiting request divided by their mean, sorted.
    draws: Vec<f64>,
    /// Mean of the longest of so many draws (index 0 = of one).
    longest: Vec<OnceLock<f64>>,
    /// Variance of the draws.
    variance: f64,
}

/// The longest queue that is simulated.
const LAST: usize = DEPTHS[DEPTHS.len() - 1];

impl ServiceTable {
    /// The table for positions within a fraction of the stroke; the same disk, stroke and seed give the same table.
    #[must_use]
    pub fn simulate(disk: &Disk, stroke: f64, seed: u64) -> Self {
        let stroke = stroke.clamp(1e-6, 1.0);
        // Where few places share a track, its width is nothing but noise of the simulation.
        let track = if disk.track < stroke / 1000.0 { 0.0 } else { disk.track };
        let disk = Disk { track, ..*disk };
        let draws = draw_singles(&disk, stroke, seed);
        let unknown = || vec![OnceLock::new(); LAST + 1];
        Self {
            one: mean_single(&disk, stroke),
            by_position: Default::default(),
            by_seek: Default::default(),
            reads_ns: unknown(),
            writes_ns: unknown(),
            destages_ns: unknown(),
            longest: vec![OnceLock::new(); SIDE_BY_SIDE_MAX as usize],
            variance: draws.iter().map(|d| (d - 1.0) * (d - 1.0)).sum::<f64>() / draws.len() as f64,
            draws,
            disk,
            stroke,
            seed,
        }
    }

    /// Mean positioning time of a read or a write with `n` requests to choose from, ns; n may be fractional.
    #[must_use]
    pub fn at(&self, kind: Kind, n: f64) -> f64 {
        match kind {
            Kind::Read => between(&self.reads_ns, n, |n| self.read_ns(n)),
            Kind::Write => between(&self.writes_ns, n, |n| self.write_ns(n)),
        }
    }

    /// Mean positioning time of a write that a controller destages while `n` of its cache wait for the disk, ns.
    ///
    /// Controllers sort by place and hand the disk a few at a time: half of the gain by position is left.
    #[must_use]
    pub(crate) fn destage_at(&self, n: f64) -> f64 {
        between(&self.destages_ns, n, |n| self.destage_ns(n)).min(self.at(Kind::Write, 1.0))
    }

    /// Commands that the disk reorders at once.
    fn window(&self) -> usize {
        index(whole(self.disk.ncq)).clamp(1, LAST)
    }

    fn read_ns(&self, n: usize) -> f64 {
        self.sorted_ns(self.disk.by_position, n.min(self.window()), n, self.disk.queue_gain)
    }

    fn write_ns(&self, n: usize) -> f64 {
        let disk = &self.disk;
        let cached = index(whole(disk.cached_writes)).min(LAST);
        // A drive may serve the writes of its own cache in any order: nobody waits for one of them.
        let free = disk.by_position > 0.0 && cached > 0;
        let share = if free { f64::midpoint(disk.by_position, 1.0) } else { disk.by_position };
        let gain = if cached > 0 { 1.0 } else { disk.queue_gain };
        self.sorted_ns(share, n.min(self.window()).max(cached), n.max(cached), gain)
    }

    fn destage_ns(&self, n: usize) -> f64 {
        self.sorted_ns(self.disk.by_position / 2.0, n.min(self.window()), n, 1.0)
    }

    /// Mean time where the disk sees `seen` of `all` that wait, ns. One that has too few to choose from by position
    /// still gets them in the order of a sweep over all.
    fn sorted_ns(&self, share: f64, seen: usize, all: usize, queue_gain: f64) -> f64 {
        let by_seek = self.gain(&self.by_seek, sweep_mean, all);
        let by_position = if share > 0.0 { self.gain(&self.by_position, sptf_mean, seen) } else { 1.0 };
        let gain = (by_position.powf(share) * by_seek.powf(1.0 - share)).min(by_seek);
        self.one * gain.powf(self.disk.ncq_gain * queue_gain)
    }

    /// Time at `n` waiting over that of one, between the simulated depths: linear in log n against log S, as S(n) is
    /// close to a power of n. Positioning never gets slower with more to choose from; what is left of that is noise.
    fn gain(&self, points: &[OnceLock<f64>; DEPTHS.len()], mean: Mean, n: usize) -> f64 {
        let n = n.max(1);
        let point = |i: usize| match DEPTHS[i] {
            1 => self.one,
            depth => *points[i].get_or_init(|| mean(&self.disk, self.stroke, depth, self.seed)),
        };
        let above = DEPTHS.iter().position(|d| *d >= n).unwrap_or(DEPTHS.len() - 1);
        let time = if DEPTHS[above] == n {
            point(above)
        } else {
            let (n0, n1) = (DEPTHS[above - 1] as f64, DEPTHS[above] as f64);
            let w = ((n as f64) / n0).ln() / (n1 / n0).ln();
            (point(above - 1).ln() * (1.0 - w) + point(above).ln() * w).exp()
        };
        (time / self.one).min(1.0)
    }

    /// Mean of the longest of `visits` positioning times of idle disks over the mean of one.
    #[must_use]
    pub(crate) fn longest_of(&self, visits: u32) -> f64 {
        let visits = visits.clamp(1, SIDE_BY_SIDE_MAX);
        let known = &self.longest[visits as usize - 1];
        *known.get_or_init(|| longest_of(&self.draws, i32::try_from(visits).unwrap_or(1)))
    }

    /// Variance of positioning times over the square of their mean.
    #[must_use]
    pub const fn variance(&self) -> f64 {
        self.variance
    }

    /// Draws of the positioning time divided by its mean, rising: multiply by [`Self::at`].
    pub(crate) fn draws(&self) -> &[f64] {
        &self.draws
    }
}

/// The mean positioning time of a disk on a part of its stroke with so many requests always waiting, ns.
type Mean = fn(&Disk, f64, usize, u64) -> f64;

/// `E[max] = sum of x_i ((i/n)^w - ((i-1)/n)^w)` over n sorted draws.
fn longest_of(draws: &[f64], visits: i32) -> f64 {
    let (mut longest, mut below) = (0.0, 0.0);
    for (i, draw) in (1_u32..).zip(draws) {
        let up_to = (f64::from(i) / draws.len() as f64).powi(visits);
        longest += draw * (up_to - below);
        below = up_to;
    }
    longest
}

/// Between two whole queue lengths.
fn between(table: &[OnceLock<f64>], n: f64, at: impl Fn(usize) -> f64) -> f64 {
    let last = table.len() - 1;
    let n = n.clamp(1.0, last as f64);
    let known = |n: usize| *table[n].get_or_init(|| at(n.max(1)));
    let low = index(whole(n.floor()));
    let part = n - n.floor();
    if part <= 0.0 { known(low) } else { known(low) + (known((low + 1).min(last)) - known(low)) * part }
}

/// Mean of overhead + seek + half a revolution for independent positions, by integration over the distance.
/// Positions are uniform in the stroke: the density of a distance x in \[0, s\] is `2 (s - x) / s^2`.
fn mean_single(disk: &Disk, stroke: f64) -> f64 {
    const STEPS: usize = 400;
    let mut seek = 0.0;
    for i in 0..STEPS {
        let u = (i as f64 + 0.5) / STEPS as f64;
        seek += disk.seek_ns(u * stroke) * 2.0 * (1.0 - u) / STEPS as f64;
    }
    disk.overhead_ns + seek + disk.revolution_ns / 2.0
}

fn draw_singles(disk: &Disk, stroke: f64, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed ^ 0xD1_5C);
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|i| {
            let distance = (rng.unit() - rng.unit()).abs() * stroke;
            // Rotation is stratified: its mean is then exact, and only the seek is sampled.
            disk.overhead_ns
                + disk.seek_ns(distance)
                + disk.revolution_ns * (i as f64 + rng.unit()) / DRAWS as f64
        })
        .collect();
    let mean = draws.iter().sum::<f64>() / DRAWS as f64;
    draws.iter_mut().for_each(|d| *d /= mean);
    draws.sort_by(f64::total_cmp);
    draws
}

/// A request waiting for the head.
#[derive(Clone, Copy)]
struct Waiting {
    /// Position on the stroke.
    place: f64,
    /// Angle in revolutions, \[0, 1).
    angle: f64,
    /// Number of requests served when it arrived, and its place among those that came at once.
    since: (usize, usize),
}

/// Puts a request where it belongs in the order of places.
fn put(queue: &mut Vec<Waiting>, request: Waiting) {
    queue.insert(queue.partition_point(|w| w.place < request.place), request);
}

/// Mean positioning time with `n` requests always waiting, ns.
fn sptf_mean(disk: &Disk, stroke: f64, n: usize, seed: u64) -> f64 {
    let mut rng = Rng::new(seed.wrapping_add(n as u64));
    let draw = |rng: &mut Rng, since| Waiting { place: rng.unit() * stroke, angle: rng.unit(), since };
    let mut queue = Vec::with_capacity(n);
    (0..n).for_each(|number| put(&mut queue, draw(&mut rng, (0, number))));
    let (mut head, mut total) = (Head { place: stroke / 2.0, angle: 0.0 }, 0.0);
    // No request waits since before so many were served.
    let mut oldest = 0;
    // The first n services start from an empty history and are not counted.
    let warm = n.min(SERVED / 2);
    for served in 0..SERVED + warm {
        let (choice, time) = match overdue(&queue, served, &mut oldest) {
            Some(choice) => (choice, head.time_to(disk, &queue[choice])),
            None => head.nearest(disk, &queue),
        };
        if served >= warm {
            total += time;
        }
        let Waiting { place, since: (_, number), .. } = queue.remove(choice);
        head = Head { place, angle: (head.angle + time / disk.revolution_ns).fract() };
        put(&mut queue, draw(&mut rng, (served, number)));
    }
    total / SERVED as f64
}

/// Mean positioning time with `n` requests always waiting and served in sweeps over the stroke, ns. The platter is
/// anywhere when the head arrives: half a revolution.
fn sweep_mean(disk: &Disk, stroke: f64, n: usize, seed: u64) -> f64 {
    let mut rng = Rng::new(seed.wrapping_add(n as u64) ^ 0x5EE4);
    // In order of their places.
    let mut queue: Vec<f64> = (0..n).map(|_| rng.unit() * stroke).collect();
    queue.sort_by(f64::total_cmp);
    let (mut place, mut is_outward, mut total) = (stroke / 2.0, true, 0.0);
    let warm = (2 * n).min(SERVED);
    let mut served = 0;
    while served < SERVED + warm {
        let ahead = match is_outward {
            true => Some(queue.partition_point(|w| *w < place)).filter(|next| *next < n),
            false => queue.partition_point(|w| *w <= place).checked_sub(1),
        };
        let Some(next) = ahead else {
            is_outward = !is_outward;
            continue;
        };
        let reached = queue.remove(next);
        if served >= warm {
            total += disk.seek_ns((reached - place).abs());
        }
        place = reached;
        let new = rng.unit() * stroke;
        queue.insert(queue.partition_point(|w| *w < new), new);
        served += 1;
    }
    disk.overhead_ns + total / SERVED as f64 + disk.revolution_ns / 2.0
}

/// Where the head is.
#[derive(Clone, Copy)]
struct Head {
    /// On the stroke.
    place: f64,
    /// In revolutions, \[0, 1).
    angle: f64,
}

impl Head {
    /// Positioning time of a request, ns.
    fn time_to(self, disk: &Disk, request: &Waiting) -> f64 {
        let moved = disk.overhead_ns + disk.seek_ns((request.place - self.place).abs());
        self.time_after(disk, request, moved)
    }

    /// The same, once the arm has taken its time.
    fn time_after(self, disk: &Disk, request: &Waiting, moved_ns: f64) -> f64 {
        let arrives = self.angle + moved_ns / disk.revolution_ns;
        let mut wait = request.angle - arrives;
        wait -= wait.floor();
        moved_ns + wait * disk.revolution_ns
    }

    /// The request that is reached first, and its positioning time, ns. They are looked at from the nearest on, up to
    /// where the arm alone takes longer.
    fn nearest(self, disk: &Disk, queue: &[Waiting]) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        let mut above = queue.partition_point(|w| w.place < self.place);
        let mut below = above;
        loop {
            let inward = below.checked_sub(1).map(|i| self.place - queue[i].place);
            let outward = queue.get(above).map(|w| w.place - self.place);
            let (index, distance) = match (inward, outward) {
                (Some(inward), outward) if outward.is_none_or(|outward| inward < outward) => {
                    below -= 1;
                    (below, inward)
                }
                (_, Some(outward)) => {
                    above += 1;
                    (above - 1, outward)
                }
                (_, None) => return best,
            };
            let moved = disk.overhead_ns + disk.seek_ns(distance);
            if moved >= best.1 {
                return best;
            }
            let time = self.time_after(disk, &queue[index], moved);
            if time < best.1 {
                best = (index, time);
            }
        }
    }
}

/// The request that waits longest, where that is too long. `oldest` is a number of served requests before which none
/// came: requests only get younger, so that few calls look at all.
fn overdue(queue: &[Waiting], served: usize, oldest: &mut usize) -> Option<usize> {
    let is_too_long = |since: usize| served.saturating_sub(since) > AGE_LIMIT * queue.len();
    if !is_too_long(*oldest) {
        return None;
    }
    let (index, longest) = queue.iter().enumerate().min_by_key(|(_, request)| request.since)?;
    *oldest = longest.since.0;
    is_too_long(longest.since.0).then_some(index)
}
