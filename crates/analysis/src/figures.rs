//! How sentences write their figures.

use assay_spec::units::grouped;

/// Returns a rate without decimals, its thousands separated.
pub fn whole(value: f64) -> String {
    grouped(&format!("{:.0}", value.max(0.0)))
}

/// Returns the text with a capital at its beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns a time in the unit that fits, with three digits: `9 µs`, `0.35 µs`, `105 µs`, `70.0 ms`, `1.20 s`.
pub fn time(us: f64) -> String {
    // What rounds up to a thousand of a unit is one of the next.
    match us {
        // What was counted in whole microseconds has no decimals.
        us if us < 999.5 && us.fract() == 0.0 => format!("{us:.0} µs"),
        us if us < 999.5 => format!("{} µs", three_digits(us)),
        us if us < 999.5e3 => format!("{} ms", three_digits(us / 1e3)),
        us => format!("{} s", three_digits(us / 1e6)),
    }
}

/// Returns a number with three digits, whole from a hundred on.
pub(crate) fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => whole(v),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn a_time_has_the_unit_that_fits() {
        for (us, text) in [
            (0.0, "0 µs"),
            (0.346, "0.35 µs"),
            (9.0, "9 µs"),
            (60.04, "60.0 µs"),
            (99.96, "100 µs"),
            (425.3, "425 µs"),
            (999.6, "1.00 ms"),
            (3945.0, "3.94 ms"),
            (70_035.0, "70.0 ms"),
            (999_600.0, "1.00 s"),
            (1.2e9, "1,200 s"),
        ] {
            assert_eq!(time(us), text, "{us}");
        }
    }
}
