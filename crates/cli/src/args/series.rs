//! The command line of series of runs: journals and scale checks.

use std::path::PathBuf;

use assay_spec::units::{Bytes, SizeSpec};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::{FleetArgs, FormArgs, IoArgs, StoreArgs};

const JOURNAL_EXAMPLES: &str = "\
Examples:
  A journal, its first step, a change and its effect:
    assay journal new \"nas tuning\" iscsi://nas/iqn.2004-01.example:d/0 \\
        vmware-modern --storage-ram 8GiB
    assay run vmware-modern iscsi://nas/iqn.2004-01.example:d/0 \\
        --step \"as found\" --repeat 3
    assay run vmware-modern iscsi://nas/iqn.2004-01.example:d/0 \\
        --step \"jumbo frames on\" --repeat 3
    assay journal show
  One whose steps run over three hosts:
    assay journal new cluster /mnt/{host}/t.dat vmware \\
        --hosts a,b,c --nats nats://bus:4222";

#[derive(Debug, Args)]
#[command(after_help = JOURNAL_EXAMPLES)]
pub(crate) struct JournalArgs {
    #[command(subcommand)]
    pub(crate) verb: JournalVerb,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalVerb {
    /// Begin a journal: a target and the plan that measures every step.
    New {
        /// Its name.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        /// The target, as assay run takes it.
        target: String,
        /// The suite or plan file of every step.
        plan: String,
        /// Memory of the storage, which decides how large the working sets of the stages are.
        #[arg(long, value_name = "SIZE")]
        storage_ram: Option<Bytes>,
        #[command(flatten)]
        fleet: FleetArgs,
    },
    /// Show the steps: the change of each test with its interval, what else changed, and the next stage.
    Show {
        /// Its name. [default: the newest]
        name: Option<String>,
        #[command(flatten)]
        form: FormArgs,
        /// Also write it here, by its ending: .html (with a chart for each test), .csv, .md, .bbcode, .json or .txt.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the journals, the oldest first.
    List {
        /// Print a JSON list.
        #[arg(long)]
        json: bool,
    },
    /// Remove a journal; its runs stay.
    Rm {
        /// Its name.
        name: String,
    },
}

const SCALE_EXAMPLES: &str = "\
Examples:
  One worker, then four, then four on both disks:
    assay scale latency-qd1 /dev/sdb /dev/sdc --set read=100 --workers 4
  One host, then two, then four, each with four workers on a file of its own:
    assay scale latency-qd1 /mnt/{host}/t.dat --hosts all --nats nats://bus:4222 --workers 4";

#[derive(Debug, Args)]
#[command(after_help = SCALE_EXAMPLES, override_usage = "assay scale [OPTIONS] PLAN TARGET...")]
pub(crate) struct ScaleArgs {
    /// A suite or the path of a plan file.
    pub(crate) plan: String,
    /// Targets, as assay run takes them. The first alone is measured with one worker and with several, then all. With
    /// --hosts the first host alone is measured with one worker and with several, then 2, 4 and so on up to all hosts.
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Number of workers of the larger loads. [default: the CPUs of this host, at least 2 and at most 8]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(2..=256))]
    pub(crate) workers: Option<u32>,
    /// How much of each target to use, from its start.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    /// Shorten every step (2 min become 5 s); the result says so.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Override a field of every test: outstanding=32, run=20s, size=8KiB.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Run only tests with this in their name, or steps of a sweep.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) only: Vec<String>,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
