//! Facts about the host, its file systems and its devices, samples taken during a run, and the probe that finds reasons
//! not to write to a device.
//!
//! [`host_facts`], [`filesystem_of`] and [`device_of`] are read once; a [`Sampler`] samples every second; two
//! [`CpuSnapshot`]s measure the CPU cost of a window. [`probe`] finds every [`Hold`] on a block device before anything
//! is written to it. [`NetProbe`] examines the network to a portal, [`tcp_path`] the TCP connection to it.
//! [`interrupts_of`] finds the CPUs that a disk interrupts; [`AwakeGuard`] and [`pin_current_thread`] prepare CPUs for
//! measuring.
//!
//! Architecture invariant: nothing here writes to a device or a file, and missing facts never fail a run: they stay
//! empty. Only the probe fails closed: a device that cannot be probed must not be written.
#![forbid(unsafe_code)]

mod awake;
mod block;
mod bus;
#[cfg(test)]
mod captured;
mod cgroup;
mod clock;
mod clock_keepers;
mod content;
mod cpu;
mod device;
mod drives;
mod facts;
mod file_id;
mod found;
#[doc(hidden)]
pub mod fuzzing;
mod gap;
mod interrupts;
mod machine;
mod mounts;
mod notes;
mod path;
mod probe;
mod program;
mod sampler;
mod shared;

pub use awake::{AwakeError, AwakeGuard, allowed_cpus, pin_current_thread};
pub use clock::{boot_ns, thread_waited_ns};
pub use clock_keepers::clock_keepers;
pub use content::signature_places;
pub use cpu::{CpuSnapshot, cpu_snapshot, lowest_class_ns};
pub use device::{
    PlaceOnDisk, cached_loops, device_of, identities, is_identity_of, is_lasting_identity_of,
    lasting_identity, place_on_disk,
};
pub use facts::host_facts;
pub use found::{Found, found_storage};
pub use interrupts::{DeviceInterrupts, cpu_list, interrupts_of};
pub use mounts::{filesystem_of, may_write, read_only_mount};
pub use path::{Flow, NetProbe, tcp_facts, tcp_path};
pub use probe::{
    Hold, HoldKind, ProbeError, contents, contents_by_table, file_users, file_writer, open_exclusively,
    probe, unseen_processes,
};
pub use sampler::{Sampler, Watched};
pub use shared::{SharedStorage, shared_storage};
