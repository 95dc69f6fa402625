//! Calibration from a few measured rows of a system, whatever tests they are of.
//!
//! Rows from articles or stored runs say how far a system is from its sheet, but not why. They are therefore fitted
//! with one factor for each class of load that hardware limits: the times of a disk's random I/O, the rates of a
//! drive's random reads and writes, and the sequential rates. Each factor makes the geometric mean of predicted over
//! measured 1 over the rows of its class; a class without rows keeps its sheet, and a class that something else
//! limits (a link) keeps it too. The rest of the system's rows are then predicted.

use super::Fitted;
use crate::array::{Array, Device};
use crate::closed::closed_form;
use crate::quantity::{Corner, Provenance, Quantity};
use crate::resolved::{ResolvedArray, Tables};
use crate::workload::Workload;

/// Factors are whole powers of this: rows repeat themselves to 2 % at best.
const STEP: f64 = 1.02;
/// The largest power: a factor of 4.
const STEPS_MAX: i32 = 70;

/// Logarithm of how much a factor of 4 changes a rate that the devices limit, at least.
const RESPONDS: f64 = 0.1;
/// Logarithm of a ratio that needs no remark.
const NEAR: f64 = 0.1;

/// A measured row: this load gave this rate on this array, which may differ from the others in its overrides.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPoint {
    /// The array with the row's overrides.
    pub array: Array,
    /// The load.
    pub workload: Workload,
    /// Measured I/Os per second.
    pub iops: f64,
}

/// A class of load with a factor of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knob {
    /// Times of a disk, or rates of a drive, in random reads.
    RandomReads,
    /// Rates of a drive in random writes; a disk has one knob for both.
    RandomWrites,
    /// Sequential rate of reads.
    SequentialReads,
    /// Sequential rate of writes; a disk has one knob for both.
    SequentialWrites,
}

impl Knob {
    const ALL: [Self; 4] =
        [Self::RandomReads, Self::RandomWrites, Self::SequentialReads, Self::SequentialWrites];

    fn says(self) -> &'static str {
        match self {
            Self::RandomReads => "random I/Os, or random reads of an SSD",
            Self::RandomWrites => "random writes",
            Self::SequentialReads => "sequential I/Os, or sequential reads of an SSD",
            Self::SequentialWrites => "sequential writes",
        }
    }

    /// The knob of a load: by what most of it is.
    fn of(device: &Device, load: &Workload) -> Self {
        let weight: f64 = load.mix.iter().map(|a| a.weight).sum();
        let share = |of: fn(&crate::workload::Access) -> f64| {
            load.mix.iter().map(|a| of(a) * a.weight).sum::<f64>() / weight / 100.0
        };
        let (random, reads) = (share(|a| a.random_pct) >= 0.5, share(|a| a.read_pct) >= 0.5);
        match (random, reads || matches!(device, Device::Hdd(_))) {
            (true, true) => Self::RandomReads,
            (true, false) => Self::RandomWrites,
            (false, true) => Self::SequentialReads,
            (false, false) => Self::SequentialWrites,
        }
    }

    /// The fields of a device that it changes, each with whether it is a time.
    fn fields(self, device: &mut Device) -> Vec<(&'static str, &mut Quantity, bool)> {
        match (self, device) {
            (Self::RandomReads, Device::Hdd(d)) => vec![
                ("device.overhead_ms", &mut d.overhead_ms, true),
                ("device.seek_track_ms", &mut d.seek_track_ms, true),
                ("device.seek_avg_ms", &mut d.seek_avg_ms, true),
                ("device.seek_full_ms", &mut d.seek_full_ms, true),
            ],
            (Self::SequentialReads, Device::Hdd(d)) => vec![
                ("device.outer_mb_s", &mut d.outer_mb_s, false),
                ("device.inner_mb_s", &mut d.inner_mb_s, false),
            ],
            (_, Device::Hdd(_)) => Vec::new(),
            (Self::RandomReads, Device::Ssd(d)) => vec![
                ("device.qd1_read_iops", &mut d.qd1_read_iops, false),
                ("device.read_iops_max", &mut d.read_iops_max, false),
            ],
            (Self::RandomWrites, Device::Ssd(d)) => {
                let mut fields = vec![
                    ("device.qd1_write_iops", &mut d.qd1_write_iops, false),
                    ("device.write_iops_max", &mut d.write_iops_max, false),
                ];
                fields.extend(d.steady_write_iops.as_mut().map(|q| ("device.steady_write_iops", q, false)));
                fields
            }
            (Self::SequentialReads, Device::Ssd(d)) => vec![("device.read_mb_s", &mut d.read_mb_s, false)],
            (Self::SequentialWrites, Device::Ssd(d)) => {
                let mut fields = vec![("device.write_mb_s", &mut d.write_mb_s, false)];
                fields.extend(d.slc_full_mb_s.as_mut().map(|q| ("device.slc_full_mb_s", q, false)));
                fields
            }
        }
    }
}

/// Why a class of load has no factor although its rows are not as the sheet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfitted {
    /// The devices do not limit it: a factor changes nothing.
    Elsewhere,
    /// No factor up to 4 reaches the measured rates.
    TooFar,
}

/// The factors of a system; 1 where its sheet stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// By the order of [`Knob::ALL`]; above 1 = faster than the sheet.
    faster: [f64; 4],
    unfitted: [Option<Unfitted>; 4],
}

impl Factors {
    /// The array with its numbers changed by the factors; `from` is their provenance.
    #[must_use]
    pub fn apply(&self, array: &Array, from: &str) -> Array {
        let mut changed = array.clone();
        for (knob, factor) in Knob::ALL.into_iter().zip(self.faster) {
            if (factor - 1.0).abs() > 1e-9 {
                scale(&mut changed.device, knob, factor, from);
            }
        }
        changed
    }

    /// The classes of load that nothing was fitted to, in words, although their rows are not as the sheet says.
    pub fn unfitted(&self) -> impl Iterator<Item = (&'static str, Unfitted)> {
        Knob::ALL.into_iter().zip(self.unfitted).filter_map(|(knob, why)| Some((knob.says(), why?)))
    }

    /// The numbers that the factors change, as they are then.
    #[must_use]
    pub fn fitted(&self, array: &Array, from: &str) -> Vec<Fitted> {
        let mut device = self.apply(array, from).device;
        let mut fitted = Vec::new();
        for (knob, factor) in Knob::ALL.into_iter().zip(self.faster) {
            if (factor - 1.0).abs() > 1e-9 {
                let fields = knob.fields(&mut device);
                fitted.extend(fields.into_iter().map(|(field, q, _)| Fitted { field, quantity: q.clone() }));
            }
        }
        fitted
    }
}

fn scale(device: &mut Device, knob: Knob, factor: f64, from: &str) {
    for (_, quantity, is_time) in knob.fields(device) {
        let by = if is_time { 1.0 / factor } else { factor };
        *quantity = Quantity {
            value: quantity.value * by,
            lo: quantity.lo * by,
            hi: quantity.hi * by,
            from: Provenance::Calibrated(from.to_owned()),
        };
    }
}

/// Fits the factors of a system to some of its rows.
#[must_use]
pub fn fit_rows(rows: &[RowPoint], tables: &mut Tables) -> Factors {
    let mut factors = Factors { faster: [1.0; 4], unfitted: [None; 4] };
    for (index, knob) in Knob::ALL.into_iter().enumerate() {
        let own: Vec<&RowPoint> =
            rows.iter().filter(|row| Knob::of(&row.array.device, &row.workload) == knob).collect();
        if own.is_empty() {
            continue;
        }
        let mut excess = |factor: f64| {
            let mut tried = factors;
            tried.faster[index] = factor;
            own.iter().map(|row| log_ratio(row, &tried, tables)).sum::<f64>() / own.len() as f64
        };
        match root(&mut excess) {
            Ok(factor) => factors.faster[index] = factor,
            Err(why) => factors.unfitted[index] = why,
        }
    }
    factors
}

/// Logarithm of predicted over measured, at nominal values.
fn log_ratio(row: &RowPoint, factors: &Factors, tables: &mut Tables) -> f64 {
    let array = factors.apply(&row.array, "trial");
    let resolved = ResolvedArray::new(&array, Corner::Nominal, row.workload.region(), tables);
    (closed_form(&resolved, &resolved.classes(&row.workload), &row.workload).iops / row.iops).ln()
}

/// The factor at which a rising function is 0; an error where it never is, with the reason unless it is nearly 0 at 1.
///
/// Factors are powers of [`STEP`], so that trials for different rows ask for the same disks.
fn root(excess: &mut dyn FnMut(f64) -> f64) -> Result<f64, Option<Unfitted>> {
    let at_sheet = excess(1.0);
    let toward = if at_sheet > 0.0 { 1.0 / STEP } else { STEP };
    let (mut near, mut far) = (0, STEPS_MAX);
    let at_most = excess(toward.powi(far));
    if (at_most > 0.0) == (at_sheet > 0.0) {
        let why = if (at_sheet - at_most).abs() < RESPONDS { Unfitted::Elsewhere } else { Unfitted::TooFar };
        return Err(Some(why).filter(|_| at_sheet.abs() > NEAR));
    }
    while far - near > 1 {
        let middle = i32::midpoint(near, far);
        if (excess(toward.powi(middle)) > 0.0) == (at_sheet > 0.0) { near = middle } else { far = middle }
    }
    let [before, after] = [near, far].map(|n| excess(toward.powi(n)).abs());
    Ok(toward.powi(if before <= after { near } else { far }))
}
