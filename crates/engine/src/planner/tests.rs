//! Offsets and mixes as the two semantics promise them.

use assay_spec::units::Bytes;
use assay_spec::{Data, Pacing};
use proptest::prelude::*;

use super::*;

fn access(size: u64, read: f64, random: f64) -> Access {
    Access {
        weight: 100,
        size: Bytes(size),
        read,
        random,
        align: Bytes(size),
        delay: Default::default(),
        burst: 1,
        reply: Bytes(0),
    }
}

fn job(mix: Vec<Access>) -> Job {
    Job {
        name: "t".into(),
        targets: vec![],
        mix,
        workers: 1,
        outstanding: 1,
        pacing: Pacing::Closed,
        reconnect_every: None,
        data: Data::Unique,
    }
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
fn random_covers_the_span_evenly_to_its_very_end() {
    let job = job(vec![access(4096, 100.0, 100.0)]);
    let mut planner = planner(&job, Semantics::Assay, 10 * 4096, 0, 1);
    let mut hits = [0_u32; 10];
    for offset in offsets(&mut planner, 50_000) {
        hits[usize::try_from(offset / 4096).unwrap()] += 1;
    }
    assert!(hits.iter().all(|h| h.abs_diff(5000) < 350), "{hits:?}");
}

#[test]
fn random_io_leaves_the_sequential_stream_alone() {
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
fn a_reply_goes_the_other_way() {
    let mut request = access(4096, 100.0, 0.0);
    request.reply = Bytes(512);
    let job = job(vec![request]);
    let mut planner = planner(&job, Semantics::Iometer, 1 << 30, 0, 1);
    let draw = draws(&mut planner, 1)[0];
    let reply = planner.reply(draw.access, draw.kind, 0).unwrap();
    assert_eq!((reply.kind, reply.size_bytes, reply.offset_bytes), (OpKind::Write, 512, 4096));
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
            let setup =
                PlannerSetup { job: &job, semantics, spans: &[span], block_bytes: 512, worker, workers, exclusive, seed };
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
                exclusive: true, seed: 5,
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
