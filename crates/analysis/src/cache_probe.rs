//! Caches in front of a target, from reads over growing working sets; how much writes a cache absorbs; what a flush
//! costs.
//!
//! A cache of C bytes that holds the data used last answers a share min(1, C/W) of uniformly random reads over a
//! working set of W bytes that has been read once. Hits and misses are distinguished by their time, if the two lie well
//! apart: a time T is looked for below which exactly that share of the reads lies, in every working set, with one C. A
//! latency that merely grows with the working set (longer seeks, a busy neighbour) does not follow that law.

mod law;
mod writes;

use assay_record::{MemberFacts, MemberKind, RunHeader, StepId};
use assay_spec::units::MIB;
use assay_spec::{Job, Pacing, Step};
use serde::Serialize;

use crate::modes::nanos;
use crate::rules::{Run, foreign_share};
use crate::summary::{RunSummary, StepSummary};

pub use writes::{Absorption, FlushCost, FlushMeaning};

use law::find_caches;

/// Fewer working sets than this show no law.
const SETS_MIN: usize = 3;
/// A working set is known to the cache if so much of it was read before.
const TOUCHED_MIN: f64 = 0.95;
/// The cache of a drive is not larger than this, bytes.
const DRIVE_CACHE_MAX: f64 = 512.0 * MIB as f64;
/// From this share of what the disks move on, I/O of other programs makes slow reads of its own and takes its part of a
/// cache: fast and slow reads then show no size.
const FOREIGN_MAX: f64 = 0.25;
/// A cache found within these shares of a stated memory is that memory.
const STATED: std::ops::Range<f64> = 0.5..1.2;

/// What a run over working sets shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheProbe {
    /// From the smallest to the largest.
    pub working_sets: Vec<WorkingSet>,
    /// From the fastest and smallest to the slowest and largest; empty where none was found, or other programs used
    /// the disks so much that none can be distinguished.
    pub caches: Vec<FoundCache>,
    /// The smallest working set read for the first time and again; `None` where it was not.
    pub touch: Option<Touch>,
    /// Writes without a pause; `None` where there were none.
    pub absorption: Option<Absorption>,
    /// Durable writes beside others; `None` where there were none.
    pub flush: Option<FlushCost>,
}

/// Random reads over a working set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkingSet {
    /// Which step.
    #[serde(skip)]
    pub step: StepId,
    /// Its size, all targets together, bytes.
    pub bytes: u64,
    /// Reads per second.
    pub iops: f64,
    /// Mean latency, µs.
    pub mean_us: f64,
    /// Median latency, µs.
    pub p50_us: f64,
    /// Share that was read from start to end before. In [0, 1]; `None` where nobody did.
    pub touched: Option<f64>,
    /// Share of the reads that each of the caches answered, or one before it.
    pub hits: Vec<f64>,
    /// Share of other programs in the bytes that the disks moved. In [0, 1]; `None` where it is not known.
    pub foreign: Option<f64>,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundCache {
    /// Where it probably is.
    pub place: String,
    /// Its size, bytes.
    pub bytes: f64,
    /// The smallest and largest size that a single working set gives, bytes.
    pub bytes_range: (f64, f64),
    /// Time that tells hits from misses, µs.
    pub threshold_us: f64,
    /// Median of the hits, µs.
    pub hit_us: f64,
    /// Median of the misses, µs.
    pub miss_us: f64,
    /// Root mean square of the differences from the law, in shares of the reads.
    pub deviation: f64,
}

/// The first reading of a region, and the second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Touch {
    /// Bytes of the region.
    pub bytes: u64,
    /// First, 2^20 bytes per second.
    pub first_mib_per_s: f64,
    /// Again, 2^20 bytes per second.
    pub again_mib_per_s: f64,
}

impl CacheProbe {
    /// Returns the share of other programs in the bytes that the disks moved, where it is so large that no cache can
    /// be distinguished.
    pub fn disturbed(&self) -> Option<f64> {
        let shares = self.working_sets.iter().filter_map(|set| set.foreign);
        shares.max_by(f64::total_cmp).filter(|share| *share >= FOREIGN_MAX)
    }
}

/// Returns what a run shows of caches; `None` if it has no sweep over working sets.
pub fn cache_probe(header: &RunHeader, summary: &RunSummary) -> Option<CacheProbe> {
    let measured = measured(header, summary);
    let mut sets: Vec<(&Step, &StepSummary)> =
        measured.iter().copied().filter(|(plan, _)| is_random_read(plan)).collect();
    sets.sort_by_key(|(plan, _)| plan.jobs[0].span);
    // A span beyond the end of a target is the whole target; two such working sets are one.
    let bytes_of = |plan: &Step| -> u64 {
        let span = plan.jobs[0].span.map_or(u64::MAX, |span| span.0);
        header.targets.iter().map(|target| target.member.span_bytes.min(span)).sum()
    };
    sets.dedup_by_key(|(plan, _)| bytes_of(plan));
    if sets.len() < SETS_MIN {
        return None;
    }
    let mut working_sets: Vec<WorkingSet> = sets
        .iter()
        .filter_map(|(plan, step)| {
            working_set(Run { header, summary }, (plan, step), &measured, bytes_of(plan))
        })
        .collect();
    // What was not read to its end is not in any cache, however large.
    let is_known = |set: &WorkingSet| set.touched.is_none_or(|touched| touched >= TOUCHED_MIN);
    let known: Vec<(f64, &assay_record::Latency)> = working_sets
        .iter()
        .zip(&sets)
        .filter(|(set, _)| is_known(set))
        .map(|(set, (_, step))| (set.bytes as f64, &step.total.service))
        .collect();
    let is_disturbed = working_sets.iter().any(|set| set.foreign.is_some_and(|share| share >= FOREIGN_MAX));
    let mut caches = if known.len() < SETS_MIN || is_disturbed { Vec::new() } else { find_caches(&known) };
    for cache in &mut caches {
        cache.place = place(header, cache.bytes);
    }
    for (set, (_, step)) in working_sets.iter_mut().zip(&sets) {
        let share = |cache: &FoundCache| step.total.service.share_at_or_below(nanos(cache.threshold_us));
        set.hits = caches.iter().map(share).collect();
    }
    Some(CacheProbe {
        working_sets,
        caches,
        touch: touch(&measured, &bytes_of),
        absorption: writes::absorption(&measured),
        flush: writes::flush_cost(header, &measured),
    })
}

/// Steps of one job with a result.
fn measured<'m>(header: &'m RunHeader, summary: &'m RunSummary) -> Vec<(&'m Step, &'m StepSummary)> {
    let has_result =
        |step: &&StepSummary| step.skipped.is_none() && step.unmeasured.is_none() && step.total.ops > 0;
    let plan_of = |id: StepId| header.plan.tests.get(id.test as usize)?.steps.get(id.step as usize);
    let steps = summary.steps.iter().filter(has_result);
    steps
        .filter_map(|step| Some((plan_of(step.id)?, step)))
        .filter(|(plan, _)| plan.jobs.len() == 1)
        .collect()
}

fn only(job: &Job, read: f64, random: f64) -> bool {
    job.pacing == Pacing::Closed && job.mix.iter().all(|a| a.read == read && a.random == random)
}

fn is_random_read(step: &Step) -> bool {
    step.jobs[0].span.is_some() && only(&step.jobs[0], 100.0, 100.0)
}

/// Reads a region from start to end.
fn is_touch(step: &Step) -> bool {
    let job = &step.jobs[0];
    only(job, 100.0, 0.0) && job.span.is_some() && step.stop.bytes.is_some()
}

fn working_set(
    run: Run<'_>,
    (plan, step): (&Step, &StepSummary),
    all: &[(&Step, &StepSummary)],
    bytes: u64,
) -> Option<WorkingSet> {
    let span = plan.jobs[0].span?;
    let touches = all.iter().filter(|(other, _)| is_touch(other) && other.jobs[0].span == Some(span));
    let touched = touches.map(|(_, step)| step.total.bytes).reduce(u64::max);
    Some(WorkingSet {
        step: step.id,
        bytes,
        iops: step.total.iops,
        mean_us: step.total.service.mean_ns()? / 1e3,
        p50_us: step.total.service.quantile_ns(0.5)? / 1e3,
        touched: touched.map(|touched| (touched as f64 / bytes as f64).min(1.0)),
        hits: Vec::new(),
        foreign: run.case(step).and_then(foreign_share),
    })
}

/// The region that was read twice, if there is one.
fn touch(all: &[(&Step, &StepSummary)], bytes_of: &dyn Fn(&Step) -> u64) -> Option<Touch> {
    let touches: Vec<_> = all.iter().filter(|(plan, _)| is_touch(plan)).collect();
    let (index, (plan, first)) = touches
        .iter()
        .enumerate()
        .find(|(i, (plan, _))| touches[i + 1..].iter().any(|(b, _)| b.jobs[0].span == plan.jobs[0].span))?;
    let span = plan.jobs[0].span?;
    let (_, again) = touches[index + 1..].iter().find(|(other, _)| other.jobs[0].span == Some(span))?;
    Some(Touch {
        bytes: bytes_of(plan),
        first_mib_per_s: first.total.mib_per_s,
        again_mib_per_s: again.total.mib_per_s,
    })
}

/// Where a cache of that size probably is.
fn place(header: &RunHeader, bytes: f64) -> String {
    let members: Vec<&MemberFacts> = header.targets.iter().map(|target| &target.member).collect();
    let all = |is: fn(&MemberFacts) -> bool| members.iter().all(|member| is(member));
    let is_virtual = header.host.hypervisor.is_some();
    let mut place = if all(|m| m.kind == MemberKind::Simulated) {
        "the read cache of the simulated array"
    } else if all(|m| !m.direct && m.paths().is_empty()) {
        "the page cache of this host"
    } else if all(|m| matches!(m.kind, MemberKind::Lun | MemberKind::Nfs)) {
        "the memory of the server"
    } else if is_virtual {
        "the memory of the hypervisor's host, or a cache of the storage behind it"
    } else if bytes <= DRIVE_CACHE_MAX {
        "the cache of the drive, or a small one of its controller"
    } else {
        "the cache of the controller"
    }
    .to_owned();
    let stated = header.stated;
    for (stated, option) in [(stated.storage_bytes, "--storage-ram"), (stated.host_bytes, "--host-ram")] {
        if stated.is_some_and(|stated| STATED.contains(&(bytes / stated as f64))) {
            place.push_str(&format!(", as {option} states"));
        }
    }
    place
}
