//! The event queue: a 4-ary min-heap of packed keys.
//!
//! A key is `time << 18 | kind << 15 | index`: 46 bits of ns (19.5 virtual hours), 3 of event kind, 15 of
//! index. Comparing keys orders events by time and breaks ties in a fixed way, so a seed gives one run.
//! Four children per node halve the depth of a binary heap, and 64 keys of a deep queue fit in eight lines.

const INDEX_BITS: u32 = 15;
const KIND_BITS: u32 = 3;
/// Largest index of an event, and so most I/Os in flight plus one.
pub(crate) const INDEX_LIMIT: usize = 1 << INDEX_BITS;
/// Virtual time must stay below this, ns.
pub(crate) const TIME_LIMIT_NS: u64 = 1 << (64 - INDEX_BITS - KIND_BITS);

/// A packed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn new(time_ns: u64, kind: u8, index: usize) -> Self {
        debug_assert!(index < INDEX_LIMIT && kind < 1 << KIND_BITS);
        // Past the end of virtual time nothing happens any more; wrapping around would be in the past.
        let time_ns = time_ns.min(TIME_LIMIT_NS - 1);
        Self(time_ns << (INDEX_BITS + KIND_BITS) | u64::from(kind) << INDEX_BITS | index as u64)
    }

    pub(crate) fn time_ns(self) -> u64 {
        self.0 >> (INDEX_BITS + KIND_BITS)
    }

    pub(crate) fn kind(self) -> u8 {
        (self.0 >> INDEX_BITS & 7) as u8
    }

    pub(crate) fn index(self) -> usize {
        crate::num::index(self.0 & (INDEX_LIMIT as u64 - 1))
    }
}

/// Behind every event: what fills the places of the heap that hold none.
const NEVER: Key = Key(u64::MAX);

/// A min-heap of events. Grows to its working size once and then never allocates.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventHeap {
    /// The events, and [`NEVER`] up to a whole number of families: a node has four children or none, so that the way
    /// down through the heap asks for no length.
    keys: Vec<Key>,
    events: usize,
}

impl EventHeap {
    pub(crate) fn with_capacity(events: usize) -> Self {
        Self { keys: Vec::with_capacity(events + 4), events: 0 }
    }

    pub(crate) fn peek(&self) -> Option<Key> {
        if self.events > 0 { self.keys.first().copied() } else { None }
    }

    pub(crate) fn push(&mut self, key: Key) {
        let mut at = self.events;
        self.events += 1;
        if at >= self.keys.len() {
            // The root is alone in its family.
            let family = if at == 0 { 1 } else { 4 };
            self.keys.resize(at + family, NEVER);
        }
        let keys = &mut self.keys[..];
        while at > 0 {
            let parent = (at - 1) / 4;
            if keys[parent] <= key {
                break;
            }
            keys[at] = keys[parent];
            at = parent;
        }
        keys[at] = key;
    }

    pub(crate) fn pop(&mut self) -> Option<Key> {
        let top = self.peek()?;
        self.events -= 1;
        let last = std::mem::replace(&mut self.keys[self.events], NEVER);
        if self.events > 0 {
            self.sift_down(last);
        }
        Some(top)
    }

    /// Takes the root away and puts in `key`, which is not before it: one way through the heap instead of two.
    pub(crate) fn replace_top(&mut self, key: Key) {
        debug_assert!(self.peek().is_some_and(|top| top <= key));
        self.sift_down(key);
    }

    /// Puts `key` where the root was, and down to its place.
    fn sift_down(&mut self, key: Key) {
        let keys = &mut self.keys[..];
        let mut at = 0;
        while let Some(&[a, b, c, d]) = keys.get(at * 4 + 1..).and_then(<[Key]>::first_chunk) {
            // Two comparisons that do not wait for each other, and one of their winners.
            let left = if b < a { (1, b) } else { (0, a) };
            let right = if d < c { (3, d) } else { (2, c) };
            let (least, least_key) = if right.1 < left.1 { right } else { left };
            if least_key >= key {
                break;
            }
            keys[at] = least_key;
            at = at * 4 + 1 + least;
        }
        keys[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rng::Rng;

    #[test]
    fn events_come_out_in_order_of_time_and_then_of_kind_and_index() {
        let mut rng = Rng::new(1);
        let mut heap = EventHeap::default();
        let mut expected: Vec<Key> =
            (0..5000).map(|i| Key::new(rng.below(1000), [0, 1, 2, 3, 4][i % 5], i % INDEX_LIMIT)).collect();
        expected.iter().for_each(|k| heap.push(*k));
        expected.sort_unstable();
        let popped: Vec<Key> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(popped, expected);
    }

    #[test]
    fn a_heap_that_grows_and_shrinks_keeps_its_order() {
        let (mut rng, mut heap, mut expected) = (Rng::new(2), EventHeap::default(), BTreeSet::new());
        for i in 0..20_000 {
            let key = Key::new(rng.below(1 << 20), 0, i % INDEX_LIMIT);
            match (rng.below(3), heap.peek()) {
                (0, _) | (_, None) => {
                    expected.insert(key);
                    heap.push(key);
                }
                (1, Some(top)) if key >= top => {
                    expected.pop_first();
                    expected.insert(key);
                    heap.replace_top(key);
                }
                _ => assert_eq!(heap.pop(), expected.pop_first()),
            }
            assert_eq!(heap.peek(), expected.first().copied());
        }
        let rest: Vec<Key> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(rest, expected.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_key_gives_back_its_parts() {
        let key = Key::new(TIME_LIMIT_NS - 1, 7, INDEX_LIMIT - 1);
        assert_eq!((key.time_ns(), key.kind(), key.index()), (TIME_LIMIT_NS - 1, 7, INDEX_LIMIT - 1));
    }
}
