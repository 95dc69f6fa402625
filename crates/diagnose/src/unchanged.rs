//! Experiments that leave the rate as it is, by what they change. A cause lists those that touch nothing of what
//! limits; of what it does not list it says nothing, and is neither rewarded nor punished for it.

use assay_record::Experiment::{self, *};

/// Which ways to the target are taken.
pub(crate) const WAYS: [Experiment; 3] = [OnePath, MoreConnections, EvenPaths];
/// Which places are used, and in what order.
pub(crate) const PLACES: [Experiment; 5] = [HotSpan, TenthSpan, WholeSpan, Sequential, Random];
/// Where in a block an I/O begins.
pub(crate) const ALIGNMENT: [Experiment; 2] = [Misaligned, Aligned];
/// What is written.
pub(crate) const DATA: [Experiment; 2] = [RepeatingData, UniqueData];
/// Whether writes wait until they are durable.
pub(crate) const DURABILITY: [Experiment; 1] = [WithoutSync];
/// How many threads issue the same number of I/Os.
pub(crate) const WORKERS: [Experiment; 1] = [MoreWorkers];
/// How many I/Os are in flight.
pub(crate) const DEPTH: [Experiment; 1] = [MoreOutstanding];
/// Whether the target rested before.
pub(crate) const REST: [Experiment; 1] = [AfterIdle];
/// All of them: of what limits bytes or operations alone.
pub(crate) const ALL: [&[Experiment]; 8] =
    [&WAYS, &PLACES, &ALIGNMENT, &DATA, &DURABILITY, &WORKERS, &DEPTH, &REST];
