//! Where the I/Os of a step waited, of several targets.

use assay_record::TargetFacts;

use crate::rules::StepCase;

/// A target that has more than this share of the I/Os in flight is the one that they wait for: targets that take turns
/// get as many I/Os as the slowest.
const MOST: f64 = 0.8;

/// The targets that the I/Os of a step waited for.
pub(super) struct Held<'r> {
    /// The fewest that had more than [`MOST`] of the I/Os in flight, by the sum of service times; all where that is not
    /// known.
    pub(super) by: Vec<&'r TargetFacts>,
    /// Their share of the I/Os in flight.
    pub(super) share: f64,
    /// Whether the others had next to none.
    pub(super) is_part: bool,
}

pub(super) fn held<'r>(case: StepCase<'r>) -> Held<'r> {
    let is_used = |target: &&TargetFacts| {
        let mut members = case.plan.jobs.iter().flat_map(|job| case.members(job));
        members.any(|member| std::ptr::eq(member, &target.member))
    };
    let targets: Vec<&TargetFacts> = case.run.header.targets.iter().filter(is_used).collect();
    let all: u64 = case.step.members.iter().map(|end| end.service_ns).sum();
    if all == 0 || targets.len() < 2 {
        return Held { by: targets, share: 1.0, is_part: false };
    }
    let share = |target: &TargetFacts| {
        let ends = case.step.members.iter().filter(|end| end.member == target.address);
        ends.map(|end| end.service_ns).sum::<u64>() as f64 / all as f64
    };
    let mut by_share: Vec<(&TargetFacts, f64)> =
        targets.iter().map(|target| (*target, share(target))).collect();
    by_share.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (mut by, mut sum) = (Vec::new(), 0.0);
    for (target, share) in by_share {
        if sum > MOST {
            break;
        }
        by.push(target);
        sum += share;
    }
    let is_part = by.len() < targets.len();
    Held { by, share: sum.min(1.0), is_part }
}
