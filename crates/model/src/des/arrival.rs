//! Tells streams from random I/Os where I/Os do not arrive in the order in which they were issued: behind several
//! paths, or behind a target that has several threads.

use std::collections::VecDeque;

use super::op::VirtualOp;

/// I/Os that are remembered: those of a deep queue on a few paths.
const RECENT: usize = 64;
/// An I/O this many of its own sizes away from another is near it: as far as paths and threads change the order.
const NEAR: u64 = 32;
/// Recent I/Os that must be near and before one that belongs to a stream. Random I/Os of which 64 fall on 32,768 places
/// (8 KiB on 256 MiB) have 0.13 near them on average, and four with a probability below 0.0001.
const NEAR_MIN: usize = 4;
/// A stream advances: so many times more I/Os are near before it than behind it. Random I/O in a short span has as many
/// on either side.
const AHEAD: usize = 4;

/// The last I/Os of a member: first byte and first byte behind each.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    ranges: VecDeque<(u64, u64)>,
}

impl Recent {
    /// Returns whether an I/O belongs to a stream, and remembers it: it adjoins a recent one at either end, or several
    /// recent ones are near and before it.
    pub(super) fn continues(&mut self, op: VirtualOp) -> bool {
        let (start, end) = (op.offset_bytes, op.offset_bytes + op.size_bytes);
        let reach = op.size_bytes * NEAR;
        let adjoins = self.ranges.iter().any(|(first, behind)| *behind == start || *first == end);
        let is_near = |first: &u64| first.abs_diff(start) <= reach;
        let near = || self.ranges.iter().map(|(first, _)| *first).filter(is_near);
        let (before, behind) = (near().filter(|f| *f < start).count(), near().filter(|f| *f > start).count());
        let continues = adjoins || (before >= NEAR_MIN && before >= AHEAD * behind);
        if self.ranges.len() == RECENT {
            self.ranges.pop_front();
        }
        self.ranges.push_back((start, end));
        continues
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;
    use crate::des::VirtualOp;
    use crate::raid::Kind;
    use crate::rng::Rng;

    fn op(place: u64) -> VirtualOp {
        VirtualOp {
            member: 0,
            kind: Kind::Read,
            offset_bytes: place * 8192,
            size_bytes: 8192,
            flush_every: None,
        }
    }

    #[test]
    fn a_stream_that_four_paths_have_shuffled_is_a_stream() {
        // Each path delivers four I/Os before the next one does.
        let places = (0..100_u64).flat_map(|turn| {
            (0..4_u64).flat_map(move |path| (0..4_u64).map(move |io| turn * 16 + io * 4 + path))
        });
        let mut recent = Recent::default();
        let random = places.skip(16).filter(|place| !recent.continues(op(*place))).count();
        assert!(random <= 8, "{random} of 1584 are taken for random");
    }

    #[test]
    fn random_i_os_stay_random() {
        let (mut rng, mut recent) = (Rng::new(7), Recent::default());
        let streams = (0..20_000).filter(|_| recent.continues(op(rng.bits() % 32_768))).count();
        assert!(streams < 200, "{streams} of 20000 are taken for a stream");
        // 512 places: an eighth adjoins by chance.
        let (mut rng, mut recent) = (Rng::new(7), Recent::default());
        let streams = (0..20_000).filter(|_| recent.continues(op(rng.bits() % 512))).count();
        assert!(streams < 6_000, "{streams} of 20000 are taken for a stream");
    }
}
