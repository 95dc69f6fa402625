//! Which is the limit as the load grows: the tester, its host or the storage.

use assay_record::RunHeader;
use serde::Serialize;

use crate::summary::{RunSummary, StepSummary};
use crate::tester::{TesterUse, tester_use};

/// A larger load that brings less than this much more found a limit.
const GAIN_MIN: f64 = 0.1;
/// A rate above this share of the generator limit is the tester's.
const CEILING_SHARE: f64 = 0.7;
/// A worker that is busier than this has no time left for more.
const WORKER_BUSY: f64 = 0.9;
/// A host busier than this has no CPU left.
const HOST_BUSY: f64 = 0.9;

/// A test under a growing load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScaledTest {
    /// Test and swept values.
    pub name: String,
    /// In the order of the loads.
    pub points: Vec<ScalePoint>,
    /// Which was the limit.
    pub limit: ScaleLimit,
    /// The same in a sentence with its percentages.
    pub says: String,
}

/// A test under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalePoint {
    /// The load in words: `4 workers, 2 targets`.
    pub load: String,
    /// Hosts that issued it together.
    pub hosts: usize,
    /// Workers of all jobs, on each host.
    pub workers: u32,
    /// Targets in use, of each host.
    pub targets: usize,
    /// I/Os per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// Mean latency, µs.
    pub mean_us: Option<f64>,
    /// The tester and its host.
    pub tester: Option<TesterUse>,
}

/// What did not keep up with the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleLimit {
    /// The rate grew with every load.
    None,
    /// Assay itself.
    Tester,
    /// Other programs on its host, or too few CPUs.
    Host,
    /// What is tested, or the way to it.
    Storage,
}

/// Judges the runs of a plan under a growing load, each with its number of targets.
pub fn scale(runs: &[(&RunHeader, &RunSummary)]) -> Vec<ScaledTest> {
    let Some((_, first)) = runs.first() else { return Vec::new() };
    let names = first.steps.iter().map(name_of).collect::<Vec<_>>();
    names.into_iter().map(|name| test(&name, runs)).filter(|test| !test.points.is_empty()).collect()
}

fn name_of(step: &StepSummary) -> String {
    crate::rules::step_name(step)
}

fn test(name: &str, runs: &[(&RunHeader, &RunSummary)]) -> ScaledTest {
    let point = |(header, summary): &(&RunHeader, &RunSummary)| {
        let step = summary.steps.iter().find(|step| name_of(step) == name && step.total.iops > 0.0)?;
        let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        let hosts = header.setting.hosts.len().max(1);
        let all_workers: u32 = plan.jobs.iter().map(|job| job.workers).sum();
        let workers = all_workers / u32::try_from(hosts).unwrap_or(u32::MAX);
        let targets = header.targets.len() / hosts;
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let of_each =
            format!("{workers} worker{}, {targets} target{}", plural(workers as usize), plural(targets));
        Some(ScalePoint {
            load: if hosts == 1 { of_each } else { format!("{hosts} hosts of {of_each}") },
            hosts,
            workers,
            targets,
            iops: step.total.iops,
            mib_per_s: step.total.mib_per_s,
            mean_us: step.total.waited().mean_ns().map(|ns| ns / 1e3),
            tester: tester_use(header, summary, step),
        })
    };
    let points: Vec<ScalePoint> = runs.iter().filter_map(point).collect();
    let (limit, says) = judge_hosts(&points).unwrap_or_else(|| judge(&points));
    ScaledTest { name: name.to_owned(), points, limit, says }
}

/// The same for a load that grows by hosts: what one host is not able to do says nothing of the storage, so several are
/// compared with one host under the load that each of them has, the last one of a single host. `None` for loads of one
/// host.
fn judge_hosts(points: &[ScalePoint]) -> Option<(ScaleLimit, String)> {
    let alone = points.iter().rfind(|point| point.hosts == 1)?;
    let last = points.iter().rfind(|point| point.hosts > 1)?;
    let growth: Vec<ScalePoint> =
        std::iter::once(alone).chain(points.iter().filter(|point| point.hosts > 1)).cloned().collect();
    let (limit, says) = judge(&growth);
    let share = last.iops / (alone.iops * last.hosts as f64) * 100.0;
    let lead =
        format!("{} hosts together do {share:.0} % of {0} times the same load on one host.", last.hosts);
    Some((limit, format!("{lead} {says}")))
}

/// The first load that brought too little more, and who had no room left at it.
fn judge(points: &[ScalePoint]) -> (ScaleLimit, String) {
    let short = points.windows(2).find(|pair| pair[1].iops < pair[0].iops * (1.0 + GAIN_MIN));
    let Some([before, at]) = short else {
        let says = match points {
            [first, .., last] => format!(
                "The rate grew with every load, x{:.2} from {} to {}: no limit was reached.",
                last.iops / first.iops,
                first.load,
                last.load
            ),
            _ => "There is only one load.".to_owned(),
        };
        return (ScaleLimit::None, says);
    };
    let gain = (at.iops / before.iops - 1.0) * 100.0;
    let lead = format!("{} changed the rate by {gain:+.0} % against {}", at.load, before.load);
    let used = at.tester.as_ref();
    let percent = |of: fn(&TesterUse) -> Option<f64>| used.and_then(of).unwrap_or(0.0) * 100.0;
    let ceiling = percent(|used| used.null_ceiling_ratio);
    let busy = percent(|used| used.busy_per_worker);
    let host = percent(|used| used.host_busy_ratio);
    let steal = percent(|used| used.steal_ratio);
    let facts = format!(
        "{ceiling:.0} % of the generator limit, workers {busy:.0} % busy, host {host:.0} % busy, steal {steal:.0} %"
    );
    let (limit, who) = if ceiling > CEILING_SHARE * 100.0 || busy > WORKER_BUSY * 100.0 {
        (ScaleLimit::Tester, "the tester is the limit")
    } else if host + steal > HOST_BUSY * 100.0 {
        (ScaleLimit::Host, "the host is the limit: its CPUs are busy")
    } else {
        (ScaleLimit::Storage, "the storage, or the path to it, is the limit")
    };
    (limit, format!("{lead}: {who} ({facts})."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(iops: f64, ceiling: f64, host: f64) -> ScalePoint {
        ScalePoint {
            load: "4 workers, 1 target".into(),
            hosts: 1,
            workers: 4,
            targets: 1,
            iops,
            mib_per_s: 1.0,
            mean_us: None,
            tester: Some(TesterUse {
                null_ceiling_ratio: Some(ceiling),
                null_ceiling_iops: None,
                busy_per_worker: Some(0.2),
                host_busy_ratio: Some(host),
                steal_ratio: Some(0.0),
                timer_late_us: None,
                other_io_ratio: None,
                other_traffic_ratio: None,
            }),
        }
    }

    #[test]
    fn whoever_has_no_room_left_gave_up() {
        let check = |points: &[ScalePoint], expected: ScaleLimit| {
            let (limit, says) = judge(points);
            assert_eq!(limit, expected, "{says}");
        };
        check(&[point(100.0, 0.1, 0.1), point(190.0, 0.2, 0.2)], ScaleLimit::None);
        check(&[point(100.0, 0.1, 0.1), point(105.0, 0.1, 0.2)], ScaleLimit::Storage);
        check(&[point(100.0, 0.6, 0.1), point(105.0, 0.8, 0.2)], ScaleLimit::Tester);
        check(&[point(100.0, 0.1, 0.5), point(80.0, 0.1, 0.95)], ScaleLimit::Host);
        check(&[point(100.0, 0.1, 0.1)], ScaleLimit::None);
    }

    /// Four workers of one host do no more than one, and three hosts do: what was full is the host.
    #[test]
    fn hosts_are_compared_with_one_host_and_not_with_its_single_worker() {
        let on = |hosts: usize, iops: f64, busy: f64| ScalePoint { hosts, ..point(iops, 0.1, busy) };
        let grows = [on(1, 90.0, 0.9), on(1, 95.0, 0.99), on(2, 180.0, 0.2), on(3, 262.0, 0.2)];
        let (limit, says) = judge_hosts(&grows).unwrap();
        assert_eq!(limit, ScaleLimit::None, "{says}");
        assert!(
            says.starts_with("3 hosts together do 92 % of 3 times the same load on one host. The"),
            "{says}"
        );
        let (limit, says) = judge_hosts(&[on(1, 100.0, 0.1), on(2, 104.0, 0.1)]).unwrap();
        assert_eq!(limit, ScaleLimit::Storage, "{says}");
        assert!(says.starts_with("2 hosts together do 52 % of 2 times the same load on one host."), "{says}");
        assert_eq!(judge_hosts(&[on(1, 1.0, 0.1), on(1, 2.0, 0.1)]), None);
    }
}
