//! The histogram of fio's JSON: 64 buckets in each octave, named by the time in their middle.
//!
//! Assay's own buckets are half as wide and begin at the same powers of two, so each lies in one bucket of fio's:
//! what
//! was imported from fio is exported again unchanged.

use std::collections::BTreeMap;

use assay_record::Latency;

/// Buckets of an octave: 2^6.
const BITS: u32 = 6;

/// The name of the bucket of a time, ns.
pub(super) fn bin(ns: u64) -> u64 {
    let octave = ns.max(1).ilog2();
    if octave <= BITS {
        return ns;
    }
    let width = 1_u64 << (octave - BITS);
    ns / width * width + width / 2
}

/// The buckets of a distribution: name and count.
pub(super) fn bins(latency: &Latency) -> BTreeMap<u64, u64> {
    let mut bins = BTreeMap::new();
    for (ns, count) in latency.buckets() {
        *bins.entry(bin(ns)).or_default() += count;
    }
    bins
}

/// The percentile of some buckets: the first by which so large a share is reached.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
pub(super) fn percentile(bins: &BTreeMap<u64, u64>, percent: f64) -> Option<u64> {
    let total: u64 = bins.values().sum();
    let wanted = (percent / 100.0 * total as f64).ceil() as u64;
    let mut sum = 0;
    for (ns, count) in bins {
        sum += count;
        if sum >= wanted.max(1) {
            return Some(*ns);
        }
    }
    None
}
