//! Caches: faster than the medium can be.

use super::Says;
use crate::case::Case;
use crate::finding::{Evidence, Severity};

/// So much faster than the fastest end of the physical bound is a cache.
pub(super) const ABOVE_BOUND: f64 = 1.25;
/// No rotating disk answers half of random reads within this, ms.
const DISK_MEDIAN_MIN_MS: f64 = 0.5;
/// A fifth of random reads below this share of a revolution is a cache.
const REVOLUTION_READ: f64 = 0.3;
/// A durable write takes at least half a revolution on average.
const REVOLUTION_WRITE: f64 = 0.5;
/// A write cache has settled after so many times its fill time.
const SETTLED_TIMES: f64 = 3.0;

/// Reads faster than the members and links allow.
pub(super) fn reads(case: &Case) -> Option<Says> {
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
            "at least {hits:.0} % hits: {:.0} IOPS where the medium gives at most {:.0}",
            measured.iops, facts.uncached_bound_iops
        )
    } else if quick_median {
        "half of the reads took less than 0.5 ms, which no rotating disk does".to_owned()
    } else {
        format!(
            "a fifth of the reads took less than {REVOLUTION_READ} of a revolution ({:.1} ms)",
            facts.revolution_ms
        )
    };
    Some(Says {
        severity: Severity::Warning,
        says: format!("a cache is inflating this: {proof}; the test covers {span_gib:.1} GiB."),
        evidence: vec![
            Evidence::new("measured", measured.iops, "IOPS"),
            Evidence::new("without a cache at most", facts.uncached_bound_iops, "IOPS"),
        ],
        next: "Use a span of several times the array's memory (--size), and compare.",
    })
}

/// Random writes that the write-back cache still absorbs.
pub(super) fn writes(case: &Case) -> Option<Says> {
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
    Some(Says {
        severity: Severity::Warning,
        says: format!(
            "the write cache is still absorbing: {iops:.0} IOPS come in, {drain:.0} reach the disks; run at least {settled:.0} s, not {seconds:.0}."
        ),
        evidence: vec![Evidence::new("in", iops, "IOPS"), Evidence::new("drain", drain, "IOPS")],
        next: "Lengthen the run (--set run=…) until the rate has settled.",
    })
}

/// Durable writes that nothing durable can have answered.
pub(super) fn sync(case: &Case) -> Option<Says> {
    let load = case.load.as_ref()?;
    let mean = case.measured.write_mean_ms?;
    let revolution = load.facts.revolution_ms;
    let protected = load.array.controller.battery;
    if !case.measured.synced || !load.facts.rotating || protected || mean >= REVOLUTION_WRITE * revolution {
        return None;
    }
    Some(Says {
        severity: Severity::Critical,
        says: format!(
            "flushes are acknowledged by a volatile cache: durable writes took {mean:.2} ms on average, half a revolution is {:.2} ms, and the array has no battery.",
            revolution / 2.0
        ),
        evidence: vec![Evidence::new("mean", mean, "ms"), Evidence::new("revolution", revolution, "ms")],
        next: "Switch the write cache of the disks off, or say controller.battery = true if there is one.",
    })
}
