//! Grouped bars, the highest of each series marked.

use super::{Axis, BOTTOM, HEIGHT, STYLES, Swatch, escape, frame, x_at, y_at};

/// Bars in groups, a group per name.
pub(crate) struct Bars<'c> {
    pub(crate) title: &'c str,
    pub(crate) x_title: &'c str,
    pub(crate) y_title: &'c str,
    /// Names of the groups.
    pub(crate) names: &'c [String],
    pub(crate) series: Vec<BarSeries>,
}

/// One bar in every group.
pub(crate) struct BarSeries {
    pub(crate) name: String,
    /// One for each group; `None` where there is none.
    pub(crate) values: Vec<Option<f64>>,
}

/// Share of a group's room that its bars take.
const FILLED: f64 = 0.78;

impl Bars<'_> {
    pub(crate) fn svg(&self) -> String {
        let highest = self.series.iter().flat_map(|s| s.values.iter().flatten()).copied().fold(0.0, f64::max);
        let x = Axis::names(self.x_title, self.names);
        // Room for the mark above the highest bar.
        let y = Axis::from_zero(self.y_title, highest * 1.08);
        let width = FILLED / self.series.len().max(1) as f64;
        let mut body = String::new();
        for (index, series) in self.series.iter().enumerate() {
            let from = -FILLED / 2.0 + width * index as f64;
            body.push_str(&bars(series, index % STYLES, from, width, &x, &y));
        }
        let names: Vec<String> = self.series.iter().map(|s| s.name.clone()).collect();
        frame(self.title, &x, &y, (Swatch::Bar, &names), &body)
    }
}

/// The group with the highest value.
pub(crate) fn best(values: &[Option<f64>]) -> Option<usize> {
    let given = values.iter().enumerate().filter_map(|(index, v)| v.map(|v| (index, v)));
    given.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
}

fn bars(series: &BarSeries, style: usize, from: f64, width: f64, x: &Axis, y: &Axis) -> String {
    let floor = HEIGHT - BOTTOM;
    let best = best(&series.values);
    let mut text = format!("<g class=\"f{style}\">");
    let mut marks = String::new();
    for (index, value) in series.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let left = x_at(x, index as f64 + from);
        let right = x_at(x, index as f64 + from + width);
        let top = y_at(y, *value);
        let title = format!("{}: {value:.1}", series.name);
        text.push_str(&format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            (right - left - 0.6).max(0.6),
            (floor - top).max(0.0),
            escape(&title)
        ));
        if best == Some(index) {
            marks = format!(
                "<text class=\"m\" x=\"{:.1}\" y=\"{:.1}\">★</text>",
                (left + right) / 2.0,
                top - 3.0
            );
        }
    }
    text.push_str("</g>\n");
    text.push_str(&marks);
    text
}
