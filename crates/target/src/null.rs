//! The null target: I/O that completes at the next poll without any transfer. What remains is the tester's own cost.

use std::collections::VecDeque;

use crate::{BATCH_MAX, Completion, Geometry, Op, Target, TargetLost, Wait};

/// A target that completes every operation at once, in order, without any transfer.
#[derive(Debug)]
pub struct NullTarget {
    geometry: Geometry,

    accepted: VecDeque<Completion>,
}

impl NullTarget {
    /// Returns a null target with members of the given capacities.
    pub fn new(members: Vec<u64>, depth: u32) -> Self {
        let geometry = Geometry { members, block_bytes: 512, depth, engine: assay_spec::Engine::Null };
        Self { geometry, accepted: VecDeque::with_capacity(depth as usize) }
    }
}

impl Target for NullTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn submit(&mut self, op: Op) -> Result<(), Op> {
        if self.accepted.len() >= self.geometry.depth as usize {
            return Err(op);
        }
        self.accepted.push_back(Completion::new(op.tag, Ok(op.size_bytes), op.buf));
        Ok(())
    }

    #[inline(never)]
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        let count = self.accepted.len().min(BATCH_MAX);
        // Not `drain`: its iterator costs more than the rest of this target.
        for _ in 0..count {
            if let Some(completion) = self.accepted.pop_front() {
                done.push(completion);
            }
        }
        if let (0, Wait::AtMost(time)) = (count, wait) {
            // Nothing is in flight and nothing will complete: this is the pause of a paced load.
            std::thread::sleep(time);
        }
        Ok(())
    }

    fn reopen(&mut self, _member: u32) -> Result<(), TargetLost> {
        Ok(())
    }
}
