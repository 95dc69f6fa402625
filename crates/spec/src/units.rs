//! The units people write: "32KiB", "2min", "500/s", "2x ram".
//!
//! Sizes with an `i` are powers of 1024, sizes with a bare `B` are powers of 1000, and a bare letter
//! (`4k`, `1G`) is a power of 1024, as every storage tool has it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// 2^10 bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;
/// 2^40 bytes.
pub const TIB: u64 = 1 << 40;

/// Why a value with a unit could not be read. The message fits after "field: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// There is not a number at the start.
    #[error("`{0}` has no number in front; write it like `{1}`")]
    NoNumber(String, &'static str),
    /// So small a number of bytes that its unit was forgotten.
    #[error("`{0}` has no unit and means {0} bytes; write it like {0}GiB")]
    NoUnit(String),
    /// The unit is not one of those known.
    #[error("`{unit}` in `{text}` is not a unit of {what}; use one of {known}")]
    UnknownUnit {
        /// What was written.
        text: String,
        /// The part that was taken for the unit.
        unit: String,
        /// "size", "time" or "rate".
        what: &'static str,
        /// The units that would do.
        known: &'static str,
    },
    /// The value is not a whole number of bytes (or nanoseconds).
    #[error("`{0}` is not a whole number of {1}")]
    NotWhole(String, &'static str),
    /// The value is beyond what 64 bits hold.
    #[error("`{0}` is too large")]
    TooLarge(String),
    /// The value is below zero.
    #[error("`{0}` is negative; write it like `{1}`")]
    Negative(String, &'static str),
    /// The value must not be zero.
    #[error("`{0}` must be more than zero")]
    Zero(String),
}

/// A count of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Returns the shortest exact form in powers of 1024.
    fn binary(self) -> String {
        for (factor, name) in [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")] {
            if self.0 < factor {
                continue;
            }
            if self.0.is_multiple_of(factor) {
                return format!("{}{name}", self.0 / factor);
            }
            // Halves and quarters read well (1.5GiB); anything finer is clearer in the next smaller unit.
            let quarter = factor / 4;
            if self.0.is_multiple_of(quarter) && self.0 / factor < 1024 {
                return format!("{}{name}", (self.0 / quarter) as f64 / 4.0);
            }
        }
        format!("{}B", self.0)
    }

    /// As people say it, with one decimal where it needs one: `45.9 GiB`. For reading only: `Display` is exact.
    pub fn rounded(self) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < units.len() {
            value /= 1024.0;
            unit += 1;
        }
        let decimals = usize::from(value.fract() != 0.0);
        format!("{value:.decimals$} {}", units[unit])
    }
}

/// Number of characters of the number in front of a unit.
fn number_len(text: &str) -> usize {
    text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len()
}

const SIZE_UNITS: &str = "B, KiB, MiB, GiB, TiB, KB, MB, GB, TB, k, m, g, t";
const TIME_UNITS: &str = "ns, us, ms, s, min, h, d";
const RATE_UNITS: &str = "/s, /min, /h (a rate counts I/Os, not bytes)";

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text, "32KiB")?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" | "byte" | "bytes" => 1,
            "k" | "kib" => KIB,
            "m" | "mib" => MIB,
            "g" | "gib" => GIB,
            "t" | "tib" => TIB,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(unknown(text, unit, "size", SIZE_UNITS)),
        };
        scale(text, number, factor, "bytes").map(Bytes)
    }
}

impl fmt::Display for Bytes {
    /// The shortest exact form: `32KiB`, `1.5GiB`, `512B`; `10TB` where powers of 1000 are shorter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = self.binary();
        let decimal = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")]
            .iter()
            .find(|(factor, _)| self.0 >= *factor && self.0.is_multiple_of(*factor))
            .map(|(factor, name)| format!("{}{name}", self.0 / factor))
            .filter(|decimal| number_len(decimal) < number_len(&binary));
        f.write_str(&decimal.unwrap_or(binary))
    }
}

/// A length of time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// `seconds` as nanoseconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// `milliseconds` as nanoseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// Seconds, with their fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Values are below this; beyond it, `f64` and `i64` lose them.
const VALUE_MAX: u64 = 9_200_000_000_000_000_000;

impl FromStr for Nanos {
    type Err = UnitError;

    /// Reads one or several parts: `2min`, `1h30min`, `500ms`; a bare number is seconds.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut rest = text.trim();
        let mut total: u64 = 0;
        loop {
            let (number, tail) = split_number(rest, "2min")?;
            let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let (unit, next) = tail.split_at(end);
            let factor = match unit.trim().to_ascii_lowercase().as_str() {
                "" if next.is_empty() => 1_000_000_000,
                "ns" => 1,
                "us" | "µs" => 1_000,
                "ms" => 1_000_000,
                "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
                "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
                "h" | "hour" | "hours" => 3_600_000_000_000,
                "d" | "day" | "days" => 86_400_000_000_000,
                _ => return Err(unknown(text, unit.trim(), "time", TIME_UNITS)),
            };
            let part = scale(text, number, factor, "nanoseconds")?;
            // The sum has the limit of its parts, so that it reads back as it is printed.
            let sum = total.checked_add(part).filter(|sum| *sum < VALUE_MAX);
            total = sum.ok_or_else(|| UnitError::TooLarge(text.to_owned()))?;
            rest = next.trim_start();
            if rest.is_empty() {
                return Ok(Self(total));
            }
        }
    }
}

impl fmt::Display for Nanos {
    /// The largest units that say it exactly: `2min`, `1h30min`, `1.5s`, `200us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000_000;
        if self.0 == 0 {
            return write!(f, "0s");
        }
        if self.0 >= 60_000_000_000 && self.0.is_multiple_of(1_000_000_000) {
            let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            for (value, name) in [(h, "h"), (m, "min"), (s, "s")] {
                if value > 0 {
                    write!(f, "{value}{name}")?;
                }
            }
            return Ok(());
        }
        match self.0 {
            n if n >= 1_000_000_000 => write!(f, "{}s", n as f64 / 1e9),
            n if n >= 1_000_000 => write!(f, "{}ms", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{}us", n as f64 / 1e3),
            n => write!(f, "{n}ns"),
        }
    }
}

/// How often something happens, per second. Always finite and more than zero.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PerSecond(pub f64);

impl FromStr for PerSecond {
    type Err = UnitError;

    /// Reads `500/s`, `30000/min`, `2k/s`; a bare number is per second.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text, "500/s")?;
        let lower = unit.to_ascii_lowercase();
        let (thousands, per) = match lower.strip_prefix('k') {
            Some(per) => (1e3, per),
            None => match lower.strip_prefix('m').filter(|per| per.starts_with('/') || per.is_empty()) {
                Some(per) => (1e6, per),
                None => (1.0, lower.as_str()),
            },
        };
        let seconds = match per.trim() {
            "" | "/s" | "/sec" | "/second" | "iops" | "io/s" | "ops/s" => 1.0,
            "/min" => 60.0,
            "/h" => 3600.0,
            _ => return Err(unknown(text, unit, "rate", RATE_UNITS)),
        };
        let rate = number * thousands / seconds;
        if rate > 0.0 { Ok(Self(rate)) } else { Err(UnitError::Zero(text.to_owned())) }
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// How large a test region is to be: bytes, or a multiple of the host's memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeSpec {
    /// So many bytes.
    Bytes(Bytes),
    /// So many times the memory of this host ("2x ram"): larger than any cache in it.
    TimesRam(f64),
}

impl SizeSpec {
    /// The size in bytes on a host with `ram` bytes of memory, rounded down to whole MiB when derived from it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive finite product below 2^63"
    )]
    pub fn resolve(self, ram: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::TimesRam(times) => Bytes(((times * ram.0 as f64) as u64) / MIB * MIB),
        }
    }
}

impl FromStr for SizeSpec {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some(times) = lower.strip_suffix("ram") {
            let times = times.trim().trim_end_matches(['x', '*']).trim();
            let times = if times.is_empty() { 1.0 } else { split_number(times, "2x ram")?.0 };
            return if times > 0.0 && times < 1e6 {
                Ok(Self::TimesRam(times))
            } else if times > 0.0 {
                Err(UnitError::TooLarge(text.to_owned()))
            } else {
                Err(UnitError::Zero(text.to_owned()))
            };
        }
        match text.parse()? {
            Bytes(0) => Err(UnitError::Zero(text.to_owned())),
            // So few bytes are no target; whoever leaves out the unit means larger ones.
            Bytes(few) if few < 4096 && lower.ends_with(|c: char| c.is_ascii_digit()) => {
                Err(UnitError::NoUnit(text.to_owned()))
            }
            bytes => Ok(Self::Bytes(bytes)),
        }
    }
}

impl fmt::Display for SizeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::TimesRam(times) => write!(f, "{times}x ram"),
        }
    }
}

/// Splits `12.5 KiB` into 12.5 and `KiB`.
fn split_number<'t>(text: &'t str, example: &'static str) -> Result<(f64, &'t str), UnitError> {
    let text = text.trim();
    if text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(UnitError::Negative(text.to_owned(), example));
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    match digits.replace('_', "").parse::<f64>() {
        Ok(number) => Ok((number, unit.trim())),
        Err(_) => Err(UnitError::NoNumber(text.to_owned(), example)),
    }
}

/// `number` times `factor`, which must come out whole and below 2^63.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole, positive and below 2^63"
)]
fn scale(text: &str, number: f64, factor: u64, what: &'static str) -> Result<u64, UnitError> {
    let value = number * factor as f64;
    if value >= VALUE_MAX as f64 {
        return Err(UnitError::TooLarge(text.to_owned()));
    }
    // 0.1 has no exact binary form: 0.1s is a whole number of nanoseconds all the same.
    let whole = value.round();
    if (value - whole).abs() > 1e-6 * value.max(1.0) {
        return Err(UnitError::NotWhole(text.to_owned(), what));
    }
    Ok(whole as u64)
}

fn unknown(text: &str, unit: &str, what: &'static str, known: &'static str) -> UnitError {
    UnitError::UnknownUnit { text: text.trim().to_owned(), unit: unit.to_owned(), what, known }
}

/// Returns a whole number, as digits, with its thousands apart: `1,000`.
pub fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<u64, String> {
        text.parse::<Bytes>().map(|b| b.0).map_err(|e| e.to_string())
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("512", 512),
            ("0.5KiB", 512),
            ("32KiB", 32_768),
            ("32 kib", 32_768),
            ("4k", 4_096),
            ("8MB", 8_000_000),
            ("1.5GiB", 1_610_612_736),
            ("1_000", 1_000),
            ("2T", 2 * TIB),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused_with_a_reason() {
        assert_eq!(bytes("KiB").unwrap_err(), "`KiB` has no number in front; write it like `32KiB`");
        assert!(
            bytes("4 elephants")
                .unwrap_err()
                .starts_with("`elephants` in `4 elephants` is not a unit of size")
        );
        assert_eq!(bytes("0.3B").unwrap_err(), "`0.3B` is not a whole number of bytes");
        assert_eq!(bytes("99999999TiB").unwrap_err(), "`99999999TiB` is too large");
        assert_eq!(bytes("-1GiB").unwrap_err(), "`-1GiB` is negative; write it like `32KiB`");
    }

    #[test]
    fn sizes_print_in_their_shortest_exact_form() {
        for (value, expected) in [
            (512, "512B"),
            (32_768, "32KiB"),
            (1_610_612_736, "1.5GiB"),
            (1_000_000, "1MB"),
            (10_000_000_000_000, "10TB"),
            (512_000, "500KiB"),
            (1_001, "1001B"),
            (0, "0B"),
        ] {
            assert_eq!(Bytes(value).to_string(), expected);
        }
    }

    #[test]
    fn times_are_read_in_parts() {
        for (text, expected) in [
            ("2min", 120_000_000_000),
            ("1h30min", 5_400_000_000_000),
            ("500ms", 500_000_000),
            ("0.1s", 100_000_000),
            ("20", 20_000_000_000),
            ("7us", 7_000),
        ] {
            assert_eq!(text.parse::<Nanos>().map(|n| n.0), Ok(expected), "{text}");
        }
        assert!("2 fortnights".parse::<Nanos>().unwrap_err().to_string().contains("not a unit of time"));
        assert!("5s3".parse::<Nanos>().is_ok());
        // Each part was within the limit, and the sum did not read back as it was printed.
        assert!("2542200h542200722".parse::<Nanos>().unwrap_err().to_string().contains("too large"));
    }

    #[test]
    fn rates_are_read_per_second() {
        for (text, expected) in [
            ("500/s", 500.0),
            ("30000/min", 500.0),
            ("2k/s", 2000.0),
            ("1m/s", 1e6),
            ("7", 7.0),
            ("500 IOPS", 500.0),
        ] {
            assert_eq!(text.parse::<PerSecond>().map(|r| r.0), Ok(expected), "{text}");
        }
        assert!("0/s".parse::<PerSecond>().is_err());
        assert!("5/fortnight".parse::<PerSecond>().is_err());
    }

    #[test]
    fn region_sizes_may_follow_the_memory() {
        assert_eq!("2x ram".parse::<SizeSpec>(), Ok(SizeSpec::TimesRam(2.0)));
        assert_eq!("1.5 x RAM".parse::<SizeSpec>(), Ok(SizeSpec::TimesRam(1.5)));
        assert_eq!("4GiB".parse::<SizeSpec>(), Ok(SizeSpec::Bytes(Bytes(4 * GIB))));
        assert_eq!(SizeSpec::TimesRam(2.0).resolve(Bytes(3 * GIB + 5)), Bytes(6 * GIB));
        assert!("0".parse::<SizeSpec>().is_err());
        assert_eq!("4".parse::<SizeSpec>(), Err(UnitError::NoUnit("4".to_owned())));
        assert_eq!("65536".parse::<SizeSpec>(), Ok(SizeSpec::Bytes(Bytes(65536))));
        assert_eq!("512B".parse::<SizeSpec>(), Ok(SizeSpec::Bytes(Bytes(512))));
    }

    proptest::proptest! {
        #[test]
        fn every_size_reads_back_from_its_own_text(value in 0_u64..(1 << 52)) {
            proptest::prop_assert_eq!(Bytes(value).to_string().parse::<Bytes>(), Ok(Bytes(value)));
        }

        #[test]
        fn every_time_reads_back_from_its_own_text(value in 0_u64..(1 << 50)) {
            let back = Nanos(value).to_string().parse::<Nanos>().map(|n| n.0);
            proptest::prop_assert!(back.is_ok_and(|b| b.abs_diff(value) <= value / 1_000_000_000));
        }
    }
}
