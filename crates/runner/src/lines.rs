//! Lines of text in one piece of memory, as long as they are not too many.

use std::collections::VecDeque;

/// Memory for the events of a run, bytes of JSON: about a quarter of an hour of one job. The events of longer runs are
/// read back from the store where that is still possible.
pub(crate) const KEPT_BYTES_MAX: usize = if cfg!(test) { 40_000 } else { 4 << 20 };

/// The last lines. A line is its text, and a number that says where it ends: of some thousand lines of a kilobyte each,
/// texts of their own would take a quarter more, and leave holes where they were.
#[derive(Default)]
pub(crate) struct Lines {
    text: String,
    /// Where each line ends in `text`; the first begins at 0.
    ends: VecDeque<usize>,
    /// How many there were, also of those that are not kept.
    pub(crate) count: usize,
}

impl Lines {
    /// Adds a line. All earlier ones are let go of where they are too many.
    pub(crate) fn push(&mut self, line: &str) {
        self.count += 1;
        if self.text.len() + line.len() > KEPT_BYTES_MAX {
            self.text.clear();
            self.ends.clear();
        }
        self.text.push_str(line);
        self.ends.push_back(self.text.len());
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The lines that are kept.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }

    /// Returns whether there are as many as are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.text.len() > KEPT_BYTES_MAX / 2
    }

    /// Returns the lines from the one with that number on; `None` where they are not kept.
    pub(crate) fn since(&self, first: usize) -> Option<Vec<String>> {
        let forgotten = self.count - self.len();
        let first = first.checked_sub(forgotten).filter(|first| *first <= self.len())?;
        Some(self.iter().skip(first).map(str::to_owned).collect())
    }

    /// Returns whether lines that there were are not kept any more.
    pub(crate) fn is_short(&self) -> bool {
        self.len() < self.count
    }

    /// Removes the first lines, which are kept elsewhere.
    pub(crate) fn forget(&mut self, count: usize) {
        let gone = self.ends.drain(..count).next_back().unwrap_or(0);
        self.text.drain(..gone);
        self.ends.iter_mut().for_each(|end| *end -= gone);
        self.count -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were_and_the_first_can_go() {
        let mut lines = Lines::default();
        ["a", "", "größer", "d"].iter().for_each(|line| lines.push(line));
        assert_eq!(lines.since(1).unwrap(), ["", "größer", "d"]);
        lines.forget(3);
        assert_eq!((lines.count, lines.iter().collect::<Vec<_>>()), (1, vec!["d"]));
        lines.forget(0);
        lines.push("e");
        assert_eq!(lines.since(0).unwrap(), ["d", "e"]);
        assert_eq!(lines.since(2).unwrap(), [""; 0]);
        assert_eq!(lines.since(3), None);
        lines.forget(2);
        assert_eq!((lines.count, lines.len(), lines.is_short()), (0, 0, false));
    }

    #[test]
    fn too_many_lines_are_let_go_of_and_counted() {
        let mut lines = Lines::default();
        let long = "x".repeat(KEPT_BYTES_MAX / 3);
        (0..5).for_each(|_| lines.push(&long));
        assert_eq!((lines.count, lines.len(), lines.is_short()), (5, 2, true));
        assert_eq!((lines.since(2), lines.since(3).unwrap().len()), (None, 2));
    }
}
