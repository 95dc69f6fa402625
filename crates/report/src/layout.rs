//! Text in columns: breaking, cutting, padding.

/// Breaks at spaces; lines after the first begin with `indent`. A word longer than a line stays whole.
pub fn wrap(text: &str, columns: usize, indent: &str) -> String {
    let lead: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = Vec::new();
    let mut line = lead;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_start = line.trim().is_empty();
        // A percent sign stays with its number.
        let sign = words.peek().filter(|next| next.starts_with('%')).map_or(0, |next| 1 + width(next));
        if !is_start && width(&line) + 1 + width(word) + sign > columns && !word.starts_with('%') {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        } else if !is_start {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

/// Cut or padded to a width; what is cut ends in an ellipsis.
pub(crate) fn left(text: &str, columns: usize) -> String {
    let have = width(text);
    if have <= columns {
        return format!("{text}{}", " ".repeat(columns - have));
    }
    // The end of a name tells steps of a sweep apart, so the middle goes.
    let tail = columns / 2;
    let head: String = text.chars().take(columns - tail - 1).collect();
    let end: String = text.chars().skip(have - tail).collect();
    format!("{head}…{end}")
}

/// The same, but what is cut are words from the end, as far as one is left.
pub(crate) fn left_words(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return left(text, columns);
    }
    let fits = |at: &usize| width(&text[..*at]) + " …".chars().count() <= columns;
    let mut ends = text.match_indices(' ').map(|(at, _)| at);
    match ends.rfind(fits) {
        Some(at) => left(&format!("{} …", text[..at].trim_end_matches([',', ';', ':'])), columns),
        None => left(text, columns),
    }
}

/// Columns of text without wide or combining letters, which no number and hardly a name has.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}
