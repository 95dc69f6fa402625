//! The limit on the address space of the program: an allocation that fails in the middle of a run ends it without a
//! word of what was written, so too low a limit is refused before anything is done.

use nix::sys::resource::{Resource, getrlimit};

/// Least address space, bytes. A run of one worker takes up to 270 MB, most of it reserved and never used: the stacks
/// and arenas of its threads.
const LEAST_BYTES: u64 = 512 << 20;

/// Fails if the limit of this process is too low.
pub(crate) fn enough() -> Result<(), String> {
    let Ok((limit_bytes, _)) = getrlimit(Resource::RLIMIT_AS) else { return Ok(()) };
    if limit_bytes >= LEAST_BYTES {
        return Ok(());
    }
    Err(format!(
        "the address space of programs of this shell is limited to {} KiB (ulimit -v), and Assay needs {} KiB: raise \
         the limit; to bound the memory that is really used, use a control group (systemd-run -p MemoryMax=…)",
        limit_bytes / 1024,
        LEAST_BYTES / 1024
    ))
}
