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

/// The low 32 bits; callers pass values that are bounded well below 2^32.
#[expect(clippy::cast_possible_truncation, reason = "callers pass bounded counts")]
pub(crate) fn small(value: u64) -> u32 {
    value as u32
}

/// `part` of `whole` in \[0, 1\], and 0 when there is no whole.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}
