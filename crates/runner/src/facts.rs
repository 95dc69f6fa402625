//! Facts about this host, with those of its wall clock: hosts that run together begin by it.

use assay_record::{ClockState, HostFacts};

/// Returns the facts about this host. Never fails: what the kernel does not show stays empty.
pub fn host_facts() -> HostFacts {
    let clock = assay_target::kernel_clock().map(|clock| ClockState {
        is_synchronized: clock.is_synchronized,
        error_max_us: clock.is_synchronized.then_some(clock.error_max_us),
        kept_by: assay_host::clock_keepers(),
    });
    HostFacts { clock, ..assay_host::host_facts() }
}
