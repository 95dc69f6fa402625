//! What the terminal gets: results on standard output, notes on standard error, both with their hidden characters
//! written as codes, and how wide and coloured it may be. Nothing else in the program prints.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;

use assay_report::escape;
use assay_report::text::{Color, Detail, TextOptions, wrap};

use crate::args::{ColorChoice, ViewArgs};
use crate::exit::{Exit, Failed};

/// Prints a line to standard error.
macro_rules! note {
    ($($arg:tt)*) => { $crate::output::terminal::note_line(&format!($($arg)*)) };
}
pub(crate) use note;

/// Prints a line to standard error. A closed pipe or a full disk there must not end a run.
pub(crate) fn note_line(text: &str) {
    let _ =
        writeln!(std::io::stderr(), "{}", shown(&escape::terminal(text), std::io::stderr().is_terminal()));
}

/// Returns text as a terminal can show it: in a locale without UTF-8 in ASCII. Files and pipes are always UTF-8.
pub(crate) fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    match is_terminal && !knows_utf8(|name| std::env::var_os(name)) {
        true => escape::ascii(text),
        false => Cow::Borrowed(text),
    }
}

/// Whether the locale is one of UTF-8, by the environment: the first of these variables that is set decides.
fn knows_utf8(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    set.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Takes the `^C` away that a terminal wrote behind a display: it went to a line of its own, below the last one of the
/// display, which would then be cleared a line too low.
pub(crate) fn rub_out_interrupt() {
    if std::io::stderr().is_terminal() {
        let _ = std::io::stderr().write_all(b"\r\x1b[2K\x1b[1A");
    }
}

/// Returns a message with its lines broken for the terminal that standard error is; as it is where it is none.
pub(crate) fn wrapped(text: &str) -> String {
    if !std::io::stderr().is_terminal() {
        return text.to_owned();
    }
    let width = error_options().width;
    let lines = text.lines().map(|line| {
        let indent = line.len() - line.trim_start().len() + 2;
        wrap(line, width, &" ".repeat(indent))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a line with a name, padded to `columns`, and what is said of it. In a terminal the further lines of that
/// begin below its first; files and pipes get it on one line.
pub(crate) fn entry(name: &str, columns: usize, says: &str) -> String {
    entry_within(name, columns, says, terminal_columns())
}

/// The same in one line of the terminal: what does not fit is left out at its end.
pub(crate) fn entry_in_a_line(name: &str, columns: usize, says: &str) -> String {
    let line = format!("{name:<columns$} {says}");
    match terminal_columns() {
        Some(width) if line.chars().count() > width => {
            let kept: String = line.chars().take(width.saturating_sub(1)).collect();
            format!("{}…\n", kept.trim_end())
        }
        _ => format!("{line}\n"),
    }
}

fn entry_within(name: &str, columns: usize, says: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{name:<columns$} {says}\n") };
    let says = wrap(says, width.saturating_sub(columns + 1), "");
    let line = format!("{name:<columns$} {}", says.replace('\n', &format!("\n{}", " ".repeat(columns + 1))));
    format!("{}\n", line.trim_end())
}

/// Returns a paragraph with its lines broken for the terminal that standard output is; as it is where it is none.
pub(crate) fn paragraph(says: &str, indent: &str) -> String {
    let says = terminal_columns().map_or_else(|| says.to_owned(), |width| wrap(says, width, indent));
    says + "\n"
}

/// Columns of the terminal that standard output is; `None` where it is none.
pub(crate) fn terminal_columns() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| text_options().width)
}

/// Lines of the terminal that standard output is; `None` where it is none.
pub(crate) fn terminal_rows() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| terminal_size::terminal_size_of(stdout)).flatten();
    size.map(|(_, terminal_size::Height(rows))| rows.into())
}

/// Prints to standard output. A reader that closes the pipe early (`assay runs | head`) is no error.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout();
    let text = escape::terminal(text);
    let shown = shown(&text, stdout.is_terminal());
    let printed = stdout.write_all(shown.as_bytes()).and_then(|()| stdout.flush());
    match printed {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failed::says(Exit::Errors, format!("cannot print the result: {error}")).into())
        }
        _ => Ok(()),
    }
}

impl ViewArgs {
    /// How a result is printed on standard output.
    pub(crate) fn options(&self) -> TextOptions {
        let detail = if self.explain { Detail::Full } else { Detail::Brief };
        TextOptions { detail, ..text_options() }
    }
}

/// Width and colours of standard output: those of the terminal; plain text into files and pipes.
pub(crate) fn text_options() -> TextOptions {
    let stdout = std::io::stdout();
    options_of(stdout.is_terminal(), terminal_size::terminal_size_of(stdout))
}

/// The same for a list, whose lines are cut in a terminal alone: files and pipes have no width.
pub(crate) fn list_options() -> TextOptions {
    TextOptions { width: terminal_columns().unwrap_or(usize::MAX), ..text_options() }
}

/// The same of standard error, where the display of a run is.
pub(crate) fn error_options() -> TextOptions {
    let stderr = std::io::stderr();
    options_of(stderr.is_terminal(), terminal_size::terminal_size_of(stderr))
}

fn options_of(is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> TextOptions {
    let is_wanted = match COLOR.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && knows_colors(|name| std::env::var_os(name)),
    };
    let color = if is_wanted { Color::Ansi } else { Color::Never };
    match size.filter(|_| is_terminal) {
        Some((terminal_size::Width(width), _)) => {
            TextOptions { color, width: width.into(), ..TextOptions::default() }
        }
        None => TextOptions { color, ..TextOptions::default() },
    }
}

/// Whether a terminal may get colours, by the environment.
fn knows_colors(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty())
        && variable("TERM").is_none_or(|term| term != "dumb")
}

/// What `--color` says, once it is read.
static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// Keeps what `--color` says for everything that is printed.
pub(crate) fn set_color(choice: ColorChoice) {
    // It is read once; a second call would say the same.
    let _ = COLOR.set(choice);
}

#[cfg(test)]
mod tests {
    use super::{entry_within, knows_colors, knows_utf8};

    #[test]
    fn the_first_variable_of_the_locale_that_is_set_decides_about_utf8() {
        for (set, knows) in [
            (vec![], false),
            (vec![("LANG", "de_DE.UTF-8")], true),
            (vec![("LANG", "C.utf8"), ("LC_ALL", "")], true),
            (vec![("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], false),
            (vec![("LANG", "C"), ("LC_CTYPE", "en_US.UTF-8")], true),
        ] {
            let variable = |asked: &str| {
                set.iter().find(|(name, _)| *name == asked).map(|(_, value)| std::ffi::OsString::from(value))
            };
            assert_eq!(knows_utf8(variable), knows, "{set:?}");
        }
    }

    #[test]
    fn a_dumb_terminal_gets_no_colors() {
        for (name, value, knows) in
            [("TERM", "dumb", false), ("TERM", "xterm", true), ("NO_COLOR", "1", false)]
        {
            assert_eq!(knows_colors(|asked| (asked == name).then(|| value.into())), knows, "{name}={value}");
        }
    }

    #[test]
    fn entries_fit_the_terminal_and_stay_whole_in_pipes() {
        let says = "Twelve-bay array, RAID6, 2 x 10 GbE";
        assert_eq!(entry_within("raid6", 7, says, None), format!("raid6   {says}\n"));
        assert_eq!(
            entry_within("raid6", 7, says, Some(30)),
            "raid6   Twelve-bay array,\n        RAID6, 2 x 10 GbE\n"
        );
        assert_eq!(entry_within("", 3, "a b", Some(5)), "    a\n    b\n");
    }
}
