//! Calibration: what no sheet says, fitted to micro-tests.
//!
//! At most seven numbers, each from the test that shows it best: a and b of reads and of writes (block sweep
//! at one outstanding), reordering gain or dies (random reads, queue sweep), the serial random-write time
//! (random writes at 1 and 32), and either how many I/Os pay their cost at once (block sweep at 32) or, when
//! they pay one by one, the pool of workers (two clients). Never rpm, seeks, rates or link efficiency: those are
//! on sheets, and fitting them would only hide what is wrong.

mod rounds;
mod rows;

use serde::Serialize;
use thiserror::Error;

use crate::array::{Array, Device, SetError, set, to_toml};
use crate::closed::closed_form;
use crate::demand::unloaded_ns;
use crate::des::{SimOptions, simulate};
use crate::quantity::{Corner, Provenance, Quantity};
use crate::raid::Kind;
use crate::resolved::{Class, ResolvedArray, Tables};
use crate::wire;
use crate::workload::Workload;

pub use rounds::{Steadiness, calibrate_rounds};
pub use rows::{Factors, RowPoint, Unfitted, fit_rows};

/// Random writes that gain less than this from 1 to 32 outstanding pass one at a time.
const SERIAL_BELOW: f64 = 1.3;
/// A measured link may differ from its exact ceiling by so much before it is remarked on.
const LINK_TOLERANCE: f64 = 0.03;
/// Reads that reach this share of all paths show that the link is as described; drains of the test cost some of it.
const LINK_SEEN: f64 = 0.90;
/// Two clients are explained without a pool of workers below this misfit (squared log error, 14 % each).
const POOL_VISIBLE: f64 = 0.02;
/// Numbers of I/Os that may pay at once.
const CORES: [u32; 14] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, 32];
/// Worker counts tried before refining.
const WORKERS: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// A measured point: this load gave this rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The load; one access pattern.
    pub workload: Workload,
    /// Measured I/Os per second.
    pub iops: f64,
}

/// Results of the micro-tests. Empty parts are not fitted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MicroTests {
    /// Name of the run, for the provenance.
    pub run: String,
    /// Sequential block sweep, reads and writes, one outstanding.
    pub block_sweep: Vec<Point>,
    /// The same at 32 outstanding: shows how many I/Os pay their cost at once.
    pub block_sweep_deep: Vec<Point>,
    /// Random reads at 1 to 64 outstanding on a known span.
    pub random_read: Vec<Point>,
    /// Random writes at one outstanding.
    pub random_write_alone: Option<Point>,
    /// Random writes at 32 outstanding.
    pub random_write_deep: Option<Point>,
    /// Two clients at once: a random mix and a sequential reader.
    pub two_clients: Vec<Point>,
    /// Large reads of the same few megabytes at 32 outstanding: what the link carries at least, where no program at
    /// the other end can say what it carries raw.
    pub cached_read: Option<Point>,
    /// Raw TCP goodput of one path, MB/s (10^6).
    pub raw_link_mb_s: Option<f64>,
}

/// A fitted number.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The field of the array.
    pub field: &'static str,
    /// Its value with the range the data allow.
    pub quantity: Quantity,
}

/// How well a part of the data is reproduced.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Which data.
    pub what: String,
    /// Points.
    pub points: usize,
    /// Root mean square of predicted/measured - 1.
    pub rms_error: f64,
    /// Largest |predicted/measured - 1|.
    pub max_error: f64,
    /// Mean |error| of each point predicted from the others; absent when not fitted this way.
    pub leave_one_out: Option<f64>,
}

/// What calibration found.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The array with the fitted numbers in it.
    pub array: Array,
    /// The fitted numbers, at most seven.
    pub fitted: Vec<Fitted>,
    /// Goodness of fit of each part.
    pub fits: Vec<Fit>,
    /// Remarks on the data.
    pub remarks: Vec<String>,
    /// What the new file must not be used for.
    pub not_for: Vec<String>,
}

impl Calibration {
    /// The new array file: goodness of fit and limits of use as comments, then the array.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# Calibrated array. Goodness of fit:\n");
        for f in &self.fits {
            let loo =
                f.leave_one_out.map_or(String::new(), |l| format!(", leave one out {:.1} %", l * 100.0));
            text.push_str(&format!(
                "#   {}: {} points, rms {:.1} %, max {:.1} %{loo}\n",
                f.what,
                f.points,
                f.rms_error * 100.0,
                f.max_error * 100.0
            ));
        }
        for remark in &self.remarks {
            text.push_str(&format!("# Note: {remark}\n"));
        }
        text.push_str("# Not to be used for:\n");
        for no in &self.not_for {
            text.push_str(&format!("#   {no}\n"));
        }
        text.push_str(&to_toml(&self.array));
        text
    }
}

/// Why calibration was not possible.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CalibrateError {
    /// A sweep with too few sizes to tell a from b.
    #[error(
        "the block sweep of {0} has {1} point(s); two different sizes or more are needed to tell cost per I/O from \
         cost per KiB"
    )]
    TooFew(&'static str, usize),
    /// A rate that cannot be.
    #[error("a measured rate of {0} is invalid; leave the point out, or measure again")]
    Rate(f64),
    /// A fitted number was refused by the array.
    #[error("a fitted value is not valid for the array: {0}")]
    Refused(#[from] SetError),
}

/// Fits the array to the micro-tests.
///
/// # Errors
/// See [`CalibrateError`].
pub fn calibrate(
    base: &Array,
    tests: &MicroTests,
    tables: &mut Tables,
) -> Result<Calibration, CalibrateError> {
    let all = tests.block_sweep.iter().chain(&tests.random_read).chain(&tests.two_clients);
    if let Some(bad) = all.map(|p| p.iops).find(|x| !x.is_finite() || *x <= 0.0) {
        return Err(CalibrateError::Rate(bad));
    }
    let from = Provenance::Calibrated(format!("run {}", tests.run));
    let mut c = Calibration {
        array: base.clone(),
        fitted: Vec::new(),
        fits: Vec::new(),
        remarks: Vec::new(),
        not_for: not_for(),
    };
    for kind in [Kind::Read, Kind::Write] {
        fit_software(&mut c, tests, kind, &from, tables)?;
    }
    fit_overlap(&mut c, tests, &from, tables)?;
    fit_serial_writes(&mut c, tests, &from, tables)?;
    // Workers before parallelism: a pool keeps the queue of the members short, and would look like disks that
    // do not reorder.
    fit_workers(&mut c, tests, &from, tables)?;
    fit_parallelism(&mut c, tests, &from, tables)?;
    check_deep_sweep(&mut c, tests, tables);
    check_link(&mut c, tests);
    Ok(c)
}

fn not_for() -> Vec<String> {
    [
        "another RAID level or number of disks behind the same target: sequential within 20 %, random up to 50 % off",
        "longest response times: order of magnitude only",
        "a span or fill level far from the calibrated one",
        "another version of the target's software",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The rate the closed form gives for a load on an array.
pub(crate) fn predicted_iops(array: &Array, workload: &Workload, tables: &mut Tables) -> f64 {
    let resolved = ResolvedArray::new(array, Corner::Nominal, workload.region(), tables);
    let classes = resolved.classes(workload);
    closed_form(&resolved, &classes, workload).iops
}

/// Size in KiB and the software's part of the time of one I/O at one outstanding, us: measured time minus what
/// the hardware would take.
fn software_time(array: &Array, point: &Point, tables: &mut Tables) -> (f64, f64, f64) {
    let mut bare = array.clone();
    strip_software(&mut bare);
    let resolved = ResolvedArray::new(&bare, Corner::Nominal, point.workload.region(), tables);
    let classes: Vec<Class> = resolved.classes(&point.workload);
    let hardware: f64 = classes.iter().map(|c| c.share * unloaded_ns(&resolved, c)).sum();
    let total_us = 1e6 / point.iops;
    (point.workload.mean_size() / 1024.0, total_us - hardware / 1e3, total_us)
}

/// Removes every software cost: what is left are data sheets.
pub fn strip_software(array: &mut Array) {
    let target = &mut array.target;
    target.read_op_us = None;
    target.read_kib_us = None;
    target.write_op_us = None;
    target.write_kib_us = None;
    target.workers = None;
    target.serial_write_ms = None;
    target.serial_sequential = Quantity::assumed(0.0);
}

/// a and b of `T = a + b size`, by least squares on relative errors, neither below zero.
/// Each sample is (size, software time, total time); weights are 1 / total^2.
#[must_use]
pub fn fit_line(samples: &[(f64, f64, f64)]) -> (f64, f64) {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y, total) in samples {
        let weight = 1.0 / (total * total);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    let b = if determinant > 0.0 { (w * wxy - wx * wy) / determinant } else { 0.0 };
    let a = (wy - b * wx) / w;
    match (a < 0.0, b < 0.0) {
        (true, _) => (0.0, (wxy / wxx).max(0.0)),
        (_, true) => ((wy / w).max(0.0), 0.0),
        _ => (a, b),
    }
}

fn fit_software(
    c: &mut Calibration,
    tests: &MicroTests,
    kind: Kind,
    from: &Provenance,
    tables: &mut Tables,
) -> Result<(), CalibrateError> {
    let (name, op_field, kib_field, read_pct) = match kind {
        Kind::Read => ("reads", "target.read_op_us", "target.read_kib_us", 100.0),
        Kind::Write => ("writes", "target.write_op_us", "target.write_kib_us", 0.0),
    };
    let of_kind = |p: &&Point| p.workload.mix.iter().all(|a| a.read_pct == read_pct);
    let samples: Vec<_> =
        tests.block_sweep.iter().filter(of_kind).map(|p| software_time(&c.array, p, tables)).collect();
    if samples.is_empty() {
        return Ok(());
    }
    if samples.iter().all(|s| s.0 == samples[0].0) {
        return Err(CalibrateError::TooFew(name, samples.len()));
    }
    let (a, b) = fit_line(&samples);
    let error = |(a, b): (f64, f64), s: &(f64, f64, f64)| {
        let hardware = s.2 - s.1;
        s.2 / (hardware + a + b * s.0) - 1.0
    };
    let errors: Vec<f64> = samples.iter().map(|s| error((a, b), s)).collect();
    let without = |i: usize| {
        let others: Vec<_> = samples.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, s)| *s).collect();
        fit_line(&others)
    };
    let left_out: Vec<f64> = (0..samples.len()).map(|i| error(without(i), &samples[i]).abs()).collect();
    let spread: Vec<(f64, f64)> = (0..samples.len()).map(without).collect();
    let range = |value: f64, of: &dyn Fn(&(f64, f64)) -> f64| {
        let (lo, hi) = spread.iter().map(of).fold((value, value), |(lo, hi), v| (lo.min(v), hi.max(v)));
        Quantity { value, lo, hi, from: from.clone() }
    };
    put(c, op_field, range(a, &|s| s.0))?;
    put(c, kib_field, range(b, &|s| s.1))?;
    c.fits.push(Fit {
        leave_one_out: Some(left_out.iter().sum::<f64>() / left_out.len() as f64),
        ..fit_of(format!("block sweep of {name}, one outstanding"), &errors)
    });
    Ok(())
}

/// Notes a fitted number and puts it into the array with its range and provenance.
fn put(c: &mut Calibration, field: &'static str, quantity: Quantity) -> Result<(), CalibrateError> {
    // The range check of overrides applies to fitted numbers too.
    set(&mut c.array, &format!("{field}={}", quantity.value))?;
    place(&mut c.array, field, &quantity);
    c.fitted.push(Fitted { field, quantity });
    Ok(())
}

/// Puts a fitted number into the array.
fn place(array: &mut Array, field: &str, quantity: &Quantity) {
    let target = &mut array.target;
    match (field, &mut array.device) {
        ("target.read_op_us", _) => target.read_op_us = Some(quantity.clone()),
        ("target.read_kib_us", _) => target.read_kib_us = Some(quantity.clone()),
        ("target.write_op_us", _) => target.write_op_us = Some(quantity.clone()),
        ("target.write_kib_us", _) => target.write_kib_us = Some(quantity.clone()),
        ("target.serial_write_ms", _) => target.serial_write_ms = Some(quantity.clone()),
        ("target.workers", _) => target.workers = Some(quantity.clone()),
        ("target.cores", _) => target.cores = quantity.clone(),
        ("device.ncq_gain", Device::Hdd(hdd)) => hdd.ncq_gain = quantity.clone(),
        ("device.dies", Device::Ssd(ssd)) => ssd.dies = quantity.clone(),
        _ => {}
    }
}

fn fit_of(what: String, errors: &[f64]) -> Fit {
    let n = errors.len();
    let rms = (errors.iter().map(|e| e * e).sum::<f64>() / n.max(1) as f64).sqrt();
    let max = errors.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
    Fit { what, points: n, rms_error: rms, max_error: max, leave_one_out: None }
}

/// Squared log errors of a set of points on a changed array.
fn misfit(array: &Array, points: &[Point], tables: &mut Tables) -> f64 {
    points.iter().map(|p| (predicted_iops(array, &p.workload, tables) / p.iops).ln().powi(2)).sum()
}

/// How many I/Os pay the software's cost at once: `cores`, from the sweep at 32 outstanding, unless one by one
/// explains it.
fn fit_overlap(
    c: &mut Calibration,
    tests: &MicroTests,
    from: &Provenance,
    tables: &mut Tables,
) -> Result<(), CalibrateError> {
    let fitted_costs = c.fitted.iter().any(|f| f.quantity.value > 0.0);
    if tests.block_sweep_deep.is_empty() || !fitted_costs {
        return Ok(());
    }
    let mut scored = Vec::new();
    for cores in CORES {
        let mut array = c.array.clone();
        set(&mut array, &format!("target.cores={cores}"))?;
        scored.push((misfit(&array, &tests.block_sweep_deep, tables), f64::from(cores)));
    }
    let best = scored.iter().copied().fold((f64::INFINITY, 1.0), |b, s| if s.0 < b.0 { s } else { b });
    let visible = POOL_VISIBLE * tests.block_sweep_deep.len() as f64;
    if best.1 <= 1.0 || scored[0].0 < best.0 + visible {
        return Ok(());
    }
    let good = scored.iter().filter(|s| s.0 <= best.0 * 1.5 + visible / 4.0).map(|s| s.1);
    let (lo, hi) = good.fold((best.1, best.1), |(lo, hi), v| (lo.min(v), hi.max(v)));
    put(c, "target.cores", Quantity { value: best.1, lo, hi, from: from.clone() })
}

/// The reordering gain of a disk, or the dies of a drive, from a queue sweep of random reads.
fn fit_parallelism(
    c: &mut Calibration,
    tests: &MicroTests,
    from: &Provenance,
    tables: &mut Tables,
) -> Result<(), CalibrateError> {
    if tests.random_read.len() < 2 {
        return Ok(());
    }
    let (field, candidates): (_, Vec<f64>) = match c.array.device {
        Device::Hdd(_) => ("device.ncq_gain", (0..=40).map(|i| f64::from(i) * 0.05).collect()),
        // Dies in steps of 2^(1/6), about 12 %: then refined below.
        Device::Ssd(_) => {
            ("device.dies", (0..=60).map(|i| 2.0_f64.powf(f64::from(i) / 6.0).round()).collect())
        }
    };
    let mut scored: Vec<(f64, f64)> = Vec::new();
    for value in &candidates {
        let mut array = c.array.clone();
        set(&mut array, &format!("{field}={value}"))?;
        scored.push((misfit(&array, &tests.random_read, tables), *value));
    }
    let best = scored.iter().copied().fold((f64::INFINITY, 1.0), |b, s| if s.0 < b.0 { s } else { b });
    let worst = scored.iter().map(|s| s.0).fold(0.0, f64::max);
    if worst - best.0 < 1e-3 * tests.random_read.len() as f64 {
        c.remarks.push(format!("the queue sweep does not show {field}: another resource limits it"));
        return Ok(());
    }
    // The range: what fits nearly as well (twice the best misfit, and never less than 1 % per point).
    let allowed = (best.0 * 2.0).max(1e-4 * tests.random_read.len() as f64);
    let good = scored.iter().filter(|s| s.0 <= allowed).map(|s| s.1);
    let (lo, hi) = good.fold((best.1, best.1), |(lo, hi), v| (lo.min(v), hi.max(v)));
    put(c, field, Quantity { value: best.1, lo, hi, from: from.clone() })?;
    let errors = errors_of(&c.array, &tests.random_read, tables);
    c.fits.push(fit_of("random reads, queue sweep".to_owned(), &errors));
    Ok(())
}

fn errors_of(array: &Array, points: &[Point], tables: &mut Tables) -> Vec<f64> {
    points.iter().map(|p| predicted_iops(array, &p.workload, tables) / p.iops - 1.0).collect()
}

/// X(32) < 1.3 X(1): random writes pass one at a time, and the time of one is 1/X(32). Writes that wait in a cache are
/// sorted there whatever the depth: they pass one at a time only where they are slower than members that sort nothing.
fn fit_serial_writes(
    c: &mut Calibration,
    tests: &MicroTests,
    from: &Provenance,
    tables: &mut Tables,
) -> Result<(), CalibrateError> {
    let (Some(alone), Some(deep)) = (&tests.random_write_alone, &tests.random_write_deep) else {
        return Ok(());
    };
    if deep.iops >= SERIAL_BELOW * alone.iops {
        c.remarks.push(format!(
            "random writes gain {:.1} times from 1 to 32 outstanding: not serialised",
            deep.iops / alone.iops
        ));
        return Ok(());
    }
    let [of_one, of_all] = [alone, deep].map(|p| predicted_iops(&c.array, &p.workload, tables));
    let unsorted = predicted_iops(&without_sorting(&c.array), &deep.workload, tables);
    if of_all < SERIAL_BELOW * of_one && unsorted < SERIAL_BELOW * deep.iops {
        c.remarks.push(
            "random writes gain nothing from 1 to 32 outstanding, as a cache sorts them at any depth: \
             not serialised"
                .to_owned(),
        );
        return Ok(());
    }
    let ms = 1e3 / deep.iops;
    let other = 1e3 / alone.iops;
    put(
        c,
        "target.serial_write_ms",
        Quantity { value: ms, lo: ms.min(other), hi: ms.max(other), from: from.clone() },
    )
}

fn without_sorting(array: &Array) -> Array {
    let mut array = array.clone();
    if let Device::Hdd(hdd) = &mut array.device {
        hdd.ncq_gain = Quantity::assumed(0.0);
    }
    array
}

/// Workers of the target, from a random mix and a sequential reader side by side, by simulation.
fn fit_workers(
    c: &mut Calibration,
    tests: &MicroTests,
    from: &Provenance,
    tables: &mut Tables,
) -> Result<(), CalibrateError> {
    let [first, _, ..] = &tests.two_clients[..] else { return Ok(()) };
    // Costs that are paid side by side already say how much runs at once; a second number would share its data.
    if c.fitted.iter().any(|f| f.field == "target.cores") {
        return Ok(());
    }
    let span = first.workload.region();
    let workloads: Vec<Workload> = tests.two_clients.iter().map(|p| p.workload.clone()).collect();
    let mut score = |workers: Option<u32>| -> Result<(f64, Vec<f64>), CalibrateError> {
        let mut array = c.array.clone();
        let value = workers.map_or("none".to_owned(), |w| w.to_string());
        set(&mut array, &format!("target.workers={value}"))?;
        let resolved = ResolvedArray::new(&array, Corner::Nominal, span, tables);
        let options = SimOptions { max_ios: 200_000, ..SimOptions::default() };
        let outcomes = simulate(&resolved, &workloads, options);
        let errors: Vec<f64> =
            outcomes.iter().zip(&tests.two_clients).map(|(o, p)| o.iops.max(1e-3) / p.iops - 1.0).collect();
        Ok((errors.iter().map(|e| (1.0 + e).ln().powi(2)).sum(), errors))
    };
    let unlimited = score(None)?;
    let mut best = (f64::INFINITY, 0, Vec::new());
    let mut tried = Vec::new();
    for workers in WORKERS {
        let (s, errors) = score(Some(workers))?;
        tried.push((workers, s));
        if s < best.0 {
            best = (s, workers, errors);
        }
    }
    let place = WORKERS.iter().position(|w| *w == best.1).unwrap_or(0);
    let (low, high) = (WORKERS[place.saturating_sub(1)], WORKERS[(place + 1).min(WORKERS.len() - 1)]);
    for workers in low + 1..high {
        let (s, errors) = score(Some(workers))?;
        tried.push((workers, s));
        if s < best.0 {
            best = (s, workers, errors);
        }
    }
    if unlimited.0 <= best.0 || unlimited.0 < POOL_VISIBLE * tests.two_clients.len() as f64 {
        c.remarks.push("no pool of workers shared by the two clients was detected".to_owned());
        return Ok(());
    }
    let good = tried.iter().filter(|t| t.1 <= best.0 * 2.0 + 2e-3).map(|t| t.0);
    let (lo, hi) = good.fold((best.1, best.1), |(lo, hi), w| (lo.min(w), hi.max(w)));
    let (value, lo, hi) = (f64::from(best.1), f64::from(lo), f64::from(hi));
    put(c, "target.workers", Quantity { value, lo, hi, from: from.clone() })?;
    c.fits.push(fit_of("two clients at once".to_owned(), &best.2));
    Ok(())
}

fn check_deep_sweep(c: &mut Calibration, tests: &MicroTests, tables: &mut Tables) {
    if tests.block_sweep_deep.is_empty() {
        return;
    }
    let errors = errors_of(&c.array, &tests.block_sweep_deep, tables);
    let fit = fit_of("block sweep at 32 outstanding".to_owned(), &errors);
    if fit.rms_error > 0.2 {
        c.remarks.push(
            "costs fitted at 1 outstanding do not explain the sweep at 32: the stages overlap differently"
                .to_owned(),
        );
    }
    c.fits.push(fit);
}

/// The seventh micro-test. A raw rate needs a program at the other end, which a storage box has not; without one the
/// fastest large reads are a lower bound: a link that was seen near its ceiling is as described.
fn check_link(c: &mut Calibration, tests: &MicroTests) {
    let ceiling = wire::ceiling_mb_s(&c.array.link, &c.array.protocol, 1_048_576.0);
    let reads = tests.block_sweep_deep.iter().filter(|p| p.workload.mix.iter().all(|a| a.read_pct == 100.0));
    let seen = reads.chain(&tests.cached_read).map(|p| p.iops * p.workload.mean_size() / 1e6);
    let seen = seen.fold(0.0, f64::max);
    let paths = wire::usable_paths(&c.array.paths);
    if ceiling.is_finite() && seen > 0.0 && tests.raw_link_mb_s.is_none() {
        let all = ceiling * paths;
        let says = match seen / all {
            s if s > 1.0 + LINK_TOLERANCE => {
                "more than they can carry: link, paths or MTU differ from the file, or a cache of this host answered"
            }
            s if s >= LINK_SEEN => "so the link is as described",
            _ => {
                "which proves nothing: another resource may have been saturated; measure the raw link with another tool"
            }
        };
        c.remarks.push(format!(
            "the largest reads carried {seen:.1} MB/s of the {all:.1} that the paths can carry: {says}"
        ));
    }
    let Some(raw) = tests.raw_link_mb_s else { return };
    if ceiling.is_finite() && (raw / ceiling - 1.0).abs() > LINK_TOLERANCE {
        c.remarks.push(format!(
            "the raw link sustains {raw:.1} MB/s, its ceiling is {ceiling:.1}: check MTU, duplex, drops and host CPU"
        ));
    }
}

/// The value of one field at which the closed form gives a measured rate, by bisection between `lo` and `hi`.
/// The rate must fall as the field grows (a cost).
///
/// # Errors
/// When the field does not take such values.
pub(crate) fn match_rate(
    array: &mut Array,
    field: &str,
    (lo, hi): (f64, f64),
    point: &Point,
    tables: &mut Tables,
) -> Result<f64, SetError> {
    let (mut lo, mut hi) = (lo, hi);
    for _ in 0..60 {
        let middle = f64::midpoint(lo, hi);
        set(array, &format!("{field}={middle}"))?;
        if predicted_iops(array, &point.workload, tables) > point.iops { lo = middle } else { hi = middle }
    }
    Ok(f64::midpoint(lo, hi))
}
