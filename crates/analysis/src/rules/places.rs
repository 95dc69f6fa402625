//! Where the slow I/Os lie, by a sample of the run's own I/Os.

use assay_record::{MemberKind, TargetFacts};
use assay_surface::LoadPlaces;

use super::{Fired, Run};
use crate::figures::whole;
use crate::finding::{Evidence, Severity};
use crate::places::{chunks_say, member_says, places, region_says, waits_there};

/// What the places of the I/Os on a target say.
pub(crate) struct PlacesOf<'r> {
    target: &'r TargetFacts,
    places: LoadPlaces,
}

/// Returns what is known of the places on each target of a run.
pub(super) fn of_targets(run: Run<'_>) -> Vec<PlacesOf<'_>> {
    let of = |(index, target)| Some(PlacesOf { target, places: places(run.header, run.summary, index)? });
    run.header.targets.iter().enumerate().filter_map(of).collect()
}

pub(super) fn slow_member(all: &[PlacesOf<'_>]) -> Option<Fired> {
    let (of, stripe) = all.iter().find_map(|of| Some((of, of.places.stripe.as_ref()?)))?;
    let address = &of.target.address;
    let slow = stripe.slow.first()?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "on {address} {}, by the offsets of {} I/Os{}.",
            match of.target.member.kind {
                MemberKind::File | MemberKind::Nfs => chunks_say(&of.places)?,
                _ => member_says(&of.places)?,
            },
            whole(of.places.ios as f64),
            if waits_there(&of.places) { ": nearly all I/Os that are outstanding wait there" } else { "" }
        ),
        evidence: [
            Evidence::new("chunk", stripe.chunk_bytes as f64, "bytes"),
            Evidence::new("members", f64::from(stripe.members), ""),
            Evidence::new("member", f64::from(slow.member), ""),
            Evidence::new("times as slow", slow.times, ""),
        ]
        .into_iter()
        .chain(of.places.times_alone.map(|times| Evidence::new("times as slow alone", times, "")))
        .collect(),
        next: "Compare the disks of the array while the load runs (iostat -x, smartctl -a), and replace the slow one; \
               assay map reads the target place by place.",
        weight: 0.0,
    })
}

pub(super) fn slow_region(all: &[PlacesOf<'_>]) -> Option<Fired> {
    let (target, region, ios) =
        all.iter().find_map(|of| Some((of.target, of.places.region?, of.places.ios)))?;
    let address = &target.address;
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
