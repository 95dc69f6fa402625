//! A table on a terminal: its titles in their style, and what a wider one would show.

use assay_analysis::Severity;

use crate::escape::Style;
use crate::layout::wrap;
use crate::options::{Color, Detail, TextOptions};
use crate::table::Table;

pub(crate) fn of_table(table: &Table, options: TextOptions) -> String {
    let table = table.text(options.width);
    let mut text = match table.text.split_once('\n') {
        Some((titles, rows)) => format!("{}\n{rows}", paint(titles, Style::Title, options.color)),
        None => table.text,
    };
    // What all processors did says nothing of the storage: in brief its column may go unsaid.
    let is_told = |name: &String| options.detail == Detail::Full || name != "CPU %";
    if table.dropped.iter().any(is_told) {
        let says = format!("A wider terminal also shows {}.", table.dropped.join(", "));
        text.push_str(&format!("{}\n", wrap(&says, options.width, "")));
    }
    text
}

/// Words in a style where colours are wanted; [`escape::terminal`] writes it out.
pub(crate) fn paint(text: &str, style: Style, color: Color) -> String {
    match color {
        Color::Never => text.to_owned(),
        Color::Ansi => style.of(text),
    }
}

/// Returns the severity of a finding as its first word. A note is what a person wrote, so no finding is called one.
pub(crate) fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "CRITICAL",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    }
}
