//! Words as they are typed in a shell.

pub(crate) use assay_analysis::quoted;
use assay_interop::without_secrets;

/// A word as it is typed in a shell, without secrets.
pub(crate) fn as_typed(word: &str) -> String {
    quoted(&without_secrets(word))
}
