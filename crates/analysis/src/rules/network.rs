//! About the network: whether it lost anything, and what was wrong with it before the run began.

use super::{Fired, Run, StepCase};
use crate::finding::{Evidence, Severity};
use crate::network::path_faults;

/// From so many segments sent again per second on, latencies and rates are those of a lossy network.
const RETRANSMITS_PER_S: f64 = 1.0;
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
            "TCP had to send {sum} segments again ({}): the network lost or delayed what this host sent. What the target \
             sent again cannot be seen from here.",
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
