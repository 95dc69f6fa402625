//! A path to a LUN or an NFS server in words, for `assay check` and for the report of a run.

use assay_analysis::{Ceiling, StepSummary, time};
use assay_record::{
    Agreed, FrameFacts, FrameHop, FrameOutcome, FrameProbe, InterfaceFacts, LinkState, PathEnd, PathFacts,
    RouteFacts, RunHeader,
};
use assay_spec::units::{Bytes, MIB};

/// From this share of their ceiling on, links are full: acknowledgements and pauses take the rest.
const FULL: f64 = 0.95;

/// What a path carried of its job: the numbers of its row in the table and in JSON.
pub(crate) struct PathUse {
    /// Share of the job's I/Os, in \[0, 1\]; `None` if there were none.
    pub(crate) ops_share: Option<f64>,
    /// Share of the job's bytes, in \[0, 1\]; `None` if there were none.
    pub(crate) bytes_share: Option<f64>,
    /// I/Os per second of the job's measured window.
    pub(crate) iops: f64,
    /// 2^20 bytes per second of the job's measured window.
    pub(crate) mib_per_s: f64,
    /// Mean number of I/Os in flight on the path.
    pub(crate) in_flight: f64,
}

impl PathUse {
    pub(crate) fn of(path: &PathEnd, step: &StepSummary) -> Self {
        let of_job = |count: fn(&PathEnd) -> u64| {
            step.paths.iter().filter(|other| other.job == path.job).map(count).sum::<u64>()
        };
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let seconds = step.jobs.get(path.job as usize).map_or(step.seconds, |job| job.seconds);
        Self {
            ops_share: share(path.ops(), of_job(PathEnd::ops)),
            bytes_share: share(path.bytes(), of_job(PathEnd::bytes)),
            iops: path.ops() as f64 / seconds,
            mib_per_s: path.bytes() as f64 / MIB as f64 / seconds,
            in_flight: path.latency.sum_ns() as f64 / 1e9 / seconds,
        }
    }
}

/// Everything known of a path, each with its name, in the order in which packets meet it.
pub fn path_facts(path: &PathFacts, ceiling: Option<Ceiling>) -> Vec<(&'static str, String)> {
    let mut facts = vec![("addresses", addresses(path))];
    if let Some(net) = &path.net {
        let route = net.route.as_ref().map_or_else(
            || "none: this host has no route to it".to_owned(),
            |of| route(of, path.local.as_deref().unwrap_or_default()),
        );
        facts.push(("route", route));
        if let Some(of) = &net.interface {
            facts.push(("interface", interface(of)));
            facts.push(("flow control", pause(of)));
            facts.push(("queues", queues(of)));
            facts.push(("offloads", offloads(of)));
            facts.push(("counters", counters(of)));
        }
        facts.push(("frames", frames(&net.frames)));
        facts.push(("full frames reach", hops(&net.frames.hops)));
    }
    facts.push(("round trip", round_trip(path)));
    facts.push(("TCP", tcp(path)));
    facts.push(("ceiling", ceiling.map_or_else(String::new, |ceiling| ceiling.arithmetic)));
    facts.retain(|(_, says)| !says.is_empty());
    facts
}

/// Facts that some of several paths have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGroup {
    /// Indices of the paths, in order; a single one for facts that only it has.
    pub paths: Vec<usize>,
    /// Facts of each of these paths, and of no other.
    pub facts: Vec<(&'static str, String)>,
}

/// Returns the facts of all paths, each once for the paths it holds for, the largest groups first.
pub fn path_groups(paths: &[PathFacts]) -> Vec<PathGroup> {
    let mut known: Vec<(&'static str, String, Vec<usize>)> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        for (name, says) in path_facts(path, assay_analysis::ceiling(path)) {
            match known.iter_mut().find(|(other, same, _)| *other == name && *same == says) {
                Some((_, _, of)) => of.push(index),
                None => known.push((name, says, vec![index])),
            }
        }
    }
    let mut groups: Vec<PathGroup> = Vec::new();
    for (name, says, of) in known {
        match groups.iter_mut().find(|group| group.paths == of) {
            Some(group) => group.facts.push((name, says)),
            None => groups.push(PathGroup { paths: of, facts: vec![(name, says)] }),
        }
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.paths.len()), group.paths[0]));
    groups
}

/// The throughput of a step in its fuller direction, with the ceiling of its links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkUse {
    /// `reads` or `writes`.
    pub direction: &'static str,
    /// Throughput in that direction, 10^6 bytes per second.
    pub mb_per_s: f64,
    /// Ceiling of the links in one direction, as in `assay check`.
    pub ceiling: Ceiling,
}

impl LinkUse {
    /// Of a step whose targets are all on the network; `None` where the rate of a link is unknown.
    pub fn of_step(header: &RunHeader, step: &StepSummary) -> Option<Self> {
        let ceiling = assay_analysis::step_ceiling(header, step.id)?;
        ceiling.mb_per_s.filter(|mb| *mb > 0.0)?;
        // Links carry as much one way as the other at the same time.
        let (direction, mb_per_s) = match (step.read.mb_per_s, step.write.mb_per_s) {
            (read, write) if read >= write => ("reads", read),
            (_, write) => ("writes", write),
        };
        (mb_per_s > 0.0).then_some(Self { direction, mb_per_s, ceiling })
    }

    /// How full the links are; in \[0, 1\] but for the error of both numbers.
    pub fn ratio(&self) -> f64 {
        self.mb_per_s / self.ceiling.mb_per_s.unwrap_or(f64::INFINITY)
    }

    /// `reads 118.2 MB/s (112.7 MiB/s) of at most 123.9 MB/s, 95 %`.
    pub fn says(&self) -> String {
        let full = if self.ratio() >= FULL { ": the links are full" } else { "" };
        format!(
            "{} {:.1} MB/s ({:.1} MiB/s) of at most {:.1} MB/s, {:.0} %{full}",
            self.direction,
            self.mb_per_s,
            self.mb_per_s * 1e6 / MIB as f64,
            self.ceiling.mb_per_s.unwrap_or_default(),
            self.ratio() * 100.0
        )
    }
}

fn addresses(path: &PathFacts) -> String {
    match (&path.local, &path.remote) {
        (Some(local), Some(remote)) if path.access.is_empty() => format!("{local} -> {remote}"),
        (Some(local), Some(remote)) => format!("{local} -> {remote}, {}", path.access),
        _ => format!("{} is down", path.portal),
    }
}

/// `local` is the address that the connection has here.
fn route(route: &RouteFacts, local: &str) -> String {
    let how = match &route.gateway {
        Some(gateway) => format!("via {gateway}, through {}", route.device),
        None => format!("on-link, through {}", route.device),
    };
    let source = route.source.as_ref().filter(|source| !local.contains(source.as_str()));
    let source = source.map(|source| format!(", from {source}")).unwrap_or_default();
    let subnet = if route.subnet.is_empty() { String::new() } else { format!(", subnet {}", route.subnet) };
    let table = route.table.map(|table| format!(", by a rule with table {table}")).unwrap_or_default();
    format!("{how}{source}{subnet}{table}")
}

fn interface(of: &InterfaceFacts) -> String {
    let kind = kind(of);
    let state = match of.state {
        LinkState::Up => "up",
        LinkState::NoCarrier => "no link",
        LinkState::Down => "switched off",
    };
    let is_virtual = of.lower.is_empty() && !matches!(of.kind.as_str(), "" | "vlan" | "bond" | "team");
    let speed = match of.speed_mbit_s {
        None => ", speed unknown".to_owned(),
        Some(mbit) if is_virtual => format!(", nominally {mbit} Mbit/s"),
        Some(mbit) => format!(", {mbit} Mbit/s"),
    };
    let duplex = of.duplex.as_ref().map(|duplex| format!(", {duplex} duplex")).unwrap_or_default();
    let shaper = of.shaper.as_ref().map_or(String::new(), |shaper| {
        format!(", sends {} Mbit/s at most ({})", shaper.bit_s as f64 / 1e6, shaper.kind)
    });
    format!("{kind}, {state}, MTU {}{speed}{duplex}{shaper}", of.mtu_bytes)
}

/// Returns the kind of an interface with all below it: `vlan on bond0, a bond of eth0 and eth1 (802.3ad, hash layer2)`.
fn kind(of: &InterfaceFacts) -> String {
    let own = if of.kind.is_empty() { "hardware" } else { &of.kind };
    let below = |lower: &InterfaceFacts| {
        if lower.lower.is_empty() { lower.name.clone() } else { format!("{}, a {}", lower.name, kind(lower)) }
    };
    let lower: Vec<String> = of.lower.iter().map(below).collect();
    match (&of.bond, lower.as_slice()) {
        (_, []) => own.to_owned(),
        (Some(bond), lower) => {
            let active = bond.active.as_ref().map(|name| format!(", {name} in use"));
            format!(
                "{own} of {} ({}, hash {}{})",
                lower.join(" and "),
                bond.mode,
                bond.hash,
                active.unwrap_or_default()
            )
        }
        (None, lower) => format!("{own} on {}", lower.join(" and ")),
    }
}

fn pause(of: &InterfaceFacts) -> String {
    let word = |is_on| if is_on { "on" } else { "off" };
    // Flow control is a matter of cables: a VLAN's driver says nothing of it, its NIC's does.
    let pause = of.pause.or_else(|| match of.carriers().as_slice() {
        [one] => one.pause,
        _ => None,
    });
    let says =
        pause.map(|pause| format!("pause frames: receive {}, send {}", word(pause.rx), word(pause.tx)));
    says.unwrap_or_else(|| "not reported by the driver".into())
}

/// Rings, and how long interrupts wait; nothing where no driver on the way down says so.
fn queues(of: &InterfaceFacts) -> String {
    let carriers = of.carriers();
    let carrier = carriers.iter().find(|one| one.rings.is_some() || one.coalescing.is_some());
    let Some(of) = carrier else { return String::new() };
    let rings = of.rings.map(|rings| {
        format!(
            "rings of {} in (up to {}), {} out (up to {})",
            rings.rx, rings.rx_max, rings.tx, rings.tx_max
        )
    });
    let coalescing = of.coalescing.map(|of| {
        let waits = match (of.rx_us, of.rx_packets) {
            (None | Some(0), None | Some(0 | 1)) => "at once".to_owned(),
            (None | Some(0), Some(packets)) => format!("after {packets} packets"),
            (Some(us), None | Some(0)) => format!("after {}", time(f64::from(us))),
            (Some(us), Some(packets)) => format!("after {} or {packets} packets", time(f64::from(us))),
        };
        format!(
            "received packets interrupt {waits}{}",
            if of.adaptive_rx { ", adapted to the load" } else { "" }
        )
    });
    rings.into_iter().chain(coalescing).collect::<Vec<_>>().join("; ")
}

fn offloads(of: &InterfaceFacts) -> String {
    match of.offloads.as_deref() {
        None => "not reported by the driver".into(),
        Some([]) => "none".into(),
        Some(on) => on.join(", "),
    }
}

fn counters(of: &InterfaceFacts) -> String {
    let of = &of.counters;
    if of.rx_errors + of.tx_errors + of.rx_dropped + of.tx_dropped == 0 {
        return "no errors, nothing dropped".to_owned();
    }
    format!(
        "received {} packets, {} errors, {} dropped; sent {}, {} errors, {} dropped",
        of.rx_packets, of.rx_errors, of.rx_dropped, of.tx_packets, of.tx_errors, of.tx_dropped
    )
}

/// Frames that pass, in a few words.
pub fn frames(of: &FrameFacts) -> String {
    match of.how {
        FrameProbe::NoRoute => return "not tried".into(),
        FrameProbe::OtherWay => {
            return "not tried: by this host's routing rules, echoes take another route than I/O".into();
        }
        FrameProbe::NotAllowed => {
            return "not tried: this user may not send echoes (set net.ipv4.ping_group_range, or give CAP_NET_RAW)"
                .into();
        }
        FrameProbe::Unanswered => {
            return "no echo returns; only the segment size that TCP negotiated is known".into();
        }
        FrameProbe::Echo => {}
    }
    let usual = of.tried.iter().filter(|one| matches!(one.bytes, 1500 | 9000));
    let sizes: Vec<String> = usual
        .map(|one| {
            let outcome = match one.outcome {
                FrameOutcome::Passes => "passes",
                FrameOutcome::TooLargeHere => "is above this interface's MTU",
                FrameOutcome::RefusedOnTheWay => "is refused by a router",
                FrameOutcome::Lost => "gets lost",
            };
            format!("{} {outcome}", one.bytes)
        })
        .collect();
    let largest = of.largest_bytes.map(|bytes| format!("; the largest that passes is {bytes}"));
    let refusal = of.refusal.as_ref().filter(|refusal| !refusal.by.is_empty());
    let refusal = refusal
        .map(|refusal| format!("; {} reports that its next link has MTU {}", refusal.by, refusal.mtu_bytes));
    format!(
        "unfragmented, {}{}{}",
        sizes.join(", "),
        largest.unwrap_or_default(),
        refusal.unwrap_or_default()
    )
}

/// How far full frames come, router by router.
fn hops(of: &[FrameHop]) -> String {
    let hops = of.iter().map(|hop| {
        let name =
            hop.address.as_ref().map_or("the target".into(), |at| format!("router {} ({at})", hop.number));
        match hop.full {
            FrameOutcome::Passes => name,
            FrameOutcome::RefusedOnTheWay => format!("not {name}: refused before it"),
            FrameOutcome::TooLargeHere | FrameOutcome::Lost => format!("not {name}"),
        }
    });
    hops.collect::<Vec<_>>().join(", ")
}

fn round_trip(path: &PathFacts) -> String {
    let mut says = Vec::new();
    if let Some(ping) = &path.ping {
        let [median, min, max] = [ping.median_us, ping.min_us, ping.max_us].map(|us| time(us as f64));
        says.push(format!("{median} by NOP ({min} to {max})"));
    }
    let echo = path.net.as_ref().and_then(|net| net.frames.echo_us);
    says.extend(echo.map(|us| format!("{} by echo", time(f64::from(us)))));
    says.join(", ")
}

fn tcp(path: &PathFacts) -> String {
    path.tcp.map_or(String::new(), |tcp| {
        let stamps = if tcp.timestamps { "with" } else { "without" };
        format!(
            "segments of {} B out, {} B seen in, {stamps} timestamps, path MTU {}, window {} segments, {} retransmit{}",
            tcp.send_mss_bytes,
            tcp.receive_mss_bytes,
            tcp.path_mtu_bytes,
            tcp.congestion_window_segments,
            tcp.retransmits,
            if tcp.retransmits == 1 { "" } else { "s" }
        )
    })
}

/// Returns the parameters that a login negotiated.
pub fn agreed(agreed: &Agreed) -> String {
    let yes = |is_so| if is_so { "Yes" } else { "No" };
    let digest = |is_on| if is_on { "CRC32C" } else { "None" };
    let size = |bytes: u32| Bytes(bytes.into());
    format!(
        "authentication {}, digests {}/{}, InitialR2T={}, ImmediateData={}, segments {} out {} in, bursts {} first {}, \
         R2Ts {}, window {}",
        agreed.authentication,
        digest(agreed.header_digest),
        digest(agreed.data_digest),
        yes(agreed.initial_r2t),
        yes(agreed.immediate_data),
        size(agreed.max_send_segment_bytes),
        size(agreed.max_recv_segment_bytes),
        size(agreed.max_burst_bytes),
        size(agreed.first_burst_bytes),
        agreed.max_outstanding_r2t,
        agreed.command_window
    )
}
