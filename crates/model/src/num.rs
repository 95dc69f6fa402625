//! The few conversions between real and whole numbers, each in one place with its bound.

/// A non-negative real number of nanoseconds as a whole one; NaN and negatives become 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the input is clamped"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
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
