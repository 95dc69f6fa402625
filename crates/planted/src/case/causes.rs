//! How each cause is planted.

use super::*;
use crate::header::CPUS;

mod states;

/// A load is limited by a cause if it is slower with it by this factor.
const SLOWER: f64 = 0.72;
/// Whether the planted cause is what limits.
pub(super) fn limits(case: &PlantedCase) -> bool {
    let with = measure(&case.world, &case.load, case.seed).iops;
    let (world, load) = without(case);
    // A cause that makes a load faster than its medium is shown by what comes without it.
    match case.cause {
        Cause::PageCache => true,
        Cause::UnmappedBlocks | Cause::WriteCacheAbsorbing => {
            let seen = measure(&case.world, &case.load, case.seed);
            seen.tester_busy < 0.7 && seen.link_share < 0.7
        }
        Cause::ReducibleData => {
            let bare = PlantedLoad { repeats: false, ..case.load.clone() };
            let link_share = measure(&case.world, &case.load, case.seed).link_share;
            link_share < 0.8 && with * SLOWER > measure(&case.world, &bare, case.seed).iops
        }
        Cause::ReadCache => {
            let bare = World { cached: 0.0, ..case.world.clone() };
            with > measure(&bare, &case.load, case.seed).iops * 1.4
        }
        Cause::Neighbour => true,
        _ => with < measure(&world, &load, case.seed).iops * SLOWER,
    }
}

/// The same set-up without its cause.
fn without(case: &PlantedCase) -> (World, PlantedLoad) {
    let (mut w, mut load) = (case.world.clone(), case.load.clone());
    match case.cause {
        Cause::TesterCpu => (w.tester_us, w.tester_us_per_kib, w.quota) = (0.5, 0.0, None),
        Cause::HostCpu => w.others = 0.0,
        Cause::FewOutstanding => load.outstanding *= 3,
        Cause::RotatingRandom | Cause::RotatingSequential | Cause::ReadCache | Cause::WriteCacheFull => {
            w.medium = Medium::Memory;
        }
        Cause::FlashParallelism => w.medium = Medium::Memory,
        Cause::SlcExhausted | Cause::GarbageCollection => {
            if let Medium::Flash { slc, collection, .. } = &mut w.medium {
                (*slc, *collection) = (1.0, (0.0, 0.0));
            }
        }
        Cause::SlowMember => {
            if let Medium::Stripe { slower, .. } = &mut w.medium {
                *slower = 1.0;
            }
        }
        Cause::Interface => w.bus_rate = None,
        Cause::Link => w.link_rate *= 4.0,
        Cause::PathPolicy => w.spread = Spread::Every(1),
        Cause::SlowPath => w.slowest_link = 1.0,
        Cause::NetworkFault => w.loss = 0.0,
        Cause::TargetPerIo => w.target_us = 0.5,
        Cause::TargetPerByte => w.target_us_per_kib = 0.0,
        Cause::TargetSerial => w.lock = Lock::None,
        Cause::IopsCap | Cause::BytesCap | Cause::BurstCredit => (w.iops_cap, w.bytes_cap) = (None, None),
        Cause::ReadModifyWrite => w.read_modify_write = 1.0,
        Cause::Flush => load.is_sync = false,
        Cause::WeakRegion => w.region = None,
        Cause::Rebuild => w.neighbour = (0.0, 0.0),
        Cause::RoundTrip => (w.delay_us, w.window_bytes) = (w.delay_us / 4.0, None),
        Cause::ServerThreads => w.served = None,
        Cause::FileLock => w.lock = Lock::None,
        Cause::FirstWrite => w.unallocated = (0.0, 0.0),
        Cause::Crypt => w.crypt = None,
        Cause::PowerState => w.sleeps = [(f64::INFINITY, 0.0); 2],
        Cause::LinkDowngraded => w.bus_rate = None,
        Cause::Thermal => w.throttle = 1.0,
        Cause::Fragmented => w.pieces = 0.0,
        _ => {}
    }
    (w, load)
}

fn flash(random: &mut Random) -> Medium {
    Medium::Flash {
        dies: 16 + random.below(48),
        read_us: random.within(55.0, 110.0),
        write_us: random.within(25.0, 60.0),
        collection: (0.0, 0.0),
        slc: 1.0,
    }
}

fn disks(random: &mut Random) -> Medium {
    Medium::Disks {
        count: 1 + random.below(10),
        access_us: random.within(5500.0, 16_000.0),
        rate: random.within(90.0, 230.0),
    }
}

/// A set-up in which nothing is near its limit.
pub(super) fn ample(random: &mut Random, is_remote: bool) -> World {
    World {
        tester_us: random.within(1.5, 5.0),
        tester_us_per_kib: if is_remote { random.within(0.02, 0.06) } else { 0.005 },
        others: 0.0,
        cpus: CPUS as usize,
        quota: None,
        delay_us: if is_remote { random.within(40.0, 250.0) } else { random.within(4.0, 15.0) },
        page_cached: false,
        iops_cap: None,
        bytes_cap: None,
        burst: None,
        paths: if is_remote { random.one_of(&[1, 1, 1, 2, 4]) } else { 0 },
        link_rate: random.one_of(&[1170.0, 1170.0, 2940.0]),
        slowest_link: 1.0,
        spread: Spread::Every(1),
        loss: 0.0,
        target_threads: 4 + random.below(12),
        target_us: if is_remote { random.within(3.0, 12.0) } else { 0.5 },
        target_us_per_kib: if is_remote { random.within(0.02, 0.1) } else { 0.0 },
        lock: Lock::None,
        cached: 0.0,
        write_cache: WriteCache::None,
        medium: flash(random),
        bus_rate: None,
        read_modify_write: 1.0,
        stripe_bytes: 0.0,
        flush_us: random.within(10.0, 40.0),
        reduction: 1.0,
        unmapped: 0.0,
        neighbour: (0.0, random.within(0.001, 0.04)),
        region: None,
        served: None,
        window_bytes: None,
        crypt: None,
        sleeps: [(f64::INFINITY, 0.0); 2],
        unallocated: (0.0, 0.0),
        throttle: 1.0,
        pieces: 0.0,
    }
}

pub(super) fn load(random: &mut Random) -> PlantedLoad {
    PlantedLoad {
        outstanding: random.one_of(&[8, 16, 32, 64]),
        workers: if random.chance(0.2) { 2 } else { 1 },
        size: random.one_of(&[4096.0, 8192.0, 32_768.0, 65_536.0]),
        reads: random.one_of(&[1.0, 1.0, 0.7, 0.0]),
        random: random.one_of(&[1.0, 1.0, 0.6, 0.0]),
        span: 1.0,
        is_sync: false,
        repeats: false,
        misaligned: false,
        one_path: false,
        even_paths: false,
        more_connections: false,
        after_idle: false,
        rate: None,
        window_s: timing(BUDGET_S).0,
    }
}

/// How often the target of a cause is behind a network.
fn remote_share(cause: Cause) -> f64 {
    match cause {
        Cause::Link
        | Cause::PathPolicy
        | Cause::SlowPath
        | Cause::NetworkFault
        | Cause::TargetPerIo
        | Cause::TargetPerByte
        | Cause::RoundTrip
        | Cause::ServerThreads => 1.0,
        Cause::PageCache
        | Cause::Interface
        | Cause::UnmappedBlocks
        | Cause::Rebuild
        | Cause::FileLock
        | Cause::Crypt
        | Cause::PowerState
        | Cause::LinkDowngraded
        | Cause::Thermal
        | Cause::Fragmented => 0.0,
        Cause::TargetSerial => 0.85,
        _ => 0.5,
    }
}

/// Draws a set-up with this cause.
pub(super) fn draw(cause: Cause, seed: u64, random: &mut Random) -> PlantedCase {
    let is_remote = random.chance(remote_share(cause));
    let (mut w, mut l) = (ample(random, is_remote), load(random));
    match cause {
        Cause::TesterCpu
        | Cause::HostCpu
        | Cause::FewOutstanding
        | Cause::PageCache
        | Cause::Neighbour
        | Cause::Flush
        | Cause::ReducibleData
        | Cause::UnmappedBlocks => of_host(cause, &mut w, &mut l, random),
        Cause::Interface
        | Cause::Link
        | Cause::PathPolicy
        | Cause::SlowPath
        | Cause::NetworkFault
        | Cause::TargetPerIo
        | Cause::TargetPerByte
        | Cause::TargetSerial => of_way(cause, &mut w, &mut l, random),
        Cause::IopsCap | Cause::BytesCap | Cause::BurstCredit => of_limits(cause, &mut w, &l, (seed, random)),
        Cause::WeakRegion
        | Cause::Rebuild
        | Cause::RoundTrip
        | Cause::ServerThreads
        | Cause::FileLock
        | Cause::FirstWrite
        | Cause::Crypt
        | Cause::PowerState
        | Cause::LinkDowngraded
        | Cause::Thermal
        | Cause::Fragmented => states::draw(cause, &mut w, &mut l, random),
        _ => of_media(cause, &mut w, &mut l, random),
    }
    of_cpus(cause, &mut w, &mut Random::new(seed ^ 0xC9));
    case(cause, (w, l), seed, random)
}

/// A set-up with its load, and what is drawn beside them.
pub(super) fn case(
    cause: Cause,
    (mut w, mut l): (World, PlantedLoad),
    seed: u64,
    random: &mut Random,
) -> PlantedCase {
    let noise = random.within(0.008, 0.03);
    let has_credit = random.chance(0.5);
    let may_write = of_durability_and_span(&mut w, &mut l, &mut Random::new(!seed));
    let setting = setting(cause, &w, &l);
    let of_all = w.others * w.cpus as f64 / f64::from(CPUS);
    let others_busy = of_all.max(random.within(0.01, 0.15)).max(of_others_that_give_way(seed));
    let (settles, fills) = (random.within(1.0, 6.0), random.within(0.02, 0.9));
    PlantedCase {
        cause,
        setting,
        world: w,
        load: l,
        noise,
        may_write,
        seed,
        others_busy,
        is_served_here: false,
        has_credit,
        budget_s: BUDGET_S,
        settles,
        fills,
    }
}

/// Which CPUs the tester has: all, one of them, or a part of their time.
fn of_cpus(cause: Cause, w: &mut World, random: &mut Random) {
    match cause {
        Cause::TesterCpu if random.chance(0.25) => w.quota = Some(random.within(0.1, 0.6)),
        Cause::HostCpu if random.chance(0.3) => w.cpus = 1,
        _ => {}
    }
}

/// CPU time of others that takes nothing from the load: it wakes up before them.
fn of_others_that_give_way(seed: u64) -> f64 {
    let mut random = Random::new(seed ^ 0x5EED);
    if random.chance(0.15) { random.within(0.3, 1.0) } else { 0.0 }
}

/// Draws what shows only in experiments with durable writes, other spans and writes beside reads; returns whether
/// experiments may write.
fn of_durability_and_span(w: &mut World, l: &mut PlantedLoad, random: &mut Random) -> bool {
    if let WriteCache::Absorbing { is_protected } = &mut w.write_cache {
        *is_protected = random.chance(0.5);
    }
    // Media without a protected cache: most of a revolution, or the program time of flash.
    if !l.is_sync && random.chance(0.5) {
        w.flush_us = match w.medium {
            Medium::Disks { .. } => random.within(3000.0, 9000.0),
            Medium::Flash { .. } | Medium::Stripe { .. } => random.within(200.0, 1500.0),
            Medium::Memory => w.flush_us,
        };
    }
    // A window of the load's own, of which the target's memory holds as much as before.
    if l.reads == 1.0 && random.chance(0.3) {
        l.span = 0.2;
        w.cached *= l.span;
    }
    random.chance(0.5)
}

fn of_host(cause: Cause, w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    match cause {
        Cause::TesterCpu => {
            w.medium = Medium::Memory;
            (w.target_us, l.workers, l.size) = (0.3, 1, random.one_of(&[4096.0, 8192.0]));
            (w.tester_us, l.outstanding) = (random.within(8.0, 40.0), random.one_of(&[32, 64]));
            w.link_rate = 2940.0;
            w.delay_us = w.delay_us.min(80.0);
        }
        Cause::HostCpu => {
            w.medium = Medium::Memory;
            (w.others, w.tester_us) = (1.0 - random.within(0.08, 0.5), random.within(5.0, 20.0));
            (l.workers, l.size, w.target_us) = (1, 4096.0, 0.3);
            w.link_rate = 2940.0;
        }
        Cause::FewOutstanding => {
            l.outstanding = random.one_of(&[1, 1, 2, 4]);
            l.workers = 1;
            l.size = random.one_of(&[4096.0, 8192.0, 32_768.0]);
            // Where the round trip takes most of the time, that is what limits: another cause.
            if let Medium::Flash { read_us, write_us, .. } = w.medium {
                w.delay_us = w.delay_us.min(if l.reads < 0.5 { write_us } else { read_us });
            }
        }
        Cause::PageCache => {
            (w.page_cached, w.tester_us, l.workers) = (true, random.within(1.5, 6.0), 1);
            w.tester_us_per_kib = random.within(0.1, 0.25);
        }
        Cause::Neighbour => {
            w.neighbour = (random.within(0.01, 0.3), random.within(0.6, 0.9));
            if let Medium::Flash { dies, .. } = &mut w.medium {
                *dies = 4 + random.below(8);
            }
            if random.chance(0.6) {
                w.medium = disks(random);
            }
        }
        Cause::Flush => {
            (l.is_sync, l.reads) = (true, random.one_of(&[0.0, 0.0, 0.3]));
            w.flush_us = random.within(400.0, 9000.0);
            l.outstanding = random.one_of(&[1, 4, 16]);
        }
        Cause::ReducibleData => {
            (l.reads, l.repeats, w.reduction) = (0.0, true, random.within(2.5, 12.0));
            l.size = random.one_of(&[32_768.0, 65_536.0]);
            if let Medium::Flash { dies, .. } = &mut w.medium {
                *dies = 4 + random.below(4);
            }
        }
        _ => {
            (w.unmapped, l.reads) = (1.0 - random.within(0.001, 0.4), 1.0);
            w.target_us = random.within(8.0, 60.0);
            w.target_threads = 1 + random.below(2);
        }
    }
}

fn of_way(cause: Cause, w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    let large = random.one_of(&[32_768.0, 65_536.0, 131_072.0]);
    match cause {
        Cause::Interface => {
            w.bus_rate = Some(random.one_of(&[280.0, 550.0, 1150.0]) * random.within(0.985, 1.015));
            l.size = large;
        }
        Cause::Link => {
            w.link_rate = random.one_of(&[11.8, 117.6, 117.6, 294.0]);
            w.paths = random.one_of(&[1, 1, 2, 4]);
            (l.size, l.outstanding) = (large, random.one_of(&[16, 32, 64]));
            l.reads = random.one_of(&[1.0, 0.0]);
        }
        Cause::PathPolicy => {
            w.paths = random.one_of(&[2, 4]);
            w.link_rate = 117.6;
            w.spread = random.one_of(&[Spread::First, Spread::Every(1000)]);
            (l.size, l.reads, l.outstanding) =
                (large, random.one_of(&[1.0, 0.0]), random.one_of(&[16, 32, 64]));
        }
        Cause::SlowPath => {
            (w.paths, w.link_rate) = (random.one_of(&[2, 4]), random.one_of(&[117.6, 1170.0]));
            w.slowest_link = random.one_of(&[0.1, 0.1, 0.4]);
            (l.size, l.reads, l.outstanding) =
                (large, random.one_of(&[1.0, 0.0]), random.one_of(&[16, 32, 64]));
        }
        Cause::NetworkFault => {
            w.loss = random.within(0.008, 0.06);
            l.reads = random.one_of(&[1.0, 0.5, 0.0]);
        }
        Cause::TargetPerIo => {
            w.target_threads = random.one_of(&[1, 1, 2]);
            w.target_us = random.within(25.0, 300.0);
            w.target_us_per_kib = w.target_us * random.within(0.004, 0.05);
            l.size = random.one_of(&[4096.0, 8192.0]);
        }
        Cause::TargetPerByte => {
            w.target_threads = 1;
            w.target_us_per_kib = random.within(2.0, 14.0);
            w.target_us = w.target_us_per_kib * random.within(6.0, 30.0);
            l.size = large;
        }
        _ => {
            w.lock = if random.chance(0.6) { Lock::All } else { Lock::Writes };
            if w.lock == Lock::Writes {
                l.reads = random.one_of(&[0.65, 0.5]);
            }
            if w.lock == Lock::All || random.chance(0.6) {
                w.medium = disks(random);
                l.random = 1.0;
                if let Medium::Disks { count, .. } = &mut w.medium {
                    *count += 3;
                }
            }
        }
    }
}

fn of_limits(cause: Cause, w: &mut World, l: &PlantedLoad, (seed, random): (u64, &mut Random)) {
    let free = measure(w, l, seed).iops;
    let capped = free * random.within(0.06, 0.45);
    match cause {
        Cause::IopsCap => w.iops_cap = Some(capped),
        Cause::BytesCap => w.bytes_cap = Some(capped * l.size / 1e6),
        _ => {
            if random.chance(0.6) {
                w.iops_cap = Some(capped);
            } else {
                w.bytes_cap = Some(capped * l.size / 1e6);
            }
            w.burst = Some((random.within(1.6, 10.0), random.within(1.5, 20.0)));
        }
    }
}

fn of_stripe(w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    (l.random, l.reads) = (1.0, random.one_of(&[1.0, 1.0, 0.7]));
    l.outstanding = random.one_of(&[16, 32, 64]);
    l.size = random.one_of(&[4096.0, 8192.0, 16_384.0]);
    w.medium = Medium::Stripe {
        members: random.one_of(&[4, 8]),
        service_us: random.within(60.0, 3000.0),
        slower: random.one_of(&[2.0, 3.0, 5.0]),
        slow: 1,
        serves: Serves::OneAtATime,
        chunk: random.one_of(&[16_384.0, 65_536.0, 1_048_576.0]),
    };
}

fn of_media(cause: Cause, w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    match cause {
        Cause::ReadCache => {
            (w.medium, l.reads, l.random) = (disks(random), 1.0, 1.0);
            w.cached = 1.0 - random.within(0.02, 0.5);
        }
        Cause::WriteCacheAbsorbing => {
            (w.medium, w.write_cache) = (disks(random), WriteCache::Absorbing { is_protected: true });
            (l.reads, l.random) = (0.0, random.one_of(&[1.0, 1.0, 0.6]));
            w.target_us = random.within(8.0, 60.0);
            w.target_threads = 1 + random.below(2);
        }
        Cause::WriteCacheFull => {
            (w.medium, w.write_cache) =
                (disks(random), WriteCache::Full { room: random.within(2000.0, 90_000.0) });
            (l.reads, l.random) = (0.0, 1.0);
        }
        Cause::RotatingRandom => (w.medium, l.random) = (disks(random), random.one_of(&[1.0, 1.0, 0.6])),
        Cause::RotatingSequential => {
            (w.medium, l.random) = (disks(random), 0.0);
            l.size = random.one_of(&[32_768.0, 65_536.0, 131_072.0]);
        }
        Cause::SlowMember => of_stripe(w, l, random),
        Cause::SlcExhausted => {
            (l.reads, l.size) = (0.0, random.one_of(&[16_384.0, 65_536.0, 131_072.0]));
            if let Medium::Flash { slc, dies, .. } = &mut w.medium {
                (*slc, *dies) = (random.within(3.0, 9.0), 6 + random.below(10));
            }
        }
        Cause::GarbageCollection => {
            (l.reads, l.random) = (random.one_of(&[0.0, 0.0, 0.3]), 1.0);
            if let Medium::Flash { collection, dies, .. } = &mut w.medium {
                *collection = (random.within(0.02, 0.12), random.within(2500.0, 12_000.0));
                *dies = 8 + random.below(16);
            }
        }
        Cause::ReadModifyWrite => {
            (l.reads, l.random) = (random.one_of(&[0.0, 0.0, 0.35]), 1.0);
            w.read_modify_write = random.within(2.5, 6.0);
            w.medium = if random.chance(0.6) { disks(random) } else { flash(random) };
            if let Medium::Flash { dies, .. } = &mut w.medium {
                *dies = 4 + random.below(4);
            }
            if random.chance(0.5) {
                l.misaligned = true;
                l.size = random.one_of(&[4096.0, 8192.0]);
            } else {
                (l.size, w.stripe_bytes) = (random.one_of(&[4096.0, 8192.0]), 30_000.0);
            }
        }
        // Flash: more I/Os outstanding than dies.
        _ => {
            l.outstanding = random.one_of(&[32, 64]);
            if let Medium::Flash { dies, .. } = &mut w.medium {
                *dies = 3 + random.below(9);
            }
            (l.random, l.reads) = (1.0, random.one_of(&[1.0, 1.0, 0.7]));
            l.size = random.one_of(&[4096.0, 8192.0, 16_384.0]);
        }
    }
}

/// The state that the host shows with a cause.
fn shown(cause: Cause, reach: Reach) -> Vec<Cause> {
    let is_shown = match cause {
        Cause::Rebuild
        | Cause::Crypt
        | Cause::LinkDowngraded
        | Cause::Thermal
        | Cause::PowerState
        | Cause::Fragmented => reach != Reach::Remote,
        Cause::FirstWrite => true,
        _ => false,
    };
    if is_shown { vec![cause] } else { Vec::new() }
}

fn setting(cause: Cause, w: &World, l: &PlantedLoad) -> Setting {
    let reach = match (w.page_cached, w.paths) {
        (true, _) => Reach::Cached,
        (false, 0) => Reach::Local,
        (false, _) => Reach::Remote,
    };
    Setting {
        load: format!("{cause:?}"),
        reach,
        size_bytes: l.size,
        outstanding: l.outstanding as f64,
        workers: l.workers as f64,
        reads: l.reads,
        random: l.random,
        is_sync: l.is_sync,
        is_reducible: l.repeats,
        is_misaligned: l.misaligned,
        paths: w.paths,
        links: w.paths,
        is_paced: false,
        span_bytes: 1e11 * l.span,
        has_cpu_quota: w.quota.is_some(),
        is_file: reach != Reach::Remote
            && (cause == Cause::FileLock || cause == Cause::Fragmented || l.reads == 1.0),
        is_served: reach == Reach::Remote,
        is_on_device: reach == Reach::Local,
        is_virtual_disk: false,
        is_in_memory: false,
        has_helpers: false,
        helpers_may_wait: false,
        shown: shown(cause, reach),
    }
}
