//! The line that moves while something takes time: filling, then each test with its live numbers. Where standard error is
//! no terminal, a line for each thing that began or is done.

use std::io::IsTerminal as _;
use std::time::Duration;

use crate::output::note;
use assay_prepare::PrepareProgress;
use assay_record::{Event, Interval, Phase, RunEvent, StepId};
use assay_spec::Plan;
use assay_spec::units::MIB;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a bar is redrawn at most, per second.
const DRAWS_PER_S: u8 = 10;

/// Shows where a run stands, on standard error.
pub(crate) struct Progress {
    steps: Vec<StepLine>,
    /// Whether nothing can move there: a pipe, a file, a log.
    is_plain: bool,

    filling: Option<(PrepareProgress, ProgressBar)>,
    step: Option<(ProgressBar, usize)>,
    so_far: Measured,
}

/// What a step has measured so far.
#[derive(Default)]
struct Measured {
    ops: u64,
    bytes: u64,
    /// The window, ns of the run; the end is 0 before anything was measured.
    start_ns: u64,
    end_ns: u64,
}

impl Measured {
    fn add(&mut self, interval: &Interval) {
        let stats = interval.sum().total();
        self.ops += stats.ops();
        self.bytes += stats.bytes;
        self.start_ns =
            if self.end_ns == 0 { interval.start_ns } else { self.start_ns.min(interval.start_ns) };
        self.end_ns = self.end_ns.max(interval.end_ns);
    }

    fn says(&self) -> String {
        let seconds = self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        if seconds <= 0.0 {
            return "nothing was measured".to_owned();
        }
        let mib = self.bytes as f64 / MIB as f64;
        format!("{:.0} IOPS, {:.1} MiB/s", self.ops as f64 / seconds, mib / seconds)
    }
}

/// What is shown of a step.
struct StepLine {
    id: StepId,
    name: String,
    time: Duration,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut steps = Vec::new();
        for (test_index, test) in (0..).zip(&plan.tests) {
            for (step_index, step) in (0..).zip(&test.steps) {
                let label = step.label();
                let name =
                    if label.is_empty() { test.name.clone() } else { format!("{} {label}", test.name) };
                let time = Duration::from_nanos(step.warmup.0 + step.stop.time.0);
                steps.push(StepLine { id: StepId { test: test_index, step: step_index }, name, time });
            }
        }
        let is_plain = !std::io::stderr().is_terminal();
        Self { steps, is_plain, filling: None, step: None, so_far: Measured::default() }
    }

    pub(crate) fn fill(&mut self, progress: &PrepareProgress) {
        if self.filling.as_ref().is_none_or(|(last, _)| last.path != progress.path) {
            self.filled();
            let again = progress.why.as_ref().map(|why| format!(" again ({why})")).unwrap_or_default();
            if self.is_plain {
                note!("filling {}{again}: {}", progress.path.display(), HumanBytes(progress.total_bytes));
            }
            let bar = bar(progress.total_bytes, "{wide_msg} [{bar:10}] {percent}% {prefix} {eta} left");
            bar.set_message(format!("filling {}{again}", progress.path.display()));
            self.filling = Some((progress.clone(), bar));
        }
        if let Some((last, bar)) = &mut self.filling {
            last.clone_from(progress);
            bar.set_position(progress.done_bytes);
            bar.set_prefix(format!("{:.0} MiB/s", progress.bytes_per_s / MIB as f64));
        }
    }

    pub(crate) fn filled(&mut self) {
        if let Some((last, bar)) = self.filling.take() {
            bar.finish_and_clear();
            note!("{}", filled_words(&last));
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        if let Some((bar, _)) = &self.step {
            bar.set_position(u64::try_from(bar.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
        match &event.what {
            RunEvent::StepStarted(id) => self.begin(*id),
            RunEvent::PhaseStarted { phase, .. } => self.phase(*phase),
            RunEvent::Interval(interval) => self.interval(interval),
            RunEvent::StepEnded(_) => {
                self.tell_step();
                self.finish();
            }
            RunEvent::StepSkipped { step, why } => {
                if let Some(line) = self.steps.iter().find(|s| s.id == *step) {
                    note!("left out {}: {why}", line.name);
                }
            }
            RunEvent::Warning(warning) => {
                note!("{}", format!("warning: {} {}", warning.says, warning.next).trim_end())
            }
            _ => {}
        }
    }

    fn begin(&mut self, id: StepId) {
        let Some(index) = self.steps.iter().position(|s| s.id == id) else { return };
        if self.is_plain && index == 0 {
            let count = self.steps.len();
            let word = if count == 1 { "step" } else { "steps" };
            let time: Duration = self.steps.iter().map(|step| step.time).sum();
            note!("{count} {word}, {}", about(time));
        }
        self.so_far = Measured::default();
        let line = &self.steps[index];
        let columns = columns();
        // The numbers take 50 columns at most; what is left is for the name, and for a bar where there is room.
        let template = if columns >= 100 { "{prefix} [{bar:20}] {wide_msg}" } else { "{prefix}  {wide_msg}" };
        let bar = bar(u64::try_from(line.time.as_millis()).unwrap_or(u64::MAX), template);
        let place = format!("{}/{} ", index + 1, self.steps.len());
        let room = columns.saturating_sub(if columns >= 100 { 76 } else { 54 } + place.len()).max(8);
        bar.set_prefix(format!("{place}{}", shortened(&line.name, room)));
        self.step = Some((bar, index));
    }

    fn phase(&mut self, phase: Phase) {
        let Some((bar, _)) = &self.step else { return };
        let (word, is_timed) = match phase {
            Phase::Prepare => ("opening", false),
            Phase::Warmup => ("warming up", true),
            Phase::Measure => ("measuring", true),
            Phase::Drain => ("draining", false),
        };
        bar.set_message(word);
        if is_timed {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    /// Where nothing moves, what a step came to.
    fn tell_step(&self) {
        let Some((_, index)) = self.step.as_ref().filter(|_| self.is_plain) else { return };
        let (line, count) = (&self.steps[*index], self.steps.len());
        note!("{}/{count} {}: {}", index + 1, line.name, self.so_far.says());
    }

    fn interval(&mut self, interval: &Interval) {
        self.so_far.add(interval);
        let Some((bar, index)) = &self.step else { return };
        let stats = interval.sum().total();
        let seconds = (interval.end_ns.saturating_sub(interval.start_ns)) as f64 / 1e9;
        if seconds <= 0.0 {
            return;
        }
        let line = &self.steps[*index];
        let left = line.time.saturating_sub(bar.elapsed()) + self.time_after(*index);
        let p99 = stats.waited().quantile_ns(0.99).unwrap_or(0.0) / 1e3;
        bar.set_message(format!(
            "{} left  {:.0} IOPS  {:.1} MiB/s  p99 {:.0} µs",
            clock(left),
            stats.ops() as f64 / seconds,
            stats.bytes as f64 / seconds / MIB as f64,
            p99
        ));
    }

    fn time_after(&self, index: usize) -> Duration {
        self.steps[index + 1..].iter().map(|s| s.time).sum()
    }

    pub(crate) fn finish(&mut self) {
        if let Some((bar, _)) = self.step.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is a constant");
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S);
    ProgressBar::with_draw_target(Some(length), target).with_style(style.progress_chars("=> "))
}

/// Columns of the terminal; a common width where there is none.
fn columns() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0))
}

/// The text, or its beginning and end around an ellipsis: the end tells steps of a sweep apart.
fn shortened(text: &str, columns: usize) -> String {
    let count = text.chars().count();
    if count <= columns {
        return text.to_owned();
    }
    let tail = columns / 2;
    let head: String = text.chars().take(columns - tail - 1).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head}…{end}")
}

/// What was filled, and how long that took; less than all of it when it was stopped.
fn filled_words(last: &PrepareProgress) -> String {
    let size = match (last.done_bytes, last.total_bytes) {
        (done, total) if done < total => format!("{} of {}", HumanBytes(done), HumanBytes(total)),
        (_, total) => HumanBytes(total).to_string(),
    };
    let time = match last.elapsed {
        short if short < Duration::from_millis(1) => "less than 1 ms".to_owned(),
        short if short < Duration::from_secs(1) => format!("{} ms", short.as_millis()),
        long => format!("{:.1} s", long.as_secs_f64()),
    };
    format!("filled {}: {size} in {time}", last.path.display())
}

/// `about 40 s`, `about 6 min`: what the steps alone take.
pub(crate) fn about(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 90.0 => format!("about {:.0} s", short.ceil()),
        long if long < 5400.0 => format!("about {:.0} min", (long / 60.0).ceil()),
        long => format!("about {:.1} h", long / 3600.0),
    }
}

/// `1:05`, or `2:03:04` above an hour.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_beginning_and_end() {
        assert_eq!(shortened("short", 8), "short");
        assert_eq!(shortened("throughput by size 512 B", 12), "throu… 512 B");
    }

    #[test]
    fn times_are_told_roughly() {
        for (seconds, expected) in [(4.2, "about 5 s"), (294.0, "about 5 min"), (7200.0, "about 2.0 h")] {
            assert_eq!(about(Duration::from_secs_f64(seconds)), expected);
        }
    }

    #[test]
    fn a_fill_says_how_much_and_how_long() {
        let last = |done_bytes, us| PrepareProgress {
            why: None,
            path: "t.dat".into(),
            done_bytes,
            total_bytes: 1 << 30,
            bytes_per_s: 0.0,
            elapsed: Duration::from_micros(us),
        };
        for (done, us, expected) in [
            (1 << 30, 1_250_000, "filled t.dat: 1.00 GiB in 1.2 s"),
            (1 << 30, 31_500, "filled t.dat: 1.00 GiB in 31 ms"),
            (1 << 30, 900, "filled t.dat: 1.00 GiB in less than 1 ms"),
            (1 << 29, 2_000_000, "filled t.dat: 512.00 MiB of 1.00 GiB in 2.0 s"),
        ] {
            assert_eq!(filled_words(&last(done, us)), expected);
        }
    }
}
