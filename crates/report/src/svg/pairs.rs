//! Two horizontal bars for each name: writes and reads, as ATTO draws them.

use super::escape;

/// Pairs of bars.
pub(crate) struct Pairs<'c> {
    pub(crate) title: &'c str,
    pub(crate) rows: Vec<PairRow>,
    /// Colours of writes and of reads: those that other charts of the run have.
    pub(crate) styles: [usize; 2],
}

/// A name with its bars.
pub(crate) struct PairRow {
    pub(crate) name: String,
    pub(crate) write: Option<f64>,
    pub(crate) read: Option<f64>,
}

const WIDTH: f64 = 560.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 40.0;
const ROW: f64 = 31.0;
const BAR: f64 = 12.5;

impl Pairs<'_> {
    pub(crate) fn svg(&self) -> String {
        let values = self.rows.iter().flat_map(|row| [row.write, row.read]).flatten();
        let top = values.fold(f64::MIN_POSITIVE, f64::max);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">\n<text class=\"t\" x=\"0\" \
             y=\"14\">{1}</text>\n",
            TOP + ROW * self.rows.len() as f64,
            escape(self.title)
        );
        for (index, name) in ["write", "read"].iter().enumerate() {
            let at = LEFT + 90.0 * index as f64;
            svg.push_str(&format!(
                "<rect class=\"f{}\" x=\"{at}\" y=\"22\" width=\"12\" height=\"12\"/><text x=\"{}\" \
                 y=\"32\">{name}</text>\n",
                self.styles[index],
                at + 18.0
            ));
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * index as f64;
            let name = escape(&row.name);
            svg.push_str(&format!(
                "<text class=\"e\" x=\"{}\" y=\"{:.1}\">{name}</text>",
                LEFT - 6.0,
                y + BAR + 4.0
            ));
            for (place, value) in [row.write, row.read].into_iter().enumerate() {
                let Some(value) = value else { continue };
                let style = self.styles[place];
                let (at, width) = (y + 1.0 + BAR * place as f64, value / top * (WIDTH - LEFT - RIGHT));
                svg.push_str(&format!(
                    "<rect class=\"f{style}\" x=\"{LEFT}\" y=\"{at:.1}\" width=\"{width:.1}\" \
                     height=\"{BAR}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    LEFT + width + 5.0,
                    at + BAR - 2.0,
                    crate::number::long(value)
                ));
            }
            svg.push('\n');
        }
        svg + "</svg>\n"
    }
}
