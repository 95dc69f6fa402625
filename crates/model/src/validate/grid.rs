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

/// Disks and outstanding I/Os of the grid.
const DISKS_MAX: u32 = 16;
const OUTSTANDING_MAX: u32 = 128;
/// I/Os simulated for each point: a standard error near 1 %.
const IOS: u64 = 4_000;
/// Points whose engines differ by more are counted.
const FAR: f64 = 0.10;
/// Rows and columns of the printed table, by their upper ends.
const BANDS_OUTSTANDING: [u32; 6] = [1, 2, 8, 32, 64, 128];
const BANDS_DISKS: [u32; 5] = [1, 2, 4, 8, 16];

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

impl Grid {
    /// As a part of the document.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "\n## The closed form against the simulation\n\nRandom 4 KiB reads over whole striped disks, every m = 1 \
             to {DISKS_MAX} and N = 1 to {OUTSTANDING_MAX}: {} points of\n{IOS} simulated I/Os each. Mean \
             |difference| {:.1} %, {} points beyond 10 %, the largest {:.0} % at m = {}, N = {}: a disk\nthat \
             finishes chooses among N - 1 requests, the formula says N. Mean by band, %:\n\n| N \\ m |",
            self.points,
            self.mean * 100.0,
            self.far,
            self.worst.0 * 100.0,
            self.worst.1,
            self.worst.2
        );
        let label = |ends: &[u32], i: usize| match i.checked_sub(1).map(|before| ends[before] + 1) {
            Some(from) if from < ends[i] => format!("{from} to {}", ends[i]),
            _ => ends[i].to_string(),
        };
        (0..BANDS_DISKS.len()).for_each(|i| text.push_str(&format!(" {} |", label(&BANDS_DISKS, i))));
        text.push_str(&format!("\n|---|{}\n", "---|".repeat(BANDS_DISKS.len())));
        for (i, row) in self.bands.iter().enumerate() {
            text.push_str(&format!("| {} |", label(&BANDS_OUTSTANDING, i)));
            row.iter().for_each(|mean| text.push_str(&format!(" {:.1} |", mean * 100.0)));
            text.push('\n');
        }
        text
    }
}
