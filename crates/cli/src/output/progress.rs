//! What a terminal shows while something takes time: filling, then the table of the run as it grows, with the live
//! numbers of the running step in its last row. Where standard error is no terminal, a line for each thing that began
//! or ended.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use assay_analysis::{Collector, Standing, StepSummary};
use assay_prepare::PrepareProgress;
use assay_record::{Event, RunEvent, StepId};
use assay_report::escape::{line, terminal};
use assay_report::standing::{count_and_length, moment, place};
use assay_report::text::{rows, step_line, wrap};
use assay_spec::Plan;
use assay_spec::units::MIB;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::terminal::{error_options, note, rub_out_interrupt, shown};

/// How often the display is redrawn at most, per second.
const DRAWS_PER_S: u8 = 10;
/// Longest time of a fill without a line where nothing can move.
const SPEAK_EVERY: Duration = Duration::from_secs(10);
/// Time without a completed write from which it is said.
const WAITED_MIN: Duration = Duration::from_secs(3);
/// After a drawing the display rests for so many times as long as that took: the row of a step on a thousand hosts
/// takes milliseconds, and each of them says something each second.
const REST: u32 = 20;
/// Lines of the display beside rows of steps: titles, rule, the line of the running step, a warning.
const OTHER_LINES: usize = 6;

/// Rule of the warning before the steps that a run took over from the one that it resumes.
pub(crate) const RESUMED: &str = "resumed";

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

/// The same after Ctrl-C was typed in the terminal.
pub(crate) fn note_interrupt(text: &str) {
    if LIVE.lock().is_ok_and(|live| live.is_some()) {
        rub_out_interrupt();
    }
    note_above(text);
}

fn show(bar: Option<&ProgressBar>) {
    if let Ok(mut live) = LIVE.lock() {
        *live = bar.cloned();
    }
}

/// Shows where a run stands, on standard error.
pub(crate) struct Progress {
    standing: Standing,
    /// Whether nothing can move there: a pipe, a file, a log.
    is_plain: bool,

    filling: Option<(PrepareProgress, ProgressBar)>,
    /// Time within the fill at which its last line was written.
    said_at: Duration,
    /// The table on the screen, from the first step on.
    table: Option<ProgressBar>,
    /// It is drawn again from then on.
    rests_until: Option<Instant>,
    ended: Vec<StepSummary>,
    /// The newest warning.
    warning: Option<String>,
    /// The first steps are those of the run that this one resumes, which was said with the time that the rest takes.
    is_resumed: bool,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self::of(Standing::new(plan))
    }

    /// The same for experiments that are chosen one after another, in so many seconds.
    pub(crate) fn of_diagnosis(plan: &Plan, budget_s: f64) -> Self {
        Self::of(Standing::of_diagnosis(plan, budget_s))
    }

    fn of(standing: Standing) -> Self {
        let is_plain = !std::io::stderr().is_terminal();
        Self {
            standing,
            is_plain,
            filling: None,
            said_at: Duration::ZERO,
            table: None,
            rests_until: None,
            ended: Vec::new(),
            warning: None,
            is_resumed: false,
        }
    }

    pub(crate) fn fill(&mut self, progress: &PrepareProgress) {
        if self.filling.as_ref().is_none_or(|(last, _)| last.path != progress.path) {
            self.filled();
            let again = progress.why.as_ref().map(|why| format!(" again ({why})")).unwrap_or_default();
            if self.is_plain {
                note!("filling {}{again}: {}", progress.path.display(), HumanBytes(progress.total_bytes));
            }
            let bar = bar(progress.total_bytes, "{wide_msg} [{bar:10}] {percent}% {prefix} {eta} left");
            let says = format!("filling {}{again}", progress.path.display());
            bar.set_message(moving(&line(&says)));
            show(Some(&bar));
            (self.filling, self.said_at) = (Some((progress.clone(), bar)), progress.elapsed);
        }
        if self.is_plain && progress.elapsed >= self.said_at + SPEAK_EVERY {
            self.said_at = progress.elapsed;
            note!("{}", so_far_words(progress));
        }
        if let Some((last, bar)) = &mut self.filling {
            last.clone_from(progress);
            bar.set_position(progress.done_bytes);
            let rate = format!("{:.0} MiB/s", progress.bytes_per_s / MIB as f64);
            bar.set_prefix(moving(&waited_words(progress).unwrap_or(rate)));
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
        if let RunEvent::StepEnded(end) = &event.what {
            self.end(end.step, event.at_ns, collector);
        }
        self.standing.add(event);
        match &event.what {
            RunEvent::StepStarted(_) => self.begin(),
            RunEvent::StepSkipped { step, why } => {
                if let Some(line) = self.standing.steps().iter().find(|s| s.id == *step) {
                    note_above(&format!("left out {}: {why}", line.name));
                }
            }
            RunEvent::Warning(warning) => {
                self.is_resumed |= warning.rule == RESUMED;
                let says = format!("warning: {} {}", warning.says, warning.next).trim_end().to_owned();
                // On a terminal the result will have it; until then it stands under the table.
                match self.is_plain || !std::io::stdout().is_terminal() {
                    true => note_above(&says),
                    false => self.warning = Some(says),
                }
            }
            _ => {}
        }
        let may_wait = matches!(event.what, RunEvent::Interval(_) | RunEvent::Host(_));
        let began = Instant::now();
        if !may_wait || self.rests_until.is_none_or(|until| began >= until) {
            self.draw(event.at_ns, collector);
            self.rests_until = Some(Instant::now() + began.elapsed() * REST);
        }
    }

    fn begin(&mut self) {
        if self.is_plain && self.standing.begun() == 1 && !self.is_resumed {
            match self.standing.budget() {
                None => note!("{}", count_and_length(self.standing.steps())),
                Some(budget) => note!("experiments for at most {} s", budget.as_secs()),
            }
        }
        if !self.is_plain && self.table.is_none() {
            let bar = bar(1, "{msg}");
            show(Some(&bar));
            self.table = Some(bar);
        }
    }

    fn end(&mut self, id: StepId, at_ns: u64, collector: &Collector) {
        let (Some(moment), Some(step)) = (self.standing.at(at_ns), collector.step_so_far(id)) else { return };
        if self.is_plain {
            note!("{} {}: {}", place(&moment), moment.name, step_line(&step));
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
        let Some(at) = self.standing.at(at_ns) else {
            return bar.set_message(moving(&terminal(rows(&steps, options).trim_end())));
        };
        steps.extend(collector.step_so_far(at.step));
        let mut text = format!("{}{}", rows(&steps, options), moment(&at));
        if let Some(warning) = &self.warning {
            text.push_str(&format!("\n{}", wrap(warning, options.width, "  ")));
        }
        bar.set_message(moving(&terminal(&text)));
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

/// A line that moves while something takes time, and goes when it is over. Nothing where nothing can move.
pub(crate) struct Ticking {
    bar: ProgressBar,
}

impl Ticking {
    pub(crate) fn new(says: &'static str) -> Self {
        let bar = bar(0, "{msg}");
        bar.set_message(moving(says));
        show(Some(&bar));
        Self { bar }
    }

    pub(crate) fn says(&self, text: &str) {
        self.bar.set_message(moving(text));
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        show(None);
        self.bar.finish_and_clear();
    }
}

fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is a constant");
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S);
    ProgressBar::with_draw_target(Some(length), target).with_style(style.progress_chars("=> "))
}

/// Text of a line that moves, as this terminal can show it: such lines are on terminals only.
fn moving(text: &str) -> String {
    shown(text, true).into_owned()
}

/// Lines of the terminal; a common height where there is none.
fn lines() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(24, |(_, height)| usize::from(height.0))
}

/// How far a fill is.
fn so_far_words(progress: &PrepareProgress) -> String {
    let (done, total) = (HumanBytes(progress.done_bytes), HumanBytes(progress.total_bytes));
    let rate = || format!("{:.0} MiB/s", progress.bytes_per_s / MIB as f64);
    let news = progress.news.as_ref().map(|news| format!(": {}", line(news))).unwrap_or_default();
    let state = waited_words(progress).unwrap_or_else(rate);
    format!("filling {}: {done} of {total}, {state}{news}", progress.path.display())
}

/// For how long no write has completed, if that is long.
fn waited_words(progress: &PrepareProgress) -> Option<String> {
    let is_long = progress.waited >= WAITED_MIN;
    is_long.then(|| format!("no write completed for {} s", progress.waited.as_secs()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_says_how_much_and_how_long() {
        let last = |done_bytes, us| PrepareProgress {
            why: None,
            path: "t.dat".into(),
            done_bytes,
            total_bytes: 1 << 30,
            bytes_per_s: 0.0,
            elapsed: Duration::from_micros(us),
            waited: Duration::ZERO,
            news: None,
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

    #[test]
    fn a_fill_that_waits_says_for_how_long_and_for_what() {
        let mut progress = PrepareProgress {
            why: None,
            path: "lun".into(),
            done_bytes: 1 << 20,
            total_bytes: 1 << 30,
            bytes_per_s: 2.0 * MIB as f64,
            elapsed: Duration::from_secs(10),
            waited: Duration::from_millis(2999),
            news: None,
        };
        assert_eq!(so_far_words(&progress), "filling lun: 1.00 MiB of 1.00 GiB, 2 MiB/s");
        (progress.waited, progress.news) = (Duration::from_secs(9), Some("path 0 went down".into()));
        assert_eq!(
            so_far_words(&progress),
            "filling lun: 1.00 MiB of 1.00 GiB, no write completed for 9 s: path 0 went down"
        );
    }
}
