//! The tester's own ceiling: what each load of a plan reaches on a target that costs nothing.
//!
//! It depends on the host, the version of Assay and the load, and on nothing else, so the store keeps it: a load is
//! measured once for each of them, and only before runs that are long compared with that.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use assay_engine::{CommonStart, EnoughSignal, RunRequest, StopSignal};
use assay_prepare::{IoChoice, PrepareOptions, PreparedTargets};
use assay_record::{
    Event, HostFacts, Interval, MemberKind, NullCeiling, RunEvent, RunHeader, RunSetting, StepId,
};
use assay_spec::units::Nanos;
use assay_spec::{Address, Pacing, Plan, Role, Semantics, Step, Stop, Test};
use assay_store::Store;

use crate::error::RunnerError;
use crate::targets::run_targets;

/// How long a load runs on the null target, after a shorter warm-up.
const WINDOW: Nanos = Nanos(100_000_000);
const WARM_UP: Nanos = Nanos(20_000_000);
/// A run has to last this many times longer than the measurement of its ceilings.
const WORTH_TIMES: u64 = 20;

/// Returns the ceilings of every load of a run on storage: those that the store has, and those that are worth the time
/// to measure. A ceiling that cannot be measured is left out, as the run does not depend on it.
pub(crate) fn null_ceilings(
    store: &Store,
    header: &RunHeader,
    targets: &PreparedTargets,
) -> Vec<NullCeiling> {
    let RunHeader { plan, host, .. } = header;
    let is_storage = |kind: MemberKind| !matches!(kind, MemberKind::Null | MemberKind::Simulated);
    if !targets.facts().iter().any(|target| is_storage(target.member.kind)) {
        return Vec::new();
    }
    let mut known = Vec::new();
    let mut missing: Vec<(StepId, String, Step)> = Vec::new();
    for (test_index, test) in (0..).zip(&plan.tests).filter(|(_, test)| test.role == Role::Measured) {
        for (step_index, step) in (0..).zip(&test.steps) {
            let id = StepId { test: test_index, step: step_index };
            let load = bare(step);
            let name = name_of(&load, plan.semantics, host);
            match store.null_ceiling(&name) {
                Ok(Some(iops)) => known.push(NullCeiling { step: id, iops }),
                _ => missing.push((id, name, load)),
            }
        }
    }
    let cost_ns = (WINDOW.0 + WARM_UP.0) * missing.len() as u64;
    if !missing.is_empty() && cost_ns.saturating_mul(WORTH_TIMES) <= plan.time().0 {
        let steps: Vec<Step> = missing.iter().map(|(_, _, step)| step.clone()).collect();
        for ((id, name, _), iops) in missing.iter().zip(rates(plan, steps, host)) {
            if iops > 0.0 {
                // A store that is full or read-only makes the next run measure it again.
                let _ = store.set_null_ceiling(name, iops);
                known.push(NullCeiling { step: *id, iops });
            }
        }
    }
    known.sort_by_key(|ceiling| ceiling.step);
    known
}

/// The load of a step without its targets, its pace, its pauses and the ends of its jobs, for a tenth of a second.
fn bare(step: &Step) -> Step {
    let mut step = step.clone();
    for job in &mut step.jobs {
        job.targets = Vec::new();
        job.pacing = Pacing::Closed;
        job.reconnect_every = None;
        (job.start_delay, job.stop) = (Nanos(0), None);
        job.mix.iter_mut().for_each(|access| access.delay = Nanos(0));
        job.name = String::new();
    }
    step.swept = Vec::new();
    step.verify = false;
    step.warmup = WARM_UP;
    step.stop = Stop { time: WINDOW, ..Stop::default() };
    step
}

/// A name for a load on this host with this version.
fn name_of(load: &Step, semantics: Semantics, host: &HostFacts) -> String {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(load).unwrap_or_default().hash(&mut hasher);
    let (cpus, cpu) = (host.cpus_online, &host.cpu_model);
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{version} {:?} {cpus} x {cpu}, {} {semantics:?} {:016x}",
        cfg!(debug_assertions),
        host.kernel,
        hasher.finish()
    )
}

/// The rate of each load on the null target; zero where that failed.
fn rates(plan: &Plan, steps: Vec<Step>, host: &HostFacts) -> Vec<f64> {
    let count = steps.len();
    let test = |(index, step): (usize, Step)| Test {
        name: index.to_string(),
        notes: String::new(),
        role: Role::Measured,
        steps: vec![step],
    };
    let tests = steps.into_iter().enumerate().map(test).collect();
    let plan = Plan { tests, ..plan.clone() };
    let mut counted = vec![Counted::default(); count];
    // A ceiling that cannot be measured is left out.
    let measured = on_null(&plan, host, &mut |event| match &event.what {
        RunEvent::Interval(interval) => {
            if let Some(test) = counted.get_mut(interval.test as usize) {
                test.add(interval);
            }
        }
        RunEvent::StepEnded(end) => {
            if let Some(test) = counted.get_mut(end.step.test as usize) {
                test.windows_ns = end.jobs.iter().map(|job| job.measured_ns).collect();
            }
        }
        _ => {}
    });
    match measured {
        Ok(()) => counted.iter().map(Counted::iops).collect(),
        Err(_) => vec![0.0; count],
    }
}

/// What a load did on the null target.
#[derive(Debug, Clone, Default)]
struct Counted {
    /// Number of I/Os of each job.
    ops: Vec<u64>,
    /// Measured window of each job, ns.
    windows_ns: Vec<u64>,
}

impl Counted {
    fn add(&mut self, interval: &Interval) {
        let job = interval.job as usize;
        self.ops.resize(self.ops.len().max(job + 1), 0);
        self.ops[job] += interval.by_access.iter().map(|of| of.read.ops() + of.write.ops()).sum::<u64>();
    }

    /// Returns the rate of all jobs together, per second.
    fn iops(&self) -> f64 {
        let of_job = |(ops, window_ns): (&u64, &u64)| *ops as f64 * 1e9 / (*window_ns).max(1) as f64;
        self.ops.iter().zip(&self.windows_ns).map(of_job).sum()
    }
}

/// Runs a plan on the null target, keeps nothing of it, and passes every event to `sink`.
///
/// # Errors
/// Where the plan cannot run there, or ends early.
pub fn on_null(plan: &Plan, host: &HostFacts, sink: &mut dyn FnMut(&Event)) -> Result<(), RunnerError> {
    let options = PrepareOptions { io: IoChoice::Psync, ..PrepareOptions::reading() };
    let null: [Address; 1] = ["null:".parse().expect("an address")];
    let open = assay_prepare::open(plan, &null, &options, host, &mut || true)?;
    let prepared = open.fill(&|| false, &mut |_| {})?;
    let targets = run_targets(&prepared);
    let header = RunHeader {
        run: "null".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started_unix_ms: 0,
        plan: plan.clone(),
        targets: prepared.facts(),
        host: host.clone(),
        array: None,
        stated: assay_record::StatedMemory::default(),
        imported: None,
        diagnosis: None,
        setting: RunSetting::default(),
    };
    let request = RunRequest {
        header,
        targets: &targets,
        warnings: Vec::new(),
        stop: StopSignal::default(),
        enough: EnoughSignal::default(),
        cpus: Vec::new(),
        start: CommonStart::default(),
    };
    assay_engine::run(request, &mut |event| {
        sink(&event);
        Ok(())
    })?;
    Ok(())
}
