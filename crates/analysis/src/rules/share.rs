//! How I/Os were shared by the targets of a job.

use assay_record::MemberEnd;
use assay_spec::{Job, Semantics};

use super::{Fired, StepCase};
use crate::figures::time;
use crate::finding::{Evidence, Severity};

/// A target whose I/Os are within this share of an even share got its part.
const FAR: f64 = 0.25;

/// A target got no I/O, or far less than the others.
pub(super) fn uneven_targets(case: StepCase<'_>) -> Option<Fired> {
    let mut sizes = case.run.header.targets.iter().map(|target| target.member.span_bytes);
    let first = sizes.next();
    let of_one_size = sizes.all(|size| Some(size) == first);
    // Of targets of several sizes, passes ask for more I/Os of the larger ones.
    let asks_evenly = |job: &Job| of_one_size || job.stop.unwrap_or(case.plan.stop).spans.is_none();
    let jobs = (0..).zip(&case.plan.jobs).filter(|(_, job)| asks_evenly(job));
    let fired = jobs.filter_map(|(index, job)| {
        let members: Vec<&MemberEnd> = case.step.members.iter().filter(|m| m.job == index).collect();
        // Each worker may be a turn ahead, and one has the remainder.
        uneven(&members, f64::from(job.workers) + 1.0, case.run.header.plan.semantics)
    });
    fired.max_by(|a, b| a.weight.total_cmp(&b.weight))
}

/// `slack`: by how many I/Os targets may differ in any case.
fn uneven(members: &[&MemberEnd], slack: f64, semantics: Semantics) -> Option<Fired> {
    // A target that fails its I/Os got them.
    let got = |member: &MemberEnd| (member.ops + member.errors) as f64;
    let least = members.iter().min_by(|a, b| got(a).total_cmp(&got(b)))?;
    let most = members.iter().max_by(|a, b| got(a).total_cmp(&got(b)))?;
    let (count, all): (f64, f64) = (members.len() as f64, members.iter().map(|member| got(member)).sum());
    let even = all / count;
    let off = (even - got(least)).max(got(most) - even);
    if off <= slack.max(even * FAR) {
        return None;
    }
    let percent = |ios: f64| 100.0 * ios / all;
    let latency = |member: &MemberEnd| member.mean_service_ns().map(|ns| time(ns / 1e3));
    let latencies = match (latency(least), latency(most)) {
        (Some(least), Some(most)) => format!("; their mean latencies are {least} and {most}"),
        _ => String::new(),
    };
    let says = if got(least) == 0.0 {
        format!(
            "{} got none of the {all:.0} I/Os of {count:.0} targets: the result does not include it.",
            least.member
        )
    } else {
        format!(
            "{} got {:.1} % of the I/Os and {} {:.1} %, where {count:.0} targets with equal shares get {:.1} % \
             each{latencies}.",
            least.member,
            percent(got(least)),
            most.member,
            percent(got(most)),
            percent(even),
        )
    };
    Some(Fired {
        severity: Severity::Warning,
        says,
        evidence: vec![
            Evidence::new("least", percent(got(least)), "%"),
            Evidence::new("most", percent(got(most)), "%"),
            Evidence::new("equal share", percent(even), "%"),
        ],
        next: match semantics {
            Semantics::Iometer => {
                "Under Iometer's rules each target has its own queue, so a slow one gets fewer I/Os: measure each \
                 target alone."
            }
            Semantics::Assay | Semantics::Fio => "Measure each target alone and compare them.",
        },
        weight: off / even,
    })
}
