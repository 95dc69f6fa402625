//! A figure of many runs over time: a point with its interval for each, the levels between changes, the changes, the
//! level of the baseline, and what happened beside them.

use super::{Axis, BOTTOM, HEIGHT, Swatch, TOP, escape, frame, x_at, y_at};

/// Where the legend of measured and baseline ends, user units.
const LEGEND_END: f64 = 260.0;
/// Width of a digit of an event's number with what is free beside it, user units.
const NUMBER_WIDTH: f64 = 10.0;
/// Width of a letter and height of a row of the words at changes, user units.
const STEP_LETTER: f64 = 7.0;
const STEP_ROW: f64 = 16.0;

/// Points over time.
pub(crate) struct TrendChart<'c> {
    pub(crate) title: &'c str,
    /// Title of the vertical axis, with its unit.
    pub(crate) unit: &'c str,
    /// What is drawn of time, ms since 1970 UTC.
    pub(crate) from_ms: u64,
    pub(crate) to_ms: u64,
    /// The oldest first.
    pub(crate) points: Vec<Point>,
    /// Runs of other loads: hollow.
    pub(crate) others: Vec<Point>,
    /// Where the level changes.
    pub(crate) changes: Vec<Step>,
    /// The level of the baseline, and its interval.
    pub(crate) baseline: Option<(f64, Option<(f64, f64)>)>,
    /// What happened beside the figures.
    pub(crate) events: Vec<Event>,
}

/// A run, or several.
pub(crate) struct Point {
    /// Its start, ms since 1970 UTC.
    pub(crate) at_ms: u64,
    pub(crate) value: f64,
    pub(crate) ends: Option<(f64, f64)>,
    /// What a pointer over it shows.
    pub(crate) says: String,
    /// Where it leads to.
    pub(crate) link: Option<String>,
    /// The first run after a change.
    pub(crate) is_marked: bool,
    /// It stands for several runs, between its ends.
    pub(crate) is_several: bool,
}

/// A change of the level.
pub(crate) struct Step {
    /// The first run after it, ms since 1970 UTC.
    pub(crate) at_ms: u64,
    /// What it says beside its line.
    pub(crate) says: String,
}

/// Something that happened.
pub(crate) struct Event {
    /// When, ms since 1970 UTC.
    pub(crate) at_ms: u64,
    /// Its number in the list below.
    pub(crate) number: usize,
    pub(crate) says: String,
}

impl TrendChart<'_> {
    pub(crate) fn svg(&self) -> String {
        let all = || self.points.iter().chain(&self.others);
        let tops = all().map(|point| point.ends.map_or(point.value, |(_, hi)| hi.max(point.value)));
        let baseline = self.baseline.map(|(value, ends)| ends.map_or(value, |(_, hi)| hi));
        let high = tops.chain(baseline).fold(0.0, f64::max);
        let (x, y) = (Axis::time(self.from_ms, self.to_ms), Axis::from_zero(self.unit, high));
        let mut body = self.baseline_svg(&y) + &self.levels(&x, &y) + &self.band(&x, &y);
        self.events.iter().for_each(|event| body.push_str(&event_svg(event, &x)));
        for point in &self.others {
            body.push_str(&shape(point, &x, &y, "other"));
        }
        for point in &self.points {
            body.push_str(&shape(point, &x, &y, if point.is_marked { "s0 step" } else { "s0" }));
        }
        body.push_str(&numbers_svg(&self.events, &x, self.baseline.is_some()));
        body.push_str(&self.changes_svg(&x));
        let names: Vec<String> = match self.baseline {
            Some(_) => vec!["measured".to_owned(), "baseline".to_owned()],
            None => Vec::new(),
        };
        let drawn = frame(self.title, &x, &y, (Swatch::Line, &names), &body);
        // To a screen reader an image has no links in it.
        match self.points.iter().any(|point| point.link.is_some()) {
            true => drawn.replacen("role=\"img\"", "role=\"group\"", 1),
            false => drawn,
        }
    }

    /// The line of each change with its words beside it, above those that would lie under them.
    fn changes_svg(&self, x: &Axis) -> String {
        let (mut lines, mut words) = (String::new(), String::new());
        // Where words stand: from, to, and their height.
        let mut before: Vec<(f64, f64, f64)> = Vec::new();
        for step in &self.changes {
            let at = x_at(x, step.at_ms as f64) - 3.0;
            let width = step.says.chars().count() as f64 * STEP_LETTER;
            // Near the right edge the words stand before the line.
            let is_late = (step.at_ms - self.from_ms.min(step.at_ms)) * 4 > (self.to_ms - self.from_ms) * 3;
            let (words_x, class, from) =
                if is_late { (at - 4.0, "halo e", at - 4.0 - width) } else { (at + 4.0, "halo", at + 4.0) };
            let mut y = HEIGHT - BOTTOM - 6.0;
            let is_under = |y: f64, of: &(f64, f64, f64)| {
                of.2.to_bits() == y.to_bits() && from < of.1 && from + width > of.0
            };
            while before.iter().any(|of| is_under(y, of)) && y > TOP + STEP_ROW {
                y -= STEP_ROW;
            }
            before.push((from, from + width, y));
            lines.push_str(&format!(
                "<line class=\"b change\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\"/>\n",
                HEIGHT - BOTTOM
            ));
            words.push_str(&format!(
                "<text class=\"{class}\" x=\"{words_x:.1}\" y=\"{y:.1}\">{}</text>\n",
                escape(&step.says)
            ));
        }
        // No line strikes words through.
        lines + &words
    }

    /// From the lowest to the highest of the runs that each point stands for.
    fn band(&self, x: &Axis, y: &Axis) -> String {
        if self.points.len() < 2 || !self.points.iter().any(|point| point.is_several) {
            return String::new();
        }
        let at =
            |point: &Point, value: f64| format!("{:.1},{:.1}", x_at(x, point.at_ms as f64), y_at(y, value));
        let ends = |point: &Point| point.ends.unwrap_or((point.value, point.value));
        let upper = self.points.iter().map(|point| at(point, ends(point).1));
        let lower = self.points.iter().rev().map(|point| at(point, ends(point).0));
        let middle: Vec<String> = self.points.iter().map(|point| at(point, point.value)).collect();
        format!(
            "<polygon class=\"band s0\" points=\"{}\"/><g class=\"s0\"><polyline points=\"{}\"/></g>\n",
            upper.chain(lower).collect::<Vec<_>>().join(" "),
            middle.join(" ")
        )
    }

    /// The mean between two changes.
    fn levels(&self, x: &Axis, y: &Axis) -> String {
        if self.changes.is_empty() {
            return String::new();
        }
        let mut cuts: Vec<u64> = vec![0];
        cuts.extend(self.changes.iter().map(|step| step.at_ms));
        cuts.push(u64::MAX);
        let mut text = String::new();
        for cut in cuts.windows(2) {
            let within = |point: &&Point| (cut[0]..cut[1]).contains(&point.at_ms);
            let points: Vec<&Point> = self.points.iter().filter(within).collect();
            let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
            let level = points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64;
            let (from, to) = (x_at(x, first.at_ms as f64) - 3.0, x_at(x, last.at_ms as f64) + 3.0);
            let at = y_at(y, level);
            text.push_str(&format!(
                "<line class=\"k level\" x1=\"{from:.1}\" y1=\"{at:.1}\" x2=\"{to:.1}\" y2=\"{at:.1}\"/>\n"
            ));
        }
        text
    }

    fn baseline_svg(&self, y: &Axis) -> String {
        let Some((value, ends)) = self.baseline else { return String::new() };
        let (from, to) = (super::LEFT, super::WIDTH - super::RIGHT);
        let band = ends.map_or_else(String::new, |(lo, hi)| {
            let (low, high) = (y_at(y, lo), y_at(y, hi));
            format!(
                "<rect class=\"band s1\" x=\"{from}\" y=\"{high:.1}\" width=\"{}\" height=\"{:.1}\"/>",
                to - from,
                low - high
            )
        });
        let at = y_at(y, value);
        format!(
            "{band}<g class=\"s1\"><line class=\"baseline\" x1=\"{from}\" y1=\"{at:.1}\" x2=\"{to}\" \
             y2=\"{at:.1}\" stroke-dasharray=\"7 3\"/></g>\n"
        )
    }
}

fn event_svg(event: &Event, x: &Axis) -> String {
    let at = x_at(x, event.at_ms as f64);
    format!(
        "<g class=\"ev\"><title>{}: {}</title><line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\"/></g>\n",
        event.number,
        escape(&event.says),
        HEIGHT - BOTTOM
    )
}

/// The numbers of events, the oldest first. Where many lie close together, those that have room have their numbers.
fn numbers_svg(events: &[Event], x: &Axis, has_legend: bool) -> String {
    let (mut svg, mut free_from) = (String::new(), f64::NEG_INFINITY);
    for event in events {
        let width = NUMBER_WIDTH * event.number.to_string().len() as f64;
        let at = x_at(x, event.at_ms as f64);
        if at - width / 2.0 >= free_from {
            svg.push_str(&number_svg(event, x, has_legend));
            free_from = at + width / 2.0;
        }
    }
    svg
}

/// Its number above the drawing, where nothing strikes it through; below the legend within the drawing.
fn number_svg(event: &Event, x: &Axis, has_legend: bool) -> String {
    let at = x_at(x, event.at_ms as f64);
    let y = if has_legend && at < LEGEND_END { TOP + 12.0 } else { TOP - 4.0 };
    format!(
        "<g class=\"ev\"><title>{}</title><text class=\"m halo\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>\n",
        escape(&event.says),
        at,
        y,
        event.number
    )
}

fn shape(point: &Point, x: &Axis, y: &Axis, class: &str) -> String {
    let (at, middle) = (x_at(x, point.at_ms as f64), y_at(y, point.value));
    let interval = point.ends.filter(|_| !point.is_several).map_or_else(String::new, |(lo, hi)| {
        let (low, high) = (y_at(y, lo), y_at(y, hi));
        format!("<line class=\"ci\" x1=\"{at:.1}\" y1=\"{low:.1}\" x2=\"{at:.1}\" y2=\"{high:.1}\"/>")
    });
    let radius = if point.is_marked { 4.5 } else { 3.0 };
    let dot = format!(
        "<g class=\"{class}\"><title>{}</title>{interval}<circle cx=\"{at:.1}\" cy=\"{middle:.1}\" \
         r=\"{radius}\"/></g>",
        escape(&point.says)
    );
    match &point.link {
        Some(link) => {
            format!("<a href=\"{}\" aria-label=\"{}\">{dot}</a>\n", escape(link), escape(&point.says))
        }
        None => dot + "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two changes within three weeks of a year the words of one lay over those of the other.
    #[test]
    fn words_of_changes_lie_beside_or_above_each_other() {
        let day_ms = 86_400_000;
        let step = |day: u64| Step { at_ms: day * day_ms, says: "+444 %".to_owned() };
        let chart = |days: &[u64]| TrendChart {
            title: "p99",
            unit: "ms",
            from_ms: 0,
            to_ms: 360 * day_ms,
            points: Vec::new(),
            others: Vec::new(),
            changes: days.iter().map(|day| step(*day)).collect(),
            baseline: None,
            events: Vec::new(),
        };
        let heights = |days: &[u64]| -> Vec<String> {
            let svg = chart(days).changes_svg(&Axis::time(0, 360 * day_ms));
            let (lines, words) = svg.split_once("<text").expect("words after lines");
            assert!(lines.matches("<line").count() == days.len() && !words.contains("<line"), "{svg}");
            words.split(" y=\"").skip(1).filter_map(|of| Some(of.split_once('"')?.0.to_owned())).collect()
        };
        assert_eq!(heights(&[100, 200]), ["208.0", "208.0"]);
        assert_eq!(heights(&[100, 110, 120]), ["208.0", "192.0", "176.0"]);
        assert_eq!(heights(&[300, 320]), ["208.0", "192.0"], "near the right edge too");
    }

    /// Of seventy events of a year a drawing had a row of digits that nobody could read.
    #[test]
    fn numbers_of_events_do_not_touch() {
        let day_ms = 86_400_000;
        let x = Axis::time(0, 360 * day_ms);
        let numbers = |apart: u64| -> Vec<String> {
            let event = |number: u64| Event {
                at_ms: number * apart * day_ms,
                number: usize::try_from(number).unwrap_or(0),
                says: String::new(),
            };
            let events: Vec<Event> = (1..=360 / apart).map(event).collect();
            let svg = numbers_svg(&events, &x, false);
            let words = svg.split("</text>").filter_map(|part| Some(part.rsplit_once('>')?.1.to_owned()));
            // Behind the last one is none.
            words.filter(|word| !word.trim().is_empty()).collect()
        };
        assert_eq!(numbers(90), ["1", "2", "3", "4"]);
        let drawn = numbers(5);
        assert!(drawn.len() > 10 && drawn.len() < 36, "{drawn:?}");
    }
}
