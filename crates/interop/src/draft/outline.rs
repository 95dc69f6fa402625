//! What was understood of a plan, for somebody who never saw it: a line for the whole, and one for each of the first
//! tests. Of a draft, what the file says; of a [`Plan`], what will run, with the changes of the command line.

use std::fmt::Write as _;

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use assay_spec::{Access, Distribution, Flushes, Job, Plan, Span, Step, Stop, Test, Window};

use super::{Draft, DraftJob, DraftTest};
use crate::counted;

/// The most tests that are described one by one.
const OUTLINED: usize = 6;

/// Returns the lines for a plan as it is written in a file.
pub(crate) fn of_draft(draft: &Draft) -> Vec<String> {
    let points = draft.tests.iter().map(|t| t.sweep.iter().map(|(_, v)| v.len()).product::<usize>()).sum();
    let size = draft.size.map(|size| size.rounded());
    let tests = draft.tests.iter().map(|test| (drafted(test), drafted_time(test))).collect();
    Outline { points, size, tests }.lines()
}

/// Returns the lines for a plan as it will run.
pub fn outline(plan: &Plan) -> Vec<String> {
    let size = match plan.span {
        Span::Whole => None,
        Span::Size(SizeSpec::Bytes(size)) => Some(size.rounded()),
        Span::Size(size) => Some(size.to_string()),
    };
    let test = |test: &Test| Some((planned(test)?, planned_time(test.steps.first()?)));
    Outline { points: plan.step_count(), size, tests: plan.tests.iter().filter_map(test).collect() }.lines()
}

struct Outline {
    points: usize,
    size: Option<String>,
    /// What each test does, and how long it lasts.
    tests: Vec<(String, String)>,
}

impl Outline {
    fn lines(self) -> Vec<String> {
        let count = self.tests.len();
        let Some((_, first)) = self.tests.first() else { return Vec::new() };
        let points =
            if self.points > count { format!(", {} load points", self.points) } else { String::new() };
        let are_alike = self.tests.iter().all(|(_, time)| time == first);
        let each = match count {
            1 => format!(", {first}"),
            _ if are_alike => format!(", each {first}"),
            _ => String::new(),
        };
        let size = self.size.map_or(String::new(), |size| format!(", on {size} of the target"));
        let mut lines = vec![format!("{}{points}{each}{size}", counted(count, "test"))];
        lines.extend(self.tests.iter().take(OUTLINED).map(|(says, time)| match are_alike {
            true => says.clone(),
            false => format!("{says}; {time}"),
        }));
        if count > OUTLINED {
            lines.push(format!("… and {} more", count - OUTLINED));
        }
        lines
    }
}

/// Said of a test whose jobs have ends of their own.
const OWN_ENDS: &str = "until each job has come to its own end";

fn drafted_time(test: &DraftTest) -> String {
    if test.jobs.iter().any(|job| !job.end.is_empty()) {
        return OWN_ENDS.to_owned();
    }
    let is_counted = test.bytes.is_some() || test.ops.is_some() || test.passes.is_some();
    let time = match (is_counted, test.run) {
        (false, None) => Some(RUN_DEFAULT),
        (_, run) => run,
    };
    lasts(test.bytes, test.ops, time, test.warmup)
}

/// How long a test lasts that says nothing of it.
const RUN_DEFAULT: Nanos = Nanos::from_secs(30);

fn planned_time(step: &Step) -> String {
    if step.jobs.iter().any(|job| job.stop.is_some()) {
        return OWN_ENDS.to_owned();
    }
    let Stop { time, bytes, ops, .. } = step.stop;
    let time = (!step.stop.is_by_count()).then_some(time);
    lasts(bytes, ops, time, step.warmup)
}

/// Returns how long a test takes: `2min after a warm-up of 5s`, `until 1GiB are transferred, at most 30s`.
fn lasts(bytes: Option<Bytes>, ops: Option<u64>, time: Option<Nanos>, warmup: Nanos) -> String {
    let warmup = match warmup {
        Nanos(0) => String::new(),
        warmup => format!(" after a warm-up of {warmup}"),
    };
    let ends = [
        bytes.map(|bytes| format!("{bytes} are transferred")),
        ops.map(|ops| format!("{ops} I/Os are done")),
    ];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    match (ends.is_empty(), time) {
        (true, Some(time)) => format!("{time}{warmup}"),
        (true, None) => format!("the whole span{warmup}"),
        (false, None) => format!("until {}{warmup}", ends.join(" or ")),
        (false, Some(time)) => format!("until {}, at most {time}{warmup}", ends.join(" or ")),
    }
}

fn drafted(test: &DraftTest) -> String {
    let jobs = test.jobs.iter().map(|job| Load::from(job).says()).collect();
    let max =
        if test.jobs.iter().any(|job| job.pace_max.is_some()) { "; the highest rate first" } else { "" };
    let swept = test.sweep.iter().map(|(key, values)| {
        let values: Vec<String> = values.iter().map(|value| swept(key, *value)).collect();
        (*key, values)
    });
    format!(
        "{}: {}{max}{}",
        test.name,
        together(jobs),
        swept.map(|(key, v)| range(key, &v)).collect::<String>()
    )
}

fn planned(test: &Test) -> Option<String> {
    let first = test.steps.first()?;
    let jobs = first.jobs.iter().map(|job| Load::from(job).says()).collect();
    let swept = first.swept.iter().filter(|_| test.steps.len() > 1).map(|swept| {
        let mut values: Vec<String> = Vec::new();
        for value in test.steps.iter().flat_map(|step| &step.swept).filter(|other| other.key == swept.key) {
            if !values.contains(&value.value) {
                values.push(value.value.clone());
            }
        }
        range(&swept.key, &values)
    });
    Some(format!("{}: {}{}", test.name, together(jobs), swept.collect::<String>()))
}

/// Of many jobs the first two, and how many more.
fn together(mut jobs: Vec<String>) -> String {
    if jobs.len() > 2 {
        let more = jobs.len() - 2;
        jobs.truncate(2);
        jobs.push(counted(more, "more job"));
    }
    jobs.join(" together with ")
}

/// `; size 4KiB to 1MiB`
fn range(key: &str, values: &[String]) -> String {
    match values {
        [first, .., last] if values.len() > 3 => format!("; {key} {first} to {last}"),
        values => format!("; {key} {}", values.join(", ")),
    }
}

/// A swept value as people read it.
fn swept(key: &str, value: u64) -> String {
    match key {
        "size" => Bytes(value).to_string(),
        "load" => format!("{value} %"),
        _ => value.to_string(),
    }
}

/// The load of a job, drafted or planned.
struct Load<'j> {
    mix: &'j [Access],
    workers: u32,
    outstanding: u32,
    window: Window,
    is_durable: bool,
    flush: Option<Flushes>,
    start_delay: Nanos,
}

impl<'j> From<&'j DraftJob> for Load<'j> {
    fn from(job: &'j DraftJob) -> Self {
        Self {
            mix: &job.mix,
            workers: job.workers,
            outstanding: job.outstanding,
            window: job.window,
            is_durable: job.is_durable,
            flush: job.flush,
            start_delay: job.start_delay,
        }
    }
}

impl<'j> From<&'j Job> for Load<'j> {
    fn from(job: &'j Job) -> Self {
        Self {
            mix: &job.mix,
            workers: job.workers,
            outstanding: job.outstanding,
            window: job.window,
            is_durable: job.sync,
            flush: job.flush,
            start_delay: job.start_delay,
        }
    }
}

impl Load<'_> {
    fn says(&self) -> String {
        let mix = match self.mix {
            [a] => {
                let spread = match &a.distribution {
                    Distribution::Uniform => String::new(),
                    other => format!(" ({other})"),
                };
                let trim = if a.trims() { ", the rest trims" } else { "" };
                format!("{}, {} % read{trim}, {} % random{spread}", a.size, a.read, a.random)
            }
            mix => format!("mix of {} access lines", mix.len()),
        };
        let mut text = format!(
            "{mix}, {} x {} outstanding",
            crate::counted(self.workers as usize, "worker"),
            self.outstanding
        );
        if !self.window.is_whole() {
            let _ = write!(text, ", in {}", self.window);
        }
        if self.is_durable {
            text.push_str(", each write durable");
        }
        if let Some(flush) = self.flush {
            let _ = match flush.every {
                1 => write!(text, ", a flush after every write"),
                every => write!(text, ", a flush after every {every} writes"),
            };
        }
        if self.start_delay.0 > 0 {
            let _ = write!(text, ", from {} on", self.start_delay);
        }
        text
    }
}
