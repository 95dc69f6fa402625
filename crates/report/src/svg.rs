//! Small charts: lines over an axis, and grouped bars. A chart takes values in the units of its axes and returns an
//! `<svg>` that needs nothing else; colours come from the page as `--s0` … `--s5`, `--ink` and `--grid`.
//!
//! Series differ by colour, by dash and by marker, so that they can be distinguished in grey print and by the
//! colour-blind (palette: Okabe and Ito, 2008).

mod axis;
mod bars;
mod cells;
mod heat;
mod lanes;
mod lines;
mod pairs;
mod rows;
mod spark;
mod trend;
mod whiskers;

pub(crate) use axis::Axis;
pub(crate) use bars::{BarSeries, Bars, Doubt, Star};
pub(crate) use cells::{Cell, Cells};
pub(crate) use heat::{Heat, HeatColumn, HeatOf, Side};
pub(crate) use lanes::{Band, Counts, Lane, Lanes, LevelBand};
pub(crate) use lines::{Line, Lines, Mark};
pub(crate) use pairs::{PairRow, Pairs};
pub(crate) use rows::{BarRow, Rows};
pub use spark::spark;
pub(crate) use trend::{Event, Point, Step, TrendChart};
pub(crate) use whiskers::{Whisker, WhiskerSeries, Whiskers};

/// Size of a chart in user units; the page scales it.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
/// Room around the plot: title and legend above, axis and its title below and at the left.
const TOP: f64 = 44.0;
const BOTTOM: f64 = 46.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
/// Colours, dashes and markers there are before they repeat.
pub(crate) const STYLES: usize = 6;
const DASHES: [&str; STYLES] = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 4"];

/// Text that may stand in HTML and in SVG, between tags and in attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Control characters are not allowed in either.
            c => crate::escape::push(&mut escaped, c),
        }
    }
    escaped
}

/// The mark of a series in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Swatch {
    Line,
    /// The first line has this style.
    LineFrom(usize),
    Bar,
}

/// The frame every chart has: title, axes with grid and ticks, and a legend where there are several series.
fn frame(title: &str, x: &Axis, y: &Axis, legend: (Swatch, &[String]), body: &str) -> String {
    let titled = format!("{title}: {} over {}", y.title, x.title);
    let slant = Slant::of(x);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">\n<text class=\"t\" x=\"0\" \
         y=\"14\">{}</text>\n",
        HEIGHT + slant.room(),
        escape(&titled),
        escape(title)
    );
    for (value, label) in &y.ticks {
        let at = y_at(y, *value);
        svg.push_str(&format!(
            "<line class=\"g\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\"/><text class=\"e\" x=\"{}\" \
             y=\"{:.1}\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            escape(label)
        ));
    }
    let floor = HEIGHT - BOTTOM;
    for (value, label) in &x.ticks {
        let at = x_at(x, *value);
        svg.push_str(&format!(
            "<line class=\"k\" x1=\"{at:.1}\" y1=\"{floor}\" x2=\"{at:.1}\" y2=\"{}\"/>{}\n",
            floor + 4.0,
            slant.label(at, floor + 17.0, label, WIDTH - 2.0)
        ));
    }
    svg.push_str(&format!(
        "<line class=\"k\" x1=\"{LEFT}\" y1=\"{floor}\" x2=\"{}\" y2=\"{floor}\"/>\n",
        WIDTH - RIGHT
    ));
    svg.push_str(&axis_titles(x, y, slant.room()));
    svg.push_str(body);
    svg.push_str(&legend_text(legend.0, legend.1));
    svg.push_str("</svg>\n");
    svg
}

/// How names stand under the x axis: upright where they fit side by side, else slanted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slant {
    Upright,
    /// The longest name has this many letters.
    Slanted(usize),
}

/// Width of a letter of a tick, user units.
const LETTER: f64 = 6.2;
/// Names are cut to this many letters where they are slanted.
const SLANTED_MAX: usize = 26;
/// Sine of the angle at which they stand, 35 degrees.
const SLANT_SINE: f64 = 0.574;

impl Slant {
    fn of(x: &Axis) -> Self {
        let longest = x.ticks.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
        let nearest = x.ticks.windows(2).map(|w| x_at(x, w[1].0) - x_at(x, w[0].0)).fold(WIDTH, f64::min);
        if (longest as f64 + 1.0) * LETTER <= nearest {
            Self::Upright
        } else {
            Self::Slanted(longest.min(SLANTED_MAX))
        }
    }

    /// Returns the height that slanted names add.
    fn room(self) -> f64 {
        match self {
            Self::Upright => 0.0,
            Self::Slanted(letters) => letters as f64 * LETTER * SLANT_SINE,
        }
    }

    /// A name around `at` that does not reach beyond `end`.
    fn label(self, at: f64, y: f64, name: &str, end: f64) -> String {
        match self {
            Self::Upright => {
                let half = name.chars().count() as f64 * LETTER / 2.0;
                let at = at.min(end - half);
                format!("<text class=\"m\" x=\"{at:.1}\" y=\"{y}\">{}</text>", escape(name))
            }
            Self::Slanted(_) => format!(
                "<text class=\"e\" transform=\"translate({:.1} {:.1}) rotate(-35)\">{}</text>",
                at + 4.0,
                y - 4.0,
                escape(crate::layout::left(name, SLANTED_MAX).trim_end())
            ),
        }
    }
}

fn axis_titles(x: &Axis, y: &Axis, room: f64) -> String {
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    format!(
        "<text class=\"m\" x=\"{middle}\" y=\"{}\">{}</text><text class=\"m\" transform=\"translate(12 {}) \
         rotate(-90)\">{}</text>\n",
        HEIGHT + room - 8.0,
        escape(&x.title),
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(&y.title)
    )
}

fn legend_text(swatch: Swatch, names: &[String]) -> String {
    let mut text = String::new();
    if names.len() < 2 {
        return text;
    }
    let mut at = LEFT;
    let first = if let Swatch::LineFrom(first) = swatch { first } else { 0 };
    for (index, name) in names.iter().enumerate() {
        let style = (index + first) % STYLES;
        text.push_str(&match swatch {
            Swatch::Line | Swatch::LineFrom(_) => format!(
                "<g class=\"s{style}\"><line x1=\"{at:.0}\" y1=\"30\" x2=\"{:.0}\" y2=\"30\" \
                 stroke-dasharray=\"{}\"/>{}</g>",
                at + 24.0,
                DASHES[style],
                marker(style, at + 12.0, 30.0)
            ),
            Swatch::Bar => {
                format!(
                    "<rect class=\"f{style}\" x=\"{:.0}\" y=\"24\" width=\"12\" height=\"12\"/>",
                    at + 10.0
                )
            }
        });
        text.push_str(&format!("<text x=\"{:.0}\" y=\"34\">{}</text>\n", at + 30.0, escape(name)));
        // About 6.5 units a letter at the size the page sets.
        at += 30.0 + name.chars().count() as f64 * 6.5 + 18.0;
    }
    text
}

/// A marker of the style around a point.
fn marker(style: usize, x: f64, y: f64) -> String {
    let points = |shape: &[(f64, f64)]| {
        let corners: Vec<String> =
            shape.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        format!("<polygon points=\"{}\"/>", corners.join(" "))
    };
    match style % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.8\"/>"),
        1 => points(&[(-2.8, -2.8), (2.8, -2.8), (2.8, 2.8), (-2.8, 2.8)]),
        2 => points(&[(0.0, -3.6), (3.4, 2.6), (-3.4, 2.6)]),
        _ => points(&[(0.0, -3.8), (3.8, 0.0), (0.0, 3.8), (-3.8, 0.0)]),
    }
}

fn x_at(axis: &Axis, value: f64) -> f64 {
    LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)
}

fn y_at(axis: &Axis, value: f64) -> f64 {
    HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_name_holds_ends_a_tag() {
        assert_eq!(escape("<b a=\"x\">&'\u{7}"), "&lt;b a=&quot;x&quot;&gt;&amp;&#39;\\u0007");
    }
}
