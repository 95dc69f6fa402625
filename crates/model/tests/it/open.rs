//! The open form against the simulation.

use assay_model::array::Array;
use assay_model::closed::closed_form;
use assay_model::des::{SimOptions, simulate};
use assay_model::facts::usable_bytes;
use assay_model::open::{Open, open_form};
use assay_model::paced::Paced;
use assay_model::quantity::Corner;
use assay_model::resolved::Tables;
use assay_model::workload::{Access, Arrivals, LoadModel, Workload};
use assay_spec::units::{Bytes, Nanos};

use crate::random::Choices;
use crate::{changed, resolved};

/// I/Os of a simulation: its p99 is within some 3 % of that of a longer one.
const IOS: u64 = 60_000;

/// A load at a rate, of workers with one I/O each.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of some TiB at most")]
fn paced(size: u64, read_pct: f64, random_pct: f64, span: f64) -> Workload {
    let access = Access { size: Bytes(size), read_pct, random_pct, weight: 1.0 };
    Workload {
        mix: vec![access],
        span: Bytes(span as u64),
        workers: 4096,
        duration: Nanos::from_secs(1_000_000_000),
        ..Workload::simple("open", size, read_pct, random_pct, 1)
    }
}

/// Mean and p99 by the open form and by the simulation, at a part of the highest rate.
fn both(array: &Array, load: &Workload, part: f64) -> Option<(Open, Open)> {
    let (own, classes) = resolved(array, load);
    let per_s = closed_form(&own, &classes, load).iops * part;
    let load = Workload { pace: LoadModel::Rate { per_s, arrivals: Arrivals::Poisson }, ..load.clone() };
    let open = open_form(&own, &classes, &load)?;
    let run =
        &simulate(&own, std::slice::from_ref(&load), SimOptions { seed: 5, max_ios: IOS, cache_full: false })
            [0];
    Some((open, Open { mean_ms: run.mean_ms(), p99_ms: run.percentile_ms(99.0) }))
}

/// An array as sizing proposes them, and a load.
fn proposal(choices: &mut Choices) -> (Array, Workload, String) {
    let base = choices.of(&["hdd-5400", "hdd-7200", "hdd-10k", "hdd-15k", "ssd-sata", "nvme"]);
    let (level, disks, more) = choices.of(&[
        ("single", 1, ""),
        ("0", 4, ""),
        ("10", 2, ""),
        ("10", 8, ""),
        ("10", 40, ""),
        ("5", 4, ""),
        ("5", 8, ""),
        ("6", 8, ""),
        ("6", 12, ""),
        ("5", 6, " raid.failed=1"),
        ("10", 8, " raid.failed=1 raid.rebuild_pct=30"),
        ("raidz2", 6, " raid.chunk=128KiB"),
    ]);
    let cache = if base.starts_with("hdd") { " device.write_cache=none" } else { "" };
    let changes = format!("link=none raid={level} disks={disks}{more}{cache}");
    let array = changed(base, &changes);
    let (size, reads) =
        choices.of(&[(4096, 100.0), (8192, 70.0), (8192, 0.0), (65_536, 50.0), (1 << 20, 100.0)]);
    let random = choices.of(&[100.0, 100.0, 100.0, 60.0]);
    let span = usable_bytes(&array) * choices.of(&[0.05, 0.5, 1.0]);
    let load = paced(size, reads, random, span);
    (array, load, format!("{base} {changes}, {size} B, {reads} % read, {random} % random, {span:.2e} B"))
}

/// A simulation has a noise of 3 %, and starts with empty queues.
#[test]
fn the_open_form_agrees_with_the_simulation() {
    let mut choices = Choices(29);
    let (mut p99, mut mean) = (Vec::new(), Vec::new());
    let mut worst = (0.0, String::new());
    for _ in 0..200 {
        let (array, load, what) = proposal(&mut choices);
        let part = choices.of(&[0.02, 0.1, 0.3, 0.5, 0.7]);
        let (open, simulated) = both(&array, &load, part).unwrap_or_else(|| panic!("none at {part}: {what}"));
        let apart = (open.p99_ms / simulated.p99_ms).ln().abs();
        mean.push((open.mean_ms / simulated.mean_ms).ln().abs());
        p99.push(apart);
        if apart > worst.0 {
            worst = (apart, format!("at {part}: {open:?} against {simulated:?}: {what}"));
        }
    }
    for (what, all, limits) in
        [("mean", &mut mean, [0.05, 0.12, 0.30]), ("p99", &mut p99, [0.07, 0.13, 0.25])]
    {
        all.sort_by(f64::total_cmp);
        let at = [50, 80, 95].map(|percent| all[all.len() * percent / 100]);
        println!("{what}: half within {:.3}, 80 % within {:.3}, 95 % within {:.3}", at[0], at[1], at[2]);
        assert!(at.iter().zip(limits).all(|(at, limit)| *at < limit), "{what}: {at:?}; worst {worst:?}");
    }
    assert!(worst.0 < 0.5, "{worst:?}");
}

/// What is asked of the open form while the number of disks is searched: more of them are never slower, and a higher
/// rate is never faster.
#[test]
fn the_open_form_has_no_noise() {
    let at = |disks: u32, per_s: f64| {
        let array = changed("hdd-7200", &format!("link=none raid=10 disks={disks} device.write_cache=none"));
        let load = paced(8192, 70.0, 100.0, 2e12);
        let paced = Paced::new(&array, Corner::Nominal, &load, &mut Tables::default());
        paced.open(per_s).map_or(f64::INFINITY, |open| open.p99_ms)
    };
    for disks in [8, 12, 20, 36] {
        let (few, more) = (at(disks, 400.0), at(disks + 4, 400.0));
        assert!(more < few * 1.005, "{disks} disks {few} ms, 4 more {more} ms");
        let faster = at(disks, 440.0);
        assert!(faster > few * 0.999, "{disks} disks {few} ms, at a higher rate {faster} ms");
    }
}
