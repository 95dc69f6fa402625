//! Engine (b): the closed form for queueing.
//!
//! A closed loop with N outstanding over m disks whose service time S falls with their queue and varies by c^2 has
//! ```text
//!   X = N / R,  R = S(K) (1 + A - U' (1 - 1/m) (1 - c^2) / 2),  A = (N - 1) / m,  K = 1 + A - U'
//!   U' = U (1 - 1/N) / (1 - U/N),  U = X S(K) / m
//! ```
//! the closed network with queue-dependent service (mean-value analysis, Reiser and Lavenberg 1980). An arrival sees
//! the network with N - 1 others (arrival theorem): A at its disk, which is busy with probability U'. It takes its own
//! time and waits for all of them, but only for the rest of the one in service (Reiser 1979), unless it comes from the
//! same disk (1/m), which has just begun the next. A departure sees the same: a disk that finishes chooses among the
//! A it leaves behind, or serves the next to come alone where it leaves none, K = E\[max(L, 1)\]. U' from U is that of
//! the balanced network. The same step for every other resource gives a fixed point (Schweitzer 1979) that reduces to
//! the formula above when only disks matter:
//! ```text
//!   R_k = D_k (1 + Q_k (N-1)/N)                      one server, random service
//!   R_k = D_k (1 + (Q_k - U_k/2) (N-1)/N)            one server, constant service (residual = half)
//!   c servers: D/c as above, plus D (c-1)/c without queueing (Seidmann 1987)
//!   X = N / (Z + sum R_k),  Q_k = X R_k
//! ```

use crate::demand::{falls_on, link_speedup, member_demand, members_queue, waits_for};
use crate::num::share;
use crate::raid::{Kind, Part, Phase, Place};
use crate::resolved::front::Front;
use crate::resolved::{Class, Media, ResolvedArray};
use crate::shingled::Fill;
use crate::workload::{Arrivals, LoadModel, Workload};
use serde::Serialize;

/// Rounds of the fixed point; it converges geometrically and stops earlier at 1e-7.
const ROUNDS: usize = 400;

/// Reads at a member while the write-back cache is full: nearly all of the load waits for cache space then.
const BLOCKED_QUEUE: f64 = 1.5;

/// What the closed form says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outcome {
    /// I/Os per second.
    pub iops: f64,
    /// Mean response time, ms.
    pub mean_ms: f64,
    /// Mean I/Os in flight; below the outstanding when the load drains and reopens.
    pub in_flight: f64,
    /// Rate while the write-back cache still absorbs, when it does: (I/Os per second, seconds it lasts).
    pub absorbing: Option<(f64, f64)>,
}

/// A station with constant service.
#[derive(Debug, Clone, Copy)]
struct Station {
    demand_ns: f64,
    servers: f64,
}

/// The stations of an array under a workload.
#[derive(Debug, Clone)]
struct Network {
    delay_ns: f64,
    /// Outside the target: the host, and the two directions of the link.
    outer: [Station; 3],
    /// Inside the target, held by a worker: CPU, controller, tier, log, serial writes, streaming.
    inner: [Station; 6],
    /// One, or the group that lost a member and the others.
    members: Vec<Members>,
    /// How alike the I/Os are at the stations of constant service, \[0, 1\].
    evenness: f64,
}

/// The random visits of the members.
#[derive(Debug, Clone)]
struct Members {
    count: f64,
    phases: Vec<Visits>,
    /// How much longer a visit takes for a rebuild.
    slowed: f64,
    /// Rest of a destage that a visit finds in service, ns.
    background_ns: f64,
    /// Time that an I/O makes a member destage, ns: what of its time that is at a rate. A full cache never lets it
    /// idle.
    destaging_ns: f64,
}

/// Visits of a class of I/Os that run side by side.
#[derive(Debug, Clone, Copy)]
struct Visits {
    /// Share of the I/Os, as far as their visits fall here.
    falls: f64,
    /// Share of the I/Os that wait for a visit here: of those that are spread over a group that is rebuilt and others,
    /// the slowest is one of that group where there is one.
    waits: f64,
    phase: Phase,
    /// How much longer the longest of them takes than one.
    side_by_side: f64,
}

/// Predicts a workload on a resolved array.
#[must_use]
pub fn closed_form(resolved: &ResolvedArray, classes: &[Class], workload: &Workload) -> Outcome {
    let fast = without_slc(resolved, classes, workload);
    let Some((slow_plant, fill_s)) = after_fill(resolved, classes, fast.iops) else { return fast };
    let run_s = workload.duration.as_secs_f64();
    if fill_s >= run_s {
        return fast;
    }
    let slow = without_slc(&slow_plant, &slow_plant.classes(workload), workload);
    let filled = share(fill_s, run_s);
    let iops = fast.iops * filled + slow.iops * (1.0 - filled);
    let absorbing = if slow.iops < fast.iops * 0.999 { Some((fast.iops, fill_s)) } else { fast.absorbing };
    let in_flight = fast.in_flight * filled + slow.in_flight * (1.0 - filled);
    Outcome { iops, mean_ms: in_flight / iops * 1e3, in_flight, absorbing }
}

/// The array once what its members write fast is full, and the time until then at a rate, s. `None` where there is no
/// such cache, or nothing is written to it.
pub(crate) fn after_fill(
    resolved: &ResolvedArray,
    classes: &[Class],
    iops: f64,
) -> Option<(ResolvedArray, f64)> {
    let (full, fill) = resolved.after_fill()?;
    let written = member_writes(resolved, classes);
    let fill_s = (fill.bytes / (written.bytes * iops)).min(fill.writes / (written.writes * iops));
    fill_s.is_finite().then_some((full, fill_s))
}

/// What one member writes per I/O: parity and copies included.
fn member_writes(resolved: &ResolvedArray, classes: &[Class]) -> Fill {
    let mut all = Fill { bytes: 0.0, writes: 0.0 };
    for c in classes.iter().filter(|c| c.io_cost.kind == Kind::Write) {
        let r = &c.io_cost;
        for phase in r.phases.iter().filter(|p| p.kind == Kind::Write) {
            all.bytes += c.share * f64::from(phase.visits) * phase.bytes;
            all.writes += c.share * f64::from(phase.visits);
        }
        // Disks stream to their bands, and a tier keeps what it takes.
        if r.phases[0].visits == 0 && r.front != Front::Tier && matches!(resolved.media, Media::Flash(_)) {
            all.bytes += c.share * r.bytes / resolved.shape.data_fraction();
        }
    }
    let members = f64::from(resolved.shape.alive());
    Fill { bytes: all.bytes / members, writes: all.writes / members }
}

fn without_slc(resolved: &ResolvedArray, classes: &[Class], workload: &Workload) -> Outcome {
    let outstanding = workload.total_outstanding();
    let limit = drain_limit(resolved, classes);
    let steady = |n: f64| rate(resolved, classes, n).min(limit);
    let mut outcome = with_reconnects(workload, outstanding, &steady);
    if let Some((absorbing, fill_s)) = absorption(resolved, classes, workload, outcome.iops) {
        let run_s = workload.duration.as_secs_f64();
        let filled = share(fill_s, run_s);
        outcome.iops = absorbing * filled + outcome.iops * (1.0 - filled);
        outcome.mean_ms = outcome.in_flight / outcome.iops * 1e3;
        outcome.absorbing = Some((absorbing, fill_s));
    }
    if let LoadModel::Rate { per_s, arrivals } = workload.pace {
        return paced(resolved, classes, per_s, arrivals, outcome);
    }
    outcome
}

/// I/Os per second with `n` outstanding, before the drain of a write-back cache is considered.
fn rate(resolved: &ResolvedArray, classes: &[Class], n: f64) -> f64 {
    let n = n.min(resolved.queue_depth);
    let network = Network::of(resolved, classes, n);
    // Streams and visits keep the same members busy; the stations above see them apart.
    let full = if classes.iter().any(|c| c.io_cost.buffered) {
        f64::INFINITY
    } else {
        let (demand, members) = member_demand(resolved, classes, members_queue(resolved, classes, n));
        members / demand * 1e9
    };
    let passed_ns: f64 =
        classes.iter().map(|c| c.share * (c.io_cost.controller_ns + c.io_cost.passing_ns)).sum();
    let all = solve(resolved, &network, n, Scope::All).min(full).min(1e9 / passed_ns);
    if resolved.workers < n {
        all.min(solve(resolved, &network, resolved.workers, Scope::Target))
    } else {
        all
    }
}

/// Response time of an I/O that is alone, ns: what stands beside a mean at one outstanding.
pub(crate) fn alone_ns(resolved: &ResolvedArray, classes: &[Class]) -> f64 {
    1e9 / rate(resolved, classes, 1.0)
}

/// Buffered writes are answered early, but in the long run every one of them is drained: X <= m / D_drain.
fn drain_limit(resolved: &ResolvedArray, classes: &[Class]) -> f64 {
    if !classes.iter().any(|c| c.io_cost.buffered) || resolved.rewrites_in_cache() {
        return f64::INFINITY;
    }
    let queue = match resolved.media {
        Media::Disk(..) => BLOCKED_QUEUE,
        // A drive works on all that it is given at once.
        Media::Flash(_) => f64::INFINITY,
    };
    let (demand, members) = member_demand(resolved, classes, queue);
    members / demand * 1e9
}

/// While the write-back cache is not full: (rate, seconds until it is full). `t = C / (in - drain)`.
fn absorption(
    resolved: &ResolvedArray,
    classes: &[Class],
    workload: &Workload,
    drain_iops: f64,
) -> Option<(f64, f64)> {
    let written: f64 = classes.iter().filter(|c| c.io_cost.buffered).map(|c| c.share * c.io_cost.bytes).sum();
    // The load drains and reopens while the cache absorbs just as it does afterwards.
    let absorbing =
        with_reconnects(workload, workload.total_outstanding(), &|n| rate(resolved, classes, n)).iops;
    let is_full = resolved.array().controller.starts_full;
    if is_full || written <= 0.0 || absorbing <= drain_iops * 1.000_1 {
        return None;
    }
    Some((absorbing, resolved.write_back_bytes / ((absorbing - drain_iops) * written)))
}

/// Draining every `k` I/Os: of each k, the last N complete with N, N-1, … 1 in flight.
///
/// Time per connection = (k - N)/X(N) + sum of 1/X(i), i = 1..N; in-flight time = N (k - N)/X(N) + sum i/X(i).
fn with_reconnects(workload: &Workload, outstanding: f64, rate: &dyn Fn(f64) -> f64) -> Outcome {
    let full = rate(outstanding);
    let plain =
        Outcome { iops: full, mean_ms: outstanding / full * 1e3, in_flight: outstanding, absorbing: None };
    let Some(every) = workload.reconnect_every else { return plain };
    let k = f64::from(every.max(1));
    let n = outstanding.min(k);
    // X(i) at a few points and linear between: the curve is smooth.
    let points: Vec<f64> = (0..=8).map(|i| 1.0 + (n - 1.0) * f64::from(i) / 8.0).collect();
    let rates: Vec<f64> = points.iter().map(|p| rate(*p)).collect();
    let (mut time, mut in_flight_time) = ((k - n) / full, n * (k - n) / full);
    let mut i = 1.0;
    while i <= n {
        let place = if n > 1.0 { (i - 1.0) / (n - 1.0) * 8.0 } else { 0.0 };
        let low = crate::num::index(crate::num::whole(place.floor())).min(7);
        let x = rates[low] + (rates[low + 1] - rates[low]) * (place - low as f64);
        time += 1.0 / x;
        in_flight_time += i / x;
        i += 1.0;
    }
    let iops = k / time;
    let in_flight = in_flight_time / time;
    Outcome { iops, mean_ms: in_flight / iops * 1e3, in_flight, absorbing: None }
}

/// A paced load: the requested rate, or what a closed loop would reach if that is less. The response time is
/// that of an open network, `sum D_k (1 + w U_k / (1 - U_k))` with w = 1 for Poisson arrivals at random
/// service and half of it for even ones, found through the population that produces the rate.
fn paced(
    resolved: &ResolvedArray,
    classes: &[Class],
    per_s: f64,
    arrivals: Arrivals,
    most: Outcome,
) -> Outcome {
    if per_s >= most.iops {
        return most;
    }
    let (mut low, mut high) = (1.0, most.in_flight.max(1.0));
    if rate(resolved, classes, 1.0) < per_s {
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if rate(resolved, classes, middle) < per_s { low = middle } else { high = middle }
        }
    } else {
        high = per_s / rate(resolved, classes, 1.0);
    }
    // Below one outstanding nothing queues except Poisson arrivals on each other: M/M/1 on the bottleneck.
    let queueing = match arrivals {
        Arrivals::Even => 1.0,
        Arrivals::Poisson => 1.0 / (1.0 - share(per_s, most.iops)).max(0.02),
    };
    let alone_ms = 1e3 / rate(resolved, classes, 1.0);
    let mean_ms = (high / per_s * 1e3).max(alone_ms * queueing);
    Outcome { iops: per_s, mean_ms, in_flight: mean_ms * per_s / 1e3, absorbing: None }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Everything between issue and completion.
    All,
    /// What a worker of the target waits for.
    Target,
}

impl Network {
    fn of(resolved: &ResolvedArray, classes: &[Class], n: f64) -> Self {
        let sum = |cost: &dyn Fn(&Class) -> f64| classes.iter().map(|c| c.share * cost(c)).sum::<f64>();
        let missed = |c: &Class| 1.0 - c.io_cost.hit;
        let speedup = link_speedup(resolved, classes, n);
        let wire = |direction: Kind| Station {
            demand_ns: sum(&|c| if c.io_cost.direction == direction { c.io_cost.wire_ns } else { 0.0 }),
            servers: speedup,
        };
        let one = |demand_ns: f64| Station { demand_ns, servers: 1.0 };
        let front = |which: Front| {
            one(sum(&|c| if c.io_cost.front == which { c.io_cost.front_ns * missed(c) } else { 0.0 }))
        };
        let parts: &[Part] =
            if resolved.shape.failed == 0 { &[Part::All] } else { &[Part::Degraded, Part::Sound] };
        let parts = parts.iter().filter(|part| resolved.shape.range(**part).1 > 0);
        Self {
            // Below zero where the link and the members transfer at the same time.
            delay_ns: sum(&|c| {
                let overlaps = if c.io_cost.buffered { 0.0 } else { c.io_cost.overlap_ns * missed(c) };
                let answered = c.io_cost.hit * c.io_cost.hit_ns + missed(c) * c.io_cost.start_ns;
                c.io_cost.delay_ns + answered - overlaps
            }),
            outer: [one(sum(&|c| c.io_cost.host_ns)), wire(Kind::Read), wire(Kind::Write)],
            inner: [
                Station { demand_ns: sum(&|c| c.io_cost.cpu_ns), servers: resolved.cores },
                one(sum(&|c| c.io_cost.controller_ns)),
                front(Front::Tier),
                front(Front::Log),
                one(sum(&|c| c.io_cost.serial_ns * missed(c))),
                streaming(resolved, classes),
            ],
            members: parts.map(|part| Members::of(resolved, classes, *part)).collect(),
            evenness: evenness(classes),
        }
    }
}

/// 1 minus the squared coefficient of variation of the times at each station, weighted by the time spent there.
pub(crate) fn evenness(classes: &[Class]) -> f64 {
    let times: [fn(&Class) -> f64; 8] = [
        |c| c.io_cost.host_ns,
        |c| c.io_cost.cpu_ns,
        |c| c.io_cost.controller_ns,
        |c| if c.io_cost.direction == Kind::Read { c.io_cost.wire_ns } else { 0.0 },
        |c| if c.io_cost.direction == Kind::Write { c.io_cost.wire_ns } else { 0.0 },
        |c| if c.io_cost.front == Front::Tier { c.io_cost.front_ns * (1.0 - c.io_cost.hit) } else { 0.0 },
        |c| if c.io_cost.front == Front::Log { c.io_cost.front_ns * (1.0 - c.io_cost.hit) } else { 0.0 },
        |c| c.io_cost.stream_ns * (1.0 - c.io_cost.hit),
    ];
    let (mut all, mut uneven) = (0.0, 0.0);
    for time in times {
        let mean: f64 = classes.iter().map(|c| c.share * time(c)).sum();
        let square: f64 = classes.iter().map(|c| c.share * time(c) * time(c)).sum();
        if mean > 0.0 {
            all += mean;
            uneven += mean * (square / (mean * mean) - 1.0);
        }
    }
    if all > 0.0 { (1.0 - uneven / all).clamp(0.0, 1.0) } else { 0.0 }
}

impl Members {
    fn of(resolved: &ResolvedArray, classes: &[Class], part: Part) -> Self {
        let waits = |c: &&Class| c.io_cost.serial_ns <= 0.0 && !c.io_cost.buffered;
        let of = |c: &Class, phase: &Phase| {
            let missed = c.share * (1.0 - c.io_cost.hit);
            Visits {
                falls: missed * falls_on(resolved, c.io_cost.part, part),
                waits: missed * waits_for(resolved, c.io_cost.part, part, phase.visits),
                phase: *phase,
                side_by_side: resolved.fork_join(phase),
            }
        };
        let phases = classes
            .iter()
            .filter(waits)
            .flat_map(|c| c.io_cost.phases.iter().filter(|p| p.visits > 0).map(move |p| of(c, p)))
            .filter(|visits| visits.falls > 0.0)
            .collect();
        let (background_ns, destaging_ns) = destages(resolved, classes);
        Self {
            count: f64::from(resolved.shape.range(part).1),
            phases,
            slowed: resolved.slowed(part),
            background_ns,
            destaging_ns: destaging_ns / f64::from(resolved.shape.alive()),
        }
    }
}

/// Mean rest of a destage in service, `E[s^2] / 2 E[s]`, about 0.6 of the mean for positioning times (of different
/// kinds
/// the long ones are met more often); and the time of all destages of an I/O. Nothing of drives, which work on many
/// requests at once.
fn destages(resolved: &ResolvedArray, classes: &[Class]) -> (f64, f64) {
    let (mut time, mut squares) = (0.0, 0.0);
    for class in classes.iter().filter(|c| c.io_cost.buffered && c.io_cost.serial_ns <= 0.0) {
        for phase in class.io_cost.phases.iter().filter(|p| p.visits > 0) {
            let each = resolved.destage_ns(phase);
            time += class.share * f64::from(phase.visits) * each;
            squares += class.share * f64::from(phase.visits) * each * each;
        }
    }
    match resolved.media {
        Media::Disk(..) if time > 0.0 => (0.6 * squares / time, time),
        Media::Disk(..) | Media::Flash(_) => (0.0, 0.0),
    }
}

/// Streams over drives: an I/O keeps the members it has chunks on busy, and the others are free for the next one.
fn streaming(resolved: &ResolvedArray, classes: &[Class]) -> Station {
    let (mut all_members_ns, mut own_ns) = (0.0, 0.0);
    let waits = |c: &&Class| c.io_cost.serial_ns <= 0.0 && !c.io_cost.buffered && !resolved.streams_ahead();
    for class in classes.iter().filter(waits) {
        let time = class.share * class.io_cost.stream_ns * (1.0 - class.io_cost.hit);
        all_members_ns += time * resolved.rebuild_factor;
        own_ns += time
            * resolved.stream_parallel(class.io_cost.kind, class.io_cost.bytes)
            * resolved.stream_slowed(class.io_cost.bytes);
    }
    Station { demand_ns: own_ns, servers: if all_members_ns > 0.0 { own_ns / all_members_ns } else { 1.0 } }
}

/// The fixed point: I/Os per second with `n` in the scope.
fn solve(resolved: &ResolvedArray, network: &Network, n: f64, scope: Scope) -> f64 {
    let others = ((n - 1.0) / n).max(0.0);
    let outer = if scope == Scope::All { &network.outer[..] } else { &[] };
    let stations: Vec<Station> =
        network.inner.iter().chain(outer).copied().filter(|s| s.demand_ns > 0.0).collect();
    let mut queues = vec![n / (stations.len() + 1) as f64; stations.len()];
    let members_count: f64 = network.members.iter().map(|m| m.count).sum();
    let mut at_member = vec![n / members_count; network.members.len()];
    let delay = if scope == Scope::All { network.delay_ns } else { 0.0 };
    let alone: f64 =
        network.members.iter().map(|members| at_members_ns(resolved, members, 0.0, n, 0.0).0).sum();
    // I/Os that take the same time everywhere leave the slowest station one after the other, and never meet again; what
    // differs from one to the next at the members lets them meet.
    let slowest = stations.iter().map(|s| s.demand_ns / s.servers).fold(0.0, f64::max);
    let even = slowest / (slowest + alone).max(1.0) * network.evenness;
    let mut x = 0.0_f64;
    for _ in 0..ROUNDS {
        let mut total = delay;
        let mut response = Vec::with_capacity(stations.len());
        for (station, queue) in stations.iter().zip(&queues) {
            let fast = station.demand_ns / station.servers;
            let busy = (x * fast).min(1.0);
            let r = fast * (1.0 + (queue - busy / 2.0).max(0.0) * others * (1.0 - even));
            total += r + station.demand_ns * (1.0 - 1.0 / station.servers);
            response.push(r);
        }
        let at_members = network.members.iter().zip(&at_member);
        let member_times: Vec<_> =
            at_members.map(|(members, at)| at_members_ns(resolved, members, *at, n, x)).collect();
        total += member_times.iter().map(|(response, _)| response).sum::<f64>();
        let next = n / total.max(1.0);
        // Half steps: queue-dependent service makes full ones oscillate.
        for (queue, r) in queues.iter_mut().zip(&response) {
            *queue += (next * r - *queue) / 2.0;
        }
        for (at, (_, load)) in at_member.iter_mut().zip(&member_times) {
            *at += (next * load - *at) / 2.0;
        }
        let settled = (next - x).abs() <= 1e-7 * next;
        x = next;
        if settled {
            break;
        }
    }
    let full = stations.iter().map(|s| s.servers / s.demand_ns).fold(f64::INFINITY, f64::min);
    x.min(full) * 1e9
}

/// (response time of an I/O at the members, time that visits of one I/O spend at one member), ns.
///
/// A disk chooses when it begins a service: among those that the last one left behind, or one alone where it left none.
/// By the arrival theorem an arrival and a departure see the same A others and the same probability U' that the disk
/// is busy, so that the mean is `A + 1 - U'`. An arrival waits for A - U' whole visits and the rest of the one in
/// service: half of `E[s^2] / E[s]`, or all of it where the last departure was its own.
fn at_members_ns(
    resolved: &ResolvedArray,
    members: &Members,
    at_member: f64,
    n: f64,
    rate: f64,
) -> (f64, f64) {
    let others = ((n - 1.0) / n).max(0.0);
    let background_ns = members.background_ns * (rate * members.destaging_ns).min(1.0);
    let ahead = at_member * others;
    let visits = |chosen_from: f64| {
        // Number, time, sum of the squares of the means, and sum of the mean squares.
        let mut sums = (0.0, 0.0, 0.0, 0.0);
        for Visits { falls, phase, .. } in &members.phases {
            let (weight, each) = (falls * f64::from(phase.visits), resolved.visit_ns(phase, chosen_from));
            let square = each * each;
            sums.0 += weight;
            sums.1 += weight * each;
            sums.2 += weight * square;
            sums.3 += weight * square * (1.0 + resolved.visit_variance(phase, each));
        }
        sums
    };
    let seen = 1.0 + ahead;
    // The time of those that wait, and the rest of the one in service.
    let (chosen_from, before, rest) = match resolved.media {
        Media::Disk(..) => {
            let (mut chosen_from, mut busy) = (seen, 0.0);
            for _ in 0..2 {
                // U' of the balanced network: U (N-1)/N / (1 - U/N).
                let of_all = (rate * visits(chosen_from).1 * members.slowed / members.count).min(1.0);
                busy = (of_all * others / (1.0 - of_all / n).max(f64::MIN_POSITIVE)).min(ahead.min(1.0));
                chosen_from = seen - busy;
            }
            let (number, time, _, squares) = visits(chosen_from);
            let (mean, rest) = if number > 0.0 { (time / number, squares / time / 2.0) } else { (0.0, 0.0) };
            // The share of the others that are here is that of the arrivals that come from here.
            let own = (at_member / n).min(1.0);
            (chosen_from, (ahead - busy) * mean, busy * (own * mean + (1.0 - own) * rest))
        }
        // A drive works on all that it has: each takes as much longer as dies are shared.
        Media::Flash(_) => (seen, 0.0, 0.0),
    };
    let waits = before + rest;
    let (mut response, mut load) = (0.0, 0.0);
    for Visits { falls, waits: waiting_share, phase, side_by_side } in &members.phases {
        let (longest, even) = resolved.side_by_side_ns(phase, chosen_from);
        let waiting = match resolved.media {
            Media::Disk(..) => waits * members.slowed + background_ns,
            Media::Flash(_) => ahead * even * members.slowed,
        };
        // A revolution is as long on all members: where an I/O is on all of them, they end it at once.
        let ends_at_once = phase.place == Place::Behind && f64::from(phase.visits) >= members.count;
        let at_once = if ends_at_once { rest * members.slowed } else { 0.0 };
        let longest_wait = (waiting - at_once) * side_by_side + at_once;
        response += waiting_share * (longest_wait + (longest + even) * members.slowed);
        let own = resolved.visit_ns(phase, chosen_from) * members.slowed;
        load += falls * (waiting + own) * f64::from(phase.visits) / members.count;
    }
    (response, load)
}
