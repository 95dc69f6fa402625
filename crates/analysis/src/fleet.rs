//! The hosts of a run beside each other.

use std::collections::BTreeMap;

use assay_record::{ClockDrift, HostEnd, RunHeader};
use assay_statistics::{deviation, mean, student_95};

use crate::summary::{RunSummary, StepSummary};

/// What a quartz is wrong by without anybody steering it, ns per second.
const DRIFT_USUAL_PPB: u64 = 50_000;

/// What a host did in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRate {
    /// Its name.
    pub name: String,
    /// Successful I/Os per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// I/Os in flight that the plan asks for.
    pub outstanding: u64,
    /// CPU time of the tester per successful I/O, µs; `None` where it was lost.
    pub tester_us_per_io: Option<f64>,
    /// The end of each second, s since the window began, and its successful I/Os per second.
    pub over_time: Vec<(f64, f64)>,
    /// What the record says of it; `None` while the step runs.
    pub end: Option<HostEnd>,
}

impl HostRate {
    /// Whether nothing came from it until the end of the step.
    pub fn is_lost(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.lost.is_some())
    }
}

/// The hosts of a step, and how far apart they are.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSpread {
    /// In the order of the run.
    pub hosts: Vec<HostRate>,
    /// Mean rate of a host that was not lost, I/Os per second.
    pub mean_iops: f64,
    /// Half of the 95 % interval of that mean, from the differences between these hosts; `None` for fewer than three.
    pub half_width_iops: Option<f64>,
}

impl HostSpread {
    /// Returns the hosts of a step; `None` for a run of one host, and where fewer than two took part.
    pub fn of(header: &RunHeader, step: &StepSummary) -> Option<Self> {
        if header.setting.hosts.is_empty() {
            return None;
        }
        let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        let mut of_host: BTreeMap<&str, (f64, f64, u64, u64)> = BTreeMap::new();
        let mut over_time: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (job, summary) in plan.jobs.iter().zip(&step.jobs) {
            let sum = of_host.entry(job.hosts.first()?).or_default();
            sum.0 += summary.total.iops;
            sum.1 += summary.total.mib_per_s;
            sum.2 += summary.total.ops;
            sum.3 += summary.outstanding_asked;
            add_seconds(over_time.entry(job.hosts.first()?).or_default(), &summary.rates);
        }
        let rate = |name: &str| {
            let (iops, mib_per_s, ops, outstanding) = *of_host.get(name)?;
            let end = step.hosts.iter().find(|end| end.host == name).cloned();
            let used_ns = end.as_ref().map(|end| end.cpu.tester_ns).filter(|ns| *ns > 0 && ops > 0);
            let tester_us_per_io = used_ns.map(|ns| ns as f64 / 1e3 / ops as f64);
            let over_time = over_time.get(name).cloned().unwrap_or_default();
            let name = name.to_owned();
            Some(HostRate { name, iops, mib_per_s, outstanding, tester_us_per_io, over_time, end })
        };
        let hosts: Vec<HostRate> = header.setting.hosts.iter().filter_map(|host| rate(&host.name)).collect();
        if hosts.len() < 2 {
            return None;
        }
        let rates: Vec<f64> = measured(&hosts).map(|host| host.iops).collect();
        let count = rates.len() as f64;
        let half_width_iops =
            (rates.len() > 2).then(|| student_95(count - 1.0) * deviation(&rates) / count.sqrt());
        Some(Self { mean_iops: mean(&rates), half_width_iops, hosts })
    }

    /// Returns the hosts that were measured to the end of the step. What a lost one did until then says nothing of its
    /// rate; where all were lost, all are returned.
    pub fn measured(&self) -> impl Iterator<Item = &HostRate> {
        measured(&self.hosts)
    }

    /// Returns the host with the lowest rate, of those that were not lost.
    pub fn slowest(&self) -> &HostRate {
        let slower = |a: &&HostRate, b: &&HostRate| a.iops.total_cmp(&b.iops);
        self.measured().min_by(slower).expect("a spread has two hosts")
    }

    /// Returns the host with the highest rate, of those that were not lost.
    pub fn fastest(&self) -> &HostRate {
        let slower = |a: &&HostRate, b: &&HostRate| a.iops.total_cmp(&b.iops);
        self.measured().max_by(slower).expect("a spread has two hosts")
    }

    /// Returns the host whose clock runs away fastest, where one does by more than is usual and than the error allows.
    pub fn drifting(&self) -> Option<(&str, ClockDrift)> {
        let of = |host: &'_ HostRate| host.end.as_ref().and_then(|end| end.drift);
        let sure = |drift: ClockDrift| drift.ppb.unsigned_abs().saturating_sub(drift.error_ppb);
        let drifts = self.hosts.iter().filter_map(|host| Some((host.name.as_str(), of(host)?)));
        drifts.max_by_key(|(_, drift)| sure(*drift)).filter(|(_, drift)| sure(*drift) > DRIFT_USUAL_PPB)
    }

    /// Returns the time between the first I/O of the first host and that of the last, each by how late it was for its
    /// schedule, ns, and how wrong the clocks may make it; `None` where one that was not lost issued none, and where
    /// fewer than two were not.
    pub fn start_skew_ns(&self) -> Option<(u64, u64)> {
        let ends: Vec<&HostEnd> = self.measured().map(|host| host.end.as_ref()).collect::<Option<_>>()?;
        if ends.len() < 2 {
            return None;
        }
        let late = |end: &&HostEnd| Some(end.first_io_ns?.saturating_sub_unsigned(end.first_wait_ns));
        let first: Vec<i64> = ends.iter().map(late).collect::<Option<_>>()?;
        let (earliest, latest) = (first.iter().min()?, first.iter().max()?);
        let mut errors: Vec<u64> = ends.iter().map(|end| end.clock.error_ns).collect();
        errors.sort_unstable();
        let worst = errors.iter().rev().take(2).sum();
        Some((latest.abs_diff(*earliest), worst))
    }
}

fn measured(hosts: &[HostRate]) -> impl Iterator<Item = &HostRate> {
    let are_all_lost = hosts.iter().all(HostRate::is_lost);
    hosts.iter().filter(move |host| are_all_lost || !host.is_lost())
}

/// Adds the rates of a job to those of the other jobs of its host, second by second.
fn add_seconds(sum: &mut Vec<(f64, f64)>, of: &[(f64, f64)]) {
    for (at_s, rate) in of {
        // A job may begin later than others; a last second that is cut ends where the longest job does.
        match sum.binary_search_by(|(end_s, _)| end_s.ceil().total_cmp(&at_s.ceil())) {
            Ok(index) => sum[index] = (sum[index].0.max(*at_s), sum[index].1 + rate),
            Err(index) => sum.insert(index, (*at_s, *rate)),
        }
    }
}

/// What limits hosts that were measured together and each alone.
#[derive(Debug, Clone, PartialEq)]
pub enum HostLimit {
    /// A host is as slow alone: its own CPU, link or path limits it.
    Host(String),
    /// Alone every host gets more: together they share what the target, or the way to it, gives.
    Target,
    /// Each gets together what it gets alone: neither the target nor what they share limits them.
    NotShared,
}

/// The same load on all hosts, on half of them, and on each alone.
#[derive(Debug, Clone, PartialEq)]
pub struct HostExperiments {
    /// Which it is.
    pub limit: HostLimit,
    /// Rate of each host beside the others and alone, I/Os per second.
    pub hosts: Vec<(String, f64, f64)>,
    /// Number of hosts of a step with some of them, and their rate together, I/Os per second.
    pub half: Option<(usize, f64)>,
}

/// Rates that differ by less than this share are alike.
const ALIKE: f64 = 0.2;

impl HostExperiments {
    /// Returns the experiments of a run that measured all hosts together and each alone; `None` for every other run.
    pub fn of(header: &RunHeader, summary: &RunSummary) -> Option<Self> {
        let names: Vec<&str> = header.setting.hosts.iter().map(|host| host.name.as_str()).collect();
        let rates = |step: &StepSummary| -> Option<BTreeMap<String, f64>> {
            let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
            let jobs = plan.jobs.iter().zip(&step.jobs).filter(|_| step.unmeasured.is_none());
            let mut rates = BTreeMap::new();
            for (job, summary) in jobs {
                *rates.entry(job.hosts.first()?.clone()).or_default() += summary.total.iops;
            }
            Some(rates)
        };
        let steps: Vec<BTreeMap<String, f64>> = summary.steps.iter().filter_map(rates).collect();
        let together = steps.iter().find(|rates| names.len() > 1 && rates.len() == names.len())?;
        let alone = |name: &str| {
            let mut alone = steps.iter().filter(|rates| rates.len() == 1);
            alone.find_map(|rates| rates.get(name)).copied()
        };
        let hosts: Vec<(String, f64, f64)> = names
            .iter()
            .map(|name| Some(((*name).to_owned(), *together.get(*name)?, alone(name)?)))
            .collect::<Option<_>>()?;
        let half = steps.iter().find(|rates| (2..names.len()).contains(&rates.len()));
        let half = half.map(|rates| (rates.len(), rates.values().sum()));
        Some(Self { limit: limit(&hosts), hosts, half })
    }
}

/// Returns what at least half of these rates reach: one fast host does not make the others slow. At least one rate.
pub(crate) fn usual(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    rates[(rates.len() - 1) / 2]
}

fn limit(hosts: &[(String, f64, f64)]) -> HostLimit {
    let slowest = hosts.iter().min_by(|a, b| a.2.total_cmp(&b.2)).expect("there are two hosts or more");
    let others = || hosts.iter().filter(|host| host.0 != slowest.0);
    let is_behind = |of: fn(&(String, f64, f64)) -> f64| {
        of(slowest) < usual(&others().map(of).collect::<Vec<_>>()) * (1.0 - ALIKE)
    };
    // Beside the others the target may give it less than it could take: then its own limit limits nothing there.
    if is_behind(|host| host.2) && is_behind(|host| host.1) {
        return HostLimit::Host(slowest.0.clone());
    }
    let (together, alone): (f64, f64) =
        hosts.iter().fold((0.0, 0.0), |sums, host| (sums.0 + host.1, sums.1 + host.2));
    if together < alone * (1.0 - ALIKE) { HostLimit::Target } else { HostLimit::NotShared }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_slow_alone_is_the_limit_and_one_that_is_slow_beside_others_is_not() {
        let limit = |rates: &[(f64, f64)]| {
            let names = ["a", "b", "c"].into_iter().map(str::to_owned);
            limit(
                &names
                    .zip(rates)
                    .map(|(name, (together, alone))| (name, *together, *alone))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(limit(&[(90.0, 100.0), (90.0, 100.0), (10.0, 11.0)]), HostLimit::Host("c".into()));
        assert_eq!(limit(&[(33.0, 100.0), (33.0, 95.0), (20.0, 98.0)]), HostLimit::Target);
        assert_eq!(limit(&[(99.0, 100.0), (98.0, 95.0), (97.0, 98.0)]), HostLimit::NotShared);
        // "The host b, not the target": it got as much as the others beside them, and more alone.
        assert_eq!(limit(&[(1771.0, 7383.0), (1767.0, 2883.0), (1771.0, 5706.0)]), HostLimit::Target);
    }
}
