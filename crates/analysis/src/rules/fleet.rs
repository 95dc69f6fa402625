//! What sets the hosts of one run apart.

use std::collections::BTreeMap;

use assay_record::{HostFacts, MemberFacts, RunHeader};
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

/// The rate of a host falls while another one, which has another load, is at work.
pub(super) fn victim_host(case: StepCase<'_>) -> Option<Fired> {
    let spread = HostSpread::of(case.run.header, case.step)?;
    if is_same_load(case.run.header, case) {
        return None;
    }
    let pairs = spread.hosts.iter().flat_map(|host| spread.hosts.iter().map(move |other| (host, other)));
    let falls = pairs.filter(|(host, other)| host.name != other.name);
    let falls = falls.filter_map(|(host, other)| Some((host, other, Fall::of(host, other)?)));
    let (host, other, fall) = falls.min_by(|a, b| a.2.share().total_cmp(&b.2.share()))?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} did {:.0} I/Os per second while {} was not at work, and {:.0} while it was ({:.0} %).",
            host.name,
            fall.apart,
            other.name,
            fall.beside,
            fall.share() * 100.0
        ),
        evidence: vec![
            Evidence::new("alone", fall.apart, "IOPS"),
            Evidence::new("beside the other host", fall.beside, "IOPS"),
        ],
        next: "They share what limits them: the target, or a link to it. Limit the load of the other host (--rate, \
               fewer outstanding), or give it other disks or another time.",
        weight: 1.0 - fall.share(),
    })
}

/// Mean rates of a host while another one is at work, and while it is not, I/Os per second.
struct Fall {
    beside: f64,
    apart: f64,
}

impl Fall {
    /// Compares whole seconds in which the host itself is at work; those in which the other one begins or ends are left
    /// out. `None` where there are fewer than three of a kind, or they are not apart.
    fn of(host: &HostRate, other: &HostRate) -> Option<Self> {
        const SECONDS_MIN: usize = 3;
        let whole = |of: &HostRate| -> BTreeMap<u64, f64> {
            let seconds = of.over_time.iter().filter(|(end_s, rate)| end_s.fract() < 1e-6 && *rate > 0.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a second of the window"
            )]
            let by_second = seconds.map(|(end_s, rate)| (*end_s as u64, *rate)).collect();
            by_second
        };
        let (own, others) = (whole(host), whole(other));
        let at_work = |second: u64| others.contains_key(&second);
        let is_edge = |second: u64| [second.wrapping_sub(1), second + 1].map(at_work) != [at_work(second); 2];
        let inner = own.iter().skip(1).filter(|(second, _)| !is_edge(**second));
        let (beside, apart): (Vec<_>, Vec<_>) = inner.partition(|(second, _)| at_work(**second));
        let rates = |of: Vec<(&u64, &f64)>| of.into_iter().map(|(_, rate)| *rate).collect::<Vec<f64>>();
        let (beside, apart) = (rates(beside), rates(apart));
        if beside.len().min(apart.len()) < SECONDS_MIN {
            return None;
        }
        let most_beside = beside.iter().copied().fold(0.0, f64::max);
        let least_apart = apart.iter().copied().fold(f64::INFINITY, f64::min);
        let fall = Self { beside: mean(&beside), apart: mean(&apart) };
        (most_beside < least_apart && fall.share() < BEHIND).then_some(fall)
    }

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
    let interface =
        |of: &MemberFacts| of.paths().iter().find_map(|path| path.net.as_ref()?.interface.clone());
    let mtu = |of: &MemberFacts| interface(of).map(|interface| interface.mtu_bytes.to_string());
    let link = |of: &MemberFacts| Some(format!("{:.0} Mbit/s", link_bit_s(&interface(of)?)? / 1e6));
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

/// A fact of the first target of each host that has it.
fn of_targets(header: &RunHeader, fact: impl Fn(&MemberFacts) -> Option<String>) -> Vec<(&str, String)> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    for target in &header.targets {
        if let (Some((host, _)), Some(fact)) = (target.address.split_once(':'), fact(&target.member)) {
            known.entry(host).or_insert(fact);
        }
    }
    known.into_iter().collect()
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
