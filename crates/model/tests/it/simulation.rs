use assay_model::des::{SimOptions, Simulation, SubmitError, VirtualOp, simulate};
use assay_model::raid::Kind;
use assay_model::workload::Workload;
use assay_spec::units::GIB;

use crate::{array, close, resolved};

/// A closed loop driven from outside, as a real-time engine would do it, but with virtual time as its clock.
fn drive(
    sim: &mut Simulation,
    outstanding: u64,
    ios: u64,
    mut next: impl FnMut(u64) -> VirtualOp,
) -> (f64, f64) {
    let (mut now, mut done, mut submitted, mut sum) = (0, 0_u64, 0, 0_u128);
    for _ in 0..outstanding {
        sim.submit(now, next(submitted)).expect("there is room");
        submitted += 1;
    }
    while done < ios {
        let due = sim.next_event_ns().expect("I/Os are in flight");
        while let Some(c) = sim.next_completion_before(due) {
            assert!(c.at_ns >= now && c.at_ns <= due, "completions come in order of time");
            now = c.at_ns;
            done += 1;
            sum += u128::from(c.at_ns - c.issued_ns);
            sim.submit(now.max(due), next(submitted)).expect("one just completed");
            submitted += 1;
        }
    }
    (done as f64 / (now as f64 / 1e9), sum as f64 / done as f64 / 1e6)
}

fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (GIB / 8192) * 8192 + 8192
}

#[test]
fn an_outside_loop_sees_the_same_array_as_the_inner_one() {
    for (name, kind) in [
        ("hdd-7200", Kind::Read),
        ("ssd-sata", Kind::Read),
        ("ix4-200d", Kind::Write),
        ("ts140-raid5", Kind::Write),
    ] {
        let a = array(name);
        let read_pct = if kind == Kind::Read { 100.0 } else { 0.0 };
        let w = Workload {
            span: assay_spec::units::Bytes(GIB),
            duration: assay_spec::units::Nanos::from_secs(36_000),
            ..Workload::simple("r", 8192, read_pct, 100.0, 16)
        };
        let (p, _) = resolved(&a, &w);
        let inner = &simulate(
            &p,
            std::slice::from_ref(&w),
            SimOptions { seed: 7, max_ios: 30_000, cache_full: false },
        )[0];
        let mut sim = Simulation::new(&a, GIB, 16, 9);
        let op = |i| VirtualOp {
            member: 0,
            kind,
            offset_bytes: scattered(i),
            size_bytes: 8192,
            flush_every: None,
        };
        let (iops, mean_ms) = drive(&mut sim, 16, 30_000, op);
        close(iops, inner.iops, 0.015, &format!("{name} IOPS"));
        close(mean_ms, inner.mean_ms(), 0.015, &format!("{name} mean"));
        close(
            sim.truth().value_at_quantile(0.99) as f64 / 1e6,
            inner.percentile_ms(99.0),
            0.05,
            &format!("{name} p99"),
        );
        assert!(sim.truth().len() >= 30_000);
    }
}

#[test]
fn following_offsets_are_a_stream() {
    let a = array("hdd-7200");
    let mut sim = Simulation::new(&a, 64 * GIB, 8, 1);
    let op = |i| VirtualOp {
        member: 0,
        kind: Kind::Read,
        offset_bytes: i * 65_536,
        size_bytes: 65_536,
        flush_every: None,
    };
    let (iops, _) = drive(&mut sim, 8, 20_000, op);
    close(iops * 65_536.0, 210e6, 0.02, "the outer zone's rate");
}

/// A read that continues a random one came at once, as if disks read ahead while they seek; and a disk transferred with
/// the mean of its zones everywhere, so that no map showed them.
#[test]
fn a_disk_transfers_faster_at_its_outer_edge() {
    const MIB: u64 = 1 << 20;
    let capacity = 6_000_000_000_000;
    let mut sim = Simulation::new(&array("hdd-7200"), capacity, 1, 1);
    let mut now = 0;
    let mut read = |offset_bytes| {
        let op = VirtualOp { member: 0, kind: Kind::Read, offset_bytes, size_bytes: MIB, flush_every: None };
        sim.submit(now, op).expect("there is room");
        loop {
            let at = sim.next_event_ns().expect("an I/O is in flight");
            if let Some(done) = sim.next_completion_before(at) {
                let takes_ns = done.at_ns - now;
                now = done.at_ns;
                return takes_ns as f64;
            }
        }
    };
    let mut mb_s = |part: u64| {
        let mut takes_ns = 0.0;
        for i in 0..50 {
            let offset = capacity / 16 * part / MIB * MIB + i * 1000 * MIB;
            read(offset);
            takes_ns += read(offset + MIB);
        }
        50.0 * MIB as f64 / takes_ns * 1e3
    };
    // 207 and 107 MB/s of the platters, and then what the link takes behind them.
    close(mb_s(0), 155.0, 0.03, "the outer zone");
    close(mb_s(15), 92.0, 0.03, "the inner zone");
}

#[test]
fn a_full_array_hands_the_refusal_back() {
    let mut sim = Simulation::new(&array("hdd-7200"), GIB, 2, 1);
    let op = |i| VirtualOp {
        member: 0,
        kind: Kind::Read,
        offset_bytes: scattered(i),
        size_bytes: 4096,
        flush_every: None,
    };
    sim.submit(0, op(1)).unwrap();
    sim.submit(0, op(2)).unwrap();
    assert_eq!(sim.submit(0, op(3)), Err(SubmitError::Full(2)));
    assert!(sim.next_completion_before(1_000_000_000).is_some());
    assert!(sim.submit(1_000_000_000, op(4)).is_ok());
    assert_eq!(sim.submit(u64::MAX, op(5)), Err(SubmitError::TooLate));
}

#[test]
fn nothing_completes_before_its_time() {
    let mut sim = Simulation::new(&array("hdd-7200"), GIB, 2, 1);
    assert_eq!(sim.next_completion_before(u64::MAX / 2), None);
    let mut sim2 = Simulation::new(&array("hdd-7200"), GIB, 2, 1);
    sim2.submit(
        5_000,
        VirtualOp { member: 0, kind: Kind::Read, offset_bytes: 8192, size_bytes: 4096, flush_every: None },
    )
    .unwrap();
    assert_eq!(sim2.next_completion_before(5_001), None);
    let due = sim2.next_event_ns().unwrap();
    assert!(due > 5_000);
    assert_eq!(sim.next_event_ns(), None);
}

#[test]
fn a_seed_is_a_run() {
    let a = array("ts140-raid5");
    let w = Workload::simple("s", 8192, 65.0, 60.0, 32);
    let (p, _) = resolved(&a, &w);
    let run = |seed| {
        let o =
            simulate(&p, std::slice::from_ref(&w), SimOptions { seed, max_ios: 20_000, cache_full: false });
        (o[0].ios, o[0].latency_ns.max(), o[0].latency_ns.value_at_quantile(0.5))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Little: in flight = rate x response time, for every shipped array.
#[test]
fn littles_law_holds_in_the_simulation() {
    for a in assay_model::array::shipped::all().unwrap() {
        let w = Workload::simple("l", 8192, 70.0, 80.0, 24);
        let (p, _) = resolved(&a, &w);
        let o = &simulate(
            &p,
            std::slice::from_ref(&w),
            SimOptions { seed: 1, max_ios: 20_000, cache_full: false },
        )[0];
        close(o.iops * o.mean_ms() / 1e3, 24.0, 0.03, &a.name);
    }
}
