//! What may be typed.

use std::path::PathBuf;

use assay_spec::units::SizeSpec;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Put your storage to the test: measure files, disks, iSCSI LUNs and NFS exports by the suites everybody compares by.
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 110, arg_required_else_help = true)]
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
    /// Not at all.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a suite or a plan on one or several targets.
    Run(RunArgs),
    /// List the suites that ship with Assay, or print one.
    Suites(SuitesArgs),
    /// Look at targets without any load: what they are, and what speaks against writing.
    Check(CheckArgs),
    /// Measure Assay itself: what an I/O costs when the storage costs nothing.
    Overhead(OverheadArgs),
    /// List stored runs, newest first.
    Runs(RunsArgs),
    /// Show a stored run again.
    Show(ShowArgs),
    /// Write a stored run as one HTML file with charts.
    Report(ReportArgs),
    /// Hold results against each other: runs side by side, which differences are real, what else differs.
    Compare(CompareArgs),
    /// Label a stored run, or note something about it.
    Label(LabelArgs),
    /// Remove stored runs.
    Rm(RmArgs),
    /// Say what to expect of an array: a suite's table before anything is measured, what limits, what a change brings.
    Predict(PredictArgs),
    /// List the array descriptions that ship with Assay, or print one.
    Arrays(ArraysArgs),
    /// Attach the description of an array to a target, so that every run on it is compared with what to expect.
    Target(TargetArgs),
    /// Measure what no data sheet says of a target, and write its array file with it.
    Calibrate(CalibrateArgs),
    /// List the measured tables of articles that ship with Assay; `assay show published:NAME` prints one.
    Published(PublishedArgs),
    /// Hold the model against every published row: predicted beside measured, as a document.
    Validate(ValidateArgs),
}

/// A paragraph after the options is one line here: clap wraps it to the terminal, and lines broken by hand would be broken
/// twice. Examples are short enough for 80 columns.
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
  On a whole disk, whose content is lost:
    assay run vmware /dev/sdb --overwrite SERIAL
  On a LUN over two portals, without the kernel's initiator:
    assay run vmware 'iscsi://nas/iqn.2004-01.example:d/1?portal=10.0.1.1' \\
        --overwrite SERIAL
  In a file on an NFS server, without mounting it:
    assay run vmware 'nfs://nas/vol1/t.dat?connections=4' --size 8GiB

iSCSI: iscsi://[user@]host[:port]/target-name/lun[?key=value&…] with the keys portal (repeat it), sessions, policy (rr, \
lo, fixed, vmware, vmware-bytes), rr_ios, rr_bytes, header_digest, data_digest, initial_r2t, immediate_data (yes or no), \
initiator, chap_file, no_path (seconds). The CHAP secret comes from chap_file or ASSAY_CHAP_FILE (its first line), from \
ASSAY_CHAP_SECRET, or is asked for; ASSAY_CHAP_MUTUAL_USER and ASSAY_CHAP_MUTUAL_SECRET name what the target must prove \
to know.

NFS: nfs://host[:port]/export/path[?key=value&…] with the keys port, mountport, connections, sync (unstable: one COMMIT \
at the end; file: each write durable), uid, gid, timeout (seconds that I/O waits for a server that is away).

Exit codes: 0 done, 1 run with errors, 2 bad input, 130 interrupted.
Ctrl-C once: no new I/O, what was measured is kept. Twice: stop at once.";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// A suite (see `assay suites`) or the path of a plan file.
    pub(crate) plan: String,
    /// Where I/O goes: a file (created if absent), a directory (a test file in it), a block device, iscsi://…, nfs://…, null:,
    /// or sim:ARRAY, a simulated array.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// How much of each target to use, from its start: 4GiB, "2x ram". A new file gets this size.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<SizeSpec>,
    /// Shorten every step (2 min become 5 s); the result says so.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Override a field of every test: outstanding=32, run=20s, size=8KiB, workers=2, …
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Run only tests with this in their name (upper and lower case alike), or steps of a sweep (size=64KiB); a full
    /// name means that one alone.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) only: Vec<String>,
    /// Start of all random sequences, 0 to 2^63-1; the same seed repeats the same I/O. [default: the plan's, else 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Call the run something, to find it again; anything but `last`, `last~1` and so on, which are names already.
    #[arg(long, value_name = "TEXT", value_parser = label_text)]
    pub(crate) label: Option<String>,
    /// Note something about the run.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Say which array the targets are on (one that ships, or a file): the result then shows what to expect of it,
    /// and a verdict.
    #[arg(long, value_name = "ARRAY")]
    pub(crate) array: Option<String>,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    /// Print one JSON document instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the HTML report here; `-` is standard output, and then the table goes to standard error.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
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
    /// Allow to overwrite this: serial or WWID of a device or LUN, path of a file. Its content will be lost.
    #[arg(long, value_name = "SERIAL|WWID|FILE")]
    pub(crate) overwrite: Vec<String>,
    /// Go through the page cache instead of past it (the result says so).
    #[arg(long)]
    pub(crate) cached: bool,
    /// Wait with each write until it is durable (O_DSYNC; the result says so).
    #[arg(long)]
    pub(crate) sync: bool,
    /// How I/O is issued.
    #[arg(long, value_enum, default_value_t = Io::Auto)]
    pub(crate) io: Io,
    /// Do not write a device before it is measured: never-written blocks may then look fast.
    #[arg(long)]
    pub(crate) no_fill: bool,
    /// Keep the CPUs from idling while measuring: virtual CPUs that idle are woken late.
    #[arg(long)]
    pub(crate) keep_awake: bool,
    /// Remove the test files that Assay created when the run is over.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// How I/O is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// io_uring; psync with a warning where it is refused.
    Auto,
    /// io_uring or nothing.
    Uring,
    /// Blocking calls on helper threads.
    Psync,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where runs are kept. [default: assay/runs.sqlite in the XDG data folder]
    #[arg(long, global = true, value_name = "FILE", env = "ASSAY_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SuitesArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<SuitesVerb>,
    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuitesVerb {
    /// Print a suite as a plan file, with where its numbers come from.
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
    /// Print a JSON document (a list where several targets are given).
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OverheadArgs {
    /// How long to measure each depth.
    #[arg(long, default_value = "1s", value_name = "TIME")]
    pub(crate) run: assay_spec::units::Nanos,
    /// Print a JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Print a JSON list, newest first.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its id or a part of it, its label, `last`, `last~1`; or published:NAME, a table of an article.
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Its id or a part of it, its label, `last`, `last~1`.
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Where to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "assay-report.html")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  Two labels; runs that share a label are repetitions of it:
    assay compare before after
  The last two runs:
    assay compare last~1 last
  One box over two protocols, with charts:
    assay compare nfs iscsi -o compare.html
  Three repetitions of each side, by their ids:
    assay compare k7f2,k9b2,kc41 x1y2,x3y4,x5y6
  A run beside the table of an article:
    assay compare last published:ix4-200d
  A document of assay run --json from another machine:
    assay compare office.json last

A difference is called real where the 95 % interval of the ratio leaves out 1. Single runs of each side show changes of \
1.5 times and more; a smaller one needs three runs of each. Where loads, semantics, span, page cache or durability \
differ there is no verdict, and the table says why.";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The first is what the others are held against. Each is an id or a part of it, a label, `last`, `last~1`,
    /// published:NAME, or a JSON file; several joined by commas are repetitions.
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write an HTML report with charts here; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// Its id or a part of it, its label, `last`, `last~1`.
    pub(crate) run: String,
    /// The new label (not `last`, which is a name already); an empty one removes it.
    #[arg(value_parser = label_text)]
    pub(crate) label: Option<String>,
    /// The new note; an empty one removes it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Their ids or parts of them, labels, `last`.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const PREDICT_EXAMPLES: &str = "\
Examples:
  The VMware forum's four tests, as expected:
    assay predict ix4-200d
  Another suite, an array file of your own:
    assay predict my-nas.toml super-atto
  What each change would bring:
    assay predict ix4-200d --what-if raid=10 disks=8
  A curve, and where it stops paying:
    assay predict x4500 --sweep disks=4..48 --only Random

Where the software of a target was never measured, the answer is the bound of its hardware and the words \"software cost \
unknown\"; assay calibrate measures it.";

#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    /// An array that ships (see `assay arrays`) or the path of an array file.
    pub(crate) array: String,
    /// A suite (see `assay suites`) or the path of a plan file.
    #[arg(default_value = "vmware")]
    pub(crate) plan: String,
    /// Change the array and say what it would bring: raid=10, disks=8, link=10GbE, paths.rr_ios=1. Several that go
    /// together stand in one argument, separated by blanks.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1..)]
    pub(crate) what_if: Vec<String>,
    /// A curve over a field, and where it stops paying: disks=4..48, disks=4..48/4 for every fourth.
    #[arg(long, value_name = "FIELD=FROM..TO")]
    pub(crate) sweep: Vec<String>,
    /// Change the array before anything is predicted.
    #[arg(long = "with", value_name = "FIELD=VALUE")]
    pub(crate) with: Vec<String>,
    /// Where on the array the tests lie, from the outer, fast edge of its disks.
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    pub(crate) at: assay_spec::units::Bytes,
    /// How much of the array the tests use: it sets seek distances and cache hits. [default: the plan's, else 4GiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<SizeSpec>,
    /// Override a field of every test: outstanding=32, run=20s, size=8KiB, workers=2, …
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Predict only tests with this in their name, or steps of a sweep (size=64KiB).
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ArraysArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ArraysVerb>,
    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArraysVerb {
    /// Print an array description as a file.
    Show {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    #[command(subcommand)]
    pub(crate) verb: TargetVerb,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TargetVerb {
    /// Say which array a target is on.
    Set {
        /// Its address, as assay run takes it.
        target: String,
        /// An array that ships (see `assay arrays`), the path of an array file, or `none`.
        #[arg(long, value_name = "ARRAY")]
        array: String,
    },
    /// List targets and their arrays.
    List {
        /// Print a JSON list.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PublishedArgs {
    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Write the document here instead of printing it: docs/model-validation.md.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  In a test file in that directory:
    assay calibrate /mnt/nas --array nas-4bay -o my-nas.toml
  A whole disk, whose content is lost:
    assay calibrate /dev/sdb --overwrite SERIAL --array hdd-7200 -o sdb.toml
  A LUN, and a file on an NFS server; assay run --help explains both addresses:
    assay calibrate iscsi://nas/iqn.2004-01.example:d/1 --overwrite SERIAL \\
        --array nas-4bay -o my-nas.toml
    assay calibrate nfs://nas/vol1/t.dat --array nas-4bay -o my-nas.toml

Takes about six minutes: three rounds of 39 steps and ten other loads, 2 seconds each. Writing is as careful as in assay \
run. At most seven numbers are fitted: never revolutions, seeks, rates or the efficiency of links, which are on data \
sheets. Where the same step differs by more than 15 % between rounds, no accuracy is claimed.";

#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Where I/O goes: a file (created if absent), a directory, a block device, iscsi://…, nfs://…, or sim:ARRAY.
    pub(crate) target: String,
    /// What its data sheets say: an array that ships (see `assay arrays`) or the path of an array file.
    #[arg(long, value_name = "ARRAY")]
    pub(crate) array: String,
    /// Where to write the new array file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Replace that file if it exists.
    #[arg(long)]
    pub(crate) replace: bool,
    /// How much of the target to use. [default: 1GiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<SizeSpec>,
    /// How long each of the 39 steps of a round takes.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub(crate) run: assay_spec::units::Nanos,
    /// How often all steps are measured, the ten other loads after each round: what changes between rounds is the
    /// target's own unsteadiness.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20), value_name = "COUNT")]
    pub(crate) rounds: u32,
    /// What one path carries as plain TCP, MB/s (10^6), measured by another tool: to check the link against. Without it
    /// large reads from the target's cache say what the link carries at least.
    #[arg(long, value_name = "MB_S")]
    pub(crate) raw_link: Option<f64>,
    /// Do not measure ten other loads afterwards.
    #[arg(long)]
    pub(crate) no_check: bool,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
