//! Caches: faster than the medium can be.

use super::Fired;
use crate::case::{Case, Medium};
use crate::finding::{Evidence, Severity};

/// So much faster than the fastest end of the physical bound is a cache.
pub(super) const ABOVE_BOUND: f64 = 1.25;
/// No rotating disk answers half of random reads within this, ms.
const DISK_MEDIAN_MIN_MS: f64 = 0.5;
/// A fifth of random reads below this share of a revolution is a cache.
const REVOLUTION_READ: f64 = 0.3;
/// A durable write takes at least half a revolution on average.
const REVOLUTION_WRITE: f64 = 0.5;
/// A write cache has settled after this many times its fill time.
const SETTLED_TIMES: f64 = 3.0;

/// Reads faster than the members and links allow.
pub(super) fn reads(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    if load.read_pct() < 100.0 {
        return None;
    }
    let (facts, measured) = (&load.facts, &case.measured);
    let is_random_disk = facts.rotating && load.random_pct() == 100.0;
    let above = measured.iops > ABOVE_BOUND * facts.uncached_bound_iops;
    let quick_median = is_random_disk && measured.read_p50_ms.is_some_and(|ms| ms < DISK_MEDIAN_MIN_MS);
    let quick_fifth =
        is_random_disk && measured.read_p20_ms.is_some_and(|ms| ms < REVOLUTION_READ * facts.revolution_ms);
    if !(above || quick_median || quick_fifth) {
        return None;
    }
    let span_gib = load.workload.span.0 as f64 / (1_u64 << 30) as f64;
    let proof = if above {
        let hits = facts.least_hit_ratio(measured.iops) * 100.0;
        format!(
            "{:.0} IOPS were measured, the medium gives at most {:.0}, so at least {hits:.0} % were hits",
            measured.iops, facts.uncached_bound_iops
        )
    } else if quick_median {
        "half of the reads took less than 0.5 ms, faster than any rotating disk".to_owned()
    } else {
        format!(
            "a fifth of the reads took less than {REVOLUTION_READ} of a revolution ({:.1} ms)",
            facts.revolution_ms
        )
    };
    Some(Fired {
        severity: Severity::Warning,
        says: format!("a cache answered part of the reads: {proof}. The test covers {span_gib:.1} GiB."),
        evidence: vec![
            Evidence::new("measured", measured.iops, "IOPS"),
            Evidence::new("without a cache at most", facts.uncached_bound_iops, "IOPS"),
        ],
        next: "Repeat with --size at several times the array's memory.",
        weight: 0.0,
    })
}

/// Random writes that the write-back cache still absorbs.
pub(super) fn writes(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    if load.read_pct() > 0.0 || load.random_pct() < 100.0 {
        return None;
    }
    let (iops, seconds) = (case.measured.iops, case.measured.seconds?);
    let drain = load.facts.drain_iops?;
    let settled = SETTLED_TIMES * load.facts.absorbs_s(iops, load.workload.mean_size())?;
    if iops <= ABOVE_BOUND * drain || seconds >= settled {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "the write cache was still filling: it took {iops:.0} IOPS and the disks {drain:.0}. The rate settles \
             after about {settled:.0} s; this test measured {seconds:.0} s."
        ),
        evidence: vec![Evidence::new("in", iops, "IOPS"), Evidence::new("drain", drain, "IOPS")],
        next: "Measure longer (--set run=…), or with a longer warm-up.",
        weight: 0.0,
    })
}

/// Durable writes that no rotating disk can have completed.
///
/// It is critical where the host itself sees a rotating disk: then data are at stake. Otherwise the array file may
/// simply describe another array.
pub(super) fn volatile(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let mean = case.measured.write_mean_ms?;
    let revolution = load.facts.revolution_ms;
    let protected = load.array.controller.battery;
    if !case.measured.synced || !load.facts.rotating || protected || mean >= REVOLUTION_WRITE * revolution {
        return None;
    }
    let (severity, means) = match case.measured.medium {
        Medium::Rotating => (
            Severity::Critical,
            "a volatile cache acknowledges them, and a power failure loses data that the application believes safe",
        ),
        Medium::Unknown | Medium::SolidState => (
            Severity::Warning,
            "either a volatile cache acknowledges them, or the array file describes another array",
        ),
    };
    Some(Fired {
        severity,
        says: format!(
            "durable writes took {mean:.2} ms on average, less than half a revolution of the disks in the array file \
             ({:.2} ms), and the array file has no battery: {means}.",
            revolution / 2.0
        ),
        evidence: vec![Evidence::new("mean", mean, "ms"), Evidence::new("revolution", revolution, "ms")],
        next: "Turn the disks' write cache off, or set controller.battery = true if the cache is protected.",
        weight: 0.0,
    })
}
