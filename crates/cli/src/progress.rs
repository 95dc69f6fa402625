//! What a terminal shows while something takes time: filling, then the table of the run as it grows, with the live
//! numbers of the running step in its last row. Where standard error is no terminal, a line for each thing that began
//! or ended.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Duration;

use assay_analysis::{Collector, StepSummary};
use assay_prepare::PrepareProgress;
use assay_record::{Event, Phase, RunEvent, StepId};
use assay_report::escape::{line, terminal};
use assay_report::text::{rows, step_line, wrap};
use assay_spec::Plan;
use assay_spec::units::MIB;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::{error_options, note};

/// How often the display is redrawn at most, per second.
const DRAWS_PER_S: u8 = 10;
/// Lines of the display beside rows of steps: titles, rule, the line of the running step, a warning.
const OTHER_LINES: usize = 6;

/// The display that is on the screen now, so that others can write above it.
static LIVE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes a line to standard error, above what moves there.
pub(crate) fn note_above(text: &str) {
    let live = LIVE.lock().ok().and_then(|live| live.clone());
    match live {
        Some(bar) => bar.suspend(|| note!("{text}")),
        None => note!("{text}"),
    }
}

fn show(bar: Option<&ProgressBar>) {
    if let Ok(mut live) = LIVE.lock() {
        *live = bar.cloned();
    }
}

/// Shows where a run stands, on standard error.
pub(crate) struct Progress {
    steps: Vec<StepLine>,
    /// Time for a diagnosis, which chooses its steps; `None` for a plan whose steps follow each other.
    budget: Option<Duration>,
    /// Steps that have begun.
    begun: usize,
    /// Whether nothing can move there: a pipe, a file, a log.
    is_plain: bool,

    filling: Option<(PrepareProgress, ProgressBar)>,
    /// The table on the screen, from the first step on.
    table: Option<ProgressBar>,
    running: Option<Running>,
    ended: Vec<StepSummary>,
    /// The newest warning.
    warning: Option<String>,
}

/// The step that is going on.
struct Running {
    index: usize,
    phase: Phase,
    /// When the phase began, ns of the run.
    since_ns: u64,
}

/// What is known of a step beforehand.
struct StepLine {
    id: StepId,
    name: String,
    warmup: Duration,
    /// `None` where a number of bytes or I/Os ends the window.
    window: Option<Duration>,
}

impl StepLine {
    /// How long it takes, as far as the plan tells.
    fn time(&self) -> Duration {
        self.warmup + self.window.unwrap_or_default()
    }
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut steps = Vec::new();
        for (test_index, test) in (0..).zip(&plan.tests) {
            for (step_index, step) in (0..).zip(&test.steps) {
                let name = format!("{} {}", test.name, step.label()).trim_end().to_owned();
                let warmup = Duration::from_nanos(step.warmup.0);
                let window = (!step.stop.is_by_count()).then(|| Duration::from_nanos(step.stop.time.0));
                steps.push(StepLine {
                    id: StepId { test: test_index, step: step_index },
                    name,
                    warmup,
                    window,
                });
            }
        }
        let is_plain = !std::io::stderr().is_terminal();
        Self {
            steps,
            budget: None,
            begun: 0,
            is_plain,
            filling: None,
            table: None,
            running: None,
            ended: Vec::new(),
            warning: None,
        }
    }

    /// The same for experiments that are chosen one after another, in so many seconds.
    pub(crate) fn of_diagnosis(plan: &Plan, budget_s: f64) -> Self {
        Self { budget: Some(Duration::from_secs_f64(budget_s)), ..Self::new(plan) }
    }

    pub(crate) fn fill(&mut self, progress: &PrepareProgress) {
        if self.filling.as_ref().is_none_or(|(last, _)| last.path != progress.path) {
            self.filled();
            let again = progress.why.as_ref().map(|why| format!(" again ({why})")).unwrap_or_default();
            if self.is_plain {
                note!("filling {}{again}: {}", progress.path.display(), HumanBytes(progress.total_bytes));
            }
            let bar = bar(progress.total_bytes, "{wide_msg} [{bar:10}] {percent}% {prefix} {eta} left");
            bar.set_message(line(&format!("filling {}{again}", progress.path.display())).into_owned());
            show(Some(&bar));
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
            show(None);
            note!("{}", filled_words(&last));
        }
    }

    /// Shows what an event changed; `collector` has taken it in already, so that all numbers are those of the result.
    pub(crate) fn event(&mut self, event: &Event, collector: &Collector) {
        match &event.what {
            RunEvent::StepStarted(id) => self.begin(*id, event.at_ns),
            RunEvent::PhaseStarted { phase, .. } => {
                if let Some(running) = &mut self.running {
                    (running.phase, running.since_ns) = (*phase, event.at_ns);
                }
            }
            RunEvent::StepEnded(end) => self.end(end.step, collector),
            RunEvent::StepSkipped { step, why } => {
                if let Some(line) = self.steps.iter().find(|s| s.id == *step) {
                    note_above(&format!("left out {}: {why}", line.name));
                }
            }
            RunEvent::Warning(warning) => {
                let says = format!("warning: {} {}", warning.says, warning.next).trim_end().to_owned();
                // On a terminal the result will have it; until then it stands under the table.
                match self.is_plain || !std::io::stdout().is_terminal() {
                    true => note_above(&says),
                    false => self.warning = Some(says),
                }
            }
            _ => {}
        }
        self.draw(event.at_ns, collector);
    }

    fn begin(&mut self, id: StepId, at_ns: u64) {
        let Some(index) = self.steps.iter().position(|s| s.id == id) else { return };
        self.running = Some(Running { index, phase: Phase::Prepare, since_ns: at_ns });
        self.begun += 1;
        if self.is_plain && self.begun == 1 {
            let count = self.steps.len();
            let word = if count == 1 { "step" } else { "steps" };
            let time: Duration = self.steps.iter().map(StepLine::time).sum();
            let unknown = self.steps.iter().filter(|step| step.window.is_none()).count();
            match self.budget {
                None if unknown == 0 => note!("{count} {word}, {}", about(time)),
                None if unknown == count => note!("{count} {word}, as long as their bytes or I/Os take"),
                None => note!("{count} {word}, {}, and as long as the bytes of {unknown} take", about(time)),
                Some(budget) => note!("experiments for at most {} s", budget.as_secs()),
            }
        }
        if !self.is_plain && self.table.is_none() {
            let bar = bar(1, "{msg}");
            show(Some(&bar));
            self.table = Some(bar);
        }
    }

    fn end(&mut self, id: StepId, collector: &Collector) {
        let (Some(running), Some(step)) = (self.running.take(), collector.step_so_far(id)) else { return };
        if self.is_plain {
            note!("{} {}: {}", self.place(&running), self.steps[running.index].name, step_line(&step));
            // No table grows there, and a step takes 200 KiB.
            return;
        }
        self.ended.push(step);
    }

    /// The rows of the steps that ended, as many as there is room for, the running one, and how long all of it takes.
    fn draw(&self, at_ns: u64, collector: &Collector) {
        let Some(bar) = &self.table else { return };
        let (options, room) = (error_options(), lines().saturating_sub(OTHER_LINES).max(1));
        let mut steps = self.ended[self.ended.len().saturating_sub(room)..].to_vec();
        let Some(running) = &self.running else {
            return bar.set_message(terminal(rows(&steps, options).trim_end()).into_owned());
        };
        steps.extend(collector.step_so_far(self.steps[running.index].id));
        let mut text = format!("{}{}", rows(&steps, options), self.status(running, at_ns));
        if let Some(warning) = &self.warning {
            text.push_str(&format!("\n{}", wrap(warning, options.width, "  ")));
        }
        bar.set_message(terminal(&text).into_owned());
    }

    /// `3/4`, or the number of an experiment.
    fn place(&self, running: &Running) -> String {
        match self.budget {
            None => format!("{}/{}", running.index + 1, self.steps.len()),
            Some(_) => format!("experiment {}:", self.begun),
        }
    }

    /// `3/4 measuring 0:12 of 2:00, 6:10 left`.
    fn status(&self, running: &Running, at_ns: u64) -> String {
        let line = &self.steps[running.index];
        let spent = Duration::from_nanos(at_ns.saturating_sub(running.since_ns));
        let after: Duration = self.steps[running.index + 1..].iter().map(StepLine::time).sum();
        let (doing, left) = match running.phase {
            Phase::Prepare => ("opening".to_owned(), line.time()),
            Phase::Warmup => (timed("warming up", spent, line.warmup), line.time().saturating_sub(spent)),
            Phase::Measure => match line.window {
                Some(window) => (timed("measuring", spent, window), window.saturating_sub(spent)),
                None => (format!("measuring {}", clock(spent)), Duration::ZERO),
            },
            Phase::Drain => ("draining".to_owned(), Duration::ZERO),
        };
        let left = match self.budget {
            None => left + after,
            Some(budget) => budget.saturating_sub(Duration::from_nanos(at_ns)),
        };
        format!("{} {doing}, {} left", self.place(running), clock(left))
    }

    /// Ends the display: it goes where the whole table is printed on the same screen, and stays where not.
    pub(crate) fn finish(&mut self) {
        show(None);
        let Some(bar) = self.table.take() else { return };
        match std::io::stdout().is_terminal() {
            true => bar.finish_and_clear(),
            false => bar.abandon(),
        }
    }
}

fn timed(word: &str, spent: Duration, of: Duration) -> String {
    format!("{word} {} of {}", clock(spent.min(of)), clock(of))
}

fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is a constant");
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S);
    ProgressBar::with_draw_target(Some(length), target).with_style(style.progress_chars("=> "))
}

/// Lines of the terminal; a common height where there is none.
fn lines() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(24, |(_, height)| usize::from(height.0))
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
    fn times_are_reported_roughly() {
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
