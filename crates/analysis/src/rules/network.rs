//! About the network: whether it lost anything, and what was wrong with it before the run began.

use assay_record::{InterfaceCounters, InterfaceFacts, LinkSample};

use super::{Fired, Run, StepCase};
use crate::finding::{Evidence, Severity};
use crate::network::path_faults;

/// From so many segments sent again per second on, latencies and rates are those of a lossy network.
const RETRANSMITS_PER_S: f64 = 1.0;
/// Fewer packets dropped per second are other protocols' (spanning tree, LLDP), which nobody misses.
const DROPPED_PER_S: f64 = 1.0;
/// Faults that are told in full; `assay check` tells all.
const FAULTS_TOLD: usize = 3;

/// Segments had to be sent again.
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
            "TCP had to send {sum} segment{} again ({}): the network lost or delayed what this host sent. What the target \
             sent again cannot be seen from here.",
            if sum == 1 { "" } else { "s" },
            super::list(&each)
        ),
        evidence: vec![
            Evidence::new("segments sent again", sum as f64, ""),
            Evidence::new("per second", per_s, "1/s"),
        ],
        next: "Look for frames that get lost (assay check), full switch buffers, and pause frames that are off on one side.",
        weight: sum as f64,
    })
}

/// An interface counted errors, overruns or dropped packets while the test ran.
pub(super) fn link_errors(case: StepCase<'_>) -> Option<Fired> {
    let lost = |of: &InterfaceCounters| of.rx_errors + of.tx_errors + of.rx_overruns;
    let dropped = |of: &InterfaceCounters| of.rx_dropped + of.tx_dropped;
    let bonds = bonds_of(case.run);
    let is_told = |link: &&LinkSample| {
        lost(&link.counters) + dropped(&link.counters) > 0 && !bonds.contains(&link.interface.as_str())
    };
    let grew: Vec<&LinkSample> = case.step.links.iter().filter(is_told).collect();
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
        says: format!("While the test ran, {}.", super::list(&each)),
        evidence: vec![
            Evidence::new("errors and overruns", lost as f64, ""),
            Evidence::new("dropped", dropped as f64, ""),
            Evidence::new("dropped per second", dropped_per_s, "1/s"),
        ],
        next: "Wrong checksums: cable, transceiver, port. Overruns: longer receive rings (ethtool -G), or a CPU that is free. \
               Dropped: queues that run full, or frames of protocols that this host does not speak.",
        weight: (lost + dropped) as f64,
    })
}

/// Bonds count what their members count, which are told themselves.
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

/// What was lost, each kind with its number.
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
    let told: Vec<String> = kinds.into_iter().filter(|(count, _)| *count > 0).map(|(_, says)| says).collect();
    format!("counted {} among {} packets", told.join(", "), of.rx_packets + of.tx_packets)
}

/// What `assay check` would have said.
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
    let more = match faults.len().saturating_sub(FAULTS_TOLD) {
        0 => String::new(),
        more => format!(" And {more} more."),
    };
    let told: Vec<String> = faults.iter().take(FAULTS_TOLD).map(|says| capital(says)).collect();
    Some(Fired {
        severity: Severity::Warning,
        says: format!("Before the run: {}{more}", told.join(" ")),
        evidence: vec![Evidence::new("faults", faults.len() as f64, "")],
        next: "assay check on the target says of each what to do.",
        weight: 0.0,
    })
}

fn capital(says: &str) -> String {
    let mut letters = says.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
