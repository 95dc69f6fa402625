//! What a run needs of a diagnosis: its experiments at the start, and the next of them after each.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use assay_analysis::Collector;
use assay_diagnose::{ExperimentTest, Order as Experiments, WritesAllowed, choose, plan};
use assay_engine::{RunTargets, StopSignal};
use assay_host::{CpuSnapshot, cpu_snapshot};
use assay_prepare::{Changes, PreparedTargets};
use assay_record::{DiagnosisFacts, RunHeader, StepId};

use assay_target::{AccessMode, Member};

use super::ways;
use crate::run_targets::run_targets;

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
    /// Whether anything about the target may change.
    pub(crate) changes: Changes,
}

impl Budget {
    /// Puts the experiments into the header of the run, and returns the targets with other ways to the same storage.
    pub(crate) fn ready(&self, header: &mut RunHeader, prepared: &mut PreparedTargets) -> RunTargets {
        let targets = run_targets(prepared);
        let before = cpu_snapshot();
        std::thread::sleep(LOOK);
        let used = CpuSnapshot::between(&before, &cpu_snapshot());
        // What the preparation had to know besides is an experiment now.
        header.plan.tests.truncate(1);
        let is_writable = targets.members.first().is_some_and(may_be_written);
        let writes = if is_writable { self.writes } else { WritesAllowed::AsTheLoad };
        let given = targets.members.len();
        let (targets, ways) = ways::with_other_ways(targets, &header.plan);
        prepared.add_ways(0, targets.members.len() - given);
        let order = Experiments {
            plan: &header.plan,
            budget_s: self.seconds,
            span_bytes: targets.facts.first().map(|facts| facts.member.span_bytes),
            ways,
            writes,
        };
        let tests = plan(&order);
        header.targets.clone_from(&targets.facts);
        header.diagnosis = Some(DiagnosisFacts {
            load: self.load.clone(),
            budget_s: self.seconds,
            others_busy: Some(used.host_busy),
            experiments: tests.iter().map(|test| test.experiment).collect(),
        });
        header.plan.name = format!("Diagnosis of {}", self.load);
        header.plan.tests = tests.into_iter().map(|ExperimentTest { test, .. }| test).collect();
        targets
    }
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
pub(crate) struct Chooser<'c> {
    header: &'c RunHeader,
    collector: &'c RefCell<Collector>,
    stop: StopSignal,
    began: Instant,
}

impl<'c> Chooser<'c> {
    pub(crate) fn new(header: &'c RunHeader, collector: &'c RefCell<Collector>, stop: StopSignal) -> Self {
        Self { header, collector, stop, began: Instant::now() }
    }

    pub(crate) fn next(&mut self) -> Option<StepId> {
        if self.stop.is_set() {
            return None;
        }
        let budget_s = self.header.diagnosis.as_ref()?.budget_s;
        let left_s = budget_s - self.began.elapsed().as_secs_f64();
        let choice = choose(self.header, &self.collector.borrow().summary(), left_s)?;
        let until = Instant::now() + Duration::from_secs_f64(choice.pause_s);
        while Instant::now() < until && !self.stop.is_set() {
            std::thread::sleep(PAUSE_LOOK);
        }
        Some(choice.step)
    }
}
