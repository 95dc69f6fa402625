//! Engine (a): the demand table. Instant, and it names the bottleneck.
//!
//! For each resource k: demand `D_k` (busy time per I/O), servers `m_k`. Asymptotic bounds of a closed
//! network (Denning and Buzen 1978): `X <= min m_k / D_k` and `X <= N / (sum of latencies alone)`.

use crate::array::Device;
use crate::catalogue::cloud;
use crate::num::share;
use crate::quantity::Bounds;
use crate::raid::{Kind, Part, Phase};
use crate::resolved::front::Front;
use crate::resolved::{Class, Media, ResolvedArray};
use crate::wire;
use serde::Serialize;

/// What limits, in words that fit after "limited by".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum ResourceKind {
    /// The host that issues the load.
    Host,
    /// Target software.
    TargetCpu,
    /// Controller or bus.
    Controller,
    /// The tier of faster devices.
    Tier,
    /// The log device of durable writes.
    Log,
    /// Link, data towards the host.
    LinkRead,
    /// Link, data from the host.
    LinkWrite,
    /// The target's single queue of random writes.
    SerialWrites,
    /// Members, random visits and streaming together.
    Members,
    /// LUN queue depth or outstanding I/Os over the unloaded latency.
    Latency,
    /// The target's workers.
    Workers,
    /// The load itself is paced below what the array could do.
    LoadModel,
}

/// A resource, how busy an I/O keeps it, and the rate at which it is full.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resource {
    /// Which.
    pub kind: ResourceKind,
    /// Its name in a sentence: "4 disks", "one 1GbE path".
    pub name: String,
    /// Busy time per I/O of one server, us.
    pub demand_us: f64,
    /// Servers.
    pub servers: f64,
    /// I/Os per second at which it is full, nominal.
    pub ceiling_iops: f64,
    /// The same over the ranges of the array file; nominal only until a prediction sets it.
    pub ceiling: Bounds,
    /// Fraction of it that is busy at the predicted rate, \[0, 1\].
    pub utilisation: f64,
}

/// All resources of an array under a workload, the tightest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemandTable {
    /// Resources by ceiling, lowest first; those that an I/O does not touch are left out.
    pub resources: Vec<Resource>,
}

impl DemandTable {
    /// The resource that fills first.
    #[must_use]
    pub fn first(&self) -> Option<&Resource> {
        self.resources.first()
    }

    /// The one that would limit if the first were removed.
    #[must_use]
    pub fn second(&self) -> Option<&Resource> {
        self.resources.get(1)
    }

    /// How far the second suspect is behind the first: ratio of the ceilings, at least 1.
    #[must_use]
    pub fn distance(&self) -> f64 {
        match (self.first(), self.second()) {
            (Some(a), Some(b)) => b.ceiling_iops / a.ceiling_iops,
            _ => f64::INFINITY,
        }
    }

    /// Sets the time of an I/O alone, as the closed form has it, with `outstanding` in flight.
    #[must_use]
    pub(crate) fn with_latency(mut self, alone_ns: f64, outstanding: f64) -> Self {
        self.resources.retain(|r| r.kind != ResourceKind::Latency);
        self.resources.push(latency_bound(alone_ns, outstanding));
        self.resources.sort_by(|a, b| a.ceiling_iops.total_cmp(&b.ceiling_iops));
        self
    }

    /// Sets utilisations for a rate.
    #[must_use]
    pub fn at(mut self, iops: f64) -> Self {
        for r in &mut self.resources {
            r.utilisation = share(iops, r.ceiling_iops);
        }
        self
    }
}

/// Demand of the members per I/O, ns summed over them, and how many they are: of the part that is full first.
/// `n` = requests a member can choose from.
pub(crate) fn member_demand(resolved: &ResolvedArray, classes: &[Class], n: f64) -> (f64, f64) {
    let of = |part: Part| {
        let members = f64::from(resolved.shape.range(part).1);
        // Where a part is full, those in flight wait for it: (N + p - 1) / p in place of n = (N + m - 1) / m.
        let alive = f64::from(resolved.shape.alive());
        let waiting = if n.is_finite() { (n * alive - alive) / members.max(1.0) + 1.0 } else { n };
        (part_demand_ns(resolved, classes, waiting, part), members)
    };
    if resolved.shape.failed == 0 {
        return of(Part::All);
    }
    let [degraded, sound] = [of(Part::Degraded), of(Part::Sound)];
    let busier = |(demand, members): (f64, f64)| if members > 0.0 { demand / members } else { 0.0 };
    if busier(sound) > busier(degraded) { sound } else { degraded }
}

/// The part of the members that buffered writes keep busy for the longest.
pub(crate) fn fullest_part(resolved: &ResolvedArray, classes: &[Class]) -> Part {
    if resolved.shape.failed == 0 {
        return Part::All;
    }
    let busy = |part: Part| {
        let members = f64::from(resolved.shape.range(part).1);
        part_demand_ns(resolved, classes, 1.0, part) / members.max(1.0)
    };
    if busy(Part::Sound) > busy(Part::Degraded) { Part::Sound } else { Part::Degraded }
}

/// Share of an I/O's visits that fall on a part.
pub(crate) fn falls_on(resolved: &ResolvedArray, io_part: Part, part: Part) -> f64 {
    match (io_part, part) {
        _ if io_part == part => 1.0,
        (Part::All, _) => f64::from(resolved.shape.range(part).1) / f64::from(resolved.shape.alive()),
        _ => 0.0,
    }
}

/// Share of an I/O's time that is a wait for this part: one of so many consecutive members is in the group that lost
/// one with the probability of a place at random.
pub(crate) fn waits_for(resolved: &ResolvedArray, io_part: Part, part: Part, visits: u32) -> f64 {
    let shape = &resolved.shape;
    if io_part != Part::All || part == Part::All {
        return falls_on(resolved, io_part, part);
    }
    let (alive, survivors) = (f64::from(shape.alive()), f64::from(shape.survivors()));
    let met = ((f64::from(visits) + survivors - 1.0) / alive).clamp(0.0, 1.0);
    if part == Part::Degraded { met } else { 1.0 - met }
}

fn part_demand_ns(resolved: &ResolvedArray, classes: &[Class], n: f64, part: Part) -> f64 {
    let (_, members) = resolved.shape.range(part);
    let slowed = resolved.slowed(part);
    let sum = |class: &Class| {
        let io_cost = &class.io_cost;
        if io_cost.buffered && resolved.rewrites_in_cache() {
            return 0.0;
        }
        let visits: f64 = io_cost
            .phases
            .iter()
            .filter(|p| p.visits > 0)
            .map(|p| {
                let each = if io_cost.buffered { resolved.destage_ns(p) } else { resolved.visit_ns(p, n) };
                f64::from(p.visits) * each
            })
            .sum();
        let visits = visits * falls_on(resolved, io_cost.part, part);
        // Streaming keeps every member busy for the same time.
        let busy = (visits + io_cost.stream_ns * f64::from(members)) * slowed;
        class.share * (1.0 - io_cost.hit) * busy
    };
    classes.iter().map(sum).sum()
}

/// The table for `outstanding` I/Os in flight; utilisations are 0 until [`DemandTable::at`].
#[must_use]
pub fn demand_table(resolved: &ResolvedArray, classes: &[Class], outstanding: f64) -> DemandTable {
    let per_io = |cost: &dyn Fn(&Class) -> f64| classes.iter().map(|c| c.share * cost(c)).sum::<f64>();
    let missed = |c: &Class| 1.0 - c.io_cost.hit;
    let [link_read, link_write] = link_demands(classes);
    let speedup = link_speedup(resolved, classes, outstanding);
    // A bound holds however the I/Os happen to fall on the dies of a drive: all of them may be busy.
    let n = match resolved.media {
        Media::Disk(..) => members_queue(resolved, classes, outstanding),
        Media::Flash(_) => f64::INFINITY,
    };
    let (members_ns, members) = member_demand(resolved, classes, n);
    let front = |which: Front| {
        per_io(&|c| if c.io_cost.front == which { c.io_cost.front_ns * missed(c) } else { 0.0 })
    };
    let rows = [
        (ResourceKind::Host, per_io(&|c| c.io_cost.host_ns), 1.0),
        (ResourceKind::TargetCpu, per_io(&|c| c.io_cost.cpu_ns), resolved.cores),
        (ResourceKind::Controller, per_io(&|c| c.io_cost.controller_ns + c.io_cost.passing_ns), 1.0),
        (ResourceKind::Tier, front(Front::Tier), 1.0),
        (ResourceKind::Log, front(Front::Log), 1.0),
        (ResourceKind::LinkRead, link_read, speedup),
        (ResourceKind::LinkWrite, link_write, speedup),
        (ResourceKind::SerialWrites, per_io(&|c| c.io_cost.serial_ns * missed(c)), 1.0),
        (ResourceKind::Members, members_ns, members),
    ];
    let mut resources: Vec<Resource> = rows
        .into_iter()
        .filter(|(_, demand, _)| *demand > 0.0)
        .map(|(kind, demand, servers)| Resource {
            kind,
            name: match kind {
                ResourceKind::Members => members_name(resolved, classes),
                ResourceKind::Controller if resolved.expander_limits(classes) => {
                    format!("the {} port of the expander", resolved.array().controller.expander.name())
                }
                ResourceKind::Host if !is_host_cpu(classes) => {
                    let host = &resolved.array().initiator;
                    format!("{} x {} of the clients", host.clients.value, host.link.name())
                }
                ResourceKind::Host if is_thread_of_guest(resolved, classes) => {
                    "the virtual disk of the guest".to_owned()
                }
                ResourceKind::Host if is_thread_of_target(resolved, classes) => {
                    "the target's ZFS threads".to_owned()
                }
                ResourceKind::LinkRead | ResourceKind::LinkWrite => {
                    link_name(resolved, direction_name(classes, kind), servers)
                }
                kind => name_of(resolved, kind),
            },
            demand_us: demand / 1e3,
            servers,
            ceiling_iops: servers / demand * 1e9,
            ceiling: Bounds::exact(servers / demand * 1e9),
            utilisation: 0.0,
        })
        .collect();
    let alone: f64 = classes.iter().map(|c| c.share * unloaded_ns(resolved, c)).sum();
    resources.push(latency_bound(alone, outstanding.min(resolved.queue_depth)));
    resources.sort_by(|a, b| a.ceiling_iops.total_cmp(&b.ceiling_iops));
    DemandTable { resources }
}

/// Time on one path for data towards the host and from it, ns per I/O; of a link that carries one at a time, all of it
/// in the place of the one that takes the most.
fn link_demands(classes: &[Class]) -> [f64; 2] {
    let of = |kind: Kind| -> f64 {
        classes.iter().filter(|c| c.io_cost.kind == kind).map(|c| c.share * c.io_cost.wire_ns).sum()
    };
    let (read, write) = (of(Kind::Read), of(Kind::Write));
    match shares_direction(classes) {
        false => [read, write],
        true if write > read => [0.0, read + write],
        true => [read + write, 0.0],
    }
}

/// Whether writes pass the link in the place of reads.
fn shares_direction(classes: &[Class]) -> bool {
    classes.iter().any(|c| c.io_cost.direction != c.io_cost.kind)
}

/// The rate above which the links of an array, or those of its flash drives, would carry more than they can, I/Os per
/// second; infinite where nothing passes any that is known.
pub(crate) fn links_most(resolved: &ResolvedArray, classes: &[Class], outstanding: f64) -> f64 {
    let table = demand_table(resolved, classes, outstanding);
    let is_link = |r: &&Resource| matches!(r.kind, ResourceKind::LinkRead | ResourceKind::LinkWrite);
    let fronts = table.resources.iter().filter(is_link).map(|r| r.ceiling_iops);
    fronts.chain(ports_most(resolved, classes)).fold(f64::INFINITY, f64::min)
}

/// The same of the drives' links together: what no cache and no tier answers passes one of them at
/// least once, unless software makes it smaller.
fn ports_most(resolved: &ResolvedArray, classes: &[Class]) -> Option<f64> {
    let array = resolved.array();
    let Device::Ssd(ssd) = &array.device else { return None };
    if array.target.compression.is_some() {
        return None;
    }
    let passes = |c: &&Class| !c.io_cost.buffered && c.io_cost.front != Front::Tier;
    let port_ns = |kind: Kind| -> f64 {
        let of_kind = classes.iter().filter(passes).filter(|c| c.io_cost.kind == kind);
        let time = |c: &Class| {
            let bytes = c.io_cost.bytes;
            c.share * (1.0 - c.io_cost.hit) * bytes / (wire::port_mb_s(ssd.link, bytes) * 1e6) * 1e9
        };
        of_kind.map(time).sum()
    };
    let (read, write) = (port_ns(Kind::Read), port_ns(Kind::Write));
    let ns = if ssd.link.is_half_duplex() { read + write } else { read.max(write) };
    (ns > 0.0).then(|| f64::from(resolved.shape.members) / ns * 1e9)
}

/// Whether threads hold the load up for longer than the links of the hosts do.
fn is_host_cpu(classes: &[Class]) -> bool {
    let of = |is_link: bool| -> f64 {
        let those = classes.iter().filter(|c| c.io_cost.is_host_link == is_link);
        those.map(|c| c.share * c.io_cost.host_ns).sum()
    };
    of(false) >= of(true)
}

/// Whether these threads are those of a hypervisor that serve the disk of a guest.
fn is_thread_of_guest(resolved: &ResolvedArray, classes: &[Class]) -> bool {
    let thread_ns = resolved.guest_thread_ns();
    let host_ns: f64 = classes.iter().map(|c| c.share * c.io_cost.host_ns).sum();
    thread_ns > 0.0 && host_ns <= thread_ns * 1.000_1
}

/// Whether these threads are those of the target, and not those of the hosts.
fn is_thread_of_target(resolved: &ResolvedArray, classes: &[Class]) -> bool {
    let own_ns = resolved.array().initiator.op_us.value * 1e3;
    let share = |c: &&Class| c.share * c.io_cost.host_ns;
    let most = classes.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    most.is_some_and(|c| resolved.target_thread_ns(c.io_cost.bytes) > own_ns)
}

/// `X <= N / R0`: what the I/Os in flight allow even if nothing queues.
fn latency_bound(alone: f64, n: f64) -> Resource {
    let each = match alone / 1e3 {
        us if us < 999.5 => format!("{us:.0} µs"),
        us => format!("{:.2} ms", us / 1e3),
    };
    let name = format!("{n:.0} outstanding at {each} each");
    Resource {
        kind: ResourceKind::Latency,
        name,
        demand_us: alone / 1e3,
        servers: n,
        ceiling_iops: n / alone.max(1.0) * 1e9,
        ceiling: Bounds::exact(n / alone.max(1.0) * 1e9),
        utilisation: 0.0,
    }
}

/// Response time of one I/O of a class on an idle array, ns.
pub(crate) fn unloaded_ns(resolved: &ResolvedArray, class: &Class) -> f64 {
    let r = &class.io_cost;
    let members: f64 = if r.serial_ns > 0.0 {
        r.serial_ns
    } else if r.buffered {
        0.0
    } else {
        let phases = r.phases.iter().filter(|p| p.visits > 0);
        let stream = if resolved.streams_ahead() {
            0.0
        } else {
            r.stream_ns * resolved.stream_parallel(r.kind, r.bytes) * resolved.stream_slowed(r.bytes)
        };
        let longest = |p: &Phase| {
            let (differs, even) = resolved.side_by_side_ns(p, 1.0);
            let met = waits_for(resolved, r.part, Part::Degraded, p.visits);
            let slowed = if r.part == Part::All {
                1.0 + (resolved.rebuild_factor - 1.0) * met
            } else {
                resolved.slowed(r.part)
            };
            (differs + even) * slowed
        };
        stream + phases.map(longest).sum::<f64>()
    };
    let transfer = r.wire_ns - (1.0 - r.hit) * if r.buffered { 0.0 } else { r.overlap_ns };
    let answered = r.hit * r.hit_ns + (1.0 - r.hit) * (members + r.front_ns + r.start_ns);
    r.delay_ns + r.host_ns + r.cpu_ns + r.controller_ns + transfer + answered
}

/// Requests a member can choose from when N I/Os, each visiting w members at once, are spread over all m:
/// `(N w + m - 1) / m`.
pub(crate) fn members_queue(resolved: &ResolvedArray, classes: &[Class], outstanding: f64) -> f64 {
    let m = f64::from(resolved.shape.alive());
    // What a tier answers is gone in no time: those in flight wait for the members.
    let here = || classes.iter().filter(|c| c.io_cost.front != Front::Tier);
    let shares: f64 = here().map(|c| c.share).sum();
    let at_once: f64 = here()
        .map(|c| c.share * f64::from(c.io_cost.phases.iter().map(|p| p.visits).max().unwrap_or(0).max(1)))
        .sum::<f64>()
        / shares.max(f64::MIN_POSITIVE);
    (outstanding.min(resolved.queue_depth).min(resolved.workers) * at_once + m - 1.0) / m
}

/// Paths' worth of bandwidth, weighted over the classes' sizes.
pub(crate) fn link_speedup(resolved: &ResolvedArray, classes: &[Class], outstanding: f64) -> f64 {
    let n = outstanding.min(resolved.queue_depth);
    let bytes: f64 = classes.iter().map(|c| c.share * c.io_cost.bytes).sum();
    let weighted: f64 = classes
        .iter()
        .map(|c| {
            c.share * c.io_cost.bytes * wire::round_robin_speedup(resolved.paths, c.io_cost.ios_per_turn, n)
        })
        .sum();
    if bytes > 0.0 { weighted / bytes } else { 1.0 }
}

/// Share of what its link carries from which on a drive is called as fast as its link: the sheets of SATA drives say
/// 540 to 560 MB/s of 594, those of NVMe drives of PCIe 3.0 3,500 of 3,900.
const AT_PORT: f64 = 0.88;
/// What limits a load that is offered at a rate and kept.
pub const REQUESTED_RATE: &str = "the requested rate";

/// The members, and their links where these leave them nothing to spare.
fn members_name(resolved: &ResolvedArray, classes: &[Class]) -> String {
    let (Media::Flash(flash), Device::Ssd(ssd)) = (&resolved.media, &resolved.array().device) else {
        return resolved.members_name();
    };
    let members = resolved.members_name();
    let sum = |time: &dyn Fn(&Class) -> f64| classes.iter().map(|c| c.share * time(c)).sum::<f64>();
    let port = sum(&|c| c.io_cost.bytes / (wire::port_mb_s(ssd.link, c.io_cost.bytes) * 1e6) * 1e9);
    let own = sum(&|c| flash.controller_ns(c.io_cost.kind, c.io_cost.bytes));
    if let Some(volume) = cloud_volume(resolved) {
        let at_bytes = sum(&|c| {
            let (kind, bytes) = (c.io_cost.kind, c.io_cost.bytes);
            let moved = flash.transfer_ns(kind, bytes);
            if moved >= flash.controller_ns(kind, bytes) { moved } else { 0.0 }
        });
        let of = if at_bytes >= 0.5 * own { "throughput" } else { "IOPS" };
        return format!("the limit of {of} of the {volume} volume");
    }
    match port >= AT_PORT * own {
        true if resolved.shape.members > 1 => format!("{members} at their {} links", ssd.link.name()),
        true => format!("{members} at its {} link", ssd.link.name()),
        false => members,
    }
}

/// The type of a volume of a cloud.
pub(crate) fn cloud_volume(resolved: &ResolvedArray) -> Option<&'static str> {
    cloud::name_of(&resolved.array().device)
}

/// What of a link is full.
fn direction_name(classes: &[Class], kind: ResourceKind) -> &'static str {
    let has = |kind: Kind| classes.iter().any(|c| c.io_cost.kind == kind);
    match kind {
        _ if shares_direction(classes) && has(Kind::Read) && has(Kind::Write) => "both directions",
        ResourceKind::LinkRead => "read direction",
        _ => "write direction",
    }
}

fn link_name(resolved: &ResolvedArray, direction: &str, servers: f64) -> String {
    let (rate, count) = (resolved.array().link.rate.name(), resolved.array().paths.count.value);
    if count <= 1.0 {
        format!("one {rate} link, {direction}")
    } else if servers < 1.0 + 0.5 * (count - 1.0) {
        format!("{servers:.2} of {count} {rate} paths, {direction}")
    } else {
        format!("{count} x {rate}, {direction}")
    }
}

fn name_of(resolved: &ResolvedArray, kind: ResourceKind) -> String {
    match kind {
        ResourceKind::Host => "the host that issues the load".to_owned(),
        ResourceKind::TargetCpu => "the target's software".to_owned(),
        ResourceKind::Controller => match cloud_volume(resolved) {
            Some(volume) => format!("the limit of IOPS of the {volume} volume"),
            None => "the controller".to_owned(),
        },
        ResourceKind::Tier => "the tier".to_owned(),
        ResourceKind::Log => "the log device".to_owned(),
        ResourceKind::SerialWrites => "the target's single queue of random writes".to_owned(),
        ResourceKind::Members => resolved.members_name(),
        ResourceKind::LinkRead | ResourceKind::LinkWrite => "the link".to_owned(),
        ResourceKind::Latency => "latency".to_owned(),
        ResourceKind::Workers => "the target's workers".to_owned(),
        ResourceKind::LoadModel => REQUESTED_RATE.to_owned(),
    }
}
