//! The options of a job while they are read: each is taken once, and what cannot be done as it says is kept.

use std::collections::BTreeMap;

use super::lines::{JobLines, OptionLine};
use super::value::{KbBase, is_true};
use crate::{ImportError, Note};

/// The options of a job by name: the last of each counts, as in fio.
pub(super) struct Options<'j> {
    pub(super) job: &'j JobLines,
    pub(super) left: BTreeMap<&'j str, &'j OptionLine>,
    pub(super) kb_base: KbBase,
    pub(super) findings: &'j mut Findings,
}

impl<'j> Options<'j> {
    pub(super) fn take(&mut self, key: &str) -> Option<&'j OptionLine> {
        self.left.remove(key)
    }

    /// Whether the job has an option, taken or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.job.options.iter().any(|option| option.key == key)
    }

    /// The value of an option, read; an error names the file, the line and the option.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ImportError> {
        let Some(option) = self.take(key) else { return Ok(None) };
        read(option.known()?).map(Some).map_err(|why| option.complain(why))
    }

    pub(super) fn is_on(&mut self, key: &str) -> Result<bool, ImportError> {
        Ok(self.read(key, is_true)?.unwrap_or(false))
    }

    pub(super) fn note(&mut self, line: usize, says: impl Into<String>) {
        self.findings.notes.push(Note::new(line, says));
    }

    pub(super) fn refuse(&mut self, option: &OptionLine, why: &str) {
        self.findings.refused.push(Note::new(option.line, format!("{}: {why}", option.key)));
    }
}

/// What cannot be done as the file says.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Different, in a way that the result must name.
    pub(super) notes: Vec<Note>,
    /// Not supported, with the reason.
    pub(super) refused: Vec<Note>,
}
