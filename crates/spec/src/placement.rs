//! From the plan of several hosts to the plan of each, and to the one that their common record has.
//!
//! A job of the plan runs on every host, or on those that it names. In the record each of these is a job of its own, on
//! its own targets, so that everything that reads runs sees hosts as it sees jobs.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::file::HOSTS_KEY;
use crate::goal::Goal;
use crate::plan::{Job, Pacing, Plan, Step, Test};
use crate::random::split_mix;
use crate::reader::suggest;
use crate::units::PerSecond;

/// A plan on several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The plan in the record: a job for each host, on targets that are counted over all hosts.
    pub plan: Plan,
    /// The part of each host, in the order in which they were named.
    pub hosts: Vec<HostPlan>,
}

/// The part of a host in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostPlan {
    /// Its name.
    pub host: String,
    /// What it runs: the steps in which it takes part.
    pub plan: Plan,
    /// Where each step of that plan is in the record, by test and step.
    pub steps: Vec<Vec<PlacedStep>>,
}

/// Where a step of a host is in the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedStep {
    /// Index of the test.
    pub test: u32,
    /// Index of the step in the test.
    pub step: u32,
    /// Index of each of its jobs in the step.
    pub jobs: Vec<u32>,
}

/// Why a plan cannot run on these hosts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// The plan names a host that takes no part.
    #[error("test \"{test}\", {job}: host {host} is not one of the run{hint}; the hosts are {hosts}")]
    UnknownHost {
        /// Name of the test.
        test: String,
        /// Name of the job.
        job: String,
        /// The host.
        host: String,
        /// A similar name, as a clause; may be empty.
        hint: String,
        /// Those that take part.
        hosts: String,
    },
    /// The plan needs more hosts.
    #[error("test \"{test}\" runs on {needed} hosts, and {given} take part: name more with --hosts")]
    TooFewHosts {
        /// Name of the test.
        test: String,
        /// Number that it needs.
        needed: usize,
        /// Number that takes part.
        given: usize,
    },
    /// A host has nothing to do.
    #[error("the plan has no job for host {0}: leave it out of --hosts, or name it in a job")]
    IdleHost(String),
    /// A step has no job on any of its hosts.
    #[error(
        "test \"{0}\": none of its jobs is for one of the first hosts that it runs on; name the hosts in another order"
    )]
    EmptyStep(String),
    /// Rounds until a sweep is steady need one judge for all hosts.
    #[error(
        "test \"{0}\": `steady` with a load point of a sweep is not possible over several hosts; use steady = \"60s\""
    )]
    SteadySweep(String),
    /// A worker takes only those of its own host along, and the windows of the hosts would differ.
    #[error(
        "test \"{0}\": `ends` is not possible over several hosts; remove it, or run the test on one host"
    )]
    Ends(String),
}

impl Plan {
    /// Returns true if the plan says which hosts run what, so that one host alone cannot run it.
    pub fn names_hosts(&self) -> bool {
        let mut steps = self.tests.iter().flat_map(|test| &test.steps);
        steps.any(|step| hosts_of(step).is_some() || step.jobs.iter().any(|job| !job.hosts.is_empty()))
    }

    /// Places the plan on hosts, each with so many targets.
    ///
    /// # Errors
    /// Where the plan names other hosts or more of them, and where one of these has nothing to do.
    pub fn placed(&self, hosts: &[String], targets: u32) -> Result<Placement, PlacementError> {
        let mut parts: Vec<HostPlan> =
            (0..).zip(hosts).map(|(index, host)| self.empty_part(host, index)).collect();
        let mut merged = Vec::new();
        for (index, test) in (0..).zip(&self.tests) {
            merged.push(place_test(index, test, hosts, targets, &mut parts)?);
        }
        if let Some(idle) = parts.iter().find(|part| part.plan.tests.is_empty()) {
            return Err(PlacementError::IdleHost(idle.host.clone()));
        }
        Ok(Placement { plan: Plan { tests: merged, ..self.clone() }, hosts: parts })
    }

    /// The plan of a host without its tests. Hosts that drew the same offsets would answer each other from caches.
    fn empty_part(&self, host: &str, index: u64) -> HostPlan {
        let mut at = self.seed ^ index.rotate_left(32);
        let seed = if index == 0 { self.seed } else { split_mix(&mut at) >> 1 };
        let plan = Plan { tests: Vec::new(), seed, limits: Vec::new(), ..self.clone() };
        HostPlan { host: host.to_owned(), plan, steps: Vec::new() }
    }
}

/// Returns how many of the hosts run a step, where that is swept.
fn hosts_of(step: &Step) -> Option<usize> {
    step.swept.iter().find(|swept| swept.key == HOSTS_KEY)?.value.parse().ok()
}

/// Places a test on the hosts, adds the steps of each to its part, and returns the test of the record.
fn place_test(
    index: u32,
    test: &Test,
    hosts: &[String],
    targets: u32,
    parts: &mut [HostPlan],
) -> Result<Test, PlacementError> {
    if test.steps.iter().any(|step| step.stop.goal == Some(Goal::SteadySweep)) {
        return Err(PlacementError::SteadySweep(test.name.clone()));
    }
    if hosts.len() > 1 && test.steps.iter().flat_map(|step| &step.jobs).any(|job| job.ends.is_some()) {
        return Err(PlacementError::Ends(test.name.clone()));
    }
    let mut merged = Vec::new();
    let mut of_hosts: Vec<(Vec<Step>, Vec<PlacedStep>)> = vec![Default::default(); parts.len()];
    for (number, step) in (0..).zip(&test.steps) {
        let count = hosts_of(step).unwrap_or(hosts.len());
        if count > hosts.len() {
            let (test, given) = (test.name.clone(), hosts.len());
            return Err(PlacementError::TooFewHosts { test, needed: count, given });
        }
        let placed = place_step(step, &test.name, (hosts, count), targets)?;
        for (of_host, (jobs, indices)) in of_hosts.iter_mut().zip(placed.of_hosts) {
            if !jobs.is_empty() {
                // How many hosts run it is no business of one of them, which would refuse to be several.
                let mut step = Step { jobs, ..step.clone() };
                step.swept.retain(|swept| swept.key != HOSTS_KEY);
                of_host.0.push(step);
                of_host.1.push(PlacedStep { test: index, step: number, jobs: indices });
            }
        }
        merged.push(Step { jobs: placed.jobs, ..step.clone() });
    }
    for (part, (steps, placed)) in parts.iter_mut().zip(of_hosts) {
        if !steps.is_empty() {
            part.plan.tests.push(Test { steps, ..test.clone() });
            part.steps.push(placed);
        }
    }
    Ok(Test { steps: merged, ..test.clone() })
}

/// The jobs of a step on hosts.
struct PlacedJobs {
    /// Those of the record.
    jobs: Vec<Job>,
    /// Those of each host, with their indices in the record.
    of_hosts: Vec<(Vec<Job>, Vec<u32>)>,
}

fn place_step(
    step: &Step,
    test: &str,
    (hosts, count): (&[String], usize),
    targets: u32,
) -> Result<PlacedJobs, PlacementError> {
    let mut placed = PlacedJobs { jobs: Vec::new(), of_hosts: vec![Default::default(); hosts.len()] };
    for job in &step.jobs {
        if let Some(host) = job.hosts.iter().find(|host| !hosts.contains(host)) {
            let known: Vec<&str> = hosts.iter().map(String::as_str).collect();
            return Err(PlacementError::UnknownHost {
                test: test.to_owned(),
                job: job.name.clone(),
                host: host.clone(),
                hint: suggest(host, &known),
                hosts: hosts.join(", "),
            });
        }
        let runs = |host: &String| job.hosts.is_empty() || job.hosts.contains(host);
        let those: Vec<usize> = (0..count).filter(|index| runs(&hosts[*index])).collect();
        for (turn, &index) in those.iter().enumerate() {
            let pacing = shared(job.pacing, those.len());
            let shift = if pacing == Pacing::Closed { 0.0 } else { turn as f64 / those.len() as f64 };
            let own = Job { pacing, shift, hosts: Vec::new(), ..job.clone() };
            let first = u32::try_from(index).unwrap_or(u32::MAX) * targets;
            let used: Vec<u32> =
                if job.targets.is_empty() { (0..targets).collect() } else { job.targets.clone() };
            let name = match step.jobs.len() {
                1 => hosts[index].clone(),
                _ => format!("{}: {}", hosts[index], job.name),
            };
            let number = u32::try_from(placed.jobs.len()).unwrap_or(u32::MAX);
            placed.of_hosts[index].0.push(own.clone());
            placed.of_hosts[index].1.push(number);
            let targets = used.iter().map(|target| first + target).collect();
            placed.jobs.push(Job { name, targets, hosts: vec![hosts[index].clone()], ..own });
        }
    }
    if placed.jobs.is_empty() { Err(PlacementError::EmptyStep(test.to_owned())) } else { Ok(placed) }
}

/// The share of one of several hosts in a rate, which is that of the whole job.
fn shared(pacing: Pacing, hosts: usize) -> Pacing {
    let share = |rate: PerSecond| PerSecond(rate.0 / hosts.max(1) as f64);
    match pacing {
        Pacing::Closed => Pacing::Closed,
        Pacing::Throttled { rate } => Pacing::Throttled { rate: share(rate) },
        Pacing::Open { rate, arrivals } => Pacing::Open { rate: share(rate), arrivals },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, PlanFile};

    fn plan(text: &str) -> Plan {
        PlanFile::parse("p", text).unwrap().resolve(&Overrides::default()).unwrap()
    }

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    const EVERYWHERE: &str = r#"
[[test]]
name = "t"
access = [{ size = "4KiB" }]
pace = { rate = "900/s", arrivals = "constant" }
"#;

    #[test]
    fn every_host_is_a_job_on_its_own_targets_with_a_share_of_the_rate_and_a_seed_of_its_own() {
        let placed = plan(EVERYWHERE).placed(&hosts(&["a", "b", "c"]), 2).unwrap();
        let jobs = &placed.plan.tests[0].steps[0].jobs;
        let seen: Vec<_> =
            jobs.iter().map(|job| (job.name.as_str(), job.targets.clone(), job.pacing.rate())).collect();
        let rate = Some(PerSecond(300.0));
        assert_eq!(seen, [("a", vec![0, 1], rate), ("b", vec![2, 3], rate), ("c", vec![4, 5], rate)]);
        let shifts: Vec<f64> = jobs.iter().map(|job| job.shift).collect();
        assert_eq!(shifts, [0.0, 1.0 / 3.0, 2.0 / 3.0], "hosts that begin together take turns");
        for (index, part) in (0..).zip(&placed.hosts) {
            let step = &part.plan.tests[0].steps[0];
            assert_eq!((step.jobs.len(), step.jobs[0].pacing.rate()), (1, rate));
            assert!(step.jobs[0].targets.is_empty() && step.jobs[0].hosts.is_empty());
            assert_eq!(part.steps, [[PlacedStep { test: 0, step: 0, jobs: vec![index] }]]);
        }
        let mut seeds: Vec<u64> = placed.hosts.iter().map(|part| part.plan.seed).collect();
        seeds.dedup();
        assert_eq!(seeds.len(), 3, "equal offsets on a shared target would answer each other from its cache");
    }

    #[test]
    fn a_job_of_some_hosts_and_a_sweep_over_hosts_leave_the_others_out() {
        let text = r#"
[[test]]
name = "grow"
access = [{ size = "4KiB" }]
sweep = { hosts = [1, 2] }
[[test]]
name = "two"
access = [{ size = "4KiB" }]
[[test.job]]
name = "read"
hosts = ["b"]
[[test.job]]
name = "write"
access = [{ size = "4KiB", read = 0 }]
"#;
        let plan = plan(text);
        assert!(plan.names_hosts());
        let placed = plan.placed(&hosts(&["a", "b"]), 1).unwrap();
        // An agent refuses a plan that names hosts: a sweep over hosts never ran.
        assert!(placed.plan.names_hosts() && placed.hosts.iter().all(|part| !part.plan.names_hosts()));
        let names = |step: &Step| step.jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>();
        let steps: Vec<_> = placed.plan.tests.iter().flat_map(|test| &test.steps).map(names).collect();
        assert_eq!(steps, [vec!["a"], vec!["a", "b"], vec!["b: read", "a: write", "b: write"]]);
        let of = |host: usize| placed.hosts[host].steps.concat();
        let at = |test, step, jobs: &[u32]| PlacedStep { test, step, jobs: jobs.to_vec() };
        assert_eq!(of(0), [at(0, 0, &[0]), at(0, 1, &[0]), at(1, 0, &[1])]);
        assert_eq!(of(1), [at(0, 1, &[1]), at(1, 0, &[0, 2])]);
    }

    #[test]
    fn hosts_that_are_missing_unknown_or_idle_are_named() {
        let named =
            |host: &str| plan(&format!("{EVERYWHERE}\n[[test.job]]\nname = \"x\"\nhosts = [\"{host}\"]\n"));
        let refused = |plan: &Plan, given: &[&str]| plan.placed(&hosts(given), 1).unwrap_err();
        assert!(matches!(refused(&named("esx1"), &["esx2", "b"]),
            PlacementError::UnknownHost { host, hosts, .. } if host == "esx1" && hosts == "esx2, b"));
        assert_eq!(refused(&named("a"), &["a", "b"]), PlacementError::IdleHost("b".into()));
        let sweep = plan(&EVERYWHERE.replace("pace", "sweep = { hosts = [4] }\npace"));
        assert!(matches!(refused(&sweep, &["a"]), PlacementError::TooFewHosts { needed: 4, given: 1, .. }));
        assert!(!plan(EVERYWHERE).names_hosts());
        for whom in ["job", "test"] {
            let ends = plan(&EVERYWHERE.replace("pace", &format!("ends = \"{whom}\"\npace")));
            assert_eq!(refused(&ends, &["a", "b"]), PlacementError::Ends("t".into()));
            assert!(ends.placed(&hosts(&["a"]), 1).is_ok());
        }
        let wrong = PlanFile::parse("p", &EVERYWHERE.replace("pace", "sweep = { hosts = [0] }\npace"));
        assert!(wrong.unwrap_err().to_string().contains("a number of hosts"), "zero hosts measure nothing");
    }
}
