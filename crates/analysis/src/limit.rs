//! What limits a run of which no array is known: the first explanation that the run's own facts support.
//!
//! Explanations are tried in the order in which they exclude the others: a load that is offered at a rate asks for no
//! more; a tester without CPU left hides whatever is behind it; a link that is full does so too. What is left, with a
//! full queue and everything before it idle, is the device, or the target behind the network. An array file makes the
//! verdict sharper (`verdict`); experiments of its own would make it surer.

mod aside;
mod control_group;
mod held;
mod level;
mod lost;

use std::collections::BTreeSet;

use assay_record::{DeviceFacts, MemberFacts, MemberKind, RunHeader, StepId, TargetFacts};
use assay_spec::units::Bytes;
use assay_spec::{Engine, Pacing};
use serde::Serialize;

use crate::expected::Judgement;
use crate::figures::{capitalised, time, whole};
use crate::network::step_ceiling;
use crate::rules::{
    Fired, Run, StepCase, TakenCpus, flush_wait, no_cpu_left, shortened, slow_turns, stalled, step_name,
    taken_cpus,
};
use crate::summary::{RunSummary, StepSummary};
use crate::verdict::RunVerdict;
use aside::aside;
use control_group::control_group;
use held::{Held, held};
use lost::{is_lost, lost};

/// From this share of its ceiling on a link is full: acknowledgements and pauses take the rest.
const LINK_FULL: f64 = 0.92;
/// From this share of what an interface is known to carry on, something other than it answered: a cache, or the rate is
/// not the negotiated one.
const BUS_FULL_MAX: f64 = 1.08;
/// From this share of the rate that was offered the target keeps up.
const RATE_KEPT: f64 = 0.99;
/// A cache answers where the devices move less than this share of the bytes.
const CACHE_ANSWERS: f64 = 0.3;
/// Below this share of the queue depth asked for, the pauses of the load count more than the target.
const QUEUE_KEPT: f64 = 0.85;
/// Below this share, they count more than whatever else disturbs.
const IDLE: f64 = 0.5;
/// From this share of the CPU time on, what the hypervisor gave away is said.
const STEAL_SAID: f64 = 0.01;
/// From this share of the workers' time on, flushes count more than the I/Os between them.
const FLUSHES: f64 = 0.5;
/// Rates that differ by no more than this are the same.
const SAME: f64 = 0.05;
/// Sizes that differ by this factor are unlike.
const UNLIKE: f64 = 1.8;
/// A rotating disk does no more random I/Os than this per second, its cache aside.
const SPINDLE_IOPS: f64 = 1000.0;
/// An I/O that takes less than this needed no seek, s.
const SEEK_S: f64 = 0.001;
/// Waiting for a CPU explains mean latencies below this, ns: a few turns of the scheduler, not many.
const CPU_WAIT_NS: f64 = 20e6;

/// Most limits that the sentence names.
const CLAUSES_MAX: usize = 2;

/// What limits a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The rate that the plan offers.
    Rate,
    /// A limit of this process's control groups.
    ControlGroup,
    /// A file in this host's memory.
    Memory,
    /// The CPU time of the tester.
    Tester,
    /// CPUs that other programs use.
    Host,
    /// This host's page cache.
    PageCache,
    /// The latency of one I/O at a time.
    Latency,
    /// The network.
    Link,
    /// The interface or bus of the device.
    Interface,
    /// A flush for each write, or between writes.
    Flush,
    /// Pauses of the load itself.
    Pauses,
    /// Other programs on the same disks.
    Neighbour,
    /// A limit that holds once credit is used up.
    Credit,
    /// A write cache, or the fast area of flash, that is full.
    WriteCache,
    /// Seeks and rotation.
    RandomAccess,
    /// Bytes per second, whatever the size of an I/O.
    Throughput,
    /// Operations per second, whatever their size.
    Operations,
    /// A local device.
    Device,
    /// The target behind the network.
    Target,
}

/// How sure an explanation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// A number of the run shows it.
    Shown,
    /// Everything else that the run can see is ruled out.
    ByElimination,
}

/// The limit of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepLimit {
    /// Which step.
    pub step: StepId,
    /// What kind of limit.
    pub kind: LimitKind,
    /// Its name, as a sentence begins with it.
    pub limit: String,
    /// The numbers that support it, a clause.
    pub evidence: String,
    /// How sure it is.
    pub certainty: Certainty,
    /// The next explanation that fits, in few words; empty where there is none.
    pub second: String,
}

/// The limits of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunLimits {
    /// All in one or two sentences.
    pub says: String,
    /// Each step that was judged.
    pub steps: Vec<StepLimit>,
}

/// An explanation before its step is known.
struct Suspect {
    kind: LimitKind,
    limit: String,
    evidence: String,
    certainty: Certainty,
}

impl Suspect {
    fn shown(kind: LimitKind, limit: impl Into<String>, evidence: String) -> Option<Self> {
        Some(Self { kind, limit: limit.into(), evidence, certainty: Certainty::Shown })
    }
}

/// Returns what limits the steps of a run; `None` where no step was judged.
pub fn limits(header: &RunHeader, summary: &RunSummary) -> Option<RunLimits> {
    // Of another tool's results, neither the target nor the host is known.
    if header.imported.is_some() {
        return None;
    }
    let run = Run { header, summary };
    let cases: Vec<StepCase<'_>> = summary.steps.iter().filter_map(|step| run.case(step)).collect();
    // What only prepares the targets is no test.
    let is_result = |case: &&StepCase<'_>| header.plan.is_result(case.step.id.test) && !is_lost(**case);
    let judged = cases.iter().filter(is_result).filter_map(|case| of_step(*case, &cases));
    let steps: Vec<StepLimit> = judged.collect();
    let aside = aside(run, &steps);
    let sentences = [lost(&cases), says(summary, &steps, &aside.disturbed)];
    let says = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!says.is_empty())
        .then(|| RunLimits { says: format!("{says} {}", aside.says).trim_end().to_owned(), steps })
}

impl RunLimits {
    /// Returns the verdict on the run: its sentence, and the limit that most tests share.
    pub fn verdict(&self) -> RunVerdict {
        let count = |limit: &StepLimit| self.steps.iter().filter(|other| other.kind == limit.kind).count();
        let weight = |limit: &&StepLimit| (limit.kind != LimitKind::Rate, count(limit));
        let commonest = self.steps.iter().rev().max_by_key(weight);
        RunVerdict {
            says: self.says.clone(),
            brief: self.says.clone(),
            experiment: String::new(),
            limit: commonest.map_or_else(String::new, |limit| limit.limit.clone()),
            tests: commonest.map_or(0, count),
            judged: self.steps.len(),
        }
    }
}

/// Returns what is said to limit a run: by the description of its array where there is one, else by its own facts.
pub fn verdict_on(
    header: &RunHeader,
    summary: &RunSummary,
    judgement: Option<&Judgement>,
) -> Option<RunVerdict> {
    // The experiments of a diagnosis are judged together.
    if header.diagnosis.is_some() {
        return None;
    }
    let by_array = judgement.and_then(|judgement| judgement.verdict.clone()).map(|mut verdict| {
        let run = Run { header, summary };
        let cases: Vec<StepCase<'_>> = summary.steps.iter().filter_map(|step| run.case(step)).collect();
        if let Some(lost) = lost(&cases) {
            verdict.says = format!("{lost} {}", verdict.says);
            verdict.brief = format!("{lost} {}", verdict.brief);
        }
        verdict
    });
    by_array.or_else(|| limits(header, summary).map(|limits| limits.verdict()))
}

fn of_step(case: StepCase<'_>, all: &[StepCase<'_>]) -> Option<StepLimit> {
    let step = case.step;
    let members: Vec<&MemberFacts> = case.plan.jobs.iter().flat_map(|job| case.members(job)).collect();
    let is_real = |m: &&MemberFacts| !matches!(m.kind, MemberKind::Null | MemberKind::Simulated);
    if step.total.ops == 0 || step.unmeasured.is_some() || members.is_empty() || !members.iter().all(is_real)
    {
        return None;
    }
    let mut suspects = [
        rate(case),
        memory(&members),
        // Busy CPUs do not make a rate equal to a number in a file.
        control_group(case),
        tester(case),
        // A full link carries no more, however busy the CPUs are.
        link(case),
        flushes(case),
        pauses(case).filter(|_| case.step.outstanding_effective < case.step.outstanding_asked as f64 * IDLE),
        host(case).filter(|_| is_short_wait(case)),
        slow_tester(case),
        flush(case, &members),
        page_cache(case, &members),
        latency(case),
        bus(case, &members),
        pauses(case),
        level::level(case),
        random_access(case, &members),
        same_throughput(case, all),
        same_operations(case, all),
        left_over(case, &members),
        // Long waits have another reason, to which busy CPUs may add.
        host(case).filter(|_| !is_short_wait(case)),
    ]
    .into_iter()
    .flatten();
    let Suspect { kind, limit, evidence, certainty } = suspects.next()?;
    // What is left over is no second suspect of something that a number shows, and the throughput that a full link or
    // interface has in several tests is a consequence.
    let is_full = matches!(kind, LimitKind::Link | LimitKind::Interface);
    // A rate that equals a limit that stands in a file has one explanation.
    let is_quoted = kind == LimitKind::ControlGroup;
    let second = suspects
        .filter(|_| !is_quoted)
        .find(|next| next.certainty == Certainty::Shown && !(is_full && next.kind == LimitKind::Throughput));
    let second = second.map(|next| next.limit).unwrap_or_default();
    Some(StepLimit { step: step.id, kind, limit, evidence, certainty, second })
}

/// The load is offered at a rate, and the target keeps up.
fn rate(case: StepCase<'_>) -> Option<Suspect> {
    let jobs = case.jobs();
    let mut due = 0;
    for (plan, job) in jobs {
        if plan.pacing == Pacing::Closed {
            return None;
        }
        due += job.due?;
    }
    let total = &case.step.total;
    let (done, iops) = (total.ops as f64, total.iops);
    (due > 0 && done + total.errors as f64 >= due as f64 * RATE_KEPT).then_some(())?;
    let offered = whole(iops * due as f64 / done);
    let evidence = match total.errors {
        0 => format!("{offered} IOPS are offered, and the target keeps up"),
        errors => format!("{offered} IOPS are offered, and {errors} I/Os failed"),
    };
    Suspect::shown(LimitKind::Rate, "the rate of the plan", evidence)
}

fn memory(members: &[&MemberFacts]) -> Option<Suspect> {
    members.iter().all(|m| m.engine == Engine::Inline).then_some(())?;
    let evidence = "the file lies in memory, and the worker itself copies the data".to_owned();
    Suspect::shown(LimitKind::Memory, "the memory of this host", evidence)
}

/// The tester used all the CPU time that its workers can use.
fn tester(case: StepCase<'_>) -> Option<Suspect> {
    let [per_worker, busiest] = numbers(&no_cpu_left(case)?)?;
    let evidence = format!("{per_worker:.2} CPUs for each worker, the busiest CPU {busiest:.0} % busy");
    Suspect::shown(LimitKind::Tester, "the tester", evidence)
}

/// The tester took long to look at completions. Where other programs have the CPUs, that is why.
fn slow_tester(case: StepCase<'_>) -> Option<Suspect> {
    let [turn_us, median_us] = numbers(&slow_turns(case)?)?;
    let evidence = format!("a turn of its loop took {}, the median I/O {}", time(turn_us), time(median_us));
    Suspect::shown(LimitKind::Tester, "the tester", evidence)
}

/// The two numbers that a rule about the tester fires with.
fn numbers(fired: &Fired) -> Option<[f64; 2]> {
    let values: Vec<f64> = fired.evidence.iter().map(|evidence| evidence.value).collect();
    values.try_into().ok()
}

fn host(case: StepCase<'_>) -> Option<Suspect> {
    let TakenCpus { whose, busy, steal, by_programs } = taken_cpus(case)?;
    let stolen = format!(", and the hypervisor gave {:.0} % to other guests", steal * 100.0);
    let stolen = if steal < STEAL_SAID { "" } else { &stolen };
    let evidence = format!("the CPUs {whose} were {:.0} % busy{stolen}", busy * 100.0);
    let limit = if by_programs { "CPU time that other programs take" } else { "CPU time that others take" };
    Suspect::shown(LimitKind::Host, limit, evidence)
}

/// Whether the I/Os of a step are so short that waiting for a CPU explains them.
fn is_short_wait(case: StepCase<'_>) -> bool {
    case.step.total.service.mean_ns().is_none_or(|mean| mean < CPU_WAIT_NS)
}

fn page_cache(case: StepCase<'_>, members: &[&MemberFacts]) -> Option<Suspect> {
    let host = &case.run.header.host;
    let memory = host.cgroup_memory_bytes.map_or(host.memory_bytes, |limit| limit.min(host.memory_bytes));
    let span: u64 = members.iter().map(|m| m.span_bytes).sum();
    let local = |m: &&MemberFacts| matches!(m.kind, MemberKind::File | MemberKind::Device) && !m.direct;
    // What the devices move for everybody, where it is known: a cache that answers leaves them idle.
    let device_share = {
        let devices: BTreeSet<&str> =
            members.iter().filter_map(|m| Some(m.device.as_ref()?.name.as_str())).collect();
        let disks = case.step.host.disks.iter().filter(|disk| devices.contains(disk.device.as_str()));
        let moved: u64 = disks.map(|disk| disk.bytes).sum();
        case.step.host.tester_bytes.filter(|own| *own > 0.0).map(|own| moved as f64 / own)
    };
    let is_idle = device_share.is_none_or(|share| share < CACHE_ANSWERS);
    (members.iter().all(local) && span < memory && is_idle).then_some(())?;
    let evidence =
        format!("I/O is cached, and the span of {} fits in {} of memory", Bytes(span), Bytes(memory));
    Suspect::shown(LimitKind::PageCache, "the page cache of this host", evidence)
}

/// One I/O at a time: the rate is the reciprocal of the latency, whatever else could be faster.
fn latency(case: StepCase<'_>) -> Option<Suspect> {
    let workers: u32 = case.plan.jobs.iter().map(|job| job.workers).sum();
    (case.step.outstanding_asked == 1 && workers == 1).then_some(())?;
    let mean_us = case.step.total.service.mean_ns()? / 1e3;
    let evidence = format!("{} each; a larger queue depth would give more IOPS", time(mean_us));
    Suspect::shown(LimitKind::Latency, "the latency of one I/O at a time", evidence)
}

fn link(case: StepCase<'_>) -> Option<Suspect> {
    let ceiling = step_ceiling(case.run.header, case.step.id)?.mb_per_s?;
    // Links carry as much one way as the other at the same time.
    let fuller = case.step.read.mb_per_s.max(case.step.write.mb_per_s);
    (ceiling > 0.0 && fuller >= ceiling * LINK_FULL).then_some(())?;
    Suspect::shown(LimitKind::Link, "the link", format!("{fuller:.1} of {ceiling:.1} MB/s"))
}

/// The negotiated speed of the disk's interface.
fn bus(case: StepCase<'_>, members: &[&MemberFacts]) -> Option<Suspect> {
    let [member] = members else { return None };
    let device = member.device.as_ref()?;
    let bus = device.bus.as_ref()?;
    let step = case.step;
    (LINK_FULL..BUS_FULL_MAX).contains(&bus.share(step.read.mb_per_s, step.write.mb_per_s)).then_some(())?;
    let each = if bus.full_duplex { " in each direction" } else { "" };
    let (rate, full) = (whole(step.total.mb_per_s), whole(f64::from(bus.mb_per_s)));
    let evidence = format!("{rate} MB/s, and {} sustains about {full}{each}", bus.says);
    Suspect::shown(LimitKind::Interface, format!("the interface of {}", device.name), evidence)
}

fn flush(case: StepCase<'_>, members: &[&MemberFacts]) -> Option<Suspect> {
    let is_asked = case.plan.jobs.iter().all(|job| job.sync);
    let is_sync =
        is_asked || members.iter().all(|m| m.sync || m.nfs.as_ref().is_some_and(|nfs| nfs.sync == "file"));
    (is_sync && case.step.write.ops * 2 > case.step.total.ops).then_some(())?;
    let mean_us = case.step.write.service.mean_ns()? / 1e3;
    let evidence = format!("each write waits until it is durable, {} on average", time(mean_us));
    Suspect::shown(LimitKind::Flush, "the flush of each write", evidence)
}

/// The workers wait for flushes between their writes more than for their I/Os, whose latencies do not contain that.
fn flushes(case: StepCase<'_>) -> Option<Suspect> {
    let wait = flush_wait(case).filter(|wait| wait.share >= FLUSHES)?;
    let (share, mean) = (wait.share * 100.0, time(wait.mean_ms * 1e3));
    let evidence = format!("its workers waited for flushes for {share:.0} % of the time, {mean} each");
    Suspect::shown(LimitKind::Flush, "the flush between writes", evidence)
}

/// The load drains its queue, or pauses.
fn pauses(case: StepCase<'_>) -> Option<Suspect> {
    let (asked, kept) = (case.step.outstanding_asked as f64, case.step.outstanding_effective);
    let reopens = case.plan.jobs.iter().any(|job| job.reconnect_every.is_some());
    let delays = case.plan.jobs.iter().flat_map(|job| &job.mix).any(|access| access.delay.0 > 0);
    ((reopens || delays) && kept < asked * QUEUE_KEPT).then_some(())?;
    // What waits for a target that does not answer is no pause of the load.
    if stalled(case).is_some() {
        return None;
    }
    let why = if reopens { "it drains its queue and reopens the target" } else { "it pauses between bursts" };
    let evidence = format!("{why}, so {kept:.1} of {asked:.0} I/Os were in flight");
    Suspect::shown(LimitKind::Pauses, "the pauses of the load itself", evidence)
}

fn random_access(case: StepCase<'_>, members: &[&MemberFacts]) -> Option<Suspect> {
    let disk = members.iter().find_map(|m| m.device.as_ref())?;
    // Virtual disks are said to rotate whatever they are.
    let seeks = |d: &DeviceFacts| d.rotational && !is_virtual(d);
    let rotates = members.iter().all(|m| m.device.as_ref().is_some_and(seeks));
    let is_random = case.plan.jobs.iter().flat_map(|job| &job.mix).all(|access| access.random >= 50.0);
    let iops = case.step.total.iops;
    // By Little's law this is the mean latency, s.
    let is_slow = case.step.outstanding_effective >= iops * SEEK_S;
    (rotates && is_random && is_slow && iops < SPINDLE_IOPS * members.len() as f64).then_some(())?;
    let evidence = format!("{} IOPS of random I/O on a rotating disk", whole(iops));
    Suspect::shown(LimitKind::RandomAccess, format!("the seek time of {}", disk.name), evidence)
}

/// Whether a hypervisor makes the disk.
fn is_virtual(device: &DeviceFacts) -> bool {
    const NAMES: [&str; 2] = ["vd", "xvd"];
    const MODELS: [&str; 6] = ["virtio", "qemu", "vmware", "vbox", "msft", "virtual"];
    let model = device.model.to_lowercase();
    let is_named =
        device.stack.iter().chain([&device.name]).any(|n| NAMES.iter().any(|name| n.starts_with(name)));
    is_named || MODELS.iter().any(|maker| model.contains(maker))
}

/// Another step moves as many bytes with I/Os of another size.
fn same_throughput(case: StepCase<'_>, all: &[StepCase<'_>]) -> Option<Suspect> {
    let other = unlike(case, all, |step| step.total.mb_per_s)?;
    let limit = format!("a throughput of about {} MB/s", whole(case.step.total.mb_per_s));
    let evidence =
        format!("I/Os of {} and of {} have the same throughput", size_of(case.step), size_of(other));
    Suspect::shown(LimitKind::Throughput, limit, evidence)
}

/// Another step does as many operations of another size.
fn same_operations(case: StepCase<'_>, all: &[StepCase<'_>]) -> Option<Suspect> {
    let other = unlike(case, all, |step| step.total.iops)?;
    let limit = format!("a rate of about {} operations per second", whole(case.step.total.iops));
    let evidence = format!("I/Os of {} and of {} have the same rate", size_of(case.step), size_of(other));
    Suspect::shown(LimitKind::Operations, limit, evidence)
}

/// A step of the same direction and queue depth with another size and the same rate.
fn unlike<'r>(
    case: StepCase<'r>,
    all: &[StepCase<'r>],
    rate: fn(&StepSummary) -> f64,
) -> Option<&'r StepSummary> {
    let reads = |step: &StepSummary| step.read.ops as f64 / step.total.ops.max(1) as f64;
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a.max(b);
    let steps = all.iter().map(|other| other.step).filter(|other| other.id != case.step.id);
    let mut alike = steps.filter(|other| {
        let (own, its) = (mean_size(case.step), mean_size(other));
        own.max(its) >= own.min(its) * UNLIKE
            && (reads(case.step) - reads(other)).abs() <= SAME
            && other.outstanding_asked == case.step.outstanding_asked
            && is_same(rate(case.step), rate(other))
    });
    alike.next()
}

/// Bytes of an I/O, mean.
fn mean_size(step: &StepSummary) -> f64 {
    step.total.bytes as f64 / step.total.ops.max(1) as f64
}

fn size_of(step: &StepSummary) -> Bytes {
    Bytes((step.total.bytes / step.total.ops.max(1)).next_multiple_of(512))
}

/// I/Os in the queues of the devices of these targets, by the kernel's count of all programs, mean; `None` where it has
/// none of one.
fn queued(targets: &[&TargetFacts], case: StepCase<'_>) -> Option<f64> {
    let name = |target: &&TargetFacts| Some(target.member.device.as_ref()?.name.clone());
    let names: BTreeSet<String> = targets.iter().map(name).collect::<Option<_>>()?;
    let disks = &case.step.host.disks;
    let of =
        |name: &String| disks.iter().find(|disk| disk.device == *name)?.queue_mean.filter(|mean| *mean > 0.0);
    names.iter().map(of).sum()
}

/// What is behind the queue when nothing before it is full.
fn left_over(case: StepCase<'_>, members: &[&MemberFacts]) -> Option<Suspect> {
    let (kept, asked) = (case.step.outstanding_effective, case.step.outstanding_asked);
    let tester = case.step.cpu.tester_us_per_io.map(|us| us * case.step.total.iops / 1e6);
    let tester = tester.map_or(String::new(), |cpus| format!(" while the tester used {cpus:.2} CPUs"));
    let ceiling = step_ceiling(case.run.header, case.step.id).and_then(|c| c.mb_per_s).filter(|c| *c > 0.0);
    let Held { by, share, is_part } = held(case);
    let kept = kept * share;
    let are_remote = members.iter().all(|m| m.lun.is_some() || m.nfs.is_some());
    let devices = members.iter().all(|m| m.device.is_some());
    let (kind, limit, place) = match by.as_slice() {
        [target] if are_remote && is_part => {
            (LimitKind::Target, format!("the target {}", target.address), "waited for it")
        }
        _ if are_remote => (LimitKind::Target, "the target behind the network".to_owned(), "waited for it"),
        targets if devices => {
            let place = if targets.len() > 1 { "waited in them" } else { "waited in it" };
            (LimitKind::Device, devices_named(targets), place)
        }
        _ => (LimitKind::Device, "the storage below the file system".to_owned(), "waited for it"),
    };
    let link = ceiling.map_or(String::new(), |ceiling| {
        let fuller = case.step.read.mb_per_s.max(case.step.write.mb_per_s);
        format!(" and the link was {:.0} % full", fuller / ceiling * 100.0)
    });
    let place = match queued(&by, case) {
        Some(queued) if kind == LimitKind::Device && queued < kept * QUEUE_KEPT => {
            let (waited, queues) = if by.len() > 1 {
                ("waited for them", "their queues")
            } else {
                ("waited for it", "its queue")
            };
            format!("{waited}, at most {queued:.1} in {queues},")
        }
        _ => place.to_owned(),
    };
    let evidence = format!("{kept:.1} of {asked} I/Os {place}{tester}{link}");
    Some(Suspect { kind, limit, evidence, certainty: Certainty::ByElimination })
}

/// Devices by their names, and the only one with its model.
fn devices_named(targets: &[&TargetFacts]) -> String {
    let devices: Vec<&DeviceFacts> = targets.iter().filter_map(|t| t.member.device.as_ref()).collect();
    let mut names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match (names.as_slice(), devices.first()) {
        ([name], Some(device)) if !device.model.is_empty() => format!("the device {name} ({})", device.model),
        ([name], _) => format!("the device {name}"),
        ([a, b], _) => format!("the devices {a} and {b}"),
        ([a, b, rest @ ..], _) => format!("the devices {a}, {b} and {} more", rest.len()),
        _ => "the device".to_owned(),
    }
}

/// Steps that one limit explains.
struct Group<'l> {
    /// The one whose numbers are said.
    plainest: &'l StepLimit,
    limits: Vec<&'l StepLimit>,
    /// Where their steps stand in the summary.
    indices: Vec<usize>,
}

impl Group<'_> {
    /// What limits them, for `all` steps that have a limit. A disturbed step is sure of nothing but what disturbed it.
    fn says(&self, names: &[String], all: usize, disturbed: &[StepId]) -> String {
        let is_itself = |limit: &StepLimit| {
            use LimitKind::{ControlGroup, Host, Memory, Neighbour, Rate, Tester};
            matches!(limit.kind, ControlGroup | Host | Memory | Neighbour | Rate | Tester)
        };
        let is_clean = |limit: &StepLimit| is_itself(limit) || !disturbed.contains(&limit.step);
        let is_sure = |limit: &&StepLimit| {
            limit.certainty == Certainty::Shown && limit.second.is_empty() && is_clean(limit)
        };
        let limit = &self.plainest.limit;
        let verb = if ["the devices ", "the pauses "].iter().any(|many| limit.starts_with(many)) {
            "limit"
        } else {
            "limits"
        };
        let probably = if self.limits.iter().all(is_sure) { "" } else { "probably " };
        let what = match (all, self.indices.len()) {
            (1, _) if names.len() == 1 => "this test".to_owned(),
            // Others prepare the targets, or were not judged.
            (1, _) => shortened(names, &self.indices),
            (2, 2) => "both tests".to_owned(),
            (all, n) if all == n => format!("all {all} tests"),
            (all, n) if n > all / 2 => format!("{n} of {all} tests"),
            _ => shortened(names, &self.indices),
        };
        format!("{limit} {probably}{verb} {what} ({}{})", self.plainest.evidence, self.second(names))
    }

    /// The second suspect of the step whose numbers are said, else of the first that has one.
    fn second(&self, names: &[String]) -> String {
        let mut doubted = self.limits.iter().zip(&self.indices).filter(|(limit, _)| !limit.second.is_empty());
        match (self.plainest.second.as_str(), doubted.next()) {
            ("", None) => String::new(),
            ("", Some((limit, at))) => format!("; second suspect of {}: {}", names[*at], limit.second),
            (second, _) => format!("; second suspect: {second}"),
        }
    }
}

/// Whether one limit explains two steps: of the same kind, at the same place, and a rate is the same rate in both.
fn is_one((limit, step): (&StepLimit, &StepSummary), (other, its): (&StepLimit, &StepSummary)) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 2.0 * SAME * a.max(b);
    limit.kind == other.kind
        && match limit.kind {
            LimitKind::Operations => near(step.total.iops, its.total.iops),
            LimitKind::Throughput => near(step.total.mb_per_s, its.total.mb_per_s),
            LimitKind::ControlGroup | LimitKind::Interface | LimitKind::Device | LimitKind::Target => {
                limit.limit == other.limit
            }
            _ => true,
        }
}

/// Steps that one limit explains in one clause, the most frequent first.
fn says(summary: &RunSummary, steps: &[StepLimit], disturbed: &[StepId]) -> Option<String> {
    let names: Vec<String> = summary.steps.iter().map(step_name).collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for limit in steps {
        let at = summary.steps.iter().position(|step| step.id == limit.step)?;
        let is_theirs = |group: &&mut Group<'_>| {
            is_one((group.limits[0], &summary.steps[group.indices[0]]), (limit, &summary.steps[at]))
        };
        match groups.iter_mut().find(is_theirs) {
            Some(group) => {
                group.limits.push(limit);
                group.indices.push(at);
                // The largest I/O comes nearest to a throughput, and the first step says the rest as well as any.
                if limit.kind == LimitKind::Throughput {
                    group.plainest = limit;
                }
            }
            None => groups.push(Group { plainest: limit, limits: vec![limit], indices: vec![at] }),
        }
    }
    // That a rate that was asked for is kept is no news beside what limits the others: a curve has ten such steps.
    if groups.iter().any(|group| group.plainest.kind != LimitKind::Rate) {
        groups.retain(|group| group.plainest.kind != LimitKind::Rate);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.indices.len()));
    let clauses = groups.iter().take(CLAUSES_MAX).map(|group| group.says(&names, steps.len(), disturbed));
    let mut text = clauses.collect::<Vec<_>>().join("; ");
    let more: usize = groups.iter().skip(CLAUSES_MAX).map(|group| group.indices.len()).sum();
    match more {
        0 => {}
        1 => text.push_str("; 1 more has another limit"),
        more => text.push_str(&format!("; {more} more have other limits")),
    }
    (!text.is_empty()).then(|| format!("{}.", capitalised(&text)))
}
