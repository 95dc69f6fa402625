//! A table as columns of text that respect a width.

use super::{Align, Narrow, Row, Table};
use crate::layout::{left, left_words, width, wrap};

/// Spaces between columns, and what they shrink to before any cell is cut.
const GAP: usize = 2;
const GAP_NARROW: usize = 1;

/// A table as text, with what the width left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    /// Title line, rule and rows, each with its end of line.
    pub text: String,
    /// Headings of the columns that did not fit.
    pub dropped: Vec<String>,
}

/// Which columns are shown, how wide each is, and how far apart.
struct Layout {
    shown: Vec<usize>,
    widths: Vec<usize>,
    gap: usize,
}

impl Layout {
    /// Number of columns of a whole line.
    fn total(&self) -> usize {
        self.widths.iter().sum::<usize>() + self.gap * self.shown.len().saturating_sub(1)
    }
}

impl Table {
    /// Returns the table as text that is at most `columns` wide where cutting and leaving out columns allow it.
    pub fn text(&self, columns: usize) -> TextTable {
        let written = self.written();
        let layout = self.layout(&written, columns);
        let mut text =
            self.line(&layout, &self.columns.iter().map(super::Column::heading).collect::<Vec<_>>());
        text.push_str(&"-".repeat(layout.total()));
        text.push('\n');
        for (index, (row, cells)) in self.rows.iter().zip(&written).enumerate() {
            if index > 0 && matches!(row, Row::Group(_)) {
                text.push('\n');
            }
            text.push_str(&self.row(&layout, row, cells, columns));
        }
        let hidden = |index: &usize| !layout.shown.contains(index);
        let dropped = (0..self.columns.len()).filter(hidden).map(|index| self.columns[index].heading());
        TextTable { text, dropped: dropped.collect() }
    }

    /// Returns true if cutting makes different cells of a column look alike.
    pub(crate) fn confuses(&self, columns: usize) -> bool {
        let written = self.written();
        let layout = self.layout(&written, columns);
        layout.shown.iter().zip(&layout.widths).any(|(index, room)| {
            look_alike(written.iter().filter_map(|row| row.get(*index).map(String::as_str)), *room)
        })
    }

    /// Narrower gaps come first, then shorter cells, then fewer columns.
    fn layout(&self, written: &[Vec<String>], columns: usize) -> Layout {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let widths: Vec<usize> = shown.iter().map(|index| self.widest(written, *index)).collect();
            let mut layout = Layout { shown: shown.clone(), widths, gap: GAP };
            if layout.total() > columns {
                layout.gap = GAP_NARROW;
            }
            self.cut(&mut layout, columns);
            let rank = |index: &usize| match self.columns[*index].narrow {
                Narrow::Drop(rank) => Some(rank),
                Narrow::Keep | Narrow::Cut(_) | Narrow::Words(_) => None,
            };
            // Of equal ranks the last goes first.
            let next = shown.iter().copied().filter(|i| rank(i).is_some()).max_by_key(|i| (rank(i), *i));
            match next {
                Some(next) if layout.total() > columns => shown.retain(|index| *index != next),
                _ => return layout,
            }
        }
    }

    fn widest(&self, written: &[Vec<String>], index: usize) -> usize {
        let cells = written.iter().filter_map(|row| row.get(index)).map(|cell| width(cell));
        let names = self.rows.iter().filter_map(|row| match row {
            Row::Words { name, .. } if index == 0 => Some(width(name)),
            _ => None,
        });
        cells.chain(names).max().unwrap_or(0).max(width(&self.columns[index].heading()))
    }

    /// Takes what is too much from the widest column that may be cut, again and again.
    fn cut(&self, layout: &mut Layout, columns: usize) {
        while layout.total() > columns {
            let spare = |at: usize| match self.columns[layout.shown[at]].narrow {
                Narrow::Cut(least) | Narrow::Words(least) => layout.widths[at].saturating_sub(least),
                Narrow::Keep | Narrow::Drop(_) => 0,
            };
            let widest =
                (0..layout.shown.len()).filter(|at| spare(*at) > 0).max_by_key(|at| layout.widths[*at]);
            let Some(at) = widest else { return };
            layout.widths[at] -= 1;
        }
    }

    fn line(&self, layout: &Layout, cells: &[String]) -> String {
        let mut line = String::new();
        for (at, index) in layout.shown.iter().enumerate() {
            if at > 0 {
                line.push_str(&" ".repeat(layout.gap));
            }
            let cell = match self.columns[*index].narrow {
                Narrow::Words(_) => left_words(&cells[*index], layout.widths[at]),
                Narrow::Keep | Narrow::Cut(_) | Narrow::Drop(_) => left(&cells[*index], layout.widths[at]),
            };
            match self.columns[*index].align {
                Align::Left => line.push_str(&cell),
                Align::Right => {
                    let cell = cell.trim_end();
                    line.push_str(&" ".repeat(layout.widths[at].saturating_sub(width(cell))));
                    line.push_str(cell);
                }
            }
        }
        format!("{}\n", line.trim_end())
    }

    fn row(&self, layout: &Layout, row: &Row, cells: &[String], columns: usize) -> String {
        let first = layout.widths.first().copied().unwrap_or(0);
        match row {
            Row::Cells(_) => self.line(layout, cells),
            // Every letter of a portal counts, so a long name gets a line of its own.
            Row::Part(_) if width(&cells[0]) > first => {
                let mut rest = cells.to_vec();
                let name = std::mem::take(&mut rest[0]);
                format!("{name}\n{}", self.line(layout, &rest))
            }
            Row::Part(_) => self.line(layout, cells),
            Row::Words { name, words } => {
                let line = format!("{}{}{words}", left(name, first), " ".repeat(layout.gap));
                wrap_after(&line, first + layout.gap, columns)
            }
            Row::Group(name) => format!("{}\n", wrap(name, columns, "  ")),
            Row::Note(says) => format!("{}\n", wrap(&format!("   {says}"), columns, "     ")),
        }
    }
}

/// Returns true if texts that differ are the same once they are cut to `room` columns.
pub(crate) fn look_alike<'t>(texts: impl Iterator<Item = &'t str>, room: usize) -> bool {
    let mut cut: Vec<(String, &str)> = texts.map(|text| (left(text, room), text)).collect();
    cut.sort_unstable();
    cut.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
}

/// Wraps a line whose first `name` columns stay as they are.
fn wrap_after(line: &str, name: usize, columns: usize) -> String {
    let head: String = line.chars().take(name).collect();
    let tail: String = line.chars().skip(name).collect();
    let indent = "  ";
    let room = columns.saturating_sub(name);
    let first = wrap(&tail, room, "");
    let Some((one, _)) = first.split_once('\n') else { return format!("{head}{first}\n") };
    let rest: String = tail.chars().skip(width(one)).collect();
    let rest = wrap(&format!("{indent}{}", rest.trim_start()), columns, indent);
    format!("{head}{one}\n{rest}\n")
}
