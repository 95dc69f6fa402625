//! A test over time: lanes for rate, latency, devices, CPU, links and portals under one axis, and the heat map.

use assay_analysis::{Finding, HeatMap, Named, Point, RunSummary, StepSummary, Timeline, TimelineSample};

use crate::number::{self, TimeUnit};
use crate::svg::{Axis, Band, Counts, Heat, HeatColumn, HeatOf, Lane, Lanes, LevelBand};

/// Points of a line beyond this are drawn together: a line has about so many pixels.
const POINTS_MAX: usize = 400;
/// Fewer points than this are no line over time.
const POINTS_MIN: usize = 10;
/// Title of the time axis of a heat map.
const HEAT_TIME: &str = "s since the measured window began";
/// Columns of a heat map.
const COLUMNS_MAX: usize = 110;
/// Shown around what a finding is about, s.
const AROUND_S: f64 = 5.0;
/// Lines of one lane.
const LINES_MAX: usize = 4;
/// A level that is so many times higher than every point is not drawn: the lines would lie on the floor.
const LEVEL_MAX: f64 = 4.0;
/// Colour of the first level; lines have those before it.
const FIRST_LEVEL_STYLE: usize = 2;

/// A part of the time of a test, s since its measured window began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeRange {
    /// Its start.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

impl TimeRange {
    fn has(self, at_s: f64) -> bool {
        // A page writes times with three decimals.
        at_s >= self.from_s - 0.001 && at_s <= self.to_s + 0.001
    }
}

/// What is drawn of a test.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'v> {
    /// The part of its time; `None`: all of it.
    pub(super) range: Option<TimeRange>,
    /// Fewer points than this are not drawn.
    pub(super) points_min: usize,
    /// What the test is compared with.
    pub(super) references: &'v [Reference],
    /// The time axis goes at least so far, s.
    pub(super) ends_s: f64,
}

impl Default for View<'_> {
    fn default() -> Self {
        Self { range: None, points_min: POINTS_MIN, references: &[], ends_s: 0.0 }
    }
}

/// What a test is compared with while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// What it is: `baseline`, `expected`.
    pub name: &'static str,
    /// Operations per second.
    pub iops: ReferenceLevel,
    /// 99th percentile of the latency, µs; `None` where it is not known.
    pub p99_us: Option<ReferenceLevel>,
}

/// A level with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReferenceLevel {
    /// The low end.
    pub lo: f64,
    /// The high end.
    pub hi: f64,
    /// The level itself; `None` where only its interval means something.
    pub value: Option<f64>,
}

/// Lanes of a test; nothing if its steps are too short for a line.
pub(super) fn lanes(steps: &[&StepSummary], view: View<'_>) -> String {
    let Some(chart) = chart(steps, view) else { return String::new() };
    let test = steps.first().map_or(0, |step| step.id.test);
    format!("<div class=\"charts one over-time\" data-test=\"{test}\">\n{}</div>\n", chart.svg())
}

/// The same before it is drawn.
pub(super) fn chart(steps: &[&StepSummary], view: View<'_>) -> Option<Lanes<'static>> {
    let parts = parts(steps, view.range);
    let count: usize = parts.iter().map(|part| part.points().count()).sum();
    if count < view.points_min.max(1) {
        return None;
    }
    let together = count.div_ceil(POINTS_MAX).max(1);
    let mut points: Vec<(f64, Point)> = Vec::new();
    for part in &parts {
        let shown: Vec<Point> = part.points().cloned().collect();
        points.extend(shown.chunks(together).map(|chunk| (part.offset_s, drawn_together(chunk))));
    }
    let mut lanes =
        vec![rate_lane(&points, steps.len(), view.references), latency_lane(&points, view.references)];
    let samples: Vec<(f64, &TimelineSample)> = parts.iter().flat_map(Part::samples).collect();
    let chunks = samples.len().div_ceil(POINTS_MAX).max(1);
    lanes.extend(device_lane(&samples, chunks));
    lanes.extend(cpu_lane(&samples, chunks));
    lanes.extend(named_lane("links, MB/s", &samples, chunks, |s| &s.links));
    lanes.extend(named_lane("TCP round trip, µs", &samples, chunks, |s| &s.portals));
    // The last sample may be of a moment after the end.
    let last_s = samples.iter().map(|(offset, sample)| sample.t_s + offset).fold(0.0, f64::max);
    let whole = TimeRange {
        from_s: parts.first().map_or(0.0, |part| part.from_s),
        to_s: parts.last().map_or(1.0, |part| part.to_s).max(last_s).max(view.ends_s),
    };
    let TimeRange { from_s, to_s } = view.range.unwrap_or(whole);
    let phases = parts.iter().flat_map(|part| part.bands.iter().cloned()).collect();
    let at = |part: &Part<'_>| {
        let offset = part.offset_s;
        let of = move |of: assay_analysis::Episode| (of.says, of.from_s + offset, of.to_s + offset);
        assay_analysis::episodes(part.step).into_iter().map(of).collect::<Vec<_>>()
    };
    let episodes = parts.iter().flat_map(at).collect();
    Some(Lanes { title: "Over time", from_s, to_s, phases, episodes, lanes })
}

/// Several seconds as one point: mean rates and medians, and the highest p99, so that no stall is smoothed away.
fn drawn_together(points: &[Point]) -> Point {
    let count = points.len().max(1) as f64;
    let mean = |value: fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / count;
    let mean_of = |value: fn(&Point) -> Option<f64>| {
        let known: Vec<f64> = points.iter().filter_map(value).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    Point {
        t_s: points.last().map_or(0.0, |p| p.t_s),
        iops: mean(|p| p.iops),
        mib_per_s: mean(|p| p.mib_per_s),
        mean_us: mean_of(|p| p.mean_us),
        p50_us: mean_of(|p| p.p50_us),
        p99_us: points.iter().filter_map(|p| p.p99_us).reduce(f64::max),
        waited: None,
        errors: points.iter().map(|p| p.errors).sum(),
    }
}

/// A step on the common time axis.
struct Part<'s> {
    step: &'s StepSummary,
    /// Where its window begins, s.
    offset_s: f64,
    from_s: f64,
    to_s: f64,
    bands: Vec<Band>,
    /// What is drawn of the common axis.
    shown: TimeRange,
}

impl<'s> Part<'s> {
    /// Seconds that are drawn.
    fn points(&self) -> impl Iterator<Item = &'s Point> + use<'s> {
        let (offset, shown) = (self.offset_s, self.shown);
        self.step.series.iter().filter(move |point| shown.has(point.t_s + offset))
    }

    /// Samples that lie between its ends, with the offset of their times.
    fn samples(&self) -> impl Iterator<Item = (f64, &'s TimelineSample)> + use<'s> {
        let (offset, from, to) = (self.offset_s, self.from_s, self.to_s);
        let all = self.step.timeline.samples.iter();
        let shown = self.shown;
        let is_in = move |at: f64| at >= from && at <= to + 0.5 && shown.has(at);
        all.filter(move |s| is_in(s.t_s + offset)).map(move |s| (offset, s))
    }
}

/// One step with its phases, or the windows of several steps one after another.
fn parts<'s>(steps: &[&'s StepSummary], range: Option<TimeRange>) -> Vec<Part<'s>> {
    let shown = range.unwrap_or(TimeRange { from_s: f64::NEG_INFINITY, to_s: f64::INFINITY });
    if let [step] = steps {
        let Timeline { warmup_s, drain_s, end_s, .. } = step.timeline;
        let from_s = warmup_s.unwrap_or(0.0).min(0.0);
        let window_s = drain_s.unwrap_or(step.seconds).max(0.001);
        let to_s = end_s.unwrap_or(window_s).clamp(window_s, window_s * 1.2 + 1.0);
        let band = |name: &str, from_s, to_s, counts| Band { name: name.to_owned(), from_s, to_s, counts };
        let mut bands = vec![band("measured", 0.0, window_s, Counts::Counted)];
        if from_s < 0.0 {
            bands.insert(0, band("warm-up", from_s, 0.0, Counts::NotCounted));
        }
        if to_s > window_s {
            bands.push(band("drain", window_s, to_s, Counts::NotCounted));
        }
        return vec![Part { step, offset_s: 0.0, from_s, to_s, bands, shown }];
    }
    let mut offset_s = 0.0;
    let mut parts = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let to_s = offset_s + step.seconds;
        let counts = if index % 2 == 0 { Counts::Counted } else { Counts::NotCounted };
        let name = super::swept_values(&step.step);
        let bands = vec![Band { name, from_s: offset_s, to_s, counts }];
        parts.push(Part { step, offset_s, from_s: offset_s, to_s, bands, shown });
        offset_s = to_s;
    }
    parts
}

/// Returns the levels of a lane; those that would press its lines to its floor are left out.
fn levels(
    references: &[Reference],
    top: f64,
    of: impl Fn(&Reference) -> Option<ReferenceLevel>,
) -> Vec<LevelBand> {
    let band = |(index, reference): (usize, &Reference)| {
        let level = of(reference)?;
        let says = match level.value {
            Some(value) => format!("{} {}", reference.name, number::long(value)),
            None => format!("{} {} to {}", reference.name, number::long(level.lo), number::long(level.hi)),
        };
        let (lo, hi, value) = (level.lo, level.hi, level.value);
        Some(LevelBand { name: says, style: FIRST_LEVEL_STYLE + index, lo, hi, value })
    };
    let is_drawn = |band: &LevelBand| band.hi <= top * LEVEL_MAX && band.hi >= band.lo;
    references.iter().enumerate().filter_map(band).filter(is_drawn).collect()
}

/// Returns the highest of a lane's lines and levels.
fn with_levels(top: f64, levels: &[LevelBand]) -> f64 {
    levels.iter().map(|level| level.hi).fold(top, f64::max)
}

fn rate_lane(points: &[(f64, Point)], steps: usize, references: &[Reference]) -> Lane {
    let line: Vec<(f64, f64)> = points.iter().map(|(offset, p)| (p.t_s + offset, p.iops)).collect();
    let lowest = line.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
    // Steps of a sweep may lie decades apart; a single load that falls to nothing must be seen to.
    let levels = levels(references, highest(&line), |reference| Some(reference.iops));
    let y = match steps > 1 && lowest > 0.0 && highest(&line) > lowest * 30.0 {
        true => Axis::log("", lowest, with_levels(highest(&line), &levels)),
        false => Axis::from_zero("", with_levels(highest(&line), &levels)),
    };
    Lane { title: "IOPS".to_owned(), y, lines: vec![("IOPS".to_owned(), line)], levels, height: 110.0 }
}

fn latency_lane(points: &[(f64, Point)], references: &[Reference]) -> Lane {
    let p99: Vec<f64> = points.iter().filter_map(|(_, p)| p.p99_us).collect();
    let unit = TimeUnit::for_means(&p99.iter().map(|us| us * 1e3).collect::<Vec<_>>());
    let line = |of: fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
        points.iter().filter_map(|(offset, p)| Some((p.t_s + offset, unit.of_ns(of(p)? * 1e3)))).collect()
    };
    let (p50, p99) = (line(|p| p.p50_us), line(|p| p.p99_us));
    let low = p50.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
    let in_unit = |us: f64| unit.of_ns(us * 1e3);
    let of = |reference: &Reference| {
        let ReferenceLevel { lo, hi, value } = reference.p99_us?;
        Some(ReferenceLevel { lo: in_unit(lo), hi: in_unit(hi), value: value.map(in_unit) })
    };
    let mut levels = levels(references, highest(&p99).max(highest(&p50)), of);
    levels.iter_mut().for_each(|level| level.name.insert_str(0, "p99 "));
    let top = with_levels(highest(&p99).max(highest(&p50)), &levels);
    let y = if top > low * 30.0 { Axis::log("", low, top) } else { Axis::from_zero("", top) };
    let lines = vec![("p50".to_owned(), p50), ("p99".to_owned(), p99)];
    Lane { title: format!("service time, {}", unit.name()), y, lines, levels, height: 100.0 }
}

/// Rate of the devices. A partition moves what its disk moves, so that one of the two is enough.
fn device_lane(samples: &[(f64, &TimelineSample)], chunk: usize) -> Option<Lane> {
    let mut lane = named_lane("devices, MiB/s, all programs", samples, chunk, |s| &s.disks)?;
    let sum = |line: &(String, Vec<(f64, f64)>)| line.1.iter().map(|(_, v)| v).sum::<f64>();
    let mut kept: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for line in lane.lines {
        let is_known = kept.iter().any(|known| (sum(known) - sum(&line)).abs() <= sum(known) * 0.01);
        if !is_known {
            kept.push(line);
        }
    }
    lane.lines = kept;
    Some(lane)
}

fn cpu_lane(samples: &[(f64, &TimelineSample)], chunk: usize) -> Option<Lane> {
    let line = |of: fn(&TimelineSample) -> f64| averaged(samples, chunk, |s| Some(of(s) * 100.0));
    let lines =
        vec![("all CPUs".to_owned(), line(|s| s.cpu_busy)), ("busiest".to_owned(), line(|s| s.cpu_busy_max))];
    let has_points = lines[0].1.len() > 1;
    let y = Axis::from_zero("", 100.0);
    let title = "CPU of this host, %".to_owned();
    has_points.then(|| Lane { title, y, lines, levels: Vec::new(), height: 50.0 })
}

/// A lane of quantities that have names.
fn named_lane(
    title: &str,
    samples: &[(f64, &TimelineSample)],
    chunk: usize,
    of: fn(&TimelineSample) -> &Named,
) -> Option<Lane> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in samples.iter().flat_map(|(_, sample)| of(sample)) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let value = |sample: &TimelineSample, name: &str| {
        of(sample).iter().find(|(known, _)| **known == *name).map(|v| v.1)
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = names
        .into_iter()
        .take(LINES_MAX)
        .map(|name| (name.to_owned(), averaged(samples, chunk, |sample| value(sample, name))))
        .filter(|(_, line)| line.len() > 1)
        .collect();
    let top = lines.iter().map(|(_, line)| highest(line)).fold(0.0, f64::max);
    (!lines.is_empty()).then(|| Lane {
        title: title.to_owned(),
        y: Axis::from_zero("", top),
        lines,
        levels: Vec::new(),
        height: 50.0,
    })
}

/// Means of so many samples each.
fn averaged(
    samples: &[(f64, &TimelineSample)],
    chunk: usize,
    value: impl Fn(&TimelineSample) -> Option<f64>,
) -> Vec<(f64, f64)> {
    samples
        .chunks(chunk)
        .filter_map(|samples| {
            let values: Vec<f64> = samples.iter().filter_map(|(_, sample)| value(sample)).collect();
            let (offset, last) = samples.last()?;
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (!values.is_empty()).then_some((last.t_s + offset, mean))
        })
        .collect()
}

fn highest(line: &[(f64, f64)]) -> f64 {
    line.iter().map(|(_, v)| *v).fold(0.0, f64::max)
}

/// The heat map of a step, or of a part of its time; nothing if that is too short for one.
pub(super) fn heat(step: &StepSummary, view: View<'_>) -> String {
    let is_before = |second: &usize| view.range.is_some_and(|range| (*second as f64) < range.from_s);
    let first = (0..step.heat.seconds.len()).take_while(is_before).count();
    let seconds = &step.heat.seconds[first..];
    if seconds.len() < POINTS_MIN {
        return String::new();
    }
    let mut sums = std::collections::BTreeMap::<i32, u64>::new();
    for (rung, count) in seconds.iter().flatten() {
        *sums.entry(*rung).or_default() += count;
    }
    // The few fastest I/Os would stretch the axis; slow ones are what the map is for.
    let few = sums.values().sum::<u64>() / 10_000;
    let up_to = sums.values().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    let skipped = up_to.take_while(|sum| *sum <= few).count();
    let (Some(low), Some(high)) = (sums.keys().nth(skipped).copied(), sums.keys().next_back().copied())
    else {
        return String::new();
    };
    let unit = TimeUnit::for_means(&[HeatMap::low_ns((low + high) / 2)]);
    let at = |rung: i32| unit.of_ns(HeatMap::low_ns(rung));
    let together = seconds.len().div_ceil(COLUMNS_MAX);
    let columns = seconds.chunks(together).enumerate().map(|(index, part)| {
        let from = (first + index * together) as f64;
        let to = (from + part.len() as f64).min(step.seconds);
        HeatColumn { from, to, cells: cells(part, low, &at), says: String::new() }
    });
    let to_s = view.range.map_or(step.seconds.max(view.ends_s), |range| range.to_s);
    let what = if step.total.response.is_some() { "response time" } else { "service time" };
    let chart = Heat {
        title: "Latency over time: share of the I/Os",
        x: match first {
            0 => Axis::up_to(HEAT_TIME, to_s),
            first => Axis::between(HEAT_TIME, first as f64, to_s),
        },
        y: Axis::log(&format!("{what}, {}", unit.name()), at(low), at(high + 1)),
        columns: columns.collect(),
        of: HeatOf::Shares,
    };
    chart.svg()
}

fn cells(seconds: &[Vec<(i32, u64)>], low: i32, at: &impl Fn(i32) -> f64) -> Vec<(f64, f64, f64)> {
    let mut sums = std::collections::BTreeMap::<i32, u64>::new();
    for (rung, count) in seconds.iter().flatten() {
        *sums.entry(*rung).or_default() += count;
    }
    let all: u64 = sums.values().sum();
    let shown = sums.into_iter().filter(|(rung, _)| *rung >= low);
    shown.map(|(rung, count)| (at(rung), at(rung + 1), count as f64 / all.max(1) as f64)).collect()
}

/// Returns the steps of a test that measured something.
pub(super) fn steps_of(summary: &RunSummary, test: u32) -> Vec<&StepSummary> {
    let is_measured = |s: &&StepSummary| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0;
    summary.steps.iter().filter(|s| s.id.test == test).filter(is_measured).collect()
}

/// Where a finding shows in the chart over time of a test: the part of its time, with some of what is around it. `None`
/// where it is about no moment.
pub(super) fn moment(summary: &RunSummary, finding: &Finding) -> Option<(u32, TimeRange)> {
    let rule = assay_analysis::rule_name(&finding.rule);
    let first = finding.steps.first()?;
    let steps: Vec<&StepSummary> = steps_of(summary, first.test);
    let parts = parts(&steps, None);
    let part = parts.iter().find(|part| part.step.id == *first)?;
    let episode = assay_analysis::episodes(part.step).into_iter().find(|episode| episode.rule == rule)?;
    let around = ((episode.to_s - episode.from_s) / 2.0).max(AROUND_S);
    let from_s = (episode.from_s - around).max(0.0) + part.offset_s;
    let to_s = (episode.to_s + around).min(part.step.seconds) + part.offset_s;
    Some((first.test, TimeRange { from_s, to_s }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_their_names_and_one_far_above_the_lines_is_left_out() {
        let level = |lo: f64, hi: f64, value| ReferenceLevel { lo, hi, value };
        let reference = |name, iops| Reference { name, iops, p99_us: None };
        let references = [
            reference("baseline", level(900.0, 1100.0, Some(1000.0))),
            reference("expected", level(4100.0, 5000.0, None)),
            reference("expected", level(1500.0, 2500.0, None)),
        ];
        let drawn = levels(&references, 1200.0, |reference| Some(reference.iops));
        let names: Vec<(&str, usize)> = drawn.iter().map(|band| (band.name.as_str(), band.style)).collect();
        assert_eq!(names, [("baseline 1,000", 2), ("expected 1,500 to 2,500", 4)]);
        assert_eq!(with_levels(1200.0, &drawn), 2500.0, "the axis reaches to the highest");
        assert!(levels(&references, 1200.0, |reference| reference.p99_us).is_empty());
    }
}
