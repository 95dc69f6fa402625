//! The commands of a client: where they are kept, the order in which they wait, and which of them are late.
//!
//! [`Table`] holds the entries of a client's commands (and of its calls, where a command consists of several), made
//! once at the start. An entry implements [`Timed`], and the table then finds those that are overdue or whose pause is
//! over. [`Waiting`] is the queue of commands without a path. It stamps those that were submitted since the last turn,
//! so that the clock is read once for all of them. [`Backoff`] is the growing pause between two attempts of a path.
//! None of them reads a clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An entry of a [`Table`], as far as time limits concern it.
pub trait Timed {
    /// Returns the time from which its limit counts; `None` for an entry without a limit.
    fn submitted_at(&self) -> Option<Instant>;
    /// Returns the end of its pause, while it is paused.
    fn paused_until(&self) -> Option<Instant>;
}

/// Entries that are found by their number. Walking over the taken ones does not touch the free ones.
#[derive(Debug)]
pub struct Table<T> {
    entries: Vec<T>,
    free: Vec<u32>,
    taken: Vec<u32>,
    /// Position of each taken entry in `taken`.
    positions: Vec<u32>,
}

impl<T> Table<T> {
    /// Returns a table of `count` free entries.
    pub fn new(count: u32, make: impl FnMut() -> T) -> Self {
        Self {
            entries: std::iter::repeat_with(make).take(count as usize).collect(),
            free: (0..count).rev().collect(),
            taken: Vec::with_capacity(count as usize),
            positions: vec![0; count as usize],
        }
    }

    /// Takes a free entry, which keeps its old content. Returns its number, or `None` if all are taken.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let index = self.free.pop()?;
        self.positions[index as usize] = crate::u32_of(self.taken.len());
        self.taken.push(index);
        Some(index)
    }

    /// Frees a taken entry.
    #[inline]
    pub fn put(&mut self, index: u32) {
        let position = self.positions[index as usize] as usize;
        debug_assert!(self.taken.get(position) == Some(&index), "an entry is freed once");
        self.taken.swap_remove(position);
        if let Some(moved) = self.taken.get(position) {
            self.positions[*moved as usize] = crate::u32_of(position);
        }
        self.free.push(index);
    }

    /// Returns an entry.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }

    /// Returns an entry.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }

    /// Returns true if the entry exists and is taken.
    pub fn is_taken(&self, index: u32) -> bool {
        let position = self.positions.get(index as usize).copied();
        position.is_some_and(|position| self.taken.get(position as usize) == Some(&index))
    }

    /// Returns the taken entries with their numbers, in no particular order.
    pub fn taken(&self) -> impl Iterator<Item = (u32, &T)> {
        self.taken.iter().map(|index| (*index, &self.entries[*index as usize]))
    }

    /// Returns the number of entries.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }
}

impl<T: Timed> Table<T> {
    /// Returns the entries that have exceeded this limit.
    pub fn overdue(&self, limit: Duration, now: Instant) -> impl Iterator<Item = u32> {
        let is_over = move |since: Instant| now.saturating_duration_since(since) > limit;
        self.taken()
            .filter(move |(_, entry)| entry.submitted_at().is_some_and(is_over))
            .map(|(index, _)| index)
    }

    /// Returns the entries whose pause is over.
    pub fn resumable(&self, now: Instant) -> impl Iterator<Item = u32> {
        let is_over = move |until: Instant| until <= now;
        self.taken()
            .filter(move |(_, entry)| entry.paused_until().is_some_and(is_over))
            .map(|(index, _)| index)
    }

    /// Returns the times of submission of all entries with a limit.
    pub fn submissions(&self) -> impl Iterator<Item = Instant> {
        self.taken().filter_map(|(_, entry)| entry.submitted_at())
    }
}

/// Commands that wait for a path, in the order in which they are to be sent.
#[derive(Debug)]
pub struct Waiting {
    queue: VecDeque<u32>,
    /// Number of commands at the end that have no time of submission yet.
    unstamped: usize,
}

impl Waiting {
    /// Returns a queue for this many commands.
    pub fn new(capacity: usize) -> Self {
        Self { queue: VecDeque::with_capacity(capacity), unstamped: 0 }
    }

    /// Appends a new command, to be stamped by the next turn.
    #[inline]
    pub fn submit(&mut self, index: u32) {
        self.queue.push_back(index);
        self.unstamped += 1;
    }

    /// Returns the commands submitted since the last call, whose time limits begin now.
    #[inline]
    pub fn unstamped(&mut self) -> impl Iterator<Item = u32> {
        let count = std::mem::take(&mut self.unstamped);
        self.queue.iter().rev().take(count).copied()
    }

    /// Appends a command that is to be sent again, before those that were submitted since the last turn.
    pub fn push_back(&mut self, index: u32) {
        self.queue.insert(self.queue.len() - self.unstamped, index);
    }

    /// Inserts a command before all others.
    pub fn push_front(&mut self, index: u32) {
        self.queue.push_front(index);
    }

    /// Returns the next command.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        self.queue.front().copied()
    }

    /// Removes the next command.
    #[inline]
    pub fn pop_front(&mut self) -> Option<u32> {
        self.unstamped = self.unstamped.min(self.queue.len().saturating_sub(1));
        self.queue.pop_front()
    }

    /// Removes a command, wherever it is.
    pub fn remove(&mut self, index: u32) {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == index) {
            self.unstamped -= usize::from(at + self.unstamped >= self.queue.len());
            self.queue.remove(at);
        }
    }

    /// Removes all commands.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.unstamped = 0;
    }

    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns true if no command waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// The pause before the next attempt of a path: none at first, then doubling between two limits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backoff(Duration);

impl Backoff {
    /// Returns the pause before the next attempt; the one after it will be longer.
    pub fn next(&mut self, min: Duration, max: Duration) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).max(min).min(max);
        pause
    }

    /// Returns true if nothing has failed since the last success.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Begins anew, after a success.
    pub fn reset(&mut self) {
        self.0 = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Entry(Option<Instant>, Option<Instant>);

    impl Timed for Entry {
        fn submitted_at(&self) -> Option<Instant> {
            self.0
        }

        fn paused_until(&self) -> Option<Instant> {
            self.1
        }
    }

    fn sorted(entries: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut entries: Vec<u32> = entries.collect();
        entries.sort_unstable();
        entries
    }

    #[test]
    fn taken_entries_are_walked_whatever_was_freed_before() {
        let mut table = Table::new(4, Entry::default);
        let taken = |table: &Table<Entry>| sorted(table.taken().map(|(index, _)| index));
        assert_eq!((0..5).map_while(|_| table.take()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        table.put(1);
        assert_eq!((taken(&table), table.is_taken(1), table.is_taken(9)), (vec![0, 2, 3], false, false));
        table.put(3);
        table.put(0);
        assert_eq!(taken(&table), [2]);
        assert_eq!((table.take(), table.take()), (Some(0), Some(3)), "the one freed last is the next");
        assert_eq!(taken(&table), [0, 2, 3]);
    }

    #[test]
    fn the_table_finds_what_is_overdue_and_whose_pause_is_over() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut table = Table::new(4, Entry::default);
        while table.take().is_some() {}
        *table.get_mut(0) = Entry(Some(start), None);
        *table.get_mut(1) = Entry(Some(start + second), Some(start + 2 * second));
        *table.get_mut(2) = Entry(None, Some(start + 3 * second));
        let now = start + 2 * second;
        assert_eq!(sorted(table.overdue(second, now)), [0], "the limit itself is not exceeded");
        assert_eq!(sorted(table.resumable(now)), [1]);
        assert_eq!(table.submissions().count(), 2);
        table.put(0);
        assert_eq!(sorted(table.overdue(second, now + second)), [1]);
    }

    #[test]
    fn only_new_commands_are_stamped_and_each_once() {
        let mut waiting = Waiting::new(4);
        waiting.push_back(7);
        waiting.submit(1);
        waiting.submit(2);
        assert_eq!(sorted(waiting.unstamped()), [1, 2]);
        assert_eq!(waiting.unstamped().count(), 0);
        waiting.submit(3);
        assert_eq!(
            (waiting.pop_front(), waiting.pop_front(), waiting.pop_front()),
            (Some(7), Some(1), Some(2))
        );
        assert_eq!(waiting.unstamped().collect::<Vec<_>>(), [3]);
        waiting.submit(4);
        waiting.submit(5);
        waiting.push_back(6);
        waiting.remove(5);
        assert_eq!((waiting.unstamped().collect::<Vec<_>>(), waiting.len()), (vec![4], 3));
        waiting.clear();
        assert_eq!((waiting.unstamped().count(), waiting.is_empty()), (0, true));
    }

    #[test]
    fn pauses_double_up_to_the_limit_and_begin_anew() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::default();
        let pauses: Vec<u128> = (0..6).map(|_| backoff.next(ms(10), ms(50)).as_millis()).collect();
        assert_eq!(pauses, [0, 10, 20, 40, 50, 50]);
        backoff.reset();
        assert_eq!(backoff.next(ms(10), ms(50)), ms(0));
    }
}
