//! The command line of arrays and predictions.

use std::path::PathBuf;

use assay_spec::units::SizeSpec;
use clap::{Args, Subcommand};

use super::{ChoiceArgs, IoArgs, JsonArgs, StoreArgs, ViewArgs};

const PREDICT_EXAMPLES: &str = "\
Examples:
  The VMware forum's four tests, as expected:
    assay predict ix4-200d
  Another suite, an array file of your own:
    assay predict my-nas.toml super-atto
  The effect of each change:
    assay predict ix4-200d --what-if raid=10 disks=8
  A curve, and where it flattens:
    assay predict x4500 --sweep disks=4..48 --only Random

If the software cost of a target was not measured, the prediction is the bound of its hardware, marked \"software \
cost unknown\"; assay calibrate measures that cost.";

#[derive(Debug, Args)]
#[command(after_help = PREDICT_EXAMPLES)]
pub(crate) struct PredictArgs {
    /// An array that ships (see `assay arrays`) or the path of an array file.
    pub(crate) array: String,
    /// A suite (see `assay suites`) or the path of a plan file.
    #[arg(default_value = "vmware")]
    pub(crate) plan: String,
    /// Also predict with this change: raid=10, disks=8, link=10GbE, paths.rr_ios=1. To combine changes, put them into
    /// one argument, separated by spaces.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1..)]
    pub(crate) what_if: Vec<String>,
    /// Predict a curve over a field, and where it flattens: disks=4..48, disks=4..48/4 for every fourth value.
    #[arg(long, value_name = "FIELD=FROM..TO")]
    pub(crate) sweep: Vec<String>,
    /// Change the array before predicting.
    #[arg(long = "with", value_name = "FIELD=VALUE", num_args = 1..)]
    pub(crate) with: Vec<String>,
    /// Where the test region begins on the array, from the outer, fast edge of its disks.
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    pub(crate) at: assay_spec::units::Bytes,
    /// From the first byte of the test region to its last, where its data lie scattered: seek distances grow with it.
    /// [default: the size]
    #[arg(long, value_name = "SIZE")]
    pub(crate) reach: Option<assay_spec::units::Bytes>,
    /// Number of stretches that the data lie in; sequential I/O seeks between them.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pieces: u32,
    /// Memory of each client that may hold data: widens the bound of arrays whose software cost is unknown.
    #[arg(long, value_name = "SIZE")]
    pub(crate) client_ram: Option<assay_spec::units::Bytes>,
    /// How much of the array the tests use; it determines seek distances and cache hits. [default: the plan's, else
    /// 4GiB]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Also write the prediction here, by its ending: .csv, .md, .bbcode, .json or .txt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const SIZE_EXAMPLES: &str = "\
Examples:
  How many disks:
    assay size \"2000 IOPS, 70% read, 8 KiB, p99 20 ms, 10 TB, RAID10, 7200 rpm\"
  A load in terms of the application, for any device, at the lowest cost:
    assay size \"500 sessions x 20 tps x 4 I/Os, p99 10 ms, 5 TB\" \\
        --price 7200rpm=220 ssd=110 nvme=400
  Which of these arrays sustains it:
    assay size \"3000 IOPS, p99 20 ms\" --array raid6-12bay allflash-10gbe my.toml
  What an array sustains, and what remains when a disk has failed:
    assay size \"70% read, p99 20 ms\" --array raid6-12bay
  How many disks of an array, also during a rebuild:
    assay size \"how many disks for 1500 IOPS, p99 20 ms, rebuilding\" --array my.toml
  What a faster link brings:
    assay size \"what does 10 GbE bring, 100% read, 64 KiB\" --array nas-4bay
  What a target sustains by its measured load curve (assay curve), not by a model:
    assay size \"5000 IOPS, p99 5 ms\" --against /mnt/nas

The words: N IOPS, or N sessions x N tps x N I/Os; N % read, write, random or sequential; a size of I/Os; p99 or \
mean with a time; an amount of data, and of it N active; N disks, the size of a disk (4 TB disks); a RAID level; \
5400, 7200, 10000 or 15000 rpm, SSD, NVMe; N GbE or N GFC, iSCSI, NFS, FC; failed, rebuilding. I/Os arrive at \
random times. Classes of devices have class values with wide ranges: name an array file if you know the devices.";

#[derive(Debug, Args)]
#[command(after_help = SIZE_EXAMPLES)]
pub(crate) struct SizeArgs {
    /// The question, in quotation marks or not; the options below mean the same, and must not contradict it.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// I/Os per second.
    #[arg(long, value_name = "RATE")]
    pub(crate) iops: Option<String>,
    /// Share of reads, %.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) read: Option<String>,
    /// Share of random positions, %.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) random: Option<String>,
    /// Size of an I/O: 8KiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) block: Option<String>,
    /// Limit on the 99th percentile of latency: 20ms.
    #[arg(long, value_name = "TIME")]
    pub(crate) p99: Option<String>,
    /// Limit on the mean latency: 5ms.
    #[arg(long, value_name = "TIME", conflicts_with = "p99")]
    pub(crate) mean: Option<String>,
    /// Amount of data: 10TB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) data: Option<String>,
    /// Part of the data that I/Os fall into: 500GB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) active: Option<String>,
    /// RAID levels to choose from: 10, 5, raidz2.
    #[arg(long, value_name = "LEVEL", num_args = 1..)]
    pub(crate) raid: Vec<String>,
    /// Classes of devices to choose from: 5400rpm, 7200rpm, 10k, 15k, ssd, nvme.
    #[arg(long, value_name = "CLASS", num_args = 1..)]
    pub(crate) device: Vec<String>,
    /// Number of devices, if it is fixed.
    #[arg(long, value_name = "COUNT")]
    pub(crate) disks: Option<String>,
    /// Capacity of a device: 4TB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk_size: Option<String>,
    /// Link in front of the array: 10GbE.
    #[arg(long, value_name = "RATE")]
    pub(crate) link: Option<String>,
    /// Arrays that ship (see `assay arrays`) or array files to choose from, in place of classes of devices.
    #[arg(long, value_name = "ARRAY", num_args = 1..)]
    pub(crate) array: Vec<String>,
    /// Answer from a load curve that assay curve measured, not from the model: a run (its id, its label, last, an
    /// exported file), or a target, whose newest curve is used.
    #[arg(
        long,
        value_name = "RUN|TARGET",
        conflicts_with_all = ["array", "what_if", "price", "closed_form", "write_array", "raid", "device"]
    )]
    pub(crate) against: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Show the effect of this change on the answer: link=10GbE, raid=10.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1..)]
    pub(crate) what_if: Vec<String>,
    /// Price of a device of a class, of any device (disk=220), or of an array by its name; the answer is then the
    /// cheapest.
    #[arg(long, value_name = "WHAT=AMOUNT", num_args = 1..)]
    pub(crate) price: Vec<String>,
    /// Use the closed and the open form only, without the simulation that checks the answer.
    #[arg(long)]
    pub(crate) closed_form: bool,
    /// Write the answer as an array file, to predict it or to run on it (sim:FILE).
    #[arg(long, value_name = "FILE")]
    pub(crate) write_array: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Also write the answer here, by its ending: .csv, .md, .bbcode, .json or .txt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ArraysArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ArraysVerb>,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArraysVerb {
    /// Print an array description as a file.
    Show {
        /// Its name.
        name: String,
    },
    /// Write the array file of a target, as far as this host sees it: drives by their model, md, LVM, btrfs, links, the
    /// network to a LUN or an export. What it cannot see is a question in a comment.
    Detect {
        /// A file, a directory, a block device, iscsi://… or nfs://….
        #[arg(default_value = ".")]
        target: String,
        /// Write it here instead of printing it.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Ask ten questions, and write the array file that the answers are.
    New {
        /// Write it here instead of printing it.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print what the catalogue says of a drive, by the model string that it reports.
    Drive {
        /// The model: ST4000NM0023, "Samsung SSD 870 EVO 1TB"; without it, all are listed.
        model: Option<String>,
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
    /// Record which array a target is on, or what it costs.
    Set {
        /// Its address, as assay run takes it.
        target: String,
        /// An array that ships (see `assay arrays`), the path of an array file, or `none`.
        #[arg(long, value_name = "ARRAY", required_unless_present = "price")]
        array: Option<String>,
        /// What the target costs, for cost per 1000 IOPS and per MiB/s: 5500EUR; or `none`.
        #[arg(long, value_name = "AMOUNT")]
        price: Option<String>,
    },
    /// List targets with their arrays and prices.
    List {
        #[command(flatten)]
        form: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PublishedArgs {
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Write the whole document here: docs/model-validation.md.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the whole document instead of its result: every row, 800 lines.
    #[arg(long)]
    pub(crate) explain: bool,
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
  On two rows of an article; the others are then predicted:
    assay calibrate --from published:ts140 --only \"sequential read\" \\
        --array ts140-raid10 -o my-raid10.toml
  The coefficients of the kernel's blk-iocost for a disk whose content is lost:
    assay calibrate /dev/sdb --overwrite SERIAL --size 64GiB --run 30s --iocost

Calibration takes about six minutes: three rounds of 39 steps and ten check loads, 2 seconds each. Writing \
follows the rules of assay run. At most seven numbers are fitted; revolutions, seek times, rates and link efficiency \
come from data sheets and are not. If a step differs by more than 15 % between rounds, no accuracy is claimed.";

#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Where I/O goes: a file (created if absent), a directory, a block device, iscsi://…, nfs://…, or sim:ARRAY.
    #[arg(required_unless_present = "from")]
    pub(crate) target: Option<String>,
    /// The array it is on: one that ships (see `assay arrays`) or the path of an array file.
    #[arg(long, value_name = "ARRAY", required_unless_present = "iocost")]
    pub(crate) array: Option<String>,
    /// Where to write the new array file.
    #[arg(short, long, value_name = "FILE", required_unless_present = "iocost")]
    pub(crate) output: Option<PathBuf>,
    /// Measure nothing: calibrate on the rows of a published table (published:NAME), of a stored run or of an exported
    /// one, and predict the rows that --only leaves out.
    #[arg(long, value_name = "RUN", conflicts_with = "target")]
    pub(crate) from: Vec<String>,
    /// With --from: calibrate on the rows with this in their name only.
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) only: Vec<String>,
    /// Measure the six coefficients of the kernel's I/O controller blk-iocost in place of an array file, and print them
    /// as io.cost.model takes them.
    #[arg(long, conflicts_with_all = ["from", "array", "output", "replace", "rounds", "raw_link", "no_check"])]
    pub(crate) iocost: bool,
    /// Replace the output file if an earlier calibration wrote it.
    #[arg(long)]
    pub(crate) replace: bool,
    /// How much of the target to use. [default: 1GiB]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    /// How long each of the 39 steps of a round takes.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub(crate) run: assay_spec::units::Nanos,
    /// Number of rounds over all steps, each followed by the ten check loads; the spread between rounds is the
    /// target's own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20), value_name = "COUNT")]
    pub(crate) rounds: u32,
    /// Throughput of one path as plain TCP, MB/s (10^6), measured by another tool. Without it, large reads from the
    /// target's cache give a lower bound of the link.
    #[arg(long, value_name = "MB_S")]
    pub(crate) raw_link: Option<f64>,
    /// Do not measure the ten check loads.
    #[arg(long)]
    pub(crate) no_check: bool,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
