//! Small charts: lines over an axis, and grouped bars. A chart takes values in the units of its axes and returns an
//! `<svg>` that needs nothing else; colours come from the page as `--s0` … `--s7`, `--ink` and `--grid`.
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
/// Colours with their dashes before they repeat: as many as a page compares results.
pub(crate) const STYLES: usize = 8;
const DASHES: [&str; STYLES] = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "1 2", "14 3 3 3"];

/// Text that may stand in HTML and in SVG, between tags and in attributes.
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
    let (legend, above) = legend_text(legend.0, legend.1);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 {:.0} {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">\n\
         <text class=\"t\" x=\"0\" y=\"{:.0}\">{}</text>\n",
        -above,
        HEIGHT + slant.room() + above,
        escape(&titled),
        14.0 - above,
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
    svg.push_str(&legend);
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

/// Room of a legend's mark, of the gap behind its name, and of a letter at the size that the page sets.
const MARK: f64 = 30.0;
const LEGEND_GAP: f64 = 18.0;
const LEGEND_LETTER: f64 = 6.5;
/// Height of a row of a legend.
const LEGEND_ROW: f64 = 16.0;

/// Returns the legend, and the height that its rows beyond the first take above the chart.
fn legend_text(swatch: Swatch, names: &[String]) -> (String, f64) {
    let mut text = String::new();
    if names.len() < 2 {
        return (text, 0.0);
    }
    let rows = legend_rows(names);
    let above = (rows.len() - 1) as f64 * LEGEND_ROW;
    let first = if let Swatch::LineFrom(first) = swatch { first } else { 0 };
    for (row, of) in rows.into_iter().enumerate() {
        let y = 30.0 - above + row as f64 * LEGEND_ROW;
        for (index, at, name) in of {
            let style = (index + first) % STYLES;
            text.push_str(&match swatch {
                Swatch::Line | Swatch::LineFrom(_) => format!(
                    "<g class=\"s{style}\"><line x1=\"{at:.0}\" y1=\"{y:.0}\" x2=\"{:.0}\" y2=\"{y:.0}\" \
                     stroke-dasharray=\"{}\"/>{}</g>",
                    at + 24.0,
                    DASHES[style],
                    marker(style, at + 12.0, y)
                ),
                Swatch::Bar => format!(
                    "<rect class=\"f{style}\" x=\"{:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\"/>",
                    at + 10.0,
                    y - 6.0
                ),
            });
            let (x, y, name) = (at + MARK, y + 4.0, escape(&name));
            text.push_str(&format!("<text x=\"{x:.0}\" y=\"{y:.0}\">{name}</text>\n"));
        }
    }
    (text, above)
}

/// Places names in as many rows as they need: the index of each, where it begins, and as much of it as a row has room
/// for.
fn legend_rows(names: &[String]) -> Vec<Vec<(usize, f64, String)>> {
    let end = WIDTH - RIGHT;
    let mut rows = vec![Vec::new()];
    let mut at = LEFT;
    for (index, name) in names.iter().enumerate() {
        let name = lanes::fitting(name, end - LEFT - MARK);
        let room = MARK + name.chars().count() as f64 * LEGEND_LETTER;
        if at > LEFT && at + room > end {
            rows.push(Vec::new());
            at = LEFT;
        }
        if let Some(row) = rows.last_mut() {
            row.push((index, at, name));
        }
        at += room + LEGEND_GAP;
    }
    rows
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

    /// The seventh run of a comparison had the colour of the first.
    #[test]
    fn as_many_results_as_a_page_compares_have_colours_of_their_own() {
        let style = include_str!("html/style.css");
        for theme in style.split("@media screen and (prefers-color-scheme: dark)").take(2) {
            let colour = |index: usize| {
                let (_, of) = theme.split_once(&format!("--s{index}: ")).expect("a colour");
                of.split(';').next().expect("its value")
            };
            let colours: std::collections::BTreeSet<&str> = (0..STYLES).map(colour).collect();
            assert_eq!(colours.len(), STYLES);
        }
        for class in ["s", "f", "side.f"] {
            let missing: Vec<usize> =
                (0..STYLES).filter(|index| !style.contains(&format!(".{class}{index} {{"))).collect();
            assert!(missing.is_empty(), ".{class}: {missing:?}");
        }
        assert_eq!(STYLES, 8);
    }

    /// Of a comparison of four runs the fourth was cut at the edge of each chart.
    #[test]
    fn a_legend_has_as_many_rows_as_its_names_need() {
        let names = |count: usize, name: &str| vec![name.to_owned(); count];
        let widths = |names: &[String]| legend_rows(names).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(widths(&names(3, "A 261127-q28z")), [3]);
        assert_eq!(widths(&names(4, "A 261127-q28z")), [3, 1]);
        assert_eq!(widths(&names(2, &"x".repeat(200))), [1, 1]);
        for row in legend_rows(&names(8, "a name of some length"))
            .iter()
            .chain(&legend_rows(&names(2, &"x".repeat(200))))
        {
            for (_, at, name) in row {
                assert!(at + MARK + name.chars().count() as f64 * LEGEND_LETTER <= WIDTH, "{at} {name}");
            }
        }
        let (x, y) = (Axis::up_to("s", 10.0), Axis::from_zero("IOPS", 5.0));
        let drawn = frame("t", &x, &y, (Swatch::Bar, &names(4, "A 261127-q28z")), "");
        assert!(
            drawn.contains("viewBox=\"0 -16 560 276\"") && drawn.contains("y=\"-2\">t</text>"),
            "{drawn}"
        );
    }

    #[test]
    fn nothing_a_name_holds_ends_a_tag() {
        assert_eq!(escape("<b a=\"x\">&'\u{7}"), "&lt;b a=&quot;x&quot;&gt;&amp;&#39;\\u0007");
    }
}
