//! The command line of baselines.

use clap::{Args, Subcommand};

use super::{JsonArgs, StoreArgs};

const BASELINE_EXAMPLES: &str = "\
Examples:
  The last run is what later runs of its plan on its target are compared with:
    assay baseline set last
  Three repetitions, for one of the targets of their plan:
    assay baseline set before --target /dev/sdb
  In a script: exit code 3 if the p99 of a test is more than 10 % above it:
    assay run vmware /mnt/nas --fail-if 'p99 +10%'";

#[derive(Debug, Args)]
#[command(after_help = BASELINE_EXAMPLES)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) verb: BaselineVerb,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineVerb {
    /// Make a run, or the repetitions of a label, the baseline of their plan on a target.
    Set {
        /// Id of a run or a part of it, a label, `last`, `last~1`. Later runs of that label do not join the baseline.
        run: String,
        /// The target. [default: the only target of the run]
        #[arg(long, value_name = "TARGET")]
        target: Option<String>,
    },
    /// List the baselines.
    List {
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Remove the baseline of a target; runs are kept.
    Remove {
        /// The target, as assay run takes it.
        target: String,
        /// The plan. [default: every plan with a baseline on the target]
        #[arg(long, value_name = "PLAN")]
        plan: Option<String>,
    },
}
