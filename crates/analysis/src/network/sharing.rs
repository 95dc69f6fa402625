//! How much of what the links under the targets carried was not the tester's.

use assay_record::{PathFacts, RunHeader};

use super::carrier::shared_links;
use super::device;
use crate::summary::StepSummary;

/// What the frames and acknowledgements of a payload add at most, as a share of it: 66 bytes of headers for each 1448,
/// and one acknowledgement of 66 for each two.
const FRAMING_MAX: f64 = 0.09;
/// Bytes of an I/O's own command and answer at most, with their frames.
const PER_IO_MAX: f64 = 600.0;
/// The loopback interface counts every byte as sent and as received.
const LOOPBACK: &str = "lo";
/// Less than this share of what a link carried is within the error of these bounds.
const NOTHING: f64 = 0.01;

/// Returns the share of other programs in what the links under a step's targets carried, at least; `None` where one of
/// the targets is not on the network, or the record does not say what the links carried.
pub(crate) fn other_traffic_ratio(header: &RunHeader, step: &StepSummary) -> Option<f64> {
    let paths = paths_of(header, step)?;
    let mut names: Vec<&str> = Vec::new();
    for group in shared_links(&paths) {
        let known = |name: &&str| step.host.link_bytes.contains_key(*name);
        let below = group.links.iter().copied().filter(known).count();
        // Where the ports below belong to another host, the interface itself counts.
        let counted = if below == group.links.len() { group.links } else { group.devices };
        names.extend(counted);
    }
    names.sort_unstable();
    names.dedup();
    let carried: Option<Vec<f64>> = names.iter().map(|name| carried(step, name)).collect();
    let carried: f64 = carried?.iter().sum();
    let own = step.host.tester_bytes?;
    if carried <= 0.0 {
        return None;
    }
    let ios = step.total.iops * step.host.seconds;
    let others = (carried - own * (1.0 + FRAMING_MAX) - ios * PER_IO_MAX) / carried;
    Some(if others < NOTHING { 0.0 } else { others })
}

fn carried(step: &StepSummary, interface: &str) -> Option<f64> {
    let bytes = *step.host.link_bytes.get(interface)? as f64;
    Some(if interface == LOOPBACK { bytes / 2.0 } else { bytes })
}

/// The paths of a step's targets; `None` unless all of them are on the network, over interfaces that are known.
fn paths_of(header: &RunHeader, step: &StepSummary) -> Option<Vec<PathFacts>> {
    let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
    let mut paths = Vec::new();
    for (index, target) in (0..).zip(&header.targets) {
        if plan.jobs.iter().any(|job| job.targets.is_empty() || job.targets.contains(&index)) {
            paths.extend_from_slice(target.member.paths());
            if target.member.paths().is_empty() {
                return None;
            }
        }
    }
    (!paths.is_empty() && paths.iter().all(|path| device(path).is_some())).then_some(paths)
}
