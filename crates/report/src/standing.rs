//! Where a run stands, in words.

use std::time::Duration;

use assay_analysis::{Left, Moment, PlannedStep};
use assay_record::Phase;

/// Returns a moment as a display has it: `3/4 measuring 0:12 of 2:00, 6:10 left`.
pub fn moment(moment: &Moment) -> String {
    let doing = match moment.phase {
        Phase::Prepare => "opening",
        Phase::Warmup => "warming up",
        Phase::Measure => "measuring",
        Phase::Drain => "draining",
    };
    let timed = match (moment.phase, moment.length) {
        (_, Some(length)) => format!(" {} of {}", clock(moment.spent), clock(length)),
        // A number of bytes or I/Os ends it.
        (Phase::Measure, None) => match &moment.until {
            Some(until) => format!(" {} until {until}", clock(moment.spent)),
            None => format!(" {}", clock(moment.spent)),
        },
        (_, None) => String::new(),
    };
    let left = match moment.left {
        Left::All(time) => format!(", {} left", clock(time)),
        Left::AtLeast(Duration::ZERO) => String::new(),
        Left::AtLeast(time) => format!(", at least {} left", clock(time)),
    };
    format!("{} {doing}{timed}{left}", place(moment))
}

/// Returns which step a moment is in: `3/4`, or the number of an experiment.
pub fn place(moment: &Moment) -> String {
    match moment.of {
        Some(all) => format!("{}/{all}", moment.number),
        None => format!("experiment {}:", moment.number),
    }
}

/// Returns a time as a clock shows it: `1:05`, or `2:03:04` above an hour.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Returns a time as people plan it: `about 40 s`, `about 6 min`.
pub fn about(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 90.0 => format!("about {:.0} s", short.ceil()),
        long if long < 5400.0 => format!("about {:.0} min", (long / 60.0).ceil()),
        long => format!("about {:.1} h", long / 3600.0),
    }
}

/// Returns how many steps there are, and how long they take: `4 steps, about 40 s`.
pub fn count_and_length(steps: &[PlannedStep]) -> String {
    let word = if steps.len() == 1 { "step" } else { "steps" };
    format!("{} {word}, {}", steps.len(), length(steps))
}

/// Returns how long steps take, as far as their plan tells: `about 40 s`, `about 2 min and 1 step until 20000 I/Os`.
pub fn length(steps: &[PlannedStep]) -> String {
    let counted: Vec<&PlannedStep> = steps.iter().filter(|step| !step.is_timed()).collect();
    let time: Duration = steps.iter().map(PlannedStep::time).sum();
    let Some(first) = counted.first() else { return about(time) };
    let until = match counted.iter().all(|step| step.until() == first.until()) {
        true => format!("until {}", first.until()),
        false => "as long as their bytes or I/Os take".to_owned(),
    };
    let each = if counted.len() > 1 { " each" } else { "" };
    match counted.len() {
        _ if time.is_zero() => format!("{until}{each}"),
        1 => format!("{} and 1 step {until}", about(time)),
        some => format!("{} and {some} steps {until}{each}", about(time)),
    }
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
    fn a_moment_says_which_step_and_how_long() {
        let at = Moment {
            step: assay_record::StepId { test: 2, step: 0 },
            name: "RealLife".into(),
            number: 3,
            of: Some(4),
            phase: Phase::Measure,
            spent: Duration::from_secs(12),
            length: Some(Duration::from_secs(120)),
            until: None,
            left: Left::All(Duration::from_secs(370)),
        };
        assert_eq!(moment(&at), "3/4 measuring 0:12 of 2:00, 6:10 left");
        let counted = |left| Moment { length: None, until: Some("20000 I/Os".into()), left, ..at.clone() };
        let last = counted(Left::AtLeast(Duration::ZERO));
        assert_eq!(moment(&last), "3/4 measuring 0:12 until 20000 I/Os");
        let others = counted(Left::AtLeast(Duration::from_secs(60)));
        assert_eq!(moment(&others), "3/4 measuring 0:12 until 20000 I/Os, at least 1:00 left");
        let experiment = Moment { of: None, phase: Phase::Prepare, length: None, ..at };
        assert_eq!(moment(&experiment), "experiment 3: opening, 6:10 left");
    }
}
