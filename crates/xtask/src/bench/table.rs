//! Pairs of figures as rows: medians, the ratio of each pair, and whether a goal is met.

use std::fmt;

use serde_json::{Value, json};

/// A goal for the ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// Shown, not judged.
    None,
    RatioAtLeast(f64),
    RatioAtMost(f64),
    /// The ratio differs from 1 by at most this.
    Within(f64),
    OursAtLeast(f64),
    OursBelow(f64),
}

impl Goal {
    fn is_met(self, ours: f64, ratio: f64) -> Option<bool> {
        match self {
            Self::None => None,
            Self::RatioAtLeast(goal) => Some(ratio >= goal),
            Self::RatioAtMost(goal) => Some(ratio <= goal),
            Self::Within(share) => Some((ratio - 1.0).abs() <= share),
            Self::OursAtLeast(goal) => Some(ours >= goal),
            Self::OursBelow(goal) => Some(ours < goal),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::RatioAtLeast(goal) => write!(f, "ratio >= {goal}"),
            Self::RatioAtMost(goal) => write!(f, "ratio <= {goal}"),
            Self::Within(share) => write!(f, "within {} %", share * 100.0),
            Self::OursAtLeast(goal) => write!(f, "ours >= {}", figure(*goal)),
            Self::OursBelow(goal) => write!(f, "ours < {}", figure(*goal)),
        }
    }
}

/// One line of the table.
pub(crate) struct Row {
    case: String,
    what: &'static str,
    ours: f64,
    theirs: f64,
    /// Lowest, median and highest ratio of a pair.
    ratio: [f64; 3],
    goal: Goal,
}

impl Row {
    /// Returns a row of the pairs (ours, the other's) of all rounds; not empty.
    pub(crate) fn new(case: &str, what: &'static str, pairs: &[(f64, f64)], goal: Goal) -> Self {
        let sorted = |of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = pairs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let ratios = sorted(|(ours, theirs)| ours / theirs);
        Self {
            case: case.to_owned(),
            what,
            ours: median(&sorted(|(ours, _)| *ours)),
            theirs: median(&sorted(|(_, theirs)| *theirs)),
            ratio: [ratios[0], median(&ratios), ratios[ratios.len() - 1]],
            goal,
        }
    }

    fn is_met(&self) -> Option<bool> {
        self.goal.is_met(self.ours, self.ratio[1])
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({
            "case": self.case, "what": self.what, "ours": self.ours, "other": self.theirs,
            "ratio": { "min": self.ratio[0], "median": self.ratio[1], "max": self.ratio[2] },
            "goal": self.goal.to_string(), "met": self.is_met(),
        })
    }
}

/// Returns the median of sorted values; not empty.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<32} {:<19} {:>10} {:>10}   {:<22} {:<15} met\n",
        "case", "what (medians)", "ours", "other", "ratio [min .. max]", "goal"
    );
    for row in rows {
        let [low, middle, high] = row.ratio;
        let ratio = if middle.is_nan() { "-".into() } else { format!("{middle:.3} [{low:.3} .. {high:.3}]") };
        let met = row.is_met().map_or("-", |met| if met { "yes" } else { "NO" });
        text += &format!(
            "{:<32} {:<19} {:>10} {:>10}   {:<22} {:<15} {met}\n",
            row.case,
            row.what,
            figure(row.ours),
            figure(row.theirs),
            ratio,
            row.goal.to_string()
        );
    }
    text
}

fn figure(value: f64) -> String {
    match value {
        // Not available: fio has no such engine, or there is no device behind the file.
        v if v.is_nan() => "-".to_owned(),
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_of_each_pair_and_not_of_the_medians() {
        let row = Row::new("c", "w", &[(10.0, 5.0), (30.0, 10.0), (20.0, 20.0)], Goal::RatioAtLeast(2.0));
        assert_eq!((row.ours, row.theirs, row.ratio), (20.0, 10.0, [1.0, 2.0, 3.0]));
        assert_eq!(row.is_met(), Some(true));
    }

    #[test]
    fn a_missing_value_is_a_dash() {
        assert_eq!([figure(f64::NAN), figure(12_345.0)], ["-", "12.3 k"]);
    }

    #[test]
    fn goals_are_judged_at_their_bounds() {
        assert_eq!(Goal::Within(0.03).is_met(0.0, 0.96), Some(false));
        assert_eq!(Goal::Within(0.03).is_met(0.0, 1.02), Some(true));
        assert_eq!(Goal::RatioAtMost(0.9).is_met(0.0, 0.91), Some(false));
        assert_eq!(Goal::OursBelow(64.0).is_met(64.0, 1.0), Some(false));
        assert_eq!(Goal::None.is_met(0.0, 0.0), None);
    }
}
