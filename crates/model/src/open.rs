//! The open form: what a paced load with arrivals at random times takes, without a simulation.
//!
//! Each station is computed alone, as if arrivals came to it at random, and what an I/O takes is the sum of them:
//! * first come, first served, of known service: the wait is zero with probability 1 - U and has two known moments
//!   otherwise (Pollaczek and Khinchine). I/Os that take the same time everywhere wait at the slowest of these
//!   stations only: from it on they come one after the other;
//! * a disk: the chain of [`queue`];
//! * a drive: its controller, then one of its dies at random;
//! * visits side by side take as long as the longest: `P(max <= t) = F(t)^w`, as if members were independent.
//!
//! The percentile is found on the sum of the classes' distributions. Against the simulation: `tests/it/open.rs`. Left
//! out are pools of workers, queue depths, and what a write-back cache drains to drives: where these matter, only the
//! simulation tells.

mod queue;
mod times;

use crate::closed::{after_fill, evenness};
use crate::demand::falls_on;
use crate::raid::{Kind, Part, Phase};
use crate::resolved::front::Front;
use crate::resolved::{Class, IoCost, Media, ResolvedArray, ResolvedFlash};
use crate::workload::{Arrivals, LoadModel, Workload};
use queue::{Met, meets};
use times::{Time, split, wait_at_one, wait_at_several, where_beyond};

/// What a paced load takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Open {
    /// Mean response time, ms.
    pub mean_ms: f64,
    /// 99th percentile, ms.
    pub p99_ms: f64,
}

/// Part of the I/Os that are beyond the 99th percentile.
const BEYOND_P99: f64 = 0.01;

/// What a paced load takes; `None` of a closed loop, of arrivals that are even, and where something cannot keep up.
#[must_use]
pub fn open_form(resolved: &ResolvedArray, classes: &[Class], workload: &Workload) -> Option<Open> {
    let LoadModel::Rate { per_s, arrivals: Arrivals::Poisson } = workload.pace else { return None };
    // What fills within the first half of the run is full.
    let full = after_fill(resolved, classes, per_s);
    let full = full.filter(|(_, fill_s)| *fill_s < workload.duration.as_secs_f64() / 2.0);
    match &full {
        Some((full, _)) => of_steady(full, &full.classes(workload), per_s / 1e9),
        None => of_steady(resolved, classes, per_s / 1e9),
    }
}

fn of_steady(resolved: &ResolvedArray, classes: &[Class], rate: f64) -> Option<Open> {
    let parts: &[Part] =
        if resolved.shape.failed == 0 { &[Part::All] } else { &[Part::Degraded, Part::Sound] };
    let stations = Stations {
        resolved,
        wait: waits(resolved, classes, rate)?,
        read_wait: read_wait(resolved, classes, rate)?,
    };
    let mut members = Vec::with_capacity(2);
    for part in parts.iter().filter(|part| resolved.shape.range(**part).1 > 0) {
        members.push((*part, At::members(resolved, classes, *part, rate)?));
    }
    let mut ways = Vec::with_capacity(classes.len() * 2);
    for class in classes {
        stations.ways_of(class, &members, &mut ways);
    }
    let mean: f64 = ways.iter().map(|way| way.share * way.mean()).sum();
    let shortest = ways.iter().map(|way| way.known).fold(f64::INFINITY, f64::min);
    let longest = ways.iter().map(Way::longest).fold(0.0, f64::max);
    let beyond = |t: f64| ways.iter().map(|way| way.share * way.beyond(t)).sum::<f64>();
    let p99 = where_beyond(BEYOND_P99, shortest * 0.999, longest.max(shortest * 1.001), &beyond);
    Some(Open { mean_ms: mean / 1e6, p99_ms: p99 / 1e6 })
}

/// What an I/O waits at the stations that all of its direction pass.
struct Stations<'a> {
    resolved: &'a ResolvedArray,
    wait: Time,
    read_wait: Time,
}

/// Waits at the stations of constant service in front of the members.
fn waits(resolved: &ResolvedArray, classes: &[Class], rate: f64) -> Option<Time> {
    let kinds = |service: &dyn Fn(&IoCost) -> f64| -> Vec<(f64, f64)> {
        let of = |c: &Class| (rate * c.share, service(&c.io_cost));
        classes.iter().map(of).filter(|(_, service)| *service > 0.0).collect()
    };
    let missed = |io: &IoCost| 1.0 - io.hit;
    let front = |io: &IoCost, which: Front| if io.front == which { io.front_ns } else { 0.0 };
    let written = |io: &IoCost| if io.direction == Kind::Write { io.wire_ns } else { 0.0 };
    let missing = |service: &dyn Fn(&IoCost) -> f64| -> Vec<(f64, f64)> {
        let of = |c: &Class| (rate * c.share * missed(&c.io_cost), service(&c.io_cost));
        classes.iter().map(of).filter(|(rate, service)| rate * service > 0.0).collect()
    };
    let all = [
        wait_at_one(&kinds(&|io| io.host_ns))?,
        wait_at_several(&kinds(&written), resolved.paths)?,
        wait_at_several(&kinds(&|io| io.cpu_ns), resolved.cores)?,
        wait_at_one(&kinds(&|io| io.controller_ns + io.passing_ns))?,
        wait_at_one(&missing(&|io| front(io, Front::Tier)))?,
        wait_at_one(&missing(&|io| front(io, Front::Log)))?,
        wait_at_one(&missing(&|io| io.serial_ns))?,
    ];
    // The slowest of them, and as much of the others as I/Os differ.
    let slowest = (0..all.len()).max_by(|a, b| all[*a].mean_of_all().total_cmp(&all[*b].mean_of_all()))?;
    let differs = 1.0 - evenness(classes);
    let others = all.iter().enumerate().filter(|(i, _)| *i != slowest);
    Some(others.fold(all[slowest], |sum, (_, time)| sum.and(&time.rarer(differs))))
}

/// Wait for the link towards the host.
fn read_wait(resolved: &ResolvedArray, classes: &[Class], rate: f64) -> Option<Time> {
    let towards = classes.iter().filter(|c| c.io_cost.direction == Kind::Read && c.io_cost.wire_ns > 0.0);
    let kinds: Vec<(f64, f64)> = towards.map(|c| (rate * c.share, c.io_cost.wire_ns)).collect();
    wait_at_several(&kinds, resolved.paths)
}

/// What visits meet at one of the members.
enum At {
    /// A disk, with the mean service of all its visits where they choose from so many.
    Disk { met: Met, all_ns: f64, destaging: Time },
    /// A drive: the wait for its controller, and for a die.
    Flash { controller: Time, die: Time },
}

impl At {
    fn members(resolved: &ResolvedArray, classes: &[Class], part: Part, rate: f64) -> Option<Self> {
        let count = f64::from(resolved.shape.range(part).1);
        let slowed = resolved.slowed(part);
        // Visits of one member per ns, of each kind.
        let mut visits: Vec<(f64, Phase)> = Vec::with_capacity(4);
        for class in classes.iter().filter(|c| c.io_cost.serial_ns <= 0.0 && !c.io_cost.buffered) {
            let io = &class.io_cost;
            let here = rate * class.share * (1.0 - io.hit) * falls_on(resolved, io.part, part) / count;
            let phases = io.phases.iter().filter(|p| p.visits > 0 && here > 0.0);
            visits.extend(phases.map(|p| (here * f64::from(p.visits), *p)));
        }
        match &resolved.media {
            Media::Disk(..) => Self::disk(resolved, classes, &visits, slowed, rate),
            Media::Flash(flash) => Self::flash(resolved, classes, (flash, &visits), slowed, rate),
        }
    }

    fn disk(
        resolved: &ResolvedArray,
        classes: &[Class],
        visits: &[(f64, Phase)],
        slowed: f64,
        rate: f64,
    ) -> Option<Self> {
        let all: f64 = visits.iter().map(|(rate, _)| rate).sum();
        let destaging = destaging(resolved, classes, rate);
        if all <= 0.0 {
            return (destaging.any < 1.0).then_some(Self::Disk { met: Met::NONE, all_ns: 0.0, destaging });
        }
        let service = |k: usize| {
            let (mut mean, mut square) = (0.0, 0.0);
            for (rate, phase) in visits {
                let each = resolved.visit_ns(phase, k as f64) * slowed;
                mean += rate / all * each;
                square += rate / all * each * each * (1.0 + resolved.visit_variance(phase, each / slowed));
            }
            (mean, square / (mean * mean) - 1.0)
        };
        let met = meets(all, &service)?;
        let all_ns =
            visits.iter().map(|(rate, p)| rate / all * resolved.visit_ns(p, met.chosen_from)).sum::<f64>();
        if met.busy.any + destaging.any >= 1.0 {
            return None;
        }
        Some(Self::Disk { met, all_ns: all_ns * slowed, destaging })
    }

    fn flash(
        resolved: &ResolvedArray,
        classes: &[Class],
        (flash, visits): (&ResolvedFlash, &[(f64, Phase)]),
        slowed: f64,
        rate: f64,
    ) -> Option<Self> {
        let of = |p: &Phase| slowed * flash.controller_ns(p.kind, p.bytes);
        let mut passing: Vec<(f64, f64)> = visits.iter().map(|(rate, p)| (*rate, of(p))).collect();
        for class in classes.iter().filter(|c| c.io_cost.stream_ns > 0.0 && !c.io_cost.buffered) {
            let io = &class.io_cost;
            let parallel = resolved.stream_parallel(io.kind, io.bytes);
            let here = rate * class.share * (1.0 - io.hit) / parallel.max(1.0);
            passing.push((here, io.stream_ns * parallel * resolved.stream_slowed(io.bytes)));
        }
        let die = |(rate, p): &(f64, Phase)| (rate / flash.dies, slowed * flash.die_ns(p.kind, p.bytes));
        let dies: Vec<(f64, f64)> = visits.iter().map(die).filter(|(_, ns)| *ns > 0.0).collect();
        Some(Self::Flash { controller: wait_at_one(&passing)?, die: wait_at_one(&dies)? })
    }

    /// Mean and variance of a visit of a phase that finds its member idle, and the wait it may meet beside that.
    fn visit(&self, resolved: &ResolvedArray, phase: &Phase, slowed: f64) -> Visit {
        match self {
            Self::Disk { met, all_ns, destaging } => {
                let own = |n: f64| resolved.visit_ns(phase, n) * slowed;
                let transfer = own(1.0) - resolved.to_place_ns(phase) * slowed;
                let shift = own(met.chosen_from) - all_ns;
                let busy = Time { mean: (met.busy.mean + shift).max(0.0), ..met.busy };
                let idle = Idle::Disk { to_place: resolved.to_place_ns(phase) * slowed, transfer };
                Visit { idle, busy, beside: *destaging }
            }
            Self::Flash { controller, die } => {
                let Media::Flash(flash) = &resolved.media else { return Visit::NONE };
                let own = slowed
                    * (flash.controller_ns(phase.kind, phase.bytes) + flash.die_ns(phase.kind, phase.bytes));
                let wait = controller.and(die);
                let busy = Time { mean: wait.mean + own, ..wait };
                Visit { idle: Idle::Known(own), busy, beside: Time::default() }
            }
        }
    }
}

/// What a disk writes from a controller's cache: the rest of such a write that a visit finds, with its probability.
fn destaging(resolved: &ResolvedArray, classes: &[Class], rate: f64) -> Time {
    let members = f64::from(resolved.shape.alive());
    let (mut work, mut squares, mut cubes) = (0.0, 0.0, 0.0);
    for class in classes.iter().filter(|c| c.io_cost.buffered && c.io_cost.serial_ns <= 0.0) {
        for phase in class.io_cost.phases.iter().filter(|p| p.visits > 0) {
            let each = resolved.destage_ns(phase);
            let here = rate * class.share * f64::from(phase.visits) / members;
            (work, squares, cubes) =
                (work + here * each, squares + here * each * each, cubes + here * each.powi(3));
        }
    }
    Time::of_moments(work, squares / 2.0, cubes / 3.0)
}

/// A visit that finds its member idle.
#[derive(Debug, Clone, Copy)]
enum Idle {
    /// Takes so long.
    Known(f64),
    /// Is drawn around the mean positioning time, and transfers its data.
    Disk { to_place: f64, transfer: f64 },
}

/// One visit of a member.
#[derive(Debug, Clone, Copy)]
struct Visit {
    idle: Idle,
    /// From its arrival to its end where it has to wait.
    busy: Time,
    /// Of a disk that is idle otherwise: the rest of a write from the cache.
    beside: Time,
}

impl Visit {
    const NONE: Self = Self {
        idle: Idle::Known(0.0),
        busy: Time { any: 0.0, mean: 0.0, variance: 0.0 },
        beside: Time { any: 0.0, mean: 0.0, variance: 0.0 },
    };

    /// Probability that it takes at most `t`.
    fn within(&self, t: f64, draws: &[f64]) -> f64 {
        let idle = match self.idle {
            Idle::Known(own) => {
                if t >= own {
                    1.0
                } else {
                    0.0
                }
            }
            Idle::Disk { to_place, transfer } => {
                let up_to = |t: f64| {
                    let draw = (t - transfer) / to_place.max(f64::MIN_POSITIVE);
                    draws.partition_point(|d| *d <= draw) as f64 / draws.len().max(1) as f64
                };
                match self.beside.any > 1e-3 {
                    true => self.beside.points().iter().map(|(wait, p)| p * up_to(t - wait)).sum(),
                    false => up_to(t),
                }
            }
        };
        (1.0 - self.busy.any) * idle + self.busy.any * (1.0 - self.busy.beyond(t))
    }

    fn mean(&self) -> f64 {
        let idle = match self.idle {
            Idle::Known(own) => own,
            Idle::Disk { to_place, transfer } => to_place + transfer + self.beside.mean_of_all(),
        };
        (1.0 - self.busy.any) * idle + self.busy.mean_of_all()
    }

    /// A time that next to none takes longer.
    fn longest(&self) -> f64 {
        let idle = match self.idle {
            Idle::Known(own) => own,
            Idle::Disk { to_place, transfer } => 4.0 * to_place + transfer,
        };
        let busy = self.busy.mean + 16.0 * self.busy.variance.sqrt();
        let own = if self.busy.any > 0.0 { idle.max(busy) } else { idle };
        own + self.beside.mean + 8.0 * self.beside.variance.sqrt()
    }
}

/// Visits side by side.
#[derive(Debug, Clone, Copy)]
struct Together {
    visit: Visit,
    count: i32,
}

impl Together {
    fn beyond(&self, t: f64, draws: &[f64]) -> f64 {
        1.0 - self.visit.within(t, draws).powi(self.count)
    }

    fn mean(&self, draws: &[f64]) -> f64 {
        if self.count == 1 {
            return self.visit.mean();
        }
        // The integral of P(max > t), as its own shape has it: dense where it falls.
        let points = split(self.longest(), |t| self.beyond(t, draws));
        points.iter().map(|(t, p)| t * p).sum()
    }

    fn longest(&self) -> f64 {
        self.visit.longest()
    }
}

/// A way of an I/O through the array: what is known of its time, what it may wait, and its visits.
struct Way<'a> {
    share: f64,
    known: f64,
    wait: Vec<(f64, f64)>,
    wait_mean: f64,
    phases: Vec<Together>,
    /// Points of the first of two phases.
    first: Vec<(f64, f64)>,
    draws: &'a [f64],
}

impl Way<'_> {
    fn mean(&self) -> f64 {
        self.known + self.wait_mean + self.phases.iter().map(|p| p.mean(self.draws)).sum::<f64>()
    }

    fn longest(&self) -> f64 {
        let wait = self.wait.iter().map(|(t, _)| *t).fold(0.0, f64::max);
        self.known + 2.0 * wait + self.phases.iter().map(Together::longest).sum::<f64>()
    }

    fn beyond(&self, t: f64) -> f64 {
        self.wait.iter().map(|(wait, p)| p * self.visits_beyond(t - self.known - wait)).sum()
    }

    fn visits_beyond(&self, t: f64) -> f64 {
        match &self.phases[..] {
            _ if t < 0.0 => 1.0,
            [] => 0.0,
            [one] => one.beyond(t, self.draws),
            [.., last] => {
                let after = |(first, p): &(f64, f64)| {
                    p * if t < *first { 1.0 } else { last.beyond(t - first, self.draws) }
                };
                self.first.iter().map(after).sum()
            }
        }
    }
}

impl<'a> Stations<'a> {
    /// The ways of a class: by a cache, or by the members.
    fn ways_of(&self, class: &Class, members: &[(Part, At)], ways: &mut Vec<Way<'a>>) {
        let io = &class.io_cost;
        let draws: &'a [f64] = match &self.resolved.media {
            Media::Disk(_, table) => table.draws(),
            Media::Flash(_) => &[],
        };
        let wait = if io.direction == Kind::Read { self.wait.and(&self.read_wait) } else { self.wait };
        let passed = io.delay_ns + io.host_ns + io.cpu_ns + io.controller_ns + io.passing_ns + io.wire_ns;
        let mut add = |share: f64, known: f64, phases: Vec<Together>, more: Option<&Time>| {
            let wait = more.map_or(wait, |more| wait.and(more));
            let first = match &phases[..] {
                [first, _] => split(first.longest(), |t| first.beyond(t, draws)),
                _ => Vec::new(),
            };
            let wait_mean = wait.mean_of_all();
            ways.push(Way { share, known, wait: wait.points(), wait_mean, phases, first, draws });
        };
        if io.hit > 0.0 {
            add(class.share * io.hit, passed + io.hit_ns, Vec::new(), None);
        }
        if io.hit >= 1.0 {
            return;
        }
        let share = class.share * (1.0 - io.hit);
        let known = passed + io.start_ns + io.front_ns + io.serial_ns;
        let overlap = if io.buffered { 0.0 } else { io.overlap_ns };
        if io.buffered || io.serial_ns > 0.0 || io.front == Front::Tier {
            return add(share, known, Vec::new(), None);
        }
        if io.phases[0].visits == 0 {
            let (stream, wait) = self.stream(io, members);
            return add(share, known + (stream - overlap).max(0.0), Vec::new(), wait);
        }
        for (part, at) in members {
            let falls = falls_on(self.resolved, io.part, *part);
            if falls <= 0.0 {
                continue;
            }
            let visits = io.phases.iter().filter(|p| p.visits > 0).map(|p| {
                let visit = at.visit(self.resolved, p, self.resolved.slowed(*part));
                Together { visit, count: i32::try_from(p.visits).unwrap_or(i32::MAX) }
            });
            add(share * falls, known - overlap, visits.collect(), None);
        }
    }

    /// What a stream's I/O takes of the members, and waits for them. Disks stream ahead.
    fn stream<'m>(&self, io: &IoCost, members: &'m [(Part, At)]) -> (f64, Option<&'m Time>) {
        match members.first() {
            Some((_, At::Flash { controller, .. })) => {
                let resolved = self.resolved;
                let parallel = resolved.stream_parallel(io.kind, io.bytes);
                (io.stream_ns * parallel * resolved.stream_slowed(io.bytes), Some(controller))
            }
            _ => (0.0, None),
        }
    }
}
