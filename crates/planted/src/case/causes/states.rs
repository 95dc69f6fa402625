//! Causes that are states: of a place, of a device, of a target's threads, of the distance.

use super::*;

/// Changes a set-up and its load so that this is the cause.
pub(super) fn draw(cause: Cause, w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    match cause {
        Cause::WeakRegion => region(w, l, random),
        Cause::Rebuild => {
            let taken = random.within(0.35, 0.85);
            w.neighbour = (taken * 0.9, taken);
            w.medium = if random.chance(0.7) { disks(random) } else { few_dies(random) };
        }
        Cause::RoundTrip => distance(w, l, random),
        Cause::ServerThreads => {
            let threads = random.one_of(&[2, 4, 8]);
            w.served = Some((threads, random.within(250.0, 12_000.0)));
            (w.medium, l.size) = (Medium::Memory, random.one_of(&[4096.0, 8192.0, 16_384.0]));
            l.outstanding = random.one_of(&[16, 32, 64]);
        }
        Cause::FileLock => {
            (w.lock, l.reads) = (Lock::Writes, random.one_of(&[0.0, 0.0, 0.5]));
            l.outstanding = random.one_of(&[8, 16, 32]);
        }
        Cause::FirstWrite => {
            (l.reads, l.random) = (0.0, random.one_of(&[1.0, 1.0, 0.0]));
            w.unallocated = (random.within(0.6, 1.0), random.within(150.0, 3000.0));
        }
        Cause::Crypt => {
            w.crypt = Some((random.one_of(&[1, 4, 8]), random.within(1.0, 12.0)));
            l.size = random.one_of(&[16_384.0, 65_536.0, 131_072.0]);
            w.medium = Medium::Memory;
        }
        Cause::PowerState => {
            (l.outstanding, l.workers) = (random.one_of(&[1, 1, 2]), 1);
            l.size = random.one_of(&[4096.0, 8192.0]);
            w.tester_us = 3.0;
            let light = random.within(60.0, 400.0);
            w.sleeps = [(1.0, light), (light * 1.2, light * random.within(2.0, 8.0))];
        }
        Cause::LinkDowngraded => {
            w.bus_rate = Some(random.one_of(&[140.0, 280.0, 840.0]) * random.within(0.97, 1.0));
            l.size = random.one_of(&[32_768.0, 65_536.0, 131_072.0]);
        }
        Cause::Thermal => {
            w.throttle = random.within(1.8, 5.0);
            w.medium = few_dies(random);
            l.outstanding = random.one_of(&[16, 32, 64]);
        }
        _ => {
            (w.medium, l.random, w.pieces) = (disks(random), 0.0, random.within(0.2, 1.0));
            l.size = random.one_of(&[32_768.0, 65_536.0, 131_072.0]);
        }
    }
}

fn few_dies(random: &mut Random) -> Medium {
    let mut medium = flash(random);
    if let Medium::Flash { dies, .. } = &mut medium {
        *dies = 4 + random.below(6);
    }
    medium
}

/// A part that takes longer, at most a third of the addresses.
fn region(w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    l.random = 1.0;
    l.outstanding = random.one_of(&[8, 16, 32, 64]);
    l.size = random.one_of(&[4096.0, 8192.0, 16_384.0]);
    let from = random.within(0.01, 0.6);
    let ends = (from, from + random.within(0.03, 0.33));
    let waits = random.chance(0.5);
    w.region = Some(Region {
        ends,
        times: if waits { random.within(3.0, 40.0) } else { 1.0 },
        delay_us: if waits { 0.0 } else { random.within(1000.0, 30_000.0) },
    });
}

/// By depth, or by the window of the connections.
fn distance(w: &mut World, l: &mut PlantedLoad, random: &mut Random) {
    (w.delay_us, w.paths) = (random.within(2000.0, 60_000.0), 1);
    w.link_rate = 1170.0;
    if random.chance(0.5) {
        (l.outstanding, l.workers) = (random.one_of(&[1, 2, 4, 8]), 1);
        l.size = random.one_of(&[4096.0, 8192.0, 65_536.0]);
    } else {
        w.window_bytes = Some(random.one_of(&[65_536.0, 262_144.0]));
        (l.size, l.outstanding) = (random.one_of(&[65_536.0, 131_072.0]), random.one_of(&[16, 32, 64]));
        l.reads = random.one_of(&[1.0, 0.0]);
    }
}
