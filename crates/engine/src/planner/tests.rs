//! Offsets and mixes as specified by the three semantics.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Distribution, Extent, Window};
use proptest::prelude::*;

use super::*;

fn access(size: u64, read: f64, random: f64) -> Access {
    Access { size: Bytes(size), read, random, align: Bytes(size), ..Access::default() }
}

fn job(mix: Vec<Access>) -> Job {
    Job { name: "t".into(), mix, ..Job::default() }
}

fn planner(job: &Job, semantics: Semantics, span: u64, worker: u32, workers: u32) -> Planner {
    let setup = PlannerSetup {
        job,
        semantics,
        spans: &[span],
        block_bytes: 512,
        worker,
        workers,
        exclusive: false,
        repeats: false,
        hot_seed: 1,
        seed: 9,
    };
    Planner::new(&setup)
}

fn draws(planner: &mut Planner, count: usize) -> Vec<Draw> {
    (0..count)
        .map(|_| {
            planner.begin_burst();
            planner.draw(0)
        })
        .collect()
}

fn offsets(planner: &mut Planner, count: usize) -> Vec<u64> {
    draws(planner, count).iter().map(|d| d.offset_bytes).collect()
}

#[test]
fn sequential_streams_of_two_workers_never_meet() {
    let job = job(vec![access(4096, 100.0, 0.0)]);
    let mut first = planner(&job, Semantics::Assay, 64 << 10, 0, 2);
    let mut second = planner(&job, Semantics::Assay, 64 << 10, 1, 2);
    assert_eq!(offsets(&mut first, 9), [0, 4096, 8192, 12288, 16384, 20480, 24576, 28672, 0]);
    assert_eq!(offsets(&mut second, 9)[..3], [32768, 36864, 40960]);
}

#[test]
fn random_positions_cover_the_span_evenly_to_its_end() {
    let job = job(vec![access(4096, 100.0, 100.0)]);
    let mut planner = planner(&job, Semantics::Assay, 10 * 4096, 0, 1);
    let mut hits = [0_u32; 10];
    for offset in offsets(&mut planner, 50_000) {
        hits[usize::try_from(offset / 4096).unwrap()] += 1;
    }
    assert!(hits.iter().all(|h| h.abs_diff(5000) < 350), "{hits:?}");
}

#[test]
fn random_io_does_not_move_the_sequential_stream() {
    let job = job(vec![access(4096, 100.0, 60.0)]);
    let mut planner = planner(&job, Semantics::Assay, 1 << 30, 0, 1);
    let found = offsets(&mut planner, 10_000);
    let mut expected = 0;
    let sequential = found.iter().filter(|o| {
        let is_next = **o == expected;
        expected += if is_next { 4096 } else { 0 };
        is_next
    });
    let share = sequential.count() as f64 / 10_000.0;
    assert!((share - 0.4).abs() < 0.02, "{share}");
}

#[test]
fn iometer_shares_one_cursor_between_random_and_sequential() {
    let job = job(vec![access(8192, 65.0, 60.0)]);
    let mut planner = planner(&job, Semantics::Iometer, 1 << 30, 0, 1);
    let found = offsets(&mut planner, 10_000);
    let successors = found.windows(2).filter(|w| w[1] == w[0] + 8192).count() as f64 / 9_999.0;
    assert!((successors - 0.4).abs() < 0.02, "{successors}");
}

#[test]
fn iometer_starts_one_request_late_after_a_reopen() {
    let job = job(vec![access(32768, 100.0, 0.0)]);
    let mut planner = planner(&job, Semantics::Iometer, 1 << 30, 0, 1);
    assert_eq!(offsets(&mut planner, 3), [0, 32768, 65536]);
    planner.rewind(0);
    assert_eq!(offsets(&mut planner, 2), [32768, 65536]);
}

#[test]
fn iometer_wraps_to_the_start_and_aligns_up() {
    let mut odd = access(3072, 100.0, 0.0);
    odd.align = Bytes(4096);
    let job = job(vec![odd]);
    let mut planner = planner(&job, Semantics::Iometer, 12 << 10, 0, 1);
    assert_eq!(offsets(&mut planner, 5), [0, 4096, 8192, 0, 4096]);
}

#[test]
fn a_burst_keeps_its_line_and_weights_share_the_bursts() {
    let mut small = access(512, 0.0, 0.0);
    (small.weight, small.burst) = (25, 8);
    let mut large = access(4096, 100.0, 0.0);
    (large.weight, large.burst) = (75, 8);
    let job = job(vec![small, large]);
    for semantics in [Semantics::Assay, Semantics::Iometer] {
        let mut planner = planner(&job, semantics, 1 << 30, 0, 1);
        let lines: Vec<u32> = draws(&mut planner, 80_000).iter().map(|d| d.access).collect();
        assert!(lines.chunks(8).all(|burst| burst.iter().all(|line| *line == burst[0])));
        let share = lines.iter().filter(|line| **line == 1).count() as f64 / 80_000.0;
        assert!((share - 0.75).abs() < 0.02, "{semantics:?} {share}");
    }
}

#[test]
fn a_reply_is_the_opposite_operation() {
    let mut request = access(4096, 100.0, 0.0);
    request.reply = Bytes(512);
    let job = job(vec![request]);
    let mut planner = planner(&job, Semantics::Iometer, 1 << 30, 0, 1);
    let draw = draws(&mut planner, 1)[0];
    let reply = planner.reply(draw.access, draw.kind, 0).unwrap();
    assert_eq!((reply.kind, reply.size_bytes, reply.offset_bytes), (OpKind::Write, 512, 4096));
}

/// Over NFS and through the page cache every byte can be addressed, and random I/O once used byte offsets.
#[test]
fn iometer_aligns_to_the_sector_where_the_target_has_no_blocks() {
    let mut line = access(4096, 100.0, 100.0);
    line.align = Bytes(0);
    let job = job(vec![line]);
    let of_block = |block_bytes| {
        let setup = PlannerSetup {
            job: &job,
            semantics: Semantics::Iometer,
            spans: &[1 << 30],
            block_bytes,
            worker: 0,
            workers: 1,
            exclusive: false,
            repeats: false,
            hot_seed: 1,
            seed: 9,
        };
        offsets(&mut Planner::new(&setup), 1000)
    };
    for (block, sector) in [(1, 512), (512, 512), (4096, 4096)] {
        let found = of_block(block);
        assert!(found.iter().all(|offset| offset % sector == 0), "{block}");
        assert!(found.iter().any(|offset| offset % (2 * sector) != 0), "{block}: and to nothing larger");
    }
}

#[test]
fn the_size_of_a_request_keeps_an_iometer_reply_from_the_end() {
    let mut request = access(8192, 100.0, 0.0);
    (request.reply, request.align) = (Bytes(512), Bytes(512));
    let job = job(vec![request]);
    let mut planner = planner(&job, Semantics::Iometer, 12 << 10, 0, 1);
    let draw = draws(&mut planner, 1)[0];
    // 8192 + 512 would fit, 8192 + 8192 does not.
    assert_eq!((draw.offset_bytes, planner.reply(0, draw.kind, 0).unwrap().offset_bytes), (0, 0));
    // The next sequential request follows the reply.
    assert_eq!(offsets(&mut planner, 1), [512]);
}

#[test]
fn an_iometer_reply_is_placed_by_the_line_of_the_burst_under_way() {
    let mut coarse = access(4096, 100.0, 0.0);
    (coarse.weight, coarse.reply, coarse.align) = (50, Bytes(512), Bytes(64 << 10));
    let mut fine = access(512, 100.0, 0.0);
    (fine.weight, fine.align) = (50, Bytes(512));
    let job = job(vec![coarse, fine]);
    let mut planner = planner(&job, Semantics::Iometer, 1 << 30, 0, 1);
    let mut seen = [0_u32; 2];
    let mut last_end = 0;
    for _ in 0..200 {
        let draw = draws(&mut planner, 1)[0];
        last_end = last_end.max(draw.offset_bytes + u64::from(draw.size_bytes));
        // The reply to an I/O of the first line during a burst of whichever line was drawn last.
        let reply = planner.reply(0, OpKind::Read, 0).unwrap();
        let align = if draw.access == 0 { 64 << 10 } else { 512 };
        assert_eq!(
            reply.offset_bytes,
            (draw.offset_bytes + u64::from(draw.size_bytes)).next_multiple_of(align)
        );
        seen[draw.access as usize] += 1;
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

/// Effect of the weak low bits of Iometer's generator on a stream that is not random (docs/method.md).
#[test]
fn iometers_generator_is_reproduced_with_its_weak_low_bits() {
    let percent_of_writes = |read, seed| {
        let job = job(vec![access(4096, read, 0.0)]);
        let setup = PlannerSetup {
            job: &job,
            semantics: Semantics::Iometer,
            spans: &[1 << 30],
            block_bytes: 512,
            worker: 0,
            workers: 1,
            exclusive: false,
            repeats: false,
            hot_seed: 1,
            seed,
        };
        let mut planner = Planner::new(&setup);
        let writes = draws(&mut planner, 20_000).iter().filter(|draw| draw.kind == OpKind::Write).count();
        writes as f64 / 200.0
    };
    for (read, even, odd) in [(99.0, 0.0, 2.0), (65.0, 34.0, 36.0)] {
        let mut seen = [0_u32; 2];
        for seed in 0..40 {
            let found = percent_of_writes(read, seed);
            let which = usize::from((found - even).abs() > (found - odd).abs());
            assert!((found - [even, odd][which]).abs() < 1.0, "{read}: {found}");
            seen[which] += 1;
        }
        assert!(seen.iter().all(|seeds| *seeds > 5), "{read}: {seen:?}");
    }
}

#[test]
fn lines_of_different_alignment_stay_inside_their_slices() {
    let mut one = access(10 << 10, 0.0, 50.0);
    one.align = Bytes(10 << 10);
    let mut two = access(4 << 10, 0.0, 50.0);
    two.align = Bytes(12 << 10);
    let mut job = job(vec![one, two]);
    job.workers = 2;
    let least = least_span(&job, Semantics::Assay, 512);
    assert_eq!(least, 2 * (60 << 10));
    for worker in 0..2 {
        let setup = PlannerSetup {
            job: &job,
            semantics: Semantics::Assay,
            spans: &[least],
            block_bytes: 512,
            worker,
            workers: 2,
            exclusive: true,
            repeats: false,
            hot_seed: 1,
            seed: 3,
        };
        for draw in draws(&mut Planner::new(&setup), 1000) {
            let slice = u64::from(worker) * (60 << 10)..(u64::from(worker) + 1) * (60 << 10);
            assert!(
                slice.contains(&draw.offset_bytes)
                    && draw.offset_bytes + u64::from(draw.size_bytes) <= slice.end
            );
        }
    }
}

fn windowed(offset: u64, size: u64) -> Window {
    Window { offset: Extent::Bytes(Bytes(offset)), size: Some(Extent::Bytes(Bytes(size))) }
}

#[test]
fn a_window_bounds_streams_and_random_positions() {
    for semantics in [Semantics::Assay, Semantics::Iometer] {
        for random in [0.0, 50.0, 100.0] {
            let mut job = job(vec![access(4096, 100.0, random)]);
            (job.window, job.workers) = (windowed(1 << 20, 64 << 10), 2);
            for worker in 0..2 {
                let mut planner = planner(&job, semantics, 8 << 20, worker, 2);
                let found = offsets(&mut planner, 5_000);
                let (least, most) = (found.iter().min().unwrap(), found.iter().max().unwrap());
                assert!(*least >= 1 << 20 && most + 4096 <= (1 << 20) + (64 << 10), "{semantics:?} {random}");
                planner.rewind(0);
            }
        }
    }
    let mut job = job(vec![access(4096, 100.0, 0.0)]);
    job.window = Window { offset: Extent::Percent(50.0), size: None };
    assert_eq!(offsets(&mut planner(&job, Semantics::Assay, 16 << 10, 0, 1), 3), [8192, 12288, 8192]);
    assert_eq!(usable(&job, Semantics::Assay, 512, 16 << 10), 8192);
}

#[test]
fn a_sequence_follows_each_random_position() {
    let mut line = access(4096, 100.0, 100.0);
    line.sequence = 4;
    let job = job(vec![line]);
    let found = offsets(&mut planner(&job, Semantics::Assay, 1 << 30, 0, 1), 4_000);
    assert!(found.chunks(4).all(|run| run.windows(2).all(|pair| pair[1] == pair[0] + 4096)));
    let jumps = found.chunks(4).zip(found.chunks(4).skip(1)).filter(|(a, b)| b[0] != a[3] + 4096).count();
    assert!(jumps > 990, "{jumps}");
}

#[test]
fn workers_share_the_hot_places() {
    let mut line = access(4096, 100.0, 100.0);
    line.distribution = Distribution::Zipf(1.5);
    let job = job(vec![line]);
    let hottest = |worker| {
        let mut hits = std::collections::HashMap::new();
        let setup = PlannerSetup {
            job: &job,
            semantics: Semantics::Assay,
            spans: &[4 << 20],
            block_bytes: 512,
            worker,
            workers: 2,
            exclusive: false,
            repeats: false,
            hot_seed: 7,
            seed: u64::from(worker),
        };
        for offset in offsets(&mut Planner::new(&setup), 10_000) {
            *hits.entry(offset).or_insert(0) += 1;
        }
        hits.into_iter().max_by_key(|(_, count)| *count).unwrap().0
    };
    assert_eq!(hottest(0), hottest(1));
}

#[test]
fn a_line_that_trims_never_writes() {
    let mut line = access(65536, 30.0, 100.0);
    line.change = Change::Trim;
    let job = job(vec![line]);
    let found = draws(&mut planner(&job, Semantics::Assay, 1 << 30, 0, 1), 10_000);
    let trims = found.iter().filter(|draw| draw.kind == OpKind::Trim).count();
    assert!(found.iter().all(|draw| draw.kind != OpKind::Write) && trims.abs_diff(7_000) < 200, "{trims}");
}

proptest! {
    #[test]
    fn every_offset_is_aligned_and_inside(
        blocks in 1_u64..64, align in 1_u64..16, random in 0.0_f64..=100.0, workers in 1_u32..5,
        extra in 0_u64..1_000_000, seed in any::<u64>(), iometer in any::<bool>(), exclusive in any::<bool>(),
    ) {
        let mut line = access(blocks * 512, 50.0, random.round());
        line.align = Bytes(align * 512);
        let mut job = job(vec![line]);
        job.workers = workers;
        let span = least_span(&job, Semantics::Assay, 512) + extra;
        let semantics = if iometer { Semantics::Iometer } else { Semantics::Assay };
        for worker in 0..workers {
            let spans = &[span];
            let setup =
                PlannerSetup { job: &job, semantics, spans, block_bytes: 512, worker, workers, exclusive, seed,
                    repeats: false, hot_seed: 1 };
            for draw in draws(&mut Planner::new(&setup), 200) {
                prop_assert_eq!(draw.offset_bytes % (align * 512), 0);
                prop_assert!(draw.offset_bytes + u64::from(draw.size_bytes) <= span);
            }
        }
    }

    #[test]
    fn exclusive_slices_never_overlap(workers in 1_u32..6, blocks in 1_u64..9, extra in 0_u64..100_000) {
        let mut job = job(vec![access(blocks * 512, 50.0, 70.0)]);
        job.workers = workers;
        let span = least_span(&job, Semantics::Assay, 512) + extra;
        let mut owner = std::collections::HashMap::new();
        for worker in 0..workers {
            let setup = PlannerSetup {
                job: &job, semantics: Semantics::Assay, spans: &[span], block_bytes: 512, worker, workers,
                exclusive: true, seed: 5, repeats: false, hot_seed: 1,
            };
            for draw in draws(&mut Planner::new(&setup), 200) {
                let first = draw.offset_bytes / 512;
                for block in first..first + blocks {
                    prop_assert_eq!(*owner.entry(block).or_insert(worker), worker);
                }
            }
        }
    }
}

#[test]
fn fio_reads_and_writes_in_two_streams_from_the_start_of_the_window() {
    let mut both = job(vec![access(4096, 50.0, 0.0)]);
    both.window = Window { offset: Extent::Bytes(Bytes(8192)), size: None };
    both.increment = Extent::Bytes(Bytes(16384));
    let mut planner = planner(&both, Semantics::Fio, 1 << 20, 1, 4);
    let (mut reads, mut writes) = (24576..1 << 20, 24576..1 << 20);
    for draw in draws(&mut planner, 300) {
        let stream = if draw.kind == OpKind::Read { &mut reads } else { &mut writes };
        assert_eq!(draw.offset_bytes, stream.start);
        stream.start = if stream.start + 8192 > stream.end { 24576 } else { stream.start + 4096 };
    }
}

#[test]
fn fio_visits_every_block_once_and_cuts_what_would_meet_a_visited_one() {
    let line =
        |size: u64, weight| Access { weight, align: Bytes(4096), once: true, ..access(size, 100.0, 100.0) };
    let job = job(vec![line(4096, 50), line(16384, 50)]);
    let mut planner = planner(&job, Semantics::Fio, 4 << 20, 0, 1);
    let (mut bytes, mut visited, mut cut) = (0, vec![0_u32; 1024], 0);
    while bytes < 4 << 20 {
        let draw = draws(&mut planner, 1)[0];
        bytes += u64::from(draw.size_bytes);
        cut += u32::from(draw.access == 1 && draw.size_bytes < 16384);
        let first = usize::try_from(draw.offset_bytes / 4096).unwrap();
        visited[first..first + draw.size_bytes as usize / 4096].iter_mut().for_each(|times| *times += 1);
    }
    assert!(visited.iter().all(|times| *times == 1) && cut > 50, "{cut}");
}

#[test]
fn fio_repeats_its_draws_once_every_block_was_visited() {
    let mut line = access(4096, 40.0, 100.0);
    line.once = true;
    let job = job(vec![line]);
    let planner = |repeats| {
        Planner::new(&PlannerSetup {
            job: &job,
            semantics: Semantics::Fio,
            spans: &[64 << 12],
            block_bytes: 512,
            worker: 0,
            workers: 1,
            exclusive: false,
            repeats,
            hot_seed: 1,
            seed: 9,
        })
    };
    let passes = |repeats| {
        let all = draws(&mut planner(repeats), 192);
        [all[..64] == all[64..128], all[..64] == all[128..]]
    };
    assert_eq!(passes(true), [true, true]);
    assert_eq!(passes(false), [false, false]);
}

/// fio pauses behind so many I/Os of any size, with an empty queue, and not before the first.
#[test]
fn fio_draws_each_io_of_a_burst_and_pauses_behind_it() {
    let (mut small, mut large) = (access(4096, 100.0, 100.0), access(8192, 100.0, 100.0));
    for line in [&mut small, &mut large] {
        (line.weight, line.burst, line.delay) = (50, 16, Nanos(7));
    }
    let job = job(vec![small, large]);
    let mut planner = planner(&job, Semantics::Fio, 1 << 20, 0, 1);
    let mut sizes = std::collections::BTreeSet::new();
    for number in 0..48 {
        let is_first = number % 16 == 0;
        assert_eq!(planner.pauses_when_idle(), is_first && number > 0, "{number}");
        assert_eq!(planner.begin_burst(), if is_first && number > 0 { 7 } else { 0 }, "{number}");
        sizes.insert((number / 16, planner.draw(0).size_bytes));
    }
    assert_eq!(sizes.len(), 6, "{sizes:?}");
}
