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
/// Room for the value behind the longest bar, and width of one of its letters.
const RIGHT: f64 = 70.0;
const LETTER: f64 = 6.6;
const TOP: f64 = 40.0;
const ROW: f64 = 31.0;
const BAR: f64 = 12.5;

impl Pairs<'_> {
    pub(crate) fn svg(&self) -> String {
        let values = self.rows.iter().flat_map(|row| [row.write, row.read]).flatten();
        let top = values.fold(f64::MIN_POSITIVE, f64::max);
        let right = RIGHT.max(crate::number::long(top).len() as f64 * LETTER + 8.0);
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
                let (at, width) = (y + 1.0 + BAR * place as f64, value / top * (WIDTH - LEFT - right));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest bar of a target in memory had the last digits of its value beyond the edge.
    #[test]
    fn the_value_behind_the_longest_bar_has_room() {
        let row = |read| PairRow { name: "64MiB".to_owned(), write: Some(7_649.0), read: Some(read) };
        for (read, says) in [(603_475_604.0, "603,475,604"), (212.4, "212")] {
            let svg = Pairs { title: "MB/s by size", rows: vec![row(read)], styles: [0, 1] }.svg();
            let (before, _) = svg.split_once(&format!(">{says}<")).expect("its value");
            let at = before.rsplit_once("x=\"").and_then(|(_, at)| at.split('"').next()?.parse::<f64>().ok());
            assert!(at.expect("its place") + says.len() as f64 * LETTER <= WIDTH, "{svg}");
        }
    }
}
