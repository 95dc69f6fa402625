//! A run over time, as `iostat` prints it: a line for each slice of the measured window.

use assay_analysis::{Point, StepSummary};

use crate::table::{Cell, Column, Decimals, Narrow, Table};

/// Returns a row for each `every_s` seconds of each step; the last of a step may be shorter.
pub fn table(steps: &[StepSummary], every_s: f64) -> Table {
    let mut table = Table::new(vec![
        Column::text("Test").narrow(Narrow::Cut(40)),
        Column::number("until", "s").decimals(Decimals::Fixed(0)),
        Column::number("MiB/s", ""),
        Column::number("IOPS", ""),
        Column::number("Avg", "us"),
        Column::number("Errors", "").narrow(Narrow::Drop(1)),
    ]);
    for step in steps {
        let name = format!("{} {}", step.test, step.step).trim_end().to_owned();
        for slice in slices(&step.series, every_s) {
            let last = slice.last().map_or(0.0, |point| point.t_s);
            let mean = |of: fn(&Point) -> f64| slice.iter().map(of).sum::<f64>() / slice.len() as f64;
            let ios: f64 = slice.iter().map(|point| point.iops).sum();
            // Of seconds with different rates, each I/O counts once.
            let waited: f64 = slice.iter().filter_map(|point| Some(point.mean_us? * point.iops)).sum();
            table.push([
                Cell::Text(name.clone()),
                Cell::Number(last),
                Cell::Number(mean(|point| point.mib_per_s)),
                Cell::Number(mean(|point| point.iops)),
                if ios > 0.0 { Cell::Number(waited / ios) } else { Cell::Empty },
                Cell::Number(slice.iter().map(|point| point.errors as f64).sum()),
            ]);
        }
    }
    table
}

/// Points by the slice in which they end.
fn slices(points: &[Point], every_s: f64) -> Vec<&[Point]> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a window")]
    let number = |point: &Point| ((point.t_s - 1e-6) / every_s).floor().max(0.0) as u64;
    points.chunk_by(|a, b| number(a) == number(b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_cut_into_slices() {
        let point = |t_s: f64| Point {
            t_s,
            iops: 1.0,
            mib_per_s: 1.0,
            mean_us: None,
            p50_us: None,
            p99_us: None,
            waited: None,
            errors: 0,
        };
        let points: Vec<Point> = (1..=7).map(|t| point(f64::from(t))).collect();
        let lengths: Vec<usize> = slices(&points, 3.0).iter().map(|slice| slice.len()).collect();
        assert_eq!(lengths, [3, 3, 1]);
    }
}
