//! The command line.

use std::path::PathBuf;

use assay_record::Price;
use assay_spec::Tolerance;
use assay_spec::units::{Nanos, PerSecond, SizeSpec};
use assay_store::StoreAddress;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

mod baseline;
mod curve;
mod diagnose;
mod fail_if;
mod groups;
mod hosts;
mod lab;
mod map;
mod model;
mod probe;
mod results;
mod series;
mod serve;
mod store;

pub(crate) use baseline::*;
pub(crate) use curve::*;
pub(crate) use diagnose::*;
pub(crate) use fail_if::*;
pub(crate) use groups::short as short_help;
pub(crate) use hosts::*;
pub(crate) use lab::*;
pub(crate) use map::*;
pub(crate) use model::*;
pub(crate) use probe::*;
pub(crate) use results::*;
pub(crate) use series::*;
pub(crate) use serve::*;
pub(crate) use store::*;

/// Put your storage to the test: measure files, disks, iSCSI LUNs and NFS exports with the suites people compare by.
///
/// assay TARGET shows what a target is and what to type next.
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 110, after_help = crate::exit::HELP)]
#[command(help_template = groups::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Whether to use colours. NO_COLOR in the environment switches them off.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal.
    #[default]
    Auto,
    /// Also into files and pipes.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a suite or a plan on one or several targets.
    Run(Box<RunArgs>),
    /// Find out what limits a load: experiments that each change one thing, until one explanation is probable enough.
    Diagnose(DiagnoseArgs),
    /// Find the highest rate of a target, then measure response times at 10 to 95 % of it: the load curve.
    Curve(CurveArgs),
    /// Look for caches in front of a target: their sizes, how much they absorb, whether a flush reaches the disk.
    ProbeCache(ProbeCacheArgs),
    /// Map a target by reading it: latency and throughput over its addresses, weak places, zones, a slow member.
    Map(MapArgs),
    /// List the suites that ship with Assay, or print one.
    Suites(SuitesArgs),
    /// Show what targets are, and whether they can be written to, without any load.
    Check(CheckArgs),
    /// Keep a journal of changes to a set-up: each step measured, with what else changed.
    Journal(JournalArgs),
    /// Find out which is the limit as the load grows: the tester, the host or the storage.
    Scale(ScaleArgs),
    /// Measure Assay itself: the cost of an I/O on a target that costs nothing.
    Overhead(OverheadArgs),
    /// List stored runs, newest first.
    Runs(RunsArgs),
    /// Show a stored run.
    Show(ShowArgs),
    /// Write a stored run to a file: HTML with charts, CSV, Markdown, BBCode or JSON.
    Report(ReportArgs),
    /// Compare results: runs side by side, and which differences are more than noise.
    Compare(CompareArgs),
    /// Set, list and remove baselines, with which later runs of a plan on a target are compared.
    Baseline(BaselineArgs),
    /// Serve stored and running runs in a browser: watch runs live, search and compare results.
    Serve(ServeArgs),
    /// Set the label or the note of a stored run.
    Label(LabelArgs),
    /// Remove stored runs.
    Rm(RmArgs),
    /// Write a stored run to a file for another machine or another tool: Iometer, fio, Prometheus, HdrHistogram.
    Export(ExportArgs),
    /// Add runs to the store: files of assay export, and results of other tools.
    Import(ImportArgs),
    /// Convert a plan of another tool (Iometer, fio, DiskSpd, SQLIO) to a plan file, to see what it means.
    Convert(ConvertArgs),
    /// Predict a suite's table for an array before anything is measured: rates, bottleneck, effect of changes.
    Predict(PredictArgs),
    /// Answer a sizing question: how many disks, which array, what remains when one fails.
    Size(Box<SizeArgs>),
    /// List the array descriptions that ship with Assay, or print one.
    Arrays(ArraysArgs),
    /// Build a lab: a simulated array, served over iSCSI or NFS on this machine, to try and to check measuring tools.
    Lab(LabArgs),
    /// Announce this host on a NATS server, and do its part in runs over several hosts, as its configuration allows.
    Agent(AgentArgs),
    /// List the hosts whose agents are on a NATS server: state, lease, clock offset and its error, differences.
    Hosts(HostsArgs),
    /// Follow a run over several hosts whose coordinator has ended, to its end.
    Attach(AttachArgs),
    /// Copy a store to another one, or print the SQL of a store in a PostgreSQL server.
    Store(StoreVerbArgs),
    /// Record which array a target is on, so that every run on it shows expected and measured values.
    Target(TargetArgs),
    /// Measure the software cost of a target, which no data sheet has, and write an array file with it.
    Calibrate(CalibrateArgs),
    /// List the measured tables of articles that ship with Assay; `assay show published:NAME` prints one.
    Published(PublishedArgs),
    /// Write a validation document: the model against every published row, or diagnoses of planted causes.
    Validate(ValidateArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Write the man pages.
    Man(ManArgs),
    /// Print the version and the platform of this build.
    Version(VersionArgs),
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
    assay completions bash > ~/.local/share/bash-completion/completions/assay
    assay completions zsh > ~/.zfunc/_assay
    assay completions fish > ~/.config/fish/completions/assay.fish";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Also print the commit it was built from, how it was built, and the format of its stores: for reports of faults.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory to write to, created if absent: assay.1, assay-run.1, …
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

/// A paragraph after the options is one line here: clap wraps it to the terminal, and lines broken by hand would be
/// broken twice. Examples are short enough for 80 columns.
const RUN_EXAMPLES: &str = "\
Examples:
  The VMware forum's four tests on a file, 2 minutes each, and 5 seconds each:
    assay run vmware ./t.dat --size 8GiB
    assay run vmware ./t.dat --quick
  Throughput by block size, in a test file in that directory; then one step of it:
    assay run super-atto /mnt/nas
    assay run super-atto /mnt/nas --only size=64KiB
  A plan of your own on two files:
    assay run my-plan.toml a.dat b.dat
  On a simulated array, in real time:
    assay run vmware sim:ix4-200d
  On a whole disk, whose content is lost; and read only:
    assay run vmware /dev/sdb --overwrite SERIAL
    assay run vmware /dev/sdb --set read=100
  At a fixed rate of 5,000 I/Os per second:
    assay run vmware-modern ./t.dat --rate 5000/s
  Three times on each of two disks, in turn, and compared:
    assay run vmware-modern /dev/sdb /dev/sdc --each --repeat 3 \\
        --overwrite SERIAL1 --overwrite SERIAL2
  Until the 95 % interval of the p99 is within 5 %:
    assay run vmware-modern ./t.dat --until p99:5%
  On a LUN over two portals, without the kernel's initiator:
    assay run vmware 'iscsi://nas/iqn.2004-01.example:d/1?portal=10.0.1.1' \\
        --overwrite SERIAL
  In a file on an NFS server, without mounting it:
    assay run vmware 'nfs://nas/vol1/t.dat?connections=4' --size 8GiB
  On three hosts at once, each with a file of its own (docs/guide/hosts.md):
    assay run vmware /mnt/{host}/t.dat --hosts a,b,c --nats nats://bus:4222
  An Iometer configuration, a fio job file, command lines of fio and DiskSpd:
    assay run old.icf ./t.dat
    assay run job.fio ./t.dat
    assay run 'fio --name=x --rw=randread --bs=4k --size=1g' ./t.dat
    assay run 'diskspd -b8K -o32 -t4 -r -w30 -d60 -Sh' ./t.dat

iSCSI: iscsi://[user@]host[:port]/target-name/lun[?key=value&…] with the keys portal (repeat it), sessions, policy \
(rr, lo, fixed, vmware, vmware-bytes), rr_ios, rr_bytes, header_digest, data_digest, initial_r2t, immediate_data \
(yes or no), initiator, chap_file, timeout (seconds after which an I/O fails). The CHAP secret comes from \
chap_file or ASSAY_CHAP_FILE (its \
first line), from ASSAY_CHAP_SECRET, or from a prompt, and never from the address, which every user of the machine \
can read (ps); ASSAY_CHAP_MUTUAL_USER and ASSAY_CHAP_MUTUAL_SECRET are the \
credentials that the target must present.

NFS: nfs://host[:port]/export/path[?key=value&…] with the keys port, mountport, connections, sync (unstable: one \
COMMIT at the end; file: each write is durable), uid, gid, timeout (seconds after which an I/O fails).

Exit codes: 0 done, 1 begun and something failed, 2 refused and nothing touched, 130 stopped by a signal; \
assay --help says more.
Ctrl-C once stops the run and keeps what was measured; twice stops at once.";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES, override_usage = "assay run [OPTIONS] PLAN TARGET...")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct RunArgs {
    /// A suite (see `assay suites`), the path of a plan file, or a plan of another tool: an Iometer configuration
    /// (.icf), a fio job file, or a command line of DiskSpd or SQLIO in quotation marks.
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    /// Where I/O goes: a file (created if absent), a directory (a test file in it), a block device, iscsi://…, nfs://…,
    /// sim:ARRAY (a simulated array) or null:.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// How much of each target to use, from its start: 4GiB, "2x ram". A new file gets this size.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    /// Shorten every step (2 min become 5 s); the result says so.
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// Issue I/Os at this rate, at random times and whatever has completed (an open loop): 5000/s. Each job has the
    /// rate; with --hosts, all hosts together have it.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) rate: Option<PerSecond>,
    /// Continue every test until a figure has this precision: 2% (of IOPS), p99:5%.
    #[arg(long, value_name = "[FIGURE:]PERCENT")]
    pub(crate) until: Option<Tolerance>,
    /// Longest measured window of a test that continues until a figure is known or steady. [default: 10 times the
    /// planned window]
    #[arg(long, value_name = "TIME")]
    pub(crate) at_most: Option<Nanos>,
    /// Write the whole span this many times, in order, before the first test: 1x, 2x.
    #[arg(long, value_name = "TIMES")]
    pub(crate) precondition: Option<String>,
    /// Run the plan this many times, and print the medians with the spread of the repetitions.
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=100),
        default_value_t = 1,
        hide_default_value = true
    )]
    pub(crate) repeat: u32,
    /// Run the plan on each target by itself, in turn with the others (A B A B with --repeat), and compare them.
    #[arg(long)]
    pub(crate) each: bool,
    /// Run this plan too, in turn with the first, and compare them.
    #[arg(long, value_name = "PLAN")]
    pub(crate) also: Vec<String>,
    /// What the targets cost, for cost per 1000 IOPS and per MiB/s: 5500EUR.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) price: Option<Price>,
    /// Measure this run as a step of a journal: what was changed before it, in a few words.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) step: Option<String>,
    /// The journal of the step. [default: the newest one of this plan and target]
    #[arg(long, value_name = "NAME", requires = "step")]
    pub(crate) journal: Option<String>,
    /// Seed of all random sequences, 0 to 2^63-1; the same seed repeats the same I/O. [default: the plan's, else 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Label of the run, to find and compare it; runs that share one are repetitions.
    #[arg(long, value_name = "TEXT", value_parser = label_text)]
    pub(crate) label: Option<String>,
    /// Note to keep with the run.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Measure what a run that was stopped or killed did not: its plan, its targets and its size again, with its
    /// complete steps kept. Options that treat the targets (--overwrite, --cached) are given again.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plan", "size", "quick", "set", "only", "repeat", "each"])]
    pub(crate) resume: Option<String>,
    /// Array that the targets are on (one that ships, or a file): the result then shows expected and measured values,
    /// and a verdict.
    #[arg(long, value_name = "ARRAY")]
    pub(crate) array: Option<String>,
    /// Target to use for one that the plan of another tool names: --map "C:=/mnt/x". The others are matched by
    /// position.
    #[arg(long, value_name = "NAME=TARGET")]
    pub(crate) map: Vec<String>,
    /// Run the plan of another tool without the options that Assay does not support.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Serve the run as a page while it is in progress, and print its address.
    #[arg(long)]
    pub(crate) serve: bool,
    /// Leave the session of whoever started the run, so that it outlives them.
    #[arg(long, hide = true)]
    pub(crate) own_session: bool,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) stated: StatedArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Exit with code 3 if a test is worse than the baseline (see assay baseline) by more than this: p99 +10%, or iops
    /// -5%; changes that noise explains do not count. Or if a figure exceeds a limit: 'p99 > 20ms', 'iops < 5000',
    /// 'errors > 0'. For one test: 'RealLife: p99 > 20ms'. Code 4 if that is undecided.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<FailIf>,
    /// Also write a report here, by its ending: .html (with charts), .csv, .md, .bbcode, .json or .txt; `-` writes
    /// HTML to standard output and the table to standard error.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which part of a plan, with which fields changed.
#[derive(Debug, Args)]
pub(crate) struct ChoiceArgs {
    /// Override a field of every test: outstanding=32, run=20s, size=8KiB, workers=2; several values sweep:
    /// size=4KiB,64KiB.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Take only tests with this in their name (upper and lower case alike), or steps of a sweep (size=64KiB); a full
    /// name means that one alone.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) only: Vec<String>,
}

/// A label that finds its run again; an empty one takes a label away.
fn label_text(text: &str) -> Result<String, String> {
    match text.trim().strip_prefix("last") {
        Some(rest) if rest.is_empty() || rest.starts_with('~') => {
            Err("`last`, `last~1` and so on mean the newest runs; choose another label".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

/// How targets are opened and treated.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct IoArgs {
    /// Overwrite the device or LUN with this serial or WWID, or the file with this path or address. Its content is
    /// lost.
    #[arg(long, value_name = "SERIAL|WWID|FILE")]
    pub(crate) overwrite: Vec<String>,
    /// With --overwrite: allow this even if the device or LUN holds data without a known signature, which will be lost.
    #[arg(long, requires = "overwrite")]
    pub(crate) not_blank: bool,
    /// Use the page cache instead of bypassing it (the result says so).
    #[arg(long)]
    pub(crate) cached: bool,
    /// Make each write durable before it completes (O_DSYNC; the result says so).
    #[arg(long)]
    pub(crate) sync: bool,
    /// How I/O is issued.
    #[arg(long, value_enum, default_value_t = Io::Auto)]
    pub(crate) io: Io,
    /// Bind the workers to these CPUs, in turn (0-3,6); otherwise each runs on a CPU that its device interrupts, if
    /// known.
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,
    /// Do not fill a target before it is measured; unmapped blocks may then look fast.
    #[arg(long)]
    pub(crate) no_fill: bool,
    /// Keep the CPUs from idling while measuring: idle virtual CPUs wake late.
    #[arg(long)]
    pub(crate) keep_awake: bool,
    /// Remove the test files that Assay created, after the run.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// CPUs that somebody named.
#[derive(Debug, Clone)]
pub(crate) struct Cpus(pub(crate) Vec<usize>);

/// CPUs that this process may run on, in the order of their numbers.
fn cpus(text: &str) -> Result<Cpus, String> {
    let cpus = assay_host::cpu_list(text).ok_or("give numbers and ranges, like 0-3,6")?;
    let allowed = assay_host::allowed_cpus();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(Cpus(cpus)),
        Some(cpu) => {
            let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
            Err(format!("this process cannot run on CPU {cpu}; choose from {}", allowed.join(", ")))
        }
    }
}

/// How I/O is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// io_uring; psync with a warning where it is refused; files in memory are served by the worker itself.
    Auto,
    /// io_uring, or an error where it is refused.
    Uring,
    /// Blocking calls on helper threads.
    Psync,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where runs are kept: a file, or postgres://USER@HOST/DATABASE. [env: ASSAY_STORE] [default: assay/runs.sqlite in
    /// the XDG data folder]
    #[arg(long, global = true, value_name = "STORE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Without an option on the command line.
    pub(crate) fn of_environment() -> Self {
        Self { store: None }
    }

    /// The store that is named on the command line or, unless it is empty, in the environment.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        let of_environment = || std::env::var_os("ASSAY_STORE").filter(|value| !value.is_empty());
        self.store.clone().or_else(|| of_environment().map(PathBuf::from))
    }

    /// The store: the one that is named, or the file of this user.
    pub(crate) fn address(&self) -> anyhow::Result<StoreAddress> {
        match self.named() {
            Some(named) => Ok(StoreAddress::parse(named)?),
            None => Ok(StoreAddress::File(assay_store::default_path()?)),
        }
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SuitesArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<SuitesVerb>,
    /// Print what each suite is for.
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuitesVerb {
    /// Print a suite as a plan file, with the sources of its numbers.
    Show {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A file, a directory, a block device, iscsi://… or nfs://….
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Print every fact of the network paths, what was negotiated, and how to change each setting.
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
    assay convert old.icf
    assay convert job.fio -o plan.toml
    assay convert \"sqlio -kR -s30 -frandom -b8 -o8 -t4\"";

#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// An Iometer configuration (.icf), a fio job file, or a command line of DiskSpd or SQLIO.
    pub(crate) file: String,
    /// Where to write the plan file. [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Convert without what Assay does not support.
    #[arg(long)]
    pub(crate) lenient: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OverheadArgs {
    /// How long to measure each depth.
    #[arg(long, default_value = "1s", value_name = "TIME")]
    pub(crate) run: assay_spec::units::Nanos,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}
