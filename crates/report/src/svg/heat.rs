//! How many I/Os took about how long over time, as shades on a logarithmic axis; or how much that differs between two
//! sides.

use super::{Axis, WIDTH, escape, frame, x_at, y_at};

/// A heat map. Values lie on the axes in their units.
pub(crate) struct Heat<'c> {
    pub(crate) title: &'c str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) columns: Vec<HeatColumn>,
    pub(crate) of: HeatOf,
}

/// What the shades are of.
pub(crate) enum HeatOf {
    /// Shares of the I/Os of a column.
    Shares,
    /// Differences of them, of two sides with these colours: above 0 the second has more, below 0 the first.
    Differences([Side; 2]),
}

/// A side of a difference.
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) style: usize,
}

/// A stretch of time.
pub(crate) struct HeatColumn {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Lower end, upper end, and share of the column's I/Os, in [0, 1], or a difference of shares, in [-1, 1].
    pub(crate) cells: Vec<(f64, f64, f64)>,
    /// What is shown while a pointer is over the column; empty for nothing.
    pub(crate) says: String,
}

/// Shades; each is one path, which keeps a page small.
const SHADES: usize = 7;
/// A share of 1 has the last shade, each shade before it half of that.
const HALVES: f64 = 1.0;

impl Heat<'_> {
    pub(crate) fn svg(&self) -> String {
        let mut paths = vec![String::new(); 2 * SHADES];
        for column in &self.columns {
            let (left, right) = (x_at(&self.x, column.from), x_at(&self.x, column.to));
            for field in fields(&column.cells) {
                let (bottom, top) = (y_at(&self.y, field.low), y_at(&self.y, field.high));
                paths[field.path].push_str(&format!(
                    "M{left:.1} {top:.1}h{:.1}v{:.1}h-{0:.1}z",
                    (right - left).max(0.4),
                    (bottom - top).max(0.6),
                ));
            }
        }
        let mut body = String::new();
        for (index, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let class = match &self.of {
                HeatOf::Shares => format!("h{}", index % SHADES),
                HeatOf::Differences(sides) => {
                    format!("f{} o{}", sides[index / SHADES].style, index % SHADES)
                }
            };
            body.push_str(&format!("<path class=\"{class}\" d=\"{path}\"/>\n"));
        }
        match &self.of {
            HeatOf::Shares => body.push_str(&legend()),
            HeatOf::Differences(sides) => body.push_str(&legend_of(sides)),
        }
        let (top, bottom) = (y_at(&self.y, self.y.top()), y_at(&self.y, self.y.bottom()));
        for column in self.columns.iter().filter(|column| !column.says.is_empty()) {
            let (left, right) = (x_at(&self.x, column.from), x_at(&self.x, column.to));
            body.push_str(&format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill-opacity=\"0\">\
                 <title>{}</title></rect>\n",
                (right - left).max(0.4),
                bottom - top,
                escape(&column.says)
            ));
        }
        frame(self.title, &self.x, &self.y, (super::Swatch::Bar, &[]), &body)
    }
}

/// Cells of a column that touch and have one shade, drawn as one: a long tail is hundreds of cells of the last shade,
/// which were most of what a live page was sent each second.
struct Field {
    /// Number of the path.
    path: usize,
    low: f64,
    high: f64,
}

fn fields(cells: &[(f64, f64, f64)]) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for (low, high, share) in cells.iter().copied() {
        let path = shade(share.abs()) + if share < 0.0 { 0 } else { SHADES };
        match fields.last_mut() {
            Some(below) if below.path == path && (low - below.high).abs() <= 1e-9 * low => below.high = high,
            _ => fields.push(Field { path, low, high }),
        }
    }
    fields
}

fn shade(share: f64) -> usize {
    let halves = (-share.clamp(1e-9, 1.0).log2() / HALVES).floor();
    (0..SHADES).rev().nth(index(halves)).unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count, not negative")]
fn index(halves: f64) -> usize {
    (halves.max(0.0) as usize).min(SHADES - 1)
}

fn legend_of(sides: &[Side; 2]) -> String {
    let mut at = 64.0;
    let mut text = String::new();
    for side in sides {
        let says = format!("more in {}", side.name);
        text.push_str(&format!(
            "<rect class=\"f{}\" x=\"{at:.0}\" y=\"24\" width=\"12\" height=\"10\"/><text x=\"{:.0}\" \
             y=\"33\">{}</text>\n",
            side.style,
            at + 17.0,
            escape(&says)
        ));
        at += 40.0 + says.chars().count() as f64 * 6.4;
    }
    text
}

fn legend() -> String {
    let mut text = String::new();
    let from = WIDTH - 190.0;
    for index in 0..SHADES {
        text.push_str(&format!(
            "<rect class=\"h{index}\" x=\"{:.0}\" y=\"24\" width=\"12\" height=\"10\"/>",
            from + index as f64 * 12.0
        ));
    }
    text.push_str(&format!(
        "<text x=\"{:.0}\" y=\"33\">{}</text>\n",
        from + SHADES as f64 * 12.0 + 5.0,
        escape("≤ 1 % to > 50 %")
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_touch_and_have_one_shade_are_one_field() {
        let cells =
            [(1.0, 2.0, 0.005), (2.0, 4.0, 0.006), (4.0, 8.0, 0.4), (8.0, 9.0, 0.005), (16.0, 32.0, 0.005)];
        let drawn: Vec<(f64, f64)> = fields(&cells).iter().map(|field| (field.low, field.high)).collect();
        assert_eq!(drawn, [(1.0, 4.0), (4.0, 8.0), (8.0, 9.0), (16.0, 32.0)]);
        // More on one side is no more on the other.
        assert_eq!(fields(&[(1.0, 2.0, 0.005), (2.0, 4.0, -0.005)]).len(), 2);
    }
}
