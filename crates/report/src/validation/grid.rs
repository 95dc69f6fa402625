//! The closed form compared with the simulation.

use assay_model::validate::{BANDS_DISKS, BANDS_OUTSTANDING, DISKS_MAX, Grid, IOS, OUTSTANDING_MAX};

use super::text;
use crate::table::{Column, Format, Row, Table};

pub(super) fn section(grid: &Grid) -> String {
    let (worst, disks, outstanding) = grid.worst;
    let titles = (0..BANDS_DISKS.len()).map(|i| band(&BANDS_DISKS, i));
    let mut table =
        Table::new(["N \\ m".to_owned()].into_iter().chain(titles).map(|t| Column::text(&t)).collect());
    for (i, row) in grid.bands.iter().enumerate() {
        let means = row.iter().map(|mean| text(format!("{:.1}", mean * 100.0)));
        let label = text(band(&BANDS_OUTSTANDING, i));
        table.rows.push(Row::Cells([label].into_iter().chain(means).collect()));
    }
    format!(
        "\n## The closed form against the simulation\n\nRandom 4 KiB reads over whole striped disks, every m = 1 \
         to {DISKS_MAX} and N = 1 to {OUTSTANDING_MAX}: {} points of\n{IOS} simulated I/Os each. Mean \
         |difference| {:.1} %, {} points beyond 10 %, the largest {:.0} % at m = {disks}, N = {outstanding}: the \
         formula\ntakes the mean queue of a disk in place of its distribution. Mean by band, %:\n\n{}",
        grid.points,
        grid.mean * 100.0,
        grid.far,
        worst * 100.0,
        table.render(Format::Markdown)
    )
}

/// Returns the name of a band: `9 to 32`.
fn band(ends: &[u32], i: usize) -> String {
    match i.checked_sub(1).map(|before| ends[before] + 1) {
        Some(from) if from < ends[i] => format!("{from} to {}", ends[i]),
        _ => ends[i].to_string(),
    }
}
