//! A line of a batch file or of PowerShell as its commands, and the lines of such a file that are text.

/// A command of a line, and what decides whether it is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'t> {
    pub(super) text: &'t str,
    pub(super) link: Link,
}

/// How a command is linked with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// By `&`, `&&` or `;`, or it is the first: it is carried out.
    Next,
    /// By `||`: only if the one before fails; and what is behind such a one.
    Failure,
    /// By `|`: it reads the output of the one before.
    Pipe,
}

/// Splits a line into its commands, outside quotation marks and brackets.
pub(super) fn parts(line: &str) -> Vec<Part<'_>> {
    let (mut parts, mut from, mut link) = (Vec::new(), 0, Link::Next);
    let (mut quote, mut depth) = (None, 0_usize);
    let mut before = None;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_escaped = matches!(before, Some('^' | '`'));
        // A sign of redirection, `2>&1`, divides nothing.
        let is_redirected = matches!(before, Some('>' | '<'));
        before = if is_escaped { None } else { Some(c) };
        if let Some(mark) = quote {
            quote = (c != mark).then_some(mark);
            continue;
        }
        match c {
            _ if is_escaped => {}
            '"' => quote = Some(c),
            // An apostrophe is one as long as no second one follows.
            '\'' if line[at + 1..].contains('\'') => quote = Some(c),
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            '&' | '|' | ';' if depth == 0 && !is_redirected => {
                let is_double = c != ';' && chars.next_if(|(_, next)| *next == c).is_some();
                if c == '&' && !is_double && is_call(&line[from..at]) {
                    continue;
                }
                push(&mut parts, &line[from..at], link);
                from = at + 1 + usize::from(is_double);
                link = match (c, is_double, link) {
                    ('|', false, _) => Link::Pipe,
                    ('|', true, _) => Link::Failure,
                    ('&', true, Link::Failure) => Link::Failure,
                    _ => Link::Next,
                };
            }
            _ => {}
        }
    }
    push(&mut parts, &line[from..], link);
    parts
}

/// Whether a `&` behind this text is the call operator of PowerShell: `& .\\diskspd.exe`, `$out = & .\\diskspd.exe`.
fn is_call(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty() || (before.starts_with('$') && before.ends_with('='))
}

fn push<'t>(parts: &mut Vec<Part<'t>>, text: &'t str, link: Link) {
    let text = text.trim().trim_start_matches('@');
    if !text.is_empty() {
        parts.push(Part { text, link });
    }
}

/// Returns the lines with those emptied that are text to PowerShell: comments `<# … #>`, and `@" … "@`.
pub(super) fn without_texts(text: &str) -> Vec<&str> {
    let mut end: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let whole = line.trim();
        if let Some(mark) = end {
            if let Some((_, behind)) =
                line.split_once(mark).filter(|_| mark == "#>" || whole.starts_with(mark))
            {
                end = None;
                lines.push(behind);
            } else {
                lines.push("");
            }
            continue;
        }
        end = match () {
            () if whole.ends_with("@\"") => Some("\"@"),
            () if whole.ends_with("@'") => Some("'@"),
            () => None,
        };
        match line.split_once("<#") {
            Some((before, comment)) if comment.contains("#>") => {
                // What is behind a comment on the same line may be a command, what is before it, too.
                let behind = comment.split_once("#>").map_or("", |(_, behind)| behind);
                lines.push(if before.trim().is_empty() { behind } else { before });
            }
            Some((before, _)) if text.contains("#>") => {
                end = Some("#>");
                lines.push(before);
            }
            _ => lines.push(line),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_outside_quotation_marks() {
        for (line, expected) in [
            ("a & b && c ; d", "Next a|Next b|Next c|Next d"),
            ("a > o 2>&1 & b", "Next a > o 2>&1|Next b"),
            ("a \"x & y\" 'z;w' & b", "Next a \"x & y\" 'z;w'|Next b"),
            ("a ^& b", "Next a ^& b"),
            ("a | tee o & b", "Next a|Pipe tee o|Next b"),
            ("a || b && c & d", "Next a|Failure b|Failure c|Next d"),
            ("& .\\a.exe -x & b", "Next & .\\a.exe -x|Next b"),
            ("$o = & .\\a.exe; b", "Next $o = & .\\a.exe|Next b"),
            ("it's & b", "Next it's|Next b"),
            ("for %%b in (1;2) do (a & b)", "Next for %%b in (1;2) do (a & b)"),
        ] {
            let said =
                parts(line).iter().map(|part| format!("{:?} {}", part.link, part.text)).collect::<Vec<_>>();
            assert_eq!(said.join("|"), expected, "{line}");
        }
    }
}
