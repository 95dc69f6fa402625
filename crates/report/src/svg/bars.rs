//! Grouped bars: a star on the best of each series, `!` on bars that something disturbed.

use super::{Axis, BOTTOM, HEIGHT, STYLES, Swatch, escape, frame, marker, x_at, y_at};

/// Bars in groups, a group per name.
pub(crate) struct Bars<'c> {
    pub(crate) title: &'c str,
    pub(crate) x_title: &'c str,
    pub(crate) y_title: &'c str,
    /// Names of the groups.
    pub(crate) names: &'c [String],
    pub(crate) series: Vec<BarSeries>,
    pub(crate) star: Star,
}

/// Whether the highest bar of a series carries a star.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Star {
    Best,
    None,
}

/// One bar in every group.
pub(crate) struct BarSeries {
    pub(crate) name: String,
    /// One for each group; `None` where there is none.
    pub(crate) values: Vec<Option<f64>>,
    /// One for each group; those that are missing are [`Doubt::None`].
    pub(crate) doubts: Vec<Doubt>,
}

/// Why a bar does not stand for what the storage can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    None,
    /// A finding says that something else changed the numbers of the step.
    Disturbed,
    /// The step was cut short.
    CutShort,
}

impl Doubt {
    /// The words behind a mark, and in its legend.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Disturbed => "disturbed, see the findings",
            Self::CutShort => "cut short",
        }
    }
}

impl BarSeries {
    pub(crate) fn doubt(&self, group: usize) -> Doubt {
        self.doubts.get(group).copied().unwrap_or(Doubt::None)
    }

    /// The group with the highest value that nothing casts doubt on.
    pub(crate) fn best(&self) -> Option<usize> {
        let given = self.values.iter().enumerate().filter_map(|(index, v)| v.map(|v| (index, v)));
        let sound = given.filter(|(index, _)| self.doubt(*index) == Doubt::None);
        sound.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
    }
}

/// Share of a group's room that its bars take.
const FILLED: f64 = 0.78;
/// Values that differ more get a logarithmic axis.
const WIDE: f64 = 30.0;

impl Bars<'_> {
    pub(crate) fn svg(&self) -> String {
        let highest = self.series.iter().flat_map(|s| s.values.iter().flatten()).copied().fold(0.0, f64::max);
        let x = Axis::names(self.x_title, self.names);
        let y = self.axis(highest);
        let width = FILLED / self.series.len().max(1) as f64;
        let mut body = String::new();
        for (index, series) in self.series.iter().enumerate() {
            let from = -FILLED / 2.0 + width * index as f64;
            let best = series.best().filter(|_| self.star == Star::Best);
            body.push_str(&bars(series, best, index % STYLES, (from, width), (&x, &y)));
            if self.star == Star::None {
                body.push_str(&markers(series, index % STYLES, from + width / 2.0, (&x, &y)));
            }
        }
        let names: Vec<String> = self.series.iter().map(|s| s.name.clone()).collect();
        frame(self.title, &x, &y, (Swatch::Bar, &names), &body)
    }
}

impl Bars<'_> {
    /// With room for the mark above the highest bar. Where sizes double from group to group, a linear axis would show
    /// the largest only.
    fn axis(&self, highest: f64) -> Axis {
        let given = self.series.iter().flat_map(|s| s.values.iter().flatten()).copied();
        let lowest = given.filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        if highest > lowest * WIDE {
            Axis::log(&format!("{} (logarithmic)", self.y_title), lowest * 0.8, highest * 1.08)
        } else {
            Axis::from_zero(self.y_title, highest * 1.08)
        }
    }
}

fn bars(
    series: &BarSeries,
    best: Option<usize>,
    style: usize,
    (from, width): (f64, f64),
    (x, y): (&Axis, &Axis),
) -> String {
    let floor = HEIGHT - BOTTOM;
    let mut text = format!("<g class=\"f{style}\">");
    let mut marks = String::new();
    for (index, value) in series.values.iter().enumerate() {
        let Some(value) = value else { continue };
        let left = x_at(x, index as f64 + from);
        let right = x_at(x, index as f64 + from + width);
        let top = y_at(y, *value);
        let doubt = series.doubt(index);
        let (class, says) = match doubt {
            Doubt::None => ("", String::new()),
            Doubt::Disturbed | Doubt::CutShort => (" class=\"doubt\"", format!(" ({})", doubt.says())),
        };
        let title = format!("{}: {}{says}", series.name, crate::number::long(*value));
        if doubt != Doubt::None {
            marks.push_str(&mark("!", f64::midpoint(left, right), top));
        }
        text.push_str(&format!(
            "<rect{class} x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            (right - left - 0.6).max(0.6),
            (floor - top).max(0.0),
            escape(&title)
        ));
        if best == Some(index) {
            marks.push_str(&mark("★", f64::midpoint(left, right), top));
        }
    }
    text.push_str("</g>\n");
    text.push_str(&marks);
    text
}

/// The marker of a side above its bars, as its lines have it.
fn markers(series: &BarSeries, style: usize, from: f64, (x, y): (&Axis, &Axis)) -> String {
    let given = series.values.iter().enumerate().filter_map(|(index, value)| Some((index, (*value)?)));
    let marks = given.map(|(index, value)| marker(style, x_at(x, index as f64 + from), y_at(y, value) - 6.0));
    format!("<g class=\"s{style}\">{}</g>\n", marks.collect::<String>())
}

/// A letter above a bar.
fn mark(letter: &str, x: f64, top: f64) -> String {
    format!("<text class=\"m\" x=\"{x:.1}\" y=\"{:.1}\">{letter}</text>", top - 3.0)
}
