//! A run: prepare, measure, close.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assay_engine::RunTargets;
use assay_host::{AwakeGuard, Sampler, Watched};
use assay_prepare::{OpenTargets, PreparedTargets};
use assay_record::RunHeader;
use assay_store::Store;
use assay_target::Opener;

use crate::ceiling::null_ceilings;
use crate::close::{Left, close};
use crate::error::RunnerError;
use crate::follower::{Follower, Stage};
use crate::keep::Keeper;
use crate::measure::{Measured, Measurement, measure};
use crate::order::{Order, Steps, label_of};
use crate::targets::run_targets;

/// Where the events of a run go.
pub struct Sinks<'s> {
    /// Keeps them; `None` where the follower passes them to somebody who does.
    pub store: Option<&'s Store>,
    /// Hears them.
    pub follower: &'s mut dyn Follower,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Done {
    /// What ran, on what, and where.
    pub header: RunHeader,
    /// Its label, as it is stored.
    pub label: Option<String>,
    /// Failures of the load, of the store, and of closing the targets, in this order. The sinks have what was measured
    /// all the same.
    pub failures: Vec<RunnerError>,
    /// Whether all of it is in the store.
    pub is_stored: bool,
    /// The state of the targets.
    pub left: Left,
}

/// Prepares the targets, runs the plan with every event stored, and closes the targets. `opener` opens the targets of
/// each worker in its thread.
///
/// # Errors
/// When nothing was measured. A run that began to measure is always a [`Done`].
pub fn run(
    order: Order,
    opener: &Opener<'_>,
    Sinks { store, follower }: Sinks<'_>,
) -> Result<Done, RunnerError> {
    follower.stage(Stage::Inspecting);
    let mut targets = prepare(&order, follower)?;
    follower.stage(Stage::Measuring);
    let (awake, mut header) = match begin(&order, store, &targets) {
        Ok(begun) => begun,
        // The targets may have been filled in the meantime.
        Err(error) => {
            let _ = targets.close();
            return Err(error);
        }
    };
    let ready = ready(&mut header, order.steps, &mut targets, follower);
    let repetition = order.turn.as_ref().map(|turn| turn.repetition(&header.run));
    let label = label_of(order.label, order.turn.as_ref(), &header.run);
    header.setting.repetition = repetition;
    header.setting.null_ceilings =
        store.map(|store| null_ceilings(store, &header, &targets)).unwrap_or_default();
    follower.begins(&header);
    let keeper = store.map(|store| Keeper::begin(store, &header, (label.as_deref(), order.note.as_deref())));
    let measurement = Measurement {
        header: &header,
        targets: &ready,
        steps: order.steps,
        kept: order.kept,
        cpus: order.cpus,
        stop: order.stop.clone(),
        start: order.start.clone(),
    };
    let Measured { mut failures, is_stored } = measure(measurement, opener, &mut targets, keeper, follower);
    drop(awake);
    follower.stage(Stage::Closing);
    // A target that fails now must not keep the results from being shown.
    let left = close(targets, &order.stop, order.remove, &mut failures);
    follower.stage(Stage::Over);
    Ok(Done { header, label, failures, is_stored, left })
}

fn prepare(order: &Order, follower: &mut dyn Follower) -> Result<PreparedTargets, RunnerError> {
    if order.plan.names_hosts() {
        return Err(RunnerError::NeedsHosts);
    }
    let host = crate::facts::host_facts();
    let mut opening = || {
        let may_open = follower.may_open();
        if may_open {
            follower.stage(Stage::Opening);
        }
        may_open
    };
    let open = assay_prepare::open(&order.plan, &order.targets, &order.options, &host, &mut opening)?;
    if let Err(source) = assay_engine::check_fit(&order.plan, &run_targets(open.targets())) {
        let left = open.abandon();
        return Err(match left.is_empty() {
            true => RunnerError::Misfit { source },
            false => RunnerError::MisfitNotUndone { source, left: left.join("; ") },
        });
    }
    follower.stage(Stage::Filling);
    fill(open, order, follower)
}

fn fill(
    open: OpenTargets<'_>,
    order: &Order,
    follower: &mut dyn Follower,
) -> Result<PreparedTargets, RunnerError> {
    let watch = Sampler::start(Watched::default(), Instant::now(), Duration::from_secs(1));
    let filled = open.fill(&|| order.stop.is_set(), &mut |progress| follower.filling(progress));
    let stood_still = follower.filled(&watch.gaps());
    // From here on targets have been written to, whatever failed.
    let mut targets = filled.map_err(|source| RunnerError::Fill { source })?;
    targets.warnings.extend(stood_still);
    Ok(targets)
}

/// What comes between filling and measuring.
fn begin(
    order: &Order,
    store: Option<&Store>,
    targets: &PreparedTargets,
) -> Result<(Option<AwakeGuard>, RunHeader), RunnerError> {
    let awake = order.keep_awake.then(AwakeGuard::start).transpose()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started_unix_ms = u64::try_from(now.as_millis()).map_err(|_| RunnerError::Clock)?;
    let random = u64::from(now.subsec_nanos()) << 32 | u64::from(std::process::id());
    let run = match (&order.run, store) {
        (Some(run), _) => run.clone(),
        (None, Some(store)) => store.new_run_id(started_unix_ms, random)?,
        (None, None) => return Err(RunnerError::NoId),
    };
    let header = RunHeader {
        run,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        plan: order.plan.clone(),
        targets: targets.facts(),
        host: crate::facts::host_facts(),
        array: order.array.clone(),
        stated: order.stated,
        imported: None,
        setting: order.setting.clone(),
        diagnosis: None,
    };
    Ok((awake, header))
}

/// Returns the targets as the engine takes them. A diagnosis puts its experiments into the header, and other ways to
/// the same storage behind the targets.
fn ready(
    header: &mut RunHeader,
    steps: Steps,
    prepared: &mut PreparedTargets,
    follower: &mut dyn Follower,
) -> RunTargets {
    let targets = run_targets(prepared);
    if steps != Steps::Diagnosis {
        return targets;
    }
    let Some(experiments) = follower.experiments(&header.plan, &targets) else { return targets };
    prepared.add_ways(0, experiments.targets.members.len().saturating_sub(targets.members.len()));
    header.targets.clone_from(&experiments.targets.facts);
    (header.plan, header.diagnosis) = (experiments.plan, Some(experiments.facts));
    experiments.targets
}
