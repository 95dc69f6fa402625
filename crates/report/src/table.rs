//! A [`Table`] of results and its renderings: text, CSV, Markdown, BBCode and HTML.
//!
//! A table is [`Column`]s and [`Row`]s. Cells hold values, not text, so that each format writes numbers in its own way:
//! people get one count of decimals per column and separated thousands, programs get plain numbers.

mod markup;
mod text;

pub(crate) use text::look_alike;

use crate::{escape, number};

/// Columns of text are not cut below this, unless the column says so.
const CUT_MIN: usize = 12;

/// Columns and rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// In the order of the cells of a row.
    pub columns: Vec<Column>,
    /// In the order of the output.
    pub rows: Vec<Row>,
    /// Title of the column that holds the names of [`Row::Group`] in CSV.
    pub group: String,
}

/// A column: its title and how its cells are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Title without the unit.
    pub title: String,
    /// Unit of the numbers; may be empty.
    pub unit: String,
    /// On which side the cells are flush.
    pub align: Align,
    /// Number of decimals of the numbers.
    pub decimals: Decimals,
    /// What happens in text that is too narrow for the whole table.
    pub narrow: Narrow,
}

/// On which side cells are flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Number of decimals in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimals {
    /// One count for the column: three digits for its smallest value, two decimals at most.
    Column,
    /// About three digits for each value by itself.
    Each,
    /// This many.
    Fixed(usize),
}

/// What happens to a column where the text is too narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    /// It stays as it is.
    Keep,
    /// Its cells lose their middle, down to this many columns.
    Cut(usize),
    /// Its cells lose words from their end, down to this many columns.
    Words(usize),
    /// It is left out; the highest rank goes first.
    Drop(u8),
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// A cell for each column.
    Cells(Vec<Cell>),
    /// A part of the row above: a job of a step, a path of a job.
    Part(Vec<Cell>),
    /// A name in the first column, and words in place of the other cells.
    Words {
        /// The first cell.
        name: String,
        /// For all others.
        words: String,
    },
    /// The name of the rows up to the next group.
    Group(String),
    /// A remark on the row above. CSV leaves it out.
    Note(String),
}

/// A value in a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing is known: `-` for people.
    Empty,
    /// Text, written as it is.
    Text(String),
    /// A number in the column's unit.
    Number(f64),
}

/// Formats for people and programs. HTML is written by the pages that hold tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Columns of text, at most this wide where the table allows it.
    Text(usize),
    /// RFC 4180, a header line first.
    Csv,
    /// GitHub-flavoured Markdown.
    Markdown,
    /// `[table]` as XenForo, vBulletin and SMF read it.
    BbCode,
}

impl Format {
    /// Returns words that stand beside a table, so that the format does not read anything into them.
    pub fn text(self, words: &str) -> String {
        match self {
            Self::Markdown => markup::markdown_text(words),
            Self::BbCode => markup::bbcode_text(words),
            Self::Text(_) | Self::Csv => escape::line(words).into_owned(),
        }
    }

    /// Returns lines that are shown as they are, each column below the other.
    pub(crate) fn verbatim(self, lines: &str) -> String {
        match self {
            Self::Markdown => format!("```text\n{lines}```\n"),
            Self::BbCode => format!("[code]\n{lines}[/code]\n"),
            Self::Text(_) | Self::Csv => lines.to_owned(),
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new(), group: "Group".to_owned() }
    }

    /// Appends a row of cells.
    pub fn push<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(Row::Cells(cells.into()));
    }

    /// Returns the whole table in a format, each line with its end.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text(width) => self.text(width).text,
            Format::Csv => self.csv(),
            Format::Markdown => self.markdown(),
            Format::BbCode => self.bbcode(),
        }
    }

    /// Returns the cells of all rows as people read them; empty for rows without cells.
    fn written(&self) -> Vec<Vec<String>> {
        let mut written: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| vec![String::new(); row.cells().map_or(0, |_| self.columns.len())])
            .collect();
        for (index, column) in self.columns.iter().enumerate() {
            let numbers: Vec<Option<f64>> = self.rows.iter().map(|row| row.number(index)).collect();
            let texts = column.decimals.write(&numbers);
            for (row, (out, text)) in self.rows.iter().zip(written.iter_mut().zip(texts)) {
                let Some(cells) = row.cells() else { continue };
                out[index] = match cells.get(index) {
                    Some(Cell::Text(words)) => escape::line(words).into_owned(),
                    Some(Cell::Number(_)) => number::separated(&text),
                    Some(Cell::Empty) | None if column.align == Align::Right => "-".to_owned(),
                    Some(Cell::Empty) | None => String::new(),
                };
            }
        }
        written
    }
}

impl Column {
    /// A column of text that may be cut.
    pub fn text(title: &str) -> Self {
        let (align, narrow) = (Align::Left, Narrow::Cut(CUT_MIN));
        Self { title: title.to_owned(), unit: String::new(), align, decimals: Decimals::Each, narrow }
    }

    /// A column of numbers of a unit, with one count of decimals.
    pub fn number(title: &str, unit: &str) -> Self {
        Self {
            title: title.to_owned(),
            unit: unit.to_owned(),
            align: Align::Right,
            decimals: Decimals::Column,
            narrow: Narrow::Keep,
        }
    }

    /// The same with other decimals.
    #[must_use]
    pub fn decimals(self, decimals: Decimals) -> Self {
        Self { decimals, ..self }
    }

    /// The same with another answer to narrow text.
    #[must_use]
    pub fn narrow(self, narrow: Narrow) -> Self {
        Self { narrow, ..self }
    }

    /// The same with its cells flush on a side.
    #[must_use]
    pub fn align(self, align: Align) -> Self {
        Self { align, ..self }
    }

    /// Returns the title with the unit: `Avg ms`.
    pub fn heading(&self) -> String {
        format!("{} {}", self.title, self.unit).trim().to_owned()
    }
}

impl Decimals {
    fn write(self, values: &[Option<f64>]) -> Vec<String> {
        match self {
            Self::Column => number::column(values),
            Self::Each => values.iter().map(|v| v.map_or_else(|| "-".to_owned(), number::short)).collect(),
            Self::Fixed(count) => values.iter().map(|v| number::cell(*v, count)).collect(),
        }
    }
}

impl Row {
    fn cells(&self) -> Option<&[Cell]> {
        match self {
            Self::Cells(cells) | Self::Part(cells) => Some(cells),
            Self::Words { .. } | Self::Group(_) | Self::Note(_) => None,
        }
    }

    fn number(&self, index: usize) -> Option<f64> {
        match self.cells()?.get(index)? {
            Cell::Number(value) => Some(*value),
            Cell::Empty | Cell::Text(_) => None,
        }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Number(value) } else { Self::Empty }
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::from)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(text.to_owned()) }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(text) }
    }
}
