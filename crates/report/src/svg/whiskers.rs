//! Points with their intervals over named groups, on a logarithmic axis around 1: ratios.

use super::{Axis, STYLES, Swatch, frame, marker, x_at, y_at};

/// Ratios with intervals, a group per name.
pub(crate) struct Whiskers<'c> {
    pub(crate) title: &'c str,
    pub(crate) x_title: &'c str,
    pub(crate) y_title: &'c str,
    /// Names of the groups.
    pub(crate) names: &'c [String],
    pub(crate) series: Vec<WhiskerSeries>,
    /// Colour and marker of the first series; those of a comparison have no series for its first side.
    pub(crate) first_style: usize,
}

/// One point in every group.
pub(crate) struct WhiskerSeries {
    pub(crate) name: String,
    /// One for each group; `None` where there is none.
    pub(crate) values: Vec<Option<Whisker>>,
}

/// A value, and the ends of its interval where it has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whisker {
    pub(crate) value: f64,
    pub(crate) ends: Option<(f64, f64)>,
}

/// Share of a group's room between its first and its last point.
const SPREAD: f64 = 0.5;
/// Half of a whisker's end, in user units.
const END: f64 = 4.0;
/// The axis reaches at least this far to both sides of 1.
const AROUND: f64 = 1.25;

impl Whiskers<'_> {
    pub(crate) fn svg(&self) -> String {
        let all = self.series.iter().flat_map(|s| s.values.iter().flatten());
        let ends: Vec<f64> = all
            .flat_map(|w| [Some(w.value), w.ends.map(|e| e.0), w.ends.map(|e| e.1)])
            .flatten()
            .filter(|v| *v > 0.0 && v.is_finite())
            .collect();
        let low = ends.iter().copied().fold(1.0 / AROUND, f64::min);
        let high = ends.iter().copied().fold(AROUND, f64::max);
        let x = Axis::names(self.x_title, self.names);
        let y = Axis::log(self.y_title, low, high);
        let one = y_at(&y, 1.0);
        let mut body = format!(
            "<line class=\"b\" x1=\"{:.1}\" y1=\"{one:.1}\" x2=\"{:.1}\" y2=\"{one:.1}\"/>\n",
            x_at(&x, -0.5),
            x_at(&x, self.names.len() as f64 - 0.5)
        );
        for (index, series) in self.series.iter().enumerate() {
            let gap = SPREAD / self.series.len() as f64;
            let from = -SPREAD / 2.0 + gap * (index as f64 + 0.5);
            body.push_str(&points(series, (index + self.first_style) % STYLES, from, &x, &y));
        }
        let names: Vec<String> = self.series.iter().map(|s| s.name.clone()).collect();
        frame(self.title, &x, &y, (Swatch::LineFrom(self.first_style), &names), &body)
    }
}

fn points(series: &WhiskerSeries, style: usize, from: f64, x: &Axis, y: &Axis) -> String {
    let mut text = format!("<g class=\"s{style}\">");
    for (index, point) in series.values.iter().enumerate() {
        let Some(point) = point else { continue };
        let at = x_at(x, index as f64 + from);
        if let Some((lo, hi)) = point.ends {
            let (bottom, top) = (y_at(y, lo), y_at(y, hi));
            text.push_str(&format!(
                "<line x1=\"{at:.1}\" y1=\"{top:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>"
            ));
            for end in [top, bottom] {
                text.push_str(&format!(
                    "<line x1=\"{:.1}\" y1=\"{end:.1}\" x2=\"{:.1}\" y2=\"{end:.1}\"/>",
                    at - END,
                    at + END
                ));
            }
        }
        text.push_str(&marker(style, at, y_at(y, point.value)));
    }
    text.push_str("</g>\n");
    text
}
