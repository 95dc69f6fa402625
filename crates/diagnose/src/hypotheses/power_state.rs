//! Power states that take time to leave.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::PowerState,
    name: "power saving of the drive, its link or the CPU",
    physics: "An idle device sleeps, and the next I/O waits until it is awake. With few outstanding each \
        I/O meets a sleeper; at half the rate the pauses are longer and the sleep is deeper, so that the \
        latency rises where the load falls; with more outstanding nothing sleeps, and the rate grows by more \
        than the depth.",
    source: "APST of NVMe, link power management of SATA, C-states: exit latencies in sysfs.",
    applies: |s| s.has_medium() && s.outstanding <= 4.0,
    forms: &[expects],
    unchanged: &[&unchanged::PLACES, &unchanged::DATA],
    helps: "Keep it awake: link_power_management_policy max_performance, pm_qos_latency_tolerance_us, \
        --keep-awake, cpupower idle-set -D 50; or keep more outstanding.",
    gain: Some(E::MoreOutstanding),
    look: "The power states of the drive (nvme get-feature -f 0x0c, hdparm -B) and of the CPUs (cpupower \
        idle-info).",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Shown(Cause::PowerState) => range(0.3, 3.0),
        Q::PacedLatency => range(0.95, 60.0),
        Q::PacedToOne => range(1.15, 60.0),
        Q::Rate(E::MoreOutstanding) => range(3.6, 40.0),
        Q::Rate(E::OneOutstanding) => range(0.3 / s.outstanding, 1.05 / s.outstanding),
        Q::LatencyOne => range(30.0, 50_000.0),
        Q::Rate(E::LargerIo) => range(0.4, 1.04),
        Q::Rate(E::SmallerIo) => range(0.98, 1.4),
        Q::Rate(E::MoreWorkers) => range(0.9, 1.5),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.6, 1.6),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::Sequential) => range(0.9, 1.4),
        Q::MedianToMean => range(0.7, 1.2),
        _ => None,
    }
}
