//! Reads TOML, plans and arrays alike, so that every complaint names the line, the field and, for a misspelt word, the
//! nearest valid one.
//!
//! A [`Table`] hands out its values by key and remembers which were asked for; [`Table::finish`] refuses what
//! nobody asked for. That is all the schema there is: the reading code lists each key once.

use std::cell::{OnceCell, RefCell};
use std::fmt::Display;
use std::str::FromStr;

use crate::foreign_word::{field_called, of_an_io};
use crate::plan_error::{Complaints, PlanError, Subject};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Words that an error lists at most.
const WORDS_MAX: usize = 30;

/// The text being read and what it is called in messages.
#[derive(Debug)]
pub struct Source<'t> {
    origin: &'t str,
    text: &'t str,
    /// Offsets of the first byte of each line. `None` where a line number says nothing: a value from the command line.
    lines: Option<OnceCell<Vec<usize>>>,
    pub(crate) complaints: Complaints,
}

impl<'t> Source<'t> {
    /// A file's text.
    pub fn new(origin: &'t str, text: &'t str) -> Self {
        Self { origin, text, lines: Some(OnceCell::new()), complaints: Complaints::default() }
    }

    /// A single value from the command line.
    pub(crate) fn of_option(origin: &'t str, text: &'t str) -> Self {
        Self { origin, text, lines: None, complaints: Complaints::default() }
    }

    /// Parses the text as TOML; syntax errors carry their line.
    pub fn parse(&self) -> Result<DeTable<'_>, PlanError> {
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            PlanError::new(place(self, offset, ""), error.message().trim())
        })
    }

    /// Line of a byte offset, from 1. Counted once for all: every table asks for its line.
    fn line(&self, offset: usize) -> Option<usize> {
        let starts = self.lines.as_ref()?.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
        });
        Some(starts.partition_point(|start| *start <= offset))
    }

    fn complain(&self, subject: Subject, path: &str, message: impl Into<String>) -> PlanError {
        let place = place(self, subject.start(), path);
        self.complaints.note(&place, subject);
        PlanError::new(place, message)
    }
}

/// A table being read, with the path that leads to it.
#[derive(Debug)]
pub struct Table<'t> {
    source: &'t Source<'t>,
    table: &'t DeTable<'t>,
    /// Where the table itself begins, for complaints about what is missing.
    start: usize,
    /// `test "sweep"` or `access[0]`; empty at the top.
    path: String,
    known: RefCell<Vec<&'static str>>,
}

/// A value found under a key.
#[derive(Debug)]
pub struct Value<'t> {
    source: &'t Source<'t>,
    value: &'t Spanned<DeValue<'t>>,
    path: String,
}

impl<'t> Table<'t> {
    /// The whole of a source, as it was parsed.
    pub fn top(source: &'t Source<'t>, table: &'t DeTable<'t>) -> Self {
        Self { source, table, start: 0, path: String::new(), known: RefCell::default() }
    }

    /// Calls the table by a name that says more than its place: `test "sweep"`.
    pub fn rename(&mut self, path: String) {
        self.path = path;
    }

    /// The value under `key`, if there is one.
    pub fn get(&self, key: &'static str) -> Option<Value<'t>> {
        self.known.borrow_mut().push(key);
        let value = self.table.get(key)?;
        let is_passed = self.source.complaints.passes_over(value.span().start, self.start);
        (!is_passed).then(|| Value { source: self.source, value, path: join(&self.path, key) })
    }

    /// The value under `key`, read from a string or number as a `T`.
    pub fn parsed<T: FromStr<Err: Display>>(&self, key: &'static str) -> Result<Option<T>, PlanError> {
        self.get(key).map(|v| v.parsed()).transpose()
    }

    /// The whole number under `key`, within `range`.
    pub fn integer(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, PlanError> {
        self.get(key).map(|v| v.integer(range)).transpose()
    }

    /// Returns true if nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Complains about the table as a whole.
    pub fn complain(&self, message: impl Into<String>) -> PlanError {
        self.source.complain(Subject::Table(self.start), &self.path, message)
    }

    /// Complains about a key that is not there.
    pub fn lacks(&self, key: &str, message: impl Into<String>) -> PlanError {
        self.source.complain(Subject::Table(self.start), &join(&self.path, key), message)
    }

    /// Refuses every key that nobody asked for. Call it last.
    pub fn finish(self) -> Result<(), PlanError> {
        self.strays().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns a complaint about each key that nobody asked for, in the order of the file. Call it last.
    pub fn strays(&self) -> Vec<PlanError> {
        let known = self.known.borrow();
        let is_passed = |at| self.source.complaints.passes_over(at, self.start);
        let is_stray = |key: &str| !known.contains(&key);
        let stray = self
            .table
            .iter()
            .filter(|(key, _)| is_stray(key.get_ref().as_ref()) && !is_passed(key.span().start));
        let mut keys: Vec<_> = stray.map(|(key, _)| key).collect();
        // In the order of the file, not of the map: that is how a reader looks for them.
        keys.sort_by_key(|key| key.span().start);
        keys.into_iter()
            .map(|key| {
                let word = key.get_ref().as_ref();
                let says = format!("there is no such field{}", suggest(word, &known));
                self.source.complain(Subject::Part(key.span().start), &join(&self.path, word), says)
            })
            .collect()
    }
}

impl<'t> Value<'t> {
    /// Line that it stands in, from 1.
    pub fn line(&self) -> usize {
        self.source.line(self.value.span().start).unwrap_or(1)
    }

    /// Complains about it.
    pub fn complain(&self, message: impl Into<String>) -> PlanError {
        let start = self.value.span().start;
        let is_group = matches!(self.value.get_ref(), DeValue::Array(_) | DeValue::Table(_));
        let subject = if is_group { Subject::Table(start) } else { Subject::Part(start) };
        self.source.complain(subject, &self.path, message)
    }

    /// The value, which must be a text.
    pub fn string(&self) -> Result<&'t str, PlanError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref()),
            other => Err(self.complain(format!("must be a text in quotes, not {}", kind(other)))),
        }
    }

    /// The value, which must be true or false.
    pub fn boolean(&self) -> Result<bool, PlanError> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            other => Err(self.complain(format!("must be true or false, not {}", kind(other)))),
        }
    }

    /// The value as text, whether it was written as a string or as a number.
    pub fn scalar(&self) -> Result<String, PlanError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.to_string()),
            DeValue::Float(number) => Ok(number.to_string()),
            other => Err(self.complain(format!("must be a number or a text in quotes, not {}", kind(other)))),
        }
    }

    /// The value, read from a string or number as a `T`.
    pub fn parsed<T: FromStr<Err: Display>>(&self) -> Result<T, PlanError> {
        self.scalar()?.parse().map_err(|error: T::Err| self.complain(error.to_string()))
    }

    /// The value, a whole number within `range`.
    pub fn integer(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, PlanError> {
        let text = self.scalar()?;
        match text.parse::<u64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.complain(format!(
                "`{text}` must be a whole number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// The value, which must be a number as TOML writes them; `wanted` says what would do.
    pub fn finite(&self, wanted: &str) -> Result<f64, PlanError> {
        let text = match self.value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            other => return Err(self.complain(format!("must be {wanted}, not {}", kind(other)))),
        };
        let number = text.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.complain(format!("`{text}` is not a decimal number")))
    }

    /// The value, a number within `range`.
    pub fn number(&self, range: std::ops::RangeInclusive<f64>) -> Result<f64, PlanError> {
        let text = self.scalar()?;
        match text.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.complain(format!(
                "`{text}` must be a number from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// One of a closed set of words; a number may be one of them, as the level of a RAID is.
    pub fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, PlanError> {
        let text = self.scalar()?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.as_str()) {
            return Ok(*value);
        }
        let known: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
        Err(self.complain(format!("`{text}` is not known{}", suggest(&text, &known))))
    }

    /// Returns true if it is a text in quotes.
    pub fn is_text(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::String(_))
    }

    /// Returns true if it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    /// The value, which must be a table.
    pub fn table(&self) -> Result<Table<'t>, PlanError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Table {
                source: self.source,
                table,
                start: self.value.span().start,
                path: self.path.clone(),
                known: RefCell::default(),
            }),
            other => Err(self.complain(format!("must be a table, not {}", kind(other)))),
        }
    }

    /// The elements of an array, which must not be empty nor have more than `most` of `what`.
    pub fn array_up_to(&self, most: usize, what: &str) -> Result<Vec<Value<'t>>, PlanError> {
        match self.value.get_ref() {
            DeValue::Array(values) if values.len() > most => {
                Err(self.complain(format!("has {} {what}; at most {most} are allowed", values.len())))
            }
            _ => self.array(),
        }
    }

    /// Whether an element was complained about already.
    fn passes_over(&self, element: usize) -> bool {
        self.source.complaints.passes_over(element, self.value.span().start)
    }

    /// The elements of an array, which must not be empty.
    pub fn array(&self) -> Result<Vec<Value<'t>>, PlanError> {
        match self.value.get_ref() {
            DeValue::Array(values) if values.is_empty() => Err(self.complain("must not be empty")),
            DeValue::Array(values) => Ok(values
                .iter()
                .enumerate()
                .filter(|(_, value)| !self.passes_over(value.span().start))
                .map(|(i, value)| Value { source: self.source, value, path: format!("{}[{i}]", self.path) })
                .collect()),
            // `[test]` is what everybody writes once.
            DeValue::Table(_) if ["test", "limit", "job"].contains(&self.key()) => {
                let key = if self.key() == "job" { "test.job" } else { self.key() };
                Err(self.complain(format!("there may be several: write [[{key}]] in place of [{key}]")))
            }
            other => Err(self.complain(format!("must be an array [ … ], not {}", kind(other)))),
        }
    }

    fn key(&self) -> &str {
        self.path.rsplit(['.', ' ']).next().unwrap_or_default()
    }
}

fn place(source: &Source<'_>, offset: usize, path: &str) -> String {
    let origin = source.origin;
    let Some(line) = source.line(offset) else { return origin.to_owned() };
    if path.is_empty() { format!("{origin}:{line}") } else { format!("{origin}:{line}: {path}") }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path if path.ends_with('"') => format!("{path}: {key}"),
        path => format!("{path}.{key}"),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// `; did you mean "outstanding"?` when a known word is near, else the list of what would do.
pub fn suggest(word: &str, known: &[&str]) -> String {
    let called = field_called(word).filter(|(field, _)| known.contains(field));
    let near = nearest(word, known.iter().copied()).or_else(|| begun(word, known));
    if let Some((field, given)) = called {
        return format!("; `{word}` is `{field}` here: {given}");
    }
    if ["limit", "limits", "threshold", "fail_if"].contains(&word) && known.contains(&"access") {
        return "; limits stand beside the tests: [[limit]] with fail_if = \"p99 > 20ms\"".to_owned();
    }
    if let Some(given) = of_an_io(word).filter(|_| known.contains(&"access")) {
        return format!("; it belongs to the access of a test: {given}");
    }
    match near {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; use one of: {}", some_of(known)),
    }
}

/// The only word of `known` that begins with `word`, if that is long enough to mean it.
fn begun<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let mut beginning = known.iter().filter(|known| word.len() >= 3 && known.starts_with(word));
    let first = beginning.next()?;
    beginning.next().is_none().then_some(*first)
}

/// The words, or the first of them where there are too many to read.
fn some_of(words: &[&str]) -> String {
    match words.get(..WORDS_MAX) {
        Some(first) if words.len() > WORDS_MAX => {
            format!("{}, and {} more", first.join(", "), words.len() - WORDS_MAX)
        }
        _ => words.join(", "),
    }
}

/// The word of `known` that is closest to `word`, in any case, if it is close enough to be a slip of the pen.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|k| (distance(&word.to_ascii_lowercase(), &k.to_ascii_lowercase()), k))
        .min()
        .filter(|(distance, k)| *distance <= 1 + k.chars().count() / 3 && *distance < k.chars().count())
        .map(|(_, k)| k)
}

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best.min(rows[i - 2][j - 2] + 1)
                } else {
                    best
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_far_ones_are_listed() {
        let known = ["outstanding", "workers", "warmup"];
        assert_eq!(suggest("outstnading", &known), "; did you mean `outstanding`?");
        assert_eq!(suggest("worker", &known), "; did you mean `workers`?");
        assert_eq!(suggest("zebra", &known), "; use one of: outstanding, workers, warmup");
        let of_a_test = ["outstanding", "access"];
        let wanted = "; it belongs to the access of a test: access = { size = \"4KiB\" }";
        assert_eq!(suggest("size", &of_a_test), wanted);
        assert_eq!(suggest("bs", &of_a_test), wanted);
        assert!(suggest("limit", &of_a_test).contains("[[limit]] with fail_if"));
        assert_eq!(suggest("bs", &["size", "read"]), "; `bs` is `size` here: size=4KiB");
    }

    #[test]
    fn distance_counts_edits_and_swaps() {
        for (a, b, expected) in [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
