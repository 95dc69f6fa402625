//! Virtual time.

/// Nanoseconds since the run began.
pub(crate) type Nanos = u64;
/// A microsecond.
pub(crate) const US: Nanos = 1_000;
/// A millisecond.
pub(crate) const MS: Nanos = 1_000 * US;
/// A second.
pub(crate) const SECOND: Nanos = 1_000 * MS;
