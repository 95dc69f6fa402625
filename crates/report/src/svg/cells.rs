//! Values over two settings, as shades of a field for each pair.

use super::{Axis, Swatch, escape, frame, x_at, y_at};

/// Fields over two axes of names.
pub(crate) struct Cells<'c> {
    pub(crate) title: &'c str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) cells: Vec<Cell>,
}

/// A field.
pub(crate) struct Cell {
    /// Its places on the axes, counted from 0.
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// How dark it is, in [0, 1].
    pub(crate) share: f64,
    /// What stands in it, where there is room.
    pub(crate) text: String,
    /// What is shown while a pointer is over it.
    pub(crate) says: String,
}

/// The darkest shade: ink is read on it in light and in dark.
const OPACITY_MAX: f64 = 0.5;
/// Width and height that a letter needs.
const LETTER: (f64, f64) = (6.6, 12.0);
/// Room between two fields.
const GAP: f64 = 1.0;

impl Cells<'_> {
    pub(crate) fn svg(&self) -> String {
        let (width, height) =
            (x_at(&self.x, 1.0) - x_at(&self.x, 0.0), y_at(&self.y, 0.0) - y_at(&self.y, 1.0));
        let longest = self.cells.iter().map(|cell| cell.text.chars().count()).max().unwrap_or(0);
        let has_room = longest as f64 * LETTER.0 <= width && LETTER.1 <= height;
        let draw = |cell: &Cell| {
            let (x, y) = (x_at(&self.x, cell.x as f64), y_at(&self.y, cell.y as f64));
            let text = match has_room {
                true => format!(
                    "<text class=\"m\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                    y + 4.0,
                    escape(&cell.text)
                ),
                false => String::new(),
            };
            format!(
                "<g><title>{}</title><rect class=\"f0\" fill-opacity=\"{:.2}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                 height=\"{:.1}\"/>{text}</g>\n",
                escape(&cell.says),
                cell.share.clamp(0.0, 1.0) * OPACITY_MAX,
                x - width / 2.0 + GAP / 2.0,
                y - height / 2.0 + GAP / 2.0,
                (width - GAP).max(1.0),
                (height - GAP).max(1.0),
            )
        };
        let fields: String = self.cells.iter().map(draw).collect();
        // The lines of the axis would strike through what stands in the fields.
        let [left, right] = [self.x.bottom(), self.x.top()].map(|x| x_at(&self.x, x));
        let [top, bottom] = [self.y.top(), self.y.bottom()].map(|y| y_at(&self.y, y));
        let body = format!(
            "<rect class=\"bg\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n{fields}",
            right - left,
            bottom - top
        );
        frame(self.title, &self.x, &self.y, (Swatch::Bar, &[]), &body)
    }
}
