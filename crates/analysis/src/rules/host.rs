//! About the host: whether the tester had the machine to itself, and whether it was the bottleneck.

use assay_record::StepCpu;
use assay_spec::units::MIB;

use super::{Fired, StepCase, flush_wait};
use crate::figures::{time, whole};
use crate::finding::{Evidence, Severity};

/// Share of CPU time given to other guests above which latencies are not the storage's alone.
const STEAL_MAX: f64 = 0.02;
/// Swapping below this, MiB/s, is what a host does now and then.
const SWAP_MIB_PER_S: f64 = 1.0;
/// Lateness of timers above which a wake-up is a part of every latency.
const LATE_MEAN_MAX_NS: f64 = 1e6;
/// Share of the mean latency from which late wake-ups show in it.
const LATE_SHARE_MIN: f64 = 0.02;
/// One wake-up later than this is a slow I/O in the tail.
const LATE_WORST_MAX_NS: u64 = 20_000_000;
/// CPUs busier than this do not sleep long enough to wake up late.
const IDLE_MAX: f64 = 0.6;
/// Share of the median latency that the tester's own loop may take.
const TURN_SHARE_MAX: f64 = 0.05;
/// A CPU busier than this has no room left.
const BUSY_MAX: f64 = 0.95;
/// CPUs busier than this, with others using more than that of them, make I/Os wait for a CPU.
const HOST_BUSY_MAX: f64 = 0.85;
const OTHERS_MAX: f64 = 0.3;
/// Windows shorter than this have no CPU times of their own: the kernel counts those of the CPUs in ticks of up to
/// 10 ms, and the step is looked at as seldom.
const CPU_WINDOW_MIN_S: f64 = 0.1;
/// CPUs per worker from which a worker counts as never waiting.
const CPU_PER_WORKER: f64 = 0.9;
/// A rate above this share of the generator limit is near it.
const CEILING_SHARE_MAX: f64 = 0.7;
const SERVED_HERE: &str = "The server of the target runs on this host and needs CPU itself: run from another host, or \
                           count its work as part of the target.";
const STOP_OTHERS: &str = "Stop the other programs (top shows them), then run again.";
const STOP_OTHERS_THERE: &str = "Stop the other programs of that host (top shows them), then run again.";

/// The CPUs of a host in a step.
struct HostCpus<'r> {
    /// Its name where it is one of several.
    name: Option<&'r str>,
    used: StepCpu,
    /// Share of their time that the tester used, \[0, 1\].
    tester: f64,
}

impl HostCpus<'_> {
    fn others(&self) -> f64 {
        self.used.host_busy - self.tester
    }

    /// Whether other programs have its CPUs.
    fn is_busy(&self) -> bool {
        self.used.host_busy > HOST_BUSY_MAX && self.others() > OTHERS_MAX
    }

    /// Share of their time that was in use, or that the hypervisor gave away, \[0, 1\].
    fn gone(&self) -> f64 {
        self.used.host_busy + self.used.steal
    }

    /// Whether others, programs or guests, have its CPUs.
    fn is_taken(&self) -> bool {
        self.gone() > HOST_BUSY_MAX && self.gone() - self.tester > OTHERS_MAX
    }
}

/// The CPUs of every host of a step, each by itself: the mean of several hides the one that is busy.
fn hosts(case: StepCase<'_>) -> Vec<HostCpus<'_>> {
    let share =
        |used: StepCpu, seconds: f64, cpus: u32| used.tester_ns as f64 / 1e9 / seconds / f64::from(cpus);
    let header = case.run.header;
    if header.setting.hosts.is_empty() {
        let cpus = header.host.cpus_online;
        let used = case.step.cpu.used.filter(|_| cpus > 0).zip(cpu_seconds(case));
        let own =
            used.map(|(used, seconds)| HostCpus { name: None, used, tester: share(used, seconds, cpus) });
        return own.into_iter().collect();
    }
    let known = header.setting.hosts.iter().filter(|host| host.facts.cpus_online > 0);
    let of_step = known.filter_map(|host| {
        let end = case.step.hosts.iter().find(|end| end.host == host.name && end.lost.is_none())?;
        let tester = share(end.cpu, host_seconds(case, &host.name)?, host.facts.cpus_online);
        Some(HostCpus { name: Some(&host.name), used: end.cpu, tester })
    });
    of_step.collect()
}

/// The time that the CPU times of one of several hosts belong to, s: a host whose jobs end by a count is done before
/// the others are.
fn host_seconds(case: StepCase<'_>, host: &str) -> Option<f64> {
    let own = case.jobs().filter(|(plan, _)| plan.hosts.iter().any(|name| name == host));
    let seconds = match case.step.steady {
        Some(_) => case.step.whole_seconds,
        None => own.map(|(_, job)| job.seconds).reduce(f64::max)?,
    };
    (seconds >= CPU_WINDOW_MIN_S).then_some(seconds)
}

/// Whether a target of a host is served by this very host: what is busy then is the target.
fn is_served_by(case: StepCase<'_>, host: Option<&str>) -> bool {
    let is_of = |address: &str| {
        host.is_none_or(|host| address.strip_prefix(host).is_some_and(|rest| rest.starts_with(':')))
    };
    let own = case.run.header.targets.iter().filter(|target| is_of(&target.address));
    own.flat_map(|target| target.member.paths()).any(|path| {
        let route = path.net.as_ref().and_then(|net| net.route.as_ref());
        route.is_some_and(|route| route.device == "lo")
    })
}

/// The hypervisor gave CPU time to others.
pub(super) fn steal(case: StepCase<'_>) -> Option<Fired> {
    steal_of(case, None)
}

/// The same of one of several hosts.
pub(super) fn steal_of(case: StepCase<'_>, only: Option<&str>) -> Option<Fired> {
    // How much it took is known also where the time of the tester is not.
    let steal = case.step.cpu.used?.steal;
    let ends = case.step.hosts.iter().filter(|end| only.is_none_or(|only| end.host == only));
    let of_each = ends.map(|end| (Some(end.host.as_str()), end.cpu.steal));
    let (name, steal) = of_each.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((None, steal));
    if steal <= STEAL_MAX {
        return None;
    }
    let whose =
        name.map_or_else(|| "this host's CPU time".to_owned(), |name| format!("the CPU time of {name}"));
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The hypervisor gave {:.1} % of {whose} to other guests: latencies include waiting for a CPU.",
            steal * 100.0
        ),
        evidence: vec![Evidence::new("steal", steal * 100.0, "%")],
        next: "Run on a less shared host, or reserve CPU for this guest.",
        weight: steal,
    })
}

/// The kernel moved memory to swap and back.
pub(super) fn swapping(case: StepCase<'_>) -> Option<Fired> {
    let host = &case.step.host;
    let mib = host.swap_bytes as f64 / MIB as f64;
    let mib_per_s = mib / host.seconds;
    (host.seconds >= 1.0 && mib_per_s > SWAP_MIB_PER_S).then(|| Fired {
        severity: Severity::Warning,
        says: format!(
            "This host moved {mib_per_s:.1} MiB/s between memory and swap: memory is short, and programs, also those \
             that serve I/O, wait for it."
        ),
        evidence: vec![Evidence::new("swapped", mib_per_s, "MiB/s")],
        next: "Stop what takes the memory (ps aux --sort=-rss | head), then run again.",
        weight: mib_per_s,
    })
}

/// Timers, and so interrupts, reached the tester late.
pub(super) fn late_timers(case: StepCase<'_>) -> Option<Fired> {
    let host = &case.step.host;
    let is_in_time =
        host.timer_late_mean_ns <= LATE_MEAN_MAX_NS && host.timer_late_max_ns <= LATE_WORST_MAX_NS;
    if is_in_time || is_beside_latency(case) {
        return None;
    }
    let (mean_ms, max_ms) = (host.timer_late_mean_ns / 1e6, host.timer_late_max_ns as f64 / 1e6);
    // A CPU that is busy, or that another guest has, does not sleep.
    let busy = case.step.cpu.used.map_or(0.0, |used| used.host_busy);
    let (why, next) = if let Some(busy) = busy_host_of(case, None) {
        ("other programs had the CPUs".to_owned(), busy.next)
    } else if let Some(steal) = steal(case) {
        ("the hypervisor gave the CPUs to other guests".to_owned(), steal.next)
    } else if busy > IDLE_MAX {
        (format!("the CPUs were {:.0} % busy", busy * 100.0), "Use fewer workers, or a host with more CPUs.")
    } else {
        ("idle virtual CPUs wake up late".to_owned(), "Run again with --keep-awake.")
    };
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The tester's timers fired {mean_ms:.2} ms late on average and {max_ms:.1} ms at worst: {why}, and \
             completions are seen late too."
        ),
        evidence: vec![
            Evidence::new("mean lateness", mean_ms, "ms"),
            Evidence::new("worst lateness", max_ms, "ms"),
        ],
        next,
        weight: mean_ms + max_ms,
    })
}

/// The tester itself was a part of the latency, or the limit.
pub(super) fn tester_bound(case: StepCase<'_>) -> Option<Fired> {
    // Against the null target the tester is what is measured.
    case.run.storage().next()?;
    // A file in memory is served by the tester's own thread: `in-memory` says so already.
    if case.run.header.targets.iter().any(|t| t.member.engine == assay_spec::Engine::Inline) {
        return None;
    }
    slow_turns(case).or_else(|| no_cpu_left(case))
}

pub(crate) fn slow_turns(case: StepCase<'_>) -> Option<Fired> {
    let median = case.step.total.service.quantile_ns(0.5).filter(|_| case.step.turns.turns > 0)?;
    let turn = case.step.turns.mean_ns();
    // A worker waits for its I/O, and for the flush behind it.
    let flush = flush_wait(case).map_or(0.0, |wait| wait.each_io_ns);
    if turn <= (median + flush) * TURN_SHARE_MAX {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "A turn of the tester's loop took {}, {:.0} % of the median latency ({}): the storage may be faster than \
             the result.",
            time(turn / 1e3),
            turn / median * 100.0,
            time(median / 1e3)
        ),
        evidence: vec![
            Evidence::new("turn, mean", turn / 1e3, "us"),
            Evidence::new("latency, median", median / 1e3, "us"),
        ],
        next: "Use more workers with a smaller queue depth each, or a host with faster CPUs.",
        weight: turn / median,
    })
}

pub(crate) fn no_cpu_left(case: StepCase<'_>) -> Option<Fired> {
    let used = case.step.cpu.used?;
    let cpus = f64::from(case.run.header.host.cpus.max(1));
    let workers: u32 = case.plan.jobs.iter().map(|j| j.workers).sum();
    let workers = f64::from(workers).min(cpus);
    let seconds = cpu_seconds(case).filter(|_| workers > 0.0)?;
    let per_worker = used.tester_ns as f64 / 1e9 / seconds / workers;
    if used.host_busy_max <= BUSY_MAX || per_worker < CPU_PER_WORKER {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The tester used {per_worker:.2} CPUs per worker, and the busiest CPU was {:.0} % busy: the tester is the \
             bottleneck, not the storage.",
            used.host_busy_max * 100.0
        ),
        evidence: vec![
            Evidence::new("tester CPU per worker", per_worker, "CPUs"),
            Evidence::new("busiest CPU", used.host_busy_max * 100.0, "%"),
        ],
        next: "Use more workers, or a host with more or faster CPUs.",
        weight: per_worker,
    })
}

/// CPUs of which others had so much that the tester had too little of the rest.
pub(crate) struct TakenCpus {
    /// Whose they are: "of this host", or those of all hosts of a run, and which of them had the least.
    pub(crate) whose: String,
    /// Share of their time that was in use, \[0, 1\].
    pub(crate) busy: f64,
    /// Share of their time that the hypervisor gave away, \[0, 1\].
    pub(crate) steal: f64,
    /// Whether it is other programs that had them.
    pub(crate) by_programs: bool,
}

/// Where others had the CPUs. Of several hosts that is so only where it is of every one: one that has no CPU does not
/// keep the others from what they do, and the finding `busy-host` names it.
pub(crate) fn taken_cpus(case: StepCase<'_>) -> Option<TakenCpus> {
    let hosts = hosts(case);
    let took_part = case.step.hosts.iter().filter(|end| end.lost.is_none()).count();
    // Of a host whose CPUs are not known nothing shows that it was held up.
    if hosts.len() < took_part || !hosts.iter().all(HostCpus::is_taken) {
        return None;
    }
    let worst = hosts.iter().max_by(|a, b| (a.gone() - a.tester).total_cmp(&(b.gone() - b.tester)))?;
    let whose = match (worst.name, hosts.len()) {
        (None, _) => "of this host".to_owned(),
        (Some(name), 1) => format!("of {name}"),
        (Some(name), count) => format!("of all {count} hosts had other work, those of {name}"),
    };
    let [busy, steal] = [worst.used.host_busy, worst.used.steal];
    Some(TakenCpus { whose, busy, steal, by_programs: hosts.iter().all(HostCpus::is_busy) })
}

/// Other programs took the CPUs: I/Os waited for one, for a time that shows in their latencies.
pub(super) fn busy_host(case: StepCase<'_>) -> Option<Fired> {
    busy_host_of(case, None).filter(|_| !is_beside_latency(case))
}

/// Whether late wake-ups are far below the latencies: an I/O that waits at a limit for 200 ms is no slower for a CPU
/// that it gets 3 ms later. What serves the target on this host may be late by more than that, each time again.
fn is_beside_latency(case: StepCase<'_>) -> bool {
    let host = &case.step.host;
    let service = &case.step.total.service;
    let (Some(mean), Some(tail)) = (service.mean_ns(), service.quantile_ns(0.99)) else { return false };
    let is_one_host = case.run.header.setting.hosts.is_empty() && host.seconds > 0.0;
    is_one_host
        && !is_served_by(case, None)
        && host.timer_late_mean_ns < mean * LATE_SHARE_MIN
        && (host.timer_late_max_ns as f64) < tail
}

/// The same of one of several hosts.
pub(super) fn busy_host_of(case: StepCase<'_>, only: Option<&str>) -> Option<Fired> {
    let is_asked = |host: &HostCpus<'_>| only.is_none() || host.name == only;
    let busy: Vec<HostCpus<'_>> =
        hosts(case).into_iter().filter(|host| is_asked(host) && host.is_busy()).collect();
    let worst = busy.iter().max_by(|a, b| a.others().total_cmp(&b.others()))?;
    let (used, tester) = (worst.used.host_busy * 100.0, worst.tester * 100.0);
    let others = busy.iter().filter(|host| host.name != worst.name).filter_map(|host| host.name);
    let says = match (worst.name, others.collect::<Vec<_>>().as_slice()) {
        (None, _) => format!(
            "This host's CPUs were {used:.0} % busy, of which the tester used {tester:.0} %: I/Os waited for a CPU, \
             and latencies include that."
        ),
        (Some(name), []) => format!(
            "The CPUs of {name} were {used:.0} % busy, of which the tester used {tester:.0} %: its I/Os waited for a \
             CPU, and its latencies include that."
        ),
        (Some(name), others) => format!(
            "The CPUs of {name} were {used:.0} % busy, of which the tester used {tester:.0} %, and those of {} were \
             busy with other programs too: I/Os waited for a CPU, and latencies include that.",
            listed(others)
        ),
    };
    let next = match worst.name {
        _ if is_served_by(case, worst.name) => SERVED_HERE,
        Some(_) => STOP_OTHERS_THERE,
        None => STOP_OTHERS,
    };
    let evidence = vec![Evidence::new("CPUs busy", used, "%"), Evidence::new("tester", tester, "%")];
    Some(Fired { severity: Severity::Warning, says, evidence, next, weight: worst.others() })
}

/// Some names, and how many more there are.
fn listed(names: &[&str]) -> String {
    match names {
        [a, b, c, more @ ..] if !more.is_empty() => format!("{a}, {b}, {c} and {} more", more.len()),
        few => few.join(", "),
    }
}

/// The load came near to what the tester reaches where the target costs nothing.
pub(super) fn near_null_ceiling(case: StepCase<'_>) -> Option<Fired> {
    let share = null_share(case)?;
    if share <= CEILING_SHARE_MAX {
        return None;
    }
    let ceiling = case.step.total.iops / share;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The rate is {:.0} % of what this host reaches with the same load on a target that costs nothing ({} \
             IOPS): the tester may be the limit.",
            share * 100.0,
            whole(ceiling)
        ),
        evidence: vec![
            Evidence::new("rate", case.step.total.iops, "IOPS"),
            Evidence::new("generator limit", ceiling, "IOPS"),
        ],
        next: "Use more workers, or a host with more or faster CPUs.",
        weight: share,
    })
}

/// Returns the rate of a step over the tester's own ceiling; `None` where the run has none, or measured no storage.
pub(crate) fn null_share(case: StepCase<'_>) -> Option<f64> {
    case.run.storage().next()?;
    let ceilings = &case.run.header.setting.null_ceilings;
    let ceiling = ceilings.iter().find(|ceiling| ceiling.step == case.step.id)?;
    (ceiling.iops > 0.0).then(|| case.step.total.iops / ceiling.iops)
}

/// Returns the CPU time of the tester over the window, for each worker; above 1 where helper threads work for it.
pub(crate) fn busy_per_worker(case: StepCase<'_>) -> Option<f64> {
    let used = case.step.cpu.used?;
    let workers: u32 = case.plan.jobs.iter().map(|j| j.workers).sum();
    let seconds = cpu_seconds(case).filter(|_| workers > 0)?;
    Some(used.tester_ns as f64 / 1e9 / seconds / f64::from(workers))
}

/// The time that CPU times belong to, s; `None` where it is too short for them. A step that was killed is judged over
/// what its samples cover.
pub(crate) fn cpu_seconds(case: StepCase<'_>) -> Option<f64> {
    let seconds = if case.step.reason.is_some() { case.step.whole_seconds } else { case.step.host.seconds };
    (seconds >= CPU_WINDOW_MIN_S).then_some(seconds)
}
