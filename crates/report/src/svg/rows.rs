//! Horizontal bars with their intervals, a row for each test: what came out, at a glance.

use super::{Doubt, escape};

/// Bars of one quantity.
pub(crate) struct Rows<'c> {
    pub(crate) title: &'c str,
    pub(crate) rows: Vec<BarRow>,
}

/// One bar.
pub(crate) struct BarRow {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// Ends of its 95 % interval, where it has one.
    pub(crate) ends: Option<(f64, f64)>,
    /// The value as it is written.
    pub(crate) text: String,
    pub(crate) doubt: Doubt,
}

/// As wide as a phone, so that letters are as large there as on a page.
const WIDTH: f64 = 360.0;
/// Room for what is written behind the longest bar, and width of one of its letters.
const RIGHT: f64 = 78.0;
const LETTER: f64 = 6.4;
const TOP: f64 = 24.0;
const ROW: f64 = 32.0;
const BAR: f64 = 11.0;
/// Values that differ more get a logarithmic scale.
const WIDE: f64 = 100.0;
/// Letters of a name that fit.
const NAME_LETTERS: usize = 52;

impl Rows<'_> {
    pub(crate) fn svg(&self) -> String {
        let top = self
            .rows
            .iter()
            .map(|row| row.ends.map_or(row.value, |e| e.1.max(row.value)))
            .fold(0.0, f64::max);
        let low = self.rows.iter().map(|row| row.value).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        let is_log = top > low * WIDE;
        let base = if is_log { low / 2.0 } else { 0.0 };
        let letters = self.rows.iter().map(|row| row.text.chars().count() + row.mark().len()).max();
        let room = WIDTH - RIGHT.max(letters.unwrap_or(0) as f64 * LETTER + 6.0);
        let at = |value: f64| match is_log {
            true => (value.max(base) / base).ln() / (top / base).ln() * room,
            false => value / top.max(f64::MIN_POSITIVE) * room,
        };
        let note = if is_log { " (logarithmic)" } else { "" };
        let mut svg = format!(
            "<svg class=\"rows\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">\n<text class=\"t\" \
             x=\"0\" y=\"14\">{1}{note}</text>\n",
            TOP + ROW * self.rows.len() as f64 + 4.0,
            escape(self.title)
        );
        for (index, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * index as f64;
            svg.push_str(&row_svg(row, y, &at));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

impl BarRow {
    fn mark(&self) -> &'static str {
        match self.doubt {
            Doubt::None => "",
            Doubt::Disturbed | Doubt::CutShort => " !",
        }
    }
}

fn row_svg(row: &BarRow, y: f64, at: &impl Fn(f64) -> f64) -> String {
    let mark = row.mark();
    let class = if mark.is_empty() { "f0" } else { "f0 doubt" };
    let middle = y + 16.0 + BAR / 2.0;
    let end = at(row.value).max(1.0);
    let mut svg = format!(
        "<text x=\"0\" y=\"{:.1}\">{}</text><rect class=\"{class}\" x=\"0\" y=\"{:.1}\" width=\"{end:.1}\" \
         height=\"{BAR}\"/>",
        y + 12.0,
        escape(crate::layout::left(&row.name, NAME_LETTERS).trim_end()),
        y + 16.0
    );
    let mut beyond = end;
    if let Some((low, high)) = row.ends {
        let (left, right) = (at(low), at(high));
        beyond = beyond.max(right);
        svg.push_str(&format!(
            "<path class=\"ci\" d=\"M{left:.1} {middle:.1}H{right:.1}M{left:.1} {0:.1}v7M{right:.1} {0:.1}v7\"/>",
            middle - 3.5
        ));
    }
    svg.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\">{}{mark}</text>\n",
        beyond + 6.0,
        middle + 4.0,
        escape(&row.text)
    ));
    svg
}
