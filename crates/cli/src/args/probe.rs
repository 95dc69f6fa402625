//! The command line of `assay probe-cache`.

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use clap::Args;

use super::{IoArgs, KeptArgs, StoreArgs, ViewArgs};

/// Memory between the tester and the disks, as somebody who knows states it.
#[derive(Debug, Args)]
pub(crate) struct StatedArgs {
    /// Memory of the storage (server RAM, controller cache): a test over less than twice this much is flagged, as the
    /// memory may answer instead of the disks.
    #[arg(long, value_name = "SIZE")]
    pub(crate) storage_ram: Option<Bytes>,
    /// Memory of the hypervisor's host, whose page cache may answer instead of the disks: flagged in the same way.
    #[arg(long, value_name = "SIZE")]
    pub(crate) host_ram: Option<Bytes>,
}

const PROBE_EXAMPLES: &str = "\
Examples:
  Is there a cache in front of this disk, and how large is it? Nothing is written:
    assay probe-cache /dev/sdb --size 16GiB
  A NAS of which the memory is known:
    assay probe-cache nfs://nas/vol1/t.dat --storage-ram 8GiB
  The page cache of this machine:
    assay probe-cache ./t.dat --cached
  A disk that may be overwritten: also how much its write cache absorbs
    assay probe-cache /dev/sdb --size 16GiB --overwrite SERIAL

Working sets from 64 MiB to the size given, each twice the one before, are read once from start to end and then at \
random; caches show in the share of fast reads. Without --read-only, writes are measured \
too, on files that Assay created and on what --overwrite names.";

#[derive(Debug, Args)]
#[command(after_help = PROBE_EXAMPLES)]
pub(crate) struct ProbeCacheArgs {
    /// Where I/O goes: a file (created if absent), a directory, a block device, iscsi://…, nfs://… or sim:ARRAY.
    pub(crate) target: String,
    /// The largest working set. [default: twice --storage-ram; with --cached twice this machine's memory; else 4GiB]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) size: Option<SizeSpec>,
    /// How long each working set is read at random, and each kind of write is measured.
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub(crate) run: Nanos,
    /// How long writes are issued to fill a write cache.
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub(crate) absorb: Nanos,
    /// Do not write, not even to a file that Assay created.
    #[arg(long)]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) stated: StatedArgs,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
