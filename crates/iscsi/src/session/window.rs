//! Sequence numbers of one connection: the command window and the status number.

use super::SessionError;
use crate::pdu::{Numbers, Response};
use crate::serial::{at_or_before, before};

/// The most repeated numbers that make up for a later jump: the commands that a path can have in flight.
const REPEATED_MAX: u32 = 1024;

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
}

impl Window {
    pub(super) fn new(cmd_sn: u32, max_cmd_sn: u32, exp_stat_sn: u32) -> Self {
        let largest_count = count_between(cmd_sn, max_cmd_sn);
        Self { cmd_sn, max_cmd_sn, exp_stat_sn, largest_count, repeated_count: 0 }
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
    /// were sent together end with one number. No response is missing then, and one that comes twice is caught by its
    /// task tag. A number from further ahead than the repeated ones account for means that a response is missing.
    fn update_status(&mut self, stat_sn: u32) -> Result<(), SessionError> {
        if before(stat_sn, self.exp_stat_sn) {
            self.repeated_count = (self.repeated_count + 1).min(REPEATED_MAX);
            return Ok(());
        }
        let skipped_count = stat_sn.wrapping_sub(self.exp_stat_sn);
        let left = self.repeated_count.checked_sub(skipped_count);
        self.repeated_count =
            left.ok_or(SessionError::StatusGap { got: stat_sn, expected: self.exp_stat_sn })?;
        self.exp_stat_sn = stat_sn.wrapping_add(1);
        Ok(())
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

    #[test]
    fn repeated_status_numbers_are_taken_and_missing_ones_are_not() {
        // As gotgt: commands that were sent together end with one number, and the next ones go on behind it.
        let mut window = Window::new(1, 64, 7);
        for stat_sn in [7, 7, 7, 8, 8, 9] {
            window.update(&done(stat_sn, 1, 64)).unwrap();
        }
        assert_eq!(window.exp_stat_sn(), 10);
        // Three responses had no number of their own: the target may count them after all, but no more than them.
        assert!(window.clone().update(&done(13, 1, 64)).is_ok());
        let gap = window.clone().update(&done(14, 1, 64));
        assert_eq!(gap, Err(SessionError::StatusGap { got: 14, expected: 10 }));
        window.update(&done(12, 1, 64)).unwrap();
        assert!(window.update(&done(15, 1, 64)).is_err(), "two of the three are used up");
    }

    #[test]
    fn nonsense_windows_are_ignored_and_status_gaps_are_errors() {
        let mut window = Window::new(10, 20, 5);
        window.update(&done(5, 10, 15)).unwrap();
        window.update(&done(6, 10, 8)).unwrap();
        window.update(&done(7, 11, 90)).unwrap();
        assert_eq!(window.max_cmd_sn, 20);
        assert_eq!(window.update(&done(9, 10, 20)), Err(SessionError::StatusGap { got: 9, expected: 8 }));
    }
}
