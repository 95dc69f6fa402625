//! Before and after a run: turns addresses into targets that are safe to use and filled with real data.
//!
//! Each kind of target has its own module (`file`, `device`, `lun`, `nfs`, `null`, `sim`) with the same four steps:
//! *inspect* examines without changes, *open* creates, locks and marks, *fill* writes missing data,
//! *close* marks the target as left in order. [`open()`] inspects all targets before it opens the first, so a refusal
//! leaves everything unchanged; [`OpenTargets::fill`] turns them into [`PreparedTargets`], whose members any worker can
//! open.
//!
//! Architecture invariant: one module, `permission`, decides what may be written, before anything is written.
#![forbid(unsafe_code)]

mod check;
mod closed;
mod content;
mod context;
mod device;
mod error;
mod file;
mod fill;
mod held;
mod lun;
mod marked;
mod memory;
mod network;
mod nfs;
mod null;
mod options;
mod path;
mod permission;
mod placement;
mod plan;
mod same;
mod sim;
mod space;
mod span;
mod target;
mod zeros;

use assay_record::{HostFacts, StepId, TargetFacts, Warning};
use assay_spec::{Address, Plan};
use assay_target::{IoEngine, Member, OpenError};

use context::{FillContext, InspectContext, OpenContext};
use file::Touched;
use target::{Inspected, Prepared};

pub use check::{PathDrives, PathInspection, PathInspectionKind, inspect_path, path_drives};
pub use closed::{Closed, KeptFile};
pub use error::PrepareError;
pub use file::check_new;
pub use fill::PrepareProgress;
pub use lun::{LunInspection, inspect_lun, targets_at};
pub use network::portal_networks;
pub use nfs::{NfsInspection, inspect_nfs};
pub use options::{BlankChoice, Changes, FillChoice, IoChoice, PrepareOptions, TooSmall};

/// Every target of a run, ready to be measured.
pub struct PreparedTargets {
    /// Warnings for the reader of the results.
    pub warnings: Vec<Warning>,
    /// I/O engine for files and devices.
    pub io: IoEngine,
    /// Memory for I/O buffers, bytes.
    pub memory_bytes: u64,

    /// Targets in the order of the command line.
    targets: Vec<Prepared>,
    /// Targets of the run's plan behind those, by the index of the target that each is another way to.
    ways: Vec<u32>,
}

/// Targets that are open and locked, and not filled yet. Consumed by [`fill`](OpenTargets::fill) or
/// [`abandon`](OpenTargets::abandon).
pub struct OpenTargets<'p> {
    plan: &'p Plan,
    options: &'p PrepareOptions,
    targets: PreparedTargets,
}

/// Inspects every target of a plan, and opens them if all pass. `host` describes this host. `opening` is called once:
/// every target has passed inspection, and the first is about to be created or marked, unless it returns false.
pub fn open<'p>(
    plan: &'p Plan,
    addresses: &[Address],
    options: &'p PrepareOptions,
    host: &HostFacts,
    opening: &mut dyn FnMut() -> bool,
) -> Result<OpenTargets<'p>, PrepareError> {
    let (io, warnings) = options.engine()?;
    plan::check(plan, addresses)?;
    same::check(addresses)?;
    let context = InspectContext { plan, options, host };
    let inspected =
        addresses.iter().zip(0..).map(|(address, index)| Inspected::look(&context, index, address));
    let mut inspected: Vec<Inspected> = inspected.collect::<Result<_, _>>()?;
    file::check_writers(inspected.iter().filter_map(Inspected::file))?;
    let nameable: Vec<_> = inspected.iter().filter_map(Inspected::nameable).collect();
    permission::check_overwrite(&options.overwrite, &nameable)?;
    drop(nameable);
    nfs::check_different(&inspected.iter().filter_map(Inspected::nfs).collect::<Vec<_>>())?;
    let needs = inspected.iter().filter_map(|target| target.need().transpose());
    space::check(needs.collect::<Result<_, _>>()?)?;
    let span_bytes: Vec<u64> = inspected.iter().map(Inspected::span_bytes).collect();
    let memory_bytes = memory::left_for_buffers(plan, &span_bytes, host)?;
    // The inspection of the last one may have taken long: verify that none has changed before the first is touched.
    inspected.iter_mut().try_for_each(Inspected::confirm)?;
    let touched: Vec<Touched> = inspected.iter().filter_map(Inspected::touched).collect();
    let targets = PreparedTargets { warnings, io, memory_bytes, targets: Vec::new(), ways: Vec::new() };
    if !opening() {
        return Err(PrepareError::NotOpened);
    }
    let mut open = OpenTargets { plan, options, targets };
    match open.open_all(inspected) {
        Ok(()) => Ok(open),
        Err(error) => {
            let mut left = open.targets.abandon();
            let is_ours = |of: &&Touched| match &error {
                PrepareError::CreatedMeanwhile { path } => !of.is(path),
                _ => true,
            };
            left.extend(touched.iter().filter(is_ours).filter_map(Touched::left));
            left.sort();
            left.dedup();
            Err(not_undone(&left, error))
        }
    }
}

/// Returns an error of opening with what is left of the changes that it had made, a clause each.
fn not_undone(left: &[String], error: PrepareError) -> PrepareError {
    match left.is_empty() {
        true => error,
        false => PrepareError::NotUndone { left: left.join("; "), source: Box::new(error) },
    }
}

impl OpenTargets<'_> {
    /// Returns the open targets, for checks that must precede the fill.
    pub fn targets(&self) -> &PreparedTargets {
        &self.targets
    }

    fn open_all(&mut self, inspected: Vec<Inspected>) -> Result<(), PrepareError> {
        let mut context = OpenContext::new(self.plan, self.options, self.targets.io);
        let opened = inspected.into_iter().try_for_each(|one| {
            self.targets.targets.push(one.open(&mut context)?);
            Ok(())
        });
        self.targets.warnings.append(&mut context.warnings);
        let may_choose = self.options.io == IoChoice::Auto && self.targets.io == IoEngine::Uring;
        if may_choose && self.targets.lie_in_memory() {
            self.targets.serve_inline();
        }
        opened
    }

    /// Fills the targets as needed. `must_stop` is called between writes.
    pub fn fill(
        mut self,
        must_stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&PrepareProgress),
    ) -> Result<PreparedTargets, PrepareError> {
        let (plan, options, io) = (self.plan, self.options, self.targets.io);
        let mut context =
            FillContext { plan, options, io, must_stop, progress, warnings: Vec::new(), moved: Vec::new() };
        let filled = self.targets.targets.iter_mut().try_for_each(|target| target.fill(&mut context));
        self.targets.warnings.append(&mut context.warnings);
        // The fill of the last one may have taken hours: verify that what the first ones hold is still this run's.
        let filled = filled.and_then(|()| self.targets.targets.iter_mut().try_for_each(Prepared::confirm));
        match filled {
            Ok(()) => Ok(self.targets),
            Err(error) => {
                self.targets.abandon();
                Err(error)
            }
        }
    }

    /// Restores the original state: files that were created and are empty are removed, the others are marked as closed.
    /// Returns what is left of the changes, a clause each.
    pub fn abandon(self) -> Vec<String> {
        self.targets.abandon()
    }
}

impl PreparedTargets {
    /// Returns the recorded facts about each target, in the order of the command line.
    pub fn facts(&self) -> Vec<TargetFacts> {
        self.targets.iter().map(|target| target.facts().clone()).collect()
    }

    /// Returns the members that workers open, in the same order.
    pub fn members(&self) -> Vec<Member> {
        self.targets.iter().map(Prepared::member).collect()
    }

    /// Notes that the plan of the run has `count` more targets, each another way to the one with this index: what is
    /// written by them is written to it.
    pub fn add_ways(&mut self, target: u32, count: usize) {
        self.ways.extend(std::iter::repeat_n(target, count));
    }

    /// Notes that a step begins: the files that it writes to change until it ends. To be called before its workers open
    /// their targets. Fails if another program has changed one of these files, which the step must not write to then.
    pub fn step_started(&mut self, plan: &Plan, step: StepId) -> Result<(), OpenError> {
        self.written_by(plan, step).try_for_each(Prepared::writing_begins)
    }

    /// Notes that a step has ended and has no I/O in flight. What is written to its files from now on is another
    /// program's.
    pub fn step_ended(&mut self, plan: &Plan, step: StepId) {
        self.written_by(plan, step).for_each(Prepared::writing_ended);
    }

    fn written_by(&mut self, plan: &Plan, id: StepId) -> impl Iterator<Item = &mut Prepared> {
        let step = plan.tests.get(id.test as usize).and_then(|test| test.steps.get(id.step as usize));
        let targets = (0..).zip(&self.targets).map(|(index, _)| index);
        let written: Vec<u32> = (0..)
            .zip(targets.chain(self.ways.iter().copied()))
            .filter(|(index, _)| step.is_some_and(|step| plan::writes_to(step, *index)))
            .map(|(_, target)| target)
            .collect();
        let targets = (0..).zip(&mut self.targets);
        targets.filter(move |(index, _)| written.contains(index)).map(|(_, target)| target)
    }

    /// Marks files as closed after the run. All are tried; the first error is returned.
    pub fn close(self) -> Result<Closed, PrepareError> {
        let (mut closed, mut result) = (Closed::default(), Ok(()));
        for mut target in self.targets {
            result = result.and(target.close(&mut closed));
        }
        result.map(|()| closed)
    }

    /// Returns true if every file and device is a file in memory. One engine serves all of them, so that the record of
    /// each target is valid for every job that uses it.
    fn lie_in_memory(&self) -> bool {
        let mut paths = self.targets.iter().filter_map(Prepared::path);
        paths.all(assay_target::is_in_memory)
    }

    fn serve_inline(&mut self) {
        self.io = IoEngine::Inline;
        for target in self.targets.iter_mut().filter(|target| target.path().is_some()) {
            target.facts_mut().member.engine = IoEngine::Inline.recorded();
        }
    }

    /// Cleans up after a failure, which is what is reported; returns what is left, a clause each.
    fn abandon(self) -> Vec<String> {
        let mut closed = Closed::default();
        let mut left = Vec::new();
        for mut target in self.targets {
            let _ = target.close(&mut closed);
            left.extend(target.discard());
        }
        left
    }
}
