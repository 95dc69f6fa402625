//! `assay run`: from the command line to a stored and printed result.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_analysis::{Collector, Finding, Judgement, RunStatus, RunSummary, findings, gap_in_fill};
use assay_engine::{RunRequest, RunTargets, StopSignal};
use assay_host::{AwakeGuard, Sampler, Watched};
use assay_interop::ImportedPlan;
use assay_prepare::{
    BlankChoice, Closed, FillChoice, IoChoice, PrepareError, PrepareOptions, PreparedTargets, TooSmall,
};
use assay_record::{Event, MemberKind, RunHeader};
use assay_sim::{SimulatedArrays, Truth};
use assay_spec::suites::suite;
use assay_spec::units::{PerSecond, SizeSpec};
use assay_spec::{Address, Overrides, Plan, PlanFile, without_secret};
use assay_store::{RunWriter, Store};
use assay_target::{Caching, Durability};

use crate::args::{Form, Io, IoArgs, RunArgs};
use crate::foreign::{ForeignOrder, is_foreign};
use crate::look::looks_like_target;
use crate::open_store::open_store;
use crate::output::{check_report_path, check_same_run, error_options, is_same, note};
use crate::progress::{Progress, note_above};
use crate::render::{Page, Rendered as _};
use crate::suites::plan_file;
use crate::targets::array_of_run;
use crate::truth;
use crate::{Exit, Failed, say};

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    check_order(args)?;
    let ForeignOrder { imported, targets } = crate::foreign::order(args)?;
    let order = Order {
        plan: plan(args, imported.as_ref())?,
        targets: &targets,
        label: args.label.as_deref(),
        note: args.note.as_deref(),
        array: None,
        too_small: too_small(args.size),
    };
    let store = open_store(&args.store)?;
    check_paths(args, &targets, &store)?;
    let array = array_of_run(args.array.as_deref(), &targets, &store)?;
    let order = Order { array, ..order };
    let mut done = execute(order, &args.io, &store, &stop_on_signals()?)?;
    let exit = tell(args, &done)?;
    match done.failed.take() {
        Some(failed) => Err(failed.into()),
        None => Ok(exit),
    }
}

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
    /// What to do if a target is smaller than the plan asks for.
    pub(crate) too_small: TooSmall,
}

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) header: RunHeader,
    pub(crate) collector: Collector,
    /// What simulated arrays saw, by step.
    pub(crate) truths: Vec<Truth>,
    /// Why the run ended early. The collector has what was measured until then.
    pub(crate) failed: Option<Failed>,
}

/// Prepares the targets, runs the plan with every event stored, and closes or removes the targets.
pub(crate) fn execute(
    order: Order<'_>,
    io: &IoArgs,
    store: &Store,
    stop: &StopSignal,
) -> anyhow::Result<Done> {
    let addresses = addresses(order.targets)?;
    let simulated = simulated_arrays(&addresses)?;
    let mut progress = Progress::new(&order.plan);
    let mut targets = prepare(io, &order, &addresses, stop, &mut progress)?;
    let awake = io.keep_awake.then(AwakeGuard::start).transpose()?;
    let header = RunHeader { array: order.array, ..header(store, order.plan, &targets)? };
    let writer = store.begin_run(&header, order.label, order.note)?;
    let Measured { collector, failed } =
        measure(writer, &header, &mut targets, &simulated, (stop.clone(), io), progress);
    drop(awake);
    // A target that fails now must not keep the results from being printed.
    match targets.close() {
        Ok(closed) => tidy(closed, io)?,
        Err(error) => {
            note!("{:#}; the next run refuses the file or fills it again", anyhow::Error::new(error));
        }
    }
    Ok(Done { header, collector, truths: simulated.truths(), failed })
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

fn plan(args: &RunArgs, imported: Option<&ImportedPlan>) -> anyhow::Result<Plan> {
    let pace = if args.quick { StepLength::Quick } else { StepLength::AsWritten };
    let choice = Choice {
        set: &args.set,
        rate: args.rate,
        only: &args.only,
        size: args.size,
        seed: args.seed,
        pace,
        imported,
    };
    resolve(&args.plan, &choice)
}

/// The plan comes first: a target in its place, or no target at all, is answered with the command that was meant.
fn check_order(args: &RunArgs) -> anyhow::Result<()> {
    let is_plan = |word: &str| suite(word).is_some() || word.ends_with(".toml") || is_foreign(word);
    let plan_first = args.targets.iter().find(|word| is_plan(word)).filter(|_| !is_plan(&args.plan));
    match (plan_first, args.targets.first()) {
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
        (None, None) => bail!("no TARGET is given; for example: assay run {} ./t.dat", args.plan),
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
    let mut overrides = Overrides::default();
    for assignment in choice.set {
        overrides.set(assignment)?;
    }
    if let Some(rate) = choice.rate {
        overrides.open_loop(rate)?;
    }
    (overrides.size, overrides.seed) = (choice.size, choice.seed);
    (overrides.quick, overrides.only) = (choice.pace == StepLength::Quick, choice.only.to_vec());
    let file = match choice.imported {
        Some(imported) => PlanFile::parse(name, &imported.plan)?,
        None => plan_file(name)?,
    };
    Ok(file.resolve(&overrides)?)
}

fn addresses(targets: &[String]) -> anyhow::Result<Vec<Address>> {
    let address = |t: &String| {
        t.parse()
            .map_err(|error| crate::discovery::explain(t, error))
            .with_context(|| format!("target `{}`", without_secret(t)))
    };
    targets.iter().map(address).collect()
}

/// Refuses before the run what would fail after it, and targets and reports that would overwrite the store.
fn check_paths(args: &RunArgs, targets: &[String], store: &Store) -> anyhow::Result<()> {
    let mut kept: Vec<PathBuf> = ["", "-wal", "-shm", "-live"].map(|end| beside(store.path(), end)).into();
    for address in &addresses(targets)? {
        let Address::Path(path) = address else { continue };
        if kept[..4].iter().any(|kept| is_same(kept, path)) {
            bail!("{address} is the store of runs; choose another target or another --store");
        }
        kept.push(path.clone());
    }
    if args.form.form() != Form::Text && is_stdout(args) {
        bail!("-o - and the format both print to standard output; give the report a file");
    }
    args.output
        .as_deref()
        .map_or(Ok(()), |output| check_report_path(output, &kept).and_then(|()| check_same_run(output, None)))
}

fn is_stdout(args: &RunArgs) -> bool {
    args.output.as_deref() == Some(Path::new("-"))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Installs the handler of Ctrl-C: the first signal asks the run to end, the second ends the program.
pub(crate) fn stop_on_signals() -> anyhow::Result<StopSignal> {
    let stop = StopSignal::default();
    let handler = {
        let stop = stop.clone();
        move || {
            if stop.is_set() {
                note!("\nstopped; the stored run is marked partial");
                std::process::exit(Exit::Interrupted as i32);
            }
            stop.stop();
            note_above("stopping: what was measured is kept; Ctrl-C again stops at once");
        }
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")?;
    Ok(stop)
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
        fill: if args.no_fill { FillChoice::Never } else { FillChoice::WhereNeeded },
        chap_secret: crate::secret::ask(addresses)?,
        too_small: order.too_small,
    };
    let host = assay_host::host_facts();
    let open = assay_prepare::open(&order.plan, addresses, &options, &host)?;
    if let Err(misfit) = assay_engine::check_fit(&order.plan, &run_targets(open.targets())) {
        open.abandon();
        return Err(misfit.into());
    }
    let watch = Sampler::start(Watched::default(), Instant::now(), Duration::from_secs(1));
    let filled = open.fill(&|| stop.is_set(), &mut |p| progress.fill(p)).map(|mut targets| {
        targets.warnings.extend(gap_in_fill(&watch.gaps()));
        targets
    });
    progress.filled();
    filled.map_err(|error| match error {
        PrepareError::Interrupted { .. } => Failed::new(Exit::Interrupted, error).into(),
        PrepareError::Fill { .. } => Failed::new(Exit::Errors, error).into(),
        error => error.into(),
    })
}

/// Prepared targets as the engine takes them.
pub(crate) fn run_targets(prepared: &PreparedTargets) -> RunTargets {
    let (io, memory_bytes) = (prepared.io, prepared.memory_bytes);
    RunTargets { members: prepared.members(), facts: prepared.facts(), io, memory_bytes }
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
        imported: None,
    })
}

/// The result of a run.
struct Measured {
    collector: Collector,
    /// Why the run ended early. The collector has what was measured until then.
    failed: Option<Failed>,
}

/// Runs the plan; every event goes to the store, to the summary and to the display.
fn measure(
    mut writer: RunWriter,
    header: &RunHeader,
    targets: &mut PreparedTargets,
    simulated: &SimulatedArrays,
    (stop, io): (StopSignal, &IoArgs),
    mut progress: Progress,
) -> Measured {
    let mut collector = Collector::new(header);
    let mut is_first = true;
    let mut sink = |event: Event| {
        collector.add(&event);
        progress.event(&event, &collector);
        // The store wrote the first event itself when it began the run.
        if std::mem::take(&mut is_first) { Ok(()) } else { writer.append(&event).map_err(|e| chain(&e)) }
    };
    let warnings = std::mem::take(&mut targets.warnings);
    let has_simulated = header.targets.iter().any(|t| t.member.kind == MemberKind::Simulated);
    let cpus = io.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default();
    let targets = run_targets(targets);
    let request = RunRequest { header: header.clone(), targets: &targets, warnings, stop, cpus };
    // Only runs that simulate pay for the choice between the two in every call.
    let result = match has_simulated {
        true => assay_engine::run_with(request, &|r| simulated.open(r), &mut sink),
        false => assay_engine::run(request, &mut sink),
    };
    progress.finish();
    Measured { collector, failed: result.err().map(|error| Failed::new(Exit::Errors, error)) }
}

/// Returns an error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let says = error.to_string();
        if !text.contains(&says) {
            text = format!("{text}: {says}");
        }
        cause = error.source();
    }
    text
}

/// Writes the report, then prints the result: a closed terminal must not cost the report.
fn tell(args: &RunArgs, done: &Done) -> anyhow::Result<Exit> {
    let Done { header, collector, truths, .. } = done;
    let summary = collector.summary();
    let (findings, judgement) = judged(header, &summary)?;
    let meta = assay_report::Meta {
        label: args.label.as_deref(),
        note: args.note.as_deref(),
        judgement: judgement.as_ref(),
    };
    let page = Page { header, summary: &summary, findings: &findings, meta };
    if let Some(path) = &args.output {
        page.write(path, "report")?;
    }
    match args.form.form() {
        Form::Json => {
            let mut document = page.document();
            if !truths.is_empty() {
                document["simulated_truth"] = truth::json(header, &summary, truths);
            }
            say(&format!("{document:#}\n"))?;
        }
        form => {
            let mut text = page.printed(form, args.explain.options());
            if form == Form::Text {
                text.push_str(&truth::text(header, &summary, truths));
            }
            match is_stdout(args) {
                true => note!("{}", text.trim_end()),
                false => say(&text)?,
            }
            let says = format!("stored as run {}: assay show {0}, assay report {0}", header.run);
            note!("{}", assay_report::text::wrap(&says, error_options().width, "  "));
        }
    }
    Ok(exit_of(&summary))
}

/// Returns every finding, the most severe first, and the judgement by the array in the header.
pub(crate) fn judged(
    header: &RunHeader,
    summary: &RunSummary,
) -> anyhow::Result<(Vec<Finding>, Option<Judgement>)> {
    let judgement = assay_analysis::judge(header, summary)?;
    let mut all = findings(header, summary);
    all.extend(judgement.iter().flat_map(|j| j.findings.clone()));
    all.sort_by_key(|f| std::cmp::Reverse(f.severity));
    Ok((all, judgement))
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
