//! The few conversions between real and whole numbers, each in one place with its bound.

/// A non-negative real number of nanoseconds as a whole one; NaN and negatives become 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the input is clamped"
)]
pub(crate) fn whole(value: f64) -> u64 {
    // As `round`, which is a call of a library on processors before SSE 4.1, and the simulation's dearest one.
    let value = value.max(0.0);
    let below = value as u64;
    below.saturating_add(u64::from(value - below as f64 >= 0.5))
}

/// A count that indexes something in memory.
#[expect(clippy::cast_possible_truncation, reason = "indexes of things in memory fit the address width")]
pub(crate) fn index(value: u64) -> usize {
    value as usize
}

/// A count or time that fits 32 bits; larger ones stop at the largest.
pub(crate) fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// `part` of `whole` in \[0, 1\], and 0 when there is no whole.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn whole_rounds_as_the_library_does() {
        for value in
            [0.0_f64, 0.3, 0.5, 0.499_999_999_999_999_94, 1.5, 2.5, 1e9 + 0.5, 4_503_599_627_370_497.5, 1e19]
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "what is compared with"
            )]
            let expected = value.round() as u64;
            assert_eq!(whole(value), expected, "{value}");
        }
        assert_eq!((whole(f64::NAN), whole(-3.0), whole(f64::INFINITY)), (0, 0, u64::MAX));
    }
}
