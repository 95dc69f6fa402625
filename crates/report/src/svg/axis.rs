//! Axes: which value lies where, and which values are written beside them.

mod time;

/// An axis with its ticks.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// Title with the unit.
    pub(crate) title: String,
    /// The values that are written, with their text.
    pub(crate) ticks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    is_log: bool,
}

/// Ticks aimed at.
const TICKS: f64 = 5.0;
/// Categories written out on an axis before they get in each other's way.
const NAMES_MAX: usize = 16;

impl Axis {
    /// Its lowest value.
    pub(crate) fn bottom(&self) -> f64 {
        self.low
    }

    /// Its highest value.
    pub(crate) fn top(&self) -> f64 {
        self.high
    }

    /// From 0 to just above `high`, in round steps.
    pub(crate) fn from_zero(title: &str, high: f64) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = round_step(high / TICKS);
        let count = (high / step).ceil().max(1.0);
        let ticks = steps(count).map(|n| (n * step, short(n * step))).collect();
        Self { title: title.to_owned(), ticks, low: 0.0, high: count * step, is_log: false }
    }

    /// From 0 to exactly `high`, in round steps: for time, which has an end.
    pub(crate) fn up_to(title: &str, high: f64) -> Self {
        let mut axis = Self::from_zero(title, high);
        axis.ticks.retain(|(value, _)| *value <= high * 1.001);
        axis.high = high.max(f64::MIN_POSITIVE);
        axis
    }

    /// From exactly `low` to exactly `high`, in round steps: for a part of a time.
    pub(crate) fn between(title: &str, low: f64, high: f64) -> Self {
        if low <= 0.0 {
            return Self::up_to(title, high);
        }
        let step = round_step((high - low).max(f64::MIN_POSITIVE) / TICKS);
        let first = (low / step).ceil();
        let all = steps(TICKS * 2.0).map(|n| (first + n) * step).filter(|value| *value <= high * 1.001);
        let ticks = all.map(|value| (value, short(value))).collect();
        Self { title: title.to_owned(), ticks, low, high, is_log: false }
    }

    /// Logarithmic, from just below `low` to just above `high`, both above 0.
    pub(crate) fn log(title: &str, low: f64, high: f64) -> Self {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        let high = if high.is_finite() && high > low { high } else { low * 10.0 };
        let marks = one_two_five(low, high);
        let is_wide = high / low > 1000.0;
        let is_written = |value: f64| !is_wide || (value.log10() - value.log10().round()).abs() < 1e-9;
        let (first, last) = (marks[0], marks[marks.len() - 1]);
        let ticks = marks.into_iter().filter(|v| is_written(*v)).map(|v| (v, short(v))).collect();
        Self { title: title.to_owned(), ticks, low: first, high: last, is_log: true }
    }

    /// Logarithmic by powers of two, with these values written.
    pub(crate) fn doubling(title: &str, values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let every = values.len().div_ceil(NAMES_MAX).max(1);
        let ticks = values.iter().step_by(every).map(|value| (*value, short(*value))).collect();
        // Half a doubling of room at both ends keeps markers off the frame.
        let room = std::f64::consts::SQRT_2;
        Self { title: title.to_owned(), ticks, low: low / room, high: high * room, is_log: true }
    }

    /// Names side by side; the middle of the n-th is at n.
    pub(crate) fn names(title: &str, names: &[String]) -> Self {
        let every = names.len().div_ceil(NAMES_MAX).max(1);
        let numbered = names.iter().enumerate().filter(|(index, _)| index % every == 0);
        let ticks = numbered.map(|(index, name)| (index as f64, name.clone())).collect();
        Self {
            title: title.to_owned(),
            ticks,
            low: -0.5,
            high: names.len().max(1) as f64 - 0.5,
            is_log: false,
        }
    }

    /// Shares of all I/Os so that each nine takes as much room: a value is -log10(1 - share).
    pub(crate) fn percentiles(title: &str, high: f64) -> Self {
        let known = [(0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99")];
        let nines = |share: f64| -(1.0_f64 - share).log10();
        let ticks = known.map(|(share, name)| (nines(share), format!("{name} %")));
        let ticks = ticks.into_iter().filter(|(value, _)| *value <= high + 1e-9).collect();
        Self { title: title.to_owned(), ticks, low: 0.0, high, is_log: false }
    }

    /// Where a value lies between the ends. In [0, 1].
    pub(crate) fn share(&self, value: f64) -> f64 {
        let of = |v: f64| if self.is_log { v.max(f64::MIN_POSITIVE).log10() } else { v };
        let (low, high) = (of(self.low), of(self.high));
        if high > low { ((of(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// 0, 1, … count, as numbers.
fn steps(count: f64) -> impl Iterator<Item = f64> {
    (0..).map(f64::from).take_while(move |n| *n <= count)
}

/// The next of 1, 2, 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= least * 0.999).unwrap_or(power * 10.0)
}

/// 1, 2, 5 times powers of ten, from the last not above `low` to the first not below `high`.
fn one_two_five(low: f64, high: f64) -> Vec<f64> {
    let powers = (-12..=15).map(|power| 10_f64.powi(power));
    let all: Vec<f64> = powers.flat_map(|power| [power, 2.0 * power, 5.0 * power]).collect();
    let first = all.iter().rposition(|v| *v <= low).unwrap_or(0);
    let last = all.iter().position(|v| *v >= high).unwrap_or(all.len() - 1);
    all[first..=last.max(first + 1).min(all.len() - 1)].to_vec()
}

/// A round number as it is written at a tick.
fn short(value: f64) -> String {
    let plain = |v: f64| {
        let text = format!("{v:.3}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    match value.abs() {
        v if v >= 1e6 => format!("{}M", plain(value / 1e6)),
        v if v >= 1e4 => format!("{}k", plain(value / 1e3)),
        _ => plain(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_the_highest_value() {
        assert_eq!(written(&Axis::from_zero("", 9423.0)), ["0", "2000", "4000", "6000", "8000", "10k"]);
        assert_eq!(written(&Axis::from_zero("", 0.7)), ["0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(written(&Axis::from_zero("", 0.0)).first(), Some(&"0"));
        assert_eq!(written(&Axis::up_to("", 3.5)), ["0", "1", "2", "3"]);
        assert_eq!(written(&Axis::between("", 12.0, 33.0)), ["15", "20", "25", "30"]);
        assert_eq!(written(&Axis::between("", -2.0, 3.5)), ["0", "1", "2", "3"]);
    }

    #[test]
    fn logarithmic_axes_enclose_their_values() {
        let axis = Axis::log("", 130.0, 2200.0);
        assert_eq!(written(&axis), ["100", "200", "500", "1000", "2000", "5000"]);
        assert!(axis.share(100.0) == 0.0 && axis.share(5000.0) == 1.0 && axis.share(1000.0) > 0.5);
        assert_eq!(written(&Axis::log("", 3.0, 90_000.0)), ["10", "100", "1000", "10k", "100k"]);
        assert_eq!(written(&Axis::log("", f64::NAN, 0.0)), ["1", "2", "5", "10"]);
        assert_eq!(written(&Axis::log("", 5.0, 5.0)).first(), Some(&"5"));
    }

    #[test]
    fn each_nine_takes_as_much_room() {
        let axis = Axis::percentiles("", 4.0);
        let gaps: Vec<f64> =
            axis.ticks[2..].windows(2).map(|w| axis.share(w[1].0) - axis.share(w[0].0)).collect();
        assert!(gaps.iter().all(|g| (g - 0.25).abs() < 1e-9), "{gaps:?}");
    }
}
