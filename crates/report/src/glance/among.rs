//! A run among what is expected of its array, and among what others measured with the same load.

use assay_analysis::{Agreement, Case, Judgement, RunSummary, StepSummary, Verdict};
use assay_model::peers::{Load, Peer, peers};
use assay_record::{MemberFacts, MemberKind, RunHeader};

use super::{Said, Tone};
use crate::expected::{judged, measured_over_expected};
use crate::number::{separated, size};

/// Fewer systems than this are no field to stand in.
const PEERS_MIN: usize = 4;
/// Disks have caches of up to this, bytes; controllers, servers and hypervisors larger ones.
const DISK_CACHE_BYTES: u64 = 256 << 20;

/// Against the description of the array.
pub(super) fn by_array(judgement: &Judgement) -> Option<Said> {
    let judged = judged(judgement);
    if judged.iter().any(|(case, _)| case.is_bound()) {
        return by_bound(judgement, &judged);
    }
    let off = |agreement| judged.iter().filter(move |(_, verdict)| verdict.agreement == agreement).count();
    let distance = |verdict: &Verdict| verdict.ratio.max(1e-9).ln().abs();
    let (case, verdict): &(&Case, &Verdict) =
        judged.iter().max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))?;
    let array = if judgement.array.is_empty() { "its array" } else { judgement.array.as_str() };
    let furthest = measured_over_expected(case, verdict);
    let all = judged.len();
    let of_all = |count: usize| if count == all { "All".to_owned() } else { format!("{count} of") };
    Some(match (off(Agreement::Below), off(Agreement::Above)) {
        (0, 0) if all == 1 => Said::new(Tone::Good, format!("As {array} should be: {furthest}.")),
        (0, 0) => {
            Said::new(Tone::Good, format!("As {array} should be in all {all} tests; furthest: {furthest}."))
        }
        (0, above) => {
            let says =
                format!("{} {all} tests are faster than {array} should be: {furthest}.", of_all(above));
            Said::new(Tone::Good, says)
        }
        (below, _) => {
            let says =
                format!("{} {all} tests are slower than {array} should be: {furthest}.", of_all(below));
            Said::new(Tone::Bad, says)
        }
    })
}

/// Against the bound of the hardware, where the cost of the array's software is unknown: it says what is too much, and
/// never how much is enough.
fn by_bound(judgement: &Judgement, judged: &[(&Case, &Verdict)]) -> Option<Said> {
    let (case, verdict) = judged.iter().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))?;
    let array = if judgement.array.is_empty() { "the array" } else { judgement.array.as_str() };
    let nearest = measured_over_expected(case, verdict);
    let above = judged.iter().filter(|(_, verdict)| verdict.agreement == Agreement::Above).count();
    let all = judged.len();
    let error = if verdict.ratio > 1.0 { ", up to the error of the model" } else { "" };
    let (tone, allows) = match above {
        0 if all == 1 => {
            (Tone::Plain, format!("Within what the hardware of {array} allows{error}: {nearest}."))
        }
        0 => {
            let says = format!(
                "All {all} tests are within what the hardware of {array} allows{error}; nearest: {nearest}."
            );
            (Tone::Plain, says)
        }
        _ if all == 1 => (Tone::Doubt, format!("More than the hardware of {array} allows: {nearest}.")),
        above => {
            let verb = if above == 1 { "is" } else { "are" };
            let which = if above == all { format!("All {all}") } else { format!("{above} of {all}") };
            let says = format!(
                "{which} tests {verb} faster than the hardware of {array} allows; furthest: {nearest}."
            );
            (Tone::Doubt, says)
        }
    };
    let why = match tone {
        Tone::Plain => {
            "The cost of its software is unknown, so a lower rate may be right; assay calibrate measures that cost."
        }
        _ => "A cache answered, or the array file describes slower hardware.",
    };
    Some(Said::new(tone, format!("{allows} {why}")))
}

/// Why a place among tables of whole disks means little: what was measured fits into the cache of one disk.
pub(super) fn small(header: &RunHeader) -> Option<String> {
    let span = header.targets.iter().map(|target| target.member.span_bytes).max()?;
    let each = if header.targets.len() > 1 { " of each target" } else { "" };
    let is_small = span > 0 && span <= DISK_CACHE_BYTES;
    is_small.then(|| format!("the {}{each} that were measured fit into the cache of a disk", size(span)))
}

/// Among the systems of published tables: the test that most of them have.
pub(super) fn published(header: &RunHeader, summary: &RunSummary) -> Option<String> {
    let is_storage = |member: &MemberFacts| !matches!(member.kind, MemberKind::Null | MemberKind::Simulated);
    if !header.targets.iter().all(|target| is_storage(&target.member)) {
        return None;
    }
    let medium = medium(header);
    let field = |step: &StepSummary| -> Vec<&'static Peer> {
        let Some(load) = load_of(header, step) else { return Vec::new() };
        let mut all = peers(load);
        all.retain(|peer| medium.is_none() || peer.rotating == medium);
        all
    };
    let measured = summary.steps.iter().filter(|step| step.unmeasured.is_none() && step.total.ops > 0);
    let (step, field) = measured.map(|step| (step, field(step))).max_by_key(|(_, field)| field.len())?;
    if field.len() < PEERS_MIN {
        return None;
    }
    let (slowest, fastest) = (field.first()?, field.last()?);
    let slower = field.iter().filter(|peer| peer.iops < step.total.iops).count();
    let iops = |value: f64| separated(&format!("{value:.0}"));
    let name = format!("{} {}", step.test, step.step);
    Some(format!(
        "{}: faster than {slower} of {} published results of this load ({} IOPS, {}, to {}, {}).",
        name.trim_end(),
        field.len(),
        iops(slowest.iops),
        slowest.system,
        iops(fastest.iops),
        fastest.system
    ))
}

/// The load of a step as tables give it; `None` for several jobs, a mix of sizes, or a rate.
fn load_of(header: &RunHeader, step: &StepSummary) -> Option<Load> {
    let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
    let [job] = plan.jobs.as_slice() else { return None };
    let [access] = job.mix.as_slice() else { return None };
    let is_plain = job.pacing == assay_spec::Pacing::Closed && access.delay.0 == 0;
    is_plain.then(|| Load {
        size_bytes: access.size.0,
        read_pct: access.read,
        random_pct: access.random,
        outstanding: job.workers.saturating_mul(job.outstanding),
    })
}

/// Whether a local disk rotates; `None` where that is not known: over a network, or in a virtual machine.
fn medium(header: &RunHeader) -> Option<bool> {
    let members: Vec<&MemberFacts> = header.targets.iter().map(|target| &target.member).collect();
    let is_local = members.iter().all(|m| matches!(m.kind, MemberKind::File | MemberKind::Device));
    let rotates = members.first()?.device.as_ref()?.rotational;
    (is_local && header.host.hypervisor.is_none()).then_some(rotates)
}
