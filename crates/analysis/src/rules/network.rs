//! About the network: packets lost during the run, and faults found before it.

use assay_record::{InterfaceCounters, InterfaceFacts, LinkSample};

use super::{Fired, Run, StepCase};
use crate::finding::{Evidence, Severity};
use crate::network::path_faults;

/// With this many retransmits per second, latencies and rates are those of a lossy network.
const RETRANSMITS_PER_S: f64 = 1.0;
/// Fewer drops per second are packets of other protocols (spanning tree, LLDP), which cost nothing.
const DROPPED_PER_S: f64 = 1.0;
/// Faults that are listed; `assay check` lists all.
const FAULTS_LISTED: usize = 3;

/// TCP retransmitted segments.
pub(super) fn retransmits(case: StepCase<'_>) -> Option<Fired> {
    let lossy: Vec<_> = case.step.tcp.iter().filter(|tcp| tcp.retransmits > 0).collect();
    let sum: u64 = lossy.iter().map(|tcp| tcp.retransmits).sum();
    if sum == 0 {
        return None;
    }
    let per_s = sum as f64 / case.step.seconds.max(1.0);
    let each: Vec<String> =
        lossy.iter().map(|tcp| format!("{} to {}", tcp.retransmits, tcp.remote)).collect();
    Some(Fired {
        severity: if per_s >= RETRANSMITS_PER_S { Severity::Warning } else { Severity::Info },
        says: format!(
            "TCP retransmitted {sum} segment{} ({}): the network lost or delayed data of this host. The target's own \
             retransmits cannot be seen from here.",
            if sum == 1 { "" } else { "s" },
            super::list(&each)
        ),
        evidence: vec![
            Evidence::new("retransmits", sum as f64, ""),
            Evidence::new("per second", per_s, "1/s"),
        ],
        next: "Look for lost frames (assay check), full switch buffers, and flow control that is on at one end only.",
        weight: sum as f64,
    })
}

/// An interface counted errors, overruns or dropped packets while the test ran.
pub(super) fn link_errors(case: StepCase<'_>) -> Option<Fired> {
    let lost = |of: &InterfaceCounters| of.rx_errors + of.tx_errors + of.rx_overruns;
    let dropped = |of: &InterfaceCounters| of.rx_dropped + of.tx_dropped;
    let bonds = bonds_of(case.run);
    let is_reported = |link: &&LinkSample| {
        lost(&link.counters) + dropped(&link.counters) > 0 && !bonds.contains(&link.interface.as_str())
    };
    let grew: Vec<&LinkSample> = case.step.links.iter().filter(is_reported).collect();
    if grew.is_empty() {
        return None;
    }
    let each: Vec<String> =
        grew.iter().map(|link| format!("{} {}", link.interface, losses(&link.counters))).collect();
    let lost: u64 = grew.iter().map(|link| lost(&link.counters)).sum();
    let dropped: u64 = grew.iter().map(|link| dropped(&link.counters)).sum();
    let dropped_per_s = dropped as f64 / case.step.seconds.max(1.0);
    let is_grave = lost > 0 || dropped_per_s >= DROPPED_PER_S;
    Some(Fired {
        severity: if is_grave { Severity::Warning } else { Severity::Info },
        says: format!("During the test, {}.", super::list(&each)),
        evidence: vec![
            Evidence::new("errors and overruns", lost as f64, ""),
            Evidence::new("dropped", dropped as f64, ""),
            Evidence::new("dropped per second", dropped_per_s, "1/s"),
        ],
        next: "Checksum errors: check cable, transceiver and port. Overruns: enlarge the receive ring (ethtool -G) or \
         free a CPU. \
               Drops: full queues, or frames of protocols that this host does not use.",
        weight: (lost + dropped) as f64,
    })
}

/// Bonds, which count what their members count; the members are reported.
fn bonds_of(run: Run<'_>) -> Vec<&str> {
    let paths = run.storage().flat_map(|member| member.paths());
    let mut waiting: Vec<&InterfaceFacts> =
        paths.filter_map(|path| path.net.as_ref()?.interface.as_ref()).collect();
    let mut bonds = Vec::new();
    while let Some(one) = waiting.pop() {
        waiting.extend(&one.lower);
        if one.bond.is_some() && !one.lower.is_empty() {
            bonds.push(one.name.as_str());
        }
    }
    bonds
}

/// Lost packets by kind.
fn losses(of: &InterfaceCounters) -> String {
    let checksums = match of.rx_crc_errors {
        0 => String::new(),
        wrong => format!(" ({wrong} with a wrong checksum)"),
    };
    let kinds = [
        (of.rx_errors, format!("{} broken packets received{checksums}", of.rx_errors)),
        (of.tx_errors, format!("{} that could not be sent", of.tx_errors)),
        (of.rx_overruns, format!("{} lost to a full receive ring", of.rx_overruns)),
        (of.rx_dropped, format!("{} received and dropped", of.rx_dropped)),
        (of.tx_dropped, format!("{} dropped before sending", of.tx_dropped)),
    ];
    let counted: Vec<String> =
        kinds.into_iter().filter(|(count, _)| *count > 0).map(|(_, says)| says).collect();
    format!("counted {} among {} packets", counted.join(", "), of.rx_packets + of.tx_packets)
}

/// `portals=all` found one portal: nothing takes over when it fails.
pub(super) fn single_path(run: Run<'_>) -> Option<Fired> {
    let asked = run.header.targets.iter().filter(|target| target.address.contains("portals=all"));
    let alone = asked.filter(|target| target.member.paths().len() == 1).map(|target| &target.member);
    let portal = alone.flat_map(|member| member.paths()).next()?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "portals=all was asked for, and the target offers one portal ({}): there is one path, and no other takes \
             over when it fails.",
            portal.portal
        ),
        evidence: vec![Evidence::new("paths", 1.0, "")],
        next: "Give the target a second portal in its portal group, or drop portals=all.",
        weight: 0.0,
    })
}

/// The faults that `assay check` reports.
pub(super) fn path_fault(run: Run<'_>) -> Option<Fired> {
    let mut faults: Vec<String> = Vec::new();
    for fault in run.storage().flat_map(|member| path_faults(member.paths())) {
        // Files on one server share the way there, and its faults.
        if !faults.contains(&fault.says) {
            faults.push(fault.says);
        }
    }
    if faults.is_empty() {
        return None;
    }
    let more = match faults.len().saturating_sub(FAULTS_LISTED) {
        0 => String::new(),
        more => format!(" And {more} more."),
    };
    let counted: Vec<String> = faults.iter().take(FAULTS_LISTED).map(|says| capital(says)).collect();
    Some(Fired {
        severity: Severity::Warning,
        says: format!("Before the run: {}{more}", counted.join(" ")),
        evidence: vec![Evidence::new("faults", faults.len() as f64, "")],
        next: "Run assay check on the target: it says what to do about each fault.",
        weight: 0.0,
    })
}

fn capital(says: &str) -> String {
    let mut letters = says.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
