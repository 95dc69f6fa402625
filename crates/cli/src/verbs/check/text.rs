//! The lines of `assay check`: a name and what is known under it, within the width of the terminal.

use assay_report::text::wrap;

use crate::output::terminal::text_options;

/// Longer lines are harder to read than more of them.
const WIDTH_MAX: usize = 80;
/// What further lines of a fact begin with: two spaces, the name, a space.
const INDENT: &str = "                       ";

/// Number of columns of a line.
fn width() -> usize {
    text_options().width.min(WIDTH_MAX)
}

/// Returns a fact with its name before it, and nothing before its further lines.
pub(crate) fn line(name: &str, says: &str) -> String {
    let says = wrap(says, width().saturating_sub(INDENT.len()), "");
    format!("  {name:<20} {}\n", says.replace('\n', &format!("\n{INDENT}")))
}

/// Returns a paragraph.
pub(crate) fn wrapped(says: &str, indent: &str) -> String {
    wrap(says, width(), indent) + "\n"
}
