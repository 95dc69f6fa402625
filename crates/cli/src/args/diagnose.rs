//! The command line of diagnoses.

use std::path::PathBuf;

use assay_spec::units::{Nanos, SizeSpec};
use clap::Args;

use super::{FleetArgs, FormArgs, IoArgs, StoreArgs};

const DIAGNOSE_EXAMPLES: &str = "\
Examples:
  What limits 4 KiB random reads on a file, a disk, a LUN, an NFS server:
    assay diagnose ./t.dat
    assay diagnose /dev/sdb
    assay diagnose 'iscsi://nas/iqn.2004-01.example:d/1?portal=10.0.1.1'
    assay diagnose nfs://nas/vol1/t.dat
  What limits one test of a suite, or a plan of your own:
    assay diagnose ./t.dat vmware --test Max
    assay diagnose ./t.dat my-plan.toml
  In half a minute, or thoroughly:
    assay diagnose ./t.dat --budget 30s
    assay diagnose ./t.dat --budget 10min
  Is it the hosts or the target? All of them, half of them, and each alone:
    assay diagnose 'iscsi://nas/iqn.2004-01.example:d/1' --hosts all --nats nats://bus:4222
  Without writing a byte, also to files of Assay's own:
    assay diagnose /dev/sdb --read-only

A diagnosis reads only, unless the load writes; writing follows the rules of assay run. Each experiment is a \
step of a stored run: assay show RUN prints them with the diagnosis, assay report RUN draws the odds. Ctrl-C \
once ends the diagnosis and prints the result so far.";

#[derive(Debug, Args)]
#[command(after_help = DIAGNOSE_EXAMPLES)]
pub(crate) struct DiagnoseArgs {
    /// Where I/O goes: a file (created if absent), a directory, a block device, iscsi://…, nfs://…, sim:ARRAY or null:.
    pub(crate) target: String,
    /// The load: a suite or the path of a plan file with one test. [default: 4 KiB random reads, 32 outstanding]
    pub(crate) plan: Option<String>,
    /// Which test of the plan, by its name or a part of it; without a plan, of any suite.
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,
    /// Time for all experiments: 30s, 2min, 10min. The time to fill a new file is not included.
    #[arg(long, default_value = "2min", value_name = "TIME")]
    pub(crate) budget: Nanos,
    /// Write nothing at all: refuse a load that writes and a file that would have to be created.
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) read_only: bool,
    /// How much of the target to use, from its start: 4GiB, "2x ram". A new file gets this size.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    /// Override a field of the load: outstanding=32, size=8KiB, read=70, workers=2.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Label of the run.
    #[arg(long, value_name = "TEXT", value_parser = super::label_text)]
    pub(crate) label: Option<String>,
    /// Leave the session of whoever started the diagnosis, so that it outlives them.
    #[arg(long, hide = true)]
    pub(crate) own_session: bool,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Also print the numbers behind the answer: what ruled causes out, expected and measured values, how the odds
    /// moved.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also write a report here, by its ending: .html (with the odds drawn), .json or .txt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
