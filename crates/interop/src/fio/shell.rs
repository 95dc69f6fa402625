//! The commands of a shell line or script: words, quotation marks, continued lines, variables.
//!
//! No shell is run. Redirections and what follows a pipe concern the output of a command only, so they are skipped.

use std::collections::HashMap;

use super::words::{is_before_command, is_fio};

/// The longest word after variables are put in, bytes.
const WORD_BYTES_MAX: usize = 64 << 10;
/// A command with its words; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// Line on which it begins, from 1.
    pub(crate) line: usize,
    pub(crate) words: Vec<String>,
    pub(crate) link: Link,
    /// Whether the shell goes on while it runs: `&` follows.
    pub(crate) is_background: bool,
}

/// What decides whether a command is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing.
    Always,
    /// The command before succeeds: `&&`.
    Success,
    /// The command before fails: `||`.
    Failure,
}

/// Returns the commands of a text; an error has its line.
pub(crate) fn commands(text: &str) -> Result<Vec<Command>, (usize, String)> {
    let mut splitter = Splitter::new(text);
    splitter.split()?;
    Ok(splitter.commands)
}

/// Whether a word is nothing but a variable. Unquoted, its value may be several words.
pub(crate) fn is_variable(word: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.strip_prefix('$').is_some_and(|rest| {
        is_name(rest.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(rest))
    })
}

/// Puts the values of `$NAME` and `${NAME}` in: those of the script, then those of the environment.
pub(crate) fn expanded(
    word: &str,
    known: &HashMap<String, String>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), word);
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let (name, behind) = match after.strip_prefix('{') {
            Some(inner) => inner.split_once('}').ok_or("`${` has no closing `}`")?,
            None => {
                let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                after.split_at(end.unwrap_or(after.len()))
            }
        };
        if name.is_empty() {
            text.push('$');
        } else {
            // `${1:-/dev/sdb}`: the value, or what is behind `:-`.
            let (name, default) =
                name.split_once(":-").map_or((name, None), |(name, value)| (name, Some(value)));
            let value = known.get(name).cloned().or_else(|| variable(name)).or(default.map(str::to_owned));
            text.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
        }
        if text.len() > WORD_BYTES_MAX {
            return Err("a word is too long with its variables".to_owned());
        }
        rest = behind;
    }
    Ok(text + rest)
}

/// What a text is split with.
struct Splitter<'t> {
    rest: Chars<'t>,
    line: usize,
    /// Line on which the present command began.
    began: usize,
    word: Option<String>,
    words: Vec<String>,
    fate: Fate,
    link: Link,
    /// Line of a command of fio behind a pipe.
    piped: Option<usize>,
    /// What ends each here-document that begins behind this line.
    documents: Vec<String>,
    commands: Vec<Command>,
}

type Chars<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// What becomes of the words that follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// The next one names a file of a redirection.
    NextSkipped,
    /// The next one names a command behind a pipe.
    Piped,
    /// Those of that command.
    Skipped,
}

impl<'t> Splitter<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            rest: text.chars().peekable(),
            line: 1,
            began: 1,
            word: None,
            words: Vec::new(),
            fate: Fate::Kept,
            link: Link::Always,
            piped: None,
            documents: Vec::new(),
            commands: Vec::new(),
        }
    }

    fn split(&mut self) -> Result<(), (usize, String)> {
        while let Some(c) = self.rest.next() {
            match c {
                '\'' | '"' => self.quoted(c)?,
                // Shells continue a line by one of these at its end: sh, cmd.exe, PowerShell.
                '\\' | '^' | '`' if self.is_at_line_end() => self.continue_line(),
                '\\' if self.is_behind_drive() && self.rest.next_if_eq(&':').is_some() => {
                    self.word.get_or_insert_default().push_str("\\:");
                }
                // The last of a prompt, `PS C:\fio>`, is no redirection.
                '>' if self.words.len() < 2 && self.is_in_windows_path() => self.push(c),
                '\\' if self.is_in_windows_path() => self.push(c),
                '\\' => {
                    let next = self.rest.next();
                    self.word.get_or_insert_default().extend(next);
                }
                '\n' => {
                    self.end_command(Link::Always);
                    self.line += 1;
                    self.skip_documents();
                }
                ';' => self.end_command(Link::Always),
                '&' if self.rest.peek() == Some(&'>') => self.end_word(),
                '&' if self.rest.next_if_eq(&'&').is_some() => self.end_command(Link::Success),
                '&' => self.background(),
                '|' if self.rest.next_if_eq(&'|').is_some() => self.end_command(Link::Failure),
                '|' => {
                    self.end_word();
                    self.rest.next_if_eq(&'&');
                    self.fate = Fate::Piped;
                }
                '<' if self.rest.peek() == Some(&'<') => self.document(),
                '>' | '<' => self.redirect(),
                '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '$' if self.rest.peek() == Some(&'(') => self.substitution(),
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        self.end_command(Link::Always);
        match self.piped {
            Some(line) => {
                Err((line, "fio behind a pipe is not supported; give the command by itself".to_owned()))
            }
            None => Ok(()),
        }
    }

    /// `fio … &`: marks the command that ends here. A prompt of PowerShell has a `&` before the command.
    fn background(&mut self) {
        self.end_word();
        if self.words.is_empty() {
            return;
        }
        self.end_command(Link::Always);
        if let Some(last) = self.commands.last_mut() {
            last.is_background = true;
        }
    }

    /// `<<EOF`, `<<-'EOF'`; `<<<` has its text on the same line.
    fn document(&mut self) {
        self.end_word();
        self.rest.next();
        if self.rest.next_if_eq(&'<').is_some() {
            return self.redirect();
        }
        self.rest.next_if_eq(&'-');
        while self.rest.next_if(|c| [' ', '\t'].contains(c)).is_some() {}
        let mut end = String::new();
        while let Some(c) = self.rest.next_if(|c| !c.is_whitespace() && !";&|<>".contains(*c)) {
            end.extend((!['\'', '"', '\\'].contains(&c)).then_some(c));
        }
        self.documents.push(end);
    }

    /// Skips the here-documents of the line that has ended: they are no commands.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            while self.rest.peek().is_some() {
                let mut line = String::new();
                while let Some(c) = self.rest.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                self.line += usize::from(self.rest.next().is_some());
                if line.trim_start_matches('\t').trim_end_matches('\r') == end {
                    break;
                }
            }
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quoted(&mut self, mark: char) -> Result<(), (usize, String)> {
        let began = self.line;
        let mut text = String::new();
        loop {
            match self.rest.next() {
                None => return Err((began, "a quotation mark is not closed".to_owned())),
                Some(c) if c == mark => break,
                Some('\\') if mark == '"' => match self.rest.next() {
                    Some('\n') => self.line += 1,
                    Some(c @ ('"' | '\\' | '$' | '`')) => text.push(c),
                    Some(c) => text.extend(['\\', c]),
                    None => {}
                },
                Some(c) => {
                    self.line += usize::from(c == '\n');
                    text.push(c);
                }
            }
        }
        self.word.get_or_insert_default().push_str(&text);
        Ok(())
    }

    /// Whether nothing but the end of the line, or of the text, follows.
    fn is_at_line_end(&self) -> bool {
        let mut ahead = self.rest.clone();
        loop {
            match ahead.next() {
                None | Some('\n') => return true,
                Some('\r' | ' ' | '\t') => {}
                Some(_) => return false,
            }
        }
    }

    /// Whether a single letter is all there is of a name: that of a drive of Windows, whose colon is typed with a
    /// backslash in the shells of Windows. Anywhere else one of a POSIX shell takes the backslash away.
    fn is_behind_drive(&self) -> bool {
        let word = self.word.as_deref().unwrap_or_default();
        let name = word.rsplit(['=', ':']).next().unwrap_or_default();
        name.len() == 1 && name.starts_with(|c: char| c.is_ascii_alphabetic())
    }

    /// Whether the word began as a path of Windows, `.\fio.exe` or `C:\fio\fio.exe`.
    fn is_in_windows_path(&self) -> bool {
        let word = self.word.as_deref().unwrap_or_default();
        let is_on_drive = word.starts_with(|c: char| c.is_ascii_alphabetic()) && word[1..].starts_with(':');
        is_on_drive || matches!(word.split('\\').next(), Some("." | ".."))
    }

    fn continue_line(&mut self) {
        self.end_word();
        while self.rest.next_if(|c| *c != '\n').is_some() {}
        if self.rest.next().is_some() {
            self.line += 1;
        }
    }

    /// `> file`, `2>&1`, `>> file`, `< file`.
    fn redirect(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        while self.rest.next_if(|c| matches!(c, '>' | '<' | '&')).is_some() {}
        if self.fate == Fate::Kept {
            self.fate = Fate::NextSkipped;
        }
    }

    /// `$(date)` is copied as it is: only a shell knows what it becomes.
    fn substitution(&mut self) {
        self.push('$');
        let mut depth = 0_usize;
        while let Some(c) = self.rest.next_if(|c| *c != '\n') {
            self.push(c);
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.fate {
            Fate::Kept => {
                if self.words.is_empty() {
                    self.began = self.line;
                }
                self.words.push(word);
            }
            Fate::NextSkipped => self.fate = Fate::Kept,
            Fate::Piped if is_fio(&word) => {
                self.piped = self.piped.or(Some(self.line));
                self.fate = Fate::Skipped;
            }
            Fate::Piped if is_before_command(&word) => {}
            Fate::Piped | Fate::Skipped => self.fate = Fate::Skipped,
        }
    }

    /// A line of options only goes on with the command before it. `next` links the command behind.
    fn end_command(&mut self, next: Link) {
        self.end_word();
        self.fate = Fate::Kept;
        let words = std::mem::take(&mut self.words);
        let Some(first) = words.first() else {
            // A line may end behind `&&`.
            self.link = if next == Link::Always { self.link } else { next };
            return;
        };
        let link = std::mem::replace(&mut self.link, next);
        match self.commands.last_mut() {
            Some(last) if first.starts_with('-') => last.words.extend(words),
            _ => self.commands.push(Command { line: self.began, words, link, is_background: false }),
        }
    }
}
