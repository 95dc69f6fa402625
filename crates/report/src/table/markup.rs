//! A table as CSV, Markdown, BBCode and HTML.

use super::{Align, Cell, Column, Row, Table};
use crate::escape;
use crate::number::rounded;
use crate::svg::escape;

/// One line of a marked-up table, whatever the markup.
enum Line<'t> {
    /// Cells as people read them, the name of a part indented.
    Cells(Vec<String>),
    /// A name and words for all other columns.
    Words(&'t str, &'t str),
    /// The name of the rows below.
    Group(&'t str),
}

impl Table {
    /// Returns the table as CSV: numbers plain, groups in a column of their own, no notes.
    pub(super) fn csv(&self) -> String {
        let has_groups = self.rows.iter().any(|row| matches!(row, Row::Group(_)));
        let mut titles: Vec<String> = self.columns.iter().map(|column| csv_text(&column.heading())).collect();
        if has_groups {
            titles.insert(0, self.group.clone());
        }
        let mut lines = csv::Writer::from_writer(Vec::new());
        let mut line = |cells: &[String]| lines.write_record(cells).expect("rows of one length, in memory");
        line(&titles);
        let mut group = String::new();
        for row in &self.rows {
            let mut cells: Vec<String> = match row {
                Row::Cells(cells) => cells.iter().map(plain).collect(),
                Row::Part(cells) => cells.iter().map(|cell| plain(cell).trim().to_owned()).collect(),
                Row::Words { name, words } => vec![csv_text(name), csv_text(words)],
                Row::Group(name) => {
                    group = csv_text(name);
                    continue;
                }
                Row::Note(_) => continue,
            };
            cells.resize(self.columns.len(), String::new());
            if has_groups {
                cells.insert(0, group.clone());
            }
            line(&cells);
        }
        let bytes = lines.into_inner().expect("memory takes every byte");
        String::from_utf8(bytes).expect("made of strings")
    }

    /// Returns the table as Markdown, its notes in a list below.
    pub(super) fn markdown(&self) -> String {
        let cell = markdown_text;
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let titles: Vec<String> = self.columns.iter().map(|c| cell(&c.heading())).collect();
        let rules: Vec<String> = self
            .columns
            .iter()
            .map(|column| if column.align == Align::Left { "---" } else { "--:" }.to_owned())
            .collect();
        let mut text = line(&titles) + &line(&rules).replace(' ', "");
        let mut notes = String::new();
        for row in self.lines() {
            let mut cells: Vec<String> = match row {
                Line::Cells(cells) => cells.iter().map(|c| cell(c)).collect(),
                Line::Words(name, words) => vec![cell(name), cell(words)],
                Line::Group(name) => vec![format!("**{}**", cell(name))],
            };
            cells.resize(self.columns.len(), String::new());
            text.push_str(&line(&cells));
        }
        for says in self.notes() {
            notes.push_str(&format!("* {}\n", markdown_text(&says)));
        }
        if notes.is_empty() { text } else { format!("{text}\n{notes}") }
    }

    /// Returns the table as BBCode, its notes below.
    pub(super) fn bbcode(&self) -> String {
        let cell = bbcode_text;
        let tag = |name: &str, cells: &[String]| -> String {
            cells.iter().map(|text| format!("[{name}]{}[/{name}]", cell(text))).collect()
        };
        let titles: Vec<String> = self.columns.iter().map(Column::heading).collect();
        let mut text = format!("[table]\n[tr]{}[/tr]\n", tag("th", &titles));
        for row in self.lines() {
            let mut cells: Vec<String> = match row {
                Line::Cells(cells) => cells,
                Line::Words(name, words) => vec![name.to_owned(), words.to_owned()],
                Line::Group(name) => vec![name.to_owned()],
            };
            cells.resize(self.columns.len(), String::new());
            text.push_str(&format!("[tr]{}[/tr]\n", tag("td", &cells)));
        }
        text.push_str("[/table]\n");
        self.notes().iter().for_each(|says| text.push_str(&format!("{}\n", cell(says))));
        text
    }

    /// Returns the table as an HTML `<table>` with a caption, which is HTML already.
    pub(crate) fn html(&self, caption: &str) -> String {
        let title = |(index, column): (usize, &Column)| {
            let class = if index > 0 && column.align == Align::Left { " class=\"w\"" } else { "" };
            title_html(&column.heading()).replacen("<th>", &format!("<th{class}>"), 1)
        };
        let titles: String = self.columns.iter().enumerate().map(title).collect();
        let caption = if caption.is_empty() {
            String::new()
        } else {
            format!("<caption><span>{caption}</span></caption>\n")
        };
        let mut text = format!("<table>\n{caption}<thead><tr>{titles}</tr></thead>\n<tbody>\n");
        let count = self.columns.len();
        for (row, cells) in self.rows.iter().zip(self.written()) {
            let cell = |(index, text): (usize, &String)| match (index, self.columns[index].align) {
                (1.., Align::Left) => format!("<td class=\"w\">{}</td>", escape(text)),
                _ => format!("<td>{}</td>", escape(text.trim())),
            };
            let cells: String = cells.iter().enumerate().map(cell).collect();
            text.push_str(&match row {
                Row::Cells(_) => format!("<tr>{cells}</tr>\n"),
                Row::Part(_) => format!("<tr class=\"job\">{cells}</tr>\n"),
                Row::Words { name, words } => format!(
                    "<tr><td>{}</td><td class=\"w\" colspan=\"{}\">{}</td></tr>\n",
                    escape(name),
                    count.saturating_sub(1),
                    escape(words)
                ),
                Row::Group(name) => {
                    format!("<tr><td colspan=\"{count}\"><strong>{}</strong></td></tr>\n", escape(name))
                }
                Row::Note(says) => {
                    format!("<tr><td class=\"w soft\" colspan=\"{count}\">{}</td></tr>\n", escape(says))
                }
            });
        }
        text.push_str("</tbody></table>\n");
        text
    }

    /// Rows without the notes.
    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.rows.iter().zip(self.written()).filter_map(|(row, cells)| match row {
            Row::Cells(_) => Some(Line::Cells(cells)),
            Row::Part(_) => {
                let part = |(index, cell): (usize, String)| match index {
                    0 => format!("– {}", cell.trim()),
                    _ => cell,
                };
                Some(Line::Cells(cells.into_iter().enumerate().map(part).collect()))
            }
            Row::Words { name, words } => Some(Line::Words(name, words)),
            Row::Group(name) => Some(Line::Group(name)),
            Row::Note(_) => None,
        })
    }

    /// What stands below the table: each remark once, with the groups that it is of where others do not have it.
    fn notes(&self) -> Vec<String> {
        let mut groups: Vec<&str> = Vec::new();
        let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in &self.rows {
            match row {
                Row::Group(name) => groups.push(name),
                Row::Note(says) => {
                    let of = groups.last().copied();
                    match notes.iter_mut().find(|(known, _)| known == says) {
                        Some((_, named)) => named.extend(of),
                        None => notes.push((says, of.into_iter().collect())),
                    }
                }
                _ => {}
            }
        }
        let all = groups.len();
        let with_groups = |(says, named): (&str, Vec<&str>)| match named.len() {
            0 => says.to_owned(),
            named if named == all => says.to_owned(),
            _ => format!("{}: {says}", named.join(", ")),
        };
        notes.into_iter().map(with_groups).collect()
    }
}

/// Words in Markdown: nothing in them divides cells, or is read as HTML, a link or code.
pub(super) fn markdown_text(words: &str) -> String {
    let special = |c: char| matches!(c, '\\' | '|' | '<' | '[' | '`');
    escape::line(words).chars().fold(String::new(), |mut text, c| {
        text.extend(special(c).then_some('\\'));
        text.push(c);
        text
    })
}

/// Words in BBCode. A bracket in a name would open a tag; a full-width one looks alike and does not.
pub(super) fn bbcode_text(words: &str) -> String {
    escape::line(words).replace('[', "［").replace(']', "］")
}

/// A title that leads to the definition of its number, where the page has one.
fn title_html(heading: &str) -> String {
    // Remarks explain themselves to the eye; whoever hears a cell hears the head of its column with it.
    let heading = if heading.is_empty() { "Remark" } else { heading };
    match crate::html::methods::anchor(heading) {
        Some(anchor) => format!("<th><a href=\"#m-{anchor}\">{}</a></th>", escape(heading)),
        None => format!("<th>{}</th>", escape(heading)),
    }
}

/// Words in CSV. A spreadsheet takes what begins with one of four characters for a formula, and may run a program for
/// it; after an apostrophe it does not.
fn csv_text(words: &str) -> String {
    let words = escape::line(words);
    let is_number = words.parse::<f64>().is_ok() || words == "-";
    let is_formula = words.starts_with(['=', '+', '-', '@']) && !is_number;
    if is_formula { format!("'{words}") } else { words.into_owned() }
}

/// A cell as programs read it.
fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Text(text) => csv_text(text),
        Cell::Number(value) => rounded(*value).map_or_else(String::new, |v| v.to_string()),
    }
}
