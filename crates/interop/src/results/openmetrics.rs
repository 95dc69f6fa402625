//! A run as OpenMetrics text, for Prometheus and what reads its format.

mod exposition;
mod served;

use assay_record::{Event, OpStats, RunHeader};

use exposition::{About, Exposition, Kind, Labels};

use super::measured;

pub use served::{
    BaselineFigure, CheckedTarget, LastValue, LiveStep, Served, Settings, StoredRuns, served, served_names,
};

/// The quantiles of the summary.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// A family of metrics, and its value for one kind of operation.
struct Family {
    about: About,
    value: fn(&OpStats, f64) -> Option<f64>,
}

const FAMILIES: [Family; 6] = [
    Family {
        about: About {
            name: "assay_io_rate_per_second",
            unit: "",
            help: "I/Os completed per second of the measured window.",
        },
        value: |stats, seconds| Some(stats.ops() as f64 / seconds),
    },
    Family {
        about: About {
            name: "assay_throughput_bytes_per_second",
            unit: "",
            help: "Bytes transferred per second of the measured window.",
        },
        value: |stats, seconds| Some(stats.bytes as f64 / seconds),
    },
    Family {
        about: About { name: "assay_io_errors", unit: "", help: "I/Os that failed in the measured window." },
        value: |stats, _| Some(stats.errors as f64),
    },
    Family {
        about: About { name: "assay_latency_mean_seconds", unit: "seconds", help: "Mean latency." },
        value: |stats, _| stats.waited().mean_ns().map(|ns| ns / 1e9),
    },
    Family {
        about: About { name: "assay_latency_max_seconds", unit: "seconds", help: "Longest latency." },
        value: |stats, _| stats.waited().max_ns().map(|ns| ns as f64 / 1e9),
    },
    Family {
        about: About {
            name: "assay_measured_window_seconds",
            unit: "seconds",
            help: "Length of the measured window.",
        },
        value: |_, seconds| Some(seconds),
    },
];

/// Latency with its quantiles.
const LATENCY: About = About { name: "assay_latency_seconds", unit: "seconds", help: "Latency of I/Os." };

/// Writes the run. Values that are not known have no line.
pub fn export(header: &RunHeader, events: &[Event]) -> String {
    let mut series: Vec<(Labels, OpStats, f64)> = Vec::new();
    for step in measured(header, events) {
        for job in &step.jobs {
            for (kind, stats) in [("read", &job.stats.read), ("write", &job.stats.write)] {
                if stats.ops() + stats.errors > 0 {
                    let labels = Labels::of(&[
                        ("run", &header.run),
                        ("plan", &header.plan.name),
                        ("test", step.test),
                        ("step", &step.step.label()),
                        ("job", &job.job.name),
                        ("op", kind),
                        ("depth", &job.job.workers.saturating_mul(job.job.outstanding).to_string()),
                        ("quick", if header.plan.quick { "yes" } else { "no" }),
                        ("set", &header.plan.changes.join(", ")),
                    ]);
                    series.push((labels, stats.clone(), job.measured_ns as f64 / 1e9));
                }
            }
        }
    }
    let mut text = Exposition::default();
    for Family { about, value } in FAMILIES {
        text.family(Kind::Gauge, about);
        for (labels, stats, seconds) in &series {
            if let Some(value) = value(stats, *seconds) {
                text.sample(about.name, labels, value);
            }
        }
    }
    text.family(Kind::Summary, LATENCY);
    for (labels, stats, _) in &series {
        let latency = stats.waited();
        for q in QUANTILES {
            if let Some(ns) = latency.quantile_ns(q) {
                text.sample(LATENCY.name, &labels.and("quantile", &q.to_string()), ns / 1e9);
            }
        }
        if latency.mean_ns().is_some() {
            text.sample("assay_latency_seconds_count", labels, latency.count() as f64);
            text.sample("assay_latency_seconds_sum", labels, latency.sum_ns() as f64 / 1e9);
        }
    }
    text.end()
}
