//! What sets the hosts of one run apart.

use std::collections::BTreeMap;

use assay_record::{HostFacts, InterfaceFacts, MemberFacts, RunHeader};
use assay_spec::units::Bytes;
use assay_spec::{Job, Pacing};
use assay_statistics::mean;

use super::{Fired, Run, StepCase};
use crate::figures::time;
use crate::finding::{Evidence, Severity};
use crate::fleet::{HostRate, HostSpread, usual};
use crate::network::link_bit_s;

/// A host below this share of the median of the others is behind them.
const BEHIND: f64 = 0.8;
/// A host whose busiest CPU is busier than this has no CPU left.
const BUSY: f64 = 0.95;
/// The others have CPU left below this.
const IDLE: f64 = 0.8;
/// First I/Os that are further apart than this share of the window are no common start.
const SKEW_SHARE: f64 = 0.01;

/// With the same load, one host does far less than the others.
pub(super) fn slow_host(case: StepCase<'_>) -> Option<Fired> {
    let spread = HostSpread::of(case.run.header, case.step)?;
    if !is_same_load(case.run.header, case) || spread.hosts.iter().any(HostRate::is_lost) {
        return None;
    }
    let slowest = spread.slowest();
    let others = spread.hosts.iter().filter(|host| host.name != slowest.name);
    let others: Vec<f64> = others.map(|host| host.iops).collect();
    let usual = usual(&others);
    if slowest.iops >= usual * BEHIND {
        return None;
    }
    // Where those of the others are full too, as on one machine, that sets none apart.
    let why = match alone_without_cpu(&spread).filter(|(host, _)| host.name == slowest.name) {
        Some(_) => format!(" Its busiest CPU was full, so {} itself may be the limit.", slowest.name),
        None => String::new(),
    };
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} did {:.0} I/Os per second, and {}, with the same load.{why}",
            slowest.name,
            slowest.iops,
            match others.len() {
                1 => format!("the other host {usual:.0}"),
                count => format!("at least half of the other {count} hosts {usual:.0} or more"),
            },
        ),
        evidence: vec![
            Evidence::new("slowest host", slowest.iops, "IOPS"),
            Evidence::new("half of the others, at least", usual, "IOPS"),
        ],
        next: "Run the plan on that host alone (--hosts NAME): if it is as slow alone, its own link, path or CPU \
               limits it; if not, the shared target serves it less.",
        weight: 1.0 - slowest.iops / usual,
    })
}

/// One host has no CPU left, and the others wait.
pub(super) fn host_without_cpu(case: StepCase<'_>) -> Option<Fired> {
    let spread = HostSpread::of(case.run.header, case.step)?;
    let (host, most) = alone_without_cpu(&spread)?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "the busiest CPU of {} was {:.0} % busy, and that of every other host {:.0} % at most: the run shows what \
             {} can issue, not what the storage can serve.",
            host.name,
            busy(host).unwrap_or(0.0) * 100.0,
            most * 100.0,
            host.name
        ),
        evidence: vec![
            Evidence::new("busiest CPU", busy(host).unwrap_or(0.0) * 100.0, "%"),
            Evidence::new("of the others", most * 100.0, "%"),
        ],
        next: "Give that host more workers or CPUs, or leave it out.",
        weight: 1.0,
    })
}

/// Returns the only host that has no CPU left, and how busy the busiest one of every other host was at most.
fn alone_without_cpu(spread: &HostSpread) -> Option<(&HostRate, f64)> {
    let full: Vec<&HostRate> =
        spread.hosts.iter().filter(|host| busy(host).is_some_and(|b| b > BUSY)).collect();
    let [host] = full.as_slice() else { return None };
    let others = spread.hosts.iter().filter(|other| other.name != host.name);
    let others: Vec<f64> = others.map(busy).collect::<Option<_>>()?;
    let most = others.iter().copied().fold(0.0, f64::max);
    (most < IDLE).then_some((host, most))
}

/// The rate of a host is low while another one, which has another load, is at work, and high before and after that.
pub(super) fn victim_host(case: StepCase<'_>) -> Option<Fired> {
    let spread = HostSpread::of(case.run.header, case.step)?;
    if is_same_load(case.run.header, case) {
        return None;
    }
    let works: Vec<Work<'_>> = spread.measured().filter_map(Work::of).collect();
    // Hosts that are at work in the same seconds cannot be distinguished.
    let mut by_time: BTreeMap<(u64, u64), Vec<&str>> = BTreeMap::new();
    works.iter().for_each(|work| by_time.entry(work.span()).or_default().push(work.name));
    if by_time.len() > SPANS_MAX {
        return None;
    }
    let asked = works.len() * by_time.len().saturating_sub(1);
    let alone = |work: &&Work<'_>| jobs_of(case, work.name) == 1;
    let pairs = works.iter().filter(alone).flat_map(|work| by_time.iter().map(move |other| (work, other)));
    let falls =
        pairs.filter_map(|(work, (span, others))| Some((work.name, others, work.fall(*span, asked)?)));
    let (host, others, fall) = falls.min_by(|a, b| a.2.share().total_cmp(&b.2.share()))?;
    let were = if others.len() == 1 { "was" } else { "were" };
    let others = others.join(", ");
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{host} did {:.0} I/Os per second before and after {others} {were} at work, and {:.0} meanwhile ({:.0} %).",
            fall.apart,
            fall.beside,
            fall.share() * 100.0
        ),
        evidence: vec![
            Evidence::new("before and after", fall.apart, "IOPS"),
            Evidence::new("meanwhile", fall.beside, "IOPS"),
        ],
        next: "Probably they share what limits them: the target, a link to it, or the CPUs where they are of one \
               machine. Limit the other load (--rate, fewer outstanding), or give it other disks or another time.",
        weight: 1.0 - fall.share(),
    })
}

/// Jobs of a host in the step.
fn jobs_of(case: StepCase<'_>, host: &str) -> usize {
    let test = case.run.header.plan.tests.get(case.step.id.test as usize);
    let step = test.and_then(|test| test.steps.get(case.step.id.step as usize));
    let jobs = step.map(|step| step.jobs.iter());
    jobs.map_or(0, |jobs| jobs.filter(|job| job.hosts.first().is_some_and(|name| name == host)).count())
}

/// More beginnings and ends than this tell nothing of any of them.
const SPANS_MAX: usize = 64;
/// Whole seconds before another host is at work, and as many behind it, without which a rate may fall by itself.
const SIDE_MIN: usize = 2;

/// The whole seconds of a host, from the first in which it did an I/O to the last.
struct Work<'h> {
    name: &'h str,
    first: u64,
    /// I/Os per second in each.
    rates: Vec<f64>,
}

/// Mean rates of a host while another one is at work, and while it is not, I/Os per second.
struct Fall {
    beside: f64,
    apart: f64,
}

impl<'h> Work<'h> {
    fn of(host: &'h HostRate) -> Option<Self> {
        let seconds = host.over_time.iter().filter(|(end_s, rate)| end_s.fract() < 1e-6 && *rate > 0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a second of the window")]
        let by_second: BTreeMap<u64, f64> = seconds.map(|(end_s, rate)| (*end_s as u64, *rate)).collect();
        let (first, last) = (*by_second.first_key_value()?.0, *by_second.last_key_value()?.0);
        // In a second without one it was held up.
        let rates = (first..=last).map(|second| by_second.get(&second).copied().unwrap_or(0.0)).collect();
        Some(Self { name: &host.name, first, rates })
    }

    fn span(&self) -> (u64, u64) {
        (self.first, self.first + self.rates.len() as u64 - 1)
    }

    /// Compares whole seconds; the own first and last, and those in which the other one begins or ends, are left out.
    /// `None` where the rate is not low beside the other one and high before and after it, or where that is no wonder
    /// if so many pairs are `asked` for.
    fn fall(&self, (from, to): (u64, u64), asked: usize) -> Option<Fall> {
        let (first, last) = self.span();
        let (mut before, mut beside, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for (second, rate) in
            (first..).zip(&self.rates).filter(|(second, _)| *second != first && *second != last)
        {
            match second {
                _ if second + 1 < from => before.push(*rate),
                _ if second > to + 1 => after.push(*rate),
                _ if second > from && second < to => beside.push(*rate),
                _ => {}
            }
        }
        if before.len().min(after.len()) < SIDE_MIN || beside.is_empty() {
            return None;
        }
        let apart: Vec<f64> = before.into_iter().chain(after).collect();
        // By chance all of one kind are below all of the other once in so many orders.
        let orders: f64 = (1..=beside.len()).map(|n| 1.0 + apart.len() as f64 / n as f64).product();
        let most_beside = beside.iter().copied().fold(0.0, f64::max);
        let least_apart = apart.iter().copied().fold(f64::INFINITY, f64::min);
        let fall = Fall { beside: mean(&beside), apart: mean(&apart) };
        let is_sure = most_beside < least_apart && orders > 20.0 * asked as f64;
        (is_sure && fall.share() < BEHIND).then_some(fall)
    }
}

impl Fall {
    fn share(&self) -> f64 {
        self.beside / self.apart
    }
}

/// The hosts did not begin together, or their clocks do not tell.
pub(super) fn no_common_start(case: StepCase<'_>) -> Option<Fired> {
    let (skew_ns, error_ns) = HostSpread::of(case.run.header, case.step)?.start_skew_ns()?;
    let window_ns = case.step.seconds * 1e9;
    let (skew, error) = (skew_ns as f64, error_ns as f64);
    if (skew.max(error)) < window_ns * SKEW_SHARE {
        return None;
    }
    let says = match skew > error {
        true => format!(
            "the first I/Os of the hosts were {} apart (clocks within {}), in a window of {:.1} s.",
            time(skew / 1e3),
            time(error / 1e3),
            case.step.seconds
        ),
        false => format!(
            "the clocks of the hosts are known to {} only, so whether they began together in this window of {:.1} s is \
             not known.",
            time(error / 1e3),
            case.step.seconds
        ),
    };
    Some(Fired {
        severity: Severity::Warning,
        says,
        evidence: vec![
            Evidence::new("first I/Os apart", skew / 1e3, "µs"),
            Evidence::new("clock error", error / 1e3, "µs"),
        ],
        next: "Use a longer window (--set run=60s), or a quicker way to the NATS server. Rates are over the window \
               that all hosts share.",
        weight: skew.max(error) / window_ns.max(1.0),
    })
}

/// The hosts differ in what may make equal loads unequal.
pub(super) fn unlike_hosts(run: Run<'_>) -> Option<Fired> {
    let hosts = &run.header.setting.hosts;
    let facts: Vec<(&str, &HostFacts)> = hosts.iter().map(|host| (host.name.as_str(), &host.facts)).collect();
    let mut differ: Vec<String> = [
        difference("kernel", facts.iter().map(|(name, facts)| (*name, facts.kernel.clone()))),
        difference("CPU", facts.iter().map(|(name, facts)| (*name, facts.cpu_model.clone()))),
        difference("number of CPUs", facts.iter().map(|(name, facts)| (*name, facts.cpus.to_string()))),
        difference("clock source", facts.iter().map(|(name, facts)| (*name, facts.clocksource.clone()))),
    ]
    .into_iter()
    .flatten()
    .collect();
    // A cache holds more of a smaller one.
    let span = |of: &MemberFacts| (of.span_bytes > 0).then(|| Bytes(of.span_bytes).to_string());
    // The paths of one host may be found in another order.
    let of_paths = |of: &MemberFacts, what: &dyn Fn(&InterfaceFacts) -> Option<String>| {
        let interfaces = of.paths().iter().filter_map(|path| path.net.as_ref()?.interface.as_ref());
        let mut values: Vec<String> = interfaces.filter_map(what).collect();
        values.sort();
        values.dedup();
        (!values.is_empty()).then(|| values.join(" + "))
    };
    let mtu = |of: &MemberFacts| of_paths(of, &|interface| Some(interface.mtu_bytes.to_string()));
    let link = |of: &MemberFacts| of_paths(of, &|of| Some(format!("{:.0} Mbit/s", link_bit_s(of)? / 1e6)));
    let paths = |of: &MemberFacts| (!of.paths().is_empty()).then(|| of.paths().len().to_string());
    let mut of_target = |what: &str, values: Vec<(&str, String)>| {
        differ.extend(difference(what, values.into_iter()));
    };
    of_target("size of the target", of_targets(run.header, span));
    of_target("number of paths", of_targets(run.header, paths));
    of_target("speed of the link", of_targets(run.header, link));
    of_target("MTU", of_targets(run.header, mtu));
    (!differ.is_empty()).then(|| Fired {
        severity: Severity::Info,
        says: format!("The hosts are not alike: {}.", differ.join("; ")),
        evidence: vec![Evidence::new("hosts", hosts.len() as f64, "")],
        next: "Compare hosts with each other only where these do not matter.",
        weight: 0.0,
    })
}

/// A fact of the first target of each host, where it has it.
fn of_targets(header: &RunHeader, fact: impl Fn(&MemberFacts) -> Option<String>) -> Vec<(&str, String)> {
    let mut first: BTreeMap<&str, &MemberFacts> = BTreeMap::new();
    for target in &header.targets {
        if let Some((host, _)) = target.address.split_once(':') {
            first.entry(host).or_insert(&target.member);
        }
    }
    first.into_iter().filter_map(|(host, member)| Some((host, fact(member)?))).collect()
}

fn difference<'h>(what: &str, values: impl Iterator<Item = (&'h str, String)>) -> Option<String> {
    let mut by_value: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    values.for_each(|(name, value)| by_value.entry(value).or_default().push(name));
    let groups: Vec<String> =
        by_value.iter().map(|(value, names)| format!("{value} ({})", names.join(", "))).collect();
    (groups.len() > 1).then(|| format!("{what} {}", groups.join(", ")))
}

/// Whether every host has the same closed load. A host that has a rate, or another job, may well do less.
fn is_same_load(header: &RunHeader, case: StepCase<'_>) -> bool {
    let load_of = |name: &str| -> Vec<Job> {
        let own = case.plan.jobs.iter().filter(|job| job.hosts.iter().any(|host| host == name));
        let bare = |job: &Job| Job {
            hosts: vec![],
            shift: 0.0,
            targets: vec![],
            name: String::new(),
            ..job.clone()
        };
        own.map(bare).collect()
    };
    let is_closed = case.plan.jobs.iter().all(|job| job.pacing == Pacing::Closed);
    let mut loads =
        header.setting.hosts.iter().map(|host| load_of(&host.name)).filter(|load| !load.is_empty());
    let first = loads.next();
    is_closed && loads.all(|load| Some(&load) == first.as_ref())
}

/// How busy its busiest CPU was; nobody knows of a host that was lost.
fn busy(host: &HostRate) -> Option<f64> {
    Some(host.end.as_ref().filter(|_| !host.is_lost())?.cpu.host_busy_max)
}
