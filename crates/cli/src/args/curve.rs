//! The command line of `assay curve`.

use std::path::PathBuf;

use assay_spec::units::{Nanos, SizeSpec};
use clap::Args;

use super::{ChoiceArgs, FleetArgs, IoArgs, StoreArgs, ViewArgs, label_text};

const CURVE_EXAMPLES: &str = "\
Examples:
  4 KiB random reads of a file, about two and a half minutes:
    assay curve ./t.dat --size 4GiB
  The load of a suite's test:
    assay curve ./t.dat vmware --only RealLife
  A whole disk, read only; then with a report:
    assay curve /dev/sdb
    assay curve /dev/sdb -o curve.html
  Queue depths 1 to 256 instead of offered loads:
    assay curve ./t.dat --qd
  Of three hosts together, each with a file of its own:
    assay curve /mnt/{host}/t.dat --hosts a,b,c --nats nats://bus:4222

The maximum is searched for with queue depths 1 to 256, 2 seconds each, as a run of its own. The curve is the next \
run: the maximum as a closed loop, then 10 to 95 % of it as an open loop with random (Poisson) arrivals. Both are \
stored; assay show, report, compare and export take them. Writing follows the rules of assay run.";

#[derive(Debug, Args)]
#[command(after_help = CURVE_EXAMPLES, override_usage = "assay curve [OPTIONS] TARGET [PLAN]")]
pub(crate) struct CurveArgs {
    /// Where I/O goes: a file (created if absent), a directory, a block device, iscsi://…, nfs://…, sim:ARRAY or null:.
    pub(crate) target: String,
    /// A suite or a plan file: a curve of each of its tests. [default: 4 KiB random reads]
    pub(crate) plan: Option<String>,
    /// Sweep the queue depth of a closed loop instead of the offered load.
    #[arg(long)]
    pub(crate) qd: bool,
    /// How much of the target to use, from its start: 4GiB, "2x ram". A new file gets this size.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    /// How long each step is measured. At 90 % of the load of a target that serves one I/O at a time, a mean within 5 %
    /// takes some 10,000 I/Os.
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub(crate) run: Nanos,
    /// Measure each step for two seconds.
    #[arg(long, conflicts_with = "run")]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// Seed of all random sequences.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// What is kept with a run, and where its report goes.
#[derive(Debug, Args)]
pub(crate) struct KeptArgs {
    /// Label of the run, to find and compare it; runs that share one are repetitions.
    #[arg(long, value_name = "TEXT", value_parser = label_text)]
    pub(crate) label: Option<String>,
    /// Note to keep with the run.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Also write a report here, by its ending: .html (with charts), .csv, .md, .bbcode, .json or .txt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
