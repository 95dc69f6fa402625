//! A run as OpenMetrics text, for Prometheus and what reads its format.

use std::fmt::Write as _;

use assay_record::{Event, OpStats, RunHeader};

use super::measured;

/// The quantiles of the summary.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// A family of metrics: name, unit, type, help, and its value for one kind of operation.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    value: fn(&OpStats, f64) -> Option<f64>,
}

const FAMILIES: [Family; 6] = [
    Family {
        name: "assay_io_rate_per_second",
        unit: "",
        help: "I/Os completed per second of the measured window.",
        value: |stats, seconds| Some(stats.ops() as f64 / seconds),
    },
    Family {
        name: "assay_throughput_bytes_per_second",
        unit: "",
        help: "Bytes transferred per second of the measured window.",
        value: |stats, seconds| Some(stats.bytes as f64 / seconds),
    },
    Family {
        name: "assay_io_errors",
        unit: "",
        help: "I/Os that failed in the measured window.",
        value: |stats, _| Some(stats.errors as f64),
    },
    Family {
        name: "assay_latency_mean_seconds",
        unit: "seconds",
        help: "Mean latency.",
        value: |stats, _| stats.waited().mean_ns().map(|ns| ns / 1e9),
    },
    Family {
        name: "assay_latency_max_seconds",
        unit: "seconds",
        help: "Longest latency.",
        value: |stats, _| stats.waited().max_ns().map(|ns| ns as f64 / 1e9),
    },
    Family {
        name: "assay_measured_window_seconds",
        unit: "seconds",
        help: "Length of the measured window.",
        value: |_, seconds| Some(seconds),
    },
];

/// Writes the run. Values that are not known have no line.
#[must_use]
pub fn export(header: &RunHeader, events: &[Event]) -> String {
    let mut series: Vec<(String, OpStats, f64)> = Vec::new();
    for step in measured(header, events) {
        for job in &step.jobs {
            for (kind, stats) in [("read", &job.stats.read), ("write", &job.stats.write)] {
                if stats.ops() + stats.errors > 0 {
                    let labels = format!(
                        "run=\"{}\",plan=\"{}\",test=\"{}\",step=\"{}\",job=\"{}\",op=\"{kind}\"",
                        escaped(&header.run),
                        escaped(&header.plan.name),
                        escaped(step.test),
                        escaped(&step.step.label()),
                        escaped(&job.job.name),
                    );
                    series.push((labels, stats.clone(), job.measured_ns as f64 / 1e9));
                }
            }
        }
    }
    let mut text = String::new();
    for Family { name, unit, help, value } in &FAMILIES {
        let _ = writeln!(text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        for (labels, stats, seconds) in &series {
            if let Some(value) = value(stats, *seconds) {
                let _ = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
    }
    let name = "assay_latency_seconds";
    let _ = write!(text, "# TYPE {name} summary\n# UNIT {name} seconds\n# HELP {name} Latency of I/Os.\n");
    for (labels, stats, _) in &series {
        let latency = stats.waited();
        for q in QUANTILES {
            if let Some(ns) = latency.quantile_ns(q) {
                let _ = writeln!(text, "{name}{{{labels},quantile=\"{q}\"}} {}", ns / 1e9);
            }
        }
        if latency.mean_ns().is_some() {
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", latency.count());
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", latency.sum_ns() as f64 / 1e9);
        }
    }
    text + "# EOF\n"
}

/// A value of a label, as the format wants it.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c => escaped.push(c),
        }
    }
    escaped
}
