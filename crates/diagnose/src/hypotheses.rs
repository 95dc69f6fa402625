//! Every hypothesis, one file each.

mod burst_credit;
mod bytes_cap;
mod crypt;
mod few_outstanding;
mod file_lock;
mod first_write;
mod flash_parallelism;
mod flush;
mod fragmented;
mod garbage_collection;
mod host_cpu;
mod interface;
mod iops_cap;
mod link;
mod link_downgraded;
mod neighbour;
mod network_fault;
mod page_cache;
mod path_policy;
mod power_state;
mod read_cache;
mod read_modify_write;
mod rebuild;
mod reducible_data;
mod rotating_random;
mod rotating_sequential;
mod round_trip;
mod server_threads;
mod slc_exhausted;
mod slow_member;
mod slow_path;
mod target_per_byte;
mod target_per_io;
mod target_serial;
mod tester_cpu;
mod thermal;
mod throttle;
mod unmapped_blocks;
mod weak_region;
mod write_cache_absorbing;
mod write_cache_full;

use crate::hypothesis::Hypothesis;

/// Every hypothesis.
pub const ALL: [&Hypothesis; 40] = [
    &tester_cpu::HYPOTHESIS,
    &host_cpu::HYPOTHESIS,
    &few_outstanding::HYPOTHESIS,
    &page_cache::HYPOTHESIS,
    &read_cache::HYPOTHESIS,
    &write_cache_absorbing::HYPOTHESIS,
    &write_cache_full::HYPOTHESIS,
    &rotating_random::HYPOTHESIS,
    &rotating_sequential::HYPOTHESIS,
    &flash_parallelism::HYPOTHESIS,
    &slow_member::HYPOTHESIS,
    &weak_region::HYPOTHESIS,
    &rebuild::HYPOTHESIS,
    &round_trip::HYPOTHESIS,
    &server_threads::HYPOTHESIS,
    &file_lock::HYPOTHESIS,
    &first_write::HYPOTHESIS,
    &crypt::HYPOTHESIS,
    &power_state::HYPOTHESIS,
    &link_downgraded::HYPOTHESIS,
    &thermal::HYPOTHESIS,
    &fragmented::HYPOTHESIS,
    &slc_exhausted::HYPOTHESIS,
    &garbage_collection::HYPOTHESIS,
    &interface::HYPOTHESIS,
    &link::HYPOTHESIS,
    &path_policy::HYPOTHESIS,
    &slow_path::HYPOTHESIS,
    &network_fault::HYPOTHESIS,
    &target_per_io::HYPOTHESIS,
    &target_per_byte::HYPOTHESIS,
    &target_serial::HYPOTHESIS,
    &iops_cap::HYPOTHESIS,
    &bytes_cap::HYPOTHESIS,
    &burst_credit::HYPOTHESIS,
    &read_modify_write::HYPOTHESIS,
    &flush::HYPOTHESIS,
    &reducible_data::HYPOTHESIS,
    &unmapped_blocks::HYPOTHESIS,
    &neighbour::HYPOTHESIS,
];
