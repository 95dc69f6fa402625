//! A run: from a plan and targets to a stored and printed result. The verb itself is in `run_verb.rs`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_analysis::{Collector, RunStatus, RunSummary, digest, gap_in_fill};
use assay_diagnose::headline;
use assay_engine::{EnoughSignal, RunRequest, RunTargets, StopSignal};
use assay_host::{AwakeGuard, Sampler, Watched};
use assay_interop::{ImportedPlan, outline};
use assay_prepare::{
    BlankChoice, Changes, Closed, FillChoice, IoChoice, PrepareError, PrepareOptions, PreparedTargets,
    TooSmall,
};
use assay_record::{
    Event, JournalStep, MemberKind, Repetition, RunEvent, RunHeader, RunSetting, StatedMemory, StepId,
    StepReason, Warning,
};
use assay_report::held::Held;
use assay_report::text::TextOptions;
use assay_sim::{SimulatedArrays, Truth};
use assay_spec::suites::suite;
use assay_spec::units::{Nanos, PerSecond, SizeSpec};
use assay_spec::{Address, Overrides, Plan, PlanFile, Tolerance, without_secret};
use assay_store::Store;
use assay_target::{Caching, Durability, OpenError, OpenRequest, STOP_LIMIT, StopPatience};

use crate::args::{Form, Io, IoArgs, RunArgs, StoreArgs};
use crate::ceiling::null_ceilings;
use crate::diagnose::{Budget, Chooser};
use crate::exit::{Exit, Failed};
use crate::keep::Keeper;
use crate::look::looks_like_target;
use crate::output::{Kept, Output};
use crate::progress::Progress;
use crate::render::{Page, Rendered as _};
use crate::rounds::{Rounds, has_rounds};
use crate::run_targets::run_targets;
use crate::signals::{Stage, enter, terminal_is_closed};
use crate::stored::judged;
use crate::suites::{is_plan, plan_file};
use crate::terminal::{error_options, note, say};
use crate::truth;

/// A size on the command line is binding; the default of a suite gives way to a smaller target.
pub(crate) fn too_small(size: Option<SizeSpec>) -> TooSmall {
    if size.is_some() { TooSmall::Refuse } else { TooSmall::UseAll }
}

/// A plan, its targets, and what the store keeps with the run.
pub(crate) struct Order<'o> {
    pub(crate) plan: Plan,
    pub(crate) targets: &'o [String],
    pub(crate) label: Option<&'o str>,
    pub(crate) note: Option<&'o str>,
    /// Text of the array file of the targets.
    pub(crate) array: Option<String>,
    /// Memory that may answer in place of the disks.
    pub(crate) stated: StatedMemory,
    /// What to do if a target is smaller than the plan asks for.
    pub(crate) too_small: TooSmall,
    /// Time for a diagnosis of the plan's only step; `None`: the plan is run as it is.
    pub(crate) diagnosis: Option<Budget>,
    /// What surrounds the run, as far as it is known before the run.
    pub(crate) setting: RunSetting,
    /// Its turn, where several runs belong together.
    pub(crate) turn: Option<Turn>,
}

/// The turn of a run among several that belong together.
pub(crate) struct Turn {
    /// Id of the first run; `None` for the first itself.
    pub(crate) group: Option<String>,
    /// Which side, from 0, and how many there are.
    pub(crate) side: u32,
    pub(crate) sides: usize,
    /// Which repetition, from 1, and how many were asked for.
    pub(crate) number: u32,
    pub(crate) of: u32,
}

impl Turn {
    /// Its place in the record of the run of that id.
    fn repetition(&self, run: &str) -> Repetition {
        let group = self.group.clone().unwrap_or_else(|| run.to_owned());
        Repetition { group, side: self.side, number: self.number, of: self.of }
    }

    /// The label that its side's repetitions share; sides that take turns have one each.
    fn label(&self, given: Option<&str>, group: &str) -> String {
        let name = given.map_or_else(|| format!("repeat-{group}"), str::to_owned);
        if self.sides > 1 { format!("{name}-{}", self.side + 1) } else { name }
    }
}

/// Returns the step of a journal that the run measures, where one was asked for.
pub(crate) fn journal_of(
    args: &RunArgs,
    targets: &[String],
    store: &Store,
) -> anyhow::Result<Option<JournalStep>> {
    let Some(change) = &args.step else { return Ok(None) };
    let journal = crate::journals::of_run(store, args.journal.as_deref(), &args.plan, targets)?;
    Ok(Some(JournalStep { journal, change: change.trim().to_owned() }))
}

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) header: RunHeader,
    /// As it is stored.
    pub(crate) label: Option<String>,
    pub(crate) collector: Collector,
    /// What simulated arrays saw, by step.
    pub(crate) truths: Vec<Truth>,
    /// Failures of the run itself, of the store, and of closing the targets. The collector has what was measured all
    /// the same.
    pub(crate) failures: Vec<anyhow::Error>,
    /// Whether all of it is in the store.
    is_stored: bool,
}

impl Done {
    /// Reports the failures, and returns the exit code of the run: that of `printed` where the result could be printed.
    pub(crate) fn end(mut self, printed: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let exit = match printed {
            Ok(exit) => exit,
            // Nobody is there to read the result; it is stored, and so is the reason.
            Err(_) if terminal_is_closed() => Exit::Interrupted,
            Err(error) => {
                self.failures.push(error);
                Exit::Errors
            }
        };
        let Some(last) = self.failures.pop() else { return Ok(exit) };
        self.failures.iter().for_each(|error| note!("error: {}", crate::message(error)));
        Err(last)
    }
}

/// Prepares the targets, runs the plan with every event stored, and closes or removes the targets.
pub(crate) fn execute(
    order: Order<'_>,
    io: &IoArgs,
    store: &Store,
    stop: &StopSignal,
) -> anyhow::Result<Done> {
    refuse_suites(order.targets)?;
    let addresses = addresses(order.targets)?;
    let simulated = simulated_arrays(&addresses)?;
    let mut progress = Progress::new(&order.plan);
    enter(Stage::Inspecting);
    let mut targets = prepare(io, &order, &addresses, stop, &mut progress)?;
    enter(Stage::Running);
    let begun = begin(io, store, order.plan, &targets);
    let (awake, mut header) = match begun {
        Ok(begun) => begun,
        // The targets may have been filled in the meantime.
        Err(error) => {
            let _ = targets.close();
            return Err(Failed::new(Exit::Errors, error).into());
        }
    };
    (header.array, header.stated) = (order.array, order.stated);
    let ready = match order.diagnosis {
        Some(budget) => budget.ready(&mut header, &mut targets),
        None => run_targets(&targets),
    };
    if let Some(facts) = &header.diagnosis {
        progress = Progress::of_diagnosis(&header.plan, facts.budget_s);
    }
    let repetition = order.turn.as_ref().map(|turn| turn.repetition(&header.run));
    let label = match (&order.turn, &repetition) {
        (Some(turn), Some(repetition)) => Some(turn.label(order.label, &repetition.group)),
        _ => order.label.map(str::to_owned),
    };
    let null_ceilings = null_ceilings(store, &header.plan, &targets, &header.host);
    header.setting = RunSetting { repetition, null_ceilings, ..order.setting };
    let keeper = Keeper::begin(store, &header, label.as_deref(), order.note);
    let Measured { collector, mut failures, is_stored } =
        measure(keeper, &header, (&mut targets, &ready), &simulated, (stop.clone(), io), progress);
    drop(awake);
    // A target that fails now must not keep the results from being printed.
    let closed = close(targets, stop);
    let tidied = closed.and_then(|closed| tidy(closed, io));
    enter(Stage::Printing);
    failures.extend(tidied.err().map(|error| Failed::new(Exit::Errors, error).into()));
    Ok(Done { header, label, collector, truths: simulated.truths(), failures, is_stored })
}

/// Closes the targets. Once somebody asked to stop, one that does not answer is left as it is.
fn close(targets: PreparedTargets, stop: &StopSignal) -> anyhow::Result<Closed> {
    const UNCLOSED: &str = "the run is over, but the next one refuses the file or fills it again";
    let (sender, closed) = std::sync::mpsc::channel();
    let closing = std::thread::Builder::new().name("close".into());
    let began = closing.spawn(move || sender.send(targets.close())).context("cannot start a thread")?;
    let patience = StopPatience::default();
    loop {
        match closed.recv_timeout(Duration::from_millis(20)) {
            Ok(closed) => return closed.context(UNCLOSED),
            Err(RecvTimeoutError::Timeout) if !patience.is_over(stop.is_set()) => {}
            Err(RecvTimeoutError::Timeout) => {
                let s = STOP_LIMIT.as_secs();
                note!("warning: a target did not answer within {s} s when it was to be closed: {UNCLOSED}");
                return Ok(Closed::default());
            }
            Err(RecvTimeoutError::Disconnected) => {
                // It panicked, and so does this thread.
                return match began.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(_) => Err(anyhow::Error::msg("closing ended without a result").context(UNCLOSED)),
                };
            }
        }
    }
}

/// The name of a suite in the place of a target would become a file of that name.
fn refuse_suites(targets: &[String]) -> anyhow::Result<()> {
    let is_meant = |target: &&String| suite(target).is_some() && !Path::new(target.as_str()).exists();
    match targets.iter().find(is_meant) {
        Some(target) => {
            bail!("{target} is a suite, and a target is needed here; a file of that name is ./{target}")
        }
        None => Ok(()),
    }
}

/// What comes between filling and measuring.
fn begin(
    io: &IoArgs,
    store: &Store,
    plan: Plan,
    targets: &PreparedTargets,
) -> anyhow::Result<(Option<AwakeGuard>, RunHeader)> {
    let awake = io.keep_awake.then(AwakeGuard::start).transpose()?;
    Ok((awake, header(store, plan, targets)?))
}

/// Prints what closing the targets found, and removes the files of Assay's own where that was asked for.
fn tidy(closed: Closed, io: &IoArgs) -> anyhow::Result<()> {
    for warning in &closed.warnings {
        note!("{}", format!("{} {}", warning.says, warning.next).trim_end());
    }
    if io.remove {
        for kept in closed.remove()? {
            note!("kept {}: {}", kept.name, kept.why);
        }
    }
    Ok(())
}

/// Reads the arrays of all simulated targets, so that a mistake in a file is reported before anything runs.
fn simulated_arrays(addresses: &[Address]) -> anyhow::Result<SimulatedArrays> {
    let mut arrays = HashMap::new();
    for address in addresses {
        if let Address::Sim { array } = address {
            arrays.insert(array.clone(), crate::arrays::array(array)?);
        }
    }
    Ok(SimulatedArrays::new(arrays))
}

/// Returns the plan of that name with everything that the command line changes in it.
pub(crate) fn plan(args: &RunArgs, name: &str, imported: Option<&ImportedPlan>) -> anyhow::Result<Plan> {
    resolve(name, &choice(args, imported))
}

/// Returns what will run: what the file says, or what the command line makes of it. A plan that it makes invalid is
/// refused after this.
pub(crate) fn understood(args: &RunArgs, imported: &ImportedPlan) -> Vec<String> {
    let chosen = choice(args, Some(imported));
    match resolve(&args.plan, &chosen) {
        Ok(plan) if chosen.changes_load() => outline(&plan),
        _ => imported.understood.clone(),
    }
}

pub(crate) fn choice<'c>(args: &'c RunArgs, imported: Option<&'c ImportedPlan>) -> Choice<'c> {
    let pace = if args.quick { StepLength::Quick } else { StepLength::AsWritten };
    Choice {
        set: &args.choice.set,
        rate: args.rate,
        only: &args.choice.only,
        size: args.size,
        seed: args.seed,
        pace,
        imported,
        until: args.until,
        at_most: args.at_most,
        precondition: args.precondition.as_deref(),
    }
}

/// The plan comes first: a target in its place, or no target at all, is answered with the command that was meant.
pub(crate) fn check_order(args: &RunArgs) -> anyhow::Result<()> {
    let is_tool = matches!(args.plan.as_str(), "fio" | "diskspd" | "sqlio");
    let is_file = |word: &str| is_plan(word) || (is_tool && word.ends_with(".sh"));
    let plan_first = args.targets.iter().find(|word| is_file(word)).filter(|_| !is_plan(&args.plan));
    match (plan_first, args.targets.first()) {
        (Some(plan), _) if is_tool => {
            let targets: Vec<&str> =
                args.targets.iter().filter(|word| *word != plan).map(String::as_str).collect();
            let targets = if targets.is_empty() { "TARGET".to_owned() } else { targets.join(" ") };
            bail!("{plan} is the plan: assay run {plan} {targets}")
        }
        (Some(plan), _) => {
            bail!("the plan comes before its targets: assay run {plan} {}", without_secret(&args.plan))
        }
        (None, None) if !is_plan(&args.plan) && looks_like_target(&args.plan) => {
            let target = without_secret(&args.plan);
            bail!(
                "which plan? assay run vmware {target} --quick runs the forum's tests; assay suites lists more"
            )
        }
        (None, None) if !args.map.is_empty() => Ok(()),
        (None, None) => bail!("{}", crate::foreign::no_target(&args.plan)),
        (None, Some(_)) => Ok(()),
    }
}

/// What the command line changes in a plan.
#[derive(Default)]
pub(crate) struct Choice<'c> {
    pub(crate) set: &'c [String],
    pub(crate) rate: Option<PerSecond>,
    pub(crate) only: &'c [String],
    pub(crate) size: Option<SizeSpec>,
    pub(crate) seed: Option<u64>,
    pub(crate) pace: StepLength,
    /// The plan, where it is another tool's.
    pub(crate) imported: Option<&'c ImportedPlan>,
    pub(crate) until: Option<Tolerance>,
    pub(crate) at_most: Option<Nanos>,
    pub(crate) precondition: Option<&'c str>,
}

impl Choice<'_> {
    /// Returns true if tests do not run as the plan says.
    pub(crate) fn changes_load(&self) -> bool {
        let has_words = !self.set.is_empty() || !self.only.is_empty() || self.precondition.is_some();
        let has_values = self.rate.is_some() || self.size.is_some() || self.until.is_some();
        has_words || has_values || self.at_most.is_some() || self.pace == StepLength::Quick
    }
}

/// Whether steps are shortened.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepLength {
    #[default]
    AsWritten,
    Quick,
}

/// Returns the plan or suite of that name, with the changes of the command line.
pub(crate) fn resolve(name: &str, choice: &Choice<'_>) -> anyhow::Result<Plan> {
    Ok(file(name, choice)?.resolve(&overrides(choice)?)?)
}

pub(crate) fn file(name: &str, choice: &Choice<'_>) -> anyhow::Result<PlanFile> {
    match choice.imported {
        Some(imported) => Ok(PlanFile::parse(name, &imported.plan)?),
        None => plan_file(name),
    }
}

/// Returns the changes of the command line as a plan takes them.
pub(crate) fn overrides(choice: &Choice<'_>) -> anyhow::Result<Overrides> {
    let mut overrides = Overrides::default();
    for assignment in choice.set {
        overrides.set(assignment)?;
    }
    if let Some(rate) = choice.rate {
        overrides.open_loop(rate)?;
    }
    overrides.until(choice.until, choice.at_most)?;
    if let Some(times) = choice.precondition {
        overrides.precondition(times)?;
    }
    (overrides.size, overrides.seed) = (choice.size, choice.seed);
    (overrides.quick, overrides.only) = (choice.pace == StepLength::Quick, choice.only.to_vec());
    Ok(overrides)
}

fn addresses(targets: &[String]) -> anyhow::Result<Vec<Address>> {
    let address = |t: &String| {
        t.parse()
            .map_err(|error| crate::discovery::explain(t, error))
            .with_context(|| format!("target `{}`", without_secret(t)))
    };
    targets.iter().map(address).collect()
}

/// Refuses before the run what would fail after it, and targets and reports that would overwrite the store. Returns
/// where the report goes.
pub(crate) fn check_paths(args: &RunArgs, targets: &[String]) -> anyhow::Result<Option<Output>> {
    check_output(args.output.as_deref(), targets, &args.store, args.view.form())
}

/// The same for any verb that runs a plan.
pub(crate) fn check_output(
    output: Option<&Path>,
    targets: &[String],
    store: &StoreArgs,
    form: Form,
) -> anyhow::Result<Option<Output>> {
    let targets = addresses(targets)?;
    refuse_store(&targets, store)?;
    let Some(path) = output else { return Ok(None) };
    let output = Output::check_named(path, Kept::of(store, &targets), None)?;
    if form != Form::Text && output.is_stdout() {
        bail!("-o - and the format both print to standard output; give the report a file");
    }
    Ok(Some(output))
}

/// Refuses the store as a target, under any of its names.
pub(crate) fn refuse_store(targets: &[Address], store: &StoreArgs) -> anyhow::Result<()> {
    let kept = Kept::of(store, &[]);
    for address in targets {
        if matches!(address, Address::Path(path) if kept.has(path)) {
            bail!("{address} is the store of runs; choose another target or another --store");
        }
    }
    Ok(())
}

fn prepare(
    args: &IoArgs,
    order: &Order<'_>,
    addresses: &[Address],
    stop: &StopSignal,
    progress: &mut Progress,
) -> anyhow::Result<PreparedTargets> {
    let options = PrepareOptions {
        io: match args.io {
            Io::Auto => IoChoice::Auto,
            Io::Uring => IoChoice::Uring,
            Io::Psync => IoChoice::Psync,
        },
        caching: if args.cached { Caching::Cached } else { Caching::Direct },
        durability: if args.sync { Durability::Sync } else { Durability::Device },
        overwrite: args.overwrite.clone(),
        blank: if args.not_blank { BlankChoice::NotRequired } else { BlankChoice::Required },
        changes: order.diagnosis.as_ref().map_or(Changes::AsNeeded, |budget| budget.changes),
        fill: if args.no_fill { FillChoice::Never } else { FillChoice::WhereNeeded },
        chap_secret: crate::secret::ask(addresses)?,
        too_small: order.too_small,
        opening: || enter(Stage::Opening),
    };
    let host = assay_host::host_facts();
    let open = assay_prepare::open(&order.plan, addresses, &options, &host).map_err(|error| match error {
        error @ PrepareError::NotUndone { .. } => Failed::new(Exit::Errors, error).into(),
        error => anyhow::Error::new(error),
    })?;
    if let Err(misfit) = assay_engine::check_fit(&order.plan, &run_targets(open.targets())) {
        let left = open.abandon();
        return Err(match left.is_empty() {
            true => misfit.into(),
            false => {
                let says = format!("{misfit}; earlier changes could not be undone: {}", left.join("; "));
                Failed::new(Exit::Errors, anyhow::Error::msg(says)).into()
            }
        });
    }
    enter(Stage::Filling);
    let watch = Sampler::start(Watched::default(), Instant::now(), Duration::from_secs(1));
    let filled = open.fill(&|| stop.is_set(), &mut |p| progress.fill(p)).map(|mut targets| {
        targets.warnings.extend(gap_in_fill(&watch.gaps()));
        targets
    });
    progress.filled();
    // From here on targets have been written to, whatever failed.
    filled.map_err(|error| match error {
        PrepareError::Interrupted { .. } => Failed::new(Exit::Interrupted, error).into(),
        error => Failed::new(Exit::Errors, error).into(),
    })
}

fn header(store: &Store, plan: Plan, targets: &PreparedTargets) -> anyhow::Result<RunHeader> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started_unix_ms = u64::try_from(now.as_millis()).context("the clock is far off")?;
    let random = u64::from(now.subsec_nanos()) << 32 | u64::from(std::process::id());
    Ok(RunHeader {
        run: store.new_run_id(started_unix_ms, random)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        plan,
        targets: targets.facts(),
        host: assay_host::host_facts(),
        array: None,
        stated: StatedMemory::default(),
        imported: None,
        setting: assay_record::RunSetting::default(),
        diagnosis: None,
    })
}

/// The result of a run.
struct Measured {
    collector: Collector,
    /// Why the run ended early, or is not stored. The collector has what was measured all the same.
    failures: Vec<anyhow::Error>,
    is_stored: bool,
}

/// Runs the plan; every event goes to the store, to the summary and to the display.
fn measure(
    mut keeper: Keeper,
    header: &RunHeader,
    (targets, ready): (&mut PreparedTargets, &RunTargets),
    simulated: &SimulatedArrays,
    (stop, io): (StopSignal, &IoArgs),
    mut progress: Progress,
) -> Measured {
    let enough = EnoughSignal::default();
    let collector = RefCell::new(Collector::new(header));
    let mut steps_ended = 0;
    // Why the step that begins must not write to its targets. Its workers find it where they open them.
    let refused: Mutex<Option<OpenError>> = Mutex::default();
    let warnings = std::mem::take(&mut targets.warnings);
    let mut take = |event: &Event| {
        if let Err(changed) = follow_step(targets, &header.plan, &event.what) {
            *lock(&refused) = Some(changed);
        }
        let mut collector = collector.borrow_mut();
        collector.add(event);
        if is_enough(event, &collector) {
            enough.set();
        }
        progress.event(event, &collector);
        keeper.append(event);
        keep_digest(&keeper, header, &collector, (event, &mut steps_ended));
    };
    let mut sink = |event: Event| {
        if matches!(event.what, RunEvent::Ended(_)) && terminal_is_closed() {
            take(&Event { at_ns: event.at_ns, what: RunEvent::Warning(closed_terminal()) });
        }
        take(&event);
        Ok(())
    };
    let has_simulated = header.targets.iter().any(|t| t.member.kind == MemberKind::Simulated);
    let cpus = io.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default();
    let enough = enough.clone();
    let mut chooser = Chooser::new(header, &collector, stop.clone());
    let mut rounds = Rounds::new(&header.plan, &collector);
    let mut next = || if header.diagnosis.is_some() { chooser.next() } else { rounds.next() };
    let is_chosen = header.diagnosis.is_some() || has_rounds(&header.plan);
    let request = RunRequest { header: header.clone(), targets: ready, warnings, stop, enough, cpus };
    let open = |r: &OpenRequest<'_>| refusal(&refused).and_then(|()| assay_target::open(r));
    let open_simulated = |r: &OpenRequest<'_>| refusal(&refused).and_then(|()| simulated.open(r));
    // Only runs that simulate pay for the choice between the two in every call.
    let result = match (has_simulated, is_chosen) {
        (true, true) => assay_engine::run_ordered(request, &open_simulated, &mut next, &mut sink),
        (false, true) => assay_engine::run_ordered(request, &open, &mut next, &mut sink),
        (true, false) => assay_engine::run_with(request, &open_simulated, &mut sink),
        (false, false) => assay_engine::run_with(request, &open, &mut sink),
    };
    progress.finish();
    let collector = collector.into_inner();
    let failed = result.err().map(anyhow::Error::new);
    let unkept = keeper.finish().map(anyhow::Error::msg);
    let is_stored = unkept.is_none();
    let failures = failed.into_iter().chain(unkept).map(|error| Failed::new(Exit::Errors, error).into());
    Measured { collector, failures: failures.collect(), is_stored }
}

/// Notes the steps that write to targets. Fails if a step must not begin, as another program has changed a target.
fn follow_step(targets: &mut PreparedTargets, plan: &Plan, what: &RunEvent) -> Result<(), OpenError> {
    match what {
        RunEvent::StepStarted(step) => return targets.step_started(plan, *step),
        // After any other end something may still be in flight.
        RunEvent::StepEnded(end) if end.reason == StepReason::Done => targets.step_ended(plan, end.step),
        _ => {}
    }
    Ok(())
}

/// Fails in the first worker of a step that must not begin, which ends the run.
fn refusal(refused: &Mutex<Option<OpenError>>) -> Result<(), OpenError> {
    lock(refused).take().map_or(Ok(()), Err)
}

fn lock(refused: &Mutex<Option<OpenError>>) -> MutexGuard<'_, Option<OpenError>> {
    // Nothing panics while it is locked.
    refused.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the run in short after steps 1, 2, 4, 8 and so on, so that a sweep of a thousand steps is not summarized a
/// thousand times, and at the end of the run. No load is measured then. Only at the end it is compared with what its
/// array should do, as simulations take CPU time that the next step needs, and its extract is kept for its page.
fn keep_digest(keeper: &Keeper, header: &RunHeader, collector: &Collector, at: (&Event, &mut u32)) {
    let (event, steps_ended) = at;
    match event.what {
        RunEvent::StepEnded(_) => {
            *steps_ended += 1;
            if steps_ended.is_power_of_two() {
                let summary = collector.summary();
                let findings = assay_analysis::findings(header, &summary);
                keeper.keep_digest(&digest(header, &summary, &findings, None, headline(header, &summary)));
            }
        }
        RunEvent::Ended(_) => {
            let summary = collector.summary();
            // An array that is not understood is reported where the result is printed.
            let (findings, judgement) = judged(header, &summary).unwrap_or_default();
            let diagnosed = headline(header, &summary);
            keeper.keep_digest(&digest(header, &summary, &findings, judgement.as_ref(), diagnosed));
            keeper.keep_extract(&collector.extract());
        }
        _ => {}
    }
}

/// Whether the step that an interval is of knows what its plan wants to know.
fn is_enough(event: &Event, collector: &Collector) -> bool {
    let RunEvent::Interval(interval) = &event.what else { return false };
    collector.is_enough(StepId { test: interval.test, step: interval.step })
}

fn closed_terminal() -> Warning {
    Warning {
        rule: "terminal-closed".into(),
        says: "The terminal was closed while the run went on (SIGHUP), which stopped it.".into(),
        next: "Start a long run in tmux or screen, or with nohup.".into(),
    }
}

/// How a result is printed.
#[derive(Clone, Copy)]
pub(crate) struct Telling<'t> {
    pub(crate) note: Option<&'t str>,
    pub(crate) form: Form,
    pub(crate) options: TextOptions,
    /// The run against the baseline of its plan and target.
    pub(crate) baseline: Option<&'t Held>,
}

/// Writes the report, then prints the result: a closed terminal must not cost the report.
pub(crate) fn tell(telling: Telling<'_>, done: &Done, output: Option<&Output>) -> anyhow::Result<Exit> {
    let Done { header, collector, truths, .. } = done;
    let summary = collector.summary();
    let (findings, judgement) = judged(header, &summary)?;
    let meta = assay_report::Meta {
        label: done.label.as_deref(),
        note: telling.note,
        lost: None,
        judgement: judgement.as_ref(),
        baseline: telling.baseline,
    };
    let page = Page { header, summary: &summary, findings: &findings, meta };
    // A report that cannot be written must not cost the result on the terminal.
    let written = output.map_or(Ok(()), |output| page.write(output, "report"));
    match telling.form {
        Form::Json => {
            let mut document = page.document();
            if !truths.is_empty() {
                document["simulated_truth"] = truth::json(header, &summary, truths);
            }
            say(&format!("{document:#}\n"))?;
        }
        form => {
            let mut text = page.printed(form, telling.options);
            if form == Form::Text {
                text.push_str(&truth::text(header, &summary, truths));
            }
            match output.is_some_and(Output::is_stdout) {
                true => note!("{}", text.trim_end()),
                false => say(&text)?,
            }
            if done.is_stored {
                let says = format!("stored as run {}: assay show {0}, assay report {0}", header.run);
                note!("{}", assay_report::text::wrap(&says, error_options().width, "  "));
            }
        }
    }
    written.map(|()| exit_of(&summary)).map_err(|error| Failed::new(Exit::Errors, error).into())
}

/// Returns the exit code of a run.
pub(crate) fn exit_of(summary: &RunSummary) -> Exit {
    let has_errors = summary.steps.iter().any(|s| s.errors > 0 || s.mismatch_count > 0);
    match summary.status {
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Failed => Exit::Errors,
        _ if has_errors => Exit::Errors,
        _ => Exit::Done,
    }
}
