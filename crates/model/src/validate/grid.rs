//! The closed form compared with the simulation, point by point: m = 1 to 16 disks, N = 1 to 128 outstanding.

use serde::Serialize;

use super::ValidateError;
use crate::array::{set, shipped};
use crate::closed::closed_form;
use crate::des::{SimOptions, simulate};
use crate::quantity::Corner;
use crate::resolved::{ResolvedArray, Tables};
use crate::workload::Workload;
use assay_spec::units::{Bytes, Nanos};

/// Disks of the grid: 1 to this number.
pub const DISKS_MAX: u32 = 16;
/// Outstanding I/Os of the grid: 1 to this number.
pub const OUTSTANDING_MAX: u32 = 128;
/// I/Os simulated for each point: a standard error near 1 %.
pub const IOS: u64 = 4_000;
/// Points whose engines differ by more are counted.
const FAR: f64 = 0.10;
/// Upper ends of the bands of outstanding I/Os, the rows of the table.
pub const BANDS_OUTSTANDING: [u32; 6] = [1, 2, 8, 32, 64, 128];
/// Upper ends of the bands of disks, the columns of the table.
pub const BANDS_DISKS: [u32; 5] = [1, 2, 4, 8, 16];

/// What the comparison came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    /// Points.
    pub points: u32,
    /// Mean of |closed form / simulation - 1|.
    pub mean: f64,
    /// The largest, with its disks and outstanding I/Os.
    pub worst: (f64, u32, u32),
    /// Points beyond 10 %.
    pub far: u32,
    /// Mean by band of outstanding I/Os (rows) and disks (columns).
    pub bands: Vec<Vec<f64>>,
}

/// Random 4 KiB reads over whole striped disks, every point of the grid.
///
/// # Errors
/// Never for the shipped arrays.
pub fn grid() -> Result<Grid, ValidateError> {
    let disk = shipped::named("hdd-7200").expect("hdd-7200 ships")?;
    let mut tables = Tables::default();
    let mut bands = vec![vec![(0.0, 0.0); BANDS_DISKS.len()]; BANDS_OUTSTANDING.len()];
    let (mut sum, mut points, mut far, mut worst) = (0.0, 0, 0, (0.0, 0, 0));
    for m in 1..=DISKS_MAX {
        let mut array = disk.clone();
        let changed = set(&mut array, &format!("raid=0 disks={m}"));
        changed.map_err(|source| ValidateError::Set { row: format!("grid, {m} disks"), source })?;
        for n in 1..=OUTSTANDING_MAX {
            let load = Workload {
                duration: Nanos::from_secs(3600),
                span: Bytes(u64::from(m) * 6_000_000_000_000),
                ..Workload::simple("grid", 4096, 100.0, 100.0, n)
            };
            let resolved = ResolvedArray::new(&array, Corner::Nominal, load.region(), &mut tables);
            let closed = closed_form(&resolved, &resolved.classes(&load), &load).iops;
            let options = SimOptions { seed: 3, max_ios: IOS, cache_full: false };
            let simulated = simulate(&resolved, std::slice::from_ref(&load), options)[0].iops;
            let error = (closed / simulated - 1.0).abs();
            (sum, points, far) = (sum + error, points + 1, far + u32::from(error > FAR));
            if error > worst.0 {
                worst = (error, m, n);
            }
            let band = |ends: &[u32], value: u32| ends.iter().position(|end| value <= *end).unwrap_or(0);
            let cell: &mut (f64, f64) = &mut bands[band(&BANDS_OUTSTANDING, n)][band(&BANDS_DISKS, m)];
            *cell = (cell.0 + error, cell.1 + 1.0);
        }
    }
    let bands = bands.into_iter().map(|row| row.into_iter().map(|(sum, n)| sum / n).collect()).collect();
    Ok(Grid { points, mean: sum / f64::from(points), worst, far, bands })
}
