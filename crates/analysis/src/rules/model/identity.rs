//! Identities that hold for any storage: rate = IOPS x size, in flight = IOPS x time, bytes = rate x time.

use assay_model::workload::Pace;

use super::Says;
use crate::expected::Case;
use crate::finding::{Evidence, Severity};

/// A stated rate and IOPS x size agree within this.
const UNIT_TOLERANCE: f64 = 0.005;
/// Below this share of the I/Os asked for the queue was not full; above [`LITTLE_MAX`] the row contradicts itself.
const LITTLE_MIN: f64 = 0.97;
const LITTLE_MAX: f64 = 1.03;
/// Stated bytes, time and rate agree within this.
const TRANSFER_TOLERANCE: f64 = 0.05;

/// Which MB a table means: 2^20 or 10^6 bytes, or neither.
pub(super) fn unit(case: &Case) -> Option<Says> {
    let load = case.load.as_ref()?;
    let stated = case.measured.stated_mb_s?;
    let computed = load.mb_s(case.measured.iops);
    let ratio = computed / stated;
    if (ratio - 1.0).abs() <= UNIT_TOLERANCE {
        return None;
    }
    Some(Says {
        severity: Severity::Warning,
        says: format!(
            "IOPS x size gives {computed:.1} MB/s (10^6), the stated rate is {stated:.1}: they differ by {:.1} %, so one of the three numbers is not what it is called.",
            (ratio - 1.0).abs() * 100.0
        ),
        evidence: vec![
            Evidence::new("IOPS x size", computed, "MB/s"),
            Evidence::new("stated", stated, "MB/s"),
        ],
        next: "Ask which MB is meant: 2^20 and 10^6 differ by 4.9 %.",
    })
}

/// Little's law against the I/Os that the load keeps in flight.
pub(super) fn little(case: &Case) -> Option<Says> {
    let load = case.load.as_ref()?;
    // Runs have their own rule for this, with the reasons at hand.
    if case.step.is_some() || load.workload.pace != Pace::Closed {
        return None;
    }
    let asked = load.workload.total_outstanding();
    let in_flight = case.measured.iops * case.measured.mean_ms? / 1e3;
    let share = in_flight / asked;
    let (severity, says) = if share < LITTLE_MIN {
        (
            Severity::Info,
            format!("only {in_flight:.1} of {asked:.0} I/Os outstanding: drains, connection rate or ramp."),
        )
    } else if share > LITTLE_MAX {
        (
            Severity::Warning,
            format!(
                "IOPS x latency gives {in_flight:.1} I/Os in flight where {asked:.0} were asked for: an inconsistent row."
            ),
        )
    } else {
        return None;
    };
    Some(Says {
        severity,
        says,
        evidence: vec![
            Evidence::new("in flight", in_flight, "I/Os"),
            Evidence::new("asked for", asked, "I/Os"),
        ],
        next: "",
    })
}

/// Bytes, time and rate that cannot all be true; or more than the described links can carry.
pub(super) fn phys(case: &Case) -> Option<Says> {
    let load = case.load.as_ref()?;
    let rate = load.mb_s(case.measured.iops);
    if let Some((bytes, seconds)) = case.measured.stated_transfer {
        let lasts = bytes / 1e6 / rate;
        return ((lasts / seconds - 1.0).abs() > TRANSFER_TOLERANCE).then(|| Says {
            severity: Severity::Warning,
            says: format!(
                "{:.0} GiB cannot last {seconds:.0} s at {rate:.0} MB/s: they last {lasts:.0} s.",
                bytes / (1_u64 << 30) as f64
            ),
            evidence: vec![Evidence::new("stated", seconds, "s"), Evidence::new("possible", lasts, "s")],
            next: "Measure again with the bytes, the time and the rate taken at one place.",
        });
    }
    let one_way = load.read_pct() == 0.0 || load.read_pct() == 100.0;
    let ceiling = load.facts.path_mb_s * load.facts.paths;
    (one_way && ceiling.is_finite() && rate > ceiling * super::link::CEILING_MAX).then(|| Says {
        severity: Severity::Critical,
        says: format!(
            "{rate:.0} MB/s cannot pass the links of the array file, which carry {ceiling:.1} MB/s in all: the I/O did not cross them, or they are others."
        ),
        evidence: vec![Evidence::new("measured", rate, "MB/s"), Evidence::new("ceiling", ceiling, "MB/s")],
        next: "Check link, paths and MTU in the array file, and whether a cache of this host answered.",
    })
}
