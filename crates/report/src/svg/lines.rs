//! Lines over an axis.

use super::{Axis, BOTTOM, DASHES, HEIGHT, STYLES, Swatch, TOP, escape, frame, marker, x_at, y_at};

/// Lines over a common axis.
pub(crate) struct Lines<'c> {
    pub(crate) title: &'c str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    /// Where one part ends and another begins, in the unit of x.
    pub(crate) breaks: Vec<f64>,
    /// Points that stand out.
    pub(crate) marks: Vec<Mark>,
}

/// Words at a point.
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) text: String,
}

/// One line, in one or several pieces.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) pieces: Vec<Vec<(f64, f64)>>,
}

/// Lines of more points than this carry no markers: they would hide it.
const MARKED_MAX: usize = 40;

impl Lines<'_> {
    pub(crate) fn svg(&self) -> String {
        let floor = HEIGHT - BOTTOM;
        let mut body = String::new();
        for at in self.breaks.iter().map(|b| x_at(&self.x, *b)) {
            body.push_str(&format!(
                "<line class=\"b\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{floor}\"/>\n"
            ));
        }
        for (index, line) in self.lines.iter().enumerate() {
            body.push_str(&self.line(line, index % STYLES));
        }
        for mark in &self.marks {
            body.push_str(&format!(
                "<text class=\"m\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                x_at(&self.x, mark.x),
                y_at(&self.y, mark.y) - 7.0,
                escape(&mark.text)
            ));
        }
        let names: Vec<String> = self.lines.iter().map(|l| l.name.clone()).collect();
        frame(self.title, &self.x, &self.y, (Swatch::Line, &names), &body)
    }

    fn line(&self, line: &Line, style: usize) -> String {
        let mut text = format!("<g class=\"s{style}\">");
        let count: usize = line.pieces.iter().map(Vec::len).sum();
        // Markers of a limit or of a fitted line, which is straight, would hide the points that were measured.
        let longest = self.lines.iter().flat_map(|line| &line.pieces).map(Vec::len).max().unwrap_or(0);
        for piece in &line.pieces {
            let at: Vec<(f64, f64)> =
                piece.iter().map(|(x, y)| (x_at(&self.x, *x), y_at(&self.y, *y))).collect();
            let points: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let dash = DASHES[style];
            text.push_str(&format!(
                "<polyline points=\"{}\" stroke-dasharray=\"{dash}\"/>",
                points.join(" ")
            ));
            // A piece of one point would not be seen without its marker.
            let is_guide = piece.len() == 2 && longest > 2;
            if (count <= MARKED_MAX && !is_guide) || piece.len() == 1 {
                text.extend(at.iter().map(|(x, y)| marker(style, *x, *y)));
            }
        }
        text.push_str("</g>\n");
        text
    }
}
