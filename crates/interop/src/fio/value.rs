//! Numbers as fio writes them: `4k` and `4ki` are 4096 bytes, and so is `4kb`, while `4kib` are 4000
//! (`kb_base=1024`).

use assay_spec::units::Nanos;

/// What a bare letter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum KbBase {
    /// fio's default.
    #[default]
    Binary,
    Decimal,
}

/// Splits `12k` into 12 and `k`; hexadecimal with `0x`.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|value| (value as f64, String::new()));
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    Some((digits.parse().ok()?, unit.trim().to_lowercase()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be positive and below 2^62"
)]
fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && value < (1_u64 << 62) as f64).then_some(value.round() as u64)
}

/// A size or a count, bytes; in parentheses a sum or a product of sizes, `(4k*3)`.
pub(super) fn bytes(text: &str, base: KbBase) -> Result<u64, String> {
    let says = || format!("`{}` is not a size; write it like 4k or 1g", short(text));
    if text.trim().starts_with('(') {
        let value =
            calculated(text, &|text| scaled(text, base).ok().map(|bytes| bytes as f64), Division::Exact);
        return value.and_then(whole).ok_or_else(says);
    }
    whole_number(text)?;
    match (whole_part(text), scaled(text, base)) {
        (Some(read), Ok(bytes)) if bytes != read => {
            Err(format!("fio reads `{}` as {read}; write it in a smaller unit, without a point", short(text)))
        }
        (_, scaled) => scaled,
    }
}

/// Refuses numbers of which fio reads another part than it looks: it stops before a space, and refuses a point that
/// begins a number.
fn whole_number(text: &str) -> Result<(), String> {
    let text = text.trim();
    if text.starts_with('.') {
        return Err(format!("fio reads no number that begins with a point, like `{}`", short(text)));
    }
    match text.split_once(char::is_whitespace) {
        Some((number, _)) if number.ends_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("fio reads `{}` without what is behind the space; write it without one", short(text)))
        }
        _ => Ok(()),
    }
}

/// The number before a decimal point, where fio stops reading.
fn whole_part(text: &str) -> Option<u64> {
    let (before, _) = text.trim().split_once('.')?;
    before.parse().ok()
}

/// A size outside of parentheses, fractions included.
fn scaled(text: &str, base: KbBase) -> Result<u64, String> {
    let says = || format!("`{}` is not a size; write it like 4k or 1g", short(text));
    let (number, unit) = split(text).ok_or_else(says)?;
    let (letter, ending) = match unit.chars().next() {
        None => return whole(number).ok_or_else(says),
        Some(letter) => (letter, &unit[letter.len_utf8()..]),
    };
    let power = match letter {
        'b' => return whole(number).ok_or_else(says),
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return Err(says()),
    };
    // fio looks at the beginning of a unit only: `4kbytes` and `10meg` are sizes.
    let factor: f64 = match (ending.starts_with("ib"), base) {
        (true, KbBase::Binary) | (false, KbBase::Decimal) => 1000.0,
        (false, KbBase::Binary) | (true, KbBase::Decimal) => 1024.0,
    };
    whole(number * factor.powi(power)).ok_or_else(says)
}

/// Whether quotients keep their fractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Division {
    Exact,
    Whole,
}

/// The deepest nesting of parentheses.
const NESTED_MAX: u32 = 32;

/// Returns the value of an expression with `+ - * /` and parentheses; `read` reads its numbers.
pub(super) fn calculated(text: &str, read: &dyn Fn(&str) -> Option<f64>, division: Division) -> Option<f64> {
    let mut calculation = Calculation { rest: text.trim(), read, division };
    let value = calculation.sum(0)?;
    calculation.rest.trim().is_empty().then_some(value)
}

struct Calculation<'t> {
    rest: &'t str,
    read: &'t dyn Fn(&str) -> Option<f64>,
    division: Division,
}

impl Calculation<'_> {
    /// Takes one of the signs, if it is next.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let sign = self.rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = &self.rest[sign.len_utf8()..];
        Some(sign)
    }

    fn sum(&mut self, depth: u32) -> Option<f64> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let next = self.product(depth)?;
            value += if sign == '+' { next } else { -next };
        }
        Some(value)
    }

    fn product(&mut self, depth: u32) -> Option<f64> {
        let mut value = self.number(depth)?;
        while let Some(sign) = self.sign(&['*', '/']) {
            let next = self.number(depth)?;
            value = match (sign, self.division) {
                ('*', _) => value * next,
                (_, _) if next == 0.0 => return None,
                (_, Division::Exact) => value / next,
                (_, Division::Whole) => (value / next).trunc(),
            };
        }
        Some(value)
    }

    fn number(&mut self, depth: u32) -> Option<f64> {
        if self.sign(&['(']).is_some() {
            let value = if depth < NESTED_MAX { self.sum(depth + 1)? } else { return None };
            return self.sign(&[')']).map(|_| value);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        (self.read)(number)
    }
}

/// A time; a bare number has `default_ns`.
pub(super) fn time(text: &str, default_ns: f64) -> Result<Nanos, String> {
    let says = || format!("`{}` is not a time; write it like 30 or 2m", short(text));
    whole_number(text)?;
    let (number, unit) = split(text).ok_or_else(says)?;
    let factor = match unit.as_str() {
        "" => default_ns,
        "d" => 86_400e9,
        "h" => 3_600e9,
        "m" => 60e9,
        "s" => 1e9,
        "ms" | "msec" => 1e6,
        "us" | "usec" => 1e3,
        unit if unit.chars().all(|c| c.is_ascii_alphabetic()) => {
            return Err(format!("fio reads `{}` in microseconds; write it like 30 or 2m", short(text)));
        }
        _ => return Err(says()),
    };
    // With a fraction of zeros too, fio loses the unit behind the point: `1.0m` is a second.
    if whole_part(text).is_some_and(|read| read as f64 * default_ns != number * factor) {
        return Err(format!("fio reads no fraction of `{}`; write it in a smaller unit", short(text)));
    }
    whole(number * factor).map(Nanos).ok_or_else(says)
}

/// A whole number from `least` to `most`.
pub(super) fn integer(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = bytes(text, KbBase::Binary).ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("`{}` must be a whole number from {least} to {most}", short(text)))
}

/// A percentage.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let value = text.trim().trim_end_matches('%').parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
    value.ok_or_else(|| format!("`{}` must be from 0 to 100", short(text)))
}

/// A whole number of percent. fio reads no fraction of one, and a `%` behind it makes it another number.
pub(super) fn whole_percent(text: &str) -> Result<f64, String> {
    whole_number(text)?;
    match text.contains('%') {
        true => Err(format!("fio reads `{}` as another number; write it without `%`", short(text))),
        false => percent(text.split('.').next().unwrap_or_default()),
    }
}

/// A share of something, without its `%`. fio reads up to a point only.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.contains('.') {
        true => Err(format!("fio reads no fraction of `{}%`; write a whole number", short(text))),
        false => percent(text),
    }
}

/// `1` or nothing is true.
pub(super) fn is_true(text: &str) -> Result<bool, String> {
    match text.trim() {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        // fio takes any number but 0 for a flag.
        number => integer(number, 0, u64::MAX / 2)
            .map(|number| number > 0)
            .map_err(|_| format!("`{}` must be 0 or 1", short(text))),
    }
}

/// The start of a value, for messages.
pub(super) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
