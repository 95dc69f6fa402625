//! `assay probe-cache`: looks for caches in front of a target by reading growing working sets, and, where writing is
//! allowed, by writing until a write cache is full. The result is an ordinary run of an ordinary plan.

use std::fs::{File, FileType};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;

use assay_prepare::PrepareError;
use assay_record::StatedMemory;
use assay_runner::Order;
use assay_spec::probe::ProbePlan;
use assay_spec::units::{Bytes, SizeSpec};
use assay_spec::{Address, Overrides, Plan, PlanFile};

use crate::args::{ProbeCacheArgs, StatedArgs};
use crate::exit::Exit;
use crate::output::terminal::note;
use crate::running::execute;
use crate::running::tell::{Telling, before, tell};
use crate::signals::stop_on_signals;
use crate::words::attached::array_of_run;
use crate::words::store::open_store;
use crate::words::targets::check_output;

/// The largest working set where nothing says how much memory there may be, bytes.
const SIZE_DEFAULT: u64 = 4 << 30;
/// I/Os in flight while a working set is read at random: without the page cache, and with it.
const OUTSTANDING: u32 = 4;
const OUTSTANDING_CACHED: u32 = 1;
/// Working sets grow to this many times the memory that may answer: at twice its size half of the reads miss it.
const TIMES_MEMORY: u64 = 2;

pub(crate) fn probe_cache(args: &ProbeCacheArgs) -> anyhow::Result<Exit> {
    let targets = std::slice::from_ref(&args.target);
    let output = check_output(args.kept.output.as_deref(), targets, &args.store, args.view.form())?;
    let store = open_store(&args.store)?;
    let array = array_of_run(None, (targets, None), &store)?;
    let stop = stop_on_signals()?;
    let run = |plan: Plan| {
        let order = Order {
            label: args.kept.label.clone(),
            note: args.kept.note.clone(),
            array: array.clone(),
            stated: args.stated.memory(),
            ..args.io.order(plan, targets, args.size, &stop)?
        };
        execute(order, &store)
    };
    let done = match run(plan(args, Writes::AsAllowed)?) {
        // Nobody allowed writing, and nothing has begun.
        Err(error) if !args.read_only && args.io.overwrite.is_empty() && is_read_only(&error) => {
            note!("note: write caches are not looked for, as writing is not allowed: {error}");
            run(plan(args, Writes::Never)?)?
        }
        done => done?,
    };
    let before = before(&store, &done);
    let telling = Telling::of(&args.view, args.kept.note.as_deref(), before.as_ref());
    let printed = tell(telling, &done, output.as_ref());
    done.end(printed)
}

/// Whether the probe writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    AsAllowed,
    Never,
}

fn plan(args: &ProbeCacheArgs, writes: Writes) -> anyhow::Result<Plan> {
    let size = size(args)?;
    let host = assay_host::host_facts();
    // A size that was asked for is binding; the default gives way to a smaller target.
    let held = held_bytes(&args.target).filter(|_| args.size.is_none()).unwrap_or(u64::MAX);
    let probe = ProbePlan {
        size,
        bytes: size.resolve(Bytes(host.memory_bytes)).0.min(held),
        run: args.run,
        outstanding: if args.io.cached { OUTSTANDING_CACHED } else { OUTSTANDING },
        absorb: Some(args.absorb).filter(|_| writes == Writes::AsAllowed && !args.read_only),
    };
    Ok(PlanFile::parse("probe-cache", &probe.text())?.resolve(&Overrides::default())?)
}

/// Returns the largest working set: what was asked for, else twice the memory that may answer.
fn size(args: &ProbeCacheArgs) -> anyhow::Result<SizeSpec> {
    if let Some(size) = args.size {
        return Ok(size);
    }
    let host = assay_host::host_facts();
    let own = host.cgroup_memory_bytes.map_or(host.memory_bytes, |limit| limit.min(host.memory_bytes));
    let stated = [args.stated.storage_ram, args.stated.host_ram].into_iter().flatten().map(|b| b.0);
    let memory = stated.chain(args.io.cached.then_some(own)).max();
    let bytes = memory.map_or(SIZE_DEFAULT, |memory| memory.saturating_mul(TIMES_MEMORY));
    Ok(format!("{}MiB", bytes.div_ceil(1 << 20)).parse()?)
}

/// Returns what a file, a device or a LUN that is there holds, bytes; `None` for what is not.
fn held_bytes(target: &str) -> Option<u64> {
    let path = match target.parse() {
        Ok(Address::Path(path)) => path,
        // What cannot be opened is reported when the run opens it.
        Ok(Address::Iscsi(lun)) => {
            return assay_prepare::inspect_lun(&lun, None).ok().map(|of| of.facts.capacity_bytes);
        }
        Ok(Address::Nfs(file)) => {
            let found = assay_prepare::inspect_nfs(&file).ok()?;
            return found.attributes.map(|of| of.size_bytes).filter(|bytes| *bytes > 0);
        }
        _ => return None,
    };
    let is_data = |kind: FileType| kind.is_file() || kind.is_block_device();
    let kind = std::fs::metadata(&path).ok()?.file_type();
    let end = is_data(kind).then(|| File::open(&path).ok()?.seek(SeekFrom::End(0)).ok())??;
    (end > 0).then_some(end)
}

/// Whether a target was refused only because nobody named it to be overwritten.
fn is_read_only(error: &anyhow::Error) -> bool {
    matches!(
        error.chain().find_map(|cause| cause.downcast_ref::<PrepareError>()),
        Some(
            PrepareError::DeviceNotNamed { .. }
                | PrepareError::ForeignFile { .. }
                | PrepareError::UsedSince { .. }
                | PrepareError::DeviceHeld { .. }
                | PrepareError::NotBlank { .. }
        )
    )
}

impl StatedArgs {
    /// As a run records it.
    pub(crate) fn memory(&self) -> StatedMemory {
        let bytes = |stated: Option<Bytes>| stated.map(|bytes| bytes.0).filter(|bytes| *bytes > 0);
        StatedMemory { storage_bytes: bytes(self.storage_ram), host_bytes: bytes(self.host_ram) }
    }
}
