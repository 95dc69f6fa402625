//! How a run was made, in a line each: how near the tester was to its own limits, and whether a state was steady.

use assay_analysis::{RunSummary, SteadyState, TesterUse, tester_limits, time};
use assay_record::RunHeader;

use crate::layout::wrap;
use crate::number::separated;

/// A rate above this share of the generator limit is near it; the finding `near-null-ceiling` says the same.
const NEAR: f64 = 0.7;

/// Returns the line that tells whether the tester was the bottleneck; empty where nothing is known, or no storage was
/// measured.
pub(crate) fn tester_text(header: &RunHeader, summary: &RunSummary, columns: usize) -> String {
    tester_line(header, summary)
        .map_or_else(String::new, |line| format!("\n{}\n", wrap(&line, columns, "  ")))
}

/// The same as one line, unwrapped.
pub(crate) fn tester_line(header: &RunHeader, summary: &RunSummary) -> Option<String> {
    let limits = tester_limits(header, summary)?;
    let TesterUse {
        null_ceiling_ratio,
        null_ceiling_iops,
        busy_per_worker,
        steal_ratio,
        timer_late_us,
        other_io_ratio,
        other_traffic_ratio,
        ..
    } = limits.most;
    let percent = |ratio: f64| {
        if ratio < 0.0095 { format!("{:.1} %", ratio * 100.0) } else { format!("{:.0} %", ratio * 100.0) }
    };
    let mut words = Vec::new();
    if let (Some(ratio), Some(iops), Some(step)) = (null_ceiling_ratio, null_ceiling_iops, &limits.nearest) {
        let near = if ratio > NEAR { ", so the tester may be the limit" } else { "" };
        words.push(format!(
            "{} of this host's generator limit ({} IOPS) in {step}{near}",
            percent(ratio),
            separated(&format!("{iops:.0}"))
        ));
    }
    words.extend(busy_per_worker.map(|busy| format!("workers up to {} busy", percent(busy))));
    words.extend(steal_ratio.map(|steal| format!("steal {}", percent(steal))));
    words.extend(timer_late_us.map(|late| format!("timers {} late", time(late))));
    words.extend(other_io_ratio.map(|other| format!("other I/O on the same disks {}", percent(other))));
    words.extend(
        other_traffic_ratio.map(|other| format!("other traffic on the same links {}", percent(other))),
    );
    (!words.is_empty()).then(|| format!("Tester: {}.", words.join("; ")))
}

/// Returns a line for each step that was measured until it was steady.
pub(crate) fn steady_text(summary: &RunSummary, columns: usize) -> String {
    let line = |step: &assay_analysis::StepSummary| {
        let state = step.steady.as_ref()?;
        let name = format!("{} {}", step.test, step.step);
        let verdict = if state.is_reached { "steady" } else { "not steady" };
        let says = format!(
            "Steady state of {}: {verdict} after {} rounds of {} s; over the last five, the range is {:.1} % of the \
             mean (limit {:.0} %) and the slope {:.1} % (limit {:.0} %).",
            name.trim_end(),
            state.rounds.len(),
            state.round_s,
            state.range * 100.0,
            SteadyState::RANGE_MAX * 100.0,
            state.slope * 100.0,
            SteadyState::SLOPE_MAX * 100.0
        );
        Some(wrap(&says, columns, "  ") + "\n")
    };
    let lines: String = summary.steps.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}
