//! What a cache does for writes: how much it takes before the rate drops, and whether durable writes wait for the disk.

use assay_record::{MemberKind, RunHeader};
use assay_spec::units::MIB;
use assay_spec::{Job, Pacing, Step};
use serde::Serialize;

use crate::modes::HALF_REVOLUTION_US;
use crate::summary::StepSummary;
use assay_statistics::{deviation, mean};

/// Fewer whole seconds than this show no drop.
const SECONDS_MIN: usize = 8;
/// Whole seconds on either side of a drop.
const LEVEL_MIN: usize = 2;
/// The rate before a drop is at least this many times the rate after it.
const DROP_MIN: f64 = 1.3;
/// The drop is at least this many standard deviations of the seconds around their levels.
const DROP_DEVIATIONS: f64 = 3.0;
/// Durable writes that take less than this many times as long as others cost nothing.
const FREE: f64 = 1.2;

/// Writes without a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Absorption {
    /// Length of the window, s.
    pub seconds: f64,
    /// Rate before the drop, or of the whole window where there is none, 2^20 bytes per second.
    pub before_mib_per_s: f64,
    /// The drop; `None` where the rate did not drop.
    pub drop: Option<Drop>,
    /// Bytes that were written in the window.
    pub bytes: u64,
}

/// The moment from which on writes go no faster than they leave the cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drop {
    /// Second of the window.
    pub at_s: f64,
    /// Bytes written until then.
    pub bytes_until: f64,
    /// Bytes that the cache took: what was written until then, less what left it at the later rate.
    pub absorbed_bytes: f64,
    /// Rate after the drop, at which the cache drains, 2^20 bytes per second.
    pub drain_mib_per_s: f64,
}

/// Durable writes beside others, one at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlushCost {
    /// Mean of writes that the target may hold in a cache, µs.
    pub plain_us: f64,
    /// Mean of writes that wait until they are durable, µs.
    pub durable_us: f64,
    /// What the two say together.
    pub meaning: FlushMeaning,
}

/// What the times of durable writes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushMeaning {
    /// Faster than a rotating disk can be: a cache acknowledged them.
    FasterThanRotation,
    /// As fast as others although the device reports a volatile cache.
    VolatileCacheAnswers,
    /// As fast as others; the target reports nothing of a cache.
    NoCost,
    /// They take longer: something is waited for.
    Waits,
}

/// Returns what the longest step of closed, random writes shows.
pub(super) fn absorption(all: &[(&Step, &StepSummary)]) -> Option<Absorption> {
    let steps = all.iter().filter(|(plan, _)| {
        let job = &plan.jobs[0];
        is_write(job) && !job.sync && job.span.is_none() && job.outstanding > 1
    });
    let (_, step) = steps.max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))?;
    let whole = step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
    let rates: Vec<f64> = whole.map(|point| point.mib_per_s).collect();
    let drop = drop_in(&rates);
    let before = drop.map_or(step.total.mib_per_s, |(at, _)| mean(&rates[..at]));
    Some(Absorption {
        seconds: step.seconds,
        before_mib_per_s: before,
        bytes: step.total.bytes,
        drop: drop.map(|(at, after)| {
            let until: f64 = rates[..at].iter().sum();
            Drop {
                at_s: at as f64,
                bytes_until: until * MIB as f64,
                absorbed_bytes: (until - after * at as f64).max(0.0) * MIB as f64,
                drain_mib_per_s: after,
            }
        }),
    })
}

/// Index of the first second after the drop, and the mean from there on.
fn drop_in(rates: &[f64]) -> Option<(usize, f64)> {
    if rates.len() < SECONDS_MIN {
        return None;
    }
    let rest = |at: usize| -> Vec<f64> {
        let (left, right) = rates.split_at(at);
        let (before, after) = (mean(left), mean(right));
        left.iter().map(|v| v - before).chain(right.iter().map(|v| v - after)).collect()
    };
    let squares = |at: usize| rest(at).iter().map(|v| v * v).sum::<f64>();
    let at = (LEVEL_MIN..=rates.len() - LEVEL_MIN).min_by(|a, b| squares(*a).total_cmp(&squares(*b)))?;
    let (before, after) = (mean(&rates[..at]), mean(&rates[at..]));
    let is_drop = before >= after * DROP_MIN && before - after >= deviation(&rest(at)) * DROP_DEVIATIONS;
    is_drop.then_some((at, after))
}

/// Returns what durable writes cost, from two steps that differ in nothing else.
pub(super) fn flush_cost(header: &RunHeader, all: &[(&Step, &StepSummary)]) -> Option<FlushCost> {
    // Neither of these stores anything, so there is nothing to wait for.
    let is_real = |kind: MemberKind| !matches!(kind, MemberKind::Null | MemberKind::Simulated);
    if !header.targets.iter().all(|target| is_real(target.member.kind)) {
        return None;
    }
    let alone = |job: &Job| is_write(job) && job.outstanding == 1 && job.workers == 1;
    let (durable, durable_step) = all.iter().find(|(plan, _)| alone(&plan.jobs[0]) && plan.jobs[0].sync)?;
    let is_like = |job: &Job| alone(job) && !job.sync && job.mix == durable.jobs[0].mix;
    let (_, plain_step) = all.iter().find(|(plan, _)| is_like(&plan.jobs[0]))?;
    let us = |step: &StepSummary| step.total.service.mean_ns().map(|ns| ns / 1e3);
    let (plain_us, durable_us) = (us(plain_step)?, us(durable_step)?);
    Some(FlushCost { plain_us, durable_us, meaning: meaning(header, plain_us, durable_us) })
}

fn meaning(header: &RunHeader, plain_us: f64, durable_us: f64) -> FlushMeaning {
    let members = || header.targets.iter().map(|target| &target.member);
    let is_local = members().all(|m| matches!(m.kind, MemberKind::File | MemberKind::Device));
    let device_has = |is: &dyn Fn(&assay_record::DeviceFacts) -> bool| {
        is_local && members().all(|m| m.device.as_ref().is_some_and(is))
    };
    // The disk of a virtual machine may call itself rotating, whatever it is.
    let is_physical = header.host.hypervisor.is_none();
    if is_physical && device_has(&|device| device.rotational) && durable_us < HALF_REVOLUTION_US {
        FlushMeaning::FasterThanRotation
    } else if durable_us >= plain_us * FREE {
        FlushMeaning::Waits
    } else if device_has(&|device| device.write_cache == "write back") {
        FlushMeaning::VolatileCacheAnswers
    } else {
        FlushMeaning::NoCost
    }
}

fn is_write(job: &Job) -> bool {
    job.pacing == Pacing::Closed && job.mix.iter().all(|a| a.read == 0.0 && a.reply.0 == 0)
}
