//! Words as they are typed in a shell.

use assay_interop::without_secrets;

/// A word as it is typed in a shell, without secrets.
pub(crate) fn as_typed(word: &str) -> String {
    quoted(&without_secrets(word))
}

/// A word as it is typed in a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
