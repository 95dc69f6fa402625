//! Limits that stand in files of this host: a rate that equals one needs no other explanation.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use assay_record::{HostNote, IoLimit, MemberFacts};

use super::held::held;
use super::{LimitKind, Suspect};
use crate::figures::whole;
use crate::rules::StepCase;

/// Where a rate lies that a limit holds, over the limit: the kernel hands tokens out in slices.
const AT_LIMIT: RangeInclusive<f64> = 0.95..=1.05;

/// Every device that the step's I/Os waited for is at a limit of this process's control groups.
pub(super) fn control_group(case: StepCase<'_>) -> Option<Suspect> {
    // Two hosts call two disks by one name, and each has a limit of its own: their sum is compared with none.
    case.step.hosts.is_empty().then_some(())?;
    let held = held(case);
    let devices = held.by.iter().map(|target| target.member.device.as_ref()).collect::<Option<Vec<_>>>()?;
    let names: BTreeSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let full: Vec<Full<'_>> = names
        .iter()
        .map(|name| {
            let notes = devices.iter().filter(|device| device.name == *name).flat_map(|device| &device.notes);
            notes.filter_map(|note| Full::of(case, name, note)).min_by(|a, b| a.off().total_cmp(&b.off()))
        })
        .collect::<Option<_>>()?;
    (!full.is_empty()).then_some(())?;
    let evidence: Vec<String> = full.iter().map(Full::says).collect();
    let limited: Vec<String> =
        full.iter().map(|full| format!("{} of {}", full.what(), full.device)).collect();
    let limit = format!("the control group's limit on {}", limited.join(" and "));
    Suspect::shown(LimitKind::ControlGroup, limit, evidence.join("; "))
}

/// A device whose load has the rate of a limit.
struct Full<'r> {
    device: &'r str,
    note: &'r HostNote,
    limit: IoLimit,
    per_s: f64,
}

impl<'r> Full<'r> {
    fn of(case: StepCase<'_>, device: &'r str, note: &'r HostNote) -> Option<Self> {
        let limit = note.limit?;
        let full = Self { device, note, limit, per_s: rate(case, device, limit)? };
        AT_LIMIT.contains(&(full.per_s / limit.per_s)).then_some(full)
    }

    /// How far the rate is from the limit.
    fn off(&self) -> f64 {
        (self.per_s / self.limit.per_s - 1.0).abs()
    }

    fn what(&self) -> &'static str {
        if self.limit.is_read { "reads" } else { "writes" }
    }

    fn says(&self) -> String {
        let (done, limit) = (self.per_s, self.limit.per_s);
        let rates = match self.limit.is_bytes {
            true => format!("{:.1} of {:.1} MB/s", done / 1e6, limit / 1e6),
            false => format!("{} of {} per second", whole(done), whole(limit)),
        };
        format!("{rates}, \"{}\" in {}", self.note.value, self.note.path)
    }
}

/// What a step did to a device in the direction and the unit of a limit, per second; `None` where it is not known how
/// the jobs shared their I/Os out.
fn rate(case: StepCase<'_>, device: &str, limit: IoLimit) -> Option<f64> {
    let mut sum = 0.0;
    for (index, (plan, job)) in (0..).zip(case.jobs()) {
        let side = if limit.is_read { &job.read } else { &job.write };
        let done = if limit.is_bytes { side.mb_per_s * 1e6 } else { side.iops };
        let is_there = |member: &MemberFacts| member.device.as_ref().is_some_and(|of| of.name == device);
        if case.members(plan).all(is_there) {
            sum += done;
            continue;
        }
        let targets = case.run.header.targets.iter().filter(|target| is_there(&target.member));
        let addresses: BTreeSet<&str> = targets.map(|target| target.address.as_str()).collect();
        let ends = || case.step.members.iter().filter(|end| end.job == index);
        let all: u64 = ends().map(|end| end.ops).sum();
        let there: u64 =
            ends().filter(|end| addresses.contains(end.member.as_str())).map(|end| end.ops).sum();
        (all > 0).then_some(())?;
        sum += done * there as f64 / all as f64;
    }
    Some(sum)
}
