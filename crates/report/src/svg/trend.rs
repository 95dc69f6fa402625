//! A figure of many runs: a point with its interval for each, the levels between changes, and the changes.

use super::{Axis, BOTTOM, HEIGHT, Swatch, TOP, escape, frame, x_at, y_at};

/// Points over runs, the oldest at the left.
pub(crate) struct TrendChart<'c> {
    pub(crate) title: &'c str,
    /// Title of the vertical axis, with its unit.
    pub(crate) unit: &'c str,
    /// Days of the runs, one for each point.
    pub(crate) days: &'c [String],
    /// What all of them have in common: the title of the horizontal axis.
    pub(crate) about_days: &'c str,
    pub(crate) points: Vec<Point>,
    /// Where the level changes.
    pub(crate) changes: Vec<Step>,
    /// The level of the baseline.
    pub(crate) baseline: Option<f64>,
}

/// A run.
pub(crate) struct Point {
    pub(crate) value: f64,
    pub(crate) ends: Option<(f64, f64)>,
    /// What a pointer over it shows.
    pub(crate) says: String,
    /// Where it leads to.
    pub(crate) link: Option<String>,
    /// The first run after a change.
    pub(crate) is_marked: bool,
}

/// A change of the level.
pub(crate) struct Step {
    /// Index of the first point after it.
    pub(crate) at: usize,
    /// What it says beside its line.
    pub(crate) says: String,
}

impl TrendChart<'_> {
    pub(crate) fn svg(&self) -> String {
        let tops =
            self.points.iter().map(|point| point.ends.map_or(point.value, |(_, hi)| hi.max(point.value)));
        let high = tops.chain(self.baseline).fold(0.0, f64::max);
        let (x, y) = (Axis::names(self.about_days, self.days), Axis::from_zero(self.unit, high));
        let mut body = self.levels(&x, &y);
        for (index, point) in self.points.iter().enumerate() {
            body.push_str(&shape(point, x_at(&x, index as f64), &y));
        }
        for step in &self.changes {
            let at = x_at(&x, step.at as f64 - 0.5);
            // Near the right edge the words stand before the line.
            let (side, class) =
                if step.at * 4 > self.points.len() * 3 { (-4.0, " class=\"e\"") } else { (4.0, "") };
            body.push_str(&format!(
                "<line class=\"b change\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\"/><text{class} \
                 x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                HEIGHT - BOTTOM,
                at + side,
                HEIGHT - BOTTOM - 6.0,
                escape(&step.says)
            ));
        }
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

    /// The mean between two changes, and the baseline.
    fn levels(&self, x: &Axis, y: &Axis) -> String {
        let mut text = String::new();
        let mut cuts: Vec<usize> = vec![0];
        cuts.extend(self.changes.iter().map(|step| step.at));
        cuts.push(self.points.len());
        if self.changes.is_empty() {
            cuts.clear();
        }
        for cut in cuts.windows(2) {
            let values: Vec<f64> = self.points[cut[0]..cut[1]].iter().map(|point| point.value).collect();
            let level = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let (from, to) = (x_at(x, cut[0] as f64 - 0.4), x_at(x, cut[1] as f64 - 0.6));
            let at = y_at(y, level);
            text.push_str(&format!(
                "<line class=\"k level\" x1=\"{from:.1}\" y1=\"{at:.1}\" x2=\"{to:.1}\" y2=\"{at:.1}\"/>\n"
            ));
        }
        if let Some(baseline) = self.baseline {
            let (from, to) = (x_at(x, -0.5), x_at(x, self.points.len() as f64 - 0.5));
            let at = y_at(y, baseline);
            text.push_str(&format!(
                "<g class=\"s1\"><line x1=\"{from:.1}\" y1=\"{at:.1}\" x2=\"{to:.1}\" y2=\"{at:.1}\" \
                 stroke-dasharray=\"7 3\"/></g>\n"
            ));
        }
        text
    }
}

fn shape(point: &Point, at: f64, y: &Axis) -> String {
    let middle = y_at(y, point.value);
    let interval = point.ends.map_or_else(String::new, |(lo, hi)| {
        let (low, high) = (y_at(y, lo), y_at(y, hi));
        format!("<line class=\"ci\" x1=\"{at:.1}\" y1=\"{low:.1}\" x2=\"{at:.1}\" y2=\"{high:.1}\"/>")
    });
    let (class, radius) = if point.is_marked { ("s1", 4.5) } else { ("s0", 3.0) };
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
