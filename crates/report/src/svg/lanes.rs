//! Several quantities over one time axis, one below the other, with the phases of the step behind them.

use super::{Axis, DASHES, STYLES, escape};

/// Lanes over a common time axis.
pub(crate) struct Lanes<'c> {
    pub(crate) title: &'c str,
    /// The part of the step that is drawn, s; the window begins at 0.
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) phases: Vec<Band>,
    /// What happened, over all lanes: name, start and end, s.
    pub(crate) episodes: Vec<(String, f64, f64)>,
    pub(crate) lanes: Vec<Lane>,
}

/// A phase, or a step of a sweep.
#[derive(Clone)]
pub(crate) struct Band {
    pub(crate) name: String,
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    /// Whether its I/Os count.
    pub(crate) counts: Counts,
}

/// Whether I/Os of a phase count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Counted,
    NotCounted,
}

/// One quantity, or several in one unit.
pub(crate) struct Lane {
    /// Name and unit.
    pub(crate) title: String,
    /// The y axis; its title is not used.
    pub(crate) y: Axis,
    /// Name and points of each line. A gap in time breaks a line.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
    /// What the lines are compared with.
    pub(crate) levels: Vec<LevelBand>,
    pub(crate) height: f64,
}

/// A level with its interval, over the whole time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LevelBand {
    pub(crate) name: String,
    /// The colour.
    pub(crate) style: usize,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    /// `None`: the interval says all.
    pub(crate) value: Option<f64>,
}

/// As wide as a page, so that letters are as large as those of the other charts; and as wide as a phone, which would
/// show half of the time only, or letters too small to read.
const WIDE: f64 = 1120.0;
const NARROW: f64 = 400.0;
/// Ticks of a lane lie at least so far apart.
const TICK_ROOM: f64 = 17.0;
/// Of more steps between ticks the two ends alone say too little.
const TICKS_ENDS_MAX: usize = 6;
/// Bands that are narrower have no name: a drain of a moment cannot be seen.
const NAMED_MIN: f64 = 4.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
/// Room for the title of the chart and the names of the phases.
const TOP: f64 = 40.0;
/// Room above each lane for its title.
const LANE_HEAD: f64 = 26.0;
const BOTTOM: f64 = 34.0;
/// Points of a line that lie further apart are not joined, s.
const JOINED_MAX: f64 = 3.5;
/// Room for the title of a lane, left of what happened.
const TITLE_ROOM: f64 = 40.0;
/// Width of a letter of a legend.
const LEGEND_LETTER: f64 = 6.5;
/// Width of a letter.
const LETTER: f64 = 7.0;

impl Lanes<'_> {
    /// Two drawings, of which the page shows the one that fits.
    pub(crate) fn svg(&self) -> String {
        format!("{}{}", self.svg_in("wide", WIDE), self.svg_in("narrow", NARROW))
    }

    fn svg_in(&self, class: &str, width: f64) -> String {
        let end = width - RIGHT;
        let x = |t: f64| LEFT + (t - self.from_s) / (self.to_s - self.from_s).max(1e-9) * (end - LEFT);
        let heights: f64 = self.lanes.iter().map(|lane| lane.height + LANE_HEAD).sum();
        let floor = TOP + heights;
        let mut svg = format!(
            "<svg class=\"lanes {class}\" viewBox=\"0 0 {width} {:.0}\" data-from=\"{:.3}\" data-to=\"{:.3}\" \
             data-left=\"{LEFT}\" data-right=\"{end}\" data-floor=\"{floor:.1}\" role=\"img\" \
             aria-label=\"{}\">\n<text class=\"t\" x=\"0\" y=\"14\">{}</text>\n",
            floor + BOTTOM,
            self.from_s,
            self.to_s,
            escape(self.title),
            escape(self.title)
        );
        svg.push_str(&self.bands(&x, end, floor));
        let mut top = TOP;
        for lane in &self.lanes {
            top += LANE_HEAD;
            svg.push_str(&lane_svg(lane, top, end, &x));
            top += lane.height;
        }
        svg.push_str(&self.happened(&x, end, floor));
        svg.push_str(&self.time_axis(&x, end, floor));
        svg.push_str("</svg>\n");
        svg
    }

    /// What happened, each with its name above the lanes where there is room for it.
    fn happened(&self, x: &impl Fn(f64) -> f64, end: f64, floor: f64) -> String {
        let is_shown = |(_, from, to): &&(String, f64, f64)| *to >= self.from_s && *from < self.to_s;
        let mut shown: Vec<&(String, f64, f64)> = self.episodes.iter().filter(is_shown).collect();
        shown.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut svg = String::new();
        // The title of the first lane stands at its left.
        let mut free_from = LEFT + TITLE_ROOM;
        for (name, from_s, to_s) in shown {
            let (left, right) = (x(from_s.max(self.from_s)), x(to_s.min(self.to_s)));
            svg.push_str(&format!(
                "<rect class=\"ep\" x=\"{left:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\">\
                 <title>{}</title></rect>\n",
                (right - left).max(2.0),
                floor - TOP,
                escape(name)
            ));
            // The reason is under the pointer.
            let brief = name.split(": ").next().unwrap_or(name);
            let room = brief.chars().count() as f64 * LETTER;
            let at = (left + 2.0).max(free_from).min(end - room);
            if at >= free_from && at <= right.max(left + 2.0) {
                svg.push_str(&format!(
                    "<text class=\"pn en\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>\n",
                    TOP + 11.0,
                    escape(brief)
                ));
                free_from = at + room + LETTER;
            }
        }
        svg
    }

    fn bands(&self, x: &impl Fn(f64) -> f64, end: f64, floor: f64) -> String {
        let mut svg = String::new();
        let mut free_from = f64::NEG_INFINITY;
        for band in self.phases.iter().filter(|band| band.to_s > self.from_s && band.from_s < self.to_s) {
            let (left, right) = (x(band.from_s.max(self.from_s)), x(band.to_s.min(self.to_s)));
            let class = match band.counts {
                Counts::Counted => "ph",
                Counts::NotCounted => "ph off",
            };
            svg.push_str(&format!(
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                TOP - 4.0,
                (right - left).max(0.5),
                floor - TOP + 4.0
            ));
            // A name that would run into the one before it moves to its right, within its band or the end of the chart.
            let room = band.name.chars().count() as f64 * LETTER;
            let at = (left + 2.0).max(free_from).min(end - room);
            if right - left >= NAMED_MIN && at >= free_from && at <= right.max(left + room) {
                svg.push_str(&format!(
                    "<text class=\"pn\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>\n",
                    TOP - 8.0,
                    escape(&band.name)
                ));
                free_from = at + room + LETTER;
            }
        }
        svg
    }

    fn time_axis(&self, x: &impl Fn(f64) -> f64, end: f64, floor: f64) -> String {
        let axis = Axis::between("", self.from_s, self.to_s);
        let mut svg =
            format!("<line class=\"k\" x1=\"{LEFT}\" y1=\"{floor:.1}\" x2=\"{}\" y2=\"{floor:.1}\"/>", end);
        for (value, label) in &axis.ticks {
            let at = x(*value);
            svg.push_str(&format!(
                "<line class=\"k\" x1=\"{at:.1}\" y1=\"{floor:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\"/><text class=\"m\" \
                 x=\"{at:.1}\" y=\"{:.1}\">{label}</text>\n",
                floor + 4.0,
                floor + 16.0
            ));
        }
        svg.push_str(&format!(
            "<text class=\"m\" x=\"{:.1}\" y=\"{:.1}\">s since the measured window began</text>\n",
            (LEFT + end) / 2.0,
            floor + 30.0
        ));
        svg
    }
}

/// Returns a name as far as there is room for it.
pub(super) fn fitting(name: &str, room: f64) -> String {
    let count = name.chars().count();
    // Of a name that has no room at all, its line is left.
    let fits = (1..=count).take_while(|letters| *letters as f64 * LEGEND_LETTER <= room).count();
    match fits {
        fits if fits == count => name.to_owned(),
        0..=2 => String::new(),
        fits => name.chars().take(fits - 1).chain(['…']).collect(),
    }
}

/// Returns how many ticks from one to the next that is written: as few as there is room for, all equally far apart, the
/// lowest and the highest among them. Where that leaves only these two of many, the highest may be missing.
fn ticks_apart(count: usize, height: f64) -> usize {
    let last = count.saturating_sub(1);
    let has_room = |every: &usize| height * *every as f64 / last as f64 >= TICK_ROOM;
    let with_both =
        (1..=last).filter(|every| last.is_multiple_of(*every)).find(has_room).unwrap_or(last.max(1));
    match with_both == last && last > TICKS_ENDS_MAX {
        true => (1..=last).find(has_room).unwrap_or(last),
        false => with_both,
    }
}

fn lane_svg(lane: &Lane, top: f64, end: f64, x: &impl Fn(f64) -> f64) -> String {
    let y = |value: f64| top + lane.height - lane.y.share(value) * lane.height;
    let mut svg = format!("<text class=\"ln\" x=\"{LEFT}\" y=\"{:.1}\">{}", top - 5.0, escape(&lane.title));
    svg.push_str("</text>\n");
    for (value, label) in lane.y.ticks.iter().step_by(ticks_apart(lane.y.ticks.len(), lane.height)) {
        let at = y(*value);
        svg.push_str(&format!(
            "<line class=\"g\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\"/><text class=\"e\" x=\"{}\" \
             y=\"{:.1}\">{label}</text>\n",
            end,
            LEFT - 6.0,
            at + 4.0
        ));
    }
    for level in &lane.levels {
        svg.push_str(&level_svg(level, end, &y));
    }
    let mut legend = LEFT + lane.title.chars().count() as f64 * 6.2 + 18.0;
    for (index, (name, points)) in lane.lines.iter().enumerate() {
        let style = index % STYLES;
        svg.push_str(&format!("<g class=\"s{style}\">"));
        for piece in pieces(points) {
            let at: Vec<String> = piece.iter().map(|(t, v)| format!("{:.1},{:.1}", x(*t), y(*v))).collect();
            svg.push_str(&match piece {
                [(t, v)] => format!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"1.6\"/>", x(*t), y(*v)),
                _ => {
                    format!("<polyline points=\"{}\" stroke-dasharray=\"{}\"/>", at.join(" "), DASHES[style])
                }
            });
        }
        if lane.lines.len() > 1 {
            svg.push_str(&format!(
                "<line x1=\"{legend:.1}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" \
                 stroke-dasharray=\"{2}\"/></g><text x=\"{3:.1}\" y=\"{4:.1}\">{5}</text>\n",
                top - 9.0,
                legend + 18.0,
                DASHES[style],
                legend + 22.0,
                top - 5.0,
                escape(&fitting(name, end - legend - 22.0))
            ));
            legend += 34.0 + name.chars().count() as f64 * LEGEND_LETTER;
        } else {
            svg.push_str("</g>\n");
        }
    }
    for level in &lane.levels {
        let room = 34.0 + level.name.chars().count() as f64 * LEGEND_LETTER;
        // On a phone its colour and the text under the pointer have to do.
        if legend + room > end {
            break;
        }
        svg.push_str(&format!(
            "<rect class=\"band f{}\" x=\"{legend:.1}\" y=\"{:.1}\" width=\"18\" height=\"10\"/><text x=\"{:.1}\" \
             y=\"{:.1}\">{}</text>\n",
            level.style,
            top - 14.0,
            legend + 22.0,
            top - 5.0,
            escape(&level.name)
        ));
        legend += room;
    }
    svg
}

/// Draws the part of a level that is on the axis.
fn level_svg(level: &LevelBand, end: f64, y: &impl Fn(f64) -> f64) -> String {
    let (upper, lower) = (y(level.hi), y(level.lo));
    let line = level.value.map_or_else(String::new, |value| {
        format!(
            "<g class=\"s{}\"><line x1=\"{LEFT}\" y1=\"{1:.1}\" x2=\"{end}\" y2=\"{1:.1}\" \
             stroke-dasharray=\"6 3\"/></g>",
            level.style,
            y(value)
        )
    });
    format!(
        "<rect class=\"band f{}\" x=\"{LEFT}\" y=\"{upper:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title>\
         </rect>{line}\n",
        level.style,
        end - LEFT,
        (lower - upper).max(1.0),
        escape(&level.name)
    )
}

/// Points in stretches without a gap.
fn pieces(points: &[(f64, f64)]) -> impl Iterator<Item = &[(f64, f64)]> {
    points.chunk_by(|a, b| b.0 - a.0 <= JOINED_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a logarithmic axis from 50 to 10,000 the two ends were written, and nothing between them.
    #[test]
    fn ticks_have_room_and_are_more_than_the_ends_of_a_wide_axis() {
        assert_eq!(ticks_apart(8, 100.0), 2, "50, 200, 1000, 5000");
        assert_eq!(ticks_apart(6, 50.0), 5, "0 and 100 %");
        assert_eq!(ticks_apart(5, 110.0), 1);
        assert_eq!((ticks_apart(0, 50.0), ticks_apart(1, 50.0)), (1, 1));
        for count in 2..30 {
            let apart = ticks_apart(count, 50.0);
            assert!(apart < count && 50.0 * apart as f64 / (count - 1) as f64 >= TICK_ROOM, "{count}");
        }
    }

    /// On a phone the second portal of a run was called 198.18.10.
    #[test]
    fn a_name_that_has_no_room_says_that_it_goes_on() {
        for (room, expected) in [(200.0, "198.18.10.2:3260"), (89.0, "198.18.10.2:…"), (12.0, ""), (-8.0, "")]
        {
            assert_eq!(fitting("198.18.10.2:3260", room), expected);
        }
    }
}
