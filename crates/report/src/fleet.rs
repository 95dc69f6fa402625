//! The hosts of a run in words, and as data.

use assay_analysis::{HostExperiments, HostLimit, HostRate, HostSpread, RunSummary, StepSummary, time};
use assay_record::RunHeader;
use serde_json::{Value, json};

use crate::layout::wrap;

/// A sentence for each step over several hosts: the slowest and the fastest, the spread, and how well they began
/// together. Empty for a run of one host.
pub(crate) fn text(header: &RunHeader, summary: &RunSummary, columns: usize) -> String {
    let line = |step: &StepSummary| {
        let spread = HostSpread::of(header, step).filter(|_| step.unmeasured.is_none())?;
        let name = format!("{} {}", step.test, step.step);
        Some(wrap(&format!("Hosts in {}: {}", name.trim_end(), words(&spread)), columns, "  ") + "\n")
    };
    let lines: String = summary.steps.iter().filter_map(line).collect();
    let cause = HostExperiments::of(header, summary).map(|of| wrap(&cause(&of), columns, "  ") + "\n");
    let lines = format!("{}{lines}", cause.unwrap_or_default());
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// What limits the hosts, by the experiments with all of them, with half of them, and with each alone.
fn cause(of: &HostExperiments) -> String {
    let (together, alone): (f64, f64) =
        of.hosts.iter().fold((0.0, 0.0), |sums, host| (sums.0 + host.1, sums.1 + host.2));
    let share = 100.0 * together / alone.max(f64::MIN_POSITIVE);
    let half = match of.half {
        Some((count, iops)) => format!(" {count} of them together get {iops:.0}."),
        None => String::new(),
    };
    match &of.limit {
        HostLimit::Host(slow) => {
            let (_, beside, own) = of.hosts.iter().find(|host| host.0 == *slow).expect("one of the hosts");
            format!(
                "CAUSE: the host {slow}, not the target. It gets {own:.0} IOPS alone and {beside:.0} beside the \
                 others: its own link, path or CPU limits it, so look there.{half}"
            )
        }
        HostLimit::Target => format!(
            "CAUSE: the target, or the way to it that the hosts share. Alone the {} hosts get {alone:.0} IOPS in sum, \
             and together {together:.0} ({share:.0} %).{half}",
            of.hosts.len()
        ),
        HostLimit::NotShared => format!(
            "CAUSE: none that the hosts share. Together they get {share:.0} % of what each gets alone ({together:.0} \
             of {alone:.0} IOPS), so more hosts get more.{half}"
        ),
    }
}

fn words(spread: &HostSpread) -> String {
    let (slowest, fastest) = (spread.slowest(), spread.fastest());
    let mean = mean(spread);
    let start = match spread.start_skew_ns() {
        Some((skew_ns, error_ns)) => format!(
            "; first I/Os within {} of each other (clocks to {})",
            time(skew_ns as f64 / 1e3),
            time(error_ns as f64 / 1e3)
        ),
        None => String::new(),
    };
    let drift = spread.drifting().map(|(host, drift)| {
        let (ppm, error) = (drift.ppb as f64 / 1e3, drift.error_ppb as f64 / 1e3);
        format!("; the clock of {host} drifts by {ppm:+.0} ± {error:.0} ppm")
    });
    let drift = drift.unwrap_or_default();
    let lost: Vec<&str> =
        spread.hosts.iter().filter(|host| host.is_lost()).map(|host| host.name.as_str()).collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) };
    let ends = match slowest.name == fastest.name {
        true => String::new(),
        false => {
            format!(
                "; slowest {} {:.0}, fastest {} {:.0}",
                slowest.name, slowest.iops, fastest.name, fastest.iops
            )
        }
    };
    format!("{mean}{ends}{start}{drift}{lost}")
}

/// How many hosts were measured to the end, and what each gets.
pub(crate) fn mean(spread: &HostSpread) -> String {
    let count = spread.measured().count();
    let whole = |iops: f64| crate::number::separated(&format!("{iops:.0}"));
    let each = whole(spread.mean_iops);
    match spread.half_width_iops {
        Some(half) => format!("{count} with {each} ± {} IOPS each (95 %)", whole(half)),
        None => format!("{count} with {each} IOPS each"),
    }
}

/// The same for the JSON document; `null` for a run of one host.
pub(crate) fn json(header: &RunHeader, step: &StepSummary) -> Value {
    let Some(spread) = HostSpread::of(header, step) else { return Value::Null };
    let skew = spread.start_skew_ns();
    let host = |host: &HostRate| {
        let end = host.end.as_ref();
        json!({
            "name": host.name,
            "iops": host.iops,
            "mib_per_s": host.mib_per_s,
            "outstanding_asked": host.outstanding,
            "tester_us_per_io": host.tester_us_per_io,
            "tester_us_per_mib": host.tester_us_per_io.filter(|_| host.mib_per_s > 0.0)
                .map(|us| us * host.iops / host.mib_per_s),
            "host_busy_ratio": end.map(|end| end.cpu.host_busy),
            "host_busy_ratio_busiest": end.map(|end| end.cpu.host_busy_max),
            "gate_us": end.and_then(|end| end.gate_ns).map(|ns| ns as f64 / 1e3),
            "first_io_us": end.and_then(|end| end.first_io_ns).map(|ns| ns as f64 / 1e3),
            "first_io_due_us": end.and_then(|end| end.first_io_ns.map(|_| end.first_wait_ns as f64 / 1e3)),
            "clock_ahead_us": end.map(|end| end.clock.ahead_ns as f64 / 1e3),
            "clock_error_us": end.map(|end| end.clock.error_ns as f64 / 1e3),
            "clock_drift_ppm": end.and_then(|end| Some(end.drift?.ppb as f64 / 1e3)),
            "clock_drift_error_ppm": end.and_then(|end| Some(end.drift?.error_ppb as f64 / 1e3)),
            "lost": end.and_then(|end| end.lost.clone()),
        })
    };
    json!({
        "mean_iops": spread.mean_iops,
        "half_width_iops": spread.half_width_iops,
        "slowest": spread.slowest().name,
        "fastest": spread.fastest().name,
        "start_skew_us": skew.map(|(ns, _)| ns as f64 / 1e3),
        "start_skew_error_us": skew.map(|(_, ns)| ns as f64 / 1e3),
        "hosts": spread.hosts.iter().map(host).collect::<Vec<_>>(),
    })
}
