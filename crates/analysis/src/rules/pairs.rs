//! What two loads show together.

use super::Fired;
use crate::case::{Case, Modelled};
use crate::finding::{Evidence, Severity};

/// Random writes per second that differ less are equal.
const SAME_WRITES: f64 = 0.10;
/// A ratio this near to 1/F is the RAID level's penalty; below [`PENALTY_MORE`] of it there is more than that.
const PENALTY_TOLERANCE: f64 = 0.25;
const PENALTY_MORE: f64 = 0.75;
/// A resource that differs by this factor or its inverse has changed.
const CHANGED: f64 = 1.8;
/// Rates that differ less are the same: sequential and random.
const SAME_SEQUENTIAL: f64 = 0.05;
const SAME_RANDOM: f64 = 0.10;

/// Whether both runs know their own rates better than a rule must tell them apart; unknown errors are taken to be
/// small.
fn are_steady(a: &Case, b: &Case, tolerance: f64) -> bool {
    [a, b].iter().all(|case| case.measured.error.is_none_or(|error| error <= tolerance))
}

/// The same random writes per second in two different mixes: they pass one at a time.
pub(super) fn serial_writes(a: &Case, b: &Case) -> Option<Fired> {
    let (la, lb) = (a.load.as_ref()?, b.load.as_ref()?);
    let differs = la.read_pct() != lb.read_pct() || la.random_pct() != lb.random_pct();
    let same_rest = la.array == lb.array
        && la.workload.span == lb.workload.span
        && la.workload.total_outstanding() == lb.workload.total_outstanding()
        && la.workload.total_outstanding() > 1.0;
    let (wa, wb) =
        (a.measured.iops * la.facts.random_write_share, b.measured.iops * lb.facts.random_write_share);
    if !differs
        || !are_steady(a, b, SAME_WRITES)
        || !same_rest
        || !la.facts.rotating
        || wa <= 0.0
        || wb <= 0.0
        || (wa / wb - 1.0).abs() > SAME_WRITES
    {
        return None;
    }
    let each_ms = 1e3 / f64::midpoint(wa, wb);
    let accesses = each_ms / la.facts.single_access_ms;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "random writes pass one at a time: {wa:.1} and {wb:.1} per second in two different mixes, {each_ms:.0} ms \
             each, {accesses:.1} times as long as one disk access."
        ),
        evidence: vec![
            Evidence::new("first", wa, "writes/s"),
            Evidence::new("second", wb, "writes/s"),
            Evidence::new("each", each_ms, "ms"),
        ],
        next: "Run random writes alone at queue depths 1 and 32; a gain below 1.3 times confirms it.",
        weight: 0.0,
    })
}

fn is_random(load: &Modelled, read_pct: f64) -> bool {
    load.random_pct() == 100.0 && load.read_pct() == read_pct
}

/// Random writes against random reads of the same size and depth: the level's penalty, or more than that.
pub(super) fn raid_penalty(a: &Case, b: &Case) -> Option<Fired> {
    let (la, lb) = (a.load.as_ref()?, b.load.as_ref()?);
    let (reads, writes) =
        match (is_random(la, 100.0) && is_random(lb, 0.0), is_random(la, 0.0) && is_random(lb, 100.0)) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => return None,
        };
    let penalty = la.facts.write_penalty;
    let same_rest = la.array == lb.array
        && la.workload.mean_size() == lb.workload.mean_size()
        && la.workload.total_outstanding() == lb.workload.total_outstanding();
    if !are_steady(a, b, PENALTY_TOLERANCE) || !same_rest || penalty <= 1.0 || reads.measured.iops <= 0.0 {
        return None;
    }
    let ratio = writes.measured.iops / reads.measured.iops;
    let of_expected = ratio * penalty;
    let level = la.array.raid.level.name();
    let (severity, says) = if of_expected < PENALTY_MORE {
        (
            Severity::Warning,
            format!(
                "random writes are {:.1} times slower than reads, and {level} explains {penalty:.0} times: I/O is \
                 misaligned, or the target reads before it writes.",
                1.0 / ratio
            ),
        )
    } else if of_expected <= 1.0 + PENALTY_TOLERANCE {
        (
            Severity::Info,
            format!(
                "the write penalty of {level} ({penalty:.0} I/Os per write) explains the rate: writes reach \
                 {ratio:.2} of reads, and 1/{penalty:.0} is {:.2}.",
                1.0 / penalty
            ),
        )
    } else {
        return None;
    };
    let evidence = [Evidence::new("writes / reads", ratio, ""), Evidence::new("I/Os per write", penalty, "")];
    Some(Fired::remark(severity, says, evidence))
}

/// A resource doubled and the rate did not move: it is not the limit.
pub(super) fn invariant(a: &Case, b: &Case) -> Option<Fired> {
    let (la, lb) = (a.load.as_ref()?, b.load.as_ref()?);
    let same_load = la.workload.mix == lb.workload.mix
        && la.workload.total_outstanding() == lb.workload.total_outstanding()
        && la.workload.span == lb.workload.span;
    let changed = |x: f64, y: f64| x > 0.0 && (y / x >= CHANGED || x / y >= CHANGED);
    let resources = [
        ("disks", la.facts.members, lb.facts.members),
        ("paths", la.facts.paths, lb.facts.paths),
        ("link speeds, MB/s,", la.facts.path_mb_s, lb.facts.path_mb_s),
    ];
    let mut different =
        resources.into_iter().filter(|(_, x, y)| x.is_finite() && y.is_finite() && changed(*x, *y));
    let (name, x, y) = different.next()?;
    let several = different.next().is_some();
    let tolerance = if la.random_pct() > 0.0 { SAME_RANDOM } else { SAME_SEQUENTIAL };
    let change = b.measured.iops / a.measured.iops - 1.0;
    if !same_load
        || !are_steady(a, b, tolerance)
        || several
        || a.measured.iops <= 0.0
        || change.abs() >= tolerance
    {
        return None;
    }
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "{name} are not the bottleneck: going from {x:.0} to {y:.0} changed the rate by {:+.0} %.",
            change * 100.0
        ),
        evidence: vec![
            Evidence::new("before", a.measured.iops, "IOPS"),
            Evidence::new("after", b.measured.iops, "IOPS"),
        ],
        next: "",
        weight: 0.0,
    })
}
