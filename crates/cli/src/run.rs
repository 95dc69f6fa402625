//! `assay run`: from what was typed to a stored, printed result.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_analysis::{Collector, Finding, Judgement, RunStatus, RunSummary, findings};
use assay_engine::{
    Closed, IoChoice, PrepareError, PrepareOptions, PreparedTargets, RunRequest, StopSignal, TooSmall,
};
use assay_host::AwakeGuard;
use assay_record::{Event, MemberKind, RunHeader};
use assay_spec::units::SizeSpec;
use assay_spec::{Address, Overrides, Plan, without_secret};
use assay_store::{RunWriter, Store};
use assay_target::nfs::{self, Removal};
use assay_target::{Caching, Durability};

use crate::args::{Io, IoArgs, RunArgs};
use crate::open_store::open_store;
use crate::output::{check_report_path, is_same, note, text_options, write_report};
use crate::progress::{Progress, note_above};
use crate::simulated::SimulatedArrays;
use crate::suites::plan_file;
use crate::targets::array_of_run;
use crate::truth::{self, Truth};
use crate::{Exit, Failed, say};

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let order = Order {
        plan: plan(args)?,
        targets: &args.targets,
        label: args.label.as_deref(),
        note: args.note.as_deref(),
        array: None,
        too_small: too_small(args.size),
    };
    let store = open_store(&args.store)?;
    check_paths(args, &store)?;
    let array = array_of_run(args.array.as_deref(), &args.targets, &store)?;
    let order = Order { array, ..order };
    let mut done = execute(order, &args.io, &store, &stop_on_signals()?)?;
    let exit = tell(args, &done)?;
    match done.failed.take() {
        Some(failed) => Err(failed.into()),
        None => Ok(exit),
    }
}

/// What somebody typed must be there; a suite's own default must not keep small targets from being measured.
pub(crate) fn too_small(size: Option<SizeSpec>) -> TooSmall {
    if size.is_some() { TooSmall::Refuse } else { TooSmall::UseAll }
}

/// What is to be run, and under which name it is kept.
pub(crate) struct Order<'o> {
    pub(crate) plan: Plan,
    pub(crate) targets: &'o [String],
    pub(crate) label: Option<&'o str>,
    pub(crate) note: Option<&'o str>,
    /// Text of the array that the targets are on.
    pub(crate) array: Option<String>,
    /// What becomes of a target that is smaller than the plan asks for.
    pub(crate) too_small: TooSmall,
}

/// A run that is over.
pub(crate) struct Done {
    pub(crate) header: RunHeader,
    pub(crate) collector: Collector,
    /// What simulated arrays saw, by step.
    pub(crate) truths: Vec<Truth>,
    /// Why the run ended before its time; what was measured until then is in the collector all the same.
    pub(crate) failed: Option<Failed>,
}

/// Prepares the targets, runs the plan on them with every event stored, and leaves them as asked.
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
        measure(writer, &header, &mut targets, &simulated, stop.clone(), progress);
    drop(awake);
    let paths = created_paths(&targets);
    let closed = targets.close()?;
    for warning in &closed.warnings {
        note!("{}", format!("{} {}", warning.says, warning.next).trim_end());
    }
    if io.remove {
        remove(&paths)?;
        remove_on_servers(&closed);
    }
    Ok(Done { header, collector, truths: simulated.truths(), failed })
}

fn simulated_arrays(addresses: &[Address]) -> anyhow::Result<SimulatedArrays> {
    let names: Vec<&str> = addresses
        .iter()
        .filter_map(|a| match a {
            Address::Sim { array } => Some(array.as_str()),
            Address::Path(_) | Address::Null { .. } | Address::Iscsi(_) | Address::Nfs(_) => None,
        })
        .collect();
    SimulatedArrays::read(&names)
}

fn plan(args: &RunArgs) -> anyhow::Result<Plan> {
    let pace = if args.quick { StepLength::Quick } else { StepLength::AsWritten };
    let choice = Choice { set: &args.set, only: &args.only, size: args.size, seed: args.seed, pace };
    resolve(&args.plan, &choice)
}

/// What the command line says about a plan.
#[derive(Default)]
pub(crate) struct Choice<'c> {
    pub(crate) set: &'c [String],
    pub(crate) only: &'c [String],
    pub(crate) size: Option<SizeSpec>,
    pub(crate) seed: Option<u64>,
    pub(crate) pace: StepLength,
}

/// How long steps take.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepLength {
    #[default]
    AsWritten,
    Quick,
}

/// The plan or suite of that name, with what the command line changes in it.
pub(crate) fn resolve(name: &str, choice: &Choice<'_>) -> anyhow::Result<Plan> {
    let mut overrides = Overrides::default();
    for assignment in choice.set {
        overrides.set(assignment)?;
    }
    (overrides.size, overrides.seed) = (choice.size, choice.seed);
    (overrides.quick, overrides.only) = (choice.pace == StepLength::Quick, choice.only.to_vec());
    Ok(plan_file(name)?.resolve(&overrides)?)
}

fn addresses(targets: &[String]) -> anyhow::Result<Vec<Address>> {
    let address = |t: &String| {
        t.parse()
            .map_err(|error| crate::discovery::explain(t, error))
            .with_context(|| format!("target `{}`", without_secret(t)))
    };
    targets.iter().map(address).collect()
}

/// What would be refused after the run is refused before it; and the store must survive whatever is typed.
fn check_paths(args: &RunArgs, store: &Store) -> anyhow::Result<()> {
    let mut kept: Vec<PathBuf> = ["", "-wal", "-shm", "-live"].map(|end| beside(store.path(), end)).into();
    for address in &addresses(&args.targets)? {
        let Address::Path(path) = address else { continue };
        if kept[..4].iter().any(|kept| is_same(kept, path)) {
            bail!("{address} is the store of runs; choose another target, or another --store");
        }
        kept.push(path.clone());
    }
    if args.json && is_stdout(args) {
        bail!("--json and -o - both print to standard output; give the report a file");
    }
    args.output.as_deref().map_or(Ok(()), |output| check_report_path(output, &kept))
}

fn is_stdout(args: &RunArgs) -> bool {
    args.output.as_deref() == Some(Path::new("-"))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The first signal asks the run to end, the second ends the program.
pub(crate) fn stop_on_signals() -> anyhow::Result<StopSignal> {
    let stop = StopSignal::default();
    let handler = {
        let stop = stop.clone();
        move || {
            if stop.is_set() {
                note!("\nstopped; what is stored of the run is marked partial");
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
        fill_devices: !args.no_fill,
        chap_secret: crate::secret::ask(addresses)?,
        too_small: order.too_small,
    };
    let host = assay_host::host_facts();
    let prepared =
        assay_engine::prepare(&order.plan, addresses, &options, &host, stop, &mut |p| progress.fill(p));
    progress.filled();
    prepared.map_err(|error| match error {
        PrepareError::Interrupted { .. } => Failed::new(Exit::Interrupted, error).into(),
        PrepareError::Fill { .. } => Failed::new(Exit::Errors, error).into(),
        error => error.into(),
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
    })
}

/// What a run brought.
struct Measured {
    collector: Collector,
    /// Why the run ended before its time; what was measured until then is in the collector all the same.
    failed: Option<Failed>,
}

/// Runs, with every event going to the store, to the summary and to the progress line.
fn measure(
    mut writer: RunWriter,
    header: &RunHeader,
    targets: &mut PreparedTargets,
    simulated: &SimulatedArrays,
    stop: StopSignal,
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
    let has_simulated = targets.facts().iter().any(|t| t.member.kind == MemberKind::Simulated);
    let request = RunRequest { header: header.clone(), targets, warnings, stop };
    // Only runs that simulate pay for the choice between the two in every call.
    let result = match has_simulated {
        true => assay_engine::run_with(request, &|r| simulated.open(r), &mut sink),
        false => assay_engine::run(request, &mut sink),
    };
    progress.finish();
    Measured { collector, failed: result.err().map(|error| Failed::new(Exit::Errors, error)) }
}

/// An error with its causes, each said once.
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

fn created_paths(targets: &PreparedTargets) -> Vec<String> {
    targets.facts().into_iter().map(|t| t.member.path).filter(|path| !path.is_empty()).collect()
}

/// Only files that carry Assay's mark of having created them are removed.
fn remove(paths: &[String]) -> anyhow::Result<()> {
    for path in paths {
        if matches!(path.parse(), Ok(Address::Nfs(_))) {
            continue;
        }
        let path = Path::new(path);
        if path.is_file()
            && !assay_target::file::remove(path)
                .with_context(|| format!("cannot remove {}", path.display()))?
        {
            note!("kept {}: Assay did not create it", path.display());
        }
    }
    Ok(())
}

/// As above, for files on NFS servers. A server that is gone must not take the results with it.
fn remove_on_servers(closed: &Closed) {
    for member in &closed.nfs_members {
        let why = match nfs::remove(member) {
            Ok(Removal::Removed) => continue,
            Ok(Removal::NotOurs) => "Assay did not create it".to_owned(),
            Ok(Removal::Elsewhere) => "its name leads to another file by now, or to none".to_owned(),
            Ok(Removal::InUse) => "another run uses it".to_owned(),
            Err(error) => error.to_string(),
        };
        note!("kept {}: {why}", member.address);
    }
    for (address, why) in &closed.nfs_kept {
        note!("kept {address}: {why}");
    }
}

/// The report first: whatever becomes of the terminal, it was asked for.
fn tell(args: &RunArgs, done: &Done) -> anyhow::Result<Exit> {
    let Done { header, collector, truths, .. } = done;
    let summary = collector.summary();
    let (findings, judgement) = judged(header, &summary)?;
    let meta = assay_report::Meta {
        label: args.label.as_deref(),
        note: args.note.as_deref(),
        judgement: judgement.as_ref(),
    };
    if let Some(path) = &args.output {
        write_report(path, header, &summary, &findings, meta)?;
    }
    if args.json {
        let mut document = assay_report::json::document(header, &summary, &findings, meta);
        if !truths.is_empty() {
            document["simulated_truth"] = truth::json(header, &summary, truths);
        }
        say(&format!("{document:#}\n"))?;
    } else {
        let mut text =
            assay_report::text::table_with(header, &summary, &findings, judgement.as_ref(), text_options());
        text.push_str(&truth::text(header, &summary, truths));
        if is_stdout(args) {
            note!("{}", text.trim_end())
        } else {
            say(&text)?
        }
        note!("stored as run {}: assay show {0}, assay report {0}", header.run);
    }
    Ok(exit_of(&summary))
}

/// Every finding, the gravest first, and what the array in the header lets one say.
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

/// What the shell is told of a run.
pub(crate) fn exit_of(summary: &RunSummary) -> Exit {
    let has_errors = summary.steps.iter().any(|s| s.errors > 0 || s.mismatch_count > 0);
    match summary.status {
        RunStatus::Interrupted => Exit::Interrupted,
        RunStatus::Failed => Exit::Errors,
        _ if has_errors => Exit::Errors,
        _ => Exit::Done,
    }
}
