//! Tracks which bytes of a command have moved, in whatever order the target sends or requests them.

/// Number of gaps at one time; a target that scatters data more is refused.
const RANGES_MAX: usize = 256;

/// Bytes received of one command.
#[derive(Debug, Clone, Default)]
pub(super) struct Coverage {
    /// Bytes received without a gap from the start.
    contiguous: u32,
    /// Ranges beyond it, sorted, disjoint, not adjacent. Empty for every target that sends in order.
    beyond: Vec<(u32, u32)>,
}

/// Why a range is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoverageError {
    Overlap,
    TooScattered,
}

impl Coverage {
    pub(super) fn clear(&mut self) {
        self.contiguous = 0;
        self.beyond.clear();
    }

    /// Returns the number of bytes received without a gap from the start.
    pub(super) fn contiguous_bytes(&self) -> u32 {
        self.contiguous
    }

    /// Records that bytes `start..end` were sent. A target may request some of them again.
    pub(super) fn add_sent(&mut self, start: u32, end: u32) {
        let start = start.max(self.contiguous);
        if start < end {
            // Data requested in too many pieces counts as not sent: the write then fails.
            let _ = self.add(start, end);
        }
    }

    /// Records that bytes `start..end` have arrived.
    pub(super) fn add(&mut self, start: u32, end: u32) -> Result<(), CoverageError> {
        if start == end {
            return Ok(());
        }
        if start < self.contiguous {
            return Err(CoverageError::Overlap);
        }
        let at = self.beyond.partition_point(|range| range.0 < start);
        let overlaps_next = self.beyond.get(at).is_some_and(|next| next.0 < end);
        let overlaps_previous = at > 0 && self.beyond[at - 1].1 > start;
        if overlaps_next || overlaps_previous {
            return Err(CoverageError::Overlap);
        }
        if start > self.contiguous {
            return self.insert(at, start, end);
        }
        self.contiguous = end;
        while self.beyond.first().is_some_and(|range| range.0 == self.contiguous) {
            self.contiguous = self.beyond.remove(0).1;
        }
        Ok(())
    }

    fn insert(&mut self, at: usize, start: u32, end: u32) -> Result<(), CoverageError> {
        let touches_next = self.beyond.get(at).is_some_and(|next| next.0 == end);
        let touches_previous = at > 0 && self.beyond[at - 1].1 == start;
        match (touches_previous, touches_next) {
            (true, true) => self.beyond[at - 1].1 = self.beyond.remove(at).1,
            (true, false) => self.beyond[at - 1].1 = end,
            (false, true) => self.beyond[at].0 = start,
            (false, false) if self.beyond.len() == RANGES_MAX => return Err(CoverageError::TooScattered),
            (false, false) => self.beyond.insert(at, (start, end)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_order_of_pieces_covers_the_whole(order in Just((0u32..200).collect::<Vec<_>>()).prop_shuffle()) {
            let mut coverage = Coverage::default();
            let mut seen = [false; 200];
            for piece in order {
                coverage.add(piece * 10, piece * 10 + 10).unwrap();
                seen[piece as usize] = true;
                let gapless = seen.iter().take_while(|&&seen| seen).count();
                prop_assert_eq!(coverage.contiguous_bytes() as usize, gapless * 10);
                prop_assert_eq!(coverage.add(piece * 10 + 5, piece * 10 + 10), Err(CoverageError::Overlap));
            }
            prop_assert_eq!(coverage.contiguous_bytes(), 2000);
            prop_assert!(coverage.beyond.is_empty());
        }
    }

    #[test]
    fn scattering_is_bounded() {
        let mut coverage = Coverage::default();
        let refused = (1..10_000).find_map(|n| coverage.add(n * 4, n * 4 + 1).err());
        assert_eq!(refused, Some(CoverageError::TooScattered));
    }
}
