//! Shares of reads and of random positions: each is said once, or twice the same.

use super::{QuestionError, refuse};

/// Shares that differ by less mean the same: 66.6 % reads and 33.3 % writes.
const SAME_PCT: f64 = 0.5;

/// What the words said of the mix of I/Os.
#[derive(Default)]
pub(super) struct Shares {
    /// Share of reads, %, and how it was written.
    reads: Option<(f64, String)>,
    /// Share of random positions, %, and how it was written.
    random: Option<(f64, String)>,
    /// `reads` without a share.
    pub(super) bare_reads: bool,
    /// `writes` without a share.
    pub(super) bare_writes: bool,
    /// Whether the part of the sentence that is read began with `99 % of reads`.
    pub(super) of_them: bool,
}

impl Shares {
    pub(super) fn reads(&mut self, pct: f64, said: String) -> Result<(), QuestionError> {
        set(&mut self.reads, pct, said, "reads and writes")
    }

    pub(super) fn random(&mut self, pct: f64, said: String) -> Result<(), QuestionError> {
        set(&mut self.random, pct, said, "random and sequential I/Os")
    }

    /// `random` or `sequential`, of all I/Os.
    pub(super) fn order(&mut self, word: &str) -> Result<(), QuestionError> {
        self.random(if word == "random" { 100.0 } else { 0.0 }, word.to_owned())
    }

    /// `read only`, `write-only`.
    pub(super) fn only(&mut self, kind: &str) -> Result<(), QuestionError> {
        self.reads(if kind == "read" { 100.0 } else { 0.0 }, format!("{kind} only"))
    }

    pub(super) fn has_reads(&self) -> bool {
        self.reads.is_some()
    }

    /// Whether reads or writes are meant, or a share of each.
    pub(super) fn says_reads(&self) -> bool {
        self.has_reads() || self.bare_reads != self.bare_writes
    }

    /// Whether a part of the positions is random.
    pub(super) fn are_random(&self) -> bool {
        self.random.as_ref().is_some_and(|(pct, _)| *pct > 0.0)
    }

    /// The shares of reads and of random positions, %.
    pub(super) fn settled(&self) -> Result<(Option<f64>, Option<f64>), QuestionError> {
        let reads = match (&self.reads, self.bare_reads, self.bare_writes) {
            (Some((pct, _)), ..) => Some(*pct),
            (None, true, true) => {
                return refuse("reads and writes: say the share of one, as in 70 % read".to_owned());
            }
            (None, true, false) => Some(100.0),
            (None, false, true) => Some(0.0),
            (None, false, false) => None,
        };
        Ok((reads, self.random.as_ref().map(|(pct, _)| *pct)))
    }
}

fn set(slot: &mut Option<(f64, String)>, pct: f64, said: String, of: &str) -> Result<(), QuestionError> {
    match slot {
        Some((before, was)) if (*before - pct).abs() > SAME_PCT => {
            refuse(format!("{was} and {said}: shares of {of} add up to 100; give one of them"))
        }
        Some(_) => Ok(()),
        None => {
            *slot = Some((pct, said));
            Ok(())
        }
    }
}
