//! The experiments of a diagnosis: all of them at the start, and after each the next.

use std::time::{Duration, Instant};

use assay_analysis::Collector;
use assay_diagnose::{ExperimentTest, Order, WritesAllowed, choose, plan};
use assay_engine::{RunTargets, StopSignal};
use assay_host::{CpuSnapshot, cpu_snapshot, lowest_class_ns};
use assay_record::{DiagnosisFacts, RunHeader, StepId};
use assay_runner::Experiments;
use assay_spec::Plan;
use assay_target::{AccessMode, Member};

use super::ways;

/// How long the host is watched before the load begins: what others use of it.
const LOOK: Duration = Duration::from_secs(1);
/// How often a pause looks whether it is to end.
const PAUSE_LOOK: Duration = Duration::from_millis(50);

/// What a diagnosis is given.
pub(crate) struct Budget {
    /// Time for all experiments, s.
    pub(crate) seconds: f64,
    /// Name of the load.
    pub(crate) load: String,
    /// Whether experiments may write where the load only reads.
    pub(crate) writes: WritesAllowed,
    /// Whether idle CPUs are kept awake meanwhile.
    pub(crate) kept_awake: bool,
}

impl Budget {
    /// Returns the experiments on the first test of a plan, and the targets with other ways to the same storage.
    pub(super) fn experiments(&self, load: &Plan, targets: &RunTargets) -> Experiments {
        let before = busy_before();
        // What the preparation had to know besides is an experiment now.
        let mut load = load.clone();
        load.tests.truncate(1);
        let is_writable = targets.members.first().is_some_and(may_be_written);
        let writes = if is_writable { self.writes } else { WritesAllowed::AsTheLoad };
        let (targets, ways) = ways::with_other_ways(targets.clone(), &load);
        let tests = plan(&Order {
            plan: &load,
            budget_s: self.seconds,
            span_bytes: targets.facts.first().map(|facts| facts.member.span_bytes),
            ways,
            writes,
        });
        let facts = DiagnosisFacts {
            load: self.load.clone(),
            budget_s: self.seconds,
            others_busy: Some(before.others),
            busy_before: Some(before.all),
            kept_awake: self.kept_awake,
            experiments: tests.iter().map(|test| test.experiment).collect(),
        };
        load.name = format!("Diagnosis of {}", self.load);
        load.tests = tests.into_iter().map(|ExperimentTest { test, .. }| test).collect();
        Experiments { plan: load, facts, targets }
    }
}

/// What this host's CPUs do before the load begins, as shares of the time of all of them.
struct BusyBefore {
    all: f64,
    /// But for what gives way to every other thread.
    others: f64,
}

fn busy_before() -> BusyBefore {
    let (before, lowest_before, began) = (cpu_snapshot(), lowest_class_ns(), Instant::now());
    std::thread::sleep(LOOK);
    let after = cpu_snapshot();
    let lowest_ns = lowest_class_ns().saturating_sub(lowest_before) as f64;
    // A busy host sleeps for longer than it is asked to.
    let all_ns = began.elapsed().as_secs_f64() * 1e9 * after.cpus().max(1) as f64;
    let all = CpuSnapshot::between(&before, &after).host_busy;
    BusyBefore { all, others: (all - lowest_ns / all_ns).clamp(0.0, 1.0) }
}

fn may_be_written(member: &Member) -> bool {
    let access = match member {
        Member::File(file) => file.access,
        Member::Lun(lun) => lun.access,
        Member::Nfs(nfs) => nfs.access,
        Member::Null { .. } | Member::Simulated(_) => return true,
    };
    access == AccessMode::ReadWrite
}

/// Chooses the next experiment from what the run has measured so far.
pub(super) fn next(
    header: &RunHeader,
    collector: &Collector,
    began: Instant,
    stop: &StopSignal,
) -> Option<StepId> {
    if stop.is_set() {
        return None;
    }
    let budget_s = header.diagnosis.as_ref()?.budget_s;
    let left_s = budget_s - began.elapsed().as_secs_f64();
    let choice = choose(header, &collector.summary(), left_s)?;
    let until = Instant::now() + Duration::from_secs_f64(choice.pause_s);
    while Instant::now() < until && !stop.is_set() {
        std::thread::sleep(PAUSE_LOOK);
    }
    Some(choice.step)
}
