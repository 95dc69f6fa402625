//! Identities that hold for any storage: rate = IOPS x size, in flight = IOPS x time, bytes = rate x time.

use assay_model::workload::LoadModel;

use super::Fired;
use crate::case::{Case, Modelled};
use crate::finding::{Evidence, Severity};

/// A stated rate and IOPS x size agree within this.
const UNIT_TOLERANCE: f64 = 0.005;
/// Below this share of the I/Os asked for the queue was not full; above [`LITTLE_MAX`] the row contradicts itself.
const LITTLE_MIN: f64 = 0.97;
const LITTLE_MAX: f64 = 1.03;
/// Stated bytes, time and rate agree within this.
const TRANSFER_TOLERANCE: f64 = 0.05;

/// Which MB a table means: 2^20 or 10^6 bytes, or neither.
pub(super) fn unit(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let stated = case.measured.stated_mb_s?;
    let computed = load.mb_s(case.measured.iops);
    let ratio = computed / stated;
    if (ratio - 1.0).abs() <= UNIT_TOLERANCE {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "IOPS x size gives {computed:.1} MB/s (10^6), but the stated rate is {stated:.1} MB/s, {:.1} % away: one \
             of the three numbers is mislabelled.",
            (ratio - 1.0).abs() * 100.0
        ),
        evidence: vec![
            Evidence::new("IOPS x size", computed, "MB/s"),
            Evidence::new("stated", stated, "MB/s"),
        ],
        next: "Find out which MB the table uses: 2^20 and 10^6 bytes differ by 4.9 %.",
        weight: 0.0,
    })
}

/// Little's law against the I/Os that the load keeps in flight.
pub(super) fn little(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    // Runs have their own rule for this, with the reasons at hand.
    if case.step.is_some() || load.workload.pace != LoadModel::Closed {
        return None;
    }
    let asked = load.workload.total_outstanding();
    let in_flight = case.measured.iops * case.measured.mean_ms? / 1e3;
    let share = in_flight / asked;
    let (severity, says) = if share < LITTLE_MIN {
        (
            Severity::Info,
            format!(
                "only {in_flight:.1} of {asked:.0} I/Os were in flight on average: the queue drained, as at \
                 reconnects or during a ramp."
            ),
        )
    } else if share > LITTLE_MAX {
        (
            Severity::Warning,
            format!(
                "IOPS x latency gives {in_flight:.1} I/Os in flight, but the queue depth was {asked:.0}: the row \
                 contradicts itself."
            ),
        )
    } else {
        return None;
    };
    let evidence = [Evidence::new("in flight", in_flight, "I/Os"), Evidence::new("asked for", asked, "I/Os")];
    Some(Fired::remark(severity, says, evidence))
}

/// Bytes, time and rate that cannot all be true.
pub(super) fn transfer(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let (bytes, seconds) = case.measured.stated_transfer?;
    let rate = load.mb_s(case.measured.iops);
    let lasts = bytes / 1e6 / rate;
    ((lasts / seconds - 1.0).abs() > TRANSFER_TOLERANCE).then(|| Fired {
        severity: Severity::Warning,
        says: format!(
            "{:.0} GiB at {rate:.0} MB/s take {lasts:.0} s, not the stated {seconds:.0} s.",
            bytes / (1_u64 << 30) as f64
        ),
        evidence: vec![Evidence::new("stated", seconds, "s"), Evidence::new("possible", lasts, "s")],
        next: "Measure again, and take bytes, time and rate from the same counter.",
        weight: 0.0,
    })
}

/// More than the described links can carry, or than rotating disks write at the target's place.
pub(super) fn beyond_hardware(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let rate = load.mb_s(case.measured.iops);
    let one_way = load.read_pct() == 0.0 || load.read_pct() == 100.0;
    let ceiling = load.facts.path_mb_s * load.facts.paths;
    if !one_way || !ceiling.is_finite() || rate <= ceiling * super::link::CEILING_MAX {
        return written_too_fast(load, rate);
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{rate:.0} MB/s is more than the {ceiling:.1} MB/s that the links of the array file sustain: a cache of \
             this host answered, or the array file does not describe the links of this target."
        ),
        evidence: vec![Evidence::new("measured", rate, "MB/s"), Evidence::new("ceiling", ceiling, "MB/s")],
        next: "Check link, paths and MTU in the array file; without --cached no cache of this host answers.",
        weight: 0.0,
    })
}

/// Sequential writes beyond what rotating members take at their place. The cache rules judge reads.
fn written_too_fast(load: &Modelled, rate: f64) -> Option<Fired> {
    let facts = &load.facts;
    let ceiling = facts.stream_mb_s[1];
    let sequential_writes = load.read_pct() == 0.0 && load.random_pct() == 0.0;
    if !facts.rotating || !sequential_writes || rate <= ceiling * super::cache::ABOVE_BOUND {
        return None;
    }
    let place = if load.is_placed {
        format!("at {:.0} % of their capacity, where the target is", facts.start_fraction * 100.0)
    } else {
        "even at their outer edge".to_owned()
    };
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{rate:.0} MB/s of sequential writes is more than the disks of the array file take, {ceiling:.0} MB/s \
             {place}: a cache absorbed the writes, or the array file describes other disks."
        ),
        evidence: vec![
            Evidence::new("measured", rate, "MB/s"),
            Evidence::new("most at this place", ceiling, "MB/s"),
            Evidence::new("place", facts.start_fraction * 100.0, "% of the capacity"),
        ],
        next: "Write for longer than the caches last, and check [device] in the array file.",
        weight: 0.0,
    })
}
