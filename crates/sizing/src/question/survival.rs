//! Failures that the data must survive: `survive two failed disks`, `survives the loss of a drive`.

use super::{DEVICES, Endure, FAILURES, Level, QuestionError, Reading, refuse};
use crate::words::{number, number_word};

/// Words between `survive` and what fails.
const BETWEEN: &[&str] = &["the", "a", "an", "any", "of", "loss", "losses", "device", "devices"];

impl Reading {
    /// One failure is a state in which the load is carried; two say which levels keep the data.
    pub(super) fn survive(&mut self) -> Result<(), QuestionError> {
        let (mut failed, mut of_devices) = (None, false);
        while let Some(word) = self.words.get(self.next).cloned() {
            if word.starts_with("rebuil") {
                // The word itself says the state.
                return Ok(());
            }
            let count = number(&word).filter(|(_, unit)| unit.is_empty()).map(|(count, _)| count);
            let count = count.or_else(|| number_word(&word));
            match count {
                Some(_) if failed.is_none() && !of_devices => failed = count,
                None if DEVICES.contains(&word.as_str()) || word.starts_with("device") => of_devices = true,
                None if BETWEEN.contains(&word.as_str()) || FAILURES.contains(&word.as_str()) => {}
                _ => break,
            }
            self.next += 1;
        }
        match failed.unwrap_or(1.0) {
            _ if !of_devices => refuse(
                "`survive`: say what, as in \"survive two failed disks\" or \"survive a failed disk\""
                    .to_owned(),
            ),
            1.0 => {
                self.endure = self.endure.or(Some(Endure::Failed));
                Ok(())
            }
            2.0 => {
                self.survived = failed;
                Ok(())
            }
            count => refuse(format!("{count} failed devices: a question asks for one or two")),
        }
    }

    /// Leaves those of the named levels that keep the data after two failures; RAID6 where none is named.
    pub(super) fn settle_survival(&mut self) -> Result<(), QuestionError> {
        let Some(failures) = self.survived else { return Ok(()) };
        if self.levels.is_empty() {
            self.levels.push(Level::Raid6);
        }
        let disks = self.disks.unwrap_or(2.0);
        let (kept, lost): (Vec<Level>, Vec<Level>) =
            self.levels.iter().partition(|level| level.survives(disks) >= failures);
        let names =
            |levels: &[Level]| levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(" and ");
        if kept.is_empty() {
            return refuse(format!(
                "{}: two failed devices can take its data; name a level that survives any two, as RAID6, or leave the \
                 level out",
                names(&lost)
            ));
        }
        self.notes.push(format!(
            "{}: the data outlast any two failures; the load is that of an array without one.",
            names(&kept)
        ));
        self.levels = kept;
        Ok(())
    }
}
