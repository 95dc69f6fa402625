//! What a foreign plan has and Assay does not support: refused with all its lines, or left out with notes.

use crate::{ImportError, Note, Strictness, counted, without_secrets};

/// The most lines of a message.
const SHOWN: usize = 20;

/// Refuses what is not supported, or makes notes of it. `noun` names one of its entries: `option`.
pub(crate) fn settle(
    origin: &str,
    noun: &str,
    strictness: Strictness,
    mut refused: Vec<Note>,
    notes: &mut Vec<Note>,
) -> Result<(), ImportError> {
    // An entry of a common section is found again in every job.
    refused.sort_by_key(|note| note.line);
    refused.dedup();
    match (strictness, refused.len()) {
        (_, 0) => Ok(()),
        (Strictness::Lenient, _) => {
            notes.extend(refused.into_iter().map(|n| Note::new(n.line, format!("{}; left out.", n.says))));
            Ok(())
        }
        (Strictness::Strict, count) => {
            let mut lines: Vec<String> =
                refused.iter().take(SHOWN).map(|note| format!("\n  {}", on_one_line(note))).collect();
            if count > SHOWN {
                lines.push(format!("\n  … and {} more", count - SHOWN));
            }
            let are = if count == 1 { "is" } else { "are" };
            let says = format!(
                "{} {are} not supported; --lenient runs without:{}",
                counted(count, noun),
                lines.concat()
            );
            // Not by `complain`, which takes line breaks out: these are its own.
            Err(ImportError::new(origin, without_secrets(&says)))
        }
    }
}

/// A word of the file that has line breaks must not look like a line of its own.
fn on_one_line(note: &Note) -> String {
    note.to_string().replace(['\n', '\r'], " ")
}
