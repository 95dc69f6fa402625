//! Text from elsewhere on its way out. Names of files, labels, plans, answers of servers and foreign documents may hold
//! characters that command a terminal, hide text or turn its direction around; they leave as their codes.
//!
//! The codes are those of JSON (`\u001b`), so that a JSON document stays one. Colours of Assay's own are characters of
//! [`Style`] until [`terminal`] writes them out: a sequence in foreign text is never mistaken for one.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How words are set off on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Titles of columns.
    Title,
    /// A critical finding.
    Critical,
    /// A warning.
    Warning,
    /// Anything else that is worth a look.
    Info,
}

/// Ends a style. Noncharacters of Unicode, which no text has, stand for styles.
const PLAIN: char = '\u{fdd0}';

impl Style {
    const ALL: [Self; 4] = [Self::Title, Self::Critical, Self::Warning, Self::Info];

    fn mark(self) -> char {
        match self {
            Self::Title => '\u{fdd1}',
            Self::Critical => '\u{fdd2}',
            Self::Warning => '\u{fdd3}',
            Self::Info => '\u{fdd4}',
        }
    }

    fn sequence(self) -> &'static str {
        match self {
            Self::Title => "\u{1b}[1m",
            Self::Critical => "\u{1b}[1;31m",
            Self::Warning => "\u{1b}[33m",
            Self::Info => "\u{1b}[36m",
        }
    }

    /// Returns words in this style, for [`terminal`].
    pub fn of(self, words: &str) -> String {
        format!("{}{words}{PLAIN}", self.mark())
    }
}

/// Returns true for characters that act on their surroundings instead of being seen.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns text with characters that are not seen written as their codes. Ends of lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(of_lines(text, push))
}

/// Writes each character by `push`, but for ends of lines as other systems have them: they move nothing that the end of
/// a line does not.
fn of_lines(text: &str, push: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split("\r\n").enumerate() {
        if index > 0 {
            out.push_str("\r\n");
        }
        line.chars().for_each(|c| push(&mut out, c));
    }
    out
}

/// Returns text that stays on its line.
pub fn line(text: &str) -> Cow<'_, str> {
    match visible(text) {
        one if one.contains(['\n', '\t']) => Cow::Owned(one.replace(['\r', '\n', '\t'], " ")),
        one => one,
    }
}

/// Returns text as a terminal gets it: styles as sequences, everything else visible.
pub fn terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let styled = |out: &mut String, c: char| match Style::ALL.into_iter().find(|style| style.mark() == c) {
        Some(style) => out.push_str(style.sequence()),
        None if c == PLAIN => out.push_str("\u{1b}[0m"),
        None => push(out, c),
    };
    Cow::Owned(of_lines(text, styled))
}

/// Returns text for a terminal that shows ASCII only: Assay's own signs become others of the same width, and what else
/// there is stays, above all names, of which the same signs may be parts.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut before) = (String::with_capacity(text.len()), None);
    let mut signs = text.chars().peekable();
    while let Some(c) = signs.next() {
        out.push(ascii_sign(before, c, signs.peek().copied()));
        before = Some(c);
    }
    Cow::Owned(out)
}

fn ascii_sign(before: Option<char>, c: char, after: Option<char>) -> char {
    // From one level of a bar or of a shade to the next more of the place is black.
    const BARS: [char; 8] = ['_', '.', '-', '=', '+', '*', '%', '#'];
    const SHADES: [char; 3] = ['.', ':', '+'];
    let is_free = |side: Option<char>| side.is_none_or(char::is_whitespace);
    let is_unit = before.is_none_or(|c| c.is_whitespace() || c.is_ascii_digit()) && after == Some('s');
    match c {
        'µ' if is_unit => 'u',
        '–' if is_free(before) && is_free(after) => '-',
        '·' if is_free(before) && is_free(after) => '.',
        '×' if is_free(before) => 'x',
        '…' if is_free(before) || is_free(after) => '~',
        '±' | '≈' => '~',
        '−' => '-',
        '★' => '*',
        '▁'..='█' => BARS[c as usize - '▁' as usize],
        '░'..='▓' => SHADES[c as usize - '░' as usize],
        other => other,
    }
}

/// Appends a character, or its code.
pub(crate) fn push(out: &mut String, c: char) {
    if !is_hidden(c) {
        return out.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_unicode_gets_signs_of_the_same_width() {
        assert_eq!(ascii("p99 12 µs ±% ▁▄█ ░▒▓█ – a… ×2"), "p99 12 us ~% _=# .:+# - a~ x2");
        let names = "`it’s/µ.dat` nofile–µ a·b µm 3×4 Mo…vie";
        assert_eq!(ascii(names), names);
        assert_eq!(ascii("größe"), "größe", "a name of somebody else is not touched");
    }

    #[test]
    fn what_commands_a_terminal_leaves_as_its_code() {
        for (text, expected) in [
            ("plain text, ä, 你, 👩‍🚀\n\tline", "plain text, ä, 你, 👩‍🚀\n\tline"),
            ("\u{1b}[2Jgone", "\\u001b[2Jgone"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m\u{7f}\r\u{8}", "\\u009b31m\\u007f\\u000d\\u0008"),
            ("DOS\r\nlines\r\n\r\n", "DOS\r\nlines\r\n\r\n"),
            ("a\u{202e}txt.exe\u{2066}", "a\\u202etxt.exe\\u2066"),
            ("\u{feff}\u{2028}\u{200b}", "\\ufeff\\u2028\\u200b"),
            ("\u{e0041}", "\\udb40\\udc41"),
        ] {
            assert_eq!(visible(text), expected);
            assert_eq!(terminal(text), expected);
            let json = serde_json::json!({ "a": text }).to_string();
            let read: serde_json::Value = serde_json::from_str(&visible(&json)).expect("it is still JSON");
            assert_eq!(read["a"], text, "and means the same");
        }
        assert_eq!(line("a\nb\tc\u{1b}"), "a b c\\u001b");
        assert_eq!(line("a\r\nb"), "a  b");
        assert_eq!(terminal(&Style::Critical.of("x")), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(visible(&Style::Info.of("x")), "\\ufdd4x\\ufdd0");
    }
}
