//! `assay run`: from what was typed to a stored, printed result.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_analysis::{Collector, RunStatus, RunSummary, findings};
use assay_engine::{
    IoChoice, PrepareError, PrepareOptions, PreparedTargets, RunRequest, StopSignal, TooSmall,
};
use assay_host::AwakeGuard;
use assay_record::{Event, RunHeader};
use assay_report::text::{Color, TextOptions};
use assay_spec::{Address, Overrides, Plan};
use assay_store::Store;
use assay_target::{Caching, Durability};

use crate::args::{Io, RunArgs};
use crate::progress::Progress;
use crate::runs::open_store;
use crate::suites::plan_file;
use crate::{Exit, Failed, say};

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    let addresses = addresses(&args.targets)?;
    args.output.as_deref().map_or(Ok(()), check_output)?;
    let store = open_store(&args.store)?;
    let stop = stop_on_signals()?;
    let mut progress = Progress::new(&plan);
    let mut targets = prepare(args, &plan, &addresses, &stop, &mut progress)?;
    let awake = args.keep_awake.then(AwakeGuard::start).transpose()?;
    let header = header(&store, plan, &targets)?;
    let result = measure(args, &store, header, &mut targets, stop, progress);
    drop(awake);
    let paths = created_paths(&targets);
    targets.close()?;
    if args.remove {
        remove(&paths)?;
    }
    let (header, collector) = result?;
    tell(args, &header, &collector)
}

fn plan(args: &RunArgs) -> anyhow::Result<Plan> {
    let mut overrides = Overrides::default();
    for assignment in &args.set {
        overrides.set(assignment)?;
    }
    (overrides.size, overrides.seed) = (args.size, args.seed);
    (overrides.quick, overrides.only) = (args.quick, args.only.clone());
    Ok(plan_file(&args.plan)?.resolve(&overrides)?)
}

fn addresses(targets: &[String]) -> anyhow::Result<Vec<Address>> {
    targets.iter().map(|t| t.parse().with_context(|| format!("target `{t}`"))).collect()
}

/// A report that cannot be written is told before the run, not hours later.
fn check_output(path: &Path) -> anyhow::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        bail!("cannot write the report to {}: there is no directory {}", path.display(), directory.display());
    }
    if path.is_dir() {
        bail!("cannot write the report to {}: it is a directory; name a file in it", path.display());
    }
    Ok(())
}

/// The first signal asks the run to end, the second ends the program.
fn stop_on_signals() -> anyhow::Result<StopSignal> {
    let stop = StopSignal::default();
    let handler = {
        let stop = stop.clone();
        move || {
            if stop.is_set() {
                std::process::exit(Exit::Interrupted as i32);
            }
            stop.stop();
            eprintln!(
                "\nstopping: I/O in flight is awaited, what was measured is kept; again to stop at once"
            );
        }
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")?;
    Ok(stop)
}

fn prepare(
    args: &RunArgs,
    plan: &Plan,
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
        // What somebody typed must be there; a suite's own default must not keep small devices from being measured.
        chap_secret: crate::secret::ask(addresses)?,
        too_small: if args.size.is_some() { TooSmall::Refuse } else { TooSmall::UseAll },
    };
    let host = assay_host::host_facts();
    let prepared = assay_engine::prepare(plan, addresses, &options, &host, stop, &mut |p| progress.fill(p));
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
    })
}

/// Runs, with every event going to the store, to the summary and to the progress line.
fn measure(
    args: &RunArgs,
    store: &Store,
    header: RunHeader,
    targets: &mut PreparedTargets,
    stop: StopSignal,
    mut progress: Progress,
) -> anyhow::Result<(RunHeader, Collector)> {
    let mut writer = store.begin_run(&header, args.label.as_deref(), args.note.as_deref())?;
    let mut collector = Collector::new(&header);
    let mut is_first = true;
    let mut sink = |event: Event| {
        // The store wrote the first event itself when it began the run.
        if !std::mem::take(&mut is_first) {
            writer.append(&event).map_err(|e| e.to_string())?;
        }
        collector.add(&event);
        progress.event(&event);
        Ok(())
    };
    let warnings = std::mem::take(&mut targets.warnings);
    let request = RunRequest { header: header.clone(), targets, warnings, stop };
    let result = assay_engine::run(request, &mut sink);
    progress.finish();
    result.map_err(|error| Failed::new(Exit::Errors, error))?;
    Ok((header, collector))
}

fn created_paths(targets: &PreparedTargets) -> Vec<String> {
    targets.facts().into_iter().map(|t| t.member.path).filter(|path| !path.is_empty()).collect()
}

/// Only files that carry Assay's mark of having created them are removed.
fn remove(paths: &[String]) -> anyhow::Result<()> {
    for path in paths {
        let path = Path::new(path);
        if path.is_file()
            && !assay_target::file::remove(path)
                .with_context(|| format!("cannot remove {}", path.display()))?
        {
            eprintln!("kept {}: Assay did not create it", path.display());
        }
    }
    Ok(())
}

fn tell(args: &RunArgs, header: &RunHeader, collector: &Collector) -> anyhow::Result<Exit> {
    let summary = collector.summary();
    let findings = findings(header, &summary);
    let meta = assay_report::Meta { label: args.label.as_deref(), note: args.note.as_deref() };
    if args.json {
        say(&format!("{:#}\n", assay_report::json::document(header, &summary, &findings, meta)))?;
    } else {
        say(&assay_report::text::table(header, &summary, &findings, text_options()))?;
        eprintln!("stored as run {}: assay show {0}, assay report {0} -o report.html", header.run);
    }
    if let Some(path) = &args.output {
        crate::runs::write_report(path, header, &summary, &findings, meta)?;
    }
    Ok(exit_of(&summary))
}

/// Colours and width as the terminal has them; plain text into files and pipes.
pub(crate) fn text_options() -> TextOptions {
    let is_terminal = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((terminal_size::Width(width), _)) if is_terminal => {
            TextOptions { color: Color::Ansi, width: width.into() }
        }
        _ => TextOptions::default(),
    }
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
