//! Sequence numbers of one connection: the command window and the status number.

use super::SessionError;
use crate::pdu::{Numbers, Response};
use crate::serial::{at_or_before, before};

/// Number of repeated status numbers that can account for a later jump: the commands that a path can have in flight.
const REPEATED_MAX: u32 = 1025;
/// Number of responses that may be late at a time: as many threads of a target may send on one connection.
const LATE_MAX: u32 = 16;
/// Number of further responses within which a late one must arrive: the default number of commands in flight per path.
const LATE_RESPONSES_MAX: u32 = 128;

/// Command window and status number.
#[derive(Debug, Clone)]
pub(super) struct Window {
    cmd_sn: u32,
    max_cmd_sn: u32,
    exp_stat_sn: u32,
    /// Largest command window that the target has announced, commands.
    largest_count: u32,
    /// Number of responses that repeated a status number, less the numbers skipped since.
    repeated_count: u32,
    /// Responses whose numbers were skipped and that have not arrived yet.
    late: Option<Late>,
}

/// Responses that were overtaken by others.
#[derive(Debug, Clone, Copy)]
struct Late {
    /// The first status number that was skipped.
    first: u32,
    count: u32,
    /// Number of responses since the first number was skipped.
    responses_since: u32,
}

impl Window {
    pub(super) fn new(cmd_sn: u32, max_cmd_sn: u32, exp_stat_sn: u32) -> Self {
        let largest_count = count_between(cmd_sn, max_cmd_sn);
        Self { cmd_sn, max_cmd_sn, exp_stat_sn, largest_count, repeated_count: 0, late: None }
    }

    /// Returns the CmdSN of the next command.
    pub(super) fn cmd_sn(&self) -> u32 {
        self.cmd_sn
    }

    /// Returns the ExpStatSN for every request: it acknowledges all earlier status.
    pub(super) fn exp_stat_sn(&self) -> u32 {
        self.exp_stat_sn
    }

    /// Returns true if the target accepts a further non-immediate command.
    pub(super) fn is_open(&self) -> bool {
        at_or_before(self.cmd_sn, self.max_cmd_sn)
    }

    /// Returns the number of commands that the target accepts now, beyond those it has.
    pub(super) fn open_count(&self) -> u32 {
        count_between(self.cmd_sn, self.max_cmd_sn)
    }

    /// Returns the largest command window that the target has announced.
    pub(super) fn largest_count(&self) -> u32 {
        self.largest_count
    }

    /// Consumes one command number.
    pub(super) fn take_cmd_sn(&mut self) -> u32 {
        let cmd_sn = self.cmd_sn;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        cmd_sn
    }

    /// Applies the numbers of a response.
    pub(super) fn update(&mut self, response: &Response) -> Result<(), SessionError> {
        let Numbers { stat_sn, exp_cmd_sn, max_cmd_sn } = response.numbers();
        // A window whose end precedes its start by more than "closed" is ignored (RFC 7143 §4.2.2.1), and so is one
        // that moves back, which ignoring makes harmless.
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

    /// Applies the status number of a response.
    ///
    /// Some targets give several responses one number: gotgt returns the ExpStatSN of the command, so all commands sent
    /// together complete with one number. Others number responses in one order and send them in another: the threads of
    /// istgt overtake each other. No response is missing then, and a duplicate is detected by its task tag. A skipped
    /// number means a missing response unless earlier repetitions account for it or a late response brings it in time.
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

/// Returns the number of commands from one number to another, both included; 0 if the second precedes the first.
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

    /// Returns the first error caused by responses with these status numbers.
    fn first_error(window: &mut Window, stat_sns: impl IntoIterator<Item = u32>) -> Option<SessionError> {
        stat_sns.into_iter().find_map(|stat_sn| window.update(&done(stat_sn, 1, 64)).err())
    }

    #[test]
    fn repeated_status_numbers_are_accepted_and_missing_ones_are_not() {
        // Like gotgt: commands sent together complete with one number, and the next ones continue after it.
        let mut window = Window::new(1, 64, 7);
        assert_eq!(first_error(&mut window, [7, 7, 7, 8, 8, 9]), None);
        assert_eq!(window.exp_stat_sn(), 10);
        // Three responses had no number of their own: the target may have counted them after all.
        assert_eq!(first_error(&mut window, 13..1000), None);
        // Nothing accounts for a further number, and no late response brings it.
        let gap = first_error(&mut window, 1001..2000);
        assert_eq!(gap, Some(SessionError::StatusGap { got: 1000 + LATE_RESPONSES_MAX + 1, expected: 1000 }));
    }

    #[test]
    fn responses_that_overtake_each_other_are_accepted() {
        // Like istgt, whose threads number responses in one order and send them in another.
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
        // One more with each response is an error as well.
        let mut window = Window::new(1, 64, 0);
        let gap = first_error(&mut window, (0..100).map(|n| 2 * n + 1));
        assert_eq!(gap, Some(SessionError::StatusGap { got: 2 * LATE_MAX + 1, expected: 0 }));
    }

    #[test]
    fn invalid_windows_are_ignored() {
        let mut window = Window::new(10, 20, 5);
        window.update(&done(5, 10, 15)).unwrap();
        window.update(&done(6, 10, 8)).unwrap();
        window.update(&done(7, 11, 90)).unwrap();
        assert_eq!(window.max_cmd_sn, 20);
    }
}
