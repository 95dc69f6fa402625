//! How much a plan may ask for. A plan within these limits starts within a second; what is beyond them is refused with
//! the place, the number found and the limit.

use crate::units::Bytes;

/// The largest plan file, bytes: ten times what the most steps take when each is written out.
pub const PLAN_BYTES_MAX: u64 = 4 << 20;
/// The most steps of a plan, over all tests and sweeps. Results are kept in memory: about 300 KiB for each job of a
/// step, so 1.5 GiB for these.
pub const STEPS_MAX: usize = 5_000;
/// The most jobs of a plan, summed over its steps; see [`STEPS_MAX`].
pub(crate) const LOADS_MAX: usize = 5_000;
/// I/Os in flight of a worker in an open loop, where a plan gives no number.
pub const OPEN_OUTSTANDING: u32 = 256;
/// Memory of those I/Os: fewer are in flight where they are larger than 1 MiB.
pub(crate) const OPEN_BUFFERS: Bytes = Bytes(256 << 20);
/// The most jobs of one test: they run side by side.
pub const JOBS_MAX: usize = 256;
/// The most workers of all jobs of a step: each is a thread with a queue of its own.
pub(crate) const STEP_WORKERS_MAX: u32 = 1024;
/// The most access lines of one job: each has distributions of its own, about 500 KiB for each worker.
pub const LINES_MAX: usize = 1_000;
/// The most access lines of a plan, summed over the jobs of all steps: the record of a run has them all.
pub(crate) const LINES_OF_PLAN_MAX: usize = 100_000;
/// The most absolute limits of a plan.
pub(crate) const THRESHOLDS_MAX: usize = 1_000;
/// The longest name of a test or a job, characters: a wider one fits no table.
pub const NAME_CHARS_MAX: usize = 200;
/// The longest text of a swept value, characters.
pub(crate) const VALUE_CHARS_MAX: usize = 64;
