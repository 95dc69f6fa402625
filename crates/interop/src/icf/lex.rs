//! Lines of an `.icf` file as keys with their values.
//!
//! A line that begins with `'` is a key, and the lines below it are its values; `'` followed by a blank is a comment
//! (the titles of columns). Iometer itself demands an order; here each key is recognised wherever it stands.

/// The four sections, as their headers begin.
pub(super) const SECTIONS: [&str; 4] =
    ["test setup", "results display", "access specifications", "manager list"];

/// A key with its values.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    /// Line of the key, from 1.
    pub(super) line: usize,
    /// In lower case, without the `'` and the `=` at its end.
    pub(super) key: String,
    /// Each with its line; blank lines are left out.
    pub(super) values: Vec<(usize, &'t str)>,
}

impl<'t> Entry<'t> {
    /// The first value, with its line; empty where there is none.
    pub(super) fn value(&self) -> (usize, &'t str) {
        self.values.first().copied().unwrap_or((self.line, ""))
    }
}

/// Whether a line is the header of a section, which Iometer pads with `=`.
pub(super) fn is_section(line: &str, name: &str) -> bool {
    let key = line.trim().strip_prefix('\'').map(str::to_lowercase).unwrap_or_default();
    key.strip_prefix(name).is_some_and(|rest| rest.trim().trim_matches('=').is_empty())
}

/// Returns all keys in their order. What stands before the first key (the version) is not among them.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let (line, trimmed) = (index + 1, raw.trim());
        match trimmed.strip_prefix('\'') {
            Some(comment) if comment.starts_with([' ', '\t']) || comment.is_empty() => {}
            Some(key) => {
                let key = key.to_lowercase().trim().trim_end_matches('=').trim_end().to_owned();
                entries.push(Entry { line, key, values: Vec::new() });
            }
            None if trimmed.is_empty() || is_version(trimmed) => {}
            None => {
                if let Some(entry) = entries.last_mut() {
                    entry.values.push((line, trimmed));
                }
            }
        }
    }
    entries
}

/// Whether a line is the first or last of a file: `Version 1.1.0`.
fn is_version(line: &str) -> bool {
    line.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("version "))
        && numbers(&line[8..]).count() == 3
}

/// The numbers in a text, whatever separates them. What does not fit 64 bits is `None`.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = Option<i128>> {
    let is_part = |c: char| c.is_ascii_digit() || c == '-';
    text.split(move |c| !is_part(c)).filter(|part| part.contains(|c: char| c.is_ascii_digit())).map(|part| {
        part.parse::<i128>().ok().filter(|n| i64::try_from(*n).is_ok() || u64::try_from(*n).is_ok())
    })
}
