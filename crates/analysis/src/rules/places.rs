//! Where the slow I/Os lie, by a sample of the run's own I/Os.

use assay_record::MemberKind;
use assay_surface::LoadPlaces;

use super::{Fired, Run};
use crate::figures::whole;
use crate::finding::{Evidence, Severity};
use crate::places::{chunks_say, member_says, places, region_says};

/// What was found on the first target on which something was found, with its address.
fn first<T>(run: Run<'_>, of: impl Fn(LoadPlaces) -> Option<T>) -> Option<(T, &str, MemberKind)> {
    (0..).zip(&run.header.targets).find_map(|(index, target)| {
        let found = of(places(run.header, run.summary, index)?)?;
        Some((found, target.address.as_str(), target.member.kind))
    })
}

pub(super) fn slow_member(run: Run<'_>) -> Option<Fired> {
    let ((stripe, ios), address, kind) = first(run, |of| Some((of.stripe?, of.ios)))?;
    let slow = stripe.slow.first()?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "on {address} {}, by the offsets of {} I/Os: nearly all I/Os that are outstanding wait there.",
            match kind {
                MemberKind::File | MemberKind::Nfs => chunks_say(&stripe)?,
                _ => member_says(&stripe)?,
            },
            whole(ios as f64)
        ),
        evidence: vec![
            Evidence::new("chunk", stripe.chunk_bytes as f64, "bytes"),
            Evidence::new("members", f64::from(stripe.members), ""),
            Evidence::new("member", f64::from(slow.member), ""),
            Evidence::new("times as slow", slow.times, ""),
        ],
        next: "Compare the disks of the array while the load runs (iostat -x, smartctl -a), and replace the slow one; \
               assay map reads the target place by place.",
        weight: 0.0,
    })
}

pub(super) fn slow_region(run: Run<'_>) -> Option<Fired> {
    let ((region, ios), address, _) = first(run, |of| Some((of.region?, of.ios)))?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!("on {address} {}, by the offsets of {} I/Os.", region_says(&region), whole(ios as f64)),
        evidence: vec![
            Evidence::new("from", region.from_bytes as f64, "bytes"),
            Evidence::new("to", region.to_bytes as f64, "bytes"),
            Evidence::new("times as slow", region.times, ""),
        ],
        next: "A slower tier, a part that no cache holds, worn flash or weak sectors: assay map reads the target place \
               by place.",
        weight: 0.0,
    })
}
