//! Serial number arithmetic (RFC 1982 with 32 bits, as RFC 7143 §4.2.2.1 requires): CmdSN and StatSN wrap.

/// Returns true if `a` comes strictly before `b` on the 32-bit circle.
pub fn before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 1 << 31
}

/// Returns true if `a` equals `b` or comes before it.
pub(crate) fn at_or_before(a: u32, b: u32) -> bool {
    a == b || before(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        assert!(before(1, 2) && !before(2, 1) && !before(7, 7));
        assert!(before(u32::MAX, 0) && before(u32::MAX - 5, 3) && !before(3, u32::MAX - 5));
        assert!(at_or_before(9, 9) && at_or_before(u32::MAX, 0) && !at_or_before(0, u32::MAX));
    }
}
