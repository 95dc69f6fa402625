//! Sequence numbers of one connection: the command window and the status number.

use super::SessionError;
use crate::pdu::{Numbers, Response};
use crate::serial::{at_or_before, before};

/// The most repeated numbers that make up for a later jump: the commands that a path can have in flight.
const REPEATED_MAX: u32 = 1024;
/// The most responses that may be late at a time: as many threads of a target may send on one connection.
const LATE_MAX: u32 = 16;
/// A late response comes within so many others; as many commands as a path has in flight by default.
const LATE_RESPONSES_MAX: u32 = 128;

/// Command window and status number.
#[derive(Debug, Clone)]
pub(super) struct Window {
    cmd_sn: u32,
    max_cmd_sn: u32,
    exp_stat_sn: u32,
    /// The most commands that the target has room for, of all that it said.
    largest_count: u32,
    /// Responses that repeated a status number, less the numbers that were skipped since.
    repeated_count: u32,
    /// Responses whose numbers were skipped and that have not come yet.
    late: Option<Late>,
}

/// Responses that others have overtaken.
#[derive(Debug, Clone, Copy)]
struct Late {
    /// The first status number that was skipped.
    first: u32,
    count: u32,
    /// Responses that came since the first number was skipped.
    responses_since: u32,
}

impl Window {
    pub(super) fn new(cmd_sn: u32, max_cmd_sn: u32, exp_stat_sn: u32) -> Self {
        let largest_count = count_between(cmd_sn, max_cmd_sn);
        Self { cmd_sn, max_cmd_sn, exp_stat_sn, largest_count, repeated_count: 0, late: None }
    }

    /// CmdSN the next command will have.
    pub(super) fn cmd_sn(&self) -> u32 {
        self.cmd_sn
    }

    /// ExpStatSN to put into every request: acknowledges all status before it.
    pub(super) fn exp_stat_sn(&self) -> u32 {
        self.exp_stat_sn
    }

    /// True if the target takes one more command that is not immediate.
    pub(super) fn is_open(&self) -> bool {
        at_or_before(self.cmd_sn, self.max_cmd_sn)
    }

    /// Commands the target takes beyond those it has, at the moment.
    pub(super) fn open_count(&self) -> u32 {
        count_between(self.cmd_sn, self.max_cmd_sn)
    }

    /// The most commands that the target ever had room for at a time.
    pub(super) fn largest_count(&self) -> u32 {
        self.largest_count
    }

    /// Uses up one command number.
    pub(super) fn take_cmd_sn(&mut self) -> u32 {
        let cmd_sn = self.cmd_sn;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        cmd_sn
    }

    /// Takes over the numbers of a response.
    pub(super) fn update(&mut self, response: &Response) -> Result<(), SessionError> {
        let Numbers { stat_sn, exp_cmd_sn, max_cmd_sn } = response.numbers();
        // A window that ends before it begins by more than "closed" is to be ignored (RFC 7143 §4.2.2.1), as is one
        // that moves back: PDUs of the target may overtake each other only across connections, but cost nothing.
        let valid = !before(max_cmd_sn, exp_cmd_sn.wrapping_sub(1)) && at_or_before(exp_cmd_sn, self.cmd_sn);
        if valid {
            self.largest_count = self.largest_count.max(count_between(exp_cmd_sn, max_cmd_sn));
        }
        if valid && before(self.max_cmd_sn, max_cmd_sn) {
            self.max_cmd_sn = max_cmd_sn;
        }
        if response.advances_stat_sn() {
            self.update_status(stat_sn)?;
        }
        Ok(())
    }

    /// Takes over the status number of a response.
    ///
    /// Some targets number several responses alike: gotgt returns the ExpStatSN of the command, so all commands that
    /// were sent together end with one number. Others number responses in one order and send them in another: the
    /// threads of istgt overtake each other. No response is missing then, and one that comes twice is caught by its
    /// task tag. A skipped number that neither repeated ones account for nor a late response brings in time means
    /// that a response is missing.
    fn update_status(&mut self, stat_sn: u32) -> Result<(), SessionError> {
        if before(stat_sn, self.exp_stat_sn) {
            self.came_late();
        } else {
            let skipped_count = stat_sn.wrapping_sub(self.exp_stat_sn);
            let from_repeated = skipped_count.min(self.repeated_count);
            self.repeated_count -= from_repeated;
            self.skip(skipped_count - from_repeated);
            self.exp_stat_sn = stat_sn.wrapping_add(1);
        }
        let Some(late) = &mut self.late else { return Ok(()) };
        late.responses_since += 1;
        if late.count > LATE_MAX || late.responses_since > LATE_RESPONSES_MAX {
            return Err(SessionError::StatusGap { got: stat_sn, expected: late.first });
        }
        Ok(())
    }

    fn skip(&mut self, count: u32) {
        if count > 0 {
            let first = self.exp_stat_sn;
            let late = self.late.get_or_insert(Late { first, count: 0, responses_since: 0 });
            late.count = late.count.saturating_add(count);
        }
    }

    fn came_late(&mut self) {
        match &mut self.late {
            Some(late) if late.count > 1 => late.count -= 1,
            Some(_) => self.late = None,
            None => self.repeated_count = (self.repeated_count + 1).min(REPEATED_MAX),
        }
    }
}

/// Number of commands from one number to another, both included; none where the second is before the first.
fn count_between(from: u32, to: u32) -> u32 {
    if at_or_before(from, to) { to.wrapping_sub(from).wrapping_add(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(stat_sn: u32, exp_cmd_sn: u32, max_cmd_sn: u32) -> Response {
        Response::TaskManagement { itt: 0, numbers: Numbers { stat_sn, exp_cmd_sn, max_cmd_sn }, response: 0 }
    }

    #[test]
    fn the_window_opens_closes_and_wraps() {
        let mut window = Window::new(u32::MAX, 0, 5);
        assert!(window.is_open());
        assert_eq!(window.take_cmd_sn(), u32::MAX);
        assert!(window.is_open());
        assert_eq!(window.take_cmd_sn(), 0);
        assert!(!window.is_open());
        window.update(&done(5, 1, 3)).unwrap();
        assert!(window.is_open());
        assert_eq!(window.exp_stat_sn(), 6);
    }

    /// The first error that responses with these status numbers lead to.
    fn first_error(window: &mut Window, stat_sns: impl IntoIterator<Item = u32>) -> Option<SessionError> {
        stat_sns.into_iter().find_map(|stat_sn| window.update(&done(stat_sn, 1, 64)).err())
    }

    #[test]
    fn repeated_status_numbers_are_taken_and_missing_ones_are_not() {
        // As gotgt: commands that were sent together end with one number, and the next ones go on behind it.
        let mut window = Window::new(1, 64, 7);
        assert_eq!(first_error(&mut window, [7, 7, 7, 8, 8, 9]), None);
        assert_eq!(window.exp_stat_sn(), 10);
        // Three responses had no number of their own: the target may count them after all.
        assert_eq!(first_error(&mut window, 13..1000), None);
        // Nothing accounts for a further number, and no late response brings it.
        let gap = first_error(&mut window, 1001..2000);
        assert_eq!(gap, Some(SessionError::StatusGap { got: 1000 + LATE_RESPONSES_MAX + 1, expected: 1000 }));
    }

    #[test]
    fn responses_that_overtake_each_other_are_taken() {
        // As istgt, whose threads number responses in one order and send them in another.
        let mut window = Window::new(1, 64, 0);
        let swapped = (0..2000u32).map(|n| n ^ 1);
        assert_eq!(first_error(&mut window, swapped), None);
        assert_eq!((window.exp_stat_sn(), window.late.is_none()), (2000, true));
        let reversed = (0..100u32).flat_map(|ten| (0..10).rev().map(move |one| 2000 + 10 * ten + one));
        assert_eq!(first_error(&mut window, reversed), None);
        assert_eq!((window.exp_stat_sn(), window.late.is_none()), (3000, true));
    }

    #[test]
    fn many_skipped_status_numbers_are_an_error_at_once() {
        let mut window = Window::new(1, 64, u32::MAX);
        let gap = first_error(&mut window, [LATE_MAX]);
        assert_eq!(gap, Some(SessionError::StatusGap { got: LATE_MAX, expected: u32::MAX }));
        // One more with each response is as bad.
        let mut window = Window::new(1, 64, 0);
        let gap = first_error(&mut window, (0..100).map(|n| 2 * n + 1));
        assert_eq!(gap, Some(SessionError::StatusGap { got: 2 * LATE_MAX + 1, expected: 0 }));
    }

    #[test]
    fn nonsense_windows_are_ignored() {
        let mut window = Window::new(10, 20, 5);
        window.update(&done(5, 10, 15)).unwrap();
        window.update(&done(6, 10, 8)).unwrap();
        window.update(&done(7, 11, 90)).unwrap();
        assert_eq!(window.max_cmd_sn, 20);
    }
}
