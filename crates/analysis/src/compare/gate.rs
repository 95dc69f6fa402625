//! A limit on how much worse a side may be: `p99 +10%`, `RealLife: p99 +10%`, for scripts.

use std::fmt;
use std::str::FromStr;

use assay_spec::Figure;
use assay_spec::threshold::meant;

use crate::threshold::Answer;

use super::{Against, Cell, Change, Comparison, PLAIN, SpreadSource, TestPair};

/// A figure and the change that is too much of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// A test by its name in the table, or a part of that; `None`: every test.
    pub test: Option<String>,
    figure: Figure,
    /// Over the first side; above zero: more is too much, below: less is.
    change: f64,
}

impl FromStr for Gate {
    type Err = String;

    /// Reads `p99 +10%`, `iops -5%` and `RealLife: mean +20%`. Names of tests may contain every sign.
    fn from_str(text: &str) -> Result<Self, String> {
        let own = text.rsplit(':').next().unwrap_or_default();
        if own.contains(['<', '>']) {
            return Err(format!(
                "`{text}` is a limit on a value, and a comparison has changes, like \"p99 +10%\"; limits on values are \
                 those of assay run --fail-if and of [[limit]] in a plan"
            ));
        }
        let says = || {
            format!("`{text}` is not a limit; write a figure and a change, like \"p99 +10%\" or \"iops -5%\"")
        };
        let (test, own) = match text.rsplit_once(':') {
            Some((test, _)) if test.trim().is_empty() => return Err(says()),
            Some((test, own)) => (Some(test.trim().to_owned()), own),
            None => (None, text),
        };
        let at = own.find(['+', '-']).ok_or_else(says)?;
        let (name, change) = own.split_at(at);
        let figure = Figure::named(name).ok_or_else(says)?;
        if !matches!(figure, Figure::Iops | Figure::MibPerS | Figure::Mean | Figure::P50 | Figure::P99) {
            return Err(format!(
                "`{}` is not compared; choose from iops, mib/s, mean, p50 and p99",
                name.trim()
            ));
        }
        let number = change.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let change = number.ok_or_else(says)? / 100.0;
        if change == 0.0 || !change.is_finite() || change <= -1.0 {
            return Err(says());
        }
        Ok(Self { test, figure, change })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(test) = &self.test {
            write!(f, "{test}: ")?;
        }
        write!(f, "{} {:+}%", self.figure.title(), (self.change * 1e5).round() / 1e3)
    }
}

/// Returns what breaks a gate or leaves it undecided, a sentence for each test; none: all is within it. A change that
/// noise explains breaks nothing. One that cannot be judged is undecided, as a script must not take silence for a pass.
pub fn broken(comparison: &Comparison, gate: &Gate) -> Vec<(Answer, String)> {
    let mut says = Vec::new();
    let full = |test: &TestPair| format!("{} {}", test.test, test.step).trim_end().to_owned();
    let names = comparison.tests.iter().map(|test| (test.test.as_str(), full(test)));
    let about: Vec<&TestPair> =
        meant(gate.test.as_deref(), names).into_iter().map(|at| &comparison.tests[at]).collect();
    for test in &about {
        let name = full(test);
        let Some(first) = &test.cells[0] else { continue };
        for (side, cell) in comparison.sides.iter().zip(&test.cells).skip(1) {
            let of = format!("{name} of {}", side.name);
            let Some(against) = cell.as_ref().and_then(|cell| cell.against.as_ref()) else {
                says.push((Answer::Undecided, format!("{of} was not measured")));
                continue;
            };
            if let Some((answer, words)) = cell.as_ref().and_then(|cell| breaks(gate, first, cell, against)) {
                says.push((answer, format!("{of}: {words}")));
            }
        }
    }
    let is_shared = |test: &&TestPair| test.cells.iter().all(Option::is_some);
    match &gate.test {
        Some(test) if about.is_empty() => {
            says.push((Answer::Undecided, format!("no test is called {test}")));
        }
        _ if !about.iter().any(is_shared) => {
            says.push((Answer::Undecided, "no test is on all sides".to_owned()));
        }
        _ => {}
    }
    says
}

fn breaks(gate: &Gate, first: &Cell, cell: &Cell, against: &Against) -> Option<(Answer, String)> {
    let undecided = |words: String| Some((Answer::Undecided, words));
    if against.change == Change::NotComparable {
        return undecided("cannot be compared, because its load or its conditions differ".to_owned());
    }
    let by_cells = |a: Option<f64>, b: Option<f64>| a.zip(b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a);
    let (ratio, change) = match gate.figure {
        Figure::Iops => (Some(against.iops.value), Some(of_rate(against))),
        Figure::P50 => (against.p50.map(|p| p.ratio.value), against.p50.map(|p| p.change)),
        Figure::P99 => (against.p99.map(|p| p.ratio.value), against.p99.map(|p| p.change)),
        Figure::MibPerS => (by_cells(Some(first.mib_per_s), Some(cell.mib_per_s)), Some(of_rate(against))),
        // The mean of a closed loop changes as its rate does.
        Figure::Mean => (by_cells(first.mean_ms, cell.mean_ms), Some(of_rate(against))),
        Figure::P90 | Figure::P95 | Figure::P999 => (None, None),
    };
    let title = gate.figure.title();
    let Some(ratio) = ratio else { return undecided(format!("{title} is not known on both sides")) };
    let is_noise = change.is_some_and(Change::is_none_shown);
    let is_beyond = if gate.change > 0.0 { ratio > 1.0 + gate.change } else { ratio < 1.0 + gate.change };
    if is_beyond && change == Some(Change::WithinBound) {
        return undecided(
            "only a bound of the hardware is known, which does not say what is too slow".to_owned(),
        );
    }
    if !is_beyond || is_noise {
        return None;
    }
    let is_plain = ratio >= PLAIN || ratio <= 1.0 / PLAIN;
    let word = change.map_or("", Change::says);
    let words = format!("{title} changed by {:+.1} % ({word})", (ratio - 1.0) * 100.0);
    match change {
        None | Some(Change::Unknown) if !is_plain => {
            undecided(format!("{words}; repeat each side three times (--repeat 3) to decide"))
        }
        // A script is as sure as the table, and no surer.
        Some(Change::PerhapsFaster | Change::PerhapsSlower) if !is_plain => {
            undecided(format!("{words}; more repetitions of each side (--repeat) decide"))
        }
        _ => Some((Answer::Exceeded, words)),
    }
}

/// The word for the rate, also where p99 is what a paced load is judged by.
fn of_rate(against: &Against) -> Change {
    match against.iops.ends() {
        _ if against.spread_from == SpreadSource::Prediction => against.change,
        Some((lo, hi)) if (lo..=hi).contains(&1.0) => Change::Unclear,
        Some(_) => against.change,
        None => Change::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_may_be_that_of_one_test() {
        for (text, expected) in [
            ("p99 +10%", "p99 +10%"),
            ("RealLife-60%Rand-65%Read: p99 +10 %", "RealLife-60%Rand-65%Read: p99 +10%"),
            ("a: b: iops -5%", "a: b: IOPS -5%"),
        ] {
            assert_eq!(text.parse::<Gate>().map(|gate| gate.to_string()).as_deref(), Ok(expected));
        }
        let says = |text: &str| text.parse::<Gate>().unwrap_err();
        assert!(says("p99 > 20ms").contains("limits on values are those of assay run --fail-if"));
        assert!(says("RealLife: p42 +1%").contains("write a figure and a change"));
    }
}
