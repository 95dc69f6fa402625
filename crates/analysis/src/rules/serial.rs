//! Members that do not work side by side, and spans that flatter them.

use assay_model::demand::ResourceKind;

use super::Fired;
use crate::case::{Case, Modelled};
use crate::finding::{Evidence, Severity};

/// Below this share of the members at work something before them lets too few through.
const WORKING_MIN: f64 = 0.35;
/// Link and software must be idler than this to be no suspects.
const OTHER_MAX: f64 = 0.70;
/// Of a mix, at least this share must be random for member accesses to be what counts, %.
const RANDOM_MIN_PCT: f64 = 50.0;
/// A smaller part of a disk makes seeks short.
const SPAN_MIN: f64 = 0.05;

/// How busy the link and the known software are at a rate, the busier of both.
fn others_busy(load: &Modelled, iops: f64) -> f64 {
    let of = |r: &&assay_model::demand::Resource| {
        matches!(r.kind, ResourceKind::TargetCpu | ResourceKind::LinkRead | ResourceKind::LinkWrite)
    };
    load.prediction.table.resources.iter().filter(of).map(|r| iops / r.ceiling_iops).fold(0.0, f64::max)
}

/// Random I/O keeps less than a third of the members busy, and nothing else is full.
pub(super) fn serial(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let (facts, iops) = (&load.facts, case.measured.iops);
    let enough = load.workload.total_outstanding() >= 2.0 * facts.members && facts.members > 1.0;
    if load.random_pct() < RANDOM_MIN_PCT || !enough || !facts.rotating {
        return None;
    }
    let working = facts.effective_members(iops);
    if working / facts.members >= WORKING_MIN || others_busy(load, iops) >= OTHER_MAX {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "the array delivers what {working:.1} of its {:.0} disks can: I/O is serialised in the target or its file \
             system, and more disks do not help.",
            facts.members
        ),
        evidence: vec![
            Evidence::new("measured", iops, "IOPS"),
            Evidence::new("members at work", working, ""),
            Evidence::new("members", facts.members, ""),
        ],
        next: "Run random reads alone at the same queue depth; if they use all disks, writes are serialised.",
        weight: 0.0,
    })
}

/// Where the part lies, as far as it is known, and that it is in pieces.
fn place(load: &Modelled) -> String {
    let pieces = match load.workload.pieces {
        0 | 1 => String::new(),
        n => format!(" in {n} pieces"),
    };
    let start = load.facts.start_fraction;
    match load.is_placed {
        true if start > 0.0 => format!("{pieces}, starting at {}", percent(start)),
        true => pieces,
        false => format!("{pieces}, at an unknown position"),
    }
}

/// Small shares keep a digit that says something.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p >= 0.1 => format!("{p:.1} %"),
        p if p > 0.0 => format!("{p:.3} %"),
        _ => "0 %".to_owned(),
    }
}

/// A small part of the disks was used.
pub(super) fn span(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let facts = &load.facts;
    if !facts.rotating || load.random_pct() < RANDOM_MIN_PCT || facts.span_fraction >= SPAN_MIN {
        return None;
    }
    let (whole, here) = (facts.full_span_iops, facts.uncached_bound_iops);
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "the test uses {} of the disks{}, so seeks are short: the disks give up to {here:.0} IOPS here and about \
             {whole:.0} IOPS over their whole capacity.",
            percent(facts.span_fraction),
            place(load)
        ),
        evidence: vec![
            Evidence::new("used", facts.span_fraction * 100.0, "%"),
            Evidence::new("expected on the whole", whole, "IOPS"),
        ],
        next: "Set --size to the span that will be in use.",
        weight: 0.0,
    })
}
