//! The command line of `assay lab`.

use std::path::PathBuf;

use assay_spec::units::Bytes;
use clap::{Args, Subcommand, ValueEnum};

const LAB_EXAMPLES: &str = "\
Examples:
  The NAS of the first article behind its gigabit link, and what Assay measures:
    assay lab up ix4-200d
    assay run vmware 'iscsi://198.18.1.2/iqn.2026-11.example.assay:lab/1' \\
        --quick --overwrite assay-lab
    assay diagnose 'iscsi://198.18.1.2/iqn.2026-11.example.assay:lab/1'
  Four paths, one of them slow:
    assay lab up openfiler-2.3-4disk
    assay lab break slow 2
    assay lab mend
  An array file of your own as an NFS server:
    assay lab up my-array.toml --nfs --links 2x10GbE --size 4GiB
  Its counters and its timing error; then remove it:
    assay lab status
    assay lab down

The lab needs root. Its server has a network namespace of its own; this host reaches it at 198.18.N.2 over link N \
(a range reserved for benchmarks, RFC 2544). The links are virtual Ethernet, shaped to their rate.";

#[derive(Debug, Args)]
#[command(after_help = LAB_EXAMPLES)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
    /// Name of the lab, where there are several: up to 8 lower-case letters and digits.
    #[arg(long, global = true, value_name = "NAME", default_value = "lab", value_parser = lab_name)]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabVerb {
    /// Build the lab: a simulated array, served by a real server over real links of this machine.
    Up(LabUpArgs),
    /// Show the lab, its counters and its timing error.
    Status(LabStatusArgs),
    /// Inject a fault.
    Break(LabBreakArgs),
    /// Undo all faults.
    Mend,
    /// Remove the lab: processes, links, data. Works after a crash too.
    Down,
    /// Serve the array; `up` starts this in the namespace of the server.
    #[command(hide = true)]
    Serve,
}

#[derive(Debug, Args)]
pub(crate) struct LabUpArgs {
    /// The array: one that ships (see `assay arrays`) or an array file.
    pub(crate) array: String,
    /// Serve it over iSCSI, by tgt. [default: what the array file says]
    #[arg(long, conflicts_with = "nfs")]
    pub(crate) iscsi: bool,
    /// Serve it over NFSv3, by nfs-ganesha.
    #[arg(long)]
    pub(crate) nfs: bool,
    /// Number and rate of the links: 4x1GbE, 10GbE. [default: those of the array file]
    #[arg(long, value_name = "[COUNTx]RATE")]
    pub(crate) links: Option<String>,
    /// MTU of the links, bytes. [default: that of the array file]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(576..=65535))]
    pub(crate) mtu: Option<u32>,
    /// Size of the LUN, or of all files together over NFS. The model assumes that random I/O is in this region.
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    pub(crate) size: Bytes,
    /// Directory for the data, which takes the space of what was written. [default: in memory, below /dev/shm]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LabStatusArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabBreakArgs {
    #[command(subcommand)]
    pub(crate) what: LabFault,
}

/// What can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Subcommand)]
pub(crate) enum LabFault {
    /// Cut a link, as if its cable were pulled.
    Cut {
        /// Number of the link, from 1.
        link: u32,
    },
    /// Shape a link to a lower rate.
    Slow {
        /// Number of the link, from 1.
        link: u32,
        /// The rate, Mbit/s.
        #[arg(default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        mbit: u32,
    },
    /// Lose packets that arrive over a link, in both directions.
    Loss {
        /// Number of the link, from 1.
        link: u32,
        /// How many in a hundred.
        #[arg(default_value_t = 1.0)]
        percent: f64,
    },
    /// Set the MTU of the server's end of a link, while this host's end keeps its own.
    Mtu {
        /// Number of the link, from 1.
        link: u32,
        /// The MTU, bytes.
        #[arg(default_value_t = 1500, value_parser = clap::value_parser!(u32).range(576..=65535))]
        bytes: u32,
    },
    /// Let members of the array fail, as far as its RAID level allows.
    Disk {
        /// How many.
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
    },
    /// Kill the server, as a crash would.
    Server,
}

/// What serves the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LabProtocol {
    /// tgt.
    Iscsi,
    /// nfs-ganesha.
    Nfs,
}

fn lab_name(text: &str) -> Result<String, String> {
    let is_valid = (1..=8).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if is_valid { Ok(text.to_owned()) } else { Err("use up to 8 lower-case letters and digits".to_owned()) }
}
