//! Which tool a command line is of, by its first words.

use crate::fio::words::{is_before_command, is_fio, is_wrapper};

/// Words before a command that are skipped, such as a prompt or `sudo`.
const WORDS_BEFORE_MAX: usize = 8;

/// A tool by its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    DiskSpd,
    Sqlio,
    Fio,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DiskSpd => "diskspd",
            Self::Sqlio => "sqlio",
            Self::Fio => "fio",
        }
    }
}

/// Whether a text is a command line of DiskSpd, SQLIO or fio.
pub fn is_command(text: &str) -> bool {
    tool(text).is_some()
}

/// The tool that the first word names, with or without its folder and `.exe`, and the text behind that word. A prompt,
/// `sudo` and assignments may stand before it.
pub(crate) fn tool(text: &str) -> Option<(Tool, &str)> {
    let mut rest = text;
    for _ in 0..WORDS_BEFORE_MAX {
        let (word, after) = first_word(rest)?;
        if is_fio(word) {
            // The word alone may be the name of a plan.
            return (!after.trim().is_empty()).then_some((Tool::Fio, after));
        }
        let name = word.rsplit(['/', '\\']).next()?.to_lowercase();
        match name.trim_end_matches(".exe") {
            "diskspd" | "diskspd64" => return Some((Tool::DiskSpd, after)),
            "sqlio" => return Some((Tool::Sqlio, after)),
            _ if is_wrapper(word, first_word(after).map(|(next, _)| next)) => return wrapped(after),
            _ if is_before_command(word) => rest = after,
            _ => return None,
        }
    }
    None
}

/// fio behind the words of the command that runs it.
fn wrapped(mut rest: &str) -> Option<(Tool, &str)> {
    for _ in 0..2 * WORDS_BEFORE_MAX {
        let (word, after) = first_word(rest)?;
        let next = first_word(after).map(|(next, _)| next);
        if is_fio(word) && next.is_some_and(|next| !is_fio(next)) {
            return Some((Tool::Fio, after));
        }
        rest = after;
    }
    None
}

/// The first word, without the quotation marks around it, and the text behind it.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if let Some(inner) = text.strip_prefix('"') {
        return inner.split_once('"');
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}
