//! Where a run stands, in words.

use std::time::Duration;

use assay_analysis::Moment;
use assay_record::Phase;

/// Returns a moment as a display has it: `3/4 measuring 0:12 of 2:00, 6:10 left`.
#[must_use]
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
        (Phase::Measure, None) => format!(" {}", clock(moment.spent)),
        (_, None) => String::new(),
    };
    format!("{} {doing}{timed}, {} left", place(moment), clock(moment.left))
}

/// Returns which step a moment is in: `3/4`, or the number of an experiment.
#[must_use]
pub fn place(moment: &Moment) -> String {
    match moment.of {
        Some(all) => format!("{}/{all}", moment.number),
        None => format!("experiment {}:", moment.number),
    }
}

/// Returns a time as a clock shows it: `1:05`, or `2:03:04` above an hour.
#[must_use]
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Returns a time as people plan it: `about 40 s`, `about 6 min`.
#[must_use]
pub fn about(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 90.0 => format!("about {:.0} s", short.ceil()),
        long if long < 5400.0 => format!("about {:.0} min", (long / 60.0).ceil()),
        long => format!("about {:.1} h", long / 3600.0),
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
            left: Duration::from_secs(370),
        };
        assert_eq!(moment(&at), "3/4 measuring 0:12 of 2:00, 6:10 left");
        let experiment = Moment { of: None, phase: Phase::Prepare, length: None, ..at };
        assert_eq!(moment(&experiment), "experiment 3: opening, 6:10 left");
    }
}
