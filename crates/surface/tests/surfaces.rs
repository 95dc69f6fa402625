//! Maps of simulated surfaces: what is planted is named, and noise is not.

use std::cell::RefCell;

use assay_model::array::parse;
use assay_model::des::{Simulation, VirtualOp};
use assay_model::raid::Kind;
use assay_spec::random::split_mix;
use assay_surface::{
    Finding, Ground, Look, Order, Outcome, Sample, SurfaceMap, Survey, Why, compare, map_of, places_of_load,
};

const GIB: u64 = 1 << 30;
const MS: f64 = 1e6;

/// What a simulated target knows when it answers.
struct Moment {
    look: Look,
    at_ns: u64,
    random: u64,
}

impl Moment {
    /// A number in [0, 1).
    fn uniform(&mut self) -> f64 {
        (split_mix(&mut self.random) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Time of a read of this many ms by a disk, give or take a third, with a tail, ms.
    fn around(&mut self, ms: f64) -> f64 {
        let tail = if self.uniform() < 0.01 { 5.0 } else { 1.0 };
        ms * (0.67 + 0.66 * self.uniform()) * tail
    }
}

/// Surveys a target of that size by so many reads of which `answer` says the time, ms.
fn survey(
    size_bytes: u64,
    reads: u32,
    (order, seed): (Order, u64),
    answer: &dyn Fn(&mut Moment) -> (f64, Outcome),
) -> SurfaceMap {
    let mut survey =
        Survey::new(Ground { size_bytes, block_bytes: 512, read_bytes_max: 1 << 20 }, order, seed)
            .expect("large enough");
    let (mut at_ns, mut random) = (0, seed);
    for done in 0..reads {
        let Some(look) = survey.next(f64::from(done) / f64::from(reads)) else { break };
        assert!(look.offset_bytes + u64::from(look.size_bytes) <= size_bytes, "{look:?}");
        let mut moment = Moment { look, at_ns, random: split_mix(&mut random) };
        let (ms, outcome) = answer(&mut moment);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
        let latency_ns = (ms * MS) as u64;
        survey.took(Sample { look, at_ns, latency_ns, outcome });
        at_ns += latency_ns;
    }
    map_of("simulated", &survey)
}

fn random(seed: u64) -> (Order, u64) {
    (Order::Random, seed)
}

/// Everything that says something about a place.
fn about_places(map: &SurfaceMap) -> Vec<&Finding> {
    let is_about_place = |finding: &&Finding| {
        !matches!(finding, Finding::Passing { .. } | Finding::Undecided { .. } | Finding::Disturbed { .. })
    };
    map.findings.iter().filter(is_about_place).collect()
}

/// A stripe of which one member, from 0, is slower.
fn stripe(chunk: u64, members: u64, slow: u64, times: f64) -> impl Fn(&mut Moment) -> (f64, Outcome) {
    move |moment| {
        let is_slow = moment.look.offset_bytes / chunk % members == slow;
        (moment.around(if is_slow { times } else { 1.0 }), Outcome::Data)
    }
}

#[test]
fn the_slow_member_of_a_stripe_is_named_with_its_chunk() {
    for kib in [16_u64, 32, 64, 128, 256, 512, 1024] {
        for members in [4, 8] {
            for times in [2.0, 3.0, 5.0] {
                let member = (kib / 16 + 2) % members;
                let map = survey(64 * GIB, 2000, random(7 + kib), &stripe(kib << 10, members, member, times));
                let [Finding::SlowMember(found)] = about_places(&map)[..] else {
                    panic!("{kib} KiB, {members} members, {times}: {:?}", map.findings)
                };
                assert_eq!(
                    (found.chunk_bytes, u64::from(found.members)),
                    (kib << 10, members),
                    "{times} times"
                );
                assert_eq!(found.slow.len(), 1, "{found:?}");
                assert_eq!(u64::from(found.slow[0].member), member + 1);
                assert!((found.slow[0].times / times - 1.0).abs() < 0.2, "{found:?}");
            }
        }
    }
}

#[test]
fn odd_numbers_of_members_two_slow_ones_and_small_targets_are_no_obstacle() {
    let map = survey(64 * GIB, 2000, random(1), &stripe(64 << 10, 5, 3, 3.0));
    assert!(matches!(about_places(&map)[..], [Finding::SlowMember(found)] if found.members == 5));
    let two = |moment: &mut Moment| {
        let is_slow = [1, 4].contains(&(moment.look.offset_bytes / (128 << 10) % 7));
        (moment.around(if is_slow { 4.0 } else { 1.0 }), Outcome::Data)
    };
    let map = survey(64 * GIB, 4000, random(2), &two);
    let [Finding::SlowMember(found)] = about_places(&map)[..] else { panic!("{:?}", map.findings) };
    let mut slow: Vec<u32> = found.slow.iter().map(|slow| slow.member).collect();
    slow.sort_unstable();
    assert_eq!((found.members, slow), (7, vec![2, 5]), "{found:?}");
    // Every chunk of 64 MiB is read many times.
    let map = survey(64 << 20, 6000, random(3), &stripe(64 << 10, 8, 2, 3.0));
    assert!(
        matches!(about_places(&map)[..], [Finding::SlowMember(found)] if found.members == 8),
        "{:?}",
        map.findings
    );
}

/// A neighbour takes the target for seconds at a time, and makes everything ten times slower.
fn neighbour(moment: &mut Moment) -> (f64, Outcome) {
    let is_busy = (moment.at_ns / 700_000_000) % 3 == 1;
    let spike = if moment.uniform() < 0.02 { 20.0 } else { 1.0 };
    (moment.around(if is_busy { 10.0 } else { 1.0 }) * spike, Outcome::Data)
}

/// A target whose latencies have a heavy tail and waves of all lengths.
fn waves(moment: &mut Moment) -> (f64, Outcome) {
    let seconds = moment.at_ns as f64 / 1e9;
    let wave = (seconds * 3.0).sin() + (seconds / 2.0).sin() + (seconds * 40.0).sin();
    let tail = moment.uniform().max(1e-4).powf(-0.8);
    (wave.exp() * tail, Outcome::Data)
}

#[test]
fn noise_has_no_places() {
    let (mut said, mut maps) = (0, 0);
    for seed in 0..150 {
        for (size, answer) in [
            (64 * GIB, &neighbour as &dyn Fn(&mut Moment) -> (f64, Outcome)),
            (100 << 20, &neighbour),
            (GIB, &waves),
        ] {
            let map = survey(size, 2000, random(1000 + seed), answer);
            maps += 1;
            if !about_places(&map).is_empty() {
                said += 1;
                println!("{seed} {size}: {:?}", about_places(&map));
            }
        }
    }
    println!("{said} of {maps} maps of noise name a place");
    // One map has four kinds of findings with a chance of 0.001 at most: about two of 450, if all bounds are reached.
    assert!(said <= 4, "{said} of {maps} maps of noise name a place");
}

#[test]
fn a_neighbour_is_told_as_a_time_and_its_slow_reads_as_passing() {
    let map = survey(64 * GIB, 4000, random(1), &neighbour);
    assert!(about_places(&map).is_empty(), "{:?}", map.findings);
    assert!(map.findings.iter().any(|of| matches!(of, Finding::Disturbed { share } if *share > 0.05)));
    assert!(map.findings.iter().any(|of| matches!(of, Finding::Passing { places } if *places > 10)));
}

#[test]
fn a_slow_member_is_seen_through_a_neighbour() {
    let both = |moment: &mut Moment| {
        let is_slow = moment.look.offset_bytes / (64 << 10) % 8 == 2;
        let (ms, outcome) = neighbour(moment);
        (if is_slow { 3.0 * ms } else { ms }, outcome)
    };
    let map = survey(64 * GIB, 4000, random(1), &both);
    let [Finding::SlowMember(found)] = about_places(&map)[..] else { panic!("{:?}", map.findings) };
    assert_eq!((found.chunk_bytes, found.members, found.slow[0].member), (64 << 10, 8, 3));
}

#[test]
fn weak_places_are_slow_again_beside_a_neighbour_too() {
    // Of four places in a hundred, 40 times as slow: some are met, and all that are named are among them.
    let is_weak = |offset: u64| {
        let mut hash = offset / (256 << 10);
        split_mix(&mut hash).is_multiple_of(250)
    };
    let answer = |moment: &mut Moment| {
        let weak = is_weak(moment.look.offset_bytes);
        let (ms, outcome) = neighbour(moment);
        (if weak { 40.0 * ms } else { ms }, outcome)
    };
    let map = survey(64 * GIB, 6000, random(5), &answer);
    let weak: Vec<u64> = map
        .findings
        .iter()
        .filter_map(|of| match of {
            Finding::WeakPlace { offset_bytes, .. } => Some(*offset_bytes),
            _ => None,
        })
        .collect();
    assert!(weak.len() >= 3, "{:?}", map.findings);
    assert!(weak.iter().all(|offset| is_weak(*offset)), "{:?}", map.findings);
    assert_eq!(about_places(&map).len(), weak.len(), "{:?}", map.findings);
}

#[test]
fn weak_regions_fast_regions_holes_and_unreadable_places_are_named() {
    let answer = |moment: &mut Moment| match moment.look.offset_bytes / GIB {
        10..14 => (moment.around(4.0), Outcome::Data),
        20..28 => (moment.around(0.1), Outcome::Data),
        40..48 => (moment.around(0.05), Outcome::Zeros),
        _ if (50 * GIB..51 * GIB).contains(&moment.look.offset_bytes) => {
            (moment.around(300.0), Outcome::Failed(5))
        }
        _ => (moment.around(1.0), Outcome::Data),
    };
    let map = survey(64 * GIB, 4000, random(3), &answer);
    let of = |wanted: fn(&Finding) -> Option<(u64, u64)>| -> Vec<(u64, u64)> {
        map.findings.iter().filter_map(wanted).map(|(from, to)| (from / GIB, to / GIB)).collect()
    };
    let slow = of(|of| match of {
        Finding::SlowRegion { from_bytes, to_bytes, .. } => Some((*from_bytes, *to_bytes)),
        _ => None,
    });
    let fast = of(|of| match of {
        Finding::FastRegion { from_bytes, to_bytes, .. } => Some((*from_bytes, *to_bytes)),
        _ => None,
    });
    let zeros = of(|of| match of {
        Finding::Zeros { from_bytes, to_bytes } => Some((*from_bytes, *to_bytes)),
        _ => None,
    });
    assert_eq!((slow, fast, zeros), (vec![(10, 14)], vec![(20, 28)], vec![(40, 48)]), "{:?}", map.findings);
    let is_unreadable = |of: &Finding| {
        matches!(of, Finding::Unreadable { from_bytes, to_bytes, errno: 5, .. }
        if from_bytes / GIB == 50 && (to_bytes - 1) / GIB <= 51)
    };
    assert!(map.findings.iter().any(is_unreadable));
    assert!(!map.findings.iter().any(|of| matches!(of, Finding::SlowMember(_) | Finding::WeakPlace { .. })));
}

/// What was written last lies in the SLC cache of a drive, and is read in half of the time.
#[test]
fn the_span_of_an_slc_cache_is_a_fast_region_within_a_cell() {
    let (from, to) = (96 * GIB, 121 * GIB);
    let drive = |moment: &mut Moment| {
        let is_slc = (from..to).contains(&moment.look.offset_bytes);
        (moment.around(if is_slc { 0.036 } else { 0.075 }), Outcome::Data)
    };
    let map = survey(512 * GIB, 6000, random(5), &drive);
    let [Finding::FastRegion { from_bytes, to_bytes, times, .. }] = about_places(&map)[..] else {
        panic!("{:?}", map.findings)
    };
    let cell = 512 * GIB / 128;
    assert!(from_bytes.abs_diff(from) <= cell && to_bytes.abs_diff(to) <= cell, "{:?}", map.findings);
    assert!((1.7..2.4).contains(times), "{times}");
}

#[test]
fn the_zones_of_a_disk_are_a_slope_and_a_tier_is_not() {
    let transfer = |ms: f64, moment: &mut Moment| match moment.look.why {
        Why::Transfer => (ms * (0.95 + 0.1 * moment.uniform()), Outcome::Data),
        _ => (moment.around(12.0), Outcome::Data),
    };
    // 200 MiB/s outside, 100 MiB/s inside: 5 to 10 ms for a MiB.
    let zoned = |moment: &mut Moment| {
        let share = (moment.look.offset_bytes as f64 / (64 * GIB) as f64 * 8.0).floor() / 7.0;
        transfer(1000.0 / (200.0 - 100.0 * share), moment)
    };
    let map = survey(64 * GIB, 2000, random(1), &zoned);
    let [Finding::Zoned { first_mib_per_s, last_mib_per_s, .. }] = about_places(&map)[..] else {
        panic!("{:?}", map.findings)
    };
    assert!((first_mib_per_s / 200.0 - 1.0).abs() < 0.1 && (last_mib_per_s / 100.0 - 1.0).abs() < 0.1);
    let tier =
        |moment: &mut Moment| transfer(if moment.look.offset_bytes < 20 * GIB { 2.0 } else { 10.0 }, moment);
    let map = survey(64 * GIB, 2000, random(1), &tier);
    assert!(about_places(&map).is_empty(), "{:?}", map.findings);
}

#[test]
fn a_later_map_says_which_cells_changed() {
    let before = survey(64 * GIB, 3000, random(1), &|moment| (moment.around(1.0), Outcome::Data));
    let again = survey(64 * GIB, 3000, random(2), &|moment| (moment.around(1.2), Outcome::Data));
    let found = compare(&before, &again).unwrap();
    assert!(found.changed.is_empty() && (found.times_all / 1.2 - 1.0).abs() < 0.1, "{found:?}");
    let worn = |moment: &mut Moment| {
        let is_worn = (32 * GIB..33 * GIB).contains(&moment.look.offset_bytes);
        (moment.around(if is_worn { 6.0 } else { 1.0 }), Outcome::Data)
    };
    let found = compare(&before, &survey(64 * GIB, 3000, random(3), &worn)).unwrap();
    let places: Vec<u64> = found.changed.iter().map(|of| of.from_bytes * 2 / GIB).collect();
    assert_eq!(places, [64, 65], "{found:?}");
    let other = survey(32 * GIB, 500, random(4), &worn);
    assert_eq!(compare(&before, &other), None);
}

#[test]
fn cells_cover_the_target_and_count_every_read_once() {
    for size in [4_u64 << 20, (5 << 20) + 4096 * 7, 100 << 20, 7 * GIB + 4096] {
        let map = survey(size, 1500, random(size), &|moment| (moment.around(1.0), Outcome::Data));
        assert_eq!((map.cells[0].from_bytes, map.cells.last().unwrap().to_bytes), (0, map.size_bytes));
        assert!(map.cells.windows(2).all(|pair| pair[0].to_bytes == pair[1].from_bytes));
        assert!(map.cells.iter().all(|cell| cell.histogram.iter().sum::<u32>() as u64 == cell.reads));
        assert_eq!(map.reads, 1500);
        let map = survey(size, 1500, (Order::Sequential, 1), &|moment| (moment.around(1.0), Outcome::Data));
        assert!(map.cells.iter().all(|cell| cell.reads > 0), "each cell has its turn");
    }
}

#[test]
fn in_sequential_order_a_neighbour_has_no_place_either() {
    let mut said = 0;
    for seed in 0..40 {
        let map = survey(64 * GIB, 3000, (Order::Sequential, seed), &neighbour);
        said += usize::from(!about_places(&map).is_empty());
    }
    assert!(said <= 1, "{said} of 40");
    let map = survey(64 * GIB, 3000, (Order::Sequential, 1), &stripe(64 << 10, 8, 2, 5.0));
    assert!(matches!(about_places(&map)[..], [Finding::SlowMember(found)] if found.members == 8));
}

/// Bytes over which closed loops go.
const LOOP_BYTES: u64 = 16 * GIB;

/// Offset and time, ns, of each I/O of a closed loop with 32 outstanding on a stripe whose members serve one at a time,
/// in the order of completion.
fn closed_loop(stripe: (u64, u64), times: f64, ios: usize, seed: u64) -> Vec<(u64, u64)> {
    closed_loop_of(stripe, (32, times), ios, seed)
}

/// The same with so many outstanding. Chunks of a part of all bytes each are a linear volume.
fn closed_loop_of(
    (chunk, members): (u64, u64),
    (outstanding, times): (usize, f64),
    ios: usize,
    seed: u64,
) -> Vec<(u64, u64)> {
    let mut random = seed;
    let mut free = vec![0.0_f64; usize::try_from(members).expect("a few")];
    let mut flights: Vec<(f64, f64, u64)> = Vec::new();
    let mut done = Vec::new();
    let mut now = 0.0;
    while done.len() < ios {
        while flights.len() < outstanding {
            let place = split_mix(&mut random) % (LOOP_BYTES / 4096) * 4096;
            let member = usize::try_from(place / chunk % members).expect("a few");
            let noise = 0.7 + 0.6 * (split_mix(&mut random) % 1000) as f64 / 1000.0;
            let service = 100.0 * noise * if member == 1 { times } else { 1.0 };
            free[member] = free[member].max(now) + service;
            flights.push((free[member], now, place));
        }
        let first = (0..flights.len()).min_by(|a, b| flights[*a].0.total_cmp(&flights[*b].0));
        let first = first.expect("some are outstanding");
        let (end, issued, place) = flights.swap_remove(first);
        now = end;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
        done.push((place, ((end - issued) * 1e3) as u64));
    }
    done
}

#[test]
fn the_queue_of_a_slow_member_names_it_from_a_thousand_ios_of_a_load() {
    for kib in [16_u64, 64, 1024] {
        for members in [4, 8] {
            for times in [2.0, 3.0, 5.0] {
                // As the engine keeps them: evenly over the window.
                let ios = closed_loop((kib << 10, members), times, 64_500, kib + members);
                let kept = ios[500..].iter().copied().step_by(64).collect();
                let found = places_of_load(&[kept]).unwrap();
                let stripe = found.stripe.unwrap_or_else(|| panic!("{kib} KiB, {members}, {times}"));
                assert_eq!((stripe.chunk_bytes, u64::from(stripe.members)), (kib << 10, members));
                assert_eq!(stripe.slow[0].member, 2, "{times}");
            }
        }
    }
}

/// On an emulated machine whole batches of I/Os are slow for a while. Members of 10 instead of 2 ms were none: what the
/// moments have in common was taken for the memory of a queue, and hundreds of I/Os for a few witnesses.
#[test]
fn moments_in_which_everything_is_slow_hide_no_slow_member() {
    let of = |times: f64, seed: u64| {
        let (mut random, mut moment, mut ios) = (seed, 0.0_f64, Vec::new());
        for _ in 0..1024 {
            let mut unit = || (split_mix(&mut random) >> 11) as f64 / (1_u64 << 53) as f64;
            moment = 0.97 * moment + 0.25 * (unit() - 0.5);
            let (place, noise) = ((unit() * 65_536.0).floor(), 0.8 + 0.4 * unit());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
            let place = place as u64 * 4096;
            let slower = if place / 65_536 % 4 == 2 { times } else { 1.0 };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small and positive"
            )]
            ios.push((place, (MS * moment.exp() * noise * slower) as u64));
        }
        places_of_load(&[ios]).unwrap().stripe
    };
    for seed in 0..20 {
        let found = of(1.5, seed).unwrap_or_else(|| panic!("seed {seed}"));
        assert_eq!((found.chunk_bytes, found.members, found.slow[0].member), (65_536, 4, 3), "{seed}");
        assert_eq!(of(1.0, seed), None, "{seed}");
    }
}

/// An I/O of a closed loop waits for those before it, and the slow member looked as slow as its queue is long.
#[test]
fn how_slow_a_member_is_stands_in_the_ios_that_were_alone() {
    let of = |outstanding: usize, ios: usize| closed_loop_of((65_536, 8), (outstanding, 5.0), ios, 3);
    let kept: Vec<(u64, u64)> = of(32, 64_500)[500..].iter().copied().step_by(64).collect();
    let found = places_of_load(&[kept]).unwrap();
    assert_eq!(found.times_alone, None);
    let under_load = found.stripe.as_ref().unwrap().slow[0].times;
    let alone = found.with_alone(&of(1, 400)).times_alone.unwrap();
    assert!(under_load > 15.0 && (4.5..5.5).contains(&alone), "{under_load} {alone}");
}

/// Queues wander, and chance alone, which takes I/Os for independent, named a member of 39 such loads of 40.
#[test]
fn queues_of_an_even_stripe_name_no_member() {
    let mut wrong = Vec::new();
    for (every, members) in [16, 32, 64].into_iter().flat_map(|every| [(every, 4), (every, 8)]) {
        for seed in 0..40 {
            let ios = closed_loop((65_536, members), 1.0, 1024 * every, seed);
            let found = places_of_load(&[ios.into_iter().step_by(every).collect()]).unwrap();
            wrong.extend(found.stripe.map(|_| (every, members, seed)));
            wrong.extend(found.region.map(|_| (every, members, seed)));
        }
    }
    assert_eq!(wrong, [], "every, members, seed of 240 loads");
}

/// A healthy linear volume: each part has a queue of its own, and the I/Os that are outstanding wander between them.
/// Chance alone, which takes I/Os for independent, called a part of it a slow region.
#[test]
fn queues_of_a_linear_volume_are_no_slow_region() {
    let mut wrong = Vec::new();
    for (parts, outstanding) in [2, 3, 4].into_iter().flat_map(|parts| [(parts, 8), (parts, 32)]) {
        for every in [1, 4, 16] {
            // As long against the memory of the queues as a run's window must be.
            let ios = (1024 * every).max(16 * outstanding * outstanding);
            for seed in 0..100 {
                let ios = closed_loop_of((LOOP_BYTES.div_ceil(parts), parts), (outstanding, 1.0), ios, seed);
                let step = ios.len() / 1024;
                let found = places_of_load(&[ios.into_iter().step_by(step).collect()]).unwrap();
                wrong.extend(found.region.map(|_| (parts, outstanding, every, seed)));
            }
        }
    }
    assert_eq!(wrong, [], "parts, outstanding, every, seed of 1,800 loads");
}

/// One that has a slow disk is still found by its queue.
#[test]
fn the_queue_of_a_slow_part_of_a_linear_volume_is_a_slow_region() {
    for parts in [2, 4] {
        for (outstanding, times) in [(8, 3.0), (32, 3.0), (32, 10.0)] {
            let ios = closed_loop_of((LOOP_BYTES / parts, parts), (outstanding, times), 64_500, parts);
            let kept = ios[500..].iter().copied().step_by(64).collect();
            let region = places_of_load(&[kept]).unwrap().region;
            let region = region.unwrap_or_else(|| panic!("{parts}, {outstanding}, {times}"));
            let near = |at: u64, end: u64| at.abs_diff(end) <= LOOP_BYTES / 16;
            let part = LOOP_BYTES / parts;
            assert!(near(region.from_bytes, part) && near(region.to_bytes, 2 * part), "{parts}: {region:?}");
        }
    }
}

/// Of a target whose second half is ten times slower, every cell is as far from the median one: no region was slow.
#[test]
fn a_slow_half_is_a_slow_region() {
    let of = |times: f64, seed: u64| {
        let mut random = seed;
        let mut ios = Vec::new();
        for _ in 0..1024 {
            let offset = split_mix(&mut random) % GIB / 4096 * 4096;
            let mut moment = Moment {
                look: Look { offset_bytes: offset, size_bytes: 4096, why: Why::Place },
                at_ns: 0,
                random: split_mix(&mut random),
            };
            let slower = if offset >= GIB / 2 { times } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
            let ns = (moment.around(0.5 * slower) * MS) as u64;
            ios.push((offset, ns));
        }
        places_of_load(&[ios]).unwrap().region
    };
    for seed in 0..20 {
        let region = of(10.0, seed).unwrap_or_else(|| panic!("seed {seed}"));
        assert!(
            region.from_bytes.abs_diff(GIB / 2) <= GIB / 16 && region.to_bytes > GIB / 16 * 15,
            "{region:?}"
        );
        assert!((5.0..20.0).contains(&region.times), "{region:?}");
        assert_eq!(of(1.0, seed), None);
    }
}

/// The simulated disk of the model had one transfer rate, so that a map of it showed no zones.
#[test]
fn the_zones_of_a_simulated_disk_are_named_in_both_orders() {
    const DISK: &str = include_str!("../../../arrays/hdd-7200.toml");
    const CAPACITY: u64 = 6_000_000_000_000;
    let array = parse("hdd-7200", DISK).unwrap();
    for order in [Order::Random, Order::Sequential] {
        let disk = RefCell::new(Simulation::new(&array, CAPACITY, 1, 1));
        let read = |moment: &mut Moment| {
            let mut disk = disk.borrow_mut();
            let op = VirtualOp {
                member: 0,
                kind: Kind::Read,
                offset_bytes: moment.look.offset_bytes,
                size_bytes: moment.look.size_bytes.into(),
                flush_every: None,
            };
            disk.submit(moment.at_ns, op).unwrap();
            let done = loop {
                let due = disk.next_event_ns().unwrap();
                if let Some(done) = disk.next_completion_before(due) {
                    break done;
                }
            };
            ((done.at_ns - moment.at_ns) as f64 / MS, Outcome::Data)
        };
        let map = survey(CAPACITY, 4000, (order, 5), &read);
        let zoned = map.findings.iter().find_map(|finding| match finding {
            Finding::Zoned { first_mib_per_s, last_mib_per_s, .. } => {
                Some((*first_mib_per_s, *last_mib_per_s))
            }
            _ => None,
        });
        let (first, last) = zoned.unwrap_or_else(|| panic!("{order:?}: {:?}", map.findings));
        assert!((140.0..155.0).contains(&first) && (80.0..95.0).contains(&last), "{first} to {last} MiB/s");
    }
}
