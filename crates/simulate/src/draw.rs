//! What a seed draws before its run begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_iscsi::{Config, Policy, Timeouts, UnitProof, UnitWatch};

use crate::disk::CHUNKS;
use crate::fault::{BESIDE_REPLACED, FAULTS, Fault, OF_BATCHES, OF_RESETS, OF_STALLS};
use crate::random::Random;
use crate::storage::Habits;
use crate::time::{MS, Nanos};

/// Seeds from here on have a target that executes what a lost connection left in it, faults that bring this about, and
/// writes to few chunks meanwhile.
pub const STALLS: u64 = 1 << 40;
/// Seeds from here on are of the same kind, with portals that move and resets that are answered late.
pub(crate) const RESETS: u64 = 1 << 41;
/// Seeds from here on have clients that receive several PDUs at a time, and units that are swapped meanwhile.
pub(crate) const BATCHES: u64 = 1 << 42;
/// Returns the n-th seed, from 1, of those that are tried: of 16 one of each of these kinds.
pub fn nth_seed(n: u64) -> u64 {
    match n % 16 {
        0 => STALLS + n,
        4 => RESETS + n,
        12 => BATCHES + n,
        _ => n,
    }
}

/// Draws the configuration of the initiators.
pub(crate) fn config(random: &mut Random, names: &[String], base: Instant) -> Config {
    let timeouts = timeouts(random);
    let depth = u16::try_from(random.between(1, 9)).expect("a few");
    Config {
        timeouts,
        sessions_per_portal: if random.chance(25) { 2 } else { 1 },
        policy: *random.pick(&[Policy::ROUND_ROBIN_EACH, Policy::LeastOutstanding, Policy::Fixed(0)]),
        depth,
        path_depth: *random.pick(&[2, 8, 8]),
        proof: Arc::new(UnitProof::begun_at(base)),
        watch: *random.pick(&[UnitWatch::Regularly, UnitWatch::OnNews, UnitWatch::Closely]),
        ..Config::new(names.to_vec(), "iqn.2026-11.example:simulated", 0)
    }
}

fn timeouts(random: &mut Random) -> Timeouts {
    let io = Duration::from_secs(*random.pick(&[4, 4, 4, 10, 20]));
    let default = Timeouts::default();
    Timeouts {
        io,
        login: default.login.min(io),
        command: default.command.min(io / 2),
        task_management: default.task_management.min(io / 2),
        ping_interval: Duration::from_secs(1),
        ping: default.ping.min(io),
        no_path: io,
        busy: default.busy.min(io),
        ..default
    }
}

/// Draws the kinds of fault that a run has. The last kind has runs of its own, so that the seeds of the others find
/// what they found without it.
pub(crate) fn enabled(random: &mut Random, is_replaced: bool) -> Vec<Fault> {
    let share = random.between(5, 60);
    let (_, all) = FAULTS.split_last().expect("there are kinds");
    let drawn = all.iter().copied().filter(|_| random.chance(share)).collect();
    if is_replaced { BESIDE_REPLACED.to_vec() } else { drawn }
}

/// Returns the kinds of fault, the number of commands and that of chunks for a seed beyond [`STALLS`], and makes its
/// target execute what is left in it.
pub(crate) fn special(
    seed: u64,
    habits: &mut Habits,
    random: &mut Random,
) -> Option<(Vec<Fault>, u64, usize)> {
    if seed < STALLS {
        return None;
    }
    (habits.executes_after_hang_up, habits.names_groups) = (true, true);
    habits.reads_after_reset = seed >= RESETS;
    match seed {
        BATCHES.. => Some((OF_BATCHES.to_vec(), random.between(500, 2000), CHUNKS)),
        RESETS.. => Some((OF_RESETS.to_vec(), random.between(1000, 3000), 4)),
        _ => Some((OF_STALLS.to_vec(), random.between(2000, 5000), 4)),
    }
}

/// Returns the time in which PDUs arrive together at the client, if nothing else happens meanwhile.
pub(crate) fn together(seed: u64) -> Nanos {
    if seed < BATCHES { 0 } else { *Random::new(seed ^ 0x5eed_0003).pick(&[10 * MS, 50 * MS]) }
}
