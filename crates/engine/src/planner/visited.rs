//! Which blocks were visited: a bit for each, and above each 64 of them one that says that all are.

use std::ops::Range;

/// Blocks that were visited since the map was last empty.
pub(super) struct Visited {
    count: u64,
    /// The blocks, then full words of the level below, up to a single word.
    levels: Vec<Vec<u64>>,
}

const BITS: u64 = u64::BITS as u64;

impl Visited {
    /// Returns an empty map of `count` blocks, at least one.
    pub(super) fn new(count: u64) -> Self {
        let count = count.max(1);
        let mut levels = Vec::new();
        let mut bits = count;
        loop {
            let words = bits.div_ceil(BITS);
            levels.push(vec![0; at(words)]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = Self { count, levels };
        map.clear();
        map
    }

    /// Visits up to `blocks` that follow one another, from the first free one at or behind `from`; once all were
    /// visited, the map begins anew.
    pub(super) fn visit(&mut self, from: u64, blocks: u64) -> Range<u64> {
        let from = from.min(self.count - 1);
        let free = self.next_free(from).or_else(|| self.next_free(0));
        let start = free.unwrap_or_else(|| {
            self.clear();
            from
        });
        let mut end = start;
        while end < self.count && end - start < blocks.max(1) && !self.is_set(end) {
            self.set(0, end);
            end += 1;
        }
        start..end
    }

    /// Empties the map; what lies behind its end counts as visited.
    pub(super) fn clear(&mut self) {
        let mut bits = self.count;
        for level in &mut self.levels {
            level.fill(0);
            if let Some(last) = level.last_mut().filter(|_| !bits.is_multiple_of(BITS)) {
                *last = u64::MAX << (bits % BITS);
            }
            bits = bits.div_ceil(BITS);
        }
    }

    /// Returns true if all blocks were visited.
    pub(super) fn is_full(&self) -> bool {
        self.levels.last().is_none_or(|top| top[0] == u64::MAX)
    }

    fn is_set(&self, block: u64) -> bool {
        self.levels[0][at(block / BITS)] >> (block % BITS) & 1 == 1
    }

    fn set(&mut self, level: usize, bit: u64) {
        let Some(words) = self.levels.get_mut(level) else { return };
        let word = &mut words[at(bit / BITS)];
        *word |= 1 << (bit % BITS);
        if *word == u64::MAX {
            self.set(level + 1, bit / BITS);
        }
    }

    fn next_free(&self, from: u64) -> Option<u64> {
        let mut bit = from;
        for (level, words) in self.levels.iter().enumerate() {
            let free = !words.get(at(bit / BITS))? & (u64::MAX << (bit % BITS));
            if free != 0 {
                let found = bit / BITS * BITS + u64::from(free.trailing_zeros());
                let below = self.levels[..level].iter().rev();
                return Some(below.fold(found, |word, level| {
                    word * BITS + u64::from((!level[at(word)]).trailing_zeros())
                }));
            }
            bit = bit / BITS + 1;
        }
        None
    }
}

fn at(index: u64) -> usize {
    usize::try_from(index).expect("maps fit the memory")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_block_is_visited_once_in_each_pass(
            count in 1_u64..10_000,
            draws in prop::collection::vec((0_u64..10_000, 1_u64..9), 1..400),
        ) {
            let mut map = Visited::new(count);
            let mut seen = vec![0_u32; usize::try_from(count).unwrap()];
            for (from, blocks) in draws {
                let pass = *seen.iter().min().unwrap();
                let found = map.visit(from, blocks);
                prop_assert!(!found.is_empty() && found.end - found.start <= blocks && found.end <= count);
                for block in found {
                    let times = &mut seen[usize::try_from(block).unwrap()];
                    prop_assert_eq!(*times, pass);
                    *times += 1;
                }
            }
        }
    }

    #[test]
    fn the_next_free_block_is_found_over_full_words() {
        let mut map = Visited::new(64 * 64 * 3);
        for block in 1..64 * 64 * 2 + 5 {
            map.visit(block, 1);
        }
        assert_eq!(map.visit(1, 3), 64 * 64 * 2 + 5..64 * 64 * 2 + 8);
        assert_eq!(map.visit(64 * 64 * 3 - 1, 4), 64 * 64 * 3 - 1..64 * 64 * 3);
        assert_eq!(map.visit(64 * 64 * 3 - 1, 4), 0..1);
    }
}
