//! Whether what failed had a reason: the oracles of commands that fail and of paths that end.

use assay_iscsi::Completion;

use super::{Link, World};
use crate::fault::Fault;
use crate::time::{MS, SECOND};

impl World {
    /// Checks that a command that failed had a reason: three quarters of its time without a fault suffice for it.
    pub(super) fn is_excused(&self, of: usize, completion: &Completion<Vec<u8>>) -> Result<(), String> {
        let Err(error) = &completion.result else { return Ok(()) };
        // A target may ask for a pause before the next login.
        let pause = u64::from(self.storage.habits.time2wait_s) * SECOND;
        let is_quiet = self.now > self.quiet_from + self.io_limit / 4 * 3 + pause;
        if is_quiet && self.cores[of].lost().is_none() && !self.storage.is_swapped {
            return Err(format!("command {} fails although nothing is faulty: {error}", completion.tag));
        }
        Ok(())
    }

    /// Checks that a path that went down had a reason: one that answers is not ended.
    pub(super) fn is_justified(&self, path: u8, cause: &str) -> Result<(), String> {
        let swaps = [Fault::UnitSwapped, Fault::UnitReplaced];
        let was_swapped = swaps.into_iter().any(|fault| self.storage.counts.of(fault) > 0);
        if cause.contains("a different unit") && !was_swapped {
            return Err(format!("path {path} was ended although the unit is the same: {cause}"));
        }
        if cause.contains("a different unit") && self.has_strayed {
            return Ok(());
        }
        let link = &self.links[usize::from(path)];
        let ports = 0..self.names.len();
        let touched = |fault: Fault| ports.clone().any(|port| self.storage.until(fault, port) > link.since);
        let ends = [
            Fault::Cut,
            Fault::HangUp,
            Fault::ThreadStall,
            Fault::LogoutRequested,
            Fault::UnitSwapped,
            Fault::UnitReplaced,
            Fault::GroupMoved,
            Fault::WindowClosed,
            Fault::ClockPaused,
        ];
        let delays = [Fault::LostCommand, Fault::LateAnswer, Fault::DiskStall];
        let refusals = [
            Fault::ManagementRefused,
            Fault::ManagementUnanswered,
            Fault::ManagementRejected,
            Fault::ManagementLate,
            Fault::AbortOvertaken,
        ];
        let is_ended = ends.into_iter().any(touched);
        let is_heard = |other: &&Link| other.heard_at > link.heard_at + 100 * MS;
        if cause.contains("while another path answered") && !self.links.iter().any(|other| is_heard(&other)) {
            return Err(format!("path {path} was ended although no other path answered: {cause}"));
        }
        // A reset may end commands without a report.
        let is_delayed = delays.into_iter().any(touched) || self.storage.reset_at > link.since;
        // A path that verifies its unit holds its write data back, so that commands may be aborted late.
        let is_overdue = is_delayed || touched(Fault::UnitAttention);
        let is_unanswered = is_overdue && refusals.into_iter().any(touched)
            || is_delayed && cause.contains("reading the identity");
        if is_ended || is_unanswered || cause.contains("because an I/O") || self.now > self.faults_end {
            return Ok(());
        }
        Err(format!("path {path} answers, and was ended: {cause}"))
    }
}
