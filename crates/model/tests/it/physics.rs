use assay_model::array::{Level, LinkRate, Protocol, ProtocolKind, Raid};
use assay_model::array::{Link, set};
use assay_model::disk::{Disk, ServiceTable};
use assay_model::quantity::{Provenance, Quantity};
use assay_model::raid::{Kind, Shape};
use assay_model::wire::{ceiling_mb_s, r2t_round_trips, round_robin_speedup, tcp_efficiency};

use crate::{array, close};

fn number(value: f64) -> Quantity {
    Quantity::exact(value, Provenance::Assumed(String::new()))
}

fn link(gbit_s: f64, mtu: f64, timestamps: bool) -> Link {
    Link {
        rate: LinkRate::Ethernet(gbit_s),
        mtu: number(mtu),
        timestamps: Some(timestamps),
        ..Link::default()
    }
}

fn iscsi(segment: f64) -> Protocol {
    Protocol { kind: ProtocolKind::Iscsi, max_recv_data_segment: number(segment), ..Protocol::default() }
}

/// The ceilings are arithmetic on standards: they must be exact to 0.1 %, at 1 MiB where PDUs are full.
#[test]
fn ethernet_ceilings_are_exact() {
    const BIG: f64 = 1_048_576.0;
    for (mtu, timestamps, tcp_pct, tcp, with_8k, with_256k) in [
        (1500.0, false, 94.93, 118.66, 117.97, 118.64),
        (1500.0, true, 94.15, 117.69, 117.00, 117.66),
        (9000.0, false, 99.14, 123.92, 123.20, 123.90),
        (9000.0, true, 99.00, 123.76, 123.03, 123.73),
    ] {
        let l = link(1.0, mtu, timestamps);
        close(tcp_efficiency(&l) * 100.0, tcp_pct, 1e-4, "TCP efficiency");
        close(tcp_efficiency(&l) * 125.0, tcp, 1e-3, "TCP MB/s");
        close(ceiling_mb_s(&l, &iscsi(8192.0), BIG), with_8k, 1e-3, "iSCSI, 8 KiB segments");
        close(ceiling_mb_s(&l, &iscsi(262_144.0), BIG), with_256k, 1e-3, "iSCSI, 256 KiB segments");
        let ten = link(10.0, mtu, timestamps);
        close(ceiling_mb_s(&ten, &iscsi(8192.0), BIG), with_8k * 10.0, 1e-3, "10 GbE");
    }
}

#[test]
fn a_vlan_tag_costs_a_quarter_of_a_percent() {
    let plain = link(1.0, 1500.0, true);
    let tagged = Link { vlan: true, ..plain.clone() };
    close(tcp_efficiency(&tagged) / tcp_efficiency(&plain), 0.9974, 1e-4, "VLAN");
}

#[test]
fn fibre_channel_ceilings_are_exact() {
    let fc = Protocol { kind: ProtocolKind::FibreChannel, ..Protocol::default() };
    for (generation, expected) in [(4, 412.9), (8, 825.8)] {
        let l = Link { rate: LinkRate::FibreChannel(generation), ..Link::default() };
        close(ceiling_mb_s(&l, &fc, 65_536.0), expected, 1e-3, "FC");
    }
}

#[test]
fn writes_wait_for_r2t_as_the_rfc_defaults_say() {
    let defaults = iscsi(8192.0);
    for (kib, trips) in [(8.0, 0.0), (32.0, 1.0), (256.0, 1.0), (1024.0, 4.0)] {
        assert_eq!(r2t_round_trips(&defaults, kib * 1024.0), trips, "{kib} KiB");
    }
    let eager = Protocol { initial_r2t: false, ..iscsi(8192.0) };
    assert_eq!(r2t_round_trips(&eager, 65_536.0), 0.0);
}

#[test]
fn round_robin_meets_its_limits() {
    close(round_robin_speedup(4.0, 1000.0, 64.0), 1.068, 1e-3, "k = 1000");
    close(round_robin_speedup(4.0, 320.0, 32.0), 1.11, 2e-3, "VMware's byte limit, N = 32");
    close(round_robin_speedup(4.0, 320.0, 64.0), 1.25, 1e-3, "VMware's byte limit, N = 64");
    close(round_robin_speedup(4.0, 128.0, 64.0), 2.0, 1e-9, "both forms meet at N = k/2");
    assert_eq!(round_robin_speedup(4.0, 1.0, 64.0), 4.0);
    assert_eq!(round_robin_speedup(4.0, 1.0, 1.0), 1.0);
}

fn shape(level: Level, disks: f64, groups: f64) -> Shape {
    Shape::of(&Raid { level, disks: number(disks), groups: number(groups), ..Raid::default() })
}

#[test]
fn small_random_writes_cost_the_known_penalties() {
    for (level, disks, groups, penalty) in [
        (Level::Raid0, 8.0, 1.0, 1.0),
        (Level::Raid1, 2.0, 1.0, 2.0),
        (Level::Raid10, 8.0, 1.0, 2.0),
        (Level::Raid5, 8.0, 1.0, 4.0),
        (Level::Raid6, 12.0, 1.0, 6.0),
        (Level::Raid50, 12.0, 2.0, 4.0),
        (Level::Raid60, 24.0, 2.0, 6.0),
    ] {
        assert_eq!(shape(level, disks, groups).write_penalty(), penalty, "{level:?}");
    }
}

#[test]
fn a_full_stripe_needs_no_reads_and_half_of_one_is_reconstructed() {
    let raid5 = shape(Level::Raid5, 5.0, 1.0);
    let visits = |bytes: f64| raid5.random_write(bytes).map(|p| p.visits);
    assert_eq!(visits(4.0 * 65_536.0), [5, 0], "d + p writes");
    assert_eq!(visits(3.0 * 65_536.0), [1, 4], "reconstruct: d - k reads, k + p writes");
    assert_eq!(visits(8192.0), [2, 2], "read-modify-write");
}

#[test]
fn raidz_reads_visit_every_data_disk_of_a_vdev() {
    let mut z = array("x4500");
    assert_eq!(Shape::of(&z.raid).random_read(8192.0)[0].visits, 8);
    assert_eq!(Shape::of(&z.raid).random_write(8192.0)[0].visits, 0, "gathered into transaction groups");
    set(&mut z, "disks=44").unwrap();
    assert_eq!(Shape::of(&z.raid).random_read(8192.0)[0].visits, 10);
}

#[test]
fn the_seek_curve_gives_back_the_sheet() {
    let (c, a, b) = Disk::seek_curve(0.8e6, 8.5e6, 18e6);
    let average: f64 = (0..10_000)
        .map(|i| {
            let x = (f64::from(i) + 0.5) / 10_000.0;
            (c + a * x.sqrt() + b * x) * 2.0 * (1.0 - x) / 10_000.0
        })
        .sum();
    close(average, 8.5e6, 1e-3, "average seek");
    close(c + a + b, 18e6, 1e-9, "full stroke");
}

fn disk(rpm: f64, (track, avg, full): (f64, f64, f64)) -> Disk {
    Disk {
        by_position: 1.0,
        cached_writes: 0.0,
        revolution_ns: 60e9 / rpm,
        overhead_ns: 0.1e6,
        seek: Disk::seek_curve(track * 1e6, avg * 1e6, full * 1e6),
        track: 0.0,
        port_bytes_s: f64::INFINITY,
        outer_bytes_s: 200e6,
        inner_bytes_s: 100e6,
        capacity_bytes: 4e12,
        ncq: 31.0,
        ncq_gain: 1.0,
        queue_gain: 1.0,
    }
}

#[test]
fn a_zoned_disk_streams_between_its_zones() {
    let d = disk(7200.0, (0.8, 8.5, 18.0));
    close(d.mean_rate(0.0, 1.0), 150e6, 1e-9, "whole disk");
    close(d.mean_rate(0.0, 0.001), 200e6, 1e-3, "outer edge");
    close(d.mean_rate(0.999, 0.001), 100e6, 2e-3, "inner edge");
    close(d.mean_rate(0.5, 0.0), 158.1e6, 1e-3, "a file in the middle of the capacity");
    close(d.stroke_of(0.5), 0.419, 0.01, "half of the capacity is less than half of the stroke");
}

/// S(n) = S(1) n^-p with p = 0.25 to 0.28 at full stroke on 7200 rpm, 0.31 at 15k, more on a short stroke.
#[test]
fn reordering_gains_as_much_as_the_study_simulated() {
    for (d, span, low, high) in [
        (disk(7200.0, (0.8, 8.5, 18.0)), 1.0, 0.22, 0.30),
        (disk(15_000.0, (0.3, 3.3, 8.0)), 1.0, 0.24, 0.35),
        (disk(7200.0, (0.8, 8.5, 18.0)), 0.02, 0.30, 0.50),
    ] {
        let table = ServiceTable::simulate(&d, d.stroke_of(span), 1);
        let p = (table.at(Kind::Read, 1.0) / table.at(Kind::Read, 31.0)).ln() / 31.0_f64.ln();
        assert!((low..=high).contains(&p), "p = {p} at span {span}");
    }
}

/// The limit of a short stroke: overhead + settle + T / (n + 1).
#[test]
fn a_short_stroke_waits_for_the_next_of_n_angles() {
    let d = disk(7200.0, (0.8, 8.5, 18.0));
    let table = ServiceTable::simulate(&d, 1e-6, 1);
    let expected = 0.1e6 + 0.8e6 + 60e9 / 7200.0 / 9.0;
    close(table.at(Kind::Read, 8.0), expected, 0.25, "S(8)");
}

/// Seagate's Exos sheet: 4 KiB random at QD 16 gives 170 (read) and 168 IOPS; the study got 160.7.
#[test]
fn the_exos_sheet_is_met_at_qd16() {
    let exos = Disk { capacity_bytes: 10e12, ..disk(7200.0, (0.8, 8.5, 18.0)) };
    let table = ServiceTable::simulate(&exos, 1.0, 1);
    close(1e9 / table.at(Kind::Read, 16.0), 169.0, 0.10, "Exos QD16");
}
