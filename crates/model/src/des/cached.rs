//! A read cache that is followed block by block: those used last stay.

use std::collections::{BTreeMap, HashMap};

use super::op::VirtualOp;

/// Unit of the cache, bytes: a page of a server's memory.
const BLOCK: u64 = 4096;

/// The blocks that a cache holds.
#[derive(Debug, Clone)]
pub(super) struct Cached {
    blocks_max: usize,

    /// When each block of a member was used last, by a count of uses.
    used: HashMap<(u32, u64), u64>,
    /// The same the other way round.
    order: BTreeMap<u64, (u32, u64)>,
    uses: u64,
}

impl Cached {
    /// An empty cache of that size.
    pub(super) fn new(bytes: u64) -> Self {
        let blocks_max = usize::try_from(bytes.div_ceil(BLOCK)).unwrap_or(usize::MAX);
        Self { blocks_max, used: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// Returns whether all blocks of an I/O are held, and holds them from now on.
    pub(super) fn touch(&mut self, op: VirtualOp) -> bool {
        let blocks = op.offset_bytes / BLOCK..(op.offset_bytes + op.size_bytes).div_ceil(BLOCK);
        let mut are_held = true;
        for block in blocks {
            are_held &= self.use_one((op.member, block));
        }
        while self.used.len() > self.blocks_max {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.used.remove(&oldest);
        }
        are_held
    }

    fn use_one(&mut self, block: (u32, u64)) -> bool {
        self.uses += 1;
        let before = self.used.insert(block, self.uses);
        if let Some(before) = before {
            self.order.remove(&before);
        }
        self.order.insert(self.uses, block);
        before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Cached;
    use crate::des::VirtualOp;
    use crate::raid::Kind;

    #[test]
    fn the_blocks_used_last_are_held() {
        let mut cached = Cached::new(16_384);
        let mut read = |block: u64, blocks: u64| {
            cached.touch(VirtualOp {
                member: 0,
                kind: Kind::Read,
                offset_bytes: block * 4096,
                size_bytes: blocks * 4096,
                flush_every: None,
            })
        };
        assert!(!read(0, 2) && read(0, 2) && read(1, 1), "what was read is held");
        assert!(!read(1, 2), "one of two is not");
        assert!(!read(10, 2) && read(1, 1), "four fit");
        assert!(!read(20, 2) && !read(2, 1), "the oldest is gone");
    }
}
