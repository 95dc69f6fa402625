//! Times in which the tester itself did not run, and changes of the wall clock.

use serde::{Deserialize, Serialize};

/// A time in which no thread of the tester ran, or a moment at which the wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Kind of gap.
    pub kind: GapKind,
    /// Length of the gap, or change of the wall clock, ns.
    pub length_ns: u64,
    /// Start, ns since the run began. The clock of a run does not advance while the machine is suspended.
    pub start_ns: u64,
    /// End, ns since the run began.
    pub end_ns: u64,
    /// Part of the step in which it occurred.
    pub place: GapPlace,
    /// Start, ns since the measured window began; negative before it. `None` if no window began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_window_ns: Option<i64>,
    /// The host that had it, by its place among those of the step's end; `None` in a run of one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u32>,
}

/// Returns how much time gaps cover, ns: those of several hosts at the same moment count once.
pub fn covered_ns<'g>(gaps: impl IntoIterator<Item = &'g Gap>) -> u64 {
    // The clock of a run does not advance while a machine is suspended.
    let end = |gap: &Gap| gap.end_ns.max(gap.start_ns.saturating_add(gap.length_ns));
    let mut ranges: Vec<(u64, u64)> = gaps.into_iter().map(|gap| (gap.start_ns, end(gap))).collect();
    ranges.sort_unstable();
    let mut until = 0;
    let new = |&(start, end): &(u64, u64)| {
        let new = end.saturating_sub(start.max(until));
        until = until.max(end);
        new
    };
    ranges.iter().map(new).fold(0, u64::saturating_add)
}

/// Kind of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// The program was stopped and continued: SIGSTOP, Ctrl-Z.
    Stopped,
    /// The machine was suspended: the clock that includes suspended time advanced further than the one that does not.
    Suspended,
    /// The program was runnable but got no CPU.
    Starved,
    /// The program did not run, was not stopped by a signal, and did not wait for a CPU: the virtual machine was paused
    /// or migrated, or the control group was frozen.
    Paused,
    /// The wall clock was set forward.
    ClockForward,
    /// The wall clock was set back.
    ClockBack,
}

impl GapKind {
    /// Returns true if nothing ran; false if the clock was set.
    pub fn is_standstill(self) -> bool {
        !matches!(self, Self::ClockForward | Self::ClockBack)
    }
}

/// Part of a step in which a gap occurred; a gap that touches the measured window is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapPlace {
    /// Before any load: while targets were opened, or the previous step was completed.
    Before,
    /// Only in the warm-up.
    Warmup,
    /// In the measured window, or across its start or end.
    Window,
    /// During the drain.
    Drain,
}

impl GapPlace {
    /// Returns true if the results of the step contain the gap.
    pub fn is_measured(self) -> bool {
        matches!(self, Self::Window | Self::Drain)
    }
}

/// Times at which a step loaded its targets, ns since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepTimes {
    /// Start of the load, or of the warm-up if there is one.
    pub load_ns: Option<u64>,
    /// Start of the measured window and its end.
    pub window_ns: Option<(u64, u64)>,
}

impl Gap {
    /// Returns the gap with its place in a step.
    #[must_use]
    pub fn placed(self, times: StepTimes) -> Self {
        let since_window_ns =
            times.window_ns.map(|(start, _)| self.start_ns.cast_signed() - start.cast_signed());
        let place = match (times.load_ns, times.window_ns) {
            (_, Some((_, end))) if self.start_ns > end => GapPlace::Drain,
            (_, Some((start, _))) if self.end_ns >= start => GapPlace::Window,
            (Some(load), _) if self.end_ns >= load => GapPlace::Warmup,
            _ => GapPlace::Before,
        };
        Self { place, since_window_ns, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_that_touches_the_window_is_in_it() {
        let times = StepTimes { load_ns: Some(100), window_ns: Some((200, 300)) };
        let gap = |start_ns, end_ns| Gap {
            kind: GapKind::Stopped,
            length_ns: end_ns - start_ns,
            start_ns,
            end_ns,
            place: GapPlace::Before,
            since_window_ns: None,
            host: None,
        };
        for (start, end, place) in [
            (10, 90, GapPlace::Before),
            (90, 110, GapPlace::Warmup),
            (110, 199, GapPlace::Warmup),
            (110, 200, GapPlace::Window),
            (210, 220, GapPlace::Window),
            (290, 400, GapPlace::Window),
            (90, 400, GapPlace::Window),
            (301, 400, GapPlace::Drain),
        ] {
            let placed = gap(start, end).placed(times);
            assert_eq!(
                (placed.place, placed.since_window_ns),
                (place, Some(start as i64 - 200)),
                "{start} {end}"
            );
        }
        let never = StepTimes { load_ns: None, window_ns: None };
        assert_eq!(gap(1, 2).placed(never).place, GapPlace::Before);
    }
}
