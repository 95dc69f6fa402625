//! Two heat maps subtracted: which latencies one side of a comparison has more often than the other, over time.

use std::collections::BTreeMap;

use assay_analysis::HeatMap;

use crate::number::TimeUnit;
use crate::svg::{Axis, Heat, HeatColumn, HeatOf, Side};

/// Columns of a map, and seconds that are too few for one.
const COLUMNS_MAX: usize = 110;
const SECONDS_MIN: usize = 10;
/// Differences below this share of a column's I/Os are not drawn: seconds of one run differ by as much.
const SHARE_MIN: f64 = 0.01;

/// Draws how the latencies of `second` differ from those of `first`; nothing where one of them is too short.
pub(super) fn heat_difference(
    title: &str,
    (first, second): (&HeatMap, &HeatMap),
    sides: [Side; 2],
) -> String {
    let seconds = first.seconds.len().min(second.seconds.len());
    if seconds < SECONDS_MIN {
        return String::new();
    }
    let together = seconds.div_ceil(COLUMNS_MAX);
    let differences: Vec<(usize, usize, BTreeMap<i32, f64>)> = (0..seconds)
        .step_by(together)
        .map(|from| (from, (from + together).min(seconds)))
        .map(|(from, to)| (from, to, difference(&first.seconds[from..to], &second.seconds[from..to])))
        .collect();
    let rungs = || differences.iter().flat_map(|(.., column)| column.keys().copied());
    let (Some(low), Some(high)) = (rungs().min(), rungs().max()) else { return String::new() };
    let unit = TimeUnit::for_means(&[HeatMap::low_ns((low + high) / 2)]);
    let at = |rung: i32| unit.of_ns(HeatMap::low_ns(rung));
    let columns = differences.into_iter().map(|(from, to, column)| HeatColumn {
        from: from as f64,
        to: to as f64,
        cells: column.into_iter().map(|(rung, share)| (at(rung), at(rung + 1), share)).collect(),
        says: String::new(),
    });
    let chart = Heat {
        title,
        x: Axis::up_to("s since the measured window began", seconds as f64),
        y: Axis::log(&format!("latency, {}", unit.name()), at(low), at(high + 1)),
        columns: columns.collect(),
        of: HeatOf::Differences(sides),
    };
    chart.svg()
}

/// Returns the share of the I/Os in each rung of the second less that of the first, where it differs.
fn difference(first: &[Vec<(i32, u64)>], second: &[Vec<(i32, u64)>]) -> BTreeMap<i32, f64> {
    let mut differences = shares(second);
    for (rung, share) in shares(first) {
        *differences.entry(rung).or_default() -= share;
    }
    differences.retain(|_, share| share.abs() >= SHARE_MIN);
    differences
}

fn shares(seconds: &[Vec<(i32, u64)>]) -> BTreeMap<i32, f64> {
    let all: u64 = seconds.iter().flatten().map(|(_, count)| count).sum();
    let mut shares = BTreeMap::<i32, f64>::new();
    for (rung, count) in seconds.iter().flatten() {
        *shares.entry(*rung).or_default() += *count as f64 / all.max(1) as f64;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_that_one_side_has_more_often_has_its_sign_and_what_is_alike_is_left_out() {
        // Of 100 I/Os of the first 90 are fast, of 10 of the second five: rates do not matter, shares do.
        let first = [vec![(40, 90), (60, 10)], vec![(40, 90), (60, 10)]];
        let second = [vec![(40, 5), (60, 1), (80, 4)]];
        let found = difference(&first, &second);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [40, 80], "{found:?}");
        assert!((found[&40] + 0.4).abs() < 1e-9 && (found[&80] - 0.4).abs() < 1e-9, "{found:?}");
        assert!(difference(&first, &first).is_empty());
    }

    #[test]
    fn each_side_has_its_colour_and_too_few_seconds_are_no_map() {
        let map = |rung: i32, seconds: usize| HeatMap { seconds: vec![vec![(rung, 10)]; seconds] };
        let sides = || [("A", 0), ("C", 2)].map(|(name, style)| Side { name: name.to_owned(), style });
        let drawn = heat_difference("t", (&map(40, 20), &map(80, 30)), sides());
        for class in ["f0 o6", "f2 o6", "more in A", "more in C"] {
            assert!(drawn.contains(class), "{class}: {drawn}");
        }
        assert_eq!(heat_difference("t", (&map(40, 9), &map(80, 30)), sides()), "");
    }
}
