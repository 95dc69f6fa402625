//! Numbers as people read them: one unit and one count of decimals per column. Tables separate thousands where people
//! read them, and not in CSV.

use assay_spec::units::Bytes;
use jiff::Timestamp;

/// Which unit a column of latencies is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Micros,
    Millis,
}

impl TimeUnit {
    /// Milliseconds, as forum tables have them, unless most means are below one.
    pub(crate) fn for_means(means_ns: &[f64]) -> Self {
        let below = means_ns.iter().filter(|ns| **ns < 1e6).count();
        if below * 2 > means_ns.len() { Self::Micros } else { Self::Millis }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
        }
    }

    pub(crate) fn of_ns(self, ns: f64) -> f64 {
        match self {
            Self::Micros => ns / 1e3,
            Self::Millis => ns / 1e6,
        }
    }
}

/// The values of a column, in one count of decimals: three digits for the smallest that is not zero, two at most.
pub(crate) fn column(values: &[Option<f64>]) -> Vec<String> {
    let given = values.iter().flatten().map(|v| v.abs()).filter(|v| *v > 0.0 && v.is_finite());
    let smallest = given.fold(f64::INFINITY, f64::min);
    let decimals = match smallest {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    values.iter().map(|v| cell(*v, decimals)).collect()
}

/// One value with this many decimals, or a dash where there is none.
pub(crate) fn cell(value: Option<f64>, decimals: usize) -> String {
    match value {
        Some(v) if v.is_finite() => format!("{v:.decimals$}"),
        _ => "-".to_owned(),
    }
}

/// A value of its own, with about three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        v if v >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// Returns a written number with its thousands separated: `12,345.6`. Numbers in exponent form stay as they are.
pub fn separated(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let whole = digits.split('.').next().unwrap_or_default();
    if whole.len() <= 3 || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut text = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + &digits[whole.len()..]
}

/// Returns what `short` writes, with its thousands separated.
pub fn long(value: f64) -> String {
    separated(&short(value))
}

/// A size as people say it: `7.8 GiB`.
pub fn size(bytes: u64) -> String {
    Bytes(bytes).rounded()
}

/// Rounded to three decimals, below one to six: 180 I/Os of 512 bytes a second are 0.092 MB/s, and three digits of that
/// are too few to reckon with. `None` for what JSON cannot say.
pub(crate) fn rounded(value: f64) -> Option<f64> {
    let scale = if value.abs() < 1.0 { 1e6 } else { 1e3 };
    value.is_finite().then(|| (value * scale).round() / scale)
}

/// A moment: `2026-11-21T03:30:00Z`.
pub(crate) fn iso(unix_ms: u64) -> String {
    stamp(unix_ms, "%Y-%m-%dT%H:%M:%SZ")
}

/// A moment for people: `2026-11-21 03:30 UTC`.
pub fn minute(unix_ms: u64) -> String {
    stamp(unix_ms, "%Y-%m-%d %H:%M UTC")
}

/// The beginning of a day (UTC) written like `2026-11-21`, ms since 1970; `None` for other text.
pub fn day_unix_ms(text: &str) -> Option<u64> {
    let day: jiff::civil::Date = text.parse().ok()?;
    let start = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    u64::try_from(start.timestamp().as_millisecond()).ok()
}

fn stamp(unix_ms: u64, format: &str) -> String {
    let moment = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    moment.map_or_else(|| "unknown".to_owned(), |m| m.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_in_whole_numbers_only() {
        for (number, text) in [
            ("0.12", "0.12"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-12345.67", "-12,345.67"),
            ("1234567", "1,234,567"),
            ("1.0e-5", "1.0e-5"),
            ("-", "-"),
        ] {
            assert_eq!(separated(number), text);
        }
    }

    #[test]
    fn a_column_has_one_count_of_decimals() {
        assert_eq!(column(&[Some(1.0), Some(120.5), None]), ["1.00", "120.50", "-"]);
        assert_eq!(column(&[Some(10.0), Some(0.0), Some(f64::NAN)]), ["10.0", "0.0", "-"]);
        assert_eq!(column(&[Some(12_345.6)]), ["12346"]);
        assert_eq!(column(&[None]), ["-"]);
    }

    #[test]
    fn latencies_are_in_milliseconds_unless_most_are_below_one() {
        assert_eq!(TimeUnit::for_means(&[2e6, 0.4e6]), TimeUnit::Millis);
        assert_eq!(TimeUnit::for_means(&[0.2e6, 0.4e6, 3e6]), TimeUnit::Micros);
        assert_eq!(TimeUnit::for_means(&[]), TimeUnit::Millis);
    }

    #[test]
    fn sizes_and_moments_read_well() {
        assert_eq!(
            (size(512).as_str(), size(8 << 30).as_str(), size(1_610_612_736).as_str()),
            ("512 B", "8 GiB", "1.5 GiB")
        );
        assert_eq!(iso(1_795_231_800_000), "2026-11-21T03:30:00Z");
        assert_eq!(minute(u64::MAX), "unknown");
        assert_eq!((rounded(1.23456), rounded(f64::NAN)), (Some(1.235), None));
        assert_eq!(rounded(0.092_160_4), Some(0.09216));
        assert_eq!(
            (short(0.123), short(12.34), short(1234.5), short(0.0)),
            ("0.12".into(), "12.3".into(), "1234".into(), "0".into())
        );
    }
}
