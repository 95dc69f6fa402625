//! Sweeps: bars over one swept setting, lines over one setting for each value of another.

use assay_analysis::compare::is_round;
use assay_analysis::{OpSummary, RunSummary, StepSummary};
use assay_record::{RunHeader, StepId};
use assay_spec::Test;

use crate::number::{self, TimeUnit};
use crate::svg::{Axis, BarSeries, Bars, Cell, Cells, Doubt, Line, Lines, Mark, Star, escape};

/// The setting of a step that lies along the axis where it is swept.
const ALONG: &str = "size";
/// Values that differ more get a logarithmic axis.
const WIDE: f64 = 30.0;
/// More lines than this are a map.
const LINES_MAX: usize = 6;

/// Charts of every sweep, tests with the same steps side by side.
pub(super) fn sweeps(header: &RunHeader, summary: &RunSummary, disturbed: &[StepId]) -> String {
    let mut drawn: Vec<Vec<String>> = Vec::new();
    let mut text = String::new();
    for test in &header.plan.tests {
        let labels: Vec<String> = test.steps.iter().map(assay_spec::Step::label).collect();
        // Load and depth curves have charts of their own.
        let is_curve = labels.len() > 2
            && test.steps.iter().all(|step| step.swept.len() == 1)
            && labels.iter().all(|l| ["load=", "rate=", "outstanding="].iter().any(|key| l.starts_with(key)));
        // Rounds are repetitions of one load.
        let is_repeated = labels.iter().all(|label| is_round(label));
        if labels.len() < 2 || is_curve || is_repeated || drawn.contains(&labels) {
            continue;
        }
        let same: Vec<usize> = header
            .plan
            .tests
            .iter()
            .enumerate()
            .filter(|(_, t)| t.steps.iter().map(assay_spec::Step::label).eq(labels.iter().cloned()))
            .map(|(index, _)| index)
            .collect();
        let sweep = Sweep { header, summary, disturbed, tests: same };
        text.push_str(&match grid(test) {
            Some(grid) => sweep.of_two(&grid, drawn.len()),
            None => sweep.of_one(&labels),
        });
        drawn.push(labels);
    }
    text
}

/// Whether a step is of a sweep of two settings, which is drawn as lines or as a map.
pub(super) fn is_of_two(header: &RunHeader, step: &StepSummary) -> bool {
    header.plan.tests.get(step.id.test as usize).is_some_and(|test| grid(test).is_some())
}

/// Tests with the same steps.
struct Sweep<'s> {
    header: &'s RunHeader,
    summary: &'s RunSummary,
    disturbed: &'s [StepId],
    tests: Vec<usize>,
}

/// Two settings that are swept together.
struct Grid {
    /// What lies along the axis.
    along: Setting,
    /// What has a line for each value.
    each: Setting,
    /// The step with a value of each, by the indices of both.
    steps: Vec<Vec<Option<usize>>>,
}

/// A swept setting.
struct Setting {
    key: String,
    /// In the order of the plan.
    values: Vec<String>,
}

/// Returns the two settings of a test that sweeps exactly two; `None` for another.
fn grid(test: &Test) -> Option<Grid> {
    let swept: Vec<&[assay_spec::Swept]> = test.steps.iter().map(|step| step.swept.as_slice()).collect();
    let keys: Vec<&str> = swept.first()?.iter().map(|swept| swept.key.as_str()).collect();
    let is_alike =
        |swept: &&[assay_spec::Swept]| swept.iter().map(|swept| swept.key.as_str()).eq(keys.iter().copied());
    if keys.len() != 2 || !swept.iter().all(is_alike) {
        return None;
    }
    let setting = |place: usize| {
        let mut values: Vec<String> = Vec::new();
        for value in swept.iter().map(|swept| &swept[place].value) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        Setting { key: keys[place].to_owned(), values }
    };
    let both = [setting(0), setting(1)];
    if both.iter().any(|setting| setting.values.len() < 2) {
        return None;
    }
    let is_second_along =
        both[1].key == ALONG || (both[0].key != ALONG && both[1].values.len() > both[0].values.len());
    let (along, each) = if is_second_along { (1, 0) } else { (0, 1) };
    let at =
        |a: &str, e: &str| swept.iter().position(|swept| swept[along].value == a && swept[each].value == e);
    let row = |a: &String| both[each].values.iter().map(|e| at(a, e)).collect();
    let steps = both[along].values.iter().map(row).collect();
    let [first, second] = both;
    let (along, each) = if is_second_along { (second, first) } else { (first, second) };
    Some(Grid { along, each, steps })
}

/// A figure that a sweep is drawn in.
struct Figure {
    name: String,
    of: fn(&OpSummary) -> Option<f64>,
    /// What a value is multiplied by.
    scale: f64,
}

impl Sweep<'_> {
    /// Bars over the values of one setting.
    fn of_one(&self, labels: &[String]) -> String {
        let steps = &self.header.plan.tests[self.tests[0]].steps;
        let keys: Vec<&str> = steps[0].swept.iter().map(|swept| swept.key.as_str()).collect();
        let is_alike = |step: &assay_spec::Step| {
            step.swept.iter().map(|swept| swept.key.as_str()).eq(keys.iter().copied())
        };
        // Names of several settings would be cut before they differ.
        let values = |step: &assay_spec::Step| {
            step.swept.iter().map(|swept| swept.value.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (names, key): (Vec<String>, String) = match !keys.is_empty() && steps.iter().all(is_alike) {
            true => (steps.iter().map(values).collect(), keys.join(", ")),
            false => (labels.to_vec(), "step".to_owned()),
        };
        // Bytes per second say where a size saturates; for all else the I/Os count.
        let is_size = keys.first() == Some(&ALONG);
        let of = |ops: &OpSummary| if is_size { ops.mib_per_s } else { ops.iops };
        let steps = || 0..labels.len();
        let series = self.tests.iter().map(|test| BarSeries {
            name: self.header.plan.tests[*test].name.clone(),
            values: steps().map(|step| self.measured(*test, step).map(|s| of(&s.total))).collect(),
            doubts: steps()
                .map(|step| self.measured(*test, step).map_or(Doubt::None, |s| self.doubt(s)))
                .collect(),
        });
        let series: Vec<BarSeries> = series.collect();
        let unit = if is_size { "MiB/s" } else { "IOPS" };
        let best = best_text(&series, &names, unit);
        let is_size_alone = is_size && keys.len() == 1;
        let title = match is_size_alone {
            true => "Throughput by block size".to_owned(),
            false => format!("{unit} by {key}"),
        };
        let x_title = if is_size_alone { "size of an I/O" } else { key.as_str() };
        let chart = Bars { title: &title, x_title, y_title: unit, names: &names, series, star: Star::Best };
        format!(
            "<h2>{}</h2>\n<div class=\"charts wide\">{}</div>\n<p>{}</p>\n",
            escape(&format!("Sweep of {key}")),
            chart.svg(),
            escape(&best)
        )
    }

    /// Lines over the values of one setting, one for each value of the other, in three figures to choose from.
    fn of_two(&self, grid: &Grid, number: usize) -> String {
        let p99 = self.all(grid).filter_map(|(_, step)| step.total.waited().quantile_ns(0.99));
        let unit = TimeUnit::for_means(&p99.collect::<Vec<_>>());
        let figure = |name: &str, of, scale| Figure { name: name.to_owned(), of, scale };
        let mut figures = [
            figure("MiB/s", |ops: &OpSummary| Some(ops.mib_per_s), 1.0),
            figure("IOPS", |ops: &OpSummary| Some(ops.iops), 1.0),
            figure(
                &format!("p99, {}", unit.name()),
                |ops: &OpSummary| ops.waited().quantile_ns(0.99),
                unit.of_ns(1.0),
            ),
        ];
        let is_size = grid.along.key == ALONG;
        if !is_size {
            figures.swap(0, 1);
        }
        let best = self.best(grid, &figures[0]);
        let mut tabs = String::new();
        for (index, figure) in figures.iter().enumerate() {
            let checked = if index == 0 { " checked" } else { "" };
            tabs.push_str(&format!(
                "<input type=\"radio\" name=\"sweep-{number}\" id=\"sweep-{number}-{index}\"{checked}><label \
                 for=\"sweep-{number}-{index}\">{}</label>\n",
                figure.name
            ));
        }
        for (index, figure) in figures.iter().enumerate() {
            let star = best.filter(|_| index == 0);
            let draw = |test: &usize| match grid.each.values.len() > LINES_MAX {
                true => self.cells(grid, *test, figure, star),
                false => self.lines(grid, *test, figure, star),
            };
            let charts: String = self.tests.iter().map(draw).collect();
            tabs.push_str(&format!(
                "<div class=\"pane p{index}\"><div class=\"charts\">{charts}</div></div>\n"
            ));
        }
        let heading = format!("Sweep of {} and {}", grid.along.key, grid.each.key);
        format!(
            "<h2>{}</h2>\n<fieldset class=\"switch\"><legend class=\"soft\">Figure</legend>\n{tabs}</fieldset>\n\
             <p>{}</p>\n",
            escape(&heading),
            escape(&self.best_of_all(grid, &figures[0], best))
        )
    }

    /// Every measured step of the tests with its place.
    fn all<'a>(&'a self, grid: &'a Grid) -> impl Iterator<Item = (Place, &'a StepSummary)> {
        let of = move |test: usize| {
            let rows = grid.steps.iter().enumerate();
            let cells = rows.flat_map(|(along, row)| {
                row.iter().enumerate().map(move |(each, step)| (along, each, *step))
            });
            cells.filter_map(move |(along, each, step)| {
                Some((Place { test, along, each }, self.measured(test, step?)?))
            })
        };
        self.tests.iter().flat_map(move |test| of(*test))
    }

    /// The best of all steps that nothing disturbed; `None` where most were disturbed, as the best of a few is no best.
    fn best(&self, grid: &Grid, figure: &Figure) -> Option<Place> {
        let all: Vec<_> = self.all(grid).collect();
        let sound = || all.iter().filter(|(_, step)| self.doubt(step) == Doubt::None);
        if sound().count() * 2 < all.len() {
            return None;
        }
        let value = |step: &StepSummary| (figure.of)(&step.total).unwrap_or(0.0);
        sound().max_by(|a, b| value(a.1).total_cmp(&value(b.1))).map(|(place, _)| *place)
    }

    fn best_of_all(&self, grid: &Grid, figure: &Figure, best: Option<Place>) -> String {
        let value = |step: &StepSummary| (figure.of)(&step.total).unwrap_or(0.0);
        let all: Vec<_> = self.all(grid).collect();
        let doubtful: Vec<f64> = all
            .iter()
            .filter(|(_, step)| self.doubt(step) != Doubt::None)
            .map(|(_, step)| value(step))
            .collect();
        let highest = doubtful.iter().copied().fold(0.0, f64::max);
        let mut says = match best.and_then(|best| all.iter().find(|(place, _)| *place == best)) {
            Some((place, step)) => format!(
                "★ {} is best at {} {}, {} {}: {} {}.",
                self.header.plan.tests[place.test].name,
                grid.along.key,
                grid.along.values[place.along],
                grid.each.key,
                grid.each.values[place.each],
                number::long(value(step)),
                figure.name
            ),
            None => "No step gets a star: most were disturbed or cut short.".to_owned(),
        };
        if !doubtful.is_empty() {
            says.push_str(&format!(
                " ! {} of {} steps were disturbed or cut short and get none; the highest of them has {} {}.",
                doubtful.len(),
                all.len(),
                number::long(highest),
                figure.name
            ));
        }
        says
    }

    fn lines(&self, grid: &Grid, test: usize, figure: &Figure, star: Option<Place>) -> String {
        let mut marks = Vec::new();
        let mut points = |each: usize| -> Vec<(f64, f64)> {
            let mut line = Vec::new();
            for (along, row) in grid.steps.iter().enumerate() {
                let Some(step) = row[each].and_then(|step| self.measured(test, step)) else { continue };
                let Some(value) = (figure.of)(&step.total) else { continue };
                let (x, y) = (along as f64, value * figure.scale);
                line.push((x, y));
                let text = match self.doubt(step) {
                    Doubt::None if star == Some(Place { test, along, each }) => "★",
                    Doubt::None => continue,
                    Doubt::Disturbed | Doubt::CutShort => "!",
                };
                marks.push(Mark { x, y, text: text.to_owned() });
            }
            line
        };
        let line =
            |(index, value): (usize, &String)| Line { name: value.clone(), pieces: vec![points(index)] };
        let lines: Vec<Line> = grid.each.values.iter().enumerate().map(line).collect();
        let values = || lines.iter().flat_map(|line| &line.pieces[0]).map(|(_, y)| *y).filter(|y| *y > 0.0);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if high <= 0.0 {
            return String::new();
        }
        let y = match high > low * WIDE {
            true => Axis::log(&format!("{} (logarithmic)", figure.name), low, high),
            false => Axis::from_zero(&figure.name, high * 1.08),
        };
        let title = self.title(grid, test, figure);
        let x = Axis::names(&grid.along.key, &grid.along.values);
        Lines { title: &title, x, y, lines, breaks: vec![], marks }.svg()
    }

    fn title(&self, grid: &Grid, test: usize, figure: &Figure) -> String {
        format!("{}, {} by {}", self.header.plan.tests[test].name, figure.name, grid.each.key)
    }

    /// The same as fields of a map, where there are more lines than colours.
    fn cells(&self, grid: &Grid, test: usize, figure: &Figure, star: Option<Place>) -> String {
        let all = self.all(grid).filter(|(place, _)| place.test == test);
        let measured = all.filter_map(|(place, step)| {
            Some((place, step, (figure.of)(&step.total).filter(|value| *value > 0.0)? * figure.scale))
        });
        let measured: Vec<(Place, &StepSummary, f64)> = measured.collect();
        let low = measured.iter().map(|(.., value)| *value).fold(f64::INFINITY, f64::min);
        let high = measured.iter().map(|(.., value)| *value).fold(0.0, f64::max);
        if high <= 0.0 {
            return String::new();
        }
        // Decades would leave all but the highest without a shade.
        let share = |value: f64| match high > low * WIDE {
            true => (value / low).ln() / (high / low).ln(),
            false => value / high,
        };
        let cell = |(place, step, value): &(Place, &StepSummary, f64)| {
            let mark = match self.doubt(step) {
                Doubt::None if star == Some(*place) => " ★",
                Doubt::None => "",
                Doubt::Disturbed | Doubt::CutShort => " !",
            };
            let text = format!("{}{mark}", number::short(*value));
            let says = format!(
                "{} {}, {} {}: {} {}",
                grid.along.key,
                grid.along.values[place.along],
                grid.each.key,
                grid.each.values[place.each],
                number::long(*value),
                figure.name
            );
            Cell { x: place.along, y: place.each, share: share(*value), text, says }
        };
        let cells = measured.iter().map(cell).collect();
        let title = self.title(grid, test, figure);
        let x = Axis::names(&grid.along.key, &grid.along.values);
        Cells { title: &title, x, y: Axis::names(&grid.each.key, &grid.each.values), cells }.svg()
    }

    fn doubt(&self, step: &StepSummary) -> Doubt {
        match step.complete {
            false => Doubt::CutShort,
            true if self.disturbed.contains(&step.id) => Doubt::Disturbed,
            true => Doubt::None,
        }
    }

    fn measured(&self, test: usize, step: usize) -> Option<&StepSummary> {
        let is_it = |s: &&StepSummary| s.id.test as usize == test && s.id.step as usize == step;
        self.summary
            .steps
            .iter()
            .find(is_it)
            .filter(|s| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0)
    }
}

/// Where a step lies in a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    test: usize,
    along: usize,
    each: usize,
}

fn best_text(series: &[BarSeries], names: &[String], unit: &str) -> String {
    let words: Vec<String> = series
        .iter()
        .filter_map(|s| {
            let index = s.best()?;
            Some(format!(
                "{} is best at {} ({} {unit})",
                s.name,
                names[index],
                number::short(s.values[index]?)
            ))
        })
        .collect();
    let doubts = |kind: Doubt| series.iter().flat_map(|s| &s.doubts).any(|doubt| *doubt == kind);
    let mut text = if words.is_empty() { String::new() } else { format!("★ {}.", words.join("; ")) };
    for kind in [Doubt::Disturbed, Doubt::CutShort] {
        if doubts(kind) {
            text.push_str(&format!(" ! Steps marked so were {}; they get no star.", kind.says()));
        }
    }
    text.trim_start().to_owned()
}
