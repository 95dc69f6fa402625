//! The command line of `assay map`.

use std::path::PathBuf;

use assay_spec::units::Nanos;
use clap::Args;

use super::{JsonArgs, StoreArgs};

const MAP_EXAMPLES: &str = "\
Examples:
  Where is this disk slow? Is a member of the array slower than the others?
    assay map /dev/sdb
    assay map 'iscsi://nas/iqn.2004-01.example:d/1?portal=10.0.1.1' --budget 5min
    assay map nfs://nas/vol1/t.dat
  Keep a map, and compare another one with it months later:
    assay map /dev/sdb -o sdb.json
    assay map /dev/sdb --baseline sdb.json

A map only reads: nothing is created, filled or marked, also in files of Assay's own. Places are read in a new random \
order in every pass, and slow ones again beside others, so that a moment at which everything was slow names no place. \
Ctrl-C once ends the map and prints what is known by then.";

#[derive(Debug, Args)]
#[command(after_help = MAP_EXAMPLES)]
pub(crate) struct MapArgs {
    /// What is mapped: a file, a block device, iscsi://…, nfs://…, sim:ARRAY or null:.
    pub(crate) target: String,
    /// More targets, which are refused in words.
    #[arg(hide = true)]
    pub(crate) others: Vec<String>,
    /// Time for all reads: 30s, 2min, 10min.
    #[arg(long, default_value = "2min", value_name = "TIME")]
    pub(crate) budget: Nanos,
    /// Visit places in a new random order in every pass. This is the default.
    #[arg(long, conflicts_with = "sequential")]
    pub(crate) random: bool,
    /// Visit places from the first to the last address in every pass, as a head travels.
    #[arg(long)]
    pub(crate) sequential: bool,
    /// Also say what changed since this earlier map of the same target (written by -o).
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Use the page cache instead of bypassing it: the map is then one of that cache, too.
    #[arg(long)]
    pub(crate) cached: bool,
    /// Also write the map here: as JSON (.json), which --baseline compares a later map with, or as a page (.html).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
